"""Children of vfork under gdb: told when they have left their parent's memory.

By then such a child has ended, or runs another program, under a supervisor that is a copy of its parent's
and holds it before its first instruction. gdb hears of the birth first. So until it lets the child go on it
is shown what the child was: the registers that its maker has, with 0 as the call's result, and its maker's
memory (:class:`Vforked`); what comes next is the exec, or the end.
"""

from __future__ import annotations

import contextlib
import os
import time

from interpose import system
from interpose.gdb import packets, registers, signals
from interpose.gdb.family import Child
from interpose.gdb.packets import OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from interpose.gdb.server import Server
    from interpose.gdb.threads import Thread

_RAX = 16  # digits of the first register
_DEATH_S = 1.0  # how long a process that ends may take to be dead
_GONE = b"E.this child of vfork is about to execute another program"


class Vforks:
    """The children of vfork that this process's threads are about to tell of, by their numbers."""

    def __init__(self) -> None:
        self._ways: dict[int, int] = {}
        self._ends: dict[int, bytes] = {}

    def executes(self, pid: int) -> int:
        """One is about to execute a program of ours; its end of a way between the supervisors, or -1."""
        try:
            ours, its = system.socket_pair()
        except OSError:
            return -1
        if (stale := self._ways.pop(pid, -1)) >= 0:  # that exec has failed
            os.close(stale)
        self._ways[pid] = ours
        return its

    def ended(self, pid: int, status: int, signal: int) -> None:
        """One has ended, with this status or by this signal."""
        self._ends[pid] = _end(pid, status, signal)

    def way_to(self, pid: int) -> int:
        """One is told of now: where its end comes from, or what its server says; -1: it is not followed."""
        way = self._ways.pop(pid, -1)
        end = self._ends.pop(pid, None) or _seen_end(pid)
        if end is None:
            return way
        if way >= 0:
            os.close(way)
        try:
            ours, its = system.socket_pair()
        except OSError:
            return -1
        os.write(its, packets.frame(end))
        os.close(its)
        return ours

    def clear(self) -> None:
        """gdb is gone, or this is a copy."""
        for fd in self._ways.values():
            os.close(fd)
        self._ways.clear()
        self._ends.clear()


def _end(pid: int, status: int, signal: int) -> bytes:
    what = b"X%02x" % signals.to_gdb(signal) if signal else b"W%02x" % (status & 0xFF)
    return what + b";process:%x" % pid


def _seen_end(pid: int) -> bytes | None:
    """Of a child that was killed, and nobody has waited for yet; else None: others say so before."""
    give_up = time.monotonic() + _DEATH_S
    with contextlib.suppress(OSError):  # it gives its maker's memory back before it is a zombie
        while system.unreaped_status(pid) is None and system.is_exiting(pid) and time.monotonic() < give_up:
            time.sleep(0.001)
    by = (system.unreaped_status(pid) or 0) & 0x7F
    return _end(pid, 0, by) if by else None


class Vforked(Child):
    """A child of vfork: until gdb has let it go on, what it was on its maker's memory.

    :param shown: its registers, as ``g`` has them.
    :param ask_maker: the answer of its maker's server to a packet.
    """

    def __init__(self, server: Server, pid: int, fd: int, shown: bytes, ask_maker: Callable[[bytes], bytes]):
        super().__init__(pid, fd)
        self._target = server.target
        self._shown = shown
        self._ask_maker = ask_maker
        self._is_before = True
        self._settings: list[bytes] = []

    def _settle(self) -> None:
        """Wait until it has ended or begun what it executes: another server is to go on with it."""
        if self._is_before and not self.told and (content := self._next()) is not None:
            self.told.insert(0, content)

    def event(self) -> bytes | None:
        """The first one is its exec, or its end."""
        if self._is_before and not self.runs:
            self._settle()
        content = super().event()
        if content is None or not self._is_before:
            return content
        self._is_before = False
        if content.startswith(b"T"):
            for setting in self._settings:
                super().ask(setting)
        return content

    def ask(self, content: bytes) -> bytes:
        if not self._is_before:
            return super().ask(content)
        if content.startswith(b"vKill"):
            self._settle()
            self._is_before = False
            return super().ask(content) if self.is_there else OK
        return self._pretend(content)

    def _pretend(self, content: bytes) -> bytes:
        kind = content[:1]
        if kind == b"g":
            return self._shown
        if kind == b"p":
            number = int(content[1:], 16)
            sizes = [2 * register.size for register in self._target.registers]
            if number >= len(sizes):
                return b"E01"
            at = sum(sizes[:number])
            return self._shown[at : at + sizes[number]]
        if kind in b"mMxX" or content[:2] in (b"Z0", b"z0", b"Z1", b"z1"):
            return self._ask_maker(content)
        if content.startswith(b"qXfer:"):
            name, operation, *rest = content[len(b"qXfer:") :].split(b":")
            annex = b"" if name == b"exec-file" else rest[0]  # the number of a process
            return self._ask_maker(b":".join((b"qXfer", name, operation, annex, *rest[1:])))
        if kind == b"Q":
            self._settings.append(content)
            return OK
        if content == b"qC":
            return b"QCp%x.%x" % (self.pid, self.pid)
        if content == b"qfThreadInfo":
            return b"mp%x.%x" % (self.pid, self.pid)
        if content.startswith(b"qThreadExtraInfo,"):
            return b"vfork".hex().encode()
        return OK if kind in b"HTDZz" else _GONE

    def go(self, content: bytes) -> None:
        if not self._is_before:
            super().go(content)
        self.runs = True  # it stops by itself

    def threads(self) -> bytes:
        if not self._is_before:
            return super().threads()
        return b'<thread id="p%x.%x">vfork</thread>' % (self.pid, self.pid)

    @property
    def is_there(self) -> bool:
        self._settle()
        return super().is_there

    def hand_over(self) -> int:
        self._settle()
        return super().hand_over()


def _with_result(shown: bytes) -> bytes:
    """The registers of a maker of a child, as the child has them."""
    return b"0" * _RAX + shown[_RAX:]


def own_child(server: Server, maker: Thread, way: int) -> Child:
    """A child of the process that the server is of."""
    shown = _with_result(registers.shown(server.target, maker))
    return Vforked(server, maker.detail, way, shown, server.ask)


def grandchild(server: Server, pid: int, way: int, maker: Child) -> Child:
    """A child of another process, which waits where it has told of it."""

    def ask(content: bytes) -> bytes:
        return b"E01" if maker.runs or maker.gone else maker.ask(content)

    return Vforked(server, pid, way, _with_result(maker.ask(b"g")), ask)
