"""Where Go's own code lies in an image.

Sources: the layout of the function table is that of Go's ``debug/gosym`` documentation and of the design
document "Go 1.2 Runtime Symbol Information", with the headers of Go 1.16, 1.18 and 1.20.
"""

from __future__ import annotations

import struct

from interpose.elf.errors import ElfError
from interpose.elf.image import Image

SECTION = ".gopclntab"
_PIE_SECTION = ".data.rel.ro.gopclntab"
_MAGIC = struct.Struct("<IxxBB")
_GO_1_2, _GO_1_16, _GO_1_18, _GO_1_20 = 0xFFFFFFFB, 0xFFFFFFFA, 0xFFFFFFF0, 0xFFFFFFF1


def go_text(image: Image) -> tuple[int, int] | None:
    """Link-time range of the functions that Go's linker laid out, C code not among them; None without any."""
    try:
        section = image.section_named(SECTION) or image.section_named(_PIE_SECTION)
        if section is None:
            return None
        table = image.section_data(section)
        text = image.section_named(".text")
        return _range(table, text.addr if text is not None else 0)
    except (ElfError, struct.error):
        return None


def _range(table: bytes, text: int) -> tuple[int, int] | None:
    magic, _, pointer = _MAGIC.unpack_from(table)
    if pointer != 8:
        return None
    if magic in (_GO_1_18, _GO_1_20):
        # Offsets from the start of the text; that start needs a relocation in a position-independent image.
        count, _, start = struct.unpack_from("<3Q", table, 8)
        at = struct.unpack_from("<Q", table, 8 + 7 * 8)[0]
        start = start or text
        first = struct.unpack_from("<I", table, at)[0]
        last = struct.unpack_from("<I", table, at + count * 8)[0]
        return start + first, start + last
    if magic == _GO_1_16:
        count = struct.unpack_from("<Q", table, 8)[0]
        at = struct.unpack_from("<Q", table, 8 + 6 * 8)[0]
    elif magic == _GO_1_2:
        count, at = struct.unpack_from("<Q", table, 8)[0], 16
    else:
        return None
    low, high = struct.unpack_from("<Q", table, at)[0], struct.unpack_from("<Q", table, at + count * 16)[0]
    return (low, high) if low < high else None
