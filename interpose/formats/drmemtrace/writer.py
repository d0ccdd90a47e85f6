"""Writes one thread's trace; entries are made in C (writer.c)."""

from __future__ import annotations

import os
import struct
from types import TracebackType
from typing import Any

from interpose.formats.drmemtrace.constants import FILE_TYPE, VERSION, FileType, Type
from interpose.formats.drmemtrace.errors import WriteError
from interpose.formats.drmemtrace.sinks import Sink, sink_for
from interpose.jit._native import ffi, lib

CHUNK_INSTRS = 10_000_000
BUFFER = 1 << 20
ENTRY = 12
ITEM = struct.Struct("<HH16s4xQQ")
"""A record for :meth:`Writer.items` (struct ip_mt_item): type, size (of a marker: its number), code, pc or
address or value, target.
"""

_REFUSED = {
    lib.IP_MT_BADTYPE: "no record that may be written",
    lib.IP_MT_BADSIZE: "a size that no record has",
    lib.IP_MT_CLOSED: "the trace has ended",
}


class Writer:
    """A trace file: an archive of chunks, gzip or plain entries, as the suffix of ``path`` says.

    A record that no trace can have is a ValueError.  When the file cannot be written on, it is cut back to
    where it is valid, and :class:`WriteError` raised; the writer is closed then.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        version: int = VERSION,
        filetype: FileType | int = FILE_TYPE,
        tid: int,
        pid: int,
        chunk_instr_count: int | None = None,
        level: int = 6,
    ) -> None:
        self.path = os.fspath(path)
        self._coded = bool(filetype & FileType.ENCODINGS)
        self.raw = ffi.gc(ffi.new("struct ip_mt_writer *"), lib.ip_mt_close)
        """For C code that writes records itself; :meth:`emptied` takes what it has written."""
        self._sink: Sink | None = None
        is_archive = str(path).endswith(".zip")
        if chunk_instr_count is None:
            chunk_instr_count = CHUNK_INSTRS if is_archive else 0
        if lib.ip_mt_open(self.raw, version, filetype, tid, pid, chunk_instr_count, BUFFER) != lib.IP_MT_OK:
            raise MemoryError
        self._end = struct.pack("<HHQHHQ", Type.THREAD_EXIT, 4, tid, Type.FOOTER, 0, 0)
        try:
            self._sink = sink_for(path, level)
            self._sink.next_member("chunk.00000000")
        except OSError as error:
            self._failed(error)

    @property
    def records(self) -> int:
        """How many records a reader gets of what was written."""
        return self.raw.records

    def _failed(self, error: OSError) -> None:
        sink, self._sink = self._sink, None
        kept = sink is not None and sink.rescue(self._end)
        lib.ip_mt_close(self.raw)
        raise WriteError(self.path, error.strerror or str(error), kept) from error

    def emptied(self, result: int) -> bool:
        """Do what a result of the C writer asks for; whether the call is to be made again."""
        if result == lib.IP_MT_OK:
            return False
        if result == lib.IP_MT_NOMEM:
            raise MemoryError
        if result < 0:
            raise ValueError(_REFUSED[result])
        if self._sink is None:
            raise ValueError(_REFUSED[lib.IP_MT_CLOSED])
        raw = self.raw
        data = memoryview(ffi.buffer(raw.out, raw.used))
        try:
            if result == lib.IP_MT_CHUNK:
                self._sink.write(data[:-ENTRY], True)
                self._sink.write(data[-ENTRY:])
                self._sink.next_member(f"chunk.{raw.chunk:08d}")
            else:
                self._sink.write(data, bool(raw.whole))
        except OSError as error:
            self._failed(error)
        lib.ip_mt_taken(raw)
        return True

    def instr(
        self, pc: int, size: int, kind: Type = Type.INSTR, encoding: bytes | None = None, target: int = 0
    ) -> None:
        """An instruction; ``target``: where an indirect branch went."""
        code: Any = ffi.NULL
        if self._coded:
            if encoding is None or len(encoding) != size:
                raise ValueError("the encoding is missing or of another size")
            code = encoding
        while self.emptied(lib.ip_mt_instr(self.raw, kind, pc, size, code, target)):
            pass

    def no_fetch(self, pc: int, size: int) -> None:
        """A further iteration of a string instruction."""
        while self.emptied(lib.ip_mt_no_fetch(self.raw, pc, size)):
            pass

    def data(self, kind: Type, size: int, addr: int) -> None:
        """A read, a write, a prefetch or a flush by the last instruction."""
        while self.emptied(lib.ip_mt_data(self.raw, kind, size, addr)):
            pass

    def marker(self, number: int, value: int) -> None:
        """A marker; those that say what the trace is like are written by the writer."""
        while self.emptied(lib.ip_mt_marker(self.raw, number, value & 0xFFFFFFFFFFFFFFFF)):
            pass

    def timestamp(self, microseconds: int) -> None:
        """The time, in microseconds since 1601."""
        self.marker(lib.IP_MTM_TIMESTAMP, microseconds)

    def cpu(self, number: int) -> None:
        """The processor; -1: not known."""
        self.marker(lib.IP_MTM_CPU_ID, number)

    def items(self, items: bytes | bytearray | memoryview) -> None:
        """Many records, each packed as :data:`ITEM` says."""
        count, rest = divmod(len(items), ITEM.size)
        if rest:
            raise ValueError("no whole number of items")
        all_items = ffi.from_buffer("struct ip_mt_item[]", items)
        done = ffi.new("uint64_t *")
        at = 0
        while at < count:
            result = lib.ip_mt_write(self.raw, all_items + at, count - at, done)
            at += done[0]
            self.emptied(result)

    def close(self) -> None:
        """End the trace, and complete the file."""
        if self._sink is None:
            return
        while self.emptied(lib.ip_mt_end(self.raw)):
            pass
        try:
            self._sink.write(memoryview(ffi.buffer(self.raw.out, self.raw.used)))
            self._sink.close()
        except OSError as error:
            self._failed(error)
        self._sink = None
        lib.ip_mt_close(self.raw)

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
