"""The program's descriptors (--track-fds): where each was opened and closed, misuse, and what is left open.

The runtime tells what happens (``interpose/abi/descriptors.h``); the texts are those of docs/spec/output.md
section 3.2.
"""

from __future__ import annotations

import os
import socket
import struct
from functools import partial

from interpose.jit._native import ffi, lib
from interpose.report.core_errors import FD_BAD_CLOSE, FD_BAD_USE, FD_NOT_CLOSED
from interpose.report.errors import AuxPart, Error, Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from dataclasses import dataclass, field
    from typing import Any

    from interpose.report.errors import ErrorKind
    from interpose.report.stack import Stack
    from interpose.supervisor.main import Supervisor
else:
    from interpose.records import dataclass, field

INHERITED = "<inherited from parent>"
NOT_FOLLOWED = "<opened in a way that is not followed>"


@dataclass
class Descriptor:
    """One that is open.

    :ivar stack: where it was opened; None if that is not known.
    :ivar path: its file as the kernel names it, or "".
    :ivar domain: of a socket, else -1.
    :ivar ends: a socket's addresses, as in reports.
    """

    number: int
    stack: Stack | None = None
    path: str = ""
    domain: int = -1
    ends: str = ""
    inherited: bool = False

    def title(self) -> str:
        """What it is, at the beginning of a report."""
        if self.domain < 0:
            return f"file descriptor {self.number}:" + (f" {self.path}" if self.path.startswith("/") else "")
        return f"{_family(self.domain)} socket {self.number}:" + (f" {self.ends}" if self.ends else "")

    def name(self) -> str:
        """What it was, in a sentence."""
        if self.domain < 0:
            return self.path or "file"
        return f"{_family(self.domain)} socket" + (f" {self.ends}" if self.ends else "")


@dataclass
class Closed:
    """What had a number last, and where it was closed (None: not known)."""

    what: Descriptor
    stack: Stack | None


@dataclass
class Table:
    """One table of descriptors; threads share one, processes on the same memory need not."""

    open: dict[int, Descriptor] = field(default_factory=dict)
    closed: dict[int, Closed] = field(default_factory=dict)

    def copy(self) -> Table:
        """For another process."""
        return Table(dict(self.open), dict(self.closed))


class Descriptors:
    """The descriptors of one program."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._tables = {0: Table()}
        self._current = self._tables[0]
        self._left: list[int] | None = None
        """Numbers that are open at the end, as the kernel lists them; None before."""
        self._complete = True

    # -- what happens ---------------------------------------------------------------------------

    def event(self, slot: Any) -> None:
        """Something was told (``IP_R_FDS``)."""
        event = slot.a[0]
        table = self._current = self._tables.setdefault(slot.a[1], Table())
        if event == lib.IP_FD_COPIED:
            self._tables[slot.a[2]] = table.copy()
        elif event in (lib.IP_FD_FOUND, lib.IP_FD_LEFT):
            numbers = ffi.unpack(ffi.cast("int32_t *", slot.data), slot.len // 4) if slot.len else []
            if event == lib.IP_FD_FOUND:
                for number in numbers:
                    table.open[number] = Descriptor(number, inherited=True)
            else:
                self._left = [*(() if self._complete else self._left or ()), *numbers]
                self._complete = not slot.a[2]
        else:
            self._about_one(event, slot, table)

    def _about_one(self, event: int, slot: Any, table: Table) -> None:
        record = ffi.cast("struct ip_fd *", slot.data)
        number = record.number
        if event == lib.IP_FD_CHANGED:
            if number in table.open:
                _describe(table.open[number], record)
        elif event == lib.IP_FD_OPENED:
            self._close(table, number, slot)
            table.closed.pop(number, None)
            table.open[number] = _describe(Descriptor(number, self._stack(slot)), record)
        elif event == lib.IP_FD_CLOSING:
            _describe(table.open.setdefault(number, Descriptor(number)), record)
            self._close(table, number, slot)
        else:
            self._misused(number, slot, table, closing=event == lib.IP_FD_NO_MORE)

    def _close(self, table: Table, number: int, slot: Any) -> None:
        what = table.open.pop(number, None)
        if what is not None:
            table.closed[number] = Closed(what, self._stack(slot))

    def _stack(self, slot: Any) -> Stack:
        """Of the thread that tells; the program counter is behind the system call, as in other reports."""
        size = ffi.sizeof("struct ip_fd")
        frames = ffi.unpack(ffi.cast("uint64_t *", slot.data + size), (slot.len - size) // 8)
        frames = frames or self._supervisor.unwind(slot)
        if frames:
            frames[0] = (frames[0] & lib.IP_KEY_PC) + 2
        return self._supervisor.resolver.normalise(tuple(frames))

    def renumber(self, number: Callable[[Stack], Stack]) -> None:
        """Addresses mean something else from now on: the stacks so far get addresses of their own."""
        for table in self._tables.values():
            for each in table.open.values():
                each.stack = each.stack and number(each.stack)
            for closed in table.closed.values():
                closed.stack = closed.stack and number(closed.stack)
                closed.what.stack = closed.what.stack and number(closed.what.stack)

    # -- errors ---------------------------------------------------------------------------------

    def _misused(self, number: int, slot: Any, table: Table, *, closing: bool) -> None:
        before = table.closed.get(number)
        if before is None and number in table.open:  # closed in a way that is not followed
            before = Closed(table.open.pop(number), None)
        if before is None and closing:
            return  # programs close all numbers on purpose
        if before is None:
            text = f"File descriptor {number} was never created"
        elif closing:
            text = f"File descriptor {number}: {before.what.name()} is already closed"
        else:
            text = f"File descriptor {number} was closed already"
        error = self._error(FD_BAD_CLOSE if closing else FD_BAD_USE, number, text, self._stack(slot))
        error.tid = slot.tid_guest
        error.thread_name = self._supervisor.thread_names.get(slot.tid_guest)
        if before is not None:
            error.path = before.what.name()
            error.aux = tuple(
                AuxPart(words, stack)
                for words, stack in (
                    ("Previously closed", before.stack),
                    ("Originally opened", before.what.stack),
                )
                if stack
            )
        self._supervisor.core_errors().report(error)

    def _error(self, kind: ErrorKind, number: int, text: str, stack: Stack | None) -> Error:
        return Error(kind, 0, (text,), stack, extra=(number, text), fd=number)

    # -- what is open ---------------------------------------------------------------------------

    def _open(self) -> Iterator[Descriptor]:
        """Those of the current table, the one opened last first."""
        numbers = set(self._current.open if self._left is None else self._left)
        for number in sorted(numbers - set(self._current.open), reverse=True):
            yield Descriptor(number)
        for number in reversed(self._current.open):
            if number in numbers:
                yield self._current.open[number]

    def _listed(self) -> Iterator[Error]:
        for each in self._open():
            if each.inherited and self._supervisor.config.core.track_fds != "all":
                continue
            error = self._error(FD_NOT_CLOSED, each.number, f"Open {each.title()}", each.stack)
            error.path = each.path or each.ends or None
            if not each.stack:
                error.stack = None
                # Three blanks, as before a frame, of which a part has one.
                error.aux = (AuxPart(f"  {INHERITED if each.inherited else NOT_FOLLOWED}"),)
            yield error

    def _header(self, when: str) -> str:
        found = list(self._open())
        inherited = sum(each.inherited for each in found)
        return f"FILE DESCRIPTORS: {len(found)} open ({inherited} inherited) {when}."

    def finish(self) -> None:
        """The program ends: what it leaves open is an error, but not what it was given."""
        core = self._supervisor.config.core
        if core.track_fds == "bad":
            return
        log, heading = self._supervisor.log, self._header("at exit")
        head: Callable[[], None] | None = None
        if self._supervisor.xml_sink is None and core.verbosity >= 1:
            log.plain(f"\n{heading}")
        elif self._supervisor.xml_sink is None:  # -q: for what is shown only
            head = partial(log.plain, heading)
        errors = self._supervisor.core_errors()
        for error in self._listed():
            counts = error.stack is not None
            if errors.report_unique(error, show=True, counts=counts, before=head) is Outcome.SHOWN:
                head = None

    def lines(self) -> Iterable[str]:
        """The list on request."""
        from interpose.report.text import error_lines

        self._current, self._left = self._tables[0], None
        yield self._header("")
        for error in self._listed():
            yield from error_lines(self._supervisor.resolver, error)
            yield ""


# -- names ----------------------------------------------------------------------------------------


def _family(domain: int) -> str:
    names: dict[int, str] = {
        socket.AF_UNIX: "AF_UNIX",
        socket.AF_INET: "AF_INET",
        socket.AF_INET6: "AF_INET6",
    }
    return names.get(domain, f"pf-{domain}")


def _describe(descriptor: Descriptor, record: Any) -> Descriptor:
    """Enter what the runtime has found out (``struct ip_fd``)."""

    def held(place: Any, size: int) -> bytes:
        return bytes(ffi.buffer(place, min(size, len(place))))

    descriptor.domain = record.domain
    if record.domain < 0:
        descriptor.path = os.fsdecode(held(record.path, record.path_bytes))
        return descriptor
    name, peer = held(record.name, record.name_bytes), held(record.peer, record.peer_bytes)
    if record.domain == socket.AF_UNIX:
        descriptor.ends = _path(name) or "<unknown>"
    elif record.domain in (socket.AF_INET, socket.AF_INET6):
        descriptor.ends = f"{_address(name) or '<unbound>'} <-> {_address(peer) or 'unbound'}"
    return descriptor


def _path(name: bytes) -> str:
    """Of ``struct sockaddr_un``: a path, or an abstract name behind ``@`` (unix(7))."""
    name = name[2:]
    if name[:1] == b"\0":
        return "@" + os.fsdecode(name[1:]) if name[1:] else ""
    return os.fsdecode(name.split(b"\0", 1)[0])


def _address(name: bytes) -> str:
    """Of ``struct sockaddr_in`` or ``sockaddr_in6``; "" for none."""
    if len(name) < 8:
        return ""
    (family,) = struct.unpack_from("=H", name)
    (port,) = struct.unpack_from("!H", name, 2)
    if family == socket.AF_INET6 and len(name) >= 24:
        host = name[8:24]
        return f"[{socket.inet_ntop(family, host)}]:{port}" if port or any(host) else ""
    host = name[4:8]
    return f"{socket.inet_ntoa(host)}:{port}" if port or any(host) else ""


def answer(supervisor: Supervisor, slot: Any) -> None:
    """A descriptor of the program's has come, gone or been misused; whether it goes on."""
    slot.r[0] = 0  # go on
    if supervisor.descriptors is None:
        supervisor.descriptors = Descriptors(supervisor)
    errors = supervisor.core_errors()
    shown = errors.shown
    supervisor.descriptors.event(slot)
    if errors.must_exit and errors.shown > shown:
        supervisor.stop_client(slot, supervisor.config.core.error_exitcode)
    elif supervisor.config.core.vgdb_error <= errors.shown:
        from interpose.gdb.occasions import after_error

        after_error(supervisor, slot, shown)
