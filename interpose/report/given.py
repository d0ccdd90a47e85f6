"""Files that are descriptors of the program, by the names that stand for them.

``/dev/stdout`` is what the process that opens it has there.  The supervisor writes profiles and trees when
the program is at its end, and has nothing of the program's any more: so what options name like that is kept
for it when it begins.  Standard error it has itself.  What is read is read before, and once: a pipe gives its
text to the first who asks.
"""

from __future__ import annotations

import errno
import os
import stat
import time

from interpose import system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_STANDARD = ("/dev/stdin", "/dev/stdout", "/dev/stderr")
_NUMBERED = ("/dev/fd/", "/proc/self/fd/")

_WRITING = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOCTTY
_PATIENCE = 5.0  # seconds for the reader of a named pipe, who may come later
_PAUSE = 0.01  # between looks whether one has come
_MOST = 64 << 20  # characters of what has no size, as a pipe: /dev/zero would take all memory

_kept: dict[str, int] = {}  # descriptors of ours by name; -1: there was none
_texts: dict[str, str] = {}  # what was read, by name


def _number(name: str) -> int | None:
    if name in _STANDARD:
        return _STANDARD.index(name)
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
        if number is None or number == 2 or name in _kept or name in _texts:
            continue
        try:
            _kept[name] = system.duplicate(number, system.LOWEST_FD)
        except OSError:
            _kept[name] = -1
    return {fd for fd in _kept.values() if fd >= 0}


def open_with_patience(path: str, flags: int, mode: int) -> int:
    """A descriptor of a file that is written while the program runs. Raises OSError or ValueError.

    Who reads a named pipe may come to it after us, but is not waited for for ever: what waits need not be
    what is interrupted, and a pipe that was forgotten would keep both.
    """
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            fd = os.open(path, flags | os.O_NONBLOCK, mode)
            break
        except OSError as error:
            if error.errno != errno.ENXIO or not stat.S_ISFIFO(os.stat(path).st_mode):
                raise
            if time.monotonic() >= until:
                raise OSError(errno.ENXIO, "nobody reads from this pipe") from None
            time.sleep(_PAUSE)
    os.set_blocking(fd, True)
    return fd


def _kept_file(path: str) -> int | None:
    """A descriptor of our own of what was kept by that name; None: nothing was. Raises OSError."""
    fd = _kept.get(path)
    if fd is None:
        return None
    if fd < 0:
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
    return system.duplicate(fd, system.LOWEST_FD)


def open_for_writing(path: str, mode: int, *, patience: bool = False) -> int:
    """A descriptor of the file that a path names for the program, emptied. Raises OSError or ValueError.

    A named pipe that nobody reads is an error, for no wait would end; ``patience``: as
    :func:`open_with_patience`.
    """
    fd = _kept_file(path)
    if fd is not None:
        return fd
    if patience:
        return open_with_patience(path, _WRITING, mode)
    return os.open(path, _WRITING | os.O_NONBLOCK, mode)


def read(path: str) -> str:
    """The text of a file that an option names. Raises OSError or ValueError."""
    if path in _texts:
        return _texts[path]
    kept = _kept_file(path)
    with open(
        path if kept is None else kept, encoding="utf-8", errors="surrogateescape", newline="\n"
    ) as file:
        is_plain = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        text = file.read(-1 if is_plain else _MOST)
    if not is_plain and len(text) == _MOST:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
    if not is_plain or _number(path) is not None:
        _texts[path] = text
    return text
