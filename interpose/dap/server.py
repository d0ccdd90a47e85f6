"""The debug adapter: an editor's requests become gdb's commands, gdb's stops become events.

Requests and events are those of the Debug Adapter Protocol's specification. One loop serves the editor, gdb
and the program's output; a request is served wholly before the next one.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import shutil
import signal
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from interpose.errors import write_all

from . import memory
from .gdb import Gdb, GdbError
from .guard import Guard
from .inspect import Inspector
from .protocol import ProtocolError, Reader, frame
from .records import Record, quote
from .target import Program, check_reached, relay, text

_PIECE = 1 << 16
_POLL_SECONDS, _STOP_SECONDS = 0.25, 20
_NEVER = 999_999_999
_BAD_ARGUMENTS = (TypeError, ValueError, AttributeError, IndexError, OverflowError)
"""What comes of a request whose arguments are of other types, or of numbers without an end (1e999)."""
_FILTER = {"filter": "errors", "label": "Errors that the tool reports", "default": True}
_CAPABILITIES = {
    "supportsConfigurationDoneRequest": True,
    "supportsFunctionBreakpoints": True,
    "supportsConditionalBreakpoints": True,
    "supportsHitConditionalBreakpoints": True,
    "supportsLogPoints": True,
    "supportsEvaluateForHovers": True,
    "supportsSetVariable": True,
    "supportsSetExpression": True,
    "supportsExceptionInfoRequest": True,
    "supportsTerminateRequest": True,
    "supportTerminateDebuggee": True,
    "supportsRestartRequest": True,
    "supportsSteppingGranularity": True,
    "supportsDisassembleRequest": True,
    "supportsInstructionBreakpoints": True,
    "supportsReadMemoryRequest": True,
    "supportsWriteMemoryRequest": True,
    "supportsDataBreakpoints": True,
    "supportsDataBreakpointBytes": True,
    "exceptionBreakpointFilters": [_FILTER],
}


class Server:
    """One session with an editor."""

    def __init__(self, guard: Guard, folder: str) -> None:
        self._guard = guard
        self._folder = folder
        self._selector = selectors.PollSelector()  # epoll takes no plain files and no /dev/null
        self._selector.register(0, selectors.EVENT_READ, self._hear)
        self._reader = Reader()
        self._requests: deque[dict[str, Any]] = deque()
        self._ends = False
        """The editor has gone, or has said all."""
        self._seq = 0
        self._gdb: Gdb | None = None
        self._program: Program | None = None
        self._inspector: Inspector | None = None
        self._breakpoints: dict[str, list[str]] = {}
        self._logs: dict[str, str] = {}
        """Breakpoints that only say something, and what."""
        self._stop_on_entry = False
        self._is_configured = False
        self._is_told_over = False
        self._threshold = 0
        self._errors = 0
        self._exception: dict[str, Any] | None = None
        self._wants_pause = False
        self._ends_program = False
        """SIGTERM has been sent: nothing stops the program on its way."""
        self._is_term_sent = False
        self._launched: dict[str, Any] = {}
        self._steps = False
        self._after: list[Callable[[], None]] = []

    # -- the editor ------------------------------------------------------------------------------

    def run(self) -> None:
        """Serve until the editor leaves. Raises :class:`ProtocolError`."""
        while True:
            while self._requests:
                self._answer(self._requests.popleft())
            self._look_at_events()
            if self._ends:
                break
            if self._requests or (self._gdb and self._gdb.events):
                continue
            for key, _ in self._selector.select(_POLL_SECONDS):
                key.data()
        self._leave(kill=True)

    def _hear(self) -> None:
        data = os.read(0, _PIECE)
        if data:
            self._requests += self._reader.feed(data)
        else:
            self._selector.unregister(0)
            self._ends = True
            self._reader.finish()

    def _send(self, message: dict[str, Any]) -> None:
        self._seq += 1
        write_all(1, frame({"seq": self._seq, **message}))

    def event(self, name: str, body: dict[str, Any] | None = None) -> None:
        """Tell the editor."""
        self._send({"type": "event", "event": name, "body": body or {}})

    def _say(self, category: str, words: str) -> None:
        self.event("output", {"category": category, "output": words})

    def _answer(self, request: dict[str, Any]) -> None:
        if request["type"] != "request":
            return
        command, arguments = request.get("command"), request.get("arguments") or {}
        answer: dict[str, Any] = {"type": "response", "request_seq": request["seq"], "command": str(command)}
        handler = _HANDLERS.get(command) if isinstance(command, str) else None
        try:
            if handler is None:
                raise GdbError(f"{command}: no such request here")
            if not isinstance(arguments, dict):
                raise TypeError("arguments: an object is needed")
            answer |= {"success": True, "body": handler(self, arguments) or {}}
        except (GdbError, OSError) as error:
            answer |= {"success": False, "message": str(error)}
        except KeyError as error:
            answer |= {"success": False, "message": f"bad arguments: {error.args[0]} is missing"}
        except _BAD_ARGUMENTS as error:
            answer |= {"success": False, "message": f"bad arguments: {error}"}
        if not answer["success"]:
            answer["body"] = {"error": {"id": 1, "format": "{_}", "variables": {"_": answer["message"]}}}
        self._send(answer)
        after, self._after = self._after, []
        for action in after:
            action()

    # -- beginning and end -----------------------------------------------------------------------

    def initialize(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return _CAPABILITIES

    def launch(self, arguments: dict[str, Any]) -> None:
        self._check_fresh()
        self._start(self._open(arguments), arguments)
        self._after.append(lambda: self.event("initialized"))

    def restart(self, arguments: dict[str, Any]) -> None:
        """The program ends and is started again, with the same breakpoints."""
        gdb, program = self._any(), self._program
        if program is None:
            raise GdbError("only a program that was started here can be started again")
        self._for_a_moment()
        assert self._inspector
        self._inspector.forget()
        self._program = None  # its end is not told
        gdb.try_run("-interpreter-exec console kill")
        program.finish(kill=True)
        gdb.events.clear()
        wishes = arguments.get("arguments")
        self._start(gdb, wishes if isinstance(wishes, dict) and wishes else self._launched)
        if self._threshold:
            gdb.console(f"monitor v.set vgdb-error {self._threshold}")
        if self._is_configured:
            self._begin(gdb)

    def _start(self, gdb: Gdb, arguments: dict[str, Any]) -> None:
        prefix = os.path.join(self._folder, "pipe")
        self._launched = arguments
        self._stop_on_entry = bool(arguments.get("stopOnEntry"))
        self._ends_program = self._is_term_sent = False
        try:
            self._program = Program(arguments, prefix, self._selector, self._guard, self._say)
            self._go_to(gdb, self._program.folder)
            self._connect(gdb, self._program.path, prefix, self._program.pid)
        except GdbError:
            # Whoever cannot be reached has mostly ended, and has said why.
            status = self._program.status() if self._program else None
            self._leave(kill=True)
            if status is not None:
                raise GdbError(f"the program has ended with status {status}: see its output") from None
            raise
        except (OSError, TypeError, ValueError):
            self._leave(kill=True)
            raise

    def attach(self, arguments: dict[str, Any]) -> None:
        self._check_fresh()
        pid = arguments["pid"]
        if not isinstance(pid, int) or pid <= 0:
            raise TypeError("pid: a number is needed")
        self._stop_on_entry = bool(arguments.get("stopOnEntry"))
        gdb = self._open(arguments)
        try:
            check_reached(text(arguments, "vgdbPrefix"), pid)
            path = text(arguments, "program")
            path = os.path.abspath(path) if path else _executable(pid)
            with contextlib.suppress(OSError):
                self._go_to(gdb, os.readlink(f"/proc/{pid}/cwd"))
            self._connect(gdb, path, text(arguments, "vgdbPrefix"), pid)
            self._after.append(lambda: self.event("initialized"))
        except (GdbError, OSError, TypeError, ValueError):
            self._leave(kill=False)
            raise

    def _check_fresh(self) -> None:
        if self._gdb:
            raise GdbError("there is a program already")

    def _open(self, arguments: dict[str, Any]) -> Gdb:
        command = text(arguments, "gdb", "gdb")
        self._gdb = Gdb(self._selector, self._guard, self._folder, command)
        return self._gdb

    def _go_to(self, gdb: Gdb, folder: str) -> None:
        """Where the program is: it may load libraries by relative names."""
        gdb.try_run(f"-environment-cd {quote(folder)}")

    def _connect(self, gdb: Gdb, path: str, prefix: str, pid: int) -> None:
        if path:
            gdb.try_run(f"-file-exec-and-symbols {quote(path)}")
        gdb.run(f"-target-select remote | {relay(prefix, pid)}")
        gdb.wait(lambda: any(event.name == "stopped" for event in gdb.events), _STOP_SECONDS)
        gdb.events.clear()
        self._errors = self._count_errors()
        self._inspector = Inspector(gdb)

    def configuration_done(self, arguments: dict[str, Any]) -> None:
        gdb = self._stopped()
        self._is_configured = True
        self._begin(gdb)

    def _begin(self, gdb: Gdb) -> None:
        if self._launched.get("noDebug"):
            gdb.try_run("-break-delete")
            gdb.console(f"monitor v.set vgdb-error {_NEVER}")
        if self._stop_on_entry:
            thread = self._inspector.current_thread() if self._inspector else 1
            body = {"reason": "entry", "threadId": thread, "allThreadsStopped": True}
            self._after.append(lambda: self.event("stopped", body))
        else:
            self._resume(gdb, "-exec-continue")

    def disconnect(self, arguments: dict[str, Any]) -> None:
        self._leave(kill=bool(arguments.get("terminateDebuggee", self._program is not None)))
        self._ends = True

    def terminate(self, arguments: dict[str, Any]) -> None:
        """SIGTERM, which the program may handle, and which has the tool report; SIGKILL the second time."""
        gdb = self._any()
        if self._ends_program or not self._is_configured:
            self._after.append(lambda: self._leave(kill=True))
            return
        self._ends_program = True
        goes_on = self._for_a_moment()
        if goes_on or not any(event.name == "stopped" for event in gdb.events):
            self._send_term(gdb)  # else when that stop is looked at

    def _send_term(self, gdb: Gdb) -> None:
        how = "-exec-continue" if self._is_term_sent else '-interpreter-exec console "signal SIGTERM"'
        self._is_term_sent = True
        self._resume(gdb, how)

    def _leave(self, *, kill: bool) -> None:
        """gdb goes; the program ends or goes on."""
        gdb, self._gdb, self._inspector = self._gdb, None, None
        program, self._program = self._program, None
        if gdb is None:
            return
        if kill and program is None and not gdb.is_over and self._is_configured:
            with contextlib.suppress(GdbError):
                if gdb.is_running:
                    gdb.run("-exec-interrupt --all", _STOP_SECONDS)
                    gdb.wait(lambda: not gdb.is_running, _STOP_SECONDS)
                gdb.run("-interpreter-exec console kill", _STOP_SECONDS)
        code = program.finish(kill=kill) if program and kill else None
        gdb.end()
        if program and not kill:
            self._guard.forget(program.pid)
        if self._is_configured and not self._ends:
            self._tell_over(code)

    def _over(self, code: int) -> None:
        """The program has ended."""
        self._program = None
        self._tell_over(code)
        self._leave(kill=False)

    def _tell_over(self, code: int | None) -> None:
        if self._is_told_over:
            return
        self._is_told_over = True
        if code is not None:
            self.event("exited", {"exitCode": code})
        self.event("terminated")

    # -- what gdb says ---------------------------------------------------------------------------

    def _look_at_events(self) -> None:
        gdb = self._gdb
        while gdb and gdb.events and self._is_configured:
            self._look_at(gdb, gdb.events.popleft())
            gdb = self._gdb
        if gdb is None or not self._is_configured:
            return
        if self._program and self._program.status() is not None:
            self._over(self._program.finish(kill=False))
        elif gdb.is_over:
            self._say("console", "gdb has ended\n")
            self._leave(kill=self._program is not None)

    def _look_at(self, gdb: Gdb, event: Record) -> None:
        results = event.results
        if event.name in ("thread-created", "thread-exited"):
            reason = "started" if event.name == "thread-created" else "exited"
            self.event("thread", {"reason": reason, "threadId": int(results["id"])})
        elif event.name == "breakpoint-modified":
            body = _breakpoint(results["bkpt"])
            self.event("breakpoint", {"reason": "changed", "breakpoint": body})
        elif event.name == "stopped":
            reason = str(results.get("reason", ""))
            if not reason.startswith("exited"):
                self._tell_stop(gdb, reason, results)
            elif self._program:
                self._over(self._program.finish(kill=False))
            else:
                self._over(int(str(results.get("exit-code", "0")), 8))

    def _tell_stop(self, gdb: Gdb, reason: str, results: dict[str, Any]) -> None:
        body: dict[str, Any] = {"threadId": int(results.get("thread-id", 1)), "allThreadsStopped": True}
        self._exception = None
        if self._ends_program:
            self._send_term(gdb)
            return
        words = self._logs.get(str(results.get("bkptno", ""))) if reason == "breakpoint-hit" else None
        if words is not None:
            self._say("console", self._filled_in(gdb, words, body["threadId"]) + "\n")
            if not self._steps:
                gdb.run("-exec-continue")
                return
            body["reason"] = "step"
        elif reason == "breakpoint-hit":
            body |= {"reason": "breakpoint", "hitBreakpointIds": [int(results["bkptno"])]}
        elif reason in ("end-stepping-range", "function-finished", "location-reached"):
            body["reason"] = "step"
        elif "watchpoint" in reason:
            body["reason"] = "data breakpoint"
            points = [results[kind]["number"] for kind in ("wpt", "hw-rwpt", "hw-awpt") if kind in results]
            body["hitBreakpointIds"] = [int(number) for number in points]
        elif self._wants_pause and results.get("signal-name", "0") in ("0", "SIGINT"):
            body["reason"] = "pause"
        elif reason == "signal-received":
            self._exception = self._what_happened(results)
            body |= {"reason": "exception", "description": self._exception["description"]}
            body["text"] = self._exception["details"]["message"]
        else:
            # gdb gives no reason where a step's end and its own breakpoint fall together.
            body["reason"] = "step" if self._steps else "pause"
        self._wants_pause = self._steps = False
        self.event("stopped", body)

    def _filled_in(self, gdb: Gdb, words: str, thread: int) -> str:
        """A log point's words, with the values of the expressions in braces."""

        def value(found: re.Match[str]) -> str:
            place = f"--thread {thread} --frame 0"
            try:
                answer = gdb.run(f"-data-evaluate-expression {place} {quote(found[1])}")
            except GdbError as error:
                return f"<{error}>"
            return str(answer.get("value", ""))

        return re.sub(r"\{([^{}]+)\}", value, words)

    def _what_happened(self, results: dict[str, Any]) -> dict[str, Any]:
        """Of a stop for a signal, the body of the answer to ``exceptionInfo``."""
        name, meaning = str(results.get("signal-name", "")), str(results.get("signal-meaning", ""))
        report = ""
        if name == "SIGTRAP" and (count := self._count_errors()) != self._errors:
            self._errors = count
            report = self._last_error()
        description = report.partition("\n")[0] if report else f"{name}: {meaning}"
        return {
            "exceptionId": "error" if report else name,
            "description": description,
            "breakMode": "always",
            "details": {"message": report or description, "typeName": "error" if report else "signal"},
        }

    def _count_errors(self) -> int:
        """How many errors were found until now."""
        words = self._monitor("v.info n_errs_found").split()
        with contextlib.suppress(ValueError, IndexError):
            return int(words[words.index("n_errs_found") + 1])
        return 0

    def _last_error(self) -> str:
        lines = self._monitor("v.info last_error").splitlines()
        return "\n".join(_without_prefix(line) for line in lines).strip()

    def _monitor(self, command: str) -> str:
        if self._gdb is None:
            return ""
        with contextlib.suppress(GdbError):
            return self._gdb.console(f"monitor {command}")
        return ""

    # -- going on --------------------------------------------------------------------------------

    def _any(self) -> Gdb:
        if self._gdb is None or self._inspector is None:
            raise GdbError("there is no program")
        return self._gdb

    def _stopped(self) -> Gdb:
        gdb = self._any()
        if gdb.is_running:
            raise GdbError("the program runs")
        return gdb

    def _resume(self, gdb: Gdb, command: str) -> None:
        if self._inspector:
            self._inspector.forget()
        self._exception = None
        self._steps = command != "-exec-continue"
        gdb.run(command)

    def _for_a_moment(self) -> bool:
        """Stop the program if it runs; true if it was for this alone and is to go on."""
        gdb = self._any()
        if not gdb.is_running:
            return False
        seen = len(gdb.events)
        gdb.run("-exec-interrupt --all")
        if not gdb.wait(lambda: not gdb.is_running, _STOP_SECONDS):
            raise GdbError("the program does not stop")
        for at in range(seen, len(gdb.events)):
            event = gdb.events[at]
            if event.name == "stopped":
                why = event.results.get("reason"), event.results.get("signal-name", "0")
                if why not in (("signal-received", "0"), ("signal-received", "SIGINT")):
                    return False  # it stopped for itself meanwhile, which is told
                del gdb.events[at]
                return True
        return False

    def continue_(self, arguments: dict[str, Any]) -> dict[str, Any]:
        self._resume(self._stopped(), "-exec-continue")
        return {"allThreadsContinued": True}

    def _step(self, arguments: dict[str, Any], command: str) -> None:
        gdb, thread = self._stopped(), int(arguments["threadId"])
        if arguments.get("granularity") == "instruction":
            self._resume(gdb, f"{command}-instruction --thread {thread}")
            return
        try:
            self._resume(gdb, f"{command} --thread {thread}")
        except GdbError as error:
            # In a replaced function there are no lines: what calls it is where the user is.
            level = self._inspector.level_with_source(thread) if self._inspector else 0
            if not level or "bounds of current function" not in str(error):
                raise
            self._resume(gdb, f"-exec-finish --thread {thread} --frame {level - 1}")

    def next(self, arguments: dict[str, Any]) -> None:
        self._step(arguments, "-exec-next")

    def step_in(self, arguments: dict[str, Any]) -> None:
        self._step(arguments, "-exec-step")

    def step_out(self, arguments: dict[str, Any]) -> None:
        gdb, thread = self._stopped(), int(arguments["threadId"])
        self._resume(gdb, f"-exec-finish --thread {thread} --frame 0")

    def pause(self, arguments: dict[str, Any]) -> None:
        gdb = self._any()
        if gdb.is_running:
            self._wants_pause = True
            gdb.run("-exec-interrupt --all")

    # -- breakpoints -----------------------------------------------------------------------------

    def _replace(self, key: str, wanted: Sequence[tuple[_Place, dict[str, Any]]]) -> dict[str, Any]:
        goes_on = self._for_a_moment()
        gdb = self._any()
        for number in self._breakpoints.pop(key, []):
            gdb.try_run(f"-break-delete {number}")
            self._logs.pop(number, None)
        made, answers = [], []
        for place, wish in wanted:
            try:
                words = text(wish, "logMessage")
                answer = _insert(gdb, place, wish) if isinstance(place, str) else place(gdb, wish)
            except (GdbError, KeyError, *_BAD_ARGUMENTS) as error:
                answers.append({"verified": False, "message": str(error)})
                continue
            number = str(answer["id"])
            made.append(number)
            if words:
                self._logs[number] = words
            answers.append(answer)
        self._breakpoints[key] = made
        if goes_on:
            gdb.run("-exec-continue")
        return {"breakpoints": answers}

    def set_breakpoints(self, arguments: dict[str, Any]) -> dict[str, Any]:
        path = arguments["source"]["path"]
        wishes = arguments.get("breakpoints") or []
        places = [(f"--source {quote(path)} --line {int(wish['line'])}", wish) for wish in wishes]
        return self._replace(f"source {path}", places)

    def set_function_breakpoints(self, arguments: dict[str, Any]) -> dict[str, Any]:
        wishes = arguments["breakpoints"]
        places = [(f"--function {quote(text(wish, 'name'))}", wish) for wish in wishes]
        return self._replace("functions", places)

    def set_instruction_breakpoints(self, arguments: dict[str, Any]) -> dict[str, Any]:
        def insert(gdb: Gdb, wish: dict[str, Any]) -> dict[str, Any]:
            address = memory.address_of({**wish, "memoryReference": wish["instructionReference"]})
            return _insert(gdb, f"*{address:#x}", wish)

        return self._replace("instructions", [(insert, wish) for wish in arguments["breakpoints"]])

    def data_breakpoint_info(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Where a variable is, for :meth:`set_data_breakpoints`."""
        name, size = text(arguments, "name"), int(arguments.get("bytes") or 0)
        inspector, gdb = self._inspected(), self._any()
        if arguments.get("asAddress"):
            return memory.watched(memory.address_of({"memoryReference": name}), size or 1)
        reference = int(arguments.get("variablesReference") or 0)
        try:
            at, expression = inspector.place_of(reference, name, arguments.get("frameId"))
            address, whole = memory.place_of(gdb, at, expression)
        except GdbError as error:
            return {"dataId": None, "description": str(error)}
        return memory.watched(address, size or whole)

    def set_data_breakpoints(self, arguments: dict[str, Any]) -> dict[str, Any]:
        def insert(gdb: Gdb, wish: dict[str, Any]) -> dict[str, Any]:
            number = memory.watch(gdb, wish)
            try:
                if condition := text(wish, "condition"):
                    gdb.run(f"-break-condition {number} {quote(condition)}")
                if hits := text(wish, "hitCondition").strip():
                    gdb.run(f"-break-after {number} {_times(hits) - 1}")
            except GdbError:
                gdb.try_run(f"-break-delete {number}")
                raise
            return {"id": int(number), "verified": True}

        return self._replace("data", [(insert, wish) for wish in arguments["breakpoints"]])

    def set_exception_breakpoints(self, arguments: dict[str, Any]) -> None:
        threshold = 0 if "errors" in arguments["filters"] else _NEVER
        if threshold == self._threshold:
            return
        goes_on = self._for_a_moment()
        gdb = self._any()
        gdb.console(f"monitor v.set vgdb-error {threshold}")
        self._threshold = threshold
        if goes_on:
            gdb.run("-exec-continue")

    def exception_info(self, arguments: dict[str, Any]) -> dict[str, Any]:
        if self._exception is None:
            raise GdbError("the program did not stop at an error")
        return self._exception

    # -- looking ---------------------------------------------------------------------------------

    def _inspected(self) -> Inspector:
        self._stopped()
        assert self._inspector
        return self._inspector

    def threads(self, arguments: dict[str, Any]) -> dict[str, Any]:
        self._any()
        assert self._inspector
        return {"threads": self._inspector.threads()}

    def stack_trace(self, arguments: dict[str, Any]) -> dict[str, Any]:
        first, count = int(arguments.get("startFrame") or 0), int(arguments.get("levels") or 0)
        return self._inspected().stack(int(arguments["threadId"]), first, count)

    def scopes(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"scopes": self._inspected().scopes(int(arguments["frameId"]))}

    def variables(self, arguments: dict[str, Any]) -> dict[str, Any]:
        only = text(arguments, "filter")
        start, count = int(arguments.get("start") or 0), int(arguments.get("count") or 0)
        reference = int(arguments["variablesReference"])
        return {"variables": self._inspected().variables(reference, only, start, count)}

    def set_variable(self, arguments: dict[str, Any]) -> dict[str, Any]:
        reference, name = int(arguments["variablesReference"]), text(arguments, "name")
        return self._inspected().assign(reference, name, text(arguments, "value"))

    def set_expression(self, arguments: dict[str, Any]) -> dict[str, Any]:
        expression, value = text(arguments, "expression"), text(arguments, "value")
        return self._inspected().assign_to(expression, value, arguments.get("frameId"))

    def read_memory(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return memory.read(self._stopped(), arguments)

    def write_memory(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return memory.write(self._stopped(), arguments)

    def disassemble(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return memory.disassemble(self._stopped(), arguments)

    def evaluate(self, arguments: dict[str, Any]) -> dict[str, Any]:
        expression = text(arguments, "expression").strip()
        if arguments.get("context") == "repl":
            if expression.startswith("-exec "):
                expression = expression[6:].strip()
                return {"result": self._any().console(expression), "variablesReference": 0}
            if expression == "monitor" or expression.startswith("monitor "):
                goes_on = self._for_a_moment()
                try:
                    return {"result": self._any().console(expression), "variablesReference": 0}
                finally:
                    if goes_on:
                        self._any().run("-exec-continue")
        return self._inspected().evaluate(expression, arguments.get("frameId"))


_Place = str | Callable[[Gdb, dict[str, Any]], dict[str, Any]]
"""Of a breakpoint: words of MI's -break-insert, or who sets it."""


def _insert(gdb: Gdb, place: str, wish: dict[str, Any]) -> dict[str, Any]:
    condition = text(wish, "condition")
    option = f"-c {quote(condition)} " if condition else ""
    if hits := text(wish, "hitCondition").strip():
        option += f"-i {_times(hits) - 1} "
    return _breakpoint(gdb.run(f"-break-insert -f {option}{place}")["bkpt"])


def _without_prefix(line: str) -> str:
    """A line of a report without ``==PID== ``."""
    if line.startswith("=="):
        return line[2:].partition("==")[2].removeprefix(" ")
    return line


def _times(hits: str) -> int:
    """The hit at which a breakpoint begins to stop. Raises :class:`GdbError` for anything but N or >=N."""
    number = hits.removeprefix(">=").strip()
    if not number.isdecimal() or not 0 < int(number) < _NEVER:
        raise GdbError(
            f'hit count "{hits}": expected the number of the hit from which on it stops, as 5 or >=5'
        )
    return int(number)


def _executable(pid: int) -> str:
    """The program's file, as far as the kernel tells (``docs/debugging.md``)."""
    with contextlib.suppress(OSError):
        path = os.readlink(f"/proc/{pid}/exe")
        if not os.path.basename(path).startswith("interpose-rt-"):
            return path
    return ""


def _breakpoint(found: dict[str, Any]) -> dict[str, Any]:
    """gdb's breakpoint as the protocol's."""
    body: dict[str, Any] = {"id": int(found["number"]), "verified": found.get("addr") != "<PENDING>"}
    if "line" in found:
        body["line"] = int(found["line"])
    if "fullname" in found:
        body["source"] = {"name": os.path.basename(found["fullname"]), "path": found["fullname"]}
    if not body["verified"]:
        body["message"] = "no such place in what is loaded so far"
    return body


_HANDLERS: dict[str, Callable[[Server, dict[str, Any]], dict[str, Any] | None]] = {
    "initialize": Server.initialize,
    "launch": Server.launch,
    "attach": Server.attach,
    "configurationDone": Server.configuration_done,
    "disconnect": Server.disconnect,
    "terminate": Server.terminate,
    "continue": Server.continue_,
    "next": Server.next,
    "stepIn": Server.step_in,
    "stepOut": Server.step_out,
    "pause": Server.pause,
    "setBreakpoints": Server.set_breakpoints,
    "setFunctionBreakpoints": Server.set_function_breakpoints,
    "setInstructionBreakpoints": Server.set_instruction_breakpoints,
    "dataBreakpointInfo": Server.data_breakpoint_info,
    "setDataBreakpoints": Server.set_data_breakpoints,
    "setExceptionBreakpoints": Server.set_exception_breakpoints,
    "exceptionInfo": Server.exception_info,
    "threads": Server.threads,
    "stackTrace": Server.stack_trace,
    "scopes": Server.scopes,
    "variables": Server.variables,
    "setVariable": Server.set_variable,
    "setExpression": Server.set_expression,
    "evaluate": Server.evaluate,
    "restart": Server.restart,
    "readMemory": Server.read_memory,
    "writeMemory": Server.write_memory,
    "disassemble": Server.disassemble,
}


def serve() -> int:
    """Serve the editor on standard input and output until it leaves; returns the exit code."""
    folder = tempfile.mkdtemp(prefix="interpose-dap-")
    guard = Guard(folder)
    signal.signal(signal.SIGTERM, lambda number, stack: sys.exit(143))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    code = 0
    try:
        Server(guard, folder).run()
    except ProtocolError as error:
        print(f"interpose: --dap: {error}", file=sys.stderr, flush=True)
        code = 1
    except BrokenPipeError:
        pass  # the editor has gone
    finally:
        guard.end()
        shutil.rmtree(folder, ignore_errors=True)
    return code
