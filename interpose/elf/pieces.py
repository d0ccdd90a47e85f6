"""Which piece of which file is mapped where."""

from __future__ import annotations

from interpose.ranges import Ranges

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, NamedTuple
else:
    from interpose.records import NamedTuple


class Piece(NamedTuple):
    """A mapped piece of a file, which is whatever stands for it."""

    start: int
    end: int
    file_offset: int
    file: Any


class Pieces:
    """The mapped pieces of a program's files, by address."""

    def __init__(self) -> None:
        self._ranges: Ranges[Piece] = Ranges()

    def __iter__(self) -> Iterator[Piece]:
        return iter(self._ranges)

    def at(self, address: int) -> Piece | None:
        """The piece that has an address."""
        return self._ranges.at(address)

    def within(self, start: int, end: int) -> list[Piece]:
        """The pieces with an address in [start, end)."""
        return self._ranges.within(start, end)

    def put(self, start: int, end: int, file_offset: int, file: Any) -> None:
        """A piece was mapped; what was there before is gone."""
        self.cut(start, end)
        self._ranges.add(start, end, Piece(start, end, file_offset, file))

    def cut(self, start: int, end: int) -> bool:
        """[start, end) was unmapped: pieces that reach beyond are trimmed or split. False: none was there."""
        hit = self._ranges.drop(start, end)
        for piece in hit:
            if piece.start < start:
                self._ranges.add(piece.start, start, piece._replace(end=start))
            if end < piece.end:
                shifted = piece.file_offset + end - piece.start
                self._ranges.add(end, piece.end, piece._replace(start=end, file_offset=shifted))
        return bool(hit)
