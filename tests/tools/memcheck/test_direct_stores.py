"""movdir64b under memcheck, which the Valgrind of the other tests does not know."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = r"""
#include <stdlib.h>
#include <string.h>
#define MOVE(to, from) __asm__ volatile("movdir64b (%1), %0" ::"r"(to), "r"(from) : "memory")
int main(void) {
    char *to = aligned_alloc(64, 64), *from = malloc(64), *undefined = malloc(1);
    int n = 0;
    memset(from, 5, 64);
    MOVE(to, from);
    if (to[3] == 5) n++;
    from[10] = *undefined;
    MOVE(to, from);
    if (to[9] == 5) n++;
    if (to[10] == 5) n += 2; /* error */
    free(to);
    MOVE(to, from); /* error */
    return n & 2 ? 2 : n;
}
"""


@pytest.mark.skipif(" movdir64b" not in Path("/proc/cpuinfo").read_text(), reason="the CPU has no movdir64b")
@pytest.mark.parametrize("options", [[], ["--force-tracking=yes"]], ids=["", "tracking"])
def test_bits_follow_a_direct_store(tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "direct.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O1", "-mmovdir64b", "-o", "direct", "direct.c"], check=True, cwd=tmp_path)
    command = [sys.executable, "-m", "interpose", "--tool=memcheck", "-q", *options, "./direct"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    found = re.findall(r"==\d+== (\S.*)\n==\d+==    at \S+: main \(direct\.c:(\d+)\)", done.stderr)
    lines = [n for n, line in enumerate(SOURCE.splitlines(), 1) if "error" in line]
    assert [kind.split(" of size")[0] for kind, _ in found] == [
        "Conditional jump or move depends on uninitialised value(s)",
        "Invalid write",
    ]
    assert [int(line) for _, line in found] == lines
