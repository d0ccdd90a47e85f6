"""Leaks of random graphs of blocks, searched again and again, are those that Valgrind finds: records, their
changes since the last search, what client requests count, what suppressions matched."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from tools.memcheck.guests import ROOT, TIMEOUT, VERSIONS, normalise, valgrind_version
from tools.memcheck.test_processes import GUESTS, OURS, environment

pytestmark = pytest.mark.skipif(valgrind_version() not in VERSIONS, reason=f"compares with {VERSIONS}")
SUPPRESSIONS = """{
   one
   Memcheck:Leak
   match-leak-kinds: definite,possible
   ...
   fun:_ZL4fromILi1EEPvm
}
{
   two
   Memcheck:Leak
   match-leak-kinds: reachable,indirect
   fun:calloc
   fun:_ZL4deepijm
   fun:_ZL4deepijm
   fun:_ZL4deepijm
}
"""
CASES = [  # seed, heuristics, kinds shown, with suppressions
    (3, "all", "all", False),
    (7, "multipleinheritance,length64", "definite,indirect,possible", True),
    (9, "stdstring,newarray", "definite,possible", False),
    (24, "none", "all", True),
]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("graphs") / "leak_graph"
    flags = ["-std=c++20", "-g", "-O1", "-w", "-fno-omit-frame-pointer", "-pthread", f"-I{ROOT / 'include'}"]
    source = GUESTS / "leak_graph.cpp"
    subprocess.run(["g++", *flags, "-o", str(program), str(source)], check=True, timeout=TIMEOUT)
    return program


def _comparable(log: str) -> str:
    text = normalise(log)
    # 3.19 does not say yet which records are new, shows words of the stack behind the first frame as frames,
    # and where the roots lie decides which heuristic finds a block first.
    text = text.replace("in new loss record", "in loss record")
    text = re.sub(r"^   by(?: 0x[0-9A-Fa-f.]+)?: \?\?\?\n", "", text, flags=re.M)
    return re.sub(r"^ {22} *(?:of which reachable via|\w+ +:) .*\n", "", text, flags=re.M)


@pytest.mark.parametrize(("seed", "heuristics", "kinds", "suppressed"), CASES)
def test_graphs(
    graph: Path, tmp_path: Path, seed: int, heuristics: str, kinds: str, suppressed: bool
) -> None:
    options = [
        "--leak-check=full",
        "-s",
        f"--show-leak-kinds={kinds}",
        f"--leak-check-heuristics={heuristics}",
    ]
    if suppressed:
        (tmp_path / "supp").write_text(SUPPRESSIONS)
        options.append(f"--suppressions={tmp_path}/supp")
    texts = []
    for command in (OURS, ["valgrind"]):
        log = tmp_path / "log"
        subprocess.run(
            [*command, *options, f"--log-file={log}", str(graph), str(seed), "10"],
            env=environment(),
            timeout=TIMEOUT,
            check=True,
        )
        texts.append(_comparable(log.read_text()))
        log.unlink()
    ours, theirs = texts
    assert ours.count("loss record") > 50
    assert ours == theirs
