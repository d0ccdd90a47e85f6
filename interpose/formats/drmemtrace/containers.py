"""The files that hold traces: zip archives of chunks, gzip, lz4, snappy, plain entries.

Everything is streamed in blocks of at most a megabyte, so memory is bounded whatever a file claims, and
deflate makes at most 1032 bytes of one, so time is bounded by the file's size (an archive whose members
overlap is refused).
"""

from __future__ import annotations

import os
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from interpose.formats.drmemtrace import deflate
from interpose.formats.drmemtrace.errors import FormatError
from interpose.formats.drmemtrace.snappy import Snappy, SnappyError
from interpose.formats.extra import need

BLOCK = 12 * 65536
_INPUT = 1 << 16
_RAW, _GZIP = -15, 31
_LOCAL = struct.Struct("<4sHHHHHIIIHH")
_LOCAL_MARK = b"PK\3\4"
_DESCRIBED, _ENCRYPTED = 0x8, 0x1
_ENDS_EARLY = "truncated: the compressed data ends early"


def _shown(name: str) -> str:
    """A member's name as a message may have it: a hostile file could put lines and escapes there."""
    return "".join(char if char.isprintable() else "?" for char in name[:64])


class _Bad(Exception):
    """What is wrong with the compressed data."""


class _Plain:
    """Bytes as they are, at most ``limit``."""

    def __init__(self, stream: IO[bytes], limit: int | None = None) -> None:
        self._stream = stream
        self._left = limit

    def read(self, size: int) -> bytes:
        """At most so many bytes; none at the end."""
        data = self._stream.read(size if self._left is None else min(size, self._left))
        if self._left is not None:
            self._left -= len(data)
            if not data and self._left:
                raise _Bad(_ENDS_EARLY)
        return data


class _Inflate:
    """A deflate stream, or several gzip members one behind the other."""

    def __init__(self, stream: IO[bytes], form: int, limit: int | None = None) -> None:
        self._input = _Plain(stream, limit)
        self._form = form
        self._inflater = deflate.inflater(form)

    @property
    def unused(self) -> bytes:
        """What was read behind the stream's end."""
        return self._inflater.unused_data

    def read(self, size: int) -> bytes:
        """At most so many bytes; none at the end."""
        while True:
            if self._inflater.eof:
                more = self.unused.lstrip(b"\0") or self._input.read(_INPUT) if self._form == _GZIP else b""
                if not more:
                    return b""
                self._inflater = deflate.inflater(self._form)
                data = more
            else:
                data = self._inflater.unconsumed_tail or self._input.read(_INPUT)
                if not data:
                    data = self._inflater.flush()  # what it still holds
                    if not data:
                        raise _Bad(_ENDS_EARLY)
                    return data
            try:
                data = self._inflater.decompress(data, size)
            except deflate.ERRORS as error:
                raise _Bad(f"damaged: {error}") from error
            if data:
                return data


class _Lz4:
    """Frames of lz4, one behind the other."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._module = need("lz4.frame")
        self._stream = stream
        self._frame = self._module.LZ4FrameDecompressor()
        self._began = False

    def read(self, size: int) -> bytes:
        """At most so many bytes; none at the end."""
        while True:
            if self._frame.eof:
                data = self._frame.unused_data or b""
                self._frame = self._module.LZ4FrameDecompressor()
                self._began = False
            else:
                data = b""
            if not data and self._frame.needs_input:
                data = self._stream.read(_INPUT)
                if not data:
                    if self._began:
                        raise _Bad(_ENDS_EARLY)
                    return b""
            self._began = True
            try:
                data = self._frame.decompress(data, size)
            except (RuntimeError, EOFError, ValueError) as error:
                raise _Bad(f"damaged: {error}") from error
            if data:
                return data


class _Snappy:
    """Frames of snappy."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._frames = Snappy(stream)

    def read(self, size: int) -> bytes:
        """At most so many bytes; none at the end."""
        try:
            return self._frames.read(size)
        except SnappyError as error:
            raise _Bad(_ENDS_EARLY if error.ends else str(error)) from error


class _Checked:
    """A member of an archive, whose checksum is compared at its end."""

    def __init__(self, stream: Any, checksum: int) -> None:
        self._stream = stream
        self._wanted = checksum
        self._checksum = 0

    def read(self, size: int) -> bytes:
        """At most so many bytes; none at the end."""
        data = self._stream.read(size)
        self._checksum = deflate.crc32(data, self._checksum)
        if not data and self._checksum != self._wanted:
            raise _Bad("damaged: the checksum is wrong")
        return data


class Source:
    """A file of a trace: its components, each of which is read as a stream of blocks."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.names: list[str] = [""]
        """Components that can be read by themselves, in archive order."""
        self.fault: str | None = None
        """An archive without a usable directory can only be read from the front: what is wrong with it."""
        self._members: list[zipfile.ZipInfo] | None = None
        if self.path.suffix == ".zip":
            self._open_zip()

    def _open_zip(self) -> None:
        try:
            with open(self.path, "rb") as file, zipfile.ZipFile(file) as archive:
                members = [member for member in archive.infolist() if not member.is_dir()]
                size = os.stat(file.fileno()).st_size
        except OSError as error:
            raise FormatError(str(self.path), error.strerror or str(error)) from error
        except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error, OverflowError) as error:
            self.fault = f"truncated or damaged archive: {error}"
            self.names = []
            return
        if any(member.header_offset < 0 for member in members):
            self.fault = "damaged archive: bytes are missing"
            self.names = []
            return
        if sum(member.compress_size for member in members) > size:
            raise FormatError(str(self.path), "damaged: members of the archive overlap")
        self._members = members
        self.names = [_shown(member.filename) for member in members]

    def _open(self, file: IO[bytes], index: int) -> Any:
        """The stream of a component."""
        if self._members is not None:
            return _open_member(file, self._members[index])
        if self.path.suffix == ".lz4":
            return _Lz4(file)
        if self.path.suffix == ".sz":
            return _Snappy(file)
        magic = file.read(2)
        file.seek(0)
        return _Inflate(file, _GZIP) if magic == b"\x1f\x8b" else _Plain(file)

    def blocks(self, index: int) -> Iterator[bytes]:
        """A component's bytes in blocks of whole entries; what is left over at the end comes as it is."""
        name = self.names[index]
        try:
            with open(self.path, "rb") as file:
                yield from _blocks(self._open(file, index))
        except (OSError, _Bad) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise FormatError(str(self.path), reason, component=name) from error

    def components(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """All of them, in order; a damaged archive as far as it goes, then the error."""
        if self.fault is None:
            for index, name in enumerate(self.names):
                yield name, self.blocks(index)
            return
        with open(self.path, "rb") as file:
            for name, stream in _salvaged(file):
                yield name, self._told(name, stream)
        raise FormatError(str(self.path), self.fault)

    def _told(self, name: str, stream: _Inflate) -> Iterator[bytes]:
        try:
            yield from _blocks(stream)
        except _Bad as error:
            raise FormatError(str(self.path), str(error), component=name) from error


def _blocks(stream: Any) -> Iterator[bytes]:
    rest = b""
    while data := stream.read(BLOCK - len(rest)):
        if rest:
            data = rest + data
        whole = len(data) - len(data) % 12
        if whole == len(data):
            rest = b""
            yield data
        else:
            rest = data[whole:]
            if whole:
                yield data[:whole]
    if rest:
        yield rest


def _open_member(file: IO[bytes], member: zipfile.ZipInfo) -> _Checked:
    if member.flag_bits & _ENCRYPTED:
        raise _Bad("encrypted")
    file.seek(member.header_offset)
    header = file.read(_LOCAL.size)
    if len(header) < _LOCAL.size or header[:4] != _LOCAL_MARK:
        raise _Bad("damaged: the archive's directory leads nowhere")
    *_, name_length, extra_length = _LOCAL.unpack(header)
    file.seek(name_length + extra_length, os.SEEK_CUR)
    if member.compress_type == zipfile.ZIP_STORED:
        return _Checked(_Plain(file, member.compress_size), member.CRC)
    if member.compress_type == zipfile.ZIP_DEFLATED:
        return _Checked(_Inflate(file, _RAW, member.compress_size), member.CRC)
    raise _Bad(f"compression method {member.compress_type} is not supported")


def _salvaged(file: IO[bytes]) -> Iterator[tuple[str, _Inflate]]:
    """The members of an archive that has no directory (its writer was killed), by the headers in front of
    them.
    """
    while True:
        header = file.read(_LOCAL.size)
        if len(header) < _LOCAL.size or header[:4] != _LOCAL_MARK:
            return
        _, _, flags, method, *_, name_length, extra_length = _LOCAL.unpack(header)
        name = _shown(file.read(name_length).decode("utf-8", "replace"))
        file.seek(extra_length, os.SEEK_CUR)
        if method != zipfile.ZIP_DEFLATED or flags & _ENCRYPTED:
            return
        stream = _Inflate(file, _RAW)
        yield name, stream
        while stream.read(BLOCK):
            pass  # what the reader did not want
        file.seek(-len(stream.unused), os.SEEK_CUR)
        if (
            flags & _DESCRIBED
        ):  # sizes and checksum follow the data: perhaps with a mark, of 4 or 8 bytes each
            place = file.tell()
            found = file.read(28).find(_LOCAL_MARK)
            if found < 0:
                return
            file.seek(place + found)
