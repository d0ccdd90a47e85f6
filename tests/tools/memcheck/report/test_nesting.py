"""Blocks that lie in one another: which of them count, and who owns the bytes of a metapool's chunk."""

from __future__ import annotations

import random

from interpose.tools.memcheck.heap import AllocKind, HeapBlock
from interpose.tools.memcheck.nesting import arrange

BASE = 0x1000


def block(start: int, size: int, kind: AllocKind = AllocKind.CUSTOM) -> HeapBlock:
    return HeapBlock(BASE + start, size, kind)


def test_an_allocated_block_gives_way_to_what_the_program_makes_known_in_it():
    outer, inner = block(0, 100, AllocKind.MALLOC), block(10, 20, AllocKind.POOL)
    found = arrange([inner, outer, block(200, 8, AllocKind.MALLOC)])
    assert found.blocks == found.parts == [inner, block(200, 8, AllocKind.MALLOC)]
    assert found.dropped == [(BASE, BASE + 100)] and not found.overlaps
    assert found.is_dropped(BASE + 99) and not found.is_dropped(BASE + 100)


def test_two_of_the_programs_blocks_must_not_overlap():
    for first, second in (
        (block(0, 100), block(0, 100)),
        (block(0, 100), block(20, 10)),
        (block(0, 100, AllocKind.POOL), block(20, 10)),
        (block(0, 100, AllocKind.METAPOOL), block(20, 200, AllocKind.METAPOOL)),
    ):
        found = arrange([second, first])
        assert found.overlaps == [(first, second)] and found.blocks == [second]


def test_neighbours_and_empty_blocks_do_not_overlap():
    blocks = [block(0, 16), block(16, 0), block(16, 16), block(32, 16)]
    found = arrange([*blocks, block(40, 0)])
    assert not found.overlaps and found.blocks == blocks


def test_an_empty_block_of_the_programs_counts_as_any_other_in_an_allocated_one():
    outer, inner = block(0, 100, AllocKind.MALLOC), block(10, 0, AllocKind.POOL)
    found = arrange([outer, inner])
    assert found.blocks == [inner] and found.dropped == [(BASE, BASE + 100)] and not found.overlaps
    among_others = arrange([block(0, 100, AllocKind.POOL), inner])
    assert among_others.blocks == [block(0, 100, AllocKind.POOL)] and not among_others.overlaps


def test_a_chunk_of_a_metapool_owns_what_no_block_in_it_owns():
    chunk = block(0, 100, AllocKind.METAPOOL)
    inner = [block(0, 10), block(40, 20), block(90, 10)]
    after = block(120, 8, AllocKind.MALLOC)
    found = arrange([after, *inner, chunk])
    assert found.blocks == [chunk, *inner, after] and not found.overlaps
    assert [(part.addr - BASE, part.size) for part in found.parts] == [
        (0, 10),
        (10, 30),
        (40, 20),
        (60, 30),
        (90, 10),
        (120, 8),
    ]
    assert found.owners == [1, 0, 2, 0, 3, 4]
    assert found.holders == {1: [0]}


def test_parts_of_any_blocks_are_disjoint_and_own_what_they_should():
    chance = random.Random(7)
    kinds = list(AllocKind)
    for _ in range(300):
        blocks = [
            block(chance.randrange(300), chance.randrange(60), chance.choice(kinds))
            for _ in range(chance.randrange(1, 25))
        ]
        found = arrange(blocks)
        owners = found.owners or range(len(found.parts))
        end = 0
        for part, owner in zip(found.parts, owners, strict=True):
            assert part.addr >= end
            end = part.end
            assert found.blocks[owner].addr <= part.addr and part.end <= found.blocks[owner].end
        for at in range(BASE, BASE + 400):
            holding = [each for each in found.blocks if each.addr <= at < each.end]
            mine = [
                found.blocks[owner]
                for part, owner in zip(found.parts, owners, strict=True)
                if part.addr <= at < part.end
            ]
            assert len(mine) == bool(holding)
            assert not mine or mine[0].kind is not AllocKind.METAPOOL or len(holding) == 1
