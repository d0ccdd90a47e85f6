"""The tests of signals, ends and limits pass wherever they are started: a sample on hostile ground."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

CAP_SYS_RESOURCE = 24
ROOT = Path(__file__).resolve().parents[1]
SAMPLE = [
    "tests/life/test_ends.py::test_status[none]",
    "tests/life/test_ends.py::test_interrupt_key[none]",
    "tests/life/test_ends.py::test_job_control[none]",
    "tests/life/test_ends.py::test_small_files[none]",
    "tests/life/test_never_stuck.py::test_terminal_is_closed[sleep-none]",
    "tests/runtime/signals/test_guests.py::test_as_native[exec_inherits]",
    "tests/runtime/signals/test_guests.py::test_as_native[terminal_jobs]",
]
"""Those that fail on such ground if nobody puts it straight."""


def nohup() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def background_of_a_script() -> None:
    """What a shell without job control does for ``command &``."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGQUIT, signal.SIG_IGN)


def every_signal() -> None:
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())
    signal.setitimer(signal.ITIMER_REAL, 600)


def no_stdin() -> None:
    os.close(0)


def stdin_for_writing() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 0)


def limits_and_rights() -> None:
    for name, soft in {
        "STACK": 1 << 20,
        "NOFILE": 80,
        "CORE": 1 << 30,
        "NPROC": 4096,
        "FSIZE": 1 << 30,
    }.items():
        number = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(number)[1]
        resource.setrlimit(number, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))
    os.umask(0o077)
    os.setsid()


def rc_file(home: Path) -> dict[str, str]:
    (home / ".valgrindrc").write_text("--tool=no-such-tool\n")
    return {
        "HOME": str(home),
        "VALGRIND_OPTS": "--quiet --no-such-option",
        "LD_BIND_NOW": "1",
        "LC_ALL": "tr_TR",
    }


GROUNDS: dict[str, list[Callable[[], None]]] = {
    "shell": [nohup, background_of_a_script, no_stdin],
    "container": [every_signal, stdin_for_writing, limits_and_rights],
}


@pytest.mark.parametrize("kind", GROUNDS)
def test_a_sample_passes(kind: str, tmp_path: Path) -> None:
    def inherit() -> None:
        for ground in GROUNDS[kind]:
            ground()

    command = [
        str(Path(sys.executable).with_name("pytest")),
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
    ]
    command += [f"--basetemp={tmp_path / 'sample'}", *SAMPLE]
    environment = {**os.environ, **(rc_file(tmp_path) if kind == "container" else {})}
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        preexec_fn=inherit,
        restore_signals=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
    assert f"{len(SAMPLE)} passed" in done.stdout


def test_limits_that_are_too_low_are_told(tmp_path: Path) -> None:
    may = int(re.findall(r"CapEff:\s+(\w+)", Path("/proc/self/status").read_text())[0], 16)
    if may >> CAP_SYS_RESOURCE & 1:
        pytest.skip("this process may raise them")
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("pytest")),
            "-q",
            "-p",
            "no:cacheprovider",
            "tests/test_ground.py",
        ],
        cwd=ROOT,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20)),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "the tests need other limits: RLIMIT_STACK is 1048576 at most" in done.stderr
