"""Stack traces in coroutines that go over to one another at random, beside what these say is under way."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tools.memcheck.guests import TIMEOUT

SOURCE = Path(__file__).with_name("coroutines.c")
SEEDS = (1, 2, 3, 6)


@pytest.mark.parametrize("switch", ["CONTEXT", "ASSEMBLY", "JUMP"])
def test_each_has_its_own_callers(switch: str, tmp_path: Path) -> None:
    program = tmp_path / "coroutines"
    build = ["gcc", "-g", "-O1", "-fno-inline", "-fno-optimize-sibling-calls", f"-DSWITCH={switch}"]
    subprocess.run([*build, str(SOURCE), "-o", str(program)], check=True, timeout=TIMEOUT)
    for seed in SEEDS:
        command = [sys.executable, "-m", "interpose", "--tool=memcheck", "-q", "--num-callers=60"]
        done = subprocess.run(
            [*command, str(program), str(seed)], capture_output=True, text=True, check=True, timeout=TIMEOUT
        )
        traces = re.split("WANT ", done.stderr)[1:]
        assert len(traces) > 100
        for trace in traces:
            frames = re.findall(r" 0x\w+: (?:f(\d)|(body|main))\b", trace)
            wanted = re.match(r"(\d*)(body|main)", trace)
            assert wanted, trace
            found = [digit or outermost for digit, outermost in frames][: len(wanted[1]) + 1]
            assert found == [*wanted[1], wanted[2]], f"seed {seed}: {trace}"
