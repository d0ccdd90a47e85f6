"""Words of monitor commands: their abbreviations, numbers and addresses, and what is said of bad ones.

The texts are Valgrind's.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_TOP = (1 << 64) - 1


class Refused(Exception):
    """A command whose words cannot be used; the text says why."""


def candidates(given: str, among: Iterable[str]) -> list[str]:
    """The words that begin like this; the word itself, if it is one of them."""
    found = [word for word in among if word.startswith(given)]
    return [given] if given in found else found


def choose(given: str, among: Sequence[str]) -> str:
    """The one word that an abbreviation stands for."""
    found = candidates(given, among)
    if not found:
        raise Refused(f"{given} does not match any of '{' '.join(among)}'")
    if len(found) > 1 or not given:
        raise Refused(f"{given or '<empty string>'} can match {' '.join(found)}")
    return found[0]


def number(text: str) -> int | None:
    """``0x…``, ``0b…`` or decimal digits, below 2 to the 64; None for anything else."""
    base, digits = 10, text
    if text[:2].lower() in ("0x", "0b"):
        base, digits = (16 if text[1] in "xX" else 2), text[2:]
    known = "0123456789abcdef"[:base]
    if not digits or any(digit not in known for digit in digits.lower()):
        return None
    value = int(digits, base) if len(digits) <= 64 else _TOP + 1
    return value if value <= _TOP else None


def address(text: str) -> int | None:
    """``0x…``; None for anything else, ``0`` too: a forgotten prefix is no other address."""
    return number(text) if text.startswith("0x") else None


def decimal(text: str) -> int | None:
    """Decimal digits, with or without a sign; None for anything else, and for more than 64 bits."""
    if not re.fullmatch(r"[+-]?[0-9]{1,20}", text):
        return None
    value = int(text)
    return value if abs(value) <= _TOP else None


class Arguments:
    """The words behind a command, taken one by one.

    :param text: the whole command, for what is taken as it was written.
    """

    def __init__(self, words: Sequence[str], text: str) -> None:
        self._words = list(words)
        self._text = text

    def __bool__(self) -> bool:
        return bool(self._words)

    def next(self) -> str:
        """The next word, "" if there is none."""
        return self._words.pop(0) if self._words else ""

    def rest(self) -> str:
        """All that are left, with the blanks between them as they were written."""
        before = len(self._text.split()) - len(self._words)
        parts = self._text.split(None, before)
        self._words = []
        return parts[before] if len(parts) > before else ""

    def choice(self, among: Sequence[str]) -> str:
        """One of these words."""
        return choose(self.next(), among)

    def integer(self) -> int:
        """A decimal number."""
        value = decimal(self.next())
        if value is None:
            raise Refused("missing or malformed integer value")
        return value

    def flags(self, default: int) -> int:
        """A number of any base; the default stands for an absent one."""
        value = number(self.next()) if self._words else default
        if value is None:
            raise Refused("missing or malformed integer value")
        return value

    def address(self) -> int:
        """An address."""
        value = address(self.next())
        if value is None:
            raise Refused("missing or malformed address")
        return value

    def range(self) -> tuple[int, int]:
        """An address and a length, of one byte if none is given: ``ADDR``, ``ADDR LEN`` or ``ADDR[LEN]``."""
        text = self.next()
        where, bracket, length = text.partition("[")
        if bracket:
            if not length.endswith("]"):
                raise Refused("missing or malformed address")
            if length != "]":  # as without brackets
                self._words.insert(0, length[:-1])
        addr = address(where)
        if addr is None:
            raise Refused("missing or malformed address")
        if not self._words:
            return addr, 1
        size = number(self.next())
        if size is None:
            raise Refused("malformed integer, expecting hex 0x..... or dec ...... or binary 0b.....")
        if addr + size > _TOP + 1:
            raise Refused(f"0x{addr:x} and {size} bytes behind it are no addresses")
        return addr, size

    def range_after(self, reason: Refused) -> None:
        """Another word was bad: if the range behind it is, too, the refusal says both."""
        try:
            self.range()
        except Refused as second:
            raise Refused(f"{reason}\n{second}") from None
