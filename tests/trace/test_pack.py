"""Packed records come back as they were; damaged ones are refused."""

from __future__ import annotations

import ctypes
import random
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parents[1] / "interpose"
BASE = 0x79001000
BLOCK = struct.Struct("<4Q2I3H2BIIiI2HIQ2HI")
"""struct ip_tr_block (abi/trace.h)."""
INSN = struct.Struct("<2Q4B2H2I16x")
"""struct ip_tr_insn."""
PATHS = 1 << 13
"""PK_PATHS (trace/pack.h)."""
Records = list[int]


class State(ctypes.Structure):
    """struct pk_state."""

    _fields_ = (
        ("templates", ctypes.c_void_p),
        ("words", ctypes.c_void_p),
        ("next", ctypes.c_void_p),
        ("path", ctypes.c_uint32),
    )


class Reader(ctypes.Structure):
    """struct pk_reader."""

    _fields_ = (
        ("state", State),
        ("at", ctypes.c_void_p),
        ("end", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("lengths", ctypes.c_void_p),
        ("end_lengths", ctypes.c_void_p),
        ("end_data", ctypes.c_void_p),
        ("runs", ctypes.c_uint32),
        ("then", ctypes.c_uint32),
        ("n_templates", ctypes.c_uint32),
        ("template_bytes", ctypes.c_uint32),
        ("n_words", ctypes.c_uint32),
        ("wrong", ctypes.c_char_p),
    )


@pytest.fixture(scope="module")
def lib(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    out = tmp_path_factory.mktemp("pack") / "pack.so"
    command = ["gcc", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I", str(PACKAGE)]
    subprocess.run([*command, "-o", str(out), str(HERE / "hosted.c")], check=True)
    lib = ctypes.CDLL(str(out))
    lib.pack.restype = lib.bound.restype = ctypes.c_size_t
    lib.bound.argtypes = (ctypes.c_size_t,)
    lib.unpack.restype = ctypes.c_long
    return lib


class Blocks:
    """Templates of given numbers of words and instructions, and both sides' states over them."""

    def __init__(self, shapes: list[tuple[int, int]]) -> None:
        text = b""
        self.offsets, self.shapes, first = [], shapes, 0
        for number, (words, insns) in enumerate(shapes):
            size = BLOCK.size + insns * INSN.size
            self.offsets.append(len(text))
            text += BLOCK.pack(
                *(0, 0, 0, 0, number, size, insns, 0, words, 0, 0, 0, 0xFFFFFFFF, 0, first), *(0,) * 7
            )
            for insn in range(insns):
                text += INSN.pack(0, 0, 1, 0, 0, 0, 0, 0xFFFF, 0, self.used(number, insn + 1))
            first += words
        self.text, self.n_words = ctypes.create_string_buffer(text, len(text)), first
        self.kept: list[object] = []

    def used(self, number: int, completed: int) -> int:
        """How many of a template's words so many instructions need."""
        words, insns = self.shapes[number]
        return words * completed // insns

    def run(self, number: int, completed: int, values: Records) -> Records:
        """A record, with nothing but zeros in words that are not needed."""
        words, used = self.shapes[number][0], self.used(number, completed)
        head = words << 56 | used << 48 | completed << 32 | BASE + self.offsets[number]
        return [head, *values[:used], *[0] * (words - used)]

    def state(self) -> State:
        words = ctypes.create_string_buffer(8 * self.n_words + 8)
        following = ctypes.create_string_buffer(4 * PATHS)
        self.kept += [words, following]
        address = ctypes.addressof
        return State(address(self.text), address(words), address(following), 0)

    def pack(self, lib: ctypes.CDLL, parts: list[Records]) -> bytes:
        state, out = self.state(), b""
        for part in parts:
            given = (ctypes.c_uint64 * len(part))(*part)
            buffer = ctypes.create_string_buffer(lib.bound(len(part)))
            n = lib.pack(ctypes.byref(state), given, len(part), BASE, buffer)
            out += buffer.raw[:n]
        return out

    def unpack(self, lib: ctypes.CDLL, data: bytes, room: int) -> Records | str:
        held = ctypes.create_string_buffer(data, len(data))
        at = ctypes.addressof(held)
        reader = Reader(
            self.state(),
            *(at, at + len(data), None, None, None, None, 0, 0),
            *(len(self.shapes), len(self.text), self.n_words, None),
        )
        out = (ctypes.c_uint64 * room)()
        n = lib.unpack(ctypes.byref(reader), BASE, out, room)
        return reader.wrong.decode() if n == -1 else list(out[: max(n, 0)])


def a_run(blocks: Blocks, rng: random.Random, held: dict[int, list[int]]) -> Records:
    number = rng.randrange(len(blocks.shapes)) if rng.random() < 0.4 else len(held) % len(blocks.shapes)
    n_words, insns = blocks.shapes[number]
    done = insns if rng.random() < 0.9 else rng.randrange(insns + 1)
    values = held.setdefault(number, [0] * n_words)
    for i in range(n_words):
        step = rng.choice((0, 8, 8, -1, rng.getrandbits(rng.randrange(65))))
        values[i] = (values[i] + step) & (1 << 64) - 1
    return blocks.run(number, done, values)


def stream(seed: int) -> tuple[Blocks, list[Records]]:
    rng = random.Random(seed)
    blocks = Blocks(
        [(rng.choice((0, 1, 2, 7, 8, 9, 64)), rng.randrange(1, 20)) for _ in range(rng.randrange(1, 9))]
    )
    held: dict[int, list[int]] = {}
    parts: list[Records] = [[]]
    for _ in range(rng.randrange(1, 200)):
        if rng.random() < 0.02:
            n = rng.randrange(6)
            parts[-1] += [n << 32 | rng.choice((1, 6, 8, 64, 69)), *(rng.getrandbits(64) for _ in range(n))]
        elif rng.random() < 0.05:
            parts.append([])
        elif rng.random() < 0.1:  # a loop
            parts[-1] += a_run(blocks, rng, held) * rng.randrange(1, 200)
        else:
            parts[-1] += a_run(blocks, rng, held)
    return blocks, parts


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 1 << 32))
def test_round_trip(lib: ctypes.CDLL, seed: int) -> None:
    blocks, parts = stream(seed)
    wanted = [word for part in parts for word in part]
    assert blocks.unpack(lib, blocks.pack(lib, parts), len(wanted) + 1) == wanted


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 1 << 32), at=st.floats(0, 1), bits=st.integers(0, 255))
def test_damaged(lib: ctypes.CDLL, seed: int, at: float, bits: int) -> None:
    """Cut off or altered anywhere it ends, with a reason or with other records."""
    blocks, parts = stream(seed)
    data = bytearray(blocks.pack(lib, parts))
    place = int(at * (len(data) - 1)) if data else 0
    got = blocks.unpack(lib, bytes(data[:place]), 1 << 20)
    assert isinstance(got, str) or got == [word for part in parts for word in part][: len(got)]
    if data:
        data[place] ^= bits
    blocks.unpack(lib, bytes(data), 1 << 20)


def test_loops_take_little_room(lib: ctypes.CDLL) -> None:
    blocks = Blocks([(3, 5)])
    runs = [word for i in range(12700) for word in blocks.run(0, 5, [8, 1000 + i // 1000, 7])]
    assert len(blocks.pack(lib, [runs])) < 12700 / 10


def test_gaps_behind_each_other_are_one(lib: ctypes.CDLL) -> None:
    blocks, gap = Blocks([(1, 2)]), 7
    one = blocks.run(0, 2, [5])
    packed = blocks.pack(lib, [[*one, gap, gap, gap, *one, gap], [gap, *one]])
    assert blocks.unpack(lib, packed, 100) == [*one, gap, *one, gap, gap, *one]
