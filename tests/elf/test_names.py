"""What a file's string tables can hold, asked part by part."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from interpose.elf import names
from interpose.elf.names import NameTables
from interpose.elf.openfile import OpenFile
from interpose.jit._native import ffi, lib

LETTERS = b"abcdefgh_@."


def _table(rng: random.Random, size: int) -> bytes:
    table = bytearray()
    while len(table) < size:
        table += bytes(rng.choices(LETTERS, k=rng.randint(1, 30))) + b"\0"
    return bytes(table[:size])


@pytest.mark.parametrize("size", [0, 3, 4, 5, 7, 8, 9, 100, 3000])
def test_what_a_table_holds_is_never_denied(size: int) -> None:
    rng = random.Random(size)
    table = _table(rng, size)
    words = ffi.new("uint64_t[]", lib.IP_GRAM_WORDS)
    lib.ip_note_grams(table, len(table), words)
    for _ in range(2000):
        start = rng.randrange(size + 1)
        part = table[start : start + rng.randint(0, 20)]
        assert lib.ip_has_grams(words, part, len(part)), (start, part)


def test_most_of_what_a_table_lacks_is_denied() -> None:
    rng = random.Random(7)
    table = _table(rng, 100_000)
    words = ffi.new("uint64_t[]", lib.IP_GRAM_WORDS)
    lib.ip_note_grams(table, len(table), words)
    parts = [bytes(rng.choices(b"stuvwxyz", k=8)) for _ in range(1000)]
    assert sum(lib.ip_has_grams(words, part, len(part)) for part in parts) < 20
    assert lib.ip_has_grams(words, b"xyzt", 4), "too short to know"


@pytest.mark.parametrize("large", [1, 1 << 30])
def test_answers_do_not_depend_on_the_size(
    compile_program: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, large: int
) -> None:
    path = str(
        compile_program("names.c", "int wanted_name_one, q; int main(void) { return wanted_name_one; }")
    )
    monkeypatch.setattr(names, "LARGE", large)
    tables = NameTables(path, OpenFile(path))
    assert tables.may_hold(b"wanted_name_one")
    assert tables.may_hold(b"name_one")
    assert tables.may_hold(b"q")
    assert not tables.may_hold(b"wanted_name_two")
    assert not tables.may_hold(b"name_ones")
    assert tables.may_hold(b"nobody_has_this", b"wanted")
    tables.release()
    assert tables.may_hold(b"wanted_name")
    assert not tables.may_hold(b"unwanted_name")
