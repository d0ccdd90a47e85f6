"""Suppressions that name parameters of system calls as Valgrind 3.27 does, or as 3.19 did."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tools.memcheck.guests import TIMEOUT
from tools.memcheck.sweep_cases import table

from interpose.tools.memcheck.newer_names import NEWER_NAMES

SOURCE = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void) {
    char *name = malloc(8);
    name[0] = '/';
    syscall(SYS_openat, AT_FDCWD, name, O_RDONLY, 0);
    free(name);
    return 0;
}
"""


def test_names_are_those_of_calls() -> None:
    """What is on the left can be reported, and is not what is on the right."""
    calls = {row.name for row in table()}
    for ours, theirs in NEWER_NAMES.items():
        assert ours.partition("(")[0] in calls and ours not in theirs and theirs


@pytest.mark.parametrize(
    ("name", "suppressed"), [("openat(filename)", 1), ("openat(pathname)", 1), ("openat(dirfd)", 0)]
)
def test_either_name_suppresses(name: str, suppressed: int, tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(SOURCE)
    (tmp_path / "p.supp").write_text(f"{{\n p\n Memcheck:Param\n {name}\n fun:syscall\n fun:main\n}}\n")
    subprocess.run(["gcc", "-g", "-O0", "-w", "p.c", "-o", "p"], check=True, cwd=tmp_path, timeout=TIMEOUT)
    command = [sys.executable, "-m", "interpose", "--suppressions=p.supp", "./p"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=TIMEOUT)
    assert f"(suppressed: {suppressed} from {suppressed})" in done.stderr
    assert done.stderr.count("Syscall param openat(filename)") == 1 - suppressed
