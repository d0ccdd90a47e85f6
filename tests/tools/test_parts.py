"""Instructions that say anew in each run what they access, in datagrind, memtrace and callgrind."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tools.datagrind.running import record
from tools.memtrace.tracing import records, trace

from interpose.formats.drmemtrace.constants import Type
from interpose.formats.drmemtrace.records import Data, Instr

GUESTS = Path(__file__).resolve().parents[1] / "guests" / "trace"
CASE = re.compile(r"^\s*CASE (\w+)\s*#!(.*)$", re.MULTILINE)
ITEM = re.compile(r"([RW])(\d+) (\w+)([+-]\d+)?")
STATE = re.compile(r"(save|compact|restore|expand) (-?\d+) ?(\d+)?")
NEEDS = {"avx2": {"avx2"}, "avx512": {"avx512f", "avx512vl"}, "states": {"avx512f", "xsaveopt", "xsavec"}}
IN_DATAGRIND = 128
STACKS = 1 << 24
"""The program's own data lie below."""
Access = tuple[int, str, int, int]
"""pc, direction, size, address"""


class States:
    """What XSAVE and its kin access by the Intel SDM, volume 1, 13.4 to 13.12."""

    def __init__(self, folder: Path) -> None:
        program = folder / "components"
        subprocess.run(["gcc", "-o", str(program), str(GUESTS / "components.c")], check=True)
        said = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
        self.xcr0, *rest = map(int, said.split())
        self.components = list(zip(*[iter(rest)] * 4, strict=True))

    def parts(self, how: str, asked: int, restored: int, area: int) -> list[tuple[str, int, int]]:
        """EDX:EAX, and what of the area's components is restored."""
        asked &= self.xcr0
        packed = how in ("compact", "expand")
        laid = asked
        if how == "expand":
            laid, asked = asked, asked & restored
        saves = how in ("save", "compact")
        found = [("R", 8, 512)] if how == "save" else []
        kind = "W" if saves else "R"
        found += [(kind, 24, 0)] if asked & 1 else []
        found += [(kind, 8, 24)] if asked & (2 if packed else 6) else []
        found += [(kind, 128, 32)] if asked & 1 else []
        found += [(kind, 256, 160)] if asked & 2 else []
        found += [(kind, {"save": 8, "compact": 16}.get(how, 64), 512)]
        end = 576
        for number, size, offset, is_aligned in self.components:
            place = offset
            if packed:
                place = (end + 63) // 64 * 64 if is_aligned else end
                end = place + size if laid >> number & 1 else end
            found += [(kind, size, place)] if asked >> number & 1 else []
        return [(kind, size, area + place) for kind, size, place in found]


def in_parts(accesses: list[tuple], most: int) -> list[tuple]:
    return [
        (*rest, min(most, size - done), place + done)
        for *rest, size, place in accesses
        for done in range(0, size, most)
    ]


class Guest:
    def __init__(self, name: str, folder: Path) -> None:
        source = GUESTS / f"{name}.S"
        self.folder = folder
        self.program = folder / name
        command = ["gcc", "-nostdlib", "-static", "-no-pie", "-o", str(self.program), str(source)]
        subprocess.run(command, check=True)
        names = subprocess.run(["nm", str(self.program)], check=True, capture_output=True, text=True).stdout
        self.symbols = {name: int(place, 16) for place, _, name in map(str.split, names.splitlines())}
        text = source.read_text()
        self.cases = {case: self.expected(items) for case, items in CASE.findall(text)}
        assert len(self.cases) == len(re.findall(r"^ +CASE ", text, re.MULTILINE)) > 2

    def expected(self, text: str) -> list[tuple[str, int, int]]:
        if state := STATE.match(text.strip()):
            how, asked, restored = state.groups()
            return States(self.folder).parts(how, int(asked), int(restored or 0), self.symbols["area"])
        return [
            (kind, int(size), self.symbols[symbol] + int(offset or 0))
            for kind, size, symbol, offset in ITEM.findall(text)
        ]

    def wrong(self, accesses: list[Access], most: int) -> dict[str, tuple]:
        """Cases in which something else was accessed: that, and what should be, in parts of `most` bytes."""
        found = {}
        for case, wanted in self.cases.items():
            begin, end = self.symbols[f"case_{case}"], self.symbols[f"end_{case}"]
            got = [access for pc, *access in accesses if begin <= pc < end]
            if list(map(tuple, got)) != in_parts(wanted, most):
                found[case] = got, wanted
        return found

    def traced(self) -> list[Access]:
        """What memtrace has recorded."""
        assert trace(self.folder, self.program).returncode == 0
        pc, found = 0, []
        for one in records(self.folder):
            if isinstance(one, Instr):
                pc = one.pc
            elif isinstance(one, Data):
                found.append((pc, "R" if one.kind is Type.READ else "W", one.size, one.addr))
        return found


@pytest.fixture(scope="module", params=list(NEEDS))
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Guest:
    flags = set(Path("/proc/cpuinfo").read_text().split())
    if missing := NEEDS[request.param] - flags:
        pytest.skip(f"this CPU has no {', '.join(sorted(missing))}")
    return Guest(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def traced(guest: Guest) -> list[Access]:
    return guest.traced()


def test_datagrind_has_each(guest: Guest) -> None:
    recording = record([str(guest.program)], guest.folder)
    accesses = [(a.pc, "RW"[a.write], a.size, a.address) for a in recording.accesses]
    assert guest.wrong(accesses, IN_DATAGRIND) == {}
    pcs = [pc for run in recording.runs for pc, _ in run.block.insns[: run.n_insns]]
    assert sum(run.n_insns for run in recording.runs) == len(pcs)


def test_memtrace_has_each(guest: Guest, traced: list[Access]) -> None:
    assert guest.wrong(traced, 1 << 16) == {}


def test_both_have_the_same(guest: Guest, traced: list[Access]) -> None:
    """Also of blocks that run often, or with more elements than a record has room for."""
    recording = record([str(guest.program)], guest.folder)
    assert [(a.pc, "RW"[a.write], a.size, a.address) for a in recording.accesses] == in_parts(
        traced, IN_DATAGRIND
    )


def test_callgrind_simulates_each(guest: Guest, traced: list[Access]) -> None:
    """As many reads and writes, and nothing of so little is missed twice."""
    command = [sys.executable, "-m", "interpose", "--tool=callgrind", "--cache-sim=yes"]
    command += [f"--callgrind-out-file={guest.folder}/out", str(guest.program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    numbers = {
        key: [int(n.replace(",", "")) for n in re.findall(r"[\d,]+\d|\d", rest)]
        for key, rest in re.findall(r"== (D +refs|D1 +misses): +(.*)", done.stderr)
    }
    reads = sum(direction == "R" for _, direction, _, _ in traced)
    lines = {place // 64 for _, _, size, at in traced for place in range(at, at + size)}
    assert numbers["D   refs"] == [len(traced), reads, len(traced) - reads]
    if guest.program.name != "states":  # one miss, however many lines an access lies in
        assert numbers["D1  misses"][0] == len(lines)


def test_lackey_sees_the_same(guest: Guest, traced: list[Access]) -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    if guest.program.name != "avx2":
        pytest.skip("Valgrind 3.19 knows neither AVX-512 nor all of XSAVE's kin")
    log = guest.folder / "lackey.log"
    options = ["--tool=lackey", "--trace-mem=yes", f"--log-file={log}"]
    subprocess.run(["valgrind", *options, guest.program], check=True)
    pc, theirs = 0, []
    for kind, place, size in re.findall(r"^\s*([ILS])\s+([0-9a-f]+),(\d+)$", log.read_text(), re.MULTILINE):
        if kind == "I":
            pc = int(place, 16)
        else:
            theirs.append((pc, "W" if kind == "S" else "R", int(size), int(place, 16)))
    # An element that takes no part reads from the stack there.
    assert [access for access in theirs if access[3] < STACKS] == traced
