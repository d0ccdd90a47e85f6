"""Stack traces: normalising, cutting, describing."""

from __future__ import annotations

import pytest
from report.reporting import Symbols

from interpose.report.stack import StackOptions, StackResolver, merge_cycles
from interpose.report.text import stack_lines


def resolver(symbols: Symbols, **options) -> StackResolver:
    return StackResolver(symbols, StackOptions(**options))


def test_return_addresses_are_shown_and_looked_up_less_one():
    symbols = Symbols()
    symbols.add(0x1000, "f", "a.c", 7)
    symbols.add(0x1FFF, "main", "a.c", 15)
    stacks = resolver(symbols)
    stack = stacks.normalise([0x1000, 0x2000])
    assert stack == (0x1000, 0x1FFF)
    assert stack_lines(stacks, stack) == ["   at 0x1000: f (a.c:7)", "   by 0x1FFF: main (a.c:15)"]
    assert symbols.looked_up == [0x1000, 0x1FFF]


def test_addresses_are_upper_case_without_padding():
    assert stack_lines(resolver(Symbols()), (0xABCDEF,)) == ["   at 0xABCDEF: ???"]


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        ({"function": "f", "file": "a.c", "line": 3, "obj": "/lib/x"}, "f (a.c:3)"),
        ({"function": "f", "obj": "/lib/x"}, "f (in /lib/x)"),
        ({"function": "f"}, "f (in ???)"),
        ({"function": None, "obj": "/lib/x"}, "??? (in /lib/x)"),
        ({"function": None, "file": "a.c", "line": 3}, "??? (a.c:3)"),
        ({"function": None}, "???"),
    ],
)
def test_descriptions(frame, text):
    symbols = Symbols()
    symbols.add(0x10, **frame)
    assert stack_lines(resolver(symbols), (0x10,)) == [f"   at 0x10: {text}"]


def test_inlined_calls_share_the_address_and_only_the_first_line_says_at():
    symbols = Symbols()
    symbols.add(0x10919A, "inl", "a.c", 7, is_inlined=True)
    symbols.add(0x10919A, "work", "a.c", 8)
    symbols.add(0x109251, "main", "a.c", 15)
    assert stack_lines(resolver(symbols), (0x10919A, 0x109251)) == [
        "   at 0x10919A: inl (a.c:7)",
        "   by 0x10919A: work (a.c:8)",
        "   by 0x109251: main (a.c:15)",
    ]


def below_main_symbols() -> Symbols:
    symbols = Symbols()
    symbols.add(1, "f", "a.c", 1)
    symbols.add(2, "main", "a.c", 2)
    symbols.add(3, "__libc_start_call_main", "start.h", 58)
    symbols.add(4, "_start", obj="/bin/a")
    return symbols


def test_frames_below_main_are_cut():
    assert [line.split(": ")[1] for line in stack_lines(resolver(below_main_symbols()), (1, 2, 3, 4))] == [
        "f (a.c:1)",
        "main (a.c:2)",
    ]


def test_start_up_functions_without_main_are_named_once():
    assert [line.split(": ")[1] for line in stack_lines(resolver(below_main_symbols()), (1, 3, 4))] == [
        "f (a.c:1)",
        "(below main) (start.h:58)",
    ]


def test_a_main_that_calls_itself_is_shown_whole():
    symbols = below_main_symbols()
    symbols.add(5, "leaf", "a.c", 7, is_inlined=True)
    symbols.add(5, "main", "a.c", 9)
    assert [frame.ip for frame in resolver(symbols).frames((1, 5, 2, 3, 4))] == [1, 5, 5, 2]


def test_an_inlined_main_or_start_is_a_function_like_others():
    symbols = below_main_symbols()
    symbols.add(6, "main", "a.c", 3, is_inlined=True)
    symbols.add(6, "_start", "a.c", 4, is_inlined=True)
    symbols.add(6, "g", "a.c", 5)
    names = [frame.name for frame in resolver(symbols).frames((6, 1, 3, 4))]
    assert names == ["main", "_start", "g", "f", "(below main)"]


def test_a_versioned_start_up_function_keeps_its_name():
    symbols = below_main_symbols()
    symbols.add(7, "__libc_start_main@@GLIBC_2.34", "libc-start.c", 347)
    assert [frame.name for frame in resolver(symbols).frames((1, 7, 4, 8))] == [
        "f",
        "__libc_start_main@@GLIBC_2.34",
        "(below main)",
    ]


def test_without_start_up_functions_nothing_is_cut():
    assert [frame.ip for frame in resolver(below_main_symbols()).frames((1, 0x1FFF000747))] == [
        1,
        0x1FFF000747,
    ]
    assert resolver(below_main_symbols()).frames(()) == []


def test_offsets_are_shown_of_whole_functions_and_where_there_is_one():
    symbols = Symbols()
    symbols.add(1, "leaf", "a.c", 7, is_inlined=True)
    symbols.add(1, "main", "a.c", 22, sym_offset=31)
    symbols.add(2, "f", obj="/a", sym_offset=0)
    lines = stack_lines(resolver(symbols, sym_offsets=True, show_below_main=True), (1, 2))
    assert [line.split(": ")[1] for line in lines] == ["leaf (a.c:7)", "main+31 (a.c:22)", "f (in /a)"]


def test_frames_below_main_can_be_shown():
    lines = stack_lines(resolver(below_main_symbols(), show_below_main=True), (1, 2, 3, 4))
    assert lines[2:] == ["   by 0x3: __libc_start_call_main (start.h:58)", "   by 0x4: _start (in /bin/a)"]


def test_a_changed_option_takes_effect_on_known_addresses():
    stacks = resolver(below_main_symbols())
    assert len(stacks.frames((1, 2, 3))) == 2
    stacks.options.show_below_main = True
    assert len(stacks.frames((1, 2, 3))) == 3


def test_number_of_callers():
    assert resolver(Symbols(), num_callers=2).normalise([1, 3, 5]) == (1, 2)


def test_demangling_and_symbol_offsets():
    symbols = Symbols()
    symbols.add(1, "_Z1fv", obj="/x", demangled="f()", sym_offset=116)
    assert stack_lines(resolver(symbols), (1,)) == ["   at 0x1: f() (in /x)"]
    assert stack_lines(resolver(symbols, demangle=False), (1,)) == ["   at 0x1: _Z1fv (in /x)"]
    assert stack_lines(resolver(symbols, sym_offsets=True), (1,)) == ["   at 0x1: f()+116 (in /x)"]


@pytest.mark.parametrize(
    ("after", "text"),
    [
        ((), "e.c"),
        (("",), "/tmp/rp/e.c"),
        (("/tmp/",), "rp/e.c"),
        (("nowhere",), "/tmp/rp/e.c"),
        (("nowhere", "/rp"), "e.c"),
        (("/tmp",), "/rp/e.c"),
        (("nowhere", "/tmp/"), "rp/e.c"),
        (("mp",), "/rp/e.c"),
        (("/tmp/rp",), "e.c"),
        (("/tmp/rp/",), "/tmp/rp/e.c"),  # it is looked for in the directory alone
    ],
)
def test_source_directories(after, text):
    symbols = Symbols()
    symbols.add(1, "f", "e.c", 6, dir="/tmp/rp")
    assert stack_lines(resolver(symbols, fullpath_after=after), (1,)) == [f"   at 0x1: f ({text}:6)"]


def test_a_leading_dot_of_a_source_directory_is_dropped():
    symbols = Symbols()
    symbols.add(1, "qsort_r", "msort.c", 296, dir="./stdlib/./stdlib")
    assert stack_lines(resolver(symbols, fullpath_after=("",)), (1,)) == [
        "   at 0x1: qsort_r (stdlib/./stdlib/msort.c:296)"
    ]
    symbols.add(2, "far", "a.cc", 3, dir="./x/../y")
    assert stack_lines(resolver(symbols, fullpath_after=("x/",)), (2,)) == ["   at 0x2: far (../y/a.cc:3)"]


@pytest.mark.parametrize(
    ("ips", "longest", "merged"),
    [
        ("abbbbc", 0, "abbbbc"),
        ("abbbbc", 1, "abc"),
        ("PbababababaM", 1, "PbababababaM"),
        ("PbababababaM", 2, "PbaM"),
        ("PcabacadabM", 2, "PcabM"),
        ("PbababababaM", 3, "PbaM"),
        ("abcabcabcd", 3, "abcd"),
        ("abcabcabcd", 2, "abcabcabcd"),
    ],
)
def test_recursion_is_merged(ips, longest, merged):
    assert merge_cycles([ord(char) for char in ips], longest) == [ord(char) for char in merged]


def test_recursion_is_merged_before_callers_are_counted():
    stacks = resolver(Symbols(), merge_recursive=1, num_callers=3)
    assert stacks.normalise([10, *[21] * 50, 31]) == (10, 20, 30)
