"""One HTML file that needs nothing else: errors by kind, file or function, with stacks and source."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from interpose import onepage
from interpose.annotate.source import SourceFile, find
from interpose.annotate.text import safe
from interpose.formats.report import Error, Frame, Report
from interpose.reporting.compare import Comparison, distinct
from interpose.reporting.paths import Sources, where
from interpose.reporting.rules import rule

CONTEXT = 4
"""Lines before and after the one that a frame is at."""
EXCERPTS = 3
"""Frames of a stack that are shown with source, those of the project before others."""
MAX_LINES = 60_000
MAX_ERRORS = 5_000


class Page:
    """Gathers what the page shows."""

    def __init__(
        self, report: Report, sources: Sources, comparison: Comparison | None, include: Sequence[str]
    ) -> None:
        self._report = report
        self._sources = sources
        self._comparison = comparison
        self._include = [folder.rstrip("/") + "/" for folder in (sources.root, *include)]
        self._files: dict[str, SourceFile | None] = {}
        self._lines_left = MAX_LINES

    def content(self) -> dict[str, Any]:
        """Everything, for JSON."""
        errors = list(distinct(self._report).items())
        if self._comparison is not None:
            errors += self._comparison.fixed
        return {
            "title": self._title(),
            "complete": self._report.complete,
            "compared": self._comparison is not None,
            "left_out": max(0, len(errors) - MAX_ERRORS),
            "processes": [
                {
                    "pid": process.pid,
                    "command": safe(" ".join(process.command)),
                    "tool": safe(process.tool),
                    "end": safe(
                        " ".join(str(word) for word in (process.how, process.code) if word is not None)
                    ),
                }
                for process in self._report.processes
            ],
            "errors": [self._error(*each) for each in errors[:MAX_ERRORS]],
            "deaths": [
                {
                    "what": safe(
                        f"Signal {fatal.signal} ({': '.join(filter(None, (fatal.name, fatal.event)))})"
                    ),
                    "pid": fatal.pid,
                    "stack": self._stack(fatal.stack),
                }
                for fatal in self._report.fatal_signals
            ],
        }

    def _title(self) -> str:
        command = self._report.processes[0].command if self._report.processes else ()
        return safe(" ".join(command)) or "report"

    def _error(self, fingerprint: str, error: Error) -> dict[str, Any]:
        place = self._sources.place(error.stack)
        known = rule(error.kind)
        return {
            "kind": safe(error.kind),
            "short": safe(known.short),
            "help": known.help,
            "level": known.level,
            "what": safe(error.what),
            "where": safe(where(self._sources, error)),
            "file": safe((self._sources.path(place) if place is not None else None) or "???"),
            "function": safe((place.function if place is not None else None) or "???"),
            "count": error.count,
            "pid": error.pid,
            "thread": error.thread.id if error.thread is not None else None,
            "state": self._comparison.state(fingerprint) if self._comparison is not None else None,
            "stack": self._stack(error.stack),
            "parts": [
                {"text": safe(part.text), "stack": self._stack(part.stack)}
                for part in (*error.aux, *([error.origin] if error.origin is not None else []))
            ],
            "suppression": safe_lines(error.suppression.text) if error.suppression is not None else None,
        }

    def _stack(self, stack: Sequence[Frame]) -> list[dict[str, Any]]:
        """Frames; some with lines of [number, text]."""
        order = sorted(range(len(stack)), key=lambda at: (not self._sources.is_own(stack[at]), at))
        with_source = {at for at in order if stack[at].line}
        chosen = [at for at in order if at in with_source][:EXCERPTS]
        return [
            {
                "text": safe(str(frame)),
                "path": safe(self._sources.path(frame) or frame.object or ""),
                "own": self._sources.is_own(frame),
                "line": frame.line,
                "source": self._excerpt(frame) if at in chosen else None,
            }
            for at, frame in enumerate(stack)
        ]

    def _excerpt(self, frame: Frame) -> list[list[Any]] | None:
        source = self._source(frame)
        if source is None or frame.line is None or not 0 < frame.line <= len(source.lines):
            return None
        numbers = range(max(1, frame.line - CONTEXT), min(len(source.lines), frame.line + CONTEXT) + 1)
        if self._lines_left < len(numbers):
            return None
        self._lines_left -= len(numbers)
        return [[number, source.lines[number - 1][:500]] for number in numbers]

    def _source(self, frame: Frame) -> SourceFile | None:
        for name in (frame.path, frame.file):
            if name is None or name == "":
                continue
            if name not in self._files:
                self._files[name] = find(name, self._include)
            if self._files[name] is not None:
                return self._files[name]
        return None


def safe_lines(text: str) -> str:
    """A text of several lines as it is shown."""
    return "\n".join(map(safe, text.split("\n")))


def html(
    report: Report, sources: Sources, comparison: Comparison | None = None, include: Sequence[str] = ()
) -> bytes:
    """The page of a report."""
    content = Page(report, sources, comparison, include).content()
    return onepage.html(content["title"], content, Path(__file__).parent)
