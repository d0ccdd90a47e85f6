"""Programs traced: exact records of small ones, the rules that hold for all."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tools.memtrace.tracing import build, folders, records, symbols, trace

from interpose.formats.drmemtrace import bulk
from interpose.formats.drmemtrace.constants import MarkerId, Type
from interpose.formats.drmemtrace.layout import trace_files
from interpose.formats.drmemtrace.reader import Reader
from interpose.formats.drmemtrace.records import Data, Instr, Marker
from interpose.jit._native import ffi, lib
from interpose.memtrace.invariants import check

TIMES = (MarkerId.TIMESTAMP, MarkerId.CPU_ID)


def text(found: list[Instr | Data | Marker], program: Path) -> list[str]:
    """Records by names: the instruction's nearest symbol, addresses of data by symbol or as ``stack``."""
    names = sorted((address, name) for name, address in symbols(program).items() if name[0] != "_")
    data = dict(names)

    def place(address: int) -> str:
        near = [(base, name) for base, name in names if base <= address]
        if not near or address - near[-1][0] > 4096:
            return "stack"
        base, name = near[-1]
        return f"{name}+{address - base}" if address != base else data[base]

    lines = []
    for record in found:
        if isinstance(record, Instr):
            target = f" -> {place(record.target)}" if record.target is not None else ""
            lines.append(f"{record.kind.name} {record.size}{target}")
        elif isinstance(record, Data):
            lines.append(f"  {record.kind.name} {record.size} {place(record.addr)}")
        elif isinstance(record, Marker) and record.id not in TIMES:
            lines.append(f"  {MarkerId(record.id).name} {record.value}")
    return lines


BASICS = """\
INSTR 5
INSTR 2
INSTR_TAKEN_JUMP 2
INSTR 2
INSTR_UNTAKEN_JUMP 2
INSTR_DIRECT_CALL 5
  WRITE 8 stack
INSTR 3
INSTR_RETURN 1 -> after_call
  READ 8 stack
INSTR 7
INSTR_INDIRECT_CALL 2 -> callee
  WRITE 8 stack
INSTR 3
INSTR_RETURN 1 -> after_indirect
  READ 8 stack
INSTR 7
INSTR 3
  READ 4 cell
  WRITE 4 cell
INSTR 2
  READ 8 cell
  WRITE 8 stack
INSTR 3
  READ 8 stack
  WRITE 8 cell+8
INSTR 5
INSTR 3
INSTR 7
INSTR 2
  READ 1 cell
  WRITE 1 there
INSTR_NO_FETCH 2
  READ 1 cell+1
  WRITE 1 there+1
INSTR_NO_FETCH 2
  READ 1 cell+2
  WRITE 1 there+2
INSTR 2
INSTR 3
INSTR 1
INSTR 5
INSTR 7
INSTR 3
  WRITE 8 there+8
INSTR_NO_FETCH 3
  WRITE 8 there
INSTR 1
INSTR 5
INSTR 5
INSTR 2
  SYSCALL 3
  SYSCALL_FAILED 9
INSTR_INDIRECT_JUMP 6 -> done
  READ 8 target
INSTR 3
  PREFETCH_READ_L1 1 cell
INSTR 5
INSTR 2
INSTR 2
  SYSCALL 60"""


@pytest.mark.parametrize("form", ["zip", "gz", "raw"])
def test_basics(tmp_path: Path, form: str) -> None:
    program = build("basics.S", tmp_path, "-nostdlib", "-static")
    result = trace(tmp_path, program, options=(f"--memtrace-format={form}",))
    assert result.returncode == 0, result.stderr
    assert "35 instructions, 1 thread" in result.stderr
    found = records(tmp_path)
    begin = next(n for n, record in enumerate(found) if isinstance(record, Instr))
    assert "\n".join(text(found[begin:], program)) == BASICS
    assert [record.id for record in found[begin - 2 : begin] if isinstance(record, Marker)] == list(TIMES)
    [folder] = folders(tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == ["aux", "raw", "trace"]
    assert [path.name for path in (folder / "raw").iterdir()] == ["run.json"]
    assert folder.name.startswith("drmemtrace.basics.")
    assert violations(trace_files(folder)[0]) == []


def violations(path: Path) -> list[str]:
    """The rules that a trace breaks."""
    return [found.line() for found in check(path)]


def test_processes(tmp_path: Path) -> None:
    """Threads, signals, a fork, an exec, a vfork: a folder for each program, a file for each thread."""
    program = build("processes.c", tmp_path, "-O1", "-pthread")
    native = subprocess.run([program], capture_output=True, text=True, check=True)
    result = trace(tmp_path, program, options=("--trace-children=yes",))
    assert result.stdout == native.stdout
    found = folders(tmp_path)
    assert sorted(folder.name.split(".")[1] for folder in found) == ["echo", "processes", "processes"]
    counts = sorted(len(trace_files(folder)) for folder in found)
    assert counts == [1, 1, 4]
    signals = 0
    for folder in found:
        for path in trace_files(folder):
            assert violations(path) == []
            events = [record.id for record in Reader(path) if isinstance(record, Marker)]
            assert events.count(MarkerId.KERNEL_EVENT) == events.count(MarkerId.KERNEL_XFER)
            assert events.count(MarkerId.KERNEL_EVENT) == events.count(MarkerId.SIGNAL_NUMBER)
            signals += events.count(MarkerId.KERNEL_EVENT)
    assert signals == 4


def functions_of(found: list[Instr | Data | Marker]) -> list[tuple[MarkerId | int, int]]:
    ids = (MarkerId.FUNC_ID, MarkerId.FUNC_ARG, MarkerId.FUNC_RETVAL)
    return [(one.id, one.value) for one in found if isinstance(one, Marker) and one.id in ids]


def test_functions(tmp_path: Path) -> None:
    """Recursion, a function left by longjmp, one whose return is not asked for, the malloc family."""
    program = build("functions.c", tmp_path, "-O1")
    options = ("--record-function=functions:fib|1&jump|2&last|0|noret", "--record-heap=yes")
    result = trace(tmp_path, program, options=options)
    assert result.returncode == 0, result.stderr
    [folder] = folders(tmp_path)
    listed = [line.split(",") for line in (folder / "aux" / "funclist.log").read_text().splitlines()]
    ids = {line[-1].partition("!")[2]: int(line[0]) for line in listed}
    assert {line[-1].partition("!")[0] for line in listed if line[-1].endswith("!fib")} == {"functions"}
    assert [line[3] for line in listed if line[-1].endswith("!last")] == ["noret"]
    assert violations(trace_files(folder)[0]) == []
    found = records(tmp_path)
    ours = {ids[name]: name for name in ("fib", "jump", "last", "malloc")}
    calls, name = [], ""
    for kind, value in functions_of(found):
        if kind is MarkerId.FUNC_ID:
            name = ours.get(value, "")
            calls.append([name])
        elif name:
            calls[-1].append(("=" if kind is MarkerId.FUNC_RETVAL else "") + str(value))
    ended = ["fib", "=1"]
    seen = [call for call in calls if call[0] in ("fib", "jump", "last")]
    assert seen == [
        ["fib", "2"],
        ["fib", "1"],
        ended,
        ["fib", "0"],
        ["fib", "=0"],
        ended,
        ["jump", "5", "6"],
        ["last"],
    ]
    assert ["malloc", "77"] in calls


def test_windows(tmp_path: Path) -> None:
    """Each window has as many instructions as were asked for, and its number."""
    program = build("basics.S", tmp_path, "-nostdlib", "-static")
    whole = trace(tmp_path / "whole", program)
    assert whole.returncode == 0
    every = [one.pc for one in records(tmp_path / "whole") if isinstance(one, Instr) and one.kind != 29]
    options = ("--trace-after-instrs=4", "--trace-for-instrs=5", "--retrace-every-instrs=3")
    assert trace(tmp_path / "parts", program, options=options).returncode == 0
    windows: dict[int, list[int]] = {}
    number = -1
    for record in records(tmp_path / "parts"):
        if isinstance(record, Marker) and record.id is MarkerId.WINDOW_ID:
            number = record.value
        elif isinstance(record, Instr) and record.kind is not Type.INSTR_NO_FETCH:
            windows.setdefault(number, []).append(record.pc)
    expected = [every[begin : begin + 5] for begin in range(4, len(every), 8)]
    assert list(windows) == list(range(len(expected)))
    assert list(windows.values()) == expected
    assert violations(trace_files(folders(tmp_path / "parts")[0])[0]) == []


def test_windows_of_threads(tmp_path: Path) -> None:
    """A window has so many instructions of all threads together, but for a branch of each."""
    program = build("windows.c", tmp_path, "-O1", "-pthread")
    options = ("--trace-after-instrs=150000", "--trace-for-instrs=40000", "--retrace-every-instrs=90000")
    assert trace(tmp_path, program, options=options).stdout == "done\n"
    [folder] = folders(tmp_path)
    counts: dict[int, int] = {}
    for path in trace_files(folder):
        number = -1
        for record in Reader(path):
            if isinstance(record, Marker) and record.id is MarkerId.WINDOW_ID:
                number = record.value
            elif isinstance(record, Instr) and record.kind is not Type.INSTR_NO_FETCH:
                counts[number] = counts.get(number, 0) + 1
        assert violations(path) == []
    assert len(trace_files(folder)) >= 2
    assert sorted(counts) == list(range(len(counts)))
    *whole, _ = (counts[number] for number in sorted(counts))
    assert len(whole) > 3
    assert all(40000 - 3 <= count <= 40000 for count in whole)


def test_system_call_arguments(tmp_path: Path) -> None:
    program = build("basics.S", tmp_path, "-nostdlib", "-static")
    assert trace(tmp_path, program, options=("--record-syscall=3|1&60",)).returncode == 0
    close, end = (1 << 32) + 3, (1 << 32) + 60
    assert functions_of(records(tmp_path)) == [
        (MarkerId.FUNC_ID, close),
        (MarkerId.FUNC_ARG, (1 << 64) - 1 & 0xFFFFFFFF),
        (MarkerId.FUNC_ID, close),
        (MarkerId.FUNC_RETVAL, 0),
        (MarkerId.FUNC_ID, end),
    ]


def test_one_thread_only(tmp_path: Path) -> None:
    program = build("processes.c", tmp_path, "-O1", "-pthread")
    assert trace(tmp_path, program, options=("--only-thread=2",)).returncode == 0
    sizes = sorted(len(list((folder / "trace").glob("*.trace.zip"))) for folder in folders(tmp_path))
    assert sizes[-1] == 1


def test_size(tmp_path: Path) -> None:
    """A thread's records end where they would be more than was asked for; the program goes on."""
    options = ("--max-trace-size=200000", "--memtrace-keep-raw=yes")
    assert trace(tmp_path, "/usr/bin/perl", "-e", "1 for 1..1e5", options=options).returncode == 0
    [folder] = folders(tmp_path)
    [path] = trace_files(folder)
    assert 0 < sum(isinstance(record, Instr) for record in Reader(path)) < 2000000
    assert violations(path) == []


@pytest.mark.parametrize("most", [300, 5000, 100000])
def test_size_is_used(tmp_path: Path, most: int) -> None:
    """However little a thread may record, it has that much, and no more."""
    options = (f"--max-trace-size={most}", "--memtrace-keep-raw=yes")
    assert trace(tmp_path, "/usr/bin/perl", "-e", "1 for 1..1e5", options=options).returncode == 0
    [folder] = folders(tmp_path)
    raw = (folder / "raw" / "records.bin").read_bytes()
    data = ffi.from_buffer(raw)
    parts = ffi.new("struct ip_mtf_part[]", lib.ip_mtf_scan(data, len(raw), ffi.NULL, 0))
    lib.ip_mtf_scan(data, len(raw), parts, len(parts))
    recorded = sum(part.bytes for part in parts if part.tid)
    assert most - 1000 < recorded <= most
    assert violations(trace_files(folder)[0]) == []


@pytest.mark.parametrize("option", ["--only-thread=7", "--trace-after-instrs=99999999", "--max-trace-size=1"])
def test_nothing_recorded(tmp_path: Path, option: str) -> None:
    """One line says no more than that."""
    program = build("basics.S", tmp_path, "-nostdlib", "-static")
    result = trace(tmp_path, program, options=("-q", option))
    assert result.returncode == trace(tmp_path / "whole", program).returncode
    [line] = result.stderr.splitlines()
    assert line.endswith("records.bin: nothing was recorded")


def test_folder_that_is_removed(tmp_path: Path) -> None:
    """While the program runs: it goes on, and one line says that there is nothing left."""
    result = trace(
        tmp_path / "there", "/bin/sh", "-c", 'rm -r "$0"; echo on', str(tmp_path / "there"), options=("-q",)
    )
    assert (result.returncode, result.stdout) == (0, "on\n")
    assert len(result.stderr.splitlines()) == 1
    assert "the records are gone; there is no trace" in result.stderr


def test_finish_by_hand(tmp_path: Path) -> None:
    from interpose.tools.memtrace.finishing import finish

    program = build("basics.S", tmp_path, "-nostdlib", "-static")
    result = trace(tmp_path, program, options=("--memtrace-finish=no",))
    [folder] = folders(tmp_path)
    assert "interpose-memtrace finish" in result.stderr
    assert not (folder / "trace").exists()
    assert finish(str(folder)).instructions == 35
    assert len(records(tmp_path)) > 35


def test_folder_that_cannot_be(tmp_path: Path) -> None:
    """One line, and the program runs."""
    (tmp_path / "file").touch()
    result = trace(tmp_path / "file", "/bin/echo", "hello", options=("-q",))
    assert result.stdout == "hello\n"
    assert len(result.stderr.splitlines()) == 1
    assert "the program runs on without a trace" in result.stderr


def test_windows_need_an_end(tmp_path: Path) -> None:
    result = trace(tmp_path, "/bin/true", options=("--retrace-every-instrs=5",))
    assert result.returncode == 1
    assert "--trace-for-instrs" in result.stderr


def test_more_code_than_there_is_room_for(tmp_path: Path) -> None:
    """One line says so, and what is not there lies between windows."""
    result = trace(tmp_path, build("many.c", tmp_path, "-O1"), options=("-q",))
    assert (result.returncode, len(result.stderr.splitlines())) == (0, 1)
    assert "some of the program's code is not in the trace" in result.stderr
    [place] = folders(tmp_path)
    [path] = trace_files(place)
    assert [violation.line() for violation in check(path)] == []
    reader, windows = Reader(path), []
    for block in bulk.arrays(reader):
        windows += block["addr"][bulk.is_marker(block, MarkerId.WINDOW_ID)].tolist()
    assert windows == list(range(1, len(windows) + 1))
    assert windows
