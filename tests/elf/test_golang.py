"""Go's own code in an image, by tables built here as the documents describe them."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

from interpose.elf.golang import go_text
from interpose.elf.image import Image

OFFSETS = struct.pack("<IIIII", 0x20, 0, 0x30, 8, 0x70)  # two functions, then the end of the last
ADDRESSES = struct.pack("<QQQQQ", 0x5020, 0, 0x5030, 8, 0x5070)


def _head(magic: int, pointer: int = 8) -> bytes:
    return struct.pack("<IHBB", magic, 0, 1, pointer)


TABLES = {
    "1.2": (_head(0xFFFFFFFB) + struct.pack("<Q", 2) + ADDRESSES, (0x5020, 0x5070)),
    "1.16": (_head(0xFFFFFFFA) + struct.pack("<7Q", 2, 0, 0, 0, 0, 0, 64) + ADDRESSES, (0x5020, 0x5070)),
    "1.18": (
        _head(0xFFFFFFF0) + struct.pack("<8Q", 2, 0, 0x5000, 0, 0, 0, 0, 72) + OFFSETS,
        (0x5020, 0x5070),
    ),
    "1.20": (
        _head(0xFFFFFFF1) + struct.pack("<8Q", 2, 0, 0x5000, 0, 0, 0, 0, 72) + OFFSETS,
        (0x5020, 0x5070),
    ),
    "32 bits": (_head(0xFFFFFFF1, 4) + bytes(200), None),
    "unknown": (_head(0x12345678) + bytes(200), None),
    "cut off": (_head(0xFFFFFFF1) + bytes(20), None),
}


def _program(folder: Path, table: bytes) -> Image:
    (folder / "table").write_bytes(table)
    (folder / "m.c").write_text(
        f'__asm__(".section .gopclntab, \\"a\\"\\n.incbin \\"{folder}/table\\"\\n.text");\n'
        "int main(void) { return 0; }\n"
    )
    subprocess.run(["gcc", "-o", str(folder / "m"), str(folder / "m.c")], check=True)
    return Image.open(str(folder / "m"))


@pytest.mark.parametrize("name", TABLES)
def test_table(name: str, tmp_path: Path) -> None:
    table, expected = TABLES[name]
    assert go_text(_program(tmp_path, table)) == expected


def test_start_that_is_relocated(tmp_path: Path) -> None:
    """In a position-independent image the table says 0: its functions start with the text."""
    table = _head(0xFFFFFFF1) + struct.pack("<8Q", 2, 0, 0, 0, 0, 0, 0, 72) + OFFSETS
    image = _program(tmp_path, table)
    text = image.section_named(".text")
    assert text is not None and go_text(image) == (text.addr + 0x20, text.addr + 0x70)


def test_program_without_go(tmp_path: Path) -> None:
    (tmp_path / "m.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", "-o", str(tmp_path / "m"), str(tmp_path / "m.c")], check=True)
    assert go_text(Image.open(str(tmp_path / "m"))) is None
