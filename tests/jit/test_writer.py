"""The instruction writer and the copier: every word's bytes, and what two decoders make of them.

Both are built by themselves here, for they are to know no engine.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from capstone import CS_ARCH_X86, CS_MODE_64, Cs
from iced_x86 import Decoder, Formatter, FormatterSyntax
from jit.clib import ROOT, build, declarations, load

JIT = ROOT / "interpose" / "jit"
ABI = ROOT / "interpose" / "abi"
BASE = 0x5D000000
NONE, RIP, FS, GS = 0xFF, 0x10, 4, 5
REGS = "rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15".split()
REGS32 = "eax ecx edx ebx esp ebp esi edi".split() + [f"r{n}d" for n in range(8, 16)]
RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 = range(16)
CAP = 4096


class Writer:
    """A writer on a buffer of its own; words are called by their names in C."""

    def __init__(self, ffi: Any, lib: Any, cap: int = CAP) -> None:
        self.ffi, self.lib = ffi, lib
        self.code = ffi.new("uint8_t[]", cap)
        self.w = ffi.new("struct writer *", {"code": self.code, "cap": cap, "base": BASE})

    def __getattr__(self, word: str) -> Callable[..., Any]:
        return lambda *args: getattr(self.lib, word)(self.w, *args)

    def bytes(self) -> bytes:
        return bytes(self.ffi.buffer(self.code, self.w.len))

    def addr(self, base: int = NONE, disp: int = 0, **other: int) -> Any:
        fields = {"base": base, "index": NONE, "scale": 1, "disp": disp, **other}
        return self.ffi.new("struct uaddr *", fields)[0]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    path = build(tmp_path_factory.mktemp("writer"), JIT / "writer.c", JIT / "copy.c")
    headers = (ABI / "x86_cpu.h", ABI / "x86_insn.h", JIT / "address.h", JIT / "writer.h", JIT / "copy.h")
    return load(path, *map(declarations, headers))


@pytest.fixture
def w(library: tuple[Any, Any]) -> Writer:
    return Writer(*library)


FORMATTER = Formatter(FormatterSyntax.INTEL)
FORMATTER.uppercase_hex = False
FORMATTER.hex_prefix, FORMATTER.hex_suffix = "0x", ""
FORMATTER.space_after_operand_separator = True
FORMATTER.branch_leading_zeros = False
FORMATTER.small_hex_numbers_in_decimal = False
FORMATTER.rip_relative_addresses = True
CAPSTONE = Cs(CS_ARCH_X86, CS_MODE_64)


def disassemble(code: bytes) -> list[str]:
    """By iced-x86; capstone must agree on where the instructions end and what they are called."""
    found = list(Decoder(64, code, ip=BASE))
    second = list(CAPSTONE.disasm_lite(code, BASE))
    assert [insn.len for insn in found] == [size for _, size, _, _ in second]
    texts = [FORMATTER.format(insn) for insn in found]
    assert [text.split()[0] for text in texts] == [
        name.split()[0].replace("movabs", "mov") for *_, name, _ in second
    ]
    return texts


# What is written, its bytes, its assembly.
CASES: list[tuple[Callable[[Writer], Any], str, str]] = [
    # -- moves
    (lambda w: w.put_mov(RCX, RAX), "48 89 c1", "mov rcx, rax"),
    (lambda w: w.put_mov(R15, RBX), "49 89 df", "mov r15, rbx"),
    (lambda w: w.put_mov(RBX, R15), "4c 89 fb", "mov rbx, r15"),
    (lambda w: w.put_mov_imm(RDX, 47), "ba 2f 00 00 00", "mov edx, 0x2f"),
    (lambda w: w.put_mov_imm(R9, 0xFFFFFFFF), "41 b9 ff ff ff ff", "mov r9d, 0xffffffff"),
    (lambda w: w.put_mov_imm(RAX, 1 << 32), "48 b8 00 00 00 00 01 00 00 00", "mov rax, 0x100000000"),
    (
        lambda w: w.put_mov_imm(R10, 0x1122334455667788),
        "49 ba 88 77 66 55 44 33 22 11",
        "mov r10, 0x1122334455667788",
    ),
    (lambda w: w.put_movzx16(RDX, RCX), "0f b7 d1", "movzx edx, cx"),
    (lambda w: w.put_movzx16(R8, R9), "45 0f b7 c1", "movzx r8d, r9w"),
    (lambda w: w.put_load(8, RCX, w.addr(RDX, 8)), "48 8b 4a 08", "mov rcx, [rdx+0x8]"),
    (lambda w: w.put_load(4, RCX, w.addr(RDX, 0, wide=1)), "8b 8a 00 00 00 00", "mov ecx, [rdx]"),
    (lambda w: w.put_load(8, RAX, w.addr(RSP)), "48 8b 04 24", "mov rax, [rsp]"),
    (lambda w: w.put_load(8, RAX, w.addr(RBP)), "48 8b 45 00", "mov rax, [rbp]"),
    (lambda w: w.put_load(8, RAX, w.addr(R12)), "49 8b 04 24", "mov rax, [r12]"),
    (lambda w: w.put_load(8, RAX, w.addr(R13, -128)), "49 8b 45 80", "mov rax, [r13-0x80]"),
    (lambda w: w.put_load(8, RAX, w.addr(R13, 128)), "49 8b 85 80 00 00 00", "mov rax, [r13+0x80]"),
    (
        lambda w: w.put_load(8, R11, w.addr(disp=0xA0, seg=FS)),
        "64 4c 8b 1d 98 00 00 a3",
        "mov r11, fs:[rip-0x5cffff68]",
    ),
    (lambda w: w.put_load(4, RAX, w.addr(RBX, addr32=1)), "67 8b 03", "mov eax, [ebx]"),
    (
        lambda w: w.put_load(8, RAX, w.addr(RIP, rip_target=BASE + 0x100)),
        "48 8b 05 f9 00 00 00",
        "mov rax, [rip+0xf9]",
    ),
    (
        lambda w: w.put_load_zx(1, RCX, w.addr(RSI, 60, seg=GS)),
        "65 0f b6 4e 3c",
        "movzx ecx, byte ptr gs:[rsi+0x3c]",
    ),
    (
        lambda w: w.put_load_zx(2, RCX, w.addr(R14, 60, seg=GS)),
        "65 41 0f b7 4e 3c",
        "movzx ecx, word ptr gs:[r14+0x3c]",
    ),
    (
        lambda w: w.put_store(8, w.addr(disp=8, seg=FS), RCX),
        "64 48 89 0d 00 00 00 a3",
        "mov fs:[rip-0x5d000000], rcx",
    ),
    (
        lambda w: w.put_store(4, w.addr(disp=8, seg=FS), R8),
        "64 44 89 05 00 00 00 a3",
        "mov fs:[rip-0x5d000000], r8d",
    ),
    (lambda w: w.put_store_imm(1, w.addr(RAX), 0xFF), "c6 00 ff", "mov byte ptr [rax], 0xff"),
    (lambda w: w.put_store_imm(2, w.addr(RAX), 0xFFFF), "66 c7 00 ff ff", "mov word ptr [rax], 0xffff"),
    (lambda w: w.put_store_vec(False, w.addr(RDX), 0), "0f 11 02", "movups [rdx], xmm0"),
    (lambda w: w.put_store_vec(False, w.addr(RDX), 9), "44 0f 11 0a", "movups [rdx], xmm9"),
    (lambda w: w.put_store_vec(True, w.addr(RDX), 0), "c5 fc 11 02", "vmovups [rdx], ymm0"),
    (lambda w: w.put_store_vec(True, w.addr(RDX), 9), "c5 7c 11 0a", "vmovups [rdx], ymm9"),
    (lambda w: w.put_load_vec(9, w.addr(RDX)), "44 0f 10 0a", "movups xmm9, [rdx]"),
    (lambda w: w.put_setz(w.addr(R14, -16)), "41 0f 94 46 f0", "sete [r14-0x10]"),
    (
        lambda w: w.put_store_imm(4, w.addr(RSP, -8), 5),
        "c7 44 24 f8 05 00 00 00",
        "mov dword ptr [rsp-0x8], 0x5",
    ),
    (
        lambda w: w.put_store_imm(8, w.addr(disp=0xC8, seg=FS), 7),
        "64 48 c7 05 bc 00 00 a3 07 00 00 00",
        "mov qword ptr fs:[rip-0x5cffff44], 0x7",
    ),
    (
        lambda w: w.put_store_imm(4, w.addr(RIP, rip_target=BASE), 7),
        "c7 05 f6 ff ff ff 07 00 00 00",
        "mov dword ptr [rip-0xa], 0x7",
    ),
    (lambda w: w.put_push_imm(0x401000), "68 00 10 40 00", "push 0x401000"),
    (lambda w: w.put_pop(RCX), "59", "pop rcx"),
    (lambda w: w.put_pop(R9), "41 59", "pop r9"),
    # -- addresses and arithmetic
    (lambda w: w.put_lea(8, RCX, w.addr(RCX, -1)), "48 8d 49 ff", "lea rcx, [rcx-0x1]"),
    (lambda w: w.put_lea(8, RCX, w.addr(RSP, 1, index=RCX)), "48 8d 4c 0c 01", "lea rcx, [rsp+rcx+0x1]"),
    (lambda w: w.put_lea(4, RAX, w.addr(RDI, addr32=1)), "67 8d 07", "lea eax, [edi]"),
    (
        lambda w: w.put_lea(8, RCX, w.addr(RCX, -0x400000, wide=1)),
        "48 8d 89 00 00 c0 ff",
        "lea rcx, [rcx-0x400000]",
    ),
    (lambda w: w.put_lea(8, RSP, w.addr(RSP, 16, wide=1)), "48 8d a4 24 10 00 00 00", "lea rsp, [rsp+0x10]"),
    (lambda w: w.put_lea(4, RCX, w.addr(RCX, -1, wide=1)), "8d 89 ff ff ff ff", "lea ecx, [rcx-0x1]"),
    (lambda w: w.put_or(8, RBX, w.addr(RSI, 68, seg=GS)), "65 48 0b 5e 44", "or rbx, gs:[rsi+0x44]"),
    (lambda w: w.put_not(RDX), "48 f7 d2", "not rdx"),
    (
        lambda w: w.put_cmp_imm8(1, w.addr(RDI, 60, seg=GS), 0),
        "65 80 7f 3c 00",
        "cmp byte ptr gs:[rdi+0x3c], 0x0",
    ),
    (lambda w: w.put_cmp_imm8(2, w.addr(RDI), 0), "66 83 3f 00", "cmp word ptr [rdi], 0x0"),
    (lambda w: w.put_cmp_imm8(8, w.addr(RDI), -1), "48 83 3f ff", "cmp qword ptr [rdi], 0xffffffffffffffff"),
    (
        lambda w: w.put_test_imm32(w.addr(disp=0xB8, seg=FS), 0x10003),
        "64 f7 05 ad 00 00 a3 03 00 01 00",
        "test dword ptr fs:[rip-0x5cffff53], 0x10003",
    ),
    (
        lambda w: w.put_cmp_imm32(4, w.addr(disp=0x1B8, seg=FS), 0x80000003),
        "64 81 3d ad 01 00 a3 03 00 00 80",
        "cmp dword ptr fs:[rip-0x5cfffe53], 0x80000003",
    ),
    (
        lambda w: w.put_cmp_imm32(8, w.addr(RDX), 0x10203040),
        "48 81 3a 40 30 20 10",
        "cmp qword ptr [rdx], 0x10203040",
    ),
    (lambda w: w.put_add_imm32(8, w.addr(RDX, 8), 1), "48 83 42 08 01", "add qword ptr [rdx+0x8], 0x1"),
    (lambda w: w.put_add_imm32(8, w.addr(RDX), 128), "48 81 02 80 00 00 00", "add qword ptr [rdx], 0x80"),
    (lambda w: w.put_add_imm32(4, w.addr(RDX), 0xFFFFFFFF), "83 02 ff", "add dword ptr [rdx], 0xffffffff"),
    (
        lambda w: w.put_and_imm32(w.addr(RDX), 0xFFFEFFFE),
        "48 81 22 fe ff fe ff",
        "and qword ptr [rdx], 0xfffffffffffefffe",
    ),
    (lambda w: w.put_add(RCX, w.addr(R8, 8)), "49 03 48 08", "add rcx, [r8+0x8]"),
    (lambda w: w.put_add_to(w.addr(RDX, 8), RCX), "48 01 4a 08", "add [rdx+0x8], rcx"),
    (lambda w: w.put_sub(R9, w.addr(RDX)), "4c 2b 0a", "sub r9, [rdx]"),
    (lambda w: w.put_cmp(RSP, w.addr(RAX, 8)), "48 3b 60 08", "cmp rsp, [rax+0x8]"),
    (lambda w: w.put_cmp_reg(RCX, 0x200000), "81 f9 00 00 20 00", "cmp ecx, 0x200000"),
    (lambda w: w.put_shrx(RDX, RCX, RDX), "c4 e2 eb f7 d1", "shrx rdx, rcx, rdx"),
    (lambda w: w.put_shrx(R8, R9, R10), "c4 42 ab f7 c1", "shrx r8, r9, r10"),
    (lambda w: w.put_pext_open(RCX, RCX), "c4 e2 f2 f5 0d 00 00 00 00", "pext rcx, rcx, [rip]"),
    (lambda w: w.put_pext_open(R8, R9), "c4 62 b2 f5 05 00 00 00 00", "pext r8, r9, [rip]"),
    (lambda w: w.put_wrgsbase(RAX), "f3 48 0f ae d8", "wrgsbase rax"),
    (lambda w: w.put_wrgsbase(R15), "f3 49 0f ae df", "wrgsbase r15"),
    # -- branches
    (lambda w: w.put_jmp(BASE + 0x105), "e9 00 01 00 00", "jmp 0x5d000105"),
    (lambda w: w.put_jmp(BASE), "e9 fb ff ff ff", "jmp 0x5d000000"),
    (
        lambda w: w.put_jmp_mem(w.addr(disp=0x7FD00000, index=RDX, scale=8)),
        "ff 24 d5 00 00 d0 7f",
        "jmp [rdx*8+0x7fd00000]",
    ),
    (lambda w: w.put_jmp_open(), "e9 00 00 00 00", "jmp 0x5d000005"),
    (lambda w: w.put_jcc_open(5), "0f 85 00 00 00 00", "jne 0x5d000006"),
    (lambda w: w.put_jmp_short_open(), "eb 00", "jmp 0x5d000002"),
    (lambda w: w.put_jrcxz(5), "e3 05", "jrcxz 0x5d000007"),
    (lambda w: w.put_xbegin(2), "c7 f8 02 00 00 00", "xbegin 0x5d000008"),
    (lambda w: w.put_nop(), "90", "nop"),
]


def plain(text: str) -> str:
    """Without what only says how an instruction is encoded or how long its operand is."""
    for word in ("short ", "near ptr ", "qword ptr [rip", "qword ptr [rdx*8"):
        text = text.replace(word, word[word.index("[") :] if "[" in word else "")
    return text


@pytest.mark.parametrize(("write", "code", "assembly"), CASES, ids=[case[2] for case in CASES])
def test_bytes(w: Writer, write: Callable[[Writer], Any], code: str, assembly: str) -> None:
    write(w)
    assert w.bytes().hex(" ") == code
    assert [plain(text) for text in disassemble(w.bytes())] == [assembly]


def test_flags(w: Writer) -> None:
    w.put_save_flags(w.addr(RDX))
    w.put_load_flags(w.addr(RDX))
    assert w.bytes().hex(" ") == "9f 0f 90 c0 89 02 8b 02 04 7f 9e"
    expected = ["lahf", "seto al", "mov [rdx], eax", "mov eax, [rdx]", "add al, 0x7f", "sahf"]
    assert [plain(text) for text in disassemble(w.bytes())] == expected


def test_each_word_has_a_case(library: tuple[Any, Any]) -> None:
    used = {name for write, _, _ in CASES for name in write.__code__.co_names if name.startswith("put_")}
    data = {"put_byte", "put_bytes", "put_u32", "put_u64"}
    flags = {"put_save_flags", "put_load_flags"}  # several instructions each: test_flags
    assert used | data | flags == {name for name in dir(library[1]) if name.startswith("put_")}


def operands(w: Writer) -> Iterator[tuple[Any, str]]:
    """Memory operands of every form, and how iced-x86 writes them."""
    random.seed(1)
    for base, index in itertools.product([*range(16), NONE], [*(r for r in range(16) if r != RSP), NONE]):
        if base == index == NONE:
            continue
        scale = random.choice([1, 2, 4, 8]) if index != NONE else 1
        disp = random.choice([0, 1, -1, 127, -128, 128, -129, 0x12345678, -0x12345678])
        text = REGS[base] if base != NONE else ""
        if index != NONE:
            text += ("+" if text else "") + REGS[index] + (f"*{scale}" if scale > 1 or base == NONE else "")
        text += (f"+{disp:#x}" if disp > 0 else f"-{-disp:#x}") if disp else ""
        yield w.addr(base, disp, index=index, scale=scale), text


def test_every_operand_form(w: Writer) -> None:
    expected = []
    for m, text in operands(w):
        reg = random.randrange(16)
        w.w.len = 0
        w.put_load(8, reg, m)
        expected.append(w.bytes())
        (found,) = disassemble(w.bytes())
        assert found == f"mov {REGS[reg]}, [{text}]" or (
            text.endswith("*1") and found == f"mov {REGS[reg]}, [{text[:-2]}*1]"
        ), (text, w.bytes().hex())
    assert len(set(expected)) > 200


@pytest.mark.parametrize("reg", range(16))
def test_every_register(w: Writer, reg: int) -> None:
    """REX says the fourth bit, of each operand that can be a register."""
    other = (reg + 5) % 16
    w.put_mov(reg, other)
    w.put_movzx16(reg, other)
    w.put_shrx(reg, other, reg)
    w.put_pop(reg)
    w.put_wrgsbase(reg)
    word = REGS32[other].replace("e", "", 1) if other < 8 else f"r{other}w"
    assert disassemble(w.bytes()) == [
        f"mov {REGS[reg]}, {REGS[other]}",
        f"movzx {REGS32[reg]}, {word}",
        f"shrx {REGS[reg]}, {REGS[other]}, {REGS[reg]}",
        f"pop {REGS[reg]}",
        f"wrgsbase {REGS[reg]}",
    ]


def test_conditions_are_the_encodings(w: Writer, library: tuple[Any, Any]) -> None:
    lib = library[1]
    names = "O NO B NB Z NZ BE NBE S NS P NP L NL LE NLE".split()
    for n, name in enumerate(names):
        assert getattr(lib, f"IP_CC_{name}") == n
        w.put_jcc_open(n)
    other = {"nb": "jae", "z": "je", "nz": "jne", "nbe": "ja", "nl": "jge", "nle": "jg"}
    assert [text.split()[0] for text in disassemble(w.bytes())] == [
        other.get(name.lower(), f"j{name.lower()}") for name in names
    ]


def test_open_branches_lead_to_where_they_are_bound(w: Writer) -> None:
    far, near = w.put_jmp_open(), w.put_jmp_short_open()
    literal = w.put_pext_open(RCX, RCX)
    w.put_nop()
    w.writer_bind8(near)
    w.put_nop()
    w.writer_bind32(far)
    w.writer_bind32(literal)
    end = BASE + w.w.len
    texts = [plain(text) for text in disassemble(w.bytes())]
    assert texts[:2] == [f"jmp {end:#x}", f"jmp {end - 1:#x}"]
    assert texts[2] == f"pext rcx, rcx, [rip+{end - (BASE + 16):#x}]"


def test_address_is_where_it_is_bound(w: Writer) -> None:
    w.put_store_imm(8, w.addr(RDX), 0)
    at = w.w.len - 4
    w.put_nop()
    w.writer_bind_address(at)
    assert plain(disassemble(w.bytes())[0]) == f"mov qword ptr [rdx], {BASE + 8:#x}"


def test_lengths_are_what_the_header_says(w: Writer, library: tuple[Any, Any]) -> None:
    lib = library[1]

    def length(word: str, *args: Any) -> int:
        before = w.w.len
        getattr(w, word)(*args)
        return w.w.len - before

    assert length("put_jmp", BASE) == lib.JMP_BYTES
    assert length("put_jmp_open") == lib.JMP_OPCODE_BYTES + 4
    assert length("put_jcc_open", 0) == lib.JCC_OPCODE_BYTES + 4
    assert length("put_jmp_short_open") == lib.JMP_SHORT_BYTES
    assert length("put_jrcxz", 0) == lib.JRCXZ_BYTES
    assert length("put_lea", 8, RCX, w.addr(RCX, 1, wide=1)) == lib.LEA64_WIDE_BYTES
    assert length("put_mov_imm", RDX, BASE << 32 | BASE) == lib.MOV64_BYTES
    for reg in (RAX, R15):
        assert length("put_load", 8, reg, w.addr(disp=8, seg=FS)) == lib.LOAD64_FS_BYTES
    assert length("put_store_imm", 4, w.addr(disp=8, seg=FS), BASE) == lib.STORE_IMM32_FS_BYTES


def test_what_does_not_fit_is_told(library: tuple[Any, Any]) -> None:
    w = Writer(*library, cap=6)
    w.put_jmp_open()
    assert not w.w.overflow
    at = w.put_jmp_open()
    assert w.w.overflow and w.w.len == 6
    w.writer_bind32(at)  # goes nowhere, for the place was never written
    w.writer_bind_address(at)
    assert w.bytes() == bytes.fromhex("e9 00 00 00 00 e9")


# -- the copier


def instruction(ffi: Any, code: str, **fields: Any) -> Any:
    raw = bytes.fromhex(code)
    fixed = {"bytes": raw + bytes(16 - len(raw)), "len": len(raw), "pc": 0x401000}
    insn = ffi.new("struct ip_insn *", {**fixed, **{k: v for k, v in fields.items() if k != "mem"}})
    insn.mem = fields.get("mem", {"base": NONE, "index": NONE})
    return insn


LEGACY = {"off_rex": 0, "off_opcode": 0}
COPIES = [
    # mov rax, [rcx+8] -> mov rax, [rdx]
    (
        "48 8b 41 08",
        {"rex": 0x48, "off_opcode": 1, "modrm": 0x41, "mem": {"present": 1}},
        RDX,
        "mov rax, [rdx]",
    ),
    # mov r9, [r8]: REX.B goes, REX.R stays
    ("4d 8b 08", {"rex": 0x4D, "off_opcode": 1, "modrm": 0x08, "mem": {"present": 1}}, RBX, "mov r9, [rbx]"),
    # add dword ptr fs:[rax], 5: the prefix goes, the immediate stays
    (
        "64 83 00 05",
        {
            "n_prefix": 1,
            "off_rex": 1,
            "off_opcode": 1,
            "modrm": 0x00,
            "imm_len": 1,
            "mem": {"present": 1, "seg": FS},
        },
        RSI,
        "add dword ptr [rsi], 0x5",
    ),
    # mov eax, gs:[moffs] -> mov eax, [rcx]
    (
        "65 a1 00 10 00 00 00 00 00 00",
        {"n_prefix": 1, "off_rex": 1, "off_opcode": 1, "opcode": 0xA1, "mem": {"present": 1, "moffs": 1}},
        RCX,
        "mov eax, [rcx]",
    ),
    # vaddps ymm1, ymm2, [r8] (VEX3): its B bit goes
    (
        "c4 c1 6c 58 08",
        {"enc": 1, "off_rex": 0, "off_opcode": 3, "modrm": 0x08, "mem": {"present": 1}},
        RDI,
        "vaddps ymm1, ymm2, [rdi]",
    ),
    # mov eax, [rip+0x10], from 0x401000
    (
        "8b 05 10 00 00 00",
        {"off_disp": 2, "disp_len": 4, "mem": {"present": 1, "base": RIP, "rip_target": 0x401016}},
        NONE,
        f"mov eax, [rip-{BASE + 6 - 0x401016:#x}]",
    ),
    # stosb stays what it is
    ("f3 aa", {"n_prefix": 1, "off_rex": 1, "off_opcode": 1}, NONE, "rep stosb [rdi]"),
]


@pytest.mark.parametrize(("code", "fields", "temp", "assembly"), COPIES, ids=[case[3] for case in COPIES])
def test_copies(w: Writer, code: str, fields: dict[str, Any], temp: int, assembly: str) -> None:
    w.lib.copy_insn(w.w, instruction(w.ffi, code, **{**LEGACY, **fields}), temp)
    assert disassemble(w.bytes()) == [assembly]


def test_copy_reads_by_gs(w: Writer) -> None:
    """lodsb fs:[rsi] runs with the guest's base in GS."""
    w.lib.copy_insn_gs(w.w, instruction(w.ffi, "64 ac", n_prefix=1, off_rex=1, off_opcode=1))
    assert w.bytes().hex(" ") == "65 ac"


@pytest.mark.parametrize(
    ("code", "copied"), [("e2 10", "e2 02"), ("66 e2 10", "e2 02"), ("67 e3 80", "67 e3 02")]
)
def test_copies_loops(w: Writer, code: str, copied: str) -> None:
    n = len(bytes.fromhex(code))
    w.lib.copy_loop(w.w, instruction(w.ffi, code, off_opcode=n - 2), 2)
    assert w.bytes().hex(" ") == copied
