"""What the wrappers find in what ranks send to each other, store in windows, and write to files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from mpi.conftest import GUESTS, Mpi, Run, expected


def test_point_to_point(check: Callable[..., object]) -> None:
    run = check("p2p.c", 2)
    assert "MPI_Send: byte 36 of buf, in element 9 of 10, is not defined (or not there)" in run.said(0)
    left = "1 request not completed at MPI_Finalize, made by MPI_Irecv (p2p.c:"
    assert any(line.startswith(left) for line in run.said(1))


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_the_same_library_under_valgrind(mpi: Mpi, tmp_path: Path) -> None:
    program = mpi.build("p2p.c")
    ours, theirs = (
        mpi.run(2, program, engine=engine, folder=tmp_path) for engine in ("memcheck", "valgrind")
    )
    assert ours.code == theirs.code == 0
    assert ours.found("p2p.c") == theirs.found("p2p.c") == expected("p2p.c")
    assert [ours.said(rank) for rank in (0, 1)] == [theirs.said(rank) for rank in (0, 1)]


def test_requests(check: Callable[..., object]) -> None:
    run = check("completions.c", 2)
    assert not [line for rank in (0, 1) for line in run.said(rank) if "Finalize" in line]


def test_collectives(check: Callable[..., object]) -> None:
    check("collectives.c", 4)


def test_onesided(check: Callable[..., object]) -> None:
    check("onesided.c", 2)


def test_windows_of_all_kinds(check: Callable[..., Run]) -> None:
    run = check("windows.c", 2)
    assert not [line for rank in (0, 1) for line in run.said(rank) if "Finalize" in line]


def test_a_window_that_is_not_freed(mpi: Mpi, tmp_path: Path) -> None:
    # MPICH ends the program then, in MPI_Finalize.
    run = mpi.run(2, mpi.build("windows.c"), "left", engine="none", folder=tmp_path)
    lines = enumerate((GUESTS / "windows.c").read_text().splitlines(), 1)
    line = next(n for n, text in lines if "// LEFT 1 window" in text)
    for rank in (0, 1):
        wanted = f"1 window not freed before MPI_Finalize, made by MPI_Win_create (windows.c:{line})"
        assert run.said(rank) == [wanted]


def test_files(check: Callable[..., object], tmp_path: Path) -> None:
    check("files.c", 2, str(tmp_path / "file"))


def test_what_mpi_4_added(mpi: Mpi, check: Callable[..., object]) -> None:
    if "MPI_Psend_init" not in mpi.header():
        pytest.skip(f"this {mpi.name} is older than MPI-4.0")
    check("mpi4.c", 2)


def test_threads(check: Callable[..., object]) -> None:
    check("threads.c", 2)


def test_random_datatypes(mpi: Mpi, tmp_path: Path) -> None:
    seed = os.environ.get("INTERPOSE_SEED", "7")
    run = mpi.run(1, mpi.build("random_types.c"), "80", seed, folder=tmp_path)
    assert (run.code, run.out) == (0, "0 wrong\n"), f"seed {seed}: {run.out}{run.err}"
