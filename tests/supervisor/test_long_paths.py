"""A program whose path is longer than the kernel takes in one piece."""

from __future__ import annotations

import os
import subprocess
import sys

SOURCE = r"""
#include <stdlib.h>
__attribute__((noinline)) static char beyond(char *p) { return p[10]; }
int main(void) { return beyond(calloc(10, 1)); }
"""


def test_frames_have_names_below_a_path_of_more_than_4096_bytes(tmp_path):
    folder = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(23):
        os.mkdir("d" * 200, dir_fd=folder)
        inner = os.open("d" * 200, os.O_RDONLY | os.O_DIRECTORY, dir_fd=folder)
        os.close(folder)
        folder = inner
    inside = f"/proc/self/fd/{folder}"
    build = ["gcc", "-g", "-O0", "-x", "c", "-", "-o", f"{inside}/prog"]
    subprocess.run(build, input=SOURCE, text=True, check=True, pass_fds=[folder])
    done = subprocess.run(
        [sys.executable, "-m", "interpose", "-q", "--cache=no", "./prog"],
        cwd=inside,
        pass_fds=[folder],
        capture_output=True,
        text=True,
        timeout=60,
    )
    os.close(folder)
    assert done.returncode == 0, done.stderr
    assert "Invalid read of size 1" in done.stderr
    assert "beyond (<stdin>:3)" in done.stderr
    assert "main (<stdin>:4)" in done.stderr
