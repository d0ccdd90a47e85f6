"""Core client requests in real runs (docs/spec/client-requests.md sections 1 to 3)."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from interpose.jit._native import lib
from interpose.requests.core import answer

Build = Callable[..., Path]
Engine = Callable

TOOLS = ("none", "memcheck")

NATIVE = """\
running 0
errors 0
malloc 0
toolname 0: 0 '' then '#'
toolname 1: 0 '#' then '#'
toolname 3: 0 '###' then '#'
toolname 20: 0 '####################' then '#'
srcloc 0 'untouched'
srcloc 0 'untouched'
stacks none
monitor 0
unknown -77
foreign 42
"""


def answers(tool: str) -> str:
    n = len(tool) + 1
    return f"""\
running 1
errors 0
malloc {int(tool == "memcheck")}
toolname 0: {n} '' then '#'
toolname 1: {n} '' then '#'
toolname 3: {n} '{tool[:2]}' then '#'
toolname 20: {n} '{tool}' then '#'
srcloc 0 'answers.c:14'
srcloc 0 ''
stacks differ
monitor 1
unknown -77
foreign 42
"""


def test_defaults_natively(build: Build, run: Engine) -> None:
    assert run("native", build("answers.c")).out == NATIVE
    assert run("none", build("answers.c", "-DNVALGRIND"), "-q").out == NATIVE


@pytest.mark.parametrize("flags", [[], ["-static"]], ids=["dynamic", "static"])
@pytest.mark.parametrize("tool", TOOLS)
def test_answers(build: Build, run: Engine, tool: str, flags: list[str]) -> None:
    result = run(tool, build("answers.c", *flags), "-q")
    assert (result.out, result.messages) == (answers(tool), [])


def test_unknown_requests_are_named_when_verbose(build: Build, run: Engine) -> None:
    told = [line for line in run("none", build("answers.c"), "-v").messages if "client request" in line]
    assert told == [
        "Warning: unhandled client request: 0x1999; its default answer is given",
        "Warning: unhandled client request: 0x515a0003 of tool 'QZ'; its default answer is given",
    ]


def test_unknown_requests_are_named_once_it_is_verbose(build: Build, run: Engine) -> None:
    result = run("none", build("unknown_later.c"))
    told = [line for line in result.messages if "client request" in line]
    assert told == [
        "Warning: unhandled client request: 0x515a0003 of tool 'QZ'; its default answer is given",
    ]
    assert result.code == 0


@pytest.mark.parametrize(
    ("code", "says"), [(0x515A0003, lib.IP_ANSWER_NONE), (lib.INTERPOSE_RQ_REPORT_MARK, 0)]
)
def test_the_runtime_is_told_what_nobody_knows(code: int, says: int) -> None:
    """So that it does not ask again."""
    tool = SimpleNamespace(request=lambda slot, words, default: None)
    core = SimpleNamespace(verbosity=1)
    supervisor = SimpleNamespace(tool=tool, json=None, config=SimpleNamespace(core=core))
    slot = SimpleNamespace(r=[0, 0, 0, 0])
    answer(supervisor, slot, [code, 0, 0, 0, 0, 0], 7)  # type: ignore[arg-type]
    assert slot.r[3] == says


def test_unknown_requests_of_memcheck_are_told_once(build: Build, run: Engine) -> None:
    told = [line for line in run("memcheck", build("unknown_memcheck.c"), "-q").messages if "request" in line]
    assert told == [f"Warning: unknown memcheck client request code 4d4300f{digit}" for digit in "01"]


@pytest.mark.parametrize("tool", TOOLS)
def test_words_that_cannot_be_read(build: Build, run: Engine, tool: str) -> None:
    assert run(tool, build("unreadable.c"), "-q").out == "5\n"


@pytest.mark.parametrize("tool", TOOLS)
def test_discarded_translations(build: Build, run: Engine, tool: str) -> None:
    assert run("native", build("discard.c")).out == "wrong 0\n"
    assert run(tool, build("discard.c"), "-q").out == "wrong 0\n"


@pytest.mark.parametrize("tool", TOOLS)
def test_calls(build: Build, run: Engine, tool: str) -> None:
    native = "0 0\n0\n0\nnested 0\nkept abcd abcd\nleft 0, then 0\nthread native\n"
    assert run("native", build("calls.c")).out == native
    expected = "1001 71\n781\n7891\nnested 51\nkept abcd abcd\nleft 300, then 1001\nthread has another id\n"
    result = run(tool, build("calls.c"), "-q")
    assert (result.out, result.code) == (expected, 0)


@pytest.mark.parametrize("tool", TOOLS)
def test_printf(build: Build, run: Engine, tool: str) -> None:
    result = run(tool, build("printing.c"), "-q")
    native = run("native", build("printing.c"))
    assert native.err == "count 0\n"
    *printed, counted, last = result.printed
    assert printed == native.out.splitlines() == result.out.splitlines()
    assert (counted, last) == ("12345", "no newline at the end")
    assert "count 6\n" in result.err and result.err.endswith("no newline at the end")


@pytest.mark.parametrize("tool", TOOLS)
def test_a_line_without_end_is_printed_at_once(build: Build, run: Engine, tool: str) -> None:
    """Before what the program does next, which may be its death; what follows of the report begins a line."""
    result = run(tool, build("midline.c"), "-q", words=["killed"])
    assert (result.code, result.err.split(" ", 1)[1]) == (-9, "before[itself]after")
    reported = run(tool, build("midline.c"), "-q", words=["reported"])
    assert (reported.code, reported.printed) == (0, ["before[itself]after"])
    assert reported.messages == ["Ignoring dynamic change to unrecognised option --no-such-option"]


@pytest.mark.parametrize("tool", TOOLS)
def test_strings_that_are_long_or_have_no_end(build: Build, run: Engine, tool: str) -> None:
    result = run(tool, build("strings.c"), "-q")
    assert result.out == "200001\n"
    long, *rest = result.printed
    assert long == "y" * 200_000
    assert rest == ["uuu|uuuuuu||", "uuuuuu|uuuu|", "(null)|(n|", "abc|abcde|"]


def test_printf_by_value_is_refused(build: Build, run: Engine) -> None:
    result = run("none", build("by_value.c"), "-q")
    assert result.out == "0\n" and "by value" in result.messages[0]


def stacks(messages: list[str], printed: list[str]) -> list[list[str]]:
    """Function names of each stack, innermost first."""
    found: list[list[str]] = []
    for line in messages:
        frame = re.match(r" +(at|by) 0x[0-9A-F]+: (\S+)", line)
        if frame and frame[1] == "at":
            found.append([])
        if frame:
            found[-1].append("(below main)" if frame[2] == "(below" else frame[2])
    assert len(found) == len(printed)
    return found


EXPECTED = [
    ["leaf", "main"],
    ["leaf", "deep", "deep", "deep", "deep", "main"],
    ["leaf", "wrapped", "wrapped", "main"],
    ["leaf", "compare", ..., "main"],
    ["leaf", "handler", ..., "interrupted", "main"],
    ["leaf", "thread", ...],
]


def fits(found: list[str], wanted: list) -> bool:
    """An ellipsis stands for any frames of libc."""
    if ... not in wanted:
        return found == wanted
    at = wanted.index(...)
    tail = wanted[at + 1 :]
    return found[:at] == wanted[:at] and (not tail or found[-len(tail) :] == tail)


@pytest.mark.parametrize("flags", [["-O0"], ["-O2"], ["-O2", "-static"]], ids=" ".join)
@pytest.mark.parametrize("tool", [*TOOLS, "valgrind"])
def test_stack_of_printf(build: Build, run: Engine, tool: str, flags: list[str]) -> None:
    result = run(tool, build("backtrace.c", *flags), "-q")
    assert result.out == "1\n"
    assert result.printed == ["direct", "deep", "wrapped", "callback", "handler", "thread"]
    found = [s[s.index("leaf") :] for s in stacks(result.messages, result.printed)]
    for names, wanted in zip(found, EXPECTED, strict=True):
        names = ["wrapped" if "vgw" in name else name for name in names]
        assert fits(names, wanted), (names, wanted)


def test_called_functions_are_silent(build: Build, run: Engine) -> None:
    result = run("memcheck", build("silent_calls.c"), "-q")
    assert (result.out, result.code) == ("2\n", 0)
    text = "\n".join(result.messages)
    found = re.findall(r"^Invalid read of size 1\n   at \S+ (\w+) ", text, re.MULTILINE)
    assert found == ["main", "deeper", "deeper"], text
    assert "depends on" not in text
    assert re.search(r"by \S+ shows .*\n +by \S+ main ", text), text


@pytest.mark.parametrize("tool", TOOLS)
def test_called_functions_meet_no_wrappers(build: Build, run: Engine, tool: str) -> None:
    result = run(tool, build("unwrapped_calls.c"), "-q")
    body = "body 24100 called 140\n"
    assert result.out == (
        f"{body * 3}inner itself 2\nallocates 5\nnested 6\nundefined 20\ninterrupted 4 handled 204\n"
        "after a longjmp 102\ncalled 2\nforked 102 2\nat last 24100\n"
    )
    assert (result.messages, result.code) == ([], 0)
