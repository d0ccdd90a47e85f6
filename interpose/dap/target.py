"""The program that is debugged: started under interpose, or running already."""

from __future__ import annotations

import codecs
import os
import select
import selectors
import shlex
import subprocess
from collections.abc import Callable
from typing import Any

from interpose.console import start_words
from interpose.vgdb.found import default_prefix, search
from interpose.vgdb.voice import VgdbError, Voice

from .gdb import GdbError
from .guard import Guard

_PIECE = 1 << 16
_WAIT_SECONDS, _LOOK_SECONDS = 20, 0.05
_BIRTH_SECONDS = 2  # until a process that lives can be reached at the latest


def texts(arguments: dict[str, Any], name: str) -> list[str]:
    """A list of texts among a request's arguments. Raises TypeError."""
    value = arguments.get(name) or []
    if not isinstance(value, list) or not all(isinstance(word, str) and "\0" not in word for word in value):
        raise TypeError(f"{name}: a list of texts is needed")
    return value


def text(arguments: dict[str, Any], name: str, default: str = "") -> str:
    """A text among a request's arguments. Raises TypeError."""
    value = arguments.get(name)
    if value is None:
        return default
    if not isinstance(value, str) or "\0" in value:
        raise TypeError(f"{name}: a text is needed")
    return value


def relay(prefix: str, pid: int) -> str:
    """The command by which gdb reaches the program's server."""
    words = [*start_words("interpose.vgdb.cli"), "-q", f"--wait={_WAIT_SECONDS}", f"--pid={pid}"]
    return shlex.join([*words, f"--vgdb-prefix={os.path.abspath(prefix)}"] if prefix else words)


def check_reached(prefix: str, pid: int) -> None:
    """Raises OSError for a process that is none, GdbError for one that has no server of ours."""
    os.kill(pid, 0)
    try:
        search(
            os.path.abspath(prefix) if prefix else default_prefix(), pid, _BIRTH_SECONDS, Voice(quiet=True)
        )
    except VgdbError:
        raise GdbError(
            f"process {pid} cannot be reached: it runs without interpose, or with another --vgdb-prefix"
        ) from None


class Program:
    """A program that was started here, in a process group of its own.

    :param say: takes the category and the text of output.
    :ivar folder: where it was started.
    """

    def __init__(
        self,
        arguments: dict[str, Any],
        prefix: str,
        selector: selectors.BaseSelector,
        guard: Guard,
        say: Callable[[str, str], None],
    ) -> None:
        path = text(arguments, "program")
        if not path:
            raise TypeError("program: a path is needed")
        self.folder = folder = os.path.abspath(text(arguments, "cwd") or ".")
        self.path = os.path.join(folder, path)
        command = [*start_words("interpose.__main__"), f"--tool={text(arguments, 'tool', 'memcheck')}"]
        command += texts(arguments, "interposeArgs")
        command += ["--vgdb=yes", "--vgdb-error=0", f"--vgdb-prefix={prefix}", self.path]
        self._process = subprocess.Popen(
            [*command, *texts(arguments, "args")],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=_environment(arguments.get("env")),
            start_new_session=True,
        )
        self.pid = self._process.pid
        guard.add(self.pid)
        self._guard = guard
        self._selector = selector
        self._say = say
        assert self._process.stdout and self._process.stderr
        decoder = codecs.getincrementaldecoder("utf-8")
        self._files = {self._process.stdout.fileno(): "stdout", self._process.stderr.fileno(): "stderr"}
        self._decoders = {fd: decoder("replace") for fd in self._files}
        for fd in list(self._files):
            os.set_blocking(fd, False)
            selector.register(fd, selectors.EVENT_READ, lambda fd=fd: self._read(fd))

    def _read(self, fd: int) -> bool:
        """One piece of output; false if there is none now."""
        try:
            data = os.read(fd, _PIECE)
        except BlockingIOError:
            return False
        if not data:
            self._selector.unregister(fd)
            del self._files[fd]
            return False
        self._say(self._files[fd], self._decoders[fd].decode(data))
        return True

    def _read_all(self) -> None:
        for fd in list(self._files):
            while self._read(fd):
                pass

    def status(self) -> int | None:
        """How it has ended, as a shell tells it; None while it runs."""
        status = self._process.poll()
        if status is None:
            return None
        return 128 - status if status < 0 else status

    def finish(self, *, kill: bool) -> int:
        """It ends, or has ended: what it still said is told, and its status is returned."""
        if kill:
            self._process.kill()
        while self._process.poll() is None:  # it may wait for its output to be read
            select.select(list(self._files), [], [], _LOOK_SECONDS)
            self._read_all()
        self._read_all()
        for fd in list(self._files):
            self._selector.unregister(fd)
        self._files.clear()
        if not kill:
            self._guard.forget(self.pid)
        status = self.status()
        assert status is not None
        return status


def _environment(changes: object) -> dict[str, str]:
    """Ours, with what is changed; null takes a variable out."""
    environment = dict(os.environ)
    if changes is None:
        return environment
    if not isinstance(changes, dict):
        raise TypeError("env: an object is needed")
    for name, value in changes.items():
        if not name or "=" in name or "\0" in name or not isinstance(value, (str, type(None))):
            raise TypeError("env: names and texts are needed")
        if value is None:
            environment.pop(name, None)
        else:
            environment[name] = value
    return environment
