"""``--mpi-wrappers``: built once, and what can go wrong in one line."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "interpose"]


def ask(word: str, **env: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [*COMMAND, word], capture_output=True, text=True, timeout=300, env={**os.environ, **env}
    )
    return done.returncode, done.stdout, done.stderr


def compiler(folder: Path, text: str) -> str:
    path = folder / "fakecc"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_it_is_built_once(tmp_path: Path) -> None:
    real = shutil.which("mpicc.openmpi") or shutil.which("mpicc.mpich")
    if real is None:
        pytest.skip("no MPI library is installed")
    log = tmp_path / "log"
    fake = compiler(tmp_path, f'echo "$@" >> {log}\nexec {real} "$@"')
    cache = tmp_path / "cache"
    first, second = (ask(f"--mpi-wrappers={fake}", XDG_CACHE_HOME=str(cache)) for _ in range(2))
    assert first == second and first[0] == 0, first[2]
    path = Path(first[1].strip())
    assert path.is_file() and cache in path.parents
    assert log.read_text().count("-shared") == 1
    assert [entry.name for entry in path.parent.parent.iterdir()] == [path.parent.name]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("exit 3", "exit code 3: it says nothing"),
        (
            "echo 'x.c:1: error: mpi.h is not there' >&2; echo more >&2; exit 1",
            "exit code 1: x.c:1: error: mpi.h is not",
        ),
        ("exit 0", "its mpi.h declares no MPI_Send that is a C function"),
        ("kill -9 $$", "exit code -9: it says nothing"),
        ("echo 'int PMPI_Send(int x);'", "what it links cannot be read"),
    ],
)
def test_a_broken_compiler_is_one_line(tmp_path: Path, text: str, complaint: str) -> None:
    fake = compiler(tmp_path, text)
    code, out, err = ask(f"--mpi-wrappers={fake}", XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert (code, out) == (1, "")
    assert err.startswith(f"interpose: {fake}: {complaint}") and err.count("\n") == 1
    assert list(tmp_path.glob("cache/interpose/mpi/*")) + list(tmp_path.glob("cache/interpose/mpi/.*")) == []


def test_what_a_killed_build_leaves_goes_with_the_next(tmp_path: Path) -> None:
    """Of three builds one is killed, one goes on, and the third fails."""
    started = tmp_path / "started"
    header = "case $1 in -E) echo 'int PMPI_Send(int x);'; exit;; esac"
    wait = f"echo $$ >> {started}; test -e {tmp_path}/end && exit 1; exec sleep 300"
    fake = compiler(tmp_path, f"{header}\n{wait}")
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    builds = [subprocess.Popen([*COMMAND, f"--mpi-wrappers={fake}"], env=env, stderr=-3) for _ in range(2)]
    sleeping: list[str] = []
    try:
        while len(sleeping) < 2:
            time.sleep(0.02)
            sleeping = started.read_text().split() if started.exists() else []
        unfinished = set((tmp_path / "cache/interpose/mpi").iterdir())
        builds[0].kill()
        builds[0].wait()
        (tmp_path / "end").write_text("")
        assert ask(f"--mpi-wrappers={fake}", XDG_CACHE_HOME=str(tmp_path / "cache"))[0] == 1
        left = set((tmp_path / "cache/interpose/mpi").iterdir())
        assert len(unfinished) == 2 and len(left) == 1 and left < unfinished
        assert builds[1].poll() is None
    finally:
        for pid in map(int, started.read_text().split()[:2]):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        builds[1].wait(60)
    assert list((tmp_path / "cache/interpose/mpi").iterdir()) == []


def test_no_compiler_and_no_cache(tmp_path: Path) -> None:
    assert ask("--mpi-wrappers=/none")[2] == (
        "interpose: /none: no such compiler; --mpi-wrappers=MPICC names another\n"
    )
    for nothing in ("", "=", "= "):  # an empty variable of a shell's
        message = ask(f"--mpi-wrappers{nothing}", PATH=str(tmp_path))[2]
        assert message.startswith("interpose: mpicc: no such compiler")
    assert ask("--mpi-wrappers=mpicc '")[2] == "interpose: mpicc ': No closing quotation\n"
    (tmp_path / "file").write_text("")
    fake = compiler(tmp_path, "echo 'int PMPI_Send(int x);'")
    code, _, err = ask(f"--mpi-wrappers={fake}", XDG_CACHE_HOME=str(tmp_path / "file"))
    assert code == 1 and err.startswith(
        f"interpose: cannot write into the cache {tmp_path}/file/interpose/mpi: "
    )
    code, _, err = ask(f"--mpi-wrappers={fake}", XDG_CACHE_HOME="here", HOME="there")
    assert code == 1 or "absolute" not in err
