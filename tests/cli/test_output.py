"""Standard output that takes nothing: one line and exit code 1; where it is closed, nobody is told."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

COMMANDS = (
    "interpose.cli",
    "interpose.annotate.cli",
    "interpose.control.cli",
    "interpose.dgview.__main__",
    "interpose.memtrace.cli",
    "interpose.merge.cli",
    "interpose.reporting.cli",
    "interpose.vgdb.cli",
)


def run(module: str, *words: str, **more) -> subprocess.CompletedProcess[str]:
    """A command as its console script starts it."""
    start = f"import sys; sys.argv[0] = 'x'; from {module} import entry; entry()"
    command = [sys.executable, "-c", start, *words]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=60, **more)


def full(module: str, *words: str) -> subprocess.CompletedProcess[str]:
    with open("/dev/full", "wb") as target:
        return run(module, *words, stdout=target)


@pytest.mark.parametrize("module", COMMANDS)
def test_a_full_disk(module):
    done = full(module, "--help")
    assert done.returncode == 1
    # The viewer's lines have no prefix.
    assert done.stderr.removeprefix("interpose: ") == "standard output: No space left on device\n"


@pytest.mark.parametrize("module", COMMANDS)
def test_a_closed_standard_output(module):
    done = run(module, "--help", preexec_fn=lambda: os.close(1))
    assert (done.returncode, done.stderr) == (0, "")


def test_more_than_a_buffer_holds(tmp_path):
    profile = tmp_path / "callgrind.out.1"
    profile.write_text("events: Ir\n" + "".join(f"fn=function_number_{n}\n{n} 5\n" for n in range(1, 2000)))
    done = full("interpose.annotate.cli", "--threshold=100", str(profile))
    assert (done.returncode, done.stderr) == (1, "interpose: standard output: No space left on device\n")
    done = run("interpose.annotate.cli", str(profile), preexec_fn=lambda: os.close(1))
    assert (done.returncode, done.stderr) == (0, "")


def test_replies_of_a_program():
    """What ``interpose-vgdb`` writes past Python's buffers."""
    program = "from interpose.console import talk\nfrom interpose.vgdb.voice import Voice\n"
    program += "talk(lambda words: Voice().show('a reply'))\n"
    with open("/dev/full", "wb") as target:
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, stdout=target, stderr=subprocess.PIPE, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (1, "interpose: standard output: No space left on device\n")
