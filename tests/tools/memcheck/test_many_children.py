"""Children that leak, after so many forks that their supervisor prepares for more: each report is right."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tools.memcheck.guests import PACKAGE, TIMEOUT

CHILDREN = 8
SOURCE = """\
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *kept[4];
void *before(void) { return malloc(100); }
void *between(void) { return malloc(200); }
void *child(void) { return malloc(300); }
int main(void) {
    kept[0] = before();
    for (int number = 0; number < CHILDREN; number++) {
        pid_t pid = fork();
        if (!pid) {
            kept[3] = child();
            if (number & 1) {
                void *library = dlopen(LIBRARY, RTLD_NOW);
                int *(*leak)(void) = library ? (int *(*)(void))dlsym(library, "leak") : NULL;
                kept[2] = leak ? leak() : NULL;
            }
            kept[0] = kept[1] = kept[2] = kept[3] = NULL;
            exit(0);
        }
        waitpid(pid, NULL, 0);
        if (number == CHILDREN - 3) kept[1] = between();
    }
    return 0;
}
"""
LIBRARY = """\
#include <stdlib.h>
int *leak(void) { return malloc(400); }
"""


@pytest.mark.parametrize("leak_check", ["full", "summary"])
def test_reports(tmp_path: Path, leak_check: str) -> None:
    (tmp_path / "many.c").write_text(SOURCE)
    (tmp_path / "library.c").write_text(LIBRARY)
    defines = [f"-DCHILDREN={CHILDREN}", f'-DLIBRARY="{tmp_path}/library.so"']
    for build in (
        ["gcc", "-g", "-O0", "-shared", "-fPIC", "-o", "library.so", "library.c"],
        ["gcc", "-g", "-O0", *defines, "-o", "many", "many.c"],
    ):
        subprocess.run(build, check=True, cwd=tmp_path, timeout=TIMEOUT)
    options = [f"--leak-check={leak_check}", "--log-file=log.%p"]
    subprocess.run(
        [sys.executable, "-m", "interpose", *options, "./many"],
        check=True,
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": PACKAGE},
        timeout=TIMEOUT,
    )
    logs = sorted(tmp_path.glob("log.*"), key=lambda log: int(log.suffix[1:]))
    assert len(logs) == CHILDREN + 1
    for number, log in enumerate(logs[1:]):
        text = re.sub(r"^==\d+== ?", "", log.read_text(), flags=re.M)
        lost = {"before": 100, "child": 300}
        if number > CHILDREN - 3:
            lost["between"] = 200
        if number & 1:
            lost["leak"] = 400
        assert f"definitely lost: {sum(lost.values()):,} bytes in {len(lost)} blocks" in text
        record = (
            r"^(\d+) bytes in 1 blocks are definitely.*\n   at .*malloc.*\n   by 0x\w+: (\w+) \(\w+.c:\d+\)\n"
        )
        found = re.findall(record, text, re.M)
        expected = lost if leak_check == "full" else {}
        assert {function: int(size) for size, function in found} == expected
