"""What the redirection core made of a program's objects in earlier runs, done again without it.

Which bindings an event brings follows from the files that were mapped, from where they lie, and from what
indirect functions chose. So the calls that put them into effect are kept (:mod:`interpose.cache.memo`), and
the core, which reads symbols and matches rules, is started when something happens that never did before, or
somebody asks it.
"""

from __future__ import annotations

import os
import struct

from interpose.jit._native import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from interpose.cache.memo import Memo
    from interpose.supervisor.files import KnownFile

UNBOUND, BOUND, KEEPS_STACK = range(3)
"""What was done: bindings taken away (addresses), made (addresses, targets, inner targets, kinds), a range of
Go's functions noted (its bounds)."""

RESOLVED = "resolved"
MOST_AHEAD = 128  # of ip_chan.ahead

_COUNTS = struct.Struct("<II")
_HEAD = struct.Struct("<BII")  # whether the core was there; bytes of names and of marks of debug files
_EVENT = struct.Struct("<QQQ")


class Recall:
    """One program's events, and what was done for each.

    :ivar ahead: targets of indirect functions that were bound before they were chosen, as in an earlier run:
        the events that come of it, each with the addresses that were bound.
    :ivar resolved: what indirect functions chose, for a core that is started later.
    :ivar replays: the core hears of what is in effect already.
    :ivar has_core: the redirection core was wanted by now, in this run or in the one that is repeated.
    """

    def __init__(self, memo: Memo) -> None:
        self.memo = memo
        self.resolved: dict[tuple[int, int], None] = {}
        self.replays = False
        self.has_core = False
        self.ahead: list[tuple[bytes, list[int]]] = []
        self._steps: list[bytes] = []

    def begin_mapped(self, addr: int, length: int, offset: int, file: KnownFile) -> None:
        """Code of a file was mapped."""
        identity = file.identity
        if identity is None:
            self.distrust()
        self._begin(_EVENT.pack(addr, length, offset) + (identity or b""))

    def begin(self, what: str, first: int, second: int) -> None:
        """Something else happened."""
        self._begin(_event(what, first, second), what == RESOLVED)

    def _begin(self, event: bytes, in_row: bool = False) -> None:
        self._steps.clear()
        self.memo.happened(event, in_row)

    def following(self, resolver: int, target: int) -> list[tuple[bytes, bytes]]:
        """The targets that were chosen in a row after this one, which begins next, and what was done."""
        return self.memo.row(_event(RESOLVED, resolver, target))

    def bind_ahead(self, following: list[tuple[bytes, bytes]]) -> None:
        """Do it now; the client need not ask while its resolvers choose the same. One request takes 60 us."""
        seen: set[int] = set()
        for event, answer in following[:MOST_AHEAD]:
            steps = self._only_bindings(answer)
            if steps is None:
                break
            bound = [address for _, addresses in steps for address in addresses]
            if not seen.isdisjoint(bound):
                break
            seen.update(bound)
            for at, addresses in steps:
                self._repeat_step(BOUND, len(addresses), answer, at)
            self.ahead.append((event, bound))
        numbers = [_EVENT.unpack_from(event, len(RESOLVED)) for event, _ in self.ahead]
        if numbers:
            lib.ip_ahead_set(
                len(numbers), [first for first, *_ in numbers], [second for _, second, _ in numbers]
            )

    def _only_bindings(self, answer: bytes) -> list[tuple[int, list[int]]] | None:
        """Where each step's numbers are, and the addresses that it binds; None if something else was done."""
        has_core, *sizes = _HEAD.unpack_from(answer)
        if any(sizes) or bool(has_core) is not self.has_core:
            return None
        steps = []
        at = _HEAD.size
        while at < len(answer):
            what, count = _COUNTS.unpack_from(answer, at)
            at += _COUNTS.size
            if what != BOUND:
                return None
            steps.append((at, list(struct.unpack_from(f"<{count}Q", answer, at))))
            at += 32 * count
        return steps

    def end_ahead(self) -> None:
        """Something else happens: what was not chosen by now is not bound any more."""
        met = lib.ip_ahead_end()
        for event, _ in self.ahead[:met]:
            self.memo.happened(event, in_row=True)
            first, second, _ = _EVENT.unpack_from(event, len(RESOLVED))
            self.resolved[first, second] = None
        left = [address for _, bound in self.ahead[met:] for address in bound]
        if left:
            lib.ip_bindings_del(len(left), left)
        self.ahead.clear()

    def forget(self, ranges: Sequence[tuple[int, int]]) -> None:
        """What indirect functions there chose, and those that chose what was there, are gone."""
        for pair in tuple(self.resolved):
            if any(start <= number < end for start, end in ranges for number in pair):
                del self.resolved[pair]

    def distrust(self) -> None:
        """Nothing of this run holds for others from now on."""
        self.memo.distrust()

    def done(self, what: int, *columns: Sequence[int]) -> None:
        """It was done for the event under way."""
        if self.replays:
            return
        count = len(columns[0])
        numbers = [number for column in columns for number in column]
        self._steps.append(_COUNTS.pack(what, count) + struct.pack(f"<{len(numbers)}Q", *numbers))

    def end(self, has_core: bool, debug_places: Sequence[str]) -> None:
        """All was done; it holds as long as the debug files that were looked for stay what they are."""
        self.has_core |= has_core
        places = "\0".join(debug_places).encode("utf-8", "surrogateescape")
        marks = b"".join(_mark(place) for place in debug_places)
        self.memo.add(b"".join([_HEAD.pack(has_core, len(places), len(marks)), places, marks, *self._steps]))

    def repeat(self) -> bool:
        """Do what was done when all this happened before; false if it never did."""
        answer = self.memo.answer()
        if answer is None:
            return False
        at = _HEAD.size
        has_core, places_size, marks_size = _HEAD.unpack_from(answer)
        places = answer[at : at + places_size].decode("utf-8", "surrogateescape")
        at += places_size
        if b"".join(map(_mark, filter(None, places.split("\0")))) != answer[at : at + marks_size]:
            self.distrust()
            return False
        at += marks_size
        self.has_core |= bool(has_core)
        while at < len(answer):
            what, count = _COUNTS.unpack_from(answer, at)
            at += _COUNTS.size + self._repeat_step(what, count, answer, at + _COUNTS.size)
        return True

    def _repeat_step(self, what: int, count: int, answer: bytes, at: int) -> int:
        """One call; how many bytes it took."""
        columns = 4 if what == BOUND else 1
        size = 8 * count * columns
        numbers = ffi.new("uint64_t[]", count * columns)
        ffi.memmove(numbers, answer[at : at + size], size)
        if what == UNBOUND:
            lib.ip_bindings_del(count, numbers)
        elif what == BOUND:
            kinds = bytes(numbers[3 * count : 4 * count])
            lib.ip_bindings_set(count, numbers, numbers + count, numbers + 2 * count, kinds)
        else:
            lib.ip_keeps_stack_add(numbers[0], numbers[1])
        return size


def _event(what: str, first: int, second: int) -> bytes:
    return what.encode() + _EVENT.pack(first, second, 0)


def _mark(place: str) -> bytes:
    """What a file by that name is, or that there is none."""
    try:
        status = os.stat(place)
    except (OSError, ValueError):
        return bytes(8)
    times = status.st_mtime_ns, status.st_ctime_ns
    words = (status.st_dev, status.st_ino, status.st_size, *times)
    return struct.pack("<5Q", *(word & 0xFFFF_FFFF_FFFF_FFFF for word in words))
