"""Blocks near an address, as the supervisor reads them: by the spans that lie there as by all records."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from typing import Any

import pytest

from interpose.jit._native import ffi, lib

from .test_heap import free, malloc

REDZONE = 16
DISTANCES = (0, 16, 24, 72, 4096)


@pytest.fixture
def memory() -> Iterator[int]:
    """This process's memory, as a client's."""
    own = os.open("/proc/self/mem", os.O_RDONLY)
    yield own
    os.close(own)


@pytest.fixture(autouse=True)
def nothing_declared(sh: Any) -> Iterator[None]:
    """The heap is the process's, and others have used it."""
    malloc(sh, 1)
    before = sh.lib.heap_table.has_others
    sh.lib.heap_table.has_others = 0
    yield
    assert not sh.errors()
    sh.lib.heap_table.has_others |= before


def near(sh: Any, memory: int, addr: int, distance: int) -> list[tuple[int, ...]]:
    """State, address, size, kind and red zone of what is near, by address."""
    table = int(sh.ffi.cast("uint64_t", sh.lib.heap_table))
    found = ffi.new("struct ip_near_block[]", 200)
    count = lib.ip_heap_near(memory, table, addr, distance, found, 200)
    assert count <= 200
    rows = [(b.addr, b.size, b.state, b.kind, row.redzone) for row in found[0:count] for b in (row.block,)]
    assert len(set(rows)) == len(rows)
    return sorted(rows)


def touching(blocks: dict[int, int], addr: int, distance: int) -> set[int]:
    return {at for at, size in blocks.items() if at <= addr + distance and addr - distance <= at + size}


def fill(sh: Any, rng: random.Random) -> tuple[dict[int, int], dict[int, int]]:
    """Live and freed blocks of all kinds of sizes."""
    live, freed = {}, {}
    for _ in range(1000):
        size = rng.choice((0, 1, 16, 40, 100, 700, 3000, 9000, 70000))
        live[malloc(sh, size)] = size
    for addr in rng.sample(sorted(live), 700):
        freed[addr] = live.pop(addr)
        free(sh, addr)
    return live, freed


def test_by_spans_and_by_all_records(sh: Any, memory: int) -> None:
    rng = random.Random(int(os.environ.get("INTERPOSE_SEED", "1")))
    live, freed = fill(sh, rng)
    everything = {**live, **freed}
    asked = [
        (addr + rng.choice((0, everything[addr])) + rng.randrange(-100, 100), rng.choice(DISTANCES))
        for addr in rng.choices(sorted(everything), k=1000)
    ]
    by_spans = [near(sh, memory, *each) for each in asked]
    sh.lib.heap_table.has_others = 1
    assert by_spans == [near(sh, memory, *each) for each in asked]
    for (addr, distance), rows in zip(asked, by_spans, strict=True):
        found = {at for at, _, state, _, _ in rows if state == lib.IP_HB_LIVE}
        assert touching(live, addr, distance) == found & live.keys()
        gone = {at for at, _, state, _, _ in rows if state == lib.IP_HB_QUARANTINE} & freed.keys()
        assert gone <= touching(freed, addr, distance)  # the oldest have left the quarantine
    for addr in live:
        free(sh, addr)


def unallocated(memory: int, table: int, addr: int) -> tuple[int, int] | None:
    ends = ffi.new("uint64_t[2]")
    return (ends[0], ends[1]) if lib.ip_heap_unallocated(memory, table, addr, REDZONE, ends) else None


def test_memory_of_no_block(sh: Any, memory: int) -> None:
    """An address is in such a piece, or a block with its red zones holds it; and no block is in the piece."""
    rng = random.Random(int(os.environ.get("INTERPOSE_SEED", "1")))
    live, _ = fill(sh, rng)
    table = int(sh.ffi.cast("uint64_t", sh.lib.heap_table))
    pieces = set()
    for block in rng.choices(sorted(live), k=500):
        addr = block + rng.choice((0, 20, 100, 2000, 60_000, -60_000, 200_000))
        held = near(sh, memory, addr, REDZONE)
        # At exactly that distance an address is near, and the piece's first byte.
        is_inside = any(at - REDZONE <= addr < at + size + REDZONE for at, size, *_ in held)
        piece = unallocated(memory, table, addr)
        if piece is not None:
            assert not is_inside and piece[0] <= addr < piece[1]
            pieces.add(piece)
        elif not is_inside:
            low, high = sh.lib.heap_table.arena_lo, sh.lib.heap_table.arena_hi
            assert not any(lo <= addr < hi for lo, hi in zip(low, high, strict=True))
    assert len(pieces) > 20
    for lo, hi in pieces:
        assert not [at for at in live if lo < at + live[at] + REDZONE and at - REDZONE < hi]
        assert unallocated(memory, table, lo) == unallocated(memory, table, hi - 1) == (lo, hi)
    for addr in (0, 8, (1 << 45) - 1, 1 << 45, (1 << 64) - 1):
        assert unallocated(memory, table, addr) is None
    for addr in live:
        free(sh, addr)


def test_nowhere(sh: Any, memory: int) -> None:
    for addr in (0, 8, (1 << 45) - 1, 1 << 45, (1 << 64) - 1):
        assert near(sh, memory, addr, 72) == []


def test_what_the_program_declares(sh: Any, memory: int) -> None:
    block = malloc(sh, 5000)
    sh.lib.rt_heap_malloclike(sh.ts, block + 100, 50, 8, False)
    rows = near(sh, memory, block + 110, 0)
    assert [(at - block, size, kind) for at, size, _, kind, _ in rows] == [
        (0, 5000, lib.IP_AK_MALLOC),
        (100, 50, lib.IP_AK_CUSTOM),
    ]
    assert sh.lib.rt_heap_freelike(sh.ts, block + 100, 8)
    free(sh, block)


def test_longer_than_its_place(sh: Any, memory: int) -> None:
    block = malloc(sh, 24)
    assert sh.lib.rt_heap_resize(sh.ts, block, 24, 1 << 20, 16)
    assert block in [at for at, *_ in near(sh, memory, block + 500_000, 0)]
    assert sh.lib.rt_heap_resize(sh.ts, block, 1 << 20, 24, 16)
    free(sh, block)


def test_numbers(sh: Any, memory: int) -> None:
    size = 7_777
    block = malloc(sh, size)
    table = int(sh.ffi.cast("uint64_t", sh.lib.heap_table))
    found = ffi.new("struct ip_near_block *")
    sizes = []
    for number in range(sh.lib.heap_table.n_blocks + 10):
        if lib.ip_heap_numbered(memory, table, number, found):
            sizes.append(found.block.size)
    assert sizes.count(size) == 1
    assert not lib.ip_heap_numbered(memory, table, 1 << 40, found)
    free(sh, block)
