"""Doubles for report tests: a symbolizer by table and a log that keeps its lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from interpose.report.errors import ErrorManager, ErrorOptions
from interpose.report.stack import StackOptions, StackResolver
from interpose.report.suppressions import CORE_ERRORS, Suppressions
from interpose.report.text import TextSink
from interpose.tools.memcheck.errors import suppression_component


@dataclass(frozen=True)
class Frame:
    ip: int
    function: str | None = None
    file: str | None = None
    line: int | None = None
    obj: str | None = None
    dir: str | None = None
    demangled: str | None = None
    sym_offset: int | None = None
    is_inlined: bool = False


@dataclass
class Symbols:
    """``table``: address → its frames, innermost first."""

    table: dict[int, list[Frame]] = field(default_factory=dict)
    looked_up: list[int] = field(default_factory=list)

    def add(self, ip: int, function: str | None, file: str | None = None, line: int | None = None, **more):
        self.table.setdefault(ip, []).append(Frame(ip, function, file, line, **more))

    def lookup(self, addr: int) -> Sequence[Frame]:
        self.looked_up.append(addr)
        return self.table.get(addr, [])


@dataclass
class Log:
    lines: list[str] = field(default_factory=list)

    def plain(self, text: str) -> None:
        self.lines += [f"==1== {line}" for line in text.split("\n")]

    def debug(self, text: str) -> None:
        self.lines.append(f"--1-- {text}")

    def question(self, text: str) -> None:
        self.lines.append(f"==1== {text} ")

    def raw(self, text: str) -> None:
        self.lines += text.split("\n")

    def hold(self) -> None:
        pass

    def let_go(self) -> None:
        pass

    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)

    def take(self) -> str:
        text = self.text()
        self.lines.clear()
        return text


@dataclass
class Bench:
    """Everything a report needs, put together."""

    symbols: Symbols
    log: Log
    resolver: StackResolver
    suppressions: Suppressions
    sink: TextSink
    errors: ErrorManager


def bench(
    *,
    supp: str = "",
    markers: tuple[str, str] = ("", ""),
    stack: StackOptions | None = None,
    answers: str = "",
    **options,
) -> Bench:
    symbols, log = Symbols(), Log()
    resolver = StackResolver(symbols, stack)
    suppressions = Suppressions([suppression_component(), CORE_ERRORS])
    if supp:
        suppressions.add(supp, "s.supp")
    sink = TextSink(log, resolver, markers)
    rest = iter(answers)

    def typed() -> str:
        return next(rest, "")

    errors = ErrorManager(ErrorOptions(**options), resolver, suppressions, sink, log, typed)
    return Bench(symbols, log, resolver, suppressions, sink, errors)
