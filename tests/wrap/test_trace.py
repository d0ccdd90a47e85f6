"""--trace-redir=yes and the lines of -v, as a real run prints them (docs/spec/redirection.md section 8)."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

Build = Callable[..., Path]

HEADER = re.compile(r"   ------ REDIR STATE after VG_\((\w+)\) ------")
TOPSPECS = re.compile(r"   TOPSPECS of soname (\S+) filename (\S+)")
SPEC = re.compile(r"     (\S+) +(\S+) +([RW])[LG]-> \(\d{4}\.\d\) 0x[0-9a-f]{8,}")
ACTIVE = re.compile(r"    (0x[0-9a-f]{8,}) \((.{20})\) ([RW])-> \(\d{4}\.\d\) (0x[0-9a-f]{8,}) (\S+)")


def states(messages: list[str]) -> list[list[str]]:
    """The blocks between << and >>, in order."""
    found, inside = [], None
    for line in messages:
        if line == "<<":
            inside = []
        elif line == ">>":
            assert inside is not None
            found.append(inside)
            inside = None
        elif inside is not None:
            inside.append(line)
    assert inside is None
    return found


def test_state_after_every_change_of_code(run: Callable, build: Build) -> None:
    driver = build("driver.c", "valgrind")
    library = build("object.c", "valgrind", "-shared", "-fPIC", "-Wl,-soname,object1.so", name="object1.so")
    wrapper = build("wrapper.c", "valgrind", "-shared", "-fPIC", "-DFACTOR=10")
    words = f"+{library} +{wrapper} call -{wrapper} call -{library}".split()
    result = run("none", driver, *words, options=("--trace-redir=yes",))
    assert result.out == "50\n5\n"
    blocks = states(result.messages)
    reasons = []
    for block in blocks:
        header = HEADER.fullmatch(block[0])
        assert header, block[0]
        reasons.append(header[1])
        middle = block.index("   ------ ACTIVE ------")
        for line in block[1:middle]:
            assert TOPSPECS.fullmatch(line) or SPEC.fullmatch(line), line
        for line in block[middle + 1 :]:
            assert ACTIVE.fullmatch(line), line
    new, deleted = "redir_notify_new_DebugInfo", "redir_notify_delete_DebugInfo"
    assert reasons[0] == "redir_initialise"
    # core image, program, ld.so, libc, then the two libraries
    assert reasons[1:] == [new] * 6 + [deleted] * 2
    named = [match[2] for line in blocks[6] if (match := TOPSPECS.fullmatch(line))]
    assert named[:2] == [str(wrapper), str(library)] and named[-2] == str(driver)  # newest first
    assert [m[1] for line in blocks[6] if (m := TOPSPECS.fullmatch(line)) and m[2] == str(driver)] == ["NONE"]
    active = [match for line in blocks[6] if (match := ACTIVE.fullmatch(line))]
    assert [(m[2].rstrip(), m[3], m[5]) for m in active] == [("function1", "W", "function1")]
    spec = [match for line in blocks[6] if (match := SPEC.fullmatch(line))]
    assert [m.groups() for m in spec] == [("object1.so", "function1", "W")]
    for block in (blocks[5], blocks[7]):  # without the wrapper: nothing wanted, nothing active
        assert not any(SPEC.fullmatch(line) or ACTIVE.fullmatch(line) for line in block)


def test_replacements_and_wraps_are_told_apart(run: Callable, build: Build) -> None:
    result = run("none", build("spelling.c", "ours"), options=("--trace-redir=yes",))
    active = [match for line in states(result.messages)[-1] if (match := ACTIVE.fullmatch(line))]
    found = {(m[2].rstrip(), m[3]) for m in active}
    assert {("foo", "W"), ("bar_baz", "W"), ("qux", "R")} <= found


def test_first_use_is_told_once(run: Callable, build: Build) -> None:
    result = run("none", build("basic.c", "ours"), options=("-v",))
    lines = [line for line in result.messages if line.startswith("REDIR: ")]
    assert len(lines) == 1
    assert re.fullmatch(r"REDIR: 0x[0-9a-f]+ \(NONE:foo\) redirected to 0x[0-9a-f]+ \(foo\)", lines[0])
    assert "REDIR" not in run("none", build("basic.c", "ours"), options=()).err


def test_first_use_has_the_names_of_stack_traces(run: Callable, build: Build) -> None:
    """The C library's free is also cfree, its strchr index."""
    result = run("memcheck", build("aliases.c", "ours", "-fno-builtin"), options=("-v",))
    used = re.findall(r"REDIR: 0x[0-9a-f]+ \(libc\S+:(\S+)\) redirected to 0x[0-9a-f]+ \((\S+)\)", result.err)
    assert ("free", "free") in used
    assert {"index", "strlen"} <= {target for _, target in used}
