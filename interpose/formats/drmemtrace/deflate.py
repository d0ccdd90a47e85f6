"""Deflate and its checksum: ISA-L's where it is installed (two to four times as fast), else zlib's."""

from __future__ import annotations

import zlib
from typing import Any

try:
    from isal import isal_zlib

    _fast: Any = isal_zlib
except ImportError:  # no package for this Python
    _fast = zlib

ERRORS: tuple[type[Exception], ...] = (_fast.error, zlib.error)
FAST = 1
"""The level of zlib from which on its search for matches is worth its time: up to it, ISA-L packs better."""
_FAST_LEVEL = 2 if _fast is not zlib else FAST
_RAW = -15

crc32: Any = _fast.crc32


def deflater(level: int) -> Any:
    """Makes a deflate stream without a header; levels are zlib's."""
    if level == FAST:
        return _fast.compressobj(_FAST_LEVEL, zlib.DEFLATED, _RAW)
    return zlib.compressobj(level, zlib.DEFLATED, _RAW)


def inflater(form: int) -> Any:
    """Reads one; ``form`` as zlib's ``wbits``."""
    return _fast.decompressobj(form)
