"""A log that is being looked at: its index, the filter, and what is known of one spot."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import islice
from typing import Any

from interpose.dgview import conditions, picture
from interpose.dgview.index import CancelledError, Index, View
from interpose.dgview.symbols import Level, Symbols
from interpose.errors import InterposeError
from interpose.formats.datagrind.bulk import NEVER
from interpose.formats.datagrind.records import StartEvent, TrackRange

MOST_SCANNED = 20_000_000
"""Accesses that are read for one spot."""
MOST_KEPT = 8
MOST_KEPT_CELLS = 1 << 24
"""Filters, and their indices' cells, that are kept because they may be wanted again."""
MOST_LABELS = 20
MOST_NAMED = 10_000
"""Code addresses that are named before somebody asks: all symbols and lines are read for far fewer."""
_DIRS = ("read", "write", "fetch")


class Viewer:
    """Safe to be asked by several threads; `generation` counts the filters."""

    def __init__(self, path: str, progress: Callable[[float], object] | None = None) -> None:
        self.path = path
        self.whole = Index.open(path, progress)
        self.index = self.whole
        self.symbols = Symbols(self.whole.trace)
        self.events = ""
        self.ranges = ""
        self.fetches = False
        self.generation = 0
        self._before: tuple[int, Index] | None = None
        self._settled = self.index, self.events, self.ranges, self.fetches
        self._kept: dict[tuple[str, str, bool], Index] = {}
        """Of filters that were asked for before, the oldest first."""
        self.busy: float | None = None
        """How much of the file the next filter has seen."""
        self.failed: str | None = None
        self._lock = threading.Lock()
        self._symbols_lock = threading.Lock()
        self._wanted = 0

    # ---- Filters ----

    def check(self, events: str, ranges: str) -> tuple[list[Any], list[Any]]:
        """The conditions; raises for a word that is none."""
        return (
            conditions.parse(events, ranges=False) if events else [],
            conditions.parse(ranges, ranges=True) if ranges else [],
        )

    def set_filter(self, events: str, ranges: str, fetches: bool) -> None:
        """Show only what matches. An older call that has not come to its end gives up."""
        by_event, by_range = self.check(events, ranges)
        key = events, ranges, fetches
        with self._lock:
            self._wanted += 1
            mine = self._wanted
            self.busy, self.failed = 0.0, None
            index = self.whole if not any(key) else self._kept.get(key)

        def progress(part: float) -> None:
            if self._wanted == mine:
                self.busy = part

        def show(index: Index, busy: float | None) -> None:
            with self._lock:
                if self._wanted != mine:
                    return
                # Who looks has columns in mind, which are the same as long as the pages are.
                is_same = (key == (self.events, self.ranges, self.fetches)
                           and not self.index.is_whole and not index.is_whole
                           and index.n_pages == self.index.n_pages)  # fmt: skip
                if not is_same:
                    self._begin_generation()
                self.index, self.events, self.ranges, self.fetches = index, *key
                self.busy = busy
                if index.is_whole:
                    self._settled = index, *key

        try:
            if index is None:
                ips = self.whole.trace.ips() if by_event or by_range else []
                with self._symbols_lock:
                    wanted = conditions.filter_of(by_event, by_range, ips, self.symbols)
                index = self.whole.filtered(
                    wanted,
                    fetches=fetches,
                    progress=progress,
                    cancelled=lambda: self._wanted != mine,
                    so_far=lambda part: show(part, self.busy),
                )
        except CancelledError:
            return
        except InterposeError as error:
            with self._lock:
                if self._wanted == mine:
                    self.busy, self.failed = None, error.message
                    if not self.index.is_whole:
                        self._begin_generation()
                        self.index, self.events, self.ranges, self.fetches = self._settled
            return
        self._keep(key, index)
        show(index, None)

    def _begin_generation(self) -> None:
        self._before = self.generation, self.index
        self.generation += 1

    def _keep(self, key: tuple[str, str, bool], index: Index) -> None:
        if index is self.whole:
            return
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = index
            while (
                len(self._kept) > MOST_KEPT or sum(i.n_cells for i in self._kept.values()) > MOST_KEPT_CELLS
            ):
                del self._kept[next(iter(self._kept))]

    # ---- What there is ----

    def counts(self) -> dict[str, int]:
        """As the original viewer prints them."""
        s = self.whole.trace.raw
        return {
            "bbdefs": s.n_bbdefs,
            "bbruns": s.n_bbruns,
            "contexts": s.n_contexts,
            "instrs (approx)": s.n_instrs,
            "accesses": s.n_accesses,
        }

    def state(self) -> dict[str, Any]:
        """What a page must know; of one moment."""
        with self._lock:
            index = self.index
            error = self.whole.error
            return {
                "file": self.path,
                "counts": self.counts(),
                "columns": index.columns,
                "instrs": index.n_instrs,
                "events": self.events,
                "ranges": self.ranges,
                "fetches": self.fetches,
                "generation": self.generation,
                "busy": self.busy,
                "failed": self.failed,
                "error": error.message if error is not None else None,
                "problems": self.whole.trace.n_problems,
                "leftOut": index.grid.left_out,
                "empty": index.n_pages == 0,
            }

    def _of(self, generation: int | None) -> Index:
        """The index that a generation's columns belong to."""
        with self._lock:
            if generation not in (None, self.generation):
                raise CancelledError
            return self.index

    def picture(
        self, view: View, exact: bool, cancelled: Callable[[], bool], generation: int | None = None
    ) -> tuple[bytes, bool]:
        """A PNG, and whether it is exact."""
        return picture.draw(self._of(generation), view, exact=exact, cancelled=cancelled)

    def addresses(self, columns: list[int], generation: int | None = None) -> list[str]:
        """The addresses of columns, those of the generation before as well.

        A page that moved in it when it ended finds its view again by them.
        """
        with self._lock:
            before = self._before
        index = before[1] if before is not None and before[0] == generation else self._of(generation)
        return [f"0x{index.address(column):x}" for column in columns]

    def columns(self, addresses: list[int], generation: int | None = None) -> list[int]:
        """The columns of addresses; of one that is left out, the next one's."""
        index = self._of(generation)
        return [index.column(address) for address in addresses]

    # ---- One spot ----

    def read_names(self) -> None:
        """Read what names the log's code, so that the first question about a spot need not wait for it."""
        ips = self.whole.trace.ips()
        for ip in ips[:: len(ips) // MOST_NAMED + 1]:
            with self._symbols_lock:
                self.symbols.levels(ip)

    def at(self, view: View, cancelled: Callable[[], bool], generation: int | None = None) -> dict[str, Any]:
        """What is known of a rectangle, which is a pixel of the page."""
        index = self._of(generation)
        column = min(view.left + (view.right - view.left) // 2, max(index.columns - 1, 0))
        instr = view.top + (view.bottom - view.top) // 2
        address = index.address(column)
        answer: dict[str, Any] = {"address": f"0x{address:x}", "instr": instr}
        found = None
        if not index.is_whole:
            answer["reading"] = True
        elif index.accesses(view) <= MOST_SCANNED:
            found = index.find(view, cancelled)
        else:
            answer["tooMany"] = True
        if found is not None:
            address, instr = found.address, found.instr
            answer |= {
                "address": f"0x{address:x}",
                "instr": instr,
                "size": found.size,
                "sums": list(found.sums),
            }
            answer["dir"] = _DIRS[found.dir] if found.dir < len(_DIRS) else str(found.dir)
            # The accessing instruction takes the place of the block's start.
            stack = (found.ip, *index.trace.stack(found.context)[1:])
            answer["stack"] = self._stack(stack, instr)
        block = index.trace.block_at(address, instr)
        if block is not None:
            answer["block"] = {
                "address": f"0x{block.address:x}",
                "size": block.size,
                "offset": address - block.address,
                "begin": block.begin,
                "end": block.end if block.end != NEVER else None,
                "stack": self._stack(index.trace.allocation_stack(block), block.begin),
            }
        with self._symbols_lock:
            answer["variable"] = self.symbols.data(address, instr) if block is None else None
        answer["labels"] = self._labels_at(address, instr)
        return answer

    def _stack(self, ips: tuple[int, ...], instr: int) -> list[dict[str, Any]]:
        with self._symbols_lock:
            return [_shown(level) for level in self.symbols.stack(ips, instr)]

    def _labels_at(self, address: int, instr: int) -> list[str]:
        found: list[str] = []
        for mark in islice(self.whole.trace.marks_at(address, instr), MOST_LABELS):
            record = mark.record
            if isinstance(record, StartEvent):
                found.append(f"event {record.label.decode('utf-8', 'replace')}")
            elif isinstance(record, TrackRange):
                kind = record.type_name.decode("utf-8", "replace")
                found.append(
                    f"range {record.label.decode('utf-8', 'replace')}" + (f" ({kind})" if kind else "")
                )
        return found


def _shown(level: Level) -> dict[str, Any]:
    return {"ip": f"0x{level.ip:x}", "function": level.function, "path": level.path, "line": level.line,
            "object": level.object, "text": level.place()}  # fmt: skip
