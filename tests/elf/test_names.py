"""What a file's string tables can hold, asked part by part, and what its symbols define."""

from __future__ import annotations

import random
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from interpose.elf import names
from interpose.elf.headers import SHT_SYMTAB
from interpose.elf.image import Image
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


DEFINES = """
#include <stdlib.h>
static __attribute__((noinline, used)) void hidden_one(void) {}
__asm__(".symver old_one, versioned@V1");
__asm__(".symver new_one, versioned@@V2");
void old_one(void) {}
void new_one(void) {}
void *my_malloc(size_t n) { return malloc(n); }
char plainest;
"""


def _map(tmp_path: Path) -> str:
    path = tmp_path / "versions"
    path.write_text("V1 { global: versioned; }; V2 { global: versioned; my_malloc; plainest; } V1;\n")
    return f"-Wl,--version-script={path}"


@pytest.mark.parametrize("is_stripped", [False, True])
def test_what_is_only_used_is_not_defined(
    compile_program: Callable[..., Path], tmp_path: Path, is_stripped: bool
) -> None:
    flags = ["-shared", "-fPIC", _map(tmp_path), *(["-s"] if is_stripped else [])]
    path = str(compile_program(f"defines{is_stripped}.c", DEFINES, *flags))
    tables = NameTables(path, OpenFile(path))
    assert tables.may_hold(b"malloc")
    assert not tables.may_define((b"malloc", b"free", b"calloc"))
    assert not tables.may_define((b"my_mallo", b"y_malloc", b"my_malloc_", b"versioned@V1"))
    for name in (b"my_malloc", b"versioned", b"plainest"):
        assert tables.may_define((b"malloc", name)), name
    assert tables.may_define((b"hidden_one",)) is not is_stripped
    tables.release()
    assert tables.may_define((b"free", b"my_malloc"))
    assert not tables.may_define((b"free", b"realloc"))


def test_a_separate_debug_file_defines_for_its_file(
    compile_program: Callable[..., Path], tmp_path: Path
) -> None:
    built = compile_program("separate.c", DEFINES, "-shared", "-fPIC", "-g", _map(tmp_path))
    path, debug = tmp_path / "lib.so", tmp_path / "lib.debug"
    subprocess.run(["objcopy", "--only-keep-debug", built, debug], check=True)
    subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", built, path], check=True)
    assert NameTables(str(path), OpenFile(str(path))).may_define((b"hidden_one",))
    debug.unlink()
    assert not NameTables(str(path), OpenFile(str(path))).may_define((b"hidden_one",))


def test_a_damaged_table_may_define_anything(compile_program: Callable[..., Path], tmp_path: Path) -> None:
    built = compile_program("damaged.c", DEFINES, "-shared", "-fPIC", _map(tmp_path))
    image = Image.open(str(built))
    table = next(section for section in image.sections if section.type == SHT_SYMTAB)
    data = bytearray(built.read_bytes())
    header = _symbol_header(data)
    huge = (header + 36, b"\0\x40\0\0")  # more than memory is
    for at, what in ((table.offset + 24, b"\xff" * 4), (header + 40, b"\xff" * 4), huge):
        damaged = data.copy()
        damaged[at : at + 4] = what
        path = tmp_path / "damaged.so"
        path.write_bytes(damaged)
        assert NameTables(str(path), OpenFile(str(path))).may_define((b"nobody_has_this",)), at


def _symbol_header(data: bytes) -> int:
    """Where the section header of the symbol table is, whose size is at 32 and link at 40."""
    (at,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    rows = (at + size * number for number in range(count))
    return next(row for row in rows if struct.unpack_from("<I", data, row + 4)[0] == SHT_SYMTAB)
