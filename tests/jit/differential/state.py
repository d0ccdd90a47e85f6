"""Random states: what registers, vector and x87 state and memory hold when a case starts."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass

MASK = (1 << 64) - 1
LOW, HIGH, SIZE = 0x0E000000, 0x2000100000, 0x2000


@dataclass
class Layout:
    """What `guest info` says: the XSAVE area and the slot through which a case ends."""

    xcr0: int
    size: int
    components: dict[int, tuple[int, int]]
    slot: int

    @classmethod
    def parse(cls, data: bytes) -> Layout:
        words = struct.unpack(f"<{len(data) // 8}Q", data)
        parts = {i + 2: (words[2 * i + 3], words[2 * i + 4]) for i in range(8)}
        return cls(words[0], words[1], {k: v for k, v in parts.items() if v[1]}, words[-1])


def random_value(rng: random.Random) -> int:
    """A general register."""
    kind = rng.randrange(8)
    if kind < 3:
        return rng.getrandbits(64)
    if kind == 3:
        return rng.randrange(256)
    if kind == 4:
        return -rng.randrange(256) & MASK
    if kind == 5:
        return rng.choice(
            (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 63, (1 << 63) - 1, MASK, 0x8000, 0x80)
        )
    if kind == 6:
        return rng.getrandbits(32)
    return rng.choice((LOW, HIGH)) + rng.randrange(64, SIZE - 64)


def x87_control(rng: random.Random) -> int:
    """All precisions and roundings; exceptions mostly masked."""
    masks = 0x3F if rng.random() < 0.7 else rng.getrandbits(6)
    return 0x40 | masks | rng.choice((3, 3, 2, 0)) << 8 | rng.getrandbits(2) << 10


def mxcsr(rng: random.Random) -> int:
    """All roundings, FTZ and DAZ; exceptions mostly masked, sticky flags at random."""
    masks = 0x3F if rng.random() < 0.8 else 0x3F & ~(1 << rng.randrange(6)) if rng.random() < 0.7 else 0
    sticky = rng.getrandbits(6) if masks == 0x3F else 0
    flush = rng.choice((0, 0, 0x8000, 0x0040, 0x8040))
    return masks << 7 | flush | sticky | (rng.getrandbits(2) if rng.getrandbits(1) else 0) << 13


def image(rng: random.Random, layout: Layout) -> bytes:
    """A random XSAVE image that xrstor accepts and that has no exception pending."""
    x = bytearray(layout.size)
    for number, (offset, size) in layout.components.items():
        if layout.xcr0 >> number & 1 and number != 9:
            x[offset : offset + size] = masks(rng, size) if number == 5 else vector_bytes(rng, size)
    control = x87_control(rng)
    status = rng.getrandbits(16) & 0x7F00 | (rng.getrandbits(6) & control & 0x3F)
    struct.pack_into("<HHBB", x, 0, control, status, rng.choice((0, 0, 0xFF, rng.getrandbits(8))), 0)
    struct.pack_into("<II", x, 24, mxcsr(rng), 0xFFFF)
    for i in range(8):
        x[32 + 16 * i : 42 + 16 * i] = x87_value(rng)
    x[160:416] = vector_bytes(rng, 256)
    struct.pack_into("<Q", x, 512, layout.xcr0 & 0xFF)
    return bytes(x)


def masks(rng: random.Random, size: int) -> bytes:
    """Opmask registers."""
    words = (
        rng.choice((0, MASK, 1, 0x8000, rng.getrandbits(64), rng.getrandbits(64))) for _ in range(size // 8)
    )
    return struct.pack(f"<{size // 8}Q", *words)


def x87_value(rng: random.Random) -> bytes:
    """An 80-bit number: any bits, numbers of usual size, integers, the special ones."""
    kind = rng.randrange(5)
    if kind == 0:
        return rng.randbytes(10)
    sign = rng.getrandbits(1) << 15
    mantissa = rng.getrandbits(63) | 1 << 63
    if kind == 1:
        return struct.pack("<QH", mantissa, 0x3FFF + rng.randrange(-40, 40) | sign)
    if kind == 2:
        return struct.pack("<QH", rng.randrange(1, 64) << 58, 0x3FFF + rng.randrange(16) | sign)
    if kind == 3:
        return rng.choice(
            (bytes(10), struct.pack("<QH", 1 << 63, 0x7FFF), struct.pack("<QH", 3 << 62, 0xFFFF))
        )
    low = rng.getrandbits(62)
    return struct.pack(
        "<QH",
        *rng.choice(
            (
                (low, sign),  # denormal
                (low | 1 << 63, sign),  # pseudo-denormal
                (low, 0x3FFF | sign),  # unnormal
                (low | 1 << 63, 0x7FFF | sign),  # signalling
                (low | 3 << 62, 0x7FFF | sign),  # quiet
                (low | 1 << 63, 0x7FFE | sign),  # the largest
                (low | 1 << 63, 1 | sign),  # the smallest
            )
        ),
    )


def special_bits(rng: random.Random, exponent: int, fraction: int) -> int:
    """A special number of a format with so many exponent and fraction bits."""
    sign = rng.getrandbits(1) << (exponent + fraction)
    full = (1 << exponent) - 1
    any_fraction = rng.getrandbits(fraction)
    quiet = 1 << (fraction - 1)
    return sign | rng.choice(
        (
            0,
            any_fraction & ~quiet,  # denormal
            1,  # the smallest
            1 << fraction | any_fraction,  # small
            full << fraction,  # infinite
            full << fraction | quiet | any_fraction,  # quiet
            full << fraction | any_fraction & ~quiet | 1,  # signalling
            (full - 1) << fraction | any_fraction,  # large
            (full >> 1) << fraction | any_fraction,  # one and something
            (full >> 1) + rng.randrange(fraction) << fraction | any_fraction,  # near the ends of integers
        )
    )


def vector_bytes(rng: random.Random, size: int) -> bytes:
    """Vector registers and memory: any bits, numbers of all formats, special ones."""
    out = bytearray()
    while len(out) < size:
        kind = rng.randrange(9)
        if kind < 2:
            out += rng.randbytes(16)
        elif kind == 2:
            out += struct.pack("<4f", *(rng.uniform(-100, 100) for _ in range(4)))
        elif kind == 3:
            out += struct.pack("<2d", *(rng.uniform(-1e6, 1e6) for _ in range(2)))
        elif kind == 4:
            out += struct.pack("<4i", *(rng.randrange(-50, 50) for _ in range(4)))
        elif kind == 5:
            out += struct.pack("<4I", *(special_bits(rng, 8, 23) for _ in range(4)))
        elif kind == 6:
            out += struct.pack("<2Q", *(special_bits(rng, 11, 52) for _ in range(2)))
        elif kind == 7:
            half = rng.choice(((5, 10), (8, 7)))
            out += struct.pack("<8H", *(special_bits(rng, *half) for _ in range(8)))
        else:
            out += rng.choice(
                (bytes(16), b"\xff" * 16, struct.pack("<4I", 1, 0x7F800000, 0x7FC00000, 0x80000000))
            )
    return bytes(out[:size])
