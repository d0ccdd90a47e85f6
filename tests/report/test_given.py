"""Files that options name by a descriptor of the program's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

OPTIONS = {
    "callgrind": ("--tool=callgrind", "--callgrind-out-file={}", b"events: Ir"),
    "leaks": ("--tool=memcheck --xtree-leak=yes", "--xtree-leak-file={}", b"events:"),
    "memory": ("--tool=memcheck --xtree-memory=full", "--xtree-memory-file={}", b"events:"),
    "datagrind": ("--tool=datagrind", "--datagrind-out-file={}", b"DATAGRIND1"),
}


def command(case: str, name: str) -> list[str]:
    options, file, _ = OPTIONS[case]
    words = [*options.split(), file.format(name), "--log-file=/dev/null"]
    return [sys.executable, "-m", "interpose", *words, "/bin/bash", "-c", "echo said"]


@pytest.mark.parametrize("case", OPTIONS)
def test_standard_output_is_the_programs(case: str) -> None:
    """It was the supervisor's own, where nobody reads."""
    done = subprocess.run(command(case, "/dev/stdout"), capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert b"said\n" in done.stdout and OPTIONS[case][2] in done.stdout


@pytest.mark.parametrize("name", ["/dev/fd/{}", "/proc/self/fd/{}"])
def test_any_descriptor_is(name: str) -> None:
    reading, writing = os.pipe()
    process = subprocess.Popen(
        command("callgrind", name.format(writing)), stdout=subprocess.PIPE, pass_fds=[writing]
    )
    os.close(writing)
    with open(reading, "rb") as file:
        told = file.read()
    assert process.communicate(timeout=60)[0] == b"said\n"
    assert b"events: Ir" in told


def test_one_that_is_closed_is_an_error() -> None:
    words = [part for part in command("callgrind", "/dev/stdout") if not part.startswith("--log")]
    done = subprocess.run(["sh", "-c", 'exec "$0" "$@" >&-', *words], capture_output=True, timeout=60)
    assert done.returncode == 1
    assert b"cannot write the profile '/dev/stdout': No such file or directory" in done.stderr


WRITES_BEYOND = """
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    char *volatile p = malloc(10);
    p[10] = 1;
    char byte;
    if (argc == 1)
        return read(0, &byte, 1) != 0;
    execv(argv[0], argv + 1);
    return 9;
}
"""
ENTRY = b"{\n   known\n   Memcheck:Addr1\n   fun:main\n}\n"


@pytest.fixture(scope="module")
def writes_beyond(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("given") / "beyond")
    subprocess.run(["gcc", "-x", "c", "-o", path, "-"], input=WRITES_BEYOND, text=True, check=True)
    return path


def suppressed(name: str, program: str, **how: Any) -> subprocess.CompletedProcess[bytes]:
    """A run of the program, and of itself that it executes, with suppressions from this file."""
    words = ["-q", "--trace-children=yes", "--error-exitcode=7", f"--suppressions={name}"]
    return subprocess.run(
        [sys.executable, "-m", "interpose", *words, program, program], capture_output=True, timeout=60, **how
    )


def test_suppressions_in_a_pipe(writes_beyond: str) -> None:
    """As a shell gives ``<(command)``. It was read when the program's descriptors were closed."""
    reading, writing = os.pipe()
    with open(writing, "wb") as file:
        file.write(ENTRY)
    done = suppressed(f"/dev/fd/{reading}", writes_beyond, pass_fds=[reading], stdin=subprocess.DEVNULL)
    os.close(reading)
    assert (done.returncode, done.stderr) == (0, b"")


def test_suppressions_from_standard_input(writes_beyond: str) -> None:
    """It was the supervisor's own, where nothing is; what was read, the program does not get."""
    done = suppressed("/dev/stdin", writes_beyond, input=ENTRY)
    assert (done.returncode, done.stderr) == (0, b"")


def test_suppressions_in_a_named_pipe_are_read_once(writes_beyond: str, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = subprocess.Popen(["sh", "-c", f"cat > {pipe}"], stdin=subprocess.PIPE)
    assert writer.stdin is not None
    writer.stdin.write(ENTRY)
    writer.stdin.close()
    done = suppressed(str(pipe), writes_beyond, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stderr) == (0, b"")
    assert writer.wait(60) == 0


def test_hooks_in_a_pipe(writes_beyond: str) -> None:
    pytest.importorskip("greenlet")
    reading, writing = os.pipe()
    with open(writing, "wb") as file:
        file.write(b"import interpose\n@interpose.replace('libc.so*', 'read')\ndef read(call): return 5\n")
    words = ["--tool=none", "-q", f"--hooks=/dev/fd/{reading}", writes_beyond]
    done = subprocess.run(
        [sys.executable, "-m", "interpose", *words],
        pass_fds=[reading],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )
    os.close(reading)
    assert (done.returncode, done.stderr) == (1, b"")


def test_a_file_without_an_end_is_an_error() -> None:
    words = ["--tool=memcheck", "--suppressions=/dev/zero", "/bin/true"]
    done = subprocess.run([sys.executable, "-m", "interpose", *words], capture_output=True, timeout=60)
    assert done.returncode == 1 and b'FATAL: can\'t open suppressions file "/dev/zero"' in done.stderr
