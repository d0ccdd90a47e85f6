"""What memcheck says at the end of a run (docs/spec/output.md section 6)."""

from __future__ import annotations

from interpose.report.errors import ErrorManager
from interpose.report.text import LogLike

from .blocks import Blocks
from .heap import HeapBlock, HeapStats
from .leak import LeakMemory, State
from .loss import LeakOptions, LeakReporter, Totals, amount_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from dataclasses import dataclass, replace

    from interpose.report.xml import Node, XmlSink
else:
    from interpose.records import dataclass, replace

TRACK_ORIGINS_HINT = "Use --track-origins=yes to see where uninitialised values come from"


@dataclass
class EndOptions:
    """Options that shape the end."""

    leak_check: str = "summary"
    track_origins: bool = False
    verbosity: int = 1
    requested_ranges: Sequence[tuple[int, int, int]] = ()
    """Where the program has invalid accesses not reported: first and last byte, number of the range."""
    notes: Sequence[str] = ()
    """Lines above the summaries."""


@dataclass
class HeapEnd:
    """What is known of the heap at the end of a program that was not killed."""

    stats: HeapStats
    blocks: Callable[[], Iterable[HeapBlock]]
    memory: LeakMemory
    options: LeakOptions


def heap_summary_lines(stats: HeapStats) -> list[str]:
    """HEAP SUMMARY with its closing empty line."""
    return [
        "HEAP SUMMARY:",
        f"    in use at exit: {stats.bytes_in_use:,} bytes in {stats.blocks_in_use:,} blocks",
        f"  total heap usage: {stats.allocs:,} allocs, {stats.frees:,} frees, "
        f"{stats.bytes_allocated:,} bytes allocated",
        "",
    ]


def requested_ranges_lines(ranges: Sequence[tuple[int, int, int]]) -> list[str]:
    """Ranges that the program has not given back."""
    if not ranges:
        return []
    return [
        "WARNING: exiting program has the following client-requested",
        "WARNING: address error disablement range(s) still in force,",
        "WARNING: possibly as a result of some mistake in the use of the",
        "WARNING: VALGRIND_{DISABLE,ENABLE}_ERROR_REPORTING_IN_RANGE macros.",
        *(f"   [{number}]  0x{lo:016x}-0x{hi:016x}  ClientReq" for lo, hi, number in ranges),
    ]


def finish(
    log: LogLike,
    errors: ErrorManager,
    leaks: LeakReporter,
    heap: HeapEnd | None,
    options: EndOptions,
    undefined_seen: bool,
) -> None:
    """Heap summary, leak search, error summary.  ``undefined_seen``: was definedness an issue?

    ``heap`` is None when the program was killed: what it had on its heap, and of that leaked, went with its
    memory.
    """
    talk = options.verbosity >= 1
    if talk and heap is None:
        log.plain("")
        log.plain("The program was killed; what its heap held is not known")
        log.plain("")
    elif heap is not None:
        lines = ["", *options.notes, *heap_summary_lines(heap.stats)] if talk else options.notes
        for line in lines:
            log.plain(line)
    # A summary that -q keeps to itself neither shows nor counts anything.
    if heap is None:
        pass
    elif options.leak_check != "no" and (talk or heap.options.full):
        leaks.run(heap.blocks(), heap.memory, heap.options)
    elif options.verbosity == 1:
        log.plain("For a detailed leak analysis, rerun with: --leak-check=full")
        log.plain("")
    if errors.must_exit:
        return  # by a leak; and that was said
    hints = [TRACK_ORIGINS_HINT] if undefined_seen and not options.track_origins else []
    errors.finish(hints, requested_ranges_lines(options.requested_ranges))


def heap_totals(stats: HeapStats) -> dict[str, int]:
    """The heap summary for JSON."""
    return {
        "bytes_in_use": stats.bytes_in_use,
        "blocks_in_use": stats.blocks_in_use,
        "allocs": stats.allocs,
        "frees": stats.frees,
        "bytes_allocated": stats.bytes_allocated,
    }


def leak_totals(leaks: LeakReporter) -> dict[str, dict[str, int]]:
    """The leak summary for JSON: bytes and blocks of each kind, and of what is suppressed."""
    totals = {state.word: totals for state, totals in leaks.totals.items()}
    totals["suppressed"] = leaks.suppressed
    return {name: {"bytes": each.bytes, "blocks": each.blocks} for name, each in totals.items()}


def finish_xml(
    xml: XmlSink,
    log: LogLike,
    errors: ErrorManager,
    leaks: LeakReporter,
    heap: HeapEnd | None,
    options: EndOptions,
    elapsed: str,
) -> None:
    """The end as XML (docs/spec/output.md section 7); ``heap`` as for :func:`finish`."""
    summaries = options.verbosity >= 1 and xml.protocol >= 6
    xml.finished(elapsed)
    if heap is not None:
        live = Blocks.of(heap.blocks())
        if summaries:
            xml.element(heap_summary_node(heap.stats))
            xml.element(all_freed_node(live))
        leaks.run(live, heap.memory, replace(heap.options, verbosity=0))  # the records go to the sink
        if summaries and live and not heap.memory.is_gone():
            xml.element(leak_summary_node(leaks))
    for line in requested_ranges_lines(options.requested_ranges):
        log.plain(line)
    xml.counts(errors)
    xml.end()


def all_freed_node(live: Blocks) -> Node:
    """``all_heap_blocks_freed``, which stands before what a search for leaks finds."""
    return ("all_heap_blocks_freed", "false" if live else "true")


def heap_summary_node(stats: HeapStats) -> Node:
    """``heap_summary``."""
    in_use: list[Node] = [("bytes", stats.bytes_in_use), ("blocks", stats.blocks_in_use)]
    usage: list[Node] = [
        ("allocs", stats.allocs),
        ("frees", stats.frees),
        ("bytes_allocated", stats.bytes_allocated),
    ]
    return ("heap_summary", [("memory_in_use_at_exit", in_use), ("total_heap_usage", usage)])


def leak_summary_node(leaks: LeakReporter, with_change: bool = False) -> Node:
    """``leak_summary``; its numbers are grouped by commas."""

    def amounts(totals: Totals) -> list[Node]:
        return [
            ("bytes", amount_text(totals.bytes, totals.old_bytes, with_change)),
            ("blocks", amount_text(totals.blocks, totals.old_blocks, with_change)),
        ]

    reachable = amounts(leaks.totals[State.REACHABLE])
    for name, totals in leaks.heuristic.items():
        if totals.blocks:
            reachable.append(("reachable_heuristic", [("kind", name), *amounts(totals)]))
    return (
        "leak_summary",
        [
            ("definitely_lost", amounts(leaks.totals[State.DEFINITE])),
            ("indirectly_lost", amounts(leaks.totals[State.INDIRECT])),
            ("possibly_lost", amounts(leaks.totals[State.POSSIBLE])),
            ("still_reachable", reachable),
            ("suppressed", amounts(leaks.suppressed)),
        ],
    )
