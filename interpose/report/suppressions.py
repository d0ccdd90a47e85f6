"""Suppression files: parser, matcher, generator (docs/spec/suppressions.md).

The format is Valgrind's, so its files work unchanged.  Which kinds exist, and what their extra lines mean, a
tool says in a :class:`Component`; the component ``CoreError`` of the core stands beside it.
"""

from __future__ import annotations

from interpose.errors import InterposeError
from interpose.paths import HEAP_STUBS, STUBS
from interpose.wildcards import compile_pattern

from . import given
from .stack import BELOW_MAIN_TEXT, ResolvedFrame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from dataclasses import dataclass, field
    from typing import Any, Protocol

    from .errors import Error
    from .suppression_index import SuppressionIndex
else:
    from interpose.records import dataclass, field

    Protocol = object

if TYPE_CHECKING:
    Use = tuple["Suppression", int, int]

_FRAME_PREFIXES = ("fun:", "obj:", "src:")
_ELLIPSIS = "..."
_BAD_EXTRA = "bad or missing extra suppression info"
_EOF_STACK = "unexpected end-of-file (when reading stack trace)"
_MANY = 16
"""So many entries of one kind are looked through one by one for each error; more have an index."""
_BLANKS = " \t\n\v\f\r"
_REPLACEMENTS = (f"/{STUBS}", f"/{HEAP_STUBS}")
_OLDER_NAMES = {
    "posix_memalign": (("memalign", "posix_memalign"),),
    "valloc": (("memalign",),),
    "reallocarray": (("realloc",), ("malloc",)),
}
"""Replacements that Valgrind 3.19 shows by others: as calls of these, or in their place."""
PLACEHOLDER = "insert_a_suppression_name_here"


class SuppressionFileError(InterposeError):
    """A suppression file that cannot be used; its ``lines()`` are for the log, and the run ends."""

    @classmethod
    def near(cls, path: str, line: int, message: str) -> SuppressionFileError:
        return cls(f'FATAL: in suppressions file "{path}" near line {line}:', f"   {message}", "exiting now.")


class Extra(Protocol):
    """The meaning of one kind's extra line."""

    def parse(self, line: str, /) -> Any:
        """The value of an extra line; None if it is no extra line but a frame; ValueError if it is bad."""

    def matches(self, value: Any, error: Error, /) -> bool:
        """Whether a parsed value (None: the line was absent) admits the error."""

    @property
    def required(self) -> bool: ...


def looks_like_frame(line: str) -> bool:
    """``fun:``, ``obj:`` and ``...`` are always frames, never extra lines; ``src:`` is not (section 7)."""
    return line == _ELLIPSIS or line.startswith(("fun:", "obj:"))


@dataclass(frozen=True)
class ExactExtra:
    """A line that must equal the error's own extra text: mandatory, or else absent meaning anything."""

    required: bool = True
    form: str | None = None
    """A regular expression that an optional line must match as a whole."""

    def parse(self, line: str) -> str | None:
        if not self.required and (looks_like_frame(line) or line == "}"):
            return None
        if self.required and (looks_like_frame(line) or line.startswith("src:")):
            raise ValueError(line)
        if self.form is not None:
            import re

            if not re.fullmatch(self.form, line):
                raise ValueError(line)
        return line

    def matches(self, value: str | None, error: Error) -> bool:
        return value is None or value == error.suppression_extra


@dataclass(frozen=True)
class Component:
    """The kinds of one component: canonical name → meaning of its extra line, and old names."""

    name: str
    kinds: dict[str, Extra | None]
    aliases: dict[str, str] = field(default_factory=dict)
    unknown: str = "unknown tool suppression type"


CORE_ERRORS = Component(
    "CoreError",
    {"FdBadClose": None, "FdNotClosed": None, "FdBadUse": None, "Thread": None},
    unknown="unknown core suppression type",
)
"""Core kinds (docs/spec/output.md section 3.2); ``Thread`` is accepted because older files use it."""


@dataclass(frozen=True)
class FramePattern:
    """One frame line: ``fun:``, ``obj:``, ``src:`` or ``...`` (empty kind)."""

    kind: str
    pattern: str = ""
    line: int | None = None

    def matches(self, frame: ResolvedFrame) -> bool:
        match = compile_pattern(self.pattern)
        if self.kind == "fun":
            return bool(match(frame.symbol or "???") or match(frame.raw_symbol or "???"))
        if self.kind == "obj":
            return bool(match(frame.obj or "???"))
        if frame.file is None or (self.line is not None and self.line != frame.line):
            return False
        return bool(match(frame.file) or (frame.dir and match(f"{frame.dir}/{frame.file}")))


@dataclass(eq=False)
class Suppression:
    """One entry, with the counts that the list of used suppressions shows."""

    name: str
    path: str
    line: int
    component: str
    kind: str
    extra: Any
    meaning: Extra | None
    frames: tuple[FramePattern, ...]
    count: int = 0
    blocks: int = 0
    """Blocks and bytes suppressed by the last leak search."""
    bytes: int = 0
    last_use: int = 0

    def matches(self, error: Error, frames: Sequence[ResolvedFrame], num_callers: int) -> bool:
        if self.kind != error.kind.suppression or self.component != error.kind.component:
            return False
        if self.meaning is not None and not self.meaning.matches(self.extra, error):
            return False
        return match_frames(self.frames[:num_callers], frames)


def match_frames(patterns: Sequence[FramePattern], frames: Sequence[ResolvedFrame]) -> bool:
    """Whether the patterns match the innermost frames; what lies beyond the last pattern does not matter."""
    # The usual two-pointer wildcard match: on a mismatch, the latest "..." swallows one frame more.
    at = pos = 0
    star = -1
    star_pos = 0
    while at < len(patterns):
        if patterns[at].kind == "":
            star, star_pos = at, pos
            at += 1
        elif pos < len(frames) and patterns[at].matches(frames[pos]):
            at += 1
            pos += 1
        elif star >= 0 and star_pos < len(frames):
            star_pos += 1
            pos = star_pos
            at = star + 1
        else:
            return pos == len(frames) and _is_beyond_the_start(patterns[at:], frames)
    return True


def _is_beyond_the_start(patterns: Sequence[FramePattern], frames: Sequence[ResolvedFrame]) -> bool:
    """Whether the patterns left over are for what Valgrind shows where nothing is.

    It goes on beyond the entry of the dynamic linker (which has no symbol) or of the program, through the
    program's arguments, which become lines of `obj:*` in suppressions of initialisers.
    """
    if not frames or frames[-1].symbol not in (None, BELOW_MAIN_TEXT, "_start"):
        return False
    return all((pattern.kind, pattern.pattern) == ("obj", "*") for pattern in patterns)


def _older_stacks(frames: Sequence[ResolvedFrame]) -> Iterator[Sequence[ResolvedFrame]]:
    """The same stack as files written for Valgrind 3.19 have it, where it shows the innermost otherwise."""
    first = frames[0] if frames else None
    if first and first.symbol in _OLDER_NAMES and (first.obj or "").endswith(_REPLACEMENTS):
        for names in _OLDER_NAMES[first.symbol]:
            yield [*(first._replace(symbol=name, name=name, raw_symbol=name) for name in names), *frames[1:]]


class _Lines:
    """The lines of a file that mean something, stripped, with the number of the last line read."""

    def __init__(self, text: str) -> None:
        # The bytes of names are anything else: str.splitlines and str.strip know of more than C's isspace.
        self._lines = text.removesuffix("\n").split("\n")
        self.number = 0

    def next(self) -> str | None:
        while self.number < len(self._lines):
            line = self._lines[self.number].strip(_BLANKS)
            self.number += 1
            if line and not line.startswith("#"):
                return line
        return None


def parse(text: str, path: str, components: Iterable[Component]) -> list[Suppression]:
    """The entries of a file that are for these components; entries for others are skipped."""
    by_name = {component.name: component for component in components}
    lines = _Lines(text)
    found = []
    while (line := lines.next()) is not None:
        if line != "{":
            raise SuppressionFileError.near(path, lines.number, "expected '{' or end-of-file")
        entry = _entry(lines, path, by_name)
        if entry is not None:
            found.append(entry)
    return found


def _entry(lines: _Lines, path: str, components: dict[str, Component]) -> Suppression | None:
    def fail(message: str) -> SuppressionFileError:
        return SuppressionFileError.near(path, lines.number, message)

    name = lines.next()
    if name is None or name == "}":
        raise fail("unexpected '}'")
    name_line = lines.number
    head = lines.next()
    if head is None:
        raise fail("unexpected end-of-file (expecting tool:suppr)")
    tools, colon, kind = head.partition(":")
    if not colon:
        raise fail("malformed 'tool1,tool2,...:supp' line")
    component = next((components[tool] for tool in tools.split(",") if tool in components), None)
    if component is None:
        while (line := lines.next()) != "}":
            if line is None:
                raise fail("unexpected end-of-file (when skipping suppression)")
        return None
    kind = component.aliases.get(kind, kind)
    if kind not in component.kinds:
        raise fail(component.unknown)
    meaning = component.kinds[kind]

    line = lines.next()
    extra = None
    if meaning is not None and line is not None:
        try:
            extra = meaning.parse(line)
        except ValueError:
            raise fail(_BAD_EXTRA) from None
        if extra is not None:
            line = lines.next()
    if line == "}":
        raise fail("missing stack trace" if meaning is None else _BAD_EXTRA)
    frames = []
    while line != "}":
        if line is None:
            raise fail(_EOF_STACK)
        frames.append(_frame(line, fail))
        line = lines.next()
    if all(frame.kind == "" for frame in frames):
        raise fail('suppression must contain at least one location line which is not "..."')
    return Suppression(name, path, name_line, component.name, kind, extra, meaning, tuple(frames))


def _frame(line: str, fail: Callable[[str], SuppressionFileError]) -> FramePattern:
    if line == _ELLIPSIS:
        return FramePattern("")
    if not line.startswith(_FRAME_PREFIXES):
        raise fail('location should be "...", or should start with "fun:", "obj:", or "src:"')
    kind, pattern = line[:3], line[4:]
    if kind == "src":
        file, colon, number = pattern.rpartition(":")
        if colon and (number.isdecimal() or not number.strip("*?")):
            at = int(number) if number.isdecimal() else 0
            return FramePattern("src", file, at or None)  # as Valgrind: what is no number is any line
    return FramePattern(kind, pattern)


class Suppressions:
    """All entries in force. The one used last is tried first, of unused ones the one read last."""

    def __init__(self, components: Sequence[Component]) -> None:
        self.components = tuple(components)
        self._by_kind: dict[tuple[str, str], list[Suppression]] = {}
        self._indices: dict[tuple[str, str], SuppressionIndex] = {}
        self._uses = 0

    def load(self, path: str) -> int:
        """Read one more file; the number of entries that are for us."""
        try:
            text = given.read(path)
        except IsADirectoryError:
            raise SuppressionFileError(f'FATAL: suppressions file "{path}" is a directory') from None
        except OSError:
            raise SuppressionFileError(f'FATAL: can\'t open suppressions file "{path}"') from None
        return self.add(text, path)

    def add(self, text: str, path: str = "<text>") -> int:
        """Take the entries of a text; ``path`` is what messages name."""
        entries = parse(text, path, self.components)
        for entry in entries:
            self._by_kind.setdefault((entry.component, entry.kind), []).append(entry)
        return len(entries)

    def concern(self, error: Error) -> bool:
        """Whether any entry may match, whatever the frames are."""
        return any(
            entry.meaning is None or entry.meaning.matches(entry.extra, error)
            for entry in self._by_kind.get((error.kind.component, error.kind.suppression), ())
        )

    def match(self, error: Error, frames: Sequence[ResolvedFrame], num_callers: int) -> Suppression | None:
        """The first entry that matches, in that order; its use is counted."""
        kind = (error.kind.component, error.kind.suppression)
        for stack in (frames, *_older_stacks(frames)):
            entries = reversed(self._worth_a_look(kind, stack, num_callers))
            for entry in sorted(entries, key=lambda entry: -entry.last_use):
                if entry.matches(error, stack, num_callers):
                    self._uses += 1
                    entry.count += 1
                    entry.last_use = self._uses
                    return entry
        return None

    def _worth_a_look(
        self, kind: tuple[str, str], frames: Sequence[ResolvedFrame], num_callers: int
    ) -> Sequence[Suppression]:
        entries = self._by_kind.get(kind, [])
        if len(entries) < _MANY:
            return entries
        index = self._indices.get(kind)
        if index is None or (index.count, index.num_callers) != (len(entries), num_callers):
            from .suppression_index import SuppressionIndex

            index = self._indices[kind] = SuppressionIndex(entries, num_callers)
        return index.candidates(frames)

    def used(self) -> list[Suppression]:
        """The entries that matched something, the most recently matched one first."""
        entries = [entry for group in self._by_kind.values() for entry in group if entry.count]
        return sorted(entries, key=lambda entry: -entry.last_use)

    def uses(self) -> list[Use]:
        """Those entries and how often they matched; :meth:`used_so` has it so again."""
        return [(entry, entry.count, entry.last_use) for entry in self.used()]

    def used_so(self, uses: Sequence[Use]) -> None:
        """Forget what matched since, or with another process's errors."""
        for entry in self.used():
            entry.count = 0
        for entry, count, last_use in uses:
            entry.count, entry.last_use = count, last_use

    def reset_leaks(self) -> None:
        """Forget bytes and blocks of the last leak search: the next one starts them anew."""
        for entry in self.used():
            entry.bytes = entry.blocks = 0


@dataclass(frozen=True)
class GeneratedSuppression:
    """A candidate for ``--gen-suppressions``."""

    kind: str
    extra: str | None
    frames: tuple[tuple[str, str], ...]

    def lines(self) -> list[str]:
        text = ["{", f"   <{PLACEHOLDER}>", f"   {self.kind}"]
        if self.extra is not None:
            text.append(f"   {self.extra}")
        text += [f"   {kind}:{_as_pattern(value)}" for kind, value in self.frames]
        text.append("}")
        return text


def _as_pattern(name: str) -> str:
    """A name as a frame line says it: blanks at its end would be stripped, and a line feed ends the line."""
    kept = name.rstrip(_BLANKS)
    return kept.replace("\n", "?") + "?" * (len(name) - len(kept))


def generate(error: Error, frames: Sequence[ResolvedFrame]) -> GeneratedSuppression | None:
    """What would suppress the error; None if it has no stack."""
    if not frames:
        return None
    return GeneratedSuppression(
        f"{error.kind.component}:{error.kind.suppression}",
        error.suppression_extra,
        tuple([("fun", frame.symbol) if frame.symbol else ("obj", frame.obj or "*") for frame in frames]),
    )
