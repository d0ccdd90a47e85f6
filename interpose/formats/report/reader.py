"""Reads reports, ours and Valgrind's: record by record, whatever the file says."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterable, Mapping
from typing import IO, Any

from interpose.formats import FormatError
from interpose.formats.report.model import (
    LEAK_KINDS,
    ClientMessage,
    Error,
    FatalSignal,
    Frame,
    HeapSummary,
    Leak,
    Mark,
    Part,
    Process,
    Report,
    Suppression,
    SuppressionUse,
    Thread,
    Totals,
)
from interpose.report.jsonversion import FORMAT, VERSION

MAX_LINE = 64 << 20
"""Bytes; a record has some thousands."""
_HEAD = 64


class _BadRecordError(ValueError):
    """A record that is not what its kind asks for."""


class _Fields:
    """The members of an object, by their types; one that is absent is None or its default."""

    def __init__(self, value: Any, what: str) -> None:
        if not isinstance(value, dict):
            raise _BadRecordError(f"{what} is no object")
        self._of: Mapping[str, Any] = value
        self._what = what

    def __contains__(self, name: str) -> bool:
        return self._of.get(name) is not None

    def _bad(self, name: str, wanted: str) -> _BadRecordError:
        return _BadRecordError(f"{self._what}: {name!r} is no {wanted}")

    def text(self, name: str) -> str:
        """A text that must be there."""
        found = self.maybe(name)
        if found is None:
            raise _BadRecordError(f"{self._what}: {name!r} is missing")
        return found

    def maybe(self, name: str) -> str | None:
        found = self._of.get(name)
        if found is None:
            return None
        if not isinstance(found, str):
            raise self._bad(name, "text")
        return _whole(found)

    def number(self, name: str, default: int | None = None) -> int:
        found = self.maybe_number(name)
        if found is not None:
            return found
        if default is None:
            raise _BadRecordError(f"{self._what}: {name!r} is missing")
        return default

    def maybe_number(self, name: str) -> int | None:
        found = self._of.get(name)
        if found is None:
            return None
        if not isinstance(found, int) or isinstance(found, bool) or not -(1 << 63) <= found < 1 << 64:
            raise self._bad(name, "64-bit number")
        return found

    def address(self, name: str) -> int | None:
        """A number that is written as hexadecimal text."""
        found = self.maybe(name)
        if found is None:
            return None
        try:
            value = int(found, 16)
        except ValueError:
            raise self._bad(name, "address") from None
        if not 0 <= value < 1 << 64 or found[:2] != "0x":
            raise self._bad(name, "address")
        return value

    def items(self, name: str) -> list[Any]:
        found = self._of.get(name)
        if found is None:
            return []
        if not isinstance(found, list):
            raise self._bad(name, "list")
        return found

    def texts(self, name: str) -> tuple[str, ...]:
        found = self.items(name)
        if not all(isinstance(each, str) for each in found):
            raise self._bad(name, "list of texts")
        return tuple(map(_whole, found))

    def fields(self, name: str) -> _Fields | None:
        found = self._of.get(name)
        return None if found is None else _Fields(found, f"{self._what}: {name!r}")

    def all_fields(self, name: str) -> list[_Fields]:
        return [_Fields(each, f"{self._what}: {name!r}") for each in self.items(name)]

    def names(self) -> Iterable[str]:
        return self._of.keys()


def _whole(text: str) -> str:
    """Halves of surrogate pairs, which no file or terminal takes, become question marks."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


class Reader:
    """Takes records one by one; :attr:`report` is what they say so far."""

    def __init__(self, name: str = "report") -> None:
        """``name`` is for messages."""
        self.name = name
        self.report = Report()
        self.line = 0
        self.news: list[tuple[Error, int]] = []
        """Errors and loss records, and how often each has happened, for whoever empties the list."""
        self._by_number: dict[tuple[int, int], Error] = {}
        self._process: dict[int, Process] = {}
        self._kinds: dict[str, Callable[[int, _Fields], None]] = {
            "start": self._start,
            "error": self._error,
            "leak": self._error,
            "repeats": self._repeats,
            "leak_summary": self._leak_summary,
            "heap_summary": self._heap_summary,
            "summary": self._summary,
            "fatal_signal": self._fatal_signal,
            "client_message": self._client_message,
            "mark": self._mark,
            "end": self._end,
        }

    def feed(self, line: bytes | str) -> str | None:
        """Take one line; the kind of its record, None for an empty line."""
        self.line += 1
        if not line.strip():
            return None
        try:
            fields = _Fields(json.loads(line), "the record")
            kind = fields.text("record")
            pid = fields.number("pid")
            if kind != "start" and pid not in self._process:
                raise _BadRecordError(f"process {pid} did not start")
            handle = self._kinds.get(kind)
            if handle is not None:  # a newer version may have more kinds
                handle(pid, fields)
        except _BadRecordError as error:
            raise FormatError(self.name, str(error), line=self.line, partial=self.report) from None
        except (ValueError, RecursionError) as error:
            reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
            raise FormatError(self.name, f"no JSON: {reason}", line=self.line) from None
        return kind

    def read(self, stream: IO[bytes]) -> Report:
        """Take a whole file; a line without its end was being written when its writer was killed."""
        from interpose.formats.report import valgrindxml

        if not stream.seekable():  # a pipe; the report is kept anyway
            stream = io.BytesIO(stream.read())
        head = stream.read(_HEAD)
        stream.seek(0)
        if valgrindxml.is_xml(head):
            for record in valgrindxml.lines(stream, self.name):
                self.feed(record)
            return self.finish()
        while line := stream.readline(MAX_LINE):
            if not line.endswith(b"\n"):
                if len(line) >= MAX_LINE:
                    raise FormatError(self.name, "the line is too long", line=self.line + 1)
                self.report.complete = False
                break
            self.feed(line)
        return self.finish()

    def finish(self) -> Report:
        """No more will come."""
        if not self.report.processes:
            raise FormatError(self.name, "this is no report: it does not begin with a record 'start'")
        if any(process.how is None for process in self._process.values()):
            self.report.complete = False
        return self.report

    # -- records -------------------------------------------------------------------------------

    def _start(self, pid: int, fields: _Fields) -> None:
        if fields.maybe("format") != FORMAT:
            raise _BadRecordError(f"the format is not {FORMAT!r}")
        if fields.number("version") > VERSION:
            raise _BadRecordError(
                f"version {fields.number('version')} is newer than this reader's, {VERSION}"
            )
        process = Process(
            pid=pid,
            ppid=fields.number("ppid"),
            reason=fields.text("reason"),
            tool=fields.text("tool"),
            command=fields.texts("command"),
            options=fields.texts("options"),
            folder=fields.maybe("folder"),
            started=fields.maybe("time"),
        )
        before = self._process.get(pid)
        if process.reason == "exec" and before is not None and before.how is None:
            before.how = "exec"
        self._process[pid] = process
        self.report.processes.append(process)

    def _error(self, pid: int, fields: _Fields) -> None:
        common: dict[str, Any] = {
            "pid": pid,
            "number": fields.number("number"),
            "kind": fields.text("kind"),
            "what": fields.text("what"),
            "thread": _thread(fields),
            "stack": _stack(fields),
            "aux": tuple(map(_part, fields.all_fields("aux"))),
            "origin": None if (origin := fields.fields("origin")) is None else _part(origin),
            "size": fields.maybe_number("size"),
            "address": fields.address("address"),
            "fd": fields.maybe_number("fd"),
            "path": fields.maybe("path"),
            "suppression": _suppression(fields.fields("suppression")),
            "suppressed_by": _use(fields.fields("suppressed_by")),
        }
        if common["kind"] in LEAK_KINDS:
            amounts = ("bytes", "blocks", "direct_bytes", "indirect_bytes", "indirect_blocks")
            before = ("bytes_before", "blocks_before")
            common.update({name: fields.number(name, 0) for name in (*amounts, *before)})
            leak = Leak(**common)
            if leak.suppressed_by is None:
                self.report.leaks.append(leak)
                self.news.append((leak, 1))
            else:
                self.report.suppressed.append(leak)
            return
        error = Error(**common)
        if error.suppressed_by is None:
            self.report.errors.append(error)
            self.news.append((error, 1))
        else:
            self.report.suppressed.append(error)
        self._by_number[(pid, error.number)] = error

    def find(self, pid: int, number: int) -> Error | None:
        """An error by its number in a process, which may have got it from the one that forked it."""
        seen = set()
        while pid not in seen:
            seen.add(pid)
            if (error := self._by_number.get((pid, number))) is not None:
                return error
            process = self._process.get(pid)
            if process is None:
                break
            pid = process.ppid
        return None

    def _repeats(self, pid: int, fields: _Fields) -> None:
        for each in fields.all_fields("errors"):
            error = self.find(pid, each.number("number"))
            if error is not None:
                error.count += each.number("new")
                self.news.append((error, each.number("new")))

    def _leak_summary(self, pid: int, fields: _Fields) -> None:
        self._process[pid].leaks = {
            name: Totals(totals.number("bytes"), totals.number("blocks"))
            for name in (*LEAK_KINDS.values(), "suppressed")
            if (totals := fields.fields(name)) is not None
        }

    def _heap_summary(self, pid: int, fields: _Fields) -> None:
        names = ("bytes_in_use", "blocks_in_use", "allocs", "frees", "bytes_allocated")
        self._process[pid].heap = HeapSummary(**{name: fields.number(name) for name in names})

    def _summary(self, pid: int, fields: _Fields) -> None:
        process = self._process[pid]
        for name in ("errors", "contexts", "suppressed", "suppressed_contexts"):
            setattr(process, name, fields.number(name))
        uses = map(_use, fields.all_fields("suppressions"))
        process.suppressions = tuple(use for use in uses if use is not None)

    def _fatal_signal(self, pid: int, fields: _Fields) -> None:
        self.report.fatal_signals.append(
            FatalSignal(
                pid=pid,
                signal=fields.number("signal"),
                name=fields.text("name"),
                code=fields.number("code"),
                thread=_thread(fields),
                event=fields.maybe("event"),
                address=fields.address("address"),
                stack=_stack(fields),
            )
        )

    def _client_message(self, pid: int, fields: _Fields) -> None:
        message = ClientMessage(pid, fields.text("text"), _thread(fields), _stack(fields))
        self.report.client_messages.append(message)

    def _mark(self, pid: int, fields: _Fields) -> None:
        self.report.marks.append(Mark(pid, fields.text("text"), len(self.report.errors)))

    def _end(self, pid: int, fields: _Fields) -> None:
        process = self._process[pid]
        process.how = fields.text("how")
        process.code = fields.maybe_number("code")
        process.signal = fields.maybe_number("signal")
        process.ended = fields.maybe("time")


def _thread(fields: _Fields) -> Thread | None:
    found = fields.fields("thread")
    return None if found is None else Thread(found.number("id"), found.maybe("name"))


def _stack(fields: _Fields) -> tuple[Frame, ...]:
    return tuple(
        Frame(
            ip=frame.address("ip") or 0,
            object=frame.maybe("object"),
            function=frame.maybe("function"),
            symbol=frame.maybe("symbol"),
            directory=frame.maybe("directory"),
            file=frame.maybe("file"),
            line=frame.maybe_number("line"),
        )
        for frame in fields.all_fields("stack")
    )


def _part(fields: _Fields) -> Part:
    return Part(
        text=fields.text("text"),
        stack=_stack(fields),
        directory=fields.maybe("directory"),
        file=fields.maybe("file"),
        line=fields.maybe_number("line"),
    )


def _suppression(fields: _Fields | None) -> Suppression | None:
    if fields is None:
        return None
    return Suppression(
        fields.text("kind"), fields.texts("frames"), fields.text("text"), fields.maybe("extra")
    )


def _use(fields: _Fields | None) -> SuppressionUse | None:
    if fields is None:
        return None
    counts = {name: fields.number(name, 0) for name in ("count", "bytes", "blocks")}
    return SuppressionUse(fields.text("name"), fields.text("file"), fields.number("line"), **counts)


def read(path: str | os.PathLike[str], *more: str | os.PathLike[str]) -> Report:
    """The report of a file, or of several: those that the processes of one run have written."""
    reader = Reader()
    for each in (path, *more):
        reader.name, reader.line = os.fspath(each), 0
        try:
            with open(each, "rb") as stream:
                reader.read(stream)
        except OSError as error:
            raise FormatError(reader.name, error.strerror or str(error)) from None
    return reader.report
