"""Which memory an instruction accesses, from its decoded form."""

from __future__ import annotations

from interpose.jit._native import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass
    from typing import Any
else:
    from interpose.records import dataclass

_WORD = (1 << 64) - 1
_FS = 4
_LINE = 64
"""Of clzero, the only one with an implicit operand of this size: what lies around its address."""


@dataclass(frozen=True)
class Access:
    """A memory operand: the explicit one, or that on the stack of push, pop, call, ret and leave.

    :ivar reads: it is read, whether it is written or not.
    :ivar insn: ``struct ip_insn *``, for the address.
    """

    size: int
    reads: bool
    insn: Any
    below: int = 0
    """What is subtracted from the implicit base register: RSP before a push."""
    implicit_base: int | None = None

    def address(self, state: Any) -> int:
        """With the registers of a ``struct tstate``."""
        if self.implicit_base is not None:
            at = state.gpr[self.implicit_base] - self.below & _WORD
            return at & -_LINE if self.size == _LINE else at
        mem = self.insn.mem
        if mem.base == lib.IP_REG_RIP:
            at = mem.rip_target
        else:
            at = mem.disp
            if mem.base != lib.IP_REG_NONE:
                at += state.gpr[mem.base]
            if mem.index != lib.IP_REG_NONE and not mem.vsib:
                at += state.gpr[mem.index] * mem.scale
        if mem.addr32:
            at &= 0xFFFFFFFF
        if mem.seg:
            at += state.client_fs if mem.seg == _FS else state.client_gs
        return at & _WORD


def accessed(insn: Any) -> Access:
    """The operand that faults when its address is none."""
    mem = insn.mem
    if mem.present and not mem.access & lib.IP_ACC_ADDR:
        return Access(mem.size, bool(mem.access & lib.IP_ACC_R), insn)
    for operand in insn.ops[0 : insn.n_ops]:
        if operand.kind == lib.IP_OP_MEM_IMPL:
            reads = bool(operand.access & lib.IP_ACC_R)
            pushes = operand.reg == lib.IP_RSP and not reads
            return Access(operand.size, reads, insn, operand.size if pushes else 0, operand.reg)
    return Access(8, True, insn, 0, lib.IP_RSP)
