"""What comes from files of the program's, or was cut anywhere."""

from __future__ import annotations

import io
import struct
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpose.elf.errors import ElfError
from interpose.formats import FormatError, datagrind
from interpose.jit._native import lib
from interpose.tools.datagrind.functions import starts
from interpose.tools.datagrind.writer import HEADER, record

PAYLOADS = st.one_of(st.binary(max_size=40), st.integers(250, 400).map(bytes))


@given(st.lists(st.tuples(st.integers(0, 127), PAYLOADS), max_size=8), st.integers(0, 3000))
def test_whole_records_of_a_cut_file(parts: list[tuple[int, bytes]], cut: int) -> None:
    records = [record(kind, payload) for kind, payload in parts]
    data = b"".join(records)
    ends = [0]
    for one in records:
        ends.append(ends[-1] + len(one))
    whole = lib.dg_whole_records(data, min(cut, len(data)))
    assert whole == max(end for end in ends if end <= min(cut, len(data)))


@given(st.binary(max_size=300))
def test_whole_records_of_anything(data: bytes) -> None:
    assert 0 <= lib.dg_whole_records(data, len(data)) <= len(data)


@given(st.binary(max_size=400))
def test_readers_end(data: bytes) -> None:
    """Also where a definition of many blocks' instructions claims more than there is."""
    with suppress(FormatError):
        for _ in datagrind.Reader(io.BytesIO(HEADER + data)):
            pass


def image_with(data: bytes | ElfError, address: int) -> Any:
    def read(section: Any) -> bytes:
        if isinstance(data, ElfError):
            raise data
        return data

    return SimpleNamespace(section_named=lambda name: SimpleNamespace(addr=address), section_data=read)


def table(offsets: list[int], count: int | None = None) -> bytes:
    body = b"".join(struct.pack("<ii", offset, 0) for offset in offsets)
    return struct.pack("<4BII", 1, 0x1B, 0x03, 0x3B, 0, len(offsets) if count is None else count) + body


@given(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=20), st.integers(0, 2**64 - 1))
def test_functions_of_any_table(offsets: list[int], address: int) -> None:
    found = list(starts(image_with(table(offsets), address)))
    assert found == sorted({address + n for n in offsets if 0 <= address + n < 2**64})


@given(st.binary(max_size=100))
def test_functions_of_anything(data: bytes) -> None:
    list(starts(image_with(data, 0x1000)))


@pytest.mark.parametrize(
    "data", [b"", table([1, 2], count=3), table([1], count=2**32 - 1), ElfError("f", "is damaged")]
)
def test_functions_of_damaged_tables(data: bytes | ElfError) -> None:
    assert list(starts(image_with(data, 0))) == []


def test_functions_of_a_file_without_them(tmp_path: Path) -> None:
    assert list(starts(SimpleNamespace(section_named=lambda name: None))) == []  # type: ignore[arg-type]
