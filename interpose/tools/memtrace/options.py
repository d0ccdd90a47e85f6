"""Options of memtrace."""

from __future__ import annotations

from interpose.errors import OptionError
from interpose.options.spec import BadValue, Choice, Integer, Parsed, Table, Text, YesNo
from interpose.paths import absolute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from interpose.options.parse import Config

NAME = "Memtrace"
DESCRIPTION = "a tracer of instructions and memory accesses"
READ_INLINE = False
"""The default of --read-inline-info."""

MAX_ARGUMENTS = 6
HEAP_FUNCTIONS = (
    "malloc|1&free|1|noret&calloc|2&realloc|2&reallocarray|3&memalign|2&aligned_alloc|2&posix_memalign|3"
    "&valloc|1&pvalloc|1&_Znwm|1&_Znam|1&_ZdlPv|1|noret&_ZdaPv|1|noret&_ZdlPvm|2|noret&_ZdaPvm|2|noret"
)
"""What --record-heap adds."""

FunctionSpec = tuple[str, str, int, bool]
"""Patterns of soname and name, number of arguments, whether the return is left out."""


def parse_functions(text: str) -> tuple[FunctionSpec, ...]:
    """``[soname:]name[|arguments[|noret]]``, several parted by ``&``."""
    found: list[FunctionSpec] = []
    for part in text.split("&"):
        if not part:
            continue
        where, *words = part.split("|")
        soname, colon, name = where.rpartition(":")
        noret = bool(words) and words[-1] == "noret"
        numbers = words[:-1] if noret else words
        if not name or len(numbers) > 1 or any(not _is_count(word) for word in numbers):
            raise BadValue(
                f"Invalid function '{part}' (should be [soname:]name[|arguments[|noret]], "
                f"at most {MAX_ARGUMENTS} arguments)"
            )
        found.append((soname if colon else "*", name, int(numbers[0]) if numbers else 0, noret))
    return tuple(found)


def _is_count(word: str) -> bool:
    return word.isascii() and word.isdigit() and int(word) <= MAX_ARGUMENTS


def parse_syscalls(text: str) -> tuple[tuple[int, int], ...]:
    """``number|arguments``, several parted by ``&``."""
    found = []
    for part in text.split("&"):
        if not part:
            continue
        number, bar, count = part.partition("|")
        if (
            not number.isascii()
            or not number.isdigit()
            or int(number) > 4095
            or (bar and not _is_count(count))
        ):
            raise BadValue(f"Invalid system call '{part}' (should be number|arguments)")
        found.append((int(number), int(count) if bar else 0))
    return tuple(found)


class Options(Table):
    """Options of memtrace."""

    title = "user options for Memtrace"

    memtrace_dir: str = Text("folder in which the traces' folders are made", ".", metavar="<folder>")
    memtrace_finish: bool = YesNo("make the final trace when the program ends", True)
    memtrace_format: str = Choice("container of the final trace", ("zip", "gz", "raw"), "zip")
    memtrace_keep_raw: bool = YesNo("keep what was recorded beside the final trace")
    chunk_instr_count: int = Integer("instructions of a chunk in a zip file", 10_000_000, 1000, 1 << 40)
    record_function: tuple[FunctionSpec, ...] = Parsed(
        "mark calls of these functions",
        parse_functions,
        (),
        shown="",
        metavar="[soname:]name[|args[|noret]]&…",
    )
    record_heap: bool = YesNo("mark calls of the malloc family")
    record_syscall: tuple[tuple[int, int], ...] = Parsed(
        "show arguments of these system calls", parse_syscalls, (), shown="", metavar="number|args&…"
    )
    trace_after_instrs: int = Integer("instructions before the trace begins", 0, 0, 1 << 60)
    trace_for_instrs: int = Integer("instructions of a window; 0: no end", 0, 0, 1 << 60)
    retrace_every_instrs: int = Integer("instructions between two windows; 0: only one window", 0, 0, 1 << 60)
    max_trace_size: int = Integer("bytes recorded of each thread; 0: no limit", 0, 0, 1 << 60)
    only_thread: int = Integer("trace this thread only: 1 is the first; 0: all", 0, 0, 1 << 31)

    @classmethod
    def finish(cls, values: dict[str, Any], core: dict[str, Any], given: dict[str, str]) -> None:
        """Rules between options; the folder is that in which the run begins."""
        if values["retrace_every_instrs"] and not values["trace_for_instrs"]:
            raise OptionError.bad(
                f"--retrace-every-instrs={values['retrace_every_instrs']}",
                "a window that has no end is not followed by another: give --trace-for-instrs, too.",
            )
        if not values["memtrace_dir"]:
            raise OptionError.bad("--memtrace-dir=", "No folder given")
        values["memtrace_dir"] = absolute(values["memtrace_dir"])


def functions(config: Config) -> tuple[FunctionSpec, ...]:
    """All functions to mark."""
    found: tuple[FunctionSpec, ...] = config.tool.record_function
    return found + (parse_functions(HEAP_FUNCTIONS) if config.tool.record_heap else ())


def engine_flags(config: Config) -> list[str]:
    """Names of the channel's flags (abi/channel.h, IP_C_*) that memtrace wants."""
    flags = ["IP_C_TRACE", "IP_C_TRACE_DATA", "IP_C_TRACE_EVENTS"]
    if functions(config):
        return [*flags, "IP_C_TRACE_FUNCTIONS", "IP_C_TRACE_VALUES"]
    return [*flags, "IP_C_TRACE_NO_FRAMES"]


def channel_fields(config: Config) -> dict[str, int]:
    """Fields of the channel that memtrace fills: none before the program runs."""
    return {}
