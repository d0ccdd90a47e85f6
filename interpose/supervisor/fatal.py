"""What is printed when the program dies by a signal, or the engine by a fault.

See docs/spec/output.md section 8.
"""

from __future__ import annotations

import _signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from interpose.errors import InternalError
    from interpose.report.xml import XmlSink
    from interpose.supervisor.main import Supervisor

# Not by the enumeration of ``signal``: that takes 2 ms to load, for which the dying program would wait.
_NAMES = {number: name for name, number in vars(_signal).items() if name.startswith("SIG") and name[3] != "_"}
_NAMES |= {_signal.SIGIO: "SIGIO"}  # of several names the last is the usual one, but SIGPOLL

_EVENTS: dict[tuple[int, int], str] = {
    (_signal.SIGSEGV, 1): "Access not within mapped region",
    (_signal.SIGSEGV, 2): "Bad permissions for mapped region",
    (_signal.SIGSEGV, 0x80): "General Protection Fault",
    (_signal.SIGILL, 1): "Illegal opcode",
    (_signal.SIGILL, 2): "Illegal operand",
    (_signal.SIGILL, 3): "Illegal addressing mode",
    (_signal.SIGILL, 4): "Illegal trap",
    (_signal.SIGILL, 5): "Privileged opcode",
    (_signal.SIGILL, 6): "Privileged register",
    (_signal.SIGILL, 7): "Coprocessor error",
    (_signal.SIGILL, 8): "Internal stack error",
    (_signal.SIGFPE, 1): "Integer divide by zero",
    (_signal.SIGFPE, 2): "Integer overflow",
    (_signal.SIGFPE, 3): "FP divide by zero",
    (_signal.SIGFPE, 4): "FP overflow",
    (_signal.SIGFPE, 5): "FP underflow",
    (_signal.SIGFPE, 6): "FP inexact",
    (_signal.SIGFPE, 7): "FP invalid operation",
    (_signal.SIGFPE, 8): "FP subscript out of range",
    (_signal.SIGBUS, 1): "Invalid address alignment",
    (_signal.SIGBUS, 2): "Non-existent physical address",
    (_signal.SIGBUS, 3): "Hardware error",
}
_WITH_ADDRESS = {_signal.SIGSEGV, _signal.SIGBUS, _signal.SIGILL, _signal.SIGFPE}


_DUMPING = frozenset(
    getattr(_signal, f"SIG{name}")
    for name in ("ABRT", "BUS", "FPE", "ILL", "QUIT", "SEGV", "SYS", "TRAP", "XCPU", "XFSZ")
)
"""Those whose default action is a core file (signal(7))."""


def _is_told_quietly(number: int, code: int) -> bool:
    """Whether a death is told after ``-q``, too: that of a fault, not of a signal that somebody sent."""
    sent = code & 1 << 31 or code & 0xFFFFFFFF == 0  # SI_USER is 0, SI_TKILL and the like are below
    return number in _DUMPING and not sent


def signal_name(number: int) -> str:
    """``SIGSEGV``, ``SIGRT3``."""
    name = _NAMES.get(number)
    if name is None:
        return f"SIGRT{number - 32}" if number >= 32 else f"SIG{number}"
    return "SIGRT2" if name == "SIGRTMIN" else "SIGRT32" if name == "SIGRTMAX" else name


def _stack_size_lines(supervisor: Supervisor) -> list[str]:
    return [
        " If you believe this happened as a result of a stack",
        " overflow in your program's main thread (unlikely but",
        " possible), you can try to increase the size of the",
        " main thread stack using the --main-stacksize= flag.",
        f" The main thread stack size used in this run was {supervisor.session.memory.header.main_stack}.",
    ]


def report_signal(supervisor: Supervisor, slot: Any) -> None:
    """The death of the program by a signal, wherever it is to be told, and once."""
    debugger = supervisor.debugger_or_none
    if slot.a[0] == _signal.SIGKILL or (debugger is not None and debugger.told_death):
        return  # the program's own will: nothing to explain
    sink = supervisor.xml_sink
    in_text = supervisor.config.core.verbosity > 0 or _is_told_quietly(slot.a[0], slot.a[1])
    if supervisor.json is None and sink is None and not in_text:
        return  # unwinding takes longer than a fork
    frames = _frames(supervisor, slot)
    if supervisor.json is not None:
        _fatal_to_json(supervisor, slot, frames)
    if sink is not None:
        _fatal_to_xml(supervisor, sink, slot, frames)
    elif in_text:
        lines = _fatal_lines(supervisor, slot.a[0], slot.a[1], slot.a[2], frames)
        supervisor.tool.fatal(lines, slot)


def _frames(supervisor: Supervisor, slot: Any) -> Sequence[int]:
    """The raw trace that came with a message; unwound where the runtime keeps no call stack, if it can be."""
    from interpose.jit._native import ffi, lib

    recorded = ffi.unpack(ffi.cast("uint64_t *", slot.data), slot.len // 8)
    if supervisor.client.header.config_flags & lib.IP_C_CALLSTACK:
        return recorded
    return supervisor.unwind(slot) or recorded


def _fatal_lines(
    supervisor: Supervisor, number: int, code: int, addr: int, frames: Sequence[int]
) -> list[str]:
    """The lines of a death by signal."""
    from interpose.report.text import stack_lines

    code &= 0xFFFFFFFF
    lines = ["", f"Process terminating with default action of signal {number} ({signal_name(number)})"]
    event = _EVENTS.get((number, code))
    if event is not None and number in _WITH_ADDRESS:
        if number == _signal.SIGSEGV and code == 0x80:
            lines.append(f" {event}")
        else:
            lines.append(f" {event} at address 0x{addr:X}")
    if frames:
        lines += stack_lines(supervisor.resolver, supervisor.resolver.normalise(frames))
    if number == _signal.SIGSEGV and code == 1:
        lines += _stack_size_lines(supervisor)
    return lines


def illegal_lines(supervisor: Supervisor, slot: Any) -> list[str]:
    """Of an instruction that is none, before its signal."""
    from interpose.report.text import stack_lines

    return [
        f"interpose: Unrecognised instruction at address 0x{slot.a[0]:x}.",
        *stack_lines(supervisor.resolver, supervisor.resolver.normalise(_frames(supervisor, slot))),
        "Your program just tried to execute an instruction that interpose",
        "did not recognise.  There are two possible reasons for this.",
        "1. Your program has a bug and erroneously jumped to a non-code",
        "   location.  If you just saw a warning about a bad jump, it's",
        "   probably your program's fault.",
        "2. The instruction is legitimate but interpose doesn't handle it,",
        "   i.e. it's interpose's fault.  If you think this is the case or",
        "   you are not sure, please let us know and we'll try to fix it.",
        "Either way, interpose will now raise a SIGILL signal which will",
        "probably kill your program.",
    ]


def _facts(
    supervisor: Supervisor, slot: Any
) -> tuple[int, str | None, int, str, int, str | None, int | None]:
    """Thread and its name, signal and its name, code, event, address."""
    number, code, address = slot.a[0], slot.a[1] & 0xFFFFFFFF, slot.a[2]
    event = _EVENTS.get((number, code))
    told = event is not None and number in _WITH_ADDRESS and not (number == _signal.SIGSEGV and code == 0x80)
    tid = supervisor.client.thread_of(slot)
    return (
        tid,
        supervisor.thread_names.get(tid),
        number,
        signal_name(number),
        code - (code >> 31 << 32),
        event if number in _WITH_ADDRESS else None,
        address if told else None,
    )


def _fatal_to_json(supervisor: Supervisor, slot: Any, frames: Sequence[int]) -> None:
    """The same for the report in JSON."""
    from interpose.report.jsonlines import stack_list

    report, resolver = supervisor.json, supervisor.resolver
    assert report is not None
    stack = stack_list(resolver.frames(resolver.normalise(frames)) if frames else ())
    report.fatal_signal(*_facts(supervisor, slot), stack)


def _fatal_to_xml(supervisor: Supervisor, sink: XmlSink, slot: Any, frames: Sequence[int]) -> None:
    """The same as an element; the hint about the stack's size has none, and is text."""
    sink.fatal_signal(*_facts(supervisor, slot), supervisor.resolver.normalise(frames))
    if slot.a[0] == _signal.SIGSEGV and slot.a[1] & 0xFFFFFFFF == 1:
        supervisor.log.plain("\n".join(_stack_size_lines(supervisor)))


def _newest_block() -> list[str]:
    from interpose.jit._native import ffi, lib

    buffer = ffi.new("char[]", 1 << 18)
    lib.ip_last_block(buffer, 1 << 18)
    text = ffi.string(buffer).decode("utf-8", "replace").rstrip("\n")
    return text.split("\n") if text else ["(none yet)"]


_REPORT = "Please report this with the lines above and the program's name and version."


def internal_lines(supervisor: Supervisor, key: int) -> list[str]:
    """What is added to an internal fault of the runtime: the block in its stages, how to report it."""
    from interpose.supervisor.laststages import block_lines

    lines = block_lines(supervisor, key) if key else []
    return [
        "",
        *(["The block, stage by stage:", *lines] if lines else ["The newest block:", *_newest_block()]),
        _REPORT,
    ]


def internal_fault(
    error: BaseException, supervisor: Supervisor | None = None, slot: Any = None
) -> InternalError:
    """An exception that nobody expected: what and where, the guest's pc and block, how to report it."""
    from interpose import __version__
    from interpose.errors import InternalError, internal_error
    from interpose.supervisor.stacktrace import guest_pc

    plain = internal_error(error)
    details = [*plain.details, f"interpose {__version__}, Python {platform()}"]
    block: list[str] = []
    if supervisor is not None:
        from interpose.supervisor.main import KINDS

        kind = KINDS.get(slot.kind, "?")
        state = supervisor.client.read_struct("struct tstate", slot.tstate) if slot.tstate else None
        pc = state.pc if state is not None else 0
        details.append(
            f"thread {slot.tid_guest} (task {slot.tid}) at guest pc 0x{guest_pc(pc):X} asked: {kind}, "
            + " ".join(f"0x{word:x}" for word in slot.a[0:4])
        )
        block = _block_lines(supervisor, pc)
    details += ["The block, stage by stage:", *block] if block else ["The newest block:", *_newest_block()]
    return InternalError(plain.message, *details, _REPORT)


def _block_lines(supervisor: Supervisor, pc: int) -> list[str]:
    from interpose.supervisor.laststages import block_lines

    try:
        return block_lines(supervisor, pc)
    except Exception:
        return []  # it may be part of what went wrong


def platform() -> str:
    """Version of Python, and the kernel's."""
    import os
    import sys

    return f"{sys.version.split()[0]}, Linux {os.uname().release}"
