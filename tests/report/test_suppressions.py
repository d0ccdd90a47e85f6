"""Suppression files: messages of the parser, matching, generating."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report.reporting import bench

from interpose.report.errors import Error, ErrorKind
from interpose.report.stack import ResolvedFrame
from interpose.report.suppressions import (
    CORE_ERRORS,
    FramePattern,
    SuppressionFileError,
    Suppressions,
    generate,
    match_frames,
)
from interpose.tools.memcheck.errors import leak_error_kind, suppression_component


def load(text: str) -> Suppressions:
    entries = Suppressions([suppression_component(), CORE_ERRORS])
    entries.add(text, "bad.supp")
    return entries


LOCATION = 'location should be "...", or should start with "fun:", "obj:", or "src:"'
EXTRA = "bad or missing extra suppression info"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("x\n", 1, "expected '{' or end-of-file"),
        ("{\n", 1, "unexpected '}'"),
        ("{\n }\n", 2, "unexpected '}'"),
        ("{\n a\n", 2, "unexpected end-of-file (expecting tool:suppr)"),
        ("{\n a\n Memcheck\n fun:x\n}\n", 3, "malformed 'tool1,tool2,...:supp' line"),
        ("{\n a\n Memcheck:Foo\n fun:x\n}\n", 3, "unknown tool suppression type"),
        ("{\n a\n CoreError:Foo\n fun:x\n}\n", 3, "unknown core suppression type"),
        ("{\n a\n Memcheck:Cond\n}\n", 4, "missing stack trace"),
        (
            "{\n a\n Memcheck:Cond\n ...\n}\n",
            5,
            'suppression must contain at least one location line which is not "..."',
        ),
        ("{\n a\n Memcheck:Cond\n foo:x\n}\n", 4, LOCATION),
        ("{\n a\n Memcheck:Cond\n {\n}\n", 4, LOCATION),
        ("{\n a\n Memcheck:Free\n extra\n fun:x\n}\n", 4, LOCATION),
        ("{\n a\n Memcheck:Cond\n fun:x\n", 4, "unexpected end-of-file (when reading stack trace)"),
        ("{\n a\n Memcheck:Param\n fun:x\n}\n", 4, EXTRA),
        ("{\n a\n Memcheck:Param\n src:x.c\n}\n", 4, EXTRA),
        ("{\n a\n Memcheck:Param\n}\n", 4, "unexpected end-of-file (when reading stack trace)"),
        ("{\n a\n Memcheck:Leak\n}\n", 4, EXTRA),
        ("{\n a\n Memcheck:FishyValue\n}\n", 4, EXTRA),
        ("{\n a\n Memcheck:Leak\n match-leak-kinds: foo\n fun:x\n}\n", 4, EXTRA),
        ("{\n a\n Memcheck:Leak\n match-leak-kinds foo\n fun:x\n}\n", 4, EXTRA),
        ("{\n a\n Memcheck:Leak\n src:foo.c:3\n fun:x\n}\n", 4, EXTRA),
        ("{\n a\n Memcheck:FishyValue\n malloc(size\n fun:x\n}\n", 4, EXTRA),
        ("{\n a\n Helgrind:Race\n", 3, "unexpected end-of-file (when skipping suppression)"),
        ("{\n a\n Helgrind:Race\n fun:x\n}\nfoo\n", 6, "expected '{' or end-of-file"),
    ],
)
def test_messages_of_the_parser(text, line, message):
    with pytest.raises(SuppressionFileError) as caught:
        load(text)
    assert caught.value.lines() == [
        f'FATAL: in suppressions file "bad.supp" near line {line}:',
        f"   {message}",
        "exiting now.",
    ]
    assert caught.value.exit_code == 1


def test_a_missing_file():
    with pytest.raises(SuppressionFileError) as caught:
        Suppressions([suppression_component()]).load("/nonexistent")
    assert caught.value.lines() == ['FATAL: can\'t open suppressions file "/nonexistent"']


@pytest.mark.parametrize(
    "text",
    [
        "{\n\n # c\n a\n Memcheck:Cond\n fun:x\n fun:\n}\n",
        "{\n a\n Memcheck,Foo:Value16\n fun:x\n}  \n",
        "{\n a\n Foo,Memcheck:Value0\n fun:x\n}\n",
        "{\n a\n CoreError:FdBadClose\n fun:x\n}\n",
        "{\n a\n Memcheck:FishyValue\n fun:x\n}\n",
        "{\n a\n Memcheck:BadSize\n fun:x\n}\n",
        "{\n a\n Memcheck:Leak\n fun:x\n}\n",
        "{\n a\n Memcheck:Cond\n src:foo.c:3\n fun:x\n}\n",
        "{\n a\n Memcheck:Cond\n" + "".join(f" fun:f{n}\n" for n in range(40)) + "}\n",
    ],
)
def test_accepted_entries(text):
    entries = Suppressions([suppression_component(), CORE_ERRORS])
    assert entries.add(text) == 1


def test_entries_for_other_tools_are_skipped():
    entries = Suppressions([suppression_component(), CORE_ERRORS])
    assert entries.add("{\n a\n Helgrind:Race\n fun:x\n}\n{\n b\n :Cond\n fun:x\n}\n") == 0


INSTALLED = [*Path("/usr/lib/valgrind").glob("*.supp"), *Path("/usr/libexec/valgrind").glob("*.supp")]


@pytest.mark.parametrize("path", INSTALLED, ids=lambda path: path.name)
def test_files_of_an_installed_valgrind_parse(path):
    assert Suppressions([suppression_component(), CORE_ERRORS]).load(str(path)) > 0


def frames(*names: str) -> list[ResolvedFrame]:
    return [
        ResolvedFrame(number, name, name, "/lib/libx.so.1", "/src/dir", "file.c", number, raw_symbol=name)
        for number, name in enumerate(names)
    ]


def patterns(*lines: str) -> list[FramePattern]:
    body = "".join(f" {line}\n" for line in lines)
    entry = load(f"{{\n a\n Memcheck:Cond\n {body} }}\n")
    return list(entry._by_kind[("Memcheck", "Cond")][0].frames)


@pytest.mark.parametrize(
    ("lines", "names", "matches"),
    [
        (["fun:a"], "ab", True),
        (["fun:b"], "ab", False),
        (["fun:a", "fun:b", "fun:c"], "ab", False),
        (["...", "fun:c"], "abc", True),
        (["...", "fun:a"], "abc", True),
        (["fun:a", "...", "fun:c"], "abbbc", True),
        (["fun:a", "...", "fun:c", "fun:d"], "acbcd", True),
        (["fun:a", "...", "fun:z"], "abc", False),
        (["fun:a", "..."], "a", True),
        (["...", "fun:a", "...", "...", "fun:b"], "xab", True),
        (["fun:?"], "a", True),
        (["fun:*"], "a", True),
        (["obj:*/libx.so*"], "a", True),
        (["obj:libx.so.1"], "a", False),
        (["src:file.c"], "a", True),
        (["src:file.c:0", "src:*le.c:1"], "ab", True),
        (["src:file.c:1"], "ab", False),
        (["src:file.c:*"], "b", True),
        (["src:file.c:", "src:fil?.c:??"], "ab", True),
        (["src:file.c:x"], "a", False),
        (["src:/src/dir/file.c"], "a", True),
    ],
)
def test_frames_match(lines, names, matches):
    assert match_frames(patterns(*lines), frames(*names)) is matches


def test_brackets_are_no_wildcards():
    assert match_frames(patterns("fun:f[ab]"), frames("f[ab]"))
    assert not match_frames(patterns("fun:f[ab]"), frames("fa"))


def test_unknown_names_are_three_question_marks():
    nothing = [ResolvedFrame(0, None, None)]
    assert match_frames(patterns("fun:*"), nothing)
    assert match_frames(patterns("obj:*"), nothing)
    assert not match_frames(patterns("fun:a"), nothing)


def naive(lines: str, names: str) -> bool:
    if not lines:
        return True
    if lines[0] == ".":
        return any(naive(lines[1:], names[at:]) for at in range(len(names) + 1))
    return bool(names) and lines[0] == names[0] and naive(lines[1:], names[1:])


@given(st.text("ab.", min_size=1, max_size=7), st.text("ab", max_size=7))
def test_ellipsis_against_a_naive_matcher(lines, names):
    if set(lines) == {"."}:
        return
    wanted = [FramePattern("") if char == "." else FramePattern("fun", char) for char in lines]
    assert match_frames(wanted, frames(*names)) is naive(lines, names)


def cond(*stack: int) -> Error:
    return Error(ErrorKind("UninitCondition", "Cond", "Memcheck"), 1, ("Conditional jump",), stack)


def test_of_several_the_last_used_or_else_the_last_read_wins_and_is_counted():
    """As in Valgrind, where an entry goes before the others when it is read, and when it has matched."""
    b = bench(supp="".join(f"{{\n {name}\n Memcheck:Cond\n fun:{name[0]}\n}}\n" for name in ("*", "f", "f2")))
    b.symbols.add(1, "f")
    b.symbols.add(2, "g")
    for error in (cond(1), cond(2), cond(2), cond(1, 2)):
        b.errors.report(error)
    assert [(entry.name, entry.count, entry.line) for entry in b.suppressions.used()] == [
        ("*", 3, 2),
        ("f2", 1, 12),
    ]


@pytest.mark.parametrize(
    ("lines", "obj", "matches"),
    [
        (["fun:memalign", "fun:posix_memalign", "fun:f"], "/x/interpose-stubs.so", True),
        (["fun:posix_memalign", "fun:f"], "/x/interpose-stubs.so", True),
        (["fun:memalign", "fun:f"], "/x/interpose-stubs.so", False),
        (["fun:memalign", "fun:posix_memalign", "fun:f"], "/x/libjemalloc.so", False),
    ],
)
def test_replacements_match_as_valgrind_shows_them(lines, obj, matches):
    entries = load("{\n a\n Memcheck:Cond\n" + "".join(f" {line}\n" for line in lines) + "}\n")
    inner, outer = frames("posix_memalign", "f")
    assert (entries.match(cond(1, 2), [inner._replace(obj=obj), outer], 12) is not None) is matches


def test_kind_and_extra_line_must_agree():
    b = bench(supp="{\n p\n Memcheck:Param\n write(buf)\n fun:f\n}\n")
    b.symbols.add(1, "f")

    def param(name: str) -> Error:
        kind = ErrorKind("SyscallParam", "Param", "Memcheck")
        return Error(kind, 1, (name,), (1,), extra=name, suppression_extra=name)

    b.errors.report(param("write(buf)"))
    b.errors.report(param("read(buf)"))
    b.errors.report(cond(1))
    assert (b.errors.suppressed, b.errors.errors_found) == (1, 2)


@pytest.mark.parametrize(
    ("extra", "kind", "matches"),
    [
        ("", "reachable", True),
        ("match-leak-kinds: definite,possible\n", "possible", True),
        ("match-leak-kinds:definite\n", "possible", False),
        ("match-leak-kinds: all\n", "indirect", True),
        ("match-leak-kinds: none\n", "definite", False),
    ],
)
def test_leak_kinds(extra, kind, matches):
    b = bench(supp=f"{{\n l\n Memcheck:Leak\n {extra} fun:malloc\n}}\n")
    b.symbols.add(1, "malloc")
    error = Error(leak_error_kind(kind), 1, ("leak",), (1,), leak_kind=kind)
    assert (b.suppressions.match(error, b.resolver.frames((1,)), 12) is not None) is matches


def test_inlined_frames_count_as_frames():
    b = bench(supp="{\n i\n Memcheck:Cond\n fun:inl\n fun:work\n}\n")
    b.symbols.add(1, "inl", is_inlined=True)
    b.symbols.add(1, "work")
    b.errors.report(cond(1))
    assert b.errors.suppressed == 1


def test_below_main_matches_by_either_name():
    for name in ("(below main)", "_start"):
        b = bench(supp=f"{{\n i\n Memcheck:Cond\n fun:f\n fun:{name}\n}}\n")
        b.symbols.add(1, "f")
        b.symbols.add(2, "_start")
        b.errors.report(cond(1, 2))
        assert b.errors.suppressed == 1, name


@pytest.mark.parametrize(
    "below",
    [
        ("fun:(below main)",),
        ("obj:*libc*", "fun:__libc_start_main*"),
        ("obj:*", "obj:*", "fun:(below main)", "obj:*"),
    ],
    ids=" ".join,
)
def test_frames_below_main_can_be_matched(below):
    lines = "\n ".join(("fun:f", "fun:main", *below))
    b = bench(supp=f"{{\n i\n Memcheck:Cond\n {lines}\n}}\n")
    b.symbols.add(1, "f")
    b.symbols.add(2, "main")
    b.symbols.add(3, "__libc_start_call_main", obj="/lib/libc.so.6")
    b.symbols.add(4, "__libc_start_main@@GLIBC_2.34", obj="/lib/libc.so.6")
    b.symbols.add(5, "_start", obj="/bin/a")
    b.errors.report(cond(1, 2, 3, 4, 5))
    b.errors.report(cond(1, 3))
    assert (b.errors.suppressed, b.errors.errors_found) == (1, 1)


def test_frames_deeper_than_the_recorded_ones_are_ignored():
    b = bench(supp="{\n i\n Memcheck:Cond\n fun:f\n fun:g\n fun:h\n}\n")
    b.resolver.options.num_callers = 2
    b.symbols.add(1, "f")
    b.symbols.add(2, "g")
    b.errors.report(cond(1, 2))
    assert b.errors.suppressed == 1


def test_generated_suppressions_suppress():
    b = bench()
    b.symbols.add(1, "_Z1fv", demangled="f()")
    b.symbols.add(2, None, obj="/bin/a")
    b.symbols.add(3, None)
    error = cond(1, 2, 3)
    candidate = generate(error, b.resolver.frames(error.stack))
    assert candidate is not None
    assert candidate.lines() == [
        "{",
        "   <insert_a_suppression_name_here>",
        "   Memcheck:Cond",
        "   fun:_Z1fv",
        "   obj:/bin/a",
        "   obj:*",
        "}",
    ]
    b.suppressions.add("\n".join(candidate.lines()))
    b.errors.report(error)
    assert b.errors.suppressed == 1


@pytest.mark.parametrize("name", [" both ends \t", "a\nb", "a\x85b\u2028c", "a\rb", "\xa0", "\x0b"])
def test_names_with_blanks_suppress_when_they_come_back(name, tmp_path):
    b = bench()
    b.symbols.add(1, name)
    error = cond(1)
    candidate = generate(error, b.resolver.frames(error.stack))
    assert candidate is not None
    file = tmp_path / "x.supp"
    file.write_text("\n".join([*candidate.lines(), ""]), newline="\n")
    assert b.suppressions.load(str(file)) == 1
    b.errors.report(error)
    assert b.errors.suppressed == 1


@pytest.mark.parametrize(
    ("last", "matches"),
    [(None, True), ("(below main)", True), ("_start", True), ("_dl_init", False)],
    ids=str,
)
def test_lines_for_what_valgrind_shows_beyond_the_start_may_be_left_over(last, matches):
    stack = [ResolvedFrame(1, "f", "f", "/lib/l.so"), ResolvedFrame(2, last, last, "/lib/ld-linux.so.2")]
    assert match_frames(patterns("fun:f", *["obj:*"] * 4), stack) is matches
    assert not match_frames(patterns("fun:f", *["obj:*"] * 4, "fun:*"), stack)
