"""Whose errors those of children by vfork are, who are served by their parent's supervisor."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from interpose.jit._native import lib
from interpose.report.log import FileNames, Log
from interpose.supervisor.vforked import MOST, Vforked

PARENT = 7


class _Tool:
    """Finds letters."""

    def __init__(self, log: Log) -> None:
        self.found = ""
        self._log = log

    def branch(self) -> str:
        return self.found

    def exchange(self, found: str) -> str:
        self.found, found = found, self.found
        return found

    def started(self) -> None:
        self._log.plain("banner")


@pytest.fixture(params=["log", "log.%p"])
def supervisor(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    names = FileNames(PARENT, {}, str(tmp_path))
    path = names.expand("--log-file", request.param)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT)
    log = Log(fd, PARENT, names=names, template=request.param)
    return SimpleNamespace(
        log=log,
        tool=_Tool(log),
        documents=None,
        descriptors=None,
        session=SimpleNamespace(parent_pid=1),
        config=SimpleNamespace(core=SimpleNamespace(child_silent_after_fork=False)),
        client=SimpleNamespace(pid=PARENT, has_our_numbers=lambda: True),
    )


def _slot(number: int, by: int = 0, kind: int = lib.IP_R_ERROR) -> Any:
    return SimpleNamespace(
        kind=kind, tid=PARENT + number, vforked=SimpleNamespace(number=number, by=by, thread=1, known=0)
    )


def _finds(vforked: Vforked, supervisor: Any, letter: str, slot: Any) -> str:
    def handler(slot: Any) -> None:
        supervisor.tool.found += letter
        found.append(supervisor.tool.found)
        supervisor.log.plain(letter)

    found: list[str] = []
    vforked.answer(slot, handler)
    assert supervisor.log.pid == PARENT
    return found[0]


def test_each_goes_on_with_what_its_maker_had(supervisor: Any, tmp_path: Path) -> None:
    vforked = Vforked(supervisor)
    assert _finds(vforked, supervisor, "a", _slot(0)) == "a"
    assert _finds(vforked, supervisor, "b", _slot(1)) == "ab"
    assert _finds(vforked, supervisor, "c", _slot(2, by=1)) == "abc"
    assert _finds(vforked, supervisor, "d", _slot(0)) == "ad"
    assert _finds(vforked, supervisor, "e", _slot(1)) == "abe"
    assert _finds(vforked, supervisor, "f", _slot(3, by=1, kind=lib.IP_R_EXIT)) == "abef"
    supervisor.log.close()
    text = "".join(path.read_text() for path in sorted(tmp_path.iterdir()))
    for pid, letters in ((7, "ad"), (8, "bef"), (9, "c")):
        assert [line[-1] for line in text.splitlines() if line.startswith(f"=={pid}== ")].count("r") <= 1
        shown = [line[-1] for line in text.splitlines() if line.startswith(f"=={pid}== ") and line[-2] == " "]
        assert "".join(shown) == letters


def test_many_that_execute_something_are_forgotten(supervisor: Any) -> None:
    vforked = Vforked(supervisor)
    before = len(os.listdir("/proc/self/fd"))
    _finds(vforked, supervisor, "a", _slot(0))
    for number in range(1, 3 * MOST):
        _finds(vforked, supervisor, "b", _slot(number, by=number - 1))
    assert len(os.listdir("/proc/self/fd")) <= before + MOST + 1
    assert _finds(vforked, supervisor, "c", _slot(0)) == "ac"
    supervisor.log.close()


def test_a_request_that_comes_amid_another_ones(supervisor: Any) -> None:
    """A debugger has the others stand still, whose requests are answered meanwhile."""
    vforked = Vforked(supervisor)

    def handler(slot: Any) -> None:
        found = []
        vforked.answer(_slot(0), lambda slot: found.append((supervisor.tool.found, supervisor.log.pid)))
        assert found == [("a", PARENT)]
        assert (supervisor.tool.found, supervisor.log.pid) == ("ab", PARENT + 1)

    _finds(vforked, supervisor, "a", _slot(0))
    _finds(vforked, supervisor, "b", _slot(1))
    vforked.answer(_slot(1), handler)
    assert (supervisor.tool.found, supervisor.log.pid) == ("a", PARENT)
    supervisor.log.close()
