"""Random instruction sequences on the CPU and translated: registers, flags, vector state, memory, faults.

The seed is printed with each failure (INTERPOSE_SEED repeats it); ``python -m jit.differential --help``, with
``tests`` on PYTHONPATH, runs more of it, and ``--nightly`` ten million instructions.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

pytest.importorskip("iced_x86")
from jit.differential.cases import CaseFile, make
from jit.differential.rows import all_rows, left_out
from jit.differential.run import MODES, Guest, Result, compare, coverage, explain, mark_supported

SEED = int(os.environ.get("INTERPOSE_SEED") or random.SystemRandom().getrandbits(32))
COUNT = {"none": 60_000, "none-high": 20_000, "memcheck": 15_000, "tracking": 15_000, "no-chaining": 4_000}
"""Instructions for each mode; 10,000 where nothing is said.  Without chaining the guest is slow."""


FAULTING = frozenset(
    """clgi cli clts hlt in insb insd insw int int3 invd invlpg invlpga invpcid lgdt lidt lldt lmsw ltr out
    outsb outsd outsw
    pvalidate rdmsr rdpmc skinit stgi sti swapgs sysexit sysexitq sysret sysretq vmload vmrun
    vmsave wbinvd wbnoinvd wrmsr xsetbv psmash rmpadjust rmpupdate rmpquery ldmxcsr vldmxcsr
    enclu enqcmd enqcmds hreset seamcall tdcall xend movdir64b""".split()
)
"""Fault whatever their operands (privileged, traps, xend outside of a transaction), or with nearly all
of them (ldmxcsr, movdir64b for its alignment)."""


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Guest:
    folder = tmp_path_factory.mktemp("differential")
    built = Guest.build(folder)
    mark_supported(built, folder, random.Random(SEED))
    return built


def run(guest: Guest, file: CaseFile, path: Path, options: list[str]) -> Result:
    path.write_bytes(file.data)
    native = guest.records(None, "run", str(path), "0")
    result = compare(guest, file, path, options, native)
    if result.different:
        shown = "\n".join(explain(guest, file, path, options, index) for index in result.different[:3])
        pytest.fail(
            f"seed {SEED}: {len(result.different)} of {result.cases} cases differ\n{shown}", pytrace=False
        )
    path.unlink()
    return result


@pytest.mark.parametrize("mode", [*MODES, "none-high"])
def test_same_as_cpu(guest: Guest, mode: str, tmp_path: Path) -> None:
    """Everything that a sequence leaves behind is what it leaves behind natively."""
    rng = random.Random(f"{SEED} {mode}")
    high = mode.endswith("-high")
    file = make(rng, guest.layout, COUNT.get(mode, 10_000), high=high)
    result = run(guest, file, tmp_path / "cases.bin", MODES[mode.removesuffix("-high")])
    assert result.signals[0] > result.cases // 2
    assert result.signals[11] and result.signals[8] and result.signals[4]


def test_every_form(guest: Guest, tmp_path: Path) -> None:
    """Each form of the decoder's table alone, several times; nearly all run without a fault."""
    rng = random.Random(SEED)
    rows = [r for r in all_rows() if not left_out(r)]
    file = make(rng, guest.layout, 4 * len(rows), rows=rows, longest=1)
    result = run(guest, file, tmp_path / "each.bin", MODES["none"])
    supported = [r for r in rows if r.supported]
    missed = sorted(
        {r.mnemonic for r in supported} - {r.mnemonic for r in supported if result.executed[r.number]}
    )
    (tmp_path / "coverage.txt").write_text(coverage(result.executed, result.faulted))
    surprising = [name for name in missed if name not in FAULTING]
    assert len(surprising) <= 3, f"seed {SEED}: never without a fault: {' '.join(surprising)}"
    assert len(supported) > 3000
