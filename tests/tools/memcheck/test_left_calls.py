"""Calls that a longjmp leaves are not kept: neither their memory, nor a look at each for every trace."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

TURNS, LEVELS = 100_000, 8
ENTRY = 16  # struct ip_csent
SOURCE = """\
#include <setjmp.h>
#include <stdio.h>
static jmp_buf back;
__attribute__((noinline)) static void deep(int level) {
    volatile char frame[FRAME];
    frame[0] = (char)level;
    if (!level) longjmp(back, 1);
    deep(level - 1);
    frame[0]++;
}
int main(void) {
    for (volatile long i = 0; i < TURNS; i = i + 1)
        if (!setjmp(back)) deep(LEVELS);
    puts("done");
    fflush(stdout);
    return getchar() != EOF;
}
"""


def resident(pid: int) -> int:
    """Bytes of anonymous memory that a process has in RAM."""
    found = re.search(r"^RssAnon:\s+(\d+) kB$", Path(f"/proc/{pid}/status").read_text(), re.M)
    assert found
    return int(found[1]) << 10


@pytest.mark.parametrize("frame", [16, 2000])
def test_memory(tmp_path: Path, frame: int) -> None:
    (tmp_path / "left.c").write_text(SOURCE)
    sizes = []
    for turns in (10, TURNS):
        words = [f"-DFRAME={frame}", f"-DTURNS={turns}", f"-DLEVELS={LEVELS}"]
        subprocess.run(["gcc", "-O0", *words, "left.c", "-o", "left"], cwd=tmp_path, check=True)
        command = [sys.executable, "-m", "interpose", "--tool=memcheck", "-q", str(tmp_path / "left")]
        with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as process:
            assert process.stdin and process.stdout
            assert process.stdout.readline() == "done\n"
            sizes.append(resident(process.pid))
        assert process.returncode == 0
    assert sizes[1] - sizes[0] < TURNS * LEVELS * ENTRY // 4
