"""The file stays a sequence of records wherever its chunks end."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from interpose.formats import datagrind
from interpose.formats.datagrind.records import framed
from interpose.tools.datagrind.writer import OutputFile

BLOCKS = [framed(10, n.to_bytes(8, "little")) for n in range(3)]


def records(path: Path) -> list[datagrind.Record]:
    reader = datagrind.Reader(io.BytesIO(path.read_bytes()))
    found = list(reader)
    assert reader.problems == []
    return found[1:]


@pytest.mark.parametrize("cut", range(len(BLOCKS[1]) + 1))
@pytest.mark.parametrize("told", [False, True])
def test_an_object_is_told_between_records(cut, told, tmp_path):
    """A record that is spread over two chunks, and an object that is mapped in between."""
    first, second = BLOCKS[0] + BLOCKS[1][:cut], BLOCKS[1][cut:] + BLOCKS[2]
    out = OutputFile(str(tmp_path / "f"), lambda text: None)
    out.write(first, len(first) if cut in (0, len(BLOCKS[1])) else len(BLOCKS[0]))
    out.text_avma(0x1000, b"/one")
    out.text_avma(0x2000, b"/two")
    # Where a chunk begins with the end of a record, only a record that begins in it says where that is.
    out.write(second, len(BLOCKS[1]) - cut if told else len(second))
    out.write(BLOCKS[0], len(BLOCKS[0]))
    out.close()
    found = records(tmp_path / "f")
    blocks = [record for record in found if isinstance(record, datagrind.FreeBlock)]
    assert blocks == [datagrind.FreeBlock(n) for n in (0, 1, 2, 0)]
    texts = [record for record in found if isinstance(record, datagrind.TextAvma)]
    assert texts == [datagrind.TextAvma(0x1000, b"/one"), datagrind.TextAvma(0x2000, b"/two")]


def test_an_object_that_is_told_last(tmp_path):
    out = OutputFile(str(tmp_path / "f"), lambda text: None)
    out.write(BLOCKS[0] + BLOCKS[1][:4], len(BLOCKS[0]))
    out.text_avma(0x1000, b"/one")
    out.close()
    assert records(tmp_path / "f") == [datagrind.FreeBlock(0), datagrind.TextAvma(0x1000, b"/one")]
