"""Accesses in columns, decoded by the extension (decode.c): tens of millions a second, in bounded memory."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, NamedTuple

from interpose.errors import InterposeError
from interpose.formats import FormatError
from interpose.formats.datagrind.errors import TRUNCATED, Problem, text_of
from interpose.formats.datagrind.records import (
    Context,
    DroppedError,
    MallocBlock,
    Payload,
    Record,
    StartEvent,
    TextAvma,
    TooShortError,
    TrackRange,
    decode,
)
from interpose.jit._native import ffi, lib

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BUFFER = 4 << 20
_CHUNK = 1 << 14
"""Accesses of a chunk that nobody asked another size for: their columns stay in the cache of a core."""

_COLUMNS = (
    ("instr", "uint64_t"),
    ("address", "uint64_t"),
    ("ip", "uint64_t"),
    ("context", "uint32_t"),
    ("size", "uint8_t"),
    ("dir", "uint8_t"),
)
NEVER = lib.IP_DG_NEVER


def numpy() -> Any:
    """The module, or one line that says how to get it."""
    try:
        import numpy
    except ModuleNotFoundError:
        raise InterposeError("NumPy is not installed; pip install 'interpose[analysis]' brings it") from None
    return numpy


class Accesses:
    """Columns with room for `capacity` accesses, of which `count` are there."""

    def __init__(self, capacity: int = _CHUNK) -> None:
        self.raw = ffi.new("struct ip_dg_accesses *")
        self.raw.capacity = capacity
        self._columns = {name: ffi.new(f"{kind}[]", capacity) for name, kind in _COLUMNS}
        for name, column in self._columns.items():
            setattr(self.raw, name, column)

    @property
    def count(self) -> int:
        return self.raw.count

    def __len__(self) -> int:
        return self.raw.count

    def column(self, name: str) -> memoryview:
        """The values of a column, until the next chunk is decoded into it."""
        column = self._columns[name]
        size = ffi.sizeof(column) // max(self.raw.capacity, 1)
        view = memoryview(ffi.buffer(column, self.count * size)).cast("B")
        if size == 8:
            return view.cast("Q")
        return view.cast("I") if size == 4 else view

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The columns as NumPy arrays over the same memory: copy what is to outlive the chunk."""
        np = numpy()
        return {name: np.asarray(self.column(name)) for name, _ in _COLUMNS}


class Block(NamedTuple):
    """A heap block, from one instruction count to another (:data:`NEVER`: it was not freed)."""

    address: int
    size: int
    begin: int
    end: int
    offset: int


class Mark(NamedTuple):
    """A tracked range, an event or the text of an object; `record`, at `offset`, has its strings."""

    record: Record
    begin: int
    end: int
    offset: int


class Filter:
    """Which accesses are wanted: those by event AND by range; None: no such condition.

    `event_ips` and `range_ips` are code addresses: of the accessing instruction and of its callers less 1,
    and of the stacks of allocations (all but the innermost less 1). `later`: from a record at an offset in
    the file on, others take their places, because another object is there.
    """

    def __init__(
        self,
        *,
        by_event: bool = False,
        event_ips: Collection[int] = (),
        event_labels: Sequence[bytes] = (),
        by_range: bool = False,
        range_ips: Collection[int] = (),
        range_labels: Sequence[bytes] = (),
        any_block: bool = False,
        any_range: bool = False,
        later: Sequence[tuple[int, Collection[int], Collection[int]]] = (),
    ) -> None:
        self.raw = raw = ffi.new("struct ip_dg_filter *")
        self._alive: list[Any] = []
        raw.by_event, raw.by_range = by_event, by_range
        raw.any_block, raw.any_range = any_block, any_range
        raw.event_ips, raw.n_event_ips = self._numbers(event_ips)
        raw.range_ips, raw.n_range_ips = self._numbers(range_ips)
        raw.later_offsets = self._array(offset for offset, _, _ in later)
        raw.n_later = len(later)
        raw.later_event_ips, raw.later_event_first = self._sets([events for _, events, _ in later])
        raw.later_range_ips, raw.later_range_first = self._sets([ranges for _, _, ranges in later])
        raw.event_labels, raw.n_event_labels = self._strings(event_labels)
        raw.range_labels, raw.n_range_labels = self._strings(range_labels)

    def _array(self, values: Iterable[int]) -> Any:
        self._alive.append(ffi.new("uint64_t[]", list(values)))
        return self._alive[-1]

    def _numbers(self, values: Collection[int]) -> tuple[Any, int]:
        wanted = sorted(set(values))
        return self._array(wanted), len(wanted)

    def _sets(self, sets: Sequence[Collection[int]]) -> tuple[Any, Any]:
        wanted = [sorted(set(values)) for values in sets]
        firsts = accumulate(map(len, wanted), initial=0)
        return self._array(chain.from_iterable(wanted)), self._array(firsts)

    def _strings(self, values: Sequence[bytes]) -> tuple[Any, int]:
        self._alive.append(ffi.new("char[]", b"".join(value + b"\0" for value in values)))
        return self._alive[-1], len(values)


class Place(NamedTuple):
    """Between two records: where a second reading can begin."""

    offset: int
    n_instrs: int
    n_accesses: int
    n_bbdefs: int
    n_contexts: int


class Trace:
    """A file of datagrind's, read in bulk.

    :meth:`chunks` reads it once and keeps blocks, contexts, heap blocks, ranges and events, which can be
    asked for then, and in between. Where the file stops being one, it raises :class:`FormatError` after the
    last good access, and `error` has it from then on.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        fetches: bool = False,
        keep_history: bool = True,
        collect_ips: bool = False,
        filter: Filter | None = None,
    ) -> None:
        """With `fetches`, instructions are accesses, too (:data:`Dir.EXEC`)."""
        self.path = os.fspath(path)
        self.error: FormatError | None = None
        self.filter = filter
        self._state: Any = None
        self._lender: Trace | None = None
        self._ips_lock = threading.Lock()
        self._fd = -1
        try:
            self._fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            self.status = os.fstat(self._fd)
            if not stat.S_ISREG(self.status.st_mode):
                raise InterposeError(f"{self.path}: not a regular file")
        except OSError as error:
            raise InterposeError(f"{self.path}: {error.strerror}") from error
        self._state = ffi.gc(lib.ip_dg_new(), lib.ip_dg_free)
        self._state.with_fetches = fetches
        self._state.keeps_history = keep_history
        self._state.collects_ips = collect_ips
        if filter is not None:
            self._state.filter = filter.raw

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def filtered(self, filter: Filter | None, *, fetches: bool = False) -> Trace:
        """The same file with a filter, which is not read for that.

        :meth:`again` gives accesses. Only once the file was read without one.
        """
        if self.filter is not None:
            raise ValueError("filtered already")
        other = Trace.__new__(Trace)
        other.path, other.error, other.filter, other.status = self.path, self.error, filter, self.status
        other._lender, other._ips_lock = self, threading.Lock()
        other._fd = os.dup(self._fd)
        state = lib.ip_dg_filtered(self._state, filter.raw if filter else ffi.NULL, fetches, other._fd)
        other._state = ffi.gc(state, lib.ip_dg_free)
        return other

    def close(self) -> None:
        """Close the file.  What was read stays."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    @property
    def raw(self) -> Any:
        """The extension's `struct ip_dg *`."""
        return self._state

    # ---- Accesses ----

    def chunks(self, into: Accesses | None = None, *, empty: bool = False) -> Iterator[Accesses]:
        """Every wanted access, in the order of the file. Each chunk takes the place of the one before.

        With `empty`, there is one for every few megabytes of the file, even if they have no such access.
        """
        into = Accesses() if into is None else into
        try:
            yield from self._decode(self._state, into, None, empty)
        except FormatError as error:
            self.error = error
            raise

    def again(
        self,
        begin: Place,
        end: int | None,
        into: Accesses | None = None,
        *,
        until: Place | None = None,
        empty: bool = False,
        buffer: bytearray | None = None,
    ) -> Iterator[Accesses]:
        """The same from a place that :attr:`place` gave, to the instruction count `end` and a little more.

        No further than `until`. Only once the file was read; any number at a time, each with columns of its
        own. The file is read into `buffer`, which may be that of a reading that came to its end.
        """
        last = self._state.offset if until is None else min(until.offset, self._state.offset)
        state = self._replay(begin)
        yield from self._decode(state, Accesses() if into is None else into, end, empty, last, buffer)

    def _replay(self, begin: Place) -> Any:
        state = lib.ip_dg_replay(self._state, begin.offset, begin.n_instrs, begin.n_bbdefs, begin.n_contexts)
        return ffi.gc(state, lib.ip_dg_free)

    def wanted_at(self, places: Sequence[Place]) -> list[int]:
        """How many heap blocks and ranges the filter wanted at places, ascending."""
        counts = ffi.new("uint64_t[]", len(places))
        lib.ip_dg_wanted_at(self._state, [place.offset for place in places], len(places), counts)
        return list(counts)

    def _decode(
        self,
        state: Any,
        into: Accesses,
        end: int | None,
        empty: bool = False,
        last: int | None = None,
        buffer: bytearray | None = None,
    ) -> Iterator[Accesses]:
        buffer = bytearray(_BUFFER) if buffer is None else buffer
        into.raw.count = 0
        while end is None or state.n_instrs < end:
            try:
                size = os.preadv(self._fd, [buffer], state.offset) if state.offset < 1 << 63 else 0
            except OSError as error:
                raise FormatError(
                    self.path, error.strerror or "cannot be read", offset=state.offset
                ) from None
            if last is not None:
                size = max(0, min(size, last - state.offset))
            at, begin = 0, state.offset
            base = ffi.from_buffer("uint8_t[]", buffer)
            while True:
                status = lib.ip_dg_decode(state, base + at, size - at, into.raw)
                if status != lib.IP_DG_FULL:
                    break
                at = state.offset - begin
                yield into
                into.raw.count = 0
                if end is not None and state.n_instrs >= end:
                    return
            if into.count or empty:
                yield into
                into.raw.count = 0
            if status == lib.IP_DG_FATAL:
                fatal = state.fatal
                raise FormatError(self.path, text_of(fatal.reason, fatal.a, fatal.b), offset=fatal.offset)
            if state.offset > begin and state.offset <= begin + size:
                continue
            # Nothing is whole in the buffer: it is too short, or the file ends.
            if last is not None and state.offset >= last:
                return
            there = os.fstat(self._fd).st_size
            if state.offset == there:
                if not state.word_size:
                    raise FormatError(self.path, text_of(lib.IP_DG_NO_HEADER), offset=0)
                return
            if state.offset > there:
                raise FormatError(self.path, TRUNCATED, offset=state.skipped)
            if state.need > there - state.offset:
                raise FormatError(self.path, TRUNCATED, offset=state.offset)
            if state.need > len(buffer):
                del base
                buffer = bytearray(state.need)

    # ---- What was read ----

    @property
    def place(self) -> Place | None:
        """Where the reading is; None within a record."""
        s = self._state
        if s.run_done or not s.word_size:
            return None
        return Place(s.offset, s.n_instrs, s.n_accesses, s.n_bbdefs, s.n_contexts)

    @property
    def size(self) -> int:
        """The file's size in bytes."""
        return self.status.st_size

    @property
    def problems(self) -> list[Problem]:
        """The first 64 records that were dropped, and why; `n_problems` counts all."""
        s = self._state
        return [Problem(p.offset, text_of(p.reason, p.a, p.b)) for p in s.problems[0 : self.n_told]]

    @property
    def n_told(self) -> int:
        """How many of them `problems` has."""
        return min(self._state.n_problems, lib.IP_DG_MOST_PROBLEMS)

    @property
    def n_problems(self) -> int:
        """How many records were dropped."""
        return self._state.n_problems

    def blocks(self) -> dict[str, NDArray[Any]]:
        """Heap blocks in columns, in the order of their allocation."""
        np = numpy()
        count = self._state.n_blocks
        kind = np.dtype(
            [
                (name, "<u8")
                for name in ("address", "size", "begin", "end", "offset", "gone", "like", "matches")
            ]
        )
        data = bytes(ffi.buffer(self._state.blocks, count * kind.itemsize)) if count else b""
        rows = np.frombuffer(data, kind)
        return {name: rows[name] for name in ("address", "size", "begin", "end")}

    def block(self, index: int) -> Block:
        """The heap block of a number, in the order of :meth:`blocks`."""
        b = self._state.blocks[self._checked(index, self._state.n_blocks)]
        return Block(b.address, b.size, b.begin, b.end, b.offset)

    def block_at(self, address: int, instr: int) -> Block | None:
        """The heap block that holds an address at an instruction count."""
        index = lib.ip_dg_block_at(self._state, address, instr)
        return self.block(index) if index < self._state.n_blocks else None

    def allocation_stack(self, block: Block) -> tuple[int, ...]:
        """The stack on which a heap block was allocated."""
        record = self.record_at(block.offset)
        return record.ips if isinstance(record, MallocBlock) else ()

    def marks(self) -> Iterator[Mark]:
        """Tracked ranges, events and texts of objects, in the order of the file."""
        for index in range(self._state.n_marks):
            yield from self._mark(index)

    def _mark(self, index: int) -> Iterator[Mark]:
        m = self._state.marks[index]
        record = self.record_at(m.offset)
        if isinstance(record, (TrackRange, StartEvent, TextAvma)):
            yield Mark(record, m.begin, m.end, m.offset)

    def _marks(self, kind: int, address: int, instr: int) -> Iterator[Mark]:
        index = -1
        while (
            index := lib.ip_dg_next_mark(self._state, index + 1, kind, address, instr)
        ) < self._state.n_marks:
            yield from self._mark(index)

    def texts(self) -> Iterator[Mark]:
        """The objects alone."""
        return self._marks(lib.IP_DG_TEXT_AVMA, 0, NEVER)

    def marks_at(self, address: int, instr: int) -> Iterator[Mark]:
        """The events of an instruction count, and the tracked ranges that hold an address then."""
        return self._marks(NEVER, address, instr)

    def contexts(self) -> NDArray[np.uint32]:
        """The block of each context."""
        np = numpy()
        count = self._state.defs.n_contexts
        data = bytes(ffi.buffer(self._state.defs.context_bbdef, 4 * count)) if count else b""
        return np.frombuffer(data, "<u4")

    def stack(self, context: int) -> tuple[int, ...]:
        """The stack of a context: the start of its block, then its callers."""
        index = self._checked(context, self._state.defs.n_contexts)
        record = self.record_at(self._state.defs.context_offset[index])
        return record.stack if isinstance(record, Context) else ()

    @staticmethod
    def _checked(index: int, count: int) -> int:
        if not 0 <= index < count:
            raise IndexError(f"{index} of {count}")
        return index

    def ips(self) -> list[int]:
        """The different code addresses, if they were collected, ascending."""
        with self._ips_lock:
            lib.ip_dg_ips(self._state)
            return ffi.unpack(self._state.ips, self._state.n_ips) if self._state.n_ips else []

    def record_at(self, offset: int) -> Record | None:
        """A record that was read before; None if it is not there any more."""
        data = os.pread(self._fd, 4096, offset) if offset < 1 << 63 else b""
        if len(data) < 2 or data[0] >= 128:
            return None
        size, begin = data[1], 2
        if size == 255:
            size, begin = int.from_bytes(data[2:10], "little"), 10
        if size > lib.IP_DG_LONGEST:
            return None
        if begin + size > len(data):
            data = os.pread(self._fd, begin + size, offset)
        try:
            return decode(data[0], Payload(data[begin : begin + size], self._state.word_size))
        except (DroppedError, TooShortError):
            return None
