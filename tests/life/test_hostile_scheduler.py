"""A forked child, a pipe and output to a file while processes of the run stand still at random moments.

Stopping a client or a supervisor is what a scheduler with too much to do amounts to, without the load.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SEED = int(os.environ.get("INTERPOSE_SEED", "0")) or random.randrange(1 << 32)
RUNS = int(os.environ.get("INTERPOSE_STOPS", "3"))
SOURCE = r"""
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv) {
    int p[2], status;
    char line[64];
    if (pipe(p)) return 1;
    if (fork() == 0) {
        close(p[1]);
        FILE *in = fdopen(p[0], "r");
        while (fgets(line, sizeof line, in)) printf("child got %s", line);
        puts("child ends");
        fflush(stdout);
        if (argc > 1) execl("/bin/echo", "echo", "executed", NULL);
        return 0;
    }
    close(p[0]);
    for (int i = 0; i < 5; i++) dprintf(p[1], "line %d\n", i);
    close(p[1]);
    wait(&status);
    printf("status %x\n", status);
    return 0;
}
"""


def _members(mark: bytes) -> list[int]:
    """Processes that have the mark in their environment."""
    found = []
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError):
            if mark in Path(f"/proc/{int(entry)}/environ").read_bytes():
                found.append(int(entry))
    return found


@pytest.mark.parametrize("words", [[], ["exec"]], ids=["fork", "exec"])
def test_nothing_is_lost(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "pipes.c").write_text(SOURCE)
    subprocess.run(["gcc", "-o", "pipes", "pipes.c"], check=True, cwd=tmp_path)
    rng = random.Random(f"{SEED} {words}")
    options = ["--tool=memcheck", "--trace-children=yes"]
    for run in range(RUNS):
        mark = f"INTERPOSE_TEST_RUN={os.getpid()}-{rng.randrange(1 << 32):x}"
        name, _, value = mark.partition("=")
        path = tmp_path / f"out.{run}"
        with path.open("w") as out:
            client = subprocess.Popen(
                [sys.executable, "-m", "interpose", *options, "./pipes", *words],
                stdout=out,
                stderr=out,
                cwd=tmp_path,
                env={**os.environ, name: value},
            )
            end = time.monotonic() + 120
            while client.poll() is None and time.monotonic() < end:
                time.sleep(rng.random() * 0.02)
                if members := _members(mark.encode()):
                    chosen = rng.choice(members)
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(chosen, signal.SIGSTOP)
                        time.sleep(rng.choice([0.001, 0.01, 0.05, 0.3]))
                        os.kill(chosen, signal.SIGCONT)
        if client.returncode is None:
            for pid in _members(mark.encode()):
                os.kill(pid, signal.SIGKILL)
            client.wait()
        text = path.read_text()
        lines = [line for line in text.splitlines() if not line.startswith("==")]
        ended = ["executed"] if words else []
        expected = [*(f"child got line {i}" for i in range(5)), "child ends", *ended, "status 0"]
        assert (client.returncode, lines) == (0, expected), f"seed {SEED}, run {run}:\n{text}"
        assert text.count("ERROR SUMMARY: 0 errors") == 2, f"seed {SEED}, run {run}:\n{text}"
