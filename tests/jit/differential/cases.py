"""Random instruction sequences with the state each starts from, as a case file for guest.c."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, field
from typing import Any

from iced_x86 import Instruction, MemorySizeInfo, OpKind, Register, RegisterInfo, RflagsBits
from interpose.jit._native import ffi, lib

from .rows import EXCLUDED, Row, all_rows, encode

MASK = (1 << 64) - 1
RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI = range(8)
LOW, HIGH, STACK, READONLY = 0x0E000000, 0x2000100000, 0x0E100000, 0x0E200000
SIZE = 0x2000
STACK_MID = STACK + 0x1000
FS_BASE, GS_BASE = HIGH - 0x1000, HIGH + 0x10
TABLE_MAX_CODE = 0x0E000000 - 0x08000000
CODE_LOW, CODE_HIGH = 0x08000000, 0x3000000000
ARITH = 0x8D5
MAGIC = 0x66666964
RECORD = struct.Struct("<30Q")
BRANCHES = frozenset((lib.IP_F_JMP, lib.IP_F_JCC, lib.IP_F_CALL, lib.IP_F_LOOP))
STRINGS = ("movs", "stos", "lods", "cmps", "scas")


@dataclass
class Layout:
    """What `guest info` says: the XSAVE area and the slot through which a case ends."""

    xcr0: int
    size: int
    components: dict[int, tuple[int, int]]
    slot: int

    @classmethod
    def parse(cls, data: bytes) -> Layout:
        words = struct.unpack(f"<{len(data) // 8}Q", data)
        parts = {i + 2: (words[2 * i + 3], words[2 * i + 4]) for i in range(8)}
        return cls(words[0], words[1], {k: v for k, v in parts.items() if v[1]}, words[-1])


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


def random_value(rng: random.Random) -> int:
    kind = rng.randrange(8)
    if kind < 3:
        return rng.getrandbits(64)
    if kind == 3:
        return rng.randrange(256)
    if kind == 4:
        return -rng.randrange(256) & MASK
    if kind == 5:
        return rng.choice(
            (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 63, (1 << 63) - 1, MASK, 0x8000, 0x80)
        )
    if kind == 6:
        return rng.getrandbits(32)
    return rng.choice((LOW, HIGH)) + rng.randrange(64, SIZE - 64)


def image(rng: random.Random, layout: Layout) -> bytes:
    """A random XSAVE image that xrstor accepts and that has no exception pending."""
    x = bytearray(layout.size)
    for number, (offset, size) in layout.components.items():
        if layout.xcr0 >> number & 1 and number != 9:
            x[offset : offset + size] = vector_bytes(rng, size)
    control = rng.choice(
        (0x37F, 0x37F, 0x27F, 0x07F, 0x77F, 0xB7F, 0xF7F, rng.getrandbits(12) | 0x40 & 0xFFF)
    )
    control = control & 0x0F3F | 0x40
    masked = control & 0x3F
    status = rng.getrandbits(16) & 0x7F00 | (rng.getrandbits(6) & masked)
    csr = rng.choice((0x1F80, 0x1F80, 0x9FC0, 0x3F80, 0x5F80, 0x7F80, 0x1F80 & ~(1 << rng.randrange(7, 13))))
    struct.pack_into("<HHBB", x, 0, control, status, rng.choice((0, 0, 0xFF, rng.getrandbits(8))), 0)
    struct.pack_into("<II", x, 24, csr, 0xFFFF)
    for i in range(8):
        x[32 + 16 * i : 42 + 16 * i] = x87_value(rng)
    x[160:416] = vector_bytes(rng, 256)
    struct.pack_into("<Q", x, 512, layout.xcr0 & 0xFF)
    return bytes(x)


def x87_value(rng: random.Random) -> bytes:
    kind = rng.randrange(4)
    if kind == 0:
        return rng.randbytes(10)
    mantissa = rng.getrandbits(63) | 1 << 63
    if kind == 1:
        return struct.pack("<QH", mantissa, 0x3FFF + rng.randrange(-40, 40) | rng.getrandbits(1) << 15)
    if kind == 2:
        return struct.pack("<QH", rng.randrange(1, 64) << 58, 0x3FFF + rng.randrange(16))
    return rng.choice((bytes(10), struct.pack("<QH", 1 << 63, 0x7FFF), struct.pack("<QH", 3 << 62, 0xFFFF)))


def vector_bytes(rng: random.Random, size: int) -> bytes:
    out = bytearray()
    while len(out) < size:
        kind = rng.randrange(6)
        if kind < 2:
            out += rng.randbytes(16)
        elif kind == 2:
            out += struct.pack("<4f", *(rng.uniform(-100, 100) for _ in range(4)))
        elif kind == 3:
            out += struct.pack("<2d", *(rng.uniform(-1e6, 1e6) for _ in range(2)))
        elif kind == 4:
            out += struct.pack("<4i", *(rng.randrange(-50, 50) for _ in range(4)))
        else:
            out += rng.choice(
                (bytes(16), b"\xff" * 16, struct.pack("<4I", 1, 0x7F800000, 0x7FC00000, 0x80000000))
            )
    return bytes(out[:size])


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
            if wide == 32 or seg:
                return None
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
        if seg:
            return None
        if RSP not in seq.known:
            seq.set(RSP, STACK_MID)
        if i is not None:
            seq.set(i, rng.randrange(64))
        return data
    junk = rng.getrandbits(32) << 32 if wide == 32 else 0
    if b is not None and b == i:
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
NOP = b"\x90"


def add_branch(seq: Sequence, data: bytes, insn: Instruction, row: Row, flow: int) -> bool:
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
    if row.prefix or 0x66 in data[:4]:
        return False
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
    placed = place_memory(seq, data, insn, row)
    if placed is None:
        return False
    # Store the target through the operand itself: mov [operand], r11, in the same encoding.
    at = data_modrm(placed, row)
    used = {insn.memory_base, insn.memory_index}
    if Register.R11 in used or Register.R11D in used or Register.RSP in used or Register.ESP in used:
        return False
    if insn.memory_base in (Register.RIP, Register.EIP):
        return False
    head = placed[: at - 1]
    prefixes = bytes(p for p in head if p in (0x64, 0x65, 0x67, 0x2E, 0x3E, 0x26, 0x36))
    rex = next((p for p in head if 0x40 <= p < 0x50), 0x40)
    store = prefixes + bytes([rex | 0x4C, 0x89, placed[at] & 0xC7 | 3 << 3]) + placed[at + 1 :]
    seq.dirty.add(11)
    seq.known.pop(11, None)
    seq.set(11, seq.pc + 10 + len(store) + len(placed))
    seq.emit(store)
    seq.emit(placed)
    return True


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
    if flow in BRANCHES:
        return not any(p == 0x66 for p in data[:4]) and add_branch(seq, data, insn, row, flow)
    if flow in (lib.IP_F_JMPI, lib.IP_F_CALLI, lib.IP_F_RET):
        return add_indirect(seq, data, insn, row, flow)
    if flow == lib.IP_F_FAR:
        return False
    if row.enc == "evex" and any(
        insn.op_kind(i) == OpKind.REGISTER and insn.op_register(i) in (Register.ESP, Register.RSP)
        for i in range(insn.op_count)
    ):
        return False  # Zen 4 converts a stale stack pointer after push and pop, now and then
    if any(
        insn.op_kind(i) == OpKind.REGISTER and Register.ES <= insn.op_register(i) <= Register.GS
        for i in range(min(insn.op_count, 1))
    ) and name in ("mov", "pop"):
        return False  # loads of segment registers: tests/engine
    if name == "int" and data[-1] == 0x80:
        return False
    if name == "fnsave" and 0x66 in data[:4]:
        return False  # half an address, and the CPU has forgotten the rest (runtime/x87.c)
    if row.mnemonic.removesuffix("64") in WIDE_STATE and seq.segment_x87:
        return False  # would store the address of the last x87 operand, which lacks the segment's base
    moved = insn.segment_prefix in (Register.FS, Register.GS) or (
        seq.start >= 1 << 31 and insn.memory_base in (Register.RIP, Register.EIP)
    )
    if moved and row.lead[-1] & 0xF8 == 0xD8 and row.enc == "legacy":
        seq.segment_x87 = True
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
        seq.emit(b"\x68" + struct.pack("<I", rng.getrandbits(32) & 0xED5 | 2))
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
    seq.flags(insn)
    seq.emit(data)
    if name in ("wrfsbase", "wrgsbase"):
        seq.base_changed = True
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
    every = rows or [r for r in all_rows() if r.mnemonic not in EXCLUDED]
    good = [r for r in every if r.supported]
    bad = [r for r in every if not r.supported]
    plain = [r for r in good if r.enc == "legacy"] or good
    HAVE_AVX512[0] = bool(layout.xcr0 & 0x20)
    base = CODE_HIGH if high else CODE_LOW
    code, cases, table = bytearray(), [], bytearray()
    images = [image(rng, layout) for _ in range(32)]
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
            if not add(seq, row):
                seq.restore(kept)
                continue
            numbers.append(row.number)
            if seq.base_changed:
                break
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
        flags = rng.getrandbits(12) & (ARITH | (0x400 if rng.random() < 0.3 else 0)) | 0x202
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
