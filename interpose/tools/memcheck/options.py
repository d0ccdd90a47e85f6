"""Memcheck's option table (docs/spec/options.md section 7)."""

from __future__ import annotations

from interpose.errors import OptionError
from interpose.options.spec import (
    IGNORED,
    Choice,
    FileName,
    HexByte,
    Integer,
    Legacy,
    Members,
    Option,
    Parsed,
    PassedOver,
    Table,
    YesNo,
    parse_decimal,
    parse_hex,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from interpose.options.parse import Config

NAME = "Memcheck"
DESCRIPTION = "a memory error detector"
LATE = (
    "records",
    "report.stack",
    "report.suppressions",
    "report.errors",
    "tools.memcheck.addrinfo",
    "tools.memcheck.errors",
    "tools.memcheck.blocks",
    "tools.memcheck.leak",
    "tools.memcheck.loss",
    "tools.memcheck.reader",
    "tools.memcheck.tool",
)
READ_INLINE = True
XML = True
"""The default of --read-inline-info."""
CORE_DEFAULTS = {"read_inline_info": True}

LEAK_KINDS = ("definite", "indirect", "possible", "reachable")
LEAK_HEURISTICS = ("stdstring", "length64", "newarray", "multipleinheritance")
MAX_IGNORED_RANGE = 0x4000000
_BELOW_SP = "--ignore-range-below-sp"
OLD_GCC_SLACK = 1024 + 128
"""Bytes below the stack pointer, red zone and all, where --workaround-gcc296-bugs=yes lets programs be."""


def parse_range(text: str) -> tuple[int, int]:
    """``0xA-0xB``: A <= B, which is in the range, at most 0x4000000 bytes apart."""
    lo_text, _, hi_text = text.partition("-")
    lo, hi = parse_hex(lo_text), parse_hex(hi_text)
    if lo is None or hi is None or hi < lo:
        raise PassedOver("ERROR: --ignore-ranges: invalid syntax, or end <= start in range")
    if hi - lo > MAX_IGNORED_RANGE:
        raise PassedOver(
            "ERROR: --ignore-ranges: suspiciously large range:",
            f"       {lo:#x}-{hi:#x} (size {hi - lo + 1})",
        )
    return lo, hi


class Ranges(Option):
    """``0xA-0xB,…``: those of several options add up; what comes before one that is wrong counts."""

    def apply(self, values: dict[str, Any], text: str) -> None:
        for part in text.split(","):
            bounds = parse_range(part)
            if bounds not in values[self.dest]:
                values[self.dest] = (*values[self.dest], bounds)


def parse_below_sp(text: str) -> tuple[int, int]:
    """``hi-lo`` in decimal: hi > lo, at most 10^6, a span of at most 4096."""
    hi_text, _, lo_text = text.partition("-")
    hi, lo = parse_decimal(hi_text), parse_decimal(lo_text)
    if hi is None or lo is None or lo < 0:
        raise PassedOver(f'ERROR: {_BELOW_SP}: invalid syntax.  Expected "...=decimalnumber-decimalnumber".')
    if hi > 1000000 or lo > 1000000:
        raise PassedOver(f"ERROR: {_BELOW_SP}: suspiciously large offset(s): {hi} and {lo}")
    if hi <= lo:
        raise PassedOver(f"ERROR: {_BELOW_SP}: invalid offsets (the first must be larger): {hi} and {lo}")
    if hi - lo > 4096:
        raise PassedOver(f"ERROR: {_BELOW_SP}: suspiciously large range: {hi}-{lo} (size {hi - lo})")
    return hi, lo


def _show_reachable(values: dict[str, Any], wanted: bool) -> None:
    shown = values["show_leak_kinds"]
    values["show_leak_kinds"] = frozenset(LEAK_KINDS) if wanted else shown - {"reachable"}


def _show_possibly_lost(values: dict[str, Any], wanted: bool) -> None:
    shown = values["show_leak_kinds"]
    values["show_leak_kinds"] = shown | {"possible"} if wanted else shown - {"possible"}


class Options(Table):
    """Options of memcheck."""

    title = "user options for Memcheck"

    leak_check: str = Choice(
        "search for leaks at exit; yes is full",
        ("no", "summary", "full"),
        "summary",
        same={"yes": "full"},
        dynamic=True,
        list_words=True,
        metavar="no|summary|yes|full",
    )
    leak_resolution: str = Choice(
        "frames that must agree to merge leaks: 2, 4, all", ("low", "med", "high"), "high"
    )
    show_leak_kinds: frozenset[str] = Members(
        "leaks to show: definite indirect possible reachable all none",
        LEAK_KINDS,
        ("definite", "possible"),
        dynamic=True,
    )
    errors_for_leak_kinds: frozenset[str] = Members(
        "leaks that count as errors: the same words",
        LEAK_KINDS,
        ("definite", "possible"),
        dynamic=True,
    )
    leak_check_heuristics: frozenset[str] = Members(
        "inner pointers that reach a block: stdstring length64 newarray multipleinheritance all none",
        LEAK_HEURISTICS,
        LEAK_HEURISTICS,
        dynamic=True,
        metavar="heur1,heur2,…",
    )
    show_reachable: None = Legacy(
        "older spelling: yes is --show-leak-kinds=all, no drops the kind reachable",
        _show_reachable,
        dynamic=True,
        metavar="yes|no",
    )
    show_possibly_lost: None = Legacy(
        "older spelling: no drops the kind possible", _show_possibly_lost, dynamic=True, metavar="yes|no"
    )
    xtree_leak: bool = YesNo("write the leaks found at exit as an xtree file, all kinds")
    xtree_leak_file: str = FileName("its file", "xtleak.kcg.%p")
    undef_value_errors: bool = YesNo("report uses of undefined values", True)
    track_origins: bool = YesNo("show where undefined values come from", True)
    partial_loads_ok: bool = YesNo("a word-aligned load partly out of a block is no error", True)
    expensive_definedness_checks: str = Choice(
        "exact propagation through add, sub and compare", ("no", "auto", "yes"), "auto", status=IGNORED
    )
    freelist_vol: int = Integer("bytes of freed blocks kept back", 20000000, 0, 10**10, dynamic=True)
    freelist_big_blocks: int = Integer(
        "freed blocks of this size and more go first", 1000000, 0, 10**10, dynamic=True
    )
    workaround_gcc296_bugs: bool = YesNo(
        "no address errors up to 1152 bytes below the stack pointer; better: --ignore-range-below-sp"
    )
    ignore_ranges: tuple[tuple[int, int], ...] = Ranges(
        "no address errors there; may be repeated",
        (),
        shown="",
        metavar="0xPP-0xQQ[,…]",
        dynamic=True,
    )
    ignore_range_below_sp: tuple[int, int] | None = Parsed(
        "no address errors at these offsets below the stack pointer",
        parse_below_sp,
        metavar="<number>-<number>",
        dynamic=True,
    )
    malloc_fill: int = HexByte("fill allocated blocks with this byte")
    free_fill: int = HexByte("fill freed blocks with this byte")
    keep_stacktraces: str = Choice(
        "stacks kept for each heap block",
        ("alloc", "free", "alloc-and-free", "alloc-then-free", "none"),
        "alloc-and-free",
    )
    show_mismatched_frees: bool = YesNo(
        "report new with free, malloc with delete, and so on", True, dynamic=True
    )
    show_realloc_size_zero: bool = YesNo("report realloc(p,0)", True, dynamic=True)

    @classmethod
    def finish(cls, values: dict[str, Any], core: dict[str, Any], given: dict[str, str]) -> None:
        """Rules of docs/spec/options.md section 7 between options."""
        if values["track_origins"] and not values["undef_value_errors"]:
            if "track_origins" in given:
                last = max(("track_origins", "undef_value_errors"), key=list(given).index)
                raise OptionError.bad(
                    given[last],
                    "--track-origins=yes has no effect when --undef-value-errors=no.",
                )
            values["track_origins"] = False
        if core["xml"]:
            values["leak_check"] = "full"
        if values["xtree_leak"]:
            values["leak_check"] = "full"

    def written_late(self) -> list[tuple[str, str]]:
        return [("--xtree-leak-file", self.xtree_leak_file)] if self.xtree_leak else []

    def warnings(self) -> list[str]:
        found = []
        big, volume = self.freelist_big_blocks, self.freelist_vol
        if big >= volume:
            found += [
                f"Warning: --freelist-big-blocks value {big} has no effect",
                f"as it is >= to --freelist-vol value {volume}",
            ]
        if self.workaround_gcc296_bugs:
            found += [
                "Warning: --workaround-gcc296-bugs=yes is deprecated.",
                "Warning: Instead use: --ignore-range-below-sp=1024-1",
                "",
            ]
        return found


def engine_flags(config: Config) -> list[str]:
    """Names of the channel's flags (abi/channel.h, IP_C_*) that memcheck wants."""
    tool = config.tool
    flags = ["IP_C_SHADOW", "IP_C_CALLSTACK", "IP_C_HEAP"]
    if tool.undef_value_errors:
        flags.append("IP_C_UNDEF")
    if tool.track_origins:
        flags.append("IP_C_ORIGINS")
    if not tool.partial_loads_ok:
        flags.append("IP_C_NO_PARTIAL_LOADS")
    xtree = config.core.xtree_memory
    if tool.keep_stacktraces in ("alloc", "alloc-and-free", "alloc-then-free") or xtree != "none":
        flags.append("IP_C_KEEP_ALLOC_STACK")
    if tool.keep_stacktraces in ("free", "alloc-and-free", "alloc-then-free") or xtree == "full":
        flags.append("IP_C_KEEP_FREE_STACK")
    if xtree == "full":
        flags.append("IP_C_HEAP_COUNTS")
    return flags


def channel_fields(config: Config) -> dict[str, int]:
    """Fields of the channel (abi/channel.h, struct ip_chan) that memcheck fills."""
    tool = config.tool
    return {
        "freelist_vol": tool.freelist_vol,
        # A block that alone is more than may wait would take all others with it.
        "freelist_big": min(tool.freelist_big_blocks, tool.freelist_vol),
        "malloc_fill": tool.malloc_fill,
        "free_fill": tool.free_fill,
    }
