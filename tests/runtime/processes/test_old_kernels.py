"""What works without system calls that are younger than the oldest kernel (README: 4.17)."""

from __future__ import annotations

import ctypes
import errno
import subprocess
from pathlib import Path

import pytest
from life.running import command

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
# struct sock_filter: load the number; if it is this one, answer with an error; else allow.
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000


class Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("jt", ctypes.c_uint8),
        ("jf", ctypes.c_uint8),
        ("k", ctypes.c_uint32),
    )


class Program(ctypes.Structure):
    _fields_ = (("len", ctypes.c_uint16), ("filter", ctypes.POINTER(Instruction)))


def refuse(number: int, error: int) -> None:
    """From now on, and in what is executed, this call fails so."""
    rows = [(LOAD, 0, 0, 0), (EQUAL, 0, 1, number), (RETURN, 0, 0, ERRNO | error), (RETURN, 0, 0, ALLOW)]
    instructions = (Instruction * 4)(*rows)
    program = Program(4, instructions)
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    assert libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) == 0


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("pidfd_send_signal", 424),
        ("pidfd_open", 434),
        ("clone3", 435),
        ("close_range", 436),
        ("openat2", 437),
        ("pidfd_getfd", 438),
        ("faccessat2", 439),
    ],
)
def test_children_are_followed(name: str, number: int, tmp_path: Path) -> None:
    log = tmp_path / "log"
    words = command("--tool=none", "--trace-children=yes", f"--log-file={log}", "/usr/bin/env", "/bin/true")
    done = subprocess.run(words, preexec_fn=lambda: refuse(number, errno.ENOSYS), timeout=120, check=False)
    assert done.returncode == 0
    assert log.read_text().count("Command: ") == 2, name
