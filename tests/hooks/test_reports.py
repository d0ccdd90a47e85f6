"""Hooks in what is reported: stacks, definedness, failures of hooks, output."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hooks.conftest import ON_CPU

TOOLS = ("none", "memcheck", ON_CPU)


@pytest.fixture(scope="module")
def errors(build: Callable[..., Path]) -> Path:
    return build("errors.c")


def test_hook_is_a_frame_of_stacks(errors, hooked, tmp_path):
    """In the place of the stub's two: with its name, file and line."""
    run = hooked(
        errors,
        """
        @interpose.wrap("NONE", "reads")
        def watched(call, p: interpose.Pointer) -> int:
            return call(p)
        """,
        tool="memcheck",
    )
    at = next(n for n, line in enumerate(run.log) if line.startswith("Invalid read"))
    frames = [re.sub("0x[0-9A-F]+", "ADDR", line) for line in run.log[at + 1 : at + 5]]
    assert frames[:3] == [
        "   at ADDR: reads (errors.c:8)",
        "   by ADDR: watched (hooks.py:3)",
        "   by ADDR: main (errors.c:16)",
    ], run.err


def test_what_a_hook_returns_and_writes_is_defined(errors, hooked):
    hooks = """
        import struct

        @interpose.wrap("NONE", "takes")
        def takes(call, n: int) -> int:
            return 7 if VALUE else call(n)

        @interpose.wrap("NONE", "fills")
        def fills(call, p: interpose.Pointer, n: int) -> int:
            if VALUE:
                call.memory.write(p, struct.pack("4i", 1, 2, 3, 4))
            return n
    """
    changed = hooked(errors, hooks.replace("VALUE", "True"), tool="memcheck")
    assert "seven\nfilled\n" in changed.out
    assert "uninitialised" not in changed.err
    passed_on = hooked(errors, hooks.replace("VALUE", "False"), tool="memcheck")
    assert passed_on.err.count("Conditional jump or move depends on uninitialised value(s)") == 2


@pytest.mark.parametrize("tool", TOOLS)
def test_stack_thread_and_names(tool, errors, hooked):
    run = hooked(
        errors,
        """
        @interpose.wrap("NONE", "takes")
        def takes(call, n: int) -> int:
            for frame in call.stack:
                print(frame.function, frame.line, (frame.file or "").endswith("errors.c"))
            print(call.function, call.object, call.thread.number, call.thread.tid == call.pid)
            print(call)
            return call(n)
        """,
        tool=tool,
    )
    assert run.said == [
        *("main 17 True", "takes NONE 1 True", "<call of takes by thread 1>"),
        *("calls 11 True", "main 21 True", "takes NONE 1 True", "<call of takes by thread 1>"),
    ], run.err


@pytest.mark.parametrize("tool", TOOLS)
def test_failure_of_a_hook_is_shown_and_the_program_goes_on(tool, errors, hooked):
    run = hooked(
        errors,
        """
        @interpose.wrap("NONE", "calls")
        def before(call, n: int) -> int:
            raise ValueError("no such luck")

        @interpose.wrap("NONE", "takes")
        def after(call, n: int) -> int:
            call(n)
            return {}[n == 1]

        @interpose.replace("NONE", "reads")
        def instead(call, p) -> int:
            return "text"
        """,
        tool=tool,
    )
    assert run.out == "reads 0\ncalls 2\n"
    assert run.code == 0
    text = re.sub("0x[0-9A-F]+", "ADDR", "\n".join(run.log))
    for expected in (
        "failed; the program goes on with the original's result\n",
        "  Traceback (most recent call last):\n",
        '    raise ValueError("no such luck")\n',
        "  ValueError: no such luck\n   at ADDR: main (errors.c:21)\n",
        "KeyError: True\n   at ADDR: calls (errors.c:11)\n   by ADDR: before (hooks.py:3)\n   by ADDR: main",
        "TypeError: str is no value for C's int: 'text'\n",
    ):
        assert expected in text, f"{expected!r} is not in:\n{text}"
    assert "interpose/hooks" not in text, "frames of ours are nobody's business"


def test_many_failures_of_one_kind_are_shown_ten_times(errors, build, hooked):
    run = hooked(
        build("flow.cc", "-pthread", "-fcf-protection=none"),
        """
        @interpose.wrap("NONE", "depth")
        def depth(call, n: int) -> int:
            return 1 // 0
        """,
        "depth",
        "300",
    )
    assert run.out == "300\n"
    assert run.err.count("ZeroDivisionError: ") == 10
    assert run.err.count("Further failures of this kind are not shown.") == 1


@pytest.mark.parametrize(
    ("what", "error"),
    [
        ("call.memory.read(0, 8)", "MemoryFault: cannot read 8 bytes at 0x0"),
        ("call.memory.read(1 << 63, 8)", "MemoryFault: cannot read 8 bytes at 0x8000000000000000"),
        ("call.memory.read(p, -1)", "ValueError: a size below 0: -1"),
        ("call.memory.read(p, 1 << 40)", "MemoryFault: cannot read 1099511627776 bytes"),
        ("call.memory.write(8, b'x')", "MemoryFault: cannot write 1 bytes at 0x8"),
        ("call.memory.write(call.address, b'x')", "MemoryFault: cannot write 1 bytes"),
        ("call.memory.write(-1, b'x')", "MemoryFault: cannot write 1 bytes"),
        ("call.memory.read_string(1)", "MemoryFault: cannot read a string at 0x1"),
        ("call(1 << 65)", "OverflowError: 36893488147419103232 is no address"),
        ("call(p, 1.5, 2, 'x', None, object())", "TypeError: object is no value for C's void"),
        ("call.args[-1]", "IndexError: arguments are counted from 0"),
        ("call.args[1 << 40]", "IndexError: there is no argument on the stack"),
        ("call.floats[8]", "IndexError: there are 8 vector registers"),
        (
            "call.invoke('no_such_function')",
            "LookupError: no object of the program has a function no_such_function",
        ),
        ("call.invoke('malloc', *range(7))", "TypeError: invoke takes six integers"),
        ("call.invoke('\\ud800')", "LookupError: no object of the program has a function \\ud800"),
        ("call.invoke(1.5)", "TypeError: 'float' object cannot be interpreted as an integer"),
        ("call.memory.write(p, 3)", "TypeError: memoryview: a bytes-like object is required"),
        ("__import__('sys').stdout.write(b'')", "TypeError: write() argument must be str, not bytes"),
        ("raise ValueError('\\ud800')", "ValueError: \\ud800"),
        ("raise __import__('greenlet').GreenletExit", "greenlet.GreenletExit"),
        ("call.alloc(0)", "ValueError: from 1 to 1048576 bytes can be taken, not 0"),
        ("call('a\\0b')", "MemoryFault|ValueError|TypeError"),
        ("call.memory.load(p, list)", "TypeError: no type of C's: <class 'list'>"),
        ("exit(3)", "SystemExit: 3"),
        ("call.no_such_thing", "AttributeError: 'Call' object has no attribute 'no_such_thing'"),
    ],
)
def test_mistakes_are_exceptions(what, error, errors, hooked):
    run = hooked(
        errors,
        f"""
        @interpose.wrap("NONE", "reads")
        def reads(call, p: interpose.Pointer) -> int:
            {what}
            return 1
        """,
    )
    assert (run.out.splitlines()[0], run.code) == ("reads 0", 0), run.err
    if "|" in error:
        assert not run.log or re.search(error, run.err)
    else:
        assert error in run.err


def test_output_that_no_file_could_hold_is_spelled(errors, hooked):
    run = hooked(
        errors,
        """
        @interpose.wrap("NONE", "reads")
        def reads(call, p: interpose.Pointer) -> int:
            print("half \\ud800, byte \\udcc3\\udca9", end="")
            return call(p)
        """,
    )
    assert (run.said, run.log, run.code) == (["half \\ud800, byte \\udcc3\\udca9"], [], 0), run.err


def test_output_goes_to_the_log(errors, hooked, tmp_path):
    log = tmp_path / "log"
    run = hooked(
        errors,
        """
        import os, sys, warnings

        @interpose.wrap("NONE", "reads")
        def reads(call, p) -> int:
            print("to stdout", end=" ")
            print("and stderr", file=sys.stderr)
            print(repr(sys.stdin.read()))
            os.write(1, b"lost")
            return call()
        """,
        options=("-q", f"--log-file={log}"),
    )
    assert (run.out.splitlines()[0], run.err) == ("reads 0", "")
    lines = [line.split(" ", 1)[1] for line in log.read_text().splitlines()]
    assert lines == ["to stdout and stderr", "''"]


def test_first_use_and_trace_name_the_hook(errors, hooked):
    run = hooked(
        errors,
        """
        @interpose.wrap("NONE", "takes")
        def my_takes(call):
            call()

        @interpose.replace("NONE", "fills", tag=1234, priority=5)
        def my_fills(call) -> int:
            return 0
        """,
        options=("-v", "--trace-redir=yes"),
    )
    text = "\n".join(run.log)
    assert re.search(r"TOPSPECS of soname NONE filename .*/hooks\.py\n", text)
    assert re.search(r"NONE +takes +WL-> \(0000\.0\) 0x", text)
    assert re.search(r"NONE +fills +RL-> \(1234\.5\) 0x", text)
    assert re.search(r"\(takes +\) W-> \(0000\.0\) 0x[0-9a-f]+ my_takes\n", text)
    assert re.search(r"\(fills +\) R-> \(1234\.5\) 0x[0-9a-f]+ my_fills\n", text)
    assert re.search(r"REDIR: 0x[0-9a-f]+ \(NONE:takes\) redirected to 0x[0-9a-f]+ \(my_takes\)", text)


def test_of_rules_for_one_function_the_first_or_the_higher_holds(errors, hooked):
    run = hooked(
        errors,
        """
        def rule(number, **more):
            @interpose.wrap("NONE", more.pop("function"), **more)
            def takes(call, n: int) -> int:
                print("rule", number)
                return call(n)

        rule(1, function="takes")
        rule(2, function="ta?es")
        rule(3, function="calls", tag=7, priority=1)
        rule(4, function="cal*", tag=7, priority=3)
        rule(5, function="calls", tag=7, priority=2)
        """,
        options=("-v",),
    )
    assert run.said == ["rule 1", "rule 4", "rule 1"]
    assert "WARNING: new redirection conflicts with existing -- ignoring it" in run.log
    assert run.log.count("Preferring higher priority redirection:") == 1


def test_environment_names_no_hooks(errors, hooked):
    """Files of hooks are programs: only the command line names them."""
    run = hooked(
        errors,
        '@interpose.wrap("NONE", "takes")\ndef f(call): print("ran")\n',
        env={"INTERPOSE_OPTS": "--hooks=/nowhere.py"},
    )
    assert "nowhere" not in run.out + "".join(run.said)
    assert os.path.basename("/nowhere.py") not in run.said


def test_hook_whose_function_is_not_there_is_named_once(build, hooked):
    hooks = """
        @interpose.wrap("NONE", "wrok")
        def mistyped(call):
            call()

        @interpose.wrap("NONE", "work")
        def right(call):
            call()

        @interpose.wrap("NONE", "even")
        def of_the_next_program(call):
            call()
    """
    flow = build("flow.cc", "-pthread", "-fcf-protection=none")
    run = hooked(flow, hooks, "fork", options=())
    told = [line for line in run.log if line.startswith("Hook ")]
    assert len(told) == 1, run.err
    assert re.fullmatch(r"Hook mistyped \(.*hooks.py:3\): no function NONE:wrok was there", told[0])
    assert not [line for line in hooked(flow, hooks, "fork").log if line.startswith("Hook ")]


def test_call_is_for_its_hook_alone(errors, hooked):
    run = hooked(
        errors,
        """
        import threading
        kept = []

        def use(call):
            try:
                call()
            except Exception as error:
                print(type(error).__name__, error)

        @interpose.wrap("NONE", "takes")
        def takes(call, n: int) -> int:
            thread = threading.Thread(target=use, args=(call,))
            thread.start()
            thread.join()
            for other in kept:
                use(other)
            kept.append(call)
            return call(n)
        """,
    )
    wrong = "RuntimeError a call can be used by the hook that it was given to, not by other threads"
    assert run.said == [wrong, wrong, "CallOver this call is over"]


@pytest.mark.parametrize("tool", ["none", ON_CPU])
def test_a_hook_that_another_one_precedes_is_told(tool, build, hooked):
    run = hooked(
        build("leaf.c"),
        """
        @interpose.wrap("NONE", "leaf")
        def first(call, n: int) -> int: return 1
        @interpose.wrap("NONE", "leaf")
        def second(call, n: int) -> int: return 2
        """,
        tool=tool,
        options=(),
    )
    told = [line for line in run.log if line.startswith("Hook ")]
    assert run.out == "1 0\n" and len(told) == 1
    assert re.fullmatch(r"Hook second \(.*:5\): NONE:leaf is bound to first \(.*:3\)", told[0]), told


@pytest.mark.parametrize("tool", ["none", "memcheck", ON_CPU])
def test_what_precedes_a_hook_needs_not_be_named_like_it(tool, build, hooked):
    """A pattern, and a replacement that the tool brings."""
    soname, pattern = ("libc.so*", "malloc") if tool == "memcheck" else ("NONE", "lea?")
    run = hooked(
        build("leaf.c"),
        f"""
        @interpose.wrap("NONE", "leaf")
        def first(call, n: int) -> int: return 1
        @interpose.replace("{soname}", "{pattern}")
        def second(call, n: int) -> int: return 0
        """,
        tool=tool,
        options=(),
    )
    told = [line for line in run.log if line.startswith("Hook ")]
    other = r"NONE:leaf is bound to first \(.*:3\)"
    if tool == "memcheck":
        other = r"libc.so.6:malloc is bound to the tool's malloc"
    assert len(told) == 1 and re.fullmatch(rf"Hook second \(.*:5\): {other}", told[0]), run.err
