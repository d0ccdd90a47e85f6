"""What single instructions access, in the file: address, size, direction, order."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from tools.datagrind.running import GUESTS, record

CASE = re.compile(r"^\s*CASE (\w+)\s*#!(.*)$", re.MULTILINE)
ITEM = re.compile(r"([RW])(\d+) (\w+)([+-]\d+)?(?: \*(\d+)([+-]\d+))?")


def expected(text: str, symbols: dict[str, int]) -> list[tuple[str, int, int]]:
    found = []
    for kind, size, symbol, offset, times, step in ITEM.findall(text):
        address = symbols[symbol] + int(offset or 0)
        found += [(kind, int(size), address + i * int(step or 0)) for i in range(int(times or 1))]
    return found


@pytest.fixture(scope="module", params=["accesses", "vectors"])
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple:
    folder = tmp_path_factory.mktemp(request.param)
    source = GUESTS / f"{request.param}.S"
    if request.param == "vectors" and " avx2 " not in Path("/proc/cpuinfo").read_text():
        pytest.skip("this CPU has no AVX2")
    program = folder / request.param
    subprocess.run(["gcc", "-nostdlib", "-static", "-o", str(program), str(source)], check=True)
    names = subprocess.run(["nm", str(program)], check=True, capture_output=True, text=True).stdout
    symbols = {name: int(address, 16) for address, _, name in map(str.split, names.splitlines())}
    return source.read_text(), symbols, record([str(program)], folder)


def test_every_case(recorded: tuple) -> None:
    source, symbols, recording = recorded
    cases = CASE.findall(source)
    assert len(cases) == len(re.findall(r"^ +CASE ", source, re.MULTILINE)) > 2
    wrong = {}
    for name, text in cases:
        begin, end = symbols[f"case_{name}"], symbols[f"end_{name}"]
        got = [("RW"[a.write], a.size, a.address) for a in recording.accesses if begin <= a.pc < end]
        if got != expected(text, symbols):
            wrong[name] = got, expected(text, symbols)
    assert not wrong


def test_time_counts_instructions(recorded: tuple) -> None:
    """Every instruction once, but for those of repeated ones: each 255 accesses more count one more."""
    _, symbols, recording = recorded
    pcs = [pc for run in recording.runs for pc, _ in run.block.insns[: run.n_insns]]
    assert min(pcs) == symbols["_start"]
    assert sum(run.n_insns for run in recording.runs) == len(pcs)
