"""``array.array`` without ``collections``, which its module loads to be registered with one class: 2 ms."""

from __future__ import annotations

import _collections_abc
import sys

_NAMES = ("collections.abc", "collections")

_missing = [name for name in _NAMES if name not in sys.modules]
try:
    for _name in _missing:
        sys.modules[_name] = _collections_abc  # the contents of the former, and nobody looks into the latter
    from array import array as Words
finally:
    for _name in _missing:
        del sys.modules[_name]  # whoever imports them later has them as they are

__all__ = ["Words"]
