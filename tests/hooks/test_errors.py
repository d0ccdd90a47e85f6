"""How failures of hooks are told."""

from __future__ import annotations

import re

from interpose.hooks.errors import place_of, told_of


def recurse(depth: int) -> int:
    return [][0] if depth == 0 else recurse(depth - 1) + 1


def failed(depth: int) -> IndexError:
    try:
        recurse(depth)
    except IndexError as error:
        return error
    raise AssertionError


def test_deep_recursions_are_told_by_their_end() -> None:
    """Frames are looked up one by one, and a recursion may be millions deep."""
    shallow, deep = told_of(failed(3)), told_of(failed(700))
    assert "in failed" in shallow and "in failed" not in deep
    found = re.search(r"\[Previous line repeated (\d+) more times\]", deep)
    assert found is not None and int(found[1]) < 200
    assert deep.endswith(": list index out of range")


def test_place_is_where_it_was_raised() -> None:
    line = recurse.__code__.co_firstlineno + 1
    assert place_of(failed(5)) == (__file__, line)
    assert place_of(ValueError()) is None
