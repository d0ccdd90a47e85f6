"""What ``interpose-vgdb`` says on standard error."""

from __future__ import annotations

import contextlib
import os
import time


class VgdbError(Exception):
    """Ends the command with status 1; the text says why."""


def write_all(fd: int, data: bytes) -> None:
    """All of it, however much the other side takes at once."""
    left = memoryview(data)
    while left:
        left = left[os.write(fd, left) :]


class Voice:
    """Messages about ourselves; replies of the program are not ours.

    What users and programs call things need be no text: it is shown byte by byte as it came.
    """

    def __init__(self, *, quiet: bool = False, time_stamps: bool = False, debug: int = 0) -> None:
        self.quiet = quiet
        self.debug_level = debug
        self._time_stamps = time_stamps

    def _stamp(self, wanted: bool) -> str:
        if not wanted:
            return ""
        now = time.time()
        return time.strftime("%H:%M:%S", time.localtime(now)) + f".{int(now % 1 * 1_000_000):06} "

    def say(self, text: str) -> None:
        """What happens, unless ``-q`` was given."""
        if not self.quiet:
            self.tell(text)

    def tell(self, text: str) -> None:
        """What went wrong."""
        self._lines(2, text, self._time_stamps)

    def show(self, text: str) -> None:
        """What was asked for."""
        self._lines(1, text, self._time_stamps)

    def debug(self, text: str, level: int = 1) -> None:
        """``-d``, and again for more."""
        if self.debug_level >= level:
            self._lines(2, text, True)

    def _lines(self, fd: int, text: str, with_time: bool) -> None:
        lines = (f"{self._stamp(with_time)}{line}\n" for line in text.split("\n"))
        with contextlib.suppress(OSError) if fd == 2 else contextlib.nullcontext():
            write_all(fd, os.fsencode("".join(lines)))
