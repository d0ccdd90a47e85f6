"""What tracking reports, and what counts as defined afterwards."""

from __future__ import annotations

from typing import Any

import pytest

COND, VALUE, READ, WRITE = 5, 4, 1, 2


@pytest.fixture
def track(sh: Any) -> Any:
    """sh.run(code): the helper for one encoded instruction, with what sh.gpr and the test have set."""
    lib, ffi = sh.lib, sh.ffi
    sh.buffer = sh.new_map(4096)
    lib.track_hosted_top = 0  # of the process, and other tests set it
    for r in range(8):
        lib.track_hosted_exponents[r] = lib.track_hosted_mmx[r] = 0
    pc = [sh.ts.pc]

    def run(code: str) -> list[tuple[int, int]]:
        insn = ffi.new("struct ip_insn *")
        raw = bytes.fromhex(code)
        pc[0] += 16  # each check at a place of its own
        assert lib.ip_decode(raw, len(raw), pc[0], insn) == len(raw)
        sh.ts.pc = pc[0]
        if insn.flow == lib.IP_F_JCC:  # as it is described (interpose/jit/describe.c)
            insn.target = insn.target - pc[0] & 2**64 - 1
        lib.t_n_errors = 0
        lib.rt_track_insn(sh.ts, insn)
        return [(e.kind, e.size) for e in sh.errors()]

    def gpr(name: str, value: int, undefined: int = 0) -> None:
        r = ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi"].index(name)
        sh.ts.gpr[r], sh.ts.vgpr[r] = value, undefined
        sh.ts.umask = sh.ts.umask & ~(1 << r) | (undefined != 0) << r

    sh.run, sh.gpr = run, gpr
    return sh


def test_kinds_are_those_of_the_abi(sh: Any) -> None:
    lib = sh.lib
    assert (lib.IP_E_COND, lib.IP_E_VALUE, lib.IP_E_READ, lib.IP_E_WRITE) == (COND, VALUE, READ, WRITE)


def test_jcc_on_undefined_flags_reports_once(track: Any) -> None:
    track.gpr("rax", 5, 0xFF)
    assert track.run("4883f805") == []  # cmp rax, 5
    assert track.ts.umask >> 16 & 1
    assert track.run("7402") == [(COND, 0)]  # je
    assert track.run("7402") == []  # tested: defined
    assert track.run("7c02") == [(COND, 0)]  # jl asks another question
    track.gpr("rax", 0x100, 0xFF)
    assert track.run("4883f805") == [] and track.run("7402") == []  # a defined bit differs


def test_undefined_address_is_a_value_of_size_8(track: Any) -> None:
    track.gpr("rdi", track.buffer, 1)
    assert track.run("8b07") == [(VALUE, 8)]  # mov eax, [rdi]
    assert track.ts.vgpr[7] == 0 and track.ts.umask == 0
    assert track.run("8b07") == []


def test_indirect_jump_and_return(track: Any) -> None:
    track.gpr("rax", 0x401000, 0xF0)
    assert track.run("ffe0") == [(VALUE, 8)]  # jmp rax
    assert track.run("ffe0") == [(VALUE, 8)]  # in the next block: again
    sp = track.ts.gpr[4]
    track.lib.rt_shadow_set(sp, 8, 1)
    assert track.run("c3") == [(VALUE, 8)]  # ret
    assert track.run("c3") == []


def test_loads_and_stores_check_addresses(track: Any) -> None:
    at = track.buffer + 64
    track.lib.rt_shadow_set(at, 64, 2)
    track.gpr("rdi", at)
    track.gpr("rax", 0, 0)
    assert track.run("8b07") == [(READ, 4)]
    assert track.ts.vgpr[0] == 0  # reported: defined
    assert track.run("8907") == [(WRITE, 4)]
    assert track.run("0107") == [(READ, 4)]  # add [rdi], eax: one error
    track.gpr("rdi", at - 4)
    track.lib.rt_shadow_set(at - 4, 4, 0)
    assert track.run("488b07") == [(READ, 8)]  # not aligned to its size
    track.gpr("rdi", at + 64 - 4 - 4)
    track.lib.rt_shadow_set(at + 60, 4, 0)
    assert track.run("488b07") == []  # partly out, aligned: undefined bytes
    assert track.ts.vgpr[0] == 0xFFFFFFFF


def test_push_and_pop_carry_v_bits(track: Any) -> None:
    sp = track.ts.gpr[4]
    track.gpr("rax", 1, 0xFF00)
    assert track.run("50") == []
    assert track.v(sp - 8, 8) == b"\0\xff" + bytes(6)
    track.ts.gpr[4] = sp - 8
    assert track.run("5b") == []  # pop rbx
    assert track.ts.vgpr[3] == 0xFF00 and track.ts.umask & 8


def test_rep_movs_moves_bits_of_all_repetitions(track: Any) -> None:
    src, dst = track.buffer, track.buffer + 1024
    track.lib.rt_shadow_set(src + 5, 90, 1)
    for name, value in (("rsi", src), ("rdi", dst), ("rcx", 200)):
        track.gpr(name, value)
    assert track.run("f3a4") == []
    assert track.v(dst, 201) == track.v(src, 200) + b"\0"
    track.gpr("rdi", src + 4)  # overlapping forward: the pattern repeats
    track.gpr("rcx", 50)
    track.lib.rt_shadow_set(src, 4, 1)
    track.lib.rt_shadow_set(src + 4, 196, 0)
    assert track.run("f3a4") == []
    assert track.v(src, 60) == b"\xff" * 54 + bytes(6)
    track.gpr("rcx", 8, 1)
    assert track.run("f3a4") == [(COND, 0)]


def test_rep_stos_and_scas(track: Any) -> None:
    track.gpr("rdi", track.buffer)
    track.gpr("rcx", 100)
    track.gpr("rax", 0, 0xFF)
    assert track.run("f3aa") == []
    assert track.v(track.buffer, 101) == b"\xff" * 100 + b"\0"
    assert track.run("f2ae") == [(COND, 0)]  # repne scasb: whether to stop is not known
    track.gpr("rdi", track.buffer + 4000)
    track.gpr("rcx", 1000)
    track.gpr("rax", 0)
    assert track.run("f3aa") == [(WRITE, 1)]  # runs off the mapping


def test_x87_values_are_followed(track: Any) -> None:
    track.gpr("rdi", track.buffer)
    track.lib.rt_shadow_set(track.buffer + 2, 3, 1)
    assert track.run("dd07") == []  # fld qword [rdi]
    st0 = 7  # of an empty stack
    assert track.ts.vmmx[st0] == 0xFFFFFF0000
    track.lib.track_hosted_top = st0
    assert track.run("dd5f40") == []  # fstp qword [rdi+64]
    assert track.v(track.buffer + 64, 8) == track.v(track.buffer, 8)
    assert track.ts.vmmx[st0] == 0
    assert not track.ts.umask >> track.lib.IP_U_MMX0
    track.lib.track_hosted_top = 0
    assert track.run("db2f") == []  # fld tbyte [rdi]: as a whole
    track.lib.track_hosted_top = st0
    assert track.run("dd5f40") == []
    assert track.v(track.buffer + 64, 8) == b"\xff" * 8


def test_x87_conditions_are_followed(track: Any) -> None:
    track.lib.track_hosted_top = 3
    track.ts.vmmx[3] = 1
    track.ts.umask |= 1 << (track.lib.IP_U_MMX0 + 3)
    assert track.run("ded9") == []  # fcompp
    assert track.ts.vfsw == 0x4500
    assert track.run("dfe0") == []  # fnstsw ax
    assert track.ts.vgpr[0] == 0x4500
    assert track.run("dbe2") == []  # fnclex
    assert track.ts.vfsw == 0x4500
    assert track.run("dbe3") == []  # fninit
    assert (track.ts.vfsw, track.ts.umask >> track.lib.IP_U_FSW & 1) == (0, 0)


@pytest.mark.parametrize(
    ("save", "restore", "env", "apart"),
    [("dd37", "dd27", 28, 10), ("66dd37", "66dd27", 14, 10), ("0fae07", "0fae0f", 32, 16)],
)
def test_x87_images_carry_vbits(track: Any, save: str, restore: str, env: int, apart: int) -> None:
    lib, ts, at = track.lib, track.ts, track.buffer
    top = lib.track_hosted_top = 5
    track.gpr("rdi", at)
    lib.track_hosted_exponents[6] = 0xFFFF  # st(1) is an MMX register
    lib.track_hosted_exponents[7] = 0x3FFF
    ts.vmmx[6], ts.vmmx[7], ts.vfsw = 0xFF, 0xFF00, 0x4000
    ts.umask |= 3 << (lib.IP_U_MMX0 + 6) | 1 << lib.IP_U_FSW
    track.mem(at, 2)[:] = b"\x7f\x03"
    word = {28: 4, 14: 2, 32: 2}[env]
    assert track.run(save) == []
    image = track.v(at, 512 if apart == 16 else env + 80)
    assert image[word : word + 2] == b"\x00\x40"
    assert image[env + apart : env + apart + 10] == b"\xff" + bytes(9)
    assert image[env + 2 * apart : env + 2 * apart + 10] == b"\xff" * 10
    assert image.count(0) == len(image) - 12
    if apart == 10:  # as fninit
        assert ts.vmmx[6] == ts.vmmx[7] == ts.vfsw == 0
    track.mem(at + word, 2)[:] = (top << 11).to_bytes(2, "little")
    track.mem(at + env + apart + 8, 2)[:] = b"\xff\xff"
    for i in range(8):
        ts.vmmx[i] = 0
    assert track.run(restore) == []
    assert [ts.vmmx[i] for i in range(8)] == [0] * 6 + [0xFF, 2**64 - 1]
    assert ts.vfsw == 0x4000


def test_undefined_x87_control_is_reported(track: Any) -> None:
    track.gpr("rdi", track.buffer)
    track.lib.rt_shadow_set(track.buffer, 28, 1)
    assert track.run("d92f") == [(COND, 0)]  # fldcw
    assert track.run("d927") == [(COND, 0)]  # fldenv
    assert track.ts.vfsw == 0x4700


@pytest.mark.parametrize(("code", "loads"), [("c4e2692c0f", True), ("c4e2692e0f", False)])
def test_undefined_mask_of_a_move_is_reported(track: Any, code: str, loads: bool) -> None:
    ffi, ts = track.ffi, track.ts
    track.gpr("rdi", track.buffer)
    ts.vecsave[64 * 2 + 3] = 0x80  # xmm2: the first element is on
    ts.vvec[64 * 2 + 7] = 0x80  # of the second it is not known
    ts.umask |= 1 << (track.lib.IP_U_VEC0 + 2)
    track.lib.rt_shadow_set(track.buffer, 4, 1 if loads else 0)
    if not loads:
        ffi.buffer(ts.vvec)[64 : 64 + 8] = b"\xff" * 8
    assert track.run(code) == [(COND, 0)]  # vmaskmovps xmm1, xmm2, [rdi]; vmaskmovps [rdi], xmm2, xmm1
    expected = b"\xff" * 4 + bytes(4)
    assert expected == (bytes(ffi.buffer(ts.vvec)[64 : 64 + 8]) if loads else track.v(track.buffer, 8))


def test_errors_about_values_can_be_switched_off(track: Any) -> None:
    track.gpr("rax", 5, 0xFF)
    track.run("4883f805")
    flags = track.lib.IP_C_SHADOW | track.lib.IP_C_HEAP
    other = track.lib.t_init(flags)
    other.vflags, other.umask, other.gpr[4] = 4, 1 << 16, track.ts.gpr[4]
    track.ts = other
    assert track.run("7402") == []


@pytest.mark.parametrize(("code", "size"), [("480fa30f", 8), ("0fa30f", 4), ("660fa30f", 2)])
def test_bit_test_reads_the_byte_of_its_bit(track: Any, code: str, size: int) -> None:
    begin = track.buffer + 64
    track.lib.rt_shadow_unmapped(begin, 4096 - 64)
    track.gpr("rdi", begin - 1)
    track.gpr("rcx", 7)
    assert track.run(code) == []  # bt [rdi], rcx: the word reaches over the end, the byte does not
    track.gpr("rcx", 8)
    assert track.run(code) == [(READ, 1)]
    track.gpr("rdi", begin)
    track.gpr("rcx", -8 % (1 << 8 * size))
    assert track.run(code) == []  # the index is signed
    track.gpr("rcx", 0)
    assert track.run(code) == [(READ, 1)]


def test_index_of_a_bit_test_is_an_address_from_bit_3_on(track: Any) -> None:
    track.gpr("rdi", track.buffer)
    track.gpr("rcx", 0, 7)
    assert track.run("480fa30f") == []  # bt [rdi], rcx
    assert track.ts.vflags & 2  # the carry
    track.gpr("rcx", 0, 0xF)
    assert track.run("480fa30f") == [(VALUE, 8)]
    assert track.ts.vgpr[1] == 7


def test_bit_set_outside_is_one_error(track: Any) -> None:
    track.lib.rt_shadow_unmapped(track.buffer + 64, 4096 - 64)
    track.gpr("rdi", track.buffer + 64)
    track.gpr("rcx", 0, 1)
    assert track.run("480fab0f") == [(READ, 1)]  # bts [rdi], rcx
    assert track.run("48890f") == [(WRITE, 8)]  # mov [rdi], rcx
