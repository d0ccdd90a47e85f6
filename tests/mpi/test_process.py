"""What the wrappers say of a process: what it leaves behind, and what MPIWRAP_DEBUG asks for."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from mpi.conftest import GUESTS, MPI_ENV, Mpi

_LEFT = re.compile(r"// LEFT (.*): (\w+)$")


def test_what_is_not_freed_on_the_real_cpu(mpi: Mpi, tmp_path: Path) -> None:
    pytest.importorskip("frida", reason="the native engine needs frida")
    program = mpi.build("left.c")
    run = mpi.run(2, program, engine="native", env={"MPIWRAP_DEBUG": "quiet"}, folder=tmp_path)
    assert run.code == 0, run.err
    said = re.findall(r"interpose MPI wrappers, rank (\d): (.*) made by MPI_(\w+) \((.*)\+(0x\w+)\)", run.err)
    assert {rank for rank, *_ in said} == {"1"}
    lines = subprocess.run(
        ["addr2line", "-e", str(program), *(address for *_, address in said)], capture_output=True, text=True
    ).stdout.split("\n")
    found = {
        (what, line.rpartition(":")[2].split(" ")[0])
        for (_, _, what, *_), line in zip(said, lines, strict=False)
    }
    source = enumerate((GUESTS / "left.c").read_text().splitlines(), 1)
    assert found == {(match[2], str(n)) for n, text in source if (match := _LEFT.search(text))}


def test_what_is_not_freed(mpi: Mpi, tmp_path: Path) -> None:
    run = mpi.run(2, mpi.build("left.c"), folder=tmp_path)
    assert run.code == 0, run.err
    wanted = []
    for number, line in enumerate((GUESTS / "left.c").read_text().splitlines(), 1):
        match = _LEFT.search(line)
        if match:
            state = "not freed before MPI_Finalize"
            if "request" in match[1]:
                state = ("not freed" if "_init" in match[2] else "not completed") + " at MPI_Finalize"
            wanted.append(f"{match[1]} {state}, made by MPI_{match[2]} (left.c:{number})")
    assert Counter(run.said(1)) == Counter(wanted)
    assert run.said(0) == []


@pytest.mark.parametrize("engine", ["none", "memcheck"])
def test_tools_without_bits_find_what_is_not_freed(mpi: Mpi, tmp_path: Path, engine: str) -> None:
    run = mpi.run(2, mpi.build("left.c"), engine=engine, env={"MPIWRAP_DEBUG": "quiet"}, folder=tmp_path)
    assert len(run.said(1)) == 10
    assert "Active" not in run.logs[1]


@pytest.mark.parametrize("engine", ["none", "memcheck"])
def test_what_is_not_there_is_left_to_the_library(mpi: Mpi, tmp_path: Path, engine: str) -> None:
    program = mpi.build("nulls.c")
    natively = subprocess.run([*mpi.launcher(1), program], capture_output=True, text=True, env=MPI_ENV)
    assert natively.returncode == 0 and "MPI_Type_vector" in natively.stdout, natively.stderr
    run = mpi.run(1, program, engine=engine, folder=tmp_path)
    assert (run.code, run.out) == (0, natively.stdout), run.err


def test_options(mpi: Mpi, tmp_path: Path) -> None:
    program = mpi.build("left.c")
    run = mpi.run(2, program, engine="none", env={"MPIWRAP_DEBUG": "verbose,nonsense"}, folder=tmp_path)
    assert "MPIWRAP_DEBUG has no option 'nonsense'; help lists those that there are" in run.said(0)
    assert "enter MPI_Comm_dup" in run.said(0) and " exit MPI_Comm_dup" in run.said(0)
    run = mpi.run(1, mpi.build("left.c"), engine="none", env={"MPIWRAP_DEBUG": "help"}, folder=tmp_path)
    assert "verbose   print each call" in run.err


@pytest.mark.parametrize("engine", ["none", "memcheck"])
def test_buffers_that_overlap(mpi: Mpi, tmp_path: Path, engine: str) -> None:
    run = mpi.run(2, mpi.build("overlaps.c"), engine=engine, folder=tmp_path)
    assert run.code == 0, run.err
    wanted = {}
    for number, line in enumerate((GUESTS / "overlaps.c").read_text().splitlines(), 1):
        if " // SAYS " in line:
            wanted[number] = line.partition(" // SAYS ")[2]
    assert run.said(1) == []
    assert len(run.said(0)) == len(wanted)
    for said, (number, text) in zip(run.said(0), wanted.items(), strict=True):
        assert said.startswith(text), said
        stack = run.logs[0].partition(said)[2]
        assert f"main (overlaps.c:{number})" in stack
