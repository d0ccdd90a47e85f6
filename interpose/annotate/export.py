"""Estimated stacks in the formats of other viewers: speedscope, pprof, Perfetto (trace events)."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable

from interpose.annotate.data import Data
from interpose.annotate.stacks import estimate, laid_out, walk
from interpose.annotate.text import safe
from interpose.formats.callgrind import Function

ESTIMATED = "stacks are estimated: a call graph has edges only, so cost is divided among callers"


def title(data: Data) -> str:
    """What was profiled."""
    for source in data.sources:
        for part in source.parts:
            if part.cmd:
                return safe(part.cmd)
    return safe(data.sources[0].name) if data.sources else "profile"


def speedscope(data: Data, events: list[int]) -> bytes:
    """speedscope's JSON: one profile for each event."""
    indices: dict[Function, int] = {}
    profiles = []
    for event in events:
        samples, weights = [], []
        for frame in walk(estimate(data, event)):
            if frame.own[event] > 0:
                stack = [indices.setdefault(each.function, len(indices)) for each in frame.stack()]
                samples.append(stack)
                weights.append(frame.own[event])
        profiles.append(
            {
                "type": "sampled",
                "name": f"{safe(data.events[event])}: {title(data)}",
                "unit": "none",
                "startValue": 0,
                "endValue": sum(weights),
                "samples": samples,
                "weights": weights,
            }
        )
    frames = [{"name": safe(function.name), "file": safe(function.file)} for function in indices]
    return json.dumps(
        {
            "$schema": "https://www.speedscope.app/file-format-schema.json",
            "exporter": f"interpose-annotate ({ESTIMATED})",
            "name": title(data),
            "activeProfileIndex": 0,
            "shared": {"frames": frames},
            "profiles": profiles,
        }
    ).encode()


def perfetto(data: Data, events: list[int]) -> bytes:
    """Trace events in JSON: one thread for each event, where a count is a microsecond."""
    process = {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": f"{title(data)} ({ESTIMATED})"}}
    trace: list[dict[str, object]] = [process]
    for thread, event in enumerate(events, 1):
        name = {"name": safe(data.events[event])}
        trace.append({"name": "thread_name", "ph": "M", "pid": 1, "tid": thread, "args": name})
        for frame, start in laid_out(estimate(data, event), event):
            trace.append(
                {
                    "name": safe(frame.function.name),
                    "ph": "X",
                    "pid": 1,
                    "tid": thread,
                    "ts": start,
                    "dur": frame.whole[event],
                    "args": {
                        "self": frame.own[event],
                        "file": safe(frame.function.file),
                        "object": safe(frame.function.object),
                    },
                }
            )
    return json.dumps({"traceEvents": trace, "displayTimeUnit": "ns"}).encode()


# -- pprof: profile.proto by its field numbers --


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value) if value else b""


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _packed(field: int, values: Iterable[int]) -> bytes:
    return _bytes(field, b"".join(map(_varint, values)))


class _Pprof:
    """Collects strings, mappings, functions and locations, each with an id."""

    def __init__(self) -> None:
        self.strings: dict[str, int] = {"": 0}
        self.mappings: dict[str, int] = {}
        self.functions: dict[Function, int] = {}
        self.out = bytearray()

    def string(self, text: str) -> int:
        return self.strings.setdefault(text, len(self.strings))

    def location(self, function: Function) -> int:
        """A location for each function: a call graph has no call sites within stacks."""
        known = self.functions.get(function)
        if known is not None:
            return known
        number = self.functions[function] = len(self.functions) + 1
        mapping = self.mapping(function.object) if function.object else 0
        name, file = self.string(safe(function.name)), self.string(safe(function.file))
        self.out += _bytes(5, _number(1, number) + _number(2, name) + _number(3, name) + _number(4, file))
        line = _bytes(4, _number(1, number))
        self.out += _bytes(4, _number(1, number) + _number(2, mapping) + line)
        return number

    def mapping(self, name: str) -> int:
        known = self.mappings.get(name)
        if known is None:
            known = self.mappings[name] = len(self.mappings) + 1
            file = self.string(safe(name))
            self.out += _bytes(3, _number(1, known) + _number(5, file) + _number(7, 1) + _number(8, 1))
        return known


def pprof(data: Data, events: list[int]) -> bytes:
    """pprof's gzipped protobuf: a sample for each estimated stack, with the costs of all events."""
    out = _Pprof()
    count = out.string("count")
    # The first mapping is taken for the program.
    program = os.path.basename(title(data).split(" ")[0])
    for function in data.functions():
        if os.path.basename(function.object) == program:
            out.mapping(function.object)
            break
    for event in events:
        out.out += _bytes(1, _number(1, out.string(safe(data.events[event]))) + _number(2, count))
    for frame in walk(estimate(data, events[0])):
        if any(frame.own):
            stack = [out.location(each.function) for each in reversed(frame.stack())]
            out.out += _bytes(
                2, _packed(1, stack) + _packed(2, (min(frame.own[i], (1 << 63) - 1) for i in events))
            )
    out.out += _number(13, out.string(ESTIMATED))
    out.out += _number(14, out.string(safe(data.events[events[0]])))
    table = b"".join(_bytes(6, text.encode()) for text in out.strings)
    return gzip.compress(bytes(out.out) + table, mtime=0)
