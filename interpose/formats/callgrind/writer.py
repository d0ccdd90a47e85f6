"""Writes a callgrind profile: for a profiler piece by piece, or a whole ``Profile``."""

from __future__ import annotations

from interpose.formats.callgrind.limits import MAX_EVENTS, MAX_NUMBER, POSITIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import BinaryIO

    from interpose.formats.callgrind.model import EventType, Function, Part, Profile, Record

_FLUSH = 1 << 16


def _text(value: str) -> str:
    """What can stand in one line: a line's end within it is shown, and blanks before it are not read."""
    return shown(value).lstrip(" \t")


def _is_like_compressed(name: str) -> bool:
    """Whether a name would be read as a compressed one."""
    return name.startswith("(") and "0" <= name[1:2] <= "9"


def shown(value: str) -> str:
    """Text that may hold line ends, in the place of one line."""
    return value.replace("\n", "\\n").replace("\r", "\\r")


class Writer:
    """Writes one file: ``part_header``, then functions with their lines, then ``totals``, for each part.

    Positions that ``positions`` does not name may be left out. The caller keeps the order: what ``cost``,
    ``call`` and ``jump`` say belongs to the last ``function`` and ``inline_file``.
    """

    def __init__(
        self,
        stream: BinaryIO,
        events: Sequence[str],
        positions: Sequence[str] = ("line",),
        *,
        compress_strings: bool = True,
        compress_pos: bool = True,
        creator: str | None = None,
    ) -> None:
        self._stream = stream
        self._buffer: list[str] = []
        self._size = 0
        self._creator = creator
        self._compress_strings = compress_strings
        self._compress_pos = compress_pos
        self._ids: dict[str, dict[str, int]] = {"object": {}, "file": {}, "function": {}}
        self._begun = False
        self._declare(events, positions)

    def _declare(self, events: Sequence[str], positions: Sequence[str]) -> None:
        self._events, self._positions = tuple(events), tuple(positions)
        if self._positions not in POSITIONS:
            raise ValueError(f"positions {self._positions}")
        if not 0 < len(self._events) <= MAX_EVENTS:
            raise ValueError(f"{len(self._events)} events")
        self._has_addr, self._has_line = "instr" in self._positions, "line" in self._positions
        self._forget()

    def _forget(self) -> None:
        """The next function says everything anew."""
        self._object: str | None = None
        self._file: str | None = None
        self._home: str | None = None
        # KCachegrind forgets the ids of a part at its end.
        self._named: dict[str, set[int]] = {kind: set() for kind in self._ids}
        self._addr: int | None = None
        self._line: int | None = None

    # -- Header --

    def part_header(
        self,
        *,
        pid: int | None = None,
        cmd: str | None = None,
        part: int | None = None,
        thread: int | None = None,
        descriptions: Iterable[tuple[str, str]] = (),
        event_types: Iterable[EventType] = (),
        other: Iterable[tuple[str, str]] = (),
        summary: Sequence[int] | None = None,
        events: Sequence[str] | None = None,
        positions: Sequence[str] | None = None,
    ) -> None:
        """Begin a part; ``events`` and ``positions`` may change with it."""
        if events is not None or positions is not None:
            self._declare(events or self._events, positions or self._positions)
        self._forget()
        if not self._begun:
            self._put("# callgrind format\nversion: 1\n")
            if self._creator is not None:
                self._put(f"creator: {_text(self._creator)}\n")
            self._begun = True
        else:
            self._put("\n")
        if pid is not None:
            self._put(f"pid: {pid}\n")
        if cmd is not None:
            self._put(f"cmd:  {_text(cmd)}\n")
        if part is not None:
            self._put(f"part: {part}\n")
        if thread is not None:
            self._put(f"thread: {thread}\n")
        for key, value in other:
            self._put(f"{key}: {_text(value)}\n")
        self._put("\n")
        for key, value in descriptions:
            self._put(f"desc: {_text(key)}: {shown(value)}\n")
        self._put(f"\npositions: {' '.join(self._positions)}\n")
        for event in event_types:
            self._put(f"event: {_text(event.text())}\n")
        self._put(f"events: {' '.join(self._events)}\n")
        if summary is not None:
            self._put(f"summary: {' '.join(map(str, summary))}\n")
        self._put("\n")

    # -- Body --

    def function(self, object: str, file: str, name: str) -> None:
        """What follows is the function's; positions begin absolute."""
        self._put("\n")
        self._spec_if("ob", object, self._object)
        self._spec_if("fl", file, self._file)
        self._object, self._file, self._home = object, file, file
        self._put(f"fn={self._name('function', name)}\n")
        self._addr = self._line = None

    def inline_file(self, file: str) -> None:
        """What follows was inlined from that file, or is the function's own again."""
        if file != self._file:
            self._put(f"{'fe' if file == self._home else 'fi'}={self._name('file', file)}\n")
            self._file = file

    def cost(self, line: int = 0, addr: int = 0, costs: Sequence[int] = (), *, trim: bool = True) -> None:
        """The cost of one position itself; ``trim`` leaves out zeros at the end."""
        self._put(f"{self._position(addr, line)}{self._costs(costs, trim)}\n")
        self._addr, self._line = addr, line

    def call(
        self,
        object: str,
        file: str,
        name: str,
        count: int,
        *,
        target_line: int = 0,
        target_addr: int = 0,
        line: int = 0,
        addr: int = 0,
        costs: Sequence[int] = (),
        trim: bool = True,
    ) -> None:
        """Calls of a function: how many, where it begins, where they are made, what they cost in all."""
        self._spec_if("cob", object, self._object)
        self._spec_if("cfi", file, self._file)
        self._put(f"cfn={self._name('function', name)}\n")
        self._put(f"calls={count} {self._position(target_addr, target_line)}\n")
        self.cost(line, addr, costs, trim=trim)

    def jump(
        self,
        executed: int,
        followed: int | None = None,
        *,
        target_line: int = 0,
        target_addr: int = 0,
        line: int = 0,
        addr: int = 0,
        target_file: str | None = None,
        target_function: Function | None = None,
    ) -> None:
        """Jumps; ``followed`` makes them conditional. A target elsewhere is named."""
        if target_function is not None:
            self._spec_if("job", target_function.object, self._object)
            target_file = target_function.file
        if target_file is not None:
            self._spec_if("jfi", target_file, self._file)
        if target_function is not None:
            self._put(f"jfn={self._name('function', target_function.name)}\n")
        target = self._position(target_addr, target_line)
        if followed is None:
            self._put(f"jump={executed} {target}\n")
        else:
            self._put(f"jcnd={followed}/{executed} {target}\n")
        self.cost(line, addr)

    def totals(self, costs: Sequence[int]) -> None:
        """End the part."""
        self._put(f"\ntotals: {' '.join(map(str, costs))}\n")
        self.flush()

    def record(self, record: Record) -> None:
        """A record as readers give it, within its function."""
        from interpose.formats.callgrind.model import Call, Cost

        self.inline_file(record.file)
        if isinstance(record, Cost):
            self.cost(record.line, record.addr, record.costs, trim=False)
        elif isinstance(record, Call):
            self.call(
                *record.callee, record.calls, target_line=record.target_line, target_addr=record.target_addr,
                line=record.line, addr=record.addr, costs=record.costs, trim=False,
            )  # fmt: skip
        else:
            other = record.target if record.target != record.function else None
            self.jump(
                record.executed, record.followed,
                target_line=record.target_line, target_addr=record.target_addr,
                line=record.line, addr=record.addr, target_file=record.target_file, target_function=other,
            )  # fmt: skip

    def flush(self) -> None:
        """Give the stream what is written so far."""
        data = "".join(self._buffer).encode("utf-8", "surrogateescape")
        self._buffer.clear()
        self._size = 0
        self._stream.write(data)
        self._stream.flush()

    # -- Pieces --

    def _put(self, text: str) -> None:
        self._buffer.append(text)
        self._size += len(text)
        if self._size > _FLUSH:
            self.flush()

    def _spec_if(self, key: str, name: str, current: str | None) -> None:
        """A specification, unless it would say what holds already."""
        if name != current:
            self._put(f"{key}={self._name('object' if key.endswith('ob') else 'file', name)}\n")

    def _name(self, kind: str, name: str) -> str:
        name = _text(name)
        if not name or not (self._compress_strings or _is_like_compressed(name)):
            return name
        ids = self._ids[kind]
        number = ids.setdefault(name, len(ids) + 1)
        if number in self._named[kind]:
            return f"({number})"
        self._named[kind].add(number)
        return f"({number}) {name}"

    def _position(self, addr: int, line: int) -> str:
        """Relative to the last cost line where that is asked for."""
        shown = self._relative(addr, self._addr, "0x%x") + " " if self._has_addr else ""
        return shown + self._relative(line, self._line, "%d") + " " if self._has_line else shown

    def _relative(self, value: int, base: int | None, absolute: str) -> str:
        if not 0 <= value <= MAX_NUMBER:
            raise ValueError(f"position {value}")
        if base is None or not self._compress_pos:
            return absolute % value
        if value == base:
            return "*"
        return f"{value - base:+d}"

    def _costs(self, costs: Sequence[int], trim: bool) -> str:
        last = len(costs)
        if last > len(self._events):
            raise ValueError(f"{last} costs of {len(self._events)} events")
        while trim and last and not costs[last - 1]:
            last -= 1
        return " ".join(map(str, costs[:last]))


def write(
    profile: Profile, stream: BinaryIO, *, compress_strings: bool = True, compress_pos: bool = True
) -> None:
    """Write a whole profile."""
    writer: Writer | None = None
    before: Part | None = None
    for part in profile.parts:
        if writer is None:
            writer = Writer(
                stream, part.events, part.positions,
                compress_strings=compress_strings, compress_pos=compress_pos, creator=part.creator,
            )  # fmt: skip
        writer.part_header(
            pid=part.pid if before is None or part.pid != before.pid else None,
            cmd=part.cmd if before is None or part.cmd != before.cmd else None,
            part=part.part, thread=part.thread, descriptions=part.descriptions,
            event_types=part.event_types.values(), other=part.other, summary=part.summary,
            events=part.events, positions=part.positions,
        )  # fmt: skip
        function: Function | None = None
        for record in part.records:
            if record.function != function:
                function = record.function
                writer.function(*function)
            writer.record(record)
        if part.totals is not None:
            writer.totals(part.totals)
        before = part
    if writer is not None:
        writer.flush()
