"""Runtime address → object, function, source line, inlined calls, data symbol, section.

Object files are opened when an address in them is first asked for, and their debug information when a
source line is: a run without errors pays for neither.
"""

from __future__ import annotations

import posixpath

from interpose.elf.demangle import demangle, is_mangled, short_name, z_decoded
from interpose.elf.errors import ElfError
from interpose.elf.headers import PF_X
from interpose.elf.image import Image, ProgramHeader
from interpose.elf.lines import LineTable, SourceLine
from interpose.elf.openfile import OpenFile
from interpose.elf.pieces import Piece, Pieces
from interpose.elf.symbolmap import Place, SymbolMap, code_map, data_map
from interpose.ranges import Ranges

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import suppress
    from functools import cached_property
    from typing import Any, NamedTuple

    from interpose.elf.cfi import FrameTable
    from interpose.elf.debuginfod import Servers
    from interpose.elf.dwarf import DebugInfo
    from interpose.elf.functions import Functions
    from interpose.elf.sourcelines import SourceLines
    from interpose.elf.variables import VariablePlace, Variables
else:
    from interpose.plain import cached_property, suppress
    from interpose.records import NamedTuple

_SECTION_KINDS = {
    ".text": "Text",
    ".data": "Data",
    ".bss": "BSS",
    ".plt": "PLT",
    ".got": "GOT",
    ".got.plt": "GOTPLT",
    ".opd": "OPD",
}
_CACHED_LOOKUPS = 20000


class Frame(NamedTuple):
    """One level of one address.

    `function` is the symbol as the symbol table has it (Z-decoded), `demangled` the same for people; an
    inlined level has the plain name of the function in both. `sym_offset` is None for inlined levels.
    """

    ip: int
    function: str | None = None
    demangled: str | None = None
    obj: str | None = None
    file: str | None = None
    dir: str | None = None
    line: int | None = None
    sym_offset: int | None = None
    is_inlined: bool = False


class ObjectFile:
    """What is known of one ELF file on disk, whatever its load address."""

    def __init__(
        self,
        path: str,
        file: OpenFile | None,
        extra_debuginfo: tuple[str, ...],
        allow_mismatched: bool,
        servers: Servers | None = None,
        warn: Callable[[str], None] | None = None,
    ) -> None:
        """`file` is what is mapped; None where that cannot be read any more."""
        self._servers = servers
        self._warn = warn
        self.path = path
        self._file = file
        self._extra_debuginfo = extra_debuginfo
        self._allow_mismatched = allow_mismatched
        self.redirection: Any = None
        """What the redirection core keeps of the file."""

    @cached_property
    def image(self) -> Image | None:
        """The file itself, or None when it is no usable ELF file."""
        try:
            return Image(self.path, self._file) if self._file is not None else None
        except ElfError:
            return None

    @cached_property
    def debug_image(self) -> Image | None:
        """The separate debug file, if the image needs one and it is installed or a server has it."""
        if self.installed_debug_image is not None or self._servers is None or self.image is None:
            return self.installed_debug_image
        try:
            build_id = self.image.build_id
            if build_id is None or self.image.section_named(".debug_info") is not None:
                return None
        except ElfError:
            return None
        return self._servers.find(build_id)

    def read(self, say: Callable[[str], None]) -> None:
        """Read the symbols, and tell what there is (--trace-symtab)."""
        say(f"------ name = {self.path}")
        if self.image is None:
            say("not an object file")
            return
        debug = self.debug_image
        if self.image.build_id is not None:
            say(f"build-id: {self.image.build_id}")
        say(f"debug file: {debug.path if debug is not None else 'none'}")
        say(f"symbols: {len(self.code)} of code, {len(self.data)} of data")
        for name in (".debug_info", ".debug_line", ".eh_frame"):
            sections = ((image, image.section_named(name)) for image in (debug, self.image) if image)
            found = [f"{section.size} bytes in {image.path}" for image, section in sections if section]
            say(f"{name}: {found[0] if found else 'none'}")

    @cached_property
    def installed_debug_image(self) -> Image | None:
        """The separate debug file, if the image needs one and it is installed."""
        if self.image is None or self.image.section_named(".debug_info") is not None:
            return None
        from interpose.elf.debugfile import find_debug_image

        return find_debug_image(self.image, self._extra_debuginfo, self._allow_mismatched)

    @cached_property
    def code(self) -> SymbolMap:
        try:
            return code_map(self.image, self.debug_image) if self.image is not None else SymbolMap(())
        except ElfError:
            return SymbolMap(())

    @cached_property
    def frames(self) -> FrameTable | None:
        """How to unwind from this file's functions."""
        from interpose.elf.cfi import FrameTable

        try:
            return FrameTable(self.image) if self.image is not None else None
        except ElfError:
            return None

    @cached_property
    def data(self) -> SymbolMap:
        try:
            return data_map(self.image, self.debug_image) if self.image is not None else SymbolMap(())
        except ElfError:
            return SymbolMap(())

    @cached_property
    def _source(self) -> Image | None:
        """The image that has line information."""
        for image in (self.debug_image, self.image):
            if image is not None and image.section_named(".debug_line") is not None:
                return image
        return None

    @cached_property
    def _lines(self) -> LineTable | None:
        return LineTable(self._source) if self._source is not None else None

    @cached_property
    def _dwarf(self) -> DebugInfo | None:
        if self._source is None:
            return None
        from interpose.elf.dwarf import DebugInfo

        info = DebugInfo(self._source, self._extra_debuginfo)
        if self._warn is not None and not info.is_whole:
            self._warn(f"{self._source.path}: the debug information is damaged")
        return info

    @cached_property
    def variables(self) -> Variables | None:
        """The file's variables with their types and declarations."""
        if self._dwarf is None:
            return None
        from interpose.elf.variables import Variables

        return Variables(self._dwarf, self._functions)

    @cached_property
    def _functions(self) -> Functions:
        from interpose.elf.functions import Functions

        return Functions()

    @cached_property
    def all_lines(self) -> SourceLines | None:
        """All lines of the file in one table, without inlined calls."""
        if self._source is None:
            return None
        from interpose.elf.sourcelines import SourceLines

        return SourceLines(self._source)

    def has_lines_within(self, most: int) -> bool:
        """Whether addresses in the file may have source lines, and it has at most so many bytes."""
        return self._source is not None and self._source.size <= most

    def source_lines(self, address: int) -> list[SourceLine]:
        """Levels of the link-time `address`, innermost first; empty where there is no line."""
        if self._lines is None or self._dwarf is None:
            return []
        # A symcache has neither what is in other files nor what is outside of functions.
        if not self._dwarf.is_in_several_files:
            levels = self._lines.lookup(address)
            if levels and levels[0].path and levels[0].line:
                return levels
        from interpose.elf.functions import levels_at

        return levels_at(self._dwarf, self._functions, address)

    @cached_property
    def _splits_paths(self) -> bool:
        """Whether GCC alone made it: a file's name is never more than the last part of its path then."""
        comment = b""
        for image in (self.image, self.debug_image):  # strip takes it from the former
            with suppress(ElfError):
                comment = comment or (image.data_of(".comment") if image is not None else b"")
        makers = [maker for maker in comment.split(b"\0") if maker]
        return bool(makers) and all(maker.startswith(b"GCC: ") for maker in makers)

    def place(self, address: int, path: str, *, with_directory: bool) -> tuple[str | None, str]:
        """Directory and name, as the line table has them, of the source file `path` (of `source_lines`).

        Without the directory, which stays None then, there may be no need to read the table.
        """
        if with_directory or not self._splits_paths:
            unit = self._dwarf.unit_at(address) if self._dwarf is not None else None
            exact = unit.place_of(path) if unit is not None else None
            directory, name = exact if exact is not None else posixpath.split(path)
            return directory if with_directory else None, name
        return None, path[path.rfind("/") + 1 :]

    def plain_name(self, address: int, linkage_name: str) -> str:
        """DW_AT_name of a function inlined at the link-time `address`, given either of its names."""
        unit = self._dwarf.unit_at(address) if self._dwarf is not None else None
        exact = unit.plain_name(linkage_name) if unit is not None else None
        if exact is not None:
            return exact
        if not is_mangled(linkage_name):
            return linkage_name
        if unit is not None:
            from interpose.elf.functions import inlined_name

            exact = inlined_name(unit, self._functions, address, linkage_name)
        return exact or short_name(demangle(linkage_name))

    def function_line(self, address: int) -> tuple[str, int] | None:
        """File and line of the first instruction of the function that holds the link-time `address`."""
        span = self.code.span(address)
        levels = self.source_lines(span[0]) if span is not None else []
        if span is None or not levels or not levels[-1].path:
            return None
        return self.place(span[0], levels[-1].path, with_directory=False)[1], levels[-1].line


class _Loaded(NamedTuple):
    """One object at one load address."""

    file: ObjectFile
    bias: int
    mappings: list[Piece]

    @property
    def segments(self) -> Sequence[ProgramHeader]:
        """The object's segments, as it was linked; with what they hold in memory only (.bss)."""
        image = self.file.image
        return image.load_segments if image is not None else ()

    def holds_data(self, address: int) -> bool:
        """Whether the address is in a segment that is no code."""
        vaddr = address - self.bias
        segment = next((h for h in self.segments if h.vaddr <= vaddr < h.vaddr + h.memsz), None)
        return segment is not None and not segment.flags & PF_X


class Symbolizer:
    """The objects of a running program, and what their addresses mean."""

    def __init__(
        self,
        *,
        inline: bool = True,
        directories: bool = True,
        demangle: bool = True,
        extra_debuginfo_path: Iterable[str] = (),
        allow_mismatched: bool = False,
        servers: Servers | None = None,
        warn: Callable[[str], None] | None = None,
    ) -> None:
        """`inline` is --read-inline-info; without `directories`, `Frame.dir` stays None, which saves time.

        `warn` takes one line for each file whose debug information is damaged.
        """
        self._servers = servers
        self._warn = warn
        self._inline = inline
        self._directories = directories
        self._demangle = demangle
        self._extra_debuginfo = tuple(extra_debuginfo_path)
        self._allow_mismatched = allow_mismatched
        self._mappings = Pieces()
        self._loaded: dict[int, _Loaded] | None = None
        self._segments: Ranges[_Loaded] | None = None
        self._kept: list[tuple[Piece, _Loaded]] = []
        self._cache: dict[int, list[Frame]] = {}

    def want_directories(self) -> None:
        """From now on frames have their directories."""
        if not self._directories:
            self._directories = True
            self._cache.clear()

    # -- the map of the program ---------------------------------------------------------------

    def add_mapping(self, file: ObjectFile, start: int, size: int, file_offset: int) -> None:
        """A piece of a file was mapped at [start, start + size); what was there before is gone."""
        self._mappings.put(start, start + size, file_offset, file)
        self._changed()

    def remove_mapping(self, start: int, size: int) -> None:
        """[start, start + size) was unmapped; mappings that reach beyond are trimmed or split."""
        if self._mappings.cut(start, start + size):
            self._changed()

    def keep(self, start: int, size: int) -> list[Piece]:
        """[start, start + size) is about to be unmapped: its addresses stay known under other numbers.

        The mappings that are answered have them; a number that counts how many have been kept stands above
        the 64 bits of an address.
        """
        kept = []
        for mapping in self._mappings.within(start, start + size):
            loaded = self._object_at(mapping.start)
            if loaded is None:
                continue
            above = (len(self._kept) + 1) << 64
            self._kept.append((mapping, loaded._replace(bias=loaded.bias + above)))
            kept.append(mapping._replace(start=mapping.start + above, end=mapping.end + above))
        return kept

    def _changed(self) -> None:
        self._loaded = self._segments = None
        self._cache.clear()

    def object_file(self, path: str, file: OpenFile | None) -> ObjectFile:
        """A file for :meth:`add_mapping`, the same for all its mappings."""
        return ObjectFile(
            path, file, self._extra_debuginfo, self._allow_mismatched, self._servers, self._warn
        )

    def object_at(self, path: str) -> ObjectFile:
        """The same for whatever is at a path now."""
        try:
            return self.object_file(path, OpenFile(path))
        except (OSError, ValueError):
            return self.object_file(path, None)

    def _mapping_at(self, address: int) -> Piece | None:
        if address >> 64:
            return self._kept[(address >> 64) - 1][0]
        return self._mappings.at(address)

    def _objects(self) -> dict[int, _Loaded]:
        """The object of each mapping, by where that starts; two copies of a file are two objects."""
        if self._loaded is None:
            self._loaded = {}
            copies: dict[tuple[ObjectFile, int], _Loaded] = {}
            for mapping in self._mappings:
                image = mapping.file.image
                vaddrs = [] if image is None else image.vaddrs_of_offset(mapping.file_offset)
                known = [copies.get((mapping.file, mapping.start - vaddr)) for vaddr in vaddrs]
                loaded = next((copy for copy in known if copy is not None), None)
                if loaded is not None:
                    loaded.mappings.append(mapping)
                elif vaddrs:
                    loaded = _Loaded(mapping.file, mapping.start - vaddrs[0], [mapping])
                    copies[loaded.file, loaded.bias] = loaded
                else:
                    continue
                self._loaded[mapping.start] = loaded
        return self._loaded

    def _object_at(self, address: int) -> _Loaded | None:
        return self._object_of(self._mapping_at(address), address)

    def _object_of(self, mapping: Piece | None, address: int) -> _Loaded | None:
        """The same, where it is known which mapping has the address."""
        if address >> 64:
            return self._kept[(address >> 64) - 1][1]
        if mapping is not None:
            return self._objects().get(mapping.start)
        if self._segments is None:
            self._segments = self._by_segment()
        return self._segments.at(address)

    def _by_segment(self) -> Ranges[_Loaded]:
        """Which object is where by its segments; of several that claim an address the lowest one has it."""
        found: Ranges[_Loaded] = Ranges()
        distinct = {id(loaded): loaded for loaded in self._objects().values()}
        for loaded in distinct.values():
            for segment in loaded.segments:
                at = segment.vaddr + loaded.bias
                end = at + segment.memsz
                while at < end:
                    taken = found.range_at(at)
                    stop = taken[1] if taken is not None else min(end, found.next_start(at, end))
                    if taken is None:
                        found.add(at, stop, loaded)
                    at = stop
        return found

    # -- questions ----------------------------------------------------------------------------

    def frame_table(self, addr: int) -> tuple[FrameTable, int] | None:
        """Call frame information for a code address, and the load bias of its object."""
        loaded = self._object_at(addr) if self._mapping_at(addr) is not None else None
        table = loaded.file.frames if loaded is not None else None
        return None if loaded is None or table is None else (table, loaded.bias)

    def lookup(self, addr: int) -> list[Frame]:
        """The levels of a code address, innermost first; at least one frame, at worst an empty one.

        A return address must come with 1 subtracted, so that it lies within the call.
        """
        frames = self._cache.get(addr)
        if frames is None:
            if len(self._cache) >= _CACHED_LOOKUPS:
                self._cache.clear()
            frames = self._cache[addr] = self._lookup(addr)
        return frames

    def read_ahead(self, most: int) -> None:
        """Read now what look-ups will need, of files with lines of at most so many bytes; ask no server."""
        if self._servers is not None:
            return
        files = {mapping.file: mapping.start for mapping in reversed([*self._mappings])}
        for file, start in files.items():
            if file.has_lines_within(most):
                self.lookup(start)

    def _lookup(self, ip: int) -> list[Frame]:
        mapping = self._mapping_at(ip)
        loaded = self._object_of(mapping, ip)
        if mapping is None:  # no code; a jump may lead to an object's data all the same
            is_data = loaded is not None and loaded.holds_data(ip)
            return [Frame(ip, obj=loaded.file.path if loaded is not None and is_data else None)]
        if loaded is None:
            return [Frame(ip, obj=mapping.file.path)]
        file, vaddr = loaded.file, ip - loaded.bias
        place = file.code.find(vaddr)
        levels = file.source_lines(vaddr)
        if not self._inline:
            levels = self._without_inlining(levels)
        symbol = offset = None
        if place is not None:
            name, offset = place
            symbol = z_decoded(name)
        source, directory, line = self._location(vaddr, file, levels[-1]) if levels else (None, None, None)
        plain = self._plain(symbol)
        frame = Frame(ip, symbol, plain, file.path, source, directory, line, offset, False)
        if len(levels) < 2:
            return [frame]
        return [*(self._inlined_frame(ip, vaddr, file, level) for level in levels[:-1]), frame]

    @staticmethod
    def _without_inlining(levels: list[SourceLine]) -> list[SourceLine]:
        """Only the innermost position, which belongs to the instruction itself."""
        return levels[:1]

    def _plain(self, symbol: str | None) -> str | None:
        return demangle(symbol) if symbol is not None and self._demangle else symbol

    def _inlined_frame(self, ip: int, vaddr: int, file: ObjectFile, level: SourceLine) -> Frame:
        name = file.plain_name(vaddr, level.function) or None
        source, directory, line = self._location(vaddr, file, level)
        return Frame(ip, name, name, file.path, source, directory, line, None, True)

    def _location(
        self, vaddr: int, file: ObjectFile, level: SourceLine
    ) -> tuple[str | None, str | None, int | None]:
        if not level.path:
            return None, None, None
        directory, name = file.place(vaddr, level.path, with_directory=self._directories)
        return name, directory, level.line

    def function_name(self, addr: int) -> str | None:
        """Function (demangled) that holds `addr`."""
        loaded = self._object_at(addr)
        place = loaded.file.code.find(addr - loaded.bias) if loaded is not None else None
        return self._plain(z_decoded(place.name)) if place is not None else None

    def function_start(self, addr: int) -> tuple[str | None, str | None, int | None]:
        """Function (demangled), file and first line of the function that holds `addr`.

        For ` Address 0x.. is on thread N's stack in frame #K, created by F (FILE:LINE)`. The line is that of
        the function's first instruction; in optimised code that may be later than the opening brace.
        """
        loaded = self._object_at(addr)
        if loaded is None:
            return None, None, None
        where = loaded.file.function_line(addr - loaded.bias)
        return self.function_name(addr), *(where if where is not None else (None, None))

    def function_address(self, addr: int) -> int | None:
        """Where the function that holds `addr` begins."""
        loaded = self._object_at(addr)
        place = loaded.file.code.find(addr - loaded.bias) if loaded is not None else None
        return addr - place.offset if place is not None else None

    def describe_data(self, addr: int) -> Place | None:
        """(name, offset) of the data symbol that holds `addr`; Valgrind does not demangle these names."""
        loaded = self._object_at(addr)
        return loaded.file.data.find(addr - loaded.bias) if loaded is not None else None

    def variable_at(self, addr: int, *, static_local: bool = False) -> VariablePlace | None:
        """The global variable at `addr` by the debug information, or the static variable of a function."""
        loaded = self._object_at(addr)
        variables = loaded.file.variables if loaded is not None else None
        if loaded is None or variables is None:
            return None
        vaddr = addr - loaded.bias
        return variables.static_local_at(vaddr) if static_local else variables.global_at(vaddr)

    def variables_of(self, pc: int) -> tuple[Variables, int] | None:
        """The variables of the object that has the code at `pc`, and its load bias."""
        loaded = self._object_at(pc) if self._mapping_at(pc) is not None else None
        variables = loaded.file.variables if loaded is not None else None
        return None if loaded is None or variables is None else (variables, loaded.bias)

    def section_of(self, addr: int) -> tuple[str, str] | None:
        """("Text" | "Data" | "BSS" | "GOT" | "PLT" | "GOTPLT" | "OPD", object path) of `addr`.

        None for every other section: Valgrind then describes the mapping instead.
        """
        loaded = self._object_at(addr)
        if loaded is None or loaded.file.image is None:
            return None
        vaddr = addr - loaded.bias
        for section in loaded.file.image.sections:
            if section.name in _SECTION_KINDS and section.addr <= vaddr < section.addr + section.size:
                return _SECTION_KINDS[section.name], loaded.file.path
        return None
