"""ELF images: headers, sections, dynamic section and symbol tables of one file.

Layouts follow the System V gABI (chapters 4 and 5) and the GNU symbol versioning extension. Tables are
unpacked in bulk: a libc has three thousand dynamic symbols, and every started program pays for them.
The file is read piecewise, never mapped: a library that is rewritten while its program runs must not kill
the supervisor with SIGBUS.
"""

from __future__ import annotations

import struct

from interpose.elf.errors import ElfError
from interpose.elf.headers import (
    ET_EXEC,
    PF_X,
    PT_DYNAMIC,
    PT_INTERP,
    PT_LOAD,
    PT_NOTE,
    SHF_ALLOC,
    SHF_COMPRESSED,
    SHF_EXECINSTR,
    SHN_UNDEF,
    SHT_DYNSYM,
    SHT_NOBITS,
    SHT_NOTE,
    SHT_SYMTAB,
    HeaderError,
    Headers,
    build_id,
    places_of_offset,
)
from interpose.elf.openfile import OpenFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from functools import cached_property
    from typing import Any, NamedTuple
else:
    from interpose.plain import cached_property
    from interpose.records import NamedTuple

SHT_GNU_VERDEF, SHT_GNU_VERNEED, SHT_GNU_VERSYM = 0x6FFFFFFD, 0x6FFFFFFE, 0x6FFFFFFF
STT_NOTYPE, STT_OBJECT, STT_FUNC, STT_SECTION, STT_FILE = range(5)
STT_COMMON, STT_TLS, STT_GNU_IFUNC = 5, 6, 10
STB_LOCAL, STB_GLOBAL, STB_WEAK, STB_GNU_UNIQUE = 0, 1, 2, 10
STV_DEFAULT, STV_INTERNAL, STV_HIDDEN = 0, 1, 2
DT_NEEDED = 1
DT_HASH, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_INIT, DT_SONAME, DT_GNU_HASH = 4, 5, 6, 10, 12, 14, 0x6FFFFEF5
DT_FLAGS_1, DF_1_PIE = 0x6FFFFFFB, 0x08000000

_SYM = struct.Struct("<IBBHQQ")
_DYN = struct.Struct("<qQ")
_VERSION_HIDDEN = 0x8000
_PAGE = 0xFFF


class ProgramHeader(NamedTuple):
    """One program header (gABI chapter 5)."""

    type: int
    flags: int
    offset: int
    vaddr: int
    paddr: int
    filesz: int
    memsz: int
    align: int


class Section(NamedTuple):
    """One section header with its name."""

    name: str
    addr: int
    size: int
    offset: int
    flags: int
    type: int
    link: int
    info: int
    entsize: int


class Symbol(NamedTuple):
    """One entry of .symtab or .dynsym; `name` carries no version."""

    name: str
    version: str | None
    is_default: bool
    value: int
    size: int
    type: int
    binding: int
    shndx: int
    visibility: int = STV_DEFAULT

    @property
    def versioned_name(self) -> str:
        """`name@@VERSION` for the default version, `name@VERSION` for another, else the name."""
        if self.version is None:
            return self.name
        return f"{self.name}{'@@' if self.is_default else '@'}{self.version}"

    @property
    def is_defined(self) -> bool:
        return self.shndx != SHN_UNDEF


class Image:
    """An ELF file for x86-64, its headers read and checked, its tables read when first asked for."""

    def __init__(self, path: str, source: OpenFile | bytes) -> None:
        self.path = path
        self._source = source
        self.size = len(source) if isinstance(source, bytes) else source.size
        headers = Headers(self.read)
        if not headers.is_elf:
            raise ElfError(path, "not an ELF file")
        if not headers.is_x86_64:
            raise ElfError(
                path,
                f"not a little-endian 64-bit x86-64 ELF file (class {headers.ident[4]}, "
                f"data {headers.ident[5]}, machine {headers.machine})",
            )
        self.type = headers.type
        self.machine = headers.machine
        self.entry = headers.entry
        try:
            self.program_headers = [ProgramHeader(*row) for row in headers.program_headers()]
            self.sections = self._named_sections(*headers.section_headers())
        except HeaderError as error:
            raise ElfError(path, str(error)) from None

    @classmethod
    def open(cls, path: str) -> Image:
        """Read the headers of the file at `path`; raises `ElfError`."""
        try:
            file = OpenFile(path)
        except (OSError, ValueError) as exc:
            raise ElfError(path, getattr(exc, "strerror", None) or "unusable file name") from None
        return cls(path, file)

    @classmethod
    def from_bytes(cls, data: bytes, path: str = "<memory>") -> Image:
        """The same for a file held in memory."""
        return cls(path, data)

    @property
    def written_ns(self) -> int | None:
        """When the file was last written to, in nanoseconds since 1970; None for one in memory."""
        return None if isinstance(self._source, bytes) else self._source.written_ns

    # -- raw access ---------------------------------------------------------------------------

    def read(self, offset: int, size: int, what: str) -> bytes:
        """`size` bytes at file `offset`; raises `ElfError` when the file does not have them."""
        if size < 0 or offset < 0 or offset + size > self.size:
            raise ElfError(
                self.path,
                f"{what} lies outside the file (offset {offset}, size {size}, file size {self.size})",
            )
        if isinstance(self._source, bytes):
            return self._source[offset : offset + size]
        try:
            data = self._source.read(offset, size)
        except OSError as exc:
            raise ElfError(self.path, f"cannot read {what}: {exc.strerror}") from None
        if len(data) < size:
            raise ElfError(self.path, f"{what} was cut off while reading")
        return data

    def _table(self, layout: struct.Struct, offset: int, size: int, what: str) -> Iterator[tuple[Any, ...]]:
        if size % layout.size:
            raise ElfError(self.path, f"{what} has size {size}, no multiple of {layout.size}")
        return layout.iter_unpack(self.read(offset, size, what))

    def _string(self, table: bytes, offset: int, what: str) -> str:
        end = table.find(b"\0", offset)
        if end < 0:
            raise ElfError(self.path, f"name of {what} lies outside its string table")
        return table[offset:end].decode("utf-8", "surrogateescape")

    # -- headers ------------------------------------------------------------------------------

    def _named_sections(self, rows: list[tuple[int, ...]], names: bytes) -> list[Section]:
        sections: list[Section] = []
        for name, kind, flags, addr, place, size, link, info, _, ent in rows:
            text = self._string(names, name, f"section {len(sections)}")
            sections.append(Section(text, addr, size, place, flags, kind, link, info, ent))
        return sections

    def section_named(self, name: str) -> Section | None:
        """The first section of that name, or of `.zdebug_` for `.debug_`: the old way to compress."""
        found = next((section for section in self.sections if section.name == name), None)
        if found is None and name.startswith(".debug_"):
            found = next((s for s in self.sections if s.name == f".z{name[1:]}"), None)
        return found

    def section_data(self, section: Section) -> bytes:
        """Contents of a section, decompressed if need be (gABI chapter 4, compressed sections)."""
        if section.type == SHT_NOBITS:
            return b""
        data = self.read(section.offset, section.size, f"section {section.name}")
        if not section.flags & SHF_COMPRESSED and not section.name.startswith(".zdebug_"):
            return data
        from interpose.elf.compression import expanded  # few files need it

        try:
            return expanded(data, is_old=not section.flags & SHF_COMPRESSED)
        except ValueError as error:
            raise ElfError(self.path, f"compressed section {section.name} {error}") from None

    def data_of(self, name: str) -> bytes:
        """Contents of the section `name`, empty when there is none."""
        section = self.section_named(name)
        return self.section_data(section) if section is not None else b""

    @cached_property
    def load_segments(self) -> list[ProgramHeader]:
        return [header for header in self.program_headers if header.type == PT_LOAD]

    @property
    def load_base(self) -> int:
        """Lowest address of a loaded segment: what a symcache counts its addresses from."""
        return min((header.vaddr for header in self.load_segments), default=0)

    @cached_property
    def text_ranges(self) -> list[tuple[int, int]]:
        """Link-time [start, end) of the executable sections, or segments where there are no sections."""
        found = [
            (s.addr, s.addr + s.size)
            for s in self.sections
            if s.flags & SHF_ALLOC and s.flags & SHF_EXECINSTR and s.size
        ]
        if not found:
            found = [(h.vaddr, h.vaddr + h.memsz) for h in self.load_segments if h.flags & PF_X and h.memsz]
        return sorted(found)

    def vaddrs_of_offset(self, offset: int) -> list[int]:
        """See :func:`interpose.elf.headers.places_of_offset`."""
        return [address for address, _ in places_of_offset(self.load_segments, offset)]

    def code_after(self, offset: int) -> int | None:
        """How many bytes from the page at file `offset` on are its segment's, in whole pages; None: no code.

        The dynamic linker maps an object with its first segment's protection, and puts the others on top.
        """
        for address, header in places_of_offset(self.load_segments, offset)[:1]:
            if header.flags & PF_X:
                return ((header.vaddr + header.memsz + _PAGE) & ~_PAGE) - address
        return None

    # -- dynamic section and notes ------------------------------------------------------------

    @cached_property
    def _dynamic(self) -> dict[int, int]:
        for header in self.program_headers:
            if header.type == PT_DYNAMIC:
                entries: dict[int, int] = {}
                size = header.filesz - header.filesz % _DYN.size
                for tag, value in self._table(_DYN, header.offset, size, "dynamic section"):
                    if tag == 0:
                        break
                    entries.setdefault(tag, value)
                return entries
        return {}

    def _offset_of_vaddr(self, vaddr: int, what: str) -> int:
        for header in self.load_segments:
            if header.vaddr <= vaddr < header.vaddr + header.filesz:
                return vaddr - header.vaddr + header.offset
        raise ElfError(self.path, f"{what} is at {vaddr:#x}, outside every loaded segment")

    @cached_property
    def _dynamic_strings(self) -> bytes:
        address, size = self._dynamic.get(DT_STRTAB), self._dynamic.get(DT_STRSZ)
        if address is None or size is None:
            raise ElfError(self.path, "dynamic section names no string table")
        return self.read(self._offset_of_vaddr(address, "dynamic string table"), size, "dynamic string table")

    @cached_property
    def soname(self) -> str | None:
        """DT_SONAME, or None."""
        offset = self._dynamic.get(DT_SONAME)
        return None if offset is None else self._string(self._dynamic_strings, offset, "the soname")

    @property
    def initialiser(self) -> int | None:
        """Address of the function that the dynamic linker calls before the constructors; None without one."""
        return self._dynamic.get(DT_INIT)

    @cached_property
    def needed(self) -> list[str]:
        """The sonames of the libraries that it is linked with (DT_NEEDED), in their order."""
        names = []
        for header in self.program_headers:
            if header.type == PT_DYNAMIC:
                size = header.filesz - header.filesz % _DYN.size
                for tag, value in self._table(_DYN, header.offset, size, "dynamic section"):
                    if tag == 0:
                        break
                    if tag == DT_NEEDED:
                        names.append(self._string(self._dynamic_strings, value, "a needed library"))
        return names

    @cached_property
    def is_executable(self) -> bool:
        """Whether this is a program: at a fixed address, or position-independent and marked so."""
        return self.type == ET_EXEC or bool(self._dynamic.get(DT_FLAGS_1, 0) & DF_1_PIE)

    @cached_property
    def interpreter(self) -> str | None:
        """Path in PT_INTERP, or None."""
        for header in self.program_headers:
            if header.type == PT_INTERP:
                raw = self.read(header.offset, header.filesz, "interpreter name")
                return raw.split(b"\0", 1)[0].decode("utf-8", "surrogateescape")
        return None

    @cached_property
    def build_id(self) -> str | None:
        """The GNU build-id in lowercase hex, or None."""
        places = [(s.offset, s.size) for s in self.sections if s.type == SHT_NOTE]
        places = places or [(h.offset, h.filesz) for h in self.program_headers if h.type == PT_NOTE]
        for offset, size in places:
            found = build_id(self.read(offset, size, "note section"))
            if found is not None:
                return found
        return None

    @cached_property
    def debuglink(self) -> tuple[str, int] | None:
        """File name and CRC of .gnu_debuglink, or None."""
        raw = self.data_of(".gnu_debuglink")
        name, zero, _ = raw.partition(b"\0")
        if not zero or not name or len(raw) < 8:
            return None
        return name.decode("utf-8", "surrogateescape"), struct.unpack("<I", raw[-4:])[0]

    @cached_property
    def mini_debug(self) -> Image | None:
        """The file in .gnu_debugdata, which has the symbols of functions of one that is stripped otherwise.

        So Fedora and its relatives ship programs (GDB manual, "MiniDebugInfo").
        """
        data = self.data_of(".gnu_debugdata")
        if not data:
            return None
        from interpose.elf.compression import of_xz

        try:
            return Image.from_bytes(of_xz(data), f"{self.path}(.gnu_debugdata)")
        except ValueError as error:
            raise ElfError(self.path, f"section .gnu_debugdata {error}") from None

    # -- symbols ------------------------------------------------------------------------------

    @cached_property
    def symtab(self) -> list[Symbol]:
        """.symtab, in file order without the null entry; a version is whatever follows `@` in a name."""
        symbols: list[Symbol] = []
        for name, value, size, kind, binding, shndx, visibility in self._raw_symbols(SHT_SYMTAB):
            version, is_default = None, False
            if "@" in name:
                name, _, version = name.partition("@")
                is_default = version.startswith("@")
                version = version.lstrip("@") or None
            symbols.append(Symbol(name, version, is_default, value, size, kind, binding, shndx, visibility))
        return symbols

    @cached_property
    def dynsyms(self) -> list[Symbol]:
        """.dynsym with GNU versions, in file order without the null entry."""
        raw = self._raw_symbols(SHT_DYNSYM)
        table = self.version_indices(len(raw))
        if table is None:
            return [Symbol(n, None, False, *rest) for n, *rest in raw]
        names = self.version_names()
        symbols: list[Symbol] = []
        for (name, *rest), (index,) in zip(raw, struct.iter_unpack("<H", table[2:]), strict=False):
            version = names.get(index & 0x7FFF)
            default = version is not None and rest[-2] != SHN_UNDEF and not index & _VERSION_HIDDEN
            symbols.append(Symbol(name, version, default, *rest))
        return symbols

    def symbol_table(self, kind: int) -> tuple[bytes, bytes]:
        """The entries of .symtab or .dynsym with the null one, and their string table; empty without."""
        section = next((s for s in self.sections if s.type == kind), None)
        if section is not None:
            if section.entsize not in (0, _SYM.size):
                raise ElfError(self.path, f"{section.name} has entries of size {section.entsize}")
            if section.link >= len(self.sections):
                raise ElfError(self.path, f"{section.name} has no string table {section.link}")
            if section.size % _SYM.size:
                raise ElfError(
                    self.path, f"{section.name} has size {section.size}, no multiple of {_SYM.size}"
                )
            rows = self.read(section.offset, section.size, section.name)
            return rows, self.section_data(self.sections[section.link])
        if kind == SHT_DYNSYM and not self.sections and DT_SYMTAB in self._dynamic:
            offset = self._offset_of_vaddr(self._dynamic[DT_SYMTAB], "dynamic symbol table")
            size = self._hashed_symbols() * _SYM.size
            return self.read(offset, size, "dynamic symbol table"), self._dynamic_strings
        return b"", b""

    def _raw_symbols(self, kind: int) -> list[tuple[str, int, int, int, int, int, int]]:
        # name, value, size, type, binding, section, visibility
        table, strings = self.symbol_table(kind)
        rows = _SYM.iter_unpack(table)
        next(rows, None)
        find = strings.find
        symbols: list[tuple[str, int, int, int, int, int, int]] = []
        for name, info, other, shndx, value, size in rows:
            end = find(b"\0", name)
            if end < 0:
                raise ElfError(self.path, f"name of symbol {len(symbols) + 1} lies outside its string table")
            text = strings[name:end].decode("utf-8", "surrogateescape")
            symbols.append((text, value, size, info & 15, info >> 4, shndx, other & 3))
        return symbols

    def _hashed_symbols(self) -> int:
        """Count of dynamic symbols of a file without section headers, from its hash table."""
        if DT_HASH in self._dynamic:
            offset = self._offset_of_vaddr(self._dynamic[DT_HASH], "hash table")
            return struct.unpack("<II", self.read(offset, 8, "hash table"))[1]
        if DT_GNU_HASH not in self._dynamic:
            return 0
        offset = self._offset_of_vaddr(self._dynamic[DT_GNU_HASH], "GNU hash table")
        buckets, first, bloom, _ = struct.unpack("<IIII", self.read(offset, 16, "GNU hash table"))
        offset += 16 + bloom * 8
        heads = struct.unpack(f"<{buckets}I", self.read(offset, buckets * 4, "GNU hash buckets"))
        last = max(heads, default=0)
        if last < first:
            return first
        chain = offset + buckets * 4 + (last - first) * 4
        while not struct.unpack("<I", self.read(chain, 4, "GNU hash chain"))[0] & 1:
            chain, last = chain + 4, last + 1
        return last + 1

    def version_indices(self, count: int) -> bytes | None:
        """Two bytes for each of the dynamic symbols, of which there are `count` and the null one."""
        section = next((s for s in self.sections if s.type == SHT_GNU_VERSYM), None)
        if section is None:
            return None
        if section.size < (count + 1) * 2:
            raise ElfError(self.path, f"version table has size {section.size} for {count + 1} symbols")
        return self.read(section.offset, (count + 1) * 2, "version table")

    def version_names(self) -> dict[int, str]:
        """Version index → name, from the definitions and needs (GNU versioning, section 2)."""
        names: dict[int, str] = {}
        for section in self.sections:
            if section.type not in (SHT_GNU_VERDEF, SHT_GNU_VERNEED) or section.link >= len(self.sections):
                continue
            data = self.section_data(section)
            strings = self.section_data(self.sections[section.link])
            try:
                if section.type == SHT_GNU_VERDEF:
                    self._collect_definitions(data, strings, names)
                else:
                    self._collect_needs(data, strings, names)
            except struct.error:
                raise ElfError(self.path, f"{section.name} is cut off") from None
        return names

    def _collect_definitions(self, data: bytes, strings: bytes, names: dict[int, str]) -> None:
        position = 0
        while data:
            _, flags, index, _, _, aux, following = struct.unpack_from("<HHHHIII", data, position)
            name, _ = struct.unpack_from("<II", data, position + aux)
            if not flags & 1:  # VER_FLG_BASE names the file itself
                names[index] = self._string(strings, name, "a version")
            if not following:
                break
            position += following

    def _collect_needs(self, data: bytes, strings: bytes, names: dict[int, str]) -> None:
        position = 0
        while data:
            _, count, _, aux, following = struct.unpack_from("<HHIII", data, position)
            entry = position + aux
            for _ in range(count):
                _, _, index, name, step = struct.unpack_from("<IHHII", data, entry)
                names[index & 0x7FFF] = self._string(strings, name, "a version")
                if not step:
                    break
                entry += step
            if not following:
                break
            position += following
