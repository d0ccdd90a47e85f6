"""Whole MPI programs, ranks that die, and all of their logs as one report."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from mpi.conftest import GUESTS, Mpi


def test_benchmark_loops(check: Callable[..., object]) -> None:
    check("loops.c", 2)


def test_heat_in_a_plate(mpi: Mpi, tmp_path: Path) -> None:
    program = mpi.build("heat.c")
    options = (f"--log-file={tmp_path}/log.%r", f"--suppressions={Path(mpi.wrappers).parent}/mpi.supp")
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
