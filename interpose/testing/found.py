"""What was found, read from the folder of reports of a process and its children."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from interpose.errors import InterposeError
from interpose.formats.report import Error, FatalSignal, Frame, Leak, Reader

SUFFIX = ".jsonl"
MOST_SHOWN = 50
INTERPRETER_FRAMES = 2
"""Of each run of them, those that are shown."""
_INTERPRETER = re.compile(r"(lib)?python3?(\.\d+)?")


@dataclass(frozen=True)
class Settings:
    """What the options of the plugin say, for whoever runs tests."""

    tool: str
    fail: str = "definite"
    leaks: str = "session"

    def fails(self, error: Error) -> bool:
        """Whether an error makes its test fail."""
        if self.fail == "no":
            return False
        if self.fail == "definite" and isinstance(error, Leak):
            return error.leak_kind == "definite"
        return True


class Folder:
    """Reads reports as they grow."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self.reader = Reader(path)
        self._read: dict[str, int] = {}
        """Bytes read of each file."""

    def _feed(self) -> None:
        try:
            names = sorted(name for name in os.listdir(self.path) if name.endswith(SUFFIX))
        except OSError:
            return
        # A child's numbers may be those of its parent, which is known first.
        known = list(self._read)
        names.sort(key=lambda name: known.index(name) if name in self._read else len(known))
        for name in names:
            try:
                with open(self.path / name, "rb") as file:
                    file.seek(self._read.get(name, 0))
                    text = file.read()
            except OSError:
                continue
            end = text.rfind(b"\n") + 1
            self._read[name] = self._read.get(name, 0) + end
            for line in text[:end].splitlines():
                self.reader.feed(line)

    def news(self) -> list[tuple[Error, int]]:
        """Errors since the last call, each with how often it has happened since."""
        self._feed()
        found: dict[int, tuple[Error, int]] = {}
        for error, times in self.reader.news:
            known = found.get(id(error))
            found[id(error)] = (error, times + (known[1] if known is not None else 0))
        self.reader.news.clear()
        return list(found.values())

    def last_mark(self) -> str | None:
        """The text of the last mark."""
        marks = self.reader.report.marks
        return marks[-1].text if marks else None

    def fatal(self) -> list[FatalSignal]:
        """Deaths of the processes."""
        return self.reader.report.fatal_signals


def _is_interpreter(frame: Frame) -> bool:
    return frame.object is not None and _INTERPRETER.match(os.path.basename(frame.object)) is not None


def _stack_lines(stack: Sequence[Frame]) -> Iterator[str]:
    """A stack trace in which runs of the interpreter's frames are cut short."""
    word, run = "at", 0
    for number, frame in enumerate(stack):
        run = run + 1 if _is_interpreter(frame) else 0
        if run <= INTERPRETER_FRAMES:
            yield f"   {word} {frame}"
        elif number + 1 == len(stack) or not _is_interpreter(stack[number + 1]):
            yield f"   ... {run - INTERPRETER_FRAMES} more of the interpreter"
        word = "by"


def _error_lines(error: Error) -> Iterator[str]:
    yield error.what
    yield from _stack_lines(error.stack)
    for part in (*error.aux, *([error.origin] if error.origin is not None else [])):
        yield f" {part.text}"
        yield from _stack_lines(part.stack)


def headline(error: Error, times: int) -> str:
    """An error in one line: what, and in which function outside of our replacements."""
    often = f" ({times} times)" if times > 1 else ""
    for frame in error.stack:
        if not os.path.basename(frame.object or "").startswith("interpose-"):
            return f"{error.what}{often}: {str(frame).partition(': ')[2]}"
    return error.what + often


def text_of(found: Iterable[tuple[Error, int]], own: int | None = None) -> str:
    """Errors as text, each followed by an empty line.

    :param own: the process that needs no mention.
    """
    blocks = []
    found = list(found)
    for error, times in found[:MOST_SHOWN]:
        where = "" if own in (None, error.pid) else f" in process {error.pid}"
        often = f" ({times} times)" if times > 1 else ""
        first, *rest = _error_lines(error)
        blocks.append("\n".join([f"{first}{often}{where}", *rest, ""]))
    if len(found) > MOST_SHOWN:
        blocks.append(f"{len(found) - MOST_SHOWN} more errors\n")
    return "\n".join(blocks)


def fatal_text(fatal: FatalSignal) -> str:
    """A death as text."""
    lines = [f"Process terminating with default action of signal {fatal.signal} ({fatal.name})"]
    if fatal.event is not None:
        address = "" if fatal.address is None else f" at address 0x{fatal.address:X}"
        lines.append(f" {fatal.event}{address}")
    lines += _stack_lines(fatal.stack)
    return "\n".join(lines) + "\n"


def read_quietly(folder: Folder) -> tuple[list[tuple[Error, int]], str | None]:
    """The news, and None or why there are none."""
    try:
        return folder.news(), None
    except InterposeError as error:
        return [], error.message
