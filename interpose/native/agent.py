"""Frida's agent in a process: injected, told what to load, and taken out again."""

from __future__ import annotations

import os

from interpose.errors import LaunchError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from interpose.native.start import Linker

# What the agent would do in the program beyond what it is told to: catch faults, delay exits, and the like.
_ALONE = {"exceptor": "off", "unwind_broker": False, "exit_monitor": False, "thread_suspend_monitor": False}
MISSING = "the native engine needs the package frida: pip install 'interpose[native]'"


def load_frida() -> Any:
    """The package. Raises LaunchError."""
    try:
        import frida
    except ImportError as error:
        raise LaunchError(MISSING if error.name == "frida" else f"{MISSING} ({error})") from None
    return frida


class Agent:
    """The agent in one process."""

    def __init__(self, pid: int) -> None:
        """Inject it. Raises LaunchError."""
        frida = load_frida()
        self.pid = pid
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "agent.js")
        with open(path, encoding="utf-8") as file:
            source = file.read()
        self._errors = _errors(frida)
        try:
            self._session = frida.get_local_device().attach(pid, **_ALONE)
            self._script = self._session.create_script(source, name="interpose")
            self._script.load()
        except self._errors as error:
            reason = str(error).partition("\n")[0]
            raise LaunchError(f"Frida cannot enter process {pid}: {reason}") from None

    def load(self, library: str) -> int:
        """Load our part; where in each thread its words are. Raises LaunchError."""
        return int(self._prepare("load", library))

    def _prepare(self, name: str, *arguments: Any) -> Any:
        try:
            return getattr(self._script.exports_sync, name)(*arguments)
        except self._errors as error:
            reason = str(error).partition("\n")[0]
            raise LaunchError(f"process {self.pid} cannot be prepared: {reason}") from None

    def start(
        self,
        wrappers: Sequence[str],
        linker: Linker,
        name: str,
        token: bytes,
        follows: bool,
        reports: bool,
        hooks: str,
    ) -> list[tuple[str, str]]:
        """Load the wrappers; bindings are in effect afterwards.

        ``follows``: over exec, too; ``reports``: ends are told.
        ``hooks``: where the process listens that runs them, empty without. Returns what could not be loaded,
        each with the reason.
        """
        places = hex(linker.debug), hex(linker.notify)
        failed = self._prepare("start", list(wrappers), *places, name, list(token), follows, reports, hooks)
        return [(path, text) for path, text in failed]

    def close_descriptors(self, descriptors: Sequence[int]) -> None:
        self._call("close", list(descriptors))

    def _call(self, name: str, *arguments: Any) -> Any:
        try:
            return getattr(self._script.exports_sync, name)(*arguments)
        except self._errors as error:
            raise LaunchError(f"process {self.pid} does not answer: {error}") from None

    def threads(self) -> set[int]:
        """The agent's threads, as far as it tells them."""
        return {int(tid) for tid in self._call("threads")}

    def stop(self) -> list[int]:
        """Make every function what it was; returns the pages that calls passed through."""
        return [int(address, 16) for address in self._call("stop")]

    def stop_inherited(self) -> list[int]:
        """The same in a forked child, for the agent that its memory has a copy of."""
        return [int(address, 16) for address in self._call("stopInherited")]

    def finish(self) -> None:
        """Take the libraries out; no thread may be in them."""
        self._call("finish")

    def leave(self) -> None:
        """Out of the process, with all that the interceptor did."""
        try:
            self._script.unload()
            self._session.detach()
        except self._errors:
            pass  # it ended


def _errors(frida: Any) -> tuple[type[Exception], ...]:
    """What calls of the package raise: it has no common root."""
    classes = [value for value in vars(frida).values() if isinstance(value, type)]
    return tuple(value for value in classes if issubclass(value, Exception))
