"""The pytest plugin: ``pytest --interpose=memcheck`` (docs/python.md).

pytest loads this module in every run of an environment where interpose is installed, so it imports nothing
but pytest until the option is given.
"""

from __future__ import annotations

import os

import pytest

INSIDE = "INTERPOSE_PYTEST"
"""The variable that tells the process under interpose where its reports are."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Our options."""
    group = parser.getgroup("interpose", "memory errors of C extensions")
    group.addoption(
        "--interpose",
        metavar="TOOL",
        help="run the tests under this tool of interpose: memcheck finds memory errors, and each is attached "
        "to the test that caused it",
    )
    group.addoption(
        "--interpose-fail",
        choices=("definite", "all", "no"),
        default="definite",
        help="what fails a test: errors and blocks that are definitely lost (default), possibly lost ones, "
        "too, or nothing",
    )
    group.addoption(
        "--interpose-leaks",
        choices=("session", "test", "no"),
        default="session",
        help="search for leaks at the end of the session (default), after each test, or not at all",
    )
    group.addoption(
        "--interpose-options",
        action="append",
        default=[],
        metavar="WORDS",
        help='further options of interpose: --interpose-options="--track-origins=no"; may be repeated',
    )


@pytest.hookimpl
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Run the session in a process under interpose, or prepare workers that are."""
    if config.getoption("interpose") is None or INSIDE in os.environ or hasattr(config, "workerinput"):
        return None
    names = ("help", "version", "markers", "showfixtures", "show_fixtures_per_test", "cacheshow")
    if any(getattr(config.option, name, None) for name in names):
        return None
    from interpose.testing.outside import start

    return start(config)


def pytest_configure(config: pytest.Config) -> None:
    """In the process under interpose: watch what each test causes."""
    folder = os.environ.get(INSIDE)
    if config.getoption("interpose", None) is None or folder is None:
        return
    # Not for a session within this one, nor for other programs that tests start.
    del os.environ[INSIDE]
    from interpose.testing.inside import begin

    begin(config, folder)
