"""No instruction leaves more undefined than under Valgrind 3.19, on random values and undefined bits.

Whether it is enough, the oracle tells (tests/shadow/test_track_oracle.py).
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import iced_x86
import pytest
from tools.memcheck.guests import ROOT, VERSIONS, valgrind_version
from tools.memcheck.vbits_cases import all_cases, program

TURNS = 6
STATE, RECORD = 256, 264
pytestmark = pytest.mark.skipif(valgrind_version() not in VERSIONS, reason=f"compares with {VERSIONS}")

DIFFERENCES = {
    r"vfn?m(add|sub)\d+s[sd]": "3.19 takes the rest of the destination for defined",
    r"v?cvt(dq2ps|t?ps2dq)": "3.19 takes the halves of an element for independent",
    r"bsf|bsr": "the destination stays when the source is zero; 3.19 zero-extends. Flags as below",
    r"tzcnt|lzcnt|sh[lr]d?|sa[lr]": "flags that the architecture leaves undefined, where 3.19 has a formula",
    r"bt[src]": "3.19 reports an undefined number of a register's bit, and takes it for defined afterwards",
    r"fsin|fcos|fsincos|fptan": "C2, which depends on the operand, is defined in 3.19",
}
"""Mnemonics after which more is undefined, and why."""


def _mnemonics() -> list[str]:
    """Those that take vectors, up to AVX2, beyond which 3.19 does not go."""
    features = {v: k for k, v in vars(iced_x86.CpuidFeature).items() if isinstance(v, int)}
    names = {v: k for k, v in vars(iced_x86.Mnemonic).items() if isinstance(v, int)}
    wanted = re.compile(r"MMX|SSE\w*|SSSE3|AES|PCLMULQDQ|F16C|FMA|AVX|AVX2")
    found = set()
    for code in (v for k, v in vars(iced_x86.Code).items() if isinstance(v, int)):
        info = iced_x86.OpCodeInfo(code)
        if not info.is_instruction or not info.mode64 or "mm" not in info.instruction_string:
            continue
        instruction = iced_x86.Instruction.create(code)
        if all(wanted.fullmatch(features[f]) for f in instruction.cpuid_features()):
            found.add(names[instruction.mnemonic].lower())
    return sorted(found)


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """The program, and the instructions that it runs."""
    folder = tmp_path_factory.mktemp("vbits")
    lines = all_cases(_mnemonics(), folder)
    (folder / "cases.s").write_text(program(lines))
    source = Path(__file__).with_name("vbits_sweep.c")
    command = ["gcc", "-g", "-O1", "-w", f"-I{ROOT / 'include'}", str(source), "cases.s", "-o", "sweep"]
    subprocess.run(command, check=True, cwd=folder)
    return folder / "sweep", lines


def _records(command: list[str], program: Path, to: str) -> Iterator[tuple[int, bool, int]]:
    """V bits, whether the instruction is unknown there, and the number of errors, case by case."""
    words = [*command, "-q", "--error-limit=no", f"--log-file={to}.log", str(program), str(TURNS), to]
    done = subprocess.run(words, capture_output=True, timeout=300, cwd=program.parent)
    assert done.returncode == 0, done.stderr[-2000:]
    data = (program.parent / to).read_bytes()
    for at in range(0, len(data), RECORD):
        yield int.from_bytes(data[at : at + STATE], "little"), data[at + STATE] != 0, data[at + STATE + 1]


def test_nothing_is_more_undefined_than_under_valgrind(sweep: tuple[Path, list[str]]) -> None:
    binary, lines = sweep
    assert len(lines) > 3000
    ours = list(_records([sys.executable, "-m", "interpose"], binary, "ours"))
    theirs = list(_records(["valgrind"], binary, "theirs"))
    assert len(ours) == len(theirs) == TURNS * len(lines)
    more: dict[str, int] = defaultdict(int)
    known = 0
    for i, ((our_bits, our_unknown, our_errors), (bits, unknown, errors)) in enumerate(
        zip(ours, theirs, strict=True)
    ):
        if our_unknown or unknown:
            continue
        known += 1
        line = lines[i // TURNS]
        more[line] += (our_bits & ~bits).bit_count() + max(0, our_errors - errors)
    assert known > 0.9 * len(ours)
    allowed = re.compile("|".join(f"(?:{word})" for word in DIFFERENCES))
    assert {line: n for line, n in more.items() if n and not allowed.fullmatch(line.split()[0])} == {}
