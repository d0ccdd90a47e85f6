"""Symbols read in bulk, with a reading symbol by symbol in Python as referee."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from elf.helpers import libraries, pieces_by_the_rule
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interpose.elf.errors import ElfError
from interpose.elf.image import (
    SHN_UNDEF,
    STB_LOCAL,
    STT_FILE,
    STT_FUNC,
    STT_GNU_IFUNC,
    STT_OBJECT,
    STV_HIDDEN,
    STV_INTERNAL,
    Image,
    Symbol,
)
from interpose.elf.symtab import columns, function_symbols, place_symbols

SOURCE = """\
int counter = 1;
__attribute__((visibility("hidden"))) int hidden(int x) { return x + counter; }
static __attribute__((noinline)) int local(int x) { return x * 2; }
int old_one(int x) { return local(x); }
int new_one(int x) { return local(x) + 1; }
int lone(int x) { return hidden(x); }
static int chosen(int x) { return x + 3; }
static int (*choose(void))(int) { return chosen; }
int indirect(int) __attribute__((ifunc("choose")));
extern int alias(int) __attribute__((alias("lone")));
int with_\u00fcmlaut(int x) { return x; }
__asm__(".symver old_one, one@V1\\n.symver new_one, one@@V2\\n.symver lone, lone@V1");
"""
VERSIONS = "V1 { global: lone; }; V2 { global: alias; indirect; with*; } V1;"
TYPES = frozenset((STT_FUNC, STT_GNU_IFUNC, STT_OBJECT))


def _first_made_local(symbols: list[Symbol]) -> int:
    at = {symbol.name: position for position, symbol in enumerate(symbols)}
    files = [position for position, symbol in enumerate(symbols) if symbol.type == STT_FILE]
    if files:
        first = len(symbols) if symbols[files[-1]].name else files[-1] + 1
    else:
        first = at.get("__FRAME_END__", len(symbols)) + 1
    start = at.get("_start", len(symbols))
    return 0 if start < first and symbols[start].binding == STB_LOCAL else first


def reference(image: Image, debug: Image | None = None) -> Iterator[tuple[str, int, int, bool, bool, bool]]:
    full = (debug.symtab if debug is not None else []) or image.symtab
    made_local = _first_made_local(full) if image.is_executable else len(full)
    ranges = image.text_ranges
    defaults = {s.name for s in image.dynsyms if s.is_default or s.version is None}
    seen: set[tuple[str, int]] = set()
    low = high = 0
    for position, symbol in enumerate((*full, *image.dynsyms)):
        if (
            symbol.shndx == SHN_UNDEF
            or symbol.size == 0
            or not symbol.name
            or symbol.type not in (STT_FUNC, STT_GNU_IFUNC)
        ):
            continue
        value = symbol.value
        if not low <= value < high:
            low, high = next((r for r in ranges if r[0] <= value < r[1]), (0, 0))
        is_text = low <= value < high
        names = [symbol.versioned_name]
        if symbol.version is not None and (symbol.is_default or symbol.name not in defaults):
            names.append(symbol.name)
        for name in names:
            if (name, value) not in seen:
                seen.add((name, value))
                yield (
                    name,
                    value,
                    symbol.size,
                    symbol.binding != STB_LOCAL
                    or position >= made_local
                    or (symbol.visibility in (STV_INTERNAL, STV_HIDDEN) and image.is_executable),
                    symbol.type == STT_GNU_IFUNC,
                    is_text,
                )


def reference_places(image: Image, ranges: list[tuple[int, int]]) -> list[tuple[int, int, str]]:
    symbols = (*image.symtab, *(symbol._replace(version=None) for symbol in image.dynsyms))
    return [
        (s.value, s.size, s.versioned_name)
        for s in symbols
        if s.type in TYPES and s.size and s.value and s.is_defined and s.name
        if any(start <= s.value < end for start, end in ranges)
    ]


def agree(image: Image, debug: Image | None = None) -> int:
    """Compare everything; how many functions there are."""
    expected = sorted(reference(image, debug), key=lambda symbol: symbol[1])
    assert list(zip(*function_symbols(image, debug), strict=True)) == expected
    ranges = [(section.addr, section.addr + section.size) for section in image.sections if section.addr]
    for part in (image.text_ranges, ranges, []):
        found = list(zip(*columns(place_symbols(image, None, TYPES, part)), strict=True))
        assert found == pieces_by_the_rule(reference_places(image, part))
    return len(expected)


def globals_of(image: Image) -> set[str]:
    found = function_symbols(image)
    return {name for name, is_global in zip(found.names, found.is_global, strict=True) if is_global}


@pytest.fixture(scope="module")
def versioned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("versioned")
    (folder / "lib.c").write_text(SOURCE)
    (folder / "lib.map").write_text(VERSIONS)
    command = ["gcc", "-shared", "-fPIC", "-Wl,--version-script=lib.map", "-o", "lib.so", "lib.c"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "lib.so"


@pytest.mark.parametrize(
    "path", libraries("libc.so.6", "ld-linux-x86-64.so.2", "libm.so.6", "libstdc++.so.6")
)
def test_libraries(path: str) -> None:
    assert agree(Image.open(path)) > 30


def test_versions(versioned: Path) -> None:
    image = Image.open(str(versioned))
    agree(image)
    names = function_symbols(image).names
    assert {"one@V1", "one@@V2", "one", "lone@V1", "hidden", "with_\u00fcmlaut"} <= set(names)
    by_name = dict(zip(names, function_symbols(image).addresses, strict=True))
    assert by_name["one"] == by_name["one@@V2"] != by_name["one@V1"]
    stripped = versioned.with_suffix(".stripped")
    subprocess.run(["strip", "-o", stripped, versioned], check=True)
    assert agree(Image.open(str(stripped)), image) == len(names)
    assert 0 < agree(Image.open(str(stripped))) < len(names)


def test_a_program_whose_functions_are_all_local(tmp_path: Path) -> None:
    """As mold links it: the binding says nothing about them, so the redirection core takes all for global."""
    (tmp_path / "p.c").write_text(
        "static int own(void) { return 1; }\nint f(void) { return own(); }\nint main(void) { return f(); }"
    )
    subprocess.run(["gcc", "-c", "p.c"], cwd=tmp_path, check=True)
    subprocess.run(["gcc", "-o", "p", "p.o"], cwd=tmp_path, check=True)
    ordinary = Image.open(str(tmp_path / "p"))
    agree(ordinary)
    assert "f" in globals_of(ordinary) and "own" not in globals_of(ordinary)
    # Without the files' symbols nothing tells ld's own local ones, which it puts last, from the others.
    subprocess.run(
        ["objcopy", "--wildcard", "--localize-symbol=*", "-N__FRAME_END__", "--strip-debug", "p", "local"],
        cwd=tmp_path,
        check=True,
    )
    local = Image.open(str(tmp_path / "local"))
    assert {symbol.binding for symbol in local.symtab if symbol.name in ("f", "main", "_start")} == {
        STB_LOCAL
    }
    agree(local)
    assert {"f", "main", "own"} <= globals_of(local)


def test_many_names_of_one_function(tmp_path: Path) -> None:
    """Each is in both tables, and is told once; so are those with and without their versions."""
    aliases = [f'int alias_{n}(void) __attribute__((alias("f")));' for n in range(60)]
    versions = [f'__asm__(".symver alias_{n}, versioned_{n}@@V1");' for n in range(20)]
    (tmp_path / "lib.c").write_text("\n".join(["int f(void) { return 1; }", *aliases, *versions]))
    (tmp_path / "lib.map").write_text("V1 {};")
    command = ["gcc", "-shared", "-fPIC", "-Wl,--version-script=lib.map", "-o", "lib.so", "lib.c"]
    subprocess.run(command, cwd=tmp_path, check=True)
    image = Image.open(str(tmp_path / "lib.so"))
    agree(image)
    found = function_symbols(image)
    pairs = list(zip(found.names, found.addresses, strict=True))
    assert len(pairs) == len(set(pairs)) > 80


@pytest.mark.parametrize("flags", [["-pie"], ["-no-pie"], ["-static"], ["-static-pie"]])
def test_programs(tmp_path: Path, flags: list[str]) -> None:
    (tmp_path / "p.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", *flags, "-o", "p", "p.c"], cwd=tmp_path, check=True)
    agree(Image.open(str(tmp_path / "p")))


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_damaged_tables(versioned: Path, data: st.DataObject) -> None:
    """Bytes of symbol, string and version tables get any values: both readings refuse the file, or agree."""
    raw = versioned.read_bytes()
    tables = (".dynsym", ".dynstr", ".symtab", ".strtab", ".gnu.version", ".gnu.version_d")
    wanted = [section for section in Image.from_bytes(raw).sections if section.name in tables]
    damaged = bytearray(raw)
    for _ in range(data.draw(st.integers(1, 30))):
        section = data.draw(st.sampled_from(wanted))
        place = section.offset + data.draw(st.integers(0, section.size - 1))
        damaged[place] = data.draw(st.sampled_from((0, 1, 0x10, 0x12, 0x40, 0x7F, 0x80, 0xE2, 0xFF)))
    image = Image.from_bytes(bytes(damaged))
    try:
        list(reference(image))
    except ElfError as error:
        with pytest.raises(ElfError, match=r".") as caught:
            function_symbols(image)
        assert str(caught.value) == str(error)
    else:
        agree(image)
