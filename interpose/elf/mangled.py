"""What the readers of mangled names have in common: a place in the text, and back references to others."""

from __future__ import annotations

import contextlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

MOST_DEPTH = 150
MOST_STEPS = 200_000  # back references can make a short name endless


class InvalidError(Exception):
    """No name of this mangling."""


class Reader:
    """Reads the productions of a grammar, each of which returns its text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self._depth = 0
        self._steps = 0

    def _eat(self, text: str) -> bool:
        found = self.text.startswith(text, self.position)
        self.position += len(text) if found else 0
        return found

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str]:
        match = pattern.match(self.text, self.position)
        if match is None:
            raise InvalidError
        self.position = match.end()
        return match

    @contextlib.contextmanager
    def _elsewhere(self, target: int) -> Iterator[None]:
        """What is read meanwhile is read from there."""
        position, self.position = self.position, target
        yield
        self.position = position
