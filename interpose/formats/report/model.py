"""What a report holds, as data."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from interpose.report.stack import cancellation_frames

COMPARED_FRAMES = 8
"""Frames that a fingerprint is made of: options that show more must not change it."""

_TOLD_APART = frozenset({"InvalidRead", "InvalidWrite", "UninitValue", "SyscallParam", "ClientCheck"})
"""Kinds whose text says more about the error (size, parameter) and nothing about one run."""

LEAK_KINDS = {
    "Leak_DefinitelyLost": "definite",
    "Leak_IndirectlyLost": "indirect",
    "Leak_PossiblyLost": "possible",
    "Leak_StillReachable": "reachable",
}


@dataclass(frozen=True)
class Frame:
    """One line of a stack trace; what is not known is None."""

    ip: int
    object: str | None = None
    function: str | None = None
    """The name as it is shown: demangled, or ``(below main)``."""
    symbol: str | None = None
    """The name in the symbol table, where it is another one."""
    directory: str | None = None
    file: str | None = None
    line: int | None = None

    @property
    def path(self) -> str | None:
        """Folder and file."""
        if self.file is None:
            return None
        return os.path.join(self.directory, self.file) if self.directory else self.file

    def __str__(self) -> str:
        name = self.function or "???"
        if self.file is not None:
            where = self.file if self.line is None else f"{self.file}:{self.line}"
        elif self.object is not None:
            where = f"in {self.object}"
        else:
            return f"0x{self.ip:X}: {name}"
        return f"0x{self.ip:X}: {name} ({where})"


@dataclass(frozen=True)
class Thread:
    """A thread of the program, by the tool's number."""

    id: int
    name: str | None = None


@dataclass(frozen=True)
class Part:
    """Text after an error's own stack, such as what an address is, with a stack of its own or not."""

    text: str
    stack: tuple[Frame, ...] = ()
    directory: str | None = None
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True)
class Suppression:
    """An entry of a suppression file that would hide the error."""

    kind: str
    frames: tuple[str, ...]
    text: str
    extra: str | None = None


@dataclass(frozen=True)
class SuppressionUse:
    """An entry of a suppression file that did hide something; bytes and blocks of leaks."""

    name: str
    file: str
    line: int
    count: int = 0
    bytes: int = 0
    blocks: int = 0


def _compared(stack: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """The frames of a fingerprint: Valgrind 3.24 begins with the C library's own of a system call."""
    hidden = cancellation_frames(frame.symbol or frame.function for frame in stack[:-1])
    return stack[hidden : hidden + COMPARED_FRAMES]


def _stack_lines(stack: Iterable[Frame]) -> Iterator[str]:
    word = "at"
    for frame in stack:
        yield f"   {word} {frame}"
        word = "by"


@dataclass
class Error:
    """One error, as often as it happened."""

    pid: int
    number: int
    """In its process."""
    kind: str
    """The kind of the XML protocol, such as ``InvalidRead``."""
    what: str
    thread: Thread | None = None
    stack: tuple[Frame, ...] = ()
    aux: tuple[Part, ...] = ()
    origin: Part | None = None
    """Where an undefined value came from."""
    size: int | None = None
    address: int | None = None
    fd: int | None = None
    path: str | None = None
    suppression: Suppression | None = None
    suppressed_by: SuppressionUse | None = None
    count: int = 1

    def _repr_html_(self) -> str:
        """As a notebook shows it."""
        from interpose.api.display import error_html

        return error_html(self)

    def key(self) -> str:
        """Equal for the same error after lines were added elsewhere, in a run of another program or place."""
        parts = [self.kind]
        if self.kind in _TOLD_APART:
            parts.append(self.what)
        for frame in _compared(self.stack):
            parts.append(frame.symbol or frame.function or os.path.basename(frame.object or "???"))
        return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]

    def __str__(self) -> str:
        """The text of the plain log, without its prefix."""
        lines = [self.what, *_stack_lines(self.stack)]
        for part in (*self.aux, *([self.origin] if self.origin is not None else [])):
            lines.append(f" {part.text}")
            lines += _stack_lines(part.stack)
        return "\n".join(lines)


@dataclass
class Leak(Error):
    """A loss record: blocks of one kind and place."""

    bytes: int = 0
    """Those lost by them included."""
    blocks: int = 0
    direct_bytes: int = 0
    indirect_bytes: int = 0
    indirect_blocks: int = 0
    bytes_before: int = 0
    blocks_before: int = 0
    """In the search before."""

    @property
    def leak_kind(self) -> str:
        """``definite``, ``indirect``, ``possible`` or ``reachable``."""
        return LEAK_KINDS.get(self.kind, self.kind)


@dataclass(frozen=True)
class FatalSignal:
    """The signal that ended a process."""

    pid: int
    signal: int
    name: str
    code: int
    thread: Thread | None = None
    event: str | None = None
    address: int | None = None
    stack: tuple[Frame, ...] = ()


@dataclass(frozen=True)
class ClientMessage:
    """What a program printed by a client request."""

    pid: int
    text: str
    thread: Thread | None = None
    stack: tuple[Frame, ...] = ()


@dataclass(frozen=True)
class Mark:
    """A program's own mark, and how many errors of the report lie before it."""

    pid: int
    text: str
    errors_before: int


@dataclass(frozen=True)
class Totals:
    """Bytes and blocks."""

    bytes: int = 0
    blocks: int = 0


@dataclass(frozen=True)
class HeapSummary:
    """The heap at the end of a program."""

    bytes_in_use: int
    blocks_in_use: int
    allocs: int
    frees: int
    bytes_allocated: int


@dataclass
class Process:
    """One program in one process; an exec makes another of the same number."""

    pid: int
    ppid: int
    reason: str
    """``start``, ``attach``, ``fork`` or ``exec``."""
    tool: str
    command: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    folder: str | None = None
    started: str | None = None
    ended: str | None = None
    """Times, as ISO 8601."""
    how: str | None = None
    """``exit``, ``signal``, ``killed``, ``stopped`` (at the first error), ``exec``, ``detach``; None: nobody
    said."""
    code: int | None = None
    signal: int | None = None
    heap: HeapSummary | None = None
    leaks: dict[str, Totals] = field(default_factory=dict)
    """By kind, and ``suppressed``: of the last search."""
    errors: int = 0
    contexts: int = 0
    suppressed: int = 0
    suppressed_contexts: int = 0
    suppressions: tuple[SuppressionUse, ...] = ()


@dataclass
class Report:
    """All records of one or more files."""

    processes: list[Process] = field(default_factory=list)
    errors: list[Error] = field(default_factory=list)
    """Without loss records."""
    leaks: list[Leak] = field(default_factory=list)
    suppressed: list[Error] = field(default_factory=list)
    """Those that were hidden, and loss records among them, under ``--show-error-list=all``."""
    fatal_signals: list[FatalSignal] = field(default_factory=list)
    client_messages: list[ClientMessage] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    complete: bool = True
    """Every process's end is told."""

    def fingerprints(self) -> list[tuple[str, Error]]:
        """Errors and loss records with what names each: equal ones are told apart by the order of lines."""
        groups: dict[str, list[Error]] = {}
        for error in (*self.errors, *self.leaks):
            groups.setdefault(error.key(), []).append(error)
        found: list[tuple[str, Error]] = []
        for key, errors in groups.items():
            places: dict[tuple[tuple[str, int], ...], int] = {}
            for error in sorted(errors, key=_place):
                number = places.setdefault(_place(error), len(places))
                found.append((f"{key}:{number}", error))
        order = {id(error): at for at, error in enumerate((*self.errors, *self.leaks))}
        return sorted(found, key=lambda each: order[id(each[1])])


def _place(error: Error) -> tuple[tuple[str, int], ...]:
    """Two errors of one place, in two processes or threads, are one."""
    return tuple((frame.file or "", frame.line or 0) for frame in _compared(error.stack))
