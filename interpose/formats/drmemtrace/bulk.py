"""A trace as NumPy arrays: whole blocks of entries or of records, no object for each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from interpose.formats.drmemtrace.constants import FLUSHES, INSTRUCTIONS, PREFETCHES, Type
from interpose.formats.drmemtrace.containers import Source
from interpose.formats.drmemtrace.reader import Reader
from interpose.formats.extra import need

np: Any = need("numpy")

ENTRY = np.dtype([("type", "<u2"), ("size", "<u2"), ("addr", "<u8")])
"""An entry of a file: 12 bytes, packed."""
RECORD = np.dtype(
    [
        ("pc", "<u8"),
        ("addr", "<u8"),
        ("code", "<u4"),
        ("tid", "<u4"),
        ("type", "<u2"),
        ("size", "<u2"),
        ("is_new", "<u4"),
    ]
)
"""A delivered record (struct ip_mt_record): ``code`` is an index into :func:`codes`; of a marker, ``size`` is
the number and ``addr`` the value.
"""
CODE = np.dtype([("pc", "<u8"), ("bytes", "u1", (15,)), ("length", "u1")])
"""An encoding (struct ip_mt_code)."""
NO_CODE = 0xFFFFFFFF


def _table(kinds: frozenset[Type] | set[Type]) -> Any:
    table = np.zeros(max(Type) + 1, bool)
    table[[int(kind) for kind in kinds]] = True
    return table


_FETCHED = _table(INSTRUCTIONS)
_ACCESSES = _table({Type.READ, Type.WRITE})
_DATA = _table({Type.READ, Type.WRITE, Type.HARDWARE_PREFETCH} | PREFETCHES | FLUSHES)


def entries(path: str | os.PathLike[str]) -> Iterator[Any]:
    """The entries of a file as it has them, in arrays of :data:`ENTRY`."""
    for _, blocks in Source(path).components():
        for data in blocks:
            yield np.frombuffer(data, ENTRY, len(data) // ENTRY.itemsize)


def arrays(reader: Reader) -> Iterator[Any]:
    """The records in arrays of :data:`RECORD`; each is overwritten by the next one, so copy what is kept."""
    for block in reader.blocks():
        yield np.frombuffer(block, RECORD)


def codes(reader: Reader) -> Any:
    """The encodings that the reader has met so far, an array of :data:`CODE`."""
    return np.frombuffer(reader.code_buffer(), CODE)


def is_fetched(records: Any) -> Any:
    """Which records are instructions; further iterations of string instructions are not."""
    return _FETCHED[records["type"]]


def is_access(records: Any) -> Any:
    """Which records are reads or writes."""
    return _ACCESSES[records["type"]]


def is_data(records: Any) -> Any:
    """Which records name memory: accesses, prefetches, flushes."""
    return _DATA[records["type"]]


def is_marker(records: Any, number: int | None = None) -> Any:
    """Which records are markers, of one number or of any."""
    found = records["type"] == Type.MARKER
    return found if number is None else found & (records["size"] == number)
