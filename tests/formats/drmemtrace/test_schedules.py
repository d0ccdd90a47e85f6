"""Schedule files come back as they were; damaged ones are refused."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpose.formats.drmemtrace import schedules
from interpose.formats.drmemtrace.errors import FormatError
from interpose.formats.drmemtrace.schedules import Slice

SLICES = [Slice(11, 100, 0, 0), Slice(12, 150, 1, 0), Slice(11, 200, 1, 70), Slice(12, 200, 0, 30)]


@pytest.mark.parametrize("name", schedules.SERIAL)
def test_serial(tmp_path: Path, name: str) -> None:
    data = schedules.packed([*SLICES, Slice(12, 210, 0, 40)])  # the last one goes on with what is before it
    (tmp_path / "trace").mkdir()
    (tmp_path / "trace" / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    assert list(schedules.serial(tmp_path)) == SLICES
    assert list(schedules.serial(tmp_path / "trace")) == SLICES


def test_by_cpu(tmp_path: Path) -> None:
    schedules.write_by_cpu(tmp_path / schedules.BY_CPU, SLICES)
    assert schedules.by_cpu(tmp_path) == {0: [SLICES[0], SLICES[3]], 1: [SLICES[1], SLICES[2]]}
    assert sorted(schedules.read(tmp_path / schedules.BY_CPU)) == sorted(SLICES)


def test_none(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no serial schedule"):
        schedules.serial(tmp_path)
    with pytest.raises(FormatError, match="no schedule by processors"):
        schedules.by_cpu(tmp_path)


def test_many(tmp_path: Path) -> None:
    """More than a block has: entries lie over the edges of blocks."""
    slices = [Slice(n % 7, n, n % 3, 10 * n) for n in range(100_000)]
    (tmp_path / schedules.SERIAL[1]).write_bytes(gzip.compress(schedules.packed(slices), 1))
    assert list(schedules.serial(tmp_path)) == slices


def test_name_of_no_cpu(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / schedules.BY_CPU, "w") as archive:
        archive.writestr("one", b"")
    with pytest.raises(FormatError, match="no processor"):
        schedules.by_cpu(tmp_path)


@settings(max_examples=200, deadline=None)
@given(at=st.floats(0, 1), bits=st.integers(0, 255), cut=st.integers(0, 40))
def test_damaged(tmp_path_factory: pytest.TempPathFactory, at: float, bits: int, cut: int) -> None:
    """One line, or other slices."""
    folder = tmp_path_factory.mktemp("schedule", numbered=True)
    schedules.write_by_cpu(folder / schedules.BY_CPU, SLICES)
    (folder / schedules.SERIAL[1]).write_bytes(gzip.compress(schedules.packed(SLICES)))
    for name, read in ((schedules.BY_CPU, schedules.by_cpu), (schedules.SERIAL[1], schedules.serial)):
        data = bytearray((folder / name).read_bytes())
        data[int(at * (len(data) - 1))] ^= bits
        (folder / name).write_bytes(data[: len(data) - cut])
        try:
            list(read(folder))
        except FormatError as error:
            assert len(str(error).splitlines()) == 1
