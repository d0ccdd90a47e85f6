"""Soundness and precision of the tag operations, measured against the CPU.

docs/memcheck.md, "How it is tested": flip undefined input bits; an output bit that changes must
be marked undefined (never miss); the number marked without need is reported.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

ORACLE = """
struct t_result { uint64_t cases, unsound, marked, needless, what, index, bits, value; };
int t_oracle(struct tstate *, const uint8_t *, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
             uint64_t, const uint64_t *, struct t_result *);
"""
CPU = Path("/proc/cpuinfo").read_text().split("flags")[1].split("\n")[0].split()
pytestmark = pytest.mark.skipif("avx512bw" not in CPU, reason="the oracle's harness needs AVX-512BW")

# One instruction a line.  Operands: data in rax rbx rcx rdx r8..r10 and vector registers 0 to 3, memory at
# [rdi]; r9 is a small defined index.
CORPUS = Path(__file__).resolve().parent


WHAT = {1: "gpr", 2: "flags", 3: "vec", 4: "k", 5: "mem", 6: "stack", 7: "x87", 8: "fsw", 9: "umask"}


def assemble(lines: list[str], where: Path) -> list[bytes]:
    """The encodings of the lines, by the GNU assembler's listing."""
    source = where / "insns.s"
    source.write_text(".intel_syntax noprefix\n" + "".join(f"{line}\n" for line in lines))
    out = subprocess.run(["as", "-aln", str(source), "-o", "/dev/null"], capture_output=True, text=True)
    assert not out.stderr, out.stderr
    code: dict[int, str] = {}
    for m in re.finditer(r"(?m)^ +(\d+) +(?:[0-9a-f]{4} )?([0-9A-F]+)(?=\s)", out.stdout):
        code[int(m[1])] = code.get(int(m[1]), "") + m[2]
    return [bytes.fromhex(code[i + 2]) for i in range(len(lines))]


def run(sh: Any, lines: list[str], where: Path) -> tuple[list[str], dict[str, tuple[int, int]]]:
    ffi, lib = sh.ffi, sh.lib
    result = ffi.new("struct t_result *")
    mem = sh.new_map(8192) + 4096 - 128
    lib.rt_shadow_set(mem, 256, 0)
    unsound, precision = [], {}
    cases = int(os.environ.get("ORACLE_CASES", "30"))
    for line, code in zip(lines, assemble(lines, where), strict=True):
        keep = {lib.IP_RDI: mem, lib.IP_R9: 1}
        if line.startswith(("movs", "cmps", "lods")) and "x" not in line:
            keep[lib.IP_RSI] = mem + 100
        values = ffi.new("uint64_t[16]")
        for r, v in keep.items():
            values[r] = v
        mask = sum(1 << r for r in keep)
        if line.startswith(("vmaskmovp", "vpmaskmov")):  # an undefined mask is reported
            mask |= 1 << (16 + int(re.findall(r"mm(\d)", line)[0 if "[rdi]," in line else 1]))
        stack = sh.ts.gpr[lib.IP_RSP] & ~0xFFF
        lib.rt_stack_changed(sh.ts, stack, stack)
        status = lib.t_oracle(sh.ts, code, len(code), cases, 24, 7, mem, stack, mask, values, result)
        assert status == 0, line
        assert result.cases == cases
        if result.unsound:
            what = f"{WHAT[result.what]}[{result.index}] bits {result.bits:#x}"
            unsound.append(f"{line} ({code.hex()}): {result.unsound} x {what}")
        precision[line] = (result.marked, result.needless)
        if sh.errors():
            unsound.append(f"{line}: reports {[(e.kind, hex(e.addr)) for e in sh.errors()]}")
            lib.t_n_errors = 0
    return unsound, precision


# The percentage of marked bits that may never change: what is more has become coarser.  Undefined shift
# counts weigh more in MMX registers, which are short.
PRECISION = {
    "integer": 35,
    "vector": 35,
    "masked": 2,
    "merged": 12,
    "opmask": 1,
    "x87": 15,
    "mmx": 40,
    "fp16": 45,
}
NEEDS = {"fp16": "avx512_fp16"}
# Flags of instructions that CPUs with AVX-512 may lack.
RARE = {"movdiri": "movdiri", "extrq": "sse4a", "insertq": "sse4a"}


@pytest.mark.parametrize("name", PRECISION)
def test_no_change_goes_unmarked(build: Any, sh: Any, name: str, tmp_path: Path) -> None:
    if name in NEEDS and NEEDS[name] not in CPU:
        pytest.skip(f"the CPU has no {NEEDS[name]}")
    if not hasattr(build, "oracle"):
        build.ffi.cdef(ORACLE)
        build.oracle = True
    lines = (CORPUS / f"oracle_{name}.txt").read_text().splitlines()
    lines = [line for line in lines if RARE.get(line.split()[0], "avx512bw") in CPU]
    unsound, precision = run(sh, lines, tmp_path)
    marked = sum(m for m, _ in precision.values())
    needless = sum(n for _, n in precision.values())
    share = 100 * needless / marked
    print(f"\n{name}: {len(precision)} instructions, {share:.1f} % of marked bits never changed")
    worst = sorted(precision.items(), key=lambda x: -x[1][1] / max(1, x[1][0]))[:40]
    for line, (m, n) in worst:
        print(f"   {line:45} {100 * n / max(1, m):5.1f} %")
    assert not unsound, "\n".join(unsound)
    assert share < PRECISION[name]
