"""Rows of the decoder's tables: what x86_decode.c must know about one instruction.

Used by gen_x86_tables.py at build time.  A row is derived from iced-x86's OpCodeInfo and from what its
InstructionInfoFactory says about an example whose explicit operands are registers that no instruction uses
implicitly, so that the implicit ones stand out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from iced_x86 import (
    Code,
    Decoder,
    FlowControl,
    Instruction,
    InstructionInfo,
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
    TupleType,
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
FLOWS = (
    "NEXT", "JMP", "JCC", "CALL", "JMPI", "CALLI", "RET", "SYSCALL", "INT", "UD", "LOOP", "IRET", "FAR",
    "PRIV", "XBEGIN",
)  # fmt: skip

# Where x86_decode.c takes an operand's register or value from (enum ip_xsrc there).
S_FIXED, S_REG, S_RM, S_VVVV, S_OPC, S_IS4, S_MEM, S_IMM, S_IMM2, S_REL, S_MOFFS, S_ONE = range(12)

# Row attributes (IP_XA_* in x86_decode.c).
ATTRS = (
    "MEM", "LOCK", "STRING", "X87", "MMX", "SHIFT", "IDIOM", "NOADDR", "VVVV", "RCL", "CC",
    "BCAST", "RC", "SAE", "MASK", "ZMASK", "NEEDK", "UNIQUE", "MOFFS", "KMERGE", "REL", "ONE",
    "SIBMEM", "M2Z", "KWRITE", "KPAIR", "VQUAD", "NO66", "UNIQUEDEST", "TERNLOG",
)  # fmt: skip
ATTR = {name: 1 << i for i, name in enumerate(ATTRS)}

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
    "HLT", "IN", "OUT", "INSB", "INSW", "INSD", "OUTSB", "OUTSW", "OUTSD", "CLI", "STI", "RDMSR", "WRMSR",
    "LGDT", "LIDT", "LLDT", "LTR", "LMSW", "CLTS", "INVD", "WBINVD", "INVLPG", "SYSRET", "SYSEXIT", "SYSRETQ",
    "SYSEXITQ", "SWAPGS", "XSETBV", "WBNOINVD", "INVPCID", "MONITOR", "MWAIT", "RSM", "CLAC", "STAC",
}  # fmt: skip
# Where shadow stacks are off, these leave their destination alone (SDM, RDSSPD/RDSSPQ).
NOP_WITHOUT_CET = {"RDSSPD", "RDSSPQ"}
# iced has its form with immediates write the destination only; the bits beside the field stay.
KEEPS_A_PART = {"INSERTQ"}
SHIFTS = {"ROL", "ROR", "RCL", "RCR", "SHL", "SHR", "SAL", "SAR", "SHLD", "SHRD"}
# With equal sources these have a constant result (sbb: one of the carry flag alone).  iced lists xor, sub and
# the like itself; compilers use these for all-ones, for zero and for spreading the carry flag.
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
)
# AMD CPUs run this with a lock prefix too; where that is #UD, the copy raises it.
LOCK_IGNORED = {"VERW"}
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

    def build(self, data: bytes) -> Row:
        """The row of the instruction that these bytes encode.

        Each method below fills in a part of it. Later ones read what earlier ones wrote (``attrs`` and
        ``ops`` above all), and some change ``insn``: their order matters.
        """
        insn = Decoder(64, data.ljust(16, b"\0")).decode()
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
        """Give every operand its own register; returns the (full) registers that are not implicit."""
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

    def operands(self, row: Row, insn: Instruction, info: OpCodeInfo, used: InstructionInfo) -> None:
        """What is written in its assembly: where the encoding has it, how it is accessed, of which size."""
        element = element_size(info)
        for i in range(insn.op_count):
            kind = OPKIND[info.op_kind(i)]
            access = access_of(insn, used, i)
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

    def memory(self, row: Row, insn: Instruction, info: OpCodeInfo, used: InstructionInfo, name: str) -> None:
        """Accesses that no operand names (stack, strings), as operands; and the memory operand's size.

        What iced lists of an operand is known by the register that ``rename`` has put there.
        """
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
    def implicit(row: Row, used: InstructionInfo, explicit: set[tuple[int, int]]) -> None:
        """Registers that no operand names: read, written, overwritten as a whole, forming addresses."""
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
        """Arithmetic flags: read, changed, and changed whatever the operands are.

        A shift by 0 changes none: by an immediate the decoder knows (SHIFT), by CL nobody does.
        """
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
    def properties(row: Row, insn: Instruction, info: OpCodeInfo, used: InstructionInfo, name: str) -> None:
        """The rest: attributes, flow, prefixes, sizes of operand, vector and displacement."""
        kinds = [OPKIND[info.op_kind(i)] for i in range(insn.op_count)]
        attrs = {
            "LOCK": (info.can_use_lock_prefix and any(op[1] == OPK_MEM for op in row.ops))
            or info.amd_lock_reg_bit
            or (name in LOCK_IGNORED and bool(row.attrs & ATTR["MEM"])),
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
        access = [access_of(insn, used, i) for i in regs]
        if access != [op[3] for op in row.ops]:
            if access != [ACC_W] + [0] * (len(regs) - 1):
                raise ValueError(f"unexpected same-register behaviour of {CODE[insn.code]}")
            row.attrs |= ATTR["IDIOM"]


def access_of(insn: Instruction, used: InstructionInfo, i: int) -> int:
    """How operand ``i`` is accessed."""
    access = ACCESS[used.op_access(i)]
    name = MNEMONIC[insn.mnemonic]
    if name in NOP_WITHOUT_CET or (name in KEEPS_A_PART and i == 0):
        access |= ACC_R
    return access


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
        # fnstsw ax has no operand size of its own.
        if opk == OPK_GPR and (size == 1 or (size == 2 and src == S_FIXED and len(row.ops) < 2)):
            return size
        if opk in (OPK_MEM, OPK_MEM_IMPL) and not info.operand_size and size == 1:
            return 1
    if len(row.ops) > 1 and not info.operand_size and info.encoding == 0:
        # out dx,al and the like name the port first; the size is that of the data.
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
    out = {}
    for value, name in _names(TupleType).items():
        full, _, broadcast = name[1:].partition("B")
        out[value] = (int(full), int(broadcast) if broadcast else int(full))
    return out


TUPLE = _tuples()
