"""A process and the children that it and they have forked, under one gdb.

Each has a supervisor of its own, and gdb speaks with one of them, at first that of the process that it has
attached to. What is about another one goes over a socket (:class:`Child`) to that one's supervisor, where
it is answered by a :class:`interpose.gdb.server.Server` as ever (:class:`Descent`). A child that forks
sends the way to its child up with the stop that tells of it, so whom gdb speaks with has a socket to each.
When gdb lets that process go, or it ends, a child's supervisor takes the conversation and the other sockets
over: it has the FIFOs since the fork.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import time

from interpose.gdb import packets
from interpose.gdb.going import how, vcont
from interpose.gdb.packets import NEWBORN, OK, Reader
from interpose.jit._native import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from interpose.gdb.fifos import Lent
    from interpose.gdb.server import Server

TAKE = b"\x01take:"
"""Begins what one supervisor says to the other: the conversation is yours; :class:`Heritage` follows."""

_ANSWER_S = 20.0
_PIECE = 1 << 16
_NOT_FOLLOWED = (
    b"E.this child is not followed by interpose: what it executes runs natively (see --trace-children)"
)
_STOPS = (b"T", b"S", b"W", b"X")
_MOST_FDS = 250  # in one message (SCM_MAX_FD in the kernel)


class _Socket:
    """One end of the way between two supervisors.

    :ivar sends: descriptors that go with what is sent next.
    :ivar came: those that have come.
    """

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.sends: list[int] = []
        self.came: list[int] = []

    def send(self, data: bytes) -> None:
        left = memoryview(data)
        ready = select.poll()
        ready.register(self.fd, select.POLLOUT)
        with contextlib.suppress(OSError):
            while left and self.fd >= 0:
                try:
                    left = left[self._write(left) :]
                except BlockingIOError:
                    ready.poll(1000)
        self._drop_sends()

    def _write(self, data: memoryview) -> int:
        if not self.sends:
            return os.write(self.fd, data)
        import array
        import socket

        with socket.socket(fileno=os.dup(self.fd)) as end:
            rights = array.array("i", self.sends)
            written = end.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        self._drop_sends()
        return written

    def _drop_sends(self) -> None:
        for fd in self.sends:
            os.close(fd)
        self.sends = []

    def read(self) -> bytes | None:
        """What has come; None: nothing."""
        import array
        import socket

        try:
            with socket.socket(fileno=os.dup(self.fd)) as end:
                room = socket.CMSG_SPACE(4 * _MOST_FDS) + socket.CMSG_SPACE(16)
                data, ancillary, _, _ = end.recvmsg(_PIECE, room, socket.MSG_CMSG_CLOEXEC)
        except BlockingIOError:
            return None
        except OSError:
            return b""
        for _, kind, rights in ancillary:
            if kind == socket.SCM_RIGHTS:
                self.came += array.array("i", rights[: len(rights) // 4 * 4])
        return data

    def close(self) -> None:
        self._drop_sends()
        for fd in (self.fd, *self.came):
            if fd >= 0:
                os.close(fd)
        self.fd, self.came = -1, []


class Child:
    """Another process, as the server sees it that gdb speaks with.

    :ivar pid: its number.
    :ivar runs: whether gdb has let it go on.
    :ivar told: stops of it that gdb has not been told of.
    """

    def __init__(self, pid: int, fd: int, told: Sequence[bytes] = ()) -> None:
        self.pid = pid
        self.runs = False
        self._socket = _Socket(fd)
        self._reader = Reader()
        self._reader.check = False
        self.told: list[bytes] = list(told)
        self.gone = False
        lib.ip_watch(fd)

    @property
    def has_ended(self) -> bool:
        """Whether its end is among what gdb has not been told of."""
        return any(content.startswith((b"W", b"X")) for content in self.told)

    @property
    def is_there(self) -> bool:
        """Whether its server can go on with the conversation; of one that is stopped."""
        return not self.gone and not self.has_ended

    def send(self, content: bytes) -> None:
        self._socket.send(packets.frame(content))

    def _packets(self) -> Iterator[bytes]:
        while not self.gone and (data := self._socket.read()) is not None:
            self.gone = not data
            for item in self._reader.feed(data):
                if isinstance(item, bytes):
                    yield item

    def _next(self) -> bytes | None:
        end = time.monotonic() + _ANSWER_S
        ready = select.poll()
        ready.register(self._socket.fd, select.POLLIN)
        found: list[bytes] = []
        while not found and not self.gone and (left := end - time.monotonic()) > 0:
            ready.poll(int(left * 1000))
            found += self._packets()
        self.told += found[1:]
        return found[0] if found else None

    def ask(self, content: bytes) -> bytes:
        """Its server's answer to a packet."""
        self.send(content)
        answer = self._next()
        return b"E01" if answer is None else answer

    def go(self, content: bytes) -> None:
        """A packet that is answered when it has stopped."""
        self.runs = True
        self.send(content)

    def stop(self) -> bytes | None:
        """Because another process has stopped; what it has met itself is told later, else returned."""
        if not self.runs:
            return None
        self._socket.send(b"\x03")
        answer = self._next()
        while answer is not None and not answer.startswith(_STOPS):
            answer = self._next()
        self.runs = False
        if answer is None or (answer.startswith(b"T02") and b"exec:" not in answer):
            return answer
        self.told.append(answer)
        return None

    def interrupt(self) -> bytes:
        """Stop, as a debugger's user has it: what it has met, or that."""
        answer = self.stop()
        return self.told.pop(0) if self.told else answer or b"T02thread:p%x.%x;" % (self.pid, self.pid)

    def event(self) -> bytes | None:
        """A stop or an end that gdb has not been told of."""
        if not self.told:
            self.told += self._packets()
        if not self.told:
            return None
        content = self.told.pop(0)
        if content.startswith(_STOPS):
            self.runs = False
        return content

    def threads(self) -> bytes:
        """The elements of its list of threads."""
        text = self.ask(b"qXfer:threads:read::0,3fff")
        begin, end = text.find(b"<thread "), text.rfind(b"</threads>")
        return text[begin:end].strip() if 0 <= begin < end else b""

    def newborn(self, server: Server, content: bytes) -> Child | None:
        """The process that a stop tells of, if it has just been made."""
        found = NEWBORN.search(content) if content.startswith(b"T") else None
        if found is None:
            return None
        pid = int(found[1], 16)
        if not self._socket.came:
            return Stranger(pid)
        way = self._socket.came.pop(0)
        if b"vfork:" not in content:
            return Child(pid, way)
        from interpose.gdb.vforks import grandchild

        return grandchild(server, pid, way, self)

    def hand_over(self) -> int:
        """Its socket, for another process; it is no child of ours any more."""
        fd, self._socket.fd = self._socket.fd, -1
        self._socket.close()
        return fd

    def take(self, heritage: Heritage) -> None:
        """Its server goes on with the conversation."""
        self._socket.sends = heritage.fds
        self.send(TAKE + heritage.text())
        self.close()

    def close(self) -> None:
        """It goes on, unless somebody else debugs it."""
        self._socket.close()


class Stranger(Child):
    """A child that cannot be followed, which runs: gdb may take breakpoints out of it, and leave it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.runs = False
        self.gone = True
        self.told = []

    def send(self, content: bytes) -> None:
        pass

    def ask(self, content: bytes) -> bytes:
        """Whatever gdb does to let it go, done; the rest refused."""
        return OK if content[:1] in (b"H", b"z", b"D", b"Q") else _NOT_FOLLOWED

    def go(self, content: bytes) -> None:
        """It has gone long ago."""

    def stop(self) -> bytes | None:
        """Nothing of it stops."""
        return None

    def event(self) -> bytes | None:
        return None

    def threads(self) -> bytes:
        return b""

    def newborn(self, server: Server, content: bytes) -> Child | None:
        return None

    def hand_over(self) -> int:
        return -1

    def close(self) -> None:
        pass


class Heritage:
    """What goes from one server to the next one: who is there, and what gdb is still to hear.

    :ivar reply: what gdb hears next.
    :ivar told: stops of the new one's own process that it hears later.
    :ivar children: the others: number, descriptor or -1 (it runs, and is not followed), stops.
    """

    def __init__(
        self, reply: bytes, told: Sequence[bytes], children: Sequence[tuple[int, int, Sequence[bytes]]]
    ) -> None:
        self.reply, self.told, self.children = reply, told, children

    @property
    def fds(self) -> list[int]:
        return [fd for _, fd, _ in self.children if fd >= 0]

    def text(self) -> bytes:
        words = [
            self.reply.decode("latin-1"),
            [stop.decode("latin-1") for stop in self.told],
            [[pid, fd >= 0, [stop.decode("latin-1") for stop in told]] for pid, fd, told in self.children],
        ]
        return json.dumps(words).encode("ascii")

    @classmethod
    def read(cls, text: bytes, fds: Sequence[int]) -> Heritage:
        """The inverse of :meth:`text`."""
        reply, told, children = json.loads(text)
        left = iter(fds)
        return cls(
            reply.encode("latin-1"),
            [stop.encode("latin-1") for stop in told],
            [
                (pid, next(left, -1) if has_fd else -1, [stop.encode("latin-1") for stop in stops])
                for pid, has_fd, stops in children
            ],
        )


def child_at(pid: int, fd: int, told: Sequence[bytes] = ()) -> Child:
    """A child, one that cannot be followed if there is no way to it."""
    return Child(pid, fd, told) if fd >= 0 else Stranger(pid)


class Descent:
    """In the child's supervisor: its server speaks over the socket, until it takes the conversation over.

    :param lent: the FIFOs of the parent's.
    """

    def __init__(self, server: Server, fd: int, lent: Lent | None) -> None:
        self.server = server
        self.lent = lent
        self._socket = _Socket(fd)
        self._speaks = server.speak(self._socket.send, acknowledges=False)

    def watch(self) -> None:
        """From now on :meth:`serve` is called when something comes."""
        lib.ip_watch(self._socket.fd)

    def serve(self) -> bool:
        """Take what has come; false when this is over."""
        while (data := self._socket.read()) is not None:
            if not data:
                self.server.closed()
            else:
                self.server.receive(data)
            if not data or self.server.is_closed:
                self.close()
                return False
            if self._socket.fd < 0:
                return False
        return True

    def send_with_next(self, fd: int) -> None:
        """This descriptor goes with the next packet, and is closed then."""
        self._socket.sends.append(fd)

    def copied(self) -> Lent | None:
        """This is a copy, for a child of this process: the FIFOs are for that one."""
        lent, self.lent = self.lent, None
        self.close()
        return lent

    def take(self, text: bytes) -> None:
        """The conversation is ours."""
        heritage = Heritage.read(text, self._socket.came)
        self._socket.came = []
        self._socket.close()
        fifos, lent = self.server.supervisor.fifos, self.lent
        if fifos is None or lent is None:
            self.server.closed()
            return
        self.lent = None
        send = fifos.adopt(lent, self.server)
        self.server.speak(send, acknowledges=self._speaks)
        self.server.inherit(heritage)

    def close(self) -> None:
        self._socket.close()
        if self.lent is not None:
            self.lent.close()
            self.lent = None


def route(server: Server, prefix: bytes, content: bytes) -> bool:
    """Do what a packet asks for as far as it is about a child; false: it is for this process alone."""
    if not server.children:
        return False
    rest = content[len(prefix) :]
    chosen = server.chosen
    match prefix:
        case b"H":
            child = server.children.get(_process(rest[1:]))
            if rest[:1] == b"g":
                server.chosen = child
            if child is None:
                return False
            server.reply(child.ask(content))
        case b"T" | b"qThreadExtraInfo," | b"qGetTLSAddr:":
            child = server.children.get(_process(rest))
            if child is None:
                return False
            server.reply(child.ask(content))
        case b"D" | b"vKill":
            return _leave(server, prefix, content)
        case b"vCont;":
            return _resume(server, rest)
        case b"QPassSignals:" | b"QCatchSyscalls:" | b"QThreadEvents:":
            for child in server.children.values():
                child.ask(content)
            return False
        case b"qMemoryRegionInfo:":
            if chosen is None:
                return False
            server.reply(chosen.ask(content))
        case b"qXfer:":
            if rest.startswith(b"threads:"):
                return False
            if rest.startswith(b"exec-file:read:"):
                chosen = server.children.get(_number(rest.split(b":")[2]))
            if chosen is None:
                return False
            server.reply(chosen.ask(content))
        case b"g" | b"G" | b"p" | b"P" | b"m" | b"M" | b"x" | b"X" | b"Z" | b"z" | b"qRcmd," | b"qC":
            if chosen is None:
                return False
            _pass_on(server, chosen, content)
        case _:
            return False
    return True


def _leave(server: Server, prefix: bytes, content: bytes) -> bool:
    number = _number(content[len(prefix) :].lstrip(b";"))
    if (child := server.children.get(number)) is not None:
        answer = child.ask(content)
        server.drop_child(child)
        server.reply(answer)
        server.rest()
        return True
    if number != server.supervisor.client.pid or server.heir() is None:
        return False
    server.leave_to_heir(OK, ends=prefix == b"vKill")
    if prefix == b"vKill":
        server.supervisor.end_client()
    return True


def _pass_on(server: Server, child: Child, content: bytes) -> None:
    answer = child.ask(content)
    while answer.startswith(b"O") and answer != OK:  # what a command of the monitor writes
        server.reply(answer)
        following = child.event()
        answer = child._next() or b"E01" if following is None else following
    server.reply(answer)


def _process(thread: bytes) -> int:
    return _number(thread[1:].partition(b".")[0]) if thread.startswith(b"p") else 0


def _number(digits: bytes) -> int:
    try:
        return int(digits.partition(b",")[0], 16)
    except ValueError:
        return 0


def _resume(server: Server, rest: bytes) -> bool:
    """``vCont``: each process gets the actions that are about it."""
    own: list[bytes] = []
    its: dict[int, list[bytes]] = {pid: [] for pid in server.children}
    for part in rest.split(b";"):
        action, _, who = part.partition(b":")
        how(action)  # refuses what is none, before anybody goes on
        if _process(who) in its:
            int(who.partition(b".")[2] or b"-1", 16)
            its[_process(who)].append(part)
            continue
        own.append(part)
        if not who or (server.parse_thread(who) <= 0 and _process(who) != server.supervisor.client.pid):
            for parts in its.values():
                parts.append(action)
    going = [(server.children[pid], parts) for pid, parts in its.items() if parts]
    for child, _ in going:
        if (told := child.event()) is not None:
            server.child_event(child, told)
            return True
    for child, parts in going:
        child.go(b"vCont;" + b";".join(parts))
    if own:
        answer = vcont(server, b";".join(own))
        if answer is not None:
            server.reply(answer)
    return True
