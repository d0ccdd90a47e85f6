"""Stack traces: from recorded addresses to frames and their text (docs/spec/output.md section 5).

A *raw* trace is what the runtime records: the program counter first, then return addresses.  A *stack* is the
normalised form that errors keep and compare: return addresses less one (so that they lie inside the call),
recursion merged, at most ``num_callers`` entries.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from dataclasses import dataclass, field
    from enum import Enum
    from typing import NamedTuple, Protocol

    from interpose.options.core import CoreOptions
else:
    from interpose.records import Enum, NamedTuple, dataclass, field

    Protocol = object

Stack = tuple[int, ...]

BELOW_MAIN_TEXT = "(below main)"
"""Shown in place of the C library's start-up functions unless ``--show-below-main=yes``."""

_ADDRESS = (1 << 64) - 1
_MOST_KNOWN = 1 << 14  # addresses whose frames are kept
_MOST_LOOKED_UP = 64  # stacks whose frames are kept together
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

# Since glibc 2.41 a system call that is a cancellation point is made in these, for all such functions.
# Valgrind 3.27 leaves them out where they are innermost: errors and suppressions begin with `write` as ever.
_CANCELLATION = frozenset({"__syscall_cancel_arch", "__internal_syscall_cancel", "__syscall_cancel"})


def cancellation_frames(names: Iterable[str | None]) -> int:
    """How many innermost frames are the C library's, for cancellation of a system call.

    ``names`` are those of all frames but the outermost, innermost first.
    """
    count = 0
    for name in names:
        if name not in _CANCELLATION:
            break
        count += 1
    return count


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


class ResolvedFrame(NamedTuple):
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
        frames[-1] = last._replace(symbol=_THREAD_START, name=name)
    return frames


class _Special(NamedTuple):
    """What the frames of an address mean for others."""

    main: int
    """How many of them end with the outermost ``main``, 0: there is none."""
    start: int
    """The same for the innermost start-up function."""
    starts_thread: bool
    """It is shown by another name where it is the outermost."""


_STARTS_THREAD = _Special(0, 0, True)


class _Shown(NamedTuple):
    """The frames of an address."""

    frames: list[ResolvedFrame]
    texts: dict[str, list[str]]
    """Theirs, by the form of the report that has asked for them."""
    special: _Special | None


class _Known(dict[int, _Shown]):
    """What reports need of addresses again and again, found out when one is first asked for."""

    def __init__(self, look_at: Callable[[int], _Shown]) -> None:
        self._look_at = look_at

    def __missing__(self, ip: int) -> _Shown:
        if len(self) >= _MOST_KNOWN:
            self.clear()
        found = self[ip] = self._look_at(ip)
        return found


class _Inside(dict[int, int]):
    """By return address an address that lies inside the call, made when it is first asked for."""

    def __missing__(self, address: int) -> int:
        inside = self[address] = (address - 1) & _ADDRESS
        return inside


class StackResolver:
    """Turns raw traces into stacks, and stacks into frames, under the options in force."""

    def __init__(self, symbolizer: SymbolizerLike, options: StackOptions | None = None) -> None:
        self.symbolizer = symbolizer
        self.options = options or StackOptions()
        self.hooks: HookFrames | None = None
        self._cache: dict[int, tuple[tuple[ResolvedFrame, _Place], ...]] = {}
        self._shown = _Known(self._look_at)
        self._looked_up: dict[Stack, tuple[list[_Shown], int]] = {}
        self._addresses: dict[int, int] = {}
        self._inside = _Inside()
        self._cache_key: tuple[bool, bool, bool] | None = None

    def normalise(self, raw: Sequence[int]) -> Stack:
        """The stack of a raw trace: ``raw[0]`` is a program counter, the rest are return addresses."""
        if not raw:
            return ()
        if self.hooks is not None:
            raw = [raw[0], *(ret for ret in raw[1:] if not self.hooks.is_hidden(ret))]
        # One number object for each address, in most stacks an outer one that others have, too.
        if len(self._addresses) >= _MOST_KNOWN:
            self._addresses.clear()
        if len(self._inside) >= _MOST_KNOWN:
            self._inside.clear()
        first = self._addresses.setdefault(raw[0], raw[0])
        ips = (first, *map(self._inside.__getitem__, raw[1:]))
        if self.options.merge_recursive:
            ips = tuple(merge_cycles(ips, self.options.merge_recursive))
        return ips[: self.options.num_callers]

    def of_call(self, raw: Sequence[int]) -> tuple[Stack, Stack]:
        """The stack of a raw trace that may end in a system call, in two: what the C library has for its
        cancellation, and the rest."""
        stack = self.normalise(raw)
        count = self.hidden(stack)
        return stack[:count], stack[count:]

    def hidden(self, stack: Stack) -> int:
        """How many innermost frames are the C library's, for cancellation of a system call; never all."""
        self._check_options()
        return cancellation_frames(self._resolve(address)[-1][0].raw_symbol for address in stack[:-1])

    def forget(self) -> None:
        """Drop what was looked up: an object came or went."""
        self._cache.clear()
        self._shown.clear()
        self._looked_up.clear()

    def all_frames(self, stack: Stack) -> list[ResolvedFrame]:
        """All frames of a stack, inlined ones and those below ``main`` included; what suppressions match."""
        self._check_options()
        return _end_in_clone([frame for ip in stack for frame, _ in self._resolve(ip)])

    def frames(self, stack: Stack) -> list[ResolvedFrame]:
        """The frames that are shown: all, inlined ones included, but those below the outermost ``main``.

        Where there is none (constructors, exit handlers), the first start-up function is the last.
        """
        found, end = self._look_up(stack)
        shown: list[ResolvedFrame] = []
        for frames, _, _ in found:
            shown += frames
        return _end_in_clone(shown[:end])

    def texts(self, stack: Stack) -> list[str]:
        """The same frames as text, each its address and what is there."""
        return self.forms(stack, "text", self._text)

    def forms(self, stack: Stack, form: str, write: Callable[[ResolvedFrame], str]) -> list[str]:
        """The same frames, each as ``write`` has it, which is kept under the name of the form."""
        found, end = self._look_up(stack)
        shown: list[str] = []
        for frames, texts, special in found:
            if special is not None and special.starts_thread:
                return [write(frame) for frame in self.frames(stack)]
            known = texts.get(form)
            if known is None:
                known = texts[form] = [write(frame) for frame in frames]
            shown += known
        return shown[:end]

    def _look_up(self, stack: Stack) -> tuple[list[_Shown], int]:
        """What is known of each address, and how many of the frames are shown.

        Of few stacks it is kept: each form of a report asks for those of an error, and many errors for that
        of their block.
        """
        self._check_options()
        known = self._looked_up.get(stack)
        if known is not None:
            return known
        found = list(map(self._shown.__getitem__, stack))
        count = after_main = after_start = 0
        for frames, _, special in found:
            if special is not None:
                after_main = count + special.main if special.main else after_main
                after_start = after_start or (count + special.start if special.start else 0)
            count += len(frames)
        if len(self._looked_up) >= _MOST_LOOKED_UP:
            self._looked_up.clear()
        known = self._looked_up[stack] = found, after_main or after_start or count
        return known

    def may_end(self, stack: Stack) -> bool:
        """Whether the frames that are shown could be those of the innermost address alone."""
        self._check_options()
        return len(stack) < 2 or self._shown[stack[0]].special is not None

    def _look_at(self, ip: int) -> _Shown:
        resolved = self._resolve(ip)
        if len(resolved) == 1 and resolved[0][1] is _Place.WITHIN:
            frame = resolved[0][0]
            return _Shown([frame], {}, _STARTS_THREAD if frame.symbol in _THREAD_STARTS else None)
        frames = [frame for frame, _ in resolved]
        places = [place for _, place in resolved]
        main = len(places) - places[::-1].index(_Place.MAIN) if _Place.MAIN in places else 0
        start = places.index(_Place.BELOW_MAIN) + 1 if _Place.BELOW_MAIN in places else 0
        starts_thread = any(frame.symbol in _THREAD_STARTS for frame in frames)
        special = _Special(main, start, starts_thread) if main or start or starts_thread else None
        return _Shown(frames, {}, special)

    def _text(self, frame: ResolvedFrame) -> str:
        return f"0x{frame.ip:X}: {describe_frame(frame, self.options)}"

    def _check_options(self) -> None:
        options = self.options
        key = (options.demangle, options.sym_offsets, options.show_below_main)
        if key != self._cache_key:
            self.forget()
            self._cache_key = key

    def _resolve(self, ip: int) -> tuple[tuple[ResolvedFrame, _Place], ...]:
        found = self._cache.get(ip)
        if found is None:
            if len(self._cache) >= _MOST_KNOWN:
                self._cache.clear()
            found = self._cache[ip] = self._resolved(ip)
        return found

    def _resolved(self, ip: int) -> tuple[tuple[ResolvedFrame, _Place], ...]:
        if self.hooks is not None and (hook := self.hooks.frame(ip)) is not None:
            name, path, line = hook
            folder, _, file = path.rpartition("/")
            frame = ResolvedFrame(ip, name, name, None, folder, file, line, raw_symbol=name)
            return ((frame, _Place.WITHIN),)
        looked_up = self.symbolizer.lookup(ip)
        # Above the 64 bits of an address may stand which of several objects was there then.
        shown = ip & _ADDRESS
        if not looked_up:
            return ((ResolvedFrame(shown, None, None), _Place.WITHIN),)
        if len(looked_up) > 1:
            if looked_up[-1].obj in self.options.own_objects:
                looked_up = looked_up[-1:]
            return tuple([self._frame(shown, frame) for frame in looked_up])
        return (self._frame(shown, looked_up[0]),)

    def _frame(self, ip: int, frame: FrameLike) -> tuple[ResolvedFrame, _Place]:
        options = self.options
        symbol, is_inlined = frame.function, frame.is_inlined
        name = (frame.demangled or symbol) if options.demangle else symbol
        place = _Place.WITHIN
        shown_symbol = symbol
        if not options.show_below_main and not is_inlined:
            if symbol in _BELOW_MAIN:
                name = shown_symbol = BELOW_MAIN_TEXT
                place = _Place.BELOW_MAIN
            elif symbol == _MAIN:
                place = _Place.MAIN
        if name and options.sym_offsets and not is_inlined and frame.sym_offset:
            name = f"{name}+{frame.sym_offset}"
        resolved = ResolvedFrame(ip, shown_symbol, name, frame.obj, frame.dir, frame.file, frame.line, symbol)
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
