"""Framed snappy: chunks of a type, a length and data; pyarrow unpacks what is in them."""

from __future__ import annotations

from typing import IO, Any

from interpose.formats.extra import need
from interpose.jit._native import ffi, lib

_COMPRESSED, _PLAIN, _SKIPPED, _STREAM = 0x00, 0x01, 0x80, 0xFF
_NAME = b"sNaPpY"
_MOST = 1 << 16
"""Bytes of data that a chunk may unpack to."""
_MOST_PACKED = _MOST + _MOST // 6 + 64
_CHECKSUM = 4


class SnappyError(Exception):
    """What is wrong with the data; ``ends``: nothing but that it ends early."""

    def __init__(self, text: str, *, ends: bool = False) -> None:
        super().__init__(text)
        self.ends = ends


def _is_right(data: bytes, wanted: bytes) -> bool:
    found: int = lib.ip_mt_crc32c(ffi.from_buffer("uint8_t[]", data), len(data))
    masked = ((found >> 15 | found << 17) + 0xA282EAD8) & 0xFFFFFFFF
    return masked == int.from_bytes(wanted, "little")


def _size(packed: bytes) -> int:
    """The size that a block says it has; more than any has, if it does not say."""
    value = 0
    for place, byte in enumerate(packed[:5]):
        value |= (byte & 127) << 7 * place
        if byte < 128:
            return value
    return _MOST + 1


class Snappy:
    """The data of a stream of frames."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._codec: Any = need("pyarrow").Codec("snappy")
        self._stream = stream
        self._began = False
        self._rest = b""

    def read(self, size: int) -> bytes:
        """At most so many bytes; none at the end."""
        while not self._rest:
            head = self._stream.read(4)
            if not head:
                return b""
            if len(head) < 4:
                raise SnappyError("", ends=True)
            self._rest = self._chunk(head[0], int.from_bytes(head[1:], "little"))
        data, self._rest = self._rest[:size], self._rest[size:]
        return data

    def _take(self, size: int) -> bytes:
        data = self._stream.read(size)
        if len(data) < size:
            raise SnappyError("", ends=True)
        return data

    def _chunk(self, kind: int, size: int) -> bytes:
        """The data of a chunk; none of most kinds."""
        if kind == _STREAM:
            if size != len(_NAME) or self._take(size) != _NAME:
                raise SnappyError("damaged: no stream of snappy's frames")
            self._began = True
            return b""
        if not self._began:
            raise SnappyError("damaged: no stream of snappy's frames")
        if kind >= _SKIPPED:
            while size:
                size -= len(self._take(min(size, _MOST)))
            return b""
        if kind not in (_COMPRESSED, _PLAIN):
            raise SnappyError(f"damaged: a chunk of type {kind:#x}")
        if not _CHECKSUM <= size <= _CHECKSUM + _MOST_PACKED:
            raise SnappyError(f"damaged: a chunk of {size} bytes")
        wanted, data = self._take(_CHECKSUM), self._take(size - _CHECKSUM)
        if kind == _COMPRESSED:
            data = self._unpacked(data)
        if len(data) > _MOST:
            raise SnappyError(f"damaged: a chunk of {len(data)} bytes")
        if not _is_right(data, wanted):
            raise SnappyError("damaged: the checksum is wrong")
        return data

    def _unpacked(self, packed: bytes) -> bytes:
        size = _size(packed)
        if size > _MOST:
            raise SnappyError("damaged: a chunk that is too long")
        if size == 0:
            return b""
        try:
            return bytes(self._codec.decompress(packed, decompressed_size=size, asbytes=True))
        except (OSError, ValueError) as error:
            raise SnappyError(f"damaged: {error}") from error
