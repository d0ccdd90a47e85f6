"""Arguments and results of every kind, on the way through hooks."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hooks.conftest import ON_CPU

TOOLS = ("none", "memcheck", ON_CPU)
NAMES = "add narrow wide mean half flip name ten total move by_value give fails nothing same".split()


@pytest.fixture(scope="module")
def calls(build: Callable[..., Path]) -> Path:
    return build("calls.c")


@pytest.fixture(scope="module")
def native(calls: Path) -> str:
    return subprocess.run([calls], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("tool", [*TOOLS, "callgrind", "memtrace"])
def test_hook_without_types_changes_nothing(tool, calls, native, hooked, tmp_path):
    """Whatever a function takes and returns goes through, structures by value and variadic arguments too."""
    more = {"callgrind": ("--callgrind-out-file=/dev/null",), "memtrace": (f"--memtrace-dir={tmp_path}",)}
    hooks = "".join(
        f"""
        @interpose.wrap("NONE", "{name}")
        def {name}(call):
            call()
        """
        for name in NAMES
    )
    run = hooked(calls, hooks, tool=tool, options=("-q", *more.get(tool, ())))
    assert (run.out, run.code) == (native, 0), run.err
    assert run.log == []


@pytest.mark.parametrize("tool", TOOLS)
def test_types(tool, calls, native, hooked):
    """Each type arrives as its value, and handed on as it is the program sees no difference."""
    run = hooked(
        calls,
        """
        import ctypes
        from interpose.hooks import *

        class Point(ctypes.Structure):
            _fields_ = [("x", ctypes.c_int), ("y", ctypes.c_int), ("z", ctypes.c_double)]

        @wrap("NONE", "add")
        def add(call, a: int, b: int) -> int:
            r = call(a, b)
            print("add", a, b, r)
            return r

        @wrap("NONE", "narrow")
        def narrow(call, a: Int8, b: UInt8, c: Int16, d: UInt16) -> Int8:
            r = call(a, b, c, d)
            print("narrow", a, b, c, d, r)
            return r

        @wrap("NONE", "wide")
        def wide(call, a: UInt64, b: Int64, c: UInt32) -> UInt64:
            r = call(a, b, c)
            print("wide", hex(a), b, c, hex(r))
            return r

        @wrap("NONE", "mean")
        def mean(call, a: float, b: Float, n: int) -> float:
            r = call(a, b, n)
            print("mean", a, b, n, r)
            return r

        @wrap("NONE", "half")
        def half(call, a: ctypes.c_float) -> ctypes.c_float:
            r = call(a)
            print("half", a, r)
            return r

        @wrap("NONE", "flip")
        def flip(call, a: bool) -> bool:
            r = call(a)
            print("flip", a, r)
            return r

        @wrap("NONE", "name")
        def name(call, s: CString) -> CString:
            r = call(s)
            print("name", s, r)
            return r

        @wrap("NONE", "ten")
        def ten(call, a: Long, b: Long, c: Long, d: Long, e: Long, f: Long, g: Long, h: Long, x: float,
                i: Long, j: Long) -> Long:
            r = call(a, b, c, d, e, f, g, h, x, i, j)
            print("ten", a, f, g, h, x, i, j, r)
            return r

        @wrap("NONE", "total")
        def total(call, n: int) -> int:
            values = [call.variadic.next(float if i % 2 else int) for i in range(n)]
            print("total", values)
            return call(n, *values)

        @wrap("NONE", "move")
        def move(call, p: PointerTo[Point], by: int) -> int:
            print("move", p.x, p.y, p.z, by)
            return call(p, by)

        @wrap("NONE", "fails")
        def fails(call) -> int:
            r = call()
            print("fails", r, call.errno)
            return r

        @wrap("NONE", "nothing")
        def nothing(call, p: Pointer) -> None:
            print("nothing", call(p), call.memory.load(p, int))

        @wrap("NONE", "same")
        def same(call, p: Pointer) -> Pointer:
            r = call(p)
            print("same", r == p, r != 0)
            return r
        """,
        tool=tool,
    )
    assert (run.out, run.code) == (native, 0), run.err
    assert run.said == [
        "add 2 3 5",
        "narrow -5 250 -300 65000 -6",
        "wide 0xfedcba9876543210 -7 4000000000 0xfedcba9876543211",
        "mean 1.5 2.5 2 2.0",
        "half 5.0 2.5",
        "flip True False",
        "flip False True",
        "name some name some name",
        "name None None",
        "ten 1 6 7 8 8.5 9 10 11",
        "total [1, 2.5, 3, 4.5, 5, 6.5]",
        "move 1 2 3.5 10",
        "fails -1 2",
        "nothing None 7",
        "same True True",
    ]


@pytest.mark.parametrize("tool", TOOLS)
def test_changes(tool, calls, hooked):
    """Arguments and results are what the hook makes of them; the call may be made often, or not at all."""
    run = hooked(
        calls,
        """
        import ctypes
        from interpose.hooks import *

        class Point(ctypes.Structure):
            _fields_ = [("x", ctypes.c_int), ("y", ctypes.c_int), ("z", ctypes.c_double)]

        @wrap("NONE", "add")
        def add(call, a: int, b: int) -> int:
            return sum(call(n, b) for n in range(10))

        @wrap("NONE", "narrow")
        def narrow(call, a: Int8, b: UInt8, c: Int16, d: UInt16) -> Int8:
            call(1, 2, 3, 4)
            return -128

        @wrap("NONE", "wide")
        def wide(call, a: UInt64, b: Int64, c: UInt32) -> UInt64:
            call(1, -2, 3)
            return 0xFFFF_FFFF_FFFF_FFFF

        @wrap("NONE", "mean")
        def mean(call, a: float, b: Float, n: int) -> float:
            return call(10.0, 20.0, 4) + 0.125

        @wrap("NONE", "half")
        def half(call, a: Float) -> Float:
            return a * 3

        @wrap("NONE", "flip")
        def flip(call, a: bool) -> bool:
            return True

        @wrap("NONE", "name")
        def name(call, s: CString) -> CString:
            call("a string of the hook's, " + "long " * 3000 + "end")
            call(b"bytes")
            return call(s)

        @wrap("NONE", "ten")
        def ten(call, a, b, c, d, e, f, g, h, x: float, i, j) -> Long:
            call.args[8] = 99
            call(0)
            return call(-1, 2, 3, 4, 5, 6, 70, 80, 0.5, 90, 100)

        @wrap("NONE", "total")
        def total(call, n: int) -> int:
            call(4, 1, 0.25, 2, 0.5)
            call.args[0] = 2
            return call()

        @wrap("NONE", "move")
        def move(call, p: PointerTo[Point], by: int) -> int:
            p.x = 100
            p.z = 0.5
            call(Point(5, 5, 5.0), 1)
            return call(p, 1)

        @wrap("NONE", "by_value")
        def by_value(call, k) -> Long:
            return call(4) - 4

        @wrap("NONE", "fails")
        def fails(call) -> int:
            call()
            call.errno = 77
            return 5

        @wrap("NONE", "nothing")
        def nothing(call, p: Pointer) -> None:
            call.memory.store(p, -8, int)
        """,
        tool=tool,
    )
    assert run.code == 0, run.err
    assert run.err == ""
    long = "a string of the hook's, " + "long " * 3000 + "end"
    assert run.out.splitlines() == [
        f"add {sum(range(10)) + 30}",
        "narrow 1 2 3 4",
        "narrow -128",
        "wide 1 -2 3",
        "wide ffffffffffffffff",
        "mean 10.00 20.00 4",
        "mean 7.625",
        "half 15.000",
        "flip 1 1",
        f"name {long}",
        "name bytes",
        "name some name",
        "name some name",
        f"name {long}",
        "name bytes",
        "name NULL",
        "name NULL",
        "ten 0 2 3 4 5 6 7 8 8.5 99 10",
        "ten -1 2 3 4 5 6 70 80 0.5 90 100",
        "ten 99",
        "total 3.75",
        "total 3.50",
        "total 3",
        "move 101",
        "point 101 2 0.5",
        "by_value 10",
        "give 20 24",
        "fails 5 77",
        "nothing -8",
        "same 1",
    ]


@pytest.mark.parametrize(
    "mode",
    [
        ("none", "--single-step=yes"),
        ("none", "--chaining=no"),
        ("none", "--tiny-cache=yes", "--evict=20"),
        ("none", "--far-images=yes"),
        ("none", "--smc-check=all"),
        ("memcheck", "--force-tracking=yes"),
        ("memcheck", "--single-step=yes", "--optimise=no"),
        ("memcheck", "--track-origins=yes", "--random-registers=5"),
        ("datagrind", "--datagrind-out-file=/dev/null"),
    ],
    ids=lambda mode: " ".join(mode),
)
def test_modes_of_the_engine(mode, calls, native, hooked):
    hooks = """
        @interpose.wrap("NONE", "[a-z]*")
        def never(call):
            call()

        @interpose.wrap("NONE", "?e*")
        @interpose.wrap("NONE", "t*")
        @interpose.wrap("NONE", "m?*e*")
        def some(call):
            call.memory.read(call.address, 16)
            call()
    """
    run = hooked(calls, hooks, tool=mode[0], options=("-q", *mode[1:]))
    assert (run.out, run.code) == (native, 0), run.err
    assert run.log == []


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("more", ["pass", "call.errno = 5"])
def test_what_no_type_names_passes_through(tool, more, build, hooked):
    """Whole registers, also where another function is called before and after the original."""
    program = build("registers.c")
    native = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    hooks = f"""
        for name in "extended twice wide both four eight".split():
            @interpose.wrap("NONE", name)
            def hook(call):
                {more}
                call()
                {more}
    """
    run = hooked(program, hooks, tool=tool)
    assert (run.out, run.code, run.log) == (native, 0, []), run.err


@pytest.mark.parametrize("tool", TOOLS)
def test_registers_that_a_function_leaves_alone(tool, build, hooked):
    hooks = """
        @interpose.wrap("NONE", "leaf")
        def leaf(call, n: interpose.Long) -> interpose.Long:
            call.errno = 1
            return call(n) + 10
    """
    run = hooked(build("leaf.c", "-mno-red-zone"), hooks, tool=tool)
    assert (run.out, run.code, run.log) == ("16 0\n", 0, []), run.err


@pytest.mark.parametrize("tool", TOOLS)
def test_a_result_that_does_not_fit(tool, calls, native, hooked):
    """It is an exception, so the program gets the original's."""
    run = hooked(
        calls,
        """
        @interpose.wrap("NONE", "narrow")
        def narrow(call, a, b, c, d) -> interpose.UInt8:
            return -1

        @interpose.wrap("NONE", "wide")
        def wide(call, a, b, c) -> interpose.ULong:
            return 1 << 64

        @interpose.wrap("NONE", "add")
        def add(call, a, b) -> int:
            return 2.0

        @interpose.wrap("NONE", "half")
        def half(call, a) -> interpose.Float:
            return 1e39
        """,
        tool=tool,
    )
    assert (run.out, run.code) == (native, 0), run.err
    assert [line.strip() for line in run.log if "Error: " in line] == [
        "TypeError: float is no value for C's int: 2.0",
        "OverflowError: -1 does not fit into C's uint8_t",
        "OverflowError: 18446744073709551616 does not fit into C's unsigned long",
        "OverflowError: 1e+39 does not fit into C's float",
    ]


STACK_WORDS = """
        @interpose.wrap("NONE", "nine")
        def nine(call, a: int, b: int, c: int, d: int, e: int, f: int, g: int, h: int, i: int) -> int:
            print("others", call(1, 2, 3, 4, 5, 6, 1, 1, 1), "the program's", call())
            call.args[7] = 0
            print("assigned", call.args[7], call(), call(1, 2, 3, 4, 5, 6, 5), call.invoke("sum", 2, 40, 2))
            return call()

        @interpose.wrap("NONE", "sum")
        def sum(call, n: int) -> int:
            return call(n + 8, 1, 2, 3, 4, 5, 6, 7, 8, 9) if n == 1 else call()

        @interpose.wrap("NONE", "fifty")
        def fifty(call, {many}) -> interpose.Long:
            r = call()
            assert r == call({many}) == 0 + 6 + 37 + 38 + 49, r
            call.args[49] = -1
            return call()

        @interpose.wrap("NONE", "decides")
        def decides(call, a: int, b: int, c: int, d: int, e: int, f: int, g: int) -> int:
            return call(a, b, c, d, e, f, g)
""".replace("{many}", ", ".join(f"a{n}" for n in range(50)))


@pytest.mark.parametrize("tool", TOOLS)
def test_arguments_on_the_stack(tool, build, hooked):
    """Those of one call of the original are no others', and nothing of the caller's is overwritten."""
    run = hooked(build("stack_words.c"), STACK_WORDS, tool=tool)
    assert run.out == "nine 709\nsum 45\nkeeps 123\nfifty 80\n", run.err
    assert run.said == ["others 111 the program's 789", "assigned 0 709 509 42"]
    assert run.code == 0
    # What is passed on as it was is as undefined as it was.
    assert [line for line in run.log if "uninitialised" in line] == (
        ["Conditional jump or move depends on uninitialised value(s)"] if tool == "memcheck" else []
    )


@pytest.mark.parametrize("tool", TOOLS)
def test_a_stack_that_ends(tool, build, hooked):
    run = hooked(
        build("small_stack.c", "-pthread"),
        """
        @interpose.wrap("NONE", "add")
        def add(call, a: int, b: int) -> int:
            taken = 0
            try:
                while True:
                    call.alloc(10_000)
                    taken += 10_000
            except interpose.MemoryFault as fault:
                print(taken // 100_000, "the stack ends" in str(fault))
            return call()
        """,
        tool=tool,
    )
    assert (run.out, run.code) == ("3\n3\n", 0), run.err
    small, main = (line.split() for line in run.said)
    assert small[1] == main[1] == "True" and 1 <= int(small[0]) <= 2 and 40 <= int(main[0]) <= 41


@pytest.mark.parametrize("tool", TOOLS)
def test_a_main_stack_that_ends_earlier(tool, build, hooked):
    before = resource.getrlimit(resource.RLIMIT_STACK)
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, before[1]))
    try:
        run = hooked(
            build("leaf.c"),
            """
            @interpose.wrap("NONE", "leaf")
            def leaf(call, n: int) -> int:
                try:
                    call.memory.write(call.alloc(1 << 20), b"x")
                except interpose.MemoryFault as fault:
                    print("the stack ends" in str(fault))
                call.memory.write(call.alloc(500_000), b"x")
                return call(n)
            """,
            tool=tool,
        )
    finally:
        resource.setrlimit(resource.RLIMIT_STACK, before)
    assert (run.code, set(run.said), run.log) == (0, {"True"}, []), run.err
