"""Dynamic relocations of one image: which words of it lead to which function.

Sources: System V gABI, chapter 4 (Elf64_Rela); System V ABI, AMD64 supplement, table 4.9 (types).
"""

from __future__ import annotations

import struct

from interpose.elf.headers import SHF_ALLOC
from interpose.elf.image import Image

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NamedTuple
else:
    from interpose.records import NamedTuple

_SHT_RELA = 4
_GLOB_DAT, _JUMP_SLOT, _IRELATIVE = 6, 7, 37
_RELA = struct.Struct("<QQq")


class FunctionWord(NamedTuple):
    """A word that the dynamic linker fills with the address of a function; addresses are link-time."""

    address: int
    name: str
    """The symbol's name, or "" where ``resolver`` is given."""
    resolver: int
    """The resolver of an indirect function, or 0."""


def function_words(image: Image) -> Iterator[FunctionWord]:
    """The words that lead to other functions: by name, or to what a resolver of the image's own returns."""
    symbols = image.dynsyms  # without the null symbol, which is number 0
    for section in image.sections:
        if section.type != _SHT_RELA or not section.flags & SHF_ALLOC:
            continue
        data = image.section_data(section)
        for address, info, addend in _RELA.iter_unpack(data[: len(data) - len(data) % _RELA.size]):
            kind, symbol = info & 0xFFFFFFFF, info >> 32
            if kind == _IRELATIVE:
                yield FunctionWord(address, "", addend)
            elif kind in (_GLOB_DAT, _JUMP_SLOT) and 0 < symbol <= len(symbols):
                yield FunctionWord(address, symbols[symbol - 1].name, 0)
