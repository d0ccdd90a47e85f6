"""Whole MPI programs, ranks that die, and all of their logs as one report."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from mpi.conftest import GUESTS, LIBRARIES, Mpi, Run, errors, expected


def test_benchmark_loops(check: Callable[..., object]) -> None:
    check("loops.c", 2)


def test_heat_in_a_plate(mpi: Mpi, tmp_path: Path) -> None:
    program = mpi.build("heat.c")
    options: tuple[str, ...] = (f"--log-file={tmp_path}/log.%r",)
    if mpi.name == "openmpi":
        # Below it lies PMIx, which sends padding.
        options += (f"--suppressions={Path(mpi.wrappers).parent}/mpi.supp",)
    run = mpi.run(4, program, str(tmp_path / "file"), options=options, folder=tmp_path)
    assert (run.code, run.out) == (0, "2000.000\n"), run.err
    assert all("ERROR SUMMARY: 0 errors" in log for log in run.logs.values()), run.logs
    assert [run.said(rank) for rank in range(4)] == [[]] * 4


def test_heat_with_a_hole_and_one_report_of_all_ranks(mpi: Mpi, tmp_path: Path) -> None:
    run = mpi.run(4, mpi.build("heat.c"), str(tmp_path / "file"), "bug", folder=tmp_path)
    assert run.code == 0, run.err
    source = (GUESTS / "heat.c").read_text().splitlines()
    line = next(n for n, text in enumerate(source, 1) if "// BUG" in text)
    assert run.found("heat.c") == {(2, line, "Startall")}
    logs = sorted(map(str, tmp_path.glob("log.*")))
    (tmp_path / "log.3").write_bytes((tmp_path / "log.3").read_bytes()[:200])
    command = [sys.executable, "-m", "interpose.merge.cli", *logs]
    merged = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    report = next(part for part in merged.split("\n\n") if "Startall" in part and "heat.c" in part)
    assert report.startswith("rank 2: ")
    assert f"wait_for_halo (heat.c:{line})" in report
    assert re.search(
        r"^rank 3: .*log\.3 (breaks off in a line|ends before its summary)", merged, re.MULTILINE
    )


def test_a_rank_that_dies(mpi: Mpi, tmp_path: Path) -> None:
    run = mpi.run(2, mpi.build("p2p.c"), "die", folder=tmp_path)
    assert run.code != 0
    assert "Process terminating with default action of signal 6 (SIGABRT)" in run.logs[1]
    command = [sys.executable, "-m", "interpose.merge.cli", str(tmp_path / "log.0"), str(tmp_path / "log.1")]
    merged = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert merged.returncode == 0
    died = next(part for part in merged.stdout.split("\n\n") if "SIGABRT" in part)
    assert died.startswith("rank 1: once\nProcess terminating with default action of signal 6 (SIGABRT)")


def test_a_rank_that_is_killed(mpi: Mpi, tmp_path: Path) -> None:
    """Its log has all until then and a line that says so; the others go on where the launcher lets them."""
    goes_on = ("--enable-recovery",) if mpi.name == "openmpi" else ()
    run = mpi.run(3, mpi.build("killed.c"), launcher=goes_on, folder=tmp_path)
    assert "The program was killed; what its heap held is not known" in run.logs[1]
    assert all(log.rstrip().rpartition("\n")[2].count("ERROR SUMMARY: ") == 1 for log in run.logs.values())
    if goes_on:
        assert sorted(run.out.split("\n")) == ["", "rank 0 went on", "rank 2 went on"]
        assert run.found("killed.c") == expected("killed.c")
    logs = [str(tmp_path / f"log.{rank}") for rank in range(3)]
    command = [sys.executable, "-m", "interpose.merge.cli", *logs]
    merged = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    assert f"rank 1: {logs[1]} says that the process was killed\n" in merged
    assert not goes_on or merged.count("was killed") == 1


_HPCC = """\
HPLinpack benchmark input file
a small problem on two ranks
HPL.out
8 device out
1
100 Ns
1
20 NBs
0
1
1 Ps
2 Qs
16.0
1
2
1
4
1
2
1
1
1
1
1
0
2
64
0
0
1
8
# for PTRANS
0
0
0
0
"""


@pytest.mark.skipif(shutil.which("hpcc") is None, reason="hpcc is not installed")
def test_hpcc_and_a_rank_that_is_killed_in_it(mpi: Mpi, tmp_path: Path) -> None:
    """What RandomAccess sends and nobody set, on both ranks; rank 1 is killed in the test of latencies."""
    if mpi.name != "openmpi":
        pytest.skip("Debian's hpcc is for Open MPI")
    (tmp_path / "hpccinf.txt").write_text(_HPCC)
    told = tmp_path / "hpccoutf.txt"
    killed = []

    def kill_rank_1() -> None:
        while not (told.exists() and "Begin of LatencyBandwidth section" in told.read_text()):
            if ended.wait(0.05):
                return
        pid = re.match(r"==(\d+)==", (tmp_path / "log.1").read_text())
        assert pid is not None
        os.kill(int(pid[1]), signal.SIGKILL)
        killed.append(pid[1])

    ended = threading.Event()
    killer = threading.Thread(target=kill_rank_1)
    killer.start()
    try:
        suppressions = f"--suppressions={Path(mpi.wrappers).parent}/mpi.supp"
        env = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        run = mpi.run(2, Path("hpcc"), options=(suppressions,), env=env, folder=tmp_path)
    finally:
        ended.set()
        killer.join()
    assert killed and run.code != 0
    assert [f"=={killed[0]}==" in run.logs[1], "The program was killed" in run.logs[1]] == [True, True]
    assert "SIGTERM" in run.logs[0] or "The program was killed" in run.logs[0]
    for rank in (0, 1):
        given = [stack for _, stack in errors(run.logs[rank]) if stack[1][0] == "PMPI_Alltoall"]
        assert given and all(stack[2][1].endswith("/hpcc") for stack in given), run.logs[rank]
        assert any(line.startswith("MPI_Alltoall: byte ") for line in run.said(rank))
    for section in ("MPIRandomAccess", "PTRANS", "StarDGEMM", "StarSTREAM", "MPIFFT"):
        assert f"End of {section} section" in told.read_text()


@pytest.mark.skipif(shutil.which("gfortran") is None, reason="gfortran is not installed")
@pytest.mark.parametrize("flag", ["-DF77", "-DMODULE", "-DF08"])
def test_fortran(check: Callable[..., Run], flag: str) -> None:
    run = check("fortran.F90", 2, flags=(flag,))
    lines = enumerate((GUESTS / "fortran.F90").read_text().splitlines(), 1)
    line = next(n for n, text in lines if "// LEFT" in text)
    left = f"1 communicator not freed before MPI_Finalize, made by MPI_Comm_dup (fortran.F90:{line})"
    assert (run.out, run.said(1)) == ("", [left])
    assert not [text for text in run.said(0) if "Finalize" in text]


def test_wrappers_for_another_library(tmp_path: Path) -> None:
    if any(shutil.which(f"mpicc.{name}") is None for name in LIBRARIES):
        pytest.skip("it takes two MPI libraries")
    program = tmp_path / "left"
    subprocess.run(["mpicc.mpich", "-w", str(GUESTS / "left.c"), "-o", str(program)], check=True)
    ask = [sys.executable, "-m", "interpose", "--mpi-wrappers=mpicc.openmpi"]
    wrappers = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip()
    done = subprocess.run(
        [sys.executable, "-m", "interpose", "--tool=none", "-q", str(program)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "LD_PRELOAD": wrappers, "MPIWRAP_DEBUG": "quiet"},
    )
    assert done.returncode == 1
    assert re.search(
        r"MPI: these wrappers are for .*libmpi\.so\S*, and the program has .*libmpich", done.stderr
    )


@pytest.mark.parametrize("word", ["warn", "strict", ""])
def test_functions_without_a_wrapper(mpi: Mpi, tmp_path: Path, word: str) -> None:
    if mpi.name == "openmpi":
        pytest.skip("this Open MPI has no function that the table lacks")
    env = {"MPIWRAP_DEBUG": f"quiet,{word}"}
    run = mpi.run(1, mpi.build("newer.c"), engine="none", env=env, folder=tmp_path)
    said = run.said(0)
    if word == "strict":
        assert run.code != 0 and "went on" not in run.out
        assert said[0] == "error: MPI_T_event_get_num has no wrapper; the program ends (MPIWRAP_DEBUG=strict)"
        return
    assert (run.code, run.out) == (0, "went on\n")
    assert said == ["warning: MPI_T_event_get_num has no wrapper"] * (3 if word else 0)
    if word:
        assert "main (newer.c:" in run.logs[0]


def test_very_many_requests_deep_types_and_ways_out(check: Callable[..., object]) -> None:
    run = check("hostile.c", 2)
    assert not [line for rank in (0, 1) for line in run.said(rank) if "Finalize" in line]
