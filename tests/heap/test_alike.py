"""Spans of defined blocks of one size have their V bytes in common, and nothing that they say is lost."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from heap.test_heap import free, malloc
from shadow.hosted import larger_than_ever, own_part


@pytest.fixture
def full(sh: Any) -> Iterator[Any]:
    """A heap that is larger than ever, in a process with one thread."""
    sh.lib.rt_alone = True
    sh.large = malloc(sh, larger_than_ever())
    yield sh
    if sh.large:
        free(sh, sh.large)
    sh.lib.rt_alone = False
    assert not sh.errors()


def new_blocks(sh: Any, size: int, total: int) -> list[int]:
    """Blocks that are filled as soon as they are there."""
    blocks = []
    for _ in range(total // size):
        blocks.append(malloc(sh, size))
        sh.ffi.memmove(sh.ffi.cast("char *", blocks[-1] + sh.lib.IP_V_CONST), bytes(size), size)
    return blocks


def fill_quarantine(sh: Any) -> None:
    """What has waited there leaves it, and its cells can be given again."""
    for _ in range(60):
        free(sh, malloc(sh, 500_000))


@pytest.mark.parametrize("size", [40, 1000, 5003])
def test_all_defined(full: Any, size: int) -> None:
    blocks = new_blocks(full, size, 8 << 20)
    assert own_part(full, blocks) < 0.3
    room = -size % 16 + 16
    for p in blocks[:: 1 + len(blocks) // 500]:
        assert full.v(p - 16, 16 + size + room) == b"\xff" * 16 + bytes(size) + b"\xff" * room
    for p in blocks[::2]:
        free(full, p)
    assert all(full.v(p, size) == b"\xff" * size for p in blocks[::2])
    assert all(full.v(p, size) == bytes(size) for p in blocks[1::2])
    for p in blocks[1::2]:
        free(full, p)
    assert all(full.v(p, size) == b"\xff" * size for p in blocks)
    fill_quarantine(full)
    again = new_blocks(full, size, 8 << 20)
    assert set(blocks) & set(again)
    assert all(full.v(p, size) == bytes(size) for p in again)
    for p in again:
        free(full, p)
    assert all(full.v(p, size) == b"\xff" * size for p in [*blocks, *again])


def test_what_differs_keeps_its_span(full: Any) -> None:
    blocks = new_blocks(full, 600, 2 << 20)
    marked = malloc(full, 600)
    full.ffi.memmove(
        full.ffi.cast("char *", marked + full.lib.IP_V_CONST), bytes(300) + b"\x04" + bytes(299), 600
    )
    blocks += new_blocks(full, 600, 2 << 20)
    assert full.v(marked, 600) == bytes(300) + b"\x04" + bytes(299)
    assert own_part(full, blocks) < 0.3
    for p in [*blocks, marked]:
        free(full, p)


@pytest.mark.parametrize("why", ["threads", "sizes"])
def test_not_where_it_would_be_wrong(full: Any, why: str) -> None:
    full.lib.rt_alone = why != "threads"
    blocks = []
    for n in range(4000):
        blocks += new_blocks(full, 700 if why == "threads" else 700 - n % 2, 700)
    assert own_part(full, blocks) > 0.8
    for p in blocks:
        free(full, p)


def test_what_a_request_has_declared_in_freed_memory(full: Any) -> None:
    blocks = new_blocks(full, 3500, 8 << 20)
    free(full, full.large)
    full.large = 0
    early, late = blocks[: len(blocks) // 4], blocks[len(blocks) // 4 :]
    for p in early:
        free(full, p)
    for p in early[::100]:
        full.lib.rt_shadow_set(p + 64, 8, 0)
    more = new_blocks(full, 1000, 1 << 20)  # the heap is small again
    assert own_part(full, late) < 0.3
    for p in late:
        free(full, p)  # which makes it look for what is nobody's
    assert own_part(full, early) < 0.3
    for p in early[::100]:
        assert full.v(p, 200) == b"\xff" * 64 + bytes(8) + b"\xff" * 128
        full.lib.rt_shadow_set(p + 64, 8, 2)
    for p in more:
        free(full, p)


def test_patterns_of_a_child_are_its_own(full: Any) -> None:
    before = new_blocks(full, 440, 1 << 20)
    child = os.fork()
    if not child:
        new_blocks(full, 450, 4 << 20)
        os._exit(0)
    os.waitpid(child, 0)
    mine = new_blocks(full, 470, 1 << 20)
    assert all(full.v(p, 470) == bytes(470) and full.v(p + 470, 10) == b"\xff" * 10 for p in mine)
    assert all(full.v(p, 440) == bytes(440) for p in before)
    for p in [*before, *mine]:
        free(full, p)


@pytest.mark.parametrize("size", [50_000, 131_072, 1_000_003])
def test_blocks_with_spans_of_their_own(full: Any, size: int) -> None:
    blocks = new_blocks(full, size, 12 << 20)
    assert own_part(full, [p + size // 2 for p in blocks]) < 0.3
    for p in blocks[:: 1 + len(blocks) // 20]:
        assert full.v(p - 16, 16 + size + 16) == b"\xff" * 16 + bytes(size) + b"\xff" * 16
    for p in blocks[::2]:
        free(full, p)
    assert all(full.v(p, size) == b"\xff" * size for p in blocks[:100:2])
    assert all(full.v(p, size) == bytes(size) for p in blocks[1:100:2])
    for p in blocks[1::2]:
        free(full, p)
    assert all(full.v(p, size) == b"\xff" * size for p in blocks[:100])
    given_again: set[int] = set()
    for _ in range(20):  # what waits in the quarantine, and where, depends on the tests before
        again = new_blocks(full, size, 12 << 20)
        given_again = set(blocks) & set(again)
        assert all(full.v(p, size) == bytes(size) for p in again[:100])
        for p in again:
            free(full, p)
        assert all(full.v(p, size) == b"\xff" * size for p in [*blocks[:100], *again[:100]])
        if given_again:
            break
    assert given_again


def test_undefined_bytes_of_a_block_with_a_span_of_its_own(full: Any) -> None:
    size = 200_000
    before = new_blocks(full, size, 4 << 20)
    marked = malloc(full, size)
    text = bytes(100_000) + b"\x01" + bytes(99_999)
    full.ffi.memmove(full.ffi.cast("char *", marked + full.lib.IP_V_CONST), text, size)
    after = new_blocks(full, size, 4 << 20)
    assert full.v(marked, size) == text
    full.lib.rt_shadow_set(before[0] + 50_000, 20_000, 1)  # undefined again
    assert full.v(before[0], size) == bytes(50_000) + b"\xff" * 20_000 + bytes(size - 70_000)
    for p in [*before, marked, *after]:
        free(full, p)
    assert all(full.v(p, size) == b"\xff" * size for p in [*before, marked, *after])


def test_a_block_with_a_span_of_its_own_that_moves(full: Any) -> None:
    size = 300_000
    blocks = new_blocks(full, size, 8 << 20)
    short = full.request(full.lib.IP_HR_REALLOC, blocks[0], 100_000)
    long = full.request(full.lib.IP_HR_REALLOC, blocks[1], 500_000)
    assert full.v(short, 100_010) == bytes(100_000) + b"\xff" * 10
    assert full.v(long, 500_000) == bytes(size) + b"\xff" * 200_000
    assert all(full.v(p, size) == b"\xff" * size for p in blocks[:2])
    for p in [short, long, *blocks[2:]]:
        free(full, p)
    assert all(full.v(p, 100_000) == b"\xff" * 100_000 for p in [short, long, *blocks[2:]])
