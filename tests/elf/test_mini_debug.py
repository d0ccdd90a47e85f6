"""Symbols from .gnu_debugdata, made as Fedora's rpmbuild makes it."""

from __future__ import annotations

import lzma
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from interpose.elf.compression import of_xz
from interpose.elf.image import Image
from interpose.elf.symbolmap import code_map, data_map
from interpose.elf.symtab import function_symbols

SOURCE = """\
#include <stdlib.h>
int common;
__attribute__((noinline)) static int hidden(int *block) { return block[4]; }
__attribute__((noinline)) int shown(int *block) { return hidden(block) + 1; }
int main(void) { int *block = calloc(4, 4); int end = shown(block) == 99; free(block); return end; }
"""


def tool(*words: str | Path) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="session")
def whole(compile_program: Callable[..., Path]) -> Path:
    return compile_program("mini.c", SOURCE, "-O1", "-fno-optimize-sibling-calls")


def with_section(whole: Path, folder: Path, content: bytes) -> Path:
    """The program stripped, and with this section."""
    (folder / "section").write_bytes(content)
    program = folder / "program"
    tool("strip", "--strip-all", "-o", program, whole)
    tool("objcopy", f"--add-section=.gnu_debugdata={folder / 'section'}", program)
    return program


@pytest.fixture
def mini(whole: Path, tmp_path: Path) -> Path:
    functions = {line.split()[2] for line in tool("nm", whole).splitlines() if line.split()[-2] in "tT"}
    (tmp_path / "keep").write_text("\n".join(sorted(functions)))
    tool("objcopy", "--only-keep-debug", whole, tmp_path / "debug")
    keep = ["-S", "--remove-section=.comment", f"--keep-symbols={tmp_path / 'keep'}"]
    tool("objcopy", *keep, tmp_path / "debug", tmp_path / "small")
    return with_section(whole, tmp_path, lzma.compress((tmp_path / "small").read_bytes()))


def test_functions_have_their_names(whole: Path, mini: Path) -> None:
    full, small = Image.open(str(whole)), Image.open(str(mini))
    assert small.symtab == []
    for name in ("main", "shown", "hidden"):
        value, size = next((s.value, s.size) for s in full.symtab if s.name == name)
        assert code_map(small).find(value + size - 1) == (name, size - 1)
        symbols = function_symbols(small)
        assert symbols.addresses[symbols.names.index(name)] == value
    assert len(data_map(full).named("common")) == 1
    assert data_map(small).named("common") == []


def test_a_report_names_them(mini: Path) -> None:
    words = [sys.executable, "-m", "interpose", "--tool=memcheck", "-q", str(mini)]
    text = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False).stderr
    assert re.findall(r"(?:at|by) 0x[0-9A-F]+: (\w+)", text)[:3] == ["hidden", "shown", "main"]


@pytest.mark.parametrize(
    "content",
    [b"", b"x", lzma.compress(b""), lzma.compress(b"no ELF"), lzma.compress(bytes(5000))[:-9]],
    ids=["empty", "no xz", "nothing", "no ELF", "cut off"],
)
def test_damage_costs_only_the_names(whole: Path, tmp_path: Path, content: bytes) -> None:
    damaged = Image.open(str(with_section(whole, tmp_path, content)))
    assert "hidden" not in function_symbols(damaged).names
    assert len(code_map(damaged)) == 0


def test_no_more_is_unpacked_than_there_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interpose.elf.compression._LARGEST_XZ", 1 << 24)
    assert of_xz(lzma.compress(bytes(1 << 20))) == bytes(1 << 20)
    with pytest.raises(ValueError, match="too large"):
        of_xz(lzma.compress(bytes(1 << 25)))
