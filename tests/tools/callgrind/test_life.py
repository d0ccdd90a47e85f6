"""Requests, signals, threads and children."""

from __future__ import annotations

import contextlib
import time

import pytest

from interpose.formats import FormatError

from .profiles import VALGRIND, add_up, build, profile, read, run, unbalanced, valgrind

LEAF = 4  # instructions of a call


@pytest.fixture(scope="module")
def guest(tmp_path_factory):
    return build(tmp_path_factory.mktemp("requests"), "requests.c", "-pthread")


def test_dump(guest, tmp_path):
    assert run(tmp_path, guest, args=("dump",)).returncode == 0
    first, rest = read(tmp_path / "out.1"), read(tmp_path / "out")
    assert first.ir["leaf"] == 10 * LEAF and rest.ir["leaf"] == 20 * LEAF
    assert first.parts[0].description("Trigger") == "Client Request: half"
    assert rest.parts[0].description("Trigger") == "Program termination"
    assert (first.parts[0].part, rest.parts[0].part) == (1, 2)
    # main goes on over the dump: its call of what runs before it counts once, its cost in both parts.
    assert first.called["main", "times"][0] == rest.called["main", "times"][0] == 1


@pytest.mark.parametrize(("what", "times"), [("zero", 3), ("collect", 11), ("off", 14), ("", 10)])
def test_what_counts(guest, tmp_path, what, times):
    found = profile(tmp_path, guest, args=(what,))
    assert found.ir["leaf"] == times * LEAF


def test_what_was_there_at_a_zero_was_not_collected(guest, tmp_path):
    """What is said at the end is what the profile has."""
    done = run(tmp_path, guest, args=("zero",))
    (collected,) = [line.split()[-1] for line in done.stderr.splitlines() if "Collected :" in line]
    assert int(collected) == sum(read(tmp_path / "out").ir.values())


def test_off_at_start(guest, tmp_path):
    """--instr-atstart=no: from the request on."""
    found = profile(tmp_path, guest, "--instr-atstart=no", args=("off",))
    assert found.ir["leaf"] == 4 * LEAF


def test_handler(guest, tmp_path):
    """A handler's cost is no part of what it interrupts."""
    found = profile(tmp_path, guest, args=("signal",))
    assert found.called["times", "leaf"] == (19, 19 * LEAF)
    assert found.called["handler", "times"][0] == 1
    assert not [caller for caller, callee in found.called if callee == "handler"]
    count, inclusive = found.called["main", "interrupted"]
    assert count == 1
    assert inclusive == found.ir["interrupted"] + sum(
        cost for (caller, _), (_, cost) in found.called.items() if caller == "interrupted"
    )


@pytest.mark.parametrize("options", [(), ("--collect-jumps=yes",)], ids=["line", "recorded"])
@pytest.mark.parametrize("what", ["signal", "jump"])
def test_a_handler_does_not_call_what_it_returns_through(guest, tmp_path, what, options):
    found = profile(tmp_path, guest, *options, args=(what,))
    assert {callee for caller, callee in found.called if caller == "handler"} == {"times"}
    assert found.called["times", "leaf"] == (19, 19 * LEAF)
    if what == "jump":
        assert found.called["becomes", "handler"][0] == 1


RECORDED = pytest.mark.parametrize("options", [(), ("--collect-jumps=yes",)], ids=["line", "recorded"])


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    return build(tmp_path_factory.mktemp("collected"), "collected.c", "-pthread")


@RECORDED
def test_a_handler_is_collected_as_at_the_start(collected, tmp_path, options):
    """What it interrupts does not decide, and what it switches counts up to its end."""
    within = profile(tmp_path, collected, "--toggle-collect=interrupted", *options)
    assert within.called["times", "leaf"] == (7, 7 * LEAF)
    assert "handled" not in within.ir
    assert "after" in within.ir
    beside = profile(tmp_path, collected, "--toggle-collect=interrupted", "--collect-atstart=yes", *options)
    assert "interrupted" not in beside.ir
    assert "handled" in beside.ir
    assert "after" not in beside.ir


@RECORDED
def test_each_call_that_leads_to_what_is_collected_counts(collected, tmp_path, options):
    """Where a request switches collecting on, too, within a call that has been gone before."""
    found = profile(tmp_path, collected, "--collect-atstart=no", *options, args=("switch",))
    assert found.called["main", "outer"][0] == found.called["outer", "inner"][0] == 6


@pytest.mark.parametrize(("what", "status"), [("fault", -11), ("threads", 3)])
def test_calls_under_way_at_the_end(tmp_path, what, status):
    """A run of a block that ends early counts up to there, and calls under way cost what they have so far."""
    dies = build(tmp_path, "dies.c", "-pthread")
    sums = {}
    for name, options in ("line", ()), ("recorded", ("--collect-jumps=yes",)):
        assert run(tmp_path, dies, *options, args=(what,), name=name).returncode == status
        sums[name] = read(tmp_path / name)
        assert not unbalanced(sums[name], {"turns", "turn", "thread", "main"})
    if what == "fault":
        for table in "own", "calls":
            found, wanted = getattr(sums["line"], table), getattr(sums["recorded"], table)
            assert {key: row for key, row in found.items() if "down" in str(key)} == {
                key: row for key, row in wanted.items() if "down" in str(key)
            }


def test_threads(guest, tmp_path):
    """All in one profile; --separate-threads=yes: one for each, which together are the same."""
    together = profile(tmp_path, guest, args=("threads",))
    assert together.ir["leaf"] == 3010 * LEAF
    assert run(tmp_path, guest, "--separate-threads=yes", args=("threads",), name="t").returncode == 0
    each = [read(tmp_path / f"t-{number:02d}") for number in (1, 2, 3)]
    assert sorted(sums.ir["leaf"] for sums in each) == [10 * LEAF, 1000 * LEAF, 2000 * LEAF]
    assert [sums.parts[0].thread for sums in each] == [1, 2, 3]
    assert add_up([sums.parts[0] for sums in each]).called["times", "leaf"] == (3010, 3010 * LEAF)


@pytest.mark.skipif(VALGRIND is None, reason="no valgrind")
@pytest.mark.parametrize("options", [[], ["--dump-before=leaf"], ["--zero-before=leaf"]])
def test_threads_ask_for_themselves(tmp_path, options):
    """--separate-threads=yes: a dump or a zero is of the thread that asks for it, as in Valgrind."""
    program = build(tmp_path, "apart.c", "-pthread", "-static")
    found = []
    for runner in (run, valgrind):
        folder = tmp_path / runner.__name__
        folder.mkdir()
        with contextlib.suppress(FormatError):  # Valgrind leaves a file of this name empty, and no profile
            runner(folder, program, "--separate-threads=yes", *options)
        rows = {}
        for path in folder.glob("*-0*"):
            sums = read(path)
            of_leaf = sums.ir.get("leaf", 0)
            rows[path.name.removeprefix("valgrind.")] = (of_leaf, sums.parts[0].description("Trigger"))
        found.append(rows)
    assert found[0] == found[1] and len(found[0]) >= 2


def test_fork(guest, tmp_path):
    """A child's profile has what its parent had counted."""
    done = run(tmp_path, guest, args=("fork",), name="out.%p")
    assert done.returncode == 0
    found = sorted(read(path).ir["leaf"] for path in tmp_path.glob("out.*"))
    assert found == [10 * LEAF, 17 * LEAF]


def test_fork_with_all_parts_in_one_file(guest, tmp_path):
    """--combine-dumps: a child has a file of its own, though its parent's is open."""
    options = ["--combine-dumps=yes", "--dump-before=times"]
    assert run(tmp_path, guest, *options, args=("fork",), name="out.%p").returncode == 0
    found = {}
    for path in tmp_path.glob("out.*"):
        (pid,) = {part.pid for part in read(path).parts}
        found[path.name] = pid
    assert len(found) == 2 and all(name == f"out.{pid}" for name, pid in found.items())


def profiles(folder):
    """Counts of leaf and triggers, by what follows the process's number in the name."""
    found = {}
    for path in folder.glob("out.*"):
        sums = read(path)
        ending = path.name.split(".")[2:]
        key = (".".join(ending), sums.parts[0].cmd.split()[-1])
        found[key] = (sums.ir.get("leaf", 0) // LEAF, sums.parts[0].description("Trigger"))
    return found


EXECUTED = "Execution of another program"
ENDED = "Program termination"


def test_exec_of_what_is_not_traced(guest, tmp_path):
    """What ran before has a profile; an exec that fails is none."""
    assert run(tmp_path, guest, args=("exec", "/bin/true", "-"), name="out.%p").returncode == 0
    end = time.monotonic() + 30
    while not profiles(tmp_path):  # the program is another one by now, which nobody waits for
        assert time.monotonic() < end
        time.sleep(0.02)
    assert profiles(tmp_path) == {("", "-"): (11, EXECUTED)}


def test_exec(guest, tmp_path):
    """Each image of a process has a profile, the last one without a number."""
    args = ("exec", str(guest), "dump")
    assert run(tmp_path, guest, "--trace-children=yes", args=args, name="out.%p").returncode == 0
    assert profiles(tmp_path) == {
        ("1", "dump"): (11, EXECUTED),
        ("2", "dump"): (10, "Client Request: half"),
        ("", "dump"): (20, ENDED),
    }


def test_exec_after_fork(guest, tmp_path):
    """What a copy has counted its parent's profile has."""
    args = ("fork-exec", str(guest), "last")
    assert run(tmp_path, guest, "--trace-children=yes", args=args, name="out.%p").returncode == 0
    found = [(read(path).parts[0].cmd.split()[1], read(path).ir["leaf"]) for path in tmp_path.glob("out.*")]
    assert sorted(found) == [("fork-exec", 10 * LEAF), ("last", 10 * LEAF)]


def test_system_calls(guest, tmp_path):
    """--collect-systime: how many, and how long."""
    found = profile(tmp_path, guest, "--collect-systime=nsec")
    assert found.events == ("Ir", "sysCount", "sysTime", "sysCpuTime")
    assert found.own["_exit" if "_exit" in found.own else "_Exit"][0] > 0
    total = found.parts[0].totals
    assert total[1] > 10 and total[2] > 0
