"""Random encodings of a row of the decoder's table: registers, addressing forms, masks, prefixes."""

from __future__ import annotations

import random

from iced_x86 import Code, Decoder, Instruction

from interpose.jit._native import ffi, lib

from .rows import STRING_STEMS, Row

SEGMENTS = (0x26, 0x2E, 0x36, 0x3E)  # without effect in 64-bit mode
REDUNDANT = (*SEGMENTS, 0x64, 0x65, 0x66, 0x67, 0xF2, 0xF3)
EVEX_P0, EVEX_P1, EVEX_P2 = 1, 2, 3


def random_rex(rng: random.Random, lead: bytes) -> bytes:
    """The lead with other register extension bits; sometimes without REX, or with a W that is ignored."""
    if 0x40 <= lead[0] < 0x50:
        return bytes([lead[0] & 0x48 | rng.getrandbits(3)]) + lead[1:]
    roll = rng.random()
    if roll < 0.45:
        return lead
    return bytes([(0x48 if roll > 0.93 else 0x40) | rng.getrandbits(3)]) + lead


def random_vector(rng: random.Random, row: Row, wild: bool) -> bytes:
    """VEX, XOP or EVEX bytes with other registers, masks and bits."""
    lead = bytearray(row.lead)
    if row.enc in ("vex", "xop"):
        lead[1] = lead[1] & 0x1F | rng.getrandbits(3) << 5
        if wild:
            lead[2] = lead[2] & 0x87 | rng.getrandbits(4) << 3
            if rng.random() < 0.1:  # W and L where they are ignored
                lead[2] ^= rng.choice((0x80, 0x04))
        if row.enc == "vex" and lead[1] & 0x7F == 0x61 and not lead[2] & 0x80 and rng.random() < 0.5:
            return bytes([0xC5, lead[1] & 0x80 | lead[2] & 0x7F]) + bytes(lead[3:])
        return bytes(lead)
    if not wild:
        lead[EVEX_P0] ^= rng.choice((0, 0x20, 0x40, 0x80))
        return bytes(lead)
    lead[EVEX_P0] = lead[EVEX_P0] & 0x0F | rng.getrandbits(4) << 4
    if rng.random() < 0.8:
        lead[EVEX_P1] = lead[EVEX_P1] & 0x87 | rng.getrandbits(4) << 3
        lead[EVEX_P2] = lead[EVEX_P2] & 0xF7 | rng.getrandbits(1) << 3
    if rng.random() < 0.6:
        lead[EVEX_P2] = lead[EVEX_P2] & 0xF8 | rng.getrandbits(3)
        if rng.random() < 0.5:
            lead[EVEX_P2] |= 0x80
    if rng.random() < 0.3:
        lead[EVEX_P2] ^= 0x10
        if not row.memory:
            lead[EVEX_P2] = lead[EVEX_P2] & 0x9F | rng.getrandbits(2) << 5
    elif rng.random() < 0.1:  # length and W where they are ignored
        lead[EVEX_P2] = lead[EVEX_P2] & 0x9F | rng.getrandbits(2) << 5
        lead[EVEX_P1] ^= rng.choice((0, 0x80))
    return bytes(lead)


def addresses_memory(row: Row) -> bool:
    return (
        row.memory
        or (row.mnemonic.rstrip("bwdq") in STRING_STEMS and not row.modrm)
        or row.mnemonic in ("xlatb", "maskmovdqu", "maskmovq", "vmaskmovdqu")
    )


def random_prefix(rng: random.Random, row: Row) -> bytes:
    """The row's prefixes and others: segments, address size, lock, rep, and some that are ignored."""
    out = bytearray(row.prefix)
    memory = addresses_memory(row)
    if memory and rng.random() < 0.12:
        out.insert(rng.randrange(len(out) + 1), rng.choice((0x64, 0x65)))
    if memory and 0x67 not in out and rng.random() < 0.12:
        out.insert(rng.randrange(len(out) + 1), 0x67)
    if rng.random() < 0.02:
        out.insert(rng.randrange(len(out) + 1), rng.choice(SEGMENTS))
    if row.enc == "legacy" and row.memory and rng.random() < 0.1:
        out.insert(0, 0xF0)
    if (
        row.enc == "legacy"
        and row.mnemonic.rstrip("bwdq") in STRING_STEMS
        and not row.modrm
        and rng.random() < 0.6
    ):
        out.insert(0, rng.choice((0xF2, 0xF3)))
    if rng.random() < 0.06:
        for _ in range(rng.choice((1, 1, 2, 3, 8))):
            out.insert(rng.randrange(len(out) + 1), rng.choice(REDUNDANT))
    if row.enc == "legacy" and out and rng.random() < 0.03:  # a REX before another prefix is void
        out.insert(rng.randrange(len(out)), 0x40 | rng.getrandbits(4))
    if rng.random() < 0.1:
        rng.shuffle(out)
    return bytes(out)


def random_body(rng: random.Random, row: Row, attempt: int) -> bytes:
    """ModRM, SIB and displacement."""
    if not row.modrm:
        return b""
    old = row.data[len(row.prefix) + len(row.lead)]
    reg = rng.getrandbits(3) if attempt < 14 else old >> 3 & 7
    if not row.memory:
        return bytes([0xC0 | reg << 3 | (rng.getrandbits(3) if attempt < 10 else old & 7)])
    mod, rm = rng.choice((0, 1, 1, 2)), rng.getrandbits(3)
    if row.mnemonic.startswith(("vgather", "vpgather", "vscatter", "vpscatter")):
        rm = 4
    body = bytes([mod << 6 | reg << 3 | rm])
    sib = rng.getrandbits(8)
    if rm == 4:
        body += bytes([sib])
    if mod == 1:
        body += rng.randbytes(1)
    elif mod == 2 or (mod == 0 and (rm == 5 or (rm == 4 and sib & 7 == 5))):
        body += rng.randbytes(4)
    return body


def assemble(rng: random.Random, row: Row, attempt: int) -> bytes:
    """Bytes that may be an encoding of the row."""
    lead = random_rex(rng, row.lead) if row.enc == "legacy" else random_vector(rng, row, attempt < 14)
    tail = rng.randbytes(row.tail)
    if row.enc == "legacy" and row.lead[-2:] == b"\x0f\x0f":  # 3DNow: the opcode comes last
        tail = row.data[len(row.prefix) + len(row.lead) + (2 if row.memory else 1) :][: row.tail]
    return random_prefix(rng, row) + lead + random_body(rng, row, attempt) + tail


def encode(rng: random.Random, row: Row) -> tuple[bytes, Instruction] | None:
    """A random encoding of the row."""
    for attempt in range(24):
        data = assemble(rng, row, attempt)
        if len(data) > 15:
            continue
        insn = Decoder(64, data).decode()
        if insn.code == row.code and insn.len == len(data):
            return data, insn
    return None


# What the CPU might find in bytes that iced does not know, and that must not run: system calls and the like.
UNSAFE = (b"\x0f\x05", b"\x0f\x34", b"\xcd", b"\x0f\x01", b"\x0f\xc7", b"\xe4", b"\xe5")


def invalid(rng: random.Random, row: Row) -> bytes | None:
    """Bytes that no instruction begins with, near an encoding of the row; nops follow."""
    for _ in range(8):
        data = bytearray(assemble(rng, row, 0))
        kind = rng.randrange(5)
        if kind == 0 and row.enc == "legacy":
            data.insert(0, 0xF0)
        elif kind == 1 and row.enc != "legacy":
            data.insert(0, rng.choice((0x66, 0xF0, 0xF2, 0xF3, 0x48)))
        elif kind == 2:
            data[:0] = bytes(rng.choice(SEGMENTS) for _ in range(15))
        else:
            at = rng.randrange(min(len(data), len(row.prefix) + len(row.lead) + 1))
            data[at] ^= 1 << rng.randrange(8)
        padded = bytes(data) + b"\x90" * 15
        if 0x8F in data or any(bad in data for bad in UNSAFE) or (kind != 2 and len(data) > 11):
            continue  # near the limit of 15 bytes: the exception depends on where the CPU stops reading
        if Decoder(64, padded).decode().code == Code.INVALID:
            length = lib.ip_decode(padded, len(padded), 0x1000, ffi.new("struct ip_insn *"))
            return padded[:length] + b"\x90" * 15 if length > 0 else padded
    return None
