"""Numbers of functions: what the translator marks blocks with, and what a number means at a dump."""

from __future__ import annotations

from bisect import bisect_right

from interpose.elf.demangle import demangle, z_decoded
from interpose.elf.errors import ElfError
from interpose.elf.functiontable import function_table
from interpose.jit._native import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import suppress
    from functools import cached_property
    from typing import Any, NamedTuple

    from interpose.elf.symbolizer import ObjectFile
    from interpose.options.parse import Config
else:
    from interpose.plain import cached_property, suppress
    from interpose.records import NamedTuple

UNKNOWN = "???"
BELOW_MAIN = "(below main)"
_BELOW_MAIN = frozenset(
    {"__libc_start_main", "__libc_start_call_main", "generic_start_main", "__libc_start_main_impl", "_start"}
)
_LINKAGE = frozenset({".plt", ".plt.sec", ".plt.got"})
# The dynamic linker's trampoline ends with a jump to the function that was looked up.
_RESOLVER = "_dl_runtime_resolve"


class Object:
    """A mapped file: its functions have the numbers from ``base`` on, one for each piece of its symbols."""

    def __init__(self, number: int, base: int, file: ObjectFile, plt: list[tuple[int, int]]) -> None:
        self.number = number
        self.base = base
        self.file = file
        self.path = file.path or UNKNOWN
        self.code = file.code
        self.n_functions = len(self.code)
        self.plt = plt
        self.count = self.n_functions + 1
        """The last one is the procedure linkage table."""
        self.flags: dict[int, int] = {}
        self.same: dict[int, int] = {}
        """Pieces that are one function with an earlier one."""
        self.places: list[Placed] = []
        self._raw: Any = None
        self._alive: dict[str, Any] = {}
        self.described = ffi.new("struct cg_object *", {"code": self.code.raw, "base": base})
        """What a profile says of it; the rest is filled in when a context is in it."""

    @cached_property
    def function_table(self) -> tuple[bytes, int]:
        """Where functions begin, symbols or not (:func:`interpose.elf.functiontable.function_table`)."""
        if self.file.image is not None:
            with suppress(ElfError):
                return function_table(self.file.image)
        return b"", 0

    def describe(self) -> None:
        """Fill in what a profile says of the object."""
        described, alive = self.described, self._alive
        if not described.path:
            alive["path"] = described.path = ffi.new("char[]", self.path.encode("utf-8", "surrogateescape"))
            lines = self.file.all_lines
            if lines is not None:
                described.lines = lines.raw
            if self.same:
                parts = [self.same.get(n, n) for n in range(self.n_functions)]
                alive["same"] = described.same = ffi.new("uint32_t[]", parts)
        if described.n_placed != len(self.places):
            rows = [row[:3] for row in reversed(self.places)]
            alive["placed"] = described.placed = ffi.new("struct cg_placed[]", rows)
            described.n_placed = len(rows)

    def place(self, placed: Placed) -> None:
        """It has been mapped."""
        if placed not in self.places:
            self.places.append(placed)

    def raw(self, skip_plt: bool) -> Any:
        """Its functions with their numbers, as C takes them."""
        if self._raw is None:
            base, same = self.base, self.same
            unknown = lib.CG_F_UNKNOWN | self.number
            found = lib.cg_functions_new(self.code.raw, base, unknown, len(self.plt))
            if not found:
                raise MemoryError
            self._raw = ffi.gc(found, lib.cg_functions_free)
            for index in same.keys() | self.flags.keys():
                found.numbers[index] = (base + same.get(index, index)) | self.flags.get(index, 0)
            linkage = (base + self.count - 1) | lib.CG_F_SKIP if skip_plt else unknown | lib.CG_F_LINKAGE
            for low, high in self.plt:
                # Where symbols name the entries, these are functions.
                lib.cg_functions_add(found, low, high, linkage)
        return self._raw


class Patterns:
    """Functions by patterns: ``*`` and ``?``; the whole name must match."""

    def __init__(self, patterns: tuple[str, ...]) -> None:
        self._match = None
        if patterns:
            import fnmatch
            import re

            escaped = [fnmatch.translate(pattern.replace("[", "[[]")) for pattern in patterns]
            self._match = re.compile("|".join(escaped)).match

    def hit(self, name: str) -> bool:
        return self._match is not None and self._match(name) is not None


class Placed(NamedTuple):
    """Where an object is, or was until another one came there."""

    start: int
    end: int
    bias: int
    object: Object


class Functions:
    """All functions of a program image."""

    def __init__(self, config: Config) -> None:
        tool = config.tool
        self._demangle = config.core.demangle
        special = tuple(pattern for _, pattern in (*tool.separate_callers_of, *tool.separate_recs_of))
        self._named = bool(
            tool.fn_skip or tool.pop_on_jump or tool.toggle_collect or tool.dump_before or tool.dump_after
            or tool.zero_before or special
        )  # fmt: skip
        marks = [
            (lib.CG_F_SKIP, tool.fn_skip),
            (lib.CG_F_POP_ON_JUMP, (f"{_RESOLVER}*", *tool.pop_on_jump)),
            (lib.CG_F_TOGGLE, tool.toggle_collect),
            (lib.CG_F_DUMP_BEFORE, tool.dump_before),
            (lib.CG_F_DUMP_AFTER, tool.dump_after),
            (lib.CG_F_ZERO_BEFORE, tool.zero_before),
            (lib.CG_F_SPECIAL, special),
        ]
        self._marks = [(flag, Patterns(patterns)) for flag, patterns in marks if self._named]
        self._skip_plt = tool.skip_plt
        self._objects: list[Object] = []
        self._bases: list[int] = []
        self._by_file: dict[int, Object] = {}
        self._next = 1
        self._placed: list[Placed] = []
        lib.ip_trace_functions_del(0, 2**64 - 1)

    # -- mappings --

    def mapped(self, start: int, end: int, offset: int, file: ObjectFile) -> None:
        """Tell the translator whose code is in [start, end)."""
        biases = [] if file.image is None else file.image.vaddrs_of_offset(offset)
        obj = self._object(file)
        bias = start - biases[0] if biases else start - offset
        self.unmapped(start, end)
        placed = Placed(start, end, bias, obj)
        self._placed.append(placed)
        obj.place(placed)
        if lib.cg_place_functions(obj.raw(self._skip_plt), bias, start, end) != 0:
            raise MemoryError
        table, origin = obj.function_table
        if table:
            pairs = ffi.from_buffer("int32_t[]", table)
            lib.ip_trace_parts_add(start, end, len(table) // 8, pairs, (origin + bias) % 2**64)

    def _object(self, file: ObjectFile) -> Object:
        known = self._by_file.get(id(file))
        if known is not None:
            return known
        plt = []
        try:
            if file.image is not None:
                plt = [
                    (s.addr, s.addr + s.size) for s in file.image.sections if s.name in _LINKAGE and s.size
                ]
        except ElfError:
            pass
        obj = Object(len(self._objects), self._next, file, plt)
        self._next += obj.count
        self._objects.append(obj)
        self._bases.append(obj.base)
        self._by_file[id(file)] = obj
        parts = sorted(index for name in _BELOW_MAIN for index in obj.code.named(name))
        obj.same.update((index, parts[0]) for index in parts[1:])
        if self._named:
            for index in range(obj.n_functions):
                plain = self._plain(obj.code.name(index))
                flags = sum(flag for flag, patterns in self._marks if patterns.hit(plain))
                if flags:
                    obj.flags[index] = flags
        else:
            found = obj.code.named(_RESOLVER, only_begins=True)
            obj.flags.update((index, int(lib.CG_F_POP_ON_JUMP)) for index in found)
        return obj

    def unmapped(self, start: int, end: int) -> None:
        """Other code may be there next; what was counted keeps its meaning."""
        lib.ip_trace_functions_del(start, end)

    # -- meaning --

    @property
    def count(self) -> int:
        """Functions that are known."""
        return self._next - 1

    def _plain(self, name: str) -> str:
        if name in _BELOW_MAIN:
            return BELOW_MAIN
        name = z_decoded(name) or name
        return demangle(name) if self._demangle else name

    def object_of(self, number: int) -> Object | None:
        """The object of a function's number."""
        index = number & lib.CG_F_INDEX
        if number & lib.CG_F_UNKNOWN:
            return self._objects[index] if index < len(self._objects) else None
        if not number:
            return None
        return self._objects[bisect_right(self._bases, index) - 1]

    def bias_at(self, obj: Object | None, address: int) -> int:
        """What was added to the object's addresses where ``address`` is; 0 if it has none there."""
        for placed in reversed(self._placed):
            if placed.start <= address < placed.end and (obj is None or placed.object is obj):
                return placed.bias
        return 0

    def described(self) -> list[Any]:
        """All objects as C takes them (``struct cg_object``)."""
        return [obj.described for obj in self._objects]

    def describe_used(self) -> None:
        """Fill in what profiles say of objects that contexts are in."""
        for obj in self._objects:
            if obj.described.is_used:
                obj.describe()

    def describe(self, number: int, entry: int) -> tuple[str, str, int | None]:
        """Object, function, and where the function begins at link time (None: not known)."""
        obj = self.object_of(number)
        if obj is None:
            return UNKNOWN, f"0x{entry:016x}", None
        if number & lib.CG_F_UNKNOWN:
            vaddr = entry - self.bias_at(obj, entry)
            return obj.path, f"0x{vaddr:016x}", vaddr
        index = (number & lib.CG_F_INDEX) - obj.base
        if index >= obj.n_functions:
            return obj.path, "(plt)", None
        return obj.path, self._plain(obj.code.name(index)), obj.code.start(index)
