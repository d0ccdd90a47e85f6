"""The monitor commands that look at the engine itself (``help debug``)."""

from __future__ import annotations

import os

from interpose.jit._native import lib

from .table import Command, line
from .words import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interpose.elf.cfi import Row

    from .table import Call

_REGISTERS = "AX DX CX BX SI DI BP SP R8 R9 R10 R11 R12 R13 R14 R15".split()  # by DWARF number


def _sanity(call: Call) -> None:
    """What must hold whatever the program does: silence, or a line for each thing that does not."""
    header = call.supervisor.client.header
    if header.magic != lib.IP_MAGIC or header.build != lib.ip_build_id():
        call.say("the channel's head is damaged")
    for problem in call.supervisor.tool.insane():
        call.say(problem)


# -- gdbserver -----------------------------------------------------------------------------------------------


def _gdbserver_status(call: Call) -> None:
    supervisor = call.supervisor
    fifos = supervisor.fifos
    written, seen, calls = fifos.counts() if fifos is not None else (0, 0, 0)
    call.log.plain(
        f"shared->written_by_vgdb {written} shared->seen_by_valgrind {seen}\n"
        f"nr of calls to gdbserver: {calls}\n"
        f"gdbserved addresses {len(supervisor.debugger.breaks)}\n"
        f"watchpoints {supervisor.client.header.debug_n_watched}\n"
        f"vgdb-error {supervisor.config.core.vgdb_error}\n"
        f"hostvisibility {'yes' if supervisor.host_visible else 'no'}"
    )


def _hostvisibility(call: Call) -> None:
    supervisor = call.supervisor
    wanted = True
    if call.words:
        try:
            wanted = call.words.choice(("yes", "no")) == "yes"
        except Refused as reason:
            call.tell(str(reason))
            wanted = False
    supervisor.host_visible = wanted
    if not wanted:
        call.tell("Disabled access to Valgrind memory/status by GDB")
        return
    from interpose import paths

    call.tell("Enabled access to Valgrind memory/status by GDB")
    call.tell("If not yet done, tell GDB which valgrind file(s) to use, typically:")
    call.tell(f"add-symbol-file {paths.runtime(supervisor.config.tool_name)} 0x{lib.IP_RT_BASE:x}")


def _debuglog(call: Call) -> None:
    level = call.words.integer()
    old, call.supervisor.debug_level = call.supervisor.debug_level, level
    call.say(f"debuglog value changed from {old} to {level}")


# -- memory --------------------------------------------------------------------------------------------------


def _resident(pid: int | str) -> int:
    """Bytes of a process's memory that are in use."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
    except (OSError, IndexError):
        return 0


def _memory(call: Call) -> None:
    client = call.supervisor.client
    call.say(f"  {_resident(client.pid):,} bytes of the program's process are in memory.")
    meta = client.read_struct("struct ip_meta", lib.IP_META_BASE)
    lines = [f"supervisor: {_resident('self'):>14,} bytes in memory"]
    if meta is not None:
        lines += [
            f"code cache: {meta.cache_used + meta.cold_used:>14,}/{lib.IP_CACHE_MAX:,} bytes used/room",
            f"blocks    : {meta.n_blocks:>14,} {meta.n_exits:,} exits",
        ]
    call.log.debug("\n".join(lines))
    if call.words and call.words.choice(("aspacemgr",)):
        _segments(call)


def _segments(call: Call) -> None:
    """The mappings of the whole process, ours included; to the log, whoever asks."""
    try:
        with open(
            f"/proc/{call.supervisor.client.pid}/maps", encoding="utf-8", errors="surrogateescape"
        ) as file:
            text = file.read().rstrip("\n")
    except OSError as error:
        raise Refused(f"the mappings cannot be read: {error.strerror}") from None
    log = call.log
    sink, log.sink = log.sink, None
    log.debug(text)
    log.sink = sink


def _exectxt(call: Call) -> None:
    from interpose.report.text import stack_lines

    head = "   exectx: "
    call.log.debug(f"{head}Printing contexts stacktraces")
    count = frames = 0
    for number, stack in call.supervisor.tool.recorded_stacks():
        call.log.debug(f"{head}stacktrace ecu {number} epoch 0 n_ips {len(stack)}")
        call.log.plain("\n".join(stack_lines(call.supervisor.resolver, stack)))
        count, frames = count + 1, frames + len(stack)
    call.log.debug(f"{head}Printed {count} contexts stacktraces")
    call.log.debug(f"{head}{count:,} contexts (avg {frames / max(count, 1):.2f} IP per context)")


def _stats(call: Call) -> None:
    call.log.debug("\n".join(call.supervisor.tool.stats()))


# -- threads -------------------------------------------------------------------------------------------------


def _scheduler(call: Call) -> None:
    from interpose.report.text import stack_lines
    from interpose.supervisor.threads import threads_now

    supervisor = call.supervisor
    threads = threads_now(supervisor)
    running = next((thread.number for thread in threads if thread.syscall < 0), 0)
    # The host's stack is that of the supervisor, which is another process.
    call.say("\nhost stacktrace:\n\nsched status:")
    call.say(f"  running_tid={running}")
    for thread in threads:
        state = f"VgTs_WaitSys syscall {thread.syscall}" if thread.syscall >= 0 else "VgTs_Runnable"
        call.say(f"\nThread {thread.number}: status = {state} (lwpid {thread.tid})")
        lines = stack_lines(supervisor.resolver, thread.stack)
        if lines:
            call.log.plain("\n".join(lines))
        if thread.hi:
            call.say(f"client stack range: [0x{thread.lo:X} 0x{thread.hi - 1:X}] client SP: 0x{thread.sp:X}")
        else:
            call.say(f"client stack range: ??????? client SP: 0x{thread.sp:X}")
        lo, hi, used = thread.own_stack
        if hi > lo:
            call.say(f"valgrind stack range: [0x{lo:X} 0x{hi - 1:X}] top usage: {used} of {hi - lo}")
    call.say("")


# -- code ----------------------------------------------------------------------------------------------------


def _sum(name: str, offset: int) -> str:
    return f"{name}+{offset}"


def _rule(row: Row, register: int) -> str | None:
    """Where the caller's value of a register is, in terms of this frame."""
    kind, value = row.rules.get(register, ("same", 0))
    if isinstance(value, bytes):
        text = f"{{{value.hex(' ')}}}"
        return f"*{text}" if kind == "expression" else text
    if kind == "offset":
        return f"*({_sum('cfa', value)})"
    if kind == "val_offset":
        return _sum("cfa", value)
    if kind == "register":
        return f"old{_REGISTERS[value]}" if value < len(_REGISTERS) else f"r{value}"
    return None if kind == "same" else "Undefined"


def _row_text(row: Row) -> str:
    if isinstance(row.cfa, bytes):
        cfa = f"{{{row.cfa.hex(' ')}}}"
    else:
        register, offset = row.cfa
        cfa = f"old{_REGISTERS[register]}+{offset}" if register < 16 else f"r{register}+{offset}"
    parts = [f"let cfa={cfa}", f"in RA={_rule(row, row.return_register) or 'Same'}", "SP=cfa+0"]
    parts.append(f"BP={_rule(row, 6) or 'Same'}")
    return " ".join(parts)


_MOST_CODE = 1 << 16


def _unwind(call: Call) -> None:
    addr, size = call.words.range()
    find = call.supervisor.symbolizer.frame_table
    end = addr + min(size, _MOST_CODE)
    start, text = addr, ""
    for at in range(addr, end):
        found = find(at)
        row = found[0].row(at - found[1]) if found is not None else None
        now = _row_text(row) if row is not None else "no CFI info"
        if at == addr:
            text = now
        elif now != text:
            call.say(f"[0x{start:x} .. 0x{at - 1:x}]: {text}")
            start, text = at, now
    if end > addr:
        call.say(f"[0x{start:x} .. 0x{end - 1:x}]: {text}")


def _translate(call: Call) -> None:
    """The stages that a bit is set for (as in --trace-flags), to the log."""
    from interpose.jit.stages import stages
    from interpose.supervisor.laststages import readable

    addr = call.words.address()
    flags = call.words.flags(0x20)
    supervisor = call.supervisor
    code = readable(supervisor, addr)
    if not code:
        raise Refused(f"there is no code at 0x{addr:x}")
    try:
        shown = stages(
            code,
            pc=addr,
            tool=supervisor.config.tool_name,
            flags=supervisor.client.header.config_flags,
        )
    except ValueError as error:
        raise Refused(str(error)) from None
    log = call.log
    sink, log.sink = log.sink, None
    # The highest of eight bits is the first stage; bit 5, the default, shows what the tool has added.
    for bit, (title, text) in zip((7, 6, 5, 4, 3, 2), shown, strict=True):
        if flags >> bit & 1:
            log.debug(f"==== {title} ====\n{text.rstrip()}")
    log.sink = sink


COMMANDS: tuple[Command, ...] = (
    Command(
        "v.do expensive_sanity_check_general",
        _sanity,
        (line("v.do   expensive_sanity_check_general", "do an expensive sanity check now"),),
        debug=True,
    ),
    Command(
        "v.info gdbserver_status",
        _gdbserver_status,
        (line("v.info gdbserver_status", "show gdbserver status"),),
        5,
        True,
    ),
    Command(
        "v.info memory",
        _memory,
        (
            line("v.info memory [aspacemgr]", "show valgrind heap memory stats"),
            "     (with aspacemgr arg, also shows valgrind segments on log output)",
        ),
        6,
        True,
    ),
    Command(
        "v.info exectxt",
        _exectxt,
        (line("v.info exectxt", "show stacktraces and stats of all execontexts"),),
        10,
        True,
    ),
    Command(
        "v.info scheduler",
        _scheduler,
        (line("v.info scheduler", "show valgrind thread state and stacktrace"),),
        7,
        True,
    ),
    Command(
        "v.info stats",
        _stats,
        (line("v.info stats", "show various valgrind and tool stats"),),
        8,
        True,
    ),
    Command(
        "v.info unwind",
        _unwind,
        (line("v.info unwind <addr> [<len>]", "show unwind debug info for <addr> .. <addr+len>"),),
        12,
        True,
    ),
    Command(
        "v.set debuglog",
        _debuglog,
        (line("v.set debuglog <level>", "set valgrind debug log level to <level>"),),
        2,
        True,
    ),
    Command(
        "v.set hostvisibility",
        _hostvisibility,
        (
            line("v.set hostvisibility [yes*|no]", "(en/dis)ables access by gdb/gdbserver to"),
            "    Valgrind internal host status/memory",
        ),
        7,
        True,
    ),
    Command(
        "v.translate",
        _translate,
        (
            "  v.translate <addr> [<traceflags>]  : debug translation of <addr> with <traceflags>",
            "    (default traceflags 0b00100000 : show after instrumentation)",
            "   An additional flag  0b100000000 allows one to show gdbserver instrumentation",
        ),
        debug=True,
    ),
)
