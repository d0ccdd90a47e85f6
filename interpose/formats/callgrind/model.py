"""What a callgrind profile says: parts with a header, and records of cost, calls and jumps.

Positions are absolute here and names are whole: both compressions are matters of reading and writing.
Costs stand in the order of the part's ``events``, as many as the line gives: those that it leaves out are
zero, and most lines leave out most of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias


class Function(NamedTuple):
    """A function by the object, the source file and the name that it is known by."""

    object: str
    file: str
    name: str


class Cost(NamedTuple):
    """The cost of one position itself; ``file`` differs from the function's for inlined code."""

    function: Function
    file: str
    addr: int
    line: int
    costs: tuple[int, ...]


class Call(NamedTuple):
    """Calls from one position: how many, of what, and their inclusive cost."""

    function: Function
    file: str
    addr: int
    line: int
    callee: Function
    calls: int
    target_addr: int
    target_line: int
    costs: tuple[int, ...]


class Jump(NamedTuple):
    """Jumps from one position: ``followed`` of ``executed``; None for a jump without a condition."""

    function: Function
    file: str
    addr: int
    line: int
    executed: int
    followed: int | None
    target: Function
    target_file: str
    target_addr: int
    target_line: int


Record: TypeAlias = Cost | Call | Jump


class EventType(NamedTuple):
    """What an ``event:`` line says: a long name, and the formula of an event that is derived from others."""

    name: str
    long_name: str | None = None
    formula: tuple[tuple[int, str], ...] = ()

    def text(self) -> str:
        """The line's value: ``Sum = Ir + 10 Dr : Long name``."""
        terms = " + ".join(name if factor == 1 else f"{factor} {name}" for factor, name in self.formula)
        derived = f" = {terms}" if terms else ""
        return f"{self.name}{derived}" + (f" : {self.long_name}" if self.long_name is not None else "")

    @classmethod
    def parse(cls, text: str) -> EventType:
        """Reads what :meth:`text` writes; ValueError says what is wrong."""
        left, colon, long_name = text.partition(":")
        name, equals, formula = left.partition("=")
        name = name.strip()
        if not _NAME.fullmatch(name):
            raise ValueError(f"'{shortened(name)}' is no name of an event")
        terms = []
        for term in formula.split("+") if equals else ():
            match = _TERM.fullmatch(term.strip())
            if match is None:
                raise ValueError(f"'{shortened(term.strip())}' is no term of a formula")
            terms.append((int(match[1], 0) if match[1] else 1, match[2]))
        return cls(name, long_name.strip() if colon else None, tuple(terms))


_NAME = re.compile(r"[A-Za-z_][^\s:=+*]*")
_TERM = re.compile(r"(?:(0x[0-9A-Fa-f]{1,16}|[1-9][0-9]{0,19}|0)\s*(?:\*\s*)?)?([A-Za-z_][^\s:=+*]*)")


@dataclass
class Part:
    """One part of a profile: its header, and its records where the whole was read.

    A header that leaves out what an earlier part said means the same.
    """

    events: tuple[str, ...] = ()
    positions: tuple[str, ...] = ("line",)
    version: int | None = None
    creator: str | None = None
    pid: int | None = None
    cmd: str | None = None
    part: int | None = None
    thread: int | None = None
    descriptions: list[tuple[str, str]] = field(default_factory=list)
    event_types: dict[str, EventType] = field(default_factory=dict)
    other: list[tuple[str, str]] = field(default_factory=list)
    summary: tuple[int, ...] | None = None
    totals: tuple[int, ...] | None = None
    records: list[Record] = field(default_factory=list)

    def description(self, key: str) -> str | None:
        """The value of the first ``desc:`` line of that key."""
        return next((value for name, value in self.descriptions if name == key), None)


@dataclass
class Profile:
    """All parts of a file."""

    parts: list[Part] = field(default_factory=list)


def shortened(text: str, length: int = 60) -> str:
    """A piece of a file as a message shows it: printable, and not too long."""
    shown = "".join(
        char if char.isprintable() else f"\\x{ord(char) & 0xFF:02x}" for char in text[: length + 1]
    )
    return shown if len(text) <= length else f"{shown[:length]}…"
