"""Ranges of addresses, against a table of single addresses."""

from __future__ import annotations

import random

from interpose.elf.pieces import Pieces
from interpose.ranges import Ranges


def test_ranges_are_found_by_what_they_overlap():
    ranges: Ranges[str] = Ranges()
    ranges.add(30, 40, "c")
    ranges.add(10, 20, "a")
    ranges.add(20, 25, "b")
    assert list(ranges) == ["a", "b", "c"]
    assert len(ranges) == 3
    assert [ranges.at(address) for address in (9, 10, 19, 20, 24, 25, 30, 39, 40)] == [
        None, "a", "a", "b", "b", None, "c", "c", None,
    ]  # fmt: skip
    assert ranges.within(0, 10) == []
    assert ranges.within(19, 21) == ["a", "b"]
    assert ranges.within(25, 30) == []
    assert ranges.within(0, 100) == ["a", "b", "c"]
    assert ranges.range_at(35) == (30, 40, "c")
    assert ranges.range_at(40) is None
    assert ranges.next_start(20, 99) == 30
    assert ranges.next_start(30, 99) == 99
    assert ranges.drop(24, 31) == ["b", "c"]
    assert ranges.drop(24, 31) == []
    assert list(ranges) == ["a"]


def test_pieces_are_trimmed_and_split_as_mappings_are():
    chance = random.Random(20_000)
    pieces = Pieces()
    table: dict[int, tuple[str, int]] = {}
    for turn in range(2000):
        start = chance.randrange(200)
        end = start + chance.randrange(1, 40)
        if chance.random() < 0.6:
            offset = chance.randrange(1000)
            pieces.put(start, end, offset, f"file {turn}")
            table.update((at, (f"file {turn}", offset + at - start)) for at in range(start, end))
        else:
            hit = any(at in table for at in range(start, end))
            assert pieces.cut(start, end) is hit
            for at in range(start, end):
                table.pop(at, None)
        for at in range(240):
            piece = pieces.at(at)
            found = None if piece is None else (piece.file, piece.file_offset + at - piece.start)
            assert found == table.get(at)
        overlapping = {piece.file for piece in pieces.within(start, end)}
        assert overlapping == {table[at][0] for at in range(start, end) if at in table}
    assert [piece.start for piece in pieces] == sorted(piece.start for piece in pieces)
