"""Simulated caches and branch predictors: exactly Valgrind's, for programs that run alike under both."""

from __future__ import annotations

from itertools import zip_longest

import pytest

from .profiles import VALGRIND, add_up, build, profile, read, valgrind

CACHES = ("--I1=4096,2,64", "--D1=8192,4,64", "--LL=65536,8,64")
OPTIONS = [("--branch-sim=yes",), ("--collect-bus=yes",), ("--simulate-hwpref=yes",), ("--cacheuse=yes",)]
# The block that ends the process is counted by us alone; its instructions access nothing.
LAST = {"kinds": "", "work": "run"}


def without_end(sums, end):
    """Costs but for the function that ends the process, of which only the instructions differ."""
    return {name: costs[1:] if name == end else costs for name, costs in sums.own.items()}


def calls(sums):
    return {pair: row for pair, row in sums.calls.items() if "(below main)" not in pair}


def by_address(sums):
    """Costs of each instruction, without what is 0 at their ends."""
    found = {}
    for record in (record for part in sums.parts for record in part.records):
        if type(record).__name__ == "Cost" and any(record.costs):
            before = found.get(record.addr, ())
            sum_up = zip_longest(before, record.costs, fillvalue=0)
            found[record.addr] = tuple(a + b for a, b in sum_up)
    for addr, costs in found.items():
        while costs and not costs[-1]:
            costs = costs[:-1]
        found[addr] = costs
    return found


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    return build(tmp_path_factory.mktemp("work"), "work.c")


@pytest.mark.skipif(VALGRIND is None, reason="no valgrind")
@pytest.mark.parametrize(
    "options",
    [
        ("--branch-sim=yes", "--collect-bus=yes"),
        ("--simulate-wb=yes",),
        ("--simulate-hwpref=yes",),
        ("--simulate-wb=yes", "--simulate-hwpref=yes"),
        ("--cacheuse=yes",),
        ("--cacheuse=yes", "--simulate-wb=yes", "--simulate-hwpref=yes", "--branch-sim=yes"),
        ("--cache-sim=yes", "--dump-instr=yes"),
    ],
    ids=lambda options: " ".join(options),
)
def test_as_valgrind(work, tmp_path, options):
    ours = profile(tmp_path, work, *CACHES, *options)
    theirs = valgrind(tmp_path, work, *CACHES, *options)
    assert ours.events == theirs.events
    assert without_end(ours, "run") == without_end(theirs, "run")
    assert calls(ours) == calls(theirs)


@pytest.mark.parametrize(
    ("options", "misses"),
    [
        (("--toggle-collect=warm",), 0),  # caches go on where nothing is collected
        (("--toggle-collect=cold",), 64),  # but begin empty where instrumentation is switched on
        ((), 128),
    ],
)
def test_what_is_cached_elsewhere(tmp_path, options, misses):
    warm = build(tmp_path, "warm.c")
    every = (*CACHES, "--branch-sim=yes", *options)
    ours = profile(tmp_path, warm, *every)
    assert dict(zip(ours.events, ours.own["reads"], strict=False))["D1mr"] == misses
    if VALGRIND is not None:
        theirs = valgrind(tmp_path, warm, *every)
        for name in ("reads", "warm", "cold"):
            assert ours.own.get(name) == theirs.own.get(name)


def test_use_of_lines_across_dumps(work, tmp_path):
    """Lines stay cached at a dump: what becomes of them later costs the same in sum, in the part of then."""
    whole = profile(tmp_path, work, *CACHES, "--cacheuse=yes")
    dumps = ("--dump-before=hash", "--dump-before=copy")
    parts = [profile(tmp_path, work, *CACHES, "--cacheuse=yes", *dumps)]
    parts += [read(tmp_path / f"out.{number}") for number in (1, 2)]
    sums = add_up([part.parts[0] for part in parts])
    used = slice(whole.events.index("AcCost1"), None)
    assert by_address(sums) == by_address(whole)
    assert all(any(any(costs[used]) for costs in part.own.values()) for part in parts)
    if VALGRIND is not None:
        valgrind(tmp_path, work, *CACHES, "--cacheuse=yes", *dumps)
        first = read(tmp_path / "valgrind.out.1").own
        differ = {name for name, costs in first.items() if costs != parts[1].own[name]}
        assert differ <= {"work"}, first  # the block that the dump is before


def test_each_kind_of_instruction(tmp_path):
    """Reads, writes, both at once, two lines, repetitions, locks, prefetches, branches, by instruction."""
    program = build(tmp_path, "kinds.S")
    options = ("--branch-sim=yes", "--collect-bus=yes", "--dump-instr=yes", *CACHES)
    found = profile(tmp_path, program, *options)
    assert found.events == tuple("Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim Ge".split())
    rows = [record for record in found.parts[0].records if type(record).__name__ == "Cost"]
    rows.sort(key=lambda record: record.addr)
    by_place = [(r.costs + (0,) * 14)[:14] for r in rows]
    reads = [costs[1] for costs in by_place]
    writes = [costs[2] for costs in by_place]
    #         lea lea r w rmw r w push pop call | lea lea mov rep xchg inc xadd cmpxchg stenv ldenv movdqu
    assert reads[:21] == [0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 20, 1, 1, 1, 0, 0, 1, 1]
    assert writes[:21] == [0, 0, 0, 1, 1, 0, 1, 1, 0, 1, 0, 0, 0, 20, 1, 1, 1, 1, 1, 0, 0]
    # prefetch, mov, the loop of five, jmp through memory, and the end
    assert reads[21:30] == [0, 0, 5, 0, 0, 1, 0, 0, 0]
    assert [costs[13] for costs in by_place][13:19] == [0, 1, 1, 1, 1, 0]
    loop = by_place[25]
    assert loop[9:11] == (5, 4)  # the history is new at each turn, so each taken branch is a surprise
    assert by_place[13][:1] == (21,) and by_place[13][9:11] == (20, 10)


@pytest.mark.skipif(VALGRIND is None, reason="no valgrind")
@pytest.mark.parametrize("program", ["lines.S", "kinds.S", "streams.S", "hot.S"])
@pytest.mark.parametrize("first_level", ["128,1,64", "128,2,64", "512,2,32", "4096,4,128", None])
@pytest.mark.parametrize(
    "options",
    [
        ("--branch-sim=yes",),
        ("--collect-bus=yes",),
        ("--simulate-hwpref=yes",),
        ("--simulate-wb=yes", "--simulate-hwpref=yes"),
    ],
)
def test_each_instruction_as_valgrind(tmp_path, program, first_level, options):
    """Lines left by a jump and come back to; locks; streams; generated code; tiny caches, or none."""
    built = build(tmp_path, program)
    # Of the last level of some CPUs Valgrind makes another one than there is, in which nothing misses.
    geometry = (CACHES[2], *((f"--I1={first_level}", f"--D1={first_level}") if first_level else ()))
    ours = profile(tmp_path, built, "--dump-instr=yes", *options, *geometry)
    theirs = valgrind(tmp_path, built, "--dump-instr=yes", *options, *geometry)
    found, expected = by_address(ours), by_address(theirs)
    ends = {addr for addr in found if addr not in expected}
    assert all(found.pop(addr)[0] == 1 for addr in ends) and len(ends) == 3
    assert found == expected


def test_summary_and_shapes(work, tmp_path):
    """What is printed at the end, and what the profile says of the caches."""
    from .profiles import run

    done = run(tmp_path, work, "--cache-sim=yes", "--branch-sim=yes", *CACHES)
    assert "I1  misses:" in done.stderr and "Mispred rate:" in done.stderr
    head = (tmp_path / "out").read_text()
    assert "desc: D1 cache: 8192 B, 64 B, 4-way associative" in head


@pytest.mark.skipif(VALGRIND is None, reason="no valgrind")
def test_threads_in_turns_as_valgrind(tmp_path):
    """The last level is everybody's, so what one thread has read is there for the next one."""
    program = build(tmp_path, "turns.c")
    # The first level, which here each thread has for itself, is too small to keep anything for the next.
    geometry = ("--I1=4096,2,64", "--D1=512,2,64", "--LL=131072,8,64")
    ours = profile(tmp_path, program, "--cache-sim=yes", *geometry).own["reads_and_writes"]
    theirs = valgrind(tmp_path, program, "--cache-sim=yes", *geometry).own["reads_and_writes"]
    assert ours[:3] + ours[4:] == theirs[:3] + theirs[4:]
    assert ours[7] == 200 and ours[8] == 800
