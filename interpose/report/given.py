"""Files that are descriptors of the program, by the names that stand for them.

``/dev/stdout`` is what the process that opens it has there.  The supervisor writes profiles and trees when
the program is at its end, and has nothing of the program's any more: so what options name like that is kept
for it when it begins.  Standard error it has itself.
"""

from __future__ import annotations

import errno
import os

from interpose import system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_NUMBERED = ("/dev/fd/", "/proc/self/fd/")

_kept: dict[str, int] = {}  # descriptors of ours by name; -1: there was none


def _number(name: str) -> int | None:
    if name == "/dev/stdout":
        return 1
    for prefix in _NUMBERED:
        digits = name.removeprefix(prefix)
        if digits != name and digits.isascii() and digits.isdecimal() and len(digits) < 9:
            return int(digits)
    return None


def keep(words: Iterable[str]) -> set[int]:
    """Keep what the values of these option words name; our descriptors, which are to stay open."""
    for word in words:
        name = word.partition("=")[2]
        number = _number(name)
        if number is None or number == 2 or name in _kept:
            continue
        try:
            _kept[name] = system.duplicate(number, system.LOWEST_FD)
        except OSError:
            _kept[name] = -1
    return {fd for fd in _kept.values() if fd >= 0}


def open_for_writing(path: str, flags: int, mode: int) -> int:
    """A descriptor of the file that a path names for the program. Raises OSError or ValueError."""
    fd = _kept.get(path)
    if fd is None:
        return os.open(path, flags, mode)
    if fd < 0:
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
    return system.duplicate(fd, system.LOWEST_FD)
