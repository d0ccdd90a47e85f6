"""The program's descriptors (--track-fds): where each was opened and closed, misuse, and what is left open.

The runtime notes what happens in the program's memory (``interpose/abi/descriptors.h``), which is read when
there is something to say; the texts are those of docs/spec/output.md section 3.2.
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
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from dataclasses import dataclass
    from typing import Any

    from interpose.report.errors import ErrorKind
    from interpose.report.stack import Stack
    from interpose.supervisor.main import Supervisor
else:
    from interpose.records import dataclass

INHERITED = "<inherited from parent>"
NOT_FOLLOWED = "<opened in a way that is not followed>"
_TRIES = 100  # to read the notes between two changes; threads may run


@dataclass
class Descriptor:
    """One that is open, or was.

    :ivar stack: where it was opened; None if that is not known.
    :ivar path: its file as the program named it, or else the kernel, or "".
    :ivar domain: of a socket, else -1.
    :ivar ends: a socket's addresses, as in reports.
    :ivar closed: where it was closed; None as long as it is open, or if that is not known.
    """

    number: int
    stack: Stack | None = None
    path: str = ""
    domain: int = -1
    ends: str = ""
    inherited: bool = False
    closed: Stack | None = None

    def title(self) -> str:
        """What it is, at the beginning of a report."""
        if self.domain < 0:
            return f"file descriptor {self.number}:" + (f" {self.path}" if self.path else "")
        return f"{_family(self.domain)} socket {self.number}:" + (f" {self.ends}" if self.ends else "")

    def name(self) -> str:
        """What it was, in a sentence."""
        if self.domain < 0:
            return self.path or f"file descriptor {self.number}"
        ends = self.ends
        if ends.endswith(" <-> unbound"):  # as Valgrind 3.19 has it of open ones; this is 3.27's
            ends = f"{ends[: -len('unbound')]}<unbound>"
        return f"{_family(self.domain)} socket {self.number}:" + (f" {ends}" if ends else "")


class Descriptors:
    """The descriptors of one program."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._notes = 0
        """Address of ``struct ip_fds``."""
        self._files = 0
        """The table that is looked at.  Threads share one, processes on the same memory need not."""
        self._left: list[int] | None = None
        """Numbers that are open at the end, as the kernel lists them; None before."""
        self._complete = True
        self._kept: dict[int, Stack] = {}
        """Stacks whose addresses have meant something else since, by when they were noted."""

    # -- what happens ---------------------------------------------------------------------------

    def event(self, slot: Any) -> None:
        """Something was told (``IP_R_FDS``)."""
        event = slot.a[0]
        self._files = slot.a[1]
        if event == lib.IP_FD_BEGIN:
            self._notes = slot.a[2]
            self._left, self._complete = None, True
            self._kept.clear()
        elif event == lib.IP_FD_STACK:
            frames = self._supervisor.unwind(slot)[: lib.IP_FD_FRAMES]
            ffi.memmove(slot.data, ffi.new("uint64_t[]", frames), 8 * len(frames))
            slot.r[0] = len(frames)
        elif event == lib.IP_FD_LEFT:
            numbers = ffi.unpack(ffi.cast("int32_t *", slot.data), slot.len // 4) if slot.len else []
            self._left = [*(() if self._complete else self._left or ()), *numbers]
            self._complete = not slot.a[2]
        else:
            self._misused(slot, closing=event == lib.IP_FD_NO_MORE)

    # -- notes ----------------------------------------------------------------------------------

    def _all(self) -> list[Any]:
        """A copy of every note (``struct ip_fd``) that says something."""
        read = self._supervisor.client.read_struct
        for _ in range(_TRIES):
            head = read("struct ip_fds", self._notes)
            found: list[Any] = []
            chunk = head and read("struct ip_fd_chunk", head.chunks)
            while chunk:
                used = chunk.fd[0 : chunk.used]
                found += [ffi.new("struct ip_fd *", fd) for fd in used if fd.state != lib.IP_FD_NEVER]
                chunk = chunk.next and read("struct ip_fd_chunk", chunk.next)
            again = read("struct ip_fds", self._notes)
            if head is None or again is None or (not head.version % 2 and head.version == again.version):
                break
        return found

    def _opened(self, fd: Any) -> Stack | None:
        return self._stack(fd.opened, fd.frames, fd.n_opened)

    def _closed(self, fd: Any) -> Stack | None:
        return self._stack(fd.closed, fd.frames + 8 * fd.limit, fd.n_closed)

    def _stack(self, when: int, address: int, count: int) -> Stack | None:
        if (kept := self._kept.get(when)) is not None:
            return kept
        data = self._supervisor.client.read(address, 8 * count)
        return self._normal(struct.unpack(f"{count}Q", data)) if data else None

    def _normal(self, frames: Sequence[int]) -> Stack:
        """The program counter is behind the system call, as in other reports."""
        return self._supervisor.resolver.of_call(((frames[0] & lib.IP_KEY_PC) + 2, *frames[1:]))[1]

    def _told(self, slot: Any) -> Stack | None:
        """Of the thread that tells."""
        frames = ffi.unpack(ffi.cast("uint64_t *", slot.data), slot.len // 8) if slot.len else ()
        return self._normal(frames) if frames else None

    def _descriptor(self, fd: Any) -> Descriptor:
        text = self._supervisor.client.read(fd.text, fd.name_bytes + fd.peer_bytes + fd.path_bytes) or b""
        found = Descriptor(fd.number, self._opened(fd), inherited=bool(fd.inherited), closed=self._closed(fd))
        _describe(found, fd.domain, text[: fd.name_bytes], text[fd.name_bytes :])
        return found

    def renumber(self, number: Callable[[Stack], Stack]) -> None:
        """Addresses mean something else from now on: the stacks so far get addresses of their own."""
        kept: dict[int, Stack] = {}
        for fd in self._all():
            for when, stack in ((fd.opened, self._opened(fd)), (fd.closed, self._closed(fd))):
                if stack and ((changed := number(stack)) != stack or when in self._kept):
                    kept[when] = changed
        self._kept = kept

    # -- errors ---------------------------------------------------------------------------------

    def _misused(self, slot: Any, *, closing: bool) -> None:
        number = int(ffi.cast("int32_t", slot.a[2]))
        note = self._supervisor.client.read_struct("struct ip_fd", slot.a[3]) if slot.a[3] else None
        before = None if note is None else self._descriptor(note)
        if before is None and closing:
            return  # programs close all numbers on purpose
        if before is None:
            text = f"File descriptor {number} was never created"
        elif closing:
            text = f"File descriptor {number}: {before.name()} is already closed"
        else:
            text = f"File descriptor {number} was closed already"
        error = self._error(FD_BAD_CLOSE if closing else FD_BAD_USE, number, text, self._told(slot))
        error.tid = self._supervisor.client.thread_of(slot)
        error.thread_name = self._supervisor.thread_names.get(error.tid)
        if before is not None:
            error.path = before.name()
            error.aux = tuple(
                AuxPart(words, stack)
                for words, stack in (
                    ("Previously closed", before.closed),
                    ("Originally opened", before.stack),
                )
                if stack
            )
        self._supervisor.core_errors().report(error)

    def _error(self, kind: ErrorKind, number: int, text: str, stack: Stack | None) -> Error:
        return Error(kind, 0, (text,), stack, extra=(number, text), fd=number)

    # -- what is open ---------------------------------------------------------------------------

    def _open(self) -> Iterator[Descriptor]:
        """Those of the table, the one opened last first."""
        noted = [fd for fd in self._all() if fd.files == self._files and fd.state == lib.IP_FD_OPEN]
        known = {fd.number for fd in noted}
        numbers = known if self._left is None else set(self._left)
        for number in sorted(numbers - known, reverse=True):
            yield Descriptor(number)
        for fd in sorted(noted, key=lambda fd: fd.opened, reverse=True):
            if fd.number in numbers:
                yield self._descriptor(fd)

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

        self._files, self._left = 0, None
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


def _describe(descriptor: Descriptor, domain: int, name: bytes, rest: bytes) -> None:
    """Enter what the runtime has found out; ``rest`` is a socket's peer, or else a path."""
    descriptor.domain = domain
    if domain < 0:
        descriptor.path = os.fsdecode(rest)
    elif domain == socket.AF_UNIX:
        descriptor.ends = _path(name) or "<unknown>"
    elif domain in (socket.AF_INET, socket.AF_INET6):
        descriptor.ends = f"{_address(name) or '<unbound>'} <-> {_address(rest) or 'unbound'}"


def _path(name: bytes) -> str:
    """Of ``struct sockaddr_un``: a path, or an abstract name behind ``@`` (unix(7)).

    Its zeros are ``@``, too; those that it ends with are left out, for many programs bind the whole array.
    """
    name = name[2:]
    if name[:1] == b"\0":
        return "@" + os.fsdecode(name[1:].rstrip(b"\0").replace(b"\0", b"@")) if name[1:] else ""
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
