"""The messages of interpose/native/client/protocol.h, as the supervisor reads and writes them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import socket
import struct
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import NamedTuple
else:
    from interpose.records import NamedTuple

MAGIC = 0x6E697031
LINKED, FORKED, EXEC, NO_EXEC, LOOKUP, EXITS, FORKS = range(1, 8)
DONE, PATCH, UNBIND, BIND, RESOLVE, FORGET = range(6)
NRADDR, CALL = 1, 2
REPLACES, WRAPS, HOOKS = 0, 1, 2
STARTS, COPIES, SHARES = 1, 2, 4
TOKEN_SIZE = 16
_CLONE_NEWNET = 0x40000000

# What keeps low descriptor numbers from the agent, and how much of them.
SPARE = "interpose-spare"
_LOW, _ROOM = 960, 48

_GREETING = struct.Struct("<II16sIIIIQQQ64s")
HELLO = struct.Struct("<II16sQQ")
_WELCOME = struct.Struct("<II64s")
HOOKED = struct.Struct("<QIIII")
ANSWER = struct.Struct("<IIII")
_OBJECT = struct.Struct("<QQII")
_HEAD = struct.Struct("<II")
_PAIR = struct.Struct("<QQ")
_CLAIM = struct.Struct("<QQIIQ")
_MOST_OBJECTS, _LONGEST_NAME, _LONGEST_QUESTION = 1 << 16, 1 << 12, 1 << 20


def last_low(pid: int) -> int:
    """The descriptor numbers of a process that are kept for itself lie below this. Raises OSError."""
    soft, _ = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    return _LOW if soft == resource.RLIM_INFINITY else min(_LOW, soft - _ROOM)


class BadMessageError(Exception):
    """What came is no message of ours, or the connection broke."""


class Linked(NamedTuple):
    """An object as the dynamic linker has it: load bias, address of its dynamic section, name."""

    bias: int
    dynamic: int
    name: bytes


class Claim(NamedTuple):
    """A binding in effect, or to be put into effect."""

    address: int
    target: int
    wraps: int  # REPLACES, WRAPS or HOOKS
    room: int  # bytes that may be overwritten
    cave: int  # where the jump lies, if there is no room for it but for one of two bytes


class Greeting(NamedTuple):
    """What the client tells: an event, and what there is to know about it."""

    event: int
    objects: list[Linked]
    bound: list[Claim]
    thread: int
    value: int  # the parent of a new child, or the code of an end
    entries: int  # the stubs of hooks
    common: int
    initialise: int  # what stands before a constructor, and tells when that is about to run
    hooks: str  # where the process listens that runs them


class Hello(NamedTuple):
    """How a connection with the process that runs hooks begins."""

    flags: int
    entries: int
    common: int

    @classmethod
    def read(cls, data: bytes, token: bytes) -> Hello:
        """Raises BadMessageError."""
        if len(data) != HELLO.size:
            raise BadMessageError("no hello")
        magic, flags, theirs, entries, common = HELLO.unpack(data)
        if magic != MAGIC or theirs != token:
            raise BadMessageError("no hello")
        return cls(flags, entries, common)


def welcome(name: str) -> bytes:
    """The answer; ``name`` is where another process listens that is meant, empty: this one."""
    return _WELCOME.pack(bool(name), 0, name.encode())


def lookup(token: bytes, question: bytes) -> bytes:
    """What the process that runs hooks says to the supervisor."""
    return (
        _GREETING.pack(MAGIC, LOOKUP, token, 0, 0, 0, 0, 0, 0, 0, b"")
        + len(question).to_bytes(4, "little")
        + question
    )


def listen(name: str, backlog: int, namespace: str | None = None) -> socket.socket:
    """Listen at a name, in a namespace of the network (a file of /proc) if that is not ours. Raises OSError.

    Each of those has abstract names of its own. Only the thread that enters one is in it.
    """
    found: list[socket.socket | OSError] = []

    def work() -> None:
        try:
            if namespace is not None:
                _enter(namespace)
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
            found.append(listener)
            listener.bind(f"\0{name}")
            listener.listen(backlog)
        except OSError as error:
            found.append(error)

    if namespace is None:
        work()
    else:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    if isinstance(found[-1], OSError):
        if isinstance(found[0], socket.socket):
            found[0].close()
        raise found[-1]
    return found[-1]


def _enter(namespace: str) -> None:
    fd = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(fd, _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    finally:
        os.close(fd)


def network_of(pid: int) -> str | None:
    """The namespace of the network that a process is in; None: ours. Raises OSError."""
    path = f"/proc/{pid}/ns/net"
    return None if os.path.samefile(path, "/proc/thread-self/ns/net") else path


def peer(sock: socket.socket) -> int:
    """The process that has connected, as the kernel numbers it here."""
    credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    pid: int = struct.unpack("3i", credentials)[0]
    return pid


class Connection:
    """One event's talk with one process.

    :ivar pid: that process, as the kernel numbers it here.
    :ivar uid: its effective user.
    """

    pid: int
    uid: int

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        self.pid, self.uid, _ = struct.unpack("3i", credentials)

    def _read(self, size: int) -> bytes:
        chunks = []
        while size:
            try:
                chunk = self._sock.recv(min(size, 1 << 20))
            except OSError as error:
                raise BadMessageError(str(error)) from None
            if not chunk:
                raise BadMessageError("it ended early")
            chunks.append(chunk)
            size -= len(chunk)
        return b"".join(chunks)

    def _send(self, *parts: bytes) -> None:
        try:
            self._sock.sendall(b"".join(parts))
        except OSError as error:
            raise BadMessageError(str(error)) from None

    def greeting(self, token: bytes) -> Greeting:
        fields = _GREETING.unpack(self._read(_GREETING.size))
        magic, event, theirs, objects, bound, thread, value, *places, name = fields
        if magic != MAGIC or theirs != token or objects > _MOST_OBJECTS:
            raise BadMessageError("no greeting")
        linked = []
        for _ in range(objects):
            bias, dynamic, size, _ = _OBJECT.unpack(self._read(_OBJECT.size))
            if size > _LONGEST_NAME:
                raise BadMessageError("a name is too long")
            linked.append(Linked(bias, dynamic, self._read(size)))
        rows = self._read(bound * _CLAIM.size)
        claims = [Claim(*row) for row in _CLAIM.iter_unpack(rows)]
        hooks = name.rstrip(b"\0").decode("ascii", "replace")
        entries, common, initialise = places
        return Greeting(event, linked, claims, thread, value, entries, common, initialise, hooks)

    def wait_for_end(self) -> None:
        """Until the other side has closed all of its ends, however long that takes."""
        self._sock.settimeout(None)
        with contextlib.suppress(OSError):
            while self._sock.recv(1):
                pass

    def question(self) -> bytes:
        """What comes after a greeting that asks for a name."""
        size = int.from_bytes(self._read(4), "little")
        if size > _LONGEST_QUESTION:
            raise BadMessageError("a question is too long")
        return self._read(size)

    def reply(self, data: bytes) -> None:
        self._send(data)

    def patch(self, places: Sequence[tuple[int, int]]) -> None:
        """Rewrite markers: (address, NRADDR or CALL)."""
        self._order(PATCH, [_PAIR.pack(*place) for place in places])

    def unbind(self, addresses: Iterable[int]) -> None:
        self._order(UNBIND, [address.to_bytes(8, "little") for address in addresses])

    def forget(self, addresses: Iterable[int]) -> None:
        """The same for functions that are not mapped any more."""
        self._order(FORGET, [address.to_bytes(8, "little") for address in addresses])

    def bind(self, claims: Sequence[Claim]) -> list[int]:
        """Put bindings into effect; for each 0, or why that could not be."""
        return self._ask(BIND, [_CLAIM.pack(*claim) for claim in claims])

    def resolve(self, resolvers: Sequence[int]) -> list[int]:
        """What the resolvers of indirect functions return."""
        return self._ask(RESOLVE, [address.to_bytes(8, "little") for address in resolvers])

    def done(self) -> None:
        self._send(_HEAD.pack(DONE, 0))

    def _order(self, order: int, rows: Sequence[bytes]) -> None:
        if rows:
            self._send(_HEAD.pack(order, len(rows)), *rows)

    def _ask(self, order: int, rows: Sequence[bytes]) -> list[int]:
        # Not more than the client answers before it reads on: neither side waits for the other's buffer.
        answers: list[int] = []
        for start in range(0, len(rows), 256):
            part = rows[start : start + 256]
            self._order(order, part)
            answers += struct.unpack(f"<{len(part)}Q", self._read(8 * len(part)))
        return answers
