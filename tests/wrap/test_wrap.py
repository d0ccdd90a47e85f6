"""Wrappers and replacements, linked in and preloaded, against both headers (core manual, section 3.3)."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

GUESTS = Path(__file__).resolve().parents[1] / "guests" / "wrap"
HEADERS = ("valgrind", "ours", "ours-c++")
BOTH = ("valgrind", "ours")
ENGINES = ("none", "memcheck", "wrapped")
JIT = ("none", "memcheck")  # what the native engine cannot do, or what is a tool's
OPTIMISE = ("-O0", "-O2")

Build = Callable[..., Path]
Check = Callable[..., None]

BASIC = "33\n-3\nside 2\n"
BASIC_WRAPPED = (
    "foo's wrapper: args 11 22\nfoo's wrapper: result 33\n330\n"
    "foo's wrapper: args -1 -2\nfoo's wrapper: result -3\n-30\nside 2\n"
)


@pytest.mark.parametrize("flag", OPTIMISE)
@pytest.mark.parametrize("header", HEADERS)
def test_wrapper_sees_arguments_and_result(build: Build, check: Check, header: str, flag: str) -> None:
    check(build("basic.c", header, flag), native=BASIC, wrapped=BASIC_WRAPPED)


@pytest.mark.parametrize("flags", [["-static"], ["-static-pie"], ["-no-pie"]], ids=" ".join)
def test_programs_of_every_kind(build: Build, check: Check, flags: list[str]) -> None:
    engines = ENGINES if flags == ["-no-pie"] else JIT
    check(
        build("basic.c", "ours", *flags), native=BASIC, wrapped=BASIC_WRAPPED, engines=(*engines, "valgrind")
    )


@pytest.mark.parametrize("language", ["ours", "ours-c++"])
def test_other_spelling(build: Build, check: Check, language: str) -> None:
    check(build("spelling.c", language), native="2 3 4\n", wrapped="20 300 1000\n")


@pytest.mark.parametrize("header", HEADERS)
def test_replacement_knows_no_original(build: Build, check: Check, header: str) -> None:
    check(build("replace.c", header), native="6\n", wrapped="replacement 4 nraddr 0\n401\n")


@pytest.mark.parametrize(("flags", "wrapped"), [([], "100\n"), (["-DSWAPPED"], "10\n")])
def test_of_two_wrappers_in_an_object_the_higher_one_holds(
    build: Build, check: Check, flags: list[str], wrapped: str
) -> None:
    guest = build("conflict.c", "ours", "-fno-toplevel-reorder", *flags)
    check(guest, native="1\n", wrapped=wrapped, engines=(*ENGINES, "valgrind"))


@pytest.mark.parametrize("swapped", [[], ["-DSWAPPED"]])
@pytest.mark.parametrize(("first", "factor"), [([], 10), (["-DMOVE_FIRST"], 100)])
def test_of_two_wrappers_for_two_names_of_a_function(
    build: Build, check: Check, swapped: list[str], first: list[str], factor: int
) -> None:
    """Where they lie decides nothing then. The native engine is not told which name was resolved first."""
    shared = ("-shared", "-fPIC", "-DLIBRARY", "-Wl,-soname,libshared.so")
    library = build("shared.c", "ours", *shared, name="libshared.so")
    lazily = ("-fno-toplevel-reorder", "-fplt", "-Wl,-z,lazy")
    guest = build("shared.c", "ours", *lazily, str(library), f"-Wl,-rpath,{library.parent}", *swapped, *first)
    check(guest, native="1 1 1 1\n", wrapped=f"10 10 {factor} {factor}\n", engines=(*JIT, "valgrind"))


def arity_output(wrapped: bool) -> str:
    lines = []
    for n in range(13):
        value = sum(i * (10 + i if i % 2 else -(10 + i)) for i in range(1, n + 1)) + n
        lines.append(f"f{n} {-value if wrapped else value}")
        if n < 8:
            lines.append(f"v{n} {2 * value if wrapped else value}")
    return "\n".join([*lines, "misaligned 0", ""])


@pytest.mark.parametrize("flag", [*OPTIMISE, "-fomit-frame-pointer", "-fPIC"])
@pytest.mark.parametrize("header", HEADERS)
def test_every_number_of_words(build: Build, check: Check, header: str, flag: str) -> None:
    program = build("arity.c", header, flag, "-fno-omit-frame-pointer")
    check(program, native=arity_output(False), wrapped=arity_output(True))


@pytest.mark.parametrize("header", BOTH)
def test_recursion_is_wrapped_at_each_level(build: Build, check: Check, header: str) -> None:
    expected = 2
    for n in range(2, 7):
        expected = n * expected + 1
    check(build("recursion.c", header), native="720 depth 0\n", wrapped=f"{expected} depth 6\n")


@pytest.mark.parametrize("header", BOTH)
def test_wrappers_call_wrapped_functions(build: Build, check: Check, header: str) -> None:
    check(build("mutual.c", header), native="20\n14\nwraps 0 0\n", wrapped="201\n140\nwraps 10 9\n")


@pytest.mark.parametrize("header", BOTH)
def test_first_instruction_faults(build: Build, check: Check, header: str) -> None:
    check(build("first_faults.c", header), native="131618 9\nwraps 0\n", wrapped="859808 9\nwraps 3\n")


@pytest.mark.parametrize("header", BOTH)
def test_signals_on_the_way(build: Build, check: Check, header: str) -> None:
    program = build("signals.c", header)
    check(program, native="wrong 0, wrapped none\n", wrapped="wrong 0, wrapped each\n")


@pytest.mark.parametrize("header", BOTH)
def test_replacement_reads_flags(build: Build, check: Check, header: str) -> None:
    check(build("flags.c", header), native="0\n", wrapped="10\n")


@pytest.mark.parametrize("header", BOTH)
def test_longjmp_out_of_wrappers(build: Build, check: Check, header: str) -> None:
    check(build("longjmp.c", header), native="0 1000 1000 wraps 0\n", wrapped="1000 1000 100000 wraps 3000\n")


@pytest.mark.parametrize("header", BOTH)
def test_threads(build: Build, check: Check, header: str) -> None:
    calls, threads = 20_000, 4
    sums = [3 * sum(range(calls)) + calls * i for i in range(threads)]
    check(
        build("threads.c", header, "-pthread"),
        native="".join(f"{s}\n" for s in sums) + "wraps 0\n",
        wrapped="".join(f"{s + 7 * calls}\n" for s in sums) + f"wraps {calls * threads}\n",
    )


# With Valgrind's header and without frame pointers, the handler's frame pointer is lost, there and here.
@pytest.mark.parametrize(("header", "flag"), [("valgrind", "-O0"), ("ours", "-O0"), ("ours", "-O2")])
def test_exceptions_pass_through(build: Build, check: Check, header: str, flag: str) -> None:
    program = build("exception.cc", header, flag)
    check(program, native="caught 5 sum 20 wraps 0\n", wrapped="caught 5 sum 520 wraps 10\n")


@pytest.mark.parametrize("header", BOTH)
def test_mangled_names(build: Build, check: Check, header: str) -> None:
    program = build("method.cc", header)
    check(program, native="3 0 8 value 0\n", wrapped="1021 2015 8 value 15\n")


@pytest.mark.parametrize("header", BOTH)
def test_wildcards(build: Build, check: Check, header: str) -> None:
    check(build("wildcards.c", header), native="1 2 3 4 5\n", wrapped="11 12 13 104 1005\n")


@pytest.mark.parametrize("header", BOTH)
def test_versions_are_part_of_names(build: Build, check: Check, header: str) -> None:
    script = f"-Wl,--version-script={GUESTS / 'versions.map'}"
    library = build(
        "versions.c", "valgrind", "-shared", "-fPIC", "-Wl,-soname,versions.so", script, name="versions.so"
    )
    program = build("versioned.c", header, str(library), f"-Wl,-rpath,{library.parent}")
    check(program, native="2 1\n", wrapped="102 11\n")


@pytest.mark.parametrize("header", BOTH)
def test_however_a_function_is_reached(build: Build, check: Check, header: str) -> None:
    def lines(sign: int) -> str:
        return "".join(" ".join(str(sign * 2 * (i + k)) for k in (1, 2, 3, 5)) + "\n" for i in range(3))

    # (Valgrind overlooks functions that are fallen into.)
    check(build("jumps.c", header), native=lines(1), wrapped=lines(-1), engines=ENGINES)


@pytest.mark.parametrize("header", BOTH)
def test_users_of_malloc(build: Build, check: Check, header: str) -> None:
    check(build("heap.c", header), native="one, two, none\n", wrapped="wrapped one, wrapped two, wrapped\n")


REPLACED = "one two, 7\n"
REPLACED_WRAPPED = "malloc of 1234\none two, 7\nall called 1, original is malloc 1\n"


@pytest.mark.parametrize("header", BOTH)
def test_wrappers_of_what_the_tool_replaces(build: Build, check: Check, header: str) -> None:
    """A wrapper of malloc, strlen or memcpy goes around Memcheck's own."""
    library = build("around_wrapper.c", header, "-fPIC", "-shared", "-fno-builtin")
    program = build("around.c", header, "-fno-builtin")
    check(program, native=REPLACED, wrapped=REPLACED)
    for engine in JIT:
        check(
            program,
            native=None,
            wrapped=REPLACED_WRAPPED,
            engines=(engine,),
            env={"LD_PRELOAD": str(library)},
        )


def test_wrapped_malloc_is_the_tools(build: Build, run: Callable) -> None:
    """Blocks are known, and reports show both frames; --trace-redir=yes shows both bindings."""
    library = build("around_wrapper.c", "ours", "-fPIC", "-shared", "-fno-builtin")
    program = build("around.c", "ours", "-fno-builtin")
    env = {"LD_PRELOAD": str(library)}
    found = run("memcheck", program, "read", env=env, options=("--leak-check=full", "--track-origins=yes"))
    text = "\n".join(found.messages)
    assert "Address 0x" in text and "is 0 bytes after a block of size 4,321 alloc'd" in text
    assert re.search(r"at 0x\w+: realloc \(heap_stubs.*\n +by 0x\w+: realloc \(around_wrap.*\n.*main", text)
    assert "ERROR SUMMARY: 1 errors from 1 contexts" in text
    traced = run("memcheck", program, env=env, options=("--trace-redir=yes",))
    final = "\n".join(traced.messages).rpartition("ACTIVE")[2]
    bound = re.findall(r"0x(\w+) \(malloc +\) ([RW])->", final)
    both = [(here, there) for here, there in pairwise(bound) if here[1] == "W"]
    assert both and all(here[0] == there[0] and there[1] == "R" for here, there in both)
    assert any(re.match(r"REDIR: .*libc.so.6:malloc\) redirected", line) for line in traced.messages)
    told = run("memcheck", program, env=env, options=("-v",))
    assert not any("conflicts" in line for line in told.messages if "W->" in line)
    first = [line for line in told.messages if line.startswith("REDIR") and "libc.so.6:malloc)" in line]
    assert len(first) == len(set(first)) == 2


@pytest.mark.parametrize("header", BOTH)
def test_fork(build: Build, check: Check, header: str) -> None:
    check(
        build("fork.c", header),
        native="2\nchild 3 4 0\nparent 4 5 0 status 5\n",
        wrapped="20\nchild 30 40 2\nparent 40 50 2 status 5\n",
    )


def test_vector_registers_survive(build: Build, check: Check) -> None:
    # Valgrind's header does not tell the compiler that the original may change them.
    check(build("vectors.c", "ours", "-O2"), native="3\n", wrapped="4003\n")


@pytest.mark.parametrize("header", BOTH)
def test_data_symbols_in_code_are_functions_too(build: Build, check: Check, header: str) -> None:
    # A native jump would be written into what may be a table.
    check(build("objects.c", header), native="5 5 5 5\n", wrapped="105 105 5 5\n", engines=JIT)


IFUNC = "2 3 3\n6 aaaaa 0\n"


@pytest.mark.parametrize("header", BOTH)
def test_indirect_functions_bind_where_they_lead(build: Build, check: Check, header: str) -> None:
    # Memcheck has rules of its own for strlen and memset, which the wrappers go around.
    program = build("ifunc.c", header, "-fno-builtin")
    check(program, native=IFUNC, wrapped="20 30 3\n1006 bbbbb 1\n")


def test_indirect_functions_of_a_static_program(build: Build, check: Check) -> None:
    # No object is libc there. (Valgrind cannot: there is nothing to preload its part of it into.)
    program = build("ifunc.c", "ours", "-fno-builtin", "-static")
    check(program, native=IFUNC, wrapped="20 30 3\n6 aaaaa 0\n", engines=JIT)


@pytest.mark.parametrize("how", ["remap", "map", "writable"])
def test_code_that_moves_to_anonymous_memory(build: Build, check: Check, run: Callable, how: str) -> None:
    """As for huge pages: it keeps its wrapper, its replacements and its names, until it is unmapped."""
    guest = build("moved.c", "ours", "-fno-toplevel-reorder")
    check(guest, how, native="3 3 4\n", wrapped="103 103 104\n", engines=(*JIT, "valgrind"))
    check(guest, how, "unmap", native="3 3 4\n3\n", wrapped="103 103 104\n3\n", engines=("none",))
    told = run("memcheck", guest, how, "report").messages
    assert "Invalid read of size 1" in told
    assert sum(": read_behind (moved.c:" in line for line in told) == 1
