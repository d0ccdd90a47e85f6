"""Names found by a table in C are those that a look at each of them finds."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from interpose.redir.index import TextIndex
from interpose.redir.model import SymbolColumns
from interpose.wildcards import literal_prefix

# Long ones with beginnings in common: their hashes take eight bytes at a time.
BARE = [
    "",
    "f",
    "fo",
    "foo",
    "memcpy",
    "memcpy_",
    "memcpy_avx_unaligned",
    "memcpy_avx_unaligned_",
    "\u00fc",
    "\udcff",
]
NAMES = st.builds(
    "".join, st.tuples(st.sampled_from(BARE), st.sampled_from(["", "@", "@V1", "@@V1", "@V1@V2"]))
)


def index_of(names: list[str]) -> TextIndex:
    rows = [(name, 0x10 * at, 4, True, False, True) for at, name in enumerate(names)]
    symbols = SymbolColumns.of(rows) if rows else SymbolColumns()
    return TextIndex(symbols, ((0, 0x10 * len(names) + 1),))


def expected(names: list[str], pattern: str) -> list[int]:
    if "@" in pattern:
        return [at for at, name in enumerate(names) if name == pattern]
    return [at for at, name in enumerate(names) if name.partition("@")[0] == pattern]


@settings(max_examples=300, deadline=None)
@given(names=st.lists(NAMES, max_size=60), pattern=NAMES)
def test_as_one_by_one(names, pattern):
    assert literal_prefix(pattern) == pattern
    index = index_of(names)
    assert list(index.find(pattern)) == expected(names, pattern)
    assert list(index.find("other")) == []


def test_many_of_one_name():
    names = [f"f@V{n}" for n in range(100)] + ["g"] + ["f"] * 3
    index = index_of(names)
    assert list(index.find("f")) == expected(names, "f")
    assert list(index.find("g")) == [100]
    assert list(index.find("f@V7")) == [7]
    assert index.named("f") == 0x10 * 101


def test_many_names():
    """More than the table's first places, and than what is kept of large files."""
    names = [f"function_{n}@@V{n % 3}" for n in range(20_000)]
    index = index_of(names)
    for n in (0, 1, 7777, 19_999):
        assert list(index.find(f"function_{n}")) == [n]
    index.release()
    assert not index.is_read
    assert list(index.find("function_12")) == [12] and list(index.find("function_20000")) == []
    assert index.is_read


def test_part_of_the_symbols():
    """Only what lies in the text counts, and positions are those in the text."""
    rows = [
        ("f", 0x10, 4, True, False, True),
        ("f", 0x20, 4, True, False, False),
        ("f", 0x30, 4, True, False, True),
    ]
    for ranges, found in (
        (((0, 0x40),), [0x10, 0x30]),
        (((0x10, 0x30),), [0x10]),
        (((0x11, 0x31),), [0x30]),
        (((0, 0x11), (0x30, 0x31)), [0x10, 0x30]),
        (((0x40, 0x50),), []),
    ):
        index = TextIndex(SymbolColumns.of(rows), ranges)
        assert [index.text.addresses[position] for position in index.find("f")] == found
