"""V pages of large blocks that have become defined are given back, and nothing that they say is lost."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from shadow.hosted import dirty

NOACCESS = 2
SIZE = 8 << 20
CHUNK = 0x40000


@pytest.fixture
def alone(sh: Any) -> Iterator[Any]:
    """The shadow of a process with one thread."""
    sh.lib.rt_alone = True
    yield sh
    sh.lib.rt_alone = False


def new_block(sh: Any, size: int = SIZE) -> int:
    """A block of the heap, undefined."""
    base = sh.new_map(size + 8192) + 4096
    sh.lib.rt_shadow_mapped(base - 4096, size + 8192, NOACCESS)
    sh.lib.sh_block_allocated(base, size, False)
    return base


def idle_memory(sh: Any) -> int:
    """Memory of the heap that a block had, whose V bytes have pages of their own."""
    base = sh.new_map(SIZE)
    sh.lib.rt_shadow_mapped(base, SIZE, NOACCESS)
    sh.ffi.memmove(sh.ffi.cast("char *", base + sh.lib.IP_V_CONST), b"\xff" * SIZE, SIZE)
    return int(base)


def store(sh: Any, addr: int, size: int) -> None:
    """Defined values, in ascending order, as by the store that comes to a chunk's end."""
    end = addr + size
    while addr < end:
        to_boundary = CHUNK - (addr + sh.lib.IP_V_CONST) % CHUNK
        n = min(to_boundary, end - addr)
        if n > 8:
            sh.ffi.memmove(sh.ffi.cast("char *", addr + sh.lib.IP_V_CONST), bytes(n - 8), n - 8)
        sh.ts.acc_addr, sh.ts.acc_info = addr + max(n - 8, 0), min(n, 8) | 1 << 16
        sh.lib.rt_store_slow(sh.ts)
        addr += n


def test_what_is_filled_costs_no_page(alone: Any) -> None:
    base = new_block(alone)
    store(alone, base, SIZE)
    assert alone.v(base, SIZE) == bytes(SIZE)
    assert alone.v(base - 16, 16) == alone.v(base + SIZE, 16) == b"\xff" * 16
    assert dirty(alone, base, SIZE) < 3 * CHUNK  # those at both ends, and pages beside


def test_what_is_set_as_a_whole_costs_no_page(alone: Any) -> None:
    base = new_block(alone)
    for at in range(0, SIZE, 1 << 20):
        alone.lib.rt_shadow_set(base + at, 1 << 20, 0)
    assert alone.v(base, SIZE) == bytes(SIZE)
    assert dirty(alone, base, SIZE) < 3 * CHUNK


def test_one_undefined_bit_keeps_its_chunk(alone: Any) -> None:
    base = new_block(alone)
    at = SIZE // 2 + 12345
    before = dirty(alone, base, SIZE)
    store(alone, base, at)
    store(alone, base + at + 8, SIZE - at - 8)
    assert alone.v(base, SIZE) == bytes(at) + b"\xff" * 8 + bytes(SIZE - at - 8)
    assert before < dirty(alone, base, SIZE) < 4 * CHUNK


@pytest.mark.parametrize("why", ["threads", "small"])
def test_not_where_it_would_be_wrong_or_of_no_use(sh: Any, why: str) -> None:
    sh.lib.rt_alone = why != "threads"
    try:
        size = SIZE if why == "threads" else 2 << 20
        base = new_block(sh, size)
        store(sh, base, size)
    finally:
        sh.lib.rt_alone = False
    assert sh.v(base, size) == bytes(size)
    assert dirty(sh, base, size) > size // 2


def test_a_freed_block_is_undefined_and_forgotten(alone: Any) -> None:
    base = new_block(alone)
    store(alone, base, SIZE)
    alone.lib.sh_block_released(base, SIZE, False)
    assert alone.v(base, SIZE) == b"\xff" * SIZE
    assert not alone.lib.sh_is_large(base + SIZE // 2)


def test_any_order_matches_a_model(alone: Any) -> None:
    rng = random.Random(1)
    base = new_block(alone)
    model = bytearray(b"\xff" * SIZE)
    for _ in range(200):
        at = rng.randrange(SIZE)
        n = min(rng.choice((8, 5000, 300_000, 1_500_000)), SIZE - at)
        if rng.randrange(4):
            store(alone, base + at, n)
            model[at : at + n] = bytes(n)
        else:
            state = rng.randrange(2)
            alone.lib.rt_shadow_set(base + at, n, state)
            model[at : at + n] = bytes([0xFF if state else 0]) * n
    assert alone.v(base, SIZE) == bytes(model)


def test_idle_memory_costs_no_page(sh: Any) -> None:
    base = idle_memory(sh)
    assert dirty(sh, base, SIZE) >= SIZE - 8192
    sh.lib.sh_idle(base, SIZE)
    assert dirty(sh, base, SIZE) <= 2 * 8192
    assert dirty(sh, base, SIZE, "Rss") <= 4 * 8192  # nor a look at each
    assert sh.v(base, SIZE) == b"\xff" * SIZE


def test_idle_memory_that_the_program_has_declared_its_own(sh: Any) -> None:
    base = idle_memory(sh)
    places = [100, 12345, SIZE // 2, SIZE - 9]
    for at in places:
        sh.lib.rt_shadow_set(base + at, 3, 0)
    sh.lib.sh_idle(base, SIZE)
    expected = bytearray(b"\xff" * SIZE)
    for at in places:
        expected[at : at + 3] = bytes(3)
    assert sh.v(base, SIZE) == expected


def test_idle_memory_where_the_pages_of_ones_have_gone(sh: Any) -> None:
    base = idle_memory(sh)
    sh.lib.rt_shadow_set(base + 4096, SIZE - 8192, 0)  # as a whole: fresh pages
    sh.lib.rt_shadow_set(base + 4096, SIZE - 8192, NOACCESS)
    sh.lib.sh_idle(base, SIZE)
    assert sh.v(base, SIZE) == b"\xff" * SIZE


def test_filling_and_copying_defined_bytes_costs_no_page(sh: Any) -> None:
    base, size = sh.new_map(2 << 20), 1 << 20
    sh.lib.rt_shadow_mapped(base, 2 << 20, 0)
    before = dirty(sh, base, 2 << 20)
    sh.lib.heap_hook_filled(base + 100, base, size)
    sh.lib.heap_hook_copied(sh.ts, base + size + 100, base + 200, size // 2)
    assert dirty(sh, base, 2 << 20) == before
    sh.lib.rt_shadow_set(base + 5000, 9000, 1)
    sh.lib.heap_hook_copied(sh.ts, base + size, base, 20000)
    assert sh.v(base + size, 20000) == bytes(5000) + b"\xff" * 9000 + bytes(6000)
    sh.lib.heap_hook_filled(base + size + 1, base, 19000)
    assert sh.v(base + size, 20000) == bytes(20000)
