"""Costs and calls of small programs, exactly; the installed Valgrind counts the same."""

from __future__ import annotations

import subprocess

import pytest

from .profiles import VALGRIND, build, profile, run, valgrind

OWN = {
    "(below main)": 17,
    "leaf": 15,
    "tail": 2,
    "recursive": 5,
    "recursive'2": 18,
    "even": 5,
    "even'2": 5,
    "odd": 5,
    "odd'2": 3,
    "catcher": 7,
    "deep": 4,
    "deep'2": 10,
    "leap": 2,
    "hot": 8,
    "hot.cold": 2,
    "strings": 18,
    "selects": 3,
    "indirect": 3,
    "finish": 3,
}
CALLS = {
    ("(below main)", "leaf"): (2, 6),
    ("(below main)", "tail"): (1, 5),
    ("tail", "leaf"): (1, 3),
    ("(below main)", "recursive"): (1, 23),
    ("recursive", "recursive'2"): (1, 18),
    ("recursive'2", "recursive'2"): (3, 24),
    ("(below main)", "even"): (1, 18),
    ("even", "odd"): (1, 13),
    ("odd", "even'2"): (1, 8),
    ("even'2", "odd'2"): (1, 3),
    ("(below main)", "catcher"): (1, 23),
    ("catcher", "deep"): (1, 16),
    ("deep", "deep'2"): (1, 12),
    ("deep'2", "deep'2"): (2, 12),
    ("deep'2", "leap"): (1, 2),
    ("(below main)", "hot"): (2, 13),
    ("hot", "hot.cold"): (1, 5),
    ("hot.cold", "leaf"): (1, 3),
    ("(below main)", "strings"): (1, 18),
    ("(below main)", "selects"): (1, 3),
    ("(below main)", "indirect"): (1, 6),
    ("indirect", "leaf"): (1, 3),
    ("(below main)", "finish"): (1, 3),
}


def named(found):
    """Without the function that only its address names."""
    return {key: value for key, value in found.items() if "0x" not in str(key)}


def test_costs_and_calls(flow, tmp_path):
    found = profile(tmp_path, flow)
    assert found.events == ("Ir",)
    assert named(found.ir) == OWN
    assert named(found.called) == CALLS
    assert [costs for name, costs in found.ir.items() if name.startswith("0x")] == [2]
    assert found.parts[0].totals == found.parts[0].summary == (sum(OWN.values()) + 2,)


@pytest.mark.skipif(VALGRIND is None, reason="no valgrind")
def test_as_valgrind(flow, tmp_path):
    """But for the block that ends the process, which Valgrind does not count, and for what a function's part
    elsewhere jumps back to, which Valgrind counts as the part's."""
    ours, theirs = profile(tmp_path, flow), valgrind(tmp_path, flow)
    except_for = {"finish", "hot", "hot.cold"}
    assert {n: c for n, c in ours.ir.items() if n not in except_for} == {
        n: c for n, c in theirs.ir.items() if n not in except_for
    }
    pairs = {("(below main)", "finish"), ("hot", "hot.cold")}
    assert {p: c for p, c in ours.called.items() if p not in pairs} == {
        p: c for p, c in theirs.called.items() if p not in pairs
    }


def test_by_instruction(flow, tmp_path):
    """--dump-instr=yes --collect-jumps=yes: positions, and jumps with how often they were taken."""
    found = profile(tmp_path, flow, "--dump-instr=yes", "--collect-jumps=yes")
    assert named(found.ir) == OWN
    assert named(found.called) == CALLS
    jumps = [r for r in found.parts[0].records if type(r).__name__ == "Jump"]
    of = {name: [(j.executed, j.followed) for j in jumps if j.function.name == name] for name in OWN}
    assert of["recursive"] == []  # never taken
    assert of["strings"] == [(11, 10)]  # a repeated instruction jumps to itself
    assert of["recursive'2"] == [(4, 1)]
    assert of["hot"] == []  # into its other part: a call
    assert of["selects"] == [(1, None)]


def test_recursion_depth(flow, tmp_path):
    """--separate-recs."""
    one = profile(tmp_path, flow, "--separate-recs=1").ir
    assert one["recursive"] == 23 and "recursive'2" not in one
    four = profile(tmp_path, flow, "--separate-recs=4").ir
    assert [four[name] for name in ("recursive", "recursive'2", "recursive'3", "recursive'4")] == [5, 5, 5, 8]
    some = profile(tmp_path, flow, "--separate-recs1=rec*").ir
    assert some["recursive"] == 23 and some["deep'2"] == 10


def test_callers(flow, tmp_path):
    """--separate-callers."""
    found = profile(tmp_path, flow, "--separate-callers=1").ir
    assert found["leaf'tail"] == 3 and found["leaf'(below main)"] == 6 and found["leaf'indirect"] == 3
    some = profile(tmp_path, flow, "--separate-callers1=leaf").ir
    assert some["leaf'tail"] == 3 and some["tail"] == 2


def test_skipped_functions(flow, tmp_path):
    """--fn-skip: the cost is the caller's, and so are the calls."""
    found = profile(tmp_path, flow, "--fn-skip=tail")
    assert "tail" not in found.ir and found.ir["(below main)"] == 17 + 2
    assert found.called["(below main)", "leaf"] == (3, 9)


def test_collecting(flow, tmp_path):
    """--toggle-collect: only what runs within."""
    found = profile(tmp_path, flow, "--toggle-collect=even")
    assert found.ir == {"even": 5, "even'2": 5, "odd": 5, "odd'2": 3}


def test_calls_that_never_end(tmp_path):
    """One that nothing was collected before counts, also if the program's end is its own."""
    source = tmp_path / "ends.c"
    source.write_text(
        "#include <stdlib.h>\n"
        '__attribute__((noinline)) void counted(void) { __asm__ volatile("nop"); }\n'
        "__attribute__((noinline)) void never(void) { counted(); exit(0); }\n"
        "int main(void) { never(); }\n"
    )
    program = tmp_path / "ends"
    subprocess.run(["gcc", "-O1", "-o", program, source], check=True)
    called = profile(tmp_path, program, "--toggle-collect=counted").called
    assert called["main", "never"] == (1, 2) and 0 not in {count for count, _ in called.values()}


def test_dumps_at_functions(flow, tmp_path):
    """--dump-before, --dump-after, --zero-before: parts, which together are all there is."""
    done = run(tmp_path, flow, "--dump-before=catcher", "--dump-after=catcher", name="parts")
    assert done.returncode == 0, done.stderr
    from .profiles import read

    before, within, rest = (read(tmp_path / name).ir for name in ("parts.1", "parts.2", "parts"))
    assert "catcher" not in before and before["even"] == 5
    assert within == {"catcher": 7, "deep": 4, "deep'2": 10, "leap": 2}
    assert "catcher" not in rest and rest["strings"] == 18
    assert sum(map(sum, (before.values(), within.values(), rest.values()))) == sum(OWN.values()) + 2
    assert "--dump-before=catcher" in (tmp_path / "parts.1").read_text()
    zeroed = profile(tmp_path, flow, "--zero-before=strings").ir
    assert zeroed["strings"] == 18 and "catcher" not in zeroed


def test_combined(flow, tmp_path):
    """--combine-dumps: all parts in one file."""
    found = profile(tmp_path, flow, "--combine-dumps=yes", "--dump-before=catcher")
    assert [part.part for part in found.parts] == [1, 2]
    assert named(found.ir) == OWN
    keys = [line.partition(": ")[0] for line in (tmp_path / "out").read_text().splitlines() if ": " in line]
    once = ("pid", "cmd")
    assert [keys.count(key) for key in (*once, "part", "events", "desc")] == [1, 1, 2, 2, 7]


@pytest.mark.parametrize("others", [["--zero-before=strings"], ["--cache-sim=yes"]])
def test_ranges_of_parts(flow, tmp_path, others):
    """Each part says which blocks it has: from where the one before ended, whatever was zeroed."""
    options = ["--combine-dumps=yes", "--dump-before=catcher", "--dump-after=catcher"]
    whole = profile(tmp_path, flow, *others[1:])
    found = profile(tmp_path, flow, *options, *others)
    ranges = []
    for part in [*found.parts, *whole.parts]:
        words = part.description("Timerange").split()
        assert words[:2] == ["Basic", "block"]
        ranges.append((int(words[2]), int(words[4])))
    (begin, first), (second, third), (fourth, end), of_all = ranges
    assert begin == 0 < first == second < third == fourth < end
    assert of_all[0] == 0


def test_uncompressed(flow, tmp_path):
    """--compress-strings=no, --compress-pos=no: the same in more words."""
    found = profile(tmp_path, flow, "--compress-strings=no", "--compress-pos=no", "--dump-instr=yes")
    assert named(found.ir) == OWN
    assert "(1)" not in (tmp_path / "out").read_text()


def test_code_beyond_the_templates(tmp_path):
    """What is not counted runs as it is; one line says that it is not counted."""
    program = build(tmp_path, "beyond.c", "-w")
    done = run(tmp_path, program, "-q")
    assert (done.returncode, done.stdout) == (0, "15\n1234\n15\n")
    assert len(done.stderr.splitlines()) == 1


def test_more_parts_than_tables(tmp_path):
    """Contexts in code without names have tables of their own for other parts, 512 at most."""
    program = build(tmp_path, "parts.S", "-nostdlib", "-static", "-s", "-Wl,--eh-frame-hdr")
    ours = profile(tmp_path, program)
    recorded = profile(tmp_path, program, "--collect-jumps=yes")
    assert sum(ours.ir.values()) == sum(recorded.ir.values()) > 40 * 900 * 10
    assert sum(count for count, _ in ours.called.values()) == sum(
        count for count, _ in recorded.called.values()
    )


@pytest.mark.parametrize("options", [(), ("--collect-jumps=yes",)])
def test_a_jump_to_a_function_without_a_name(tmp_path, options):
    """It is called, also by what code without a name has jumped to: unwind tables tell where it begins."""
    flags = ("-O2", "-fPIC", "-shared", "-Wl,-Bsymbolic")
    library = build(tmp_path, "nameless.c", *flags).rename(tmp_path / "libnameless.so")
    program = build(tmp_path, "nameless.c", "-DMAIN", str(library), "-Wl,-z,now")
    whole = profile(tmp_path, program, *options)
    subprocess.run(["strip", library], check=True)
    found = profile(tmp_path, program, *options)
    (before,) = (caller for caller, callee in found.called if callee == "middle")
    (inner,) = (callee for caller, callee in found.called if caller == "middle")
    for caller, callee, names in (
        ("outer", before, ("outer", "before")),
        (before, "middle", ("before", "middle")),
        ("middle", inner, ("middle", "inner")),
    ):
        assert found.called[caller, callee] == whole.called[names]
    assert (found.ir[before], found.ir[inner]) == (whole.ir["before"], whole.ir["inner"])
