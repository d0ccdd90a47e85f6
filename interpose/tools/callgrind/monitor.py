"""Callgrind's monitor commands.  Their texts are Valgrind's."""

from __future__ import annotations

from interpose.gdb.monitor.table import Command, Commands
from interpose.jit._native import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from interpose.gdb.monitor.table import Call

    from .profile import Counts
    from .tool import Tool


def _tool(call: Call) -> Tool:
    tool: Tool = call.supervisor.tool
    return tool


def _dump(call: Call) -> None:
    _tool(call).dump(" ".join(call.text.split()))


def _zero(call: Call) -> None:
    _tool(call).zero()


def _instrumentation(call: Call) -> None:
    tool = _tool(call)
    if not call.words:
        call.say(f"instrumentation: {'on' if tool.is_counting() else 'off'}")
        return
    tool.switch(call.words.next() != "off")


def _status(call: Call) -> None:
    tool = _tool(call)
    if call.words.next() == "internal":
        call.say("\n".join(_internal(tool)))
    elif tool.is_counting():
        call.say(f"{len(tool.threads())} thread(s) running.")
    else:
        call.say("No status available as instrumentation is switched off")


def _numbers(values: Sequence[int]) -> str:
    return " ".join(map(str, values))


def _internal(tool: Tool) -> list[str]:
    """``key: value`` lines, which ``callgrind_control`` reads."""
    if not tool.is_counting():
        return ["instrumentation: off"]
    threads = tool.threads()
    now = tool.so_far()
    rows = list(now.rows())
    calls = [row for row in rows if row[5] == lib.CG_CALLS]
    statistics = ffi.new("struct ip_service_stats *")
    lib.ip_service_get_stats(statistics)
    names = now.raw.names
    functions = {(names[at].function, names[at].entry) for at in range(now.raw.n_names)}
    lines = [
        "instrumentation: on",
        f"executed-bbs: {now.raw.n_blocks}",
        f"executed-calls: {sum(row[2] for row in calls)}",
        f"distinct-bbs: {statistics.blocks}",
        f"distinct-calls: {len(calls)}",
        f"distinct-functions: {len(functions)}",
        f"distinct-contexts: {now.raw.n_names}",
        f"events: {' '.join(tool.writer.events)}",
        f"part: {tool.part - 1}",
        f"threads: {_numbers(threads)}",
        f"current-tid: {threads[0] if threads else 1}",
    ]
    for thread in threads:
        lines += _thread(tool, thread)
    return lines


def _thread(tool: Tool, thread: int) -> list[str]:
    """Of each frame who is in it, and what is known of the call to the next one."""
    counts: Counts = tool.so_far(thread)
    frames = tool.frames(thread)[::-1]
    lines = [f"events-{thread}: {_numbers(counts.totals())}", f"frames-{thread}: {len(frames)}"]
    for at, frame in enumerate(frames):
        lines.append(f"calls-{thread}-{at}: {frame.calls}")
        lines.append(f"events-{thread}-{at}: {_numbers(frame.costs)}")
        lines.append(f"function-{thread}-{at + 1}: {frame.name}")
    return lines


COMMANDS = Commands(
    (
        Command("dump", _dump, ("  dump [<dump_hint>]", "        dump counters")),
        Command("zero", _zero, ("  zero", "        zero counters")),
        Command("status", _status, ("  status", "        print status")),
        Command(
            "instrumentation",
            _instrumentation,
            (
                "  instrumentation [on|off]",
                "        get/set (if on/off given) instrumentation state",
            ),
        ),
    ),
    ("dump", "zero", "status", "instrumentation"),
)
