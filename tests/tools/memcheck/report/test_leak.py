"""Leak search: which blocks are reachable, possibly lost, lost, and with what."""

from __future__ import annotations

import struct
from array import array as Words
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpose.tools.memcheck.blocks import Blocks
from interpose.tools.memcheck.heap import AllocKind, HeapBlock
from interpose.tools.memcheck.leak import Heuristics, Hit, LeakSearch, State, make_scanner, rows_of, search

GLOBALS = 0x10_0000
HEAP = 0x100_0000
NONE = 0xFFFF_FFFF
CODE = 0x20_0000
TABLES = 0x30_0000
R, P, IND, D = State.REACHABLE, State.POSSIBLE, State.INDIRECT, State.DEFINITE


@dataclass
class Memory:
    """Client memory of three readable regions; words may be marked bad."""

    words: dict[int, int] = field(default_factory=dict)
    bad: set[int] = field(default_factory=set)
    values: list[int] = field(default_factory=list)
    unreadable: set[int] = field(default_factory=set)
    closed: tuple[int, int] = (0, 0)
    """What the program may not read."""
    size: int = 0x4000
    nudge: int = 0
    asked: list[int] = field(default_factory=list)
    killed_at: int | None = None
    """How often it is still seen alive."""
    looks: int = 0

    def regions(self):
        return [
            (GLOBALS + self.nudge, GLOBALS + self.size),
            (TABLES, TABLES + self.size),
            (HEAP, HEAP + self.size),
        ]

    def readable(self):
        return [(0, self.closed[0]), (self.closed[1], 1 << 47)]

    def read(self, addr: int, length: int) -> bytes | None:
        if any(addr <= page < addr + length for page in self.unreadable):
            return None
        data = bytearray(length)
        for at, value in self.words.items():
            if addr <= at and at + 8 <= addr + length:
                struct.pack_into("<Q", data, at - addr, value)
        return bytes(data)

    def valid_words(self, addrs):
        assert list(addrs) == sorted(addrs)
        self.asked += list(addrs)
        return [addr not in self.bad for addr in addrs]

    def read_words(self, addrs):
        assert list(addrs) == sorted(addrs)
        return [int.from_bytes(self.read(addr, 8) or b"", "little") for addr in addrs]

    def registers(self):
        return self.values

    def is_code(self, addr: int) -> bool:
        return CODE <= addr < CODE + 0x1000

    def is_gone(self) -> bool:
        self.looks += 1
        return self.killed_at is not None and self.looks > self.killed_at


def blocks(*sizes: int, kind: AllocKind = AllocKind.MALLOC) -> list[HeapBlock]:
    """Blocks 0x100 apart."""
    return [HeapBlock(HEAP + 0x100 * number, size, kind) for number, size in enumerate(sizes)]


def run(memory: Memory, heap: list[HeapBlock], **options) -> LeakSearch:
    return search(heap, memory, **options)


def indirect_of(result: LeakSearch) -> dict[int, tuple[int, int]]:
    """For each leader: bytes and blocks lost with it."""
    sums: dict[int, tuple[int, int]] = {}
    for index, leader in enumerate(result.clique):
        if leader != index:
            size, count = sums.get(leader, (0, 0))
            sums[leader] = (size + result.blocks[index].size, count + 1)
    return sums


def at(number: int, offset: int = 0) -> int:
    return HEAP + 0x100 * number + offset


def test_an_unreferenced_block_is_definitely_lost():
    result = run(Memory(), blocks(32))
    assert result.state == [D]
    assert result.checked_bytes == 3 * 0x4000


def test_no_blocks():
    assert run(Memory(words={GLOBALS: HEAP}), []).state == []


# The nine cases of the memcheck manual: RRR is a root, AAA block 0, BBB block 1.
@pytest.mark.parametrize(
    ("root", "inner", "expected"),
    [
        ({GLOBALS: at(1)}, {}, [D, R]),  # 1
        ({GLOBALS: at(0)}, {at(0): at(1)}, [R, R]),  # 2
        ({}, {}, [D, D]),  # 3
        ({}, {at(0): at(1)}, [D, IND]),  # 4
        ({GLOBALS: at(1, 4)}, {}, [D, P]),  # 5
        ({GLOBALS: at(0)}, {at(0): at(1, 4)}, [R, P]),  # 6
        ({GLOBALS: at(0, 4)}, {at(0): at(1)}, [P, P]),  # 7
        ({GLOBALS: at(0, 4)}, {at(0): at(1, 4)}, [P, P]),  # 8
        ({}, {at(0): at(1, 4)}, [D, IND]),  # 9
    ],
)
def test_the_nine_cases(root, inner, expected):
    assert run(Memory(words={**root, **inner}), blocks(32, 32)).state == expected


def test_start_pointers_win_over_interior_ones():
    words = {GLOBALS: at(0, 8), GLOBALS + 8: at(1), at(1): at(0), at(0): at(2, 8), at(2): at(3)}
    memory = Memory(words=words)
    assert run(memory, blocks(32, 32, 32, 32)).state == [R, R, P, P]


def test_a_reachable_chain_saves_what_a_possible_one_leads_to():
    memory = Memory(words={GLOBALS: at(0, 8), at(0): at(2), GLOBALS + 8: at(1), at(1): at(2)})
    assert run(memory, blocks(32, 32, 32)).state == [P, R, R]


def test_a_cycle_hangs_on_its_first_block():
    memory = Memory(words={at(0): at(1), at(1): at(2), at(2): at(0)})
    result = run(memory, blocks(10, 20, 30))
    assert result.state == [D, IND, IND]
    assert result.clique == [0, 0, 0]
    assert indirect_of(result) == {0: (50, 2)}


def test_a_block_pointing_at_itself_is_definitely_lost():
    assert run(Memory(words={at(0): at(0)}), blocks(16)).state == [D]


def test_a_later_block_takes_an_earlier_leader_with_all_that_is_its_own():
    memory = Memory(words={at(0): at(1), at(2): at(0)})
    result = run(memory, blocks(10, 20, 30))
    assert result.state == [IND, IND, D]
    assert indirect_of(result) == {2: (30, 2)}


def test_leaders_of_leaders():
    memory = Memory(words={at(1): at(0), at(2): at(1), at(3): at(2)})
    result = run(memory, blocks(8, 16, 32, 64))
    assert result.state == [IND, IND, IND, D]
    assert indirect_of(result) == {3: (56, 3)}


def test_what_two_leaders_share_hangs_on_one():
    memory = Memory(words={at(0): at(2), at(1): at(2)})
    result = run(memory, blocks(10, 20, 30))
    assert result.state == [D, D, IND]
    assert indirect_of(result) == {0: (30, 1)}


def test_undefined_and_unaddressable_words_are_no_pointers():
    memory = Memory(words={GLOBALS: at(0), GLOBALS + 8: at(1)}, bad={GLOBALS})
    assert run(memory, blocks(16, 16)).state == [D, R]
    assert memory.asked == [GLOBALS, GLOBALS + 8]


def test_registers_are_roots():
    assert run(Memory(values=[at(1), at(2, 4), 5]), blocks(16, 16, 16)).state == [D, R, P]


def test_what_points_where_nothing_can_be_read_is_no_pointer():
    memory = Memory(
        words={GLOBALS: at(0), GLOBALS + 8: at(1, 15), GLOBALS + 16: at(1, 16)},
        values=[at(2), at(3)],
        closed=(at(1, 16), at(3)),
    )
    assert run(memory, blocks(16, 32, 16, 16)).state == [R, P, D, R]
    memory.closed = (at(1, 15), at(3))
    assert run(memory, blocks(16, 32, 16, 16)).state == [R, D, D, R]
    memory.closed = (at(0), at(3, 1))
    assert run(memory, blocks(16, 32, 16, 16)).state == [D, D, D, D]
    memory.closed = (at(0, 16), at(1))  # between blocks
    assert run(memory, blocks(16, 32, 16, 16)).state == [R, P, R, R]


def test_only_aligned_words_count():
    memory = Memory(nudge=4, words={GLOBALS + 12: at(0), GLOBALS + 16 + 8: at(1)})
    assert run(memory, blocks(16, 16)).state == [D, R]


def test_a_pointer_past_the_end_is_none():
    assert run(Memory(words={GLOBALS: at(0, 16), GLOBALS + 8: at(1, 15)}), blocks(16, 16)).state == [D, P]


def test_empty_blocks_are_reached_by_their_start():
    assert run(Memory(words={GLOBALS: at(0), GLOBALS + 8: at(1, 1)}), blocks(0, 0)).state == [R, D]


def test_words_between_blocks_are_roots_if_they_are_valid():
    memory = Memory(words={at(0, 0x80): at(1)})
    assert run(memory, blocks(16, 16)).state == [D, R]


def test_pages_that_cannot_be_read_are_left_out():
    memory = Memory(words={GLOBALS: at(0), GLOBALS + 0x1000: at(1)}, unreadable={GLOBALS + 0x1000})
    result = run(memory, blocks(16, 16))
    assert result.state == [R, D]
    assert result.checked_bytes == 3 * 0x4000 - 0x1000


def test_of_nested_blocks_only_the_inner_are_searched():
    outer = HeapBlock(HEAP, 0x400)
    inner = [HeapBlock(HEAP + 0x100, 16, AllocKind.CUSTOM), HeapBlock(HEAP + 0x200, 16, AllocKind.CUSTOM)]
    memory = Memory(words={GLOBALS: HEAP, HEAP: HEAP + 0x100, GLOBALS + 8: HEAP + 0x200})
    result = run(memory, [outer, *inner])
    assert list(result.blocks) == inner
    assert result.state == [D, R]


# -- heuristics


def vtables() -> dict[int, int]:
    return {TABLES + 0x10: CODE + 8, TABLES + 0x48: CODE + 16, TABLES + 0x80: 7}


@pytest.mark.parametrize(
    ("name", "heap", "words", "offset"),
    [
        ("stdstring", blocks(24 + 11), {at(0): 5, at(0, 8): 10}, 24),
        ("length64", blocks(64), {at(0): 56}, 8),
        ("newarray", blocks(88, kind=AllocKind.NEW_ARRAY), {at(0): 5}, 8),
        (
            "multipleinheritance",
            blocks(32),
            {at(0): TABLES + 0x10, at(0, 16): TABLES + 0x40, **vtables()},
            16,
        ),
    ],
)
def test_heuristics(name, heap, words, offset):
    words = {**words, GLOBALS: at(0, offset)}
    with_it = run(Memory(words=words), heap)
    assert (with_it.state, with_it.heuristic) == ([R], [name])
    others = {"stdstring", "length64", "newarray", "multipleinheritance"} - {name}
    if name == "length64":  # that is an array of objects of one byte each, too
        others.remove("newarray")
    assert run(Memory(words=words), heap, heuristics=others).state == [P]
    words[GLOBALS + 8] = at(0)
    better = run(Memory(words=words), heap)
    assert (better.state, better.heuristic) == ([R], [None])


def test_inner_pointers_that_no_heuristic_can_take_are_not_asked_for_one_by_one(monkeypatch):
    """A list whose links lead behind the headers of its objects, as that of Python's collector."""
    heap = blocks(*[48] * 60)
    words = {at(number): at(number + 1, 16) for number in range(59)}
    words |= {GLOBALS: at(0, 16), at(58): TABLES + 0x10, at(58, 8): at(59, 16), **vtables()}
    memory, asked = Memory(words=words), list[int]()
    match = Heuristics.match

    def counted(self, block, offset):
        asked.append(block.addr)
        return match(self, block, offset)

    monkeypatch.setattr(Heuristics, "match", counted)
    result = run(memory, heap)
    assert result.state == [P] * 60
    assert asked == [at(58)]


@given(st.lists(st.tuples(st.sampled_from((0, 4)), st.integers(0, 12)), max_size=20), st.data())
def test_which_blocks_begin_with_a_table(heads, data):
    """Known for all of them at once, and asked for one by one."""
    tables = {TABLES + 8 * n: data.draw(st.sampled_from((0, 0, CODE + 8, 7))) for n in range(12)}
    starts = [at(number, odd) for number, (odd, _) in enumerate(heads)]
    words = {start: TABLES + 8 * n for start, (_, n) in zip(starts, heads, strict=True)}
    some = st.sets(st.sampled_from(starts)) if starts else st.just(set())
    memory = Memory(words={**words, **tables}, bad=data.draw(some), unreadable=data.draw(some))
    heuristics = Heuristics(("multipleinheritance",), memory)
    one_by_one = [
        number
        for number, start in enumerate(starts)
        if heuristics.begins_with_table(HeapBlock(start, 32, alloc_stack=(1,), context=1))
    ]
    assert heuristics.may_begin_with_table(starts) == one_by_one


@pytest.mark.parametrize(
    ("heap", "words", "offset"),
    [
        (blocks(24 + 11), {at(0): 11, at(0, 8): 10}, 24),  # longer than its capacity
        (blocks(24 + 12), {at(0): 5, at(0, 8): 10}, 24),  # does not fill the block
        (blocks(64), {at(0): 55}, 8),
        (blocks(64), {at(0): 56}, 16),
        (blocks(88, kind=AllocKind.NEW_ARRAY), {at(0): 7}, 8),
        (blocks(88, kind=AllocKind.NEW_ARRAY), {at(0): 0}, 8),
        (blocks(32), {at(0): TABLES + 0x10, at(0, 16): TABLES + 0x80, **vtables()}, 16),
        (blocks(32), {at(0): TABLES + 0x10, at(0, 16): TABLES + 0x11, **vtables()}, 16),
    ],
)
def test_what_no_heuristic_takes(heap, words, offset):
    assert run(Memory(words={**words, GLOBALS: at(0, offset)}), heap).state == [P]


def test_blocks_reached_through_a_heuristic_block_are_reachable():
    memory = Memory(words={GLOBALS: at(0, 8), at(0): 56, at(0, 8): at(1)})
    result = run(memory, blocks(64, 16))
    assert result.state == [R, R]
    assert result.heuristic == ["length64", None]


@pytest.mark.parametrize("offset", [8, 16, 24])
def test_a_block_that_many_point_into_is_looked_at_once(offset):
    """The pages of a collector's heap, where every object is such a pointer: R's, SpiderMonkey's."""
    looks = []
    for count in (1, 1000):
        memory = Memory(words={GLOBALS + 8 * number: at(0, offset) for number in range(count)})
        assert run(memory, blocks(128)).state == [P]
        looks.append(len(memory.asked) - count)  # each pointer itself must be valid
    assert looks[0] == looks[1]


# -- what is in C against the same in Python


def python_scanner(heap: list[HeapBlock], base: int, data: bytes) -> Words[int]:
    hits = Words("Q")
    for number, word in enumerate(Words("Q", data)):
        where = base + 8 * number
        holder = next((index for index, block in enumerate(heap) if block.addr <= where < block.end), NONE)
        found = [
            index for index, block in enumerate(heap) if block.addr <= word < max(block.end, block.addr + 1)
        ]
        if found:
            hits.extend((where, word - heap[found[-1]].addr, holder << 32 | found[-1]))
    return hits


layout = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 40)), min_size=1, max_size=8)


@settings(max_examples=300)
@given(gaps=layout, data=st.data())
def test_both_scanners_find_the_same(gaps, data):
    addr, heap = 0x8000, []
    for gap, size in gaps:
        addr += 1 + gap * 4
        heap.append(HeapBlock(addr, size))
        addr += size
    words = data.draw(st.lists(st.integers(0x7FF0, addr + 16), max_size=40))
    base = 8 * data.draw(st.integers(0xFF0, addr // 8 + 2))
    copy = struct.pack(f"<{len(words)}Q", *words)
    assert make_scanner(Blocks.of(heap))(base, copy) == python_scanner(heap, base, copy)


def test_more_hits_than_fit_at_once(monkeypatch):
    monkeypatch.setattr("interpose.tools.memcheck.leak._HITS", 3)
    heap = [HeapBlock(0x8000, 64)]
    words = [0x8000 if number % 3 else 1 for number in range(20)]
    copy = struct.pack("<20Q", *words)
    hits = make_scanner(Blocks.of(heap))(0x1000, copy)
    assert hits == python_scanner(heap, 0x1000, copy)
    assert len(hits) == 3 * 13


LINK = st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 4), st.booleans())


@settings(max_examples=200)
@given(st.lists(LINK, max_size=20))
def test_against_a_fixpoint_from_the_manuals_definitions(links):
    """Blocks 0..4 of 32 bytes; a link (holder, slot, target, interior); holder 5 is the root."""
    words = {}
    for holder, slot, target, interior in links:
        base = GLOBALS if holder == 5 else at(holder)
        words[base + 8 * slot] = at(target, 4 if interior else 0)
    edges = [
        (5 if where < HEAP else (where - HEAP) // 0x100, (value - HEAP) // 0x100, bool(value & 0xFF))
        for where, value in words.items()
    ]
    heap = blocks(32, 32, 32, 32, 32)
    result = run(Memory(words=words), heap, heuristics=())

    reachable = closure({5}, [edge for edge in edges if not edge[2]])
    possible = closure(closure({5}, edges), edges) - reachable
    lost = {0, 1, 2, 3, 4} - reachable - possible
    for number, state in enumerate(result.state):
        if number in reachable:
            assert state is R
        elif number in possible:
            assert state is P
        else:
            assert state in (D, IND)
    leaders = {number for number in lost if result.state[number] is D}
    for number in lost:
        leader = result.clique[number]
        assert leader in leaders
        assert number in closure({leader}, edges)
    # Only what hangs on a leader may point at it.  (A later block that points into the cycle behind a leader
    # does not take it over: valgrind 3.19 does the same.)
    for source, target, _ in edges:
        if target in leaders and source in lost:
            assert result.clique[source] == target


def closure(start: set[int], edges: list[tuple[int, int, bool]]) -> set[int]:
    found = set(start)
    while more := {target for source, target, _ in edges if source in found} - found:
        found |= more
    return found


def python_walk(heap: list[HeapBlock], hits: list[Hit], takes) -> tuple[list, list, list]:
    """States, leaders and heuristics, by the same rules with a list for each block."""
    state, name, leader = [None] * len(heap), [None] * len(heap), list(range(len(heap)))
    edges = [[hit for hit in hits if hit.holder == index] for index in range(len(heap))]
    found = []

    def follow(hit, reachable):
        if state[hit.block] is R:
            if not hit.offset:
                name[hit.block] = None
            return
        by = takes(heap[hit.block], hit.offset) if hit.offset else None
        name[hit.block] = by or name[hit.block]
        now = R if reachable and (by or not hit.offset) else P
        if now is not state[hit.block]:
            state[hit.block] = now
            found.append(hit.block)

    for hit in hits:
        if hit.holder < 0:
            follow(hit, True)
    while found:
        holder = found.pop()
        for hit in edges[holder]:
            follow(hit, state[holder] is R)
    for first in range(len(heap)):
        if state[first] is not None:
            continue
        state[first], queue = D, list(edges[first])
        while queue:
            index = queue.pop().block
            if index == first or state[index] not in (None, D):
                continue
            if state[index] is None:
                queue += edges[index]
            state[index], leader[index] = IND, first
    for index in range(len(heap)):
        while leader[leader[index]] != leader[index]:
            leader[index] = leader[leader[index]]
    return state, leader, name


SOME = st.tuples(st.integers(-1, 7), st.integers(0, 7), st.sampled_from((0, 0, 8, 16, 24, 4)))


@settings(max_examples=500)
@given(st.lists(SOME, max_size=30), st.data())
def test_both_walks_come_to_the_same(links, data):
    """Blocks 0..7; a link (holder, target, offset), -1 is the root."""
    sizes = data.draw(st.lists(st.sampled_from((32, 40, 48)), min_size=8, max_size=8))
    heap = [
        HeapBlock(at(number), size, alloc_stack=(size, 7), context=size) for number, size in enumerate(sizes)
    ]
    words = vtables()
    for number in range(8):
        words[at(number)] = data.draw(st.sampled_from((0, 24, 3, TABLES + 0x10)))
        words[at(number, 16)] = data.draw(st.sampled_from((0, TABLES + 0x40)))
    memory = Memory(words=words)
    hits = [Hit(0, *link) for link in links]
    heuristics = Heuristics(("length64", "newarray", "multipleinheritance"), memory)
    result = LeakSearch(Blocks.of(heap), rows_of(hits), heuristics)
    state, leader, name = python_walk(heap, hits, heuristics.match)
    assert (result.state, result.clique, result.heuristic) == (state, leader, name)

    sums: dict[tuple, list[int]] = {}
    for index, block in enumerate(heap):
        for key, kind in ((index, 0), (leader[index], 1)):
            if kind and key == index:
                continue
            entry = sums.setdefault((state[key], heap[key].alloc_stack), [0, 0, 0, 0])
            entry[2 * kind] += block.size
            entry[2 * kind + 1] += 1
    groups = {
        (group.state, result.blocks.origin(group.origin)[0]): list(group[2:]) for group in result.groups
    }
    assert groups == sums
    for number, group in enumerate(result.groups):
        members = [block for block, of in enumerate(result.group_of) if of == number]
        assert all(state[each] is group.state for each in members) and len(members) == group.blocks
    found = {by: (size, count) for by, size, count in result.by_heuristic() if count}
    assert found == {
        by: (sum(block.size for block, each in zip(heap, name, strict=True) if each == by), name.count(by))
        for by in set(name) - {None}
    }


def test_more_groups_than_there_is_room_for_at_first():
    heap = [
        HeapBlock(HEAP + 16 * number, 16, alloc_stack=(number,), context=number) for number in range(9000)
    ]
    groups = run(Memory(), heap).groups
    assert [group.blocks for group in groups] == [1] * 9000


# -- blocks


def test_blocks_are_sorted_and_found():
    heap = [HeapBlock(64, 0), HeapBlock(16, 8, AllocKind.NEW), HeapBlock(32, 16)]
    found = Blocks.of(heap)
    assert list(found) == sorted(heap, key=lambda block: block.addr) and found.are_apart
    assert [found.find(addr) for addr in (15, 16, 23, 24, 47, 48, 64, 65)] == [
        None, 0, 0, None, 1, None, 2, None,
    ]  # fmt: skip
    assert not Blocks.of([HeapBlock(16, 8), HeapBlock(16, 0)]).are_apart
    assert not Blocks.of([HeapBlock(16, 9), HeapBlock(24, 1)]).are_apart


def test_the_nearest_chunk_is_found():
    pool, meta = AllocKind.POOL, AllocKind.METAPOOL
    outer, inner = HeapBlock(0x100, 64, pool, redzone=16), HeapBlock(0x110, 16, pool)
    found = Blocks.of([outer, inner, HeapBlock(0x200, 8), HeapBlock(0x300, 8, meta, redzone=4)])
    assert not found.only_chunks and Blocks.of([outer]).only_chunks and Blocks.of([]).only_chunks
    for addr, expected in (
        (0x118, inner),
        (0x104, outer),
        (0xF0, outer),
        (0xEF, None),
        (0x14F, outer),
        (0x150, None),
    ):
        assert found.chunk_at(addr, pool) == expected
    assert found.chunk_at(0x118, meta) is None and found.chunk_at(0x200, pool) is None
    assert found.chunk_at(0x30B, meta) == HeapBlock(0x300, 8, meta, redzone=4)
    assert found.chunk_at(0x30C, meta) is None
