"""Queries and settings: ``q``, ``Q``, and what is read in parts (``qXfer``)."""

from __future__ import annotations

import os
import struct
from signal import SIGTRAP
from xml.sax.saxutils import quoteattr

from interpose.gdb.packets import FEATURES, MUTUAL, OK, PACKET_SIZE
from interpose.jit._native import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from interpose.gdb.server import Server
    from interpose.gdb.threads import Thread


_SIGINFO = struct.Struct("<3i4xQ104x")  # signo, errno, code, the address of a fault
_TRAPS = {
    lib.IP_DBG_BREAK: (0x80, False),  # SI_KERNEL
    lib.IP_DBG_STEPPED: (2, True),  # TRAP_TRACE
    lib.IP_DBG_WATCHED: (4, True),  # TRAP_HWBKPT
}
"""What the kernel tells a debugger of such stops: SIGTRAP's code, and whether the pc is its address."""


def supported(server: Server, rest: bytes) -> bytes:
    """``qSupported``."""
    theirs = rest.lstrip(b":").split(b";")
    server.multiprocess = b"multiprocess+" in theirs
    server.swbreak = b"swbreak+" in theirs
    server.follows_exec = b"exec-events+" in theirs
    forks = server.multiprocess and b"fork-events+" in theirs
    vforks = server.multiprocess and b"vfork-events+" in theirs
    server.forks = forks * lib.IP_DBG_FORKS | vforks * lib.IP_DBG_VFORKS
    without = () if server.multiprocess else (b"fork-events+", b"vfork-events+")
    mutual = (feature for feature in MUTUAL if feature in theirs and feature not in without)
    return b";".join((*FEATURES, *mutual))


def no_acknowledgments(server: Server, rest: bytes) -> bytes | None:
    """``QStartNoAckMode``: this reply is the last one that is acknowledged."""
    server.stop_acknowledging()
    return None


def attached(server: Server, rest: bytes) -> bytes:
    """``qAttached``: the program was there before, and stays when gdb leaves."""
    return b"1"


def current_thread(server: Server, rest: bytes) -> bytes:
    """``qC``."""
    return b"QC" + server.thread_id(server.current().tid)


def _present(server: Server) -> list[Thread]:
    """The threads that have not ended: one may wait for the answer to that."""
    return [thread for thread in server.debugger.threads() if thread.why != lib.IP_DBG_EXITED]


def first_threads(server: Server, rest: bytes) -> bytes:
    """``qfThreadInfo``: as many as a packet holds; ``qsThreadInfo`` has the rest."""
    server.look_at()
    server.threads_left = [server.thread_id(thread.tid) for thread in _present(server)]
    for child in server.children.values():
        answer = child.ask(b"qfThreadInfo")
        server.threads_left += answer[1:].split(b",") if answer.startswith(b"m") else []
    return more_threads(server, rest)


def more_threads(server: Server, rest: bytes) -> bytes:
    """``qsThreadInfo``."""
    part, size = [], 1
    while server.threads_left and size + len(server.threads_left[0]) + 1 < PACKET_SIZE:
        size += len(server.threads_left[0]) + 1
        part.append(server.threads_left.pop(0))
    return b"m" + b",".join(part) if part else b"l"


def extra_info(server: Server, rest: bytes) -> bytes:
    """``qThreadExtraInfo``: our number of the thread, its name, where it is."""
    thread = server.thread(server.parse_thread(rest))
    if thread is None:
        return b"E03"
    return server.describe(thread).encode("utf-8", "replace").hex().encode()


def symbols(server: Server, rest: bytes) -> bytes:
    """``qSymbol``: gdb offers to look up a symbol, or has looked one up."""
    from interpose.gdb.tls import MODULE_FIELD

    value, _, name = rest.partition(b":")
    if name and bytes.fromhex(name.decode("ascii")) == MODULE_FIELD:
        server.tls_field = int(value, 16) if value else 0
        return OK
    return OK if server.tls_field else b"qSymbol:" + MODULE_FIELD.hex().encode()


def tls_address(server: Server, rest: bytes) -> bytes:
    """``qGetTLSAddr:THREAD,OFFSET,LINK_MAP``."""
    from interpose.gdb.tls import address

    who, offset, link_map = rest.split(b",")
    thread = server.thread(server.parse_thread(who))
    if thread is None:
        return b"E03"
    if not server.tls_field:
        return b"E01"
    client = server.supervisor.client
    found = address(client, thread, server.tls_field, int(offset, 16), int(link_map, 16))
    return b"E01" if found is None else b"%x" % found


def catch_syscalls(server: Server, rest: bytes) -> bytes:
    """``QCatchSyscalls:1[;NUMBER]…`` or ``:0``."""
    header = server.supervisor.client.header
    on, *numbers = rest.split(b";")
    wanted = {int(number, 16) for number in numbers}
    if on not in (b"0", b"1") or any(not 0 <= number < 512 for number in wanted):
        raise ValueError
    for word in range(8):
        header.debug_calls[word] = 0 if wanted else (1 << 64) - 1
    for number in wanted:
        header.debug_calls[number // 64] |= 1 << number % 64
    if on == b"1":
        header.debug |= lib.IP_DBG_CATCH
    else:
        header.debug &= ~lib.IP_DBG_CATCH
    return OK


def thread_events(server: Server, rest: bytes) -> bytes:
    """``QThreadEvents:1`` or ``:0``."""
    if rest not in (b"0", b"1"):
        raise ValueError
    server.debugger.tell_of_threads(rest == b"1")
    return OK


def pass_signals(server: Server, rest: bytes) -> bytes:
    """``QPassSignals:SIGNAL…``: these go to the program without a stop."""
    from interpose.gdb.signals import from_gdb

    mask = 0
    for number in filter(None, rest.split(b";")):
        if signal := from_gdb(int(number, 16)):
            mask |= 1 << (signal - 1)
    server.debugger.pass_signals(mask)
    return OK


def command(server: Server, rest: bytes) -> bytes:
    """``qRcmd``: a command of the monitor, which stops the program as long as it takes."""
    from interpose.gdb import monitor

    text = bytes.fromhex(rest.decode("ascii")).decode("utf-8", "surrogateescape")
    monitor.execute(server.supervisor, text, server.write)
    return OK


# -- qXfer ---------------------------------------------------------------------------------------


def _features(server: Server, annex: bytes) -> bytes | None:
    return server.target.xml() if annex == b"target.xml" else None


def _auxv(server: Server, annex: bytes) -> bytes | None:
    try:
        with open(f"/proc/{server.supervisor.client.pid}/auxv", "rb") as file:
            return file.read()
    except OSError:
        return None


def program_path(server: Server) -> bytes:
    """The file of the program."""
    return os.path.abspath(bytes(ffi.string(server.supervisor.client.header.prog)))


def _exec_file(server: Server, annex: bytes) -> bytes | None:
    if annex and int(annex, 16) != server.supervisor.client.pid:
        return None
    return program_path(server)


def linker_lists(server: Server, rest: bytes) -> bytes:
    """``qShlibInfoAddr``, lldb's: where the address of ``r_debug`` is; it would take ``main-lm`` for that."""
    from interpose.gdb.libraries import debug_field

    at = debug_field(server.supervisor.client, _auxv(server, b"") or b"")
    return b"%x" % at if at else b""  # an error's digits would be an address to lldb


def _libraries(server: Server, annex: bytes) -> bytes | None:
    from interpose import paths
    from interpose.gdb.libraries import Own, document

    stubs = server.supervisor.objects.stubs()
    own = None if stubs is None else Own(paths.symbols(stubs[0]), stubs[1])
    return document(server.supervisor.client, _auxv(server, b"") or b"", annex, own)


def _siginfo(server: Server, annex: bytes) -> bytes | None:
    thread = server.current()
    if thread.why == lib.IP_DBG_SIGNAL:
        return bytes(ffi.buffer(thread.state.siginfo))
    code, tells_pc = _TRAPS.get(thread.why, (None, False))
    if code is None:
        return bytes(_SIGINFO.size)
    return _SIGINFO.pack(SIGTRAP, 0, code, thread.pc if tells_pc else 0)


def _threads(server: Server, annex: bytes) -> bytes | None:
    server.look_at()
    lines = ['<?xml version="1.0"?>', "<threads>"]
    for thread in _present(server):
        name = quoteattr(server.name(thread))
        text = server.describe(thread).replace("&", "&amp;").replace("<", "&lt;")
        lines.append(f'<thread id="{server.thread_id(thread.tid).decode()}" name={name}>{text}</thread>')
    own = "\n".join(lines).encode("utf-8", "replace")
    others = [child.threads() for child in server.children.values()]
    return b"\n".join((own, *others, b"</threads>"))


_OBJECTS: dict[bytes, Callable[[Server, bytes], bytes | None]] = {
    b"features": _features,
    b"auxv": _auxv,
    b"exec-file": _exec_file,
    b"libraries-svr4": _libraries,
    b"siginfo": _siginfo,
    b"threads": _threads,
}


def transfer(server: Server, rest: bytes) -> bytes:
    """``qXfer:OBJECT:read:ANNEX:OFFSET,LENGTH``, ``qXfer:siginfo:write::OFFSET:DATA``."""
    name, _, rest = rest.partition(b":")
    operation, _, rest = rest.partition(b":")
    if operation == b"write" and name == b"siginfo":
        return _set_siginfo(server, rest)
    if operation != b"read" or name not in _OBJECTS:
        return b""
    annex, _, where = rest.rpartition(b":")
    offset, length = (int(word, 16) for word in where.split(b","))
    if offset < 0 or length < 0:
        raise ValueError
    if offset == 0 or server.transferred[0] != (name, annex):  # its parts belong together
        server.transferred = (name, annex), _OBJECTS[name](server, annex)
    data = server.transferred[1]
    if data is None:
        return b"E00"
    part = data[offset : offset + min(length, PACKET_SIZE // 2)]
    return (b"m" if offset + len(part) < len(data) else b"l") + part


def _set_siginfo(server: Server, rest: bytes) -> bytes:
    _, _, rest = rest.partition(b":")  # no annex
    where, _, data = rest.partition(b":")
    offset = int(where, 16)
    thread = server.current()
    if thread.why != lib.IP_DBG_SIGNAL or offset < 0 or offset + len(data) > 128:
        return b"E01"
    ffi.memmove(thread.state.siginfo + offset, data, len(data))
    return b"%x" % len(data)


QUERIES: tuple[tuple[bytes, Callable[[Server, bytes], bytes | None], bool], ...] = (
    (b"qSupported", supported, False),
    (b"QStartNoAckMode", no_acknowledgments, False),
    (b"qAttached", attached, False),
    (b"qC", current_thread, True),
    (b"qfThreadInfo", first_threads, True),
    (b"qsThreadInfo", more_threads, True),
    (b"qThreadExtraInfo,", extra_info, True),
    (b"qSymbol:", symbols, False),
    (b"qGetTLSAddr:", tls_address, True),
    (b"QCatchSyscalls:", catch_syscalls, True),
    (b"QPassSignals:", pass_signals, True),
    (b"QThreadEvents:", thread_events, True),
    (b"qRcmd,", command, False),
    (b"qXfer:", transfer, True),
    (b"qShlibInfoAddr", linker_lists, True),
)
"""Prefix, handler, whether the program has to stand still."""
