"""A view as a picture: borders, then accesses over them, as PNG."""

from __future__ import annotations

import struct
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable

from interpose.dgview.index import Index, View
from interpose.jit._native import lib

PAGE = 1 << lib.IP_GRID_PAGE_BITS
LINE = 1 << lib.IP_GRID_LINE_BITS
FEWEST_PIXELS = 4
"""Between two borders of a kind: closer, they would hide each other."""
GAP_PIXELS = 16
"""For each gap, on the average, if gaps are to be drawn over accesses."""
MOST_PIXELS = 1 << 25

BACKGROUND = (0, 0, 0)
READ = (0, 200, 0)
WRITE = (230, 0, 0)
BOTH = (240, 230, 0)
FETCH = (70, 130, 255)
LINE_BORDER = (70, 28, 28)
PAGE_BORDER = (110, 110, 110)
GAP = (255, 255, 255)

_BORDERS = (BACKGROUND, LINE_BORDER, PAGE_BORDER, GAP, GAP)
_BORDER_SHIFT = 3
_LINE, _PAGE, _GAP, _GAP_ABOVE = (n << _BORDER_SHIFT for n in (1, 2, 3, 4))


def _colour(pixel: int) -> tuple[int, int, int]:
    """Of a byte: accesses in the low bits, the border in those above."""
    if pixel >= _GAP_ABOVE:
        return GAP
    is_read, is_written = pixel >> lib.IP_DG_READ & 1, pixel >> lib.IP_DG_WRITE & 1
    if is_read and is_written:
        return BOTH
    if is_read or is_written:
        return READ if is_read else WRITE
    return FETCH if pixel >> lib.IP_DG_EXEC & 1 else _BORDERS[pixel >> _BORDER_SHIFT]


PALETTE = b"".join(bytes(_colour(pixel)) for pixel in range(len(_BORDERS) << _BORDER_SHIFT))


def _borders(index: Index, view: View) -> bytes:
    """A row of pixels that has them."""
    row = bytearray(view.width)
    scale = view.width / (view.right - view.left)

    def mark(distance: int, kind: int) -> None:
        first = -(-max(view.left, 1) // distance) * distance
        if distance * scale >= FEWEST_PIXELS:
            for column in range(first, min(view.right, index.columns), distance):
                row[int((column - view.left) * scale)] = kind

    mark(LINE, _LINE)
    mark(PAGE, _PAGE)
    gaps = index.gaps()
    last = -FEWEST_PIXELS
    begin, end = bisect_left(gaps, -(-view.left // PAGE)), bisect_right(gaps, (view.right - 1) // PAGE)
    # Among many accesses a gap would not be seen; where a pixel is a line or less, or gaps are many, they
    # would hide some.
    is_above = LINE * scale < 1 and (end - begin) * GAP_PIXELS <= view.width
    kind = _GAP_ABOVE if is_above else _GAP
    if end - begin <= view.width:
        for n in range(begin, end):
            x = int((gaps[n] * PAGE - view.left) * scale)
            if x - last >= FEWEST_PIXELS:
                row[x] = kind
                last = x
    return bytes(row)


def whole(index: Index, width: int, height: int) -> View:
    """All there is."""
    return View(0, max(index.columns, 1), 0, max(index.n_instrs, 1), width, height)


def draw(
    index: Index, view: View, *, exact: bool = True, cancelled: Callable[[], bool] = lambda: False
) -> tuple[bytes, bool]:
    """A PNG, and whether it is exact."""
    pixels = bytearray(_borders(index, view) * view.height)
    is_exact = index.draw(view, pixels, exact=exact, cancelled=cancelled)
    return png(pixels, view.width, view.height), is_exact


def png(pixels: bytes | bytearray, width: int, height: int) -> bytes:
    """Bytes of :data:`PALETTE` as a PNG file."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + pixels[at : at + width] for at in range(0, width * height, width))
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            chunk(b"IHDR", head),
            chunk(b"PLTE", PALETTE),
            chunk(b"IDAT", zlib.compress(rows, 1)),
            chunk(b"IEND", b""),
        )
    )
