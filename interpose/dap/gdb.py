"""gdb, driven through its machine interface, in one loop with the editor and the program's output."""

from __future__ import annotations

import os
import selectors
import shutil
import subprocess
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from .guard import Guard
from .records import Record, parse

_PIECE = 1 << 16
_ANSWER_SECONDS = 60
_SETTINGS = (
    "mi-async on",
    "confirm off",
    "pagination off",
    "width 0",
    "debuginfod enabled off",
    "breakpoint pending on",
    "print elements 500",
    "unwindonsignal on",  # a function that the user calls and that fails leaves nothing on the stack
)


class GdbError(Exception):
    """gdb refuses, is missing, or has ended; the text is for the user."""


class Gdb:
    """A gdb.

    :param selector: of the adapter's loop; each key's data is a function that reads.
    :ivar events: records of execution and notices that nobody has looked at yet.
    """

    def __init__(self, selector: selectors.BaseSelector, guard: Guard, folder: str, command: str) -> None:
        path = shutil.which(command)
        if path is None:
            raise GdbError(
                f'{command}: no such command; install gdb, or name it by "gdb" in the configuration'
            )
        self._selector = selector
        self._guard = guard
        self._process = subprocess.Popen(
            [path, "-nx", "-q", "--interpreter=mi3"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            start_new_session=True,
        )
        guard.add(self._process.pid)
        assert self._process.stdin and self._process.stdout
        self._input, self._output = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._data = b""
        self._token = 0
        self._results: dict[int, Record] = {}
        self._texts: list[str] | None = None
        self.events: deque[Record] = deque()
        self.is_over = False
        self.is_running = False
        selector.register(self._output, selectors.EVENT_READ, self._read)
        for setting in _SETTINGS:
            self.try_run(f"-gdb-set {setting}")
        self.try_run("-enable-pretty-printing")

    def _read(self) -> None:
        data = os.read(self._output, _PIECE)
        if not data:
            self.is_over = True
            self._selector.unregister(self._output)
            return
        *lines, self._data = (self._data + data).split(b"\n")
        for line in lines:
            record = parse(line.decode("utf-8", "surrogateescape").rstrip("\r"))
            if record is not None:
                self._take(record)

    def _take(self, record: Record) -> None:
        if record.kind == "^":
            self._results[record.token] = record
            self.is_running |= record.name == "running"  # else until its notice is read, too
        elif record.kind in "~@":
            if self._texts is not None:
                self._texts.append(record.text)
        elif record.kind in "*=":
            if record.kind == "*":
                self.is_running = record.name == "running"
            self.events.append(record)

    def wait(self, until: Callable[[], bool], seconds: float) -> bool:
        """Serve the loop until something has come about; false if gdb or the time is at its end."""
        end = time.monotonic() + seconds
        while not until():
            left = end - time.monotonic()
            if self.is_over or left <= 0:
                return False
            for key, _ in self._selector.select(left):
                key.data()
        return True

    def run(self, command: str, seconds: float = _ANSWER_SECONDS) -> dict[str, Any]:
        """A command's results. Raises :class:`GdbError` with gdb's own words."""
        if self.is_over:
            raise GdbError("gdb has ended")
        self._token += 1
        token = self._token
        try:
            os.write(self._input, f"{token}{command}\n".encode("utf-8", "surrogateescape"))
        except OSError:
            raise GdbError("gdb has ended") from None
        if not self.wait(lambda: token in self._results, seconds):
            raise GdbError(
                "gdb has ended" if self.is_over else f"gdb does not answer to {command.split()[0]}"
            )
        record = self._results.pop(token)
        if record.name == "error":
            raise GdbError(str(record.results.get("msg", "gdb refuses")))
        return record.results

    def try_run(self, command: str) -> dict[str, Any]:
        """The same where nothing depends on it."""
        try:
            return self.run(command)
        except GdbError:
            return {}

    def console(self, command: str) -> str:
        """What a command of gdb's command line prints."""
        from .records import quote

        self._texts = []
        try:
            self.run(f"-interpreter-exec console {quote(command)}")
            return "".join(self._texts)
        finally:
            self._texts = None

    def end(self) -> None:
        """gdb goes at once; a program that it is attached to goes on."""
        if not self.is_over:
            self._selector.unregister(self._output)
            self.is_over = True
        self._process.kill()
        self._process.wait()
        self._guard.forget(self._process.pid)
