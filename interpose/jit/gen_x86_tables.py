#!/usr/bin/env python3
"""Generate the instruction decoder's tables: x86_mnem.h and x86_tables.inc.

Usage: gen_x86_tables.py OUTDIR

The source of the tables is iced-x86 (documentation: OpCodeInfo, InstructionInfoFactory), which is needed only at
build time.  The opcode space is walked once: every opcode of every map is decoded with each combination of the
bits that choose an instruction (mandatory prefix, operand size, W, L, ModRM.mod/reg/rm), so the dispatch tables say
exactly what iced says.  Every distinct (instruction, has-a-memory-operand) pair found becomes one *row*, which holds
the operand templates, implicit registers, flags and EVEX properties that x86_decode.c fills in.

Dispatch: ip_xtop[map slot][opcode] -> (kind, base) -> ip_xsub[base + ModRM class] -> block of ip_xblocks_* indexed
by prefix bits -> row number (0 = invalid).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from iced_x86 import (
    Code,
    Decoder,
    FlowControl,
    Instruction,
    InstructionInfoFactory,
    MandatoryPrefix,
    MemorySizeInfo,
    Mnemonic,
    OpAccess,
    OpCodeInfo,
    OpCodeOperandKind,
    OpKind,
    Register,
    RegisterExt,
    RegisterInfo,
    RflagsBits,
)


def _names(enum: object) -> dict[int, str]:
    return {v: k for k, v in vars(enum).items() if isinstance(v, int) and not k.startswith("_")}


CODE = _names(Code)
MNEMONIC = _names(Mnemonic)
OPKIND = _names(OpCodeOperandKind)

# enum ip_opkind, ip_flow and IP_ACC_* of interpose/abi/x86_insn.h.
OPK_NONE, OPK_GPR, OPK_VEC, OPK_K, OPK_MMX, OPK_X87, OPK_SEG, OPK_CR, OPK_DR = range(9)
OPK_MEM, OPK_MEM_IMPL, OPK_IMM, OPK_REL = range(9, 13)
ACC_R, ACC_W, ACC_COND, ACC_ADDR = 1, 2, 4, 8
ACCESS = {
    OpAccess.NONE: 0,
    OpAccess.READ: ACC_R,
    OpAccess.COND_READ: ACC_R | ACC_COND,
    OpAccess.WRITE: ACC_W,
    OpAccess.COND_WRITE: ACC_W | ACC_COND,
    OpAccess.READ_WRITE: ACC_R | ACC_W,
    OpAccess.READ_COND_WRITE: ACC_R | ACC_W,
    OpAccess.NO_MEM_ACCESS: ACC_ADDR,
}
FLOWS = [
    "NEXT",
    "JMP",
    "JCC",
    "CALL",
    "JMPI",
    "CALLI",
    "RET",
    "SYSCALL",
    "INT",
    "UD",
    "LOOP",
    "IRET",
    "FAR",
    "PRIV",
    "XBEGIN",
]

# Where x86_decode.c takes an operand's register or value from (enum ip_xsrc there).
S_FIXED, S_REG, S_RM, S_VVVV, S_OPC, S_IS4, S_MEM, S_IMM, S_IMM2, S_REL, S_MOFFS, S_ONE = range(12)

# Row attributes (IP_XA_* in x86_decode.c).
ATTRS = [
    "MEM",
    "LOCK",
    "STRING",
    "X87",
    "MMX",
    "SHIFT",
    "IDIOM",
    "NOADDR",
    "VVVV",
    "RCL",
    "CC",
    "BCAST",
    "RC",
    "SAE",
    "MASK",
    "ZMASK",
    "NEEDK",
    "UNIQUE",
    "MOFFS",
    "KMERGE",
    "REL",
    "ONE",
    "SIBMEM",
    "M2Z",
    "KWRITE",
    "KPAIR",
    "VQUAD",
    "NO66",
    "UNIQUEDEST",
    "TERNLOG",
]
ATTR = {name: 1 << i for i, name in enumerate(ATTRS)}

# Map slots: one 256-entry page of ip_xtop each.
SLOTS = ["L0", "L1", "L2", "L3", "D3NOW", "V1", "V2", "V3", "E1", "E2", "E3", "E5", "E6", "X8", "X9", "X10"]
KIND_NONE, KIND_NOMODRM, KIND_MOD, KIND_GROUP, KIND_FULL = range(5)

FLAG_BITS = {
    RflagsBits.CF: 0x001,
    RflagsBits.PF: 0x004,
    RflagsBits.AF: 0x010,
    RflagsBits.ZF: 0x040,
    RflagsBits.SF: 0x080,
    RflagsBits.DF: 0x400,
    RflagsBits.OF: 0x800,
}
FL_ALL = 0xCD5

# Memory operands that only name an address: no data is read or written through them.
ADDRESS_ONLY = {"CLFLUSH", "CLFLUSHOPT", "CLWB", "CLDEMOTE", "INVLPG", "INVLPGA", "INVLPGB"}
# Instructions that fault in user mode although iced does not call them privileged.
PRIVILEGED = {
    "HLT", "IN", "OUT", "INSB", "INSW", "INSD", "OUTSB", "OUTSW", "OUTSD", "CLI", "STI", "RDMSR", "WRMSR", "LGDT",
    "LIDT", "LLDT", "LTR", "LMSW", "CLTS", "INVD", "WBINVD", "INVLPG", "SYSRET", "SYSEXIT", "SYSRETQ", "SYSEXITQ",
    "SWAPGS", "XSETBV", "WBNOINVD", "INVPCID", "MONITOR", "MWAIT", "RSM", "CLAC", "STAC",
}  # fmt: skip
SHIFTS = {"ROL", "ROR", "RCL", "RCR", "SHL", "SHR", "SAL", "SAR", "SHLD", "SHRD"}
# With equal sources these have a constant result (sbb: one of the carry flag alone).  iced lists xor, sub and the
# like itself; compilers use these for all-ones, for zero and for spreading the carry flag.
CONSTANT_IF_EQUAL = {
    "SBB", "PANDN", "ANDNPS", "ANDNPD", "VPANDN", "VPANDND", "VPANDNQ", "VANDNPS", "VANDNPD",
    *(f"{v}PCMP{c}{t}" for v in ("", "V") for c in ("EQ", "GT") for t in "BWDQ"),
    *(f"K{c}{t}" for c in ("XOR", "XNOR", "ANDN") for t in "BWDQ"),
}  # fmt: skip
# Element sizes of source and destination differ.
MIXED_ELEMENTS = (
    "CVT",
    "PMOV",
    "PACK",
    "PMADD",
    "PSAD",
    "PMULDQ",
    "PMULUDQ",
    "PDP",
    "DPPS",
    "DPPD",
    "DPBF",
    "CMP",
)
X87_STATE = {"FXSAVE", "FXRSTOR", "XSAVE", "XRSTOR", "XSAVEOPT", "XSAVEC", "XSAVES", "XRSTORS"}


@dataclass
class Row:
    """One generated row; the field names follow struct ip_xrow in x86_decode.c."""

    code: int
    mnem: int
    attrs: int = 0
    flow: int = 0
    opsize: int = 0
    vlen: int = 0
    pp: int = 0
    disp_n: int = 1
    disp_nb: int = 1
    imm_len: int = 0
    imm_signed: int = 0
    imm2_len: int = 0
    mem_access: int = 0
    mem_size: int = 0
    bcast_size: int = 0
    vsib: int = 0
    gpr: list[int] = field(default_factory=lambda: [0, 0, 0, 0])
    vec: list[int] = field(default_factory=lambda: [0, 0, 0])
    k: list[int] = field(default_factory=lambda: [0, 0])
    fl: list[int] = field(default_factory=lambda: [0, 0, 0])
    # (source, kind, register, access, size, element size)
    ops: list[tuple[int, int, int, int, int, int]] = field(default_factory=list)


def flags_of(bits: int) -> int:
    """RflagsBits of iced as bits of the flags register."""
    return sum(v for k, v in FLAG_BITS.items() if bits & k)


class Prober:
    """Decodes synthesised byte strings and numbers the (code, memory form) pairs it meets."""

    def __init__(self) -> None:
        self.rows: dict[tuple[int, bool], int] = {}
        self.examples: list[tuple[Instruction, bytes]] = []

    def decode(self, data: bytes) -> Instruction:
        return Decoder(64, data.ljust(16, b"\0")).decode()

    def row(self, data: bytes) -> int:
        """Row number of the instruction at data; 0 if it is invalid."""
        insn = self.decode(data)
        if insn.code == Code.INVALID:
            return 0
        mem = (
            any(insn.op_kind(i) == OpKind.MEMORY for i in range(insn.op_count))
            and insn.mnemonic != Mnemonic.XLATB
        )
        key = (insn.code, mem)
        number = self.rows.get(key)
        if number is None:
            number = self.rows[key] = len(self.rows) + 1
            self.examples.append((insn, data))
        return number

    def first(self, candidates: Iterable[bytes]) -> int:
        """First candidate that decodes."""
        for data in candidates:
            number = self.row(data)
            if number:
                return number
        return 0


def modrm_byte(cls: int, kind: int) -> int:
    """A ModRM byte of a class.  Memory forms use SIB so that gathers and tile loads decode too."""
    if kind == KIND_MOD:
        return 0xC3 if cls else 0x04
    if kind == KIND_GROUP:
        return 0xC3 | (cls & 7) << 3 if cls >= 8 else 0x04 | cls << 3
    return 0xC0 | (cls - 8) if cls >= 8 else 0x04 | cls << 3


N_CLASSES = {KIND_NOMODRM: 1, KIND_MOD: 2, KIND_GROUP: 16, KIND_FULL: 72}
SIB = 0x08  # base rax, index rcx (vsib: vector 1)


class Dispatch:
    """The three dispatch levels, with equal blocks shared."""

    def __init__(self, prober: Prober) -> None:
        self.prober = prober
        self.top = [0] * (len(SLOTS) * 256)
        self.sub: list[int] = []
        self.blocks: dict[str, dict[tuple[int, ...], int]] = {"legacy": {}, "vector": {}}
        self.subs: dict[tuple[int, ...], int] = {}

    def add(self, slot: str, opcode: int, kind: int, table: str, blocks: list[tuple[int, ...]]) -> None:
        """Enter the blocks of one opcode, one per ModRM class."""
        if not any(any(b) for b in blocks):
            return
        pool = self.blocks[table]
        ids = tuple(pool.setdefault(b, len(pool)) for b in blocks)
        base = self.subs.get(ids)
        if base is None:
            base = self.subs[ids] = len(self.sub)
            self.sub.extend(ids)
        self.top[SLOTS.index(slot) * 256 + opcode] = kind << 16 | base


LEGACY_ESCAPE = {0: b"", 1: b"\x0f", 2: b"\x0f\x38", 3: b"\x0f\x3a"}
NOT_OPCODES = {
    0: {0x0F, 0x26, 0x2E, 0x36, 0x3E, 0x64, 0x65, 0x66, 0x67, 0xF0, 0xF2, 0xF3, 0xC4, 0xC5, 0x62}
    | set(range(0x40, 0x50)),
    1: {0x38, 0x3A, 0x0F},
    2: set(),
    3: set(),
}


def legacy_prefixes() -> list[bytes]:
    """Block index order: [address size 64/32][none, 66, F3, F2][operand size 16, 32, 64]."""
    out = []
    for addr in (b"", b"\x67"):
        for mandatory in range(4):
            for size in range(3):
                data = addr + {2: b"\xf3", 3: b"\xf2"}.get(mandatory, b"")
                if mandatory == 1 or (mandatory > 1 and size == 0):
                    data = b"\x66" + data
                # Slots [none][16] and [66][32] cannot occur: give them the neighbouring meaning.
                out.append(data + (b"\x48" if size == 2 else b""))
    return out


def probe_legacy(dispatch: Dispatch, opcodes: dict[tuple[int, int, int], list[OpCodeInfo]]) -> None:
    """Walk the four legacy opcode maps."""
    prober, prefixes = dispatch.prober, legacy_prefixes()
    for number, escape in LEGACY_ESCAPE.items():
        for opcode in set(range(256)) - NOT_OPCODES[number]:
            infos = opcodes.get((0, number, opcode), [])
            # Opcodes with the register in their low bits are listed under the lowest one.
            infos = infos or opcodes.get((0, number, opcode & 0xF8), [])
            addr_matters = any(i.address_size for i in infos)
            full = not (number == 0 and opcode < 0x40) and any(uses_modrm(i) for i in infos)
            kind = KIND_NOMODRM
            if any(uses_modrm(i) for i in infos):
                kind = KIND_FULL if full and needs_full(infos) else KIND_GROUP if full else KIND_MOD
            blocks = []
            for cls in range(N_CLASSES[kind]):
                tail = b"" if kind == KIND_NOMODRM else bytes([modrm_byte(cls, kind), SIB])
                half = [prober.row(p + escape + bytes([opcode]) + tail) for p in prefixes[:12]]
                if addr_matters:
                    blocks.append(
                        tuple(half + [prober.row(p + escape + bytes([opcode]) + tail) for p in prefixes[12:]])
                    )
                else:
                    blocks.append(tuple(half + half))
            dispatch.add(f"L{number}", opcode, kind, "legacy", blocks)
    for suffix in range(256):
        blocks = []
        for modrm in (0x04, 0xC3):
            tail = bytes([0x0F, 0x0F, modrm]) + (bytes([SIB]) if modrm == 4 else b"") + bytes([suffix])
            blocks.append((prober.row(tail),) * 24)
        dispatch.add("D3NOW", suffix, KIND_MOD, "legacy", blocks)


def vector_bytes(enc: str, number: int, opcode: int, pp: int, w: int, ll: int, modrm: int) -> Iterable[bytes]:
    """Encodings of one VEX, EVEX or XOP opcode, with the fields that may be restricted varied."""
    tail = bytes([opcode, modrm]) + (bytes([SIB]) if modrm < 0xC0 else b"")
    for vvvv in (0xF, 0xD):
        if enc in "VX":
            first = 0xC4 if enc == "V" else 0x8F
            yield bytes([first, 0xE0 | number, w << 7 | vvvv << 3 | ll << 2 | pp]) + tail
            continue
        for k in (0, 1):
            # For a gather V' belongs to the index, which is vector 1: leave it set (not inverted) elsewhere.
            yield bytes([0x62, 0xF0 | number, w << 7 | vvvv << 3 | 4 | pp, ll << 5 | 8 | k]) + tail


def evex_b_bytes(number: int, opcode: int, pp: int, w: int, ll: int, modrm: int) -> Iterable[bytes]:
    """The register form with EVEX.b set: rounding control or suppress-all-exceptions."""
    for vvvv in (0xF, 0xD):
        for k in (0, 1):
            yield bytes([0x62, 0xF0 | number, w << 7 | vvvv << 3 | 4 | pp, ll << 5 | 0x18 | k, opcode, modrm])


def probe_vector(dispatch: Dispatch, opcodes: dict[tuple[int, int, int], list[OpCodeInfo]]) -> None:
    """Walk the VEX, EVEX and XOP maps.  Block index order: [pp][W][L]; EVEX has a third class set, b in register forms."""
    prober = dispatch.prober
    for slot in SLOTS[5:]:
        enc, number = slot[0], int(slot[1:])
        table = {5: 4, 6: 5, 8: 6, 9: 7, 10: 8}.get(number, number)  # iced's OpCodeTableKind
        for opcode in range(256):
            infos = opcodes.get(("VEX".index(enc) + 10, table, opcode), [])
            if not infos:
                continue
            kind = KIND_NOMODRM
            if any(uses_modrm(i) for i in infos):
                kind = KIND_MOD
                if any(i.group_index >= 0 for i in infos):
                    kind = KIND_GROUP
                if needs_full(infos):
                    kind = KIND_FULL
            blocks = []
            space = [(pp, w, ll) for pp in range(4) for w in range(2) for ll in range(4)]
            for cls in range(N_CLASSES[kind]):
                modrm = 0xC3 if kind == KIND_NOMODRM else modrm_byte(cls, kind)
                blocks.append(
                    tuple(
                        prober.first(vector_bytes(enc, number, opcode, pp, w, ll, modrm))
                        if enc == "E" or ll < 2
                        else 0
                        for pp, w, ll in space
                    )
                )
            if enc == "E":
                first_reg = 1 if kind == KIND_MOD else 8
                for cls in range(first_reg, N_CLASSES[kind]):
                    modrm = modrm_byte(cls, kind)
                    blocks.append(
                        tuple(
                            prober.first(evex_b_bytes(number, opcode, pp, w, ll, modrm))
                            for pp, w, ll in space
                        )
                    )
            dispatch.add(slot, opcode, kind, "vector", blocks)


def uses_modrm(info: OpCodeInfo) -> bool:
    """Whether the instruction has a ModRM byte (fixed second opcode bytes are ModRM bytes here)."""
    if info.op_code_len == 2 or info.group_index >= 0 or info.rm_group_index >= 0:
        return True
    for i in range(info.op_count):
        name = OPKIND[info.op_kind(i)]
        if name.endswith(("_REG", "_RM", "_OR_MEM", "_REG_MEM", "_MPX")) or name.startswith("MEM_VSIB"):
            return True
        if name in ("MEM", "SIBMEM", "MEM_MIB", "STI_OPCODE"):
            return True
    return False


def needs_full(infos: list[OpCodeInfo]) -> bool:
    """Whether ModRM.rm takes part in choosing the instruction."""
    return any(i.op_code_len == 2 or i.rm_group_index >= 0 for i in infos)


def opcode_index() -> dict[tuple[int, int, int], list[OpCodeInfo]]:
    """OpCodeInfos by (encoding, map, first opcode byte); encodings: 0 legacy, 10 VEX, 11 EVEX, 12 XOP."""
    index: dict[tuple[int, int, int], list[OpCodeInfo]] = {}
    for code in CODE:
        info = OpCodeInfo(code)
        if not info.mode64 or info.encoding > 3:
            continue
        encoding = {0: 0, 1: 10, 2: 11, 3: 12}[info.encoding]
        opcode = info.op_code >> 8 if info.op_code_len == 2 else info.op_code
        index.setdefault((encoding, info.table, opcode), []).append(info)
    return index


GPR_NUMBER = {
    name: n
    for n, name in enumerate(
        [
            "RAX",
            "RCX",
            "RDX",
            "RBX",
            "RSP",
            "RBP",
            "RSI",
            "RDI",
            "R8",
            "R9",
            "R10",
            "R11",
            "R12",
            "R13",
            "R14",
            "R15",
        ]
    )
}


def register(reg: int) -> tuple[int, int, int]:
    """(operand kind, number, size in bytes) of an iced register."""
    info = RegisterInfo(reg)
    if RegisterExt.is_gpr(reg):
        full = info.full_register
        return OPK_GPR, full - Register.RAX, info.size
    if RegisterExt.is_vector_register(reg):
        return OPK_VEC, info.number, info.size
    for test, kind in (
        (RegisterExt.is_k, OPK_K),
        (RegisterExt.is_mm, OPK_MMX),
        (RegisterExt.is_st, OPK_X87),
        (RegisterExt.is_segment_register, OPK_SEG),
        (RegisterExt.is_cr, OPK_CR),
        (RegisterExt.is_dr, OPK_DR),
    ):
        if test(reg):
            return kind, info.number, info.size
    return OPK_NONE, info.number if RegisterExt.is_tmm(reg) else 0, 0


# A register of the same class that no instruction uses implicitly: operand i gets the i-th after the first.
SCRATCH = (
    (Register.AL, Register.R15L, Register.R8L),
    (Register.AX, Register.R15W, Register.R8W),
    (Register.EAX, Register.R15D, Register.R8D),
    (Register.RAX, Register.R15, Register.R8),
    (Register.XMM0, Register.XMM31, Register.XMM20),
    (Register.YMM0, Register.YMM31, Register.YMM20),
    (Register.ZMM0, Register.ZMM31, Register.ZMM20),
    (Register.K0, Register.K7, Register.K3),
    (Register.MM0, Register.MM7, Register.MM3),
)
MEM_BASE, MEM_INDEX = Register.R13, Register.R14


def scratch(reg: int, i: int) -> int:
    for low, high, base in SCRATCH:
        if low <= reg <= high:
            return base + i
    return reg


def source_of(kind: str) -> int:
    """Which field of the encoding names the operand."""
    if kind.endswith("_VVVV"):
        return S_VVVV
    if kind.endswith("_OPCODE"):
        return S_RM if kind == "STI_OPCODE" else S_OPC
    if kind.endswith(("_IS4", "_IS5")):
        return S_IS4
    if kind.endswith(("_REG", "_REG_MEM")):
        return S_REG
    if kind.endswith(("_RM", "_OR_MEM")):
        return S_RM
    return S_FIXED


IMMEDIATES = {
    # length, sign extended
    "IMM8": (1, 0), "IMM8SEX16": (1, 1), "IMM8SEX32": (1, 1), "IMM8SEX64": (1, 1), "IMM16": (2, 0),
    "IMM32": (4, 0), "IMM32SEX64": (4, 1), "IMM64": (8, 0), "IMM4_M2Z": (1, 0),
}  # fmt: skip
BRANCHES = {"BR64_1": 1, "BR64_4": 4, "XBEGIN_2": 2, "XBEGIN_4": 4, "BRDISP_2": 2, "BRDISP_4": 4}
IMPLICIT_MEM = {"ES_RDI": 7, "SEG_RDI": 7, "SEG_RSI": 6, "SEG_RBX_AL": 3}


class RowBuilder:
    """Derives a row from an instruction and what InstructionInfoFactory says about it."""

    def __init__(self) -> None:
        self.factory = InstructionInfoFactory()
        self.decoder = Prober()

    def build(self, data: bytes) -> Row:
        insn = self.decoder.decode(data)
        info = insn.op_code()
        name = MNEMONIC[insn.mnemonic]
        row = Row(insn.code, insn.mnemonic)
        explicit = self.rename(insn, info)
        used = self.factory.info(insn)
        self.operands(row, insn, info, used)
        self.memory(row, insn, info, used, name)
        self.properties(row, insn, info, used, name)
        self.implicit(row, used, explicit)
        self.flags(row, insn, info, name)
        self.masking(row, insn, info)
        self.idiom(row, insn, info)
        return row

    @staticmethod
    def rename(insn: Instruction, info: OpCodeInfo) -> set[int]:
        """Give every operand its own register; the returned set lists (full) registers that are not implicit."""
        explicit = set()
        for i in range(insn.op_count):
            kind = insn.op_kind(i)
            if kind == OpKind.REGISTER and source_of(OPKIND[info.op_kind(i)]) != S_FIXED:
                insn.set_op_register(i, scratch(insn.op_register(i), i))
                explicit.add(register(insn.op_register(i))[:2])
            name = OPKIND[info.op_kind(i)]
            if kind == OpKind.MEMORY and insn.memory_base != Register.NONE and name not in IMPLICIT_MEM:
                wide = insn.memory_base >= Register.RAX
                insn.memory_base = MEM_BASE if wide else Register.R13D
                if insn.memory_index != Register.NONE:
                    vector = RegisterExt.is_vector_register(insn.memory_index)
                    insn.memory_index = (
                        insn.memory_index + 28 if vector else MEM_INDEX if wide else Register.R14D
                    )
                    explicit.add(register(insn.memory_index)[:2])
                explicit.add((OPK_GPR, 13))
        if insn.op_mask != Register.NONE:
            explicit.add(register(insn.op_mask)[:2])
        return explicit

    def operands(self, row: Row, insn: Instruction, info: OpCodeInfo, used: object) -> None:
        element = element_size(info)
        for i in range(insn.op_count):
            kind = OPKIND[info.op_kind(i)]
            access = ACCESS[used.op_access(i)]
            if insn.op_kind(i) == OpKind.REGISTER:
                opk, number, size = register(insn.op_register(i))
                src = source_of(kind)
                if src == S_IS4:
                    row.imm_len = 1
                if src == S_VVVV:
                    row.attrs |= ATTR["VVVV"]
                esize = element if opk in (OPK_VEC, OPK_MMX) else 0
                fixed = number if src == S_FIXED else 0
                row.ops.append((src, opk, fixed, access, size, esize))
            elif insn.op_kind(i) == OpKind.MEMORY and kind not in IMPLICIT_MEM:
                src = S_MOFFS if kind == "MEM_OFFS" else S_MEM
                row.ops.append((src, OPK_MEM, 0, access, 0, element))
                row.mem_access = access
            elif kind in IMPLICIT_MEM:
                size = MemorySizeInfo(insn.memory_size).size
                if "MASKMOV" in MNEMONIC[insn.mnemonic]:
                    access |= ACC_COND  # only the bytes whose mask bit is set
                row.ops.append((S_FIXED, OPK_MEM_IMPL, IMPLICIT_MEM[kind], access, size, 0))
            elif kind in IMMEDIATES:
                length, signed = IMMEDIATES[kind]
                first = not row.imm_len
                if first:
                    row.imm_len, row.imm_signed = length, signed
                elif kind == "IMM4_M2Z":  # the low half of the byte whose high half is a register
                    row.attrs |= ATTR["M2Z"]
                else:
                    row.imm2_len = length
                row.ops.append((S_IMM if first else S_IMM2, OPK_IMM, 0, ACC_R, length, 0))
            elif kind == "IMM8_CONST_1":
                row.ops.append((S_ONE, OPK_IMM, 0, ACC_R, 1, 0))
            elif kind in BRANCHES:
                row.imm_len, row.imm_signed = BRANCHES[kind], 1
                row.ops.append((S_REL, OPK_REL, 0, ACC_R, 8, 0))
            else:
                raise ValueError(f"operand kind {kind} of {CODE[insn.code]}")

    def memory(self, row: Row, insn: Instruction, info: OpCodeInfo, used: object, name: str) -> None:
        explicit = any(op[1] == OPK_MEM_IMPL for op in row.ops)
        extra: dict[tuple[int, int], int] = {}
        dynamic = []
        if name == "CLZERO":
            row.ops.append((S_FIXED, OPK_MEM_IMPL, 0, ACC_W, 64, 0))
        for mem in used.used_memory():
            base = register(mem.base)[1] if mem.base != Register.NONE else None
            size = MemorySizeInfo(mem.memory_size).size
            if base is None or (row.mem_access and base == 13):
                continue
            if 8 <= base < 12 and row.ops[base - 8][1] == OPK_GPR:
                dynamic.append((row.ops[base - 8][0], OPK_MEM_IMPL, 0, ACCESS[mem.access], size, 0))
            elif not explicit:
                key = (base, ACCESS[mem.access])
                extra[key] = extra.get(key, 0) + size
        row.ops.extend(dynamic)
        row.ops.extend((S_FIXED, OPK_MEM_IMPL, b, a, s, 0) for (b, a), s in extra.items())
        if name.startswith(("XCRYPT", "XSHA", "CCS_", "MONTMUL")):
            # VIA PadLock: one operand per buffer would not fit; none is described.
            row.ops = []
        if len(row.ops) > 5:
            raise ValueError(f"{CODE[insn.code]} has more than five operands")
        at = next((i for i, op in enumerate(row.ops) if op[1] == OPK_MEM), None)
        if at is None:
            return
        access = row.mem_access
        if access == 0 or name in ADDRESS_ONLY:
            access = ACC_ADDR
        row.mem_size = 0 if access & ACC_ADDR else MemorySizeInfo(info.memory_size).size
        if info.can_broadcast:
            row.bcast_size = MemorySizeInfo(info.broadcast_memory_size).size
        if "MASKMOV" in name or (insn.is_vsib and not access & ACC_ADDR):
            access |= ACC_COND
        row.mem_access = access
        src, opk, reg, _, _, esize = row.ops[at]
        row.ops[at] = (src, opk, reg, access, row.mem_size, esize)
        row.attrs |= ATTR["MOFFS"] if src == S_MOFFS else ATTR["MEM"]
        regs = {register(u.register)[:2] for u in used.used_registers()}
        if src == S_MEM and insn.memory_base != Register.NONE and (OPK_GPR, 13) not in regs:
            row.attrs |= ATTR["NOADDR"]
        if insn.is_vsib:
            row.vsib = register(insn.memory_index)[2]

    @staticmethod
    def implicit(row: Row, used: object, explicit: set[tuple[int, int]]) -> None:
        gpr, vec = row.gpr, row.vec
        # Operands that name an aligned group of registers; x86_decode.c adds the rest of the group.
        quad = (OPK_VEC, 20) if row.attrs & ATTR["VQUAD"] else None
        pair = (OPK_K, 2) if row.attrs & ATTR["KPAIR"] else None
        for u in used.used_registers():
            kind, number, size = register(u.register)
            if (kind, number) in explicit or (kind, number & ~3) == quad or (kind, number & ~1) == pair:
                continue
            access = ACCESS[u.access]
            bit = 1 << number
            whole = access == ACC_W
            if kind == OPK_GPR:
                # A conditional write keeps the old value: it counts as read.
                gpr[0] |= bit if access & (ACC_R | ACC_COND) else 0
                gpr[1] |= bit if access & ACC_W else 0
                gpr[2] |= bit if whole and size == 8 else 0
            elif kind == OPK_VEC:
                vec[0] |= bit if access & ACC_R else 0
                vec[1] |= bit if access & ACC_W else 0
                vec[2] |= bit if whole and size == 64 else 0
            elif kind == OPK_K:
                row.k[0] |= bit if access & ACC_R else 0
                row.k[1] |= bit if access & ACC_W else 0
        for _, opk, reg, _, _, _ in row.ops:
            if opk == OPK_MEM_IMPL:
                gpr[3] |= 1 << reg
        gpr[2] &= ~gpr[0]
        vec[2] &= ~vec[0]
        gpr[3] &= gpr[0]

    @staticmethod
    def flags(row: Row, insn: Instruction, info: OpCodeInfo, name: str) -> None:
        read, modified = flags_of(insn.rflags_read), flags_of(insn.rflags_modified)
        kill = modified
        kinds = [OPKIND[info.op_kind(i)] for i in range(insn.op_count)]
        if name in SHIFTS and info.encoding == 0:
            if "CL" in kinds:
                kill = 0
            elif "IMM8" in kinds:
                insn.immediate8 = 1
                read, modified = flags_of(insn.rflags_read), flags_of(insn.rflags_modified)
                kill = modified
                row.attrs |= ATTR["SHIFT"] | (ATTR["RCL"] if name in ("RCL", "RCR") else 0)
        if name == "SYSCALL":
            # The CPU copies the flags to R11, the kernel gives them back unchanged.
            read, modified, kill = FL_ALL, 0, 0
        row.fl = [read, modified, kill]

    @staticmethod
    def properties(row: Row, insn: Instruction, info: OpCodeInfo, used: object, name: str) -> None:
        kinds = [OPKIND[info.op_kind(i)] for i in range(insn.op_count)]
        attrs = {
            "LOCK": info.can_use_lock_prefix and any(op[1] == OPK_MEM for op in row.ops),
            "STRING": insn.is_string_instruction,
            "CC": name.startswith(("J", "SET", "CMOV"))
            and insn.condition_code != 0
            and not insn.is_jcx_short,
            "BCAST": info.can_broadcast,
            "RC": info.can_use_rounding_control,
            "SAE": info.can_suppress_all_exceptions,
            "MASK": info.can_use_op_mask_register,
            "ZMASK": info.can_use_zeroing_masking,
            "NEEDK": info.require_op_mask_register,
            "UNIQUE": info.requires_unique_reg_nums,
            "UNIQUEDEST": info.requires_unique_dest_reg_num,
            "REL": any(op[0] == S_REL for op in row.ops),
            "ONE": any(op[0] == S_ONE for op in row.ops),
            # The completion mask of gathers and scatters.
            "KWRITE": any(
                register(u.register)[0] == OPK_K and ACCESS[u.access] & ACC_W and u.register == insn.op_mask
                for u in used.used_registers()
            ),
            "TERNLOG": name.startswith("VPTERNLOG"),
            "KPAIR": "KP1_REG" in kinds,
            "VQUAD": any(kind.endswith("P3_VVVV") for kind in kinds),
            "NO66": info.no66 and info.encoding == 0,
            "SIBMEM": "SIBMEM" in kinds,
        }
        opcode = info.op_code >> 8 if info.op_code_len == 2 else info.op_code
        attrs["X87"] = (
            info.encoding == 0 and info.table == 0 and (0xD8 <= opcode <= 0xDF or opcode == 0x9B)
        ) or (name in ("EMMS", "FEMMS") or name.removesuffix("64") in X87_STATE)
        attrs["MMX"] = any(op[1] == OPK_MMX for op in row.ops)
        row.attrs |= sum(ATTR[k] for k, v in attrs.items() if v)
        row.flow = FLOWS.index(flow_of(insn, info, name))
        row.pp = {
            MandatoryPrefix.P66: 1,
            MandatoryPrefix.PF3: 2,
            MandatoryPrefix.PF2: 3,
        }.get(info.mandatory_prefix, 0)
        row.opsize = operand_size(row, info)
        if info.encoding in (1, 2, 3):
            row.vlen = 16 << info.l
        if info.encoding == 2:
            row.disp_n, row.disp_nb = TUPLE[info.tuple_type]

    def masking(self, row: Row, insn: Instruction, info: OpCodeInfo) -> None:
        """Whether merging masking makes the destination register an input."""
        if not info.can_use_op_mask_register or not row.ops or row.ops[0][1] != OPK_VEC:
            return
        masked = insn.copy()
        masked.op_mask = Register.K1
        masked.zeroing_masking = False
        access = ACCESS[self.factory.info(masked).op_access(0)]
        if access & ACC_R:
            row.attrs |= ATTR["KMERGE"]

    def idiom(self, row: Row, insn: Instruction, info: OpCodeInfo) -> None:
        """xor r,r and the like: with equal sources nothing is read."""
        regs = [i for i in range(insn.op_count) if insn.op_kind(i) == OpKind.REGISTER]
        if len(regs) < 2 or len(regs) != insn.op_count:
            return
        if len({register(insn.op_register(i))[::2] for i in regs[-2:]}) != 1:
            return
        if MNEMONIC[insn.mnemonic] in CONSTANT_IF_EQUAL:
            row.attrs |= ATTR["IDIOM"]
            return
        if len({register(insn.op_register(i))[::2] for i in regs}) != 1:
            return
        for i in regs:
            insn.set_op_register(i, insn.op_register(0))
        used = self.factory.info(insn)
        access = [ACCESS[used.op_access(i)] for i in regs]
        if access != [op[3] for op in row.ops]:
            if access != [ACC_W] + [0] * (len(regs) - 1):
                raise ValueError(f"unexpected same-register behaviour of {CODE[insn.code]}")
            row.attrs |= ATTR["IDIOM"]


def element_size(info: OpCodeInfo) -> int:
    """Element size of packed operands, if memory and register elements are surely the same."""
    name = MNEMONIC[info.mnemonic]
    if not info.memory_size or any(part in name for part in MIXED_ELEMENTS):
        return 0
    size = MemorySizeInfo(info.memory_size)
    return size.element_size if size.element_size < 16 else 0


def operand_size(row: Row, info: OpCodeInfo) -> int:
    """Operand size in bytes; 0 if it is the effective operand size of the prefixes."""
    for src, opk, _, _, size, _ in row.ops[:1]:
        if opk == OPK_GPR:
            # in/out and the like name a port register first; their size is that of the data.
            if size == 1 or (size == 2 and src == S_FIXED and not info.operand_size and len(row.ops) < 2):
                return size
        if opk in (OPK_MEM, OPK_MEM_IMPL) and not info.operand_size and size == 1:
            return 1
    if len(row.ops) > 1 and not info.operand_size and info.encoding == 0:
        _, opk, _, _, size, _ = row.ops[1]
        if opk in (OPK_GPR, OPK_MEM_IMPL) and size == 1 and row.ops[0][1] == OPK_GPR and row.ops[0][4] <= 2:
            return 1
    return info.operand_size // 8


def flow_of(insn: Instruction, info: OpCodeInfo, name: str) -> str:
    """The ip_flow class."""
    flow = insn.flow_control
    if name in ("UD0", "UD1", "UD2"):
        return "UD"
    if name == "SYSCALL":
        return "SYSCALL"
    if name.startswith("IRET") or name == "UIRET":
        return "IRET"
    if name == "XBEGIN":
        return "XBEGIN"
    if name in ("INT", "INT1", "INT3", "SYSENTER"):
        return "INT"
    if insn.is_jmp_far_indirect or insn.is_call_far_indirect or name == "RETF":
        return "FAR"
    if name in PRIVILEGED or info.must_be_cpl0 or insn.is_privileged:
        return "PRIV"
    if insn.is_jcx_short or insn.is_loop or insn.is_loopcc:
        return "LOOP"
    return {
        FlowControl.UNCONDITIONAL_BRANCH: "JMP",
        FlowControl.CONDITIONAL_BRANCH: "JCC",
        FlowControl.CALL: "CALL" if insn.is_call_near else "NEXT",
        FlowControl.INDIRECT_BRANCH: "JMPI",
        FlowControl.INDIRECT_CALL: "CALLI",
        FlowControl.RETURN: "RET",
    }.get(flow, "NEXT")


def _tuples() -> dict[int, tuple[int, int]]:
    from iced_x86 import TupleType

    out = {}
    for value, name in _names(TupleType).items():
        full, _, broadcast = name[1:].partition("B")
        out[value] = (int(full), int(broadcast) if broadcast else int(full))
    return out


TUPLE = _tuples()


def write_mnemonics(path: Path) -> None:
    """enum ip_mnem: iced's mnemonics in iced's order."""
    names = [MNEMONIC[i] for i in sorted(MNEMONIC)]
    lines = ["/* Generated by gen_x86_tables.py: instruction mnemonics. */", "#ifndef INTERPOSE_X86_MNEM_H"]
    lines += ["#define INTERPOSE_X86_MNEM_H", "", "enum ip_mnem {"]
    lines += [f"  IP_MN_{name}{' = 0' if i == 0 else ''}," for i, name in enumerate(names)]
    lines += ["  IP_MN_COUNT", "};", "", "#endif", ""]
    path.write_text("\n".join(lines))


def c_array(ctype: str, name: str, values: Iterable[int], width: int = 24) -> list[str]:
    items = [str(v) for v in values]
    out = [f"static const {ctype} {name}[{len(items)}] = {{"]
    out += ["  " + ",".join(items[i : i + width]) + "," for i in range(0, len(items), width)]
    return [*out, "};", ""]


def row_text(row: Row) -> str:
    ops = ",".join("{" + ",".join(map(str, op)) + "}" for op in row.ops) or "{0}"
    fields = [
        row.mnem, row.vlen, row.flow, hex(row.attrs), row.opsize, row.pp, row.disp_n, row.disp_nb, row.imm_len,
        row.imm_signed, row.imm2_len, row.mem_access, row.mem_size, row.bcast_size, row.vsib, len(row.ops),
        *map(hex, row.gpr), *map(hex, row.vec), *row.k, *map(hex, row.fl),
    ]  # fmt: skip
    return "  {" + ",".join(map(str, fields)) + ",{" + ops + "}}, /* " + CODE[row.code] + " */"


def write_tables(path: Path, dispatch: Dispatch, rows: list[Row]) -> None:
    lines = ["/* Generated by gen_x86_tables.py: decoder tables, included by x86_decode.c. */"]
    lines += [f"#define IP_XA_{name} {1 << i:#x}u" for i, name in enumerate(ATTRS)]
    lines += [f"#define IP_XSLOT_{name} {i}" for i, name in enumerate(SLOTS)]
    lines.append("")
    lines += c_array("uint32_t", "ip_xtop", dispatch.top)
    lines += c_array("uint16_t", "ip_xsub", dispatch.sub)
    for name, pool in dispatch.blocks.items():
        lines += c_array("uint16_t", f"ip_xblocks_{name}", [v for block in pool for v in block])
    lines.append(f"static const struct ip_xrow ip_xrows[{len(rows) + 1}] = {{")
    lines.append("  {0},")
    lines += [row_text(row) for row in rows]
    lines += ["};", ""]
    names = [MNEMONIC[i].lower() for i in sorted(MNEMONIC)]
    lines.append("static const char *const ip_xnames[IP_MN_COUNT] = {")
    lines += ["  " + ",".join(f'"{n}"' for n in names[i : i + 8]) + "," for i in range(0, len(names), 8)]
    lines += ["};", ""]
    path.write_text("\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("outdir", type=Path)
    out: Path = parser.parse_args().outdir
    out.mkdir(parents=True, exist_ok=True)
    prober = Prober()
    dispatch = Dispatch(prober)
    opcodes = opcode_index()
    probe_legacy(dispatch, opcodes)
    probe_vector(dispatch, opcodes)
    builder = RowBuilder()
    rows = [builder.build(data) for _, data in prober.examples]
    write_mnemonics(out / "x86_mnem.h")
    write_tables(out / "x86_tables.inc", dispatch, rows)


if __name__ == "__main__":
    main()
