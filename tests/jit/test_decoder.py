"""The instruction decoder (interpose/jit/x86_decode.c) against iced-x86, capstone and the manuals."""

from __future__ import annotations

import importlib.util
import random
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("cffi")
pytest.importorskip("iced_x86")
from iced_x86 import Decoder, DecoderOptions, OpKind
from jit.referee.compare import (
    ADDR,
    ARITH,
    CF,
    COND,
    DF,
    JIT,
    NAMES,
    OF,
    PC,
    RAX,
    RBP,
    RBX,
    RCX,
    RDI,
    RDX,
    RSI,
    RSP,
    SF,
    ZF,
    Native,
    R,
    W,
    differences,
)
from jit.referee.libraries import FOLDER, Referee, chosen, libraries, sample

LIBRARIES = 400
"""How many of the system's shared libraries are sampled here; ``python -m jit.referee`` takes all of all."""
SAMPLE = 8192


@pytest.fixture(scope="session")
def native(tmp_path_factory: pytest.TempPathFactory) -> Native:
    if not shutil.which("gcc"):
        pytest.skip("no C compiler")
    return Native(tmp_path_factory.mktemp("decoder"))


@pytest.fixture(scope="session")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gen_x86_tables", JIT / "gen_x86_tables.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def report(found: dict[str, tuple[str, str]]) -> None:
    assert not found, "\n".join(f"{what}: {text} [{code}]" for what, (code, text) in list(found.items())[:40])


def library(name: str) -> tuple[bytes, int]:
    """The .text section of a system library and its address."""
    elffile = pytest.importorskip("elftools.elf.elffile")
    for folder in ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib"):
        path = Path(folder, name)
        if path.exists():
            with path.open("rb") as stream:
                text = elffile.ELFFile(stream).get_section_by_name(".text")
                return text.data(), text["sh_addr"]
    pytest.skip(f"no {name}")


def test_names_follow_the_enumeration(native: Native) -> None:
    assert [native.name(i) for i in range(max(NAMES) + 1)] == [NAMES[i] for i in range(max(NAMES) + 1)]
    assert native.name(0xFFFF) == "invalid"


def test_libraries_agree_with_iced(native: Native) -> None:
    """Some code of many libraries, chosen by their names alone."""
    paths = chosen(libraries(FOLDER), LIBRARIES)
    if not paths:
        pytest.skip(f"no libraries in {FOLDER}")
    referee = Referee(native)
    for path in paths:
        for address, data in sample(path, SAMPLE):
            referee.code(address, data)
    assert referee.encodings > 20 * len(paths)
    report(referee.found)


def test_every_table_row_agrees_with_iced(native: Native, generator: ModuleType) -> None:
    """Each row's example, with random operands and with single fields of the encoding disturbed."""
    prober = generator.Prober()
    dispatch = generator.Dispatch(prober)
    opcodes = generator.opcode_index()
    generator.probe_legacy(dispatch, opcodes)
    generator.probe_vector(dispatch, opcodes)
    rnd = random.Random(20)
    found: dict[str, tuple[str, str]] = {}
    extra = bytes.fromhex("666768f0f2f364652e36484144404c4f")
    for example, code in prober.examples:
        for _ in range(12):
            data = bytearray(code.ljust(15, b"\0"))
            data[example.len :] = rnd.randbytes(15 - example.len)
            for _ in range(rnd.randrange(4)):
                at = rnd.randrange(example.len + 1)
                data[at] = data[at] ^ 1 << rnd.randrange(8) if rnd.random() < 0.5 else rnd.randrange(256)
            if rnd.random() < 0.2:
                data = bytearray([rnd.choice(extra)]) + data[:14]
            insn = Decoder(64, bytes(data), ip=PC).decode()
            for what in differences(native, bytes(data), insn):
                found.setdefault(
                    f"{NAMES[insn.mnemonic]}: {what}", (data[: max(insn.len, 12)].hex(), str(insn))
                )
    assert len(prober.examples) > 5000
    report(found)


def test_random_bytes_agree_with_iced(native: Native) -> None:
    """Validity, length and everything else for arbitrary bytes.  No encoding is excluded."""
    hypothesis = pytest.importorskip("hypothesis")
    st = hypothesis.strategies
    prefixes = [
        "",
        "0f",
        "660f",
        "f30f",
        "f20f",
        "0f38",
        "0f3a",
        "c4",
        "c5",
        "62",
        "62f1",
        "62f2",
        "8f",
        "48",
        "f0",
        "f3",
    ]

    @hypothesis.settings(max_examples=1500, deadline=None)
    @hypothesis.given(
        st.sampled_from([bytes.fromhex(p) for p in prefixes]), st.binary(min_size=15, max_size=15)
    )
    @hypothesis.example(b"\x8f", bytes.fromhex("0424").ljust(15, b"\0"))  # pop [rsp]
    def check(prefix: bytes, tail: bytes) -> None:
        data = (prefix + tail)[:15]
        insn = Decoder(64, data, ip=PC).decode()
        assert differences(native, data, insn) == [], (data.hex(), str(insn))

    check()


# iced's name on the left.  Prefixes and predicates that capstone spells into the mnemonic are removed first.
CAPSTONE_NAMES = {
    "mov": "movabs",
    "fcomip": "fcompi",
    "fucomip": "fucompi",
    "wait": "fwait",
    "fndisi": "fdisi8087_nop",
}
CAPSTONE_NAMES |= {"retf": "retfq"}
CAPSTONE_PREFIX = re.compile(r"^(lock|repz|repnz|repe|repne|rep|bnd|notrack|data16|xacquire|xrelease) ")
CAPSTONE_PREDICATE = re.compile(
    r"^(v?p?cmp)(eq|lt|le|unord|neq|nlt|nle|ord|false|true|ge|gt|nge|ngt)(_\w+?)?(u?[bwdq]|[sp][sdh])$"
)


def test_library_text_agrees_with_capstone(native: Native) -> None:
    capstone = pytest.importorskip("capstone")
    md = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    data, address = library("libc.so.6")
    at, n, compared, wrong = 0, 0, 0, {}
    while at < len(data) - 16:
        length = native.length(data[at : at + 15], address + at)
        if length <= 0:
            at += 1
            continue
        n += 1
        if n % 11 == 0:
            mine = native.name(native.insn.mnem)
            code = data[at : at + length]
            got = next(md.disasm_lite(data[at : at + 15], address + at, 1), None)
            compared += 1
            if got is None or got[1] != length:
                wrong[code.hex()] = (mine, got)
            else:
                theirs = CAPSTONE_PREFIX.sub("", got[2])
                if CAPSTONE_PREDICATE.sub(r"\1\4", theirs) != mine and theirs not in (
                    mine,
                    CAPSTONE_NAMES.get(mine),
                ):
                    wrong[code.hex()] = (mine, got)
        at += length
    assert compared > 10000
    assert not wrong


@pytest.mark.parametrize(
    "text", ["c3", "4801c8", "0f38000d11111111", "62f17c4910840811111111", "c5f877", "0f0fc1bf"]
)
def test_too_few_bytes(native: Native, text: str) -> None:
    data = bytes.fromhex(text)
    for n in range(len(data)):
        assert native.length(data[:n]) == -1
    assert native.length(data) == len(data)


@pytest.mark.parametrize(
    "text",
    [
        "06", "27", "37", "60", "9a11223344556677", "d6", "ea11223344556677", "ce",
        "82c001",  # not in 64-bit mode
        "f001c8", "f08b01", "f00f1f00", "f090", "f0c3",  # lock where none is allowed
        "66c5f877", "f3c5f877", "f0c5f877", "48c5f877", "48c4e17877",  # prefixes before VEX
        "c5e877", "62f17c080f", "62f174081000", "62f17cc81000", "62f17cc91100",  # vvvv, z
        "c4e271920408", "c4e269920c08", "c4e269921408", "62f27d4890040a", "62f27d499001",  # gathers
        "66" * 15 + "c3", "2e" * 14 + "01c8",
    ],
)  # fmt: skip
def test_invalid(native: Native, text: str) -> None:
    assert native.length(bytes.fromhex(text).ljust(16, b"\0")) == 0


FLOWS = {
    "eb05": "JMP", "e905000000": "JMP", "7505": "JCC", "0f8505000000": "JCC", "e805000000": "CALL",
    "ffe0": "JMPI",
    "ff20": "JMPI", "ffd0": "CALLI", "ff10": "CALLI", "c3": "RET", "c20800": "RET", "f3c3": "RET",
    "0f05": "SYSCALL",
    "cd80": "INT", "cc": "INT", "f1": "INT", "0f34": "INT", "0f0b": "UD", "0fb9c0": "UD", "0fffc0": "UD",
    "e2fe": "LOOP", "e0fe": "LOOP", "e1fe": "LOOP", "e3fe": "LOOP", "67e3fe": "LOOP", "cf": "IRET",
    "48cf": "IRET",
    "ff28": "FAR", "ff18": "FAR", "cb": "FAR", "48cb": "FAR", "f4": "PRIV", "ec": "PRIV", "e410": "PRIV",
    "ee": "PRIV",
    "fa": "PRIV", "fb": "PRIV", "6c": "PRIV", "f36e": "PRIV", "0f20c0": "PRIV", "0f30": "PRIV",
    "0f01f8": "PRIV",
    "c7f805000000": "XBEGIN", "c6f801": "NEXT", "0f01d5": "NEXT", "90": "NEXT", "0f31": "NEXT",
    "0fa2": "NEXT",
    "f30f1efa": "NEXT", "0f01d0": "NEXT", "0f01f9": "NEXT", "0f33": "NEXT",
}  # fmt: skip


@pytest.mark.parametrize("text", FLOWS)
def test_flow(native: Native, text: str) -> None:
    assert native.decode(text).flow == getattr(native.lib, "IP_F_" + FLOWS[text])


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("90", "nop"), ("f390", "pause"), ("4190", "xchg"), ("4890", "nop"), ("4990", "xchg"),
        ("f34190", "xchg"), ("f34890", "pause"),
        ("6690", "nop"), ("f30f1efa", "endbr64"), ("f30f1efb", "endbr32"), ("0f1f00", "nop"), ("0f0b", "ud2"),
        ("f20f01d5", None), ("f30fb8c1", "popcnt"), ("f30fbcc1", "tzcnt"), ("0fbcc1", "bsf"),
        ("f30fbdc1", "lzcnt"),
        ("8f00", "pop"), ("8fe97880c1", "vfrczps"), ("0f0fc1bf", "pavgusb"), ("f20f10c1", "movsd"),
        ("a5", "movsd"),
    ],
)  # fmt: skip
def test_names(native: Native, text: str, name: str | None) -> None:
    if name is None:
        assert native.length(bytes.fromhex(text)) == 0
    else:
        assert native.name(native.decode(text).mnem) == name


def test_nop_and_xchg_registers(native: Native) -> None:
    insn = native.decode("4990")  # xchg r8, rax
    assert insn.gpr_read == insn.gpr_write == 1 << 8 | 1
    insn = native.decode("4890")
    assert (insn.gpr_read, insn.gpr_write) == (0, 0)


@pytest.mark.parametrize(
    ("text", "read", "write", "kill"),
    [
        ("89c8", 1 << RCX, 1 << RAX, 1 << RAX),  # mov eax, ecx
        ("6689c8", 1 << RCX, 1 << RAX, 0),  # mov ax, cx
        ("88cc", 1 << RCX, 1 << RAX, 0),  # mov ah, cl
        ("0f90c0", 0, 1 << RAX, 0),  # seto al
        ("0f44c1", 1 << RAX | 1 << RCX, 1 << RAX, 0),  # cmove eax, ecx
        ("480f44c1", 1 << RAX | 1 << RCX, 1 << RAX, 0),
        ("0fbcc1", 1 << RAX | 1 << RCX, 1 << RAX, 0),  # bsf: unchanged if the source is 0
        ("31c0", 0, 1 << RAX, 1 << RAX),
        ("29c0", 0, 1 << RAX, 1 << RAX),
        ("30e4", 0, 1 << RAX, 0),  # xor ah, ah
        ("30e0", 1 << RAX, 1 << RAX, 0),  # xor al, ah
        ("31c8", 1 << RAX | 1 << RCX, 1 << RAX, 0),
        ("19c0", 0, 1 << RAX, 1 << RAX),  # sbb eax, eax: the carry flag alone
        ("0f05", 0, 1 << RCX | 1 << 11, 1 << RCX | 1 << 11),
        ("f00fb10f", 1 << RAX | 1 << RCX | 1 << RDI, 1 << RAX, 0),
        ("f7e1", 1 << RAX | 1 << RCX, 1 << RAX | 1 << RDX, 1 << RDX),
        ("50", 1 << RAX | 1 << RSP, 1 << RSP, 0),
        ("58", 1 << RSP, 1 << RAX | 1 << RSP, 1 << RAX),
        ("c9", 1 << RBP, 1 << RSP | 1 << RBP, 1 << RSP),
        ("f3aa", 1 << RAX | 1 << RCX | 1 << RDI, 1 << RCX | 1 << RDI, 0),
        ("f3ac", 1 << RAX | 1 << RCX | 1 << RSI, 1 << RAX | 1 << RCX | 1 << RSI, 0),
        ("0f31", 0, 1 << RAX | 1 << RDX, 1 << RAX | 1 << RDX),
        ("d7", 1 << RAX | 1 << RBX, 1 << RAX, 0),
        ("8d0411", 1 << RCX | 1 << RDX, 1 << RAX, 1 << RAX),
        ("0f1f0411", 0, 0, 0),
    ],
)  # fmt: skip
def test_general_registers(native: Native, text: str, read: int, write: int, kill: int) -> None:
    insn = native.decode(text)
    assert (insn.gpr_read, insn.gpr_write, insn.gpr_kill) == (read, write, kill)


@pytest.mark.parametrize(
    ("text", "read", "write", "kill"),
    [
        ("01c8", 0, ARITH, ARITH),
        ("31c0", 0, ARITH, ARITH),
        ("11c8", CF, ARITH, ARITH),
        ("19c0", CF, ARITH, ARITH),
        ("ffc0", 0, ARITH & ~CF, ARITH & ~CF),
        ("d3e0", 0, ARITH, 0),  # shl eax, cl
        ("d3d0", CF, CF | OF, 0),  # rcl eax, cl
        ("d1e0", 0, ARITH, ARITH),
        ("c1e001", 0, ARITH, ARITH),
        ("c1e000", 0, 0, 0),
        ("c1e020", 0, 0, 0),  # 32 is masked to 0
        ("48c1e020", 0, ARITH, ARITH),
        ("48c1e040", 0, 0, 0),
        ("c1c002", 0, CF | OF, CF | OF),
        ("c0d009", 0, 0, 0),  # rcl al, 9: a whole turn
        ("0fa4c808", 0, ARITH, ARITH),
        ("0fa4c820", 0, 0, 0),
        ("0fa5c8", 0, ARITH, 0),
        ("a6", DF, ARITH, ARITH),
        ("f3a6", DF, ARITH, 0),
        ("f2ae", DF, ARITH, 0),
        ("f3a4", DF, 0, 0),
        ("0f84fe000000", ZF, 0, 0),
        ("0f97c0", CF | ZF, 0, 0),
        ("0f4cc1", SF | OF, 0, 0),
        ("e0fe", ZF, 0, 0),
        ("9c", ARITH | DF, 0, 0),
        ("9d", 0, ARITH | DF, ARITH | DF),
        ("fc", 0, DF, DF),
        ("f5", CF, CF, CF),
        ("0f05", ARITH | DF, 0, 0),
        ("9e", 0, ARITH & ~OF, ARITH & ~OF),
        ("9f", ARITH & ~OF, 0, 0),
        ("0fc70f", 0, ZF, ZF),
        ("0fbcc1", 0, ARITH, ARITH),
    ],
)
def test_flags(native: Native, text: str, read: int, write: int, kill: int) -> None:
    insn = native.decode(text)
    assert (insn.fl_read, insn.fl_write, insn.fl_kill) == (read, write, kill)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("50", {(RSP, W, 8)}), ("58", {(RSP, R, 8)}), ("6650", {(RSP, W, 2)}), ("c3", {(RSP, R, 8)}),
        ("e800000000", {(RSP, W, 8)}), ("ff10", {(RSP, W, 8)}), ("9c", {(RSP, W, 8)}), ("c9", {(RBP, R, 8)}),
        ("c8100000", {(RSP, W, 8)}), ("a4", {(RDI, W, 1), (RSI, R, 1)}), ("48a7", {(RDI, R, 8), (RSI, R, 8)}),
        ("f348a5", {(RDI, W | COND, 8), (RSI, R | COND, 8)}), ("f2ae", {(RDI, R | COND, 1)}),
        ("ab", {(RDI, W, 4)}),
        ("66ad", {(RSI, R, 2)}), ("d7", {(RBX, R, 1)}), ("0ff7c1", {(RDI, W | COND, 8)}),
        ("660ff7c1", {(RDI, W | COND, 16)}), ("c5f9f7c1", {(RDI, W | COND, 16)}), ("0f01fc", {(RAX, W, 64)}),
        ("660f38f801", {(RAX, W, 64)}), ("01c8", set()),
    ],
)  # fmt: skip
def test_implicit_memory(native: Native, text: str, expected: set[tuple[int, int, int]]) -> None:
    insn = native.decode(text)
    ops = {(o.reg, o.access, o.size) for o in insn.ops[0 : insn.n_ops] if o.kind == native.lib.IP_OP_MEM_IMPL}
    assert ops == expected
    for reg, _, _ in expected:
        assert insn.gpr_read >> reg & 1 and insn.addr_read >> reg & 1


@pytest.mark.parametrize(
    ("text", "size", "access"),
    [
        ("8b01", 4, R), ("8801", 1, W), ("480111", 8, R | W), ("8d01", 0, ADDR), ("0f1f00", 0, ADDR),
        ("0f1801", 0, ADDR),
        ("0fae39", 0, ADDR), ("0fae01", 512, W), ("0fae09", 512, R), ("0fae21", 0, R | W),
        ("d9642418", 28, R),
        ("dd31", 108, W), ("660fd601", 8, W), ("0f1001", 16, R), ("f30f1001", 4, R), ("c5fe6f01", 32, R),
        ("62f17c481001", 64, R), ("62f17c491001", 64, R | COND), ("62f17c491101", 64, W | COND),
        ("62f17c585801", 4, R), ("62f1fd585801", 8, R), ("c4e2712c01", 16, R | COND),
        ("480fc709", 16, R | W), ("dd01", 8, R), ("db29", 10, R), ("c4e269920408", 4, R | COND),
        ("62f27d4990040a", 4, R | COND), ("a31122334455667788", 4, W), ("f20ff001", 16, R), ("0fb709", 2, R),
    ],
)  # fmt: skip
def test_memory_access(native: Native, text: str, size: int, access: int) -> None:
    insn = native.decode(text)
    assert (insn.mem.size, insn.mem.access) == (size, access)


def test_addressing(native: Native) -> None:
    insn = native.decode("64488b042528000000")  # mov rax, fs:[0x28]
    assert (insn.mem.seg, insn.mem.base, insn.mem.index, insn.mem.disp) == (4, 0xFF, 0xFF, 0x28)
    assert (insn.n_prefix, insn.off_rex, insn.off_opcode, insn.off_modrm, insn.off_sib) == (1, 1, 2, 3, 4)
    assert (insn.off_disp, insn.disp_len, insn.rex) == (5, 4, 0x48)
    insn = native.decode("2e8b01")
    assert insn.mem.seg == 0 and insn.n_prefix == 1
    insn = native.decode("488b05f0ffffff")
    assert (insn.mem.base, insn.mem.rip_target) == (0x10, PC + 7 - 16)
    assert insn.addr_read == 0
    insn = native.decode("c70510000000ffffffff")  # the immediate lies between displacement and target
    assert (insn.mem.rip_target, insn.imm_len) == (PC + 10 + 16, 4)
    insn = native.decode("678b05f0ffffff", pc=0)
    assert insn.mem.rip_target == 0xFFFFFFF7 and insn.mem.addr32
    insn = native.decode("62f17c48104101")  # zmm: disp8 counts 64 bytes
    assert (insn.mem.base, insn.mem.disp, insn.disp_len) == (RCX, 64, 1)
    insn = native.decode("62f17c58584101")  # broadcast: the element's size
    assert (insn.mem.disp, insn.mem.bcast, insn.mem.size) == (4, 1, 4)
    insn = native.decode("62a27d4990048a")  # vpgatherdd zmm16{k1}, [rdx+zmm1*4]
    assert insn.mem.vsib == 64 and insn.k_read == insn.k_write == 2
    insn = native.decode("48a11122334455667788")
    assert insn.mem.moffs and insn.mem.present and insn.mem.disp & 0xFFFFFFFFFFFFFFFF == 0x8877665544332211
    insn = native.decode("428b04a0")  # index r12 is an index
    assert insn.mem.index == 12 and insn.addr_read == 1 << 12 | 1
    insn = native.decode("8b0424")
    assert insn.mem.index == 0xFF and insn.addr_read == 1 << RSP


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("00c8", 1), ("01c8", 4), ("6601c8", 2), ("4801c8", 8), ("664801c8", 8), ("50", 8), ("6650", 2),
        ("e800000000", 8),
        ("c3", 8), ("ffd0", 8), ("6a01", 8), ("0fb6c1", 4), ("480fb6c1", 8), ("0f94c0", 1), ("a4", 1),
        ("48a5", 8),
        ("fe00", 1), ("ff00", 4), ("660f6ec0", 4), ("66480f6ec0", 8), ("f20f38f0c1", 4), ("c4e270f2c1", 4),
        ("c4e2f0f2c1", 8), ("66f20f38f1c1", 2), ("7500", 8),
    ],
)  # fmt: skip
def test_operand_size(native: Native, text: str, size: int) -> None:
    assert native.decode(text).opsize == size


def test_branch_targets(native: Native) -> None:
    assert native.decode("ebfe").target == PC
    assert native.decode("0f8400000080").target == (PC + 6 - 0x80000000) % 2**64
    assert native.decode("66e801000000").target == PC + 7  # the operand size prefix is ignored (Intel)
    insn = native.decode("7cfe")
    assert (insn.cc, insn.imm, insn.imm_len, insn.off_imm) == (12, -2, 1, 1)
    assert native.decode("0f95c0").cc == 5
    assert native.decode("0f4fc1").cc == 15
    assert native.decode("e3fe").cc == 0xFF
    assert native.decode("c3").cc == 0xFF
    assert native.decode("c7f810000000").target == PC + 22


SHORT_BRANCHES = (
    "66e91000 66e81080 66eb10 6674f0 660f841000 66c3 66c20800 66ffe0 66ffd0 66ff2424 66ff1424"
    " 66e210 66e1f0 66e3f0 666748e9f0ffffff 6648c3 6648ffe0 66f2e91000"
).split()


@pytest.mark.parametrize("text", SHORT_BRANCHES)
def test_short_branches_of_amd(native: Native, text: str) -> None:
    """With an operand-size prefix: 16 bits of displacement and target, unless REX.W says 64."""
    data = bytes.fromhex(text)
    theirs = Decoder(64, data, DecoderOptions.AMD, ip=PC).decode()
    native.lib.ip_decode_as_amd(1)
    try:
        insn = native.decode(text)
    finally:
        native.lib.ip_decode_as_amd(0)
    short = "48" not in text
    assert insn.len == theirs.len == len(data)
    assert (insn.opsize == 2) == short
    if theirs.op_count and theirs.op0_kind in (OpKind.NEAR_BRANCH16, OpKind.NEAR_BRANCH64):
        assert insn.target == theirs.near_branch_target
        assert (insn.target < 0x10000) == short
    if insn.mem.present:
        assert insn.mem.size == 2


def test_immediates(native: Native) -> None:
    assert native.decode("83c0ff").imm == -1
    assert native.decode("05ffffffff").imm == 0xFFFFFFFF
    assert native.decode("4805ffffffff").imm == -1
    assert native.decode("c1e0ff").imm == 255
    assert native.decode("d1e0").imm == 1 and native.insn.imm_len == 0
    assert native.decode("6aff").imm == -1
    assert native.decode("48b88877665544332211").imm == 0x1122334455667788
    insn = native.decode("c8100002")
    assert (insn.imm, insn.imm2, insn.imm_len, insn.imm2_len) == (16, 2, 2, 1)
    insn = native.decode("c4e3714cc230")  # the register in the immediate's high half
    assert insn.ops[3].kind == native.lib.IP_OP_VEC and insn.ops[3].reg == 3


def test_prefixes(native: Native) -> None:
    assert native.decode("f3a4").rep == 0xF3
    assert native.decode("f2a6").rep == 0xF2
    assert native.decode("f30f10c1").rep == 0  # a mandatory prefix
    assert native.decode("f3c3").rep == 0
    assert native.decode("f2c3").rep == 0  # bnd
    assert native.decode("3effe0").rep == 0  # notrack
    assert native.decode("f2f08701").lock == 1  # xacquire
    insn = native.decode("486601c8")  # REX before another prefix is void
    assert (insn.opsize, insn.rex, insn.n_prefix, insn.off_opcode) == (2, 0, 2, 2)
    insn = native.decode("f3480f2ac0")
    assert (insn.pp, insn.rex, insn.n_prefix, insn.off_rex, insn.map, insn.off_opcode) == (
        2,
        0x48,
        1,
        1,
        1,
        3,
    )
    insn = native.decode("c4e17877")
    assert (insn.enc, insn.map, insn.opcode, insn.off_rex, insn.off_opcode) == (1, 1, 0x77, 0, 3)


def test_vector_registers(native: Native) -> None:
    insn = native.decode("0f28c1")
    assert (insn.vec_read, insn.vec_write, insn.vec_kill) == (2, 1, 0)  # the upper half stays
    insn = native.decode("c5f828c1")
    assert (insn.vec_read, insn.vec_write, insn.vec_kill, insn.vlen) == (2, 1, 1, 16)
    insn = native.decode("f30f10c1")
    assert insn.vec_read == 3
    for text in ("660fefc0", "0f57c0", "660f76c0", "660ffac0"):
        insn = native.decode(text)
        assert (insn.vec_read, insn.vec_write) == (0, 1), text
    for text in ("c5f1efc1", "62f17d48efc0", "c5f176c1"):
        insn = native.decode(text)
        assert (insn.vec_write, insn.vec_kill) == (1, 1), text
    assert native.decode("62f37d4825c0ff").vec_read == 0  # vpternlogd zmm0, zmm0, zmm0, 255
    assert native.decode("62f37d4825c0f0").vec_read == 1
    assert native.decode("c5fc46c0").k_read == 0  # kxnorw k0, k0, k0
    insn = native.decode("62f17c4910c1")  # merging keeps old elements
    assert (insn.vec_read, insn.vec_kill, insn.k_read, insn.evex_k, insn.evex_z) == (3, 0, 2, 1, 0)
    insn = native.decode("62f17cc910c1")
    assert (insn.vec_read, insn.vec_kill, insn.evex_z, insn.vlen) == (2, 1, 1, 64)
    insn = native.decode("62a17c4810c9")
    assert (insn.vec_read, insn.vec_write) == (1 << 17, 1 << 17)
    insn = native.decode("c5f877")
    assert (insn.vec_read, insn.vec_write, insn.vec_kill) == (0xFFFF, 0xFFFF, 0)
    insn = native.decode("c5fc77")
    assert insn.vec_kill == 0xFFFF
    insn = native.decode("660f3810c1")  # pblendvb reads xmm0
    assert insn.vec_read == 3
    insn = native.decode("0ffcc1")
    assert (insn.mmx, insn.mmx_read, insn.mmx_write, insn.x87) == (1, 3, 1, 0)
    assert native.decode("d8c1").x87 == 1
    assert native.decode("9b").x87 == 1
    assert native.decode("0f77").x87 == 1
    assert native.decode("0f58c1").x87 == 0
    assert native.decode("0f58c1").ops[0].esize == 4
    assert native.decode("660ffcc1").ops[1].esize == 1
