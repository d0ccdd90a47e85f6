"""One record at a time, typed: for tools and tests that look at everything.  `bulk` is for many accesses."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO

from interpose.formats import FormatError
from interpose.formats.datagrind.errors import TRUNCATED, Problem, text_of
from interpose.formats.datagrind.records import (
    HEADER_BYTES,
    LONGEST,
    SIGNATURE,
    BBDef,
    BBRun,
    Context,
    DroppedError,
    Header,
    Payload,
    Record,
    TooShortError,
    TrackRange,
    UntrackRange,
    decode,
)
from interpose.jit._native import lib

_MOST_PROBLEMS = lib.IP_DG_MOST_PROBLEMS


class Reader:
    """The records of a stream, which is read once, from front to end.

    A record that breaks a rule is dropped, and its :class:`Problem` kept (the first 64 of them; `n_problems`
    counts all).  Where no next record can be found, :class:`FormatError` is raised; what was given before
    that is right.
    """

    def __init__(self, stream: BinaryIO, name: str = "datagrind.out") -> None:
        self.name = name
        self.header = Header()
        self.problems: list[Problem] = []
        self.n_problems = 0
        self.n_contexts = 0
        self.n_bbdefs = 0
        self.n_bbruns = 0
        self.n_instrs = 0
        self.offset = 0
        """Of the record after the one given last."""
        self._stream = stream
        self._accesses_of: list[int] = []
        self._bbdef_of: list[int] = []
        self._tracked: Counter[tuple[int, int]] = Counter()

    def __iter__(self) -> Iterator[Record]:
        yield self._read_header()
        while head := self._stream.read(1):
            begin, kind = self.offset, head[0]
            if kind >= 128:
                self._exactly(1)
                self._problem(lib.IP_DG_UNKNOWN_TYPE, kind)
                self.offset += 2
                continue
            size = self._exactly(1)[0]
            self.offset += 2
            if size == 255:
                size = int.from_bytes(self._exactly(8, begin), "little")
                self.offset += 8
            record = self._record(kind, size, begin)
            self.offset += size
            if record is not None:
                yield record

    def _exactly(self, size: int, begin: int | None = None) -> bytes:
        data = self._stream.read(size)
        if len(data) < size:
            raise FormatError(self.name, TRUNCATED, offset=self.offset if begin is None else begin)
        return data

    def _problem(self, reason: int, a: int = 0, b: int = 0, offset: int | None = None) -> None:
        self.n_problems += 1
        if len(self.problems) < _MOST_PROBLEMS:
            where = self.offset if offset is None else offset
            self.problems.append(Problem(where, text_of(reason, a, b)))

    def _read_header(self) -> Header:
        data = self._stream.read(2 + HEADER_BYTES)
        if len(data) >= 2 and data[:2] != bytes([lib.IP_DG_HEADER, HEADER_BYTES]):
            raise FormatError(self.name, text_of(lib.IP_DG_NO_HEADER), offset=0)
        if len(data) < 2 + HEADER_BYTES:
            raise FormatError(self.name, TRUNCATED if data else text_of(lib.IP_DG_NO_HEADER), offset=0)
        if data[2:13] != SIGNATURE:
            raise FormatError(self.name, text_of(lib.IP_DG_BAD_SIGNATURE), offset=0)
        self.header = Header(*data[13:16])
        if self.header.word_size not in (4, 8):
            raise FormatError(self.name, text_of(lib.IP_DG_BAD_WORD_SIZE, self.header.word_size), offset=0)
        if self.header.version != 1:
            self._problem(lib.IP_DG_VERSION, self.header.version)
        self.offset = len(data)
        return self.header

    def _record(self, kind: int, size: int, begin: int) -> Record | None:
        """The record, or None if it is dropped."""
        if size > LONGEST:
            self._skip(size, begin)
            return None
        payload = Payload(self._exactly(size, begin), self.header.word_size)
        try:
            record = decode(kind, payload)
            if payload.left and kind != lib.IP_DG_BBRUN:
                self._problem(lib.IP_DG_TOO_LARGE, payload.at, size, begin)
            self._check(record)
        except TooShortError:
            raise FormatError(self.name, text_of(lib.IP_DG_TOO_SHORT), offset=begin) from None
        except DroppedError as error:
            self._problem(*error.what, offset=begin)
            return None
        if payload.left and kind == lib.IP_DG_BBRUN:
            self._problem(lib.IP_DG_TOO_LARGE, payload.at, size, begin)
        return record

    def _skip(self, size: int, begin: int) -> None:
        if size <= 1 << 62:
            self._problem(lib.IP_DG_OVERSIZE, size, offset=begin)
        while size:
            data = self._stream.read(min(size, 1 << 20))
            if not data:
                raise FormatError(self.name, TRUNCATED, offset=begin)
            size -= len(data)

    def _check(self, record: Record) -> None:
        """Indices and counts."""
        if isinstance(record, BBRun):
            self._check_run(record)
        elif isinstance(record, BBDef):
            count = len(record.instrs)
            if not count:
                raise DroppedError(lib.IP_DG_NO_INSTRUCTIONS)
            for access in record.accesses:
                if access.instr >= count:
                    raise DroppedError(lib.IP_DG_BAD_INSTRUCTION, access.instr, count)
            self._accesses_of.append(len(record.accesses))
            self.n_bbdefs += 1
        elif isinstance(record, Context):
            if not record.stack:
                raise DroppedError(lib.IP_DG_NO_STACK)
            if record.bbdef >= self.n_bbdefs:
                raise DroppedError(lib.IP_DG_BAD_INDEX, record.bbdef, self.n_bbdefs)
            self._bbdef_of.append(record.bbdef)
            self.n_contexts += 1
        elif isinstance(record, TrackRange):
            self._tracked[record.address, record.length] += 1
        elif isinstance(record, UntrackRange):
            pair = record.address, record.length
            if not self._tracked[pair]:
                del self._tracked[pair]
                raise DroppedError(lib.IP_DG_NOT_TRACKED, *pair)
            self._tracked[pair] -= 1

    def _check_run(self, run: BBRun) -> None:
        if run.context >= self.n_contexts:
            raise DroppedError(lib.IP_DG_BAD_INDEX, run.context, self.n_contexts)
        most = self._accesses_of[self._bbdef_of[run.context]]
        if len(run.addresses) > most:
            raise DroppedError(lib.IP_DG_TOO_MANY, len(run.addresses), most)
        self.n_bbruns += 1
        self.n_instrs += run.n_instrs


def read(path: str | os.PathLike[str]) -> Iterator[Record]:
    """The records of a file; problems of single records are not told (:class:`Reader` keeps them)."""
    with open(path, "rb") as stream:
        yield from Reader(stream, os.fspath(path))
