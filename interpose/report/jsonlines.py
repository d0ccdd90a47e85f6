"""The report in JSON Lines (docs/json.md): one record a line, each written whole as soon as it is known.

So a program that is killed leaves all that was found, and several processes may share one file: every record
tells its process.  The schema is `interpose/formats/report/schema.json`, its reader is there, too.
"""

from __future__ import annotations

import contextlib
import copy
import json.encoder
import os
import time
from json.encoder import JSONEncoder, encode_basestring

from interpose import __version__
from interpose.errors import InterposeError

from .errors import AuxPart, Error
from .jsonversion import FORMAT, VERSION
from .log import FileNames, RecordOutput, open_destination
from .stack import ResolvedFrame, Stack, StackResolver
from .suppressions import GeneratedSuppression, generate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from interpose.options.parse import Config

    from .documents import Document
    from .errors import ErrorManager
    from .suppressions import Suppression


_encoder = JSONEncoder(separators=(",", ":"), ensure_ascii=False, check_circular=False)


def _made_encode() -> Callable[[Any], str]:
    """What ``JSONEncoder.encode`` does, by an encoder that is made once, not for each record."""
    make = json.encoder.c_make_encoder  # type: ignore[attr-defined]
    if make is None:
        return _encoder.encode
    encode = make(None, _encoder.default, encode_basestring, None, ":", ",", False, False, _encoder.allow_nan)
    return lambda value: "".join(encode(value, 0))


_encode = _made_encode()


def _text(value: str) -> str:
    """Bytes that are no UTF-8, which JSON cannot hold, as ``\\xNN``."""
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return {key: _clean(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(each) for each in value]
    return value


class Encoded(str):
    """A value that is JSON already: most frames of a stack are in many records."""

    __slots__ = ()


def _object(record: dict[str, Any]) -> str:
    text = _encode(record)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            text = _encode(_clean(record))
    return text


def line_of(record: dict[str, Any]) -> str:
    """A record as one line, without its end."""
    parts = []
    values: dict[str, Any] = {}
    for name, value in record.items():
        if not isinstance(value, Encoded):
            values[name] = value
            continue
        if values:
            parts.append(_object(values)[1:-1])
            values = {}
        parts.append(f'"{name}":{value}')
    if not parts:
        return _object(values)
    if values:
        parts.append(_object(values)[1:-1])
    return f"{{{','.join(parts)}}}"


def _list(items: Iterable[str]) -> Encoded:
    """An array of what is JSON already."""
    return Encoded(f"[{','.join(items)}]")


class JsonReport(RecordOutput):
    """Writes records; knows the process and nothing of the tool."""

    what = "json"

    def __init__(self, fd: int | None, pid: int, *, names: FileNames, template: str | None = None) -> None:
        super().__init__(fd, pid, names=names, template=template)
        self.counted: dict[int, int] = {}
        """How often each error, by its number, has happened as far as the report says."""
        self._number = 0
        """Of the last error: numbers go on over an exec, where the tool's begin anew."""
        self.before = 0
        self._has_begun = False
        self.documents: list[Document] = []
        """What is made of the records at the end."""

    @classmethod
    def open(cls, config: Config, names: FileNames) -> JsonReport:
        """The report that the options ask for; raises as the log."""
        core = config.core
        fd = open_destination(names, cls.what, core.json_kind, core.json_fd, core.json_file, core.json_socket)
        report = cls(
            fd, names.pid, names=names, template=core.json_file if core.json_kind == "file" else None
        )
        if core.sarif_file is not None or core.html_file is not None:
            from .documents import wanted

            report.documents = wanted(config, names)
        return report

    def descriptors(self) -> list[int]:
        """What the supervisor must keep."""
        kept = [fd for document in self.documents for fd in document.descriptors()]
        return kept if self.fd is None else [self.fd, *kept]

    # -- writing -------------------------------------------------------------------------------

    def record(self, kind: str, /, **content: Any) -> None:
        """Write a record of this process; what is None is left out."""
        shown = {name: value for name, value in content.items() if value is not None}
        line = line_of({"record": kind, "pid": self.pid, **shown}) + "\n"
        self._write(line)
        if self.documents and not self.silent:
            for document in self.documents:
                document.add(line.encode("utf-8", "surrogateescape"))

    def moved(self, pid: int, *, silent: bool = False) -> bool:
        """Serve another process; true if a file of its own was opened."""
        for document in self.documents:
            document.moved()
        return super().moved(pid, silent=silent)

    def of_child(self, pid: int) -> JsonReport:
        """The one of a further process of this supervisor's, in files of its own if their names say so."""
        assert self.names is not None
        child = copy.copy(self)
        child.counted = {}
        child.names = FileNames(pid, self.names.environ, self.names.folder)
        child.documents = []
        for document in self.documents:
            with contextlib.suppress(InterposeError, OSError):
                child.documents.append(document.of_child(child.names))
        if self.fd is not None:
            child.fd = os.dup(self.fd)
        RecordOutput.moved(child, pid)
        return child

    def write_documents(self) -> list[str]:
        """The process has ended; what is wrong with files that could not be written."""
        complaints = []
        for document in self.documents:
            try:
                document.write(self.pid)
            except (OSError, InterposeError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                complaints.append(f"Cannot write the {document.form} file: {reason}")
        return complaints

    # -- life ----------------------------------------------------------------------------------

    def start(self, reason: str, config: Config, argv: Sequence[str], parent: int) -> None:
        """A program begins: ``start``, ``attach``, ``fork`` or ``exec``; every file's first record is one."""
        self._has_begun = True
        if reason == "exec":
            self.before, self.counted = self._number, {}
        self.record(
            "start",
            format=FORMAT,
            version=VERSION,
            interpose=__version__,
            tool=config.tool_name,
            reason=reason,
            ppid=parent,
            command=list(argv),
            options=list(config.given),
            folder=self.names.folder if self.names is not None else None,
            time=_now(),
        )

    def end(self, how: str, **content: Any) -> None:
        """The program has ended: ``exit``, ``signal``, ``killed``, ``stopped``, ``exec`` (of another); or was
        left: ``detach``."""
        self.record("end", how=how, **content, time=_now())

    def broken_off(self, lines: Sequence[str]) -> None:
        """Why the run ends; where no program has begun there is nothing that could be told of."""
        if self._has_begun:
            self.record("message", text="\n".join(lines))

    def client_message(
        self, tid: int, name: str | None, text: str, resolver: StackResolver | None, stack: Stack | None
    ) -> None:
        """What the program prints by a request."""
        frames = None
        if resolver is not None and stack is not None:
            frames = _stack_of(resolver, stack)
        self.record("client_message", thread=thread_object(tid, name), text=text, stack=frames)

    def mark(self, text: str, repeats: Iterable[tuple[int, int]]) -> None:
        """What the program wants to find again in its report; errors met again are told before."""
        self.repeats(repeats)
        self.record("mark", text=text)

    def fatal_signal(
        self,
        tid: int,
        name: str | None,
        number: int,
        signal: str,
        code: int,
        event: str | None,
        address: int | None,
        stack: Encoded,
    ) -> None:
        """The signal that ends the program."""
        self.record(
            "fatal_signal",
            thread=thread_object(tid, name),
            signal=number,
            name=signal,
            code=code,
            event=event,
            address=None if address is None else f"{address:#x}",
            stack=stack,
        )

    # -- errors --------------------------------------------------------------------------------

    def number(self, error: Error) -> int:
        """The error's number in this process."""
        number = self.before + error.unique + 1
        self._number = max(self._number, number)
        return number

    def error(self, resolver: StackResolver, error: Error, suppressed: bool = False) -> None:
        """An error or a loss record; ``suppressed`` ones are told under --show-error-list=all."""
        number = self.number(error)
        self.counted[number] = 1
        kind = "error" if error.leak_kind is None else "leak"
        self.record(kind, **error_object(resolver, error, number, suppressed))

    def repeats(self, counts: Iterable[tuple[int, int]]) -> None:
        """Errors (numbers of the tool, from 0) that happened again since that was told last."""
        again = []
        for unique, count in counts:
            number = self.before + unique + 1
            known = self.counted.get(number, 0)
            if count > known:
                self.counted[number] = count
                again.append({"number": number, "count": count, "new": count - known})
        if again:
            self.record("repeats", errors=again)

    def summary(self, errors: ErrorManager) -> None:
        """Counts at the end."""
        self.repeats(errors.counts())
        self.record(
            "summary",
            errors=errors.errors_found,
            contexts=errors.contexts,
            suppressed=errors.suppressed,
            suppressed_contexts=errors.suppressed_contexts,
            suppressions=[
                {**_entry(entry), "count": entry.count, "bytes": entry.bytes, "blocks": entry.blocks}
                for entry in errors.suppressions.used()
            ],
        )


class JsonSink:
    """The errors of one program, as :class:`interpose.report.errors.ErrorSink`."""

    def __init__(self, report: JsonReport, resolver: StackResolver, with_suppressed: bool) -> None:
        self._report = report
        self._resolver = resolver
        self._with_suppressed = with_suppressed

    def show(self, error: Error) -> None:
        self._report.error(self._resolver, error)

    def suppressed(self, error: Error) -> None:
        if self._with_suppressed:
            self._report.error(self._resolver, error, True)

    def again(self, error: Error, candidate: GeneratedSuppression | None) -> None:
        """The list at the end repeats what is there."""

    def message(self, *lines: str) -> None:
        """About the log."""
        text = "\n".join(lines).strip("\n")
        if text:
            self._report.record("message", text=text)

    def suppression(self, candidate: GeneratedSuppression) -> None:
        """Every error has its candidate."""


def _now() -> str:
    seconds = time.time()
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{whole}.{int(seconds % 1 * 1000):03}Z"


def thread_object(tid: int, name: str | None) -> dict[str, Any] | None:
    """None where no thread is responsible."""
    if not tid:
        return None
    return {"id": tid, "name": name} if name else {"id": tid}


def _frame(frame: ResolvedFrame) -> str:
    content: dict[str, Any] = {"ip": f"{frame.ip:#x}"}
    for key, value in (
        ("object", frame.obj),
        ("function", frame.name),
        ("symbol", frame.symbol if frame.symbol != frame.name else None),
        ("directory", frame.dir),
        ("file", frame.file),
        ("line", frame.line),
    ):
        if value is not None:
            content[key] = value
    return _object(content)


def stack_list(frames: Iterable[ResolvedFrame]) -> Encoded:
    """The frames of a stack, innermost first."""
    return _list(map(_frame, frames))


def _stack_of(resolver: StackResolver, stack: Stack) -> Encoded:
    """The same of a recorded one, whose frames are in many records."""
    return _list(resolver.forms(stack, "json", _frame))


def error_object(resolver: StackResolver, error: Error, number: int, suppressed: bool) -> dict[str, Any]:
    """What a record of an error holds."""
    origin = [part for part in error.aux if part.role == "origin"]
    aux = [_aux_object(resolver, part) for part in error.aux if part.role != "origin"]
    frames = resolver.frames(error.stack) if error.stack is not None else []
    content: dict[str, Any] = {
        "number": number,
        "thread": thread_object(error.tid, error.thread_name),
        "kind": error.kind.xml,
        "what": "\n".join(error.what),
        "size": error.size or None,
        "address": None if error.address is None else f"{error.address:#x}",
        "fd": error.fd,
        "path": error.path,
        "stack": None if error.stack is None else _stack_of(resolver, error.stack),
        "aux": _list(aux) if aux else None,
        "origin": _aux_object(resolver, origin[0]) if origin else None,
    }
    content.update(error.facts or {})
    candidate = generate(error, frames)
    if candidate is not None:
        content["suppression"] = {
            "kind": candidate.kind,
            **({"extra": candidate.extra} if candidate.extra is not None else {}),
            "frames": [f"{kind}:{value}" for kind, value in candidate.frames],
            "text": "\n".join(candidate.lines()) + "\n",
        }
    if suppressed and error.suppressed_by is not None:
        content["suppressed_by"] = _entry(error.suppressed_by)
    return content


def _aux_object(resolver: StackResolver, part: AuxPart) -> Encoded:
    content: dict[str, Any] = {"text": part.text.strip()}
    if part.stack is not None:
        content["stack"] = _stack_of(resolver, part.stack)
    for key, value in (("directory", part.dir), ("file", part.file), ("line", part.line)):
        if value is not None:
            content[key] = value
    return Encoded(line_of(content))


def _entry(entry: Suppression) -> dict[str, Any]:
    return {"name": entry.name, "file": entry.path, "line": entry.line}
