"""Threads, frames and variables of a program that stands still, as an editor numbers them."""

from __future__ import annotations

import os
from typing import Any

from .gdb import Gdb, GdbError
from .records import quote

_MOST = 1000
"""Children of one variable that are shown."""
_FRAMES = 1000


class Inspector:
    """What is shown until the program goes on: numbers of frames and variables mean nothing after that."""

    def __init__(self, gdb: Gdb) -> None:
        self._gdb = gdb
        self._threads: list[dict[str, Any]] = []
        self._frames: list[tuple[int, int]] = []
        self._containers: list[tuple[str, int, str]] = []
        """Kind (``locals``, ``registers``, ``object``), index of the frame, gdb's name of the object."""
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

    def _contain(self, kind: str, frame: int, name: str = "") -> int:
        self._containers.append((kind, frame, name))
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

    def variables(self, reference: int) -> list[dict[str, Any]]:
        if not 1 <= reference <= len(self._containers):
            raise GdbError("no such variable now")
        kind, frame, name = self._containers[reference - 1]
        if kind == "registers":
            return self._registers(frame)
        if kind == "locals":
            listed = self._gdb.run(f"-stack-list-variables {self._at(frame)} --no-values")["variables"]
            names = dict.fromkeys(str(variable["name"]) for variable in listed)
            return [self._local(reference, frame, each) for each in names]
        children = self._gdb.run(f"-var-list-children --all-values {name} 0 {_MOST}").get("children", [])
        return [self._show(child, reference, frame, child["exp"]) for child in children]

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
        made = self._gdb.run(f"-var-create {at} - * {quote(expression)}")
        self._objects.append(made["name"])
        return made

    def _local(self, reference: int, frame: int, name: str) -> dict[str, Any]:
        try:
            made = self._create(name, frame)
        except GdbError as error:
            return {"name": name, "value": f"<{error}>", "variablesReference": 0}
        return self._show(made, reference, frame, name)

    def _show(self, found: dict[str, Any], reference: int, frame: int, name: str) -> dict[str, Any]:
        self._names[reference, name] = found["name"]
        children = int(found.get("numchild", 0)) or int(found.get("dynamic", 0))
        shown = {
            "name": name,
            "value": found.get("value", ""),
            "type": found.get("type", ""),
            "variablesReference": self._contain("object", frame, found["name"]) if children else 0,
        }
        if shown["type"].endswith("*") and shown["value"].startswith("0x"):
            shown["memoryReference"] = shown["value"].split()[0]
        return shown

    def assign(self, reference: int, name: str, value: str) -> dict[str, Any]:
        """``setVariable``."""
        known = self._names.get((reference, name))
        if known is None:
            raise GdbError(f"{name}: it cannot be set")
        result = self._gdb.run(f"-var-assign {known} {quote(value)}")
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
        path = self._gdb.run(f"-var-info-path-expression {known}")["path_expr"]
        return self._at(self._containers[reference - 1][1]), str(path)

    def evaluate(self, expression: str, frame: object) -> dict[str, Any]:
        """The value of an expression in a frame, or in the current one."""
        number = frame if isinstance(frame, int) else 0
        shown = self._show(self._create(expression, number), 0, number, expression)
        shown["result"] = shown.pop("value")
        del shown["name"]
        return shown
