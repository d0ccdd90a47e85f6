"""The part of the plugin that is not under interpose: it starts what is, and tells of crashes."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from interpose import tools
from interpose.cli import is_command
from interpose.errors import InterposeError
from interpose.options.parse import Config, parse
from interpose.paths import absolute
from interpose.pytest_plugin import INSIDE
from interpose.report.log import FileNames
from interpose.testing.found import SUFFIX, Folder, fatal_text, read_quietly, text_of

_ENTER = "import sys; sys.path[:] = {path!r}; from interpose.testing.enter import enter; enter()"
_PYTEST = "import sys; sys.path[:] = {path!r}; sys.argv[0] = {name!r}; import pytest; sys.exit(pytest.main())"
SUPPRESSIONS = os.path.join(os.path.dirname(__file__), "cpython.supp")
LEAK_SUPPRESSIONS = os.path.join(os.path.dirname(__file__), "cpython-leaks.supp")


def start(config: pytest.Config) -> int | None:
    """``--interpose`` was given: the exit code of the session under interpose, or None if workers will be."""
    try:
        runner = Runner(config)
    except InterposeError as error:
        raise pytest.UsageError("--interpose: " + " ".join(error.lines())) from None
    if getattr(config.option, "tx", None):
        config.pluginmanager.register(Workers(runner, config), "interpose-workers")
        return None
    return runner.run_session()


class Runner:
    """Makes the commands."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.tool = tools.known_as(config.getoption("interpose"))
        given = _words_of(config.getoption("interpose_options"))
        self._words = [f"--tool={self.tool}", "--error-limit=no", "--num-callers=25"]
        if self.tool == "memcheck":
            # Leaks are searched on request: at the end the interpreter has given most of them up.
            self._words += ["--leak-check=no", f"--suppressions={SUPPRESSIONS}"]
            kinds = "definite"
            if config.getoption("interpose_fail") == "all":
                # To look for what hides thousands of records takes its time.
                self._words.append(f"--suppressions={LEAK_SUPPRESSIONS}")
                kinds = "definite,possible"
            self._words += [f"--{name}-leak-kinds={kinds}" for name in ("show", "errors-for")]
        self._words += given
        if not _is_session(parse(["--command-line-only=yes", *self._words, "pytest"], {}), given):
            raise InterposeError(f"--interpose-options has options of a run alone, not {shlex.join(given)}")
        self.folder = tempfile.mkdtemp(prefix="interpose-pytest-")

    def command(self, folder: str, python: list[str]) -> list[str]:
        """Run a Python under interpose, whose reports are in the folder."""
        place = FileNames.literal(folder)
        words = [*self._words, f"--json-file={place}/%p{SUFFIX}", f"--log-file={place}/%p.log"]
        path = [absolute(each) for each in sys.path]
        return [sys.executable, "-c", _ENTER.format(path=path), *words, "--", *python]

    def environment(self, folder: str) -> dict[str, str]:
        """What the process under interpose has more than this one."""
        more = {INSIDE: folder}
        if self.tool == "memcheck" and "PYTHONMALLOC" not in os.environ:
            # Blocks within the arenas of Python's own allocator are no blocks to memcheck.
            more["PYTHONMALLOC"] = "malloc"
        return more

    def try_out(self) -> None:
        """Find out what the options have wrong that is known at a run only; a worker could not say it."""
        folder = os.path.join(self.folder, "trial")
        os.mkdir(folder)
        command = self.command(folder, [sys.executable, "-I", "-S", "-c", ""])
        code = subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode
        text = _unreported(folder) if code else ""
        if text:
            raise pytest.UsageError(f"--interpose: no worker can begin:\n{text}")

    def run_session(self) -> int:
        """The whole session in a child; its exit code."""
        config = self.config
        if any(not isinstance(plugin, str) for plugin in config.invocation_params.plugins or ()):
            raise pytest.UsageError(
                "--interpose: plugins that are objects cannot be taken to another process"
            )
        flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
        script = _PYTEST.format(path=sys.path, name=sys.argv[0])
        python = [sys.executable, *flags, "-c", script, *map(str, config.invocation_params.args)]
        capture = config.pluginmanager.getplugin("capturemanager")
        if capture is not None:
            capture.suspend_global_capture(in_=True)
        command = self.command(self.folder, python)
        where = str(config.invocation_params.dir)
        child = subprocess.Popen(command, env={**os.environ, **self.environment(self.folder)}, cwd=where)
        try:
            code = _wait(child)
            running, text = crash(self.folder)
            if code and not running:
                text = _unreported(self.folder)
                if text:
                    _tell("pytest did not begin", text)
            where = f" in {running}" if running else ""
            if code < 0:
                _tell(f"pytest was ended by {_name_of(-code)}{where}", text)
            elif running:  # such as by os._exit(0): nobody has heard of what was found
                _tell(f"pytest ended with exit code {code}{where}", text)
                code = code or int(pytest.ExitCode.TESTS_FAILED)
        finally:
            self.remove()
        return code if code >= 0 else 128 - code

    def remove(self) -> None:
        """Logs and reports are not needed any more."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _words_of(texts: Sequence[str]) -> list[str]:
    """The words of options that have some each, as a shell would part them."""
    try:
        return [word for text in texts for word in shlex.split(text)]
    except ValueError as error:
        raise InterposeError(f"--interpose-options: {error}") from None


def _is_session(config: Config, given: Sequence[str]) -> bool:
    """Whether pytest runs, and not what the further options have in its place."""
    return config.program == ("pytest",) and "--" not in given and not is_command(config)


def _unreported(folder: str) -> str:
    """The logs, if the program did not come to begin: why it did not is nowhere else."""
    if any(name.endswith(SUFFIX) for name in os.listdir(folder)):
        return ""
    paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".log")]
    return "".join(Path(path).read_text("utf-8", "backslashreplace") for path in paths)


def _name_of(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _tell(line: str, text: str) -> None:
    sys.stdout.flush()
    sys.stderr.write(f"\ninterpose: {line}\n{text}")
    sys.stderr.flush()


def _wait(child: subprocess.Popen[Any]) -> int:
    """Until it ends; Ctrl-C is for it, too, and it says what there is to say."""
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:
            continue


def crash(folder: str) -> tuple[str | None, str]:
    """What ran in a process that has ended, and what was found since it began."""
    reports = Folder(folder)
    found, problem = read_quietly(reports)
    last = reports.last_mark()
    after = reports.reader.report.marks[-1].errors_before if reports.reader.report.marks else 0
    recent = {id(error) for error in reports.reader.report.errors[after:]}
    text = text_of((error, times) for error, times in found if id(error) in recent)
    text += "".join(map(fatal_text, reports.fatal()[-1:]))
    if problem is not None:
        text += f"{problem}\n"
    return running_at(last), text


def running_at(mark: str | None) -> str | None:
    """The test that was under way after a mark of :mod:`interpose.testing.inside`."""
    border, _, test = (mark or "").partition(" ")
    if border == "begin":
        return test
    if border == "end" and not test.endswith(" teardown"):
        return test.rpartition(" ")[0]
    return None


class Workers:
    """The controller's side of pytest-xdist: every worker runs under interpose, this process does not."""

    def __init__(self, runner: Runner, config: pytest.Config) -> None:
        self._runner = runner
        self._folders: dict[int, str] = {}
        self._told: list[str] = []
        self._fails = False
        config.add_cleanup(runner.remove)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_setupnodes(self, config: pytest.Config, specs: list[Any]) -> None:
        self._runner.try_out()
        for number, spec in enumerate(specs):
            if not spec.popen:
                raise pytest.UsageError(f"--interpose: the worker {spec} is not a process of this machine")
            folder = os.path.join(self._runner.folder, f"worker{number}")
            os.mkdir(folder)
            self._folders[id(spec)] = folder
            python = shlex.split(spec.python) if spec.python else [sys.executable]
            variables = [f"{name}={value}" for name, value in self._runner.environment(folder).items()]
            spec.python = shlex.join(["env", *variables, *self._runner.command(folder, python)])

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport, sched: object) -> None:
        node = getattr(report, "node", None)
        folder = self._folders.get(id(node.gateway.spec)) if node is not None else None
        if folder is not None:
            _, text = crash(folder)
            if text:
                report.sections.append(("interpose", text))
                report.longrepr = f"{report.longrepr}\n\n{text}"
            for file in os.scandir(folder):  # the next worker begins with none
                os.unlink(file)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        output = getattr(node, "workeroutput", None) or {}
        for text, fails in output.get("interpose", ()):
            self._told.append(f"{node.gateway.id}: {text}")
            self._fails = self._fails or fails

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self._fails and exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        tell(terminalreporter, self._told)


def tell(reporter: Any, texts: list[str]) -> None:
    """What belongs to no test, in a section of its own."""
    if texts:
        reporter.section("interpose", sep="=", red=True, bold=True)
        for text in texts:
            reporter.write_line(text.rstrip("\n"))
            reporter.write_line("")
