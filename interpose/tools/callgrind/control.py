"""Answers ``interpose-control``: a socket that the event loop looks at between requests of the program."""

from __future__ import annotations

import os

from interpose import system
from interpose.control import place
from interpose.jit._native import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import suppress
    from typing import Any

    from .tool import Tool
else:
    from interpose.plain import suppress

PATIENCE = 2.0  # seconds that whoever asks has to finish its question


class Control:
    """The socket of one process."""

    def __init__(self, tool: Tool) -> None:
        self._tool = tool
        self._socket = -1
        self._path = ""

    def open(self, pid: int) -> None:
        """Be found under this process's number; nothing happens where there is no place for it."""
        self.close()
        where = place.folder(os.environ)
        if not place.make(where):
            return
        path = os.path.join(where, str(pid))
        with suppress(OSError):
            if os.path.lexists(path):
                os.unlink(path)
            self._socket, self._path = system.listen(path), path

    def forget(self) -> None:
        """This is a copy: the socket is another process's."""
        if self._socket >= 0:
            os.close(self._socket)
        self._socket, self._path = -1, ""

    def close(self) -> None:
        """Be found no more."""
        path = self._path
        self.forget()
        if path:
            with suppress(OSError):
                os.unlink(path)

    def serve(self) -> None:
        """Answer whoever waits."""
        while self._socket >= 0:
            try:
                descriptor = system.accept(self._socket)
            except OSError:
                return
            self._converse(descriptor)

    def _converse(self, descriptor: int) -> None:
        # Only now: a run that nobody asks does not pay for them.
        import json
        import socket

        with socket.socket(fileno=descriptor) as connection:
            connection.settimeout(PATIENCE)
            with suppress(OSError, ValueError):
                question = connection.makefile("rb").readline(place.MAX_REQUEST)
                request = json.loads(question)
                answer = self._answer(request) if isinstance(request, dict) else {"lines": ["?"]}
                connection.sendall(json.dumps(answer).encode() + b"\n")

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        tool = self._tool
        command = request.get("command")
        if command == "who":
            argv = tool.supervisor.session.argv
            return {"cmd": " ".join(argv), "program": argv[0] if argv else ""}
        if command == "kill":
            tool.supervisor.end_client()
            tool.ended()
            return {"lines": ["OK."]}
        if command == "instrumentation":
            tool.switch(bool(request.get("on")))
            return {"lines": ["OK."]}
        if command == "dump":
            hint = str(request.get("hint") or "")
            tool.dump(f"dump {hint}".rstrip())
            return {"lines": ["OK."]}
        if command == "zero":
            tool.zero()
            return {"lines": ["OK."]}
        if not tool.is_counting():
            return {"lines": ["No information available as instrumentation is switched off."]}
        tool.keep()
        if command == "status":
            return {"lines": self._status()}
        if command == "back":
            return {"lines": self._back(self._places(request["events"]) if "events" in request else [])}
        if command == "events":
            return {"lines": self._events([str(name) for name in request.get("events") or ()])}
        return {"lines": ["unknown command"]}

    def _status(self) -> list[str]:
        tool = self._tool
        threads = tool.threads()
        counts = tool.so_far()
        known = len({row[4] for row in counts.rows()})
        sites = sum(row[5] == lib.CG_CALLS for row in counts.rows())
        return [
            f"Number of running threads: {len(threads)}, thread IDs: {' '.join(map(str, threads))}",
            f"Events collected: {' '.join(tool.writer.events)}",
            f"Functions: {tool.functions.count:,} (executed {known:,}, contexts {counts.raw.n_names:,})",
            f"Basic blocks: {counts.raw.n_blocks:,} executed, call sites {sites:,}",
        ]

    def _places(self, wanted: list[str]) -> list[int]:
        """Where the costs of these events are, of all if there are none."""
        return [at for at, name in enumerate(self._tool.writer.events) if not wanted or name in wanted]

    def _back(self, chosen: list[int]) -> list[str]:
        """As callgrind_control shows it, with a column for each event that is asked for, too."""
        tool = self._tool
        lines = []
        for thread in tool.threads():
            frames = tool.frames(thread)
            costs = [""] * (len(frames) + 1)
            for place_ in chosen:
                column = [tool.writer.events[place_], *(f"{frame.costs[place_]:,}" for frame in frames)]
                width = max(map(len, column))
                costs = [f"{before}{cost:>{width}} " for before, cost in zip(costs, column, strict=True)]
            lines.append(f"Frame: {costs[0]}Backtrace for Thread {thread}")
            lines += [
                f" [{depth:2}]  {cost}{frame.name} ({frame.calls} x)"
                for depth, (frame, cost) in enumerate(zip(frames, costs[1:], strict=True))
            ]
        return lines

    def _events(self, wanted: list[str]) -> list[str]:
        tool = self._tool
        unknown = [name for name in wanted if name not in tool.writer.events]
        if unknown:
            return [f"Events collected: {' '.join(tool.writer.events)}; not {', '.join(unknown)}"]
        chosen = self._places(wanted)
        lines = ["Totals:   " + "  ".join(tool.writer.events[place_] for place_ in chosen)]
        for thread in tool.threads():
            totals = tool.so_far(thread).totals()
            lines.append(f" Th {thread:2}   " + "  ".join(f"{totals[place_]:,}" for place_ in chosen))
        return lines
