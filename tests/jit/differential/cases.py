"""Random instruction sequences with the state each starts from, as a case file for guest.c."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iced_x86 import Instruction, MemorySizeInfo, OpKind, Register, RegisterInfo, RflagsBits

from interpose.jit._native import ffi, lib

from .encode import encode, invalid
from .rows import Row, all_rows, left_out
from .state import HIGH, LOW, MASK, SIZE, Layout, image, mxcsr, random_value, vector_bytes, x87_control

RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI = range(8)
STACK, READONLY = 0x0E100000, 0x0E200000
STACK_MID = STACK + 0x1000
FS_BASE, GS_BASE = HIGH - 0x1000, HIGH + 0x10
CODE_LOW, CODE_HIGH = 0x08000000, 0x3000000000
ARITH = 0x8D5
MAGIC = 0x66666964
RECORD = struct.Struct("<30Q")
BRANCHES = frozenset((lib.IP_F_JMP, lib.IP_F_JCC, lib.IP_F_CALL, lib.IP_F_LOOP))
STRINGS = ("movs", "stos", "lods", "cmps", "scas")
FLAGS_AT_START = ARITH | 0x200000  # and ID, which nothing but popf changes
UNKNOWN = 0
"""Row number of bytes that are no instruction."""


@dataclass
class Case:
    """One case: where its code lies, its rows, and the flags no one may rely on at its end."""

    start: int
    end: int
    rows: tuple[int, ...]
    undefined: int
    pcs: tuple[int, ...] = ()


@dataclass
class CaseFile:
    """A written case file."""

    data: bytes
    cases: list[Case]
    code: bytes
    code_addr: int
    bufs: list[tuple[int, int]] = field(default_factory=list)


class Sequence:
    """Builds the code of one case and the registers it starts with."""

    def __init__(self, rng: random.Random, pc: int, index_table: int) -> None:
        self.rng, self.start, self.code = rng, pc, bytearray()
        self.initial: dict[int, int] = {RSP: STACK_MID + rng.choice((0, 0, 0, 8, 3))}
        self.known: dict[int, int] = dict(self.initial)
        self.dirty: set[int] = set()
        self.undefined = 0
        self.reads_undefined = False
        self.index_table = index_table
        self.pcs: list[int] = []

        self.base_changed = False
        self.segment_x87 = False
        self.any_x87 = False
        self.zeroed = False

    def snapshot(self) -> tuple[Any, ...]:
        """Everything that a failed attempt may have changed."""
        return (len(self.code), dict(self.initial), dict(self.known), set(self.dirty), self.undefined,
                self.reads_undefined, len(self.pcs))  # fmt: skip

    def restore(self, kept: tuple[Any, ...]) -> None:
        size, self.initial, self.known, self.dirty, self.undefined, self.reads_undefined, pcs = kept
        del self.code[size:], self.pcs[pcs:]

    @property
    def pc(self) -> int:
        return self.start + len(self.code)

    def set(self, reg: int, value: int) -> None:
        """Make the register hold the value when the next instruction runs."""
        value &= MASK
        if self.known.get(reg) == value:
            return
        if reg in self.dirty or reg in self.known:
            self.pcs.append(self.pc)
            self.code += bytes([0x48 | reg >> 3, 0xB8 | reg & 7]) + struct.pack("<Q", value)
            self.dirty.add(reg)
        else:
            self.initial[reg] = value
        self.known[reg] = value

    def emit(self, data: bytes) -> None:
        insn = ffi.new("struct ip_insn *")
        if lib.ip_decode(data, len(data), self.pc, insn) > 0:
            for reg in range(16):
                if insn.gpr_write >> reg & 1:
                    self.known.pop(reg, None)
                    self.dirty.add(reg)
            if insn.flow == lib.IP_F_LOOP:
                self.dirty.add(RCX)
        self.pcs.append(self.pc)
        self.code += data

    def flags(self, insn: Instruction) -> None:
        """Keep account of flags left undefined (iced: rflags_undefined)."""
        if eflags(insn.rflags_read) & self.undefined:
            self.reads_undefined = True
        self.undefined = self.undefined & ~eflags(insn.rflags_modified) | eflags(insn.rflags_undefined)


FLAG_BITS = {
    RflagsBits.CF: 0x001,
    RflagsBits.PF: 0x004,
    RflagsBits.AF: 0x010,
    RflagsBits.ZF: 0x040,
    RflagsBits.SF: 0x080,
    RflagsBits.OF: 0x800,
}


def eflags(bits: int) -> int:
    """RflagsBits of iced as bits of the flags register."""
    return sum(v for k, v in FLAG_BITS.items() if bits & k)


def access_size(insn: Instruction) -> int:
    return MemorySizeInfo(insn.memory_size).size


WIDE_STATE = (
    "fxsave",
    "fxrstor",
    "xsave",
    "xrstor",
    "xsaveopt",
    "xsavec",
    "fnsave",
    "frstor",
    "fldenv",
    "fnstenv",
)


SELECTORS = tuple(name for name in WIDE_STATE if "rstor" not in name and name != "fldenv")
"""They store the selectors of the last x87 instruction and its operand."""


def _keeps_selectors() -> bool:
    """Intel's CPUs store zeros by now.

    AMD's store what they were, as long as nobody else runs: the kernel's 64-bit xsave has no room for them.
    """
    return "AuthenticAMD" in Path("/proc/cpuinfo").read_text()


KEEPS_SELECTORS = _keeps_selectors()


def pick_target(rng: random.Random, insn: Instruction, name: str, low: bool, seg: int) -> int:
    """An address for a memory operand: mostly good ones, aligned or not, some that fault."""
    size = access_size(insn) or 64
    base = name.removesuffix("64")
    start = HIGH if seg or (not low and rng.random() < 0.4) else LOW
    if base in WIDE_STATE:
        return start + 0x1000 + (0 if rng.random() < 0.95 else 16 * rng.randrange(4) + 4)
    roll = rng.random()
    if roll < 0.02:
        return start + SIZE - rng.randrange(0, size + 1)  # over the edge
    if roll < 0.03 and not seg:
        return READONLY + rng.randrange(0x100, 0xE00)
    if roll < 0.035 and not low and not seg:
        return rng.getrandbits(60) | 1 << 62  # non-canonical
    at = 0x400 + rng.randrange(0x800)
    if rng.random() < 0.7:
        at &= ~63
    return start + at


def place_memory(seq: Sequence, data: bytes, insn: Instruction, row: Row) -> bytes | None:
    """Point the memory operand at memory: set its registers, or patch its displacement."""
    rng = seq.rng
    base, index, scale = insn.memory_base, insn.memory_index, insn.memory_index_scale
    wide = (
        32
        if (Register.EAX <= base <= Register.R15D)
        or (Register.EAX <= index <= Register.R15D)
        or base == Register.EIP
        else 64
    )
    if base == Register.NONE and index == Register.NONE and 0x67 in data[:3]:
        wide = 32
    mod = (1 << wide) - 1
    first = Register.EAX if wide == 32 else Register.RAX
    seg = {Register.FS: FS_BASE, Register.GS: GS_BASE}.get(insn.memory_segment, 0)
    name = row.mnemonic
    vector = insn.is_vsib
    low = wide == 32
    offset = data_modrm(data, row)
    if name in ("bt", "bts", "btr", "btc") and insn.op_kind(1) == OpKind.REGISTER:
        bit = RegisterInfo(insn.op1_register).full_register - Register.RAX
        if bit in (base - first, index - first) or bit == RSP:
            return None
        seq.set(bit, rng.randrange(-2000, 2000))
    if base in (Register.RIP, Register.EIP):
        if seq.start >= 1 << 32:
            target = seq.start // 0x10000000 * 0x10000000 + 0x8000000 + 0x400 + rng.randrange(0x800)
            if wide == 32 or seg:  # out of reach: faults, or meets something readable
                target = seq.pc + rng.randrange(-1 << 31, 1 << 31)
                if wide == 32 and (target + seg) & mod < 1 << 31:
                    return None  # may be where we are
        else:
            target = (pick_target(rng, insn, name, True, 0) if not seg else HIGH + 0x500) - seg
        disp = target - (seq.pc + len(data))
        if not -(1 << 31) <= disp < 1 << 31:
            return None
        return data[: offset + 1] + struct.pack("<i", disp) + data[offset + 5 :]
    if base == Register.NONE and (index == Register.NONE or vector):
        # disp32 alone, or with a vector of indices
        target = pick_target(rng, insn, name, True, seg) - seg
        if not 0 <= target < 1 << 31:
            return None
        at = offset + 2 if row.modrm else offset
        if not row.modrm:  # moffs
            length = 4 if wide == 32 else 8
            if not seg and wide == 64:
                target = pick_target(rng, insn, name, False, seg) & MASK
            return data[:at] + target.to_bytes(length, "little") + data[at + length :]
        if vector:
            load_index(seq, insn, scale)
        return data[:at] + struct.pack("<i", target) + data[at + 4 :]
    disp = insn.memory_displacement & MASK
    if wide == 32:
        disp &= mod
    b = base - first if base != Register.NONE else None
    i = index - first if index != Register.NONE and not vector else None
    if vector:
        load_index(seq, insn, scale)
    target = pick_target(rng, insn, name, low, seg)
    want = (target - seg) & MASK
    if wide == 32 and want >> 32:
        return None
    if b == RSP:
        if row.modrm and (disp + 0x800) & mod >= 0x1000:
            sib = 2
            if data[offset] >> 6 == 2:
                data = (
                    data[: offset + sib]
                    + struct.pack("<i", rng.randrange(-512, 512))
                    + data[offset + sib + 4 :]
                )
            else:
                data = data[: offset + sib] + bytes([rng.choice((0, 1, 2, 0xFF))]) + data[offset + sib + 1 :]
        if seg and i is None:
            seq.set(RSP, want - disp)
            return data
        if RSP not in seq.known or seg:
            seq.set(RSP, STACK_MID)
        if i is not None:
            seq.set(i, (want - STACK_MID) // scale if seg else rng.randrange(64))
        return data
    junk = rng.getrandbits(32) << 32 if wide == 32 else 0
    if b is not None and b == i:  # one register twice
        total = 1 + scale
        want -= (want - disp) % total
        seq.set(b, ((want - disp) // total & mod) | junk)
        return data
    if i is not None:
        if b is None:
            want -= (want - disp) % scale
            seq.set(i, ((want - disp) // scale & mod) | junk)
            return data
        if i in seq.known and rng.random() < 0.5:
            value = seq.known[i]
        else:
            value = rng.choice((rng.randrange(64), -rng.randrange(64) & mod, rng.getrandbits(wide)))
            seq.set(i, value | junk)
        disp += (value & mod) * scale
    if b is not None:
        seq.set(b, (want - disp) & mod | junk)
    return data


def data_modrm(data: bytes, row: Row) -> int:
    """Offset of ModRM (or of the displacement of a moffs form) in an encoding of the row."""
    insn = ffi.new("struct ip_insn *")
    lib.ip_decode(data, len(data), 0x1000, insn)
    return int(insn.off_modrm) if insn.off_modrm else int(insn.off_opcode) + 1


def load_index(seq: Sequence, insn: Instruction, scale: int) -> None:
    """Small indices into the vector index register: vmovdqu64 zmmN, [table] (or vmovdqu ymmN)."""
    number = RegisterInfo(insn.memory_index).number
    at = seq.index_table + 64 * seq.rng.randrange(16)
    seq.pcs.append(seq.pc)
    r, r2 = (~number >> 3 & 1), (~number >> 4 & 1)
    if number < 16:
        code = bytes([0xC4, r << 7 | 0x61, 0x7E, 0x6F, 0x04 | (number & 7) << 3, 0x25])
        if HAVE_AVX512[0] and seq.rng.getrandbits(1):
            code = bytes([0x62, r << 7 | r2 << 4 | 0x61, 0xFE, 0x48, 0x6F, 0x04 | (number & 7) << 3, 0x25])
    else:
        code = bytes([0x62, r << 7 | r2 << 4 | 0x61, 0xFE, 0x48, 0x6F, 0x04 | (number & 7) << 3, 0x25])
    seq.code += code + struct.pack("<i", at)


HAVE_AVX512 = [True]


def add_branch(seq: Sequence, data: bytes, row: Row, flow: int) -> bool:
    """A relative branch over a small instruction, or not over it."""
    if row.mnemonic.startswith(("loop", "jrcxz", "jecxz")):
        seq.set(RCX, seq.rng.choice((0, 1, 2, 1 << 32, (1 << 32) + 1, MASK)))
    skipped = seq.rng.choice((b"", b"\x48\xff\xc0", b"\x8d\x40\x05", b"\x0f\x1f\x40\x00", b"\xd1\xc8"))
    width = 1 if row.tail == 1 else 4
    data = data[:-width] + len(skipped).to_bytes(width, "little")
    seq.emit(data)
    if skipped:
        if flow == lib.IP_F_JCC or flow == lib.IP_F_LOOP:
            seq.undefined |= 0x840 if skipped[0] == 0xD1 else 0
        seq.emit(skipped)
    return True


def add_indirect(seq: Sequence, data: bytes, insn: Instruction, row: Row, flow: int) -> bool:
    """Returns and indirect jumps and calls, to the instruction that follows."""
    rng = seq.rng
    if flow == lib.IP_F_RET:
        if row.tail:
            data = data[:-2] + struct.pack("<H", 8 * rng.randrange(5))
        if rng.getrandbits(1) and seq.start < 1 << 31:
            seq.emit(b"\x68" + struct.pack("<i", seq.pc + 5 + len(data)))
        else:
            reg = rng.choice((0, 1, 2, 3, 5, 6, 7))
            seq.dirty.add(reg)
            seq.known.pop(reg, None)
            seq.set(reg, seq.pc + 10 + 1 + len(data))
            seq.emit(bytes([0x50 | reg]))
        seq.emit(data)
        return True
    if insn.op_kind(0) == OpKind.REGISTER:
        reg = insn.op0_register - Register.RAX
        if reg == RSP or not 0 <= reg < 16:
            return False
        seq.dirty.add(reg)
        seq.known.pop(reg, None)
        seq.set(reg, seq.pc + 10 + len(data))
        seq.emit(data)
        return True
    used = {RegisterInfo(r).full_register for r in (insn.memory_base, insn.memory_index) if r}
    scratch = 11 if Register.R11 not in used else 10 if Register.R10 not in used else 9
    if RSP in seq.dirty:
        seq.known.pop(RSP, None)
        seq.set(RSP, STACK_MID)
    placed = place_memory(seq, data, insn, row)
    if placed is None:
        return False
    store = store_through(placed, row, b"\x89", scratch)
    after = seq.pc + 10 + len(store)
    if insn.memory_base in (Register.RIP, Register.EIP):
        at = data_modrm(placed, row) + 1
        disp = struct.unpack_from("<i", placed, at)[0] - 10 - len(store)
        if not -(1 << 31) <= disp < 1 << 31:
            return False
        placed = placed[:at] + struct.pack("<i", disp) + placed[at + 4 :]
        store = store_through(placed, row, b"\x89", scratch, len(placed))
    seq.dirty.add(scratch)
    seq.known.pop(scratch, None)
    seq.set(scratch, after + len(placed))
    seq.emit(store)
    seq.emit(placed)
    return True


def store_through(placed: bytes, row: Row, opcode: bytes, reg: int, tail: int = 0) -> bytes:
    """A store through the memory operand of another instruction, in the same encoding.

    tail: bytes between its end and the end of the other one, which a RIP-relative operand counts.
    """
    at = data_modrm(placed, row)
    insn = ffi.new("struct ip_insn *")
    lib.ip_decode(placed, len(placed), 0x1000, insn)
    prefixes = bytes(p for p in placed[: insn.n_prefix] if p in (0x64, 0x65, 0x67))
    rex = insn.rex & 3 | 0x48 | (reg >> 3) << 2
    end = insn.off_disp + insn.disp_len or at + 1 + (insn.off_sib != 0)
    body = bytearray(placed[at:end])
    body[0] = body[0] & 0xC7 | (reg & 7) << 3
    if tail:
        disp = struct.unpack_from("<i", body, 1)[0] + tail
        struct.pack_into("<i", body, 1, disp)
    return prefixes + bytes([rex]) + opcode + bytes(body)


def add(seq: Sequence, row: Row) -> bool:
    """Append a random instruction of the row; False if this encoding has no place."""
    rng = seq.rng
    made = encode(rng, row)
    if made is None:
        return False
    data, insn = made
    probe = ffi.new("struct ip_insn *")
    length = lib.ip_decode(data, len(data), seq.pc, probe)
    flow = probe.flow if length > 0 else lib.IP_F_NEXT
    name = row.mnemonic
    stem = name[:-1] if name[-1:] in "bwdq" else name
    if RSP in seq.dirty and any(name.startswith(n) for n in ("push", "pop", "enter", "call", "ret")):
        seq.known.pop(RSP, None)
        seq.set(RSP, STACK_MID)
    if flow in (*BRANCHES, lib.IP_F_JMPI, lib.IP_F_CALLI, lib.IP_F_RET):
        if 0x66 in data[: probe.n_prefix] and not probe.rex & 8:
            return False  # Intel ignores the prefix, AMD takes 16 bits of the target
        if flow in BRANCHES:
            return add_branch(seq, data, row, flow)
        return add_indirect(seq, data, insn, row, flow)
    if row.enc == "evex" and any(
        insn.op_kind(i) == OpKind.REGISTER and insn.op_register(i) in (Register.ESP, Register.RSP)
        for i in range(insn.op_count)
    ):
        return False  # Zen 4 converts a stale stack pointer after push and pop, now and then
    if name == "int" and data[-1] == 0x80:
        return False
    if name == "fnsave" and 0x66 in data[:4]:
        return False  # half an address, and the CPU has forgotten the rest (runtime/core/x87.c)
    if row.mnemonic.removesuffix("64") in WIDE_STATE and seq.segment_x87:
        return False  # would store the address of the last x87 operand, which is that of a copy
    if name in SELECTORS and seq.any_x87 and KEEPS_SELECTORS:
        return False
    if name.startswith("xsave") and seq.zeroed:
        return (
            False  # would store whether the CPU knows that the registers are as at the start: it may or not
        )
    seq.zeroed |= name == "vzeroall"
    moved = seq.start >= 1 << 31 and insn.memory_base in (Register.RIP, Register.EIP)
    if row.lead[-1] & 0xF8 == 0xD8 and row.enc == "legacy":
        seq.any_x87 = True
        seq.segment_x87 |= moved
    low = 0x67 in data[: len(data) - len(row.lead)]
    seg = {Register.FS: FS_BASE, Register.GS: GS_BASE}.get(insn.segment_prefix, 0)
    if stem in STRINGS and not row.modrm:
        count = rng.choice((0, 1, 1, 2, 5, rng.randrange(40)))
        seq.set(RCX, count | (rng.getrandbits(32) << 32 if low else 0))
        for reg, base in ((RSI, seg), (RDI, 0)):
            start = HIGH if base else (LOW if low else rng.choice((LOW, HIGH)))
            value = start + 0x800 + rng.randrange(-256, 256) - base
            if rng.random() < 0.02:
                value += 0x1800
            seq.set(reg, value | (rng.getrandbits(32) << 32 if low else 0))
    elif name in ("xlatb",):
        seq.set(RBX, (HIGH if seg else LOW) + 0x600 - seg)
    elif name in ("maskmovdqu", "maskmovq", "vmaskmovdqu"):
        seq.set(RDI, (HIGH if seg else LOW) + 0x600 + rng.randrange(64) - seg)
    elif name == "clzero":
        seq.set(RAX, LOW + 0x640 + rng.randrange(64))
    elif name == "leave":
        seq.set(RBP, STACK_MID + 8 * rng.randrange(-32, 32))
    elif name == "enter":
        seq.set(RBP, STACK_MID + 8 * rng.randrange(-32, 32))
        data = data[:-3] + struct.pack("<HB", rng.randrange(128), rng.choice((0, 0, 1, 2, 3)))
    elif name.startswith("popf"):
        seq.emit(b"\x68" + struct.pack("<I", rng.getrandbits(32) & (FLAGS_AT_START | 0x600) | 2))
        seq.undefined = 0
    elif name == "xgetbv":
        seq.set(RCX, rng.choice((0, 0, 0, 2, 77)))
    elif name in ("div", "idiv") and rng.random() < 0.7:
        seq.set(RDX, rng.choice((0, 0, 1, MASK)))
        seq.set(RAX, rng.getrandbits(16))
    elif name in ("xrstor", "xrstor64", "xsave", "xsave64", "xsaveopt", "xsaveopt64", "xsavec", "xsavec64"):
        if rng.random() < 0.8:
            seq.set(RAX, rng.choice((MASK, 7, 3, 6, 0xE7)))
            seq.set(RDX, 0)
    elif name in ("wrfsbase", "wrgsbase") and insn.op0_register >= Register.RAX:
        reg = insn.op0_register - Register.RAX
        if reg == RSP:
            return False
        seq.set(reg, rng.choice((HIGH, LOW, 0, rng.getrandbits(47))))
    has_memory = any(insn.op_kind(i) == OpKind.MEMORY for i in range(insn.op_count))
    if has_memory and name not in ("xlatb",) and insn.op_count:
        placed = place_memory(seq, data, insn, row)
        if placed is None:
            return False
        data = placed
    if name.removeprefix("v") in ("ldmxcsr", "fldcw") and insn.memory_base != Register.RIP:
        load_control(seq, data, insn, row, name)
    seq.flags(insn)
    seq.emit(data)
    if name in ("wrfsbase", "wrgsbase"):
        seq.base_changed = True
    return True


def load_control(seq: Sequence, data: bytes, insn: Instruction, row: Row, name: str) -> None:
    """Give the instruction a control word that it accepts, mostly."""
    if row.enc != "legacy" or seq.rng.random() < 0.1:
        return
    used = {RegisterInfo(r).full_register for r in (insn.memory_base, insn.memory_index) if r}
    scratch = next(r for r in (11, 10, 8) if Register.RAX + r not in used)
    seq.dirty.add(scratch)
    seq.known.pop(scratch, None)
    seq.set(scratch, mxcsr(seq.rng) if name == "ldmxcsr" else x87_control(seq.rng))
    store = store_through(data, row, b"\x89", scratch)
    rex = next(i for i, c in enumerate(store) if 0x40 <= c < 0x50)
    seq.emit(store[:rex] + bytes([store[rex] & 0xF7]) + store[rex + 1 :])  # 32 bits


def add_loop(seq: Sequence, row: Row) -> bool:
    """An instruction that runs a few times: a backward branch to it."""
    rng = seq.rng
    counter, back = rng.choice(((RCX, b"\xe2"), (9, b"\x49\xff\xc9\x75"), (9, b"\x41\x83\xe9\x01\x0f\x85")))
    seq.dirty.add(counter)
    seq.known.pop(counter, None)
    seq.set(counter, rng.randrange(1, 4))
    before, at = seq.pc, len(seq.code)
    if not add(seq, row):
        return False
    insn = ffi.new("struct ip_insn *")
    while at < len(seq.code):
        length = lib.ip_decode(bytes(seq.code[at:]), len(seq.code) - at, seq.start + at, insn)
        if length <= 0 or insn.flow != lib.IP_F_NEXT or (insn.gpr_write | insn.gpr_read) >> counter & 1:
            return False
        if insn.fl_read & seq.undefined:
            seq.reads_undefined = True
        at += length
    width = 4 if back[-2:] == b"\x0f\x85" else 1
    disp = before - (seq.pc + len(back) + width)
    if width == 1 and disp < -128:
        return False
    if counter == 9:
        seq.undefined &= 1
    seq.emit(back + disp.to_bytes(width, "little", signed=True))
    seq.known.pop(counter, None)
    return True


def make(
    rng: random.Random,
    layout: Layout,
    instructions: int,
    high: bool = False,
    rows: list[Row] | None = None,
    longest: int = 7,
) -> CaseFile:
    """A case file of about so many instructions."""
    every = rows or [r for r in all_rows() if not left_out(r)]
    good = [r for r in every if r.supported]
    bad = [r for r in every if not r.supported]
    plain = [r for r in good if r.enc == "legacy"] or good
    HAVE_AVX512[0] = bool(layout.xcr0 & 0x20)
    base = CODE_HIGH if high else CODE_LOW
    code, cases, table = bytearray(), [], bytearray()
    images = [image(rng, layout) for _ in range(min(128, 8 + instructions // 100))]
    stride = (layout.size + 63) // 64 * 64
    index_table = READONLY + 0x1000
    order: list[Row] = []
    total = 0
    tail = b"\xff\x24\x25" + struct.pack("<I", layout.slot)
    while total < instructions:
        seq = Sequence(rng, base + len(code), index_table)
        numbers = []
        for _ in range(1 if longest == 1 or rng.random() < 0.4 else rng.randint(2, longest)):
            if not order:
                order = rng.sample(good, len(good))
            roll = rng.random()
            row = (
                order.pop()
                if roll < 0.6 or rows
                else rng.choice(bad)
                if bad and roll < 0.61
                else rng.choice(plain)
            )
            if row.mnemonic.startswith(("wrfs", "wrgs")) and numbers:
                continue
            kept = seq.snapshot()
            if not (add_loop(seq, row) if rng.random() < 0.04 else add(seq, row)):
                seq.restore(kept)
                continue
            numbers.append(row.number)
            if seq.base_changed:
                break
        if not rows and rng.random() < 0.03 and (bytes_ := invalid(rng, rng.choice(every))):
            seq.emit(bytes_)
            numbers.append(UNKNOWN)
        if not numbers:
            continue
        total += len(numbers)
        start = base + len(code)
        code += seq.code + tail
        cases.append(
            Case(
                start,
                start + len(seq.code),
                tuple(numbers),
                seq.undefined | (ARITH if seq.reads_undefined else 0),
            )
        )
        gpr = [seq.initial.get(r, random_value(rng)) for r in range(16)]
        flags = rng.getrandbits(22) & (FLAGS_AT_START | (0x400 if rng.random() < 0.3 else 0)) | 0x202
        table += struct.pack("<20Q", *(v & MASK for v in gpr), flags, start, rng.randrange(len(images)), 0)
    return write(rng, layout, bytes(code), cases, bytes(table), images, stride, base)


def template(rng: random.Random, layout: Layout) -> bytes:
    """First contents of a buffer: random, with a valid XSAVE image in the middle."""
    data = bytearray(vector_bytes(rng, SIZE))
    x = image(rng, layout)
    data[0x1000 : 0x1000 + len(x)] = x[: SIZE - 0x1000]
    return bytes(data)


def write(
    rng: random.Random,
    layout: Layout,
    code: bytes,
    cases: list[Case],
    table: bytes,
    images: list[bytes],
    stride: int,
    base: int,
) -> CaseFile:
    """Lay out the file: header, case table, images, templates, code."""
    bufs = [(LOW, 3), (HIGH, 3), (STACK, 3), (READONLY, 1)]
    if base == CODE_HIGH:
        bufs.append((CODE_HIGH + 0x8000000, 3))
    table_off = 4096
    images_off = -(-(table_off + len(table)) // 4096) * 4096
    at = -(-(images_off + stride * len(images)) // 4096) * 4096
    body = bytearray(at)
    body[table_off : table_off + len(table)] = table
    for i, x in enumerate(images):
        body[images_off + i * stride : images_off + i * stride + len(x)] = x
    described = []
    for addr, prot in bufs:
        data = bytearray(template(rng, layout))
        if addr == READONLY:
            for k in range(16):  # vector indices: 32-bit lanes, then 64-bit lanes
                lanes = [rng.randrange(-32, 32) for _ in range(16)]
                packed = struct.pack("<16i", *lanes) if k % 2 else struct.pack("<8q", *lanes[:8])
                data[0x1000 + 64 * k : 0x1040 + 64 * k] = packed
        described.append((addr, SIZE, prot, len(body)))
        body += data
    code_off = -(-len(body) // 4096) * 4096
    body += bytes(code_off - len(body)) + code
    code_len = -(-len(code) // 4096) * 4096
    body += bytes(code_off + code_len - len(body))
    where = (base, code_off, code_len, table_off, images_off, stride, len(bufs), FS_BASE, GS_BASE)
    header = struct.pack("<12Q", MAGIC, len(cases), *where, layout.xcr0 & 0xFF)
    for entry in described:
        header += struct.pack("<4Q", *entry)
    body[: len(header)] = header
    return CaseFile(bytes(body), cases, code, base, [(a, p) for a, p in bufs])
