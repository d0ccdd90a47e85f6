"""movdir64b and clzero under memcheck, which the Valgrind of the other tests does not know."""

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


LINE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#define CLEAR(prefix, at) __asm__ volatile(prefix "clzero" ::"a"(at) : "memory")
static volatile int seen;
int main(void) {
    char *p = aligned_alloc(64, 192), *open = malloc(1);
    int n = 0;
    CLEAR("", p + 64 + 5);
    for (int i = 64; i < 128; i++) n += p[i] == 0;
    if (p[63]) seen = 1; /* error: Conditional jump or move depends on uninitialised value(s) */
    if (p[128]) seen = 2; /* error: Conditional jump or move depends on uninitialised value(s) */
    CLEAR("", p + (*open & 7)); /* error: Use of uninitialised value of size 8 */
    if (p[0] == 0 && p[63] == 0) n++;
    syscall(SYS_arch_prctl, 0x1001 /* ARCH_SET_GS */, p + 130);
    CLEAR("gs; ", 3L);
    if (p[128] == 0 && p[191] == 0) n++;
    free(p);
    CLEAR("", p + 100); /* error: Invalid write of size 8 */
    return n != 66;
}
"""
CPU = Path("/proc/cpuinfo").read_text()


def errors(folder: Path, source: str, *options: str) -> list[tuple[str, int]]:
    """Kinds and lines of what memcheck reports in main."""
    (folder / "direct.c").write_text(source)
    subprocess.run(["gcc", "-g", "-O1", "-mmovdir64b", "-o", "direct", "direct.c"], check=True, cwd=folder)
    command = [sys.executable, "-m", "interpose", "--tool=memcheck", "-q", *options, "./direct"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    found = re.findall(r"==\d+== (\S.*)\n==\d+==    at \S+: main \(direct\.c:(\d+)\)", done.stderr)
    return [(kind, int(line)) for kind, line in found]


@pytest.mark.skipif(" movdir64b" not in CPU, reason="the CPU has no movdir64b")
@pytest.mark.parametrize("options", [[], ["--force-tracking=yes"]], ids=["", "tracking"])
def test_bits_follow_a_direct_store(tmp_path: Path, options: list[str]) -> None:
    found = errors(tmp_path, SOURCE, *options)
    assert [kind.split(" of size")[0] for kind, _ in found] == [
        "Conditional jump or move depends on uninitialised value(s)",
        "Invalid write",
    ]
    lines = enumerate(SOURCE.splitlines(), 1)
    assert [line for _, line in found] == [n for n, line in lines if "error" in line]


@pytest.mark.skipif(" clzero" not in CPU, reason="the CPU has no clzero")
@pytest.mark.parametrize("options", [[], ["--force-tracking=yes"]], ids=["", "tracking"])
def test_a_whole_line_is_cleared(tmp_path: Path, options: list[str]) -> None:
    lines = enumerate(LINE.splitlines(), 1)
    wanted = [(line.partition("error: ")[2].removesuffix(" */"), n) for n, line in lines if "error" in line]
    assert errors(tmp_path, LINE, *options) == wanted
