"""``interpose.run`` and ``interpose.run_async``."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

from interpose import tools
from interpose.api.outputs import OPTIONS, Outputs, value_of
from interpose.api.result import Run, RunTimeout
from interpose.api.words import words
from interpose.cli import is_command
from interpose.console import start_words
from interpose.errors import InterposeError
from interpose.formats.report import Reader, Report
from interpose.options.parse import parse
from interpose.paths import absolute
from interpose.report.log import FileNames


def run(program: Sequence[str | os.PathLike[str]], *, tool: str = "memcheck", **more: Any) -> Run:
    """Run a program under a tool, and wait for it and for what it leaves behind.

    :param program: the program and its arguments.
    :param env: its whole environment; this process's if None.
    :param cwd: its folder.
    :param input: what it reads from its standard input: bytes, or str with ``text``.
    :param timeout: seconds after which everything is ended, with :class:`RunTimeout`.
    :param capture_output: take its standard output and error output.
    :param stdin, stdout, stderr: as for ``subprocess.run``.
    :param text: output is str.
    :param children: ``"wait"`` for processes that outlive the program, or ``"kill"`` them.
    :param hooks: files of hooks, and :class:`interpose.Registry` objects, whose functions run here.
    :param more: options of interpose and of the tool: ``leak_check="full"``, ``num_callers=30``.

    A program that cannot be run and a bad option raise :class:`interpose.errors.InterposeError`, an unknown
    option TypeError.  Whatever else ends the wait, KeyboardInterrupt too, ends all processes first.
    """
    task = _Task(program, tool, more)
    interrupts = _Interrupts(task)
    try:
        task.start()
        task.wait()
    except BaseException:
        task.end()
        raise
    finally:
        interrupts.end()
    return task.result()


async def run_async(program: Sequence[str | os.PathLike[str]], *, tool: str = "memcheck", **more: Any) -> Run:
    """The same for asyncio; a task that is cancelled ends all processes before it is over."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def settle() -> None:
        if not ended.done():
            ended.set_result(None)

    def tell() -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle)

    task = _Task(program, tool, more, tell)
    cancelled: asyncio.CancelledError | None = None
    try:
        task.start()
        while not ended.done():
            try:
                await asyncio.shield(ended)
            except asyncio.CancelledError as error:
                cancelled = error
                task.cancel()
    except BaseException:  # nobody runs this coroutine any more
        task.end()
        raise
    if cancelled is not None:
        raise cancelled
    return task.result()


class _Interrupts:
    """SIGINT during a run: its handler raises when nothing of the run is left, however often it comes.

    Raised at once, a second KeyboardInterrupt could meet the clean-up that the first one has begun, between
    any two instructions of Python, and end it.
    """

    def __init__(self, task: _Task) -> None:
        """From now on, if this is the main thread, which alone runs handlers."""
        self._task = task
        self._raised: BaseException | None = None
        handler = signal.getsignal(signal.SIGINT)
        self._handler = handler if callable(handler) and _is_main_thread() else None
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._heed)

    def _heed(self, number: int, frame: FrameType | None) -> None:
        assert self._handler is not None
        try:
            self._handler(number, frame)
        except BaseException as error:
            self._raised = self._raised or error
            self._task.cancel()

    def end(self) -> None:
        """Raises what the handler has raised."""
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)
        if self._raised is not None:
            raise self._raised


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


class _Task:
    """A run in a thread of its own: what interrupts the caller, at whatever place, does not interrupt that.

    Only a bare lock is waited for: KeyboardInterrupt in the midst of Thread.join() or Condition.wait() leaves
    those in a state that is wrong.
    """

    def __init__(
        self,
        program: Sequence[str | os.PathLike[str]],
        tool: str,
        more: Mapping[str, Any],
        tell: Callable[[], None] | None = None,
    ) -> None:
        """``tell`` is called in the thread, at the end."""
        self._is_over = False
        self._over = threading.Lock()  # held until nothing of the run is left
        self._over.acquire()
        self._arguments = program, tool, more
        self._tell = tell
        self._lock = threading.RLock()  # a handler may cancel while its thread does
        self._is_cancelled = False
        self._has_begun = False
        self._running: Running | None = None
        self._result: Run | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="interpose.run", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _work(self) -> None:
        try:
            with self._lock:
                if self._is_cancelled:
                    return
                self._has_begun = True
            running = Running(*self._arguments)
            try:
                with self._lock:
                    self._running = running
                    if self._is_cancelled:
                        running.cancel()
                self._result = running.finish()
            finally:
                running.close()
        except BaseException as error:
            self._error = error
        finally:
            self._is_over = True
            self._over.release()
            if self._tell is not None:
                self._tell()

    def cancel(self) -> None:
        """End all processes; the task is over when they are gone."""
        with self._lock:
            self._is_cancelled = True
            if self._running is not None:
                self._running.cancel()

    def end(self) -> None:
        """The same, and wait for it, however impatient somebody is."""
        while True:
            try:
                self.cancel()
                if self._has_begun:  # else it never will
                    self.wait()
                return
            except KeyboardInterrupt:
                continue

    def wait(self) -> None:
        """Until nothing of the run is left."""
        while not self._is_over:
            self._over.acquire()

    def result(self) -> Run:
        """Of a task that is over."""
        try:
            if self._error is not None:
                raise self._error
            assert self._result is not None
            return self._result
        finally:
            del self._error  # it would keep the caller's frames alive by its traceback


class Running:
    """A program that runs, and the guard that watches it (:mod:`interpose.api.guard`)."""

    def __init__(self, program: Sequence[str | os.PathLike[str]], tool: str, more: Mapping[str, Any]) -> None:
        if isinstance(program, (str, bytes, os.PathLike)):
            raise TypeError("program is a list: the program and its arguments")
        self.command = tuple(os.fsdecode(word) for word in program)
        if not self.command:
            raise ValueError("program is empty")
        options = dict(more)
        take = options.pop
        self._env: Mapping[str, str] | None = take("env", None)
        self._cwd = take("cwd", None)
        self._input = take("input", None)
        self._timeout: float | None = take("timeout", None)
        captured = take("capture_output", False)
        if self._input is not None and options.get("stdin") is not None:
            raise ValueError("stdin and input may not both be given")
        if captured and (options.get("stdout") is not None or options.get("stderr") is not None):
            raise ValueError("stdout and stderr may not be given with capture_output")
        self._text = bool(take("text", False))
        stdin, stdout, stderr = (take(name, None) for name in ("stdin", "stdout", "stderr"))
        self._stdin = subprocess.PIPE if self._input is not None else stdin
        self._stdout = subprocess.PIPE if captured else stdout
        self._stderr = subprocess.PIPE if captured else stderr
        children = take("children", "wait")
        if children not in ("wait", "kill"):
            raise ValueError(f"children is 'wait' or 'kill', not {children!r}")
        if not isinstance(tool, str):
            raise TypeError(f"tool is a name, not {tool!r}")
        self._children = children
        self.tool = tools.known_as(tool)
        self._options = options
        self._pid = 0
        self._status: int | None = None
        self._refused: InterposeError | None = None
        self._cancelled = False
        self._process: subprocess.Popen[Any] | None = None
        self._control = -1
        self._lock = threading.RLock()  # as in _Task
        self._servers = contextlib.ExitStack()
        self._folder = tempfile.mkdtemp(prefix="interpose-")
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    # -- start ---------------------------------------------------------------------------------

    def _place(self, name: str) -> str:
        return os.path.join(self._folder, name)

    def _words(self) -> list[str]:
        """The command line of interpose; bad values are found here."""
        options = self._options
        if options.get("hooks") is not None:
            options = {**options, "hooks": self._hooks(options["hooks"])}
        asked = words(self.tool, options)
        line = [f"--tool={self.tool}", *asked]
        given = {word.partition("=")[0] for word in line}
        if self.tool == "memcheck" and "--leak-check" not in given:
            line.append("--leak-check=full")
        if not any(word.startswith("--log-") for word in given):
            line.append("--log-file=" + FileNames.literal(self._place("log")))
        if self.tool in OPTIONS and OPTIONS[self.tool][0] not in given:
            os.mkdir(self._place("out"))
            line.append("=".join((OPTIONS[self.tool][0], self._own_output())))
        line.append("--json-file=" + FileNames.literal(self._place("report")))
        line = [*line, "--", *self.command]
        if is_command(parse(["--command-line-only=yes", *line], {})):
            raise InterposeError(f"with these options no program runs: {' '.join(asked)}")
        return line

    def _hooks(self, given: Any) -> list[str]:
        """Values of --hooks: files, and the functions of registries, which stay in this process."""
        if isinstance(given, (str, bytes, os.PathLike)) or hasattr(given, "serve"):
            given = [given]
        found = []
        for each in given:
            if hasattr(each, "serve"):
                found.append(self._servers.enter_context(each.serve()).option)
            elif isinstance(each, (str, bytes, os.PathLike)):
                found.append(os.fsdecode(each))
            else:
                raise TypeError(f"hooks takes files and interpose.Registry objects, not {each!r:.80}")
        return found

    def _start(self) -> None:
        line = self._words()
        self._outputs = self._watch_outputs()
        if not sys.executable:
            raise InterposeError("there is no Python to start: sys.executable is empty")
        told, control = os.pipe()
        status, tell = os.pipe()
        self._control = control
        os.set_blocking(control, False)
        try:
            self._process = subprocess.Popen(
                [
                    *start_words("interpose.api.guard"),
                    *(str(told), str(tell), self._children),
                    *line,
                ],
                stdin=self._stdin,
                stdout=self._stdout,
                stderr=self._stderr,
                env=self._env,
                cwd=self._cwd,
                text=self._text,
                errors="replace" if self._text else None,
                pass_fds=(told, tell),
                start_new_session=True,
            )
        except BaseException:
            os.close(status)
            raise
        finally:
            os.close(told)
            os.close(tell)
        self._listener = threading.Thread(target=self._listen, args=(status,), daemon=True)
        self._listener.start()

    def _own_output(self) -> str:
        """The tool's option, where the files are to be in the folder of this run."""
        return value_of(self.tool, self._place("out")) + OPTIONS[self.tool][1]

    def _watch_outputs(self) -> Outputs | None:
        """From now on, what is new where the tool's files are made is its."""
        if self.tool not in OPTIONS:
            return None
        option = OPTIONS[self.tool][0].lstrip("-").replace("-", "_")
        given = self._options.get(option)
        if given is None:
            return Outputs(self.tool, self._own_output(), {}, True)
        environ = os.environ if self._env is None else self._env
        names = {os.fsdecode(name): os.fsdecode(value) for name, value in environ.items()}
        folder = value_of(self.tool, absolute(os.fsdecode(self._cwd or ".")))
        return Outputs(self.tool, os.path.join(folder, os.fsdecode(given)), names, False)

    def _listen(self, status: int) -> None:
        """What the guard says, until it is gone."""
        with open(status, "rb") as stream:
            for line in stream:
                try:
                    message = json.loads(line)
                except ValueError:
                    continue  # it was killed in the middle of a word
                if "pid" in message:
                    self._pid = message["pid"]
                if "status" in message:
                    self._status = message["status"]
                if "error" in message:
                    first, *rest = message["error"]
                    self._refused = InterposeError(first, *rest, exit_code=message["code"])

    # -- end -----------------------------------------------------------------------------------

    def cancel(self) -> None:
        """End all processes; :meth:`finish` returns when they are gone."""
        with self._lock:
            self._cancelled = True
            # It is nobody else's before the first call: a signal's handler may cancel within any of them.
            control, self._control = self._control, -1
            if control >= 0:
                with contextlib.suppress(OSError):
                    os.write(control, b"k")
                os.close(control)

    def close(self) -> None:
        """Nothing is left after this."""
        self.cancel()
        try:
            self._end_process()
        finally:
            self._servers.close()
            if self._folder:
                shutil.rmtree(self._folder, ignore_errors=True)

    def _end_process(self) -> None:
        process = self._process
        if process is None:
            return
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        process.wait()
        self._listener.join()

    def finish(self) -> Run:
        """Wait for the end."""
        assert self._process is not None
        stdout, stderr, late = None, None, False
        try:
            stdout, stderr = self._process.communicate(self._input, self._timeout)
        except subprocess.TimeoutExpired:
            late = True
            self.cancel()
            stdout, stderr = self._process.communicate()
        self._listener.join()
        if self._refused is not None:
            raise self._refused
        result = self._result(stdout, stderr)
        if late:
            raise RunTimeout(result, self._timeout or 0)
        return result

    def _result(self, stdout: Any, stderr: Any) -> Run:
        if self._status is None and not self._cancelled:
            raise InterposeError("the process that watches the program was killed")
        text = _read(self._place("report"))
        result = Run(
            command=self.command,
            tool=self.tool,
            pid=self._pid,
            returncode=-9 if self._status is None else self._status,
            report=_report(text),
            log=_read(self._place("log")).decode("utf-8", "backslashreplace"),
            stdout=stdout,
            stderr=stderr,
            json=text,
        )
        if self._options.get("engine") == "native":
            _complete(result)
        if not text and not self._cancelled:
            how = f"interpose ended with {self._status} before the program ran"
            raise InterposeError(*_said(stderr) or (f"{self.command[0]}: {how}",))
        if result.returncode == 1 and not self._cancelled:
            _check_not_refused(result)
        self._files(result)
        if result.profiles or result.traces:
            # They go with the result.
            weakref.finalize(result, shutil.rmtree, self._folder, True)
            self._folder = ""
        return result

    def _files(self, result: Run) -> None:
        """Profiles and traces that the tool has made."""
        if self._outputs is None:
            return
        pids = dict.fromkeys((result.pid, *(process.pid for process in result.processes)))
        made = self._outputs.made(pids)
        if self.tool != "callgrind":
            result.traces = [path for path, _ in made]
            return
        for pid in pids:
            files = [path for path, owner in made if (result.pid if owner is None else owner) == pid]
            if files:
                result.profiles[pid] = files


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""


def _said(stderr: Any) -> list[str]:
    """What interpose has said on a standard error that was captured: of files of hooks nobody else hears."""
    text = stderr.decode("utf-8", "backslashreplace") if isinstance(stderr, bytes) else stderr or ""
    start = "interpose: "
    return [line.removeprefix(start) for line in text.splitlines() if line.startswith(start)]


def _check_not_refused(run: Run) -> None:
    """Raises InterposeError where interpose has ended the program or let none begin: why comes last."""
    if any(process.pid == run.pid and process.how is None for process in run.report.processes):
        *_, last = run.json.splitlines()
        record = json.loads(last)
        if record["record"] == "message" and record["pid"] == run.pid:
            raise InterposeError(*record["text"].splitlines())


def _complete(run: Run) -> None:
    """On the real CPU the program's parent alone learns for sure how it has ended."""
    for process in run.report.processes:
        if process.pid == run.pid and process.how is None:
            process.how = "exit" if run.returncode >= 0 else "signal"
            process.code = run.returncode if run.returncode >= 0 else None
            process.signal = -run.returncode if run.returncode < 0 else None
    run.report.complete = all(process.how is not None for process in run.report.processes)


def _report(text: bytes) -> Report:
    reader = Reader()
    for line in text.splitlines(keepends=True):
        if line.endswith(b"\n"):
            reader.feed(line)
    if any(process.how is None for process in reader.report.processes):
        reader.report.complete = False
    return reader.report
