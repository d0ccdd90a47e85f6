"""Patterns with the wildcards ``?`` and ``*``, for sonames and function names.

See docs/spec/redirection.md section 3.
"""

from __future__ import annotations

import re
from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_WILDCARD = re.compile(r"[?*]")
_TRANSLATION = {"?": ".", "*": ".*"}


def literal_prefix(pattern: str) -> str:
    """Return what every match starts with: ``pattern`` up to its first wildcard."""
    wildcard = _WILDCARD.search(pattern)
    return pattern if wildcard is None else pattern[: wildcard.start()]


@lru_cache(maxsize=4096)
def compile_pattern(pattern: str) -> Callable[[str], object]:
    """Return a function whose result is true where the whole of a text matches ``pattern``."""
    if literal_prefix(pattern) == pattern:
        return pattern.__eq__
    # A run of stars is one star; without this, many of them in a row make the regular expression exponential.
    collapsed = re.sub(r"\*+", "*", pattern)
    return re.compile("".join(_TRANSLATION.get(c) or re.escape(c) for c in collapsed), re.DOTALL).fullmatch
