"""A log destination fails, fills up, goes away, does not read: the program goes on, or one line says why."""

from __future__ import annotations

import os
import re
import resource
import signal
import socket
import subprocess
import time
import uuid
from pathlib import Path

import pytest
from life.running import TOOLS, command, environment, processes_with, run, wait_until


class Talk:
    """A program that makes an error, under memcheck, after each line it reads."""

    def __init__(self, ends: str, *options: str, **how: object) -> None:
        self.token = uuid.uuid4().hex
        self.process = subprocess.Popen(
            [*command("--tool=memcheck", *options), ends, "talks"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(RUN_TOKEN=self.token),
            **how,  # type: ignore[call-overload]
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def line(self, text: str = "more\n") -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def end(self, code: int) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        assert self.process.wait(60) == code
        self.process.stdout.close()
        assert wait_until(lambda: not processes_with(self.token))


def test_pipe_without_reader(ends: str, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    done = run([*command("--tool=memcheck", f"--log-file={pipe}"), ends, "exit", "5"])
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"interpose: Cannot create log file '{pipe}': nobody reads from this pipe\n"


@pytest.mark.parametrize("option", ("--log-file={}", "--json-file={}", "--xml=yes --xml-file={}"))
def test_pipe_whose_reader_comes_late(ends: str, tmp_path: Path, option: str) -> None:
    """As in ``mkfifo pipe; interpose --log-file=pipe program & reader pipe``."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    words = command("--tool=memcheck", *option.format(pipe).split())
    process = subprocess.Popen([*words, ends, "exit", "5"], stderr=subprocess.DEVNULL)
    time.sleep(0.7)
    assert process.poll() is None
    assert ends.encode() in pipe.read_bytes()
    assert process.wait(60) == 5


def test_no_terminal(ends: str) -> None:
    """ENXIO, as of a pipe without a reader."""
    words = command("--tool=none", "--log-file=/dev/tty")
    done = subprocess.run(
        [*words, ends, "exit", "5"], capture_output=True, text=True, timeout=60, start_new_session=True
    )
    told = "interpose: Cannot create log file '/dev/tty': No such device or address\n"
    assert (done.returncode, done.stderr) == (1, told)


def test_pipe_with_reader(ends: str, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    done = run([*command("--tool=memcheck", f"--log-file={pipe}"), ends, "exit", "5"])
    assert done.returncode == 5, done.stderr
    assert b"ERROR SUMMARY: 0 errors" in os.read(reader, 1 << 16)
    os.close(reader)


def test_reader_of_the_log_leaves(ends: str) -> None:
    """In the middle of the run: EPIPE, and no SIGPIPE for anybody."""
    read, write = os.pipe()
    talk = Talk(ends, f"--log-fd={write}", pass_fds=[write])
    os.close(write)
    talk.line()
    assert os.read(read, 100).startswith(b"==")
    os.close(read)
    for _ in range(3):
        talk.line()
    talk.end(4)


def test_peer_of_the_socket_leaves(ends: str) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        talk = Talk(ends, f"--log-socket=127.0.0.1:{listener.getsockname()[1]}", stderr=subprocess.DEVNULL)
        peer, _ = listener.accept()
    talk.line()
    assert peer.recv(100).startswith(b"==")
    peer.close()
    for _ in range(3):
        talk.line()
    talk.end(4)


def test_nobody_listens(ends: str) -> None:
    """The log goes to standard error then, as Valgrind's does."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening: refused
        port = taken.getsockname()[1]
        done = run([*command("--tool=none", f"--log-socket=127.0.0.1:{port}"), ends, "exit", "5"])
    first, second, *rest = (re.sub("^==\\d+== ", "", line) for line in done.stderr.splitlines())
    assert first.startswith(f"Cannot connect to the log listener 127.0.0.1:{port}"), done.stderr
    assert second == "Logging messages will be sent to stderr instead."
    assert any(line.startswith("Command: ") for line in rest), done.stderr
    assert done.returncode == 5


def test_reader_that_does_not_read(ends: str) -> None:
    """The program waits for it, as it would itself; its supervisor for seconds only, once it is killed."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    while True:
        try:
            os.write(write, b"x" * 4096)
        except BlockingIOError:
            break
    os.set_blocking(write, True)
    token = uuid.uuid4().hex
    process = subprocess.Popen(
        [*command("--tool=memcheck", f"--log-fd={write}"), ends, "exit", "5"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=[write],
        env=environment(RUN_TOKEN=token),
    )
    os.close(write)
    assert wait_until(lambda: len(processes_with(token)) >= 2)
    process.send_signal(signal.SIGKILL)
    assert process.wait(30) == -signal.SIGKILL
    assert wait_until(lambda: not processes_with(token), 30)
    os.close(read)


@pytest.mark.parametrize("tool", TOOLS)
def test_disk_is_full(ends: str, tmp_path: Path, tool: str) -> None:
    """A file system without room for the log: the program ends as it would."""
    small = tmp_path / "small"
    small.mkdir()
    words = " ".join([*command(f"--tool={tool}", "-v", "-v", f"--log-file={small}/log"), ends, "exit", "5"])
    script = (
        f"mount -t tmpfs -o size=4k none {small} && {{ {words}; echo status $?; stat -c %s {small}/log; }}"
    )
    done = run(["unshare", "-m", "sh", "-c", script])
    if "status" not in done.stdout:
        pytest.skip("no mount namespaces here")
    status, size = done.stdout.splitlines()
    line = "interpose: Cannot write the log: No space left on device; it is not complete\n"
    assert status == "status 5" and 0 < int(size) <= 4096
    assert done.stderr == (line if tool == "memcheck" else "")  # the other log is short enough


@pytest.mark.parametrize("what", ["log", "xml", "json"])
def test_device_is_full(ends: str, what: str) -> None:
    """A report that lacks something is told to be incomplete, once."""
    more = ["--xml=yes"] if what == "xml" else []
    words = command("--tool=memcheck", f"--{what}-file=/dev/full", *more)
    done = run([*words, ends, "exit", "5"])
    lines = [line for line in done.stderr.splitlines() if not line.startswith("==")]
    assert lines == [f"interpose: Cannot write the {what}: No space left on device; it is not complete"]
    assert done.returncode == 5


@pytest.mark.parametrize("tool", TOOLS)
def test_limit_on_file_sizes(ends: str, tmp_path: Path, tool: str) -> None:
    """The program's soft limit is not the log's."""
    log = tmp_path / "log"

    def soft() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (512, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

    words = [*command(f"--tool={tool}", "-v", "-v", f"--log-file={log}"), ends, "exit", "5"]
    done = run(words, preexec_fn=soft)
    assert (done.returncode, done.stdout, done.stderr) == (5, "", "")
    assert log.stat().st_size > 512


def sizes(folder: Path) -> list[int]:
    return [path.stat().st_size for path in folder.rglob("*") if path.is_file()]


RECORDED = {
    "memtrace": ("--memtrace-dir=.",),
    "datagrind": ("--datagrind-out-file=out",),
    "callgrind": ("--callgrind-out-file=out",),
}


@pytest.mark.parametrize("tool", RECORDED)
def test_limit_on_file_sizes_is_none_of_records(ends: str, tmp_path: Path, tool: str) -> None:
    """Neither before the program runs nor in it does its soft limit cost records, or bring a signal."""

    def soft() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (512, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

    words = [*command(f"--tool={tool}", "-q", *RECORDED[tool]), ends, "exit", "5"]
    done = run(words, preexec_fn=soft, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (5, "", "")
    assert max(sizes(tmp_path)) > 512


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize(
    "prepare",
    [
        "mount -t tmpfs none /dev",
        "mount -t tmpfs -o ro none /dev/shm",
        "mount -t tmpfs -o ro none /mnt && cd /mnt",
        "export TMPDIR=/no/such/folder",
        "mount -t tmpfs -o size=4k none /mnt && echo > /mnt/full && export TMPDIR=/mnt",
        "mkdir -p $FOLDER/gone; cd $FOLDER/gone; rmdir $FOLDER/gone",
        "exec 0<&- 1>&-",
        "ulimit -c 0; ulimit -n 64",
    ],
)
def test_bare_surroundings(ends: str, tmp_path: Path, tool: str, prepare: str) -> None:
    """No /dev, nowhere to write: none of it is needed to run a program."""
    words = " ".join([*command(f"--tool={tool}", "-q"), ends, "exit", "5"])
    if not os.access("/proc/self/ns/mnt", os.R_OK) or run(["unshare", "-m", "true"]).returncode != 0:
        pytest.skip("no mount namespaces here")
    done = run(["unshare", "-m", "sh", "-c", f"{prepare}; {words}"], env=environment(FOLDER=str(tmp_path)))
    assert done.returncode == 5, done.stderr
    assert "interpose: internal" not in done.stderr and "Traceback" not in done.stderr


def test_processes_of_another_namespace_are_left_alone(ends: str) -> None:
    """Under a /proc with other numbers, those of the program lead to some other process's memory."""
    inside = ["unshare", "--pid", "--fork"]
    if not os.access("/proc/self/ns/pid", os.R_OK) or run([*inside, "true"]).returncode != 0:
        pytest.skip("no PID namespaces here")
    words = [*command("--tool=none", "-q"), ends, "exit", "5"]
    done = run([*inside, *words])
    assert done.returncode == 1
    message = "interpose: /proc is that of another PID namespace; mount one (unshare --mount-proc)\n"
    assert done.stderr == message
    assert run([*inside, "--mount-proc", *words]).returncode == 5
