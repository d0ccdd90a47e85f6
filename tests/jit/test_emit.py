"""Stage 6: what it has no code for is a fault of ours, and not a block that is too long."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jit.clib import ROOT, build, load

HERE = Path(__file__).resolve().parent
JIT = ROOT / "interpose" / "jit"
PARTS = ("emit", "emit_flow", "emit_shadow", "emit_count", "recheck", "writer", "ucode")
FACE = """
int emit_kinds(void);
int emit_join(void);
const char *emit_said_of(int op);
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    where = tmp_path_factory.mktemp("emit")
    return load(build(where, HERE / "emit_cases.c", *(JIT / f"{part}.c" for part in PARTS)), FACE)


def test_a_uop_without_code_is_named_with_its_block(library: tuple[Any, Any]) -> None:
    ffi, lib = library
    unknown = lib.emit_kinds()
    assert ffi.string(lib.emit_said_of(unknown)) == b"uop (%d) at 0x1234" % unknown
    assert ffi.string(lib.emit_said_of(lib.emit_join())) == b""
