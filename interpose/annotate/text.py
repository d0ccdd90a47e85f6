"""The profile as text, in the layout that readers of callgrind_annotate's output know."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from interpose.annotate.data import Calls, Costs, Data, Row, Source, add
from interpose.annotate.options import Options
from interpose.annotate.source import SourceFile, find
from interpose.errors import InterposeError
from interpose.formats.callgrind import Function
from interpose.paths import absolute

RULE = "-" * 80
BOX = "@" * 79
WARNING = " ".join(["@@ WARNING"] * 7) + " @@"
PARTIAL = "WARNING: the profile is incomplete; shown is what could be read"

Paint = Callable[[str, str], str]


def plain(text: str, _style: str) -> str:
    """No colour."""
    return text


_STYLES = {"head": "1", "hot": "1;31", "warm": "33", "cold": "2", "call": "36", "bad": "1;31"}


def coloured(text: str, style: str) -> str:
    """The escapes of a terminal."""
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if style else text


def safe(name: str) -> str:
    """A name as it is shown: a program's symbols must not give orders to a terminal."""
    if name.isprintable():
        return name
    return "".join(char if char.isprintable() else _escaped(ord(char)) for char in name)


def _escaped(code: int) -> str:
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"  # a byte that is no UTF-8
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{{{code:x}}}"


class Columns:
    """The columns of one table: as wide as the widest number in it."""

    def __init__(self, report: Report, rows: Iterable[Costs]) -> None:
        self._report = report
        names = [report.data.events[index] for index in report.shown]
        widths = [1] * len(names)
        percs = [False] * len(names)
        for costs in rows:
            for column, index in enumerate(report.shown):
                if index < len(costs):
                    widths[column] = max(widths[column], len(report.count(costs[index])))
                    percs[column] = report.options.show_percs
        self._extra = [report.perc_width if perc else 0 for perc in percs]
        self._widths = [
            max(width, len(name) - extra)
            for width, name, extra in zip(widths, names, self._extra, strict=True)
        ]
        self.header = "".join(
            f"{name:<{width + extra}} "
            for name, width, extra in zip(names, self._widths, self._extra, strict=True)
        )

    def cells(self, costs: Costs) -> str:
        """One row, with a blank after each cell."""
        report = self._report
        shown = []
        for index, width, extra in zip(report.shown, self._widths, self._extra, strict=True):
            count = costs[index] if index < len(costs) else None
            text = "." if count is None else report.count(count)
            cell = f"{text:>{width}}{report.percentage(count, index)}"
            shown.append(report.paint(f"{cell:<{width + extra}}", report.heat(count, index)))
        return " ".join(shown) + " "


class Report:
    """Writes the text, piece by piece."""

    def __init__(self, data: Data, options: Options, paint: Paint = plain) -> None:
        self.data, self.options, self.paint = data, options, paint
        self.shown = self._indices("--show", options.show or data.events)
        sort = options.sort or [(event, None) for event in data.events]
        self.sort_events = [event for event, _ in sort]
        self.sort = self._indices("--sort", self.sort_events)
        if any(threshold is not None for _, threshold in sort):
            self.thresholds = [threshold or 0.0 for _, threshold in sort]
            self._all = False
        else:
            # Also functions that cost nothing of the event, as callgrind_annotate has it.
            self._all = options.threshold == 100 and data.before is None
            self.thresholds = [options.threshold] + [0.0] * (len(sort) - 1)
        self._signed = data.before is not None
        self._base = data.before.totals if data.before is not None else data.totals
        self.perc_width = 10 if self._signed else 9
        self._here = absolute(".").rstrip("/") + "/"
        # How a function is named: its object too where the code is of its own file.
        self._own = {row.function for row in data.rows if row.file == row.function.file}

    def _indices(self, option: str, events: list[str]) -> list[int]:
        self.data.derive(events)
        for event in events:
            if event not in self.data.events:
                raise InterposeError(f"{option} event '{safe(event)}' did not appear in input")
        return [self.data.events.index(event) for event in events]

    # -- Numbers --

    def count(self, number: int) -> str:
        """A number with separators; a difference has its sign."""
        return f"{number:+,}" if self._signed and number else f"{number:,}"

    def percentage(self, number: int | None, index: int) -> str:
        """A share of the whole, to follow the number; nothing for a number that is zero or unknown."""
        if not number or not self.options.show_percs:
            return ""
        base = self._base[index] if index < len(self._base) else 0
        if not base:
            return " (  n/a )" if self._signed else " (  n/a)"
        return f" ({self._share(number, base)}%)"

    def _share(self, number: int, base: int) -> str:
        sign = "+" if self._signed else ""
        width = 6 if self._signed else 5
        share = number / base * 100
        text = f"{share:{sign}{width}.2f}"
        return text if len(text) <= width else f"{share:{sign}{width}.1f}"

    def heat(self, number: int | None, index: int) -> str:
        """The style of a cell."""
        base = self._base[index] if index < len(self._base) else 0
        if not number or not base:
            return "cold"
        share = abs(number) / abs(base)
        return "hot" if share >= 0.1 else "warm" if share >= 0.01 else ""

    def _key(self, costs: Costs) -> tuple[int, ...]:
        """By what rows are sorted: most first, a difference by its size."""
        values = (costs[index] if index < len(costs) else 0 for index in self.sort)
        return tuple(-abs(value) if self._signed else -value for value in values)

    # -- Text --

    def lines(self) -> Iterator[str]:
        """All of it."""
        yield from self._header()
        totals = [self.data.totals]
        if self.data.before is not None:
            totals = [self._after(), self.data.before.totals, self.data.totals]
        columns = Columns(self, totals)
        yield from self._table_head(columns.header)
        if self.data.before is not None:
            for name, costs in (("OLD", totals[1]), ("NEW", totals[0])):
                shown = (f"{self.data.events[i]} {costs[i] if i < len(costs) else 0:,}" for i in self.shown)
                yield f"{name} TOTALS: {safe(' '.join(shown))}"
        calculated = " (calculated)" if self.data.calculated else ""
        what = "DIFFERENCE" if self._signed else "PROGRAM TOTALS"
        yield f"{columns.cells(self.data.totals)} {what}{calculated}"
        yield ""
        chosen = self._chosen()
        yield from self._functions(chosen)
        yield from self._sources(chosen)

    def _after(self) -> Costs:
        after = list(self.data.totals)
        assert self.data.before is not None
        add(after, self.data.before.totals)
        return after

    def _table_head(self, header: str) -> Iterator[str]:
        yield RULE
        yield self.paint(header, "head")
        yield RULE

    def _header(self) -> Iterator[str]:
        options, sources = self.options, self.data.sources
        yield RULE
        for source in sources:
            creator = f" (creator: {safe(source.creator)})" if source.creator else ""
            yield self.paint(f"Profile data file '{safe(source.name)}'{creator}", "head")
        if self._signed:
            yield "Shown is the second less the first"
        yield RULE
        for source in sources:
            if source.error is not None:
                yield self.paint(f"{PARTIAL}: {safe(source.error.message)}", "bad")
        told: dict[tuple[str, str], None] = {}
        for source in sources:
            for part in source.parts[:1]:
                told.update(dict.fromkeys(part.descriptions))
        for key, value in told:
            yield f"{safe(key)}: {safe(value)}"
        for source in sources:
            yield f"Profiled target:  {_target(source)}"
        yield f"Events recorded:  {safe(' '.join(self.data.events))}"
        yield f"Events shown:     {safe(' '.join(self.data.events[index] for index in self.shown))}"
        yield f"Event sort order: {safe(' '.join(self.sort_events))}"
        yield f"Thresholds:       {' '.join(f'{threshold:g}' for threshold in self.thresholds)}"
        yield from _list("Include dirs:     ", options.include)
        yield from _list("User annotated:   ", options.sources)
        yield f"Auto-annotation:  {'on' if options.auto else 'off'}"
        yield ""

    # -- Functions --

    def short(self, file: str) -> str:
        """A file's name, relative to the current folder where it lies there."""
        return file.removeprefix(self._here)

    def name(self, row: Row) -> str:
        """``file:function [object]``."""
        function = row.function
        text = f"{safe(self.short(row.file))}:{safe(function.name)}"
        own = row.file == function.file and function in self._own
        return f"{text} [{safe(function.object)}]" if own and function.object else text

    def _chosen(self) -> list[Row]:
        """The functions that reach the threshold, in their order; none reaches a threshold of nothing."""
        self._by_row = self.data.inclusive() if self.options.inclusive else self.data.rows
        if not any(self.thresholds):
            return []
        rows = sorted(
            self._by_row, key=lambda row: (*self._key(self._by_row[row]), row.file, row.function.name)
        )
        if self._all:
            return rows
        wholes = self._wholes(rows)
        chosen: list[Row] = []
        reached: Costs = [0] * len(self.sort)
        for row in rows:
            chosen.append(row)
            costs = self._by_row[row]
            done = True
            for column, index in enumerate(self.sort):
                cost = abs(costs[index]) if index < len(costs) else 0
                reached[column] += cost
                threshold, whole = self.thresholds[column], wholes[column]
                if self.options.inclusive:
                    # Inclusive costs overlap: a sum says nothing, so each row counts by itself.
                    done &= not threshold or cost * 100 < (100 - threshold) * whole
                else:
                    done &= not threshold or (whole > 0 and reached[column] * 100 >= threshold * whole)
            if done:
                break
        return chosen

    def _wholes(self, rows: Sequence[Row]) -> list[int]:
        """What thresholds are percentages of; in a difference, all that changed."""
        if not self._signed:
            return [self._base[index] if index < len(self._base) else 0 for index in self.sort]
        return [
            sum(abs(costs[index]) for costs in self._by_row.values() if index < len(costs))
            for index in self.sort
        ]

    def _functions(self, chosen: list[Row]) -> Iterator[str]:
        tree = self.options.tree
        costs: list[Costs] = list(self._by_row.values())
        callers: dict[Row, list[tuple[Row, int, Costs]]] = {}
        if tree in ("caller", "both"):
            callers = self._callers()
        if tree != "none":
            costs += [calls.costs for callees in self.data.calls.values() for calls in callees.values()]
        columns = Columns(self, costs)
        yield from self._table_head(f"{columns.header} file:function")
        if tree != "none":
            yield ""
        for row in chosen:
            for caller, count, shown in self._by_cost(callers.get(row, [])):
                yield f"{columns.cells(shown)} {self.paint(f'< {self._call(caller, count)}', 'call')}"
            mark = "*  " if tree != "none" else ""
            yield f"{columns.cells(self._by_row[row])} {mark}{self.name(row)}"
            if tree in ("calling", "both"):
                callees = [
                    (Row(callee, callee.file), calls.count, calls.costs)
                    for callee, calls in self.data.calls.get(row, {}).items()
                ]
                for callee, count, shown in self._by_cost(callees):
                    yield f"{columns.cells(shown)} {self.paint(f'>   {self._call(callee, count)}', 'call')}"
            if tree != "none":
                yield ""
        if tree == "none":
            yield ""

    def _callers(self) -> dict[Row, list[tuple[Row, int, Costs]]]:
        callers: dict[Row, list[tuple[Row, int, Costs]]] = {}
        for row, callees in self.data.calls.items():
            for callee, calls in callees.items():
                callers.setdefault(Row(callee, callee.file), []).append((row, calls.count, calls.costs))
        return callers

    def _by_cost(self, calls: list[tuple[Row, int, Costs]]) -> list[tuple[Row, int, Costs]]:
        return sorted(
            calls, key=lambda call: (*self._key(call[2]), self.short(call[0].file), call[0].function.name)
        )

    def _call(self, row: Row, count: int) -> str:
        function = row.function
        own = function in self._own and row.file == function.file
        where = f" [{safe(function.object)}]" if own and function.object else ""
        return f"{safe(self.short(row.file))}:{safe(function.name)} ({count:,}x){where}"

    # -- Source --

    def _sources(self, chosen: list[Row]) -> Iterator[str]:
        options = self.options
        annotated: Costs = []
        missing: list[str] = []
        for name in options.sources:
            found = find(name, options.include)
            if found is None:
                folders = " ".join(["", *options.include])
                raise InterposeError(f"File {safe(name)} not found in any of: {safe(folders)}")
            yield from self._file("User", found, annotated)
        if options.auto:
            files = dict.fromkeys(self.short(row.file) for row in chosen)
            for name in files:
                if name in options.sources or name in ("", "???"):
                    continue
                found = find(name, options.include)
                if found is None:
                    missing.append(name)
                else:
                    yield from self._file("Auto", found, annotated)
        if missing:
            yield RULE
            yield "The following files chosen for auto-annotation could not be found:"
            yield RULE
            for name in sorted(missing):
                yield f"  {safe(name)}"
            yield ""
        if annotated:
            columns = Columns(self, [annotated])
            yield from self._table_head(columns.header)
            yield f"{columns.cells(annotated)} events annotated"
            yield ""

    def _file(self, how: str, file: SourceFile, annotated: Costs) -> Iterator[str]:
        shown = f"{safe(file.folder)} + {safe(file.name)}" if file.folder else safe(file.name)
        yield RULE
        yield self.paint(f"-- {how}-annotated source: {shown}", "head")
        yield RULE
        name = file.name if file.name in self.data.lines else self._here + file.name
        costs = self.data.lines.get(name)
        calls = self.data.line_calls.get(name, {})
        if costs is None:
            yield f"  No information has been collected for {safe(file.name)}"
            yield ""
            return
        newer = file.modified > self._age()
        if newer:
            first = safe(self.data.sources[-1].name)
            yield from (BOX, WARNING, BOX)
            yield f"@ Source file '{safe(file.name)}' is more recent than input file '{first}'."
            yield "@ Annotations may not be correct."
            yield from (BOX, "")
        of_calls = [found.costs for callees in calls.values() for found in callees.values()]
        columns = Columns(self, [*costs.values(), *of_calls])
        yield self.paint(columns.header, "head")
        yield ""
        last = len(file.lines)
        numbers = sorted({*costs, *calls})
        for begin, end in _segments([n for n in numbers if 0 < n <= last], self.options.context):
            if begin > 1:
                yield f"-- line {begin} {'-' * 40}"
            for number in range(begin, min(end, last) + 1):
                found = costs.get(number, [])
                add(annotated, found)
                yield f"{columns.cells(found)} {_source_text(file.lines[number - 1])}"
                yield from self._calls_of_line(columns, number, calls)
            # The file's end cuts the last stretch short, or it is told where it ends.
            if end <= last:
                yield f"-- line {end} {'-' * 40}"
        beyond = [number for number in numbers if number > last]
        for number in beyond:
            yield f"{columns.cells(costs.get(number, []))} <bogus line {number}>"
            yield from self._calls_of_line(columns, number, calls)
        yield ""
        if beyond:
            yield from _beyond(safe(file.name), newer)
        if 0 in costs:
            yield f"{columns.cells(costs[0])} <counts for unidentified lines in {safe(file.name)}>"
            yield ""

    def _calls_of_line(
        self, columns: Columns, number: int, calls: dict[int, dict[Function, Calls]]
    ) -> Iterator[str]:
        called = [
            (Row(callee, callee.file), found.count, found.costs)
            for callee, found in calls.get(number, {}).items()
        ]
        for row, count, costs in self._by_cost(called):
            text = f"=> {safe(self.short(row.file))}:{safe(row.function.name)} ({count:,}x)"
            yield f"{columns.cells(costs)} {self.paint(text, 'call')}"

    def _age(self) -> float:
        try:
            return os.stat(self.data.sources[-1].name).st_mtime
        except OSError:
            return float("inf")


def _source_text(line: str) -> str:
    return line if line.isprintable() else "\t".join(map(safe, line.split("\t")))


def _segments(numbers: list[int], context: int) -> list[tuple[int, int]]:
    """The stretches of a file to show: lines with counts, and those around them."""
    segments: list[tuple[int, int]] = []
    for number in numbers:
        begin, end = max(1, number - context), number + context
        if segments and begin <= segments[-1][1]:
            segments[-1] = (segments[-1][0], end)
        else:
            segments.append((begin, end))
    return segments


def _beyond(name: str, newer: bool) -> Iterator[str]:
    yield from (BOX, WARNING, BOX)
    yield "@@"
    yield f"@@ Information recorded about lines past the end of '{name}'."
    yield "@@"
    yield "@@ Probable cause and solution:"
    if newer:
        yield f"@@ cause:    '{name}' has changed since information was gathered."
        yield "@@           If so, a warning will have already been issued about this."
        yield "@@ solution: Recompile the program and profile it again."
    else:
        yield "@@ cause:    not sure, sorry"
    yield from ("@@", BOX, "")


def _list(title: str, values: list[str]) -> Iterator[str]:
    for index, value in enumerate(values or [""]):
        yield f"{title if not index else ' ' * len(title)}{safe(value)}"


def _target(source: Source) -> str:
    """The program that a file is about."""
    first = source.parts[0]
    numbers = [part.part for part in source.parts if part.part is not None]
    threads = sorted({part.thread for part in source.parts if part.thread is not None})
    details = [f"PID {first.pid}"] if first.pid is not None else []
    if numbers:
        low, high = min(numbers), max(numbers)
        details.append(f"part {low}" if low == high else f"parts {low}-{high}")
    if threads:
        details.append(f"thread{'s' * (len(threads) > 1)} {', '.join(map(str, threads))}")
    shown = safe(first.cmd) if first.cmd is not None else "(unknown)"
    return f"{shown} ({', '.join(details)})" if details else shown
