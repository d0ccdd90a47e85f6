"""--perf-map: where perf finds the names of translated functions."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from life.running import TOOLS, command, environment

PROGRAM = """
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) long counted(long n) { volatile long s = 0; while (n--) s += n; return s; }
int main(void) {
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    printf("%d %ld\\n", getpid(), counted(1000));
    while (fgets(line, sizeof line, maps)) ;
    return 0;
}
"""


@pytest.mark.parametrize("tool", TOOLS)
def test_map_names_the_functions(tmp_path: Path, tool: str) -> None:
    (tmp_path / "counts.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", "counts.c", "-o", "counts"], cwd=tmp_path, check=True)
    done = subprocess.run(
        [*command(f"--tool={tool}", "-q", "--perf-map=yes"), "./counts"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0 and done.stderr == ""
    file = Path(f"/tmp/perf-{done.stdout.split()[0]}.map")
    lines = [line.split(" ", 2) for line in file.read_text().splitlines()]
    file.unlink()
    assert all(re.fullmatch("[0-9a-f]+", word) for line in lines for word in line[:2])
    starts = [int(start, 16) for start, _, _ in lines]
    assert starts == sorted(starts)
    ends = [start + int(size, 16) for start, (_, size, _) in zip(starts, lines, strict=True)]
    assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))
    assert {"main", "counted"} <= {name for _, _, name in lines}
