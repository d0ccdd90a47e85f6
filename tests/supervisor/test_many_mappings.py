"""Addresses are described by the mapping they are in, however many there are."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from interpose import paths

SOURCE = """\
#define _GNU_SOURCE
#include <interpose/memcheck.h>
#include <sys/mman.h>
#include <unistd.h>
static char *page(int prot) { return mmap(0, 4096, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
int main(void) {
    char *data = (char *)sbrk(8192), *middle = page(PROT_READ);
    for (int i = 0; i < MANY; i++) {
        char *at = page(i & 1 ? PROT_READ : PROT_READ | PROT_WRITE);
        if (at == MAP_FAILED) return 1;
        if (i == MANY / 2 + 1) middle = at;
    }
    VALGRIND_MAKE_MEM_NOACCESS(data, 8192);
    VALGRIND_MAKE_MEM_NOACCESS(middle, 4096);
    return *(volatile char *)(WHERE);
}
"""


@pytest.fixture(params=[0, 3000])
def many(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.mark.parametrize(
    ("where", "what"),
    [
        ("middle + 10", r"in a r-- anonymous segment"),
        ("data + 10", r"in the brk data segment 0x[0-9a-f]+000-0x[0-9a-f]+fff"),
        ("middle - (1l << 40)", r"not stack'd, malloc'd or \(recently\) free'd"),
    ],
)
def test_description(tmp_path: Path, many: int, where: str, what: str) -> None:
    (tmp_path / "p.c").write_text(SOURCE.replace("MANY", str(many)).replace("WHERE", where))
    command = ["gcc", "-O0", "-w", f"-I{paths.include()}", "p.c", "-o", "p"]
    subprocess.run(command, cwd=tmp_path, check=True)
    run = [sys.executable, "-m", "interpose", "--tool=memcheck", str(tmp_path / "p")]
    text = subprocess.run(run, capture_output=True, text=True, timeout=120).stderr
    assert re.search(f"Invalid read of size 1\n.*\n.* Address 0x[0-9a-f]+ is {what}\n", text), text
