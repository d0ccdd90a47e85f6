"""From the client's tables to a profile."""

from __future__ import annotations

import struct
from typing import BinaryIO, NamedTuple

from interpose.formats.callgrind import Writer
from interpose.jit._native import ffi, lib

from . import events
from .functions import UNKNOWN, Functions, Object, Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from interpose.options.parse import Config
    from interpose.supervisor.client import Client

_NOWHERE = Source(UNKNOWN, 0)


class Header(NamedTuple):
    """What the head of a part says."""

    pid: int
    cmd: str
    part: int
    thread: int | None
    trigger: str
    caches: Sequence[str]


class Context(NamedTuple):
    """What a context's number stands for."""

    object: str
    file: str
    name: str
    place: Object | None
    number: int
    bias: int


class Counts:
    """What one thread, or all of them, have counted up to now: rows of costs, calls and jumps."""

    def __init__(self, n_events: int) -> None:
        self.n_events = n_events
        self.raw: Any = ffi.gc(ffi.new("struct cg_taken *"), lib.cg_release)

    def take(self, client: Client, thread: int, jumps: bool, before: Counts | None) -> None:
        """Read the client's tables; contexts keep the numbers that they had ``before``."""
        if before is not None:
            lib.cg_inherit(self.raw, before.raw)
        root = client.symbol(lib.IP_SYM_TOOL)
        if lib.cg_take(self.raw, client.memory_fd(), root, self.n_events, thread, jumps) != 0:
            self.raw.n_rows = 0

    def since(self, before: Counts) -> Counts:
        """What was counted after ``before`` was taken."""
        result = Counts(self.n_events)
        now, copy = self.raw, result.raw
        lib.cg_inherit(copy, now)
        copy.row_bytes, copy.n_rows, copy.n_blocks = now.row_bytes, now.n_rows, now.n_blocks
        copy.rows = lib.cg_copy_rows(now)
        lib.cg_subtract(copy, before.raw, self.n_events)
        return result

    def totals(self) -> list[int]:
        """All costs, summed up."""
        sums = ffi.new("uint64_t[]", self.n_events)
        lib.cg_totals(self.raw, self.n_events, sums)
        return list(sums)

    def rows(self) -> Any:
        """(pc, target, count, followed, context, kind, callee, pad, costs…) of each row, sorted."""
        raw = self.raw
        if not raw.n_rows:
            return iter(())
        layout = struct.Struct(f"<4Q4I{self.n_events}Q")
        return layout.iter_unpack(ffi.buffer(raw.rows, raw.n_rows * raw.row_bytes))


class ProfileWriter:
    """Writes parts; names, files and lines are looked up once for all parts of a run."""

    def __init__(self, config: Config, functions: Functions) -> None:
        self._config = config
        self._functions = functions
        self._contexts: dict[int, Context] = {}
        self._sources: dict[int, Source] = {}
        self.events = events.wanted(config)

    def forget_places(self) -> None:
        """Code came or went."""
        self._sources.clear()

    # -- what numbers mean --

    def context(self, raw: Any, number: int) -> Context:
        """A context by its number."""
        known = self._contexts.get(number)
        if known is None:
            known = self._contexts[number] = self._describe(raw, number)
        return known

    def _describe(self, raw: Any, number: int) -> Context:
        name = raw.names[number - 1]
        path, shown, start = self._functions.describe(name.function, name.entry)
        place = self._functions.object_of(name.function, name.entry)
        if place is None:
            bias = 0
        elif name.entry:
            bias = self._functions.bias_at(place, name.entry)
        else:
            bias = self._functions.bias_of(place)
        if name.level:
            shown += f"'{name.level + 1}"
        if name.caller:
            caller = raw.names[name.caller - 1]
            while True:
                shown += "'" + self._functions.describe(caller.function, caller.entry)[1]
                if not caller.caller:
                    break
                caller = raw.names[caller.caller - 1]
        file = place.source(start).file if place is not None and start is not None else UNKNOWN
        return Context(path, file, shown, place, name.function, bias)

    def _is_within(self, context: Context, pc: int) -> bool:
        """Whether code at ``pc`` is of the context's function: a jump elsewhere is a call."""
        place = context.place
        return place is None or self._functions.piece(place, pc - context.bias) == self._functions.piece_of(
            place, context.number
        )

    def _source(self, context: Context, pc: int) -> Source:
        source = self._sources.get(pc)
        if source is None:
            place = context.place
            source = (
                _NOWHERE if place is None or not place.file.has_lines else place.source(pc - context.bias)
            )
            self._sources[pc] = source
        return source

    # -- writing --

    def write(self, stream: BinaryIO, counts: Counts, head: Header, writer: Writer | None = None) -> Writer:
        """One part."""
        tool = self._config.tool
        positions = [name for name, on in (("instr", tool.dump_instr), ("line", tool.dump_line)) if on]
        totals = counts.totals()
        if writer is None:
            from interpose import __version__

            writer = Writer(
                stream,
                self.events,
                positions,
                compress_strings=tool.compress_strings,
                compress_pos=tool.compress_pos,
                creator=f"interpose-callgrind-{__version__}",
            )
        descriptions = [
            (f"{name} cache", text) for name, text in zip(("I1", "D1", "LL"), head.caches, strict=True)
        ]
        descriptions.append(("Timerange", f"Basic block 0 - {counts.raw.n_blocks}"))
        descriptions.append(("Trigger", head.trigger))
        writer.part_header(
            pid=head.pid,
            cmd=head.cmd,
            part=head.part,
            thread=head.thread,
            descriptions=descriptions,
            event_types=events.long_names(self._config),
            summary=totals,
        )
        if not tool.dump_instr and not tool.collect_jumps:
            self._collapse(counts)
        self._body(writer, counts)
        writer.totals(totals)
        return writer

    def _collapse(self, counts: Counts) -> None:
        """Make one position of those of a function whose file has no lines."""
        names = counts.raw.n_names
        alone = bytearray(names + 1)
        for number in range(1, names + 1):
            place = self.context(counts.raw, number).place
            alone[number] = place is None or not place.file.has_lines
        lib.cg_collapse(counts.raw, counts.n_events, bytes(alone))

    def _body(self, writer: Writer, counts: Counts) -> None:
        rows: list[Any] = []
        current = 0
        for row in counts.rows():
            if row[4] != current:
                if rows:
                    self._function(writer, counts, current, rows)
                rows, current = [], row[4]
            rows.append(row)
        if rows:
            self._function(writer, counts, current, rows)

    def _function(self, writer: Writer, counts: Counts, number: int, rows: list[Any]) -> None:
        context = self.context(counts.raw, number)
        writer.function(context.object, context.file, context.name)
        if self._config.tool.dump_instr:
            self._by_instruction(writer, counts, context, rows)
        else:
            self._by_line(writer, counts, context, rows)

    def _by_instruction(self, writer: Writer, counts: Counts, context: Context, rows: list[Any]) -> None:
        bias = context.bias
        for pc, target, count, followed, _, kind, callee, _, *costs in rows:
            source = self._source(context, pc)
            writer.inline_file(source.file if source.line else context.file)
            if kind == lib.CG_COST:
                writer.cost(source.line, pc - bias, costs)
            elif kind == lib.CG_CALLS:
                self._call(writer, counts, callee, count, target, source.line, pc - bias, costs)
            elif self._is_within(context, target):
                there = self._source(context, target)
                writer.jump(
                    count,
                    followed if kind == lib.CG_COND_JUMPS else None,
                    target_line=there.line,
                    target_addr=target - bias,
                    line=source.line,
                    addr=pc - bias,
                )

    def _by_line(self, writer: Writer, counts: Counts, context: Context, rows: list[Any]) -> None:
        lines: dict[Source, list[int]] = {}
        calls: dict[Source, dict[tuple[int, int], list[int]]] = {}
        jumps: dict[Source, dict[tuple[Source, bool], list[int]]] = {}
        for pc, target, count, followed, _, kind, callee, _, *costs in rows:
            source = self._source(context, pc)
            if kind == lib.CG_COST:
                known = lines.get(source)
                if not known:
                    lines[source] = costs
                elif len(costs) == 1:
                    known[0] += costs[0]
                else:
                    lines[source] = [a + b for a, b in zip(known, costs, strict=True)]
            elif kind == lib.CG_CALLS:
                lines.setdefault(source, [])
                into = calls.setdefault(source, {}).setdefault((callee, target), [0] * (len(costs) + 1))
                for place, value in enumerate((count, *costs)):
                    into[place] += value
            elif self._is_within(context, target):
                there = self._source(context, target)
                key = (there, kind == lib.CG_COND_JUMPS)
                pair = jumps.setdefault(source, {}).setdefault(key, [0, 0])
                pair[0] += count
                pair[1] += followed
        for source in sorted(lines, key=lambda s: (s.file != context.file, s.file, s.line)):
            writer.inline_file(source.file if source.line else context.file)
            if any(lines[source]):
                writer.cost(source.line, costs=lines[source])
            for (there, conditional), (count, followed) in jumps.get(source, {}).items():
                writer.jump(
                    count,
                    followed if conditional else None,
                    line=source.line,
                    target_line=there.line,
                    target_file=there.file if there.line else None,
                )
            for (callee, target), (count, *costs) in calls.get(source, {}).items():
                self._call(writer, counts, callee, count, target, source.line, 0, costs)

    def _call(
        self,
        writer: Writer,
        counts: Counts,
        callee: int,
        count: int,
        target: int,
        line: int,
        addr: int,
        costs: Sequence[int],
    ) -> None:
        there = self.context(counts.raw, callee)
        writer.call(
            there.object,
            there.file,
            there.name,
            count,
            target_line=self._source(there, target).line,
            target_addr=target - there.bias if target else 0,
            line=line,
            addr=addr,
            costs=costs,
        )
