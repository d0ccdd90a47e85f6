"""Leaks of more stacks than are read one by one: each record has its own, in every form of the report."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tools.memcheck.guests import TIMEOUT, report_of

LEVELS = 9
LEFT, RIGHT = 6, 7
SOURCE = """\
#include <stdlib.h>
static void *volatile kept;
/* Each number takes its own way down. */
__attribute__((noinline)) static void way(unsigned number, int level) {
    if (!level) kept = malloc(16);
    else if (number & 1) way(number >> 1, level - 1);
    else way(number >> 1, level - 1);
    __asm__ volatile("" ::: "memory");
}
int main(void) {
    for (unsigned number = 0; number < 1u << LEVELS; number++) way(number, LEVELS);
    kept = NULL;
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stacks")
    (folder / "ways.c").write_text(SOURCE)
    build = ["gcc", "-g", "-O0", f"-DLEVELS={LEVELS}", "-o", "ways", "ways.c"]
    subprocess.run(build, check=True, cwd=folder, timeout=TIMEOUT)
    return folder / "ways"


def run(program: Path, *options: str) -> str:
    return report_of([sys.executable, "-m", "interpose", "--num-callers=20", *options], program)


ALL = set(range(1 << LEVELS))
LOST = "definitely lost: 8,192 bytes in 512 blocks"


def number_of(lines: list[int]) -> int:
    """Which number a stack was, from the lines of its calls, the innermost first."""
    assert set(lines) <= {LEFT, RIGHT}
    return sum((line == LEFT) << place for place, line in enumerate(reversed(lines)))


def test_records(program: Path) -> None:
    text = run(program, "--leak-check=full")
    found = []
    for number, record in enumerate(re.findall(r"^16 bytes in 1 blocks .*\n(?:   .*\n)+", text, re.M), 1):
        assert f"definitely lost in loss record {number} of 512\n" in record
        lines = [int(line) for line in re.findall(r"way \(ways.c:(\d+)\)", record)]
        assert lines[0] == 5 and len(lines) == LEVELS + 1 and record.count("main (ways.c:11)") == 1
        found.append(number_of(lines[1:]))
    # Equal records come in the order in which their stacks were met.
    assert found == sorted(ALL) and LOST in text


def test_sums_and_generated_suppressions(program: Path) -> None:
    assert LOST in run(program, "--leak-check=summary")
    text = run(program, "--leak-check=full", "--gen-suppressions=all")
    assert text.count("{\n   <insert_a_suppression_name_here>\n   Memcheck:Leak\n") == 1 << LEVELS
    assert text.count("   fun:main\n}\n") == 1 << LEVELS


@pytest.mark.parametrize("option", ["--xtree-memory=full", "--xtree-memory=allocs", "--xtree-leak=yes"])
def test_trees(program: Path, tmp_path: Path, option: str) -> None:
    what = option.partition("=")[0]
    run(program, option, f"{what}-file={tmp_path}/tree")
    text = (tmp_path / "tree").read_text()
    found = set()
    for group in text.partition("\nevents: ")[2].split("\n\n")[:-1]:
        calls = [int(line) for line in re.findall(r"^(\d+) .*\n(?:fl=.*\n|\Z)", group + "\n", re.M)]
        found.add(number_of([line for line in reversed(calls) if line in (LEFT, RIGHT)]))
        assert group.count("calls=0 ") >= LEVELS
    assert found == ALL
    assert re.search(r"^totals: .*\b8192\b", text, re.M)
