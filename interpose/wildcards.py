"""Patterns with the wildcards ``?`` (one character) and ``*`` (any number); a whole text must match."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from functools import cache
else:
    from interpose.plain import cache


def literal_prefix(pattern: str) -> str:
    """Return what every match starts with: ``pattern`` up to its first wildcard."""
    return pattern.partition("*")[0].partition("?")[0]


def longest_piece(pattern: str) -> str:
    """Return the longest text without wildcards that every match contains, the first of those."""
    return max(pattern.replace("?", "*").split("*"), key=len)


@cache
def compile_pattern(pattern: str) -> Callable[[str], object]:
    """Return a function whose result is true where the whole of a text matches ``pattern``."""
    if "?" in pattern:
        return _expression(pattern)
    first, *middle = pattern.split("*")
    if not middle:
        return pattern.__eq__
    last = middle.pop()
    parts = [part for part in middle if part]
    least = len(first) + len(last)

    def matches(text: str) -> bool:
        if len(text) < least or not text.startswith(first) or not text.endswith(last):
            return False
        place, end = len(first), len(text) - len(last)
        for part in parts:
            place = text.find(part, place, end)
            if place < 0:
                return False
            place += len(part)
        return True

    return matches


def _expression(pattern: str) -> Callable[[str], object]:
    """The same for ``?``, which is rare, by a regular expression: their module takes 3 ms to load."""
    import re

    # A run of stars is one star; without this, many of them in a row make the expression exponential.
    collapsed = re.sub(r"\*+", "*", pattern)
    special = {"?": ".", "*": ".*"}
    return re.compile("".join(special.get(c) or re.escape(c) for c in collapsed), re.DOTALL).fullmatch
