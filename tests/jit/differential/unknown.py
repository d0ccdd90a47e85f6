"""Walks the opcode maps for encodings that the CPU runs although the decoder calls them invalid."""

from __future__ import annotations

import itertools
import random
import struct
from collections.abc import Iterator
from pathlib import Path

from interpose.jit._native import ffi, lib

from .cases import CODE_LOW, RECORD, STACK_MID, Case, write
from .run import Guest
from .state import HIGH, LOW, image

SIGILL = 4
CHUNK = 200_000
ESCAPES = (b"", b"\x0f", b"\x0f\x38", b"\x0f\x3a")
# No opcodes of the one-byte map and of 0F: prefixes and escapes.
NOT_OPCODES = {
    0: {0x0F, 0x26, 0x2E, 0x36, 0x3E, 0x62, 0x64, 0x65, 0x66, 0x67, 0x8F, 0xC4, 0xC5, 0xF0, 0xF2, 0xF3}
    | set(range(0x40, 0x50)),
    1: {0x0F, 0x38, 0x3A},
    2: set(),
    3: set(),
}
PREFIXES = [bytes.fromhex(t) for t in "|66|f2|f3|48|6648|f348|f248|66f3|66f2|67".split("|")]
# Left out: system calls, and what reaches a hypervisor (it decides with which prefixes).
LEFT_OUT = (b"\x0f\x05", b"\x0f\x34", b"\xcd", b"\x0f\x01\xc1", b"\x0f\x01\xd9")
REST = bytes.fromhex("1000000000")


def legacy() -> Iterator[bytes]:
    for number, escape in enumerate(ESCAPES):
        for opcode in set(range(256)) - NOT_OPCODES[number]:
            groups = number == 1 and opcode in (0x01, 0xAE, 0xC7)
            for prefix, lock, reg in itertools.product(PREFIXES, (b"", b"\xf0"), range(8)):
                for rm in (0x06, *range(0xC0, 0xC8)) if groups else (0x06, 0xC6):
                    yield lock + prefix + escape + bytes([opcode, rm | reg << 3]) + REST


def vex() -> Iterator[bytes]:
    for first, maps in ((0xC4, (1, 2, 3)), (0x8F, (8, 9, 10))):
        for m, opcode, pp, w, ll in itertools.product(maps, range(256), range(4), (0, 1), (0, 1)):
            for vvvv, reg, rm in itertools.product((15, 13), range(8), (0x06, 0xC6)):
                yield (
                    bytes([first, 0xE0 | m, w << 7 | vvvv << 3 | ll << 2 | pp, opcode, rm | reg << 3]) + REST
                )


def evex(rng: random.Random) -> Iterator[bytes]:
    for m, opcode, pp, w, ll in itertools.product((1, 2, 3, 5, 6), range(256), range(4), (0, 1), range(4)):
        for vvvv, b, z, k, rm in itertools.product((15, 13), (0, 1), (0, 1), (0, 1), (0x06, 0xC6)):
            p1, p2 = w << 7 | vvvv << 3 | 4 | pp, z << 7 | ll << 5 | b << 4 | 8 | k
            yield bytes([0x62, 0xF0 | m, p1, p2, opcode, rm | rng.randrange(8) << 3]) + REST


def decoder_knows(data: bytes) -> bool:
    insn = ffi.new("struct ip_insn *")
    return bool(lib.ip_decode(data, len(data), CODE_LOW, insn)) or insn.len > 15


def run(guest: Guest, path: Path, rng: random.Random, items: list[bytes]) -> Iterator[tuple[bytes, int]]:
    """The items that the CPU does not answer with SIGILL, and what it does."""
    tail = b"\xff\x24\x25" + struct.pack("<I", guest.layout.slot)
    code, cases, table = bytearray(), [], bytearray()
    for data in items:
        start = CODE_LOW + len(code)
        cases.append(Case(start, start + len(data), (0,), 0))
        code += data + tail
        gpr = [rng.choice((LOW, HIGH)) + 0x800 for _ in range(16)]
        gpr[4] = STACK_MID
        table += struct.pack("<20Q", *gpr, 0x202, start, 0, 0)
    stride = (guest.layout.size + 63) // 64 * 64
    image_ = [image(rng, guest.layout)]
    path.write_bytes(
        write(rng, guest.layout, bytes(code), cases, bytes(table), image_, stride, CODE_LOW).data
    )
    records = RECORD.iter_unpack(guest.records(None, "run", str(path), "0"))
    for data, case, record in zip(items, cases, records, strict=True):
        if record[21] != SIGILL or record[27] != case.start:
            yield data, record[21]


def walk(guest: Guest, folder: Path, rng: random.Random) -> int:
    """Print what the CPU knows and the decoder does not; whether there is any."""
    total = found = 0
    every = itertools.chain(legacy(), vex(), evex(rng))
    candidates = (
        data + b"\x90" * 15
        for data in every
        if not any(bad in data[:6] for bad in LEFT_OUT) and not decoder_knows(data + b"\x90" * 4)
    )
    while items := list(itertools.islice(candidates, CHUNK)):
        total += len(items)
        for data, signal in run(guest, folder / "unknown.bin", rng, items):
            found += 1
            print(f"{data[:15].hex()}: the CPU {f'answers with signal {signal}' if signal else 'runs it'}")
    print(f"{total} encodings unknown to the decoder, {found} known to the CPU")
    return found != 0
