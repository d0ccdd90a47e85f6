"""Compressed sections: the gABI's (chapter 4, zlib, zstd), GNU's older `.zdebug_*`, `.gnu_debugdata` (xz)."""

from __future__ import annotations

import struct

_HEADER = struct.Struct("<IIQQ")
_ZLIB, _ZSTD = 1, 2
_MOST_BY_ZLIB = 1100  # deflate cannot do better than 1032 to 1
_LARGEST = 1 << 34
_LARGEST_XZ = 1 << 28  # which does not say its size; no symbol table of functions is so large


def expanded(data: bytes, *, is_old: bool = False) -> bytes:
    """What a section was before it was compressed. Raises ValueError, which says what the section does."""
    if is_old:
        # In the old format those sections that would have grown stayed as they were.
        if data[:4] != b"ZLIB":
            return data
        if len(data) < 12:
            raise ValueError("has no header")
        return _inflated(data[12:], int.from_bytes(data[4:12], "big"))
    if len(data) < _HEADER.size:
        raise ValueError("has no header")
    kind, _, size, _ = _HEADER.unpack_from(data)
    if kind == _ZLIB:
        return _inflated(data[_HEADER.size :], size)
    if kind == _ZSTD:
        return _of_zstd(data[_HEADER.size :], size)
    raise ValueError(f"uses unknown compression {kind}")


def _inflated(data: bytes, size: int) -> bytes:
    import zlib

    if size > _MOST_BY_ZLIB * (len(data) + 24):
        raise ValueError(f"claims {size} bytes")
    try:
        plain = zlib.decompressobj().decompress(data, size) if size else b""
    except (zlib.error, OverflowError, MemoryError):
        raise ValueError("is damaged") from None
    if len(plain) != size:
        raise ValueError("is cut off")
    return plain


def _of_zstd(data: bytes, size: int) -> bytes:
    """By the C library that Debian's package manager needs: Python has no zstd before 3.14."""
    import ctypes

    try:
        library = ctypes.CDLL("libzstd.so.1")
    except OSError:
        raise ValueError("needs libzstd.so.1, which is not installed") from None
    content = library.ZSTD_getFrameContentSize
    content.argtypes, content.restype = [ctypes.c_char_p, ctypes.c_size_t], ctypes.c_uint64
    # The frame says its size, too: memory is taken only for what both say.
    if size > _LARGEST or content(data, len(data)) != size:
        raise ValueError(f"claims {size} bytes")
    decompress = library.ZSTD_decompress
    decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    decompress.restype = ctypes.c_size_t
    try:
        plain = bytearray(size)
    except MemoryError:
        raise ValueError(f"claims {size} bytes") from None
    room = (ctypes.c_char * size).from_buffer(plain) if size else None
    if size and decompress(room, size, data, len(data)) != size:
        raise ValueError("is damaged")
    del room
    return bytes(plain)


def of_xz(data: bytes) -> bytes:
    """What an xz stream holds. Raises ValueError."""
    try:
        import lzma
    except ImportError:
        raise ValueError("needs a Python with lzma") from None
    reader = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_LARGEST_XZ)
    try:
        plain = reader.decompress(data, _LARGEST_XZ)
    except (lzma.LZMAError, MemoryError):
        raise ValueError("is damaged") from None
    if not reader.eof:
        raise ValueError("is cut off, or too large")
    return plain
