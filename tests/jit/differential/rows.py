"""The instructions under test: every row of the decoder's table, and random encodings of it."""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from iced_x86 import Code, Decoder, Instruction, Mnemonic, OpKind, Register

JIT = Path(__file__).resolve().parents[3] / "interpose" / "jit"
NAMES = {v: k.lower() for k, v in vars(Mnemonic).items() if isinstance(v, int)}
CODES = {v: k for k, v in vars(Code).items() if isinstance(v, int)}

EXCLUDED: dict[str, str] = {
    # mnemonic: why it has no place in random sequences
    **dict.fromkeys(("rdtsc", "rdtscp", "rdpru"), "reads a clock"),
    **dict.fromkeys(("rdrand", "rdseed"), "random by definition"),
    **dict.fromkeys(("rdpid",), "names the CPU it happens to run on"),
    **dict.fromkeys(("cpuid",), "some leaves name the CPU it happens to run on"),
    **dict.fromkeys(("syscall", "sysenter"), "effects are the kernel's; tests/engine has them"),
    **dict.fromkeys(("vmmcall", "vmcall", "vmgexit"), "may reach a hypervisor"),
    **dict.fromkeys(("monitorx", "mwaitx", "umwait", "tpause", "umonitor"), "waits"),
    **dict.fromkeys(("jmpe", "getsec", "xbegin"), "depends on a mode that the test does not control"),
    **dict.fromkeys(("lsl",), "the kernel keeps the number of the CPU in a segment limit"),
    **dict.fromkeys(("int1",), "hypervisors disagree on the address it reports"),
    **dict.fromkeys(("iret", "iretd", "iretq", "retf"), "needs a frame; tests/engine has it"),
    **dict.fromkeys(
        ("lss", "lfs", "lgs", "xsaves", "xsaves64", "xrstors", "xrstors64"),
        "loads segment registers or is privileged",
    ),
    **dict.fromkeys(("sgdt", "sidt", "sldt", "smsw", "str"), "emulated by the kernel under UMIP"),
    **dict.fromkeys(
        ("uiret", "senduipi", "stui", "clui", "testui"), "depends on a mode that the test does not control"
    ),
    **dict.fromkeys(("wrpkru", "rdpkru"), "would take away the test's own pages"),
}
"""Mnemonics that no random sequence contains."""

STRING_STEMS = ("movs", "stos", "lods", "cmps", "scas")
PREFIXES = frozenset((0x26, 0x2E, 0x36, 0x3E, 0x64, 0x65, 0x66, 0x67, 0xF0, 0xF2, 0xF3))


@dataclass
class Row:
    """One instruction form: an iced code, with or without a memory operand."""

    number: int
    code: int
    mnemonic: str
    memory: bool
    data: bytes
    """An example."""
    prefix: bytes = b""
    lead: bytes = b""
    """REX, VEX, EVEX or XOP bytes and the opcode."""
    enc: str = "legacy"
    modrm: bool = False
    tail: int = 0
    """Bytes after ModRM, SIB and displacement."""
    supported: bool = True


def parse(row: Row, insn: Instruction) -> None:
    """Split the example into its parts."""
    data, at = row.data[: insn.len], 0
    while data[at] in PREFIXES:
        at += 1
    row.prefix = data[:at]
    first = data[at]
    if first in (0xC4, 0x8F) and len(data) > at + 3 and (first == 0xC4 or data[at + 1] & 0x1F >= 8):
        row.enc, opcode = ("vex" if first == 0xC4 else "xop"), at + 3
    elif first == 0x62:
        row.enc, opcode = "evex", at + 4
    else:
        opcode = at + 1 if 0x40 <= first < 0x50 else at
        if data[opcode] == 0x0F:
            opcode += 2 if data[opcode + 1] in (0x38, 0x3A) and len(data) > opcode + 2 else 1
    row.lead = data[at : opcode + 1]
    rest = data[opcode + 1 :]
    if (
        row.memory
        and insn.op_count
        and any(insn.op_kind(i) == OpKind.MEMORY for i in range(insn.op_count))
        and rest
        and (rest[0] & 0xC7) == 0x04
    ):
        row.modrm, row.tail = True, len(rest) - 2
    elif rest and rest[0] >= 0xC0 and not row.memory and uses_modrm(insn, data, opcode):
        row.modrm, row.tail = True, len(rest) - 1
    else:
        row.tail = len(rest)


def uses_modrm(insn: Instruction, data: bytes, opcode: int) -> bool:
    sys.path.insert(0, str(JIT))
    from gen_x86_rows import uses_modrm as of_table

    return of_table(insn.op_code())


@cache
def all_rows() -> tuple[Row, ...]:
    """Every row of the decoder's table, as the table's generator finds them."""
    sys.path.insert(0, str(JIT))
    import gen_x86_tables as tables

    prober = tables.Prober()
    dispatch = tables.Dispatch(prober)
    opcodes = tables.opcode_index()
    tables.probe_legacy(dispatch, opcodes)
    tables.probe_vector(dispatch, opcodes)
    rows = []
    for (code, memory), number in prober.rows.items():
        insn, data = prober.examples[number - 1]
        insn = Decoder(64, data.ljust(16, b"\0")).decode()
        row = Row(number, code, NAMES[insn.mnemonic], memory, data.ljust(16, b"\0"))
        parse(row, insn)
        rows.append(row)
    return tuple(rows)


def random_rex(rng: random.Random, lead: bytes) -> bytes:
    """The lead with other register extension bits; sometimes without REX at all."""
    if 0x40 <= lead[0] < 0x50:
        return bytes([lead[0] & 0x48 | rng.getrandbits(3)]) + lead[1:]
    if rng.random() < 0.5:
        return lead
    return bytes([0x40 | rng.getrandbits(3)]) + lead


def random_vector(rng: random.Random, row: Row, wild: bool) -> bytes:
    """VEX, XOP or EVEX bytes with other registers, masks and bits."""
    lead = bytearray(row.lead)
    if row.enc in ("vex", "xop"):
        lead[1] = lead[1] & 0x1F | rng.getrandbits(3) << 5
        if wild:
            lead[2] = lead[2] & 0x87 | rng.getrandbits(4) << 3
        if row.enc == "vex" and lead[1] & 0x7F == 0x61 and not lead[2] & 0x80 and rng.random() < 0.5:
            return bytes([0xC5, lead[1] & 0x80 | lead[2] & 0x7F]) + bytes(lead[3:])
        return bytes(lead)
    if not wild:
        lead[1] ^= rng.choice((0, 0x20, 0x40, 0x80))
        return bytes(lead)
    lead[1] = lead[1] & 0x0F | rng.getrandbits(4) << 4
    if rng.random() < 0.8:
        lead[2] = lead[2] & 0x87 | rng.getrandbits(4) << 3
        lead[3] = lead[3] & 0xF7 | rng.getrandbits(1) << 3
    if rng.random() < 0.6:
        lead[3] = lead[3] & 0xF8 | rng.getrandbits(3)
        if rng.random() < 0.5:
            lead[3] |= 0x80
    if rng.random() < 0.3:
        lead[3] ^= 0x10
        if not row.memory:
            lead[3] = lead[3] & 0x9F | rng.getrandbits(2) << 5
    return bytes(lead)


def random_prefix(rng: random.Random, row: Row) -> bytes:
    out = bytearray(row.prefix)
    memory = (
        row.memory
        or (row.mnemonic.rstrip("bwdq") in STRING_STEMS and not row.modrm)
        or row.mnemonic in ("xlatb", "maskmovdqu", "maskmovq", "vmaskmovdqu")
    )
    if memory and rng.random() < 0.12:
        out.insert(rng.randrange(len(out) + 1), rng.choice((0x64, 0x65)))
    if memory and 0x67 not in out and rng.random() < 0.12:
        out.insert(rng.randrange(len(out) + 1), 0x67)
    if rng.random() < 0.02:
        out.insert(rng.randrange(len(out) + 1), rng.choice((0x2E, 0x3E, 0x26, 0x36)))
    if row.enc == "legacy" and row.memory and rng.random() < 0.1:
        out.insert(0, 0xF0)
    if (
        row.enc == "legacy"
        and row.mnemonic.rstrip("bwdq") in STRING_STEMS
        and not row.modrm
        and rng.random() < 0.6
    ):
        out.insert(0, rng.choice((0xF2, 0xF3)))
    return bytes(out)


def encode(rng: random.Random, row: Row) -> tuple[bytes, Instruction] | None:
    """A random encoding of the row: registers, addressing form, masks, immediates, prefixes."""
    for attempt in range(24):
        wild = attempt < 14
        lead = random_rex(rng, row.lead) if row.enc == "legacy" else random_vector(rng, row, wild)
        body = b""
        old = row.data[len(row.prefix) + len(row.lead)] if row.modrm else 0
        if row.modrm:
            reg = rng.getrandbits(3) if wild else old >> 3 & 7
            if row.memory:
                mod, rm = rng.choice((0, 1, 1, 2)), rng.getrandbits(3)
                if "vsib" in row.mnemonic or row.mnemonic.startswith(
                    ("vgather", "vpgather", "vscatter", "vpscatter")
                ):
                    rm = 4
                body = bytes([mod << 6 | reg << 3 | rm])
                sib = rng.getrandbits(8)
                if rm == 4:
                    body += bytes([sib])
                if mod == 1:
                    body += rng.randbytes(1)
                elif mod == 2 or (mod == 0 and (rm == 5 or (rm == 4 and sib & 7 == 5))):
                    body += rng.randbytes(4)
            else:
                rm = rng.getrandbits(3) if attempt < 10 else old & 7
                body = bytes([0xC0 | reg << 3 | rm])
        tail = rng.randbytes(row.tail)
        if row.enc == "legacy" and row.lead[-2:] == b"\x0f\x0f":  # 3DNow: the opcode comes last
            tail = row.data[len(row.prefix) + len(row.lead) + (2 if row.memory else 1) :][: row.tail]
        data = random_prefix(rng, row) + lead + body + tail
        if len(data) > 15:
            continue
        insn = Decoder(64, data).decode()
        if insn.code == row.code and insn.len == len(data):
            return data, insn
    return None


__all__ = ["CODES", "EXCLUDED", "NAMES", "Register", "Row", "all_rows", "encode"]
