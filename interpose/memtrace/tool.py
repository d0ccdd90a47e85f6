"""What a tool is: a map over pieces of a trace, a merge in order, and a result."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from interpose.formats.drmemtrace.errors import FormatError
from interpose.formats.drmemtrace.reader import Reader, read_header


def natural(text: str) -> int:
    """The value of an option that counts something."""
    value = int(text)
    if not 0 <= value < 1 << 63:
        raise argparse.ArgumentTypeError(f"{text} is no number from 0 to {(1 << 63) - 1}")
    return value


@dataclass(frozen=True)
class Piece:
    """Chunks of a file that are read together."""

    path: str
    file: int
    """Number of the file."""
    first: int
    count: int | None
    """None: the whole file, which has no chunks that can be read alone."""
    timestamp: int
    """When it begins."""


@dataclass
class Result:
    """What a tool has found."""

    text: Iterator[str]
    """Lines; made when they are asked for."""
    data: dict[str, Any]
    """For JSON."""
    columns: dict[str, list[Any]] = field(default_factory=dict)
    """For Parquet."""


class Tool:
    """A tool whose pieces can be read anywhere, in any order.

    ``start``, ``step`` and ``finish`` work on one piece, perhaps in another process; what ``finish`` gives is
    sent back.  ``merge`` gets these in the order of their beginnings.
    """

    name = ""
    title = ""
    """What the first line of the text says."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options

    def __getstate__(self) -> dict[str, Any]:
        """What another process gets: what was merged stays here."""
        return {"options": self.options}

    @staticmethod
    def arguments(parser: argparse.ArgumentParser) -> None:
        """Add options of the tool's own."""

    def start(self, piece: Piece, reader: Reader) -> Any:
        """The state of a piece."""
        raise NotImplementedError

    def step(self, state: Any, records: Any, reader: Reader) -> None:
        """Records of a piece (:data:`interpose.formats.drmemtrace.bulk.RECORD`)."""
        raise NotImplementedError

    def finish(self, state: Any, reader: Reader) -> Any:
        """What is sent back of a piece."""
        return state

    def merge(self, piece: Piece, state: Any, until: int) -> None:
        """Take a piece in; all that begin before ``until`` have been merged."""
        raise NotImplementedError

    def result(self) -> Result:
        """What was found."""
        raise NotImplementedError


def open_piece(piece: Piece) -> Reader:
    """A reader for a piece."""
    if piece.count is None:
        return Reader(piece.path)
    header = read_header(piece.path) if piece.first else None
    return Reader(piece.path, header=header, first=piece.first, count=piece.count)


def map_piece(tool: Tool, piece: Piece) -> tuple[Any, FormatError | None]:
    """Do a piece: what is sent back, and the error that ended it early."""
    from interpose.formats.drmemtrace import bulk

    error = None
    reader = open_piece(piece)
    state = tool.start(piece, reader)
    try:
        for records in bulk.arrays(reader):
            tool.step(state, records, reader)
    except FormatError as fault:
        error = fault
    return tool.finish(state, reader), error
