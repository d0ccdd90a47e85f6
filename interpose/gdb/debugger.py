"""The program's threads under the supervisor's hand: stopped, stepped, let go; breakpoints; its memory.

Whoever debugs (a :class:`interpose.gdb.server.Server`, a monitor command) does it through the one object
``supervisor.debugger``. Threads stop between two instructions (``interpose/runtime/debug``): each
then has a request under way that is not answered until it is to go on.
"""

from __future__ import annotations

import contextlib
import time

from interpose.gdb.threads import Thread
from interpose.jit._native import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, Protocol

    from interpose.supervisor.main import Supervisor

    class Listener(Protocol):
        """Who is told what the program does; see :class:`interpose.gdb.server.Server`."""

        def event(self, thread: Thread) -> None:
            """A thread has met something, and waits; the others run, or are stopped."""

        def ended(self, status: int, signal: int) -> None:
            """The program has ended, with this exit status or by this signal."""

        def executed(self) -> bool:
            """Another program is about to run in the process; whether it is to stop before."""


AWAY_S = 1.0  # how long a thread that is in the kernel, and does not come, is waited for
KICK_S = 0.02  # until it is asked again


class Debugger:
    """What debuggers can do with one client process.

    :ivar listener: the gdb that is attached, if one is.
    :ivar breaks: breakpoints by address, with the number of those who want them.
    """

    def __init__(self, supervisor: Supervisor) -> None:
        self.supervisor = supervisor
        self.listener: Listener | None = None
        self.breaks: dict[int, int] = {}
        self._held: dict[int, Thread] = {}
        self._holders = 0
        self._kept: set[int] = set()
        self._events: list[Thread] = []
        self._waits = False
        self._about: int | None = None
        self._after = ""
        self._requests: set[int] = set()

    # -- threads -------------------------------------------------------------------------------

    def threads(self) -> list[Thread]:
        """The program's threads, the oldest first."""
        client = self.supervisor.client
        found = ffi.new("uint32_t[]", lib.IP_SLOTS)
        threads = []
        for at in range(lib.ip_live_slots(found, lib.IP_SLOTS)):
            index = found[at]
            thread = self._held.get(index)
            if thread is None:
                thread = Thread(client, index, lib.ip_service_slot(index))
            if thread.tid:
                threads.append(thread)
        return sorted(threads, key=lambda thread: thread.number)

    def stop_all(self) -> None:
        """Stop every thread; when this returns, all wait that can.

        :meth:`resume_all` ends it. Stops nest: the program goes on when the last one is over.
        """
        self._holders += 1
        if self._holders == 1:
            self._gather()

    @contextlib.contextmanager
    def standstill(self) -> Iterator[None]:
        """The same for the time of a ``with``."""
        self.stop_all()
        try:
            yield
        finally:
            self.resume_all()

    def resume_all(self) -> None:
        """End one stop."""
        self._holders -= 1
        if self._holders == 0 and not (self._waits and self.listener is None):
            self._release()

    @property
    def stopped(self) -> bool:
        """Whether the program stands still."""
        return self._holders > 0

    def _header(self) -> Any:
        return self.supervisor.client.header

    def _gather(self) -> None:
        self._header().debug |= lib.IP_DBG_STOP
        end = time.monotonic() + AWAY_S
        while not self.supervisor.finished:
            moving = [thread for thread in self.threads() if not thread.held and not self._is_asking(thread)]
            if not moving or time.monotonic() >= end:
                break
            for thread in moving:
                self._kick(thread)
            until = time.monotonic() + KICK_S
            while time.monotonic() < until and self.supervisor.serve_one(5):
                pass
            if self.supervisor.client.is_dead():
                break

    def _is_asking(self, thread: Thread) -> bool:
        """It waits for the answer to something that this very call is part of."""
        return thread.index in self.supervisor.deferred

    def _kick(self, thread: Thread) -> None:
        lib.ip_kick(self.supervisor.client.pid, thread.tid)

    def keep(self, threads: list[Thread]) -> None:
        """These stay where they are when the others go on."""
        self._kept = {thread.index for thread in threads}

    def _release(self) -> None:
        self._header().debug &= ~lib.IP_DBG_STOP
        self._waits = False
        if self._after:
            self.supervisor.log.plain(self._after)
            self._after = ""
        kept, self._kept = self._kept, set()
        for thread in list(self._held.values()):
            if thread.index not in kept:
                self.release(thread)

    def release(self, thread: Thread) -> None:
        """Let one thread go on as ``thread.go`` says."""
        if self._held.pop(thread.index, None) is None:
            return
        if thread in self._events:
            self._events.remove(thread)
        thread.held = False
        if thread.index in self._requests:
            self._requests.discard(thread.index)
            self.supervisor.answer_now(thread.index)
            return
        slot = thread.slot
        slot.r[0], slot.r[1] = thread.go, thread.signal
        slot.r[2], slot.r[3] = thread.span
        lib.ip_reply(thread.index)

    # -- what comes from them --------------------------------------------------------------------

    def arrived(self, slot: Any, index: int) -> bool:
        """A thread asks how to go on (IP_R_DEBUG); whether it has to wait for that."""
        thread = Thread(self.supervisor.client, index, slot)
        thread.hold()
        stops = self.stopped or self._waits
        expected = self._comes_for_gdb(thread)
        if thread.why == lib.IP_DBG_SIGNAL:
            thread.signal = thread.detail
        if not stops and (self.listener is None or thread.why == lib.IP_DBG_HELD):
            slot.r[0], slot.r[1] = lib.IP_DBG_GO_PAST, thread.signal
            return False
        self._held[index] = thread
        if expected:
            self._about = index
            self._events.insert(0, thread)
        elif thread.why != lib.IP_DBG_HELD:
            self._events.append(thread)
        return True

    def dispatch(self) -> None:
        """Tell the listener what came since; from the event loop, while no request is under way."""
        if self.listener is not None and not self.stopped and self._events:
            self.listener.event(self._events.pop(0))

    def take_event(self, wanted: Callable[[Thread], bool]) -> Thread | None:
        """An event that is still to be told, of a thread that is wanted."""
        for thread in self._events:
            if wanted(thread):
                self._events.remove(thread)
                return thread
        return None

    def forget_events(self) -> None:
        """Breakpoints and steps of other threads: they are met again, or nobody waits for them any more."""
        kept = (lib.IP_DBG_SIGNAL, lib.IP_DBG_WATCHED, lib.IP_DBG_ENTRY, lib.IP_DBG_RETURN)
        self._events = [
            thread for thread in self._events if thread.why in kept or self._comes_for_gdb(thread)
        ]

    # -- waiting for gdb -------------------------------------------------------------------------

    def wait_for_gdb(self, index: int | None, after: str = "") -> None:
        """Stop at the next boundary of a thread, until a debugger lets the program go on.

        :param index: the slot of the thread that it is about; None: any. Its request is being answered.
        :param after: a line for the log when it goes on.
        """
        self._waits = True
        self._about = index
        self._after = after
        self._header().debug |= lib.IP_DBG_STOP
        if index is not None:
            self._kick(Thread(self.supervisor.client, index, lib.ip_service_slot(index)))

    def hold_request(self, thread: Thread) -> None:
        """A thread's request is not carried out before a debugger lets it go on."""
        self._waits = True
        self._about = thread.index
        thread.held = True
        thread.why = lib.IP_DBG_HELD
        self._held[thread.index] = thread
        self._requests.add(thread.index)
        self._events.append(thread)

    def _comes_for_gdb(self, thread: Thread) -> bool:
        """Whether this is the stop that gdb is waited for at."""
        return self._waits and (self._about is None or self._about == thread.index)

    # -- attaching -------------------------------------------------------------------------------

    def attach(self, listener: Listener) -> None:
        """From now on signals and the like are told to this one."""
        self.listener = listener
        self._header().debug |= lib.IP_DBG_ON

    def detach(self) -> None:
        """The listener is gone: nothing of it stays behind."""
        self.listener = None
        self._waits = False
        for address in list(self.breaks):
            lib.ip_breakpoint(address, 0)
        self.breaks.clear()
        self.set_watched(())
        header = self._header()
        header.debug &= lib.IP_DBG_STOP
        self._events.clear()
        for thread in self._held.values():
            thread.go = lib.IP_DBG_GO
            if thread.why == lib.IP_DBG_SIGNAL and thread.state.changed >> lib.IP_DBG_CHANGED_PC & 1:
                thread.signal = 0  # of an instruction that it is no longer at

    def forked(self) -> None:
        """This is the copy of the supervisor for a forked child, which no debugger follows."""
        self._held.clear()
        self._requests.clear()
        self._holders = 0
        self._events.clear()
        self.detach()
        self._header().debug = 0

    def executes(self) -> None:
        """The same process runs another program now, with a channel of its own; its runtime waits for us."""
        for address in list(self.breaks):
            lib.ip_breakpoint(address, 0)
        self.breaks.clear()
        lib.ip_watching(0)
        self._held.clear()
        self._requests.clear()
        self._events.clear()
        self._kept.clear()
        self._holders = 0
        self._waits = False
        if self.listener is not None:
            self._header().debug |= lib.IP_DBG_ON
            if self.listener.executed():
                self.wait_for_gdb(None)

    def ended(self, status: int, signal: int = 0) -> None:
        """The program has ended."""
        if self.listener is not None:
            self.listener.ended(status, signal)
            self.listener = None

    # -- breakpoints -----------------------------------------------------------------------------

    def set_break(self, address: int) -> None:
        """Stop whoever is about to execute the instruction at ``address``."""
        if address not in self.breaks:
            lib.ip_breakpoint(address, 1)
        self.breaks[address] = self.breaks.get(address, 0) + 1

    def clear_break(self, address: int) -> None:
        """The inverse, once."""
        if address in self.breaks:
            self.breaks[address] -= 1
            if not self.breaks[address]:
                del self.breaks[address]
                lib.ip_breakpoint(address, 0)

    # -- watchpoints -----------------------------------------------------------------------------

    def set_watched(self, ranges: Iterable[tuple[int, int, int]]) -> bool:
        """Stop whoever has accessed one of these: begin, end, ``IP_DBG_ON_*``. False: there are too many."""
        wanted = list(ranges)
        if len(wanted) > lib.IP_DBG_RANGES:
            return False
        header = self._header()
        header.debug_n_watched = len(wanted)
        for at, (begin, end, kinds) in enumerate(wanted):
            header.debug_watched[at].lo = begin
            header.debug_watched[at].hi = end
            header.debug_watched[at].kinds = kinds
        if bool(wanted) != bool(header.debug & lib.IP_DBG_WATCH):
            header.debug ^= lib.IP_DBG_WATCH
            lib.ip_watching(bool(wanted))
        return True

    # -- memory ----------------------------------------------------------------------------------

    def read(self, address: int, size: int) -> bytes:
        """Memory from ``address`` on, as far as it can be read."""
        client = self.supervisor.client
        data = client.read(address, size)
        if data is not None:
            return data
        parts = []
        while size > 0:  # up to the first page that cannot
            step = min(size, 4096 - address % 4096)
            data = client.read(address, step)
            if data is None:
                break
            parts.append(data)
            address, size = address + step, size - step
        return b"".join(parts)

    def write(self, address: int, data: bytes) -> bool:
        """Write memory, code too; false if there is none."""
        if not data:
            return True
        if not self.supervisor.client.write(address, data):
            return False
        lib.ip_code_written(address, len(data))
        self.supervisor.tool.memory_written(address, len(data))
        return True
