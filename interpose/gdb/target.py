"""Which registers gdb is shown: one list, from which the target description and the layout of ``g`` follow.

Names, features and types are those of "i386 Features" in the appendix "Target Descriptions" of GDB's manual.
The shadow registers have the same names with ``s1`` (V bits) or ``s2`` (origins) behind.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


ORIGINS = 2
"""``Register.shadow`` of those that say where the undefined part comes from."""


class Place(enum.Enum):
    """Where a register's bytes are; ``Register.at`` says which."""

    GPR = 0  # number in encodings
    RIP = 1
    FLAGS = 2
    SELECTOR = 3  # index: cs, ss, ds, es, fs, gs
    FS_BASE = 4
    GS_BASE = 5
    ORIG_RAX = 6
    ST = 7  # x87 register by its place in the stack
    X87 = 8  # control register: index
    XSAVE = 9  # the XSAVE component is Register.component, the offset in it Register.at


@dataclass(frozen=True)
class Register:
    """One register of the description.

    :ivar shadow: 0: the register itself, 1 or 2: that shadow of it.
    :ivar component: number of the XSAVE component that holds it.
    """

    name: str
    bits: int
    type: str
    place: Place
    at: int = 0
    component: int = 0
    shadow: int = 0

    @property
    def size(self) -> int:
        """Bytes."""
        return self.bits // 8


_GPRS = {
    "rax": 0, "rbx": 3, "rcx": 1, "rdx": 2, "rsi": 6, "rdi": 7, "rbp": 5, "rsp": 4,
    "r8": 8, "r9": 9, "r10": 10, "r11": 11, "r12": 12, "r13": 13, "r14": 14, "r15": 15,
}  # fmt: skip
_SELECTORS = ("cs", "ss", "ds", "es", "fs", "gs")
_X87 = ("fctrl", "fstat", "ftag", "fiseg", "fioff", "foseg", "fooff", "fop")

SSE, AVX, OPMASK, ZMM_HI256, HI16_ZMM, PKRU = 1, 2, 5, 6, 7, 9
"""XSAVE components (Intel SDM volume 1, 13.1)."""

_FLAGS = """\
<flags id="i386_eflags" size="4"><field name="CF" start="0" end="0"/>\
<field name="" start="1" end="1"/><field name="PF" start="2" end="2"/>\
<field name="AF" start="4" end="4"/><field name="ZF" start="6" end="6"/>\
<field name="SF" start="7" end="7"/><field name="TF" start="8" end="8"/>\
<field name="IF" start="9" end="9"/><field name="DF" start="10" end="10"/>\
<field name="OF" start="11" end="11"/><field name="NT" start="14" end="14"/>\
<field name="RF" start="16" end="16"/><field name="VM" start="17" end="17"/>\
<field name="AC" start="18" end="18"/><field name="VIF" start="19" end="19"/>\
<field name="VIP" start="20" end="20"/><field name="ID" start="21" end="21"/>\
<field name="" start="22" end="31"/></flags>"""
_MXCSR = """\
<flags id="i386_mxcsr" size="4"><field name="IE" start="0" end="0"/><field name="DE" start="1" end="1"/>\
<field name="ZE" start="2" end="2"/><field name="OE" start="3" end="3"/><field name="UE" start="4" end="4"/>\
<field name="PE" start="5" end="5"/><field name="DAZ" start="6" end="6"/><field name="IM" start="7" end="7"/>\
<field name="DM" start="8" end="8"/><field name="ZM" start="9" end="9"/>\
<field name="OM" start="10" end="10"/>\
<field name="UM" start="11" end="11"/><field name="PM" start="12" end="12"/>\
<field name="FZ" start="15" end="15"/></flags>"""
_VEC128 = """\
<vector id="v4f" type="ieee_single" count="4"/><vector id="v2d" type="ieee_double" count="2"/>\
<vector id="v16i8" type="int8" count="16"/><vector id="v8i16" type="int16" count="8"/>\
<vector id="v4i32" type="int32" count="4"/><vector id="v2i64" type="int64" count="2"/>\
<union id="vec128"><field name="v4_float" type="v4f"/><field name="v2_double" type="v2d"/>\
<field name="v16_int8" type="v16i8"/><field name="v8_int16" type="v8i16"/>\
<field name="v4_int32" type="v4i32"/><field name="v2_int64" type="v2i64"/>\
<field name="uint128" type="uint128"/></union>"""
_V2UI128 = '<vector id="v2ui128" type="uint128" count="2"/>'
_I387_BITS = """\
<struct id="i387_bits"><field name="b64" type="uint64"/><field name="b16" type="uint16"/></struct>"""
_WITH_PARTS = ("vec128", "i386_eflags", "i386_mxcsr")
_TYPES = {
    "vec128": _VEC128,
    "i386_eflags": _FLAGS,
    "i386_mxcsr": _MXCSR,
    "v2ui128": _V2UI128,
    "i387_bits": _I387_BITS,
}


def _core() -> Iterator[Register]:
    for name, number in _GPRS.items():
        kind = {"rbp": "data_ptr", "rsp": "data_ptr"}.get(name, "int64")
        yield Register(name, 64, kind, Place.GPR, number)
    yield Register("rip", 64, "code_ptr", Place.RIP)
    yield Register("eflags", 32, "i386_eflags", Place.FLAGS)
    for at, name in enumerate(_SELECTORS):
        yield Register(name, 32, "int32", Place.SELECTOR, at)
    for at in range(8):
        yield Register(f"st{at}", 80, "i387_ext", Place.ST, at)
    for at, name in enumerate(_X87):
        yield Register(name, 32, "int", Place.X87, at)


def _sse() -> Iterator[Register]:
    for number in range(16):
        yield Register(f"xmm{number}", 128, "vec128", Place.XSAVE, 160 + 16 * number, SSE)
    yield Register("mxcsr", 32, "i386_mxcsr", Place.XSAVE, 24, SSE)


def _avx512() -> Iterator[Register]:
    for number in range(8):
        yield Register(f"k{number}", 64, "uint64", Place.XSAVE, 8 * number, OPMASK)
    for number in range(16):
        yield Register(f"zmm{number}h", 256, "v2ui128", Place.XSAVE, 32 * number, ZMM_HI256)
    for number in range(16):
        yield Register(f"xmm{number + 16}", 128, "vec128", Place.XSAVE, 64 * number, HI16_ZMM)
    for number in range(16):
        yield Register(f"ymm{number + 16}h", 128, "uint128", Place.XSAVE, 64 * number + 16, HI16_ZMM)
    for number in range(16):
        yield Register(f"zmm{number + 16}h", 256, "v2ui128", Place.XSAVE, 64 * number + 32, HI16_ZMM)


@dataclass(frozen=True)
class _Feature:
    name: str
    types: str
    registers: tuple[Register, ...]


def _features(components: int) -> Iterator[_Feature]:
    yield _Feature("org.gnu.gdb.i386.core", _FLAGS, tuple(_core()))
    yield _Feature("org.gnu.gdb.i386.sse", _VEC128 + _MXCSR, tuple(_sse()))
    orig_rax = Register("orig_rax", 64, "int", Place.ORIG_RAX)
    yield _Feature("org.gnu.gdb.i386.linux", "", (orig_rax,))
    bases = (
        Register("fs_base", 64, "int", Place.FS_BASE),
        Register("gs_base", 64, "int", Place.GS_BASE),
    )
    yield _Feature("org.gnu.gdb.i386.segments", "", bases)
    if components >> AVX & 1:
        upper = (Register(f"ymm{n}h", 128, "uint128", Place.XSAVE, 16 * n, AVX) for n in range(16))
        yield _Feature("org.gnu.gdb.i386.avx", "", tuple(upper))
    if components >> OPMASK & 7 == 7:
        yield _Feature("org.gnu.gdb.i386.avx512", _VEC128 + _V2UI128, tuple(_avx512()))
    if components >> PKRU & 1:
        yield _Feature("org.gnu.gdb.i386.pkeys", "", (Register("pkru", 32, "int", Place.XSAVE, 0, PKRU),))


def _shadow_type(register: Register, which: int) -> str:
    """V bits of what has parts are shown by these, as by Valgrind; all others, and origins, are numbers."""
    if which == 1 and register.type in _WITH_PARTS:
        return register.type
    return {80: "i387_bits", 256: "v2ui128"}.get(register.bits, f"uint{register.bits}")


def _shadow(feature: _Feature, which: int) -> _Feature:
    registers = tuple(
        Register(f"{r.name}s{which}", r.bits, _shadow_type(r, which), r.place, r.at, r.component, which)
        for r in feature.registers
    )
    used = {register.type for register in registers}
    types = "".join(text for name, text in _TYPES.items() if name in used)
    return _Feature(f"{feature.name}.valgrind.s{which}", types, registers)


class Target:
    """The registers of a program on this machine.

    :param components: the XSAVE components that are shown, by bit.
    :param shadows: whether the shadow registers follow.
    """

    def __init__(self, components: int, shadows: bool = False) -> None:
        features = list(_features(components))
        if shadows:
            features += [_shadow(f, which) for which in (1, 2) for f in list(features)]
        self.registers = tuple(register for feature in features for register in feature.registers)
        self.by_name = {register.name: number for number, register in enumerate(self.registers)}
        self.size = sum(register.size for register in self.registers)
        """Bytes of all of them, as ``g`` has them."""
        self._features = features
        self.origins_told: set[int] = set()
        """Numbers that ``s2`` registers have been shown with."""

    def xml(self) -> bytes:
        """``target.xml``."""
        lines = [
            '<?xml version="1.0"?>',
            '<!DOCTYPE target SYSTEM "gdb-target.dtd">',
            "<target><architecture>i386:x86-64</architecture><osabi>GNU/Linux</osabi>",
        ]
        number = 0
        for feature in self._features:
            lines.append(f'<feature name="{feature.name}">{feature.types}')
            for register in feature.registers:
                lines.append(
                    f'<reg name="{register.name}" bitsize="{register.bits}" type="{register.type}"'
                    f' regnum="{number}"/>'
                )
                number += 1
            lines.append("</feature>")
        lines.append("</target>\n")
        return "\n".join(lines).encode()
