"""The decoder's answer compared with iced-x86's: length, operands, registers, memory, flags."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cffi
from iced_x86 import (
    Code,
    CpuidFeature,
    Decoder,
    Instruction,
    InstructionInfoFactory,
    MemorySizeInfo,
    Mnemonic,
    OpAccess,
    OpKind,
    Register,
    RegisterExt,
    RegisterInfo,
    RflagsBits,
)

ROOT = Path(__file__).resolve().parents[3]
JIT = ROOT / "interpose" / "jit"
HEADER = ROOT / "interpose" / "abi" / "x86_insn.h"
PC = 0x401000

R, W, COND, ADDR = 1, 2, 4, 8
RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI = range(8)
CF, PF, AF, ZF, SF, DF, OF = 0x1, 0x4, 0x10, 0x40, 0x80, 0x400, 0x800
ARITH = 0x8D5
NAMES = {v: k.lower() for k, v in vars(Mnemonic).items() if isinstance(v, int)}
FLAG_BITS = {
    RflagsBits.CF: CF,
    RflagsBits.PF: PF,
    RflagsBits.AF: AF,
    RflagsBits.ZF: ZF,
    RflagsBits.SF: SF,
    RflagsBits.DF: DF,
    RflagsBits.OF: OF,
}
ACCESS = {
    OpAccess.NONE: 0,
    OpAccess.READ: R,
    OpAccess.COND_READ: R | COND,
    OpAccess.WRITE: W,
    OpAccess.COND_WRITE: W | COND,
    OpAccess.READ_WRITE: R | W,
    OpAccess.READ_COND_WRITE: R | W,
    OpAccess.NO_MEM_ACCESS: ADDR,
}
LOCK_IGNORED = {"verw"}
LOCK_ACCEPTED = (
    rb"[\x66\xf2\xf3\x26\x2e\x36\x3e\x64-\x67\x40-\x4f]*\x0f(\x20|\x22|\x00[\x28-\x2f\x68-\x6f\xa8-\xaf])"
)
SEGMENT_PREFIXES = frozenset((0x26, 0x2E, 0x36, 0x3E, 0x64, 0x65, 0x67))
X87_FEATURES = {v for k, v in vars(CpuidFeature).items() if re.fullmatch(r"FPU.*|.*FPU.*", k)}
X87_STATE = re.compile("f?emms|wait|f?x(save|rstor)")
NOP_WITHOUT_CET = ("rdsspd", "rdsspq")  # they leave the destination alone where shadow stacks are off
KEEPS_A_PART = ("insertq",)  # the form with immediates, too: the bits beside the field stay
HIGH8 = {Register.AH: 0, Register.CH: 1, Register.DH: 2, Register.BH: 3}
FACTORY = InstructionInfoFactory()


class Native:
    """The C decoder, compiled for the test."""

    def __init__(self, build: Path) -> None:
        subprocess.run([sys.executable, str(JIT / "gen_x86_tables.py"), str(build)], check=True)
        library = build / "decoder.so"
        flags = ["-O2", "-std=gnu17", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
        include = [f"-I{JIT.parent}", f"-I{build}"]
        sources = [str(JIT / "x86_decode.c"), str(Path(__file__).with_name("sweep.c"))]
        subprocess.run(["gcc", *flags, *include, "-o", str(library), *sources], check=True)
        self.ffi = cffi.FFI()
        self.ffi.cdef(re.sub(r"(?m)^#(?!define \w+ +\w+ *(/\*.*)?$).*", "", HEADER.read_text()))
        self.ffi.cdef(
            "int ip_decode(const uint8_t *, size_t, uint64_t, struct ip_insn *);"
            "const char *ip_mnem_name(unsigned);"
            "void ip_decode_as_amd(int);"
            "size_t sweep(const uint8_t *, size_t, size_t, uint64_t, uint8_t *, uint64_t *, size_t,"
            " uint32_t *);"
        )
        self.lib = self.ffi.dlopen(str(library))
        self.insn = self.ffi.new("struct ip_insn *")
        self.lib.ip_decode_as_amd(0)  # as iced does, on every machine

    def length(self, data: bytes, pc: int = PC) -> int:
        """Decode into self.insn; the result of ip_decode."""
        return int(self.lib.ip_decode(data, len(data), pc, self.insn))

    def name(self, mnem: int) -> str:
        return self.ffi.string(self.lib.ip_mnem_name(mnem)).decode()

    def decode(self, text: str, pc: int = PC) -> Any:
        """The instruction of a hexadecimal string, which must be used up exactly."""
        data = bytes.fromhex(text)
        assert self.length(data, pc) == len(data), text
        assert bytes(self.insn.bytes[0 : len(data)]) == data
        return self.insn


def flags(bits: int) -> int:
    return sum(v for k, v in FLAG_BITS.items() if bits & k)


def register(reg: int) -> tuple[str, int, int]:
    """(class, number, size) of an iced register."""
    info = RegisterInfo(reg)
    if RegisterExt.is_gpr(reg):
        return "gpr", info.full_register - Register.RAX, info.size
    for name, test in (("vec", "is_vector_register"), ("k", "is_k"), ("mmx", "is_mm")):
        if getattr(RegisterExt, test)(reg):
            return name, info.number, info.size
    return "", info.number, info.size


# Deliberate differences from iced, each with the rule of interpose/abi/x86_insn.h or the manual behind it.
CACHE_LINE = {"clflush", "clflushopt", "clwb"}  # iced: read; here address only, they check but read no data
EQUAL_SOURCES = re.compile(r"sbb|v?pcmp(eq|gt)[bwdq]|v?pandn[dq]?|v?andnp[sd]|k(xor|xnor|andn)[bwdq]")
PADLOCK = ("xstore", "xcrypt", "xsha", "montmul", "ccs_")  # VIA only: operands are not described
MMX_AS_X87 = {"fnsave", "frstor", "fsave"}  # iced lists mm0-7; here the field x87 stands for the whole state


def constant_result(insn: Instruction, name: str) -> bool:
    """Results that do not depend on the sources: iced lists the sources as read, the decoder does not."""
    if name.startswith("vpternlog"):
        return insn.immediate8 in (0, 0xFF)
    if not EQUAL_SOURCES.fullmatch(name):
        return False
    last = insn.op_count - 1
    both = insn.op_kind(last) == insn.op_kind(last - 1) == OpKind.REGISTER
    return both and insn.op_register(last) == insn.op_register(last - 1)


def differences(native: Native, data: bytes, insn: Instruction) -> list[str]:
    """How the decoder's answer for data differs from iced's instruction."""
    length = native.length(data, insn.ip)
    out = native.insn
    if insn.code == Code.INVALID:
        if length <= 0:
            return []
        alike = next((i for i in accepted_by_amd(data, insn.ip) if i.code != Code.INVALID), None)
        if alike is None:
            return [f"valid ({native.name(out.mnem)})"]
        insn = alike
    if length != insn.len:
        return [f"length {length}, not {insn.len}"]
    name = NAMES[insn.mnemonic]
    if name == "pause" and native.name(out.mnem) == "xchg":
        return []  # with REX.B it is one: iced does not say so, the CPU does
    diff: list[str] = []

    def check(what: str, mine: object, theirs: object) -> None:
        if mine != theirs:
            diff.append(f"{what} {mine}, not {theirs}")

    check("mnemonic", native.name(out.mnem), name)
    if name.startswith(PADLOCK):
        return diff
    info = FACTORY.info(insn)
    constant = constant_result(insn, name)
    for i in range(insn.op_count):
        operand(native, check, insn, info, i, constant)
    register_sets(check, out, insn, info, name, constant)
    if name != "syscall":
        check("flags read", out.fl_read, flags(insn.rflags_read))
        check("flags written", out.fl_write, flags(insn.rflags_modified))
        by_cl = out.fl_write and insn.op_count > 1 and insn.op_kind(insn.op_count - 1) == OpKind.REGISTER
        shift = (
            by_cl
            and insn.op_register(insn.op_count - 1) == Register.CL
            and name[:2] in ("ro", "rc", "sh", "sa")
        )
        check("flags killed", out.fl_kill, 0 if shift or out.rep else out.fl_write)
    if not (out.lock and out.flow == native.lib.IP_F_PRIV) and name not in LOCK_IGNORED:
        check("lock", bool(out.lock), insn.has_lock_prefix)
    check("mask", (out.evex_k, bool(out.evex_z)), (opmask(insn), insn.zeroing_masking))
    if name.startswith(("j", "set", "cmov")) and insn.condition_code:
        check("condition", out.cc, insn.condition_code - 1)
    x87 = X87_STATE.match(name) or not X87_FEATURES.isdisjoint(insn.cpuid_features())
    check("x87", bool(out.x87), bool(x87))
    size = insn.op_code().operand_size
    if size and out.enc == 0 and out.opsize != 1:
        check("operand size", out.opsize * 8, size)
    memory_sets(check, native, insn, info, name)
    return diff


def opmask(insn: Instruction) -> int:
    return insn.op_mask - Register.K0 if insn.op_mask else 0


def accepted_by_amd(data: bytes, ip: int) -> Iterator[Instruction]:
    """What AMD CPUs make of encodings that the manuals, and iced, call invalid.

    They ignore EVEX.b in register forms without rounding, EVEX.z where there is no masking, the upper bits of
    the number of an opmask register, W of vpermq and vpermpd, and lock before verw; lock before a move from
    or to a control register adds 8 to its number.
    """
    at = next((i for i, c in enumerate(data) if c not in SEGMENT_PREFIXES), 0)
    changes: list[tuple[int, int, int]] = []  # offset, bits to clear, bits to set
    if data[at] == 0x62:
        changes = [(at + 3, 0x10, 0), (at + 3, 0x80, 0), (at + 1, 0, 0x90), (at + 2, 0, 0x40), (at + 3, 0, 8)]
    elif data[at] == 0xC4:
        changes = [(at + 1, 0, 0x80), (at + 2, 0, 0x40)]
        if data[at + 1] & 0x1F == 3 and data[at + 3] < 2:
            changes.append((at + 2, 0, 0x80))
    elif data[at] == 0xC5:
        changes = [(at + 1, 0, 0x80), (at + 1, 0, 0x40)]
    else:
        changes = [(i, 0xFF, 0x2E) for i in range(min(14, len(data))) if data[i] == 0xF0]
        changes = [c for c in changes if re.match(LOCK_ACCEPTED, data[c[0] + 1 :], re.DOTALL)]
    for n in range(1, len(changes) + 1):
        for chosen in itertools.combinations(changes, n):
            other = bytearray(data)
            for where, clear, bits in chosen:
                other[where] = other[where] & ~clear | bits
            yield Decoder(64, bytes(other), ip=ip).decode()


def memory_sets(check: Any, native: Native, insn: Instruction, info: Any, name: str) -> None:
    """Compare implicit memory operands, and the registers that form addresses."""
    out = native.insn
    addresses = 0
    explicit = name != "xlatb" and any(insn.op_kind(i) == OpKind.MEMORY for i in range(insn.op_count))
    # pop's operand is its one write; at [rsp] its place is that of the word popped.
    by_place = explicit and name != "pop"
    operand_place = (insn.memory_base, insn.memory_index, insn.memory_displacement) if by_place else None
    theirs: list[tuple[int, int, int]] = []
    for used in info.used_memory():
        for reg in (used.base, used.index):
            if RegisterExt.is_gpr(reg):
                addresses |= 1 << register(reg)[1]
        place = used.base, used.index, used.displacement
        if explicit and name == "pop" and used.access == OpAccess.WRITE:
            continue  # the operand; iced adds what RSP has grown by
        if explicit and not RegisterExt.is_gpr(used.base):
            continue  # the operand
        if explicit and place == operand_place:
            operand_place = None
            continue
        # No size is given for a repeated access.
        size = MemorySizeInfo(used.memory_size).size or MemorySizeInfo(insn.memory_size).size
        theirs.append((register(used.base)[1], ACCESS[used.access] & 3, size))
    if explicit and not info.used_memory():  # an address only: the registers are used if they are read
        read = {RegisterInfo(u.register).full_register for u in info.used_registers()}
        for reg in (insn.memory_base, insn.memory_index):
            if RegisterExt.is_gpr(reg) and RegisterInfo(reg).full_register in read:
                addresses |= 1 << register(reg)[1]
    if insn.is_vsib:
        theirs = []  # one for each element
    if name.startswith("tile"):
        return  # iced leaves the stride register out
    # enter copies frame pointers if its second operand is not 0; only the first push is described.
    if name == "enter" and insn.immediate8_2nd & 31:
        return
    implicit = [o for o in out.ops[0 : out.n_ops] if o.kind == native.lib.IP_OP_MEM_IMPL]
    mine = Counter({(o.reg, o.access & 3): o.size for o in implicit})
    together: Counter[tuple[int, int]] = Counter()  # what iret and far calls access is one operand here
    for base, access, size in theirs:
        together[base, access] += size
    if name == "clzero":  # iced gives no address, the APM says RAX
        together[RAX, W] = 64
        addresses |= 1 << RAX
    check("implicit memory", dict(mine), dict(together))
    if name == "xlatb":
        addresses &= ~(1 << RAX)  # AL alone is an index
    check("address registers", out.addr_read, addresses)


def operand(native: Native, check: Any, insn: Instruction, info: Any, i: int, constant: bool) -> None:
    """Compare one explicit operand."""
    out, lib, kind, access = native.insn, native.lib, insn.op_kind(i), ACCESS[info.op_access(i)]
    op, name = out.ops[i], NAMES[insn.mnemonic]
    access |= R if name in NOP_WITHOUT_CET or (name in KEEPS_A_PART and i == 0) else 0
    if i >= out.n_ops:
        check("operands", int(out.n_ops), insn.op_count)
    elif op.kind == lib.IP_OP_MEM_IMPL:
        check(f"operand {i} is memory", kind != OpKind.REGISTER, True)
        check(f"operand {i} access", op.access & ~COND, access & ~COND)
        if out.rep:
            check(f"operand {i} is conditional", op.access & COND, COND)
        check(f"operand {i} size", op.size, MemorySizeInfo(insn.memory_size).size)
    elif kind == OpKind.MEMORY:
        check(f"operand {i} kind", op.kind, lib.IP_OP_MEM)
        memory(check, out, insn)
        check("memory access", out.mem.access, op.access)
        if name in CACHE_LINE:
            check("memory access", out.mem.access, ADDR)
        else:
            check("memory access", out.mem.access & 3, access & 3)
        if not op.access & ADDR:
            check("memory size", out.mem.size, MemorySizeInfo(insn.memory_size).size)
            check("operand size", op.size, out.mem.size)
    elif kind == OpKind.REGISTER:
        reg = insn.op_register(i)
        cls, number, size = register(reg)
        check(f"operand {i} high byte", bool(op.high8), reg in HIGH8)
        check(f"operand {i} register", op.reg, HIGH8.get(reg, number))
        if cls in ("gpr", "vec"):
            check(f"operand {i} size", op.size, size)
        if not constant and not (insn.op_mask and access & W):
            check(f"operand {i} access", op.access, access)
    elif kind in (OpKind.NEAR_BRANCH64, OpKind.NEAR_BRANCH32, OpKind.NEAR_BRANCH16):
        check(f"operand {i} kind", op.kind, lib.IP_OP_REL)
        check("target", out.target, insn.near_branch_target)
    else:
        check(f"operand {i} kind", op.kind, lib.IP_OP_IMM)
        second = i > 0 and out.ops[i - 1].kind == lib.IP_OP_IMM
        mine = out.imm2 if second or name.startswith("vpermil2") else out.imm
        theirs = insn.immediate(i)
        mask = (1 << (insn.op_code().operand_size or 64)) - 1
        check(f"operand {i} immediate", mine & mask, theirs & mask)


def memory(check: Any, out: Any, insn: Instruction) -> None:
    """Compare the addressing form."""
    mem = out.mem
    rip = insn.is_ip_rel_memory_operand
    base = 0xFF if insn.memory_base == Register.NONE else 0x10 if rip else register(insn.memory_base)[1]
    index = 0xFF if insn.memory_index == Register.NONE else register(insn.memory_index)[1]
    check("memory present", mem.present, 1)
    check("base", mem.base, base)
    check("index", mem.index, index)
    if index != 0xFF:
        check("scale", mem.scale, insn.memory_index_scale)
    check("vsib", mem.vsib, register(insn.memory_index)[2] if insn.is_vsib else 0)
    check("segment", mem.seg, {Register.FS: 4, Register.GS: 5}.get(insn.segment_prefix, 0))
    check("broadcast", bool(mem.bcast), insn.is_broadcast)
    check("rip target", mem.rip_target, insn.ip_rel_memory_address if rip else 0)
    if not rip:
        mask = 0xFFFFFFFF if mem.addr32 else 0xFFFFFFFFFFFFFFFF
        check("displacement", mem.disp & mask, insn.memory_displacement & mask)


def register_sets(check: Any, out: Any, insn: Instruction, info: Any, name: str, constant: bool) -> None:
    """Compare the sets of registers read, written and killed."""
    sets: dict[str, int] = Counter()
    for used in info.used_registers():
        cls, number, size = register(used.register)
        access, bit = ACCESS[used.access], 1 << number
        if access & (R | COND):  # a conditional write keeps the old value, which counts as reading it
            sets[cls + "_read"] |= bit
        if access & W:
            sets[cls + "_write"] |= bit
        # iced lists the full register where a write clears the bits above.
        if access == W and used.access == OpAccess.WRITE and size == {"gpr": 8, "vec": 64}.get(cls):
            sets[cls + "_kill"] |= bit
    if name in NOP_WITHOUT_CET:
        sets["gpr_read"] |= sets["gpr_write"]
    if name in KEEPS_A_PART:
        sets["vec_read"] |= sets["vec_write"]
    for cls in ("gpr", "vec"):
        sets[cls + "_kill"] &= ~sets[cls + "_read"]
    if out.rep:
        sets["gpr_kill"] = 0
    for cls in ("gpr", "vec", "k", "mmx"):
        if cls == "mmx" and name in MMX_AS_X87:
            check("x87", out.x87, 1)
            continue
        check(cls + "_write", getattr(out, cls + "_write"), sets[cls + "_write"])
        if constant:
            assert getattr(out, cls + "_read") & ~sets[cls + "_read"] == 0
            continue
        check(cls + "_read", getattr(out, cls + "_read"), sets[cls + "_read"])
        if cls in ("gpr", "vec"):
            check(cls + "_kill", getattr(out, cls + "_kill"), sets[cls + "_kill"])
