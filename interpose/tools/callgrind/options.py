"""Callgrind's option table."""

from __future__ import annotations

from interpose.options.spec import (
    IGNORED,
    BadValue,
    Choice,
    FileName,
    Integer,
    Numbered,
    Parsed,
    Repeated,
    Table,
    YesNo,
    parse_decimal,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NamedTuple

    from interpose.options.parse import Config
else:
    from interpose.records import NamedTuple

NAME = "Callgrind"
DESCRIPTION = "a call-graph generating cache profiler"
READ_INLINE = False
"""The default of --read-inline-info."""

MAX_RECURSIONS = 2**31 - 1
"""Larger numbers of levels of recursion are refused, or, in an option's name, count as this one."""
MAX_LEVELS = 8
"""Runs are counted in line for no more levels of recursion (callgrind_abi.h, CG_LEVELS)."""
MAX_CALLERS = 64
"""A chain of callers has no more (client/tables.c): larger numbers count as this one."""
MAX_CACHE = 2**31 - 1


class Geometry(NamedTuple):
    """A cache: bytes, ways, bytes of a line."""

    size: int
    ways: int
    line: int


def parse_geometry(text: str) -> Geometry:
    """``size,associativity,line size``."""
    numbers = [parse_decimal(part) for part in text.split(",")]
    if len(numbers) != 3 or any(number is None or number <= 0 for number in numbers):
        raise BadValue("A cache is given as <size>,<associativity>,<line size>")
    size, ways, line = (number or 0 for number in numbers)
    if max(size, ways, line) > MAX_CACHE:
        raise BadValue(f"The numbers of a cache may not be larger than {MAX_CACHE}")
    if line < 16 or line & (line - 1):
        raise BadValue("The line size must be a power of two, 16 or more")
    if size <= line:
        raise BadValue("A cache has to be larger than one line")
    if size % (ways * line) or (size // (ways * line)) & (size // (ways * line) - 1):
        raise BadValue("The number of sets (size / associativity / line size) must be a power of two")
    return Geometry(size, ways, line)


def parse_callers(text: str) -> int:
    """A number, or ``auto`` (as many as make sense, which is none by default)."""
    if text == "auto":
        return 0
    number = parse_decimal(text)
    if number is None or number < 0:
        raise BadValue("a number, or auto, is expected")
    return min(number, MAX_CALLERS)


class Options(Table):
    """Options of callgrind."""

    title = "user options for Callgrind"

    callgrind_out_file: str = FileName("the profile", "callgrind.out.%p", group="profiles")
    dump_line: bool = YesNo("costs by source line; always without --dump-instr=yes", True)
    dump_instr: bool = YesNo("costs by instruction")
    compress_strings: bool = YesNo("write each name once", True)
    compress_pos: bool = YesNo("write positions as differences", True)
    combine_dumps: bool = YesNo("all profiles of a run in one file")
    dump_every_bb: int = Integer(
        "dump each time that so many blocks of code have run; 0: never", 0, group="when to dump"
    )
    dump_before: tuple[str, ...] = Repeated("dump when these functions are entered", metavar="<function>")
    zero_before: tuple[str, ...] = Repeated("forget costs when these are entered", metavar="<function>")
    dump_after: tuple[str, ...] = Repeated("dump when these functions are left", metavar="<function>")
    instr_atstart: bool = YesNo("count from the start", True, group="what is collected")
    collect_atstart: bool = YesNo("collect from the start", True)
    toggle_collect: tuple[str, ...] = Repeated(
        "switch collecting when these functions are entered and left", metavar="<function>"
    )
    collect_jumps: bool = YesNo("collect jumps", aliases=("--trace-jump",))
    collect_bus: bool = YesNo("count locked instructions (Ge)")
    collect_systime: str = Choice(
        "time in system calls; nsec also CPU time",
        ("no", "msec", "usec", "nsec"),
        "no",
        same={"yes": "msec"},
        metavar="no|yes|msec|usec|nsec",
    )
    separate_threads: bool = YesNo("a profile for each thread", group="what is told apart")
    separate_callers: int = Parsed("functions by so many callers", parse_callers, 0, metavar="<number>|auto")
    separate_callers_of: tuple[tuple[int, str], ...] = Numbered(
        "the same for these functions", name="--separate-callers<n>", metavar="<function>"
    )
    separate_recs: int = Integer("levels of recursion", 2, 0, MAX_RECURSIONS)
    separate_recs_of: tuple[tuple[int, str], ...] = Numbered(
        "the same for these functions", name="--separate-recs<n>", metavar="<function>"
    )
    skip_plt: bool = YesNo("leave out procedure linkage tables", True)
    skip_direct_rec: bool = YesNo("leave out direct recursion")
    fn_skip: tuple[str, ...] = Repeated("charge these functions to their callers", metavar="<function>")
    pop_on_jump: tuple[str, ...] = Repeated(
        "leaving these functions by a jump ends their call; alone: all", metavar="<function>", alone="*"
    )
    fn_group: tuple[tuple[int, str], ...] = Numbered(
        "put functions into a group",
        name="--fn-group<n>",
        metavar="<function>",
        status=IGNORED,
    )
    branch_sim: bool = YesNo("simulate branch prediction", group="simulation")
    cache_sim: bool = YesNo("simulate caches", aliases=("--simulate-cache",))
    simulate_wb: bool = YesNo("count write-backs; simulates caches")
    simulate_hwpref: bool = YesNo("simulate a hardware prefetcher; simulates caches")
    cacheuse: bool = YesNo("how cache lines are used; simulates caches, dumps by instruction")
    I1: Geometry | None = Parsed("level 1 instruction cache", parse_geometry, metavar="<size>,<assoc>,<line>")
    D1: Geometry | None = Parsed("level 1 data cache", parse_geometry, metavar="<size>,<assoc>,<line>")
    LL: Geometry | None = Parsed(
        "last level cache", parse_geometry, metavar="<size>,<assoc>,<line>", aliases=("--L2",)
    )
    mangle_names: bool = YesNo(
        "names as the linker has them", True, status=IGNORED, group="accepted without effect"
    )
    compress_mangled: bool = YesNo("of another time", status=IGNORED)
    dump_bb: bool = YesNo("of another time", status=IGNORED)
    dump_bbs: bool = YesNo("of another time", status=IGNORED)
    collect_alloc: bool = YesNo("of another time", status=IGNORED)
    simulate_sectors: bool = YesNo("of another time", status=IGNORED)
    ct_verbose: int = Integer("traces of another implementation", 0, status=IGNORED)
    ct_verbose_of: tuple[tuple[int, str], ...] = Numbered(
        "traces of another implementation", name="--ct-verbose<n>", metavar="<function>", status=IGNORED
    )
    ct_vstart: int = Integer("traces of another implementation", 0, status=IGNORED)

    @classmethod
    def finish(cls, values: dict[str, Any], core: dict[str, Any], given: dict[str, str]) -> None:
        """Options that imply others, unless those are given behind them (an rc file's may be taken back)."""
        order = {name: place for place, name in enumerate(given)}

        def imply(name: str, value: bool, *reasons: str) -> None:
            held = [order.get(reason, -1) for reason in reasons if values[reason]]
            if held and order.get(name, -1) < max(held):
                values[name] = value

        imply("collect_atstart", False, "toggle_collect")
        imply("dump_instr", True, "cacheuse")
        imply("cache_sim", True, "simulate_wb", "simulate_hwpref", "I1", "D1", "LL")
        if values["cacheuse"]:
            values["cache_sim"] = True  # it counts what the simulation does with lines
        if not values["cache_sim"]:
            values["simulate_wb"] = values["simulate_hwpref"] = False
        if not values["dump_instr"]:
            values["dump_line"] = True  # costs need a position


def engine_flags(config: Config) -> list[str]:
    """Names of the channel's flags (abi/channel.h, IP_C_*) that callgrind wants."""
    flags = ["IP_C_TRACE", "IP_C_TRACE_FUNCTIONS"]
    if config.tool.cache_sim:
        flags.append("IP_C_TRACE_DATA")
    if counts_in_line(config):
        flags.append("IP_C_COUNT")
    return flags


def counts_in_line(config: Config) -> bool:
    """Whether instructions and calls are all that is asked for, everywhere alike."""
    tool = config.tool
    watched = (tool.dump_before, tool.zero_before, tool.dump_after, tool.toggle_collect, tool.pop_on_jump)
    apart = (tool.separate_callers, tool.separate_callers_of, tool.separate_recs_of, tool.fn_skip)
    others = (
        tool.cache_sim, tool.branch_sim, tool.collect_jumps, tool.collect_bus, tool.collect_systime != "no",
        tool.dump_every_bb > 0, tool.skip_direct_rec, tool.separate_recs > MAX_LEVELS,
        not tool.instr_atstart, not tool.collect_atstart,
    )  # fmt: skip
    return not any((*watched, *apart, *others))


def channel_fields(config: Config) -> dict[str, int]:
    """Fields of the channel that the tool fills: none."""
    return {}
