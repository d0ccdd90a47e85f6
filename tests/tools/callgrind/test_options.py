"""Options that say what counts where, and when there are dumps: what files say is as Valgrind's say it."""

from __future__ import annotations

from collections import Counter

import pytest

from .profiles import VALGRIND, build, profile, read, run, valgrind

# The block that ends the process, and what a function's part elsewhere jumps back to (test_flow.py).
ELSEWHERE = {"finish", "hot", "hot.cold"}
OPTIONS = [
    "--separate-recs=1",
    "--separate-recs=3",
    "--separate-recs=4",
    "--separate-recs2=deep",
    "--separate-callers=1",
    "--separate-callers=2",
    "--separate-callers=3",
    "--separate-callers=auto",
    "--separate-callers2=leaf",
    "--separate-callers2=deep",
    "--separate-callers=1 --separate-recs=1",
    "--skip-direct-rec=yes",
    "--skip-direct-rec=yes --separate-recs=1",
    "--fn-skip=tail",
    "--fn-skip=deep",
    "--toggle-collect=even",
    "--toggle-collect=deep",
    "--toggle-collect=leaf",
    "--toggle-collect=odd",
    "--toggle-collect=cat*",
    "--toggle-collect=tail --toggle-collect=leaf",
    "--toggle-collect=recursive --dump-after=recursive",
    "--dump-before=catcher",
    "--dump-before=leaf",
    "--dump-before=deep",
    "--dump-before=e*",
    "--dump-before=?ven",
    "--dump-after=catcher",
    "--dump-after=leaf",
    "--dump-after=deep",
    "--zero-before=strings",
    "--zero-before=deep",
    "--zero-before=even",
    "--zero-before=recursive",
    "--zero-before=*tch*",
    "--pop-on-jump=tail",
    "--pop-on-jump=leap",
    "--collect-atstart=no",
    "--collect-atstart=no --toggle-collect=even",
    "--collect-atstart=yes --toggle-collect=even",
    "--toggle-collect=even --collect-atstart=yes",
]


def is_elsewhere(names):
    return any(name.split("'")[0] in ELSEWHERE or "'hot" in name for name in names)


def shown(folder):
    """What all files of a run say, by name."""
    found = {}
    for path in folder.iterdir():
        sums = read(path)
        own = {name: cost for name, cost in sums.ir.items() if not is_elsewhere([name])}
        called = {pair: row for pair, row in sums.called.items() if not is_elsewhere(pair)}
        name = path.name.replace("valgrind.out", "out")
        found[name] = ([part.description("Trigger") for part in sums.parts], own, called)
    return found


@pytest.mark.skipif(VALGRIND is None, reason="no valgrind")
@pytest.mark.parametrize("options", OPTIONS)
def test_as_valgrind(flow, tmp_path, options):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir()
    theirs.mkdir()
    profile(ours, flow, *options.split())
    valgrind(theirs, flow, *options.split())
    found, expected = shown(ours), shown(theirs)
    assert found.keys() == expected.keys()
    for name, (triggers, own, called) in expected.items():
        assert (triggers, own) == found[name][:2], name
        assert called == found[name][2], name


def test_recursion_asks_for_one_dump(flow, tmp_path):
    """--dump-before, --dump-after, --zero-before: at the first of calls within each other, and at its end."""
    for option in ("--dump-before=recursive", "--dump-after=recursive"):
        folder = tmp_path / option
        folder.mkdir()
        assert run(folder, flow, option).returncode == 0
        assert {path.name for path in folder.iterdir()} == {"out", "out.1"}
    found = profile(tmp_path, flow, "--zero-before=recursive")
    assert found.called["recursive", "recursive'2"] == (1, 18)


def test_calls_with_collecting_within(flow, tmp_path):
    """--toggle-collect: a call that has led to what is collected is one."""
    found = profile(tmp_path, flow, "--toggle-collect=leaf")
    assert found.ir == {"leaf": 15}
    assert found.called["(below main)", "hot"] == (1, 3)
    assert ("(below main)", "recursive") not in found.called


def test_callers_of_some(flow, tmp_path):
    """--separate-callers2=leaf: two callers, though these are not told apart themselves."""
    found = profile(tmp_path, flow, "--separate-callers2=leaf").ir
    assert found["leaf'tail'(below main)"] == 3 and found["leaf'(below main)"] == 6
    assert found["tail"] == 2


def test_callers_of_some_alone(tmp_path):
    """A caller in the name of such a function has its own costs by its own name."""
    program = build(tmp_path, "chains.c")
    found = profile(tmp_path, program, "--separate-callers2=leaf", "--cache-sim=yes").ir
    assert sorted(found) == ["(below main)", "leaf'middle'run", "middle", "run"]


def test_periodic_dumps(flow, tmp_path):
    """--dump-every-bb: parts that are together what there is."""
    whole = profile(tmp_path, flow)
    parts = tmp_path / "parts"
    parts.mkdir()
    assert run(parts, flow, "--dump-every-bb=10").returncode == 0
    found = {path.name: read(path) for path in parts.iterdir()}
    blocks = int(whole.parts[0].description("Timerange").split()[-1])
    assert len(found) == blocks // 10 + 1
    total = Counter()
    for name, sums in found.items():
        total.update(sums.ir)
        trigger = "Program termination" if name == "out" else "--dump-every-bb=10"
        assert sums.parts[0].description("Trigger") == trigger
    assert total == whole.ir


@pytest.mark.parametrize("guest", ["flow.S", "hot.S", "back.S"])
def test_blocks_are_basic_ones_in_every_mode(tmp_path, guest):
    """What --dump-every-bb and Timerange count does not depend on how, and by whom, code is translated."""
    program = build(tmp_path, guest)
    modes = ("--dump-line=yes", "--collect-jumps=yes", "--cache-sim=yes", "--dump-every-bb=1000000")
    found = [profile(tmp_path, program, mode) for mode in modes]
    if VALGRIND is not None:
        found.append(valgrind(tmp_path, program))
    assert len({sums.parts[0].description("Timerange") for sums in found}) == 1


def test_all_functions_end_by_jumps(flow, tmp_path):
    """--pop-on-jump alone: that is, no tail calls."""
    found = profile(tmp_path, flow, "--pop-on-jump").called
    assert ("tail", "leaf") not in found and found["(below main)", "tail"] == (1, 2)
    assert found["(below main)", "leaf"] == (3, 9)


def test_linkage_tables(tmp_path):
    """--skip-plt=no: entries of procedure linkage tables are functions, by their addresses."""
    program = build(tmp_path, "requests.c", "-pthread", "-Wl,-z,lazy")
    skipped, kept = (
        profile(tmp_path, program, args=("fork",)),
        profile(tmp_path, program, "--skip-plt=no", args=("fork",)),
    )
    assert ("main", "fork") in skipped.called
    assert ("main", "fork") not in kept.called
    (entry,) = (caller for caller, callee in kept.called if callee == "fork" and caller.startswith("0x"))
    assert ("main", entry) in kept.called


@pytest.mark.parametrize("options", [(), ("--collect-jumps=yes",)])
def test_from_one_entry_of_a_linkage_table_to_the_next(tmp_path, options):
    """A function that such an entry led to jumps to another entry, which it calls."""
    flags = ("-O2", "-fPIC", "-shared", "-Wl,-z,now")
    library = build(tmp_path, "linkage.c", *flags).rename(tmp_path / "liblinkage.so")
    program = build(tmp_path, "linkage.c", "-DMAIN", str(library), "-Wl,-z,now")
    found = profile(tmp_path, program, "--skip-plt=no", *options)
    for caller, callee in (("main", "first"), ("first", "second"), ("second", "last")):
        (entry,) = (by for by, what in found.called if what == callee)
        assert entry.startswith("0x")
        number, cost = found.called[caller, entry]
        assert number == found.called[entry, callee][0] == 4
        assert cost - found.called[entry, callee][1] in (4, 8)  # a jump, with IBT an endbr64 before it


@pytest.mark.parametrize("options", [(), ("--cache-sim=yes",)])
@pytest.mark.parametrize("number", [8, 9, 30, 41, 70000])
def test_many_levels_of_recursion(tmp_path, number, options):
    """--separate-recs=N tells as many apart as N says, or as there are; so does --separate-recs<N>=."""
    program = build(tmp_path, "levels.c")
    found = profile(tmp_path, program, f"--separate-recs={number}", *options)
    levels = [name for name in found.ir if name.split("'")[0] == "step"]
    assert len(levels) == min(number, 41)
    some = profile(tmp_path, program, f"--separate-recs{number}=step", *options)
    assert [name for name in some.ir if name.split("'")[0] == "step"] == levels
    if VALGRIND:
        theirs = valgrind(tmp_path, program, f"--separate-recs={number}", *options)
        for sums in (found, theirs):
            del sums.own["(below main)"]  # the block that ends the process
        assert found.ir == theirs.ir  # misses depend on where the stack is
        assert found.called == theirs.called


def test_a_level_beyond_all_numbers(tmp_path):
    """A number in an option's name that no counter holds counts as the largest; as a value it is refused."""
    program = build(tmp_path, "levels.c")
    found = profile(tmp_path, program, "--separate-recs99999999999=step")
    assert "step'41" in found.ir and "by'2" in found.ir and "by'3" not in found.ir
    assert run(tmp_path, program, "--separate-recs=99999999999").returncode == 1
