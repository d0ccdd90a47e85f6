"""Which values of Python's the types of C take."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import pytest

from interpose.hooks import types
from interpose.hooks.types import MASK, CType, ctype_of

INTEGERS = {
    **{f"Int{bits}": (bits, True) for bits in (8, 16, 32, 64)},
    **{f"UInt{bits}": (bits, False) for bits in (8, 16, 32, 64)},
    "Char": (8, True),
    "UChar": (8, False),
    "Short": (16, True),
    "UShort": (16, False),
    "UInt": (32, False),
    "Long": (64, True),
    "ULong": (64, False),
    "Size": (64, False),
    "SSize": (64, True),
}


def kind_of(annotation: Any) -> CType:
    found = ctype_of(annotation)
    assert found is not None
    return found


def store(annotation: Any, value: Any) -> int:
    """The word for a value that needs no memory."""
    return kind_of(annotation).store(value, None)  # type: ignore[arg-type]


def load(annotation: Any, word: int) -> Any:
    return kind_of(annotation).load(word, None)  # type: ignore[arg-type]


ALL = [
    *((name, getattr(types, name), *INTEGERS[name]) for name in INTEGERS),
    ("int", int, 32, True),
    *(
        (
            f"c_{'' if signed else 'u'}int{bits}",
            getattr(ctypes, f"c_{'' if signed else 'u'}int{bits}"),
            bits,
            signed,
        )
        for bits in (8, 16, 32, 64)
        for signed in (True, False)
    ),
]


@pytest.mark.parametrize(
    ("annotation", "bits", "signed"), [row[1:] for row in ALL], ids=[row[0] for row in ALL]
)
def test_integers_take_what_fits_and_nothing_else(annotation, bits, signed):
    least = -(1 << (bits - 1)) if signed else 0
    most = (1 << (bits - signed)) - 1
    for value in (least, 0, 1, most, True):
        assert store(annotation, value) == value & MASK
        assert load(annotation, value & MASK) == value
    for value in (least - 1, most + 1, -1 if not signed else (1 << bits) - 1, 1 << 64, -1 << 64):
        with pytest.raises(OverflowError, match=f"^{value} does not fit into C's "):
            store(annotation, value)
    for value in (None, 1.0, "1", b"1", [1], ctypes.c_double(1)):
        with pytest.raises(TypeError, match="is no value for C's "):
            store(annotation, value)
    assert store(annotation, ctypes.c_int8(1)) == 1


def test_a_word_that_nobody_declares_is_of_either_sign():
    word = types.WORD
    for value in (-(1 << 63), -1, 0, MASK):
        assert word.store(value, None) == value & MASK  # type: ignore[arg-type]
    for value in (-(1 << 63) - 1, MASK + 1):
        with pytest.raises(OverflowError):
            word.store(value, None)  # type: ignore[arg-type]


def test_floating_point_numbers():
    for annotation in (float, types.Float, ctypes.c_float, ctypes.c_double):
        for value in (0, -1.5, True, math.inf, ctypes.c_float(2.0)):
            plain = value.value if isinstance(value, ctypes.c_float) else value
            assert load(annotation, store(annotation, value)) == plain
        assert math.isnan(load(annotation, store(annotation, math.nan)))
        for value in (None, "1", 1j):
            with pytest.raises(TypeError, match="is no value for C's "):
                store(annotation, value)
        with pytest.raises(OverflowError, match="does not fit into C's "):
            store(annotation, 10**400)
    with pytest.raises(OverflowError, match=r"^1e\+39 does not fit into C's float$"):
        store(types.Float, 1e39)


def test_booleans():
    for value, word in ((True, 1), (False, 0), (2, 1), (ctypes.c_bool(True), 1), (-1, 1)):
        assert store(bool, value) == word
    for value in (None, 1.0, "", []):
        with pytest.raises(TypeError, match="is no value for C's bool"):
            store(bool, value)


def test_pointers():
    for annotation in (types.Pointer, types.CString, ctypes.c_void_p):
        assert store(annotation, None) == 0
        assert store(annotation, -1) == MASK
        assert store(annotation, MASK) == MASK
        for value in (1 << 64, -(1 << 63) - 1):
            with pytest.raises(OverflowError, match="is no address"):
                store(annotation, value)
        for value in (True, 1.0):
            with pytest.raises(TypeError, match="is no value for C's "):
                store(annotation, value)


class Mapped:
    """A port whose memory ends after some bytes."""

    def __init__(self, size: int) -> None:
        self.data = bytearray(at & 0xFF for at in range(size))

    def read(self, address: int, size: int) -> bytes:
        assert address >= 0x1000 and address + size <= 0x1000 + len(self.data)
        return bytes(self.data[address - 0x1000 :][:size])

    def write(self, address: int, data: bytes) -> None:
        assert self.read(address, len(data)) is not None
        self.data[address - 0x1000 : address - 0x1000 + len(data)] = data


class Inner(ctypes.Structure):
    _fields_ = (("x", ctypes.c_int32), ("y", ctypes.c_int32 * 3))


class Union(ctypes.Union):
    _fields_ = (("word", ctypes.c_uint32), ("half", ctypes.c_uint16 * 2))


class Outer(ctypes.Structure):
    _anonymous_ = ("both",)
    _fields_ = (
        ("inner", Inner),
        ("name", ctypes.c_char * 8),
        ("low", ctypes.c_uint32, 4),
        ("high", ctypes.c_uint32, 28),
        ("both", Union),
        ("pairs", Inner * 2),
        ("rest", ctypes.c_int64 * 100),
    )

    @property
    def both_halves(self) -> list[int]:
        return list(self.half)


def test_fields_within_fields_are_the_programs() -> None:
    port = Mapped(ctypes.sizeof(Outer))
    pointer = kind_of(types.PointerTo[Outer]).load(0x1000, port)  # type: ignore[arg-type]
    pointer.inner.x = -5
    pointer.inner.y[1] = 77
    pointer.inner.y[-1] = 78
    pointer.pairs[1].y[0] = 5
    pointer.pairs[0] = pointer.pairs[1]
    pointer.name = b"ab"
    pointer.low, pointer.high = 3, 9
    pointer.half[1] = 0xABCD
    pointer.rest[99] = 1 << 40
    there = Outer.from_buffer_copy(port.data)
    assert (there.inner.x, there.inner.y[1:], there.pairs[0].y[0], there.name) == (-5, [77, 78], 5, b"ab")
    assert (there.low, there.high, there.word >> 16, there.rest[99]) == (3, 9, 0xABCD, 1 << 40)
    assert (pointer.inner.x, list(pointer.inner.y)[1:], pointer.inner.y[1:], len(pointer.inner.y)) == (
        -5,
        [77, 78],
        [77, 78],
        3,
    )
    assert (pointer.low, pointer.high, pointer.name, pointer.half[1]) == (3, 9, b"ab", 0xABCD)
    assert pointer.both_halves == list(there.half) and bytes(pointer) == port.data and pointer
    pointer.inner = Inner(1, (2, 3, 4))
    pointer.inner.write(pointer.pairs[0])
    assert bytes(pointer.inner) == bytes(pointer.pairs[1])
    for wrong in (3, -4, 1 << 70):
        with pytest.raises(IndexError):
            pointer.inner.y[wrong] = 0
    for what in (lambda: pointer[0], lambda: len(pointer), lambda: list(pointer.inner)):
        with pytest.raises(TypeError):
            what()
    with pytest.raises(AttributeError):
        pointer.inner.z = 1


def test_a_field_needs_no_more_than_itself() -> None:
    """A structure with a long end, of which the program has allocated the beginning."""
    port = Mapped(16 + 8)
    pointer = kind_of(types.PointerTo[Outer]).load(0x1000, port)  # type: ignore[arg-type]
    pointer.inner.y[0] = 1
    pointer.name = b"12345678"
    assert (pointer.inner.y[0], pointer.name) == (1, b"12345678")


def test_a_value_of_ctypes_says_its_type() -> None:
    """Of what no parameter declares; a ``float`` has no other way."""

    class Number:
        def __index__(self) -> int:
            return 5

    def word(value: Any) -> tuple[str, int]:
        kind = types.guess(value)
        return kind.name, kind.store(value, None)  # type: ignore[arg-type]

    assert word(ctypes.c_float(1.0)) == ("float", 0x3F80_0000)
    assert word(ctypes.c_double(1.0)) == word(1.0) == ("double", 0x3FF0_0000_0000_0000)
    assert word(ctypes.c_int(-4)) == ("c_int", -4 & types.MASK)
    assert word(ctypes.c_bool(True)) == ("bool", 1)
    assert word(ctypes.c_void_p(8)) == ("void *", 8) and word(ctypes.c_void_p()) == ("void *", 0)
    assert word(Number()) == ("word", 5)
    for wrong in (ctypes.c_wchar("x"), ctypes.c_longdouble(1), object()):
        with pytest.raises(TypeError):
            word(wrong)
