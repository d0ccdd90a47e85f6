"""Objects' names as their string tables tell of them."""

from __future__ import annotations


class KnownNames:
    """What an object's string tables tell, of names joined as there."""

    def __init__(self, joined: bytes) -> None:
        self._joined = joined

    def may_hold(self, *parts: bytes) -> bool:
        return any(part in self._joined for part in parts)

    def may_define(self, names: tuple[bytes, ...]) -> bool:
        return any(name in self._joined.split(b"\0") for name in names)
