"""One hooked call under way, as any engine's stub shows it (abi/hook.h): its frame on the program's stack,
and the answers to it."""

from __future__ import annotations

import contextlib
import resource
import struct
from typing import TYPE_CHECKING, Any, NamedTuple

from greenlet import getcurrent, greenlet

from interpose.hooks.errors import CallOver, MemoryFault
from interpose.hooks.port import Frame, Registers, Results, Thread
from interpose.jit._native import ffi, lib
from interpose.procmaps import region_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interpose.hooks.registry import Hook
    from interpose.hooks.remote import RemoteHook
    from interpose.hooks.service import HookService

FRAME = struct.Struct("<51Q")
assert FRAME.size == ffi.sizeof("struct ip_hook_frame")
_PAIR = struct.Struct("<QQ")
_ID, _ORIGINAL = 6, 7
EVENT, ID = 3, _ID
_INTEGER, _VECTORS, _VECTOR, _RESULT, _VRESULT, _CHANGED = 12, 18, 20, 36, 38, 49
AT_ID = 8 * _ID
_LEAST_COPIED = 32
"""Words of the arguments on the stack that an original gets whatever the hook declares of them."""
_MOST_COPIED = 4096
_MOST_TAKEN = 4 << 20
"""Bytes that one call may take of the stack: half of what the main thread usually has."""
_LEFT = 16 << 10
"""Bytes that are left then where the stack ends earlier, for the original."""
_LITTLE = 64 << 10
_WRITE = 7000  # bytes to the program in one answer, beside a frame
_READ = 1 << 20
_END = 1 << 47


def _lowest(pid: int, address: int, grows: bool) -> int:
    """Where the stack that an address lies in ends, if it ``grows`` as far as it may; 0 if nobody knows."""
    with contextlib.suppress(OSError):
        region = region_at(pid, address)
        if region is None:
            return 0
        if not grows:
            return region.start
        limit = resource.prlimit(pid, resource.RLIMIT_STACK)[0]
        return 0 if limit == resource.RLIM_INFINITY else region.end - limit
    return 0


class Answer(NamedTuple):
    """What the stub, or the runtime in its stead, is told."""

    action: int = 0
    again: int = 0
    writes: Sequence[tuple[int, bytes]] = ()


class Event(NamedTuple):
    """What the stub says: its frame, and what whoever carries its words adds.

    :ivar frame: where the frame lies.
    :ivar words: the frame.
    :ivar room: words that may be read from the first argument on the stack on; there may be more.
    :ivar failed: a write of the last answer was to memory that cannot be written.
    :ivar again: ``again`` of the last answer; IP_HOOK_DONE if the stub itself asks.
    :ivar trace: a stack trace, where it was asked for and is kept.
    :ivar asker: the thread, as the engine tells threads apart.
    """

    frame: int
    words: tuple[int, ...]
    room: int
    failed: int
    again: int
    trace: tuple[int, ...]
    asker: Any


class HookedCall:
    """One hooked call under way: :class:`interpose.hooks.port.Port` over a stub's frame."""

    def __init__(self, service: HookService, hook: Hook | RemoteHook, number: int, event: Event) -> None:
        words = event.words
        self._service = service
        self.hook = hook
        self.number = number
        self.frame = event.frame
        self.entry = Registers(
            list(words[_INTEGER : _INTEGER + 6]),
            list(words[_VECTOR : _VECTOR + 16 : 2]),
            [words[_VECTORS]],
            {},
        )
        self._high = tuple(words[_VECTOR + 1 : _VECTOR + 16 : 2])
        """The upper halves of XMM0 to XMM7 at the entry, which belong to what the lower ones hold."""
        self._high_results = (words[_VRESULT + 1], words[_VRESULT + 3])
        self.address = words[_ORIGINAL]
        self.over = False
        self.results: Results | None = None
        """What the original returned last."""
        self._entered = tuple(self.entry.vector)
        self._shown = self.entry.copy()
        """The registers as the frame has them."""
        self._initial = Results((words[_RESULT], words[_RESULT + 1]), (words[_VRESULT], words[_VRESULT + 2]))
        self._holds_results = True
        """The frame has the original's results (at first the registers of the entry), not others'."""
        self._room = event.room
        self._pairs = self._room_for_pairs = self._pairs_shown = 0
        """Where words for the original's stack lie, how many may, and how many the frame says."""
        self._top = words[11]
        self._left = 0
        """Bytes that were taken of the stack and not given out, from the top on."""
        self._floor: int | None = None
        """Where what is taken may begin at the lowest, once something has been."""
        self.asker = event.asker
        self.greenlet: greenlet | None = None

    # -- the way to the program ----------------------------------------------------------------

    def ask(self, answer: Answer) -> Event:
        """Have the program go on, until it is back here."""
        if self.over:
            raise CallOver
        if getcurrent() is not self.greenlet:
            raise RuntimeError("a call can be used by the hook that it was given to, not by other threads")
        event: Event = self._service.hub.switch(answer)
        return event

    def head(self, target: int, copied: int, room: int) -> tuple[int, bytes]:
        """The words of the frame that each answer may change."""
        return self.frame + AT_ID, struct.pack("<QQQQQ", self.number, self.address, target, copied, room)

    def _changes(self, registers: Registers) -> list[tuple[int, bytes]]:
        """Writes that bring registers into the frame. What is the same stays, as defined as it was."""
        writes = []
        shown = self._shown
        if shown.integer != registers.integer:
            for at, (old, new) in enumerate(zip(shown.integer, registers.integer, strict=True)):
                if old != new:
                    writes.append((self.frame + 8 * (_INTEGER + at), new.to_bytes(8, "little")))
        if shown.vector != registers.vector:
            for at, (old, new) in enumerate(zip(shown.vector, registers.vector, strict=True)):
                if old != new:
                    high = self._high[at] if new == self._entered[at] else 0
                    writes.append((self.frame + 8 * (_VECTOR + 2 * at), _PAIR.pack(new, high)))
        if shown.vectors != registers.vectors:
            writes.append((self.frame + 8 * _VECTORS, registers.vectors[0].to_bytes(8, "little")))
        self._shown = registers.copy()
        return writes

    def _changed_words(self, given: dict[int, int]) -> list[bytes]:
        """Words on the stack that are to be others than the program's; what is the same stays as undefined.

        The caller's frame is left alone: it needs not have a word for each, and the next call of the original
        gets the program's again.
        """
        if not given:
            return []
        there = self.read(self.frame + lib.IP_HOOK_STACK, 8 * (max(given) + 1))
        pairs = (
            _PAIR.pack(index, word)
            for index, word in given.items()
            if word != int.from_bytes(there[8 * index : 8 * index + 8], "little")
        )
        return list(pairs)

    def _put_pairs(self, pairs: list[bytes]) -> None:
        if len(pairs) > self._room_for_pairs:
            self._pairs = self.take(16 * len(pairs))
            self._room_for_pairs = len(pairs)
        if pairs:
            self.write(self._pairs, b"".join(pairs))

    def _go(self, action: int, target: int, copied: int, pairs: int, registers: Registers) -> Results:
        writes = [self.head(target, copied, 0), *self._changes(registers)]
        if pairs != self._pairs_shown:
            writes.append((self.frame + 8 * _CHANGED, _PAIR.pack(self._pairs, pairs)))
            self._pairs_shown = pairs
        words = self.ask(Answer(action, 0, writes)).words
        if action == lib.IP_HOOK_PROCEED:
            self._high_results = (words[_VRESULT + 1], words[_VRESULT + 3])
        return Results((words[_RESULT], words[_RESULT + 1]), (words[_VRESULT], words[_VRESULT + 2]))

    def proceed(self, registers: Registers) -> Results:
        changed = max(registers.stack, default=-1) + 1
        self._reach(changed)
        pairs = self._changed_words(registers.stack)
        self._put_pairs(pairs)
        # A hook that declares what is not there has failed, and its original is called none the less.
        declared = self.hook.words if self._reaches(self.hook.words) else 0
        copied = max(min(_LEAST_COPIED, self._room) & ~1, (max(changed, declared) + 1) & ~1)
        self.results = self._go(lib.IP_HOOK_PROCEED, self.address, copied, len(pairs), registers)
        self._holds_results = True
        return self.results

    def invoke(self, address: int, registers: Registers) -> Results:
        self._holds_results = False
        return self._go(lib.IP_HOOK_CALL, address, 0, 0, registers)

    def last(self, integer: int | None, vector: int | None) -> Answer:
        """The answer that ends the call, with results of the hook's where they are not the original's."""
        kept = self.results or self._initial
        if self.results is None and integer is None and self.hook.mask:
            integer = 0
        results = Results(
            (kept.integer[0] if integer is None else integer, kept.integer[1]),
            (kept.vector[0] if vector is None else vector, kept.vector[1]),
        )
        writes = []
        for at, new in ((_RESULT, results.integer[0]), (_RESULT + 1, results.integer[1])):
            if not self._holds_results or new != kept.integer[at - _RESULT]:
                writes.append((self.frame + 8 * at, new.to_bytes(8, "little")))
        for at, new in enumerate(results.vector):
            if not self._holds_results or new != kept.vector[at]:
                high = self._high_results[at] if new == kept.vector[at] else 0
                writes.append((self.frame + 8 * (_VRESULT + 2 * at), _PAIR.pack(new, high)))
        return Answer(lib.IP_HOOK_LEAVE, 0, writes)

    # -- memory ----------------------------------------------------------------------------------

    def _check(self, what: str, address: int, size: int) -> None:
        if not (address >= 0 and size >= 0 and address + size <= _END):
            raise MemoryFault(what, address, size)

    def read(self, address: int, size: int) -> bytes:
        self._check("read", address, size)
        parts = []
        for at in range(0, size, _READ):  # a size out of thin air must not cost the memory for it
            data = self._service.host.read(address + at, min(_READ, size - at))
            if data is None:
                raise MemoryFault("read", address, size)
            parts.append(data)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def read_string(self, address: int) -> bytes:
        self._check("read a string at", address, 0)
        data = self._service.host.read_string(address, 1 << 30)
        if data is None:
            raise MemoryFault("read a string at", address)
        return data

    def write(self, address: int, data: bytes) -> None:
        self._check("write", address, len(data))
        for at in range(0, len(data), _WRITE):
            part = data[at : at + _WRITE]
            if self.ask(Answer(0, lib.IP_HOOK_AGAIN, [(address + at, part)])).failed:
                raise MemoryFault("write", address, len(data))

    def take(self, size: int) -> int:
        size = (size + 15) & ~15
        if size > self._left:
            wanted = max(size - self._left, 256)
            lowest = self._top - wanted
            grows = self.thread.number == 1
            # To look costs more than a string; a main stack that has no room for one ends natively, too.
            if self._floor is None and not (grows and self.frame - lowest <= _LITTLE):
                self._floor = max(self.frame - _MOST_TAKEN, _lowest(self.pid, self._top, grows) + _LEFT)
            if self._floor is not None and lowest < self._floor:
                raise MemoryFault("take, for the stack ends there,", lowest, wanted)
            event = self.ask(Answer(lib.IP_HOOK_ROOM, 0, [self.head(0, 0, wanted)]))
            self._left += self._top - event.words[11]
            self._top = event.words[11]
        self._left -= size
        return self._top + self._left

    def _reaches(self, words: int) -> bool:
        """Whether so many words of the arguments on the stack can be read."""
        if words > self._room:
            there = self.frame + lib.IP_HOOK_STACK
            if words > _MOST_COPIED or self._service.host.read(there, 8 * words) is None:
                return False
            self._room = words
        return True

    def _reach(self, words: int) -> None:
        if not self._reaches(words):
            raise IndexError("there is no argument on the stack so far from its first")

    def stack_word(self, index: int) -> int:
        self._reach(index + 1)
        return int.from_bytes(self.read(self.frame + lib.IP_HOOK_STACK + 8 * index, 8), "little")

    # -- what is known of it ----------------------------------------------------------------------

    def find(self, name: str) -> int:
        return self._service.find(name)

    def raw_stack(self) -> Sequence[int]:
        """Return addresses; the first is the one of the hooked function."""
        return self._service.host.return_addresses(self)

    def frames(self) -> Sequence[Frame]:
        return self._service.frames(self.raw_stack())

    @property
    def function(self) -> str:
        return self._service.binding(self.address)[0]

    @property
    def object(self) -> str:
        return self._service.binding(self.address)[1]

    @property
    def pid(self) -> int:
        return self._service.host.pid

    @property
    def thread(self) -> Thread:
        return self._service.host.thread(self.asker)
