"""The shadow registers: what of a thread's registers is defined (``s1``) and where it comes from (``s2``)."""

from __future__ import annotations

from dataclasses import replace

from interpose.gdb.target import OPMASK, SSE, ZMM_HI256, Place
from interpose.jit._native import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from interpose.gdb.target import Register
    from interpose.supervisor.client import Client

_MXCSR = 24  # offset in XSAVE's legacy area
_XMM0 = 160
_FLAG_OF_CONDITION = (11, 0, 6, None, 7, 2, None, None)
"""Which flag each pair of conditions of ``tstate.vflags`` is about, where it is one alone."""


def read_shadow(client: Client, tstate: int, register: Register, origins: int, x87_top: int) -> bytes:
    """A shadow register; zeroes where the tool keeps none.

    :param origins: client address of ``struct ip_origins``, or 0.
    :param x87_top: the number of the register that is ``st0``.
    """
    if register.place is Place.ST:
        register = replace(register, at=(x87_top + register.at) % 8)
    nothing = bytes(register.size)
    if not client.header.config_flags & lib.IP_C_SHADOW:
        return nothing
    state = client.read_struct("struct tstate", tstate)
    if state is None:
        return nothing
    undefined = _undefined(state, register)
    if register.shadow == 1 or undefined is None or not any(undefined):
        return nothing if register.shadow != 1 else undefined or nothing
    tags = client.read_struct("struct ip_origins", origins) if origins else None
    return nothing if tags is None else _origin(tags, register).to_bytes(register.size, "little")


def _undefined(state: Any, register: Register) -> bytes | None:
    """The V bits of a register; None where all is defined."""
    match register.place:
        case Place.GPR:
            if state.umask >> (lib.IP_U_GPR0 + register.at) & 1:
                return int(state.vgpr[register.at]).to_bytes(8, "little")
        case Place.FLAGS:
            return _flags(state).to_bytes(register.size, "little")
        case Place.ST:  # V bits of the value as a double
            if state.umask >> (lib.IP_U_MMX0 + register.at) & 1:
                return int(state.vmmx[register.at]).to_bytes(register.size, "little")
        case Place.XSAVE:
            return _vector(state, register)
    return None


def _origin(tags: Any, register: Register) -> int:
    """The number of where the undefined part of a register comes from."""
    if register.place is Place.GPR:
        return int(tags.gpr[register.at])
    if register.place is Place.FLAGS:
        return int(tags.flags)
    if register.place is Place.ST:
        return int(tags.mmx[register.at])
    if register.component == OPMASK:
        return int(tags.k[register.at // 8])
    number = _place(register)[0]
    return 0 if number is None else int(tags.vec[number])


def _flags(state: Any) -> int:
    if not state.umask >> lib.IP_U_FLAGS & 1:
        return 0
    value = 0
    for bit, flag in enumerate(_FLAG_OF_CONDITION):
        if flag is not None and state.vflags >> bit & 1:
            value |= 1 << flag
    return value


def _vector(state: Any, register: Register) -> bytes | None:
    if register.component == OPMASK:
        if not state.umask >> lib.IP_U_K & 1:
            return None
        return int(state.vk[register.at // 8]).to_bytes(8, "little")
    number, offset = _place(register)
    if number is None or not state.umask >> (lib.IP_U_VEC0 + number) & 1:
        return None
    begin = 64 * number + offset
    return bytes(ffi.buffer(state.vvec, 2048))[begin : begin + register.size]


def _place(register: Register) -> tuple[int | None, int]:
    """The vector register that one of the description is a part of, and where in it."""
    at = register.at
    if register.component == SSE:
        return (None, 0) if at == _MXCSR else ((at - _XMM0) // 16, 0)
    if register.component == 2:
        return at // 16, 16
    if register.component == ZMM_HI256:
        return at // 32, 32
    if register.component == 7:
        return 16 + at // 64, at % 64
    return None, 0
