"""Hooks that stay in the process that starts the program."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hooks.conftest import NATIVE, ON_CPU

import interpose
from interpose.hooks import Registry


def start(server, program, *words, tool="none"):
    engine = "--engine=native" if tool == NATIVE else f"--tool={tool}"
    command = [sys.executable, "-m", "interpose", engine, "-q", f"--hooks={server}"]
    return subprocess.run([*command, str(program), *words], capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def flow(build: Callable[..., Path]) -> Path:
    return build("flow.cc", "-pthread", "-fcf-protection=none")


@pytest.mark.parametrize("tool", ["none", ON_CPU])
def test_a_function_defined_anew_takes_the_place_of_the_former(tool, build):
    """For the next run, and for the next call of a program that runs."""
    hooks = Registry()

    def define(more):
        @hooks.wrap("NONE", "leaf")
        def leaf(call, n: int) -> int:
            if more == 1:
                define(2)
            return call(n) + more

    define(1)
    with hooks.serve() as server:
        found = start(server.option, build("leaf.c"), tool=tool)
    assert (found.stdout, found.stderr) == ("8 0\n", "")
    define(3)
    with hooks.serve() as server:
        found = start(server.option, build("leaf.c"), tool=tool)
    assert (found.stdout, found.stderr) == ("9 0\n", "")
    assert len(hooks) == 1


def _hooks_of_leaf() -> Registry:
    hooks = Registry()

    @hooks.wrap("NONE", "leaf")
    def leaf(call, n: int) -> int:
        return call(n) + 1

    return hooks


def test_a_temporary_folder_with_a_long_name(build, tmp_path, monkeypatch):
    """The address of a socket has 108 bytes."""
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    with _hooks_of_leaf().serve() as server:
        found = start(server.option, build("leaf.c"))
        place = Path(server.path).parent
    assert (found.stdout, found.stderr) == ("7 0\n", "")
    assert not place.exists() and list(folder.iterdir()) == []


def test_no_socket_can_be_made(monkeypatch, tmp_path):
    def refuse(self, address):
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(socket.socket, "bind", refuse)
    with pytest.raises(
        interpose.HookError, match="socket cannot be made there: Operation not permitted; set TMPDIR"
    ):
        _hooks_of_leaf().serve()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("tool", ["none", "memcheck", ON_CPU])
def test_function_fills_variables_of_this_process(tool, build):
    hooks = Registry()
    seen = []

    @hooks.wrap("NONE", "name")
    def name(call, text: interpose.CString) -> interpose.CString:
        seen.append((text, text and text.address > 0, [f.function for f in call.stack], call.function))
        call(b"other bytes" if text else None)
        return call(text)

    @hooks.wrap("NONE", "mean")
    def mean(call, a: float, b: interpose.Float, n: int) -> float:
        return call(a, b, n) + 1

    @hooks.wrap("NONE", "nothing")
    def nothing(call, p: interpose.Pointer) -> None:
        with pytest.raises(interpose.MemoryFault, match="cannot read 4 bytes at 0x10"):
            call.memory.read(16, 4)
        with pytest.raises(IndexError):
            call.floats[9] = 1.0
        with pytest.raises(LookupError):
            call.invoke("no_such_function")
        call.memory.store(p, 12, int)
        call.errno = 3
        seen.append((call.errno, call.thread.number, call.pid > 0))

    @hooks.wrap("NONE", "ten")
    def ten(call, a: interpose.Long) -> interpose.Long:
        call.args[8] = 1000
        return call()

    with hooks.serve() as server:
        run = start(server.option, build("calls.c"), tool=tool)
        assert (run.stderr, run.returncode) == ("", 0)
    assert seen == [("some name", True, ["main"], "name"), (None, None, ["main"], "name"), (3, 1, True)]
    lines = run.stdout.encode("utf-8", "surrogateescape").split(b"\n")
    assert b"name some name" in lines
    assert b"mean 3.000" in lines
    assert b"nothing 12" in lines
    assert b"ten 1 2 3 4 5 6 7 8 8.5 1000 10" in lines


@pytest.mark.parametrize("tool", ["none", ON_CPU])
def test_arguments_on_the_stack(tool, build):
    hooks = Registry()
    seen = []

    @hooks.wrap("NONE", "nine")
    def nine(call, a: int, b: int, c: int, d: int, e: int, f: int, g: int, h: int, i: int) -> int:
        seen.extend([call(1, 2, 3, 4, 5, 6, 1, 1, 1), call()])
        call.args[7] = 0
        seen.extend([call.args[7], call(), call(1, 2, 3, 4, 5, 6, 5)])
        return call()

    with hooks.serve() as server:
        found = start(server.option, build("stack_words.c"), tool=tool)
    assert found.stdout.startswith("nine 709\nsum 7\nkeeps 123\n"), found.stderr
    assert seen == [111, 789, 0, 709, 509]


@pytest.mark.parametrize(
    ("words", "out"),
    [
        (["depth", "50"], "101\n"),
        (["longjmp"], "5\n"),
        (["throw"], "6\nthrown 1\nthrown 2\n6\n"),
        (["overlap"], "1\n"),
        (["pthread_exit"], "joined\n"),
    ],
)
def test_ways_in_and_out(words, out, flow):
    hooks = Registry()
    ended = []

    @hooks.wrap("NONE", "depth")
    def depth(call, n: int) -> int:
        return call(n) + 1

    for name in ("leaves", "throws", "slow", "ends_thread"):

        @hooks.wrap("NONE", name)
        def through(call, n):
            try:
                call(n)
            finally:
                ended.append(n)

    with hooks.serve() as server:
        run = start(server.option, flow, *words)
    assert (run.stdout, run.stderr, run.returncode) == (out, "", 0)


def test_mistakes_are_exceptions_of_the_hook(flow):
    """What the supervisor finds to be one, too; and numbers need not be Python's."""
    hooks = Registry()
    seen = []

    class Number:
        def __init__(self, value: int) -> None:
            self.value = int(value)

        def __index__(self) -> int:
            return self.value

    @hooks.wrap("NONE", "work")
    def work(call, n: int) -> int:
        for wrong in (
            lambda: call.memory.read(call.alloc(8), 1.5),
            lambda: call.invoke("\ud800"),
            lambda: call.invoke(1 << 64),
            lambda: call.stack[99],
        ):
            try:
                wrong()
            except Exception as error:
                seen.append(type(error))
        place = call.alloc(Number(8))
        call.memory.write(Number(place), b"12")
        seen.append(call.memory.read(Number(place), Number(2)))
        return call(n)

    with hooks.serve() as server:
        run = start(server.option, flow, "exec")
    assert (run.stdout, run.stderr, run.returncode) == ("3\n1 0\n", "", 0)
    assert seen == [TypeError, LookupError, OverflowError, IndexError, b"12"]


def test_hooks_that_the_end_leaves_end_before_the_run_is_over(flow):
    """A thread that Python's own end finds in a greenlet would crash the process."""
    hooks = Registry()
    ended = []

    @hooks.wrap("*", "exit")
    def leaves(call, n: int) -> None:
        try:
            call(n)
        finally:
            for _ in range(100):
                time.sleep(0.001)
            ended.append(n)

    interpose.run([flow, "throw"], tool="none", hooks=[hooks], capture_output=True)
    assert ended == [0]


def test_failure_is_shown_in_the_log(flow):
    hooks = Registry()

    @hooks.wrap("NONE", "work")
    def work(call, n: int) -> int:
        return 1 // 0

    with hooks.serve() as server:
        run = start(server.option, flow, "exec")
    assert (run.stdout, run.returncode) == ("3\n1 0\n", 0)
    assert "Hook work (" in run.stderr
    assert "return 1 // 0" in run.stderr
    assert "ZeroDivisionError" in run.stderr
    assert "main (flow.cc:" in run.stderr
    assert "interpose/hooks" not in run.stderr


@pytest.mark.parametrize("tool", ["none", ON_CPU])
def test_child_of_a_fork_has_hooks_too(tool, flow):
    hooks = Registry()
    pids = []

    @hooks.wrap("NONE", "work")
    def work(call, n: int) -> int:
        pids.append(call.pid)
        return 77

    @hooks.wrap("NONE", "forks")
    def forks(call) -> int:
        return call()

    with hooks.serve() as server:
        run = start(server.option, flow, "fork", tool=tool)
    assert sorted(run.stdout.splitlines()) == ["child 77", "parent 77", "status 4"], run.stderr
    assert len(set(pids)) == 2


def test_program_goes_on_without_the_process_that_has_the_hooks(flow, tmp_path):
    """Killed while a call waits in a hook of its."""
    owner = subprocess.Popen(
        [sys.executable, "-c", _OWNER],
        stdout=subprocess.PIPE,
        text=True,
    )
    option = owner.stdout.readline().strip()
    command = [sys.executable, "-m", "interpose", "--tool=none", "-q", f"--hooks={option}"]
    program = subprocess.Popen([*command, str(flow), "exec"], stdout=-1, stderr=-1, text=True)
    assert owner.stdout.readline() == "called\n"
    owner.send_signal(signal.SIGKILL)
    owner.communicate()
    out, err = program.communicate(timeout=60)
    assert (out, program.returncode) == ("3\n1 0\n", 0)
    assert err.count("The process with the hooks is gone; the program goes on without them") == 1
    assert err.count("\n") == 1


_OWNER = """
import time
from interpose.hooks import Registry
hooks = Registry()
@hooks.wrap("NONE", "work")
def work(call, n: int) -> int:
    print("called", flush=True)
    time.sleep(1000)
print(hooks.serve().option, flush=True)
time.sleep(1000)
"""


@pytest.mark.parametrize("answer", [b"", b"\xff\xff\xff\xff", b"\5\0\0\0hello", b'\7\0\0\0["x",1]'])
def test_nobody_or_nonsense_at_the_socket(answer, flow, tmp_path):
    path = tmp_path / "socket"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def serve():
        connection, _ = listener.accept()
        with connection:
            connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    run = start(f"live:{path}", flow, "exec")
    thread.join()
    listener.close()
    assert (run.stdout, run.returncode, run.stderr.count("\n")) == ("", 1, 1), run.stderr
    assert str(path) in run.stderr
    missing = start("live:/nowhere/at/all", flow, "exec")
    assert missing.stderr == (
        "interpose: cannot reach the process with the hooks at /nowhere/at/all: No such file or directory\n"
    )


def test_garbage_to_the_server_hurts_nobody(flow):
    hooks = Registry()

    @hooks.wrap("NONE", "work")
    def work(call, n: int) -> int:
        return 5

    with hooks.serve() as server:
        for data in (b"x" * 100, struct.pack("<I", 1 << 31), struct.pack("<I", 6) + b'["ok"]', b""):
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(server.path)
                connection.sendall(data)
                time.sleep(0.01)
        run = start(server.option, flow, "exec")
        assert (run.stdout, run.stderr) == ("5\n1 0\n", "")
        folder = os.path.dirname(server.path)
        assert os.stat(folder).st_mode & 0o777 == 0o700
    assert not os.path.exists(folder)
    with pytest.raises(interpose.HookError, match="the registry has no hook"):
        Registry().serve()


def test_run_takes_registries_and_files(flow, tmp_path, monkeypatch):
    folder = tempfile.TemporaryDirectory()  # a socket's path is short
    monkeypatch.setattr(tempfile, "tempdir", folder.name)
    hooks = Registry()
    seen = []

    @hooks.wrap("NONE", "work")
    def work(call, n: int) -> int:
        seen.append(n)
        return call(n) + 1

    file = tmp_path / "file.py"
    file.write_text(
        "import interpose\n@interpose.wrap('NONE', 'even')\ndef even(call, n: int) -> int:\n    return 9\n"
    )
    run = interpose.run([flow, "exec"], tool="none", hooks=[hooks, file], capture_output=True, text=True)
    assert (run.stdout, seen) == ("4\n1 0\n", [3])
    run = interpose.run([flow, "mutual"], tool="memcheck", hooks=str(file), capture_output=True, text=True)
    assert run.stdout == "9 9\n"
    with pytest.raises(TypeError, match="hooks takes files and interpose"):
        interpose.run([flow], tool="none", hooks=[work])
    with pytest.raises(interpose.HookError):
        interpose.run([flow], tool="none", hooks=[hooks, Registry()])
    with pytest.raises(interpose.errors.InterposeError, match=r"file.py:1: ZeroDivisionError"):
        file.write_text("1 / 0\n")
        interpose.run([flow], tool="none", hooks=str(file), capture_output=True)
    assert os.listdir(folder.name) == []
    folder.cleanup()
