"""Descriptions of addresses: texts and the order of the search."""

from __future__ import annotations

import pytest
from tools.memcheck.report.space import Space

from interpose.report.places import Segment, StackPosition
from interpose.tools.memcheck.addrinfo import (
    ClientBlock,
    DataSymbol,
    Section,
    Variable,
    describe_address,
)
from interpose.tools.memcheck.heap import BlockMap, HeapBlock


def texts(space: Space, addr: int) -> list[str]:
    return [part.text for part in describe_address(space, addr)]


BLOCK = HeapBlock(0x1000, 16, alloc_stack=(1, 2))
FREED = HeapBlock(0x1000, 100, alloc_stack=(1,), free_stack=(2,), freed=True)


@pytest.mark.parametrize(
    ("addr", "where"),
    [
        (0x0FFF, "1 bytes before"),
        (0x0FF0, "16 bytes before"),
        (0x1000, "0 bytes inside"),
        (0x100F, "15 bytes inside"),
        (0x1010, "0 bytes after"),
        (0x1014, "4 bytes after"),
    ],
)
def test_live_blocks(addr, where):
    parts = describe_address(Space(live=[BLOCK]), addr)
    assert [(part.text, part.stack) for part in parts] == [
        (f"Address 0x{addr:x} is {where} a block of size 16 alloc'd", (1, 2))
    ]


def test_freed_blocks_show_both_stacks():
    parts = describe_address(Space(freed=[FREED]), 0x1032)
    assert [(part.text, part.stack) for part in parts] == [
        ("Address 0x1032 is 50 bytes inside a block of size 100 free'd", (2,)),
        ("Block was alloc'd at", (1,)),
    ]


def test_freed_blocks_without_an_allocation_stack():
    block = HeapBlock(0x1000, 100, free_stack=(2,), freed=True)
    assert len(describe_address(Space(freed=[block]), 0x1032)) == 1


def test_an_address_in_the_red_zones_of_a_live_and_a_freed_block():
    space = Space(live=[HeapBlock(0x1020, 16)], freed=[HeapBlock(0x1000, 16, freed=True)])
    assert texts(space, 0x1015) == [
        "Address 0x1015 is 11 bytes before a recently re-allocated block of size 16 alloc'd"
    ]


def test_sizes_are_grouped():
    space = Space(live=[HeapBlock(0x1000, 10_000)])
    assert texts(space, 0x2388) == ["Address 0x2388 is 5,000 bytes inside a block of size 10,000 alloc'd"]


SYMBOL = DataSymbol("gbuf", 33)
STACK = StackPosition(1, 1, "main", "b.c", 21)
ANON = Segment("anonymous", 0x1000, 0x2000, "rw-")
IN_ORDER = [
    (
        {"client": ClientBlock(0x1000, 10, "my block", (5,))},
        "Address 0x1002 is 2 bytes inside a my block of size 10 client-defined",
    ),
    ({"pool": HeapBlock(0x1001, 8)}, "Address 0x1002 is 1 bytes inside a block of size 8 client-defined"),
    ({"live": [BLOCK]}, "Address 0x1002 is 2 bytes inside a block of size 16 alloc'd"),
    ({"freed": [FREED]}, "Address 0x1002 is 2 bytes inside a block of size 100 free'd"),
    (
        {"metapool": HeapBlock(0x1000, 64)},
        "Address 0x1002 is 2 bytes inside a block of size 64 client-defined",
    ),
    ({"variable": Variable("v", 1)}, 'Location 0x1002 is 1 byte inside global var "v"'),
    ({"symbol": SYMBOL}, 'Address 0x1002 is 33 bytes inside data symbol "gbuf"'),
    ({"static": Variable("s", 1)}, 'Location 0x1002 is 1 byte inside global var "s"'),
    ({"stack": STACK}, "Address 0x1002 is on thread 1's stack"),
    (
        {"gap": (0x1000, 0x3000)},
        'Address 0x1002 is 2 bytes inside an unallocated block of size 8,192 in arena "client"',
    ),
    ({"section": Section("Text", "/bin/b")}, "Address 0x1002 is in the Text segment of /bin/b"),
    (
        {"below_stack": True},
        "Address 0x1002 is just below the stack ptr.  To suppress, use: --workaround-gcc296-bugs=yes",
    ),
    ({"brk": (0x1000, 0x3000)}, "Address 0x1002 is in the brk data segment 0x1000-0x2fff"),
    ({"segment": ANON}, "Address 0x1002 is in a rw- anonymous segment"),
    ({}, "Address 0x1002 is not stack'd, malloc'd or (recently) free'd"),
]


@pytest.mark.parametrize("first", range(len(IN_ORDER)))
def test_the_order_of_the_search(first):
    space = Space()
    for fields, _ in IN_ORDER[first:]:
        for name, value in fields.items():
            setattr(space, name, value)
    fields, expected = IN_ORDER[first]
    if "live" in fields:  # the freed block of the next step lies there too
        expected = expected.replace("a block", "a recently re-allocated block")
    assert texts(space, 0x1002)[0] == expected


@pytest.mark.parametrize(
    ("position", "lines"),
    [
        (STACK, ["in frame #1, created by main (b.c:21)"]),
        (StackPosition(2, 0), ["in frame #0, created by ??? (???:)"]),
        (StackPosition(1, below_sp=184), ["184 bytes below stack pointer"]),
        (StackPosition(1, below_sp=129), ["129 bytes below stack pointer"]),
        (StackPosition(1, below_sp=128), []),
        (
            StackPosition(1, below_sp=4096, in_guard=True),
            ["In stack guard protected page, 4096 bytes below stack pointer"],
        ),
    ],
)
def test_stacks(position, lines):
    assert texts(Space(stack=position), 0x10) == [f"Address 0x10 is on thread {position.tid}'s stack", *lines]


def test_text_segments_show_the_place():
    part = describe_address(Space(section=Section("Text", "/bin/b")), 0x1093D0)[0]
    assert part.stack == (0x1093D0,)
    assert describe_address(Space(section=Section("Data", "/bin/b")), 0x1093D0)[0].stack is None


@pytest.mark.parametrize(
    ("segment", "text"),
    [
        (Segment("file", 0, 9, "r-x", "/lib/x"), "in a r-x mapped file /lib/x segment"),
        (Segment("shm", 0, 9, "rw-"), "in a rw- shared memory segment"),
        (Segment("anonymous", 0, 9, "---"), "in a --- anonymous segment"),
    ],
)
def test_mappings(segment, text):
    assert texts(Space(segment=segment), 5) == [f"Address 0x5 is {text}"]


def test_after_the_brk_limit():
    space = Space(brk=(0x1000, 0x2000), segment=Segment("brk", 0x1000, 0x4000, "rw-"))
    assert texts(space, 0x2010) == ["Address 0x2010 is 16 bytes after the brk data segment limit 0x2000"]


FRAME = "in frame #0 of thread 1"
LOCAL = f"declared at a.c:5, {FRAME}"


@pytest.mark.parametrize(
    ("variable", "lines"),
    [
        (
            Variable("v", 2, "", "a.c", 5, 0, 1),
            ['2 bytes inside local var "v"', LOCAL],
        ),
        (Variable("v", 1, ".f[3]", "a.c", 5, 0, 1), ["1 byte inside v.f[3],", LOCAL]),
        (Variable("v", 0, "", None, None, 0, 1), ['0 bytes inside local var "v",', FRAME]),
        (Variable("v", 0, ".f", None, None, 0, 1), ["0 bytes inside v.f", FRAME]),
        (Variable("g", 0, "", "a.c", 5), ['0 bytes inside global var "g"', "declared at a.c:5"]),
        (Variable("g", 0, "[1]", "a.c", 5), ["0 bytes inside g[1],", "a global variable declared at a.c:5"]),
        (Variable("g", 0), ['0 bytes inside global var "g"']),
        (Variable("g", 0, ".f"), ["0 bytes inside g.f,", "a global variable"]),
    ],
)
def test_variables(variable, lines):
    """As Valgrind 3.19 writes them, commas included."""
    assert texts(Space(variable=variable), 0x10) == [f"Location 0x10 is {lines[0]}", *lines[1:]]


def test_a_far_block_is_named_if_nothing_better_is_known():
    far = HeapBlock(0x1000, 16)
    assert texts(Space(live=[far], segment=ANON), 0x1028) == [
        "Address 0x1028 is 24 bytes after a block of size 16 alloc'd"
    ]
    assert texts(Space(live=[far], symbol=SYMBOL), 0x1028) == [
        'Address 0x1028 is 33 bytes inside data symbol "gbuf"'
    ]
    assert texts(Space(live=[far], segment=ANON), 0x1100) == ["Address 0x1100 is in a rw- anonymous segment"]


def test_nearest_block():
    blocks = BlockMap.of([HeapBlock(0x100, 16), HeapBlock(0x130, 16), HeapBlock(0x130 + 64, 0)])
    assert blocks.near(0x112, 16) == HeapBlock(0x100, 16)
    assert blocks.near(0x128, 16) == HeapBlock(0x130, 16)
    assert blocks.near(0x128, 7) is None
    assert blocks.near(0x10F) == HeapBlock(0x100, 16)
    assert blocks.near(0x110) is None
    assert blocks.near(0x170) == HeapBlock(0x170, 0)


def test_of_nested_blocks_the_inner_one():
    outer, inner = HeapBlock(0x100, 0x100), HeapBlock(0x140, 16)
    blocks = BlockMap.of([outer, inner])
    assert blocks.near(0x148) == inner
    assert blocks.near(0x1F0) == outer
    assert blocks.near(0x150, 16, 24) == inner
    assert blocks.near(0x167, 16, 24) == inner
    assert blocks.near(0x168, 16, 24) == outer
    assert blocks.near(0x130, 16, 24) == inner
    assert blocks.near(0x200, 16, 24) == outer
