"""Valgrind's XML (protocols 4 to 6), as the records of a report."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import IO, Any
from xml.etree.ElementTree import Element, ParseError, XMLPullParser

from interpose.formats import FormatError
from interpose.report.jsonversion import FORMAT, VERSION

_CHUNK = 1 << 16
_LEAK = "Leak_"
_ORIGIN = "Uninitialised value was created"


def is_xml(head: bytes) -> bool:
    """Whether a file that begins so is XML."""
    return head.lstrip()[:5] == b"<?xml" or head.lstrip()[:16] == b"<valgrindoutput>"


def lines(stream: IO[bytes], name: str) -> Iterator[str]:
    """The records of a document, one JSON text each; what follows the end of a broken one is left out."""
    head = stream.read(_CHUNK)
    if b"<!DOCTYPE" in head or b"<!ENTITY" in head or b"\0" in head:
        raise FormatError(name, "XML with definitions of its own is not read")
    parser: Any = XMLPullParser(("start", "end"))
    document = _Document()
    depth, first = 0, True
    while head:
        try:
            parser.feed(head)
            events: list[Any] = list(parser.read_events())
        except ParseError as error:
            raise FormatError(name, f"no XML: {error}", line=error.position[0]) from None
        for event, element in events:
            depth += 1 if event == "start" else -1
            if first and element.tag != "valgrindoutput":
                raise FormatError(name, f"this is not Valgrind's XML: it begins with {element.tag!r}")
            first = False
            if depth > 100:
                raise FormatError(name, "nested too deep")
            if event == "end" and depth == 1:
                yield from document.take(element)
                element.clear()
        head = stream.read(_CHUNK)


class _Document:
    """Elements of the top level to records."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._command: list[str] = []
        self._pid = 0
        self._numbers: dict[str, int] = {}
        """By Valgrind's ``unique``."""
        self._counts: dict[int, int] = {}
        self._started = False
        self._elements: dict[str, Callable[[Element], Iterator[dict[str, Any]]]] = {
            "args": self._args,
            "status": self._status,
            "error": self._error,
            "errorcounts": self._error_counts,
            "fatal_signal": self._fatal_signal,
            "clientmsg": self._client_message,
        }

    def take(self, element: Element) -> Iterator[str]:
        handler = self._elements.get(element.tag)
        if handler is None:
            self._texts[element.tag] = _text(element)
            return
        for record in handler(element):
            if not self._started:
                self._started = True
                yield json.dumps(self._start())
            yield json.dumps({"pid": self._pid, **{k: v for k, v in record.items() if v is not None}})

    def _start(self) -> dict[str, Any]:
        self._pid = _number(self._texts.get("pid")) or 1
        return {
            "record": "start",
            "pid": self._pid,
            "format": FORMAT,
            "version": VERSION,
            "tool": self._texts.get("tool") or "memcheck",
            "reason": "start",
            "ppid": _number(self._texts.get("ppid")) or 0,
            "command": self._command,
        }

    def _args(self, element: Element) -> Iterator[dict[str, Any]]:
        self._command = [_text(word) for word in element.findall("argv/*")]
        yield {"record": "args"}

    def _status(self, element: Element) -> Iterator[dict[str, Any]]:
        if _text(element.find("state")) == "FINISHED":
            yield {"record": "end", "how": "exit"}
        else:
            yield {"record": "status"}

    def _error(self, element: Element) -> Iterator[dict[str, Any]]:
        kind = _text(element.find("kind"))
        number = len(self._numbers) + 1
        self._numbers[_text(element.find("unique"))] = number
        record: dict[str, Any] = {
            "record": "leak" if kind.startswith(_LEAK) else "error",
            "number": number,
            "thread": _thread(element),
            "kind": kind or "?",
            "what": _what(element, kind),
            "fd": _number(_text(element.find("fd"))),
            "suppression": _suppression(element.find("suppression")),
        }
        if kind.startswith(_LEAK):
            record["bytes"] = record["direct_bytes"] = _number(_text(element.find("xwhat/leakedbytes"))) or 0
            record["blocks"] = _number(_text(element.find("xwhat/leakedblocks"))) or 0
        parts: list[dict[str, Any]] = []
        for child in element:
            if child.tag in ("auxwhat", "xauxwhat"):
                text = _text(child.find("text")) if child.tag == "xauxwhat" else _text(child)
                parts.append({"text": text})
            elif child.tag == "stack":
                (parts[-1] if parts else record)["stack"] = _stack(child)
        origin = [part for part in parts if part["text"].startswith(_ORIGIN)]
        record["origin"] = origin[0] if origin else None
        record["aux"] = [part for part in parts if part not in origin] or None
        yield record

    def _error_counts(self, element: Element) -> Iterator[dict[str, Any]]:
        again = []
        for pair in element.findall("pair"):
            number = self._numbers.get(_text(pair.find("unique")))
            count = _number(_text(pair.find("count")))
            if number is None or count is None:
                continue
            before = self._counts.get(number, 1)
            if count > before:
                self._counts[number] = count
                again.append({"number": number, "count": count, "new": count - before})
        yield {"record": "repeats", "errors": again}

    def _fatal_signal(self, element: Element) -> Iterator[dict[str, Any]]:
        yield {
            "record": "fatal_signal",
            "thread": _thread(element),
            "signal": _number(_text(element.find("signo"))) or 0,
            "name": _text(element.find("signame")),
            "code": _number(_text(element.find("sicode"))) or 0,
            "event": _text(element.find("event")) or None,
            "address": _address(_text(element.find("siaddr"))),
            "stack": _stack(element.find("stack")),
        }

    def _client_message(self, element: Element) -> Iterator[dict[str, Any]]:
        stack = _stack(element.find("stack"))
        text = _text(element.find("text"))
        yield {"record": "client_message", "thread": _thread(element), "text": text, "stack": stack}


def _text(element: Element | None) -> str:
    return (element.text or "").strip() if element is not None else ""


def _number(text: str | None) -> int | None:
    digits = (text or "").replace(",", "")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 19 else None


def _address(text: str) -> str | None:
    try:
        return f"{int(text, 16):#x}" if len(text) < 19 else None
    except ValueError:
        return None


def _thread(element: Element) -> dict[str, Any] | None:
    number = _number(_text(element.find("tid")))
    if not number:
        return None
    name = _text(element.find("threadname"))
    return {"id": number, "name": name} if name else {"id": number}


def _stack(element: Element | None) -> list[dict[str, Any]]:
    frames = []
    for frame in element.findall("frame") if element is not None else ():
        content: dict[str, Any] = {"ip": _address(_text(frame.find("ip"))) or "0x0"}
        for tag, name in (("obj", "object"), ("fn", "function"), ("dir", "directory"), ("file", "file")):
            if text := _text(frame.find(tag)):
                content[name] = text
        if (line := _number(_text(frame.find("line")))) is not None:
            content["line"] = line
        frames.append(content)
    return frames


def _suppression(element: Element | None) -> dict[str, Any] | None:
    if element is None:
        return None
    content: dict[str, Any] = {
        "kind": _text(element.find("skind")),
        "frames": [f"{each.tag}:{_text(each)}" for each in element.findall("sframe/*")],
        "text": _text(element.find("rawtext")) + "\n",
    }
    if extra := _text(element.find("skaux")):
        content["extra"] = extra
    return content


def _what(element: Element, kind: str) -> str:
    text = _text(element.find("what")) or _text(element.find("xwhat/text")) or kind
    if kind == "MismatchedAllocateDeallocateAlignment":  # whose text is of a size in XML alone
        text = text.replace(" size alloc value", " alignment alloc value")
    return text
