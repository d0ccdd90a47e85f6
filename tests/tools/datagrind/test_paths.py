"""Blocks that follow one another often are one run of one definition, and nothing else changes."""

from __future__ import annotations

import pytest
from tools.datagrind import records
from tools.datagrind.records import Run
from tools.datagrind.test_programs import Recorded, recorded

N = 20000


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return recorded("paths.c", tmp_path_factory.mktemp("paths"), "-O2", "-fno-tree-vectorize", "-fno-inline")


def between(found: Recorded, name: str) -> list[Run]:
    """The runs within an event; those behind its start if it has no end."""
    events = found.recording.events
    marks = [i for i, e in enumerate(events) if isinstance(e, records.Mark) and e.texts == (name,)]
    first, last = marks[0], marks[1] if len(marks) > 1 else len(events)
    return [event for event in events[first:last] if isinstance(event, Run)]


def in_numbers(found: Recorded, runs: list[Run], write: bool) -> list[int]:
    start = found.address("numbers")
    return [
        (a.address - start) // 4
        for run in runs
        for a in run.accesses
        if start <= a.address < start + 4 * N and a.write == write
    ]


def test_the_order_of_accesses(found: Recorded) -> None:
    walked = in_numbers(found, between(found, "walk"), write=False)
    assert list(dict.fromkeys(walked)) == list(range(N))
    assert in_numbers(found, between(found, "half"), write=True) == list(range(N // 2, N))


def test_hot_loops_are_few_runs(found: Recorded) -> None:
    """A block of the loop that stores has some instructions; a definition has 255."""
    stores = [run for run in between(found, "half") if in_numbers(found, [run], write=True)]
    assert len(stores) < N // 20
    walk = [run for run in between(found, "walk") if found.name(run.stack[0]) == "walk"]
    assert len(walk) < N // 4


def test_definitions_stay_in_a_function(found: Recorded) -> None:
    names = [{found.name(pc) for pc, _ in block.insns} for block in found.recording.bbdefs]
    assert all(len(one) == 1 for one in names), [one for one in names if len(one) > 1]
    assert {"walk", "main", "tail", "last"} <= set().union(*names)


def test_definitions_are_not_many(found: Recorded) -> None:
    """What they take is less than what the runs take that they spare."""
    own = [block for block in found.recording.bbdefs if found.name(block.insns[0][0]) == "walk"]
    assert len(own) < 200
