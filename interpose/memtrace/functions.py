"""The tool about traced functions, and the file that names them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, NamedTuple

from interpose.formats.drmemtrace.constants import SYSCALL_FUNC_BASE, MarkerId
from interpose.formats.drmemtrace.errors import FormatError
from interpose.formats.drmemtrace.layout import auxiliary_file
from interpose.formats.drmemtrace.reader import Reader
from interpose.memtrace.tool import Piece, Result, Tool

_PARTS = (MarkerId.FUNC_ID, MarkerId.FUNC_RETADDR, MarkerId.FUNC_ARG, MarkerId.FUNC_RETVAL)


class Function(NamedTuple):
    """A line of funclist.log."""

    number: int
    arguments: int
    address: int
    returns: bool
    name: str


def read_functions(place: str) -> dict[int, Function]:
    """The functions that belong to a trace, by number; empty without funclist.log."""
    path = auxiliary_file(place, "funclist.log")
    found: dict[int, Function] = {}
    if path is None:
        return found
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        words = line.split(",")
        try:
            returns = words[3] != "noret"
            name = ",".join(words[3 if returns else 4 :])
            function = Function(int(words[0]), int(words[1]), int(words[2], 16), returns, name)
        except (IndexError, ValueError):
            raise FormatError(str(path), f"line {number} names no function") from None
        found.setdefault(function.number, function)
    return found


class FuncView(Tool):
    """Calls of traced functions."""

    name = "func_view"
    title = "Function view tool results:"

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options)
        self.functions = read_functions(options.folder)
        self.counts: dict[int, list[int]] = {}
        self.lines: list[tuple[int, int, int, str]] = []
        self._depth: dict[int, int] = {}

    @staticmethod
    def arguments(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--calls", action="store_true", help="show each call with its arguments, nested")

    def start(self, piece: Piece, reader: Reader) -> Any:
        return []

    def step(self, state: Any, records: Any, reader: Reader) -> None:
        from interpose.formats.drmemtrace import bulk

        is_part = bulk.is_marker(records) & bulk.np.isin(records["size"], _PARTS)
        rows = records[is_part]
        state.append((rows["tid"].copy(), rows["size"].copy(), rows["addr"].copy()))

    def merge(self, piece: Piece, state: Any, until: int) -> None:
        current: list[Any] = []
        for tids, sizes, values in state:
            for tid, size, value in zip(tids.tolist(), sizes.tolist(), values.tolist(), strict=True):
                if size == MarkerId.FUNC_ID:
                    self._event(piece, current)
                    current = [tid, value, None, []]
                elif not current:
                    continue
                elif size == MarkerId.FUNC_RETVAL:
                    current[2] = value
                elif size == MarkerId.FUNC_ARG:
                    current[3].append(value)
        self._event(piece, current)

    def _event(self, piece: Piece, event: list[Any]) -> None:
        if not event:
            return
        tid, number, result, values = event
        counts = self.counts.setdefault(number, [0, 0])
        is_return = result is not None
        counts[is_return] += 1
        if not self.options.calls:
            return
        depth = self._depth.get(tid, 0)
        if is_return:
            depth = max(depth - 1, 0)
            text = f"-> {result:#x}"
        else:
            text = f"{self._name(number)}({', '.join(map(hex, values))})"
        known = self.functions.get(number)
        self.lines.append((piece.timestamp, tid, depth, text))
        self._depth[tid] = depth if is_return or (known and not known.returns) else depth + 1

    def _name(self, number: int) -> str:
        if number >= SYSCALL_FUNC_BASE:
            return f"syscall #{number - SYSCALL_FUNC_BASE}"
        return self.functions[number].name if number in self.functions else f"function {number}"

    def result(self) -> Result:
        rows = sorted(self.counts.items())
        data = {
            "functions": [
                {"id": number, "name": self._name(number), "calls": calls, "returns": returns}
                for number, (calls, returns) in rows
            ]
        }
        columns = {
            name: [row[name] for row in data["functions"]] for name in ("id", "name", "calls", "returns")
        }
        return Result(self._text(data["functions"]), data, columns)

    def _text(self, rows: list[dict[str, Any]]) -> Iterator[str]:
        for _, tid, depth, text in self.lines:
            yield f"T{tid} {'    ' * depth}{text}"
        for row in rows:
            yield f"Function id={row['id']}: {row['name']}"
            yield f"{row['calls']:12d} calls"
            yield f"{row['returns']:12d} returns"
