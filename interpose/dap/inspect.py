"""Threads, frames and variables of a program that stands still, as an editor numbers them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any

from .gdb import Gdb, GdbError
from .records import quote

_MOST = 1000
"""Children of one variable that are shown to a client that does not page."""
_FRAMES = 1000
_NAMED = 200
"""Children of which it is told what they are as expressions: each is a question to gdb."""
_ACCESS = ("public", "protected", "private")
_LEVELS = 20  # of them in each other, which there is not
_EFFECTS = re.compile(r"\w\s*\(|\+\+|--|=")
"""An expression with those may change something, and is evaluated once."""


@dataclass(frozen=True)
class _Container:
    """What has variables.

    :ivar kind: ``locals``, ``registers``, ``object``.
    :ivar frame: the frame's number, 0: the one that gdb is in.
    :ivar name: gdb's name of the object.
    :ivar length: elements of an array.
    """

    kind: str
    frame: int
    name: str = ""
    length: int = 0


class Inspector:
    """What is shown until the program goes on: numbers of frames and variables mean nothing after that."""

    def __init__(self, gdb: Gdb) -> None:
        self._gdb = gdb
        self._threads: list[dict[str, Any]] = []
        self._frames: list[tuple[int, int]] = []
        self._containers: list[_Container] = []
        self._objects: list[str] = []
        self._names: dict[tuple[int, str], str] = {}

    def forget(self) -> None:
        """The program is to go on."""
        for name in self._objects:
            self._gdb.try_run(f"-var-delete {name}")
        self._frames.clear()
        self._containers.clear()
        self._objects.clear()
        self._names.clear()

    def current_thread(self) -> int:
        return int(self._gdb.try_run("-thread-info").get("current-thread-id", 1))

    def threads(self) -> list[dict[str, Any]]:
        """While the program runs, those of the last stop."""
        if not self._gdb.is_running:
            found = self._gdb.run("-thread-info").get("threads", [])
            self._threads = [
                {"id": int(thread["id"]), "name": thread.get("details") or thread.get("target-id", "")}
                for thread in found
            ]
        return self._threads

    def _stack(self, thread: int, first: int, last: int) -> list[dict[str, Any]]:
        return self._gdb.run(f"-stack-list-frames --thread {thread} {first} {last}").get("stack", [])

    def stack(self, thread: int, first: int, count: int) -> dict[str, Any]:
        """``stackTrace``."""
        depth = int(self._gdb.run(f"-stack-info-depth --thread {thread} {_FRAMES}").get("depth", 0))
        count = min(count or _FRAMES, depth - first)
        found = self._stack(thread, first, first + count - 1) if first >= 0 and count > 0 else []
        return {"stackFrames": [self._frame(thread, frame) for frame in found], "totalFrames": depth}

    def _frame(self, thread: int, frame: dict[str, Any]) -> dict[str, Any]:
        self._frames.append((thread, int(frame["level"])))
        shown: dict[str, Any] = {
            "id": len(self._frames),
            "name": frame.get("func", "??"),
            "line": int(frame.get("line", 0)),
            "column": 0,
            "instructionPointerReference": frame.get("addr", "0x0"),
        }
        path = frame.get("fullname")
        if path and os.path.exists(path):
            shown["source"] = {"name": os.path.basename(path), "path": path}
        else:
            shown["presentationHint"] = "subtle"
        return shown

    def level_with_source(self, thread: int) -> int:
        """The innermost frame with a line; 0 if there is none but perhaps the first."""
        found = self._stack(thread, 0, 30)
        return next((int(frame["level"]) for frame in found if "line" in frame), 0)

    def _at(self, index: int) -> str:
        if not 1 <= index <= len(self._frames):
            raise GdbError("no such frame now")
        thread, level = self._frames[index - 1]
        return f"--thread {thread} --frame {level}"

    def _contain(self, kind: str, frame: int, name: str = "", length: int = 0) -> int:
        self._containers.append(_Container(kind, frame, name, length))
        return len(self._containers)

    def scopes(self, frame: int) -> list[dict[str, Any]]:
        self._at(frame)
        return [
            {
                "name": "Locals",
                "presentationHint": "locals",
                "variablesReference": self._contain("locals", frame),
                "expensive": False,
            },
            {
                "name": "Registers",
                "presentationHint": "registers",
                "variablesReference": self._contain("registers", frame),
                "expensive": True,
            },
        ]

    def variables(self, reference: int, only: str, start: int, count: int) -> list[dict[str, Any]]:
        """``variables``; ``only`` is its ``filter``, ``count`` 0: all."""
        if not 1 <= reference <= len(self._containers):
            raise GdbError("no such variable now")
        held = self._containers[reference - 1]
        if only and (only == "indexed") != bool(held.length):
            return []
        if start < 0 or count < 0:
            raise GdbError("start and count: not below zero")
        if held.kind == "object":
            return self._members(reference, held, start, count)
        if held.kind == "registers":
            found = self._registers(held.frame)
        else:
            listed = self._gdb.run(f"-stack-list-variables {self._at(held.frame)} --no-values")["variables"]
            names = dict.fromkeys(str(variable["name"]) for variable in listed)
            found = [self._local(reference, held.frame, each) for each in names]
        return found[start : start + count] if count else found[start:]

    def _members(self, reference: int, held: _Container, start: int, count: int) -> list[dict[str, Any]]:
        end = start + (count or _MOST)
        if held.length:
            end = min(end, held.length)
        results = self._children(held.name, start, end) if start < end else {}
        rows = [row for child in results.get("children", []) for row in self._without_access(child)]
        is_map = results.get("displayhint") == "map"
        shown = self._pairs(rows, reference, held) if is_map else self._rows(rows, reference, held)
        more = results.get("has_more") == "1" or 0 < held.length > end
        if more and not count:
            shown.append({"name": "...", "value": "there are more", "variablesReference": 0})
        return shown

    def _children(self, name: str, start: int, end: int) -> dict[str, Any]:
        return self._gdb.run(f"-var-list-children --all-values {quote(name)} {start} {end}")

    def _without_access(self, child: dict[str, Any], level: int = 0) -> list[dict[str, Any]]:
        """A child, or those below it where it only says ``private:``, as gdb has it in classes."""
        if child["exp"] not in _ACCESS or "type" in child or level == _LEVELS:
            return [child]
        below = self._children(child["name"], 0, _MOST).get("children", [])
        return [row for each in below for row in self._without_access(each, level + 1)]

    def _rows(self, rows: list[dict[str, Any]], reference: int, held: _Container) -> list[dict[str, Any]]:
        shown = []
        for at, row in enumerate(rows):
            name = f"[{row['exp']}]" if held.length else row["exp"]
            shown.append(self._show(row, reference, held.frame, name))
            if at < _NAMED and (path := self._path(row["name"])):
                shown[-1]["evaluateName"] = path
        return shown

    def _pairs(self, rows: list[dict[str, Any]], reference: int, held: _Container) -> list[dict[str, Any]]:
        """Of a map gdb shows keys and values in turn."""
        keys = [f"[{key.get('value', '')}]" for key in rows[::2]]
        return [
            self._show(value, reference, held.frame, key)
            for key, value in zip(keys, rows[1::2], strict=False)
        ]

    def _path(self, name: str) -> str:
        """An object as an expression; empty for what a printer of gdb's made up."""
        try:
            return str(self._gdb.run(f"-var-info-path-expression {quote(name)}")["path_expr"])
        except GdbError:
            return ""

    def _registers(self, frame: int) -> list[dict[str, Any]]:
        names = self._gdb.run("-data-list-register-names").get("register-names", [])
        found = self._gdb.run(f"-data-list-register-values {self._at(frame)} --skip-unavailable r")
        return [
            {"name": names[int(one["number"])], "value": one["value"], "variablesReference": 0}
            for one in found.get("register-values", [])
            if names[int(one["number"])]
        ]

    def _create(self, expression: str, frame: int) -> dict[str, Any]:
        at = self._at(frame) if frame else ""
        seen = len(self._gdb.events)
        try:
            made = self._gdb.run(f"-var-create {at} - * {quote(expression)}")
        except GdbError:
            # gdb says why only here, and where nothing can be made of the words, nothing happens twice.
            self._gdb.run(f"-data-evaluate-expression {at} {quote(expression)}")
            raise
        failed = made.get("value") == "" and made.get("type") != "void" and made.get("dynamic") != "1"
        acts = _EFFECTS.search(expression) is not None
        if failed and not acts:
            self._gdb.run(f"-data-evaluate-expression {at} {quote(expression)}")  # the same of a value
        self._objects.append(made["name"])
        self._heed_stops(seen)
        # gdb 18 does not tell of the stop, and asking again would call again.
        if failed and acts and self._gdb.console(f"ptype {made['type']}").strip() != "type = void":
            raise GdbError("a signal or an exception has ended a function that is called")
        return made

    def _heed_stops(self, seen: int) -> None:
        """What the program's functions did that an expression has called; raises what came of it."""
        events = self._gdb.events
        stops = [event for event in list(events)[seen:] if event.name == "stopped"]
        if not stops:
            return
        signal = stops[-1].results.get("signal-name")
        if not signal:  # a breakpoint, or the end: that is told
            how = "ended" if str(stops[-1].results.get("reason", "")).startswith("exited") else "stopped"
            raise GdbError(f"the program has {how} in a function that is called")
        while len(events) > seen:  # gdb has gone back to where the program was
            events.pop()
        raise GdbError(f"{signal} in a function that is called")

    def _local(self, reference: int, frame: int, name: str) -> dict[str, Any]:
        try:
            made = self._create(name, frame)
        except GdbError as error:
            return {"name": name, "value": f"<{error}>", "variablesReference": 0}
        return {**self._show(made, reference, frame, name), "evaluateName": name}

    def _show(self, found: dict[str, Any], reference: int, frame: int, name: str) -> dict[str, Any]:
        self._names[reference, name] = found["name"]
        shown: dict[str, Any] = {
            "name": name,
            "value": found.get("value", ""),
            "type": found.get("type", ""),
            "variablesReference": 0,
        }
        children = int(found.get("numchild", 0))
        is_array = shown["type"].endswith("]") and re.fullmatch(r"\[\d+\]", shown["value"])
        if is_array and children:
            shown["indexedVariables"] = children
        if children or (found.get("dynamic") and found.get("displayhint") != "string"):
            length = children if is_array else 0
            shown["variablesReference"] = self._contain("object", frame, found["name"], length)
        if shown["type"].endswith("*") and shown["value"].startswith("0x"):
            shown["memoryReference"] = shown["value"].split()[0]
        return shown

    def assign(self, reference: int, name: str, value: str) -> dict[str, Any]:
        """``setVariable``."""
        known = self._names.get((reference, name))
        if known is None:
            raise GdbError(f"{name}: it cannot be set")
        result = self._gdb.run(f"-var-assign {quote(known)} {quote(value)}")
        return {"value": result["value"]}

    def assign_to(self, expression: str, value: str, frame: object) -> dict[str, Any]:
        """``setExpression``."""
        made = self._create(expression, frame if isinstance(frame, int) else 0)
        result = self._gdb.run(f"-var-assign {quote(made['name'])} {quote(value)}")
        return {"value": result["value"]}

    def place_of(self, reference: int, name: str, frame: object) -> tuple[str, str]:
        """Words of MI commands that say in which frame a variable is, and its expression there.

        :param reference: the container that shows it; 0: ``name`` is an expression.
        """
        if not reference:
            return (self._at(frame) if isinstance(frame, int) else ""), name
        known = self._names.get((reference, name))
        if known is None or not 1 <= reference <= len(self._containers):
            raise GdbError(f"{name}: no such variable now")
        path = self._path(known)
        if not path:
            raise GdbError(f"{name}: it has no expression")
        return self._at(self._containers[reference - 1].frame), path

    def evaluate(self, expression: str, frame: object) -> dict[str, Any]:
        """The value of an expression in a frame, or in the current one."""
        number = frame if isinstance(frame, int) else 0
        shown = self._show(self._create(expression, number), 0, number, expression)
        shown["result"] = shown.pop("value")
        del shown["name"]
        return shown
