"""Sums over the records of one or several profiles: by function, by line, by instruction, by call.

A cost is a list in the order of ``Data.events`` that may be shorter than that: an event that no line gave is
not the same as one that was counted and is zero (the text shows ``.`` and ``0``).
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple

from interpose.errors import InterposeError
from interpose.formats import FormatError
from interpose.formats.callgrind import Call, Cost, EventType, Function, Jump, Part, Reader
from interpose.formats.callgrind.limits import MAX_NUMBER

Costs = list[int]


class Row(NamedTuple):
    """What a list of functions shows as one line: a function's code of one source file."""

    function: Function
    file: str


@dataclass(slots=True)
class Calls:
    """Calls of one function from somewhere: how many, and their inclusive cost."""

    count: int = 0
    costs: Costs = field(default_factory=list)


@dataclass(slots=True)
class Instruction:
    """The cost at one address, and the jumps and calls that leave it."""

    file: str
    line: int
    costs: Costs = field(default_factory=list)
    # Most instructions have none, and there are millions.
    calls: dict[Function, Calls] | None = None
    jumps: dict[int, tuple[int, int | None]] | None = None


@dataclass
class Source:
    """What one file contributed."""

    name: str
    creator: str | None = None
    parts: list[Part] = field(default_factory=list)
    error: FormatError | None = None


def add(total: Costs, costs: Sequence[int], factor: int = 1) -> None:
    """Add costs to a sum in place."""
    missing = len(costs) - len(total)
    if missing > 0:
        total.extend([0] * missing)
    if factor == 1:
        total[: len(costs)] = map(operator.add, total, costs)
    else:
        for index, cost in enumerate(costs):
            total[index] += cost * factor


@dataclass
class Data:
    """The sums, and what the headers said."""

    events: list[str] = field(default_factory=list)
    event_types: dict[str, EventType] = field(default_factory=dict)
    sources: list[Source] = field(default_factory=list)
    totals: Costs = field(default_factory=list)
    calculated: bool = False
    # Only the page shows instructions, and there are many.
    want_instructions: bool = False
    rows: dict[Row, Costs] = field(default_factory=dict)
    calls: dict[Row, dict[Function, Calls]] = field(default_factory=dict)
    lines: dict[str, dict[int, Costs]] = field(default_factory=dict)
    line_calls: dict[str, dict[int, dict[Function, Calls]]] = field(default_factory=dict)
    instructions: dict[Function, dict[int, Instruction]] = field(default_factory=dict)
    before: Data | None = None
    _edges: dict[Function, dict[Function, Calls]] | None = None

    # -- Reading --

    def read(self, stream: BinaryIO, name: str) -> None:
        """Add a file. One that is bad after a good beginning is kept so far; its source has the error."""
        self._edges = None
        source = Source(name)
        self.sources.append(source)
        summed: Costs = []
        try:
            self._records(Reader(stream, name), source, summed)
        except FormatError as error:
            if not source.parts:
                raise
            source.error = error
        given: Costs = []
        for part in source.parts:
            total = part.summary or part.totals
            if not total or not any(total):
                given = []
                break
            add(given, self._mapped(part, total))
        # What was cut off has no totals that are true of what was read.
        whole = source.error is None and given
        self.calculated = self.calculated or not whole
        add(self.totals, given if whole else summed)

    def _mapped(self, part: Part, costs: Sequence[int]) -> Sequence[int]:
        """Costs in the order of all events."""
        order = self._order(part)
        return costs if order is None else _ordered(order, costs)

    def _order(self, part: Part) -> list[int] | None:
        """Where a part's events are among all; None if they are where they are."""
        for event in part.events:
            if event not in self.events:
                self.events.append(event)
        order = [self.events.index(event) for event in part.events]
        return None if order == list(range(len(order))) else order

    def _records(self, reader: Reader, source: Source, summed: Costs) -> None:
        order: list[int] | None = None
        instructions = False
        row: Row | None = None
        lines: dict[int, Costs] = {}
        # What is added for each record is of the row at hand; its sum goes to the others with the next row.
        sums: tuple[Costs, ...] = ()
        here: Costs = []
        try:
            for record in reader:
                if isinstance(record, Part):
                    source.parts.append(record)
                    source.creator = record.creator
                    order = self._order(record)
                    self.event_types.update(record.event_types)
                    instructions = self.want_instructions and "instr" in record.positions
                    continue
                if row is None or record.function is not row.function or record.file != row.file:
                    for total in sums:
                        add(total, here)
                    here = []
                    row = Row(record.function, record.file)
                    sums = (summed, self.rows.setdefault(row, []))
                    lines = self.lines.setdefault(record.file, {})
                if isinstance(record, Jump):
                    if instructions:
                        self._jump(record)
                    continue
                costs = record.costs if order is None else _ordered(order, record.costs)
                if isinstance(record, Cost):
                    add(here, costs)
                    at_line = lines.get(record.line)
                    if at_line is None:
                        lines[record.line] = list(costs)
                    else:
                        add(at_line, costs)
                    if instructions:
                        add(self._instruction(record).costs, costs)
                else:
                    self._call(row, record, costs, instructions)
        finally:
            for total in sums:
                add(total, here)

    def _instruction(self, record: Cost | Call | Jump) -> Instruction:
        # One address is of several functions where those are told apart by recursion or callers.
        of_function = self.instructions.setdefault(record.function, {})
        found = of_function.get(record.addr)
        if found is None:
            found = of_function[record.addr] = Instruction(record.file, record.line)
        return found

    def _jump(self, record: Jump) -> None:
        instruction = self._instruction(record)
        if instruction.jumps is None:
            instruction.jumps = {}
        jumps = instruction.jumps
        executed, followed = jumps.get(record.target_addr, (0, None if record.followed is None else 0))
        if record.followed is not None:
            followed = (followed or 0) + record.followed
        jumps[record.target_addr] = (executed + record.executed, followed)

    def _call(self, row: Row, record: Call, costs: Sequence[int], instructions: bool) -> None:
        places = [
            self.calls.setdefault(row, {}),
            self.line_calls.setdefault(record.file, {}).setdefault(record.line, {}),
        ]
        if instructions:
            instruction = self._instruction(record)
            if instruction.calls is None:
                instruction.calls = {}
            places.append(instruction.calls)
        for place in places:
            calls = place.get(record.callee)
            if calls is None:
                calls = place[record.callee] = Calls()
            calls.count += record.calls
            add(calls.costs, costs)

    # -- Derived events --

    def derive(self, wanted: Iterable[str]) -> None:
        """Make columns of events that ``event:`` lines derive from others, where they are asked for."""
        self._edges = None
        for name in wanted:
            if name in self.events or name not in self.event_types or not self.event_types[name].formula:
                continue
            factors = self._factors(name)
            if factors is None:
                continue
            for costs in self.all_costs():
                value = sum(costs[index] * factor for index, factor in factors.items() if index < len(costs))
                costs.extend([0] * (len(self.events) - len(costs)))
                costs.append(value)
            self.events.append(name)

    def _factors(self, name: str) -> dict[int, int] | None:
        """A formula over recorded events alone; None if one does not exist, or it needs itself."""
        factors: dict[int, int] = {}
        pending = [(name, 1)]
        # A formula may name others; a chain longer than all of them goes in a circle.
        for _ in range(4 * len(self.event_types) + 256):
            if not pending:
                return factors
            term, factor = pending.pop()
            if term in self.events:
                index = self.events.index(term)
                factors[index] = factors.get(index, 0) + factor
            elif term in self.event_types and self.event_types[term].formula:
                pending.extend((part, factor * times) for times, part in self.event_types[term].formula)
                if any(times > MAX_NUMBER for _, times in pending):
                    return None
            else:
                return None
        return None

    def all_costs(self) -> list[Costs]:
        """Every sum that there is."""
        found = [self.totals, *self.rows.values()]
        found += [calls.costs for callees in self.calls.values() for calls in callees.values()]
        found += [costs for lines in self.lines.values() for costs in lines.values()]
        for lines in self.line_calls.values():
            found += [calls.costs for callees in lines.values() for calls in callees.values()]
        for addresses in self.instructions.values():
            for instruction in addresses.values():
                found += [instruction.costs, *(calls.costs for calls in (instruction.calls or {}).values())]
        return found

    # -- Views --

    def inclusive(self) -> dict[Row, Costs]:
        """The cost of each row with what it called.

        For a function that was called this is what the calls cost, with all code that was inlined into it.
        Rows of such code have their own cost and that of their calls.
        """
        result: dict[Row, Costs] = {}
        for callees in self.calls.values():
            for callee, calls in callees.items():
                add(result.setdefault(Row(callee, callee.file), []), calls.costs)
        called = set(result)
        for row, costs in self.rows.items():
            if row not in called:
                add(result.setdefault(row, []), costs)
                for calls in self.calls.get(row, {}).values():
                    add(result[row], calls.costs)
        return result

    def functions(self) -> dict[Function, Costs]:
        """Self cost by function, whatever file the code came from."""
        result: dict[Function, Costs] = {}
        for row, costs in self.rows.items():
            add(result.setdefault(row.function, []), costs)
        for callees in self.calls.values():
            for callee in callees:
                result.setdefault(callee, [])
        return result

    def edges(self) -> dict[Function, dict[Function, Calls]]:
        """Calls from function to function; made once, when all is read."""
        if self._edges is not None:
            return self._edges
        result: dict[Function, dict[Function, Calls]] = {}
        for row, callees in self.calls.items():
            of_caller = result.setdefault(row.function, {})
            for callee, calls in callees.items():
                edge = of_caller.setdefault(callee, Calls())
                edge.count += calls.count
                add(edge.costs, calls.costs)
        self._edges = result
        return result


def _ordered(order: list[int], costs: Sequence[int]) -> Costs:
    result = [0] * (max(order[: len(costs)]) + 1 if costs else 0)
    for index, cost in zip(order, costs, strict=False):
        result[index] = cost
    return result


def load(names: Sequence[str], *, instructions: bool = False) -> Data:
    """Read files and add them."""
    data = Data(want_instructions=instructions)
    for name in names:
        try:
            stream = open(name, "rb")
        except OSError as error:
            raise FormatError(name, error.strerror or str(error)) from error
        with stream:
            data.read(stream, name)
    return data


def difference(old: Data, new: Data) -> Data:
    """What changed from one to the other; they may have been built in different folders.

    Both must have counted the first event of the other, or nothing can be compared.
    """
    events = [event for event in new.events if event in old.events]
    if not events:
        raise InterposeError(f"{old.sources[0].name} and {new.sources[0].name} have no event in common")
    result = Data(events, {**old.event_types, **new.event_types}, [*old.sources, *new.sources])
    result.before = Data(events, totals=list(_picker(old, events)(old.totals)))
    result.calculated = old.calculated or new.calculated
    _merge(result, old, _Names(old, new), _picker(old, events), -1)
    _merge(result, new, None, _picker(new, events), 1)
    return result


def aligned(old: Data, new: Data) -> Data:
    """A run whose functions have the names that the other's have; instructions stay what they are."""
    result = Data(old.events, old.event_types, old.sources, calculated=old.calculated)
    _merge(result, old, _Names(old, new), lambda costs: costs, 1)
    result.instructions = old.instructions
    return result


class _Names:
    """What functions and files of one run are called in another, whatever folders both were built in."""

    def __init__(self, of: Data, to: Data) -> None:
        self._functions = {_plain(function): function for function in _all_functions(to)}
        mine, others = _all_files(of), _all_files(to)
        by_base: dict[str, list[str]] = {}
        for file in others - mine:
            by_base.setdefault(os.path.basename(file), []).append(file)
        self._files: dict[str, str] = {}
        for file in mine - others:
            same = by_base.get(os.path.basename(file), [])
            if len(same) == 1:
                self._files[file] = same[0]

    def file(self, name: str) -> str:
        return self._files.get(name, name)

    def function(self, function: Function) -> Function:
        moved = function._replace(file=self.file(function.file))
        return self._functions.get(_plain(moved), moved)


def _all_files(data: Data) -> set[str]:
    return {*data.lines, *(function.file for function in _all_functions(data))}


def _merge(
    result: Data,
    data: Data,
    names: _Names | None,
    pick: Callable[[Costs], Costs],
    sign: int,
) -> None:
    """Add all sums of one run to those of another."""
    into: Callable[[Function], Function] = names.function if names else lambda function: function
    named: Callable[[str], str] = names.file if names else lambda file: file
    add(result.totals, pick(data.totals), sign)
    for row, costs in data.rows.items():
        add(result.rows.setdefault(Row(into(row.function), named(row.file)), []), pick(costs), sign)
    for row, callees in data.calls.items():
        to = result.calls.setdefault(Row(into(row.function), named(row.file)), {})
        _add_calls(to, callees, into, pick, sign)
    for file, lines in data.lines.items():
        to_lines = result.lines.setdefault(named(file), {})
        for line, costs in lines.items():
            add(to_lines.setdefault(line, []), pick(costs), sign)
    for file, called in data.line_calls.items():
        to_called = result.line_calls.setdefault(named(file), {})
        for line, callees in called.items():
            _add_calls(to_called.setdefault(line, {}), callees, into, pick, sign)


def _plain(function: Function) -> Function:
    return function._replace(object=os.path.basename(function.object))


def _all_functions(data: Data) -> Iterable[Function]:
    yield from (row.function for row in data.rows)
    for callees in data.calls.values():
        yield from callees


def _picker(data: Data, events: list[str]) -> Callable[[Costs], Costs]:
    """Costs in the order of the events in common."""
    indices = [data.events.index(event) for event in events]
    if indices == list(range(len(data.events))):
        return lambda costs: costs
    return lambda costs: [costs[index] if index < len(costs) else 0 for index in indices]


def _add_calls(
    into: dict[Function, Calls],
    callees: dict[Function, Calls],
    named: Callable[[Function], Function],
    pick: Callable[[Costs], Costs],
    sign: int,
) -> None:
    for callee, calls in callees.items():
        to = into.setdefault(named(callee), Calls())
        to.count += sign * calls.count
        add(to.costs, pick(calls.costs), sign)
