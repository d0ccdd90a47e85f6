"""What ``interpose-vgdb`` says on standard error."""

from __future__ import annotations

import contextlib
import os
import time

from interpose.console import output_errors
from interpose.errors import write_all


class VgdbError(Exception):
    """Ends the command with status 1; the text says why."""


def write_output(data: bytes) -> None:
    """To standard output, at once."""
    with output_errors():
        write_all(1, data)


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
        self._lines(text, self._time_stamps)

    def show(self, text: str) -> None:
        """What was asked for."""
        write_output(self._stamped(text, self._time_stamps))

    def debug(self, text: str, level: int = 1) -> None:
        """``-d``, and again for more."""
        if self.debug_level >= level:
            self._lines(text, True)

    def _stamped(self, text: str, with_time: bool) -> bytes:
        return os.fsencode("".join(f"{self._stamp(with_time)}{line}\n" for line in text.split("\n")))

    def _lines(self, text: str, with_time: bool) -> None:
        with contextlib.suppress(OSError):
            write_all(2, self._stamped(text, with_time))
