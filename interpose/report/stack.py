"""Stack traces: from recorded addresses to frames and their text (docs/spec/output.md section 5).

A *raw* trace is what the runtime records: the program counter first, then return addresses.  A *stack* is the
normalised form that errors keep and compare: return addresses less one (so that they lie inside the call),
recursion merged, at most ``num_callers`` entries.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from dataclasses import dataclass, field, replace
    from enum import Enum
    from typing import Protocol

    from interpose.options.core import CoreOptions
else:
    from interpose.records import Enum, dataclass, field, replace

    Protocol = object

Stack = tuple[int, ...]

BELOW_MAIN_TEXT = "(below main)"
"""Shown in place of the C library's start-up functions unless ``--show-below-main=yes``."""

_ADDRESS = (1 << 64) - 1
_MOST_KNOWN = 1 << 14  # addresses whose frames are kept
_MAIN = "main"
_BELOW_MAIN = frozenset(
    {"__libc_start_main", "__libc_start_call_main", "generic_start_main", "__libc_start_main_impl", "_start"}
)
# `__libc_start_main@@GLIBC_2.34` is none of them: Valgrind 3.19 prints it by name, between a
# constructor's frames and `(below main)`.

# The C library starts threads by one of them; Valgrind has no clone3, so stacks there, and its suppressions,
# end in clone.
_THREAD_STARTS = frozenset({"clone3", "__clone3"})
_THREAD_START = "clone"


class _Place(Enum):
    """Where a frame may end a stack."""

    WITHIN = 1
    MAIN = 2
    BELOW_MAIN = 3


class FrameLike(Protocol):
    """What a symbolizer says about one address; inlined frames come first, innermost first."""

    @property
    def ip(self) -> int: ...
    @property
    def function(self) -> str | None: ...
    @property
    def demangled(self) -> str | None: ...
    @property
    def obj(self) -> str | None: ...
    @property
    def file(self) -> str | None: ...
    @property
    def dir(self) -> str | None: ...
    @property
    def line(self) -> int | None: ...
    @property
    def sym_offset(self) -> int | None: ...
    @property
    def is_inlined(self) -> bool: ...


class HookFrames(Protocol):
    """What stands on the program's stack for functions in Python (:mod:`interpose.hooks`)."""

    def is_hidden(self, address: int, /) -> bool: ...
    def frame(self, address: int, /) -> tuple[str, str, int] | None: ...


class SymbolizerLike(Protocol):
    """Address lookup.  An address that no object holds yields an empty list or one empty frame."""

    def lookup(self, addr: int, /) -> Sequence[FrameLike]: ...


@dataclass
class StackOptions:
    """The options of docs/spec/options.md sections 3, 5 and 6 that shape stack traces."""

    num_callers: int = 12
    demangle: bool = True
    show_below_main: bool = False
    sym_offsets: bool = False
    merge_recursive: int = 0
    fullpath_after: Sequence[str] = field(default_factory=tuple)
    own_objects: frozenset[str] = frozenset()
    """Objects of ours in the client: a function there shows as one frame, whatever was inlined into it."""

    @classmethod
    def of(cls, core: CoreOptions, own_objects: frozenset[str]) -> StackOptions:
        """As the user wants them."""
        return cls(
            num_callers=core.num_callers,
            demangle=core.demangle,
            show_below_main=core.show_below_main,
            sym_offsets=core.sym_offsets,
            merge_recursive=core.merge_recursive_frames,
            fullpath_after=tuple(core.fullpath_after or ()),
            own_objects=own_objects,
        )


@dataclass(frozen=True)
class ResolvedFrame:
    """One printed line of a stack trace."""

    ip: int
    symbol: str | None
    """The name in the symbol table, or ``(below main)``; what suppressions match."""
    name: str | None
    """The name shown: demangled, with ``+N`` under ``--sym-offsets=yes``."""
    obj: str | None = None
    dir: str | None = None
    file: str | None = None
    line: int | None = None
    raw_symbol: str | None = None
    """The symbol even where ``(below main)`` stands for it."""


def merge_cycles(ips: Iterable[int], longest: int) -> list[int]:
    """Collapse repetitions of up to ``longest`` frames (``--merge-recursive-frames``).

    Frames count as equal when their addresses are: a function called from two places is no cycle.
    """
    from interpose.elf.unwind import drop_cycle

    merged: list[int] = []
    for ip in ips:
        merged.append(ip)
        drop_cycle(merged, longest)
    return merged


def _end_in_clone(frames: list[ResolvedFrame]) -> list[ResolvedFrame]:
    """The frames of a thread, with the name that Valgrind has for the outermost."""
    if frames and frames[-1].symbol in _THREAD_STARTS:
        last = frames[-1]
        name = (last.name or "").replace(last.symbol or "", _THREAD_START, 1)
        frames[-1] = replace(last, symbol=_THREAD_START, name=name)
    return frames


class StackResolver:
    """Turns raw traces into stacks, and stacks into frames, under the options in force."""

    def __init__(self, symbolizer: SymbolizerLike, options: StackOptions | None = None) -> None:
        self.symbolizer = symbolizer
        self.options = options or StackOptions()
        self.hooks: HookFrames | None = None
        self._cache: dict[int, tuple[tuple[ResolvedFrame, _Place], ...]] = {}
        self._addresses: dict[int, int] = {}
        self._cache_key: tuple[bool, bool, bool] | None = None

    def normalise(self, raw: Sequence[int]) -> Stack:
        """The stack of a raw trace: ``raw[0]`` is a program counter, the rest are return addresses."""
        if not raw:
            return ()
        if self.hooks is not None:
            raw = [raw[0], *(ret for ret in raw[1:] if not self.hooks.is_hidden(ret))]
        ips = [raw[0], *((ret - 1) & _ADDRESS for ret in raw[1:])]
        if self.options.merge_recursive:
            ips = merge_cycles(ips, self.options.merge_recursive)
        # One number object for each address, in most stacks an outer one that others have, too.
        if len(self._addresses) >= _MOST_KNOWN:
            self._addresses.clear()
        once = self._addresses.setdefault
        return tuple(once(ip, ip) for ip in ips[: self.options.num_callers])

    def forget(self) -> None:
        """Drop what was looked up: an object came or went."""
        self._cache.clear()

    def all_frames(self, stack: Stack) -> list[ResolvedFrame]:
        """All frames of a stack, inlined ones and those below ``main`` included; what suppressions match."""
        return _end_in_clone([frame for ip in stack for frame, _ in self._resolve(ip)])

    def frames(self, stack: Stack) -> list[ResolvedFrame]:
        """The frames that are shown: all, inlined ones included, but those below the outermost ``main``.

        Where there is none (constructors, exit handlers), the first start-up function is the last.
        """
        frames: list[ResolvedFrame] = []
        after_main = after_start = 0
        for ip in stack:
            for frame, place in self._resolve(ip):
                frames.append(frame)
                if place is _Place.MAIN:
                    after_main = len(frames)
                elif place is _Place.BELOW_MAIN and not after_start:
                    after_start = len(frames)
        return _end_in_clone(frames[: after_main or after_start or len(frames)])

    def _resolve(self, ip: int) -> tuple[tuple[ResolvedFrame, _Place], ...]:
        options = self.options
        key = (options.demangle, options.sym_offsets, options.show_below_main)
        if key != self._cache_key:
            self._cache.clear()
            self._cache_key = key
        found = self._cache.get(ip)
        if found is None and len(self._cache) >= _MOST_KNOWN:
            self._cache.clear()
        if found is None and self.hooks is not None and (hook := self.hooks.frame(ip)) is not None:
            name, path, line = hook
            folder, _, file = path.rpartition("/")
            frame = ResolvedFrame(ip, name, name, None, folder, file, line, raw_symbol=name)
            found = self._cache[ip] = ((frame, _Place.WITHIN),)
        if found is None:
            looked_up = self.symbolizer.lookup(ip)
            # Above the 64 bits of an address may stand which of several objects was there then.
            shown = ip & _ADDRESS
            if looked_up:
                if len(looked_up) > 1 and looked_up[-1].obj in options.own_objects:
                    looked_up = looked_up[-1:]
                found = tuple(self._frame(shown, frame) for frame in looked_up)
            else:
                found = ((ResolvedFrame(shown, None, None), _Place.WITHIN),)
            self._cache[ip] = found
        return found

    def _frame(self, ip: int, frame: FrameLike) -> tuple[ResolvedFrame, _Place]:
        options = self.options
        symbol = frame.function
        name = (frame.demangled or symbol) if options.demangle else symbol
        place = _Place.WITHIN
        shown_symbol = symbol
        if not options.show_below_main and not frame.is_inlined:
            if symbol in _BELOW_MAIN:
                name = shown_symbol = BELOW_MAIN_TEXT
                place = _Place.BELOW_MAIN
            elif symbol == _MAIN:
                place = _Place.MAIN
        if name and options.sym_offsets and not frame.is_inlined and frame.sym_offset:
            name = f"{name}+{frame.sym_offset}"
        resolved = ResolvedFrame(
            ip, shown_symbol, name, frame.obj, frame.dir, frame.file, frame.line, raw_symbol=symbol
        )
        return resolved, place


def source_path(frame: ResolvedFrame, options: StackOptions) -> str | None:
    """The file as the text shows it: with its directory, or what is left of it, under ``--fullpath-after``.

    The strings are looked for in the directory, not in the whole path: ``--fullpath-after=/src/`` does not
    match a file that lies directly in ``/src``. The first string that is found counts; text up to its end
    goes, then a leading ``./``.
    """
    if frame.file is None or not options.fullpath_after or not frame.dir:
        return frame.file
    directory = frame.dir.rstrip("/")
    for wanted in options.fullpath_after:
        _, found, rest = directory.partition(wanted) if wanted else ("", "", "")
        if found:
            directory = rest
            break
    else:
        return f"{directory}/{frame.file}".removeprefix("./")
    directory = directory.removeprefix("./")
    return f"{directory}/{frame.file}" if directory else frame.file


def describe_frame(frame: ResolvedFrame, options: StackOptions) -> str:
    """What follows the address: ``fn (file:line)``, ``fn (in obj)``, ``??? (in obj)``, ``???``."""
    name = frame.name or "???"
    path = source_path(frame, options)
    if path is not None:
        return f"{name} ({path}:{frame.line})" if frame.line is not None else f"{name} ({path})"
    if frame.obj is not None:
        return f"{name} (in {frame.obj})"
    if frame.name is not None:
        return f"{name} (in ???)"
    return "???"
