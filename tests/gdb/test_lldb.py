"""The real lldb, over a TCP port of interpose-vgdb."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from gdb import sessions
from gdb.sessions import TIMEOUT

LLDB = shutil.which("lldb")
pytestmark = pytest.mark.skipif(LLDB is None, reason="lldb is not installed")

COMMANDS = """
breakpoint set -n add
continue
thread backtrace
image list
frame variable n
thread step-inst
thread step-over
expression add(100)
thread step-out
breakpoint disable 1
watchpoint set variable total
continue
watchpoint delete 1
register read rsp
memory region $rip
memory region $rsp
memory region 0
continue
"""
EXPECTED = [
    r"stop reason = breakpoint 1",
    r"frame #0: .*add\(n=1\)",
    r"frame #1: .*main",
    r"\[ +\d\] .*/ld-linux-x86-64",
    r"\[ +\d\] .*/libc\.so",
    r"\(int\) n = 1",
    r"instruction step into",
    r"step over",
    r"\(int\) \$0 = 101",
    r"step out",
    r"Watchpoint created",
    r"new value: 103",
    r"stop reason = watchpoint 1",
    r"rsp = 0x",
    r"\[0x[0-9a-f]{16}-0x[0-9a-f]{16}\) r-x .*/breakpoint",
    r"\[0x[0-9a-f]{16}-0x[0-9a-f]{16}\) rw- \[stack\]",
    r"\[0x0000000000000000-0x[0-9a-f]{16}\) ---$",
    r"exited with status = 7",
]


@pytest.mark.parametrize("tool", ["none", "memcheck"])
def test_lldb(tool: str, tmp_path: Path) -> None:
    said, status = _session(tool, COMMANDS, tmp_path)
    missing = sessions.found_in_order(EXPECTED, said)
    assert missing is None, f"lldb does not say {missing!r}:\n{said}"
    assert status == 7


@pytest.mark.parametrize("tool", ["none", "memcheck"])
def test_lldb_kills(tool: str, tmp_path: Path) -> None:
    """lldb hears of the end that it asks for."""
    said, status = _session(tool, "breakpoint set -n add\ncontinue\nprocess kill\n", tmp_path)
    missing = sessions.found_in_order([r"stop reason = breakpoint 1", r"exited with status = 9"], said)
    assert missing is None and "failed" not in said, said
    assert status == 0


@pytest.mark.parametrize("tool", ["none", "memcheck"])
def test_lldb_hears_of_ignored_signals(tool: str, tmp_path: Path) -> None:
    """It says nothing of signals beforehand: all are told."""
    said, status = _session(tool, "breakpoint set -n main\ncontinue\ncontinue\n", tmp_path, "forked")
    missing = sessions.found_in_order([r"received signal: SIGCHLD", r"exited with status = 5"], said)
    assert missing is None, said
    assert status == 5


def _session(tool: str, commands: str, tmp_path: Path, guest: str = "breakpoint") -> tuple[str, int]:
    """What lldb says to commands at a program's start, and how the program ends."""
    program = sessions.build(sessions.read(sessions.GUESTS / f"{guest}.gdb"), tmp_path)
    prefix = tmp_path / "pipe"
    (tmp_path / "commands").write_text(commands)
    command = [sys.executable, "-m", "interpose", f"--tool={tool}", f"--vgdb-prefix={prefix}"]
    with open(tmp_path / "out", "w") as out:
        client = subprocess.Popen([*command, "--vgdb-stop-at=startup", program], stdout=out, stderr=out)
    relay = None
    try:
        words = [f"--vgdb-prefix={prefix}", "--wait=20", f"--pid={client.pid}", "--port=0"]
        relay = subprocess.Popen(
            [sys.executable, "-m", "interpose.vgdb", *words], stderr=subprocess.PIPE, text=True
        )
        assert relay.stderr is not None
        said = relay.stderr.readline()
        port = next(word for word in said.split() if word.isdigit())
        assert LLDB is not None
        done = subprocess.run(
            [
                LLDB, "--no-lldbinit", "--batch", "-o", f"gdb-remote 127.0.0.1:{port}",
                "-s", tmp_path / "commands", program,
            ],
            capture_output=True, text=True, timeout=TIMEOUT, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        status = client.wait(timeout=TIMEOUT)
    finally:
        client.kill()
        client.wait()
        if relay is not None:
            relay.kill()
            relay.communicate()
    return done.stdout + done.stderr, status
