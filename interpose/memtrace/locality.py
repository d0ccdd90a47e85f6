"""Tools about how memory is reused: reuse distances, simulated caches (locality.c).

The parts of a thread are simulated apart and put together exactly; what locality.h says of that holds here.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
from collections.abc import Iterator
from typing import Any

from interpose.errors import InterposeError
from interpose.formats.drmemtrace.constants import MarkerId
from interpose.formats.drmemtrace.reader import Reader
from interpose.formats.extra import need
from interpose.jit._native import ffi, lib
from interpose.memtrace.counts import line_size, size
from interpose.memtrace.tally import touched
from interpose.memtrace.tool import Piece, Result, Tool, natural

_MOST_LINES = 1 << 26
_TOUCH = lib.IP_MTL_FETCHED | lib.IP_MTL_ACCESSED


def _pointer(array: Any, kind: str = "uint64_t[]") -> Any:
    return ffi.from_buffer(kind, array)


# ---- reuse distances ----


class _Reuse:
    """struct ip_reuse."""

    def __init__(self, threshold: int) -> None:
        self._np = need("numpy")
        self._raw = ffi.gc(ffi.new("struct ip_reuse *"), lib.ip_reuse_close)
        if lib.ip_reuse_open(self._raw, threshold, _MOST_LINES) != 0:
            raise MemoryError

    def run(self, lines: Any, how: int) -> None:
        """Accesses to lines."""
        lines = self._np.ascontiguousarray(lines, "u8")
        if lib.ip_reuse_run(self._raw, _pointer(lines), len(lines), how) != 0:
            raise InterposeError("too many different cache lines for reuse distances")

    def __len__(self) -> int:
        return self._raw.n_lines

    def add(self, lines: Any, references: Any, distant: Any) -> None:
        """What a part has counted."""
        lib.ip_reuse_add(self._raw, _pointer(lines), _pointer(references), _pointer(distant), len(lines))

    def lines(self) -> Any:
        """By first use: line, references, distant references, last use."""
        size = self._raw.n_lines * ffi.sizeof("struct ip_line")
        kind = [("line", "u8"), ("references", "u8"), ("distant", "u8"), ("last", "u8")]
        return self._np.frombuffer(bytes(ffi.buffer(self._raw.lines, size)), kind)

    def distances(self) -> Any:
        """How often each distance came."""
        return self._np.frombuffer(bytes(ffi.buffer(self._raw.distances, self._raw.n_distances * 8)), "u8")


class ReuseDistance(Tool):
    """How many other lines are used between two uses of a line, in each thread."""

    name = "reuse_distance"
    title = "Reuse distance tool aggregated results:"

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options)
        self.threads: dict[int, _Reuse] = {}
        self.accesses = [0, 0]
        self.distances: Any = None

    @staticmethod
    def arguments(parser: argparse.ArgumentParser) -> None:
        line_size(parser)
        parser.add_argument(
            "--threshold", type=natural, default=100, metavar="N", help="a longer distance is distant (100)"
        )
        parser.add_argument("--top", type=natural, default=10, metavar="N", help="lines to show (10)")

    def start(self, piece: Piece, reader: Reader) -> Any:
        return {"reuse": _Reuse(self.options.threshold), "accesses": [0, 0]}

    def step(self, state: Any, records: Any, reader: Reader) -> None:
        for lines, is_instr in touched(records, self.options.line_size, _TOUCH):
            fetched = int(is_instr.sum())
            state["accesses"][0] += fetched
            state["accesses"][1] += len(lines) - fetched
            state["reuse"].run(lines, lib.IP_REUSE_COUNT | lib.IP_REUSE_MEASURE)

    def finish(self, state: Any, reader: Reader) -> Any:
        return state["accesses"], state["reuse"].lines(), _trimmed(state["reuse"].distances())

    def merge(self, piece: Piece, state: Any, until: int) -> None:
        np = need("numpy")
        accesses, lines, distances = state
        whole = self.threads.get(piece.file)
        if whole is None:
            whole = self.threads[piece.file] = _Reuse(self.options.threshold)
        self.accesses = [mine + more for mine, more in zip(self.accesses, accesses, strict=True)]
        whole.run(lines["line"], lib.IP_REUSE_MEASURE)
        whole.run(lines["line"][np.argsort(lines["last"])], 0)
        whole.add(*(np.ascontiguousarray(lines[name]) for name in ("line", "references", "distant")))
        self._count(distances)

    def _count(self, distances: Any) -> None:
        np = need("numpy")
        if self.distances is None:
            self.distances = np.zeros(0, "u8")
        size = max(len(distances), len(self.distances))
        total = np.zeros(size, "u8")
        total[: len(self.distances)] = self.distances
        total[: len(distances)] += distances
        self.distances = total

    def result(self) -> Result:
        np = need("numpy")
        for whole in self.threads.values():
            self._count(_trimmed(whole.distances()))
        self._count(np.zeros(0, "u8"))
        counts = self.distances.astype("f8")
        values = np.arange(len(counts))
        reused = int(self.distances.sum())
        mean = float((counts * values).sum() / reused) if reused else 0.0
        spread = float(np.sqrt((counts * (values - mean) ** 2).sum() / reused)) if reused else 0.0
        median = int(np.searchsorted(np.cumsum(self.distances), (reused + 1) // 2)) if reused else 0
        tables = [whole.lines() for whole in self.threads.values()]
        lines = _sum_by_line(np.concatenate(tables)) if tables else None
        top = self.options.top
        data: dict[str, Any] = {
            "accesses": sum(self.accesses),
            "instruction_accesses": self.accesses[0],
            "data_accesses": self.accesses[1],
            "unique_lines": 0 if lines is None else len(lines[0]),
            "reused": reused,
            "mean": mean,
            "median": median,
            "standard_deviation": spread,
            "threshold": self.options.threshold,
            "most_used": _top(lines, 1, top, self.options.line_size),
            "most_distant": _top(lines, 2, top, self.options.line_size),
        }
        present = np.flatnonzero(self.distances)
        columns = {"distance": present.tolist(), "count": self.distances[present].tolist()}
        return Result(self._text(data), data, columns)

    @staticmethod
    def _text(data: dict[str, Any]) -> Iterator[str]:
        yield f"Total accesses: {data['accesses']}"
        yield f"Instruction accesses: {data['instruction_accesses']}"
        yield f"Data accesses: {data['data_accesses']}"
        yield f"Unique cache lines accessed: {data['unique_lines']}"
        yield ""
        yield f"Reuse distance mean: {data['mean']:.2f}"
        yield f"Reuse distance median: {data['median']}"
        yield f"Reuse distance standard deviation: {data['standard_deviation']:.2f}"
        yield ""
        yield f"Reuse distance threshold = {data['threshold']} cache lines"
        for title, key in (
            ("frequently referenced", "most_used"),
            ("distant repeatedly referenced", "most_distant"),
        ):
            yield f"Top {len(data[key])} {title} cache lines"
            yield f"{'cache line':>18}: {'#references':>14} {'#distant refs':>14}"
            for row in data[key]:
                yield f"{row['line']:#18x}: {row['references']:14d}, {row['distant']:13d}"


def _trimmed(counts: Any) -> Any:
    np = need("numpy")
    present = np.flatnonzero(counts)
    return counts[: int(present[-1]) + 1 if len(present) else 0].copy()


def _sum_by_line(table: Any) -> tuple[Any, Any, Any]:
    np = need("numpy")
    lines, place = np.unique(table["line"], return_inverse=True)
    sums = []
    for name in ("references", "distant"):
        total = np.zeros(len(lines), "u8")
        np.add.at(total, place.reshape(-1), table[name])
        sums.append(total)
    return lines, sums[0], sums[1]


def _top(lines: tuple[Any, Any, Any] | None, by: int, count: int, line: int) -> list[dict[str, int]]:
    np = need("numpy")
    if lines is None:
        return []
    order = np.lexsort((lines[0], -lines[by].astype("i8")))[:count]
    return [
        {"line": int(lines[0][at]) * line, "references": int(lines[1][at]), "distant": int(lines[2][at])}
        for at in order
        if lines[by][at]
    ]


# ---- caches ----


class _Cache:
    """struct ip_cache."""

    def __init__(self, size: int, ways: int, line: int, is_part: bool = False) -> None:
        self._np = need("numpy")
        self.sets, self.ways = size // (ways * line), ways
        self.raw = ffi.gc(ffi.new("struct ip_cache *"), lib.ip_cache_close)
        if lib.ip_cache_open(self.raw, self.sets, ways, is_part) != 0:
            raise MemoryError

    def run(self, lines: Any) -> Any:
        """The outcome of each access."""
        lines = self._np.ascontiguousarray(lines, "u8")
        outcomes = self._np.empty(len(lines), "u1")
        lib.ip_cache_run(self.raw, _pointer(lines), len(lines), _pointer(outcomes, "uint8_t[]"))
        return outcomes

    def content(self) -> Any:
        """Lines, in each set the one used last at the end."""
        np = self._np
        count = self.sets * self.ways
        lines = np.frombuffer(bytes(ffi.buffer(self.raw.lines, count * 8)), "u8").reshape(
            self.sets, self.ways
        )
        used = np.frombuffer(bytes(ffi.buffer(self.raw.used, self.sets * 4)), "u4")
        present = np.arange(self.ways)[None, ::-1] < used[:, None]
        return lines[:, ::-1][present]


class _Level:
    """A cache of the whole run and what came of it."""

    def __init__(self, name: str, size: int, ways: int, line: int) -> None:
        self.name, self.size, self.line = name, size, line
        self.cache = _Cache(size, ways, line)
        self.hits = self.misses = self.compulsory = 0
        self._seen = _Reuse(0)

    def miss(self, lines: Any) -> None:
        """Misses; a line's first is compulsory."""
        before = len(self._seen)
        self._seen.run(lines, 0)
        self.misses += len(lines)
        self.compulsory += len(self._seen) - before

    def title(self) -> str:
        """The geometry."""
        return f"{self.name} (size={self.size}, assoc={self.cache.ways}, block={self.line}, LRU) stats:"

    def data(self) -> dict[str, Any]:
        """The counts."""
        total = self.hits + self.misses
        return {
            "hits": self.hits,
            "misses": self.misses,
            "compulsory_misses": self.compulsory,
            "miss_rate": self.misses / total if total else 0.0,
        }


class CacheSimulator(Tool):
    """A core with first-level caches of its own for each thread, and a last-level cache for all of them."""

    name = "cache_simulator"
    title = "Cache simulation results:"

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options)
        for level in ("l1i", "l1d", "ll"):
            size, ways = getattr(options, f"{level}_size"), getattr(options, f"{level}_assoc")
            if size % (ways * options.line_size) or not _is_power(size // (ways * options.line_size)):
                raise InterposeError(
                    f"{level.upper()}: {size} bytes are no power of two of sets of {ways} lines"
                )
        self.cores: dict[int, tuple[_Level, _Level]] = {}
        self.ll = self._level("ll", "LL")
        self._waiting: list[tuple[int, int, Any]] = []
        self._numbers = itertools.count()

    @staticmethod
    def arguments(parser: argparse.ArgumentParser) -> None:
        line_size(parser)
        for level, bytes_, ways in (("L1I", "32K", 8), ("L1D", "32K", 8), ("LL", "8M", 16)):
            name, default = level.lower(), size(bytes_)
            parser.add_argument(
                f"--{level}-size",
                dest=f"{name}_size",
                type=size,
                default=default,
                metavar="BYTES",
                help=f"({bytes_})",
            )
            parser.add_argument(
                f"--{level}-assoc",
                dest=f"{name}_assoc",
                type=_ways,
                default=ways,
                metavar="WAYS",
                help=f"({ways})",
            )

    def _level(self, level: str, name: str) -> _Level:
        options = self.options
        return _Level(
            name, getattr(options, f"{level}_size"), getattr(options, f"{level}_assoc"), options.line_size
        )

    def start(self, piece: Piece, reader: Reader) -> Any:
        options = self.options
        caches = [
            _Cache(options.l1i_size, options.l1i_assoc, options.line_size, True),
            _Cache(options.l1d_size, options.l1d_assoc, options.line_size, True),
        ]
        return {"caches": caches, "missed": [], "time": piece.timestamp}

    def step(self, state: Any, records: Any, reader: Reader) -> None:
        from interpose.formats.drmemtrace import bulk

        np = bulk.np
        at = np.flatnonzero(bulk.is_marker(records, MarkerId.TIMESTAMP))
        bounds = [0, *at.tolist(), len(records)]
        for first, last in itertools.pairwise(bounds):
            if first != last and first in at:
                state["time"] = max(state["time"], int(records["addr"][first]))
            part = records[first:last]
            if len(part):
                self._simulate(state, part)

    def _simulate(self, state: Any, records: Any) -> None:
        np = need("numpy")
        first, second = (cache.raw for cache in state["caches"])
        for lines, is_instr in touched(records, self.options.line_size, _TOUCH):
            outcomes = np.empty(len(lines), "u1")
            where, which = _pointer(is_instr.view("u1"), "uint8_t[]"), _pointer(outcomes, "uint8_t[]")
            lib.ip_caches_run(first, second, _pointer(lines), where, len(lines), which)
            missed = outcomes != lib.IP_CACHE_HIT
            if missed.any():
                state["missed"].append((state["time"], lines[missed], is_instr[missed], outcomes[missed]))

    def finish(self, state: Any, reader: Reader) -> Any:
        caches = state["caches"]
        hits = [int(cache.raw.hits) for cache in caches]
        return hits, [cache.content() for cache in caches], state["missed"]

    def merge(self, piece: Piece, state: Any, until: int) -> None:
        np = need("numpy")
        hits, contents, missed = state
        if piece.file not in self.cores:
            self.cores[piece.file] = (self._level("l1i", "L1I"), self._level("l1d", "L1D"))
        levels = self.cores[piece.file]
        for level, count in zip(levels, hits, strict=True):
            level.hits += count
        for time, lines, is_instr, outcomes in missed:
            is_miss = outcomes == lib.IP_CACHE_MISS
            for level, of_level in zip(levels, (is_instr, ~is_instr), strict=True):
                chosen = np.flatnonzero(of_level & ~is_miss)
                settled = level.cache.run(lines[chosen]) != lib.IP_CACHE_HIT
                level.hits += int(len(chosen) - settled.sum())
                is_miss[chosen[settled]] = True
                level.miss(lines[of_level & is_miss])
            heapq.heappush(self._waiting, (time, next(self._numbers), lines[is_miss]))
        for level, content in zip(levels, contents, strict=True):
            level.cache.run(content)
        self._last_level(until)

    def _last_level(self, until: int) -> None:
        """Whatever no later piece can come before goes to the cache of all."""
        while self._waiting and self._waiting[0][0] < until:
            _, _, lines = heapq.heappop(self._waiting)
            outcomes = self.ll.cache.run(lines)
            is_miss = outcomes != lib.IP_CACHE_HIT
            self.ll.hits += int(len(lines) - is_miss.sum())
            self.ll.miss(lines[is_miss])

    def result(self) -> Result:
        self._last_level(1 << 65)
        cores = [self.cores[number] for number in sorted(self.cores)]
        child_hits = sum(level.hits for levels in cores for level in levels)
        last = self.ll.data()
        last["child_hits"] = child_hits
        total = child_hits + self.ll.hits + self.ll.misses
        last["total_miss_rate"] = self.ll.misses / total if total else 0.0
        data = {
            "cores": [{level.name: level.data() for level in levels} for levels in cores],
            "LL": last,
        }
        columns: dict[str, list[Any]] = {"core": [], "cache": [], "hits": [], "misses": [], "compulsory": []}
        for number, level in [*((n, each) for n, pair in enumerate(cores) for each in pair), (-1, self.ll)]:
            columns["core"].append(number)
            columns["cache"].append(level.name)
            columns["hits"].append(level.hits)
            columns["misses"].append(level.misses)
            columns["compulsory"].append(level.compulsory)
        return Result(self._text(cores, last), data, columns)

    def _text(self, cores: list[tuple[_Level, _Level]], last: dict[str, Any]) -> Iterator[str]:
        for number, levels in enumerate(cores):
            yield f"Core #{number} (1 thread(s))"
            for level in levels:
                yield f"  {level.title()}"
                yield from _counts(level.data(), "    ", "Miss rate:")
        yield self.ll.title()
        yield from _counts(last, "  ", "Local miss rate:")
        yield f"  {'Child hits:':<28}{last['child_hits']:>16,}"
        yield f"  {'Total miss rate:':<28}{last['total_miss_rate']:>16.2%}"


def _counts(data: dict[str, Any], indent: str, rate: str) -> Iterator[str]:
    yield f"{indent}{'Hits:':<28}{data['hits']:>16,}"
    yield f"{indent}{'Misses:':<28}{data['misses']:>16,}"
    yield f"{indent}{'Compulsory misses:':<28}{data['compulsory_misses']:>16,}"
    yield f"{indent}{rate:<28}{data['miss_rate']:>16.2%}"


def _is_power(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


def _ways(text: str) -> int:
    value = natural(text)
    if value < 1:
        raise argparse.ArgumentTypeError("a set has one line at least")
    return value
