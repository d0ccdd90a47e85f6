"""``--events`` and ``--ranges``: which accesses are shown."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from interpose.dgview.symbols import Symbols, without_parameters
from interpose.errors import InterposeError
from interpose.formats.datagrind.bulk import Filter

STACK_KINDS = ("fn", "file", "dso")


class ConditionError(InterposeError):
    """A word that is no condition."""

    exit_code = 2

    def __init__(self, word: str) -> None:
        super().__init__(f"Invalid condition `{word}'")


class Condition(NamedTuple):
    """`kind:value`, or one of the plain words `malloc` and `range`."""

    kind: str
    value: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.value}" if self.value else self.kind


_BEGIN = re.compile(r"(?:fn|file|dso|user):|(?:malloc|range)\Z")


def _is_closed(name: str) -> bool:
    text = name.replace("->", "")
    return all(text.count(opening) <= text.count(closing) for opening, closing in ("<>", "()"))


def _words(text: str) -> Iterator[str]:
    """What the commas separate, but for those between angle brackets or parentheses of a function's name."""
    pieces = text.split(",")
    while pieces:
        word = pieces.pop(0)
        if word.startswith("fn:"):
            longer = word
            for n in range(len(pieces) + 1):
                if _is_closed(longer):
                    word, pieces = longer, pieces[n:]
                    break
                if n == len(pieces) or _BEGIN.match(pieces[n]):
                    break
                longer += f",{pieces[n]}"
        yield word


def parse(text: str, *, ranges: bool) -> list[Condition]:
    """The conditions of one option, separated by commas."""
    found = []
    for word in _words(text):
        kind, colon, value = word.partition(":")
        is_plain = ranges and word in ("malloc", "range")
        if not is_plain and not (colon and value and kind in (*STACK_KINDS, "user")):
            raise ConditionError(word)
        found.append(Condition(kind, value))
    return found


def _wanted(conditions: Iterable[Condition]) -> dict[str, set[str]]:
    wanted: dict[str, set[str]] = {kind: set() for kind in STACK_KINDS}
    for condition in conditions:
        if condition.kind in wanted:
            wanted[condition.kind].add(condition.value)
    return wanted


class _Matches:
    """The code addresses that are in one of the functions, files or objects."""

    def __init__(self, conditions: Iterable[Condition], ips: Iterable[int], symbols: Symbols) -> None:
        self._wanted = _wanted(conditions)
        self._any = any(self._wanted.values())
        self._symbols = symbols
        self._ips = ips if self._any else ()
        self.found = {ip for ip in self._ips if self._is_wanted(ip, 0)}

    def _is_wanted(self, ip: int, instr: int) -> bool:
        wanted = self._wanted
        for level in self._symbols.levels(ip, instr):
            names = {level.function, without_parameters(level.function)} if level.function else set()
            if names & wanted["fn"] or level.path in wanted["file"] or level.object in wanted["dso"]:
                return True
        return False

    def later(self) -> list[set[int]]:
        """After each change of objects."""
        sets = []
        last = self.found
        for number, (_, instr) in enumerate(self._symbols.changes()):
            changed = {ip for ip in self._ips if self._symbols.changed(number, ip)}
            last = (last - changed) | {ip for ip in changed if self._is_wanted(ip, instr)}
            sets.append(last)
        return sets


def _labels(conditions: Iterable[Condition]) -> list[bytes]:
    return sorted({os.fsencode(condition.value) for condition in conditions if condition.kind == "user"})


def filter_of(
    events: list[Condition], ranges: list[Condition], ips: list[int], symbols: Symbols
) -> Filter | None:
    """What the reader is asked for; None: everything."""
    if not events and not ranges:
        return None
    kinds = {condition.kind for condition in ranges}
    by_event, by_range = _Matches(events, ips, symbols), _Matches(ranges, ips, symbols)
    offsets = [offset for offset, _ in symbols.changes()]
    return Filter(
        by_event=bool(events),
        event_ips=by_event.found,
        event_labels=_labels(events),
        by_range=bool(ranges),
        range_ips=by_range.found,
        range_labels=_labels(ranges),
        any_block="malloc" in kinds,
        any_range="range" in kinds,
        later=list(zip(offsets, by_event.later(), by_range.later(), strict=True)),
    )
