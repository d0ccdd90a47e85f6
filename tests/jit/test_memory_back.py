"""The supervisor's large blocks are no memory any more when they are freed (lastwords.c)."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
from interpose.jit._native import lib
lib.ip_guard_python()
first = b"x" * (30 << 20)  # as large as the C library's threshold can become by what is freed
del first
kept = []
for _ in range(4):
    table = b"x" * (8 << 20)
    kept.append(b"x" * 100_000)  # behind it
    del table
inside = False
for line in open("/proc/self/smaps"):
    if "-" in line.split()[0]:
        inside = "[heap]" in line
    elif inside and line.startswith("Rss:"):
        print(int(line.split()[1]))
"""


def test_large_blocks_go_back_to_the_kernel() -> None:
    words = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(words, check=True, capture_output=True, text=True, timeout=60)
    assert sum(map(int, done.stdout.split())) < 8 << 10, "kilobytes of the C library's heap"
