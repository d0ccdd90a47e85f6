"""A thread of the program, as a debugger sees it: where it is held, its registers."""

from __future__ import annotations

import signal

from interpose.gdb.target import SSE, Place
from interpose.jit._native import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from interpose.gdb.target import Register
    from interpose.supervisor.client import Client

_MASK64 = (1 << 64) - 1
_XSTATE_BV = 512  # offset of the XSAVE header's bits of components that are there
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
_CALLS, _SYSCALL = 1024, b"\x0f\x05"
_STATUS_WORD = 1  # of the x87 control registers


def slot_index(slot: Any) -> int:
    """The number of a slot of the channel."""
    first = lib.ip_service_slot(0)
    return int(ffi.cast("char *", slot) - ffi.cast("char *", first)) // lib.IP_SLOT_SIZE


class Thread:
    """One thread.

    :ivar index: its slot in the channel.
    :ivar number: the small number that reports call it by.
    :ivar tid: the kernel's.
    :ivar held: whether it waits for the debugger's answer; else it runs, or could not be stopped.
    :ivar why: one of ``lib.IP_DBG_HELD`` and its like, where it waits.
    :ivar detail: what belongs to that: a signal, a system call, an address.
    :ivar kept: whether it stays where it is while others go on.
    :ivar met_at: the breakpoint that it has met, which is not told any more once one of them is elsewhere.
    :ivar go: how it is to go on, with ``signal`` and ``span``.
    """

    def __init__(self, client: Client, index: int, slot: Any) -> None:
        self._client = client
        self.slot = slot
        self.index = index
        self.number: int = slot.tid_guest
        self.tid: int = slot.tid
        self.held = self.kept = False
        self.met_at: int | None = None
        self.why: int = lib.IP_DBG_UNPARKED
        self.detail = 0
        self.go: int = lib.IP_DBG_GO
        self.signal = 0
        self.span = (0, 0)
        self._state: Any = None

    def hold(self) -> None:
        """It has asked, and waits."""
        self.held = True
        self.why, self.detail = self.slot.a[0], self.slot.a[1]
        self.go, self.signal, self.span = lib.IP_DBG_GO, 0, (0, 0)
        self._state = ffi.cast("struct ip_debug_state *", self.slot.data)
        self.met_at = self.pc if self.why == lib.IP_DBG_BREAK else None

    def doing(self) -> str:
        """``WaitSys`` of a thread that is in a system call, or stands at one, which it will make again."""
        if not self.held:
            return "WaitSys"
        stands = self.state.gpr[lib.IP_RAX] < _CALLS and self._client.read(self.pc, 2) == _SYSCALL
        return "WaitSys" if stands else "Runnable"

    def ending_signal(self) -> int:
        """A signal that has come while it waits, of those by which programs are ended; 0: none.

        The thread has taken the first one that came; those behind it wait in the kernel.
        """
        if self.why == lib.IP_DBG_SIGNAL and self.detail in _ENDING:
            return self.detail
        taken = self._client.read(self.slot.pending_sig, 4)
        number = int.from_bytes(taken or b"", "little")
        if number == 0 or number in _ENDING:
            return number
        try:
            with open(f"/proc/{self._client.pid}/task/{self.tid}/status", "rb") as file:
                lines = dict(line.split(b":\t", 1) for line in file if b":\t" in line)
            waiting = int(lines[b"SigPnd"], 16) | int(lines[b"ShdPnd"], 16)
        except (OSError, KeyError, ValueError):
            return 0
        return next((each for each in _ENDING if waiting >> (each - 1) & 1), 0)

    @property
    def state(self) -> Any:
        """``struct ip_debug_state *``: its registers. Of one that is not held, a copy of the general ones."""
        if self._state is None:
            state = ffi.new("struct ip_debug_state *")
            if (saved := self._client.read_struct("struct tstate", self.slot.tstate)) is not None:
                ffi.memmove(state.gpr, saved.gpr, ffi.sizeof("uint64_t[16]"))
                state.pc = saved.pc & lib.IP_KEY_PC
                state.rflags = saved.rflags
                state.fs_base, state.gs_base = saved.client_fs, saved.client_gs
            state.orig_rax = _MASK64
            self._state = state
        return self._state

    @property
    def pc(self) -> int:
        """Where it is."""
        return int(self.state.pc)

    def read(self, register: Register) -> bytes | None:
        """A register's bytes; None if it cannot be had."""
        if register.shadow:
            from interpose.gdb.shadow import read_shadow

            return read_shadow(self._client, self.slot.tstate, register, self.state.origins, self._x87_top())
        state = self.state
        match register.place:
            case Place.GPR:
                value = state.gpr[register.at]
            case Place.RIP:
                value = state.pc
            case Place.FLAGS:
                value = state.rflags
            case Place.SELECTOR:
                value = state.selectors[register.at]
            case Place.FS_BASE:
                value = state.fs_base
            case Place.GS_BASE:
                value = state.gs_base
            case Place.ORIG_RAX:
                value = state.orig_rax
            case Place.X87:
                value = self._x87(register.at)
            case _:
                where = self._vector_place(register)
                return None if where is None else bytes(ffi.buffer(state.xsave + where, register.size))
        return int(value & ((1 << register.bits) - 1)).to_bytes(register.size, "little")

    def write(self, register: Register, data: bytes) -> bool:
        """Set a register; false if it cannot be.

        A value is defined, at once: gdb, which gives back all registers after a call, writes what is
        undefined of them behind their values.
        """
        if not self.held:
            return False
        if register.shadow:
            from interpose.gdb.shadow import write_shadow

            tstate, origins = self.slot.tstate, self.state.origins
            return write_shadow(self._client, tstate, register, data, origins, self._x87_top())
        if not self._write_value(register, data):
            return False
        from interpose.gdb.shadow import define

        define(self._client, self.slot.tstate, register, self._x87_top())
        return True

    def _x87_top(self) -> int:
        return self._x87(_STATUS_WORD) >> 11 & 7

    def _write_value(self, register: Register, data: bytes) -> bool:
        state = self.state
        value = int.from_bytes(data, "little")
        match register.place:
            case Place.GPR:
                state.gpr[register.at] = value
                changed = register.at
            case Place.RIP:
                if value == state.pc:
                    return True
                state.pc = value
                changed = lib.IP_DBG_CHANGED_PC
            case Place.FLAGS:
                if value == state.rflags & 0xFFFFFFFF:
                    return True
                state.rflags = value
                changed = lib.IP_DBG_CHANGED_FLAGS
            case Place.FS_BASE:
                state.fs_base = value
                changed = lib.IP_DBG_CHANGED_BASES
            case Place.GS_BASE:
                state.gs_base = value
                changed = lib.IP_DBG_CHANGED_BASES
            case Place.SELECTOR:
                return bool(value == state.selectors[register.at])
            case Place.ORIG_RAX:
                return True  # which call is made again is the runtime's to know
            case Place.X87:
                self._set_x87(register.at, value)
                changed = lib.IP_DBG_CHANGED_XSAVE
            case _:
                where = self._vector_place(register)
                if where is None:
                    return False
                ffi.memmove(state.xsave + where, data, register.size)
                bit = {Place.ST: 0}.get(register.place, register.component)
                changed = lib.IP_DBG_CHANGED_XSAVE
                self._has_component(bit)
        state.changed |= 1 << changed
        return True

    def _has_component(self, bit: int) -> None:
        self.state.xsave[_XSTATE_BV + bit // 8] |= 1 << bit % 8

    def _vector_place(self, register: Register) -> int | None:
        """Offset in the XSAVE area."""
        if not self.held:
            return None
        if register.place is Place.ST:
            return 32 + 16 * register.at
        if register.component <= SSE:
            return register.at
        begin = self.state.at[register.component]
        return begin + register.at if begin else None

    # -- x87's control registers, in the layout of fxsave64 ---------------------------------------

    _X87_PLACES = ((0, 2), (2, 2), (4, 1), (12, 0), (8, 4), (20, 0), (16, 4), (6, 2))

    def _x87(self, which: int) -> int:
        if not self.held:
            return 0
        area = bytes(ffi.buffer(self.state.xsave, 160))
        if which == 2:
            return _full_tags(area)
        at, size = self._X87_PLACES[which]
        return int.from_bytes(area[at : at + size], "little")

    def _set_x87(self, which: int, value: int) -> None:
        at, size = self._X87_PLACES[which]
        if which == 2:  # the abridged tag: 1 where the register is not empty
            value = sum(1 << n for n in range(8) if value >> 2 * n & 3 != 3)
        for byte in range(size):
            self.state.xsave[at + byte] = value >> 8 * byte & 0xFF
        self._has_component(0)


def _full_tags(area: bytes) -> int:
    """The x87 tag word from the abridged one and the registers (SDM volume 1, 8.1.7 and 10.5.1.1)."""
    abridged, top = area[4], area[3] >> 3 & 7
    word = 0
    for physical in range(8):
        if not abridged >> physical & 1:
            tag = 3
        else:
            at = 32 + 16 * ((physical - top) % 8)
            mantissa = int.from_bytes(area[at : at + 8], "little")
            exponent = int.from_bytes(area[at + 8 : at + 10], "little") & 0x7FFF
            if exponent == 0x7FFF:
                tag = 2
            elif exponent == 0:
                tag = 1 if mantissa == 0 else 2
            else:
                tag = 0 if mantissa >> 63 else 2
        word |= tag << 2 * physical
    return word
