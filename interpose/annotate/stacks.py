"""Call stacks, estimated from a call graph.

A profile has the cost of each call from function to function, but not what a function cost depending on who
called its caller. So a function's cost is divided among its callers as the cost of their calls is: exact for
a function that costs the same whoever calls it. Calls that lead back into the stack are left out. What each
function cost itself is exact: all its frames together have it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field

from interpose.annotate.data import Data
from interpose.formats.callgrind import Function

MAX_FRAMES = 20_000
MAX_DEPTH = 256
# A frame with less of the whole is not told from its caller.
SMALLEST = 1e-5


@dataclass(slots=True)
class Frame:
    """A function under a chain of callers; ``own`` and ``whole`` are costs by event."""

    function: Function
    parent: Frame | None
    depth: int
    weight: float
    own_weight: float = 0.0
    children: list[Frame] = field(default_factory=list)
    own: list[int] = field(default_factory=list)
    whole: list[int] = field(default_factory=list)

    def stack(self) -> list[Frame]:
        """The outermost first."""
        frames: list[Frame] = []
        frame: Frame | None = self
        while frame is not None:
            frames.append(frame)
            frame = frame.parent
        return frames[::-1]


class _Graph:
    """The call graph by one event."""

    def __init__(self, data: Data, event: int) -> None:
        self.own = {
            function: float(costs[event]) if event < len(costs) else 0.0
            for function, costs in data.functions().items()
        }
        self.callees: dict[Function, dict[Function, float]] = {}
        self.incoming: dict[Function, float] = {}
        for caller, callees in data.edges().items():
            for callee, calls in callees.items():
                cost = float(calls.costs[event]) if event < len(calls.costs) else 0.0
                self.callees.setdefault(caller, {})[callee] = cost
                if callee != caller:
                    self.incoming[callee] = self.incoming.get(callee, 0.0) + cost
        self.total = {
            function: own + sum(cost for to, cost in self.callees.get(function, {}).items() if to != function)
            for function, own in self.own.items()
        }

    def roots(self) -> list[tuple[Function, float]]:
        """Functions that stacks begin with, and how much of their cost no caller has."""
        roots: list[tuple[Function, float]] = []
        reached: set[Function] = set()
        for function, total in self.total.items():
            excess = total - self.incoming.get(function, 0.0)
            if excess > 0 and (function not in self.incoming or excess > total * 0.001):
                roots.append((function, excess))
                self._reach(function, reached)
        # What only calls itself in a circle has no beginning: take the largest.
        for function in sorted(self.total, key=lambda each: -self.total[each]):
            if function not in reached:
                roots.append((function, max(1.0, self._reach(function, reached))))
        return roots

    def _reach(self, function: Function, reached: set[Function]) -> float:
        """Mark what a function leads to; returns the cost that was not marked before."""
        cost = 0.0
        pending = [function]
        while pending:
            each = pending.pop()
            if each not in reached:
                reached.add(each)
                cost += self.own[each]
                pending.extend(self.callees.get(each, ()))
        return cost


def estimate(data: Data, event: int = 0, most: int = MAX_FRAMES, smallest: float = SMALLEST) -> list[Frame]:
    """The outermost frames, divided by the cost of one event; the costs of all events are in each frame."""
    graph = _Graph(data, event)
    frames: list[Frame] = []
    roots = [Frame(function, None, 0, weight) for function, weight in graph.roots()]
    roots.sort(key=lambda frame: -frame.weight)
    roots = roots[:most]
    least = smallest * sum(frame.weight for frame in roots)
    heap = [(-frame.weight, number, frame) for number, frame in enumerate(roots)]
    heapq.heapify(heap)
    made = len(roots)
    # The heaviest first, so that the limit cuts off what matters least.
    while heap:
        frame = heapq.heappop(heap)[2]
        frames.append(frame)
        own = graph.own[frame.function]
        calls: list[tuple[Function, float]] = []
        if frame.depth < MAX_DEPTH and made < most:
            above = {each.function for each in frame.stack()}
            calls = [
                (to, cost)
                for to, cost in graph.callees.get(frame.function, {}).items()
                if cost > 0 and to not in above
            ]
        whole = own + sum(cost for _, cost in calls)
        if whole <= 0:
            continue
        frame.own_weight = frame.weight * own / whole
        for function, cost in sorted(calls, key=lambda call: -call[1]):
            weight = frame.weight * cost / whole
            if weight < least or made >= most:
                break
            child = Frame(function, frame, frame.depth + 1, weight)
            frame.children.append(child)
            heapq.heappush(heap, (-weight, made, child))
            made += 1
    _divide(data, frames, roots)
    _sum(frames, len(data.events))
    return sorted((frame for frame in roots if any(frame.whole)), key=lambda frame: -frame.whole[event])


def _divide(data: Data, frames: list[Frame], roots: list[Frame]) -> None:
    """Give the frames of each function what it cost itself, to the last count."""
    events = len(data.events)
    by_function: dict[Function, list[Frame]] = {}
    for frame in frames:
        frame.own = [0] * events
        by_function.setdefault(frame.function, []).append(frame)
    for function, costs in data.functions().items():
        of_function = by_function.get(function)
        if of_function is None:
            # Too small for a frame within its callers'.
            alone = Frame(function, None, 0, 0.0)
            alone.own = [0] * events
            roots.append(alone)
            frames.append(alone)
            of_function = [alone]
        weights = [frame.own_weight for frame in of_function]
        if not sum(weights):
            weights = [frame.weight for frame in of_function]
        if not sum(weights):
            weights = [1.0] * len(of_function)
        whole = sum(weights)
        for index, cost in enumerate(costs):
            done, so_far = 0, 0.0
            for frame, weight in zip(of_function, weights, strict=True):
                so_far += weight
                upto = cost if frame is of_function[-1] else min(cost, int(cost * (so_far / whole)))
                frame.own[index] = upto - done
                done = upto


def _sum(frames: list[Frame], events: int) -> None:
    """Inclusive costs, from the innermost frames out."""
    for frame in frames:
        frame.whole = list(frame.own)
    for frame in sorted(frames, key=lambda each: -each.depth):
        if frame.parent is not None:
            for index in range(events):
                frame.parent.whole[index] += frame.whole[index]


def walk(roots: list[Frame]) -> list[Frame]:
    """All frames that cost something, callers before callees, siblings by cost."""
    found: list[Frame] = []
    pending = list(reversed(roots))
    while pending:
        frame = pending.pop()
        found.append(frame)
        children = [child for child in frame.children if any(child.whole)]
        pending.extend(sorted(children, key=lambda child: child.whole))
    return found


def laid_out(roots: list[Frame], event: int) -> Iterator[tuple[Frame, int]]:
    """Frames that have a cost of this event, and where each begins.

    Roots lie one after another; callees do from where their caller begins, and its own cost is the rest.
    """
    starts: dict[int, int] = {}
    end = 0
    for frame in walk(roots):
        whole = frame.whole[event]
        if whole <= 0:
            continue
        if frame.parent is None:
            start = end
            end += whole
        else:
            start = starts[id(frame.parent)]
            starts[id(frame.parent)] = start + whole
        starts[id(frame)] = start
        yield frame, start
