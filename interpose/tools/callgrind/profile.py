"""From the client's tables to a profile."""

from __future__ import annotations

import os
import struct

from interpose.formats.callgrind.writer import Writer
from interpose.jit._native import ffi, lib

from . import events
from .functions import Functions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, BinaryIO, NamedTuple

    from interpose.options.parse import Config
    from interpose.supervisor.client import Client
else:
    from interpose.records import NamedTuple

_NOWHERE = 2**64 - 1


class Header(NamedTuple):
    """What the head of a part says."""

    pid: int
    cmd: str
    part: int
    thread: int | None
    first_block: int
    """Where the part before ended."""
    trigger: str
    caches: Sequence[str]


class Counts:
    """What one thread, or all of them, have counted up to now: rows of costs, calls and jumps."""

    def __init__(self, n_events: int) -> None:
        self.n_events = n_events
        self.raw: Any = ffi.gc(ffi.new("struct cg_taken *"), lib.cg_release)
        self.last_block = 0
        """How many blocks have run since the program began."""

    def take(self, client: Client, thread: int, jumps: bool, before: Counts | None) -> None:
        """Read the client's tables; contexts keep the numbers that they had ``before``."""
        if before is not None:
            lib.cg_inherit(self.raw, before.raw)
        root = client.symbol(lib.IP_SYM_TOOL)
        memory = client.memory_fd()
        pagemap = client.open_pagemap()
        if lib.cg_take(self.raw, memory, pagemap, root, self.n_events, thread, jumps) != 0:
            self.raw.n_rows = 0
        if pagemap >= 0:
            os.close(pagemap)
        self.last_block = self.raw.n_blocks

    def since(self, before: Counts) -> Counts:
        """What was counted after ``before`` was taken."""
        result = Counts(self.n_events)
        result.last_block = self.last_block
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
    """Writes parts: heads here, bodies in C (search/body.c)."""

    def __init__(self, config: Config, functions: Functions) -> None:
        self._config = config
        self._functions = functions
        self._where: Any = ffi.new("struct cg_where[]", 0)
        """What contexts stand for, by their numbers, less one; and what that points to."""
        self._described = 0
        self._alive: dict[str, Any] = {}
        self.events = events.wanted(config)

    def _contexts(self, raw: Any) -> Any:
        """What the contexts of rows stand for."""
        if raw.n_names > len(self._where):
            more = ffi.new("struct cg_where[]", 2 * raw.n_names)
            ffi.memmove(more, self._where, ffi.sizeof("struct cg_where") * self._described)
            self._where = more
        objects = self._functions.described()
        lib.cg_describe(
            raw, self._described, self._where, ffi.new("struct cg_object *[]", objects), len(objects)
        )
        for place in range(self._described, raw.n_names):
            if not self._where[place].name:
                self._describe(raw, raw.names[place], self._where[place])
        self._described = raw.n_names
        self._functions.describe_used()
        return self._where

    def _describe(self, raw: Any, name: Any, where: Any) -> None:
        _, shown, start = self._functions.describe(name.function, name.entry)
        if name.level:
            shown += f"'{name.level + 1}"
        caller = name.caller
        while caller:
            context = raw.names[caller - 1]
            shown += "'" + self._functions.describe(context.function, context.entry)[1]
            caller = context.caller
        where.name = self._text(shown)
        where.start = _NOWHERE if start is None else start

    def _text(self, text: str) -> Any:
        known = self._alive.get(text)
        if known is None:
            known = self._alive[text] = ffi.new("char[]", text.encode("utf-8", "surrogateescape"))
        return known

    def write(self, stream: BinaryIO, counts: Counts, head: Header, writer: _Parts | None = None) -> _Parts:
        """One part, into a file that others may follow in."""
        tool = self._config.tool
        positions = [name for name, on in (("instr", tool.dump_instr), ("line", tool.dump_line)) if on]
        totals = counts.totals()
        descriptions = []
        first = writer is None
        if writer is None:
            writer = _Parts(self._config, stream, self.events, positions)
            names = ("I1", "D1", "LL")
            descriptions += [(f"{name} cache", text) for name, text in zip(names, head.caches, strict=True)]
        descriptions.append(("Timerange", f"Basic block {head.first_block} - {counts.last_block}"))
        descriptions.append(("Trigger", head.trigger))
        writer.frame.part_header(
            # Further parts do not say again what is the file's: callgrind_annotate warns of each such line.
            pid=head.pid if first else None,
            cmd=head.cmd if first else None,
            part=head.part,
            thread=head.thread,
            descriptions=descriptions,
            event_types=events.long_names(self._config),
            summary=totals,
        )
        writer.frame.flush()
        lib.cg_writer_part(writer.body)
        failed = lib.cg_write_body(writer.body, counts.raw, self._contexts(counts.raw), stream.fileno())
        if failed:
            raise OSError(failed, os.strerror(failed))
        writer.frame.totals(totals)
        return writer


class _Parts:
    """What is known of a file while parts are written into it."""

    def __init__(
        self, config: Config, stream: BinaryIO, names: Sequence[str], positions: Sequence[str]
    ) -> None:
        from interpose import __version__

        tool = config.tool
        self.frame = Writer(
            stream,
            names,
            positions,
            creator=f"interpose-callgrind-{__version__}",
        )
        form = (len(names), tool.dump_instr, tool.dump_line, tool.compress_strings, tool.compress_pos)
        body = lib.cg_writer_new(ffi.new("struct cg_form *", form)[0])
        if not body:
            raise MemoryError
        self.body = ffi.gc(body, lib.cg_writer_free)
