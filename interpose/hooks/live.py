"""Hooks that stay in the process that starts a program (a notebook, a test): reached over a socket.

The supervisor of the program connects, is told which hooks there are, and then both talk in turns about one
call at a time: the supervisor says that a hooked call has begun, or what came of what the hook wanted; this
side says what the hook wants next (read memory, call the original, …), or that it has ended. A hook
that waits for its original waits in a greenlet, so others can begin meanwhile.

Messages are JSON, each behind its length in four bytes; bytes travel as text of latin-1.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import struct
import tempfile
import threading
import time
from typing import TYPE_CHECKING, Any

from greenlet import GreenletExit, getcurrent, greenlet

from interpose.hooks.call import run
from interpose.hooks.errors import CallOver, HookError, MemoryFault, place_of, told_of
from interpose.hooks.port import Frame, Registers, Results, Thread
from interpose.hooks.registry import Hook

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interpose.hooks.registry import Registry

_LENGTH = struct.Struct("<I")
_LONGEST = 1 << 30
_CREDENTIALS = struct.Struct("3i")  # struct ucred
_END_SECONDS = 2.0
"""How long hooks that the end of their program leaves may take for their ``finally`` blocks."""


class Lost(Exception):
    """The other side is gone."""


class Wire:
    """One end of a connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def send(self, *message: Any) -> None:
        data = json.dumps(message).encode()
        try:
            self._connection.sendall(_LENGTH.pack(len(data)) + data)
        except OSError as error:
            raise Lost from error

    def receive(self) -> list[Any]:
        (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size))
        if length > _LONGEST:
            raise Lost
        try:
            message = json.loads(self._exactly(length))
        except ValueError as error:
            raise Lost from error
        if not isinstance(message, list) or not message:
            raise Lost
        return message

    def _exactly(self, size: int) -> bytes:
        parts = []
        while size:
            try:
                part = self._connection.recv(min(size, 1 << 20))
            except OSError as error:
                raise Lost from error
            if not part:
                raise Lost
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def abandon(self) -> None:
        """Close this process's copy alone."""
        self._connection.close()

    def close(self) -> None:
        """End the connection."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()


class RemotePort:
    """:class:`interpose.hooks.port.Port` by messages."""

    def __init__(self, number: int, about: dict[str, Any]) -> None:
        self._number = number
        self.over = False
        self.hub: Any = None
        self.entry = Registers(list(about["integer"]), list(about["vector"]), list(about["vectors"]), {})
        self.address = int(about["address"])
        self.function = str(about["function"])
        self.object = str(about["object"])
        self.pid = int(about["pid"])
        self.thread = Thread(*about["thread"])

    def _ask(self, what: str, *more: Any) -> Any:
        if self.over:
            raise CallOver
        kind, value = self.hub.switch(("op", self._number, what, *more))
        if kind == "no":
            raise _error(value)
        return value

    def stack_word(self, index: int) -> int:
        return int(self._ask("stack_word", index))

    def read(self, address: int, size: int) -> bytes:
        return str(self._ask("read", address, size)).encode("latin-1")

    def read_string(self, address: int) -> bytes:
        return str(self._ask("read_string", address)).encode("latin-1")

    def write(self, address: int, data: bytes) -> None:
        self._ask("write", address, data.decode("latin-1"))

    def take(self, size: int) -> int:
        return int(self._ask("take", size))

    def proceed(self, registers: Registers) -> Results:
        integer, vector = self._ask("proceed", registers)
        return Results(tuple(integer), tuple(vector))

    def invoke(self, address: int, registers: Registers) -> Results:
        integer, vector = self._ask("invoke", address, registers)
        return Results(tuple(integer), tuple(vector))

    def find(self, name: str) -> int:
        return int(self._ask("find", name))

    def frames(self) -> Sequence[Frame]:
        return [Frame(*fields) for fields in self._ask("frames")]


_ERRORS: dict[str, type[Exception]] = {
    each.__name__: each for each in (IndexError, LookupError, OverflowError, TypeError, ValueError)
}


def describe_error(error: Exception) -> list[Any]:
    """An error of a port's, as a message has it."""
    if isinstance(error, MemoryFault):
        return ["MemoryFault", error.what, error.address, error.size]
    return [type(error).__name__, str(error)]


def _error(value: Any) -> Exception:
    name, *more = value
    if name == "MemoryFault":
        return MemoryFault(*more)
    if name == "CallOver":
        return CallOver()
    return _ERRORS.get(name, RuntimeError)(*more)


_PREFIX = "interpose-hooks-"
_FOLDER_MOST = 100 - len("/socket")
"""Bytes of the folder's path: sun_path has 108 (unix(7))."""


class Server:
    """Offers the hooks of a registry to programs that are started with ``--hooks=`` and :attr:`option`."""

    def __init__(self, registry: Registry) -> None:
        if not len(registry):
            raise HookError("the registry has no hook")
        self._registry = registry
        self._hooks = [hook for hook in registry if isinstance(hook, Hook)]
        self._folder = tempfile.mkdtemp(prefix=_PREFIX)  # for its owner alone
        if len(os.fsencode(self._folder)) > _FOLDER_MOST:
            os.rmdir(self._folder)
            self._folder = tempfile.mkdtemp(prefix=_PREFIX, dir="/tmp")
        self.path = os.path.join(self._folder, "socket")
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._listener.bind(self.path)
            self._listener.listen(64)
        except OSError as error:
            self._listener.close()
            shutil.rmtree(self._folder, ignore_errors=True)
            what = f"{self.path}: a socket cannot be made there: {error.strerror}"
            raise HookError(f"{what}; set TMPDIR to a folder on a file system that has sockets") from None
        self._wires: dict[Wire, threading.Thread] = {}
        self._lock = threading.Lock()
        self._closed = False
        threading.Thread(target=self._accept, name="interpose.hooks", daemon=True).start()

    @property
    def option(self) -> str:
        """The value of ``--hooks`` that leads here."""
        return f"live:{self.path}"

    def close(self) -> None:
        """Programs that still run go on without the hooks."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            wires = dict(self._wires)
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for wire in wires:
            wire.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        # A thread in a greenlet that is still at it when Python ends would crash the process.
        until = time.monotonic() + _END_SECONDS
        for thread in wires.values():
            if thread is not threading.current_thread():
                thread.join(max(until - time.monotonic(), 0))

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            option = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
            wire = Wire(connection)
            if _CREDENTIALS.unpack(option)[1] not in (os.getuid(), 0):
                wire.close()
                continue
            thread = threading.Thread(target=self._serve, args=(wire,), name="interpose.hooks", daemon=True)
            with self._lock:
                if self._closed:
                    wire.close()
                    return
                thread.start()
                self._wires[wire] = thread

    def _hook(self, number: int) -> Hook:
        """A hook, or what has taken its place since, if the program need not know of that."""
        hook = self._hooks[number]
        now = self._registry[hook.number]
        if isinstance(now, Hook) and (now.mask, now.needs_result) == (hook.mask, hook.needs_result):
            return now
        return hook

    def _serve(self, wire: Wire) -> None:
        calls: dict[int, tuple[greenlet, RemotePort]] = {}
        try:
            wire.send("hooks", [_description(hook) for hook in self._hooks])
            while True:
                kind, number, *more = wire.receive()
                if kind == "enter":
                    port = RemotePort(number, more[1])
                    port.hub = getcurrent()
                    calls[number] = greenlet(_run), port
                    answer = calls[number][0].switch(self._hook(more[0]), number, port)
                elif number not in calls:
                    continue
                elif kind == "drop":
                    running, port = calls.pop(number)
                    port.over = True
                    running.throw(GreenletExit)
                    continue
                else:
                    answer = calls[number][0].switch((kind, more[0]))
                if answer[0] != "op":
                    calls.pop(number)[1].over = True
                wire.send(*answer)
        except (Lost, ValueError, LookupError, TypeError):
            pass  # gone, or nobody who speaks as a supervisor does
        finally:
            for running, port in calls.values():
                port.over = True
                running.throw(GreenletExit)
            wire.close()
            with self._lock:
                self._wires.pop(wire, None)


def _description(hook: Hook) -> dict[str, Any]:
    rule = hook.rule
    return {
        "rule": [rule.kind.value, rule.soname, rule.function, rule.tag, rule.priority],
        "name": hook.name,
        "file": hook.file,
        "line": hook.line,
        "needs_result": hook.needs_result,
        "mask": hook.mask,
        "words": hook.words,
    }


def _run(hook: Hook, number: int, port: RemotePort) -> tuple[Any, ...]:
    """What a greenlet does: the hook; its last message."""
    try:
        return ("end", number, *run(hook, port))
    except BaseException as error:
        if port.over:
            return ("end", number, None, None)
        return ("failed", number, [type(error).__name__, place_of(error)], told_of(error))
