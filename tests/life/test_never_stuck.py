"""Whatever is killed, nothing is left: no process, no hang, no file.

``INTERPOSE_KILLS=200`` makes it 200 random moments instead of 20, ``INTERPOSE_SEED`` names the sequence.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
import uuid
from pathlib import Path

import pytest
from life.running import TOOLS, command, environment, processes_with, run, wait_until

KILLS = int(os.environ.get("INTERPOSE_KILLS", "20"))
SEED = int(os.environ.get("INTERPOSE_SEED", "1"))
GONE = "interpose: the supervisor is gone (killed?); the program cannot go on\n"


def leftovers(folder: Path) -> list[str]:
    """What runs left in their folder for temporary files, and of ours elsewhere."""
    return [*os.listdir(folder), *(name for name in os.listdir("/dev/shm") if "interpose" in name)]


def supervisor_of(token: str, client: int) -> int:
    """The process that serves a client: the one of the run in another session.

    Asked for more than once: a listing of /proc while processes come and go may leave one out.
    """
    session = os.getsid(client)
    found: list[int] = []

    def seen() -> bool:
        for pid in processes_with(token):
            with contextlib.suppress(ProcessLookupError):
                if os.getsid(pid) != session:
                    found.append(pid)
        return bool(found)

    wait_until(seen)
    return found[0] if found else 0


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
def test_supervisor_is_killed(ends: str, tmp_path: Path, tool: str, how: str) -> None:
    token = uuid.uuid4().hex
    process = start(tool, token, tmp_path, ends, how)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    supervisor = supervisor_of(token, process.pid)
    assert supervisor
    os.kill(supervisor, signal.SIGKILL)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert err == GONE
    assert wait_until(lambda: not processes_with(token))


@pytest.mark.parametrize("tool", TOOLS)
def test_kill_at_random_moments(ends: str, tmp_path: Path, tool: str) -> None:
    moments = random.Random(SEED)
    for turn in range(KILLS // 2):
        token = uuid.uuid4().hex
        how = moments.choice(["sleep", "busy", "work", "threads", "forks"])
        process = start(tool, token, tmp_path, ends, how)
        time.sleep(moments.uniform(0.02, 0.9))
        victims = [process.pid]
        if moments.random() < 0.5:
            victims = [pid for pid in processes_with(token) if pid != process.pid] or victims
        victim = moments.choice(victims)
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        context = f"seed {SEED}, turn {turn}: {how}, killed {'program' if victim == process.pid else 'other'}"
        if how == "forks" or victim != process.pid:
            # Children of a killed program live on, as natively; a child's supervisor is not the program's.
            time.sleep(0.5)
            for pid in processes_with(token):
                try:
                    if os.getsid(pid) == os.getsid(0):
                        os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
        try:
            _, err = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError(f"{context}: hangs") from None
        assert process.returncode in (1, -signal.SIGKILL), f"{context}: {process.returncode}, {err}"
        assert "internal error" not in err and "Traceback" not in err, f"{context}: {err}"
        if process.returncode == 1:
            assert "interpose: " in err, context
        gone = wait_until(lambda token=token: not processes_with(token))
        assert gone, f"{context}: {processes_with(token)}"
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("tool", TOOLS)
def test_quick_runs_leave_nothing(tmp_path: Path, tool: str) -> None:
    token = uuid.uuid4().hex
    for _ in range(max(KILLS // 2, 10) // 2):
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
