"""Every program of tests/guests/memcheck reports under interpose what it reports under Valgrind.

Kind, size, address description, stacks, counts and summaries are compared, with the installed Valgrind where
it is 3.19.0 or 3.27.1, else with what 3.19.0 reported when the expectations were stored (guests.py --update).
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tools.memcheck.differences import DIFFERENCES, ORIGINS
from tools.memcheck.guests import (
    NEWER_VERSION,
    REFERENCE,
    VERSIONS,
    Guest,
    all_guests,
    expectation,
    valgrind_version,
    without_library_lines,
)
from tools.memcheck.newer import NEWER, as_before, changes

GUESTS = {guest.name: guest for guest in all_guests()}


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where programs are built."""
    return tmp_path_factory.mktemp("memcheck-guests")


def _expected(guest: Guest, folder: Path) -> tuple[str, bool]:
    """Valgrind's text, and whether it comes from this machine."""
    if valgrind_version() == REFERENCE:
        return guest.run(guest.valgrind_command(), folder).text(), True
    return expectation(guest).read_text(), False


def _errors(text: str) -> list[str]:
    """The error blocks of a report."""
    return re.findall(r"^[A-Z].*\n(?:   (?:at|by).*\n)+(?: .*\n)*", text.partition("HEAP SUMMARY")[0], re.M)


def test_there_are_enough_programs() -> None:
    assert len(GUESTS) >= 50
    assert all(expectation(guest).exists() for guest in GUESTS.values())
    assert set(DIFFERENCES) | set(ORIGINS) | set(NEWER) <= set(GUESTS)
    assert all(why != "?" for why, _ in NEWER.values())


@pytest.mark.parametrize("name", GUESTS)
def test_report_agrees(name: str, programs: Path) -> None:
    guest, difference = GUESTS[name], DIFFERENCES.get(name)
    if lacking := guest.missing():
        pytest.skip(f"{lacking} is not installed")
    outcome = guest.run(guest.our_command(), programs)
    ours = outcome.text()
    if name.startswith("ok_"):  # by construction, whatever Valgrind says
        assert outcome.status == 0 and not _errors(outcome.report), ours
    if valgrind_version() == NEWER_VERSION:
        theirs = guest.run(guest.valgrind_command(), programs).text()
        if difference is not None and difference.subset:
            assert set(_errors(ours)) <= set(_errors(theirs)) and _errors(ours)
        elif name in NEWER or not as_before(guest, theirs, ours):
            assert changes(guest, theirs, ours) == NEWER.get(name, ("", ""))[1]
        return
    if difference is not None and difference.own is not None:
        assert re.fullmatch(difference.own, ours), ours
        return
    theirs, is_here = _expected(guest, programs)
    if difference is not None:
        for edit in difference.edits:
            theirs = edit(theirs)
    if not is_here:
        ours, theirs = (without_library_lines(text, guest.source.name) for text in (ours, theirs))
    if difference is not None and difference.subset:
        found = _errors(ours)
        assert found and set(found) <= set(_errors(theirs))
        return
    assert ours == theirs


UNDEFINED = [
    name
    for name, guest in GUESTS.items()
    if name not in DIFFERENCES
    and "--undef-value-errors=no" not in guest.options
    and "ninitialised" in expectation(guest).read_text()
]


UNTOLD = {"linked_lld", "stacks_used_again"}
"""Of which 3.27 reports no lines or nothing (expect/newer.diff)."""


@pytest.mark.skipif(valgrind_version() not in VERSIONS, reason=f"compares with {VERSIONS}")
@pytest.mark.parametrize("name", UNDEFINED)
def test_origins_agree(name: str, programs: Path) -> None:
    """--track-origins=yes: where each undefined value was created."""
    guest = GUESTS[name]
    if lacking := guest.missing():
        pytest.skip(f"{lacking} is not installed")
    newer = valgrind_version() == NEWER_VERSION
    if newer and name in UNTOLD:
        pytest.skip("3.27 tells no lines of it")
    ours = guest.run([*guest.our_command(), "--track-origins=yes"], programs).text()
    theirs = guest.run([*guest.valgrind_command(), "--track-origins=yes"], programs).text()
    if name in ORIGINS:
        for edit in ORIGINS[name].edits:
            theirs = edit(theirs)
    if newer:
        assert ours == theirs or changes(guest, theirs, ours) == NEWER.get(name, ("", ""))[1]
        return
    assert ours == theirs
