"""Whatever is killed, nothing is left: no process, no file, and no program that waits for nobody."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hooks.conftest import needs_frida
from native.test_run import PROGRAM, WRAPPER, compile_text

pytestmark = needs_frida

# Holds up the preparation of the program, in the agent's thread.
STUCK = """
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((constructor)) static void begin(void) {
    close(open(getenv("BEGUN"), O_CREAT | O_WRONLY, 0600));
    for (;;) pause();
}
"""
TOLD = "interpose: the supervisor is gone (killed?); the program cannot go on\n"


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("nativelife")


def wait_until(holds: Callable[[], bool], seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def processes_in(folder: Path) -> dict[int, bytes]:
    """Those whose command line names a folder, or whose file is in there."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            command = Path(f"/proc/{name}/cmdline").read_bytes()
            file = os.readlink(f"/proc/{name}/exe")
        except OSError:
            continue
        if os.fsencode(folder) in command or file.startswith(f"{folder}/"):
            found[int(name)] = command
    return found


def supervisor_in(folder: Path) -> int:
    """Of the processes of ours the one that is no child of another; 0 if there is none yet."""
    ours = {pid for pid, command in processes_in(folder).items() if b"interpose" in command.split(b"\0")}
    for pid in ours:
        try:
            parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[1])
        except OSError:
            continue
        if parent not in ours and parent != os.getpid():
            return pid
    return 0


def start(folder: Path, *words: object) -> subprocess.Popen[str]:
    env = {**os.environ, "TMPDIR": str(folder / "tmp"), "BEGUN": str(folder / "begun")}
    (folder / "tmp").mkdir()
    command = [sys.executable, "-m", "interpose", "--engine=native", *map(str, words)]
    # Who reads waits, wherever the tests' own input comes from.
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=env)


def outcome(process: subprocess.Popen[str]) -> tuple[str, str, int]:
    """Output, what we say and exit code."""
    out, err = process.communicate(timeout=20)
    return out, err, process.returncode


def nothing_left(folder: Path) -> bool:
    return not processes_in(folder) and not os.listdir(folder / "tmp")


def test_program_that_is_being_prepared_ends_with_its_supervisor(folder: Path, tmp_path: Path) -> None:
    library = compile_text(tmp_path, "stuck.so", STUCK, "-shared", "-fPIC")
    process = start(tmp_path, f"--wrappers={library}", "/bin/echo", tmp_path)
    try:
        assert wait_until((tmp_path / "begun").exists)
        os.kill(supervisor_in(tmp_path), signal.SIGKILL)
        assert outcome(process) == ("", TOLD, -9)
        assert wait_until(lambda: nothing_left(tmp_path))
    finally:
        process.kill()


FRIDAS_LAST_WORDS = re.compile(r"^\[Frida INFO\] .*Unable to start agent: .*\n", re.MULTILINE)
"""Written by the agent, in the program, to whom it cannot tell otherwise (docs/native.md, "Limits")."""


@pytest.mark.parametrize("seconds", [0.1, 0.2, 0.3, 0.4])
def test_supervisor_is_killed_at_any_time(seconds: float, tmp_path: Path) -> None:
    """The program ends, or has begun and goes on; whichever it is, nothing stays."""
    process = start(tmp_path, "/bin/sh", "-c", "sleep 1; echo went on", tmp_path)
    try:
        time.sleep(seconds)
        if supervisor := supervisor_in(tmp_path):
            os.kill(supervisor, signal.SIGKILL)
        out, err, status = outcome(process)
        assert (FRIDAS_LAST_WORDS.sub("", out), err, status) in (
            ("went on\n", "", 0),
            ("", TOLD, -9),
            ("", TOLD, -11),  # Frida was amid its code
            ("", "", -9),  # by the kernel, before anything was prepared
            ("", "interpose: the supervisor process ended before it was ready (killed?)\n", 1),
        )
        assert wait_until(lambda: nothing_left(tmp_path))
    finally:
        process.kill()


@pytest.mark.parametrize("how", ["ends", "is killed"])
def test_nothing_stays_of_a_program(how: str, tmp_path: Path) -> None:
    process = start(tmp_path, "/bin/sh", "-c", "echo begun; read line", tmp_path)
    assert process.stdout and process.stdout.readline() == "begun\n"
    if how == "is killed":
        process.kill()
    process.communicate(timeout=20)
    assert wait_until(lambda: nothing_left(tmp_path))


def test_what_a_run_left_that_was_killed_altogether_goes_with_the_next(tmp_path: Path) -> None:
    process = start(tmp_path, "/bin/sh", "-c", "echo begun; read line", tmp_path)
    assert process.stdout and process.stdout.readline() == "begun\n"
    (left,) = (tmp_path / "tmp").iterdir()
    everybody = processes_in(tmp_path)
    for number in (signal.SIGSTOP, signal.SIGKILL):  # none is to see another one end
        for pid in everybody:
            os.kill(pid, number)
    process.communicate(timeout=20)
    assert left.exists()
    (tmp_path / "tmp" / "interpose-native-file").touch()
    for path in (tmp_path / "tmp").iterdir():
        os.utime(path, (0, 0))
    env = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    command = [sys.executable, "-m", "interpose", "--engine=native", "/bin/echo", "next"]
    assert subprocess.run(command, env=env, capture_output=True, text=True, timeout=60).stdout == "next\n"
    assert wait_until(lambda: os.listdir(tmp_path / "tmp") == ["interpose-native-file"])


@pytest.mark.parametrize(("ends", "runs"), [(True, True), (True, False), (False, True), (False, False)])
def test_only_a_program_that_still_waits_cannot_go_on(ends: bool, runs: bool, tmp_path: Path) -> None:
    """One may run, and end, before the supervisor comes to say that it waits no more; or never have run."""
    text = f"""
import os, signal, subprocess, sys
from interpose.native.cleaner import Cleaner
process = subprocess.Popen(["true" if {ends} else "cat"], stdin=subprocess.PIPE)
if {ends}:
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and nobody has asked how
cleaner = Cleaner()
cleaner.hold(process.pid)
if {runs}:
    cleaner.let_go(process.pid)
children = open(f"/proc/self/task/{{os.getpid()}}/children").read().split()
os.close(cleaner.fd)
os.waitpid(next(pid for pid in map(int, children) if pid != process.pid), 0)
print(process.wait(), *os.listdir(os.environ["INITIAL"]))
"""
    env = {**os.environ, "TMPDIR": str(tmp_path), "INITIAL": str(tmp_path)}
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, env=env)
    assert (found.stdout, found.stderr) == ("0\n" if ends else "-9\n", "" if ends and runs else TOLD)


@pytest.mark.skipif(os.geteuid() != 0, reason="file systems are mounted by root")
def test_a_full_folder_for_temporary_files(tmp_path: Path) -> None:
    """What Frida cannot write there nobody needs, and nobody is told of."""
    wrapper = compile_text(tmp_path, "wrapper.so", WRAPPER, "-shared", "-fPIC")
    program = compile_text(tmp_path, "program", PROGRAM)
    (tmp_path / "tmp").mkdir()
    env = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    run = [sys.executable, "-m", "interpose", "--engine=native", f"--wrappers={wrapper}", str(program)]
    script = 'mount -t tmpfs -o size=64k none "$TMPDIR" && exec "$@"'
    command = ["unshare", "-m", "sh", "-c", script, "sh", *run]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60, env=env)
    assert (found.stdout, found.stderr, found.returncode) == (
        "early 102\nmain 104, 1 words, descriptor 3\n",
        "",
        7,
    )


FAULT = """
import sys
from interpose.native import start, supervisor
def fault(*_): raise RuntimeError("of ours")
setattr(*({"entering": (supervisor.Supervisor, "_enter"), "holding": (start, "hold")}[sys.argv[1]]), fault)
from interpose.cli import main
main(["--engine=native", "/bin/echo", "ran"])
"""


@pytest.mark.parametrize("where", ["entering", "holding"])
def test_a_fault_of_ours_ends_the_program(where: str) -> None:
    """Nobody else would: it waits where it was held."""
    done = subprocess.run([sys.executable, "-c", FAULT, where], capture_output=True, text=True, timeout=60)
    assert done.returncode in (1, -9) and done.stdout == ""
    assert "internal error: RuntimeError: of ours" in done.stderr
