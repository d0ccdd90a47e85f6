"""The instructions under test: every row of the decoder's table."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from iced_x86 import Code, Decoder, Instruction, Mnemonic, OpKind

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
    **dict.fromkeys(("int1",), "hypervisors disagree on the address it reports; tests/guests/engine has it"),
    **dict.fromkeys(
        ("iret", "iretd", "iretq", "retf"), "needs a frame; tests/guests/engine/insn_far.c has it"
    ),
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

EXCLUDED_FORMS: dict[str, str] = {
    # pattern of iced's code: why the form has no place
    r"(JMP|CALL)_M16(16|32|64)": "far jump or call; tests/guests/engine/insn_far.c has it",
    r"MOV_SREG_.*|POP[WQ]_[FG]S": "loads a segment register; tests/guests/engine/insn_far.c has it",
}
"""The same for single forms of a mnemonic."""

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


def left_out(row: Row) -> str:
    """Why no random sequence contains the row; empty if they do."""
    if row.mnemonic in EXCLUDED:
        return EXCLUDED[row.mnemonic]
    return next((why for code, why in EXCLUDED_FORMS.items() if re.fullmatch(code, CODES[row.code])), "")


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
