"""What two processes share of the translator: tables without a libc, and a lock."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .clib import ROOT, build


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    sources = Path(__file__).with_name("shared.c"), ROOT / "interpose/jit/memory.c"
    lib = ctypes.CDLL(str(build(tmp_path_factory.mktemp("shared"), *sources)))
    lib.take.argtypes = [ctypes.c_size_t]
    lib.take.restype = ctypes.c_long
    lib.give.argtypes = [ctypes.c_long, ctypes.c_size_t]
    return lib


@pytest.fixture
def lib(library: ctypes.CDLL) -> Iterator[ctypes.CDLL]:
    assert library.begin() == 0
    yield library
    library.end()


@given(steps=st.lists(st.tuples(st.integers(1, 70_000), st.integers(0, 9)), max_size=60))
def test_tables_are_zero_and_do_not_overlap(library: ctypes.CDLL, steps: list[tuple[int, int]]) -> None:
    assert library.begin() == 0
    held: list[tuple[int, int]] = []
    for size, which in steps:
        if which < len(held) and size % 3 == 0:
            library.give(*held.pop(which))
            continue
        at = library.take(size)
        assert at >= 0
        assert all(at + size <= other or other + length <= at for other, length in held)
        held.append((at, size))
    library.end()


def test_a_place_that_was_given_back_serves_the_next_table_of_its_size(lib: ctypes.CDLL) -> None:
    first = lib.take(100)
    lib.give(first, 100)
    assert lib.take(120) == first


def test_a_full_heap_is_told(lib: ctypes.CDLL) -> None:
    assert 60 < lib.filled() <= 64


def test_the_lock_lets_one_in_at_a_time(library: ctypes.CDLL) -> None:
    assert library.count(4, 3000) == 1


def test_the_lock_of_a_dead_process_is_taken_over_and_that_is_told(library: ctypes.CDLL) -> None:
    assert library.widow() == 1
