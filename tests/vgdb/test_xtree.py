"""``xtmemory`` and ``leak_check xtleak``: execution trees beside Valgrind's."""

from __future__ import annotations

import re
from pathlib import Path

from vgdb.running import OURS, VGDB, ask, beside_valgrind, interpose, running, valgrind


def flat(path: Path) -> dict[str, str]:
    """What stands under each function's line: of its own code."""
    found: dict[str, list[str]] = {}
    names: dict[str, str] = {}
    function = ""
    for line in path.read_text().splitlines():
        named = re.match(r"c?fn=\((\d+)\)(?: (.*))?", line)
        if named:
            names.setdefault(named[1], named[2] or "")
            function = names[named[1]]
        elif re.match(r"\d+ \d", line):
            found.setdefault(function, []).append(line)
    return {name: " ".join(sorted(lines)) for name, lines in found.items() if "libc" not in name}


@beside_valgrind
def test_memory(leaky, tmp_path) -> None:
    trees = []
    for engine, by in ((valgrind(), (VGDB,)), (interpose(), OURS)):
        folder = tmp_path / str(len(trees))
        folder.mkdir()
        with running(engine, leaky, "computes", folder=folder) as run:
            reply = ask(run, f"xtmemory {folder}/tree", by=by)
            assert reply == f"=={run.pid}== xtree memory report: {folder}/tree\n"
        trees.append(folder / "tree")
    theirs, ours = (tree.read_text().splitlines() for tree in trees)
    heads = ("event", "total", "posit", "creat")
    assert [line for line in ours if line.startswith(heads)] == [
        line for line in theirs if line.startswith(heads)
    ]
    for function in ("main", "pair", "lose"):  # inlined functions are told apart here, and not there
        assert flat(trees[1])[function] == flat(trees[0])[function]


def test_leaks(leaky, tmp_path) -> None:
    with running(interpose(), leaky, folder=tmp_path, options=[]) as run:
        reply = ask(run, "leak_check xtleak")
        found = re.match(r"==\d+== xtree leak report: (.*)\n==\d+== LEAK SUMMARY:\n", reply)
        assert found
        path = Path(found[1])
        try:
            assert path.name == f"xtleak.kcg.{run.pid}.1"
            text = path.read_text()
        finally:
            path.unlink()
        events = re.search(r"^events: (.*)$", text, re.MULTILINE)
        totals = re.search(r"^totals: (.*)$", text, re.MULTILINE)
        assert events and totals
        sums = dict(zip(events[1].split(), map(int, totals[1].split()), strict=True))
        assert (sums["DB"], sums["DIB"], sums["IB"], sums["DBk"], sums["IBk"]) == (77, 32, 32, 2, 1)
        assert sums["iDB"] == sums["DB"] and sums["dDB"] == 0


def test_a_file_that_cannot_be_written_is_told(leaky, tmp_path) -> None:
    with running(interpose(), leaky, folder=tmp_path) as run:
        for name in ("/no/such/folder/x", "%q{", str(tmp_path)):
            reply = ask(run, f"xtmemory {name}")
            assert "can not open xtree output file" in reply or "Bad option" in reply
        assert ask(run, "v.wait") == "gdbserver: continuing after wait ...\n"
