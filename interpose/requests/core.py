"""Core client requests that need the supervisor (docs/spec/client-requests.md section 3)."""

from __future__ import annotations

from interpose.jit._native import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from interpose.report.stack import Stack
    from interpose.supervisor.main import Supervisor


def _string(supervisor: Supervisor, addr: int) -> str:
    data = supervisor.client.read_string(addr)
    return (data or b"").decode("utf-8", "surrogateescape")


def request_stack(supervisor: Supervisor, slot: Any) -> Stack:
    """The stack of the requesting thread.

    Where the call stack is kept, the runtime put the raw trace behind the six words.
    """
    from interpose.jit._native import ffi

    raw = ffi.unpack(ffi.cast("uint64_t *", slot.data), slot.len // 8)[6:]
    return supervisor.resolver.normalise(raw or supervisor.unwind(slot))


def _stack(supervisor: Supervisor, slot: Any) -> list[str]:
    from interpose.report.text import stack_lines

    return stack_lines(supervisor.resolver, request_stack(supervisor, slot))


def _printf(supervisor: Supervisor, slot: Any, words: Sequence[int], _default: int) -> int:
    from interpose.requests.printf import format_va_list

    text = format_va_list(supervisor.client, words[1], words[2])
    sink = supervisor.xml_sink
    if sink is None:
        supervisor.log.client(text)
    if supervisor.json is not None or sink is not None:
        wants_stack = words[0] == lib.INTERPOSE_RQ_PRINTF_BACKTRACE_VALIST_BY_REF
        stack = request_stack(supervisor, slot) if wants_stack else None
        tid = supervisor.client.thread_of(slot)
        name = supervisor.thread_names.get(tid)
        if supervisor.json is not None:
            supervisor.json.client_message(tid, name, text, supervisor.resolver, stack)
        if sink is not None:
            sink.client_message(tid, name, text, stack)
    return len(text.encode("utf-8", "surrogateescape"))


def _report_mark(supervisor: Supervisor, slot: Any, words: Sequence[int], default: int) -> int:
    if supervisor.json is None:
        return default
    text = _string(supervisor, words[1])
    supervisor.json.mark(text, supervisor.tool.repeats())
    return 1


def _printf_backtrace(supervisor: Supervisor, slot: Any, words: Sequence[int], default: int) -> int:
    count = _printf(supervisor, slot, words, default)
    if supervisor.xml_sink is None:
        supervisor.log.flush()
        supervisor.log.plain("\n".join(_stack(supervisor, slot)))
    return count


def _printf_by_value(supervisor: Supervisor, slot: Any, words: Sequence[int], default: int) -> int:
    supervisor.log.plain(
        "This program was built with a valgrind.h whose VALGRIND_PRINTF passes its arguments by value,\n"
        "which does not work on this platform; build it again with a newer header."
    )
    return default


def _get_toolname(supervisor: Supervisor, slot: Any, words: Sequence[int], default: int) -> int:
    name = supervisor.config.tool_name.encode()
    supervisor.answer_bytes(slot, words[1], name[: max(0, words[2] - 1)] + b"\0" if words[2] else b"")
    return len(name) + 1


def _map_ip_to_srcloc(supervisor: Supervisor, slot: Any, words: Sequence[int], default: int) -> int:
    frame = supervisor.symbolizer.lookup(words[1])[0]
    text = f"{frame.file[:49]}:{frame.line}".encode() if frame.file and frame.line else b""
    supervisor.answer_bytes(slot, words[2], text[:63] + b"\0")
    slot.r[3] = lib.IP_ANSWER_STANDS
    return 0


def _add_ifunc_target(supervisor: Supervisor, slot: Any, words: Sequence[int], default: int) -> int:
    supervisor.objects.ifunc_resolved(words[1], words[2])
    return 0


def _clo_change(supervisor: Supervisor, slot: Any, words: Sequence[int], default: int) -> int:
    from interpose.supervisor.reconfigure import change_option

    fatal = change_option(supervisor, _string(supervisor, words[1]))
    if fatal is not None:
        supervisor.stop_client(slot, fatal.exit_code)
        slot.r[3] = lib.IP_ANSWER_ENDS
    return default


def _count_errors(supervisor: Supervisor, slot: Any, words: Sequence[int], default: int) -> int:
    slot.r[3] = lib.IP_ANSWER_STANDS
    return supervisor.tool.count_errors()


def _gdb_monitor_command(supervisor: Supervisor, slot: Any, words: Sequence[int], default: int) -> int:
    from interpose.gdb.monitor import execute

    text = _string(supervisor, words[1])
    return 0 if execute(supervisor, text, supervisor.log.unmarked, by_program=True) else 1


_ANSWERS: dict[int, Callable[[Supervisor, Any, Sequence[int], int], int]] = {
    lib.INTERPOSE_RQ_GET_TOOLNAME: _get_toolname,
    lib.INTERPOSE_RQ_COUNT_ERRORS: _count_errors,
    lib.INTERPOSE_RQ_GDB_MONITOR_COMMAND: _gdb_monitor_command,
    lib.INTERPOSE_RQ_CLO_CHANGE: _clo_change,
    lib.INTERPOSE_RQ_REPORT_MARK: _report_mark,
    lib.INTERPOSE_RQ_PRINTF: _printf_by_value,
    lib.INTERPOSE_RQ_PRINTF_BACKTRACE: _printf_by_value,
    lib.INTERPOSE_RQ_PRINTF_VALIST_BY_REF: _printf,
    lib.INTERPOSE_RQ_PRINTF_BACKTRACE_VALIST_BY_REF: _printf_backtrace,
    lib.INTERPOSE_RQ_MAP_IP_TO_SRCLOC: _map_ip_to_srcloc,
    lib.INTERPOSE_RQ_INTERNAL_PRINTF_VALIST_BY_REF: _printf,
    lib.INTERPOSE_RQ_ADD_IFUNC_TARGET: _add_ifunc_target,
}


_unhandled: set[int] = set()  # those named so far


def answer(supervisor: Supervisor, slot: Any, words: Sequence[int], default: int) -> int:
    """The result of a request; its default if nobody knows it (named under ``-v``)."""
    code = words[0]
    known = _ANSWERS.get(code)
    if known is not None:
        return known(supervisor, slot, words, default)
    result = supervisor.tool.request(slot, words, default)
    if result is not None:
        return result
    if supervisor.config.core.verbosity > 1 and code not in _unhandled:
        _unhandled.add(code)
        tool = "".join(chr(code >> shift & 0xFF) for shift in (24, 16))
        owner = f" of tool '{tool}'" if tool.isalnum() and tool.isascii() else ""
        supervisor.log.plain(
            f"Warning: unhandled client request: 0x{code:x}{owner}; its default answer is given"
        )
    slot.r[3] = lib.IP_ANSWER_NONE  # the runtime need not ask again
    return default
