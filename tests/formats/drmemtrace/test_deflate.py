"""ISA-L's deflate and zlib's stand in for each other."""

from __future__ import annotations

import importlib
import sys
import zlib
from pathlib import Path

import pytest

from interpose.formats.drmemtrace import deflate
from interpose.formats.drmemtrace.constants import Type
from interpose.formats.drmemtrace.errors import FormatError
from interpose.formats.drmemtrace.reader import Reader
from interpose.formats.drmemtrace.writer import Writer


@pytest.fixture(params=["isal", "zlib"])
def library(request, monkeypatch):
    """Both libraries in turn; without ISA-L's package there is zlib."""
    if request.param == "isal":
        pytest.importorskip("isal")
    else:
        monkeypatch.setitem(sys.modules, "isal", None)
    importlib.reload(deflate)
    yield request.param
    monkeypatch.undo()
    importlib.reload(deflate)


def _written(path: Path, level: int) -> Path:
    with Writer(path, tid=11, pid=10, chunk_instr_count=1000, level=level) as writer:
        for number in range(5000):
            writer.instr(0x401000 + number % 700 * 3, 3, encoding=b"\x48\x8b\x07")
            writer.data(Type.READ, 8, 0x7000 + number * number % 4093)
    return path


@pytest.mark.parametrize("form", ["zip", "gz"])
@pytest.mark.parametrize("level", [1, 6])
def test_each_reads_what_the_other_wrote(tmp_path, library, form, level):
    path = _written(tmp_path / f"a.trace.{form}", level)
    expected = list(Reader(_written(tmp_path / "a.trace", 1)))
    read = list(Reader(path))
    assert [record for record in read if record.__class__.__name__ != "Marker"] == [
        record for record in expected if record.__class__.__name__ != "Marker"
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deflate, "_fast", zlib)  # zlib reads either
        patch.setattr(deflate, "crc32", zlib.crc32)
        assert list(Reader(path)) == read


@pytest.mark.parametrize("form", ["zip", "gz"])
def test_damage_is_told_by_either(tmp_path, library, form):
    path = _written(tmp_path / f"a.trace.{form}", 1)
    data = bytearray(path.read_bytes())
    for place in range(200, len(data) // 2, 7):
        data[place] ^= 0x55
    path.write_bytes(data)
    with pytest.raises(FormatError):
        list(Reader(path))


def test_the_package_is_what_the_finisher_uses(library):
    made = deflate.deflater(deflate.FAST)
    assert ("isal" in type(made).__module__) == (library == "isal")
