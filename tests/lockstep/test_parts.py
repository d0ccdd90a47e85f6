"""The parts of lockstep mode by themselves."""

from __future__ import annotations

import re
import sys

import pytest

from interpose.errors import OptionError
from interpose.jit._native import ffi, lib
from interpose.jit.stages import emitted_code, stages
from interpose.lockstep.calls import TABLE, Argument, Size, read_table
from interpose.lockstep.maps import missing
from interpose.lockstep.options import options
from interpose.lockstep.report import disassembly, flags_text, vector_name
from interpose.procmaps import Region

CF, PF, AF, ZF, SF, OF = 1, 4, 0x10, 0x40, 0x80, 0x800


def decode(text: str):
    code = bytes.fromhex(text)
    insn = ffi.new("struct ip_insn *")
    assert lib.ip_decode(code, len(code), 0x1000, insn) == len(code)
    return insn


def test_table_is_read_whole():
    table = read_table()
    assert len(table) == len(re.findall(r"(?m)^SYS(_AS)?\(", TABLE.read_text())) > 350
    assert table[0].arguments[1] == Argument("buf", ">", Size("$", 2), Size("^", 0))
    assert [argument.kind for argument in table[46].arguments] == ["f", "M<", "d"]
    assert len(table[45].arguments) == 6  # its text is in two pieces


@pytest.mark.parametrize(
    ("text", "value"), [("16", 16), ("$2", 30), ("$2*12", 360), ("*$1", 7), ("^", 5), ("^*4", 20)]
)
def test_sizes(text, value):
    assert Size.parse(text).value([10, 20, 30], 5, {20: 7}.__getitem__) == value


def test_missing_ranges():
    def region(start, end):
        return Region(start, end, b"rw-p", 0, (0, 0), 0, b"")

    have = [region(0, 10), region(20, 30), region(40, 50)]
    assert missing(have, have) == []
    assert missing(have, [region(3, 5), region(7, 25)]) == [(0, 3), (5, 7), (25, 30), (40, 50)]
    assert missing([region(0, 10)], [region(0, 4), region(4, 10)]) == []


@pytest.mark.parametrize(
    ("code", "rcx", "flags"),
    [
        ("01d8", 0, 0),  # add
        ("21d8", 0, AF),  # and
        ("d1e0", 0, AF),  # shl eax, 1
        ("c1e003", 0, AF | OF),  # shl eax, 3
        ("d3e0", 0, 0),  # shl eax, cl: a count of 0 changes nothing
        ("d3e0", 5, AF | OF),
        ("d3e0", 32, 0),
        ("d2e0", 9, AF | OF | CF),  # shl al, cl
        ("d3c0", 4, OF),  # rol eax, cl
        ("f7e3", 0, SF | ZF | AF | PF),  # mul ebx
        ("f7f3", 0, CF | PF | AF | ZF | SF | OF),  # div ebx
        ("0fbcc3", 0, CF | OF | SF | AF | PF),  # bsf
        ("0fa3d8", 0, OF | SF | AF | PF),  # bt
    ],
)
def test_undefined_flags(code, rcx, flags):
    assert lib.ip_ls_undefined_flags(decode(code), rcx) == flags


def test_written_memory():
    regs = ffi.new("struct ip_ls_regs *")
    regs.gpr[lib.IP_RSP], regs.gpr[lib.IP_RDI], regs.gpr[lib.IP_RCX] = 0x8000, 0x9000, 4
    regs.gpr[lib.IP_RBX], regs.gpr[lib.IP_RSI] = 0x100, 0x20
    out = ffi.new("struct ip_ls_write[6]")

    def writes(code: str):
        count = lib.ip_ls_insn_writes(decode(code), regs, 0x5000, 0, out, 6)
        return [(out[i].addr, out[i].len) for i in range(count)]

    assert writes("50") == [(0x7FF8, 8)]  # push rax
    assert writes("4889447308") == [(0x100 + 0x40 + 8, 8)]  # mov [rbx+rsi*2+8], rax
    assert writes("6488042510000000") == [(0x5010, 1)]  # mov fs:[0x10], al
    assert writes("f3a5") == [(0x9000, 16)]  # rep movsd
    assert writes("8b03") == []  # mov eax, [rbx]
    assert writes("0fae442408") == [(0x8008, 512)]  # fxsave [rsp+8]
    assert writes("0fae6340") == [(0x140, 0)]  # xsave [rbx+0x40]: as much as the CPU has
    assert writes("0fc7642440") == [(0x8040, 0)]  # xsavec [rsp+0x40]
    assert writes("480fae7308") == [(0x108, 0)]  # xsaveopt64 [rbx+8]
    regs.rflags = 0x400
    assert writes("f3aa") == [(0x9000 - 3, 4)]  # rep stosb, downwards


@pytest.mark.parametrize("name", ["rdtsc 0f31", "cpuid 0fa2", "rdrand 0fc7f0", "xgetbv 0f01d0"])
def test_what_cannot_be_foreseen(name):
    assert lib.ip_ls_insn_kind(decode(name.split()[1])) & lib.IP_LS_I_FREE


def test_names():
    assert flags_text(CF | ZF) == "CF ZF"
    assert flags_text(0) == "none"
    assert [vector_name(at) for at in (24, 32, 160, 175, 176)] == [
        "mxcsr",
        "st(0) or mm0",
        "xmm0",
        "xmm0",
        "xmm1",
    ]
    assert "nop" in disassembly(0x1000, b"\x90")


def test_options():
    wanted = options(["--start-at=5", "--num-callers=7", "--poke=3:r9=0x10", "prog", "--stop-at=1"])
    assert (wanted.start_at, wanted.poke) == (5, (3, lib.IP_R9, 16))
    assert options(["--poke=3:r9=010", "prog"]).poke == (3, lib.IP_R9, 10)
    assert wanted.engine.program == ("prog", "--stop-at=1")
    core = wanted.engine.core
    assert (core.num_callers, core.single_step, core.chaining) == (7, True, False)
    assert wanted.engine.tool_name == "none"
    assert options(["--tool=memcheck", "--every-block=yes", "prog"]).engine.tool_name == "memcheck"
    assert wanted.command("--start-at=9") == [
        *(sys.executable, "-m", "interpose.lockstep", "--num-callers=7", "--poke=3:r9=0x10"),
        *("--start-at=9", "prog", "--stop-at=1"),
    ]
    with pytest.raises(OptionError):
        options(["--every-block=maybe", "prog"])


def test_stages_of_any_bytes():
    shown = stages(bytes.fromhex("01d8c3"), pc=0x401000)
    assert next(title for title, _ in shown) == "From x86 to UCode"
    assert len(shown) == 6
    assert "0x401000:  add" in shown[0][1]
    assert emitted_code(shown[5][1]).count(b"\x01\xd8") == 1
    with pytest.raises(ValueError, match="no translation"):
        stages(b"\x90\xc3", tool="no-such-tool")
