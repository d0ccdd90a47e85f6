"""The text form of errors and stack traces (docs/spec/output.md sections 3 and 5)."""

from __future__ import annotations

from .errors import AuxPart, Error
from .stack import Stack, StackResolver
from .suppressions import GeneratedSuppression

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from .errors import ErrorSink
    from .log import Log
else:
    Protocol = object


class LogLike(Protocol):
    """Whole lines: ``plain`` and ``debug`` add a prefix (docs/spec/output.md section 1), ``raw`` none."""

    def plain(self, text: str, /) -> None: ...
    def debug(self, text: str, /) -> None: ...
    def raw(self, text: str, /) -> None: ...
    def hold(self) -> None: ...
    def let_go(self) -> None: ...


def stack_lines(resolver: StackResolver, stack: Stack) -> list[str]:
    """The lines of a stack trace: ``at`` for the very first one, ``by`` for the rest (inlined ones too)."""
    texts = resolver.texts(stack)
    lines = [f"   by {text}" for text in texts]
    if texts:
        lines[0] = f"   at {texts[0]}"
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


class RequestedText:
    """Errors as text where somebody asks for them while the program runs, else in another form."""

    def __init__(self, log: Log, text: TextSink, sink: Callable[[], ErrorSink | None]) -> None:
        """``sink``: None where there is nothing but text."""
        self._log = log
        self._text = text
        self._sink = sink

    def _form(self) -> ErrorSink:
        return self._text if self._log.asked_for else self._sink() or self._text

    def show(self, error: Error) -> None:
        self._form().show(error)

    def suppressed(self, error: Error) -> None:
        self._form().suppressed(error)

    def suppression(self, candidate: GeneratedSuppression) -> None:
        self._form().suppression(candidate)

    def again(self, error: Error, candidate: GeneratedSuppression | None) -> None:
        """Of a list, which is always text."""
        self._text.again(error, candidate)

    def message(self, *lines: str) -> None:
        """About the reporting itself."""
        self._text.message(*lines)


_UNSPACED = frozenset({"FdBadClose", "FdBadUse"})
"""Kinds without the empty line at the end, as Valgrind 3.27.1 has them."""


class TextSink:
    """Prints errors as text; remembers their thread, because a header marks only changes of thread."""

    def __init__(self, log: LogLike, resolver: StackResolver, markers: tuple[str, str] = ("", "")) -> None:
        self.log = log
        self.resolver = resolver
        self.markers = markers
        self._last_tid = 1

    def show(self, error: Error) -> None:
        """One error block (docs/spec/output.md section 3), whole."""
        begin, end = self.markers
        closing = [] if error.kind.xml in _UNSPACED else [""]
        lines = [*([begin] if begin else []), *self._body(error), *closing, *([end] if end else [])]
        self.log.plain("\n".join(lines))

    def suppressed(self, error: Error) -> None:
        """The list at the end may show it."""

    def again(self, error: Error, candidate: GeneratedSuppression | None) -> None:
        """In a list, or on request: the same block."""
        self.show(error)
        if candidate is not None:
            self.suppression(candidate)

    def _body(self, error: Error) -> list[str]:
        """Thread header if the thread changed, and the error itself."""
        lines = error_lines(self.resolver, error)
        if error.tid and error.tid != self._last_tid:
            self._last_tid = error.tid
            name = f" {error.thread_name}" if error.thread_name else ""
            lines.insert(0, f"Thread {error.tid}{name}:")
        return lines

    def suppression(self, candidate: GeneratedSuppression) -> None:
        """A generated suppression, after the error block (docs/spec/suppressions.md section 3)."""
        self.log.raw("\n".join(candidate.lines()))

    def message(self, *lines: str) -> None:
        """Lines about error reporting itself, such as the limits."""
        for line in lines:
            self.log.plain(line)
