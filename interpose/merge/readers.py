"""Reads one log as it comes, in pieces: text, XML, or JSON Lines of interpose or Valgrind.

A reader gives the errors that it could read, and what is wrong with the log: a rank that was killed leaves
one that breaks off anywhere.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import IO, Any
from xml.parsers import expat

from interpose.merge.groups import Error

_PIECE = 1 << 20
_LONGEST_LINE = 1 << 16  # bytes; what is longer is nobody's error
_LONGEST_ERROR = 500  # lines
_MOST_ERRORS = 50_000  # of one log
_PREFIX = re.compile(rb"(?m)^(==|\*\*|--)(?:\d\d:\d\d:\d\d:\d\d\.\d{3} )?\d+\1 ?")
_ADDRESS = re.compile(rb"0x[0-9A-Fa-f]+")
_TOLD = re.compile(r"(\d+) errors? in context \d+ of \d+:$")
_LEAK = re.compile(r"([\d,]+) (?:\([^)]*\) )?bytes in ([\d,]+) blocks (are .*?)(?: in loss record .*)?$")
_KILLED = "says that the process was killed"
_BANNERS = ("MPI: Active for pid", "MPI: Try MPIWRAP_DEBUG", "MPI: enter ", "MPI:  exit ", "MPI: request ")

Found = tuple[dict[str, Error], "str | None"]


def read(path: str) -> Found:
    """The errors of a log, by text, and what is wrong with it (None: nothing)."""
    try:
        # A pipe that nobody writes into would be waited for.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return {}, f"cannot be read: {error.strerror}"
    try:
        with open(fd, "rb", buffering=0) as file:
            first = file.read(4096) or b""
            if not first:
                return {}, "is empty"
            pieces = _pieces(first, file)
            start = first.lstrip()
            if start.startswith(b"<?xml") or start.startswith(b"<valgrindoutput"):
                return _Xml().read(pieces)
            if start.startswith(b'{"record"'):
                return _JsonLines().read(pieces)
            return _Text().read(pieces)
    except OSError as error:
        return {}, f"cannot be read: {error.strerror}"


def _pieces(first: bytes, file: IO[bytes]) -> Iterator[bytes]:
    yield first
    while piece := file.read(_PIECE):
        yield piece


def _lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Pieces of whole lines; the last one has no newline if the log breaks off. Long lines are cut."""
    rest = b""
    for piece in pieces:
        whole, newline, tail = piece.rpartition(b"\n")
        if newline:
            yield rest + whole + newline
            rest = tail[:_LONGEST_LINE]
        else:
            rest = (rest + tail)[:_LONGEST_LINE]
    if rest:
        yield rest


class _Collector:
    """The errors of one log; an error that comes again is counted again."""

    def __init__(self) -> None:
        self.errors: dict[str, Error] = {}

    def add(self, lines: list[str], times: int | None = None) -> str | None:
        """Add an error; ``times`` replaces what was counted so far. Returns the text that it is known by."""
        match = _LEAK.match(lines[0])
        amounts = None
        if match:
            amounts = int(match[1].replace(",", "")), int(match[2].replace(",", ""))
            lines = [f"blocks {match[3]}", *lines[1:]]
        text = "\n".join(lines[:_LONGEST_ERROR])
        before = self.errors.get(text)
        if before is None and len(self.errors) >= _MOST_ERRORS:
            return None
        if times is None:
            times = before.times + 1 if before else 1
        if before and before.amounts and amounts:
            # A leak search that ran twice says the same again.
            amounts = max(before.amounts, amounts)
            times = before.times
        self.errors[text] = Error(text, times, amounts)
        return text


class _Text:
    def __init__(self) -> None:
        self.collector = _Collector()
        self.block: list[str] = []
        self.has_stack = False
        self.told: int | None = None
        self.seen = self.has_banner = self.has_end = self.killed = False
        self.whole = True

    def read(self, pieces: Iterator[bytes]) -> Found:
        for piece in _lines(pieces):
            # Both are done for many lines at once, where Python is fast. The mark tells a log's lines.
            text = _ADDRESS.sub(b"0x...", _PREFIX.sub(rb"\1", piece)).decode("utf-8", "replace")
            for line in text.split("\n"):
                self._line(line)
            self.whole = piece.endswith(b"\n")
        if self.block and self.block[0].startswith("MPI: ") and self.whole:
            self._end_block()
        # Any other error is followed by a line: one that is not is not all there.
        return self.collector.errors, self._complaint()

    def _complaint(self) -> str | None:
        if not self.seen:
            return "is no log of interpose's or Valgrind's"
        if not self.whole:
            return "breaks off in a line"
        if self.has_banner and not self.has_end:
            return "ends before its summary: the process was killed, or runs"
        return _KILLED if self.killed else None

    def _line(self, line: str) -> None:
        mark, text = line[:2], line[2:]
        if mark != "==":
            if mark == "**":
                self.seen = True
                self._end_block()
                if text.startswith("MPI: ") and not text.startswith(_BANNERS):
                    self.block = [text]
                    self.has_stack = True  # nothing has to follow
            return
        self.seen = True
        if text.startswith(("   at 0x", "   by 0x")):
            if self.block:
                self.has_stack = True
                self.block.append(text[:6] + text[13:] if text[6:12] == "0x...:" else text)
        elif text.startswith(" ") and self.block:
            self.block.append(text)
        elif text and self.has_stack and self.block[0].startswith("MPI: ") and len(self.block) == 1:
            self._end_block()
            self.block = [text]
        else:
            self._end_block()
            if text:
                self._header(text)

    def _header(self, text: str) -> None:
        told = _TOLD.match(text)
        if told:
            self.told = int(told[1])
            return
        if text.startswith("Copyright (C)"):
            self.has_banner = True
        elif text.startswith("ERROR SUMMARY:"):
            self.has_end = True
        elif text.startswith("The program was killed"):
            self.killed = True
        self.block = [text]

    def _end_block(self) -> None:
        if self.block and self.has_stack:
            self.collector.add(self.block, self.told)
            self.told = None
        self.block = []
        self.has_stack = False


def _frame(first: bool, function: str | None, file: str | None, line: object, image: str | None) -> str:
    where = f"{file}:{line}" if file else f"in {image}" if image else ""
    return f"   {'at' if first else 'by'} {function or '???'}{f' ({where})' if where else ''}"


class _JsonLines:
    """``--json-file``'s records."""

    def read(self, pieces: Iterator[bytes]) -> Found:
        collector, ended, killed, complaint = _Collector(), False, False, None
        for piece in _lines(pieces):
            for line in piece.splitlines():
                try:
                    record = json.loads(line)
                    kind = record["record"]
                    if kind in ("error", "leak", "fatal_signal"):
                        collector.add(self._text(record))
                    elif kind == "message" and str(record.get("text", "")).startswith("MPI: "):
                        collector.add([str(record["text"]).rstrip()])
                    ended = ended or kind == "end"
                    killed = killed or (kind == "end" and record.get("how") == "killed")
                except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                    complaint = complaint or "breaks off in a record, or has one that cannot be read"
        if complaint is None and not ended:
            complaint = "ends before its last record: the process was killed, or runs"
        return collector.errors, complaint or (_KILLED if killed else None)

    def _text(self, record: dict[str, Any]) -> list[str]:
        what = str(record.get("what") or record.get("text") or record.get("name") or record["record"])
        lines = [_plain(what), *self._stack(record.get("stack") or [])]
        for more in (*(record.get("aux") or ()), *filter(None, [record.get("origin")])):
            lines += [" " + _plain(str(more.get("text", ""))), *self._stack(more.get("stack") or [])]
        return lines

    def _stack(self, frames: list[dict[str, Any]]) -> list[str]:
        return [
            _frame(i == 0, frame.get("function"), frame.get("file"), frame.get("line"), frame.get("object"))
            for i, frame in enumerate(frames)
        ]


def _plain(text: str) -> str:
    return _ADDRESS.sub(b"0x...", text.encode("utf-8", "replace")).decode()


class _Xml:
    """``--xml-file``'s elements, as they come."""

    def __init__(self) -> None:
        self.collector = _Collector()
        self.path: list[str] = []
        self.text: list[str] = []
        self.length = 0
        self.frame: dict[str, str] = {}
        self.lines: list[str] = []
        self.unique = ""
        self.by_unique: dict[str, str] = {}
        self.counts: dict[str, int] = {}
        self.pair: dict[str, str] = {}
        self.finished = False
        self.new_stack = False

    def read(self, pieces: Iterator[bytes]) -> Found:
        parser = expat.ParserCreate()
        # Entities of its own a log does not have: a file that defines some wants to be expanded without end.
        parser.EntityDeclHandler = self._entity
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._data
        complaint = None
        try:
            for piece in pieces:
                parser.Parse(piece)
            parser.Parse(b"", True)
        except (expat.ExpatError, ValueError) as error:
            complaint = f"breaks off, or is no XML: {error}"
        for unique, times in self.counts.items():
            text = self.by_unique.get(unique)
            if text is not None:
                known = self.collector.errors[text]
                self.collector.errors[text] = Error(text, times, known.amounts)
        if complaint is None and not self.finished:
            complaint = "ends before its last status: the process was killed, or runs"
        return self.collector.errors, complaint

    def _entity(self, *_: object) -> None:
        raise ValueError("it declares entities")

    def _start(self, name: str, _: object) -> None:
        self.path.append(name)
        if len(self.path) > 100:
            raise ValueError("its elements are nested too deeply")
        self.text, self.length = [], 0
        if name in ("error", "fatal_signal", "clientmsg"):
            self.lines, self.unique = [], ""
        elif name == "stack":
            self.new_stack = True
        elif name == "frame":
            self.frame = {}
        elif name == "pair":
            self.pair = {}

    def _data(self, text: str) -> None:
        if self.length < _LONGEST_LINE:
            self.text.append(text)
            self.length += len(text)

    def _end(self, name: str) -> None:
        text = "".join(self.text).strip()
        self.text, self.length = [], 0
        self.path.pop()
        parent = self.path[-1] if self.path else ""
        if parent == "frame":
            self.frame[name] = text
        elif name == "frame" and "suppression" not in self.path and len(self.lines) < _LONGEST_ERROR:
            frame = self.frame
            line = _frame(
                self.new_stack, frame.get("fn"), frame.get("file"), frame.get("line"), frame.get("obj")
            )
            self.lines.append(line)
            self.new_stack = False
        elif parent == "pair":
            self.pair[name] = text
        elif name == "pair" and parent == "errorcounts" and self.pair.get("count", "").isdigit():
            self.counts[self.pair.get("unique", "")] = int(self.pair["count"])
        elif parent == "error" and name == "unique":
            self.unique = text
        elif name == "what" or (name == "text" and parent in ("xwhat", "clientmsg")):
            self.lines.append(_plain(text))
        elif name == "auxwhat" or (name == "text" and parent == "xauxwhat"):
            self.lines.append(" " + _plain(text))
        elif parent == "fatal_signal" and name == "signame":
            self.lines.append(f"Process terminating with default action of signal ({text})")
        elif name == "state" and parent == "status":
            self.finished = self.finished or text == "FINISHED"
        elif name in ("error", "fatal_signal", "clientmsg"):
            self._add(name)

    def _add(self, name: str) -> None:
        if not self.lines:
            return
        first = self.lines[0]
        if name == "clientmsg" and (not first.startswith("MPI: ") or first.startswith(_BANNERS)):
            return
        known = self.collector.add(self.lines)
        if known is not None and self.unique:
            self.by_unique[self.unique] = known
