"""Instructions that are the same but for their place share a description, and no others do."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from interpose.jit._native import lib as native

from .clib import ROOT, build

NEXT, JCC = native.IP_F_NEXT, native.IP_F_JCC


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    sources = Path(__file__).with_name("described.c"), ROOT / "interpose/jit/describe.c"
    lib = ctypes.CDLL(str(build(tmp_path_factory.mktemp("described"), *sources)))
    lib.shape.argtypes = [ctypes.c_uint64, ctypes.c_char_p, *[ctypes.c_int] * 2, *[ctypes.c_uint64] * 2]
    lib.target_of.restype = ctypes.c_uint64
    return lib


@pytest.fixture
def lib(library: ctypes.CDLL) -> ctypes.CDLL:
    library.room = ctypes.create_string_buffer(5000 * library.insn_bytes())  # type: ignore[attr-defined]
    library.begin(library.room)
    return library


def test_the_place_makes_no_difference(lib: ctypes.CDLL) -> None:
    assert [lib.shape(pc, b"\x48\x01\xd8", 3, NEXT, 0, 0) for pc in (0x1000, 0x1003, 0x7F0000000011)] == [
        0,
        0,
        0,
    ]


def test_what_it_does_makes_one(lib: ctypes.CDLL) -> None:
    assert lib.shape(0x1000, b"\x48\x01\xd8", 3, NEXT, 0, 0) == 0
    assert lib.shape(0x1000, b"\x48\x01\xd9", 3, NEXT, 0, 0) == 1
    assert lib.shape(0x1000, b"\x48\x01", 2, NEXT, 0, 0) == 2
    assert lib.shape(0x1000, b"\x48\x01\xd8", 3, NEXT, 0, 0x601000) == 3


def test_branches_go_as_far(lib: ctypes.CDLL) -> None:
    assert lib.shape(0x1000, b"\x74\xf0", 2, JCC, 0xFF2, 0) == 0
    assert lib.shape(0x2000, b"\x74\xf0", 2, JCC, 0x1FF2, 0) == 0
    assert lib.target_of(0) == 2**64 - 14


def test_a_marker_is_longer_than_what_is_kept_of_it(lib: ctypes.CDLL) -> None:
    assert [lib.shape(pc, b"\x48\xc1\xc7\x03" * 4, 19, NEXT, 0, 0) for pc in (0x1000, 0x2000)] == [0, 0]


def test_many(lib: ctypes.CDLL) -> None:
    for _ in range(2):
        got = [lib.shape(16 * n, n.to_bytes(4, "little"), 4, NEXT, 0, 0) for n in range(4000)]
        assert got == list(range(4000))
    lib.begin(lib.room)
    assert lib.shape(0, b"\x90", 1, NEXT, 0, 0) == 0
