"""The shadow registers: what of a thread's registers is defined (``s1``) and where it comes from (``s2``).

What is written goes into the state of the thread, which waits in the runtime and looks at it when it goes on.
"""

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
_CF, _PF, _ZF, _SF, _OF = 1 << 0, 1 << 2, 1 << 6, 1 << 7, 1 << 11
_FLAG_OF_CONDITION = (11, 0, 6, None, 7, 2, None, None)
"""Which flag each pair of conditions of ``tstate.vflags`` is about, where it is one alone."""
_CONDITIONS = (_OF, _CF, _ZF, _CF | _ZF, _SF, _PF, _SF | _OF, _ZF | _SF | _OF)
"""The flags that each of them depends on."""


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
    place = _origin_place(register)
    tag = client.read(origins + place, 4) if origins and place is not None else None
    return nothing if tag is None else tag + bytes(register.size - 4)


def write_shadow(
    client: Client, tstate: int, register: Register, data: bytes, origins: int, x87_top: int
) -> bool:
    """Set a shadow register of a thread that waits; false if it cannot be: the tool keeps no such.

    An origin must be one that was read before: it is looked up when an error is reported.
    """
    if data == read_shadow(client, tstate, register, origins, x87_top):
        return True
    if not client.header.config_flags & lib.IP_C_SHADOW:
        return False
    if register.place is Place.ST:
        register = replace(register, at=(x87_top + register.at) % 8)
    if register.shadow == 1:
        state = client.read_struct("struct tstate", tstate)
        return state is not None and _set_undefined(client, tstate, state, register, data)
    place = _origin_place(register)
    return place is not None and bool(origins) and client.write(origins + place, data[:4])


def define(client: Client, tstate: int, register: Register, x87_top: int) -> None:
    """What is written to a register is defined."""
    if client.header.config_flags & lib.IP_C_SHADOW:
        write_shadow(client, tstate, replace(register, shadow=1), bytes(register.size), 0, x87_top)


def _set_undefined(client: Client, tstate: int, state: Any, register: Register, data: bytes) -> bool:
    value = int.from_bytes(data, "little")
    at = register.at
    match register.place:
        case Place.GPR:
            bit, field, begin, data = lib.IP_U_GPR0 + at, "vgpr", 8 * at, value.to_bytes(8, "little")
            some = value != 0
        case Place.FLAGS:
            flags = sum(1 << n for n, of in enumerate(_CONDITIONS) if value & of)
            bit, field, begin, data = lib.IP_U_FLAGS, "vflags", 0, bytes([flags])
            some = flags != 0
        case Place.ST:
            bit, field, begin, data = lib.IP_U_MMX0 + at, "vmmx", 8 * at, data[:8]
            some = any(data)
        case Place.XSAVE if register.component == OPMASK:
            bit, field, begin = lib.IP_U_K, "vk", at
            some = value != 0 or any(state.vk[n] for n in range(8) if n != at // 8)
        case Place.XSAVE if (number := _place(register)[0]) is not None:
            begin = 64 * number + _place(register)[1]
            bit, field = lib.IP_U_VEC0 + number, "vvec"
            whole = bytearray(ffi.buffer(state.vvec, 2048))
            whole[begin : begin + register.size] = data
            some = any(whole[64 * number : 64 * number + 64])
        case _:
            return False
    mask = state.umask & ~(1 << bit) | some << bit
    return client.write(tstate + ffi.offsetof("struct tstate", field) + begin, data) and client.write(
        tstate + ffi.offsetof("struct tstate", "umask"), mask.to_bytes(8, "little")
    )


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


def _origin_place(register: Register) -> int | None:
    """Where in ``struct ip_origins`` the number is of where the undefined part of a register comes from."""
    match register.place:
        case Place.GPR:
            field, number = "gpr", register.at
        case Place.FLAGS:
            return int(ffi.offsetof("struct ip_origins", "flags"))
        case Place.ST:
            field, number = "mmx", register.at
        case Place.XSAVE if register.component == OPMASK:
            field, number = "k", register.at // 8
        case Place.XSAVE if (vector := _place(register)[0]) is not None:
            field, number = "vec", vector
        case _:
            return None
    return int(ffi.offsetof("struct ip_origins", field)) + 4 * number


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
