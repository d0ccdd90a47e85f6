"""Hostile files: whatever the bytes, the answer is an image, nothing, or ElfError."""

from __future__ import annotations

import subprocess
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interpose.elf.dwarf import DebugInfo
from interpose.elf.errors import ElfError
from interpose.elf.functions import Functions, levels_at
from interpose.elf.image import Image
from interpose.elf.symbolizer import Symbolizer
from interpose.elf.symbolmap import code_map, data_map
from interpose.elf.symtab import function_symbols
from interpose.elf.variables import FrameState, Variables

SOURCE = """\
int counter;
__attribute__((noinline)) int f(int x) { return x + counter; }
int main(void) { return f(0); }
"""


@pytest.fixture(scope="module")
def small(compile_program) -> bytes:
    path = compile_program("small.c", SOURCE, "-g", "-O1", "-Wl,--hash-style=both")
    return Path(path).read_bytes()


def exercise(data: bytes) -> bool:
    """Ask everything; tells whether the headers were accepted."""
    try:
        image = Image.from_bytes(data)
    except ElfError as error:
        assert "\n" not in str(error)
        return False
    questions = (
        lambda: image.soname,
        lambda: image.build_id,
        lambda: image.interpreter,
        lambda: image.debuglink,
        lambda: image.text_ranges,
        lambda: image.load_base,
        lambda: image.dynsyms,
        lambda: image.symtab,
        lambda: function_symbols(image),
        lambda: code_map(image),
        lambda: data_map(image),
        lambda: [image.section_data(section) for section in image.sections],
        lambda: image.vaddrs_of_offset(0x1000),
    )
    for question in questions:
        try:
            question()
        except ElfError as error:
            assert "\n" not in str(error)
    info = DebugInfo(image)
    for unit in info.units():
        unit.ranges()
        unit.plain_name("f")
        unit.place_of("/x/small.c")
        unit.line_at(0x1130)
    info.unit_at(0x1130)
    return True


FUZZ = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@FUZZ
@given(cut=st.floats(0, 1, exclude_max=True))
def test_truncated(small: bytes, cut: float) -> None:
    assert not exercise(small[: int(len(small) * cut)])  # the section headers are at the end


@FUZZ
@given(
    flips=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 7)), min_size=1, max_size=40)
)
def test_flipped_bits(small: bytes, flips: list[tuple[float, int]]) -> None:
    data = bytearray(small)
    for place, bit in flips:
        data[int(place * len(data))] ^= 1 << bit
    exercise(bytes(data))


@FUZZ
@given(data=st.data())
def test_damaged_tables(small: bytes, data: st.DataObject) -> None:
    """Bytes in headers, dynamic section, symbol, version and debug tables get extreme values."""
    image = Image.from_bytes(small)
    wanted = [
        s
        for s in image.sections
        if s.size
        and (
            s.name.startswith((".dyn", ".gnu", ".debug", ".note", ".sym"))
            or s.name in (".hash", ".strtab", ".shstrtab")
        )
    ]
    damaged = bytearray(small)
    for _ in range(data.draw(st.integers(1, 8))):
        if data.draw(st.booleans()):
            section = data.draw(st.sampled_from(wanted))
            place = section.offset + data.draw(st.integers(0, section.size - 1))
        else:
            table = len(small) - 64 * len(image.sections)
            place = data.draw(st.one_of(st.integers(0, 0x400), st.integers(table, len(small) - 1)))
        damaged[place] = data.draw(st.sampled_from((0, 1, 0x7F, 0x80, 0xFF)))
    exercise(bytes(damaged))


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    flips=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 7)), min_size=1, max_size=30)
)
def test_symbolizer_survives_damage(small: bytes, tmp_path_factory, flips: list[tuple[float, int]]) -> None:
    data = bytearray(small)
    for place, bit in flips:
        data[int(place * len(data))] ^= 1 << bit
    path = tmp_path_factory.getbasetemp() / "damaged-image"
    path.write_bytes(bytes(data))
    symbolizer = Symbolizer()
    symbolizer.add_mapping(symbolizer.object_at(str(path)), 0x109000, 0x1000, 0x1000)
    for address in (0x109000, 0x109125, 0x109130, 0x10A000, 0x10C010):
        assert symbolizer.lookup(address)
        symbolizer.describe_data(address)
        symbolizer.section_of(address)
        symbolizer.function_start(address)


def ask_for_variables(info: DebugInfo) -> int:
    """How many of some addresses have a variable or an inlined call."""
    functions = Functions()
    variables = Variables(info, functions)
    found = 0
    for pc in range(0x1000, 0x1500, 0x17):
        found += len(levels_at(info, functions, pc)) > 1
        registers = dict.fromkeys(range(17), 0x7000)
        frame = FrameState(pc, 0, registers, 0x7100, lambda _, size: b"\5" * size)
        for address in (0x7000, 0x7060, 0x70C0, 0x70F0, 0x4000):
            found += variables.local_at(frame, address) is not None
    for address in range(0x4000, 0x4100, 8):
        found += variables.global_at(address) is not None
        found += variables.static_local_at(address) is not None
    return found


@pytest.mark.parametrize(
    "flags", ["-gdwarf-5 -O2", "-gdwarf-4 -O0", "-gdwarf-4 -O2 -gsplit-dwarf", "-gdwarf-5 -O1 -gsplit-dwarf"]
)
def test_variables_of_damaged_information(tmp_path: Path, flags: str) -> None:
    """No question about variables or inlined calls raises, and each comes to an end."""
    top = Path(__file__).resolve().parents[2]
    source = top / "tests" / "guests" / "varinfo" / "optimised.c"
    command = ["gcc", *flags.split(), "-w", f"-I{top / 'include'}", "-o", "program", str(source)]
    subprocess.run(command, check=True, cwd=tmp_path)
    files = [tmp_path / "program", *tmp_path.glob("*.dwo")]
    whole = {path: path.read_bytes() for path in files}
    assert ask_for_variables(DebugInfo(Image.open(str(files[0])))) > 5
    random = Random(flags)
    for _ in range(60):
        path = random.choice(files)
        damaged = bytearray(whole[path])
        sections = Image.from_bytes(whole[path]).sections
        parts = [s for s in sections if s.size and s.name.startswith(".debug")]
        for _ in range(random.choice((1, 3, 30))):
            part = random.choice(parts)
            damaged[part.offset + random.randrange(part.size)] = random.choice(
                (0, 255, random.randrange(256))
            )
        path.write_bytes(damaged)
        ask_for_variables(DebugInfo(Image.open(str(files[0]))))
        path.write_bytes(whole[path])


def test_untouched_file_is_accepted(small: bytes) -> None:
    assert exercise(small)
