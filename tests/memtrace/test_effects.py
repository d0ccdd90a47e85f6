"""How often instructions access memory, and where they go, beside iced-x86's answer."""

from __future__ import annotations

import iced_x86
import pytest

from interpose.memtrace.effects import effects

PC = 0x401000
PLAIN = """
    8b07 8907 0107 50 58 ff37 8f07 e800000000 ff17 ff27 c3 c20800 c9 9c 9d d7 a4 a6 aa ac 0fb10f 8707
    f00fc107 488d07 0f1f00 0f1808 90 eb02 7402 e302 c5fe6f07 0fae07 d93f 0f2b07 0f4407 0fc70f 480fc70f
    0fa307 0fab07 0f9407 c8100000 c8100001 c8100002 c8100005 660f384000 0fae1f 0fa0 0fa1 0fc307 c5f05807
    0f05 f3a4 f3a6 f348ab
"""


@pytest.mark.parametrize("code", PLAIN.split())
def test_accesses_are_those_of_iced(code):
    data = bytes.fromhex(code)
    insn = iced_x86.Decoder(64, data, ip=PC).decode()
    access = iced_x86.OpAccess
    reads, writes = [0, 0], [0, 0]
    for memory in iced_x86.InstructionInfoFactory().info(insn).used_memory():
        kind = memory.access
        for counts, always, sometimes in (
            (reads, (access.READ, access.READ_WRITE, access.READ_COND_WRITE), (access.COND_READ,)),
            (writes, (access.WRITE, access.READ_WRITE, access.READ_COND_WRITE), (access.COND_WRITE,)),
        ):
            counts[0] += kind in always
            counts[1] += kind in always + sometimes
    found = effects(PC, data)
    assert found is not None
    assert (found.reads, found.writes) == (tuple(reads), tuple(writes))
    is_near = insn.op_count and insn.op0_kind == iced_x86.OpKind.NEAR_BRANCH64
    assert found.target == (insn.near_branch_target if is_near else None)
    assert found.is_syscall == (insn.mnemonic == iced_x86.Mnemonic.SYSCALL)


def test_elements_of_gathers_and_masks():
    assert effects(PC, bytes.fromhex("c4e26d920c07")).reads == (0, 8)
    assert effects(PC, bytes.fromhex("62f27d49a20487")).writes == (0, 16)
    assert effects(PC, bytes.fromhex("c4e2718e07")).writes == (0, 1)
    xsavec = effects(PC, bytes.fromhex("0fc727"))
    assert (xsavec.reads, xsavec.writes) == ((0, 1), (0, 68))  # by component of the state


def test_other_system_calls_and_no_instruction():
    assert effects(PC, b"\xcd\x80").is_syscall
    assert not effects(PC, b"\xcd\x03").is_syscall
    assert effects(PC, b"\x0f\x0b\x90") is None
    assert effects(PC, b"\x06") is None
