"""The tables: those of Python are those of C, and the numbers that everybody relies on."""

from __future__ import annotations

import pytest

from interpose.formats.drmemtrace.constants import FILE_TYPE, INSTRUCTIONS, FileType, MarkerId, Type
from interpose.jit._native import ffi, lib


@pytest.mark.parametrize(
    ("table", "name", "prefix"),
    [
        (Type, "ip_mt_type", "IP_MT_"),
        (MarkerId, "ip_mt_marker", "IP_MTM_"),
        (FileType, "ip_mt_filetype", "IP_MTF_"),
    ],
)
def test_tables_agree(table, name, prefix):
    in_c = {word.removeprefix(prefix): value for value, word in ffi.typeof(f"enum {name}").elements.items()}
    assert in_c == {word: int(value) for word, value in table.__members__.items()}


def test_numbers():
    assert (Type.INSTR, Type.MARKER, Type.ENCODING, Type.INVALID) == (10, 28, 47, 50)
    assert (MarkerId.TIMESTAMP, MarkerId.CHUNK_FOOTER, MarkerId.SYSCALL, MarkerId.SIGNAL_NUMBER) == (
        2,
        21,
        25,
        40,
    )
    assert FILE_TYPE == 0xE40
    assert sum(1 << kind for kind in INSTRUCTIONS) == lib.IP_MT_FETCHED
