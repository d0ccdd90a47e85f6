"""What must hold in every trace; whatever does not is told with its place."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from interpose.formats.drmemtrace.constants import (
    BRANCHES,
    INDIRECT_BRANCHES,
    SYSCALL_FUNC_BASE,
    VERSION_BRANCH_INFO,
    VERSION_FREQUENT_TIMESTAMPS,
    VERSION_RETIRED_ONLY,
    FileType,
    MarkerId,
    Type,
)
from interpose.formats.drmemtrace.errors import FormatError
from interpose.formats.drmemtrace.reader import RECORD, Reader, as_record, read_header
from interpose.formats.drmemtrace.records import Data, Instr, Marker, Record, ThreadExit
from interpose.jit._native import ffi, lib
from interpose.memtrace.effects import Effects, effects, fill

_SIGRETURN = 15
_FUNCTION_PARTS = frozenset({MarkerId.FUNC_RETADDR, MarkerId.FUNC_ARG, MarkerId.FUNC_RETVAL})
_CLOCK: frozenset[int] = frozenset({MarkerId.TIMESTAMP, MarkerId.CPU_ID})
_DISCONTINUITIES = frozenset(
    {
        MarkerId.RSEQ_ABORT,
        MarkerId.WINDOW_ID,
        MarkerId.FILTER_ENDPOINT,
        MarkerId.SYSCALL_TRACE_START,
        MarkerId.SYSCALL_TRACE_END,
        MarkerId.CONTEXT_SWITCH_START,
        MarkerId.CONTEXT_SWITCH_END,
        MarkerId.HARDWARE_EVENT,
        MarkerId.HARDWARE_CONTEXT_RETURN,
    }
)
"""Markers behind which execution goes on elsewhere."""
_CALLS = frozenset({Type.INSTR_DIRECT_CALL, Type.INSTR_INDIRECT_CALL})
_DIRECT = frozenset({Type.INSTR_DIRECT_JUMP, Type.INSTR_DIRECT_CALL, Type.INSTR_TAKEN_JUMP})
# File types are plain numbers here: an enumeration's operators would take a third of the time.
_FILTERED = int(FileType.FILTERED | FileType.IFILTERED | FileType.BIMODAL_FILTERED_WARMUP)
_NO_DATA = _FILTERED | int(FileType.DFILTERED | FileType.INSTRUCTION_ONLY)
_OTHER_CODE = int(FileType.ARCH_AARCH64 | FileType.ARCH_ARM32 | FileType.ARCH_X86_32 | FileType.ARCH_REGDEPS)
"""Code that the decoder does not read."""
_NUMBERED = int(FileType.SYSCALL_NUMBERS)
_KEPT = 1 << 18


class Violation(NamedTuple):
    """A rule that a trace breaks."""

    file: str
    ordinal: int
    rule: str
    text: str

    def line(self) -> str:
        """As it is shown."""
        return f"{self.file}: record {self.ordinal}: {self.rule}: {self.text}"


def _places(expected: set[int]) -> str:
    return " or ".join(f"{pc:#x}" for pc in sorted(expected))


class _Thread:
    """The checks of one file, record by record."""

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self.reader = Reader(path, strict=True)
        self.found: list[tuple[int, str, str]] = []
        self.filetype = 0
        self.version = 0
        self.markers: set[int] = set()
        self.effects: dict[tuple[int, bytes], Effects | None] = {}
        self.codes: list[bytes] = []
        self.table = ffi.new("struct ip_mt_effects[]", 0)
        """What each of the encodings does, for the part in C."""
        self.filled = 0
        self.ordinary = ffi.new("struct ip_mt_ordinary *")
        self.last: Instr | None = None
        """The last instruction or further iteration."""
        self.known: Effects | None = None
        self.reads = self.writes = 0
        self.counts_data = False
        self.behind: list[int] = []
        """Markers since the last instruction."""
        self.expected: set[int] | None = None
        """Where the next instruction may be; None: anywhere."""
        self.timestamp = 0
        self.syscall: int | None = None
        self.wants_syscall = False
        self.signals = 0
        self.chunk_limit = 0
        self.in_chunk = 0
        self.chunk = 0
        self.instructions = 0
        self.exits = 0
        self.function: int | None = None

    def say(self, record: Instr | Data | Marker | ThreadExit | int, rule: str, text: str) -> None:
        """Something is wrong."""
        ordinal = record if isinstance(record, int) else record.ordinal
        self.found.append((ordinal, rule, text))

    def check(self) -> Iterator[Violation]:
        """All that is wrong, in order."""
        try:
            for block in self.reader.blocks():
                self.reader.learn(self.codes)
                count = len(block) // RECORD.size
                before, at = self.reader.records - count, self.skip(block, 0, count)
                while at < count:
                    self.record(self.at(block, at, before))
                    if self.found:
                        yield from self.told()
                    at = self.skip(block, at + 1, count)
            self.finish()
        except FormatError as error:
            self.say(error.ordinal or 0, "format", error.reason)
        yield from self.told()

    def at(self, block: memoryview, index: int, before: int) -> Record:
        """A record of a block that has so many before it."""
        return as_record(before + index + 1, RECORD.unpack_from(block, index * RECORD.size), self.codes)

    def record(self, record: Record) -> None:
        """Any record."""
        if isinstance(record, Instr):
            self.instruction(record)
        elif isinstance(record, Data):
            self.data(record)
        elif isinstance(record, Marker):
            self.marker(record)
        else:
            self.thread_exit(record)

    def skip(self, block: memoryview, index: int, count: int) -> int:
        """Take in records that are as they must be; the number of the first one that is not."""
        if index == count or self.expected is None or self.filetype & (_FILTERED | _OTHER_CODE):
            return index
        if self.filled < len(self.codes):
            self.fill()
        state = self.ordinary
        state.limit, state.in_chunk, state.instructions = self.chunk_limit, self.in_chunk, 0
        state.has_data, state.has_syscalls = not self.filetype & _NO_DATA, self.filetype & _NUMBERED != 0
        state.n_expected = len(self.expected)
        for place, pc in enumerate(self.expected):
            state.expected[place] = pc
        state.counts_data = self.counts_data and self.known is not None
        state.wants_syscall, state.function = self.wants_syscall, self.function is not None
        state.reads, state.writes = self.reads, self.writes
        fill(state.last, self.known)
        if self.last is not None:
            state.last_pc, state.last_size = self.last.pc, self.last.size
        records = ffi.cast("struct ip_mt_record *", ffi.from_buffer(block)) + index
        end = index + lib.ip_mt_ordinary(state, records, count - index)
        if state.last_at:
            record = self.at(block, index + state.last_at - 1, self.reader.records - count)
            assert isinstance(record, Instr)
            self.arrive(record, self.effects_of(record))
            self.instructions += state.instructions
            self.in_chunk = state.in_chunk
        self.reads, self.writes = state.reads, state.writes
        return end

    def fill(self) -> None:
        """Tell the part in C about encodings that are new."""
        if len(self.codes) > len(self.table):
            table = ffi.new("struct ip_mt_effects[]", 2 * len(self.codes))
            ffi.memmove(table, self.table, ffi.sizeof(self.table))
            self.table = table
        places = struct.iter_unpack("<Q16x", memoryview(self.reader.code_buffer())[24 * self.filled :])
        for index, (pc,) in enumerate(places, self.filled):
            fill(self.table[index], effects(pc, self.codes[index]))
        self.filled = len(self.codes)
        self.ordinary.effects, self.ordinary.n_effects = self.table, self.filled

    def told(self) -> Iterator[Violation]:
        """What was found since."""
        for ordinal, rule, text in self.found:
            yield Violation(self.name, ordinal, rule, text)
        self.found.clear()

    # ---- instructions ----

    def effects_of(self, record: Instr) -> Effects | None:
        """What its code says; None: not known."""
        if not record.encoding or self.filetype & _OTHER_CODE:
            return None
        key = (record.pc, record.encoding)
        if key not in self.effects:
            if len(self.effects) > _KEPT:
                self.effects.clear()
            self.effects[key] = effects(*key)
        return self.effects[key]

    def finish_data(self, at: Instr | Marker | ThreadExit) -> None:
        """The last instruction has all its accesses now."""
        if not self.counts_data or self.last is None or self.known is None:
            return
        self.counts_data = False
        # Before version 7 a trace also has instructions that a fault has stopped.
        was_stopped = self.version < VERSION_RETIRED_ONLY and MarkerId.KERNEL_EVENT in self.behind
        for name, seen, (least, most) in (
            ("read", self.reads, self.known.reads),
            ("write", self.writes, self.known.writes),
        ):
            if seen > most or (seen < least and not was_stopped):
                wanted = str(least) if least == most else f"{least} to {most}"
                text = (
                    f"{seen} {name} records of the instruction at {self.last.pc:#x}, whose code has {wanted}"
                )
                self.say(at, "data", text)

    def instruction(self, record: Instr) -> None:
        """An instruction or a further iteration."""
        self.finish_data(record)
        self.finish_syscall(record)
        known = self.effects_of(record)
        fetched = record.kind is not Type.INSTR_NO_FETCH
        if fetched:
            self.count(record)
            self.flow(record)
        else:
            self.iteration(record)
        if record.kind is Type.INSTR_CONDITIONAL_JUMP and self.version >= VERSION_BRANCH_INFO:
            self.say(record, "branches", "a conditional jump that is neither taken nor untaken")
        self.arrive(record, known)

    def arrive(self, record: Instr, known: Effects | None) -> None:
        """It is the last instruction now."""
        self.last, self.known = record, known
        self.behind.clear()
        self.function = None
        self.reads = self.writes = 0
        self.counts_data = not self.filetype & _NO_DATA
        self.expected = self.following(record, known)
        self.syscall = None
        fetched = record.kind is not Type.INSTR_NO_FETCH
        self.wants_syscall = (
            known is not None and known.is_syscall and fetched and self.filetype & _NUMBERED != 0
        )

    def iteration(self, record: Instr) -> None:
        """It belongs to a string instruction right before it."""
        if self.filetype & _FILTERED or self.expected is None:
            return
        if self.last is None or (self.last.pc, self.last.size) != (record.pc, record.size):
            self.say(record, "flow", "a further iteration of no instruction before it")
        elif self.known is not None and not self.known.repeats:
            self.say(record, "flow", "a further iteration of an instruction that does not repeat")

    def following(self, record: Instr, known: Effects | None) -> set[int] | None:
        """Where execution goes on behind an instruction."""
        after = (record.pc + record.size) & 0xFFFFFFFFFFFFFFFF
        target = {known.target} if known is not None and known.target is not None else None
        if record.kind in INDIRECT_BRANCHES:
            if record.target is not None:
                return {record.target}
            if self.version >= VERSION_BRANCH_INFO and not self.filetype & _FILTERED:
                self.say(record, "targets", "an indirect branch without its target")
            return None
        if record.kind in _DIRECT:
            return target
        if record.kind is Type.INSTR_CONDITIONAL_JUMP:
            return target | {after} if target else None
        return {after}

    def flow(self, record: Instr) -> None:
        """It follows from the one before, or a marker explains it."""
        expected, self.expected = self.expected, None
        if expected is None or record.pc in expected or self.filetype & _FILTERED:
            return
        assert self.last is not None
        if self.last.kind in INDIRECT_BRANCHES:
            self.say(record, "targets", f"at {record.pc:#x}; the branch before goes to {_places(expected)}")
        else:
            self.say(record, "flow", f"at {record.pc:#x}; what comes before goes on at {_places(expected)}")

    def count(self, record: Instr) -> None:
        """Instructions of a chunk."""
        self.instructions += 1
        self.in_chunk += 1
        if self.chunk_limit and self.in_chunk == self.chunk_limit + 1:
            self.say(record, "chunks", f"more than {self.chunk_limit} instructions in chunk {self.chunk}")

    def data(self, record: Data) -> None:
        """An access."""
        if self.function is not None:
            self.say(record, "functions", "function markers between an instruction and its data")
            self.function = None
        if record.kind is Type.READ:
            self.reads += 1
        elif record.kind is Type.WRITE:
            self.writes += 1

    # ---- markers ----

    def finish_syscall(self, at: Instr | Marker | ThreadExit) -> None:
        """The place where the marker of a system call would have had to be is past."""
        if self.wants_syscall:
            self.say(at, "syscalls", "no SYSCALL marker behind a system call instruction")
        self.wants_syscall = False

    def marker(self, record: Marker) -> None:
        """Any marker."""
        number = record.id
        self.markers.add(number)
        if number == MarkerId.SYSCALL:
            self.wants_syscall = False
        elif number not in _CLOCK:
            self.finish_syscall(record)
        check = _CHECKS.get(number)
        if check is not None:
            check(self, record)
        elif number in _DISCONTINUITIES:
            self.finish_data(record)
            self.expected = None
        elif number in _FUNCTION_PARTS:
            self.function_part(record)
        self.behind.append(number)
        if len(self.behind) > 1000:
            del self.behind[:500]

    def is_right_behind(self, number: MarkerId) -> bool:
        """Whether the last record is that marker."""
        return bool(self.behind) and self.behind[-1] == number

    def file_type(self, record: Marker) -> None:
        """What the file is."""
        self.filetype = record.value & 0xFFFFFFFF
        self.version = self.reader.version

    def chunk_count(self, record: Marker) -> None:
        """Instructions of a chunk."""
        self.chunk_limit = record.value

    def chunk_footer(self, record: Marker) -> None:
        """A chunk's end."""
        self.finish_data(record)
        if record.value != self.chunk:
            self.say(record, "chunks", f"the footer of chunk {record.value} where chunk {self.chunk} ends")
        if self.in_chunk != self.chunk_limit:
            self.say(record, "chunks", f"{self.in_chunk} instructions in a chunk of {self.chunk_limit}")
        self.chunk += 1
        self.in_chunk = 0

    def time(self, record: Marker) -> None:
        """It never goes back."""
        if record.value < self.timestamp:
            self.say(record, "time", f"{record.value} after {self.timestamp}")
        self.timestamp = record.value

    def system_call(self, record: Marker) -> None:
        """It is right behind its instruction."""
        self.finish_data(record)
        allowed = _CLOCK if self.version >= VERSION_FREQUENT_TIMESTAMPS else frozenset()
        if not self.filetype & _NUMBERED:
            self.say(record, "syscalls", "a SYSCALL marker, which the file type does not have")
        elif self.filetype & _FILTERED:
            pass
        elif self.last is None or (self.known is not None and not self.known.is_syscall):
            self.say(record, "syscalls", "a SYSCALL marker without its instruction")
        elif set(self.behind) - allowed:
            self.say(record, "syscalls", "a SYSCALL marker that is not right behind its instruction")
        self.syscall = record.value

    def maybe_blocking(self, record: Marker) -> None:
        """It belongs to the number."""
        if not self.is_right_behind(MarkerId.SYSCALL):
            self.say(record, "syscalls", "MAYBE_BLOCKING_SYSCALL not right behind SYSCALL")

    def function_marker(self, record: Marker) -> None:
        """A function's entry or exit."""
        self.function = record.value
        if record.value >= SYSCALL_FUNC_BASE:
            if self.syscall != record.value - SYSCALL_FUNC_BASE:
                self.say(record, "functions", "markers of a system call that is not the last one")
        elif self.last is not None and self.expected is not None and self.last.kind not in BRANCHES:
            self.say(record, "functions", "function markers that are not behind a branch")

    def function_part(self, record: Marker) -> None:
        """What belongs to FUNC_ID."""
        if self.function is None:
            self.say(record, "functions", f"{MarkerId(record.id).name} without FUNC_ID")
            return
        last = self.last
        if last is None or self.function >= SYSCALL_FUNC_BASE or self.expected is None:
            return
        if record.id == MarkerId.FUNC_RETADDR and last.kind in _CALLS and record.value != last.pc + last.size:
            text = f"return address {record.value:#x} of a call that returns to {last.pc + last.size:#x}"
            self.say(record, "functions", text)
        if record.id == MarkerId.FUNC_RETVAL and last.kind in BRANCHES and last.kind is not Type.INSTR_RETURN:
            self.say(record, "functions", "a result that is not behind a return")

    def kernel_event(self, record: Marker) -> None:
        """A signal."""
        self.behind.append(record.id)
        self.finish_data(record)
        expected = self.expected
        if expected is not None and self.last is not None:
            # Before version 7, the instruction before may be the one that was stopped; a string instruction
            # can be interrupted between its iterations, and a system call be made again behind the handler.
            again = self.known is not None and (self.known.repeats or self.known.is_syscall)
            if self.version < VERSION_RETIRED_ONLY or again:
                expected = expected | {self.last.pc}
            if record.value not in expected and not self.filetype & _FILTERED:
                text = f"interrupted at {record.value:#x}, where {_places(expected)} comes next"
                self.say(record, "signals", text)
        self.expected = None
        self.signals += 1

    def signal_number(self, record: Marker) -> None:
        """It belongs to the event."""
        if not self.is_right_behind(MarkerId.KERNEL_EVENT):
            self.say(record, "signals", "SIGNAL_NUMBER not right behind KERNEL_EVENT")

    def kernel_transfer(self, record: Marker) -> None:
        """The end of a handler, if it is that of sigreturn."""
        self.finish_data(record)
        self.expected = None
        if self.syscall == _SIGRETURN:
            if self.signals == 0:
                self.say(record, "signals", "KERNEL_XFER of a sigreturn without a KERNEL_EVENT before")
            self.signals = max(self.signals - 1, 0)

    # ---- the end ----

    def thread_exit(self, record: ThreadExit) -> None:
        """The thread's end."""
        self.finish_data(record)
        self.finish_syscall(record)
        self.exits += 1

    def finish(self) -> None:
        """What the file must have had."""
        total = self.reader.records
        for number in (MarkerId.CACHE_LINE_SIZE, MarkerId.PAGE_SIZE, MarkerId.VERSION, MarkerId.FILETYPE):
            if number not in self.markers:
                self.say(total, "present", f"no {number.name} marker")
        if self.exits == 0:
            self.say(total, "present", "no THREAD_EXIT")
        if self.instructions == 0 and not self.filetype & _FILTERED:
            self.say(total, "present", "no instruction")


_CHECKS = {
    int(MarkerId.FILETYPE): _Thread.file_type,
    int(MarkerId.CHUNK_INSTR_COUNT): _Thread.chunk_count,
    int(MarkerId.CHUNK_FOOTER): _Thread.chunk_footer,
    int(MarkerId.TIMESTAMP): _Thread.time,
    int(MarkerId.SYSCALL): _Thread.system_call,
    int(MarkerId.MAYBE_BLOCKING_SYSCALL): _Thread.maybe_blocking,
    int(MarkerId.FUNC_ID): _Thread.function_marker,
    int(MarkerId.KERNEL_EVENT): _Thread.kernel_event,
    int(MarkerId.SIGNAL_NUMBER): _Thread.signal_number,
    int(MarkerId.KERNEL_XFER): _Thread.kernel_transfer,
}


def _chunks_stand_alone(path: Path) -> Iterator[Violation]:
    """Each chunk of an archive can be read without those before it."""
    head = read_header(path)
    before = (0, 0)
    for number, name in enumerate(head.source.names):
        reader = Reader(path, strict=True, header=head, first=number, count=1)
        try:
            for _ in reader.blocks():
                pass
        except FormatError as error:
            yield Violation(str(path), error.ordinal or 0, "chunks", f"{name}: {error.reason}")
            continue
        if number and reader.copied != before:
            text = f"{name}: does not begin with the time and processor that the chunk before ended with"
            yield Violation(str(path), reader.records, "chunks", text)
        before = (reader.timestamp, reader.cpu)


def check(path: Path) -> Iterator[Violation]:
    """What is wrong with a trace file."""
    is_readable = True
    for violation in _Thread(path).check():
        is_readable = is_readable and violation.rule != "format"
        yield violation
    if is_readable and path.suffix == ".zip":
        yield from _chunks_stand_alone(path)
