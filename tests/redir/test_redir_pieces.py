"""Looking for a piece of a pattern first does not change what the pattern finds."""

from __future__ import annotations

import random
from fnmatch import fnmatchcase

import pytest
from redir.known import KnownNames

from interpose.redir import CodeObject, RedirState
from interpose.redir.index import TextIndex
from interpose.redir.model import SymbolColumns
from interpose.wildcards import longest_piece
from interpose.zenc import encode


@pytest.mark.parametrize(
    ("pattern", "piece"),
    [
        ("malloc", "malloc"), ("*", ""), ("?", ""), ("str*", "str"), ("*_avx2", "_avx2"), ("a?bcd*ef", "bcd"),
        ("ab*cd", "ab"), ("", ""),
    ],
)  # fmt: skip
def test_the_longest_piece(pattern: str, piece: str) -> None:
    assert longest_piece(pattern) == piece


def _names(chance: random.Random) -> list[str]:
    names = ["".join(chance.choices("ab_", k=chance.randrange(1, 7))) for _ in range(300)]
    return [name + chance.choice(("", "", "@a_1", "@@b_2")) for name in names]


def test_random_patterns_find_what_a_look_at_each_name_finds() -> None:
    chance = random.Random(711)
    for _ in range(20):
        names = _names(chance)
        count = len(names)
        ones, addresses = [1] * count, list(range(0, 16 * count, 16))
        index = TextIndex(SymbolColumns(names, addresses, ones, ones, [0] * count, ones), ((0, 16 * count),))
        for _ in range(100):
            pattern = "".join(chance.choices("ab_*?", weights=(4, 4, 3, 2, 1), k=chance.randrange(1, 9)))
            pattern += chance.choice(("", "", "", "@*", "@@b*", "@a_1"))
            whole = "@" in pattern
            expected = [
                at
                for at, name in enumerate(names)
                if fnmatchcase(name if whole else name.partition("@")[0], pattern)
            ]
            assert list(index.find(pattern)) == expected, pattern


def test_an_object_without_a_piece_of_a_pattern_is_not_read() -> None:
    rules = [
        (f"_vgr00000ZZ_Za_{encode(name)}", 16 * at, 8, True, False, True)
        for at, name in enumerate(("*_nothing", "l?b_no*", "*nobody*"))
    ]
    state = RedirState()
    state.add_object(CodeObject("rules", [(0x10000, 0x20000)], rules, "rules", 0x10000))

    def unread() -> list[tuple[str, int, int, bool, bool, bool]]:
        raise AssertionError("its symbols were read")

    names = KnownNames(b"\0lib_function\0another")
    state.add_object(CodeObject("lib", [(0x30000, 0x40000)], unread, "lib", 0x30000, names))
    assert not state.active


def test_an_object_that_defines_none_of_the_names_is_not_read() -> None:
    names = ("malloc", "free", "realloc@V1")
    rules = [
        (f"_vgr00000ZZ_Za_{encode(name)}", 16 * at, 8, True, False, True) for at, name in enumerate(names)
    ]
    state = RedirState()
    state.add_object(CodeObject("rules", [(0x10000, 0x20000)], rules, "rules", 0x10000))
    asked = []

    def defining(*defined: bytes) -> CodeObject:
        def symbols() -> list[tuple[str, int, int, bool, bool, bool]]:
            assert defined, "its symbols were read"
            return [(name.decode(), 16 * at, 8, True, False, True) for at, name in enumerate(defined)]

        class Defined:
            def may_hold(self, *parts: bytes) -> bool:
                return not any(part.startswith(b"_vg") for part in parts)

            def may_define(self, wanted: tuple[bytes, ...]) -> bool:
                asked.append(wanted)
                return any(name.partition(b"@")[0] in wanted for name in defined)

        start = 0x30000 * (2 + len(asked))
        text = [(start, start + 0x10000)]
        return CodeObject("lib", text, symbols, "lib", start, Defined())

    state.add_object(defining())
    assert not state.active
    assert [set(wanted) for wanted in asked] == [{b"malloc", b"free", b"realloc"}]
    state.add_object(defining(b"free", b"my_malloc", b"realloc@V2"))
    assert [binding.symbol for binding in state.active.values()] == ["free"]
    state.add_object(defining(b"realloc@V1"))
    assert len(state.active) == 2
