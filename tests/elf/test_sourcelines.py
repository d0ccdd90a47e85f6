"""All lines of a file in one table: the same as one address at a time, whatever wrote them."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from elf.helpers import C_SOURCE
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interpose.elf.image import Image
from interpose.elf.openfile import OpenFile
from interpose.elf.sourcelines import SourceLines
from interpose.elf.symbolizer import ObjectFile
from interpose.jit._native import ffi, lib


def object_file(path: Path | str) -> ObjectFile:
    return ObjectFile(str(path), OpenFile(str(path)), (), False)


def exact(file: ObjectFile, address: int) -> tuple[str, int] | None:
    """By the readers of one address."""
    levels = file.source_lines(address)
    if not levels or not levels[0].path or not levels[0].line:
        return None
    path = levels[0].path
    directory, name = file.place(address, path, with_directory=True)
    return (f"{directory}/" if directory else "") + name, levels[0].line


def check(file: ObjectFile, step: int = 1) -> int:
    """How many addresses have lines."""
    found = 0
    lines = file.all_lines
    assert lines is not None
    for start, end in zip(*file.code.columns[:2], strict=True):
        for address in range(start, end, step):
            ours, theirs = lines.find(address), exact(file, address)
            assert ours == theirs, hex(address)
            found += ours is not None
    return found


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("version", ["-gdwarf-2", "-gdwarf-3", "-gdwarf-4", "-gdwarf-5"])
def test_every_address(tmp_path: Path, compiler: str, version: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "inner.h").write_text("static inline int inner(int x)\n{\n    return x * 3 + 1;\n}\n")
    (tmp_path / "sub" / "one.c").write_text(C_SOURCE)
    other = '#include "sub/inner.h"\nint other(int x)\n{\n    return inner(x) ^ inner(x + 7);\n}\n'
    (tmp_path / "two.c").write_text(other)
    program = tmp_path / "program"
    flags = ["-g", version, "-O2", "-w", "-ffunction-sections", "-Wl,--gc-sections"]
    subprocess.run([compiler, *flags, "sub/one.c", "two.c", "-o", program], cwd=tmp_path, check=True)
    file = object_file(program)
    assert check(file) > 40
    start = next(
        s for s, name in zip(file.code.columns[0], file.code.columns[2], strict=True) if name == "outer"
    )
    assert file.all_lines is not None
    assert file.all_lines.find(start)[0] == f"{tmp_path}/sub/one.c"


def test_compressed(tmp_path: Path) -> None:
    (tmp_path / "one.c").write_text(C_SOURCE)
    program = tmp_path / "program"
    subprocess.run(["gcc", "-g", "-gz=zlib", "-O1", "-w", "one.c", "-o", program], cwd=tmp_path, check=True)
    assert check(object_file(program)) > 40


def test_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compile_program) -> None:
    """What is kept gives the same; what is damaged there is read anew."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("interpose.elf.sourcelines.WORTH_STORING_SECONDS", 0.0)
    program = compile_program("prog.c", C_SOURCE, "-O2", "-g", "-Wl,--build-id")
    first = object_file(program)
    assert first.all_lines is not None
    count = first.all_lines.raw.n_rows
    (kept,) = (tmp_path / "interpose").iterdir()
    whole = kept.read_bytes()
    assert check(object_file(program)) > 20
    for damaged in (b"", whole[:-1], whole[:50], b"x" + whole[1:], whole + b"x"):
        kept.write_bytes(damaged)
        file = object_file(program)
        assert file.all_lines is not None
        assert file.all_lines.raw.n_rows == count


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o620, 0o602])
def test_kept_by_others(mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compile_program) -> None:
    """What others can write to is not taken: they could make it a table of something else."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("interpose.elf.sourcelines.WORTH_STORING_SECONDS", 0.0)
    program = compile_program("prog.c", C_SOURCE, "-O2", "-g", "-Wl,--build-id")
    first = object_file(program)
    assert first.all_lines is not None and first.all_lines.raw.n_rows > 10
    (kept,) = (tmp_path / "interpose").iterdir()
    nothing = kept.read_bytes()[:16] + struct.pack("<QQQIB", 0, 1, 1, 0, 0)
    kept.write_bytes(nothing)
    kept.chmod(mode)
    second = object_file(program)
    assert second.all_lines is not None
    assert second.all_lines.raw.n_rows == (0 if mode in (0o600, 0o644) else first.all_lines.raw.n_rows)


@pytest.fixture(scope="module")
def sections(compile_program) -> list[bytes]:
    image = Image(str(program := compile_program("prog.c", C_SOURCE, "-O2", "-g")), OpenFile(str(program)))
    assert SourceLines(image).raw.n_rows
    return [image.data_of(name) for name in (".debug_line", ".debug_line_str", ".debug_str")]


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    flips=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=30),
    cut=st.floats(0, 1),
)
def test_hostile(sections: list[bytes], flips: list[tuple[float, int]], cut: float) -> None:
    """Whatever the bytes, there is a table, and it is one that can be kept."""
    data = bytearray(sections[0])
    for place, value in flips:
        data[int(place * len(data))] = value
    parts = [bytes(data[: int(cut * len(data))]), sections[1][: len(data) // 7], sections[2]]
    raw = ffi.new("struct ip_line_sections *")
    alive = [ffi.from_buffer("char[]", part) for part in parts]
    raw.line, raw.line_size = ffi.cast("uint8_t *", alive[0]), len(parts[0])
    raw.line_str, raw.line_str_size = alive[1], len(parts[1])
    raw.str, raw.str_size = alive[2], len(parts[2])
    ranges = ffi.new("uint64_t[]", [0, 2**64 - 1])
    raw.ranges, raw.n_ranges = ranges, 1
    table, again = ffi.new("struct ip_lines *"), ffi.new("struct ip_lines *")
    lib.ip_lines_want_homes(raw)
    assert lib.ip_lines_read(raw, table) == 0
    assert lib.ip_lines_open(table.whole, table.whole_size, again) == 0
    starts = [table.rows[n].start for n in range(table.n_rows)]
    assert starts == sorted(starts)
    for start in starts:
        row = lib.ip_lines_find(again, start)
        assert not row or lib.ip_lines_path(again, row.file)[0] != b"\0"
    lib.ip_lines_free(table)
