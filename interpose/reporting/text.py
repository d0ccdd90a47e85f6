"""Reports and comparisons as text."""

from __future__ import annotations

from collections.abc import Iterator

from interpose.annotate.text import safe
from interpose.formats.report import Error, Report
from interpose.reporting.compare import Comparison, distinct
from interpose.reporting.paths import Sources, where


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _block(error: Error) -> Iterator[str]:
    often = f" ({error.count:,} times)" if error.count > 1 else ""
    first, *rest = str(error).split("\n")
    yield safe(first) + often
    yield from map(safe, rest)
    yield ""


def report_lines(report: Report) -> Iterator[str]:
    """Every error, what ended the processes, and how many there were."""
    found = distinct(report)
    for error in found.values():
        yield from _block(error)
    for fatal in report.fatal_signals:
        event = f": {fatal.event}" if fatal.event else ""
        yield safe(f"Process {fatal.pid} died of signal {fatal.signal} ({fatal.name}){event}")
        for number, frame in enumerate(fatal.stack):
            yield safe(f"   {'by' if number else 'at'} {frame}")
        yield ""
    leaks = sum(error.kind.startswith("Leak_") for error in found.values())
    errors, processes = len(found) - leaks, len(report.processes)
    yield (
        f"{_count(errors, 'error', 'errors')} and {_count(leaks, 'loss record', 'loss records')} "
        f"of {_count(processes, 'program', 'programs')}"
    )
    if not report.complete:
        yield "The report is not whole: the end of a program is missing."


def comparison_lines(comparison: Comparison, sources: Sources) -> Iterator[str]:
    """New ones in full, fixed ones by their place."""
    for _, error in comparison.new:
        yield from _block(error)
    if comparison.fixed:
        yield "Fixed:"
        for _, error in comparison.fixed:
            yield safe(f"   {error.what}: {where(sources, error)}")
        yield ""
    numbers = (len(comparison.new), len(comparison.fixed), len(comparison.unchanged))
    yield "{:,} new, {:,} fixed, {:,} unchanged".format(*numbers)
