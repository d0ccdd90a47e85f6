"""The tags of memory, beside a dictionary of granules (interpose/shadow/origin_table.c)."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

CHUNK = 1 << 20
LINE, GRANULE = 64, 4
FIRST = 0x0A00_0000_0000
"""Of chunks in which nothing else of this process has a tag."""


class Table:
    """What is said of [lo, hi) to the table and to a dictionary."""

    def __init__(self, sh: Any) -> None:
        self.sh = sh
        self.tags: dict[int, int] = {}

    def set(self, lo: int, hi: int, tag: int) -> None:
        self.sh.lib.origin_set_tags(lo, hi, tag, self.sh.ffi.NULL)
        for granule in range(lo // GRANULE, (hi - 1) // GRANULE + 1):
            self.tags[granule] = tag

    def put(self, lo: int, tags: list[int]) -> None:
        self.sh.lib.origin_put_tags(lo, len(tags), tags, self.sh.ffi.NULL)
        for i, tag in enumerate(tags):
            self.tags[lo // GRANULE + i] = tag

    def forget(self, lo: int, hi: int) -> None:
        self.sh.lib.origin_forget_tags(lo, hi)
        for granule in range(lo // GRANULE, (hi - 1) // GRANULE + 1):
            self.tags.pop(granule, None)

    def check(self, lo: int, granules: int) -> None:
        got = self.sh.ffi.new("uint32_t[]", granules)
        self.sh.lib.origin_get_tags(lo, granules, got)
        assert list(got) == [self.tags.get(lo // GRANULE + i, 0) for i in range(granules)], hex(lo)


@pytest.mark.parametrize("seed", range(4))
def test_tags_are_those_that_were_set_last(sh: Any, seed: int) -> None:
    """Ranges of all lengths, over the borders of chunks and in many of them, set, forgotten and set anew."""
    rng = random.Random(seed)
    table = Table(sh)
    first = FIRST + seed * 300 * CHUNK
    borders = [first + chunk * CHUNK for chunk in rng.sample(range(1, 300), 40)]
    for _ in range(1500):
        lo = rng.choice(borders) + rng.randrange(-3000, 3000)
        size = rng.choice((1, 3, 4, 8, 16, 40, 256, 700, 5000))
        what = rng.randrange(4)
        if what == 0:
            table.set(lo, lo + size, rng.randrange(1, 1 << 32))
        elif what == 1:
            table.put(
                lo,
                [rng.randrange(1 << 32) for _ in range(rng.randint(1, (LINE - lo % LINE) // GRANULE or 1))],
            )
        elif what == 2:
            table.forget(lo, lo + size)
        table.check(lo, rng.randint(1, LINE // GRANULE))
    for granule in list(table.tags):
        table.check(granule * GRANULE, 1)
    table.forget(first, first + 400 * CHUNK)
    for border in borders:
        for at in range(border - 8000, border + 8000, LINE):
            table.check(at, LINE // GRANULE)


def resident() -> int:
    """Bytes of this process that are its own."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def test_pages_of_forgotten_tags_go_back(sh: Any) -> None:
    """Of 64 MiB of tags hardly any is left when all but one are forgotten, piece by piece."""
    table = Table(sh)
    lo = FIRST + (1 << 36)
    before = resident()
    sh.lib.origin_set_tags(lo, lo + 64 * CHUNK, 7, sh.ffi.NULL)
    table.tags = {(lo + 5 * CHUNK) // GRANULE + i: 7 for i in range(16)}
    filled = resident()
    assert filled - before >= 60 * CHUNK
    for at in range(lo, lo + 64 * CHUNK, 8192):
        if at != lo + 5 * CHUNK:
            sh.lib.origin_forget_tags(at, at + 8192)
    assert resident() - before < 8 * CHUNK
    table.check(lo + 5 * CHUNK, 16)
    table.tags.clear()
    table.check(lo + 9 * CHUNK, 16)
    table.set(lo + 9 * CHUNK, lo + 9 * CHUNK + 8, 3)
    table.check(lo + 9 * CHUNK, 16)
    table.forget(lo, lo + 64 * CHUNK)


def test_what_an_ended_thread_had_is_the_next_ones(sh: Any) -> None:
    first, second = sh.lib.origin_new_near(), sh.lib.origin_new_near()
    assert first != second
    first.gpr[3] = second.vec[5] = 7
    sh.lib.origin_end_near(first)
    sh.lib.origin_end_near(second)
    again = {sh.lib.origin_new_near(), sh.lib.origin_new_near()}
    assert again == {first, second}
    assert not any(near.gpr[3] or near.vec[5] for near in again)
    for near in again:
        sh.lib.origin_end_near(near)
