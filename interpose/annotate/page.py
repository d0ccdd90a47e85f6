"""One HTML file that needs nothing else: call graph, flame graph, functions, source, instructions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from interpose import onepage
from interpose.annotate.code import Code
from interpose.annotate.data import Calls, Costs, Data
from interpose.annotate.export import ESTIMATED, title
from interpose.annotate.source import find
from interpose.annotate.stacks import estimate, laid_out
from interpose.annotate.text import safe
from interpose.errors import InterposeError
from interpose.formats.callgrind import Function

# What a page holds of a large profile: the most expensive.
MAX_FUNCTIONS = 20_000
MAX_EDGES = 100_000
MAX_SOURCE_LINES = 60_000
MAX_INSTRUCTIONS = 60_000
MAX_FLAME = 4_000
SMALLEST_FLAME = 1e-4
CONTEXT = 8


class Page:
    """Gathers what the page shows; functions, files and objects are numbers in it."""

    def __init__(self, runs: list[Data], include: list[str]) -> None:
        self.runs, self.include = runs, include
        self.events = [event for event in runs[-1].events if all(event in run.events for run in runs)]
        if not self.events:
            names = " and ".join(safe(run.sources[0].name) for run in runs)
            raise InterposeError(f"{names}: there is no event to show")
        self._order = [[run.events.index(event) for event in self.events] for run in runs]
        self.functions: dict[Function, int] = {}
        self.names: dict[str, int] = {}

    def costs(self, run: int, costs: Costs) -> list[int]:
        """Costs in the page's order of events."""
        return [costs[index] if index < len(costs) else 0 for index in self._order[run]]

    def name(self, text: str) -> int:
        return self.names.setdefault(safe(text), len(self.names))

    def content(self) -> dict[str, Any]:
        """Everything, for JSON."""
        functions = self._functions()
        result = {
            "title": title(self.runs[-1]),
            "runs": [self._run(number) for number in range(len(self.runs))],
            "events": [self._event(event) for event in self.events],
            "estimated": ESTIMATED,
            "functions": functions,
            "edges": self._edges(),
            "flames": [self._flames(number) for number in range(len(self.runs))],
            "sources": self._sources(),
            "code": self._code(),
        }
        result["names"] = list(self.names)
        return result

    def _run(self, number: int) -> dict[str, Any]:
        run = self.runs[number]
        source = run.sources[0]
        part = source.parts[0] if source.parts else None
        return {
            "file": safe(source.name),
            "command": safe(part.cmd or "") if part else "",
            "creator": safe(source.creator or ""),
            "totals": self.costs(number, run.totals),
            "error": safe(source.error.message) if source.error else None,
        }

    def _event(self, name: str) -> dict[str, str]:
        known = self.runs[-1].event_types.get(name)
        return {"name": safe(name), "long": safe(known.long_name or "") if known else ""}

    # -- Functions and calls --

    def _functions(self) -> list[list[Any]]:
        """Name, file, object, and for each run self and inclusive costs and the number of calls."""
        own = [run.functions() for run in self.runs]
        edges = [run.edges() for run in self.runs]
        called: list[dict[Function, Calls]] = []
        for number, run in enumerate(self.runs):
            into: dict[Function, Calls] = {}
            for caller, callees in edges[number].items():
                for callee, calls in callees.items():
                    sums = into.setdefault(callee, Calls())
                    sums.count += calls.count
                    if callee != caller:
                        _add(sums.costs, calls.costs, len(run.events))
            called.append(into)
        everyone = dict.fromkeys(function for functions in own for function in functions)

        def inclusive(number: int, function: Function) -> Costs:
            costs = list(own[number].get(function, []))
            for callee, calls in edges[number].get(function, {}).items():
                if callee != function:
                    _add(costs, calls.costs, len(self.runs[number].events))
            return costs

        rows = []
        for function in everyone:
            sides = []
            for number in range(len(self.runs)):
                calls = called[number].get(function, Calls())
                sides.append(
                    (
                        self.costs(number, own[number].get(function, [])),
                        self.costs(number, inclusive(number, function)),
                        calls.count,
                    )
                )
            rows.append((function, sides))
        rows.sort(key=lambda row: -max((side[1][0] or 0) if side[1] else 0 for side in row[1]))
        shown = []
        for function, sides in rows[:MAX_FUNCTIONS]:
            self.functions[function] = len(self.functions)
            row = [self.name(function.name), self.name(function.file), self.name(function.object)]
            shown.append([*row, *sides])
        return shown

    def _edges(self) -> list[list[Any]]:
        """Caller, callee, and for each run the number of calls and their cost."""
        found: dict[tuple[int, int], list[Any]] = {}
        nothing = [[0, [0] * len(self.events)] for _ in self.runs]
        for number, run in enumerate(self.runs):
            for caller, callees in run.edges().items():
                for callee, calls in callees.items():
                    if caller in self.functions and callee in self.functions:
                        key = (self.functions[caller], self.functions[callee])
                        sides = found.setdefault(key, list(nothing))
                        sides[number] = [calls.count, self.costs(number, calls.costs)]
        edges = sorted(found.items(), key=lambda edge: -max((s[1][0] if s[1] else 0) for s in edge[1]))
        return [[*key, *sides] for key, sides in edges[:MAX_EDGES]]

    def _flames(self, number: int) -> list[list[list[int]]]:
        """For each event frames of function, depth, start, whole and own cost, callers first."""
        run = self.runs[number]
        result = []
        for index in self._order[number]:
            frames: list[list[int]] = []
            for frame, start in laid_out(estimate(run, index, MAX_FLAME, SMALLEST_FLAME), index):
                if frame.function in self.functions and len(frames) < 2 * MAX_FLAME:
                    function = self.functions[frame.function]
                    frames.append([function, frame.depth, start, frame.whole[index], frame.own[index]])
            result.append(frames)
        return result

    # -- Source and instructions --

    def _sources(self) -> list[dict[str, Any]]:
        """Files with a cost, the most expensive first: lines of [number, text, cost of each run, calls]."""
        weights: dict[str, float] = {}
        for run, order in zip(self.runs, self._order, strict=True):
            for file, lines in run.lines.items():
                cost = sum(costs[order[0]] for costs in lines.values() if order and order[0] < len(costs))
                weights[file] = weights.get(file, 0) + cost
        left = MAX_SOURCE_LINES
        result = []
        for file in sorted(weights, key=lambda each: -weights[each]):
            shown, found = self._source(file)
            left -= len(shown)
            if left < 0:
                break
            result.append({"file": self.name(file), "found": found, "lines": shown})
        return result

    def _source(self, file: str) -> tuple[list[list[Any]], bool]:
        numbers: set[int] = set()
        for run in self.runs:
            numbers.update(run.lines.get(file, {}))
            numbers.update(run.line_calls.get(file, {}))
        source = find(file, self.include) if file not in ("", "???") else None
        shown_numbers = set(numbers)
        if source is not None:
            for number in numbers:
                around = range(max(1, number - CONTEXT), min(len(source.lines), number + CONTEXT) + 1)
                shown_numbers.update(around)
        rows = []
        for number in sorted(shown_numbers)[:MAX_SOURCE_LINES]:
            text = None
            if source is not None and 0 < number <= len(source.lines):
                text = source.lines[number - 1][:2000]
            sides: list[Any] = []
            for index, run in enumerate(self.runs):
                costs = run.lines.get(file, {}).get(number)
                sides.append(self.costs(index, costs) if costs is not None else None)
            rows.append([number, text, sides, self._line_calls(file, number)])
        return rows, source is not None

    def _line_calls(self, file: str, number: int) -> list[list[Any]]:
        """Calls of a line: callee, number and cost in the last run."""
        last = len(self.runs) - 1
        callees = self.runs[last].line_calls.get(file, {}).get(number, {})
        return [
            [self.functions[callee], calls.count, self.costs(last, calls.costs)]
            for callee, calls in callees.items()
            if callee in self.functions
        ]

    def _code(self) -> list[dict[str, Any]]:
        """Functions with instructions of the last run: [address, text, file, line, cost, calls, jumps]."""
        last = len(self.runs) - 1
        run = self.runs[last]
        codes: dict[str, Code] = {}
        result = []
        left = MAX_INSTRUCTIONS
        # Functions are numbered by cost.
        for function, number in self.functions.items():
            found = run.instructions.get(function)
            if found is None:
                continue
            left -= len(found)
            if left < 0:
                break
            code = codes.get(function.object)
            if code is None:
                code = codes[function.object] = Code(function.object)
            texts = code.texts(list(found)) if code.usable else {}
            rows = []
            for address, each in sorted(found.items()):
                calls = [
                    [self.functions[callee], calls.count, self.costs(last, calls.costs)]
                    for callee, calls in (each.calls or {}).items()
                    if callee in self.functions
                ]
                jumps = [[f"{target:#x}", *counts] for target, counts in (each.jumps or {}).items()]
                file, cost = self.name(each.file), self.costs(last, each.costs)
                rows.append([f"{address:#x}", texts.get(address), file, each.line, cost, calls, jumps])
            result.append({"function": number, "found": bool(texts), "rows": rows})
        return result


def _add(total: Costs, costs: Costs, events: int) -> None:
    total.extend([0] * (min(events, len(costs)) - len(total)))
    for index, cost in enumerate(costs):
        total[index] += cost


def html(runs: list[Data], include: list[str]) -> bytes:
    """The page of one run, or of two to compare (old, new)."""
    return onepage.html(title(runs[-1]), Page(runs, include).content(), Path(__file__).parent)
