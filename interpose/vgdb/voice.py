"""What ``interpose-vgdb`` says on standard error."""

from __future__ import annotations

import sys
import time


class VgdbError(Exception):
    """Ends the command with status 1; the text says why."""


class Voice:
    """Messages about ourselves; replies of the program are not ours."""

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
        print(f"{self._stamp(self._time_stamps)}{text}", file=sys.stderr, flush=True)

    def debug(self, text: str, level: int = 1) -> None:
        """``-d``, and again for more."""
        if self.debug_level >= level:
            print(f"{self._stamp(True)}{text}", file=sys.stderr, flush=True)
