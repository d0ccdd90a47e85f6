"""Ways in and out of hooked functions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hooks.conftest import ON_CPU

TOOLS = ("none", "memcheck", ON_CPU)

HOOKS = """
from interpose.hooks import *

def plain(name, soname="NONE"):
    def hook(call, n: int) -> int:
        return call(n)
    hook.__name__ = name
    wrap(soname, name)(hook)

for name in ("work", "slow", "raises", "handled", "switches"):
    plain(name)

deepest = 0

@wrap("NONE", "depth")
def depth(call, n: int) -> int:
    return call(n) + 1

@wrap("NONE", "even")
def even(call, n: int) -> int:
    return call(n)

@wrap("NONE", "odd")
def odd(call, n: int) -> int:
    print("odd", n)
    return call(n)

@wrap("NONE", "leaves")
def leaves(call, n: int) -> int:
    ended = "?"
    try:
        r = call(n)
        ended = "returned"
        return r + 1
    finally:
        if n in (0, 1):
            print("leaves", n, ended)

@wrap("NONE", "throws")
def throws(call, n: int) -> int:
    r = call(n)
    print("returned", r)
    return r + 1

@wrap("NONE", "stops")
def stops(call, status: int) -> None:
    print("stops", status)
    call(status + 1)
    print("never")

@wrap("NONE", "forks")
def forks(call) -> int:
    before = call.pid
    r = call()
    print("forked", "here" if r else "there", (call.pid == before) == (r != 0))
    return r

@wrap("NONE", "ends_thread")
def ends_thread(call, value) -> None:
    call(value)
"""


@pytest.fixture(scope="module")
def flow(build: Callable[..., Path]) -> Path:
    return build("flow.cc", "-pthread", "-fcf-protection=none")


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize(
    ("words", "out", "said"),
    [
        (["depth", "300"], "601\n", None),
        (["mutual"], "1 0\n", None),
        (["longjmp"], "6\n", ["leaves 1 ?", "leaves 0 returned"]),
        (["throw"], "7\nthrown 1\nthrown 2\n7\n", ["returned 6", "returned 6"]),
        (["threads"], None, None),
        (["overlap"], "1\n", []),
        (["pthread_exit"], "joined\n", []),
        (["signal"], "handler 1010\n0\nhandler 1012\n0\n", []),
        (["contexts"], "main 41\nmain 15\nside 1\nside 0\nover\n", []),
    ],
    ids=lambda value: value[0] if isinstance(value, list) and value else "",
)
def test_ways(tool, words, out, said, flow, hooked, request):
    if words[0] == "mutual":
        said = [f"odd {n}" for n in (10, 8, 6, 4, 2, 0, 9, 7, 5, 3, 1)]
    if words[0] == "threads":
        out = f"{sum(sum(range((i + t) % 7)) for t in range(8) for i in range(200)) + 8 * 20 * 7}\n"
    run = hooked(flow, HOOKS, *words, tool=tool)
    assert (run.out, run.code) == (out, 0), run.err
    assert run.log == [], run.err
    if said is not None:
        assert run.said == said


@pytest.mark.parametrize("tool", TOOLS)
def test_exceptions_pass_where_the_unwinder_is_hooked_too(tool, flow, hooked):
    unwinder = """
@wrap("*", "_Unwind_*")
def unwinds(call):
    return call()
"""
    run = hooked(flow, HOOKS + unwinder, "throw", tool=tool)
    assert (run.out, run.code, run.log) == ("7\nthrown 1\nthrown 2\n7\n", 0, []), run.err


@pytest.mark.parametrize("tool", TOOLS)
def test_function_that_never_returns(tool, flow, hooked):
    run = hooked(flow, HOOKS, "exit", tool=tool)
    assert (run.code, run.said, run.log) == (34, ["stops 33"], [])


@pytest.mark.parametrize("tool", TOOLS)
def test_hook_of_a_function_that_forks_goes_on_in_both(tool, flow, hooked):
    run = hooked(flow, HOOKS, "fork", tool=tool)
    assert run.code == 0, run.err
    assert sorted(run.out.splitlines()) == ["child 10", "parent 10", "status 9"]
    assert sorted(run.said) == ["forked here True", "forked there True"]


@pytest.mark.parametrize("tool", TOOLS)
def test_exec(tool, flow, hooked):
    run = hooked(flow, HOOKS, "exec", tool=tool, options=("-q", "--trace-children=yes"))
    assert (run.out, run.code) == ("3\n1 0\n", 0), run.err
    assert len(run.said) == 11
    run = hooked(flow, HOOKS, "exec", tool=tool)
    assert (run.out, run.code, run.said) == ("3\n1 0\n", 0, []), run.err


@pytest.mark.parametrize("tool", TOOLS)
def test_library_that_comes_and_goes(tool, build, hooked):
    flags = ("-shared", "-fPIC", "-fcf-protection=full", "-Wl,-soname,late.so.1")
    library = build("late_library.c", *flags, name="late.so")
    program = build("late.c")
    run = hooked(
        program,
        """
        @interpose.wrap("late.so*", "twice")
        def twice(call, n: int) -> int:
            return call(n) + 100
        """,
        str(library),
        tool=tool,
        options=("--trace-redir=yes",),
    )
    assert run.out == "100\n102\n104\n"
    trace = "\n".join(run.log)
    assert trace.count("(twice               ) W-> (0000.0)") >= 3
    assert " late.so*                  twice                          WL-> (0000.0)" in trace
    states = trace.split("------ ACTIVE ------")[1:]
    bound = ["(twice  " in state.split(">>")[0] for state in states]
    assert bound[-1] is False, "the binding goes with its library"


def test_calls_that_a_jump_leaves_are_forgotten(flow, hooked):
    """What waited in them ends, so that neither memory nor time grow."""
    run = hooked(
        flow,
        """
        import gc
        alive = 0

        @interpose.wrap("NONE", "leaves")
        def leaves(call, n: int) -> int:
            global alive
            alive += 1
            if n == 0:
                print("alive", alive < 5)
            try:
                return call(n)
            finally:
                alive -= 1
        """,
        "longjmp",
    )
    assert (run.out, run.said) == ("5\n", ["alive True"]), run.err


def test_patterns_spare_functions_that_return_twice(flow, hooked):
    run = hooked(
        flow,
        """
        for name in ("*jmp", "*context", "vf*", "_dl_r*"):
            for soname in ("libc.so*", "ld-linux*"):
                @interpose.wrap(soname, name)
                def wrapped(call):
                    call()
        @interpose.wrap("NONE", "_s*")
        def start(call):
            call()
        """,
        "longjmp",
    )
    assert (run.out, run.code, run.log) == ("5\n", 0, []), run.err
