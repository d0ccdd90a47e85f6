"""Files that a writer's bytes go to: an archive of chunks, gzip, plain entries.

When a file cannot take more (the disk is full), it is cut back to a place where a record ended, which leaves
room for what makes it a valid file: the entries of a trace's end and the archive's directory.  Compressed
streams are therefore flushed at such places, so that they can be continued from any of them.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections import deque
from pathlib import Path
from typing import NamedTuple

from interpose.formats.drmemtrace import deflate

_SLACK = 1 << 16
"""Bytes that are given back at least, for the end of the file."""

_LOCAL = struct.Struct("<4sHHHHHIIIHH")
_CENTRAL = struct.Struct("<4sHHHHHHIIIHHHHHII")
_END = struct.Struct("<4sHHHHIIH")
_END64 = struct.Struct("<4sQHHIIQQQQ")
_LOCATOR64 = struct.Struct("<4sIQI")
_EXTRA64 = struct.Struct("<HHQQ")
_EXTRA64_OFFSET = struct.Struct("<HHQQQ")
_DEFLATED, _NEEDS64, _BIG, _DATE = 8, 45, 0xFFFFFFFF, 0x21  # 1980-01-01: the same records make the same file
_GZIP_HEADER = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"


class _Place(NamedTuple):
    """A place that the file can be cut back to."""

    offset: int
    members: int
    """How many members of an archive are complete; the open one begins at ``begin``."""
    begin: int
    size: int
    checksum: int


class Sink:
    """A file of plain entries, and what the others have in common."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._file = open(path, "wb", buffering=0)
        self.offset = 0
        self.size = 0
        """Bytes before compression, of the open member."""
        self.checksum = 0
        self._begin = 0
        self._places: deque[_Place] = deque(maxlen=64)

    def _put(self, data: bytes | memoryview) -> None:
        view = memoryview(data)
        while view:
            done = self._file.write(view)
            self.offset += done
            view = view[done:]

    def _members(self) -> int:
        return 0

    def mark(self) -> None:
        """What was written up to here can stand by itself once an end is added."""
        self._places.append(_Place(self.offset, self._members(), self._begin, self.size, self.checksum))

    def write(self, data: memoryview, whole: bool = False) -> None:
        """Bytes of the open member; ``whole``: they end where a record and all that belongs to it ends."""
        self._put(data)
        self.size += len(data)
        if whole:
            self.mark()

    def next_member(self, name: str) -> None:
        """End the open member, and begin one."""

    def close(self) -> None:
        """The file is complete."""
        self._file.close()

    def _cut(self, place: _Place) -> None:
        self._file.seek(place.offset)
        self._file.truncate()
        self.offset, self._begin = place.offset, place.begin
        self.size, self.checksum = place.size, place.checksum

    def rescue(self, end: bytes) -> bool:
        """After an error: cut the file back, add the entries of an end, and close it; False: that failed,
        too.
        """
        wanted = self._file.seek(0, os.SEEK_END) - _SLACK
        places = [place for place in self._places if place.offset <= wanted] or list(self._places)[:1]
        try:
            if not places:
                return False
            self._cut(places[-1])
            self.write(memoryview(end))
            self.close()
        except OSError:
            self._file.close()
            return False
        return True


class GzipSink(Sink):
    """One gzip member."""

    def __init__(self, path: str | os.PathLike[str], level: int) -> None:
        super().__init__(path)
        self._level = level
        self._deflate = deflate.deflater(level)
        self._head()

    def _head(self) -> None:
        self._put(_GZIP_HEADER)

    def write(self, data: memoryview, whole: bool = False) -> None:
        self.checksum = deflate.crc32(data, self.checksum)
        self.size += len(data)
        self._put(self._deflate.compress(data))
        if whole:
            self._put(self._deflate.flush(zlib.Z_FULL_FLUSH))
            self.mark()

    def _finish_member(self) -> None:
        self._put(self._deflate.flush())
        self._put(struct.pack("<II", self.checksum, self.size & 0xFFFFFFFF))

    def close(self) -> None:
        self._finish_member()
        super().close()

    def _cut(self, place: _Place) -> None:
        super()._cut(place)
        self._deflate = deflate.deflater(self._level)


class _Member(NamedTuple):
    name: bytes
    offset: int
    checksum: int
    packed: int
    size: int


class ZipSink(GzipSink):
    """An archive, one member for each chunk; sizes stand in front of the data, in 64 bits where needed."""

    def __init__(self, path: str | os.PathLike[str], level: int) -> None:
        self._done: list[_Member] = []
        self._name = b""
        super().__init__(path, level)

    def _head(self) -> None:
        pass

    def _members(self) -> int:
        return len(self._done)

    def _local(self, checksum: int, packed: int, size: int) -> bytes:
        extra = _EXTRA64.pack(1, 16, size, packed)
        head = _LOCAL.pack(
            b"PK\3\4", _NEEDS64, 0, _DEFLATED, 0, _DATE, checksum, _BIG, _BIG, len(self._name), len(extra)
        )
        return head + self._name + extra

    def next_member(self, name: str) -> None:
        if self._name:
            self._finish_member()
        self._name = name.encode()
        self._begin = self.offset
        self.size = self.checksum = 0
        self._deflate = deflate.deflater(self._level)
        self._put(self._local(0, 0, 0))

    def _finish_member(self) -> None:
        self._put(self._deflate.flush())
        head = len(self._local(0, 0, 0))
        member = _Member(self._name, self._begin, self.checksum, self.offset - self._begin - head, self.size)
        self._file.seek(self._begin)
        self._file.write(self._local(member.checksum, member.packed, member.size))
        self._file.seek(self.offset)
        self._done.append(member)

    def close(self) -> None:
        if self._name:
            self._finish_member()
            self._name = b""
        start = self.offset
        directory = b"".join(_central(member) for member in self._done)
        count, length = len(self._done), len(directory)
        self._put(directory)
        if count >= 0xFFFF or start >= _BIG or length >= _BIG:
            end = self.offset
            self._put(_END64.pack(b"PK\6\6", 44, _NEEDS64, _NEEDS64, 0, 0, count, count, length, start))
            self._put(_LOCATOR64.pack(b"PK\6\7", 0, end, 1))
        few, short, near = min(count, 0xFFFF), min(length, _BIG), min(start, _BIG)
        self._put(_END.pack(b"PK\5\6", 0, 0, few, few, short, near, 0))
        self._file.close()

    def _cut(self, place: _Place) -> None:
        super()._cut(place)
        if place.members < len(self._done):
            self._name = self._done[place.members].name
            del self._done[place.members :]


def _central(member: _Member) -> bytes:
    extra = b""
    packed, size, offset = member.packed, member.size, member.offset
    if max(packed, size, offset) >= _BIG:
        extra = _EXTRA64_OFFSET.pack(1, 24, size, packed, offset)
        packed = size = offset = _BIG
    head = _CENTRAL.pack(
        b"PK\1\2", _NEEDS64, _NEEDS64, 0, _DEFLATED, 0, _DATE, member.checksum, packed, size,
        len(member.name), len(extra), 0, 0, 0, 0, offset,
    )  # fmt: skip
    return head + member.name + extra


def sink_for(path: str | os.PathLike[str], level: int) -> Sink:
    """The file that a path's suffix asks for."""
    suffix = Path(path).suffix
    if suffix == ".zip":
        return ZipSink(path, level)
    return GzipSink(path, level) if suffix == ".gz" else Sink(path)
