"""Arrays hold what records say."""

from __future__ import annotations

import pytest
from formats.drmemtrace.entries import MINIMAL, archive, plain
from formats.drmemtrace.test_reader import chunks

from interpose.formats.drmemtrace.constants import MarkerId
from interpose.formats.drmemtrace.reader import Reader
from interpose.formats.drmemtrace.records import Data, Instr
from interpose.jit._native import ffi

np = pytest.importorskip("numpy")


def test_arrays_are_the_records(tmp_path):
    from interpose.formats.drmemtrace import bulk

    path = archive(tmp_path / "t.zip", *chunks())
    records = list(Reader(path))
    reader = Reader(path)
    rows = np.concatenate([part.copy() for part in bulk.arrays(reader)])
    codes = bulk.codes(reader)
    assert len(rows) == len(records)
    fetched = [record for record in records if isinstance(record, Instr)]
    of_instr = rows[bulk.is_fetched(rows)]
    assert [int(pc) for pc in of_instr["pc"]] == [record.pc for record in fetched]
    assert [bytes(code["bytes"][: code["length"]]) for code in codes[of_instr["code"]]] == [
        record.encoding for record in fetched
    ]
    accesses = rows[bulk.is_access(rows)]
    assert [(int(row["pc"]), int(row["addr"])) for row in accesses] == [
        (record.pc, record.addr) for record in records if isinstance(record, Data)
    ]
    assert bulk.is_marker(rows, MarkerId.TIMESTAMP).sum() == 2
    assert bulk.RECORD.itemsize == ffi.sizeof("struct ip_mt_record")
    assert bulk.CODE.itemsize == ffi.sizeof("struct ip_mt_code")


def test_entries_as_the_file_has_them(tmp_path):
    from interpose.formats.drmemtrace import bulk

    (rows,) = bulk.entries(plain(tmp_path / "t", MINIMAL))
    assert rows.tobytes() == MINIMAL
    assert list(rows["type"][:2]) == [25, 28]
