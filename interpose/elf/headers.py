"""The headers of an ELF file (System V gABI, chapters 4 and 5): unpacked here and nowhere else.

Imports next to nothing: each started program, and each file that it maps, is looked at through this.
"""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    Row = TypeVar("Row", bound=tuple[int, ...])
    Read = Callable[[int, int, str], bytes]
    """Bytes at an offset, as many as asked for; the word says what they are, for the error of its owner."""

MAGIC = b"\x7fELF"
ELFCLASS64, ELFDATA2LSB, EV_CURRENT = 2, 1, 1
ET_EXEC, ET_DYN = 2, 3
EM_X86_64 = 62
PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_NOTE = 1, 2, 3, 4
PF_X, PF_W, PF_R = 1, 2, 4
SHT_SYMTAB, SHT_STRTAB, SHT_NOTE, SHT_NOBITS, SHT_DYNSYM = 2, 3, 7, 8, 11
SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR, SHF_COMPRESSED = 1, 2, 4, 0x800
SHN_UNDEF, SHN_LORESERVE, SHN_ABS, SHN_XINDEX = 0, 0xFF00, 0xFFF1, 0xFFFF
NT_GNU_BUILD_ID = 3
SYMBOL_BYTES = 24

_EHDR = struct.Struct("<16sHHIQQQIHHHHHH")
_PHDR = struct.Struct("<IIQQQQQQ")
_SHDR = struct.Struct("<IIQQQQIIQQ")
_NOTE = struct.Struct("<III")
_PAGE = 0xFFF


class HeaderError(Exception):
    """Headers that contradict the format; the text says how."""


class Headers:
    """The ELF header, and where it says that the tables are."""

    __slots__ = (
        "_read",
        "entry",
        "ident",
        "machine",
        "phentsize",
        "phnum",
        "phoff",
        "shentsize",
        "shnum",
        "shoff",
        "shstrndx",
        "type",
        "version",
    )

    def __init__(self, read: Read) -> None:
        """Whatever ``read`` raises comes through."""
        self._read = read
        (
            self.ident,
            self.type,
            self.machine,
            self.version,
            self.entry,
            self.phoff,
            self.shoff,
            _,
            _,
            self.phentsize,
            self.phnum,
            self.shentsize,
            self.shnum,
            self.shstrndx,
        ) = _EHDR.unpack(read(0, _EHDR.size, "ELF header"))

    @property
    def is_elf(self) -> bool:
        return self.ident[:4] == MAGIC

    @property
    def is_x86_64(self) -> bool:
        """64-bit, little-endian and for this processor."""
        return self.ident[4] == ELFCLASS64 and self.ident[5] == ELFDATA2LSB and self.machine == EM_X86_64

    def program_headers(self) -> list[tuple[int, ...]]:
        """Rows of type, flags, offset, vaddr, paddr, filesz, memsz, align."""
        if self.phnum == 0:
            return []
        if self.phentsize != _PHDR.size:
            raise HeaderError(f"program header size is {self.phentsize}, not {_PHDR.size}")
        data = self._read(self.phoff, self.phnum * _PHDR.size, "program header table")
        return list(_PHDR.iter_unpack(data))

    def section_headers(self) -> tuple[list[tuple[int, ...]], bytes]:
        """The rows (name, type, flags, addr, offset, size, link, info, addralign, entsize), and their
        names.

        Without a table of names each has the empty one, at offset 0.
        """
        if self.shoff == 0:
            return [], b"\0"
        if self.shentsize != _SHDR.size:
            raise HeaderError(f"section header size is {self.shentsize}, not {_SHDR.size}")
        # gABI: counts that do not fit in the ELF header are kept in section header 0.
        first = _SHDR.unpack(self._read(self.shoff, _SHDR.size, "section header 0"))
        count = self.shnum or first[5]
        names_index = first[6] if self.shstrndx == SHN_XINDEX else self.shstrndx
        rows = list(_SHDR.iter_unpack(self._read(self.shoff, count * _SHDR.size, "section header table")))
        if names_index == SHN_UNDEF:
            return [(0, *row[1:]) for row in rows], b"\0"
        if names_index >= len(rows):
            raise HeaderError(f"section name table {names_index} of {len(rows)} does not exist")
        return rows, self._read(rows[names_index][4], rows[names_index][5], "section name table")


def whole(read: Callable[[int, int], bytes]) -> Read:
    """A ``read`` that gives fewer bytes where its file ends, as :class:`Headers` wants it: with an error."""

    def read_whole(offset: int, size: int, what: str) -> bytes:
        data = read(offset, size)
        if len(data) < size:
            raise HeaderError(f"{what} is cut off")
        return data

    return read_whole


def places_of_offset(segments: Iterable[Row], offset: int) -> list[tuple[int, Row]]:
    """Link-time addresses at which a loader may map the page at file ``offset`` as code, likeliest first.

    LLVM's linker lets segments begin and end within a page of the file, which is then mapped for each of
    them: what is executable decides.

    :param segments: the program headers of what is loaded, each of which is answered with its addresses.
    """
    found: list[tuple[bool, bool, int, Row]] = []
    for row in segments:
        _, flags, at, vaddr, _, filesz, *_ = row
        start = at & ~_PAGE
        if start <= offset < at + max(filesz, 1):
            found.append((not flags & PF_X, start != offset, (vaddr & ~_PAGE) + offset - start, row))
    return [(address, row) for _, _, address, row in sorted(found, key=lambda one: one[:2])]


def build_id(notes: bytes) -> str | None:
    """The GNU build-id in lowercase hex, if it is among these notes."""
    position = 0
    while position + _NOTE.size <= len(notes):
        namesz, descsz, kind = _NOTE.unpack_from(notes, position)
        name = position + _NOTE.size
        desc = name + (namesz + 3 & ~3)
        if kind == NT_GNU_BUILD_ID and notes[name : name + namesz] == b"GNU\0":
            return notes[desc : desc + descsz].hex() or None
        position = desc + (descsz + 3 & ~3)
    return None
