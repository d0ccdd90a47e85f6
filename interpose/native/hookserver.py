"""The process that runs the hooks in Python of one process on the real CPU.

It is no part of the supervisor: a fork of the program's has to fork it, with all hooks that wait, which a
process with Frida and its threads cannot do. It is forked before Frida is loaded, and copies itself for each
child. The stubs in the program connect with it (interpose/native/client/hooks.c); names of what is bound it
asks of the supervisor.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import secrets
import select
import signal
import socket
import struct

from interpose.errors import LaunchError, internal_error, tell
from interpose.hooks.hooked import FRAME, Answer, Event
from interpose.hooks.service import HookService
from interpose.jit._native import lib
from interpose.launch import reap
from interpose.native import wire
from interpose.native.attach import leave_output
from interpose.native.hookhost import NativeHost, Supervisor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from interpose.hooks.registry import Registry
    from interpose.options.parse import Config
    from interpose.report.log import Log

_BACKLOG = 512
_MOST_STRANGERS = 64
_PATIENCE = 5  # seconds that somebody has for the rest of what it has begun to say


class _Copied(Exception):
    """This process is a copy now; what the loop had to do is the other one's."""


class Hooks:
    """What the supervisor has of the process.

    :ivar first: its number.
    :ivar name: where it listens.
    """

    def __init__(
        self,
        config: Config,
        log: Log,
        registry: Registry,
        pid: int,
        name: str,
        token: bytes,
        private: Iterable[int],
    ) -> None:
        """Start it, for the process ``pid``; before there is another thread.

        ``name`` is where the supervisor listens; ``private`` are descriptors that are its alone. Raises
        LaunchError.
        """
        self.registry = registry
        self._changes = mmap.mmap(-1, mmap.PAGESIZE)
        try:
            listener, self.name = _listen(pid)
        except OSError as error:
            reason = f"its network namespace cannot be entered: {error.strerror}"
            raise LaunchError(f"process {pid}: {reason}") from None
        gone, self._alive = os.pipe2(os.O_CLOEXEC)
        self.first = os.fork()
        if self.first == 0:
            for fd in (self._alive, *private):
                os.close(fd)
            if config.core.attach:
                leave_output(log)
                lib.ip_last_words_at(2 if log.fd is None else log.fd)
            supervisor = Supervisor(name, token, gone, self._changes)
            _serve(NativeHost(config, log, supervisor), registry, listener, pid)
        os.close(gone)
        listener.close()
        for connection in {hook.connection for hook in registry}:
            if connection is not None:
                connection.leave()

    def changed(self) -> None:
        """Code came or went in some process."""
        (count,) = struct.unpack_from("<Q", self._changes, 0)
        struct.pack_into("<Q", self._changes, 0, count + 1)


def _listen(pid: int) -> tuple[socket.socket, str]:
    """Where a process, and a child of it, can reach us. Raises OSError."""
    name = f"interpose-hooks-{os.getpid()}-{secrets.token_hex(8)}"
    return wire.listen(name, _BACKLOG, wire.network_of(pid)), name


def _serve(host: NativeHost, registry: Registry, listener: socket.socket, pid: int) -> None:
    code = 1
    try:
        # Ctrl-C and the like are the program's.
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        host.adopt(pid)
        _Server(host, registry, listener).run()
        code = 0
    except ProcessLookupError:
        code = 0
    except BaseException as error:
        tell(internal_error(error))
    finally:
        os._exit(code)


class _Server:
    """Answers the stubs of one process."""

    def __init__(self, host: NativeHost, registry: Registry, listener: socket.socket) -> None:
        self._host = host
        self._service = host.service = HookService(host, registry)
        self._listener = listener
        self._poll = select.epoll()
        self._handlers: dict[int, Callable[[], None]] = {}
        self._connections: dict[int, socket.socket] = {}
        self._strangers: dict[int, socket.socket] = {}
        self._waiting: socket.socket | None = None
        """A copy waits for its child as long as this is open."""
        self._ended = False

    def run(self) -> None:
        """Until the process or the supervisor has ended."""
        self._watch_all()
        while not self._ended:
            try:
                for fd, _ in self._poll.poll():
                    handler = self._handlers.get(fd)
                    if handler is not None:
                        handler()
            except _Copied:
                self._watch_all()
        self._service.new_image()  # hooks that wait end
        self._host.log.flush()

    def _watch_all(self) -> None:
        """Each process needs an instance of its own: a copied one is the other's."""
        self._poll.close()
        self._poll = select.epoll()
        self._handlers.clear()
        self._watch(self._listener.fileno(), self._accept)
        self._watch(self._host.supervisor.gone, self._end)
        if self._host.pidfd >= 0:
            self._watch(self._host.pidfd, self._end)
        if self._waiting is not None:
            self._watch(self._waiting.fileno(), self._no_child)

    def _watch(self, fd: int, handler: Callable[[], None]) -> None:
        self._handlers[fd] = handler
        self._poll.register(fd, select.EPOLLIN)

    def _forget(self, connection: socket.socket) -> None:
        fd = connection.fileno()
        self._handlers.pop(fd, None)
        self._connections.pop(fd, None)
        self._strangers.pop(fd, None)
        with contextlib.suppress(OSError):
            self._poll.unregister(fd)
        connection.close()

    def _end(self) -> None:
        self._ended = True

    # -- connections -----------------------------------------------------------------------------------

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        # Anybody may connect, and need not say anything.
        while len(self._strangers) >= _MOST_STRANGERS:
            self._forget(next(iter(self._strangers.values())))
        self._strangers[connection.fileno()] = connection
        self._watch(connection.fileno(), lambda: self._meet(connection))

    def _meet(self, connection: socket.socket) -> None:
        """The hello."""
        try:
            data = connection.recv(wire.HELLO.size, socket.MSG_DONTWAIT)
            hello = wire.Hello.read(data, self._host.supervisor.token)
        except (OSError, wire.BadMessageError):
            self._forget(connection)
            return
        del self._strangers[connection.fileno()]
        # By the kernel: Python's own timeouts cost a system call for each turn.
        for limit in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            connection.setsockopt(socket.SOL_SOCKET, limit, struct.pack("ll", _PATIENCE, 0))
        pid = wire.peer(connection)
        if self._host.pid == 0 or self._host.pidfd < 0:
            try:
                self._host.adopt(pid)
            except OSError:
                self._forget(connection)
                return
            self._watch(self._host.pidfd, self._end)
            self._host.supervisor.ask(pid=pid, runner=os.getpid())
        elif hello.flags & wire.COPIES or (pid != self._host.pid and not hello.flags & wire.SHARES):
            self._copy(connection)
            return
        if hello.flags & wire.STARTS:
            self._host.new_program()
            self._host.log.resume()
            self._service.new_image()
            self._service.bound_at(hello.entries, hello.common)
        self._connections[connection.fileno()] = connection
        try:
            connection.sendall(wire.welcome(""))
        except OSError:
            self._forget(connection)
            return
        self._handlers[connection.fileno()] = lambda: self._turn(connection)

    def _no_child(self) -> None:
        """Whoever was to fork has closed its end: there is a child, or there will be none."""
        assert self._waiting is not None
        self._handlers.pop(self._waiting.fileno(), None)
        self._poll.unregister(self._waiting.fileno())
        self._waiting.close()
        self._waiting = None
        if self._host.pidfd < 0 and not select.select([self._listener], [], [], 0)[0]:
            self._end()

    # -- forks -----------------------------------------------------------------------------------------

    def _copy(self, connection: socket.socket) -> None:
        """Another process shall run the hooks of whoever is told where that listens."""
        try:
            listener, name = _listen(wire.peer(connection))
        except OSError:
            self._forget(connection)
            return
        first = os.fork()
        if first == 0:
            if os.fork():
                os._exit(0)  # nobody has to wait for the copy
            self._be_copy(connection, listener)
            raise _Copied
        listener.close()
        reap(first)
        with contextlib.suppress(OSError):
            connection.sendall(wire.welcome(name))
        self._forget(connection)

    def _be_copy(self, connection: socket.socket, listener: socket.socket) -> None:
        for other in (*self._connections.values(), *self._strangers.values()):
            if other is not connection:
                other.close()
        self._connections.clear()
        self._strangers.clear()
        self._listener.close()
        self._listener = listener
        if self._waiting is not None:
            self._waiting.close()
        self._waiting = connection
        self._host.log.flush()
        self._host.leave()

    # -- calls -----------------------------------------------------------------------------------------

    def _turn(self, connection: socket.socket) -> None:
        size = wire.HOOKED.size + FRAME.size
        try:
            data = connection.recv(size, socket.MSG_WAITALL)
            if len(data) != size:
                raise OSError
        except OSError:
            self._forget(connection)
            return
        frame, room, failed, again, thread = wire.HOOKED.unpack_from(data)
        words = FRAME.unpack_from(data, wire.HOOKED.size)
        event = Event(frame, words, room, failed, again, (), thread)
        answer = self._service.answer(event)
        with contextlib.suppress(OSError):
            connection.sendall(_packed(answer, frame, data[wire.HOOKED.size :]))


def _packed(answer: Answer, frame: int, old: bytes) -> bytes:
    """An answer, with the frame as it is to be; what lies elsewhere is written by itself."""
    new = bytearray(old)
    others = []
    for address, data in answer.writes:
        at = address - frame
        if at >= 0 and at + len(data) <= FRAME.size:
            new[at : at + len(data)] = data
        else:
            others.append(struct.pack("<QQ", address, len(data)) + data)
    head = wire.ANSWER.pack(answer.action, answer.again, len(others), 0)
    return b"".join((head, new, *others))
