"""The program's threads under the supervisor's hand: stopped, stepped, let go; breakpoints; its memory.

Whoever debugs (a :class:`interpose.gdb.server.Server`, a monitor command) does it through the one object
``supervisor.debugger``. Threads stop between two instructions (``interpose/runtime/debug``): each
then has a request under way that is not answered until it is to go on.
"""

from __future__ import annotations

import contextlib
import os
import time

from interpose.gdb.threads import Thread, slot_index
from interpose.gdb.vforks import Vforks
from interpose.jit._native import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, Protocol

    from interpose.gdb.family import Descent
    from interpose.gdb.fifos import Lent
    from interpose.supervisor.main import Supervisor

    class Listener(Protocol):
        """Who is told what the program does; see :class:`interpose.gdb.server.Server`."""

        def event(self, thread: Thread) -> None:
            """A thread has met something, and waits; the others run, or are stopped."""

        def ended(self, status: int, signal: int) -> None:
            """The program has ended, with this exit status or by this signal."""

        def tells_first(self) -> bool:
            """The program is about to end; whether there is something to tell before."""

        def tell_first(self) -> None:
            """Tell it; the program does not end before gdb lets it go on."""

        @property
        def follows_exec(self) -> bool:
            """Whether it is to be told of other programs that begin."""

        def executed(self) -> bool:
            """Another program is about to run in the process; whether it is to stop before."""

        def copied(self) -> object:
            """This is a copy, of a process that is not followed."""

        def followed(self, fd: int, lent: Lent | None) -> Descent:
            """This is a forked child's copy of it."""

        def stand(self) -> None:
            """The child has been born."""

        def listen(self) -> None:
            """Something may have come from a child."""


AWAY_S = 1.0  # how long a thread that is in the kernel, and does not come, is waited for
KICK_S = 0.02  # until it is asked again


class Debugger:
    """What debuggers can do with one client process.

    :ivar listener: the gdb that is attached, if one is.
    :ivar breaks: breakpoints by address, with the number of those who want them.
    :ivar gdb_may_come: false once a signal has ended the waiting for gdb: the program does not wait again.
    :ivar stops_at_end: false in a forked child that gdb has not come to, if children are not followed.
    :ivar told_death: by which signal the program dies has been said before its end waits for gdb.
    """

    def __init__(self, supervisor: Supervisor) -> None:
        self.supervisor = supervisor
        self.listener: Listener | None = None
        self.breaks: dict[int, int] = {}
        self.gdb_may_come = self.stops_at_end = True
        self.told_death = False
        self._held: dict[int, Thread] = {}
        self._holders = 0
        self._events: list[Thread] = []
        self._waits = False
        self._about: int | None = None
        self._after = ""
        self._requests: dict[int, Callable[[], None]] = {}
        self._ways: dict[int, int] = {}
        """Our ends of the ways to children's supervisors until gdb hears of them, by the slot that forked."""
        self.vforks = Vforks()
        self.descent: Descent | None = None
        """In a forked child: where its parent's server speaks with ours."""

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
        """These stay where they are when the others go on, until the next call."""
        kept = {thread.index for thread in threads}
        for thread in self._held.values():
            thread.kept = thread.index in kept

    def _release(self) -> None:
        self._header().debug &= ~lib.IP_DBG_STOP
        self._waits = False
        if self._after:
            self.supervisor.log.plain(self._after)
            self._after = ""
        told = self._events if self.listener is not None else ()  # it comes before they go on
        for thread in list(self._held.values()):
            if not thread.kept and thread not in told:
                self.release(thread)

    def release(self, thread: Thread) -> None:
        """Let one thread go on as ``thread.go`` says."""
        if self._held.pop(thread.index, None) is None:
            return
        if thread in self._events:
            self._events.remove(thread)
        thread.held = False
        if (carry_out := self._requests.pop(thread.index, None)) is not None:
            carry_out()
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
        if self.listener is None or self.stopped:
            return
        if (thread := self.take_event(lambda thread: not thread.kept)) is not None:
            self.listener.event(thread)

    def take_event(self, wanted: Callable[[Thread], bool]) -> Thread | None:
        """An event that is still to be told, of a thread that is wanted: of those the oldest."""
        for thread in list(self._events):
            if wanted(thread):
                self._events.remove(thread)
                if thread.met_at is None or (thread.met_at == thread.pc and thread.pc in self.breaks):
                    return thread
        return None

    def put_back(self, thread: Thread) -> None:
        """Tell of this event after all: something else comes first."""
        self._events.insert(0, thread)

    def forget_events(self) -> None:
        """Steps of other threads: nobody waits for them any more.

        Breakpoints that they have met stay to be told, each in its turn, unless they are gone by then: met
        again when all go on, they would always be those of the threads that are let go first.
        """
        passing = (lib.IP_DBG_HELD, lib.IP_DBG_STEPPED)
        self._events = [
            thread for thread in self._events if thread.why not in passing or self._comes_for_gdb(thread)
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

    def hold_request(self, thread: Thread, then: Callable[[], None]) -> None:
        """A thread's request is not carried out before a debugger lets it go on; ``then`` does it."""
        self._waits = True
        self._about = thread.index
        thread.why = lib.IP_DBG_HELD
        self._hold(thread, then)
        self._events.append(thread)

    def _hold(self, thread: Thread, then: Callable[[], None]) -> None:
        thread.held = True
        self._held[thread.index] = thread
        self._requests[thread.index] = then

    def _hold_answer(self, slot: Any, index: int) -> Thread:
        """The thread, whose request is answered when it is let go on."""
        thread = Thread(self.supervisor.client, index, slot)
        self._hold(thread, lambda: self.supervisor.answer_now(index))
        return thread

    def stop_soon(self) -> None:
        """Have the other threads of a program that waits for gdb stop, too; nobody waits until they do."""
        self._header().debug |= lib.IP_DBG_STOP
        for thread in self.threads():
            if not thread.held and not self._is_asking(thread):
                self._kick(thread)

    def _look_for_signals(self) -> None:
        """Who ends a program that waits for gdb does not want it to wait on: it goes on to that signal."""
        if not self._waits or self.listener is not None:
            return
        for thread in list(self._held.values()):
            number = thread.ending_signal()
            if number:
                from interpose.supervisor.fatal import signal_name

                self.gdb_may_come = False
                self._after = f"Continuing for signal {number} ({signal_name(number)}) ..."
                self.stop_waiting()
                return

    def _let_go(self) -> None:
        """Threads that wait go on when they are released, and not in another way that gdb has told before."""
        for thread in self._held.values():
            thread.go = lib.IP_DBG_GO

    def ends_too_early(self, slot: Any, index: int) -> bool:
        """Whether the end of the process waits, because the listener has something to tell before."""
        if self.listener is None or slot.a[7] or not self.listener.tells_first():
            return False
        self._hold_answer(slot, index).why = lib.IP_DBG_HELD
        self.listener.tell_first()
        return True

    def holds_exec(self, slot: Any, index: int) -> bool:
        """Whether an exec waits, because the program is being stopped.

        Once it is under way the thread cannot come, and a kick would kill an image without a handler for it.
        """
        if not self.stopped or slot.a[2]:  # (a child of vfork: nothing of it stops)
            return False
        self._hold_answer(slot, index)
        return True

    def _comes_for_gdb(self, thread: Thread) -> bool:
        """Whether this is the stop that gdb is waited for at."""
        return self._waits and (self._about is None or self._about == thread.index)

    # -- attaching -------------------------------------------------------------------------------

    def attach(self, listener: Listener) -> None:
        """From now on signals and the like are told to this one."""
        self.listener = listener
        self.gdb_may_come = self.stops_at_end = True
        self._header().debug |= lib.IP_DBG_ON

    def left_behind(self) -> None:
        """This is a copy of the supervisor: the listener is another process's."""
        if self.listener is not None:
            self.listener.copied()
        self.descent = None
        self.leave()

    def leave(self) -> None:
        """The listener is gone, or another process's."""
        self.listener = None
        for fd in self._ways.values():
            os.close(fd)
        self._ways.clear()
        self.vforks.clear()

    def detach(self) -> None:
        """The listener is gone: nothing of it stays behind."""
        self.leave()
        for address in list(self.breaks):
            lib.ip_breakpoint(address, 0)
        self.breaks.clear()
        self.set_watched(())
        header = self._header()
        header.debug &= lib.IP_DBG_STOP
        header.debug_minded = 0
        self._events.clear()
        self._let_go()
        for thread in self._held.values():
            if thread.why == lib.IP_DBG_SIGNAL and thread.state.changed >> lib.IP_DBG_CHANGED_PC & 1:
                thread.signal = 0  # of an instruction that it is no longer at
        self.keep([])
        self._waits = False
        if not self.stopped:
            self._release()

    def stop_waiting(self) -> None:
        """Go on, if it is gdb that is waited for: somebody has come and left without stopping the program."""
        if self._waits and self.listener is None:
            self._waits = False
            if not self.stopped:
                self._let_go()
                self._release()

    def _forget(self) -> None:
        """These are other threads than before."""
        self._held.clear()
        self._requests.clear()
        self._events.clear()
        self._holders = 0
        self._waits = False
        self._after = ""

    # -- forks -----------------------------------------------------------------------------------

    def forked(self, way: int = -1, lent: Lent | None = None) -> None:
        """This is the copy of the supervisor for a forked child.

        :param way: leads to the server that may follow it; -1: nobody does.
        :param lent: the FIFOs that its gdb is at.
        """
        self._forget()
        listener = self.listener
        if listener is None or way < 0:
            if listener is not None:
                listener.copied()
            self.descent = None
            self.detach()
            self._header().debug = 0
            return
        self._header().debug |= lib.IP_DBG_STOP
        self._follow(listener, way, lent)

    def _follow(self, listener: Listener, way: int, lent: Lent | None) -> None:
        for fd in self._ways.values():
            os.close(fd)
        self._ways.clear()
        self.vforks.clear()
        self.descent = listener.followed(way, lent)

    def vforked(self, way: int, lent: Lent | None) -> None:
        """This is the copy of the supervisor for what a child of vfork is about to execute, to follow."""
        assert self.listener is not None
        self._forget()
        self._follow(self.listener, way, lent)

    def way_to_exec(self, slot: Any) -> int:
        """For a child of vfork that is about to execute a program of ours: as :meth:`way_to_child`."""
        if not slot.a[6] or self.listener is None or not self.listener.follows_exec:
            return -1
        return self.vforks.executes(slot.a[1])

    def is_born(self) -> bool:
        """The forked child is there, and waits to be asked about; whether a debugger follows it."""
        if self.descent is None or self.listener is None:
            return False
        self.descent.watch()
        self.listener.stand()
        return True

    def is_followed(self) -> bool:
        """Whether gdb speaks with this process over the files of another one."""
        fifos = self.supervisor.fifos
        if self.descent is None:
            return fifos is not None and fifos.is_adopted
        self.descent.watch()  # the event loop may be another one than it was
        return True

    def way_to_child(self, slot: Any) -> int:
        """For a thread that is about to fork: the child's end of a way between the supervisors, or -1."""
        from interpose import system

        if not slot.a[0] or self.listener is None:
            return -1
        index = slot_index(slot)
        try:
            ours, its = system.socket_pair()
        except OSError:
            return -1
        if (stale := self._ways.pop(index, -1)) >= 0:  # that fork has failed
            os.close(stale)
        self._ways[index] = ours
        return its

    def way_of(self, thread: Thread) -> int:
        """The way to the child that a thread has told of; -1: there is none."""
        way = self._ways.pop(thread.index, -1)
        return self.vforks.way_to(thread.detail) if way < 0 and thread.why == lib.IP_DBG_VFORKED else way

    def tell_of_threads(self, on: bool) -> None:
        """Have threads that begin and end told."""
        header = self._header()
        header.debug = header.debug & ~lib.IP_DBG_THREADS | (lib.IP_DBG_THREADS if on else 0)

    def pass_signals(self, passed: int) -> None:
        """These, by bits, go to the program without being told; none: perhaps to step over a breakpoint."""
        self._header().debug_passed = passed
        if passed:
            self.mind_signals()

    def mind_signals(self) -> None:
        """Have the others told also where the program ignores them."""
        header = self._header()
        header.debug_minded = ~header.debug_passed & (1 << 64) - 1

    def tell_of_forks(self, which: int) -> None:
        """Have children that are born told: ``IP_DBG_FORKS``, ``IP_DBG_VFORKS``."""
        header = self._header()
        header.debug = header.debug & ~(lib.IP_DBG_FORKS | lib.IP_DBG_VFORKS) | which

    def listen(self) -> None:
        """What comes from the supervisor of a parent or a child, or ends the waiting; from the event loop."""
        self._look_for_signals()
        if self.supervisor.pending_exec is not None:
            return  # as in Fifos.serve
        if self.descent is not None and not self.descent.serve():
            self.descent = None
            fifos = self.supervisor.fifos
            if fifos is not None and fifos.pid == 0 and not fifos.is_adopted:
                fifos.wanted = self.supervisor.client.pid
        if self.listener is not None:
            self.listener.listen()

    # -- exec, end -------------------------------------------------------------------------------

    def executes(self) -> None:
        """The same process runs another program now, with a channel of its own; its runtime waits for us."""
        for address in list(self.breaks):
            lib.ip_breakpoint(address, 0)
        self.breaks.clear()
        lib.ip_watching(0)
        self._forget()
        if self.listener is not None:
            self._header().debug |= lib.IP_DBG_ON
            self.tell_of_forks(getattr(self.listener, "forks", 0))
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
