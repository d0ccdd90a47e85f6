"""Patterns with the wildcards ``?`` and ``*``, for sonames and function names.

Source: Valgrind manual, core advanced, section 3.3.2; client-requests.md, section 7.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

_WILDCARD = re.compile(r"[?*]")
_TRANSLATION = {"?": ".", "*": ".*"}


def has_wildcard(pattern: str) -> bool:
    """Tell whether ``pattern`` may match other texts than itself."""
    return _WILDCARD.search(pattern) is not None


@lru_cache(maxsize=4096)
def compile_pattern(pattern: str) -> Callable[[str], bool]:
    """Return a predicate that tells whether the whole of a text matches ``pattern``."""
    if not has_wildcard(pattern):
        return pattern.__eq__
    # A run of stars is one star; without this, many of them in a row make the regular expression exponential.
    collapsed = re.sub(r"\*+", "*", pattern)
    regex = re.compile("".join(_TRANSLATION.get(c) or re.escape(c) for c in collapsed), re.DOTALL)
    return lambda text: regex.fullmatch(text) is not None
