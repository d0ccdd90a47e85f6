"""The freestanding products: where they lie, and that they need nobody."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from elftools.elf.constants import P_FLAGS
from elftools.elf.elffile import ELFFile

from interpose import paths, tools
from interpose.jit._native import lib

ROOT = Path(__file__).resolve().parents[2]
RUNTIMES = [f"interpose-rt-{tool}" for tool in tools.names()]


@pytest.fixture(params=[*RUNTIMES, paths.STUBS])
def product(request):
    with open(paths.product(request.param), "rb") as file:
        yield ELFFile(file)


def undefined(elf: ELFFile) -> list[str]:
    symbols = elf.get_section_by_name(".symtab")
    assert symbols is not None
    return [s.name for s in symbols.iter_symbols() if s["st_shndx"] == "SHN_UNDEF" and s.name]


def test_no_symbol_is_undefined(product):
    assert undefined(product) == []


def test_no_page_is_writable_and_executable(product):
    both = P_FLAGS.PF_W | P_FLAGS.PF_X
    for segment in product.iter_segments():
        if segment["p_type"] in ("PT_LOAD", "PT_GNU_STACK"):
            assert segment["p_flags"] & both != both


def test_no_interpreter_and_no_relocation(product):
    assert not [s for s in product.iter_segments() if s["p_type"] == "PT_INTERP"]
    assert not [s.name for s in product.iter_sections() if s["sh_type"] in ("SHT_REL", "SHT_RELA")]


@pytest.mark.parametrize("name", RUNTIMES)
def test_runtime_lies_between_its_base_and_what_is_left_to_the_program(name):
    with open(paths.product(name), "rb") as file:
        elf = ELFFile(file)
        assert elf["e_type"] == "ET_EXEC"
        loads = [s for s in elf.iter_segments() if s["p_type"] == "PT_LOAD"]
        assert min(s["p_vaddr"] for s in loads) == lib.IP_RT_BASE
        assert max(s["p_vaddr"] + s["p_memsz"] for s in loads) <= lib.IP_LEFT_LO


def test_stubs_are_a_shared_image_with_a_soname():
    with open(paths.product(paths.STUBS), "rb") as file:
        elf = ELFFile(file)
        assert elf["e_type"] == "ET_DYN"
        dynamic = elf.get_section_by_name(".dynamic")
        assert [tag.soname for tag in dynamic.iter_tags() if tag.entry.d_tag == "DT_SONAME"] == [
            "interpose-stubs"
        ]
        assert not [tag for tag in dynamic.iter_tags() if tag.entry.d_tag == "DT_NEEDED"]


@pytest.mark.parametrize("image", [paths.STUBS, paths.HEAP_STUBS, paths.CORE_STUBS])
def test_image_for_debuggers(image):
    """It lies as the stubs do, without lines, and without names of what the dynamic linker calls."""
    with open(paths.product(image), "rb") as file, open(paths.symbols(paths.product(image)), "rb") as other:
        stubs, symbols = ELFFile(file), ELFFile(other)
        assert [s.header for s in symbols.iter_segments()] == [s.header for s in stubs.iter_segments()]
        assert symbols.get_section_by_name(".eh_frame") and not symbols.get_section_by_name(".debug_line")
        places = {}
        for symbol in stubs.get_section_by_name(".symtab").iter_symbols():
            if symbol["st_info"]["type"] == "STT_FUNC":
                places.setdefault(symbol["st_value"], set()).add(symbol.name)
        kept = {s["st_value"]: s.name for s in symbols.get_section_by_name(".symtab").iter_symbols()}
        for place, names in places.items():
            linkers = any("_ldZhlinux" in name or name == "_vgnU_ifunc_wrapper" for name in names)
            assert (place not in kept) if linkers else kept[place] in names


def test_library_links_whatever_the_compiler_calls(tmp_path):
    """Which copies of structures become calls of memcpy differs between compilers: here all do."""
    sources = [*sorted((ROOT / "interpose/native/client").glob("*.[cS]")), ROOT / "wrappers/hook_stubs.S"]
    calls = [f"-m{name}-strategy=libcall:-1:noalign" for name in ("memcpy", "memset")]
    build = [
        "gcc",
        "-std=gnu17",
        "-O2",
        "-ffreestanding",
        "-fno-stack-protector",
        "-U_FORTIFY_SOURCE",
        *calls,
    ]
    build += ["-fno-tree-loop-distribute-patterns", "-mgeneral-regs-only", "-fvisibility=hidden", "-fPIC"]
    build += [
        "-DINTERPOSE_NATIVE",
        "-shared",
        "-nostdlib",
        "-Wl,-z,defs",
        f"-I{ROOT}/interpose",
        "-o",
        "made",
    ]
    build += map(str, sources)
    without = subprocess.run(build, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "undefined reference to `memcpy'" in without.stderr
    subprocess.run([*build, str(ROOT / "interpose/runtime/base/compiler.c")], cwd=tmp_path, check=True)
