"""Memcheck's monitor commands.  Their texts are Valgrind's."""

from __future__ import annotations

import re

from interpose.errors import InterposeError
from interpose.gdb.monitor.table import Command, Commands
from interpose.gdb.monitor.words import Refused, choose, decimal
from interpose.report.errors import AuxPart
from interpose.report.text import error_lines

from .leak import State
from .loss import Delta
from .options import LEAK_HEURISTICS, LEAK_KINDS
from .origins import origin_at
from .pointers import block_tree, pointers_to
from .shadow import Shadow
from .xtree import LEAK_EVENTS, file_name, leak_costs, write_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import replace
    from typing import Any

    from interpose.gdb.monitor.table import Call
    from interpose.gdb.monitor.words import Arguments

    from .leak import LeakSearch
    from .tool import Tool
    from .xtree import Costs, Events
else:
    from interpose.records import replace


def _tool(call: Call) -> Tool:
    tool: Tool = call.supervisor.tool
    tool.space.forget()
    return tool


def _shadow(call: Call) -> Shadow:
    tool = _tool(call)
    return Shadow(call.supervisor.client, tool.space.threads())


# -- V bits --------------------------------------------------------------------------------------------------

_ROW = 8


def _bits(call: Call, addr: int, size: int) -> tuple[bytes, bytes]:
    parts = list(_shadow(call).bits(addr, size))
    return b"".join(part[0] for part in parts), b"".join(part[1] for part in parts)


def _count_unaddressable(call: Call, addr: int, size: int, access: bytes) -> None:
    if any(access):
        call.say(f"Address 0x{addr:X} len {size} has {sum(access)} bytes unaddressable")


_MOST = 1 << 24  # bytes that xb and get_vbits show


def _shown_range(call: Call) -> tuple[int, int]:
    addr, size = call.words.range()
    if size > _MOST:
        raise Refused(f"{size} bytes are more than the {_MOST} that can be shown at once")
    return addr, size


def _xb(call: Call) -> None:
    addr, size = _shown_range(call)
    values, access = _bits(call, addr, size)
    client = call.supervisor.client
    lines = []
    for start in range(0, size, _ROW):
        end = min(start + _ROW, size)
        shown = ["__" if access[at] else f"{values[at]:02x}" for at in range(start, end)]
        lines.append("\t\t  " + "\t  ".join(shown))
        data = client.read(addr + start, end - start)
        row = [
            "0x??" if access[at] or data is None else f"0x{data[at - start]:02x}" for at in range(start, end)
        ]
        lines.append(f"0x{addr + start:X}:\t" + "\t".join(row))
    call.say("\n".join(lines) if lines else "\n")
    _count_unaddressable(call, addr, size, access)


def _get_vbits(call: Call) -> None:
    addr, size = _shown_range(call)
    values, access = _bits(call, addr, size)
    shown = ["__" if access[at] else f"{values[at]:02x}" for at in range(size)]
    groups = ["".join(shown[at : at + 4]) for at in range(0, size, 4)]
    lines = [" ".join(groups[at : at + 8]) for at in range(0, len(groups), 8)]
    call.say("\n".join(lines))
    _count_unaddressable(call, addr, size, access)


def _choice_and_range(call: Call, among: tuple[str, ...]) -> tuple[str, int, int]:
    """A word and a range; if both are bad, both are said."""
    try:
        word = call.words.choice(among)
    except Refused as reason:
        call.words.range_after(reason)
        raise
    return (word, *call.words.range())


_STATES = ("noaccess", "undefined", "defined", "Definedifaddressable")


def _make_memory(call: Call) -> None:
    state, addr, size = _choice_and_range(call, _STATES)
    shadow = _shadow(call)
    if state == "Definedifaddressable":
        done = shadow.define_addressable(addr, size)
    else:
        done = shadow.set(addr, size, addressable=state != "noaccess", defined=state == "defined")
    if not done:
        raise Refused("the program's memory cannot be written")


def _check_memory(call: Call) -> None:
    wanted, addr, size = _choice_and_range(call, ("addressable", "defined"))
    at = addr
    head = f"Address 0x{addr:X} len {size}"
    answer = [f"{head} {wanted}"]
    created: list[AuxPart] = []
    tool = _tool(call)
    for values, access in _shadow(call).bits(addr, size):
        bad = access.find(1)
        undefined = -1
        if wanted == "defined":
            undefined = next((place for place, value in enumerate(values) if value), -1)
        if undefined >= 0 and (bad < 0 or undefined < bad):
            answer = [f"{head} not defined:", f"Uninitialised value at 0x{at + undefined:X}"]
            origin = origin_at(tool, at + undefined) if tool.config.tool.track_origins else None
            if origin is not None:
                answer[1] += f" was created{origin.kind.value}"
                created = [AuxPart("", origin.stack)]
            break
        if bad >= 0:
            answer = [f"{head} not addressable:", f"bad address 0x{at + bad:X}"]
            break
        at += len(values)
    call.say("\n".join(answer))
    call.describe([*created, *tool.describe_address(addr)])


# -- leaks ---------------------------------------------------------------------------------------------------

# The empty word stands for the blank that Valgrind has behind its lists.
_LEAK_WORDS = (
    *("full", "summary", "xtleak", "kinds", "reachable", "possibleleak", "definiteleak", "heuristics"),
    *("new", "increased", "changed", "any", "unlimited", "limited", ""),
)
_MODES = ("full", "summary")
_KINDS = {
    "reachable": frozenset(LEAK_KINDS),
    "possibleleak": frozenset({"possible", "indirect", "definite"}),
    "definiteleak": frozenset({"definite"}),
}


def _set_of(text: str, known: tuple[str, ...], what: str) -> frozenset[str]:
    """``all``, ``none`` or a list."""
    if text == "none":
        return frozenset()
    words = [word for word in text.split(",") if word]
    if words == ["all"]:
        return frozenset(known)
    if not words or any(word not in known for word in words):
        raise Refused(f"missing or malformed {what} set")
    return frozenset(words)


def _limit(words: Arguments, name: str) -> int:
    value = words.integer()
    if value < 1:
        raise Refused(f"{name} must be >= 1, got {value}")
    return value


def _leak_option(word: str, words: Arguments) -> dict[str, Any]:
    """What a word of ``leak_check`` changes."""
    if word in _MODES:
        return {"full": word == "full"}
    if word == "kinds":
        return {"show_kinds": _set_of(words.next(), LEAK_KINDS, "leak kinds")}
    if word in _KINDS:
        return {"show_kinds": _KINDS[word]}
    if word == "heuristics":
        return {"heuristics": _set_of(words.next(), LEAK_HEURISTICS, "heuristics")}
    if word == "unlimited":
        return {"max_shown": None}
    return {"delta": Delta(word)}


def _leak_check(call: Call) -> None:
    tool = _tool(call)
    options = replace(
        tool.leak_options(),
        full=True,
        show_kinds=frozenset({"definite", "possible"}),
        heuristics=frozenset(),
        delta=Delta.INCREASED,
        count_errors=False,
        from_monitor=True,
    )
    is_tree = False
    refusals = []
    while call.words:
        try:
            word = call.words.choice(_LEAK_WORDS)
            if word == "xtleak":
                is_tree = True
            elif word == "limited":
                try:
                    options = replace(options, max_shown=_limit(call.words, "max_loss_records_output"))
                except Refused as reason:  # what is asked for beside it is done
                    call.tell(str(reason))
            else:
                options = replace(options, **_leak_option(word, call.words))
        except Refused as reason:
            refusals.append(str(reason))
    if refusals:
        raise Refused("\n".join(refusals))
    if not is_tree:
        tool.leaks.run(tool.live_blocks(), tool.space, options)
        return

    def write() -> None:
        path = _write_tree(tool, "xtleak.kcg.%p.%n", LEAK_EVENTS, leak_costs(tool.leaks.listed))
        call.log.plain(f"xtree leak report: {path}")

    # The records are in the file.
    tool.leaks.run(tool.live_blocks(), tool.space, replace(options, max_shown=0), write)


_SLICE = re.compile(r"(\+?[0-9]+)(\.\.)?(.*)")


def _slice(text: str) -> tuple[int, int]:
    if not text:
        raise Refused("expecting integer or slice <from>..<to>")
    found = _SLICE.match(text)
    if found is None:
        raise Refused("invalid integer or slice <from>..<to>")
    low, dots, last = int(found[1]), found[2], found[3]
    if not dots and not last:
        return low, low
    if not dots:
        raise Refused("expecting slice <from>..<to>")
    high = decimal(last or "0")
    if high is None or last.startswith("-"):
        raise Refused("missing/wrong 'to' of slice <from>..<to>")
    if low > high:
        raise Refused("<from> cannot be bigger than <to> in slice <from>..<to>")
    return low, high


def _block_list(call: Call) -> None:
    text = call.words.next()
    low, high = _slice(text)
    limit: int | None = None
    heuristics: frozenset[str] | None = None
    while call.words:
        word = choose(call.words.next(), ("unlimited", "limited", "heuristics", ""))
        if word == "heuristics":
            heuristics = _set_of(call.words.next(), LEAK_HEURISTICS, "heuristics") or None
        elif word == "unlimited":
            limit = None
        elif call.words:
            limit = _limit(call.words, "max_blocks")
        else:
            raise Refused("missing integer value")
    tool = _tool(call)
    last = tool.leaks.last
    if not low:
        raise Refused("invalid loss record nr")
    if last is None:
        call.log.plain("Can't print block list : no valid leak search result")
        raise Refused("invalid loss record nr")
    if tool.leaks.is_obsolete():
        call.log.plain("Can't print obsolete block list : redo a leak search first")
        raise Refused("invalid loss record nr")
    tool.leaks.merge_last()
    records = [record for record in tool.leaks.listed if low <= record.number <= high]
    if not records:
        raise Refused("invalid loss record nr")
    result, options = last
    numbers = [tool.leaks.of_groups[group].number for group in result.group_of]
    blocks: dict[int, list[int]] = {record.number: [] for record in records}
    for block, number in enumerate(numbers):
        if number in blocks:
            blocks[number].append(block)
    for record in records:
        lines = _block_lines(result, record.state, blocks[record.number], numbers, limit, heuristics)
        if limit is not None:
            limit -= len(lines)
        if lines or len(records) == 1:
            head = error_lines(tool.resolver, tool.leaks.error_of(record, options))
            call.log.plain("\n".join([*head, *lines]))
        if limit == 0:
            return


def _block_lines(
    result: LeakSearch,
    state: State,
    blocks: list[int],
    numbers: list[int],
    limit: int | None,
    heuristics: frozenset[str] | None,
) -> list[str]:
    """The lines of a record.

    :param blocks: those in it, as indices into the result's.
    :param numbers: for each block of the result the number of its record; 0: in none.
    """
    lines = []
    for block in blocks:
        name = result.heuristic[block]
        if heuristics is not None and name not in heuristics:
            continue
        found = f" (found via heuristic {name})" if name is not None else ""
        lines.append(f"0x{result.blocks[block].addr:X}[{result.blocks[block].size}]{found}")
        if heuristics is None and state in (State.DEFINITE, State.INDIRECT):
            lines += [
                f"{'  ' * depth}0x{result.blocks[child].addr:X}[{result.blocks[child].size}] "
                f"indirect loss record {numbers[child]}"
                for depth, child in block_tree(result, block)
            ]
        if limit is not None and len(lines) >= limit:
            return lines[:limit]
    return lines


# -- pointers ------------------------------------------------------------------------------------------------


def _who_points_at(call: Call) -> None:
    addr, size = call.words.range()
    if addr == 0:
        raise Refused("Cannot search who points at 0x0")
    tool = _tool(call)
    to = f"0x{addr:x}"
    if size == 1:
        call.log.plain(f"Searching for pointers to {to}")
    else:
        call.log.plain(f"Searching for pointers pointing in {size} bytes from {to}")
    for found in pointers_to(tool.space, addr, size):
        if found.thread:
            where = f"tid {found.thread} register {found.register}"
            how = f"interior pointing {found.offset} bytes inside" if found.offset else "pointing at"
            call.log.plain(f"{where} {how} {to}")
            continue
        how = f"interior points at {found.offset} bytes inside" if found.offset else "points at"
        call.log.plain(f"*0x{found.where:x} {how} {to}")
        call.describe(tool.describe_address(found.where))


def _xtmemory(call: Call) -> None:
    tool = _tool(call)
    template = call.words.next() or "xtmemory.kcg.%p.%n"
    path = _write_tree(tool, template, *tool.memory_tree(), may_be_massif=True)
    call.log.plain(f"xtree memory report: {path}")


def _write_tree(
    tool: Tool,
    template: str,
    events: Events,
    costs: Costs,
    may_be_massif: bool = False,
) -> str:
    try:
        path = file_name(tool, "--xtree-memory-file", template)
        write_tree(tool, path, events, costs, may_be_massif)
        return path
    except InterposeError as error:
        raise Refused(f"Error: {error.message}") from None


COMMANDS = Commands(
    (
        Command(
            "xb",
            _xb,
            (
                "  xb <addr> [<len>]",
                "        prints validity bits for <len> (or 1) bytes at <addr>",
                "            bit values 0 = valid, 1 = invalid, __ = unaddressable byte",
                "        Then prints the bytes values below the corresponding validity bits",
                "        in a layout similar to the gdb command 'x /<len>xb <addr>'",
                "        Example: xb 0x8049c78 10",
            ),
        ),
        Command(
            "get_vbits",
            _get_vbits,
            (
                "  get_vbits <addr> [<len>]",
                "        Similar to xb, but only prints the validity bytes by group of 4.",
            ),
        ),
        Command(
            "make_memory",
            _make_memory,
            (
                "  make_memory [noaccess|undefined",
                "                     |defined|Definedifaddressable] <addr> [<len>]",
                "        mark <len> (or 1) bytes at <addr> with the given accessibility",
            ),
        ),
        Command(
            "check_memory",
            _check_memory,
            (
                "  check_memory [addressable|defined] <addr> [<len>]",
                "        check that <len> (or 1) bytes at <addr> have the given accessibility",
                "            and outputs a description of <addr>",
            ),
        ),
        Command(
            "leak_check",
            _leak_check,
            (
                "  leak_check [full*|summary|xtleak]",
                "                [kinds kind1,kind2,...|reachable|possibleleak*|definiteleak]",
                "                [heuristics heur1,heur2,...]",
                "                [new|increased*|changed|any]",
                "                [unlimited*|limited <max_loss_records_output>]",
                "            * = defaults",
                "         xtleak produces an xtree full leak result in xtleak.kcg.%p.%n",
                "       where kind is one of:",
                "         definite indirect possible reachable all none",
                "       where heur is one of:",
                "         stdstring length64 newarray multipleinheritance all none*",
                "       Examples: leak_check",
                "                 leak_check summary any",
                "                 leak_check full kinds indirect,possible",
                "                 leak_check full reachable any limited 100",
            ),
        ),
        Command(
            "block_list",
            _block_list,
            (
                "  block_list <loss_record_nr>|<loss_record_nr_from>..<loss_record_nr_to>",
                "                [unlimited*|limited <max_blocks>]",
                "                [heuristics heur1,heur2,...]",
                "        after a leak search, shows the list of blocks of <loss_record_nr>",
                "        (or of the range <loss_record_nr_from>..<loss_record_nr_to>).",
                "        With heuristics, only shows the blocks found via heur1,heur2,...",
                "            * = defaults",
            ),
        ),
        Command(
            "who_points_at",
            _who_points_at,
            (
                "  who_points_at <addr> [<len>]",
                "        shows places pointing inside <len> (default 1) bytes at <addr>",
                '        (with len 1, only shows "start pointers" pointing exactly to <addr>,',
                '         with len > 1, will also show "interior pointers")',
            ),
        ),
        Command(
            "xtmemory",
            _xtmemory,
            (
                "  xtmemory [<filename>]",
                "        dump xtree memory profile in <filename> (default xtmemory.kcg.%p.%n)",
            ),
        ),
    ),
    (
        *("get_vbits", "leak_check", "make_memory", "check_memory"),
        *("block_list", "who_points_at", "xb", "xtmemory"),
    ),
)
