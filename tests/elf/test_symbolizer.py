"""Addresses to functions, files, lines, inlined calls, data symbols and sections."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from elf.helpers import C_SOURCE, CXX_SOURCE, libraries, line_of, map_image, symbol_of

from interpose.elf.debugfile import find_debug_image
from interpose.elf.dwarf import DebugInfo
from interpose.elf.headers import PF_X
from interpose.elf.image import Image
from interpose.elf.store import kept_answer
from interpose.elf.symbolizer import Frame, Symbolizer
from interpose.report.stack import StackOptions, StackResolver, describe_frame

BASE = 0x7F00_0000_0000


@pytest.fixture(autouse=True)
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "interpose"


def all_frames(symbolizer: Symbolizer, path: Path, bias: int, function: str) -> list[list[Frame]]:
    start, size = symbol_of(path, function)
    return [symbolizer.lookup(bias + address) for address in range(start, start + size)]


def test_inlined_c_calls(c_program: Path) -> None:
    symbolizer = Symbolizer()
    bias = map_image(symbolizer, c_program, BASE)
    deepest = max(all_frames(symbolizer, c_program, bias, "outer"), key=len)
    obj, folder = str(c_program), str(c_program.parent)
    assert [(f.function, f.line, f.is_inlined) for f in deepest] == [
        ("leaf", line_of(C_SOURCE, "IN_LEAF"), True),
        ("mid", line_of(C_SOURCE, "IN_MID"), True),
        ("outer", line_of(C_SOURCE, "IN_OUTER"), False),
    ]
    assert {(f.obj, f.file, f.dir) for f in deepest} == {(obj, "prog.c", folder)}
    assert deepest[0].sym_offset is None
    start = bias + symbol_of(c_program, "outer")[0]
    assert deepest[-1].sym_offset == deepest[-1].ip - start
    flat = Symbolizer(inline=False)
    map_image(flat, c_program, BASE)
    assert [(f.function, f.line) for f in flat.lookup(deepest[0].ip)] == [
        ("outer", line_of(C_SOURCE, "IN_LEAF"))
    ]


def test_inlined_cxx_calls_have_plain_names(cxx_program: Path) -> None:
    symbolizer = Symbolizer()
    bias = map_image(symbolizer, cxx_program, BASE)
    image = Image.open(str(cxx_program))
    mangled = next(s.name for s in image.symtab if s.name.startswith("_ZN2ns3use"))
    chains = {
        tuple((f.demangled, f.line) for f in frames)
        for frames in all_frames(symbolizer, cxx_program, bias, mangled)
    }
    outer = symbolizer.lookup(bias + symbol_of(cxx_program, mangled)[0])[-1]
    assert outer.function == mangled
    assert outer.demangled == "ns::use(ns::Box<int> const&, int)" + (
        " [clone .isra.0]" if "isra" in mangled else ""
    )
    use = (outer.demangled, line_of(CXX_SOURCE, "IN_USE"))
    assert (("get", line_of(CXX_SOURCE, "IN_GET")), use) in chains
    assert (("operator[]", line_of(CXX_SOURCE, "IN_SUBSCRIPT")), use) in chains


@pytest.mark.skipif(shutil.which("clang") is None, reason="gcc's names have no directories")
@pytest.mark.parametrize("with_directories", [False, True])
@pytest.mark.parametrize(
    ("source", "name"), [("sub/../sub/prog.c", "sub/../sub/prog.c"), ("prog.c", "prog.c")]
)
def test_name_with_directories(tmp_path: Path, source: str, name: str, with_directories: bool) -> None:
    """A relative path is a file's name to clang, and stays one, as with Valgrind."""
    (tmp_path / "sub").mkdir()
    (tmp_path / source).write_text(C_SOURCE)
    command = ["clang", "-gdwarf-5", "-O1", source, "-o", "prog"]
    subprocess.run(command, check=True, cwd=tmp_path)
    symbolizer = Symbolizer(directories=with_directories)
    bias = map_image(symbolizer, tmp_path / "prog", BASE)
    frames = [frame for at in all_frames(symbolizer, tmp_path / "prog", bias, "outer") for frame in at]
    assert {(f.file, f.dir) for f in frames} == {(name, str(tmp_path) if with_directories else None)}
    start = bias + symbol_of(tmp_path / "prog", "outer")[0]
    assert symbolizer.function_start(start)[:2] == ("outer", name)


@pytest.mark.skipif(shutil.which("clang++") is None, reason="only clang makes such functions")
@pytest.mark.parametrize("version", ["-gdwarf-4", "-gdwarf-5"])
def test_inlined_call_that_has_only_a_linkage_name(tmp_path: Path, version: str) -> None:
    """At line 0, which is in no symcache: clang's function that makes the variables of a thread."""
    source, program = tmp_path / "tls.cc", tmp_path / "tls"
    source.write_text(
        """struct Kept { int *at; Kept() : at(new int(1)) {} ~Kept() { delete at; } };
        static thread_local Kept kept;
        int main() { kept.at[0] = 2; }
        """
    )
    subprocess.run(["clang++", "-O2", version, str(source), "-o", str(program)], check=True)
    symbolizer = Symbolizer()
    bias = map_image(symbolizer, program, BASE)
    merged = [frames for frames in all_frames(symbolizer, program, bias, "main") if frames[0].line == 0]
    names = {tuple(frame.function for frame in frames) for frames in merged}
    assert ("__tls_init", "main") in {chain[-2:] for chain in names}
    assert not [chain for chain in names if None in chain]


def test_inlined_call_whose_function_is_in_another_unit(tmp_path: Path) -> None:
    """As link-time optimisation has it; gcc's names of types (`long int`) are not those in mangled names."""
    shared = "template <class T> [[gnu::always_inline]] inline void into(char *p) { p[4] = sizeof(T*); }\n"
    for name in ("one", "two"):
        body = '{ into<int(long, char)>(p); asm(""); }\n'
        text = f"{shared}__attribute__((noinline, used)) void {name}(char *p) {body}"
        (tmp_path / f"{name}.cc").write_text(text)
    (tmp_path / "main.cc").write_text(
        "void one(char *); void two(char *);\nint main() { char b[8]; one(b); two(b); return b[4] != 8; }\n"
    )
    command = ["g++", "-g", "-O2", "-flto", "one.cc", "two.cc", "main.cc", "-o", "prog"]
    subprocess.run(command, check=True, cwd=tmp_path)
    symbolizer = Symbolizer()
    bias = map_image(symbolizer, tmp_path / "prog", BASE)
    for function in ("_Z3onePc", "_Z3twoPc"):
        frames = [frame for at in all_frames(symbolizer, tmp_path / "prog", bias, function) for frame in at]
        assert {frame.function for frame in frames if frame.is_inlined} == {"into<int(long int, char)>"}


@pytest.mark.skipif(shutil.which("addr2line") is None, reason="addr2line is the referee")
def test_lines_agree_with_addr2line(c_program: Path, cxx_program: Path) -> None:
    for program in (c_program, cxx_program):
        symbolizer = Symbolizer()
        bias = map_image(symbolizer, program, BASE)
        start, size = symbol_of(program, "main")
        names = [
            "main",
            *(
                s.name
                for s in Image.open(str(program)).symtab
                if s.name in ("outer", "_ZN2ns3useERKNS_3BoxIiEEi")
            ),
        ]
        checked = 0
        for name in names:
            start, size = symbol_of(program, name)
            for address in range(start, start + size):
                run = subprocess.run(
                    ["addr2line", "-i", "-e", str(program), hex(address)], capture_output=True, text=True
                )
                expected = [re.sub(r" \(discriminator.*", "", text) for text in run.stdout.splitlines()]
                frames = symbolizer.lookup(bias + address)
                assert [f"{f.dir}/{f.file}:{f.line}" for f in frames] == expected, hex(address)
                checked += 1
        assert checked > 40


def test_first_line_of_a_function(compile_program) -> None:
    program = compile_program("prog.c", C_SOURCE, "-O0", "-g")
    symbolizer = Symbolizer()
    bias = map_image(symbolizer, program, BASE)
    start, size = symbol_of(program, "outer")
    expected = ("outer", "prog.c", line_of(C_SOURCE, "OUTER_START"))
    assert symbolizer.function_start(bias + start + size - 1) == expected
    assert symbolizer.function_start(0x10) == (None, None, None)


VALGRIND_SOURCE = (
    C_SOURCE
    + """
__attribute__((constructor)) static void early(void)
{
    int *volatile p = malloc(4);
    sink = outer(p);
}
"""
)


LINKED_SOURCE = """#include <stdlib.h>
__attribute__((noipa)) int inner(int *p) { return p[1] + 1; }
__attribute__((noipa)) int outer(int *p) { return inner(p) + 1; }
int main(void)
{
    int *p = malloc(4);
    outer(p);
    free(p);
}
"""


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is the referee")
@pytest.mark.parametrize("flags", [["-pie"], ["-no-pie"]], ids=" ".join)
@pytest.mark.parametrize("linker", ["bfd", "gold", "lld"])
def test_functions_of_each_linkers_objects_are_named(tmp_path: Path, linker: str, flags: list[str]) -> None:
    if shutil.which(f"ld.{linker}") is None:
        pytest.skip(f"no {linker}")
    (tmp_path / "v.c").write_text(LINKED_SOURCE)
    command = ["gcc", "-w", "-g", "-O1", f"-fuse-ld={linker}", *flags, "v.c", "-o", "v"]
    subprocess.run(command, cwd=tmp_path, check=True)
    shown = []
    for command in (["valgrind"], [sys.executable, "-m", "interpose", "--tool=memcheck"]):
        run = subprocess.run([*command, "-q", str(tmp_path / "v")], capture_output=True, text=True)
        shown.append(re.findall(r"(?:at|by) 0x[0-9A-F]+: (?!malloc)(.*)", run.stderr))
    assert shown[0] == shown[1]
    assert shown[1][:3] == ["inner (v.c:2)", "outer (v.c:3)", "main (v.c:7)"]


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is the referee")
@pytest.mark.parametrize(
    "options", [(), ("--sym-offsets=yes",), ("--fullpath-after=",), ("--read-inline-info=no",)]
)
def test_frames_agree_with_valgrind(compile_program, options: tuple[str, ...]) -> None:
    for name, source in (("v.c", VALGRIND_SOURCE), ("v.cc", CXX_SOURCE)):
        program = compile_program(name, source, "-O2", "-g")
        run = subprocess.run(["valgrind", *options, str(program)], capture_output=True, text=True)
        symbolizer = Symbolizer(inline="--read-inline-info=no" not in options)
        found = re.findall(r"(?:at|by) 0x([0-9A-F]+): (.*)", run.stderr)
        # Where valgrind puts the program, if position-independent: 3.19 has the dynamic linker at the second.
        bases = (0x108000, 0x4000000)
        base = next(base for base in bases if any(base <= int(ip, 16) < base + 0x5000 for ip, _ in found))
        map_image(symbolizer, program, base)
        style = StackOptions(
            sym_offsets="--sym-offsets=yes" in options,
            fullpath_after=("",) if "--fullpath-after=" in options else (),
        )
        resolver = StackResolver(symbolizer, style)
        shown: dict[int, list[str]] = {}
        for ip, text in found:
            if base <= int(ip, 16) < base + 0x5000:
                shown.setdefault(int(ip, 16), []).append(text)
        assert len(shown) >= 2
        for ip, texts in shown.items():
            ours = [describe_frame(frame, style) for frame in resolver.frames((ip,))]
            assert texts == ours * (len(texts) // len(ours)), hex(ip)


def test_source_in_a_subfolder(compile_program) -> None:
    for flag in ("-gdwarf-4", "-gdwarf-5"):
        program = compile_program("deep/er/x.c", "int main(void)\n{\n    return 0;\n}\n", flag)
        symbolizer = Symbolizer()
        bias = map_image(symbolizer, program, BASE)
        frame = symbolizer.lookup(bias + symbol_of(program, "main")[0])[0]
        assert (frame.dir, frame.file, frame.line) == (f"{program.parent}/deep/er", "x.c", 2)


def test_relative_compilation_directory(compile_program) -> None:
    """Directories are shown as the line table has them: joined, not cleaned."""
    program = compile_program(
        "s/x.c",
        "int main(void)\n{\n    return 0;\n}\n",
        "-gdwarf-5",
        "-fdebug-prefix-map=/=./build/",
        "-Is/..",
    )
    symbolizer = Symbolizer()
    bias = map_image(symbolizer, program, BASE)
    frame = symbolizer.lookup(bias + symbol_of(program, "main")[0])[0]
    home = f"./build{program.parent}"
    assert frame.dir in (f"{home}/s", f"{home}/{home}/s", f"{home}/./s")
    assert frame.file == "x.c"


def test_fixed_address_program(compile_program) -> None:
    program = compile_program("prog.c", C_SOURCE, "-O2", "-g", "-no-pie", "-static")
    symbolizer = Symbolizer()
    assert map_image(symbolizer, program, 0x400000) == 0
    start, _ = symbol_of(program, "outer")
    assert symbolizer.lookup(start)[-1].function == "outer"
    assert symbolizer.lookup(start)[-1].file == "prog.c"
    assert symbolizer.lookup(start)[-1].sym_offset == 0


def test_segments_that_share_a_file_page(compile_program) -> None:
    """Code and data begin in the same page of the file: its offset alone does not tell them apart."""
    program = compile_program("prog.c", C_SOURCE, "-g", "-Wl,-z,noseparate-code,-z,norelro")
    symbolizer = Symbolizer()
    bias = map_image(symbolizer, program, BASE)
    assert symbolizer.lookup(bias + symbol_of(program, "outer")[0])[-1].function == "outer"
    assert symbolizer.describe_data(bias + symbol_of(program, "table")[0] + 3) == ("table", 3)


def test_what_is_left_without_debug_info(compile_program, tmp_path: Path) -> None:
    program = compile_program("prog.c", C_SOURCE, "-O2")
    symbolizer = Symbolizer()
    bias = map_image(symbolizer, program, BASE)
    start, _ = symbol_of(program, "outer")
    assert symbolizer.lookup(bias + start + 1) == [
        Frame(bias + start + 1, "outer", "outer", str(program), None, None, None, 1, False)
    ]
    subprocess.run(["strip", str(program)], check=True)
    stripped = Symbolizer()
    map_image(stripped, program, BASE)
    assert stripped.lookup(bias + start) == [Frame(bias + start, obj=str(program))]
    assert stripped.lookup(0x1234) == [Frame(0x1234)]
    text = tmp_path / "text"
    text.write_text("no ELF file\n")
    stripped.add_mapping(stripped.object_at(str(text)), 0x5000, 0x1000, 0)
    assert stripped.lookup(0x5010) == [Frame(0x5010, obj=str(text))]
    stripped.add_mapping(stripped.object_at(str(tmp_path / "gone")), 0x7000, 0x1000, 0)
    assert stripped.lookup(0x7010) == [Frame(0x7010, obj=str(tmp_path / "gone"))]


def test_assembly_without_symbol_sizes_keeps_its_line(compile_program) -> None:
    source = '.text\n.globl main\nmain:\n  nop\n  ret\n.section .note.GNU-stack,"",@progbits\n'
    program = compile_program("bare.s", source, "-g")
    symbolizer = Symbolizer()
    bias = map_image(symbolizer, program, BASE)
    start, _ = symbol_of(program, "main")
    frames = StackResolver(symbolizer).frames((bias + start + 1,))
    assert [describe_frame(f, StackOptions()) for f in frames] == ["??? (bare.s:5)"]


def test_mapping_and_unmapping(c_program: Path) -> None:
    symbolizer = Symbolizer()
    bias = map_image(symbolizer, c_program, BASE)
    ip = bias + symbol_of(c_program, "outer")[0]
    assert symbolizer.lookup(ip)[-1].function == "outer"
    again = map_image(symbolizer, c_program, BASE + 0x10_0000)
    assert symbolizer.lookup(again + symbol_of(c_program, "outer")[0])[-1].function == "outer"
    page = ip & ~0xFFF
    symbolizer.remove_mapping(page, 0x1000)
    assert symbolizer.lookup(ip) == [Frame(ip)]
    symbolizer.add_mapping(symbolizer.object_at("/nowhere"), page, 0x1000, 0)
    assert symbolizer.lookup(ip) == [Frame(ip, obj="/nowhere")]


def test_unmapping_splits(c_program: Path) -> None:
    symbolizer = Symbolizer()
    symbolizer.add_mapping(symbolizer.object_at("/a"), 0x10000, 0x4000, 0x2000)
    symbolizer.remove_mapping(0x11000, 0x1000)
    assert [symbolizer.lookup(a)[0].obj for a in (0x10FFF, 0x11000, 0x11FFF, 0x12000)] == [
        "/a",
        None,
        None,
        "/a",
    ]
    assert [mapping.file_offset for mapping in symbolizer._mappings] == [0x2000, 0x4000]


def test_data_and_sections(c_program: Path) -> None:
    symbolizer = Symbolizer()
    bias = map_image(symbolizer, c_program, BASE)
    image = Image.open(str(c_program))
    assert symbolizer.describe_data(bias + symbol_of(c_program, "table")[0] + 7) == ("table", 7)
    assert symbolizer.describe_data(bias + symbol_of(c_program, "scratch")[0] + 63) == ("scratch", 63)
    assert symbolizer.describe_data(bias + symbol_of(c_program, "outer")[0]) is None
    for name, kind in (
        (".text", "Text"),
        (".data", "Data"),
        (".bss", "BSS"),
        (".plt", "PLT"),
        (".got", "GOT"),
    ):
        section = image.section_named(name)
        if section is not None:
            assert symbolizer.section_of(bias + section.addr) == (kind, str(c_program)), name
    assert symbolizer.section_of(bias + image.section_named(".eh_frame").addr) is None
    assert symbolizer.section_of(0x1000) is None


def test_bss_beyond_the_file(compile_program) -> None:
    """The tail of .bss lies in anonymous memory that nobody announces."""
    program = compile_program("bss.c", "char big[100000];\nint main(void) { return big[5]; }\n")
    symbolizer = Symbolizer()
    bias = map_image(symbolizer, program, BASE)
    assert symbolizer.describe_data(bias + symbol_of(program, "big")[0] + 99_999) == ("big", 99_999)


def split_debug(program: Path, debug: Path, *strip: str) -> None:
    subprocess.run(["objcopy", "--only-keep-debug", str(program), str(debug)], check=True)
    subprocess.run(["strip", *strip, str(program)], check=True)


def test_debuglink(compile_program, tmp_path: Path) -> None:
    program = compile_program("prog.c", C_SOURCE, "-O2", "-g", "-Wl,--build-id=none")
    start, _ = symbol_of(program, "outer")
    os.mkdir(program.parent / ".debug")
    debug = program.parent / ".debug" / "program.debug"
    split_debug(program, debug)
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", str(program)], check=True)
    symbolizer = Symbolizer()
    bias = map_image(symbolizer, program, BASE)
    found = symbolizer.lookup(bias + start)[-1]
    assert (found.function, found.file, found.obj) == ("outer", "prog.c", str(program))
    elsewhere = tmp_path / "root"
    elsewhere.mkdir()
    moved = elsewhere / "program.debug"
    debug.rename(moved)
    image = Image.open(str(program))
    assert find_debug_image(image) is None
    assert find_debug_image(image, [str(elsewhere)]).path == str(moved)
    moved.write_bytes(moved.read_bytes() + b"changed")
    assert find_debug_image(image, [str(elsewhere)]) is None
    assert find_debug_image(image, [str(elsewhere)], allow_mismatched=True).path == str(moved)


def test_build_id_below_extra_path(compile_program, tmp_path: Path) -> None:
    program = compile_program("prog.c", C_SOURCE, "-O2", "-g", "-Wl,--build-id=sha1")
    start, _ = symbol_of(program, "outer")
    build_id = Image.open(str(program)).build_id
    place = tmp_path / ".build-id" / build_id[:2]
    place.mkdir(parents=True)
    split_debug(program, place / f"{build_id[2:]}.debug")
    symbolizer = Symbolizer(extra_debuginfo_path=[str(tmp_path)])
    bias = map_image(symbolizer, program, BASE)
    assert symbolizer.lookup(bias + start)[-1].file == "prog.c"
    other = compile_program(
        "prog.c", C_SOURCE.replace("1, 2, 3, 4", "4, 3, 2, 1"), "-O2", "-Wl,--build-id=sha1"
    )
    (place / f"{build_id[2:]}.debug").write_bytes(other.read_bytes())
    assert find_debug_image(Image.open(str(program)), [str(tmp_path)]) is None


def test_names_of_a_stripped_library_need_no_units(compile_program, monkeypatch: pytest.MonkeyPatch) -> None:
    """strip takes the maker's name, too; without it each file's name was looked up in its unit."""
    program = compile_program("prog.c", C_SOURCE, "-O2", "-g")
    start, _ = symbol_of(program, "main")
    debug = program.parent / ".debug" / "program.debug"
    debug.parent.mkdir()
    split_debug(program, debug)
    changes = [f"--add-gnu-debuglink={debug}", "--remove-section=.comment"]
    subprocess.run(["objcopy", *changes, str(program)], check=True)
    assert Image.open(str(program)).section_named(".comment") is None
    monkeypatch.setattr(DebugInfo, "unit", lambda self, offset: pytest.fail("a unit was read"))
    symbolizer = Symbolizer(directories=False)
    bias = map_image(symbolizer, program, BASE)
    assert symbolizer.lookup(bias + start)[-1].file == "prog.c"


def test_an_answer_is_kept(c_program: Path, private_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interpose.elf.store.WORTH_STORING_SECONDS", 0)
    image = Image.open(str(c_program))
    for answer, ask in ((True, lambda: True), (False, lambda: False)):
        kind = f"t{answer:d}.test"
        assert kept_answer(image, kind, ask) is answer
        assert kept_answer(image, kind, lambda: pytest.fail("asked again")) is answer
        (stored,) = private_cache.glob(f"*-t{answer:d}-*")
        stored.write_bytes(b"neither")
        assert kept_answer(image, kind, ask) is answer


def libc_debug() -> tuple[str, Image | None]:
    path = libraries("libc.so.6")[0]
    return path, find_debug_image(Image.open(path))


@pytest.mark.skipif(libc_debug()[1] is None, reason="needs the debug symbols of libc")
def test_libc_with_debug_file(private_cache: Path) -> None:
    path, debug = libc_debug()
    values = {s.name: s.value for s in debug.symtab}
    symbolizer = Symbolizer()
    bias = map_image(symbolizer, path, BASE)
    for local, shown in (
        ("__libc_start_call_main", "__libc_start_call_main"),
        ("puts", "puts"),
        ("_int_malloc", "_int_malloc"),
        ("__vfprintf_internal", "__vfprintf_internal"),
    ):
        frame = symbolizer.lookup(bias + values[local] + 4)[-1]
        assert frame.function == shown and frame.obj == path
        assert frame.file and frame.line
    stored = list(private_cache.iterdir())
    assert len(stored) == 1 and debug.build_id in stored[0].name
    again = Symbolizer()
    map_image(again, path, BASE)
    assert again.lookup(bias + values["puts"]) == symbolizer.lookup(bias + values["puts"])
    stored[0].write_bytes(b"damaged")
    third = Symbolizer()
    map_image(third, path, BASE)
    assert third.lookup(bias + values["puts"]) == symbolizer.lookup(bias + values["puts"])


def test_unwritable_cache_does_not_matter(c_program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nonexistent")
    monkeypatch.setattr("interpose.elf.lines.WORTH_STORING_SECONDS", 0)
    symbolizer = Symbolizer()
    bias = map_image(symbolizer, c_program, BASE)
    assert symbolizer.lookup(bias + symbol_of(c_program, "outer")[0])[-1].file == "prog.c"


def test_where_two_objects_claim_data_the_lower_one_has_it(compile_program) -> None:
    program = compile_program("claims.c", "char big[1 << 20] = {1}; int main(void) { return big[5]; }")
    symbolizer = Symbolizer()
    code = next(header for header in Image.open(str(program)).load_segments if header.flags & PF_X)
    start, size = symbol_of(program, "big")
    lower, upper = 0x10000000, 0x10000000 + size // 2
    for bias in (upper, lower):  # their code is announced, as by the runtime, but not their data
        file = symbolizer.object_at(str(program))
        symbolizer.add_mapping(file, bias + code.vaddr, 4096, code.offset)
    assert symbolizer.describe_data(lower + start) == ("big", 0)
    assert symbolizer.describe_data(lower + start + size - 1) == ("big", size - 1)
    assert symbolizer.describe_data(upper + start) == ("big", upper - lower)
    assert symbolizer.describe_data(upper + start + size - 1) == ("big", size - 1)
    assert symbolizer.describe_data(upper + start + 2 * size) is None
