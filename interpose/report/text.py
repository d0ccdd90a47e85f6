"""The text form of errors and stack traces (docs/spec/output.md sections 3 and 5)."""

from __future__ import annotations

from .errors import AuxPart, Error
from .stack import Stack, StackResolver, describe_frame
from .suppressions import GeneratedSuppression

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object


class LogLike(Protocol):
    """Whole lines: ``plain`` and ``debug`` add a prefix (docs/spec/output.md section 1), ``raw`` none."""

    def plain(self, text: str, /) -> None: ...
    def debug(self, text: str, /) -> None: ...
    def raw(self, text: str, /) -> None: ...


def stack_lines(resolver: StackResolver, stack: Stack) -> list[str]:
    """The lines of a stack trace: ``at`` for the very first one, ``by`` for the rest (inlined ones too)."""
    lines = []
    word = "at"
    for frame in resolver.frames(stack):
        lines.append(f"   {word} 0x{frame.ip:X}: {describe_frame(frame, resolver.options)}")
        word = "by"
    return lines


def aux_lines(resolver: StackResolver, part: AuxPart) -> list[str]:
    """An auxiliary part: its text with one leading blank, then its stack."""
    lines = [f" {part.text}"] if part.text else []
    if part.stack is not None:
        lines += stack_lines(resolver, part.stack)
    return lines


def error_lines(resolver: StackResolver, error: Error) -> list[str]:
    """An error without thread header, markers and closing empty line: what, stack, auxiliary parts."""
    lines = list(error.what)
    if error.stack is not None:
        lines += stack_lines(resolver, error.stack)
    for part in error.aux:
        lines += aux_lines(resolver, part)
    return lines


class TextSink:
    """Prints errors as text; remembers their thread, because a header marks only changes of thread."""

    def __init__(self, log: LogLike, resolver: StackResolver, markers: tuple[str, str] = ("", "")) -> None:
        self.log = log
        self.resolver = resolver
        self.markers = markers
        self._last_tid = 1

    def show(self, error: Error) -> None:
        """One error block (docs/spec/output.md section 3)."""
        begin, end = self.markers
        if begin:
            self.log.plain(begin)
        self.body(error)
        self.log.plain("")
        if end:
            self.log.plain(end)

    def suppressed(self, error: Error) -> None:
        """The list at the end may show it."""

    def body(self, error: Error) -> None:
        """Thread header if the thread changed, and the error itself."""
        if error.tid and error.tid != self._last_tid:
            self._last_tid = error.tid
            name = f" {error.thread_name}" if error.thread_name else ""
            self.log.plain(f"Thread {error.tid}{name}:")
        for line in error_lines(self.resolver, error):
            self.log.plain(line)

    def suppression(self, candidate: GeneratedSuppression) -> None:
        """A generated suppression, after the error block (docs/spec/suppressions.md section 3)."""
        for line in candidate.lines():
            self.log.raw(line)

    def message(self, *lines: str) -> None:
        """Lines about error reporting itself, such as the limits."""
        for line in lines:
            self.log.plain(line)
