"""Tools that count: records, cache lines, opcodes, system calls."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from typing import Any

from interpose.formats.drmemtrace.constants import INSTRUCTIONS, PREFETCHES, MarkerId, Type
from interpose.formats.drmemtrace.reader import Reader
from interpose.jit._native import ffi, lib
from interpose.memtrace.disassembly import Disassembler
from interpose.memtrace.tally import Tally, touched
from interpose.memtrace.tool import Piece, Result, Tool, natural

NO_CODE = 0xFFFFFFFF
_MARKER_ROWS = (
    ("scheduling markers", (MarkerId.TIMESTAMP, MarkerId.CPU_ID)),
    ("transfer markers", (MarkerId.KERNEL_EVENT, MarkerId.KERNEL_XFER, MarkerId.RSEQ_ABORT)),
    ("function id markers", (MarkerId.FUNC_ID,)),
    ("function return address markers", (MarkerId.FUNC_RETADDR,)),
    ("function argument markers", (MarkerId.FUNC_ARG,)),
    ("function return value markers", (MarkerId.FUNC_RETVAL,)),
    ("physical address + virtual address marker pairs", (MarkerId.PHYSICAL_ADDRESS,)),
    ("physical address unavailable markers", (MarkerId.PHYSICAL_ADDRESS_NOT_AVAILABLE,)),
    ("system call number markers", (MarkerId.SYSCALL,)),
    ("blocking system call markers", (MarkerId.MAYBE_BLOCKING_SYSCALL,)),
)
_NAMED = frozenset(int(number) for _, numbers in _MARKER_ROWS for number in numbers) | {
    int(MarkerId.VIRTUAL_ADDRESS)
}
_MARKERS = 1 << 16


class BasicCounts(Tool):
    """How many records of each kind."""

    name = "basic_counts"
    title = "Basic counts tool results:"

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options)
        self.threads: dict[int, dict[str, Any]] = {}

    def start(self, piece: Piece, reader: Reader) -> Any:
        return {}

    def step(self, state: Any, records: Any, reader: Reader) -> None:
        raw = ffi.from_buffer("struct ip_mt_record[]", records)
        at = 0
        while at < len(records):
            thread = state.setdefault(int(records["tid"][at]), _empty())
            types, markers = (ffi.from_buffer("uint64_t[]", thread[name]) for name in ("types", "markers"))
            done = lib.ip_mt_count(raw + at, len(records) - at, types, markers, thread["pcs"].raw)
            if done == 0:
                raise MemoryError
            at += done

    def merge(self, piece: Piece, state: Any, until: int) -> None:
        for tid, thread in state.items():
            _add(self.threads.setdefault(tid, _empty()), thread)

    def result(self) -> Result:
        total = _empty()
        for thread in self.threads.values():
            _add(total, thread)
        rows: list[tuple[Any, dict[str, int]]] = [("total", _rows(total, len(self.threads)))]
        rows += [(tid, _rows(self.threads[tid], None)) for tid in self._order()]
        names = list(dict.fromkeys(name for _, part in rows for name in part))
        columns: dict[str, list[Any]] = {"thread": [str(who) for who, _ in rows]}
        columns |= {name: [part.get(name, 0) for _, part in rows] for name in names}
        threads = {str(tid): part for tid, part in rows[1:]}
        return Result(self._text(rows), {"total": rows[0][1], "threads": threads}, columns)

    def _order(self) -> list[int]:
        """Threads, those with most instructions first."""
        return sorted(self.threads, key=lambda tid: (-_fetched(self.threads[tid]["types"]), tid))

    @staticmethod
    def _text(rows: list[tuple[Any, dict[str, int]]]) -> Iterator[str]:
        for who, part in rows:
            yield "Total counts:" if who == "total" else f"Thread {who} counts:"
            for name, count in part.items():
                yield f"{count:12d} {'total ' if who == 'total' else ''}{name}"


def _empty() -> dict[str, Any]:
    from interpose.formats.drmemtrace.bulk import np

    return {"types": np.zeros(64, "u8"), "markers": np.zeros(_MARKERS, "u8"), "pcs": Tally()}


def _add(to: dict[str, Any], more: dict[str, Any]) -> None:
    to["types"] += more["types"]
    to["markers"] += more["markers"]
    to["pcs"].merge(more["pcs"])


def _fetched(types: Any) -> int:
    return sum(int(types[kind]) for kind in INSTRUCTIONS)


def _rows(thread: dict[str, Any], threads: int | None) -> dict[str, int]:
    types, markers = thread["types"], thread["markers"]

    def of(kinds: frozenset[Type] | tuple[Type, ...]) -> int:
        return sum(int(types[kind]) for kind in kinds)

    rows = {
        "(fetched) instructions": _fetched(types),
        "unique (fetched) instructions": len(thread["pcs"]),
        "non-fetched instructions": of((Type.INSTR_NO_FETCH,)),
        "prefetches": of(PREFETCHES | {Type.HARDWARE_PREFETCH}),
        "data loads": of((Type.READ,)),
        "data stores": of((Type.WRITE,)),
        "icache flushes": of((Type.INSTR_FLUSH,)),
        "dcache flushes": of((Type.DATA_FLUSH,)),
    }
    if threads is not None:
        rows["threads"] = threads
    for name, numbers in _MARKER_ROWS:
        rows[name] = sum(int(markers[number]) for number in numbers)
    rows["other markers"] = int(markers.sum()) - sum(int(markers[number]) for number in _NAMED)
    return rows


class Histogram(Tool):
    """Cache lines by how often they are accessed."""

    name = "histogram"
    title = "Cache line histogram tool results:"

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options)
        self.lines = (Tally(), Tally())

    @staticmethod
    def arguments(parser: argparse.ArgumentParser) -> None:
        line_size(parser)
        parser.add_argument("--top", type=natural, default=10, metavar="N", help="lines to show (10)")

    def start(self, piece: Piece, reader: Reader) -> Any:
        return (Tally(), Tally())

    def step(self, state: Any, records: Any, reader: Reader) -> None:
        for tally, touch in zip(state, (lib.IP_MTL_FETCHED, lib.IP_MTL_ACCESSED), strict=True):
            for lines, _ in touched(records, self.options.line_size, touch):
                tally.add(lines)

    def merge(self, piece: Piece, state: Any, until: int) -> None:
        for mine, more in zip(self.lines, state, strict=True):
            mine.merge(more)

    def result(self) -> Result:
        top = self.options.top
        data: dict[str, Any] = {}
        columns: dict[str, list[Any]] = {"cache": [], "line": [], "count": []}
        for name, tally in zip(("icache", "dcache"), self.lines, strict=True):
            rows = [(line * self.options.line_size, count) for line, count in tally.most(top)]
            data[name] = {"lines": len(tally), "top": [{"line": a, "count": n} for a, n in rows]}
            lines, counts = tally.items()
            columns["cache"] += [name] * len(lines)
            columns["line"] += (lines * self.options.line_size).tolist()
            columns["count"] += counts.tolist()
        return Result(self._text(data), data, columns)

    def _text(self, data: dict[str, Any]) -> Iterator[str]:
        for name, part in data.items():
            yield f"{name}: {part['lines']} unique cache lines"
        for name, part in data.items():
            yield f"{name} top {self.options.top}"
            for row in part["top"]:
                yield f"{row['line']:#18x}: {row['count']}"


class OpcodeMix(Tool):
    """Executed instructions by opcode."""

    name = "opcode_mix"
    title = "Opcode mix tool results:"

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options)
        self.counts: Counter[str] = Counter()

    def start(self, piece: Piece, reader: Reader) -> Any:
        from interpose.formats.drmemtrace.bulk import np

        return {"codes": np.zeros(0, "u8"), "without": 0}

    def step(self, state: Any, records: Any, reader: Reader) -> None:
        from interpose.formats.drmemtrace import bulk

        np = bulk.np
        codes = records["code"][bulk.is_fetched(records)]
        with_code = codes[codes != NO_CODE]
        state["without"] += len(codes) - len(with_code)
        counts = np.bincount(with_code, minlength=len(state["codes"])).astype("u8")
        counts[: len(state["codes"])] += state["codes"]
        state["codes"] = counts

    def finish(self, state: Any, reader: Reader) -> Any:
        disassembler = Disassembler()
        found: Counter[str] = Counter()
        for index, count in enumerate(state["codes"].tolist()):
            if count:
                found[disassembler.mnemonic(reader.encoding(index))] += count
        if state["without"]:
            found["(no encoding)"] += state["without"]
        return found

    def merge(self, piece: Piece, state: Any, until: int) -> None:
        self.counts.update(state)

    def result(self) -> Result:
        rows = sorted(self.counts.items(), key=lambda row: (-row[1], row[0]))
        total = sum(self.counts.values())
        columns: dict[str, list[Any]] = {
            "opcode": [name for name, _ in rows],
            "count": [count for _, count in rows],
        }
        return Result(self._text(total, rows), {"total": total, "opcodes": dict(rows)}, columns)

    @staticmethod
    def _text(total: int, rows: list[tuple[str, int]]) -> Iterator[str]:
        yield f"{total:15d} : total executed instructions"
        for name, count in rows:
            yield f"{count:15d} : {name:>9}"


class SyscallMix(Tool):
    """System calls by number."""

    name = "syscall_mix"
    title = "Syscall mix tool results:"

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options)
        self.calls, self.failures = Tally(), Tally()

    def start(self, piece: Piece, reader: Reader) -> Any:
        return (Tally(), Tally())

    def step(self, state: Any, records: Any, reader: Reader) -> None:
        from interpose.formats.drmemtrace import bulk

        state[0].add(records["addr"][bulk.is_marker(records, MarkerId.SYSCALL)])
        state[1].add(records["addr"][bulk.is_marker(records, MarkerId.SYSCALL_FAILED)])

    def merge(self, piece: Piece, state: Any, until: int) -> None:
        self.calls.merge(state[0])
        self.failures.merge(state[1])

    def result(self) -> Result:
        rows, failed = self.calls.most(1 << 20), self.failures.most(1 << 20)
        data = {"syscalls": {str(n): count for n, count in rows}, "failures": {str(n): c for n, c in failed}}
        columns = {"number": [n for n, _ in rows], "count": [count for _, count in rows]}
        return Result(self._text(rows, failed), data, columns)

    @staticmethod
    def _text(rows: list[tuple[int, int]], failed: list[tuple[int, int]]) -> Iterator[str]:
        yield f"{'count':>15} : {'syscall_num':>9}"
        for number, count in rows:
            yield f"{count:15d} : {number:9d}"
        if failed:
            yield f"{'count':>15} : {'errno':>9}"
            for number, count in failed:
                yield f"{count:15d} : {number:9d}"


def line_size(parser: argparse.ArgumentParser) -> None:
    """The option that tools about cache lines share."""
    parser.add_argument(
        "--line-size", type=power_of_two, default=64, metavar="BYTES", help="of a cache line (64)"
    )


def power_of_two(text: str) -> int:
    """A number that is one, with K, M or G behind it or not."""
    value = size(text)
    if value & (value - 1):
        raise argparse.ArgumentTypeError(f"{text} is no power of two")
    return value


def size(text: str) -> int:
    """Bytes, with K, M or G behind them or not."""
    scale = {"K": 10, "M": 20, "G": 30}.get(text[-1:].upper())
    value = int(text[:-1]) << scale if scale else int(text)
    if not 1 <= value <= 1 << 40:
        raise argparse.ArgumentTypeError(f"{text} is no size from 1 to {1 << 40} bytes")
    return value
