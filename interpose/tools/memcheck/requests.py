"""Memcheck's client requests that need the supervisor (docs/spec/client-requests.md section 4)."""

from __future__ import annotations

from itertools import pairwise

from interpose.jit._native import lib
from interpose.plain import suppress
from interpose.report.text import stack_lines

from .leak import State
from .loss import Delta, LeakOptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from dataclasses import replace
    from typing import Any

    from .tool import Tool
else:
    from interpose.records import replace

_DELTAS = (Delta.ANY, Delta.INCREASED, Delta.CHANGED, Delta.NEW)


def _leak_check(tool: Tool, slot: Any, words: Sequence[int]) -> int:
    """DO_LEAK_CHECK: mode (0 full, 1 summary), delta; others are told, and taken for a full search of all."""
    if words[1] > 1:
        tool.log.plain("Warning: unknown memcheck leak search mode")
    if words[2] >= len(_DELTAS):
        tool.log.plain("Warning: unknown memcheck leak search deltamode")
    tid = tool.supervisor.client.thread_of(slot)
    options = replace(
        tool.leak_options(),
        full=words[1] != 1,
        delta=_DELTAS[words[2]] if words[2] < len(_DELTAS) else Delta.ANY,
        tid=tid,
        thread_name=tool.supervisor.thread_names.get(tid),
    )
    supervisor = tool.supervisor
    is_alone = len(list(supervisor.client.slots())) < 2
    # What a running thread holds in registers is seen nowhere.
    with suppress() if is_alone else supervisor.debugger.standstill():
        tool.space.forget()
        _search(tool, options)
    if tool.errors.must_exit:
        tool.supervisor.stop_client(slot, tool.config.core.error_exitcode)
        slot.r[3] = lib.IP_ANSWER_ENDS
    return 0


def _search(tool: Tool, options: LeakOptions) -> None:
    """With its summary in XML, as the one at the end has it."""
    blocks, xml = tool.live_blocks(), tool.supervisor.xml_sink
    if xml is None or xml.protocol < 6 or tool.config.core.verbosity < 1:
        tool.leaks.run(blocks, tool.space, options)
        return
    from .summary import all_freed_node, leak_summary_node

    xml.element(all_freed_node(blocks))
    tool.leaks.run(blocks, tool.space, options)
    if blocks:
        xml.element(leak_summary_node(tool.leaks, options.delta is not Delta.ANY))


def _counts(tool: Tool, attribute: str) -> list[int]:
    totals = tool.leaks.totals
    lost = [getattr(totals[state], attribute) for state in (State.DEFINITE, State.INDIRECT)]
    return [
        sum(lost),
        getattr(totals[State.POSSIBLE], attribute),
        getattr(totals[State.REACHABLE], attribute),
        getattr(tool.leaks.suppressed, attribute),
    ]


def _store_counts(tool: Tool, slot: Any, words: Sequence[int], attribute: str) -> int:
    for addr, value in zip(words[1:5], _counts(tool, attribute), strict=True):
        tool.supervisor.answer_word(slot, addr, value)
    slot.r[3] = lib.IP_ANSWER_STANDS
    return 0


def _bad_pool(tool: Tool, number: int) -> None:
    """Overlapping chunks of a memory pool, in Valgrind's words."""
    say = tool.log.plain
    chunks = tool.reader.pool_chunks(number)
    for place, (chunk, successor) in enumerate(pairwise(chunks), 1):
        if chunk.end > successor.addr:
            say(f"Mempool chunk {place} / {len(chunks)} overlaps with its successor")
    say(f"Bad mempool ({len(chunks)} chunks), dumping chunks for inspection:")
    for place, chunk in enumerate(chunks, 1):
        extent = f"{chunk.size} bytes [{chunk.addr:x},{chunk.end:x})"
        say(f"Mempool chunk {place} / {len(chunks)}: {extent}, allocated:")
        for line in stack_lines(tool.resolver, chunk.alloc_stack or ()):
            say(line)


def answer(tool: Tool, slot: Any, words: Sequence[int], default: int) -> int | None:
    """The result of a request, None if it is not memcheck's."""
    number = words[0]
    if number == lib.INTERPOSE_RQ_MC_DO_LEAK_CHECK:
        return _leak_check(tool, slot, words)
    if number == lib.INTERPOSE_RQ_MC_COUNT_LEAKS:
        return _store_counts(tool, slot, words, "bytes")
    if number == lib.INTERPOSE_RQ_MC_COUNT_LEAK_BLOCKS:
        return _store_counts(tool, slot, words, "blocks")
    if number == lib.INTERPOSE_RQ_MC_IGNORED_BY_OPTION:
        tool.supervisor.answer_bytes(slot, 0, tool.ignored_by_option())
        return default
    if number == lib.IP_HR_BAD_POOL:
        _bad_pool(tool, words[1])
        return default
    if number >> 16 == lib.INTERPOSE_RQ_MC_MAKE_MEM_NOACCESS >> 16:
        if number not in tool.unknown_requests:
            tool.unknown_requests.add(number)
            tool.log.plain(f"Warning: unknown memcheck client request code {number:x}")
        return default
    return None
