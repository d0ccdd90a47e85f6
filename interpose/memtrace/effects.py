"""What an instruction's code says that it does: where it goes, and how often it reads and writes memory."""

from __future__ import annotations

from typing import Any, NamedTuple

from interpose.jit._native import ffi, lib

_READ, _WRITE, _SOMETIMES, _ADDRESS = lib.IP_ACC_R, lib.IP_ACC_W, lib.IP_ACC_COND, lib.IP_ACC_ADDR
_MEMORY = (lib.IP_OP_MEM, lib.IP_OP_MEM_IMPL)
_FAR = (lib.IP_F_FAR, lib.IP_F_IRET)
_RELATIVE = (lib.IP_F_JMP, lib.IP_F_JCC, lib.IP_F_CALL, lib.IP_F_LOOP, lib.IP_F_XBEGIN)
_ENTER = 0xC8
_PARTS = 6 + 62
"""What a save of the processor's state can access: parts of the old area, header, other components."""


class Effects(NamedTuple):
    """Of one instruction; ranges where its operands decide."""

    reads: tuple[int, int]
    writes: tuple[int, int]
    target: int | None
    """Of a relative jump or call."""
    is_syscall: bool
    repeats: bool
    """A string instruction with a repeat prefix."""


def effects(pc: int, code: bytes) -> Effects | None:
    """None: no instruction that is known."""
    insn = ffi.new("struct ip_insn *")
    if lib.ip_decode(code.ljust(16, b"\0"), len(code), pc, insn) != len(code):
        return None
    reads, writes = [0, 0], [0, 0]
    for index in range(insn.n_ops):
        operand = insn.ops[index]
        access = operand.access
        if operand.kind not in _MEMORY or access & _ADDRESS:
            continue
        elements = 1
        if insn.mem.vsib and operand.kind == lib.IP_OP_MEM:
            elements = max(1, insn.vlen // max(1, operand.size))
        # The state components that a save or restore takes decide; some saves read the header.
        by_component = operand.size == 0
        if by_component:
            elements = _PARTS
            reads[1] += 1
        least = 0 if access & _SOMETIMES or by_component else 1
        for wanted, counts in ((_READ, reads), (_WRITE, writes)):
            if access & wanted:
                counts[0] += least
                counts[1] += elements
    if insn.flow in _FAR:
        reads[1] += 4
        writes[1] += 4
    if insn.map == 0 and insn.opcode == _ENTER:
        level = insn.imm2 & 31
        for counts, more in ((reads, max(level - 1, 0)), (writes, level)):
            counts[0] += more
            counts[1] += more
    is_int80 = insn.flow == lib.IP_F_INT and code[-2:] == b"\xcd\x80"
    return Effects(
        (reads[0], reads[1]),
        (writes[0], writes[1]),
        insn.target if insn.flow in _RELATIVE else None,
        insn.flow == lib.IP_F_SYSCALL or is_int80,
        insn.rep != 0,
    )


def fill(to: Any, known: Effects | None) -> None:
    """Write it to a struct ip_mt_effects."""
    to.flags = 0
    if known is None:
        return
    to.reads, to.writes = known.reads, known.writes
    to.target = known.target or 0
    to.flags = (
        lib.IP_MTO_KNOWN
        | (lib.IP_MTO_TARGET if known.target is not None else 0)
        | (lib.IP_MTO_SYSCALL if known.is_syscall else 0)
        | (lib.IP_MTO_REPEATS if known.repeats else 0)
    )
