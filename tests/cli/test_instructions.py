"""The products use no instruction that an x86-64 CPU may lack, but where they have asked for it."""

from __future__ import annotations

import iced_x86
import pytest
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from interpose import paths
from interpose.jit import _native

# What each x86-64 CPU has (psABI, "x86-64" baseline), and encodings that are no-ops or others where unknown:
# endbr64, and tzcnt, which compilers write for bsf where the result is the same.
BASELINE = {
    "INTEL8086", "INTEL186", "INTEL286", "INTEL386", "INTEL486", "X64", "CMOV", "CX8", "TSC", "CPUID", "FPU",
    "FPU287", "FPU387", "FXSR", "MMX", "SSE", "SSE2", "PAUSE", "MULTIBYTENOP", "CET_IBT", "SYSCALL",
}  # fmt: skip
ASKED = {
    "rt_save_vec": "width",
    "rt_give_back_stub": "rt_wide_marks",
    "rt_vector": "rt_cpu",
    "rt_mask": "rt_cpu",
    "components": "OSXSAVE",
    "store_zmm": "rt_cpu",
    "store_ymm": "rt_cpu",
    "tk_vec_value": "rt_cpu",
    "tk_k_value": "rt_cpu",
    "sig_xsave": "features",
    "sig_xrstor": "features",
    "tiles_in_use": "sig_xstate_grows",
    "in_use": "rt_cpu",
    "rt_cpu": "OSXSAVE",
    "ask": "OSXSAVE",
    "get_available_features": "OSXSAVE (libgcc)",
    "__cpu_indicator_init": "OSXSAVE (libgcc)",
}
"""Functions that first find out, and by what."""
FEATURES = {getattr(iced_x86.CpuidFeature, n): n for n in dir(iced_x86.CpuidFeature) if n[0].isupper()}


_CODE = ("STT_FUNC", "STT_NOTYPE")


def functions(elf: ELFFile) -> list[tuple[int, str]]:
    table = elf.get_section_by_name(".symtab") or elf.get_section_by_name(".dynsym")
    return sorted((s["st_value"], s.name) for s in table.iter_symbols() if s["st_info"]["type"] in _CODE)


@pytest.mark.parametrize("product", ["runtime", "memcheck", "stubs", "core", "translator"])
def test_every_cpu_has_them(product: str) -> None:
    files = {
        "runtime": paths.runtime("none"),
        "memcheck": paths.runtime("memcheck"),
        "stubs": paths.product(paths.STUBS),
        "core": paths.product(paths.CORE_STUBS),
        "translator": _native.__file__,
    }
    wrong, seen = [], 0
    with open(files[product], "rb") as file:
        elf = ELFFile(file)
        names = functions(elf)
        for section in elf.iter_sections():
            if not section["sh_flags"] & SH_FLAGS.SHF_EXECINSTR or section.name == ".plt":
                continue
            decoder = iced_x86.Decoder(64, section.data(), ip=section["sh_addr"])
            for insn in decoder:
                seen += 1
                needs = {FEATURES[f] for f in insn.cpuid_features()} - BASELINE
                if not needs or insn.mnemonic == iced_x86.Mnemonic.TZCNT:
                    continue
                function = next((n for at, n in reversed(names) if at <= insn.ip), "?")
                if function.split(".")[0] not in ASKED:
                    wrong.append(f"{function}, {insn.ip:#x}: {insn} ({', '.join(sorted(needs))})")
    assert seen > 30
    assert wrong == []
