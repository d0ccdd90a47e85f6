"""Kernels without the newer system calls: from a number on all answer ENOSYS, as on Linux 4.17 to 5.8."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from engine.test_guests import GUESTS, Guest, build, run

LAUNCHER = r"""
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv) {
    struct sock_filter f[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, atoi(argv[1]), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog p = {4, f};
    if (argc < 3 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &p)) return 99;
    execvp(argv[2], argv + 2);
    return 98;
}
"""
# The first number that is missing: rseq and io_uring, pidfd_open, clone3 (4.17, 5.2, 5.4); close_range (5.8).
MISSING = {"Linux-4.17": "334", "Linux-5.2": "434", "Linux-5.8": "436"}
TOOLS = ["none", "memcheck"]


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("older")
    (folder / "older.c").write_text(LAUNCHER)
    subprocess.run(["gcc", "-o", str(folder / "older"), str(folder / "older.c")], check=True)
    return str(folder / "older")


@pytest.mark.parametrize("kernel", MISSING)
@pytest.mark.parametrize("name", ["processes.c", "threads_basic.c", "death_segv.c"])
def test_as_native(older: str, tmp_path: Path, name: str, kernel: str) -> None:
    guest = Guest.read(GUESTS / name)
    command = [str(build(guest.source, tmp_path / "guest", guest.flags))]
    native = run([older, MISSING[kernel], *command], tmp_path)
    assert native[0] == guest.status
    for tool in TOOLS:
        ours = [sys.executable, "-m", "interpose", f"--tool={tool}", "-q", *command]
        got = run([older, MISSING[kernel], *ours], tmp_path)
        assert got[:2] == native[:2], got[2]
