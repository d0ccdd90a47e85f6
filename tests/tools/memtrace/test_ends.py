"""Traces that end before their program would have it: killed processes, files that cannot grow."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from tools.memtrace.tracing import PACKAGE, build, folders, trace

from interpose.formats.drmemtrace.layout import trace_files
from interpose.formats.drmemtrace.reader import Reader
from interpose.formats.drmemtrace.records import Instr
from interpose.memtrace.invariants import check
from interpose.tools.memtrace.finishing import finish

LOOP = ["-e", "$| = 1; my $s = 0; for my $i (1 .. 3e7) { $s += $i * $i % 7; print qq(on\n) if $i == 2e5 }"]

MAY_RAISE_LIMITS = 1 << 24  # CAP_SYS_RESOURCE


def instructions(folder: Path) -> int:
    """How many a valid trace has."""
    [path] = trace_files(folder)
    assert [violation.line() for violation in check(path)] == []
    return sum(isinstance(record, Instr) for record in Reader(path))


def begun(folder: Path) -> tuple[subprocess.Popen[str], Path]:
    """A program that has been recorded for a while, and its trace's folder."""
    options = ["--tool=memtrace", f"--memtrace-dir={folder}", "--max-trace-size=300000"]
    process = subprocess.Popen(
        [sys.executable, "-m", "interpose", *options, "perl", *LOOP],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": PACKAGE},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "on\n"
    [place] = folders(folder)
    return process, place


def test_program_killed(tmp_path: Path) -> None:
    """Its trace is finished up to there."""
    process, place = begun(tmp_path)
    process.kill()
    process.communicate(timeout=60)
    limit = time.monotonic() + 60
    while (place / "raw" / "records.bin").exists() and time.monotonic() < limit:
        time.sleep(0.05)  # the supervisor, which is no child of ours, finishes
    assert instructions(place) > 100000
    assert process.returncode == -signal.SIGKILL


def supervisor_of(pid: int) -> int:
    """The process beside a program: the one that has the other end of its channel."""
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == pid:
            continue
        try:
            words = Path("/proc", name, "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"--tool=memtrace" in words and os.getsid(int(name)) != os.getsid(pid):
            maps = Path("/proc", name, "maps").read_text()
            if f"memtrace-dir={folders_of(pid)}" in b" ".join(words).decode() and maps:
                return int(name)
    raise AssertionError("no supervisor")


def folders_of(pid: int) -> str:
    """The folder that the command of a program's supervisor names: that of its raw file."""
    for name in os.listdir(f"/proc/{pid}/fd"):
        target = os.readlink(f"/proc/{pid}/fd/{name}")
        if target.endswith("/raw/records.bin"):
            return str(Path(target).parents[2])
    raise AssertionError("no raw file")


def test_supervisor_killed(tmp_path: Path) -> None:
    """The records are whole up to there, and finished by hand."""
    process, place = begun(tmp_path)
    os.kill(supervisor_of(process.pid), signal.SIGKILL)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert said.splitlines()[-1].startswith("interpose: ")
    finish(str(place))
    assert instructions(place) > 100000


def test_file_that_cannot_grow(tmp_path: Path) -> None:
    """One line, and the program goes on, with no signal for it; what was written is a trace."""
    program = tmp_path / "limited_files"
    source = Path(__file__).parents[2] / "guests" / "life" / "limited_files.c"
    subprocess.run(["gcc", "-O1", "-w", str(source), "-o", str(program)], check=True)
    result = trace(tmp_path, program, "3000000", options=("-q",))
    assert (result.returncode, result.stdout) == (5, "0 -1 File too large 1 1\n")
    [place] = folders(tmp_path)
    assert instructions(place) > 10000
    status = Path("/proc/self/status").read_text()
    if int(status.partition("CapEff:")[2].split()[0], 16) & MAY_RAISE_LIMITS:
        assert result.stderr == ""
    else:
        line = result.stderr.splitlines()[0].partition(" ")[2]
        assert result.stderr.count("\n") == 1
        assert line == f"{place}: File too large; the trace ends there"


@pytest.mark.parametrize("room", ["4k", "64k", "1m"])
def test_disk_full(tmp_path: Path, room: str) -> None:
    """One line, and the program goes on; what was recorded becomes a trace where there is room.

    In 4 KiB there is room for nothing, in 64 for code of the dynamic linker, which comes before what it did.
    """
    program = "/bin/true" if room == "64k" else build("table.S", tmp_path, "-nostdlib", "-static")
    disk, copy = tmp_path / "disk", tmp_path / "copy"
    disk.mkdir()
    options = ["-q", "--tool=memtrace", f"--memtrace-dir={disk}"]
    command = shlex.join([sys.executable, "-m", "interpose", *options, str(program)])
    script = f"mount -t tmpfs -o size={room} none '{disk}' || exit 77\n{command} && cp -r '{disk}' '{copy}'"
    if shutil.which("unshare") is None:
        pytest.skip("no unshare")
    result = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script],
        capture_output=True,
        text=True,
        timeout=200,
        env={**os.environ, "PYTHONPATH": PACKAGE},
    )
    if result.returncode == 77 or "unshare" in result.stderr:
        pytest.skip("no disk can be mounted here")
    assert (result.returncode, result.stdout) == (0, "" if room == "64k" else "done\n")
    assert len(result.stderr.splitlines()) == 1
    told = "the trace ends there, unfinished; the records stay" if room == "1m" else "nothing was recorded"
    assert f"No space left on device; {told}" in result.stderr
    if room == "1m":
        [place] = folders(copy)
        finish(str(place))
        assert instructions(place) > 1000


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_another_user(tmp_path: Path) -> None:
    """Who gives rights up is recorded all the same, with all children; nobody else can write to the file."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o755)
        done = trace(place, build("another_user.c", tmp_path))
        assert done.returncode == 0, done.stderr
        parent, child = folders(place)
        assert instructions(parent) > 100000 and instructions(child) > 100000
    process, place = begun(tmp_path)
    mode = (place / "raw" / "records.bin").stat().st_mode
    process.kill()
    process.communicate(timeout=60)
    assert mode & 0o777 == 0o600
