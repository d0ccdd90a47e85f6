"""Sessions of the real gdb with programs under interpose (``tests/guests/gdb``).

A session is NAME.gdb beside NAME.c, or another one's program: commands for gdb, which is attached at the
program's start, and in comments what is to come of them:

==================  =====================================================================================
``#: REGEX``        a line of gdb's output, behind those that were found before
``#! REGEX``        no line of it is like this
``#out REGEX``      a line of what the program and interpose say, behind those found before
``#status N``       how the program ends (``-N``: by that signal); without it: 0
``#program NAME``   it is about another one's program
``#before COMMAND`` for gdb, before it connects
``#options WORDS``  of interpose
``#tools WORDS``    those that it is for; without it: none and memcheck
``#needs FLAG``     of the CPU, as /proc/cpuinfo has it; else the session is left out
``#flags WORDS``    of gcc, behind ``-g -O0``
``#link NAME``      another program of the folder that is built beside this one
==================  =====================================================================================
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

GUESTS = Path(__file__).parents[1] / "guests" / "gdb"
HEADERS = Path(__file__).parents[2] / "include"
GDB = shutil.which("gdb")
TIMEOUT = 60


def compiled(folder: Path, name: str, source: str, *flags: str) -> Path:
    """A program of a test that brings its own source."""
    (folder / f"{name}.c").write_text(source)
    command = ["gcc", "-g", "-w", *flags, "-o", folder / name, folder / f"{name}.c"]
    subprocess.run(command, check=True, timeout=TIMEOUT)
    return folder / name


@dataclass
class Session:
    """What a script says about itself."""

    name: str
    expected: list[str] = field(default_factory=list)
    unwanted: list[str] = field(default_factory=list)
    out: list[str] = field(default_factory=list)
    status: int = 0
    options: list[str] = field(default_factory=lambda: ["--vgdb-stop-at=startup"])
    tools: list[str] = field(default_factory=lambda: ["none", "memcheck"])
    flags: list[str] = field(default_factory=list)
    needs: str = ""
    program: str = ""
    before: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)

    @property
    def script(self) -> Path:
        return GUESTS / f"{self.name}.gdb"


def read(path: Path) -> Session:
    session = Session(path.stem, program=path.stem)
    for line in path.read_text().splitlines():
        kind, _, rest = line.partition(" ")
        rest = rest.strip()
        if kind == "#:":
            session.expected.append(rest)
        elif kind == "#!":
            session.unwanted.append(rest)
        elif kind == "#out":
            session.out.append(rest)
        elif kind == "#status":
            session.status = int(rest)
        elif kind == "#options":
            session.options = rest.split()
        elif kind == "#tools":
            session.tools = rest.split()
        elif kind == "#needs":
            session.needs = rest
        elif kind == "#flags":
            session.flags = rest.split()
        elif kind == "#program":
            session.program = rest
        elif kind == "#before":
            session.before.append(rest)
        elif kind == "#link":
            session.beside.append(rest)
    return session


def sessions() -> list[tuple[Session, str]]:
    found = [read(path) for path in sorted(GUESTS.glob("*.gdb"))]
    return [(session, tool) for session in found for tool in session.tools]


def build(session: Session, folder: Path) -> Path:
    program = folder / session.program
    for name in [*session.beside, session.program]:
        source = GUESTS / f"{name}.c"
        flags = session.flags if name == session.program else []
        paths = [f"-I{HEADERS}", str(source), "-o", str(folder / name)]
        command = ["gcc", "-g", "-O0", "-w", "-pthread", *paths, *flags]
        subprocess.run(command, check=True, timeout=TIMEOUT)
    return program


def gdb_command(prefix: Path, pid: int, program: Path, script: Path, before: Sequence[str] = ()) -> list[str]:
    relay = f"{sys.executable} -m interpose.vgdb --vgdb-prefix={prefix} --wait=20 --pid={pid} -q"
    settings = (
        "debuginfod enabled off",
        "confirm off",
        "pagination off",
        "width 0",
        "remotetimeout 60",
        "python print-stack full",
    )
    first = [*(f"set {setting}" for setting in settings), *before]
    words = [word for command in first for word in ("-ex", command)]
    assert GDB
    return [
        GDB,
        "-q",
        "-nx",
        "-batch",
        *words,
        "-ex",
        f"target remote | {relay}",
        "-x",
        str(script),
        str(program),
    ]


def found_in_order(wanted: Sequence[str], text: str) -> str | None:
    """The first regular expression without a line behind those of the others; None if all have one."""
    lines = iter(text.splitlines())
    for pattern in wanted:
        if not any(re.search(pattern, line) for line in lines):
            return pattern
    return None


@dataclass
class Result:
    """What came of a session."""

    gdb: str
    out: str
    status: int
    left: list[str]


def run(session: Session, tool: str, program: Path, folder: Path) -> Result:
    prefix, out = folder / "pipe", folder / "out"
    command = [
        sys.executable,
        "-m",
        "interpose",
        f"--tool={tool}",
        f"--vgdb-prefix={prefix}",
        *session.options,
    ]
    with open(out, "w") as file:
        client = subprocess.Popen([*command, str(program)], stdout=file, stderr=file, cwd=program.parent)
        try:
            debugger = subprocess.run(
                gdb_command(prefix, client.pid, program, session.script, session.before),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                text=True,
                errors="replace",
                timeout=TIMEOUT,
                cwd=folder,
            )
            status = client.wait(timeout=TIMEOUT)
        finally:
            client.kill()
            client.wait()
    end = time.monotonic() + TIMEOUT  # the supervisor ends after the program
    while (left := [path.name for path in folder.glob("pipe*")]) and time.monotonic() < end:
        time.sleep(0.02)
    return Result(debugger.stdout, out.read_text(errors="replace"), status, left)
