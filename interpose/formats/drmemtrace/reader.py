"""Streaming reader of one trace file, versions 2 to 7; the work is done in C (reader.c)."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import Any

from interpose.formats.drmemtrace.constants import INSTRUCTIONS, FileType, MarkerId, Type
from interpose.formats.drmemtrace.containers import BLOCK, Source
from interpose.formats.drmemtrace.errors import FormatError
from interpose.formats.drmemtrace.records import Data, Instr, Marker, Record, ThreadExit
from interpose.jit._native import ffi, lib

ENTRY = 12
RECORD = struct.Struct("<QQIIHHI")
"""Of struct ip_mt_record."""
MOST_CODES = 1 << 24
"""Different encodings that are kept: 400 MB."""

_KINDS = {int(kind): kind for kind in Type}
_MARKERS = {int(number): number for number in MarkerId}
_FETCHED = frozenset(INSTRUCTIONS | {Type.INSTR_NO_FETCH})

_FAULTS = {
    lib.IP_MTE_NO_HEADER: "does not begin with a header: no drmemtrace trace",
    lib.IP_MTE_VERSION: "version {value} (2 to 7 can be read)",
    lib.IP_MTE_TWO_HEADERS: "a second header",
    lib.IP_MTE_IN_HEADER: "{type} between the header and the process number",
    lib.IP_MTE_MANY_EARLY: "too many markers in the header",
    lib.IP_MTE_NO_THREAD: "the header names no thread or no process",
    lib.IP_MTE_TYPE: "unknown type {value}",
    lib.IP_MTE_RAW: "number {value} belongs to raw or online traces",
    lib.IP_MTE_ENCODING_SIZE: "an encoding of {value} bytes in all",
    lib.IP_MTE_ENCODING_LOST: "an encoding is followed by {type}, not by its instruction",
    lib.IP_MTE_LENGTH: "the instruction's size is not that of its encoding ({value} bytes)",
    lib.IP_MTE_NO_ENCODING: "no encoding for the instruction at {value:#x}",
    lib.IP_MTE_INSTR_SIZE: "an instruction of {value} bytes",
    lib.IP_MTE_MANY_CODES: "more than {value} different encodings",
    lib.IP_MTE_NOMEM: "no memory for the encodings",
    lib.IP_MTE_AFTER_FOOTER: "{type} behind the footer",
    lib.IP_MTE_ORDINAL: "RECORD_ORDINAL says {value}",
    lib.IP_MTE_NO_ORDINAL: "a chunk begins with {type}, not with a record ordinal",
    lib.IP_MTE_NO_FOOTER: "truncated: ends without a footer",
}


def _type_name(number: int) -> str:
    return _KINDS[number].name if number in _KINDS else f"type {number}"


class Reader:
    """The records of one file, in order.  What was read before a fault is delivered, then
    :class:`FormatError` raised.

    ``strict``: RECORD_ORDINAL must be right.  ``header``: a reader that has read the file's header; then
    ``first`` is the chunk to begin with, and ``count`` how many chunks to read.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        strict: bool = False,
        most_codes: int = MOST_CODES,
        header: Reader | None = None,
        first: int = 0,
        count: int | None = None,
    ) -> None:
        self.source = Source(path)
        self._raw = ffi.gc(ffi.new("struct ip_mt_reader *"), lib.ip_mt_reader_close)
        if lib.ip_mt_reader_open(self._raw, most_codes, int.from_bytes(os.urandom(8), "little")) != 0:
            raise MemoryError
        self._raw.strict = strict
        self._first, self._count = first, count
        if first:
            if header is None:
                raise ValueError("a chunk behind the first needs the header")
            lib.ip_mt_reader_begin(self._raw, header._raw)
        self._out: Any = None

    @property
    def version(self) -> int:
        """0 before the header has been read."""
        return self._raw.version

    @property
    def filetype(self) -> FileType:
        """What kind of trace it is."""
        return FileType(self._raw.filetype)

    @property
    def tid(self) -> int:
        """The thread (of a trace by cores, the current one)."""
        return self._raw.tid

    @property
    def pid(self) -> int:
        """The process."""
        return self._raw.pid

    @property
    def chunk_instr_count(self) -> int:
        """Instructions of a chunk; 0: not said."""
        return self._raw.chunk_instrs

    @property
    def cache_line_size(self) -> int:
        """0: not said."""
        return self._raw.cache_line

    @property
    def page_size(self) -> int:
        """0: not said."""
        return self._raw.page

    @property
    def records(self) -> int:
        """How many records lie before this place, those of chunks in front of ``first`` included."""
        return self._raw.records

    @property
    def instructions(self) -> int:
        """How many instructions were read."""
        return self._raw.instrs

    @property
    def timestamp(self) -> int:
        """The last one, also one that a chunk repeats."""
        return self._raw.last_timestamp

    @property
    def first_timestamp(self) -> int:
        """The first one that was read; 0: none yet."""
        return self._raw.first_timestamp

    @property
    def cpu(self) -> int:
        """The last processor, also one that a chunk repeats."""
        return self._raw.last_cpu

    @property
    def copied(self) -> tuple[int, int]:
        """Time and processor that the last chunk repeats at its beginning; 0 without."""
        return self._raw.copied_timestamp, self._raw.copied_cpu

    @property
    def codes(self) -> int:
        """How many different encodings there are so far."""
        return self._raw.n_codes

    def encoding(self, index: int) -> bytes:
        """The encoding that a record's code names."""
        if not 0 <= index < self._raw.n_codes:
            return b""
        code = self._raw.codes[index]
        return bytes(ffi.buffer(code.bytes)[: code.length])

    def code_buffer(self) -> bytes:
        """A copy of all encodings (struct ip_mt_code)."""
        return bytes(ffi.buffer(self._raw.codes, self._raw.n_codes * ffi.sizeof("struct ip_mt_code")))

    def _error(self, component: str, reason: str = "") -> FormatError:
        raw = self._raw
        value = raw.value
        reason = reason or _FAULTS[raw.fault].format(value=value, type=_type_name(value))
        return FormatError(
            str(self.source.path),
            reason,
            component=component,
            offset=raw.entries * ENTRY,
            ordinal=raw.records,
        )

    def _components(self) -> Iterator[tuple[str, Iterator[bytes], bool]]:
        """The components to read, and whether one is the file's last."""
        if self._count is None and self._first == 0:
            number = 0
            for name, blocks in self.source.components():
                number += 1
                yield name, blocks, False
            if number == 0:
                raise FormatError(str(self.source.path), "the archive is empty")
            return
        last = len(self.source.names) if self._count is None else self._first + self._count
        for index in range(self._first, min(last, len(self.source.names))):
            yield self.source.names[index], self.source.blocks(index), index == len(self.source.names) - 1

    def _placed(self, component: str, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """The blocks; an error of theirs with the place that reading has come to."""
        try:
            yield from blocks
        except FormatError as error:
            raise self._error(component, error.reason) from error

    def blocks(self) -> Iterator[memoryview]:
        """Records in blocks, as struct ip_mt_record; a block is overwritten by the next one."""
        raw = self._raw
        if self._out is None:
            self._out = ffi.new("struct ip_mt_record[]", BLOCK // ENTRY + lib.IP_MT_EARLY)
        component = ""
        whole = self._count is None
        for component, data_blocks, is_last in self._components():
            for data in self._placed(component, data_blocks):
                size = len(data) - len(data) % ENTRY
                count = lib.ip_mt_read(raw, ffi.from_buffer("uint8_t[]", data), size // ENTRY, self._out)
                if count:
                    yield memoryview(ffi.buffer(self._out, count * RECORD.size))
                if raw.fault:
                    raise self._error(component)
                if size != len(data):
                    raise self._error(component, f"truncated: {len(data) - size} bytes that are no entry")
            if lib.ip_mt_reader_end(raw, is_last):
                raise self._error(component)
        if whole and lib.ip_mt_reader_end(raw, True):
            raise self._error(component)

    def learn(self, codes: list[bytes]) -> None:
        """Add the encodings that were met since to a list that has those before."""
        codes += [self.encoding(index) for index in range(len(codes), self._raw.n_codes)]

    def __iter__(self) -> Iterator[Record]:
        codes: list[bytes] = []
        for block in self.blocks():
            self.learn(codes)
            ordinal = self.records - len(block) // RECORD.size
            for fields in RECORD.iter_unpack(block):
                ordinal += 1
                yield as_record(ordinal, fields, codes)


def as_record(ordinal: int, fields: tuple[Any, ...], codes: list[bytes]) -> Record:
    """The object for a record of a block (:data:`RECORD`); codes are the encodings (:meth:`Reader.learn`)."""
    pc, addr, code, tid, number, size, is_new = fields
    kind = _KINDS[number]
    if kind in _FETCHED:
        encoding = codes[code] if code < len(codes) else b""
        return Instr(ordinal, tid, kind, pc, size, encoding, bool(is_new), addr or None)
    if kind is Type.MARKER:
        return Marker(ordinal, tid, _MARKERS.get(size, size), addr)
    if kind is Type.THREAD_EXIT:
        return ThreadExit(ordinal, tid)
    return Data(ordinal, tid, kind, pc, size, addr)


def read_header(path: str | os.PathLike[str]) -> Reader:
    """A reader that has read the header of a file, for readers of chunks in its middle."""
    reader = Reader(path)
    for _ in reader.blocks():
        break
    if reader.version == 0:
        raise FormatError(str(path), "no header")
    return reader
