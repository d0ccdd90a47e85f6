"""Processes that stand still between two steps (--delays): no result changes by what others do meanwhile."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from life.running import TOOLS, command, compile_guest, environment, processes_with, run, state, wait_until

from interpose.jit._native import lib
from interpose.options.core import DELAY_PLACES
from interpose.supervisor.client import Client
from interpose.supervisor.main import Supervisor

WHOLE = "child: first\nchild: second\n"
CASES = [
    (
        "fork",
        "fork=400",
        {"parent: 7\n", f"{WHOLE}parent: 7\nchild: exit 3\n", f"parent: 7\n{WHOLE}child: exit 3\n"},
    ),
    (
        "vfork",
        "clone=400",
        {"parent: 7\n", f"{WHOLE}parent: 7\nchild: exit 3\n", f"parent: 7\n{WHOLE}child: exit 3\n"},
    ),
    ("exec", "exec=400", {"parent: 7\n", "executed\nparent: 0\n"}),
    ("thread", "clone=400", {"parent: 7\n"}),
]


@pytest.mark.parametrize(("how", "delays", "wanted"), CASES, ids=[how for how, _, _ in CASES])
def test_the_end_comes_amid_a_call(tmp_path: Path, how: str, delays: str, wanted: set[str]) -> None:
    """The call is over before the process begins to end, or never happens; nothing is waited for."""
    program = compile_guest("life/fork_and_exit.c", tmp_path)
    done = run([*command("--tool=memcheck", "-q", f"--delays={delays}"), str(program), how])
    assert done.stdout in wanted, done
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize(("how", "place"), [("ends", "fork"), ("ends", "forking"), ("stops", "fork")])
def test_a_signal_for_the_group_comes_amid_a_fork(tmp_path: Path, tool: str, how: str, place: str) -> None:
    """Who presses Ctrl-C, or Ctrl-Z, means the child, too: none is made that never hears of it."""
    program = compile_guest("life/fork_amid_signals.c", tmp_path)
    wanted = "ended by 15, no child\n" if how == "ends" else "stopped by 20, no child\nexit 5\n"
    native = run([str(program), how])
    assert (native.returncode, native.stdout) == (0, wanted)
    done = run([*command(f"--tool={tool}", "-q", f"--delays={place}=600"), str(program), how])
    assert (done.returncode, done.stdout, done.stderr) == (0, wanted, "")


@pytest.mark.parametrize("tool", TOOLS)
def test_forks_while_threads_queue_to_make_threads(tmp_path: Path, tool: str) -> None:
    """What a fork and who makes a thread hold and wait for has one order."""
    program = compile_guest("life/fork_amid_threads.c", tmp_path)
    done = run([*command(f"--tool={tool}", "-q", "--delays=clone=20"), str(program)])
    assert (done.returncode, done.stdout, done.stderr) == (0, "6 children\n", "")


def test_signals_that_come_on_the_way_into_a_sleep(tmp_path: Path) -> None:
    """Blocked ones of faults, sent when the mask of the sleep is made and the kernel does not have it yet."""
    program = compile_guest("life/wait_for_faults.c", tmp_path)
    done = run([*command("--tool=none", "-q", "--delays=hold=100"), str(program)])
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 lost\n", "")


@pytest.mark.parametrize("tool", TOOLS)
def test_a_signal_comes_on_the_way_to_the_handler_of_a_fault(tmp_path: Path, tool: str) -> None:
    """The handler blocks it, so it waits, with what was sent along."""
    program = compile_guest("life/fault_blocks_signal.c", tmp_path)
    done = run([*command(f"--tool={tool}", "-q", "--delays=fault=400"), str(program)])
    assert (done.returncode, done.stdout, done.stderr) == (0, "1, value 7, amid the handler 0\n", "")


@pytest.mark.parametrize("tool", TOOLS)
def test_no_file_outlives_the_program(tmp_path: Path, tool: str) -> None:
    """Once it has gone, nobody could remove what a killed supervisor leaves."""
    words = [*command(f"--tool={tool}", "-q", "--delays=exit=3000"), "cat"]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, env=environment(TMPDIR=str(tmp_path)))
    assert process.stdin is not None
    assert wait_until(lambda: bool(os.listdir(tmp_path)))
    process.stdin.close()
    assert wait_until(lambda: not os.listdir(tmp_path) or process.poll() is not None)
    assert process.poll() is None
    assert process.wait(60) == 0


@pytest.mark.parametrize("options", [(), ("--trace-children=yes",)], ids=["natively", "traced"])
def test_no_file_outlives_a_program_that_executes(tmp_path: Path, options: tuple[str, ...]) -> None:
    """Natively nobody is left who would remove what a killed supervisor leaves; a traced one knows of it."""
    token = f"TOKEN={tmp_path}"
    words = [*command("-q", "--delays=hangup=60000", *options), "/bin/sh", "-c", "echo 1; exec cat"]
    surroundings = environment(TMPDIR=str(tmp_path), TOKEN=str(tmp_path))
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(words, env=surroundings, **pipes) as process:  # type: ignore[call-overload]
        assert process.stdout.readline() == b"1\n"
        process.stdin.write(b"2\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"2\n"
        assert bool(os.listdir(tmp_path)) is bool(options)
        for pid in set(processes_with(token)) - {process.pid}:
            os.kill(pid, signal.SIGKILL)
        process.stdin.close()
        assert process.wait(60) == bool(options)
    assert not os.listdir(tmp_path)


def test_files_come_back_when_an_exec_fails(tmp_path: Path) -> None:
    """The kernel refuses what the program wants to be: it can be reached as before."""
    (tmp_path / "broken").write_bytes(b"\x7fELF")
    (tmp_path / "broken").chmod(0o755)
    code = "import os, sys\ntry: os.execv('./broken', ['x'])\nexcept OSError: print(1)\nsys.stdin.read()"
    place = tmp_path / "place"
    place.mkdir()
    words = [*command("-q"), "/usr/bin/python3", "-SIu", "-c", code]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    surroundings = environment(TMPDIR=str(place))
    with subprocess.Popen(words, env=surroundings, cwd=tmp_path, **pipes) as process:  # type: ignore[call-overload]
        assert process.stdout.readline() == b"1\n"
        assert wait_until(lambda: len(os.listdir(place)) == 3)
        process.stdin.close()
        assert process.wait(60) == 0
    assert not os.listdir(place)


LEFT_BY_ITS_FIRST = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
ctypes.CDLL(None).syscall(60, 0)
"""


@pytest.mark.parametrize("ending", [True, False], ids=["slow to die", "executes"])
def test_end_of_file_and_no_death(ending: bool) -> None:
    """A process may take any time from closing its socket to being dead: its report is due all the same."""
    code = LEFT_BY_ITS_FIRST if ending else "import time; time.sleep(600)"
    process = subprocess.Popen([sys.executable, "-c", code])
    ours, theirs = socket.socketpair()
    try:
        # A first thread that is gone looks like a process that is on its way out, and stays so.
        assert wait_until(lambda: state(process.pid) == ("Z" if ending else "S"))
        theirs.close()
        client = Client(process.pid, None)
        client.attach()
        assert not client.is_dead()
        supervisor: Any = SimpleNamespace(
            session=SimpleNamespace(sock_fd=ours.fileno()), client=client, born=True, finished=False
        )
        assert not Supervisor._still_there(supervisor)
        assert supervisor.finished != ending
        client.detach()
    finally:
        ours.close()
        process.kill()
        process.wait()


def test_places_have_one_name() -> None:
    names = {name for name in dir(lib) if re.fullmatch(r"IP_AT_(?!END)\w+", name)}
    assert names == {f"IP_AT_{place.upper()}" for place in DELAY_PLACES}


@pytest.mark.parametrize("text", ["nowhere=3", "fork", "fork=-1", "seed=x", ""])
def test_bad_delays(text: str) -> None:
    done = run([*command(f"--delays={text}"), "/bin/true"])
    assert done.returncode == 1 and "--delays=" in done.stderr
