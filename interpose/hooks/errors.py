"""What goes wrong with hooks."""

from __future__ import annotations

import os
import traceback
from typing import Any

from interpose.errors import InterposeError


class HookError(InterposeError):
    """A file of hooks, or a hook in it, that cannot be used; shown as one line before the program starts."""


class MemoryFault(Exception):
    """Memory of the program's that cannot be read, written or taken.

    :ivar what: what was to be done.
    :ivar address: the first byte that was asked for.
    :ivar size: how many were.
    """

    def __init__(self, what: str, address: int, size: int = 0) -> None:
        many = f"{size} bytes at " if size else ""
        super().__init__(f"cannot {what} {many}0x{address:x}")
        self.what = what
        self.address = address
        self.size = size


class CallOver(RuntimeError):
    """A hooked call was used after its function had returned, or was left by a jump of the program's."""

    def __init__(self) -> None:
        super().__init__("this call is over")


class ProgramGone(BaseException):
    """Raised in a hook that computes while there is no program left to wait for it."""


class Unavailable(Exception):
    """A hook of another process's cannot go on, through no fault of its own: the original's result stands."""


class Gone(Unavailable):
    """The process with the hooks has just been found to be gone."""

    def __init__(self) -> None:
        super().__init__("The process with the hooks is gone")


class FailedThere(Exception):
    """A hook has raised something in its own process.

    :ivar key: what makes two failures the same.
    :ivar text: the traceback.
    """

    def __init__(self, key: tuple[Any, ...], text: str) -> None:
        super().__init__(text)
        self.key = key
        self.text = text


def printable(text: str) -> str:
    """A text of the user's, as it can be written: halves of UTF-16 that stand for no byte are spelled."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text


_FRAMES = 200
"""The innermost frames that are looked at: with a high recursion limit there may be millions."""


def told_of(error: BaseException) -> str:
    """An exception as Python shows it, without frames of this package."""
    told = traceback.TracebackException.from_exception(error, limit=-_FRAMES)
    return printable("".join(_without_ours(told).format()).rstrip("\n"))


def place_of(error: BaseException) -> tuple[str, int | None] | None:
    """File and line where an exception was raised."""
    found = traceback.extract_tb(error.__traceback__, limit=-1)
    return (found[0].filename, found[0].lineno) if found else None


def _without_ours(told: traceback.TracebackException) -> traceback.TracebackException:
    own = os.path.dirname(__file__)
    frames = [entry for entry in told.stack or () if os.path.dirname(entry.filename) != own]
    told.stack = traceback.StackSummary.from_list(frames) if frames else None  # type: ignore[assignment]
    for other in (told.__cause__, told.__context__):
        if other is not None:
            _without_ours(other)
    return told
