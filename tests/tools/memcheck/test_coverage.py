"""Every option of memcheck's help and every client request appears in one of the programs whose whole report
is compared (tests/guests/memcheck), or, where no program runs, in a test of its own that is named here."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from tools.memcheck.guests import ROOT, SOURCES, all_guests

from interpose import tools
from interpose.options.core import CoreOptions

TESTS = ROOT / "tests"
HEADERS = ROOT / "include" / "interpose"
OF_TOOLS = ("callgrind", "datagrind")
"""Their headers are other tools'."""

ELSEWHERE = {
    # They show something, and run no program.
    "-h": "cli/test_messages.py", "--version": "cli/test_messages.py", "--help-debug": "cli/test_messages.py",
    "--help-dyn-options": "cli/test_messages.py", "--include-dir": "cache/test_runs.py",
    "--mpi-wrappers": "mpi/test_build.py", "--gdb-script": "cli/test_messages.py", "--dap": "dap_client.py",
    "--vex-iropt-precise-memory-exns": "options/test_options.py",
    # They are about another engine, or stop a run.
    "--engine": "native/test_run.py", "--attach": "native/test_attach.py",
    "--detach": "native/test_attach.py",
    "--wrappers": "native/test_attach.py", "--hooks": "hooks/test_life.py",
    "--stop-after": "lockstep/test_stop_after.py", "-d": "supervisor/test_traces.py",
    # Where the report goes: the programs' reports are in --log-file.
    "--log-file": "tools/memcheck/guests.py", "--log-fd": "options/test_options.py",
    "--log-socket": "report/test_log.py", "--xml-fd": "report/test_xml_documents.py",
    "--xml-socket": "report/test_xml_documents.py", "--json-fd": "report/test_json.py",
    "--json-socket": "report/test_json.py",
}  # fmt: skip
NOT_OF_USERS = {
    # Of the replacement functions, of the engine's stubs, and by-value forms that no header offers any more
    # (tests/requests).
    "HOOK", "FREERES_DONE", "GET_MALLOCFUNCS", "INTERNAL_PRINTF_VALIST_BY_REF", "ADD_IFUNC_TARGET",
    "MC_RECORD_OVERLAP_ERROR", "MC_VERIFY_ALIGNMENT", "MC_IGNORED_BY_OPTION", "PRINTF", "PRINTF_BACKTRACE",
}  # fmt: skip


@cache
def _used_options() -> frozenset[str]:
    words = [word for guest in all_guests() for word in (*guest.options, *guest.own_options)]
    return frozenset(word.replace("--memcheck:", "--").split("=")[0] for word in words)


@cache
def _used_words() -> frozenset[str]:
    """The identifiers of all programs."""
    return frozenset(word for guest in all_guests() for word in re.findall(r"\w+", guest.source.read_text()))


@cache
def _macros() -> dict[str, str]:
    """Macros and enumerators of the headers for client code, and what they stand for."""
    found = {}
    for header in HEADERS.glob("*.h"):
        if not header.name.startswith(OF_TOOLS):
            text = header.read_text().replace("\\\n", " ")
            found |= dict(re.findall(r"#define (\w+)(?:\([^)]*\))?[ \t]+(.*)", text))
            found |= dict(re.findall(r"\b(VG_USERREQ__\w+) = (\w+)", text))
            found |= dict(re.findall(r"^(?:static )?.*?(\w+)\([^)]*\) \{\n(.*?)\n\}", text, re.M | re.S))
    return found


def _requests_of(name: str, seen: tuple[str, ...] = ()) -> set[str]:
    """The requests that a macro makes."""
    requests = set()
    for word in re.findall(r"\w+", _macros().get(name, "")):
        if word.startswith("INTERPOSE_RQ_"):
            requests.add(word.removeprefix("INTERPOSE_RQ_"))
        elif word not in seen:
            requests |= _requests_of(word, (*seen, name))
    return requests


OPTIONS = [
    option.spellings()
    for table in (CoreOptions, tools.load("memcheck").Options)
    for option in table.options()
]
REQUESTS = sorted(
    set(re.findall(r"#define INTERPOSE_RQ_(\w+)", "".join(p.read_text() for p in HEADERS.glob("*numbers.h"))))
    - set(re.findall(r"#define INTERPOSE_RQ_((?:CG|CT|DG|CL)_\w+)", "".join(
        p.read_text() for p in HEADERS.glob("*numbers.h") if p.name.startswith(OF_TOOLS))))
)  # fmt: skip


def test_there_are_enough_programs() -> None:
    assert len(all_guests()) >= 250
    assert len(OPTIONS) > 130 and len(REQUESTS) > 40


@pytest.mark.parametrize("spellings", OPTIONS, ids=lambda spellings: spellings[0])
def test_an_option_appears(spellings: tuple[str, ...]) -> None:
    if elsewhere := next((ELSEWHERE[name] for name in spellings if name in ELSEWHERE), None):
        text = (TESTS / elsewhere).read_text()
        assert any(re.search(rf"{re.escape(name)}\b", text) for name in spellings)
    else:
        assert set(spellings) & _used_options()


def test_a_request_appears() -> None:
    used = {request for word in _used_words() for request in _requests_of(word)}
    used |= {word.removeprefix("INTERPOSE_RQ_") for word in _used_words() if word.startswith("INTERPOSE_RQ_")}
    missing = set(REQUESTS) - used - NOT_OF_USERS
    assert not missing
    assert set(REQUESTS) >= NOT_OF_USERS


def test_every_macro_appears() -> None:
    """Of the names that Valgrind's headers have."""
    offered = {name for name in _macros() if re.match(r"VALGRIND_(?!G_|.*_LIST)|RUNNING_ON_VALGRIND", name)}
    assert len(offered) > 40
    assert not offered - _used_words() - _INNER


_INNER = {"VALGRIND_GET_NR_CONTEXT", "VALGRIND_VEX_INJECT_IR"}
"""Of wrappers (tests/wrap), and a hook of Valgrind's own tests."""


def test_the_table_names_what_is_there() -> None:
    assert set(ELSEWHERE) <= {name for spellings in OPTIONS for name in spellings}
    assert all(Path(SOURCES / "expect" / f"{guest.name}.expect").exists() for guest in all_guests())
