"""Lines of gdb's machine interface, parsed.

The grammar is "GDB/MI Output Syntax" in GDB's manual. Tuples become dictionaries, lists become lists; of a
list of results (``[frame={…},frame={…}]``) the names are left out, which say nothing that the place does not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

_LINE = re.compile(r"(\d*)([\^*+=])([\w-]+)")
_NAME = re.compile(r"([^=,\"{}\[\]]+)=")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPE = re.compile(rb"\\([0-7]{1,3}|.)", re.DOTALL)
_ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"e": b"\x1b", b"a": b"\a", b"b": b"\b", b"f": b"\f"}
_STREAMS = "~@&"


@dataclass
class Record:
    """A line.

    :ivar kind: ``^`` result, ``*`` of execution, ``=`` notice, ``+`` status; ``~`` console, ``@`` target,
        ``&`` log, whose text is :attr:`text`.
    """

    kind: str
    name: str = ""
    token: int = -1
    results: dict[str, Any] = field(default_factory=dict)
    text: str = ""


def parse(line: str) -> Record | None:
    """A line without its end; None for the prompt and for what is no record."""
    if line[:1] in _STREAMS and line:
        match = _STRING.match(line, 1)
        return Record(line[0], text=_unescape(match[1])) if match else None
    match = _LINE.match(line)
    if not match:
        return None
    results: dict[str, Any] = {}
    at = match.end()
    try:
        while line[at : at + 1] == ",":
            name, value, at = _result(line, at + 1)
            results[name] = value
    except (ValueError, RecursionError):
        pass  # what was read until there is all there is
    return Record(match[2], match[3], int(match[1] or -1), results)


def _unescape(text: str) -> str:
    def one(match: re.Match[bytes]) -> bytes:
        code = match[1]
        return bytes([int(code, 8) & 255]) if code[:1] in b"01234567" else _ESCAPES.get(code, code)

    if "\\" not in text:
        return text
    return _ESCAPE.sub(one, text.encode("utf-8", "surrogateescape")).decode("utf-8", "replace")


def _result(line: str, at: int) -> tuple[str, Any, int]:
    match = _NAME.match(line, at)
    if not match:
        raise ValueError(line)
    value, at = _value(line, match.end())
    return match[1], value, at


def _value(line: str, at: int) -> tuple[Any, int]:
    first = line[at : at + 1]
    if first == '"':
        match = _STRING.match(line, at)
        if not match:
            raise ValueError(line)
        return _unescape(match[1]), match.end()
    if first == "{":
        members: dict[str, Any] = {}
        at += 1
        while line[at : at + 1] != "}":
            name, value, at = _result(line, at)
            members[name] = value
            at += line[at : at + 1] == ","
        return members, at + 1
    if first == "[":
        items: list[Any] = []
        at += 1
        while line[at : at + 1] != "]":
            if line[at : at + 1] in ('"', "{", "["):
                item, at = _value(line, at)
            else:
                _, item, at = _result(line, at)
            items.append(item)
            at += line[at : at + 1] == ","
        return items, at + 1
    raise ValueError(line)


def quote(text: str) -> str:
    """A text as one word of a command."""
    if "\n" in text or "\r" in text or "\0" in text:
        raise ValueError("a line break in a word for gdb")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
