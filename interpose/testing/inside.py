"""The part of the plugin that runs under interpose: attaches what was found to the test that caused it."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator
from typing import Any

import pytest

from interpose.formats.report import Error, Leak
from interpose.testing import requests
from interpose.testing.found import MOST_SHOWN, Folder, Settings, headline, read_quietly, text_of
from interpose.testing.outside import tell

_FOUND = pytest.StashKey[list[tuple[Error, int]]]()


def begin(config: pytest.Config, folder: str) -> None:
    """This process was started by :mod:`interpose.testing.outside`."""
    options = ("interpose", "interpose_fail", "interpose_leaks")
    settings = Settings(*(config.getoption(name) for name in options))
    if settings.tool != "memcheck" or not requests.mark("session"):
        return
    config.pluginmanager.register(Attach(config, settings, folder), "interpose-attach")


class Attach:
    """Hooks at the borders of tests; each border is a mark in the report, before which all is told."""

    def __init__(self, config: pytest.Config, settings: Settings, folder: str) -> None:
        self._config = config
        self._settings = settings
        self._folder = Folder(folder)
        self._pid = os.getpid()
        self._outside: list[tuple[str, bool]] = []
        """What belongs to no test, and whether it fails the session."""
        self._tests_with_errors: set[str] = set()
        self._searched = False
        self._problem: str | None = None

    # -- borders -------------------------------------------------------------------------------

    def _border(self, text: str) -> list[tuple[Error, int]]:
        """Mark a border: what was found since the one before."""
        if os.getpid() != self._pid:
            return []  # a forked child that goes on with the session of its parent
        requests.mark(text)
        found, problem = read_quietly(self._folder)
        if problem is not None and problem != self._problem:
            self._problem = problem
            self._outside.append((f"the report cannot be read: {problem}", True))
        return found

    def _search_leaks(self) -> None:
        gc.collect()
        requests.search_leaks()

    def _shown(self, found: list[tuple[Error, int]]) -> list[tuple[Error, int]]:
        """Loss records of other kinds than wanted are left out."""
        return [
            (error, times)
            for error, times in found
            if not isinstance(error, Leak) or error.leak_kind == "definite" or self._settings.fail == "all"
        ]

    def _leave_outside(self, what: str, found: list[tuple[Error, int]]) -> None:
        found = self._shown(found)
        if found:
            fails = any(self._settings.fails(error) for error, _ in found)
            self._outside.append((f"{what}:\n{text_of(found, self._pid)}", fails))

    # -- collection ----------------------------------------------------------------------------

    def pytest_sessionstart(self) -> None:
        self._leave_outside("before the collection", self._border("collection"))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, None]:
        outcome = yield
        found = self._shown(self._border(f"collected {collector.nodeid}"))
        if not found or outcome.excinfo is not None:
            return
        report = outcome.get_result()
        text = text_of(found, self._pid)
        report.sections.append(("interpose", text))
        if report.passed and any(self._settings.fails(error) for error, _ in found):
            report.outcome = "failed"
            report.longrepr = text

    def pytest_runtestloop(self) -> None:
        if self._settings.leaks != "no":
            self._search_leaks()
            self._searched = True
        news = self._border("tests")
        self._leave_outside("before the tests", [each for each in news if not isinstance(each[0], Leak)])

    # -- tests ---------------------------------------------------------------------------------

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, None]:
        self._leave_outside(f"before {item.nodeid}", self._border(f"begin {item.nodeid}"))
        yield
        # Such as in a process that a plugin runs it in.
        self._leave_outside(f"beside {item.nodeid}", self._border(f"over {item.nodeid}"))

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self._phase(item, "setup")

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        self._phase(item, "call")

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        if self._settings.leaks == "test":
            self._search_leaks()
        self._phase(item, "teardown")

    def _phase(self, item: pytest.Item, when: str) -> None:
        """A phase that was without fault otherwise."""
        found = self._shown(self._border(f"end {item.nodeid} {when}"))
        if not found:
            return
        item.stash[_FOUND] = found
        failing = [each for each in found if self._settings.fails(each[0])]
        if failing:
            count = sum(times for _, times in failing)
            lines = [f"{self._settings.tool}: {count} {'error' if count == 1 else 'errors'}"]
            lines += [headline(error, times) for error, times in failing[:MOST_SHOWN]]
            pytest.fail("\n".join(lines), pytrace=False)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, Any, None]:
        outcome = yield
        found = item.stash.get(_FOUND, [])
        item.stash[_FOUND] = []
        if call.excinfo is not None:  # the phase ended before its border
            found = [*found, *self._shown(self._border(f"end {item.nodeid} {call.when}"))]
        if found and outcome.excinfo is None:
            report = outcome.get_result()
            report.sections.append((f"interpose {call.when}", text_of(found, self._pid)))
            properties = [("interpose", f"{error.kind}: {headline(error, times)}") for error, times in found]
            item.user_properties += properties  # of later phases' reports, the last of which junitxml takes
            report.user_properties += properties
            self._tests_with_errors.add(item.nodeid)

    # -- the end -------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        self._leave_outside("after the tests", self._border("tests are over"))
        if self._searched and self._settings.leaks == "session":
            self._search_leaks()
            self._leave_outside("lost since the tests began", self._border("leaks"))
        output = getattr(self._config, "workeroutput", None)
        if output is not None:
            output["interpose"] = self._outside
            return
        fails = any(fails for _, fails in self._outside)
        if fails and exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_report_header(self) -> str:
        return f"interpose: {self._settings.tool}, leaks: {self._settings.leaks}"

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        tell(terminalreporter, [text for text, _ in self._outside])
