"""Each rule of the checker: a trace that keeps it, and one that breaks it."""

from __future__ import annotations

import pytest
from formats.drmemtrace.entries import (
    NOP,
    PC,
    RET,
    SYSCALL,
    archive,
    encoding,
    end,
    entry,
    header,
    instr,
    marker,
    plain,
    prelude,
    trace,
)

from interpose.formats.drmemtrace.constants import FILE_TYPE, FileType, MarkerId, Type
from interpose.memtrace.invariants import check

CALL = b"\xe8\x0b\x00\x00\x00"  # to 16 bytes further
JZ = b"\x74\x06"  # to 8 bytes further
LOAD, STORE, PUSH_MEM = b"\x8b\x07", b"\x89\x07", b"\xff\x37"
MOVSB = b"\xf3\xa4"
READ, WRITE = entry(Type.READ, 4, 0x7000), entry(Type.WRITE, 4, 0x7000)
READ8, WRITE8 = entry(Type.READ, 8, 0x7000), entry(Type.WRITE, 8, 0x7000)
CLOCK = marker(MarkerId.TIMESTAMP, 2000) + marker(MarkerId.CPU_ID, 1)
CALLED = instr(PC, CALL, Type.INSTR_DIRECT_CALL) + WRITE8
CALLS = instr(PC, SYSCALL) + CLOCK


def returns(pc: int, target: int) -> bytes:
    return instr(pc, RET, Type.INSTR_RETURN, target=target) + READ8


def function(number: int, *parts: bytes) -> bytes:
    return marker(MarkerId.FUNC_ID, number) + b"".join(parts)


def argument(value: int = 5) -> bytes:
    return marker(MarkerId.FUNC_ARG, value)


def address(value: int) -> bytes:
    return marker(MarkerId.FUNC_RETADDR, value)


def result(value: int = 6) -> bytes:
    return marker(MarkerId.FUNC_RETVAL, value)


def syscall(number: int) -> bytes:
    return marker(MarkerId.SYSCALL, number)


def signal(pc: int) -> bytes:
    return marker(MarkerId.KERNEL_EVENT, pc) + marker(MarkerId.SIGNAL_NUMBER, 10) + CLOCK


HANDLED = instr(PC) + signal(PC + 1) + instr(0x5000) + instr(0x5001, SYSCALL) + CLOCK + syscall(15)

GOOD = {
    "straight": trace(instr(PC), instr(PC + 1)),
    "call and return": trace(CALLED, instr(PC + 16), returns(PC + 17, PC + 5), instr(PC + 5)),
    "taken": trace(instr(PC, JZ, Type.INSTR_TAKEN_JUMP), instr(PC + 8)),
    "untaken": trace(instr(PC, JZ, Type.INSTR_UNTAKEN_JUMP), instr(PC + 2)),
    "load, store": trace(instr(PC, LOAD), READ, instr(PC + 2, STORE), WRITE),
    "push of memory": trace(instr(PC, PUSH_MEM), READ8, WRITE8),
    "string": trace(
        instr(PC, MOVSB), READ, WRITE, entry(Type.INSTR_NO_FETCH, 2, PC), READ, WRITE, instr(PC + 2)
    ),
    "no iteration": trace(instr(PC, MOVSB), instr(PC + 2)),
    "system call": trace(CALLS, syscall(0), marker(MarkerId.MAYBE_BLOCKING_SYSCALL), CLOCK, instr(PC + 2)),
    "its arguments": trace(
        CALLS,
        syscall(0),
        function(0x100000000, argument(), argument()),
        function(0x100000000, result()),
        CLOCK,
    ),
    "signal": trace(HANDLED, marker(MarkerId.KERNEL_XFER, 0x5001), CLOCK, instr(PC + 1)),
    "restarted call": trace(
        CALLS,
        syscall(202),
        signal(PC),
        instr(0x5001, SYSCALL),
        CLOCK,
        syscall(15),
        marker(MarkerId.KERNEL_XFER, 0x5001),
        CLOCK,
        CALLS,
        syscall(202),
        CLOCK,
        instr(PC + 2),
    ),
    "signal behind a branch": trace(returns(PC, 0x9000), signal(0x9000), instr(0x5000)),
    "function": trace(
        CALLED,
        function(1, address(PC + 5), argument()),
        instr(PC + 16),
        returns(PC + 17, PC + 5),
        function(1, result()),
        instr(PC + 5),
    ),
    "window": trace(instr(PC), marker(MarkerId.WINDOW_ID, 1), instr(0x9000)),
    "filtered": header(filetype=0x240 | FileType.IFILTERED) + prelude() + instr(PC) + instr(0x9000) + end(),
    "older": header(4) + prelude() + instr(PC, JZ, Type.INSTR_CONDITIONAL_JUMP) + instr(PC + 8) + end(),
    "prefetch": trace(instr(PC, b"\x0f\x18\x08"), entry(Type.PREFETCH_READ_L1, 1, 9)),
    "gather": trace(instr(PC, b"\xc4\xe2\x6d\x92\x0c\x07"), READ * 8),
}


@pytest.mark.parametrize("name", GOOD)
def test_good_traces(tmp_path, name):
    assert [violation.line() for violation in check(plain(tmp_path / "t", GOOD[name]))] == []


def without(data: bytes, piece: bytes) -> bytes:
    assert piece in data
    return data.replace(piece, b"", 1)


ONE = trace(instr(PC))
UNNUMBERED = header(filetype=FILE_TYPE & ~FileType.SYSCALL_NUMBERS) + prelude()

BAD = {
    "no cache line": (
        without(ONE, marker(MarkerId.CACHE_LINE_SIZE, 64)),
        "present",
        "no CACHE_LINE_SIZE marker",
    ),
    "no page size": (without(ONE, marker(MarkerId.PAGE_SIZE, 4096)), "present", "no PAGE_SIZE marker"),
    "no version": (without(ONE, marker(MarkerId.VERSION, 7)), "present", "no VERSION marker"),
    "no file type": (without(ONE, marker(MarkerId.FILETYPE, FILE_TYPE)), "present", "no FILETYPE marker"),
    "no exit": (without(ONE, entry(Type.THREAD_EXIT, 4, 11)), "present", "no THREAD_EXIT"),
    "no instruction": (trace(), "present", "no instruction"),
    "time": (trace(instr(PC), marker(MarkerId.TIMESTAMP, 999)), "time", "999 after 1000"),
    "conditional": (
        trace(instr(PC, JZ, Type.INSTR_CONDITIONAL_JUMP)),
        "branches",
        "neither taken nor untaken",
    ),
    "no target": (trace(instr(PC, RET, Type.INSTR_RETURN), READ8), "targets", "without its target"),
    "other target": (
        trace(returns(PC, 0x9000), instr(0x9001)),
        "targets",
        "at 0x9001; the branch before goes to 0x9000",
    ),
    "gap": (trace(instr(PC), instr(PC + 2)), "flow", "at 0x401002; what comes before goes on at 0x401001"),
    "taken to elsewhere": (
        trace(instr(PC, JZ, Type.INSTR_TAKEN_JUMP), instr(PC + 2)),
        "flow",
        "goes on at 0x401008",
    ),
    "untaken and gone": (
        trace(instr(PC, JZ, Type.INSTR_UNTAKEN_JUMP), instr(PC + 8)),
        "flow",
        "goes on at 0x401002",
    ),
    "call to elsewhere": (trace(CALLED, instr(PC + 5)), "flow", "goes on at 0x401010"),
    "iteration of nothing": (
        trace(instr(PC), entry(Type.INSTR_NO_FETCH, 2, PC + 9)),
        "flow",
        "of no instruction",
    ),
    "iteration without rep": (trace(instr(PC), entry(Type.INSTR_NO_FETCH, 1, PC)), "flow", "does not repeat"),
    "no number": (trace(CALLS, instr(PC + 2)), "syscalls", "no SYSCALL marker"),
    "no number at the end": (trace(CALLS), "syscalls", "no SYSCALL marker"),
    "number far away": (
        trace(CALLS, marker(MarkerId.SKIPPED_MEMREF), syscall(0)),
        "syscalls",
        "no SYSCALL marker",
    ),
    "number of nothing": (trace(instr(PC), syscall(0)), "syscalls", "without its instruction"),
    "number twice": (trace(CALLS, syscall(0), syscall(0)), "syscalls", "not right behind its instruction"),
    "number that is none": (
        UNNUMBERED + CALLS + syscall(0) + end(),
        "syscalls",
        "the file type does not have",
    ),
    "clock before version 6": (
        header(5) + prelude() + CALLS + syscall(0) + end(),
        "syscalls",
        "not right behind",
    ),
    "blocking": (
        trace(CALLS, syscall(0), CLOCK, marker(MarkerId.MAYBE_BLOCKING_SYSCALL)),
        "syscalls",
        "not right behind SYSCALL",
    ),
    "too few reads": (
        trace(instr(PC, LOAD), instr(PC + 2)),
        "data",
        "0 read records of the instruction at 0x401000, whose code has 1",
    ),
    "too many reads": (trace(instr(PC, LOAD), READ, READ), "data", "2 read records"),
    "too few writes": (trace(instr(PC, PUSH_MEM), READ8), "data", "0 write records"),
    "data of nothing": (
        trace(instr(PC), WRITE),
        "data",
        "1 write records of the instruction at 0x401000, whose code has 0",
    ),
    "data of an iteration": (
        trace(instr(PC, MOVSB), READ, WRITE, entry(Type.INSTR_NO_FETCH, 2, PC), READ, READ, WRITE),
        "data",
        "2 read",
    ),
    "function elsewhere": (trace(instr(PC), function(1, argument())), "functions", "not behind a branch"),
    "function before data": (
        trace(instr(PC, CALL, Type.INSTR_DIRECT_CALL), function(1, argument()), WRITE8),
        "functions",
        "between an instruction and its data",
    ),
    "return address": (
        trace(CALLED, function(1, address(PC + 4))),
        "functions",
        "0x401004 of a call that returns to",
    ),
    "result of a call": (trace(CALLED, function(1, result())), "functions", "not behind a return"),
    "argument alone": (trace(CALLED, argument()), "functions", "FUNC_ARG without FUNC_ID"),
    "other system call": (trace(CALLS, syscall(0), function(0x100000001)), "functions", "not the last one"),
    "sigreturn alone": (
        trace(CALLS, syscall(15), marker(MarkerId.KERNEL_XFER, PC), CLOCK, instr(0x9000)),
        "signals",
        "without a KERNEL_EVENT before",
    ),
    "interrupted elsewhere": (
        trace(instr(PC), signal(PC)),
        "signals",
        "interrupted at 0x401000, where 0x401001 comes next",
    ),
    "signal number alone": (
        trace(instr(PC), marker(MarkerId.SIGNAL_NUMBER, 3)),
        "signals",
        "not right behind KERNEL_EVENT",
    ),
    "chunk too long": (
        trace(instr(PC), instr(PC + 1), chunk_instrs=1),
        "chunks",
        "more than 1 instructions in chunk 0",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_each_rule_is_broken(tmp_path, name):
    data, rule, text = BAD[name]
    found = list(check(plain(tmp_path / "t", data)))
    assert {violation.rule for violation in found} == {rule}, [violation.line() for violation in found]
    assert text in found[0].text
    assert found[0].line().startswith(f"{tmp_path / 't'}: record ")


def chunks(
    count: int = 2, first: int = 0, ordinal: int = 10, again: bytes = encoding(NOP), copies: bytes = b""
):
    start = header() + prelude(count) + instr(PC) + instr(PC + 1) + marker(MarkerId.CHUNK_FOOTER, first)
    copies = copies or marker(MarkerId.TIMESTAMP, 1000) + marker(MarkerId.CPU_ID, 2)
    jump = instr(PC + 2, b"\xeb\xfc", Type.INSTR_DIRECT_JUMP)
    rest = marker(MarkerId.RECORD_ORDINAL, ordinal) + copies + jump + again + entry(Type.INSTR, 1, PC)
    return start, rest + end()


CHUNKS = {
    "count": (chunks(count=3), "2 instructions in a chunk of 3"),
    "ordinal of the footer": (chunks(first=1), "the footer of chunk 1 where chunk 0 ends"),
    "encodings again": (chunks(again=b""), "chunk.00000001: no encoding for the instruction at 0x401000"),
    "time again": (chunks(copies=marker(MarkerId.CPU_ID, 2)), "does not begin with the time and processor"),
    "other time": (
        chunks(copies=marker(MarkerId.TIMESTAMP, 1001) + marker(MarkerId.CPU_ID, 2)),
        "does not begin with the time",
    ),
    "no ordinal": ((chunks()[0], chunks()[1][12:]), "a chunk begins with MARKER, not with a record ordinal"),
}


def test_good_chunks(tmp_path):
    assert list(check(archive(tmp_path / "t.zip", *chunks()))) == []


@pytest.mark.parametrize("name", CHUNKS)
def test_broken_chunks(tmp_path, name):
    parts, text = CHUNKS[name]
    found = list(check(archive(tmp_path / "t.zip", *parts)))
    assert [violation.rule for violation in found] == ["chunks"], found
    assert text in found[0].text


def test_record_ordinal(tmp_path):
    (found,) = check(archive(tmp_path / "t.zip", *chunks(ordinal=9)))
    assert (found.rule, found.text) == ("format", "RECORD_ORDINAL says 9")


def test_what_is_no_trace(tmp_path):
    (found,) = check(plain(tmp_path / "t", b"x" * 24))
    assert found.rule == "format" and "no drmemtrace trace" in found.text
