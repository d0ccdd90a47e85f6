"""Ways out of functions and between stacks: exceptions, longjmp out of handlers, coroutines."""

from __future__ import annotations

import pytest

from .profiles import VALGRIND, among, build, profile, run, unbalanced, valgrind

LEAF = 4  # instructions of a call
THROWS = {"main", "leaf", "cleanup", "thrower", "middle", "catcher", "again", "down", "after"}
STACKS = {
    "main", "leaf", "step", "to", "worker", "partner", "coroutines", "after", "handler", "faulting",
    "guarded", "handlers",
}  # fmt: skip


@pytest.fixture(scope="module")
def throws(tmp_path_factory):
    return build(tmp_path_factory.mktemp("throws"), "throws.cc", "-Wl,-z,now")


@pytest.fixture(scope="module")
def stacks(tmp_path_factory):
    return build(tmp_path_factory.mktemp("stacks"), "stacks.c", "-Wl,-z,now")


def same_as_valgrind(ours, theirs, names):
    """What the program's own functions cost, and how often they call each other."""

    def own(sums):
        return {name: cost for name, cost in sums.ir.items() if name.split("'")[0] in names}

    assert own(ours) == own(theirs)
    assert among(ours, names) == among(theirs, names)


def test_exceptions(throws, tmp_path):
    found = profile(tmp_path, throws)
    assert among(found, THROWS) == {
        ("main", "catcher"): 10,
        ("catcher", "middle"): 10,
        ("middle", "thrower"): 11,
        ("middle", "leaf"): 11 + 5,
        ("middle", "cleanup"): 11,
        ("thrower", "leaf"): 11 + 5,
        ("catcher", "leaf"): 5,
        ("main", "again"): 1,
        ("again", "middle"): 1,
        ("again", "leaf"): 1,
        ("main", "leaf"): 2,
        ("main", "after"): 2,
        ("after", "leaf"): 2,
        ("main", "down"): 1,
        ("down", "down'2"): 1,
        ("down'2", "down'2"): 3,
        ("down", "leaf"): 1,
        ("down'2", "leaf"): 4,
        ("down", "cleanup"): 1,
        ("down'2", "cleanup"): 4,
    }
    assert found.ir["leaf"] == 47 * LEAF and found.ir["cleanup"] == 16 * 3
    # Frames that an exception has left cost nothing afterwards.
    assert unbalanced(found, THROWS) == {}
    assert found.called["main", "after"][1] == found.ir["after"] + 2 * LEAF


@pytest.mark.skipif(VALGRIND is None, reason="no valgrind")
def test_exceptions_as_valgrind(throws, tmp_path):
    same_as_valgrind(profile(tmp_path, throws), valgrind(tmp_path, throws), THROWS)


COROUTINES = {
    "loop": {
        ("worker", "step"): 10,
        ("step", "leaf"): 10,
        ("coroutines", "leaf"): 5,
        ("coroutines", "to"): 10,
    },
    "each-other": {("step", "leaf"): 10, ("coroutines", "to"): 1},
}


@pytest.mark.parametrize("what", COROUTINES)
def test_coroutines(stacks, tmp_path, what):
    found = profile(tmp_path, stacks, args=(what,))
    calls = among(found, STACKS)
    for pair, count in COROUTINES[what].items():
        assert calls[pair] == count, pair
    assert unbalanced(found, STACKS | {"swapcontext"}) == {}
    assert found.called["main", "after"] == (1, found.ir["after"] + LEAF)


@pytest.mark.parametrize("what", ["handlers", "other-stack"])
def test_longjmp_out_of_handlers(stacks, tmp_path, what):
    found = profile(tmp_path, stacks, args=(what,))
    calls = among(found, STACKS)
    assert calls["handlers", "guarded"] == calls["guarded", "faulting"] == calls["handler", "leaf"] == 3
    assert calls["guarded", "leaf"] == 3 and calls["faulting", "leaf"] == 3
    assert not [name for name in found.ir if name.startswith(("handler'", "faulting'", "guarded'"))]
    # A handler is no part of what it interrupts, and nobody calls it.
    assert set(unbalanced(found, STACKS)) == {"handler"}
    assert found.called["main", "after"] == (1, found.ir["after"] + LEAF)


@pytest.mark.skipif(VALGRIND is None, reason="no valgrind")
@pytest.mark.parametrize("what", [*COROUTINES, "handlers", "other-stack"])
def test_stacks_as_valgrind(stacks, tmp_path, what):
    ours, theirs = profile(tmp_path, stacks, args=(what,)), valgrind(tmp_path, stacks, args=(what,))
    same_as_valgrind(ours, theirs, STACKS)


def test_libraries_at_one_place(tmp_path):
    """dlclose, and another library where the last one was: each has its own functions and lines."""
    program = build(tmp_path, "libraries.c", "-Wl,-z,now")
    libraries = []
    for turns in (1, 2, 3):
        flags = ("-shared", "-fPIC", f"-DNAME=name{turns}", f"-DTURNS={turns}")
        library = build(tmp_path, "library.c", *flags).rename(tmp_path / f"lib{turns}.so")
        libraries.append(str(library))
    one, two, three = libraries
    order = (one, two, one, three, three)
    found = profile(tmp_path, program, args=order)
    done = run(tmp_path, program, args=order)
    assert (
        len(set(done.stdout.split())) <= 3
    )  # the places differ only by what comes before entry in a library
    names = {"entry", "inner", "name1", "name2", "name3", "main"}
    assert among(found, names) == {
        ("main", "entry"): 5,
        ("entry", "name1"): 2,
        ("entry", "name2"): 1,
        ("entry", "name3"): 2,
        ("name1", "inner"): 2,
        ("name2", "inner"): 2,
        ("name3", "inner"): 6,
    }
    assert unbalanced(found, names) == {}
    costs = [r for r in found.parts[0].records if type(r).__name__ == "Cost" and r.function.name == "inner"]
    assert {(r.function.object, r.line) for r in costs} == {(library, 2) for library in libraries}
    if VALGRIND is not None:
        same_as_valgrind(found, valgrind(tmp_path, program, args=order), names)
