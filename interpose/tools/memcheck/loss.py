"""Loss records: leaks merged by state and allocation stack, compared with the previous search, and printed
(docs/spec/output.md section 6)."""

from __future__ import annotations

from interpose.report.errors import Error, ErrorManager, Outcome
from interpose.report.stack import Stack
from interpose.report.text import LogLike, stack_lines

from .blocks import Blocks
from .errors import leak_error_kind
from .heap import HeapBlock
from .leak import Groups, LeakMemory, LeakSearch, State, search
from .options import LEAK_HEURISTICS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from dataclasses import dataclass, replace
    from enum import Enum
    from typing import Any
else:
    from interpose.records import Enum, dataclass, replace

RESOLUTION = {"low": 2, "med": 4, "high": None}
"""Frames compared to merge records, by ``--leak-resolution``; None: all."""

_LOST = {
    State.DEFINITE: "definitely lost",
    State.INDIRECT: "indirectly lost",
    State.POSSIBLE: "possibly lost",
    State.REACHABLE: "still reachable",
}


class Delta(Enum):
    """Which records are shown, compared with the previous search (docs/spec/monitor.md section 5)."""

    ANY = "any"
    INCREASED = "increased"
    CHANGED = "changed"
    NEW = "new"


@dataclass(frozen=True)
class LeakOptions:
    """How one search reports.  The defaults are those of the exit-time search."""

    full: bool = False
    resolution: str = "high"
    show_kinds: frozenset[str] = frozenset({"definite", "possible"})
    error_kinds: frozenset[str] = frozenset({"definite", "possible"})
    heuristics: frozenset[str] = frozenset(LEAK_HEURISTICS)
    delta: Delta = Delta.ANY
    count_errors: bool = True
    """False for searches that the monitor asks for: their records are no errors."""
    max_shown: int | None = None
    """Show only so many records, the largest."""
    from_monitor: bool = False
    """Word the hints for the monitor."""
    verbosity: int = 1
    tid: int = 1
    thread_name: str | None = None
    to_tree: bool = False
    """Write the records to a file instead of showing them."""


class Totals:
    """Bytes and blocks, and those of the previous search."""

    __slots__ = ("blocks", "bytes", "old_blocks", "old_bytes")

    def __init__(self, size: int = 0, blocks: int = 0) -> None:
        self.bytes = size
        self.blocks = blocks
        self.old_bytes = self.old_blocks = 0

    def add(self, size: int, blocks: int) -> None:
        self.bytes += size
        self.blocks += blocks

    def next_search(self) -> None:
        self.old_bytes, self.old_blocks = self.bytes, self.blocks
        self.bytes = self.blocks = 0


class LossRecord:
    """The blocks of one state and allocation stack."""

    __slots__ = ("direct", "indirect", "number", "order", "stack", "state")

    def __init__(self, state: State, stack: Stack, order: int) -> None:
        """:param order: number of the stack among all allocation stacks, by first appearance."""
        self.state = state
        self.stack = stack
        self.order = order
        self.direct = Totals()
        self.indirect = Totals()
        self.number = 0

    def place(self) -> tuple[int, int, int, int]:
        """What decides about the order of records."""
        return (self.direct.bytes + self.indirect.bytes, self.state, self.direct.blocks, self.order)

    @property
    def bytes(self) -> int:
        return self.direct.bytes + self.indirect.bytes

    @property
    def old_bytes(self) -> int:
        return self.direct.old_bytes + self.indirect.old_bytes

    @property
    def is_new(self) -> bool:
        return self.direct.old_blocks == 0 and self.direct.blocks > 0

    def passes(self, delta: Delta) -> bool:
        """Whether the record is of interest under a delta mode."""
        if delta is Delta.ANY:
            return self.direct.blocks > 0
        if delta is Delta.NEW:
            return self.is_new
        # Not the sums: fewer bytes of its own and more that hang on them may make the same.
        direct, indirect = self.direct, self.indirect
        if delta is Delta.INCREASED:
            return (
                direct.bytes > direct.old_bytes
                or indirect.bytes > indirect.old_bytes
                or direct.blocks > direct.old_blocks
            )
        return (
            direct.bytes != direct.old_bytes
            or indirect.bytes != indirect.old_bytes
            or direct.blocks != direct.old_blocks
        )

    def text(self, total: int, delta: Delta) -> str:
        """``N bytes in N blocks are definitely lost in loss record I of N``."""
        with_change = delta is not Delta.ANY
        direct, indirect = self.direct, self.indirect
        size = amount_text(direct.bytes, direct.old_bytes, with_change)
        if indirect.bytes:  # what hung on them before is not counted here
            whole = amount_text(self.bytes, self.old_bytes, with_change)
            more = amount_text(indirect.bytes, indirect.old_bytes, with_change)
            size = f"{whole} ({size} direct, {more} indirect)"
        blocks = amount_text(direct.blocks, direct.old_blocks, with_change)
        new = "new " if with_change and self.is_new else ""
        return (
            f"{size} bytes in {blocks} blocks "
            f"are {_LOST[self.state]} in {new}loss record {self.number:,} of {total:,}"
        )


def amount_text(now: int, old: int, with_change: bool) -> str:
    """A number, with its change since the previous search in delta modes: ``30 (+30)``, ``0 (-50)``."""
    return f"{now:,} ({now - old:+,})" if with_change else f"{now:,}"


_OF_A_PROCESS = (
    *("totals", "suppressed", "heuristic", "listed", "last", "of_groups"),
    *("_frees_then", "_unmerged", "_records", "_orders", "_is_shared"),
)
_ALTERED = ("totals", "suppressed", "heuristic", "listed", "of_groups", "_records", "_orders")
"""By a search, in place; some have parts in common."""


def _nobody() -> None:
    """Nobody wants to hear of it."""


class LeakReporter:
    """All searches of a run: keeps the records, because the next search is compared with them."""

    def __init__(self, log: LogLike, errors: ErrorManager) -> None:
        self.log = log
        self.errors = errors
        self.totals = {state: Totals() for state in State}
        self.suppressed = Totals()
        self.heuristic = {name: Totals() for name in LEAK_HEURISTICS}
        self.listed: list[LossRecord] = []
        """The records of the last search in order of their numbers."""
        self.searched: Callable[[], None] = _nobody
        """Called after each search."""
        self.tells_facts = True
        """Whether somebody reads the report who wants more than is shown."""
        self.last: tuple[LeakSearch, LeakOptions] | None = None
        """The last search, if there was something to search for."""
        self.frees: Callable[[], int] = int
        """How many blocks the program has freed so far."""
        self._frees_then = 0
        self.tree: Callable[[], None] | None = None
        """Writes the records to a file, where that is wanted instead of a list of them."""
        self.of_groups: list[LossRecord] = []
        """The record of each of the last search's groups of blocks."""
        self._unmerged: tuple[Groups, str] | None = None
        """Those of a search of which nothing but sums was told, and the resolution."""
        self._records: dict[tuple[State, Stack], LossRecord] = {}
        self._orders: dict[Stack, int] = {}
        self._is_shared = False
        """Whether another process on this memory compares with the same search."""

    def branch(self) -> dict[str, Any]:
        """What a search is compared with, for a copy of the process to go on with (:meth:`exchange`)."""
        self._is_shared = True
        return {name: getattr(self, name) for name in _OF_A_PROCESS}

    def exchange(self, branch: dict[str, Any]) -> dict[str, Any]:
        """Go on as another process; returns what was so far, to go on with later."""
        left = {name: getattr(self, name) for name in _OF_A_PROCESS}
        for name, value in branch.items():
            setattr(self, name, value)
        return left

    def _own(self) -> None:
        """Before what several processes compare with is altered: most search for nothing."""
        if not self._is_shared:
            return
        from copy import deepcopy

        self._is_shared = False
        copies = deepcopy([getattr(self, name) for name in _ALTERED])
        for name, copy in zip(_ALTERED, copies, strict=True):
            setattr(self, name, copy)

    def run(
        self,
        blocks: Iterable[HeapBlock],
        memory: LeakMemory,
        options: LeakOptions,
        merged: Callable[[], None] = _nobody,
    ) -> LeakSearch | None:
        """Search and report; None if there is nothing to search for.

        :param merged: called when the records are known, before they are shown.
        """
        if self.tree is not None and options.full and options.to_tree:
            options, merged = replace(options, max_shown=0), self.tree
        live = Blocks.of(blocks)
        talk = options.verbosity >= 1
        self.last = None
        if memory.is_gone():
            self._tell_gone(talk)
            return None
        if live.only_chunks:  # as with Valgrind: without an allocated block, memory pools are not searched
            self._next_search()
            self.listed = []
            if talk:
                self.log.plain("All heap blocks were freed -- no leaks are possible")
                self.log.plain("")
            self.searched()
            return None
        if options.verbosity >= 2:
            self.log.plain(f"Searching for pointers to {len(live):,} not-freed blocks")
        result = search(live, memory, options.heuristics)
        if memory.is_gone():  # what pointed to the blocks may not have been read
            self._tell_gone(talk)
            return None
        self._report_overlaps(result)
        self.last = result, options
        self._frees_then = self.frees()
        if options.verbosity >= 2:
            self.log.plain(f"Checked {result.checked_bytes:,} bytes")
            self.log.plain("")
        if options.full or merged is not _nobody or any(self._concerns(state, options) for state in State):
            self.merge(result, options)
            if memory.is_gone():  # nor their stacks
                self._tell_gone(talk)
                return None
            merged()
            self.report(options)
        else:
            self._add_up(result, options)
        if talk and not self.errors.must_exit:
            for line in self.summary_lines(options):
                self.log.plain(line)
            self.log.plain("")
        self.searched()
        return result

    def _tell_gone(self, talk: bool) -> None:
        """Somebody killed the program while it waited for the search, of which nothing is told then."""
        self.last = None
        self.listed = []
        if talk:
            self.log.plain("The program was killed; what it leaked is not known")
            self.log.plain("")

    def _report_overlaps(self, result: LeakSearch) -> None:
        """The first two blocks that overlap by mistake, in Valgrind's words; it ends there."""
        if not result.overlaps:
            return
        say = self.log.plain
        first, second = result.overlaps[0]
        say(
            " overlaps with ".join(
                (
                    f"Block 0x{first.addr:x}..0x{first.end - 1:x}",
                    f"block 0x{second.addr:x}..0x{second.end - 1:x}",
                )
            )
        )
        say("Blocks allocation contexts:")
        for line in stack_lines(self.errors.resolver, first.alloc_stack or ()):
            say(line)
        say("")
        for line in stack_lines(self.errors.resolver, second.alloc_stack or ()):
            say(line)
        say("This is usually caused by using VALGRIND_MALLOCLIKE_BLOCK in an inappropriate way.")
        if len(result.overlaps) > 1:
            say(f"There are {len(result.overlaps):,} such overlaps.")
        say("")

    def merge(self, result: LeakSearch, options: LeakOptions) -> list[LossRecord]:
        """Merge the blocks of a search into records, numbered by size, then state, blocks and age."""
        self._next_search()
        self._merge(result.groups, options.resolution)
        for name, size, count in result.by_heuristic():
            self.heuristic[name].add(size, count)
        self._number()
        return self.listed

    def _number(self) -> None:
        self.listed = sorted(self._records.values(), key=LossRecord.place)
        for number, record in enumerate(self.listed, 1):
            record.number = number

    def merge_last(self) -> None:
        """Make the records of a search of which only sums were told, for who asks for them now."""
        if self._unmerged is None:
            return
        self._own()
        groups, resolution = self._unmerged
        self._unmerged = None
        self._merge(groups, resolution)
        self._number()

    def is_obsolete(self) -> bool:
        """Whether blocks have been freed since the last search."""
        return self.frees() != self._frees_then

    def _merge(self, groups: Groups, resolution: str) -> None:
        frames = RESOLUTION[resolution]
        groups.read_stacks()
        for state, origin, size, blocks, indirect, indirect_blocks in groups:
            found, context = groups.origin(origin)
            stack = (found or ())[:frames]
            record = self._records.get((state, stack))
            if record is None:
                order = self._orders.setdefault(stack, context or len(self._orders))
                record = self._records[(state, stack)] = LossRecord(state, found or (), order)
            elif context and context < record.order:  # shown is the stack that was recorded first
                record.stack, record.order = found or (), context
                self._orders[stack] = context
            self.of_groups.append(record)
            record.direct.add(size, blocks)
            if indirect_blocks:
                record.indirect.add(indirect, indirect_blocks)

    def _add_up(self, result: LeakSearch, options: LeakOptions) -> None:
        """What :meth:`merge` and :meth:`report` come to where no record is shown, counted or suppressed.

        A million stacks would take half a minute to make records of; the next search may want them.
        """
        self._next_search()
        self.listed = []
        self._unmerged = result.groups, options.resolution
        self.errors.skip_numbers(len(result.groups))
        for state, size, count in result.by_state():
            self.totals[state].add(size, count)
        for name, size, count in result.by_heuristic():
            self.heuristic[name].add(size, count)

    def _next_search(self) -> None:
        """What was found last becomes the old; records that were empty then are dropped."""
        self.errors.outdated()
        self._own()
        self.merge_last()
        self._forget_before()
        self.errors.suppressions.reset_leaks()
        for totals in (*self.totals.values(), self.suppressed, *self.heuristic.values()):
            totals.next_search()

    def _forget_before(self) -> None:
        """Have the records compare with the last search from now on."""
        self.of_groups = []
        self._records = {key: record for key, record in self._records.items() if record.direct.blocks}
        for record in self._records.values():
            record.direct.next_search()
            record.indirect.next_search()

    def report(self, options: LeakOptions) -> None:
        """Print and count the records; what a suppression matches goes to the suppressed total."""
        self.log.hold()
        try:
            self._report(options)
        finally:
            self.log.let_go()

    def _report(self, options: LeakOptions) -> None:
        first = self._first_shown(options)
        concerned = {state for state in State if self._concerns(state, options)}
        for record in self.listed:
            shown = record.number >= first and self._wants(record, options)
            passes = record.passes(options.delta)  # suppressions count what has become empty, too
            # A record that has become empty counts, too, where changes are asked for, as under Valgrind.
            counts = options.full and options.count_errors and record.state.word in options.error_kinds
            if not shown and record.state not in concerned:
                self.errors.count_unique(counts and passes)
                self.totals[record.state].add(record.direct.bytes, record.direct.blocks)
                continue
            error = self.error_of(record, options)
            outcome = self.errors.report_unique(error, show=shown, counts=counts and passes)
            if outcome is Outcome.SHOWN and self.errors.must_exit:
                return  # --exit-on-first-error: the rest is not told
            entry = error.suppressed_by
            if entry is not None:
                self.suppressed.add(record.direct.bytes, record.direct.blocks)
                entry.bytes += record.bytes  # with what hangs on them, as the record itself says
                entry.blocks += record.direct.blocks
            else:
                self.totals[record.state].add(record.direct.bytes, record.direct.blocks)

    def _concerns(self, state: State, options: LeakOptions) -> bool:
        """Whether a suppression may match a record of a state."""
        return self.errors.suppressions.concern(self.error_of(LossRecord(state, (), 0), options))

    def _wants(self, record: LossRecord, options: LeakOptions) -> bool:
        return options.full and record.state.word in options.show_kinds and record.passes(options.delta)

    def _first_shown(self, options: LeakOptions) -> int:
        """The smallest record that a limit on the output lets through."""
        if options.max_shown is None:
            return 0
        wanted = [record.number for record in self.listed if self._wants(record, options)]
        if options.max_shown >= len(wanted):
            return 0
        return wanted[-options.max_shown] if options.max_shown else len(self.listed) + 1

    def error_of(self, record: LossRecord, options: LeakOptions) -> Error:
        """A record as an error."""
        word = record.state.word
        return Error(
            kind=leak_error_kind(word),
            tid=options.tid,
            thread_name=options.thread_name,
            what=(record.text(len(self.listed), options.delta),),
            stack=record.stack,
            suppression_extra=f"match-leak-kinds: {word}",
            leaked=(record.bytes, record.direct.blocks),
            leak_kind=word,
            facts=self._facts(record) if self.tells_facts else None,
        )

    def _facts(self, record: LossRecord) -> dict[str, int]:
        return {
            "bytes": record.bytes,
            "blocks": record.direct.blocks,
            "direct_bytes": record.direct.bytes,
            "indirect_bytes": record.indirect.bytes,
            "indirect_blocks": record.indirect.blocks,
            "bytes_before": record.old_bytes,
            "blocks_before": record.direct.old_blocks,
            "loss_record": record.number,
            "loss_records": len(self.listed),
        }

    def summary_lines(self, options: LeakOptions) -> list[str]:
        """LEAK SUMMARY and its hints."""
        with_change = options.delta is not Delta.ANY

        def line(title: str, totals: Totals) -> str:
            size = amount_text(totals.bytes, totals.old_bytes, with_change)
            blocks = amount_text(totals.blocks, totals.old_blocks, with_change)
            return f"{title}: {size} bytes in {blocks} blocks"

        lines = ["LEAK SUMMARY:"]
        for state in (State.DEFINITE, State.INDIRECT, State.POSSIBLE, State.REACHABLE):
            lines.append(line(f"   {_LOST[state]:>15}", self.totals[state]))
        heuristics = [
            (name, totals)
            for name, totals in self.heuristic.items()
            if totals.blocks or totals.old_blocks  # in any mode, as under Valgrind
        ]
        if heuristics:
            lines.append(f"{'':22}of which reachable via heuristic:")
            lines += [line(f"{'':24}{name:<19}", totals) for name, totals in heuristics]
        lines.append(line(f"   {'suppressed':>15}", self.suppressed))
        return lines + self._hints(options)

    def _hints(self, options: LeakOptions) -> list[str]:
        found = any(totals.blocks for totals in self.totals.values())
        if not options.full:
            if not found:
                return []
            if options.from_monitor:
                return ["To see details of leaked memory, give 'full' arg to leak_check"]
            return ["Rerun with --leak-check=full to see details of leaked memory"]
        if not self.totals[State.REACHABLE].blocks or State.REACHABLE.word in options.show_kinds:
            return []
        how = (
            "To see them, add 'reachable any' args to leak_check"
            if options.from_monitor
            else "To see them, rerun with: --leak-check=full --show-leak-kinds=all"
        )
        return ["Reachable blocks (those to which a pointer was found) are not shown.", how]

    # -- what client requests ask for (docs/spec/client-requests.md section 4) -----------------------------

    def count(self) -> dict[str, Totals]:
        """COUNT_LEAKS and COUNT_LEAK_BLOCKS: leaked (definite + indirect), dubious, reachable, suppressed."""
        definite, indirect = self.totals[State.DEFINITE], self.totals[State.INDIRECT]
        return {
            "leaked": Totals(definite.bytes + indirect.bytes, definite.blocks + indirect.blocks),
            "dubious": self.totals[State.POSSIBLE],
            "reachable": self.totals[State.REACHABLE],
            "suppressed": self.suppressed,
        }
