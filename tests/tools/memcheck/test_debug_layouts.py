"""Debug information in other files, in packages and compressed; and how little of it there may be."""

from __future__ import annotations

import ctypes
import os
import re
import struct
import subprocess
from pathlib import Path
from random import Random

import pytest

from .test_var_info import ROOT, SOURCES, TIMEOUT, check, interpose, needs, report, whole_report

SOURCE = SOURCES / "optimised.c"
INLINED = r"by 0x\w+: inlined \(optimised\.c:14\)\n   by 0x\w+: many \(optimised\.c:32\)"


def run(folder: Path, *commands: str) -> None:
    for command in commands:
        needs(command.split()[0])
        subprocess.run(command.split(), check=True, cwd=folder, timeout=TIMEOUT)


def build(folder: Path, compiler: str, *commands: str) -> Path:
    """A program of `optimised.c`, then other commands in its folder, where it is called `x`."""
    run(folder, f"{compiler} -O1 -w -I{ROOT / 'include'} {SOURCE} -o x", *commands)
    return folder / "x"


def check_program(program: Path, *options: str) -> None:
    text = report(interpose(*options), program)
    check(text, SOURCE.name)
    assert re.search(INLINED, text), text


@pytest.mark.parametrize("compiler", ["gcc -gdwarf-4", "gcc -gdwarf-5", "clang -gdwarf-4", "clang -gdwarf-5"])
def test_split_units(tmp_path: Path, compiler: str) -> None:
    program = build(tmp_path, f"{compiler} -gsplit-dwarf")
    assert list(tmp_path.glob("*.dwo"))
    check_program(program)


@pytest.mark.parametrize(
    ("compiler", "package"),
    [("gcc -gdwarf-4", "dwp -e x -o x.dwp"), ("clang -gdwarf-5", "llvm-dwp -e x -o x.dwp")],
)
def test_packages_of_split_units(tmp_path: Path, compiler: str, package: str) -> None:
    program = build(tmp_path, f"{compiler} -gsplit-dwarf", package)
    for unit in tmp_path.glob("*.dwo"):
        unit.unlink()
    check_program(program)


def test_the_unit_of_another_build_is_not_taken(tmp_path: Path) -> None:
    """Without its .dwo file a program still has its lines, from the skeleton."""
    program = build(tmp_path, "gcc -g -gsplit-dwarf")
    (unit,) = tmp_path.glob("*.dwo")
    kept = unit.read_bytes()
    for content in (None, b"", kept[:500], b"\x7fELF garbage", Random(1).randbytes(3000)):
        unit.unlink()
        if content is not None:
            unit.write_bytes(content)
        else:
            os.mkfifo(unit)
        text = report(interpose(), program)
        assert "Location 0x" not in text and "many (optimised.c:14)" in text and "inlined" not in text
    other = tmp_path / "other"
    other.mkdir()
    build(other, "gcc -g -gsplit-dwarf -O2", f"mv {unit.name} {unit}")
    text = report(interpose(), program)
    assert "Location 0x" not in text and "many (optimised.c:14)" in text


@pytest.mark.parametrize("options", ["", "-5 --odr"])
@pytest.mark.parametrize("compiler", ["gcc -gdwarf-4", "gcc -gdwarf-5"])
def test_shared_entries(tmp_path: Path, compiler: str, options: str) -> None:
    """By dwz, which needs two files to find something to share."""
    needs("dwz")
    program = build(tmp_path, compiler, "cp x y", f"dwz {options} -m shared x y")
    assert (tmp_path / "shared").exists()
    check_program(program)
    (tmp_path / "shared").write_bytes(b"\x7fELF no more")
    assert "(optimised.c:32)" in report(interpose(), program)


def test_units_that_are_not_listed(tmp_path: Path) -> None:
    """Beside one that is: clang makes no .debug_aranges, gcc and assemblers do."""
    (tmp_path / "listed.c").write_text("int listed;\nint get(void) { return listed; }\n")
    program = build(
        tmp_path,
        "gcc -g -c",
        "objcopy -R .debug_aranges x x.o",
        "gcc -g -c listed.c",
        "gcc listed.o x.o -o x",
    )
    assert b".debug_aranges" in program.read_bytes()
    check_program(program)


def test_debug_link(tmp_path: Path) -> None:
    commands = "objcopy --only-keep-debug x x.dbg", "strip -g x", "objcopy --add-gnu-debuglink=x.dbg x"
    check_program(build(tmp_path, "gcc -g", *commands))


def test_debug_link_with_another_checksum(tmp_path: Path) -> None:
    """Only --allow-mismatched-debuginfo=yes takes it, and only from --extra-debuginfo-path."""
    flags = "gcc -g -Wl,--build-id=none"
    commands = "objcopy --only-keep-debug x x.dbg", "strip -g x", "objcopy --add-gnu-debuglink=x.dbg x"
    program = build(tmp_path, flags, *commands, "mkdir roots", "mv x.dbg roots/x.dbg")
    extra = f"--extra-debuginfo-path={tmp_path / 'roots'}"
    check_program(program, extra)
    with (tmp_path / "roots" / "x.dbg").open("ab") as stream:
        stream.write(b"more")
    assert "optimised.c" not in report(interpose(extra), program)
    check_program(program, extra, "--allow-mismatched-debuginfo=yes")


def test_old_compression(tmp_path: Path) -> None:
    program = build(tmp_path, "gcc -g", "objcopy --compress-debug-sections=zlib-gnu x")
    assert b".zdebug_info" in program.read_bytes()
    check_program(program)


def test_zstd(tmp_path: Path) -> None:
    try:
        library = ctypes.CDLL("libzstd.so.1")
    except OSError:
        pytest.skip("libzstd.so.1 is not installed")
    from interpose.elf.image import SHF_COMPRESSED, Image

    program = build(tmp_path, "gcc -g")
    image, data = Image.open(str(program)), bytearray(program.read_bytes())
    table = struct.unpack_from("<Q", data, 0x28)[0]
    for number, section in enumerate(image.sections):
        if not section.name.startswith(".debug_"):
            continue
        plain = image.section_data(section)
        packed = ctypes.create_string_buffer(len(plain) + 1024)
        size = library.ZSTD_compress(packed, len(packed), plain, len(plain), 3)
        data += bytes(-len(data) % 8)
        struct.pack_into("<Q", data, table + 64 * number + 8, section.flags | SHF_COMPRESSED)
        struct.pack_into("<QQ", data, table + 64 * number + 24, len(data), 24 + size)
        data += struct.pack("<IIQQ", 2, 0, len(plain), 1) + packed[:size]
    program.write_bytes(data)
    check_program(program)


@pytest.mark.parametrize("claim", [0, 5, 1 << 40, (1 << 64) - 1])
@pytest.mark.parametrize("kind", [1, 2, 3])
def test_damaged_compression(kind: int, claim: int) -> None:
    from interpose.elf.compression import expanded

    for body in (b"", b"\x28\xb5\x2f\xfd", b"garbage" * 9, struct.pack("<IBQ", 0xFD2FB528, 0xE0, claim)):
        with pytest.raises(ValueError, match=r"^[a-z0-9 .,]*$"):
            if expanded(struct.pack("<IIQQ", kind, 0, claim, 1) + body) == b"" and claim == 0:
                raise ValueError("is empty, as it says")


def test_damaged_information_is_told_under_v(tmp_path: Path) -> None:
    from interpose.elf.image import Image

    program = build(tmp_path, "gcc -g")
    section = Image.open(str(program)).section_named(".debug_info")
    assert section is not None
    data = bytearray(program.read_bytes())
    data[section.offset : section.offset + 4] = b"\xf0\0\0\0"  # the unit ends amid its entries
    program.write_bytes(data)
    line = f"{program}: the debug information is damaged"
    assert "is damaged" not in report(interpose(), program)
    assert report(interpose("-v"), program).count(line) == 1


@pytest.mark.parametrize(
    "compiler", ["gcc -g1", "clang -gline-tables-only", "clang -gdwarf-5 -g1", "gcc -g -flto", "gcc -g3 -gz"]
)
def test_inlined_calls(tmp_path: Path, compiler: str) -> None:
    text = report(interpose(), build(tmp_path, compiler))
    assert re.search(INLINED, text), text


def test_folders_of_split_and_shared_units(tmp_path: Path) -> None:
    for name, compiler, command in (
        ("split", "gcc -g -gsplit-dwarf", "true"),
        ("shared", "gcc -g", "dwz -m z x y"),
    ):
        needs(*([] if command == "true" else ["dwz"]))
        folder = tmp_path / name
        folder.mkdir()
        program = build(folder, compiler, "cp x y", command)
        text = whole_report(interpose(f"--fullpath-after={ROOT}/tests/"), program)
        assert "inlined (guests/varinfo/optimised.c:14)" in text
        assert "many (guests/varinfo/optimised.c:32)" in text
