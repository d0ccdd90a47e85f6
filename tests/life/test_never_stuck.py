"""Whatever is killed, whenever: nothing is left, and the program ends as it would natively or with one line.

``INTERPOSE_KILLS=5000`` makes it 5000 random moments instead of 200, ``INTERPOSE_SEED`` names the sequence.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pty
import random
import signal
import subprocess
import sys
import termios
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from life.running import TOOLS, command, environment, parent_of, processes_with, run, wait_until

KILLS = int(os.environ.get("INTERPOSE_KILLS", "200"))
SEED = int(os.environ.get("INTERPOSE_SEED", "1"))
GONE = "interpose: the supervisor is gone (killed?); the program cannot go on\n"
AT_ONCE = 3
PR_SET_CHILD_SUBREAPER = 36

# Program words, the longest useful time to wait, and how it ends by itself (None: it does not).
GUESTS: dict[str, tuple[list[str], float, int | None]] = {
    "sleep": (["sleep"], 0.7, None),
    "busy": (["busy"], 0.7, None),
    "threads": (["threads"], 0.7, None),
    "work": (["work"], 1.0, None),
    "forks": (["forks"], 0.8, None),
    "leaks": (["leaks", "30000"], 1.5, 0),
    "exit": (["exit", "5"], 0.6, 5),
    "translating": ([], 1.2, 0),
}
VICTIMS = ["program", "supervisor", "any"]


def leftovers(folder: Path) -> list[str]:
    """What runs left in their folder for temporary files, and of ours elsewhere."""
    return [*os.listdir(folder), *leftovers_elsewhere()]


def leftovers_elsewhere() -> list[str]:
    return [name for name in os.listdir("/dev/shm") if "interpose" in name]


def supervisor_of(token: str, client: int, seconds: float = 30) -> int:
    """The process that serves a client: the one of the run in another session; 0 if there is none.

    Asked for more than once: a listing of /proc while processes come and go may leave one out.  A child of
    the client's own is not yet it: that one leaves the session, forks the supervisor and ends, and the run
    does well without it.
    """
    session = os.getsid(client)
    found: list[int] = []

    def seen() -> bool:
        for pid in processes_with(token):
            with contextlib.suppress(ProcessLookupError):
                if os.getsid(pid) != session and parent_of(pid) != client:
                    found.append(pid)
        return bool(found)

    wait_until(seen, seconds)
    return found[0] if found else 0


@pytest.fixture
def reaper() -> Iterator[None]:
    """Orphans become ours, so that we see each of them end."""
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    yield
    deadline = time.monotonic() + 30
    try:
        while os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG) is not None or time.monotonic() < deadline:
            time.sleep(0.01)
        raise AssertionError("a process of ours is still there")
    except ChildProcessError:
        pass
    finally:
        libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


@dataclass
class Moment:
    """One run and what happens to it."""

    ends: str
    folder: Path
    tool: str
    how: str
    victim: str
    signal: int
    delay: float
    pick: float

    def words(self) -> list[str]:
        options = ["-q", "--leak-check=full"] if self.tool == "memcheck" else ["-q"]
        words = GUESTS[self.how][0]
        program = [self.ends, *words] if words else [sys.executable, "-Sc", "import json, decimal, email"]
        return [*command(f"--tool={self.tool}", *options), *program]

    def victims(self, token: str, pid: int) -> list[int]:
        """Processes that get the signal."""
        if self.victim == "program":
            return [pid]
        if self.victim == "supervisor":
            found = supervisor_of(token, pid, 0.05)
            return [found] if found else []
        everyone = sorted({pid, *processes_with(token)})
        return [everyone[int(self.pick * len(everyone))]]

    def happen(self) -> str:
        """What is wrong about it; empty if nothing is."""
        token = uuid.uuid4().hex
        self.folder.mkdir()
        process = subprocess.Popen(
            self.words(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(RUN_TOKEN=token, TMPDIR=str(self.folder)),
            start_new_session=True,  # and a group of its own
        )
        time.sleep(self.delay)
        hit: list[int] = []
        all_killed = False
        if self.victim == "group":
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, self.signal)
                hit = [process.pid]
        else:
            for pid in self.victims(token, process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, self.signal)
                    hit.append(pid)
        itself = process.pid in hit
        alone = self.how not in ("forks", "work")
        if not alone or not hit or self.victim == "any":
            # Children live on, as natively; a child's supervisor is not the program's;
            # and it may have been too early.
            time.sleep(0.3)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
                all_killed = True
        try:
            _, err = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            return f"{self}: hangs"
        code = process.returncode
        allowed = {1, -signal.SIGKILL, -self.signal, GUESTS[self.how][2]}
        if itself and alone:
            allowed = {-self.signal, GUESTS[self.how][2]}
        ours = [line for line in err.splitlines() if line.startswith("interpose:")]
        if code not in allowed or "internal error" in err or "Traceback" in err:
            return f"{self}: ended with {code}: {err}"
        if alone and (len(ours) > 1 or (code == 1 and len(ours) != 1)):
            return f"{self}: {code}, {err}"
        if not wait_until(lambda: not processes_with(token)):
            return f"{self}: {processes_with(token)} are left"
        # With both a supervisor and its program dead there is nobody to remove the files.
        if not (all_killed and set(hit) - {process.pid}) and (left := os.listdir(self.folder)):
            return f"{self}: {left} are left"
        return ""


def happen_all(moments: list[Moment]) -> None:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        wrong = [text for text in pool.map(Moment.happen, moments) if text]
    assert not wrong, "\n".join(wrong)
    assert leftovers_elsewhere() == []


def choose(
    ends: str, folder: Path, tool: str, victim: str, count: int, signals: list[int], first: float = 0.0
) -> list[Moment]:
    """Random moments; each kind of program gets its turn."""
    source = random.Random(f"{SEED} {tool} {victim} {signals}")
    names = list(GUESTS)
    moments = []
    for turn in range(count):
        how = names[turn % len(names)]
        delay = source.uniform(first, GUESTS[how][1])
        number = signals[turn % len(signals)]
        moments.append(Moment(ends, folder / str(turn), tool, how, victim, number, delay, source.random()))
    return moments


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("victim", [*VICTIMS, "group"])
def test_kill_at_random_moments(ends: str, tmp_path: Path, reaper: None, tool: str, victim: str) -> None:
    count = max(1, KILLS // (len(TOOLS) * (len(VICTIMS) + 1)))
    happen_all(choose(ends, tmp_path, tool, victim, count, [signal.SIGKILL]))


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("victim", ["program", "supervisor", "group"])
def test_other_signals(ends: str, tmp_path: Path, reaper: None, tool: str, victim: str) -> None:
    # Not Ctrl-C before our first line: Python's own start shows a traceback.
    signals = [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT]
    happen_all(choose(ends, tmp_path, tool, victim, 9 * max(1, KILLS // 200), signals))


def start(tool: str, token: str, folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*command(f"--tool={tool}", "-q"), *words],
        stdin=subprocess.PIPE,  # open without end: one of the programs reads it
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(RUN_TOKEN=token, TMPDIR=str(folder)),
    )


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("how", ["sleep", "busy", "threads", "cat"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_supervisor_is_killed(ends: str, tmp_path: Path, tool: str, how: str, number: int) -> None:
    token = uuid.uuid4().hex
    process = start(tool, token, tmp_path, ends, how)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    supervisor = supervisor_of(token, process.pid)
    assert supervisor
    os.kill(supervisor, number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert err == GONE
    assert wait_until(lambda: not processes_with(token))


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("how", ["sleep", "busy", "threads", "raw"])
def test_terminal_is_closed(ends: str, tmp_path: Path, tool: str, how: str) -> None:
    """The program gets SIGHUP, as natively, and the supervisor leaves with it."""
    token = uuid.uuid4().hex
    words = [*command(f"--tool={tool}", "-q"), ends, how]
    pid, fd = pty.fork()
    if pid == 0:
        os.execvpe(words[0], words, environment(RUN_TOKEN=token, TMPDIR=str(tmp_path)))
    text = b""
    while b"ready" not in text and b"raw" not in text:
        text += os.read(fd, 1000)
    os.close(fd)
    ended: list[int] = []

    def gone() -> bool:
        done, status = os.waitpid(pid, os.WNOHANG)
        ended.append(status)
        return done == pid

    assert wait_until(gone)
    assert os.WIFSIGNALED(ended[-1]) and os.WTERMSIG(ended[-1]) == signal.SIGHUP
    assert wait_until(lambda: not processes_with(token))
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("tool", TOOLS)
def test_terminal_settings_outlive_the_supervisor(ends: str, tmp_path: Path, tool: str) -> None:
    """Killed while the terminal is as the user has it: nobody of ours has changed it."""
    master, slave = pty.openpty()
    before = termios.tcgetattr(slave)
    token = uuid.uuid4().hex
    process = subprocess.Popen(
        [*command(f"--tool={tool}", "-q"), ends, "sleep"],
        stdin=slave,
        stdout=subprocess.PIPE,
        stderr=slave,
        env=environment(RUN_TOKEN=token, TMPDIR=str(tmp_path)),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    os.kill(supervisor_of(token, process.pid), signal.SIGKILL)
    assert process.wait(30) == 1
    assert os.read(master, 1000).decode().replace("\r\n", "\n") == GONE
    assert termios.tcgetattr(slave) == before
    process.stdout.close()
    os.close(master)
    os.close(slave)


@pytest.mark.parametrize("tool", TOOLS)
def test_quick_runs_leave_nothing(tmp_path: Path, reaper: None, tool: str) -> None:
    token = uuid.uuid4().hex
    for _ in range(5):
        words = [*command(f"--tool={tool}", "-q"), "/bin/true"]
        done = run(words, env=environment(RUN_TOKEN=token, TMPDIR=str(tmp_path)))
        assert done.returncode == 0, done.stderr
    assert wait_until(lambda: not processes_with(token), 10)
    assert leftovers(tmp_path) == []


def test_forked_child_outlives_its_parent(tmp_path: Path) -> None:
    source = tmp_path / "orphan.c"
    source.write_text(
        "#include <stdio.h>\n#include <unistd.h>\n"
        'int main(void) { if (fork()) _exit(0); usleep(300000); puts("child"); return 0; }\n'
    )
    subprocess.run(["gcc", str(source), "-o", str(tmp_path / "orphan")], check=True)
    token = uuid.uuid4().hex
    done = run(
        [*command("--tool=memcheck", "-q"), str(tmp_path / "orphan")], env=environment(RUN_TOKEN=token)
    )
    assert (done.returncode, done.stdout) == (0, "child\n")
    assert wait_until(lambda: not processes_with(token))
