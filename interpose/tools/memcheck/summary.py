"""What memcheck says at the end of a run (output.md section 6)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from interpose.report.errors import ErrorManager
from interpose.report.text import LogLike

from .heap import HeapBlock, HeapStats
from .leak import LeakMemory
from .loss import LeakOptions, LeakReporter

TRACK_ORIGINS_HINT = "Use --track-origins=yes to see where uninitialised values come from"


@dataclass
class EndOptions:
    """Options that shape the end."""

    leak_check: str = "summary"
    track_origins: bool = False
    verbosity: int = 1


def heap_summary_lines(stats: HeapStats) -> list[str]:
    """HEAP SUMMARY with its closing empty line."""
    return [
        "HEAP SUMMARY:",
        f"    in use at exit: {stats.bytes_in_use:,} bytes in {stats.blocks_in_use:,} blocks",
        f"  total heap usage: {stats.allocs:,} allocs, {stats.frees:,} frees, "
        f"{stats.bytes_allocated:,} bytes allocated",
        "",
    ]


def finish(
    log: LogLike,
    errors: ErrorManager,
    leaks: LeakReporter,
    stats: HeapStats,
    blocks: Iterable[HeapBlock],
    memory: LeakMemory,
    leak_options: LeakOptions,
    options: EndOptions,
    undefined_seen: bool,
) -> None:
    """Heap summary, leak search, error summary.  ``undefined_seen``: was definedness an issue?"""
    talk = options.verbosity >= 1
    if talk:
        log.plain("")
        for line in heap_summary_lines(stats):
            log.plain(line)
    if options.leak_check != "no":
        leaks.run(blocks, memory, leak_options)
    elif options.verbosity == 1:
        log.plain("For a detailed leak analysis, rerun with: --leak-check=full")
        log.plain("")
    errors.finish([TRACK_ORIGINS_HINT] if undefined_seen and not options.track_origins else [])
