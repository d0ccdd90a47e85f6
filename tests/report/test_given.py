"""Files that options name by a descriptor of the program's."""

from __future__ import annotations

import os
import subprocess
import sys

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
