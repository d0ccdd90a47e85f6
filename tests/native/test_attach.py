"""`--attach` and `--detach`: into a process that runs, and out of it."""

from __future__ import annotations

import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from native.test_run import WRAPPER, compile_text

pytest.importorskip("frida", reason="the native engine's package is not installed")

# With an argument two threads call. The first tells what it gets when it reads a line, and opens what the
# line names.
PROGRAM = """
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((noipa)) int twice(int x) { return 2 * x; }
static volatile int odd;
static void *calls(void *p) {
    for (;;) {
        int got = twice(1);
        if (got != 2 && got != 102) odd = got;
    }
}
int main(int argc, char **argv) {
    char line[4096];
    pthread_t thread;
    void *opened = 0;
    if (argc > 1) pthread_create(&thread, 0, calls, 0);
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\\n")] = 0;
        if (line[0] == '/') opened = dlopen(line, RTLD_NOW);
        if (line[0] == '-') dlclose(opened);
        printf("%d %d\\n", twice(5), odd);
        fflush(stdout);
    }
    return 7;
}
"""


def interpose(*words: object, **more: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "interpose", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=20, **more)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("attach")


@pytest.fixture(scope="session")
def wrapper(folder: Path) -> Path:
    return compile_text(folder, "wrapper.so", WRAPPER, "-shared", "-fPIC")


@pytest.fixture(scope="session")
def program(folder: Path) -> Path:
    return compile_text(folder, "program", PROGRAM, "-pthread")


class Running:
    """A process, asked by lines."""

    def __init__(self, *command: object) -> None:
        self.process = subprocess.Popen(
            list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.pid = self.process.pid

    def ask(self, line: object = "") -> str:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def names(self, what: str) -> set[str]:
        return set(os.listdir(f"/proc/{self.pid}/{what}"))

    def maps(self) -> str:
        return Path(f"/proc/{self.pid}/maps").read_text()


@pytest.fixture
def running(program: Path) -> Iterator[Running]:
    found = Running(program)
    assert found.ask() == "10 0"
    yield found
    found.process.kill()
    found.process.wait()


@pytest.fixture
def calling(program: Path) -> Iterator[Running]:
    found = Running(program, "threads")
    assert found.ask() == "10 0"
    yield found
    found.process.kill()
    found.process.wait()


def test_in_and_out_and_in_again(calling: Running, wrapper: Path) -> None:
    descriptors, threads = calling.names("fd"), calling.names("task")
    for _ in range(3):
        found = interpose(f"--attach={calling.pid}", f"--wrappers={wrapper}")
        assert (found.returncode, found.stdout, found.stderr) == (0, "", "")
        assert calling.ask() == "110 0"
        found = interpose(f"--detach={calling.pid}")
        assert (found.returncode, found.stdout, found.stderr) == (0, "", "")
        assert calling.ask() == "10 0"
        assert calling.names("fd") == descriptors
        end = time.monotonic() + 10
        while calling.names("task") != threads and time.monotonic() < end:
            time.sleep(0.05)
        assert calling.names("task") == threads
        assert "wrapper.so" not in calling.maps() and "interpose" not in calling.maps()
    assert calling.process.stdin
    calling.process.stdin.close()
    assert calling.process.wait(10) == 7


def test_what_is_opened_later_is_bound(running: Running, wrapper: Path) -> None:
    assert interpose(f"--attach={running.pid}").returncode == 0
    assert running.ask() == "10 0"
    assert running.ask(wrapper) == "110 0"
    assert running.ask("-") == "10 0"
    assert running.ask(wrapper) == "110 0"
    assert interpose(f"--detach={running.pid}").returncode == 0
    assert running.ask() == "10 0"


def test_a_killed_supervisor_takes_the_wrappers_with_it(running: Running, wrapper: Path) -> None:
    assert interpose(f"--attach={running.pid}", f"--wrappers={wrapper}").returncode == 0
    assert running.ask() == "110 0"
    option = f"--attach={running.pid}".encode()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if option in words:
            os.kill(int(name), signal.SIGKILL)
    end = time.monotonic() + 10
    while (answer := running.ask()) != "10 0" and time.monotonic() < end:
        time.sleep(0.05)
    assert answer == "10 0"


def one_line(found: subprocess.CompletedProcess[str], text: str) -> None:
    assert found.returncode == 1, found.stderr
    assert found.stderr.count("\n") == 1 and text in found.stderr, found.stderr


def test_refusals(running: Running, calling: Running, folder: Path) -> None:
    one_line(interpose("--attach=4194000"), "process 4194000: there is no such process")
    one_line(interpose(f"--detach={running.pid}"), "it is not attached to")
    thread = max(calling.names("task"), key=int)
    one_line(interpose(f"--attach={thread}"), f"this is a thread of process {calling.pid}")
    assert interpose(f"--attach={running.pid}").returncode == 0
    one_line(interpose(f"--attach={running.pid}"), "it is attached to already")
    found = interpose(f"--attach={running.pid}", "/bin/true")
    assert found.returncode == 1 and "take no program" in found.stderr
    assert interpose(f"--detach={running.pid}").returncode == 0
    one_line(
        interpose(f"--attach={running.pid}", "--wrappers=/none.so"), "/none.so: there is no such library"
    )
    assert running.ask() == "10 0"
    source = "#include <unistd.h>\nint main(void) { pause(); }"
    static = Running(compile_text(folder, "static", source, "-static"))
    try:
        one_line(interpose(f"--attach={static.pid}"), "statically linked")
    finally:
        static.process.kill()
        static.process.wait()
    one_line(interpose(f"--attach={static.pid}"), "there is no such process")


def test_a_traced_process_is_refused(running: Running) -> None:
    from interpose.native import tracer

    tracee = tracer.Tracee(running.pid)
    try:
        one_line(interpose(f"--attach={running.pid}"), f"it is being traced by process {os.getpid()}")
    finally:
        tracee.stop()
        tracee.let_go()


def test_programs_under_the_other_engine_are_refused(program: Path) -> None:
    guest = Running(sys.executable, "-m", "interpose", "-q", "--tool=none", program)
    try:
        assert guest.ask() == "10 0"
        one_line(interpose(f"--attach={guest.pid}"), "it is interpose's own, or runs under it already")
    finally:
        guest.process.kill()
        guest.process.wait()


@pytest.mark.skipif(os.geteuid() != 0, reason="another user is needed")
def test_other_users_are_refused(running: Running) -> None:
    text = (
        "import os; os.setgid(65534); os.setuid(65534); from interpose.native import attach; attach.check({})"
    )
    script = text.format(running.pid)
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    if "ModuleNotFoundError" in found.stderr or "PermissionError" in found.stderr:
        pytest.skip("the package may not be read by others")
    assert re.search(r"AttachError: process \d+: it belongs to another user", found.stderr)


def test_strangers_on_the_supervisors_socket_disturb_nobody(running: Running, wrapper: Path) -> None:
    """Silence, garbage, a greeting with a wrong token, one that promises too much."""
    assert interpose(f"--attach={running.pid}").returncode == 0
    table = Path("/proc/net/unix").read_text()
    supervisor = next(p for p in os.listdir("/proc") if p.isdigit() and is_supervisor(p, running.pid))
    name = "\0" + re.search(rf"@(interpose-{supervisor}-\w+)", table)[1]
    greeting = struct.pack("<II16sIIII", 0x6E697031, 1, b"x" * 16, 1 << 31, 1 << 31, 0, 0)
    strangers = []
    for text in (b"", b"\xff" * 100, greeting, greeting[:7]) * 10:
        stranger = socket.socket(socket.AF_UNIX)
        stranger.connect(name)
        stranger.sendall(text)
        strangers.append(stranger)
    assert running.ask(wrapper) == "110 0"
    for stranger in strangers:
        stranger.close()
    assert running.ask("-") == "10 0"
    assert interpose(f"--detach={running.pid}").returncode == 0


def is_supervisor(number: str, pid: int) -> bool:
    try:
        return f"--attach={pid}".encode() in Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
