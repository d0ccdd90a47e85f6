"""Hooked calls under this engine: what the stubs ask comes over the channel (requests/hook_request.c)."""

from __future__ import annotations

import struct

from interpose.hooks.hooked import FRAME, Answer, Event, HookedCall
from interpose.hooks.port import Thread
from interpose.hooks.service import HookService
from interpose.jit._native import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from interpose.report.log import Log
    from interpose.report.stack import StackResolver
    from interpose.supervisor.main import Supervisor

_OWN_FRAMES = 2
"""The stub's, in each trace that is made while it asks."""


class SupervisorHost:
    """:class:`interpose.hooks.host.Host` for the program of a supervisor."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor

    @property
    def log(self) -> Log:
        return self._supervisor.log

    @property
    def verbosity(self) -> int:
        return self._supervisor.config.core.verbosity

    @property
    def pid(self) -> int:
        return self._supervisor.client.pid

    @property
    def resolver(self) -> StackResolver:
        return self._supervisor.resolver

    def is_gone(self) -> bool:
        return self._supervisor.client.is_dead()

    def read(self, address: int, size: int) -> bytes | None:
        return self._supervisor.client.read(address, size)

    def read_string(self, address: int, limit: int) -> bytes | None:
        return self._supervisor.client.read_string(address, limit)

    def find_function(self, name: str) -> int:
        return self._supervisor.objects.find_function(name)

    def binding(self, address: int) -> tuple[str, str]:
        bound = self._supervisor.objects.redir.active.get(address)
        return ("???", "???") if bound is None else (bound.symbol, bound.soname)

    def thread(self, asker: Any) -> Thread:
        number, tid = int(asker.tid_guest), int(asker.tid)
        return Thread(number, tid, self._supervisor.thread_names.get(number, ""))

    def return_addresses(self, call: HookedCall) -> Sequence[int]:
        event = call.ask(Answer(0, lib.IP_HOOK_TRACE))
        return (list(event.trace) or self._supervisor.unwind(call.asker))[_OWN_FRAMES:]


def answer(service: HookService, supervisor: Supervisor, slot: Any) -> None:
    """Take one event of a stub, and give the answer into its slot."""
    length = slot.len
    slot.r[0], slot.r[1], slot.r[2] = lib.IP_HOOK_LEAVE, lib.IP_HOOK_DONE, 0
    if not FRAME.size <= length <= lib.IP_SLOT_DATA:
        return
    data = ffi.buffer(slot.data, length)
    words = FRAME.unpack_from(data)
    trace: tuple[int, ...] = ()
    if length > FRAME.size:
        trace = struct.unpack_from(f"<{(length - FRAME.size) // 8}Q", data, FRAME.size)
    frame, room, failed, again = int(slot.a[0]), slot.a[2], slot.a[3], slot.a[4]
    given = service.answer(Event(frame, words, room, failed, again, trace, slot))
    slot.r[0], slot.r[1] = given.action, given.again
    for address, data_ in given.writes:
        supervisor.answer_bytes(slot, address, data_)
