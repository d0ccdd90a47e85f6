"""What a run gives back."""

from __future__ import annotations

import os
import shutil
import signal as signals
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interpose.errors import InterposeError
from interpose.formats.report import ClientMessage, Error, FatalSignal, Leak, Process, Report

if TYPE_CHECKING:
    from interpose.formats.callgrind import Profile


@dataclass
class Run:
    """A program that has run under a tool."""

    command: tuple[str, ...]
    tool: str
    pid: int
    returncode: int
    """The exit code; of a program that a signal ended, its number below zero."""
    report: Report = field(repr=False)
    """What the tool has found, of all processes that it followed."""
    log: str = field(repr=False)
    """The log's text; empty if a ``log_…`` option sent it elsewhere."""
    stdout: Any = None
    stderr: Any = None
    """bytes, or str with ``text=True``, if they were captured."""
    profiles: dict[int, list[Path]] = field(default_factory=dict)
    """Callgrind's files, by process."""
    traces: list[Path] = field(default_factory=list)
    """The files of datagrind and the folders of memtrace."""
    json: bytes = field(default=b"", repr=False)
    """The report as it was written (docs/json.md)."""

    @property
    def exit_code(self) -> int | None:
        """None if a signal ended the program."""
        return self.returncode if self.returncode >= 0 else None

    @property
    def signal(self) -> signals.Signals | int | None:
        """The signal that ended the program."""
        if self.returncode >= 0:
            return None
        try:
            return signals.Signals(-self.returncode)
        except ValueError:
            return -self.returncode

    @property
    def errors(self) -> list[Error]:
        """Without leaks."""
        return self.report.errors

    @property
    def leaks(self) -> list[Leak]:
        """Of the last leak search of each process."""
        return self.report.leaks

    @property
    def processes(self) -> list[Process]:
        """The program and its children that ran under interpose."""
        return self.report.processes

    @property
    def fatal_signals(self) -> list[FatalSignal]:
        """What ended processes."""
        return self.report.fatal_signals

    @property
    def client_messages(self) -> list[ClientMessage]:
        """What programs had printed into the log."""
        return self.report.client_messages

    @property
    def profile(self) -> Profile | None:
        """Callgrind's last profile of the program itself; read anew each time."""
        files = self.profiles.get(self.pid)
        if not files:
            return None
        from interpose.formats import callgrind

        return callgrind.read(str(files[-1]))

    def _repr_html_(self) -> str:
        """As a notebook shows it."""
        from interpose.api.display import run_html

        return run_html(self)

    def check(self) -> Run:
        """This run, if the program ended with 0 and nothing was found; else :class:`RunError`."""
        found = len(self.errors) + len(self.leaks)
        if self.returncode or found:
            raise RunError(self, f"{found} errors and leaks, exit code {self.returncode}")
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report to a file, for ``interpose-report``."""
        Path(path).write_bytes(self.json)

    def keep(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Copy profiles and traces to a folder, before they go with this object; where they are now."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        kept = []
        for path in [*(each for files in self.profiles.values() for each in files), *self.traces]:
            copy = shutil.copytree if path.is_dir() else shutil.copy2
            kept.append(Path(copy(path, target / path.name)))
        return kept


class RunError(InterposeError):
    """A run that :meth:`Run.check` refused."""

    def __init__(self, run: Run, reason: str) -> None:
        found: Sequence[Error] = [*run.errors, *run.leaks]
        super().__init__(f"{run.command[0]}: {reason}", *(str(error) for error in found[:20]))
        self.run = run


class RunTimeout(RunError, TimeoutError):
    """The time was over; everything was ended, and ``run`` is what was known."""

    def __init__(self, run: Run, seconds: float) -> None:
        super().__init__(run, f"the program did not end within {seconds:g} seconds")
