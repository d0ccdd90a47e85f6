"""MPI programs with seeded errors: built with each MPI library, run under mpirun, their logs read by rank.

A guest's source says what must be found: ``// FINDS 0 1: Send`` at the end of a line means that ranks 0 and 1
find there that something given to ``MPI_Send`` is not right; ``// FINDS 1: jump`` that rank 1 decides by
undefined data. Nothing else may be found.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

GUESTS = Path(__file__).resolve().parents[1] / "guests" / "mpi"
LIBRARIES = ("openmpi", "mpich")
_EXPECTED = re.compile(r"// FINDS ([\d ]+): (.*)$")
_PREFIX = re.compile(r"^(?:==|\*\*|--)\d+(?:==|\*\*|--) ?")
_FRAME = re.compile(r"   (?:at|by) 0x[0-9A-F]+: (.+?) \((.*)\)$")

MPI_ENV = {
    **os.environ,
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "HWLOC_COMPONENTS": "-x86",
}

Finding = tuple[int, int, str]


@dataclass(frozen=True)
class Mpi:
    """One MPI library: its compiler, its launcher, the wrappers for it."""

    name: str
    wrappers: str
    folder: Path

    def build(self, source: str, *flags: str) -> Path:
        """A program of tests/guests/mpi."""
        out = self.folder / f"{Path(source).stem}-{self.name}-{'-'.join(flags).strip('-') or 'plain'}"
        if not out.exists():
            driver = f"mpif90.{self.name}" if source.endswith(".F90") else f"mpicc.{self.name}"
            files = [str(GUESTS / source), "-o", str(out), "-lm"]
            subprocess.run([driver, "-g", "-O1", "-w", *flags, *files], check=True)
        return out

    def header(self) -> str:
        """Its ``mpi.h``, preprocessed."""
        command = [f"mpicc.{self.name}", "-E", "-P", "-x", "c", "-"]
        done = subprocess.run(command, input="#include <mpi.h>\n", capture_output=True, text=True, check=True)
        return done.stdout

    def launcher(self, ranks: int) -> list[str]:
        if self.name == "openmpi":
            # All on this machine, whatever it has of processors and networks.
            return ["mpirun.openmpi", "--oversubscribe", "--mca", "btl", "self,vader", "-np", str(ranks)]
        return ["mpirun.mpich", "-np", str(ranks)]

    def run(
        self,
        ranks: int,
        program: Path,
        *words: str,
        engine: str = "memcheck",
        options: tuple[str, ...] = (),
        launcher: tuple[str, ...] = (),
        env: dict[str, str] | None = None,
        folder: Path,
    ) -> Run:
        """Under a tool of ours, on the "native" engine, or under "valgrind"; the logs are read."""
        for old in folder.glob("log.*"):
            old.unlink()
        rank = "%q{OMPI_COMM_WORLD_RANK}" if self.name == "openmpi" else "%q{PMI_RANK}"
        log = f"--log-file={folder}/log.{rank}"
        engines = [sys.executable, "-m", "interpose", f"--tool={engine}", log]
        if engine == "valgrind":
            engines = ["valgrind", "--tool=memcheck", log]
        elif engine == "native":
            engines = [sys.executable, "-m", "interpose", "--engine=native", f"--wrappers={self.wrappers}"]
        command = [*self.launcher(ranks), *launcher, *engines, *options]
        process = subprocess.run(
            [*command, str(program), *words],
            capture_output=True,
            text=True,
            timeout=180,
            cwd=folder,
            env={
                **MPI_ENV,
                **({} if engine == "native" else {"LD_PRELOAD": self.wrappers}),
                **(env or {}),
            },
        )
        logs = {int(path.suffix[1:]): path.read_text() for path in folder.glob("log.*")}
        return Run(process.returncode, process.stdout, process.stderr, logs)


@dataclass(frozen=True)
class Run:
    """How it ended, and each rank's log."""

    code: int
    out: str
    err: str
    logs: dict[int, str]

    def said(self, rank: int) -> list[str]:
        """What the wrappers said, without their banner."""
        lines = (line.partition(" MPI: ")[2] for line in self.logs[rank].splitlines() if " MPI: " in line)
        return [line for line in lines if not line.startswith(("Active", "Try MPIWRAP"))]

    def found(self, source: str) -> set[Finding]:
        """(rank, line of the source, function or jump) of each error whose cause is in the source."""
        return {(rank, *site) for rank, log in self.logs.items() for site in _sites(log, source)}


def errors(log: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The first line of each error, and its stack: functions and where they are."""
    before, stack = "", []
    for line in log.splitlines():
        text = _PREFIX.sub("", line)
        frame = _FRAME.match(text)
        if frame is not None:
            stack.append((frame[1], frame[2]))
            continue
        if stack and not before.startswith(" "):
            yield before, stack
        before, stack = text, []


def _sites(log: str, source: str) -> Iterator[tuple[int, str]]:
    for what, stack in errors(log):
        outer = next((i for i, (_, where) in enumerate(stack) if where.startswith(f"{source}:")), None)
        if outer is None:
            continue
        line = int(stack[outer][1].partition(":")[2])
        if outer == 0:
            yield line, "jump" if what.startswith("Conditional") else what
        elif stack[0][0].startswith(("ip_check_buffers", "PMPI_", "check_many")):
            # A binding of Fortran may lie between the function and the program.
            yield line, next(name for name, _ in stack if name.startswith("PMPI_")).removeprefix("PMPI_")


def expected(source: str) -> set[Finding]:
    found = set()
    for number, line in enumerate((GUESTS / source).read_text().splitlines(), 1):
        match = _EXPECTED.search(line)
        if match:
            found |= {(int(rank), number, match[2].split()[0]) for rank in match[1].split()}
    return found


@pytest.fixture(scope="session", params=LIBRARIES)
def mpi(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Mpi:
    """Each MPI library that this machine has."""
    name = request.param
    if shutil.which(f"mpicc.{name}") is None or shutil.which(f"mpirun.{name}") is None:
        pytest.skip(f"{name} is not installed")
    command = [sys.executable, "-m", "interpose", f"--mpi-wrappers=mpicc.{name}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return Mpi(name, done.stdout.strip(), tmp_path_factory.mktemp("mpi"))


@pytest.fixture
def check(mpi: Mpi, tmp_path: Path) -> Callable[..., Run]:
    """check("p2p.c", 2): what a guest finds is what its source says, on the right ranks."""

    def go(
        source: str, ranks: int, *words: str, engine: str = "memcheck", flags: tuple[str, ...] = ()
    ) -> Run:
        run = mpi.run(ranks, mpi.build(source, *flags), *words, engine=engine, folder=tmp_path)
        assert run.code == 0, run.err + run.out
        found, wanted = run.found(source), expected(source)
        logs = "\n".join(f"---- rank {rank}\n{log}" for rank, log in sorted(run.logs.items()))
        assert not found ^ wanted, f"missing: {wanted - found}, too much: {found - wanted}\n{logs}"
        return run

    return go
