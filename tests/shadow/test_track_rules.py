"""Which instructions have a rule of their own: every one on vectors up to AVX-512 that a compiler emits."""

from __future__ import annotations

import re
from typing import Any

import iced_x86
import pytest

FAMILIES = re.compile(
    r"MMX|SSE|SSE2|SSE3|SSSE3|SSE4_1|SSE4_2|AES|PCLMULQDQ|SHA|F16C|FMA|GFNI|VAES|VPCLMULQDQ|AVX|AVX2|AVX_VNNI\w*|AVX_IFMA|AVX512\w*"
)
ELSEWHERE = {
    "maskmovq", "maskmovdqu", "vmaskmovdqu",  # track_str.c: they store where a register says
    "ldmxcsr", "stmxcsr", "vldmxcsr", "vstmxcsr",  # nothing flows through vectors
    "movnti", "lfence", "mfence", "sfence", "prefetchnta", "prefetcht0", "prefetcht1", "prefetcht2", "pause",
    "clflush", "emms", "movdiri", "crc32", "popcnt",
}  # fmt: skip
NO_COMPILER = re.compile(r"v4f?n?madd.*|v4fnmadd.*|vp4dpw.*|v(gather|scatter)pf[01].*")
"""Of Knights Landing and Knights Mill alone, which compilers have given up."""


def _mnemonics() -> set[str]:
    features = {v: k for k, v in vars(iced_x86.CpuidFeature).items() if isinstance(v, int)}
    names = {v: k for k, v in vars(iced_x86.Mnemonic).items() if isinstance(v, int)}
    found = set()
    for code in (v for k, v in vars(iced_x86.Code).items() if isinstance(v, int)):
        info = iced_x86.OpCodeInfo(code)
        if not info.is_instruction or not info.mode64:
            continue
        instruction = iced_x86.Instruction.create(code)
        if all(FAMILIES.fullmatch(features[f]) for f in instruction.cpuid_features()):
            found.add(names[instruction.mnemonic].lower())
    return found


@pytest.fixture(scope="module")
def numbers(build: Any) -> dict[str, int]:
    """The decoder's numbers of mnemonics."""
    name, count = build.lib.ip_mnem_name, len([m for m in vars(iced_x86.Mnemonic) if m.isupper()]) + 64
    return {build.ffi.string(name(i)).decode(): i for i in range(1, count)}


def test_every_vector_instruction_has_a_rule(build: Any, numbers: dict[str, int]) -> None:
    if not hasattr(build, "rules"):
        build.ffi.cdef(
            "struct vec_rule { uint8_t cls, p, q; }; const struct vec_rule *track_vec_rule(unsigned);"
        )
        build.rules = True
    wanted = _mnemonics()
    assert len(wanted) > 800
    without = {
        m
        for m in wanted - ELSEWHERE
        if not NO_COMPILER.fullmatch(m)
        and not re.fullmatch(r"k\w+", m)  # track_k.c
        and not build.lib.track_vec_rule(numbers.get(m, 0))
    }
    assert not without
