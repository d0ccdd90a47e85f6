"""The supervisor's side of hooks in another process (:mod:`interpose.hooks.live`)."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

from greenlet import GreenletExit

from interpose.hooks.errors import FailedThere, Gone, HookError, Unavailable
from interpose.hooks.live import Lost, Wire, describe_error
from interpose.hooks.port import Registers
from interpose.zenc import Kind, RedirectName

if TYPE_CHECKING:
    from collections.abc import Callable

    from interpose.hooks.hooked import HookedCall


class Connection:
    """To the process that has the hooks. A forked supervisor makes one of its own."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.generation = 0
        self._wire: Wire | None = None
        self._next = 0
        self.descriptions = self._connect()

    def _connect(self) -> list[dict[str, Any]]:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(self.path)
            self._wire = Wire(connection)
            kind, found = self._wire.receive()
        except (OSError, Lost, ValueError) as error:
            connection.close()
            self._wire = None
            why = getattr(error, "strerror", None) or "it does not answer"
            raise HookError(f"cannot reach the process with the hooks at {self.path}: {why}") from None
        if kind != "hooks" or not isinstance(found, list):
            raise HookError(f"what answers at {self.path} has no hooks")
        return found

    def leave(self) -> None:
        """The hooks run in a copy of this process, which has the connection."""
        if self._wire is not None:
            self._wire.abandon()
            self._wire = None

    def forked(self) -> None:
        """This is a copy of the process that made the connection."""
        self.generation += 1
        if self._wire is None:
            return
        self._wire.abandon()
        try:
            self._connect()
        except HookError:
            self._wire = None

    def run(self, number: int, call: HookedCall) -> tuple[int | None, int | None]:
        """Run a hook of the other process's."""
        self._next += 1
        known, generation = self._next, self.generation
        entry = call.entry
        about = {
            "integer": entry.integer,
            "vector": entry.vector,
            "vectors": entry.vectors,
            "address": call.address,
            "function": call.function,
            "object": call.object,
            "pid": call.pid,
            "thread": call.thread,
        }
        message: tuple[Any, ...] = ("enter", known, number, about)
        while True:
            kind, _, *more = self._turn(message)
            if kind == "end":
                return more[0], more[1]
            if kind == "failed":
                raise FailedThere(tuple(map(str, more[0])), str(more[1]))
            try:
                message = ("ok", known, _OPERATIONS[more[0]](call, *more[1:]))
            except Exception as error:  # all but what ends the call: to the hook it is as if it ran here
                if call.over:
                    raise GreenletExit from error
                message = ("no", known, describe_error(error))
            except GreenletExit:
                if generation == self.generation:
                    self._say(("drop", known))
                raise
            if generation != self.generation:
                raise Unavailable  # it waits in the process that forked, and once is enough

    def _say(self, message: tuple[Any, ...]) -> None:
        try:
            if self._wire is not None:
                self._wire.send(*message)
        except Lost:
            self._wire = None

    def _turn(self, message: tuple[Any, ...]) -> list[Any]:
        if self._wire is None:
            raise Unavailable
        try:
            self._wire.send(*message)
            return self._wire.receive()
        except Lost:
            self._wire = None
            raise Gone from None


def _registers(told: list[Any]) -> Registers:
    integer, vector, vectors, stack = told
    return Registers(integer, vector, vectors, {int(index): word for index, word in stack.items()})


def _proceed(call: HookedCall, registers: list[Any]) -> Any:
    return call.proceed(_registers(registers))


def _invoke(call: HookedCall, address: int, registers: list[Any]) -> Any:
    return call.invoke(address, _registers(registers))


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "stack_word": lambda call, index: call.stack_word(index),
    "read": lambda call, address, size: call.read(address, size).decode("latin-1"),
    "read_string": lambda call, address: call.read_string(address).decode("latin-1"),
    "write": lambda call, address, data: call.write(address, data.encode("latin-1")),
    "take": lambda call, size: call.take(size),
    "proceed": _proceed,
    "invoke": _invoke,
    "find": lambda call, name: call.find(name),
    "frames": lambda call: call.frames(),
}


class RemoteHook:
    """A hook of another process's; to the supervisor it is like :class:`interpose.hooks.registry.Hook`."""

    def __init__(self, connection: Connection, remote: int, number: int, about: dict[str, Any]) -> None:
        kind, soname, function, tag, priority = about["rule"]
        self.connection = connection
        self.number = number
        self.rule = RedirectName(Kind(kind), str(soname), str(function), int(tag), int(priority))
        self.name = str(about["name"])
        self.file = str(about["file"])
        self.line = int(about["line"])
        self.needs_result = bool(about["needs_result"])
        self.mask = int(about["mask"])
        self.words = int(about["words"])
        self.told = f"hook {self.name} ({self.place})".encode("utf-8", "surrogateescape")
        self._remote = remote

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"

    def execute(self, call: HookedCall) -> tuple[int | None, int | None]:
        return self.connection.run(self._remote, call)


def connect(path: str, first: int) -> list[RemoteHook]:
    """The hooks that a process offers, numbered from ``first`` on."""
    connection = Connection(path)
    try:
        return [
            RemoteHook(connection, at, first + at, about) for at, about in enumerate(connection.descriptions)
        ]
    except (TypeError, ValueError, LookupError):
        raise HookError(f"what answers at {path} has no hooks") from None
