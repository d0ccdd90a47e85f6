"""How the program goes on: ``vCont``, and ``c``, ``s``, ``C`` and ``S`` of debuggers that do not know it."""

from __future__ import annotations

from interpose.gdb import signals
from interpose.gdb.packets import Refused
from interpose.jit._native import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interpose.gdb.server import Server
    from interpose.gdb.threads import Thread


def vcont(server: Server, rest: bytes) -> bytes | None:
    """``vCont;ACTION[:THREAD]…``: for each thread the first action that names it."""
    actions = []
    for part in rest.split(b";"):
        action, _, who = part.partition(b":")
        actions.append((how(action), server.parse_thread(who) if who else -1))

    def plan(thread: Thread) -> tuple[int, int, tuple[int, int]] | None:
        for wanted, tid in actions:
            if tid in (-1, 0, thread.tid):
                return wanted
        return None

    return server.resume(plan)


def how(action: bytes) -> tuple[int, int, tuple[int, int]]:
    """An action of ``vCont``: ``IP_DBG_GO_*``, signal, range."""
    kind, rest = action[:1], action[1:]
    if kind in (b"c", b"C", b"s", b"S"):
        signal = signals.from_gdb(int(rest, 16)) if kind in (b"C", b"S") else 0
        go = lib.IP_DBG_GO_STEP if kind in (b"s", b"S") else lib.IP_DBG_GO
        return go, signal, (0, 0)
    if kind == b"r":
        low, high = (int(end, 16) for end in rest.split(b","))
        if low >= 1 << 64 or high >= 1 << 64:
            raise Refused(1)
        return lib.IP_DBG_GO_RANGE if high > low else lib.IP_DBG_GO_STEP, 0, (low, high)
    raise Refused(1)


def _resume_one(server: Server, go: int, signal: int, at: bytes) -> bytes | None:
    """``c`` and its like: the thread that ``H c`` chose, or all, from ``at`` if it is given."""
    chosen = server.resuming
    current = server.thread(chosen) if chosen > 0 else server.thread()
    if current is None:
        raise Refused(3)
    if at:
        register = server.target.registers[server.target.by_name["rip"]]
        current.write(register, int(at, 16).to_bytes(8, "little"))

    def plan(thread: Thread) -> tuple[int, int, tuple[int, int]] | None:
        if thread.tid == current.tid:
            return go, signal, (0, 0)
        return None if chosen > 0 else (lib.IP_DBG_GO, 0, (0, 0))

    return server.resume(plan)


def go_on(server: Server, rest: bytes) -> bytes | None:
    """``c [ADDR]``."""
    return _resume_one(server, lib.IP_DBG_GO, 0, rest)


def step(server: Server, rest: bytes) -> bytes | None:
    """``s [ADDR]``."""
    return _resume_one(server, lib.IP_DBG_GO_STEP, 0, rest)


def go_on_with_signal(server: Server, rest: bytes) -> bytes | None:
    """``C SIG[;ADDR]``."""
    number, _, at = rest.partition(b";")
    return _resume_one(server, lib.IP_DBG_GO, signals.from_gdb(int(number, 16)), at)


def step_with_signal(server: Server, rest: bytes) -> bytes | None:
    """``S SIG[;ADDR]``."""
    number, _, at = rest.partition(b";")
    return _resume_one(server, lib.IP_DBG_GO_STEP, signals.from_gdb(int(number, 16)), at)
