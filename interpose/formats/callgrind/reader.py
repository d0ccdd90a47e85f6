"""Reads a callgrind profile as a stream of records, in memory that the file's names bound."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from interpose.formats import FormatError
from interpose.formats.callgrind.limits import MAX_EVENTS, MAX_LINE, MAX_NUMBER, POSITIONS
from interpose.formats.callgrind.model import (
    Call,
    Cost,
    EventType,
    Function,
    Jump,
    Part,
    Profile,
    Record,
    shortened,
)

_CHUNK = 1 << 18
_COST_START = frozenset(b"0123456789+-*")
_SPEC = re.compile(rb"(ob|fl|fi|fe|fn|cob|cfi|cfl|cfn|job|jfi|jfn|calls|jump|jcnd)=[ \t]*(.*)", re.DOTALL)
_HEADER = re.compile(rb"([A-Za-z][A-Za-z0-9_-]*):[ \t]*(.*)", re.DOTALL)
_COMPRESSED = re.compile(rb"\((0x[0-9A-Fa-f]+|[0-9]+)\)[ \t]*(.*)", re.DOTALL)
_HEX = re.compile(rb"0x[0-9A-Fa-f]{1,32}")
_CONDITIONAL = re.compile(
    rb"([0-9]+|0x[0-9A-Fa-f]+)(?:[ \t]*/[ \t]*|[ \t]+)([0-9]+|0x[0-9A-Fa-f]+)[ \t]+(.*)", re.DOTALL
)
# Writers that end each part with a totals line: without it the file was cut off.
_ENDS_WITH_TOTALS = ("callgrind-", "interpose-")


_PLUS, _MINUS, _STAR = b"+-*"


class _Bad(Exception):
    """What is wrong with the line at hand."""


def _shown(word: bytes) -> str:
    return shortened(word[:80].decode("utf-8", "replace"))


def _number(word: bytes) -> int:
    value = -1
    if word.isdigit() and len(word) <= 32:
        value = int(word)
    elif _HEX.fullmatch(word):
        value = int(word, 16)
    if value < 0:
        raise _Bad(f"'{_shown(word)}' is no number")
    if value > MAX_NUMBER:
        raise _Bad(f"{_shown(word)} does not fit 64 bits")
    return value


def _position(word: bytes, base: int) -> int:
    """A subposition, absolute or relative to the last cost line's."""
    first = word[0]
    if first == _PLUS:
        value = base + _number(word[1:])
    elif first == _MINUS:
        value = base - _number(word[1:])
    elif first == _STAR and len(word) == 1:
        return base
    else:
        return _number(word)
    if not 0 <= value <= MAX_NUMBER:
        raise _Bad(f"the position {_shown(word)} from {base} is out of range")
    return value


def _costs(words: list[bytes]) -> tuple[int, ...]:
    digits = b"".join(words)
    # So few digits cannot be too large.
    if digits.isdigit() and (len(digits) < 20 or max(map(len, words)) < 20):
        return tuple(map(int, words))
    return tuple([_number(word) for word in words])


class _Names:
    """The names of one kind (objects, files or functions) by their ids."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._by_id: dict[int, str] = {}

    def resolve(self, value: bytes) -> str:
        """A name, an id with its name, or the id of a name that is known."""
        match = _COMPRESSED.fullmatch(value) if value.startswith(b"(") else None
        if match is None:
            return value.decode("utf-8", "surrogateescape")
        number = _number(match[1])
        if match[2]:
            name = match[2].decode("utf-8", "surrogateescape")
            self._by_id[number] = name
            return name
        try:
            return self._by_id[number]
        except KeyError:
            raise _Bad(f"({number}) is the id of no {self._kind} so far") from None


class Reader:
    """Iterates over a file: each ``Part`` when its header is complete, then its records.

    A part's ``totals`` (and a ``summary`` that stands at the end) are there once its last record was given.
    """

    def __init__(self, stream: BinaryIO, file: str = "<stream>") -> None:
        self.file = file
        self.line = 0
        self._stream = stream
        self._part = Part()
        self._in_body = False
        self._objects, self._files, self._functions = _Names("object"), _Names("file"), _Names("function")
        self._known: dict[Function, Function] = {}
        self._object = self._current_file = ""
        self._function = Function("", "", "")
        self._addr = self._at_line = 0
        self._has_addr, self._has_line = False, True
        # What cob=, cfi=, cfn= and job=, jfi=, jfn= say about the next association.
        self._target: dict[str, str] = {}
        self._pending: tuple[bytes, tuple[int, int | None], int, int] | None = None

    def __iter__(self) -> Iterator[Part | Record]:
        try:
            yield from self._records()
        except _Bad as bad:
            raise FormatError(self.file, str(bad), line=self.line) from None
        except OSError as error:
            raise FormatError(self.file, error.strerror or str(error), line=self.line) from error

    def _lines(self) -> Iterator[bytes]:
        rest = b""
        while chunk := self._stream.read(_CHUNK):
            lines = (rest + chunk).split(b"\n")
            rest = lines.pop()
            yield from lines
            if len(rest) > MAX_LINE:
                self.line += 1
                raise _Bad(f"the line is longer than {MAX_LINE} bytes")
        if rest:
            yield rest

    def _records(self) -> Iterator[Part | Record]:
        begun = False
        for text in self._lines():
            self.line += 1
            if not text:
                continue
            # Nearly all lines are costs, whose blanks at the end do no harm.
            if text[0] not in _COST_START:
                if text[:1].isspace() or text[-1:] == b"\r":
                    text = text.strip(b" \t\r") if text[:1].isspace() else text.rstrip(b"\r")
                if not text or text.startswith(b"#"):
                    continue
            if text[0] in _COST_START:
                if not self._in_body:
                    yield self._body()
                yield self._cost_line(text)
                continue
            if self._pending:
                raise _Bad(f"{self._pending[0].decode()}= must be followed by the line of its position")
            if (match := _SPEC.fullmatch(text)) is not None:
                if not self._in_body:
                    yield self._body()
                self._specification(match[1], match[2])
            elif (match := _HEADER.fullmatch(text)) is not None:
                begun = True
                if match[1] == b"totals" and not self._in_body:
                    yield self._body()
                self._header(match[1].decode(), match[2].decode("utf-8", "surrogateescape"))
            else:
                raise _Bad(f"'{_shown(text)}' is neither a header line, a position nor costs")
        if self._pending:
            raise _Bad(f"the file ends after {self._pending[0].decode()}=, before the line of its position")
        if not begun:
            raise _Bad("this is no callgrind profile: it has no header")
        if not self._in_body:
            yield self._body()
        self._end_part()

    # -- Header --

    def _body(self) -> Part:
        """The header is complete."""
        if not self._part.events:
            raise _Bad("there is no events: line before the first costs")
        self._in_body = True
        return self._part

    def _end_part(self) -> None:
        """A part is over: was it cut off?"""
        part = self._part
        if part.totals is None and part.creator is not None and part.creator.startswith(_ENDS_WITH_TOTALS):
            raise _Bad(f"the file is cut off: {part.creator.split()[0]} ends each part with a totals: line")

    def _header(self, key: str, value: str) -> None:
        if self._in_body:
            if key == "totals":
                self._part.totals = self._sum(value)
                return
            if key == "summary":
                self._part.summary = self._sum(value)
                return
            self._end_part()
            self._in_body = False
            # What a later header leaves out, an earlier one said; the rest is of one part alone.
            self._part = replace(
                self._part, part=None, thread=None, descriptions=[], event_types=dict(self._part.event_types),
                other=[], summary=None, totals=None, records=[],
            )  # fmt: skip
        part = self._part
        if key == "events":
            part.events = tuple(value.split())
            if len(part.events) > MAX_EVENTS:
                raise _Bad(f"there are {len(part.events)} events; {MAX_EVENTS} are the most")
        elif key == "positions":
            part.positions = tuple(value.split())
            if part.positions not in POSITIONS:
                raise _Bad(f"positions: '{shortened(value)}' is not 'line', 'instr' or 'instr line'")
            self._has_addr, self._has_line = "instr" in part.positions, "line" in part.positions
            # What is not declared is 0.
            self._addr *= self._has_addr
            self._at_line *= self._has_line
        elif key == "event":
            try:
                event = EventType.parse(value)
            except ValueError as error:
                raise _Bad(f"event: {error}") from None
            if len(part.event_types) >= MAX_EVENTS:
                raise _Bad(f"there are more than {MAX_EVENTS} event: lines")
            part.event_types[event.name] = event
        elif key == "desc":
            name, _, text = value.partition(":")
            part.descriptions.append((name.rstrip(" \t"), text.removeprefix(" ")))
        elif key in ("creator", "cmd"):
            setattr(part, key, value)
        elif key in ("version", "pid", "part", "thread"):
            number = _number(value.strip().encode("utf-8", "surrogateescape"))
            if key == "version" and number != 1:
                raise _Bad(f"the file has version {number}; version 1 is read")
            setattr(part, key, number)
        elif key == "summary":
            part.summary = self._sum(value)
        else:
            part.other.append((key, value))

    def _sum(self, value: str) -> tuple[int, ...]:
        words = value.encode("utf-8", "surrogateescape").split()
        if len(words) > MAX_EVENTS:
            raise _Bad(f"there are {len(words)} costs; {MAX_EVENTS} are the most")
        return tuple(_number(word) for word in words)

    # -- Body --

    def _specification(self, key: bytes, value: bytes) -> None:
        if key == b"fn":
            name = self._functions.resolve(value)
            self._function = self._interned(Function(self._object, self._current_file, name))
        elif key in (b"fi", b"fe", b"fl"):
            self._current_file = self._files.resolve(value)
        elif key == b"ob":
            self._object = self._objects.resolve(value)
        elif key in (b"cfn", b"jfn"):
            self._target["function"] = self._functions.resolve(value)
        elif key in (b"cfi", b"cfl", b"jfi"):
            self._target["file"] = self._files.resolve(value)
        elif key in (b"cob", b"job"):
            self._target["object"] = self._objects.resolve(value)
        else:
            self._association(key, value)

    def _association(self, key: bytes, value: bytes) -> None:
        """``calls=``, ``jump=`` or ``jcnd=``; the next line says where from."""
        if key == b"jcnd":
            match = _CONDITIONAL.fullmatch(value)
            if match is None:
                raise _Bad("jcnd= must give the jumps that were followed, the executed ones and a position")
            counts: tuple[int, int | None] = (_number(match[2]), _number(match[1]))
            words = match[3].split()
        else:
            words = value.split()
            if not words:
                raise _Bad(f"{key.decode()}= must give a count and a position")
            counts = (_number(words[0]), None)
            del words[0]
        if len(words) != len(self._part.positions):
            declared = " ".join(self._part.positions)
            raise _Bad(f"{key.decode()}= has {len(words)} target positions; '{declared}' is declared")
        if key == b"calls" and "function" not in self._target:
            raise _Bad("calls= without cfn=")
        addr, line = self._resolve(words)
        self._pending = (key, counts, addr, line)

    def _resolve(self, words: list[bytes]) -> tuple[int, int]:
        """Address and line of a list of subpositions; what is not declared is 0."""
        addr = _position(words[0], self._addr) if self._has_addr else 0
        line = _position(words[-1], self._at_line) if self._has_line else 0
        return addr, line

    def _cost_line(self, text: bytes) -> Record:
        words = text.split()
        part = self._part
        positions = len(part.positions)
        if not positions <= len(words) <= positions + len(part.events):
            raise _Bad(
                f"the line has {len(words)} numbers; {positions} for the position and up to "
                f"{len(part.events)} costs ({shortened(' '.join(part.events))}) are declared"
            )
        if self._has_addr:
            self._addr = _position(words[0], self._addr)
        if self._has_line:
            self._at_line = _position(words[positions - 1], self._at_line)
        addr, line = self._addr, self._at_line
        costs = _costs(words[positions:])
        if self._pending is None:
            return Cost(self._function, self._current_file, addr, line, costs)
        key, (executed, followed), target_addr, target_line = self._pending
        target = self._target
        file = target.get("file", self._current_file)
        self._pending = None
        self._target = {}
        if key == b"calls":
            callee = Function(target.get("object", self._object), file, target["function"])
            return Call(
                self._function, self._current_file, addr, line,
                self._interned(callee), executed, target_addr, target_line, costs,
            )  # fmt: skip
        function = self._function
        if "function" in target or "object" in target:
            function = Function(
                target.get("object", self._object), file, target.get("function", function.name)
            )
            function = self._interned(function)
        return Jump(
            self._function, self._current_file, addr, line,
            executed, followed, function, file, target_addr, target_line,
        )  # fmt: skip

    def _interned(self, function: Function) -> Function:
        """One object for each function, however often it is named."""
        return self._known.setdefault(function, function)


def read(source: str | Path | BinaryIO, file: str | None = None) -> Profile:
    """The whole of a file. A FormatError's ``partial`` is the profile as far as it was read."""
    if isinstance(source, (str, Path)):
        try:
            stream = open(source, "rb")
        except OSError as error:
            raise FormatError(str(source), error.strerror or str(error), partial=Profile()) from error
        with stream:
            return read(stream, str(source))
    profile = Profile()
    records: list[Record] = []
    try:
        for record in Reader(source, file or getattr(source, "name", None) or "<stream>"):
            if isinstance(record, Part):
                profile.parts.append(record)
                records = record.records
            else:
                records.append(record)
    except FormatError as error:
        error.partial = profile
        raise
    return profile
