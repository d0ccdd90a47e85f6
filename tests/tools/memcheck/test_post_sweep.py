"""After a system call exactly those bytes are defined that the kernel has written (post_sweep.c).

Before it those must be defined that the kernel reads, and no others (partly_read.c).
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from tools.memcheck.guests import ROOT, TIMEOUT
from tools.memcheck.test_processes import GUESTS, OURS, environment

DIFFERENCES = {
    "ioctl_SIOCGIFADDR": "the kernel writes the name back as it was, but for a NUL as its last byte",
    "ioctl_SIOCGIFFLAGS": "the same",
    "getdents": "entries are padded by bytes that are not written; programs copy entries as a whole",
    "getdents64": "the same",
    "adjtimex": "the reserved words are written back as they were",
    "clock_adjtime": "the same",
}


def built(folder: Path, name: str) -> Path:
    flags = ["-std=gnu17", "-O1", "-g", "-w", f"-I{ROOT / 'include'}"]
    source = str(GUESTS / f"{name}.c")
    command = ["gcc", *flags, "-o", str(folder / name), source, "-lutil", "-lrt"]
    subprocess.run(command, check=True, timeout=TIMEOUT)
    return folder / name


def test_what_the_kernel_does_not_read_may_be_undefined(tmp_path: Path) -> None:
    program = built(tmp_path, "partly_read")
    words = [*OURS, "-q", "--error-exitcode=9", str(program), "unread"]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=TIMEOUT)
    assert done.stderr == ""
    assert done.returncode in (0, 1)


def test_what_the_kernel_reads_must_be_defined(tmp_path: Path) -> None:
    program = built(tmp_path, "partly_read")
    words = [*OURS, "-q", "--track-origins=no", str(program), "read"]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=TIMEOUT)
    told = re.findall(r"Syscall param (.*) points to uninitialised byte", done.stderr)
    of_map = ["bpf(attr->key)", "bpf(attr->value)"] if done.returncode == 0 else []
    assert told == [
        "setsockopt(SOL_SOCKET, SO_ATTACH_FILTER, &optval.len)",
        "setsockopt(SOL_SOCKET, SO_ATTACH_FILTER, optval.filter)",
        *["socketcall.setsockopt(optval)"] * 3,
        "ioctl(generic)",
        "ioctl(UFFDIO_API)",
        "kcmp(idx2)",
        "vmsplice(iov[...])",
        *of_map,
    ]


def test_requests_of_io_submit(tmp_path: Path) -> None:
    program = built(tmp_path, "aio_requests")
    words = [*OURS, "-q", "--track-origins=no", str(program)]
    done = subprocess.run(
        [*words, "right"], env=environment(), capture_output=True, text=True, timeout=TIMEOUT
    )
    if done.returncode == 3:
        pytest.skip("no asynchronous requests here")
    assert (done.stdout, done.stderr) == ("17 83\n17 0 43\n17\n", "")
    done = subprocess.run(
        [*words, "wrong"], env=environment(), capture_output=True, text=True, timeout=TIMEOUT
    )
    assert re.findall(r"Syscall param (.*) byte\(s\)", done.stderr) == [
        "io_submit(PWRITE) points to uninitialised",
        "io_submit(PREAD) points to unaddressable",
        "io_submit(PREADV(iov[i])) points to unaddressable",
        "io_submit(PWRITEV(iov[i])) points to uninitialised",
        "io_submit(PREADV) points to uninitialised",
    ]


def test_what_the_kernel_writes(tmp_path: Path) -> None:
    program = built(tmp_path, "post_sweep")
    done = subprocess.run(
        [*OURS, "-q", str(program), str(tmp_path), "all"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=True,
    )
    assert done.stderr == ""
    made = re.findall(r"^(\w+) = (-?\d+)", done.stdout, re.M)
    assert len(made) > 130
    succeeded = [name for name, result in made if int(result) >= 0]
    assert len(succeeded) > 110  # some machines lack extended attributes, message queues, keys
    wrong = re.findall(r"^(\w+): \d+ bytes .*", done.stdout, re.M)
    assert set(wrong) - set(DIFFERENCES) == set(), done.stdout
