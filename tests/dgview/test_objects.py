"""Objects that follow each other at one address: each is what was there at that time."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from dgview.traces import rows
from tools.datagrind.running import compile_guest, run

from interpose.dgview import conditions
from interpose.dgview.index import Index
from interpose.dgview.symbols import MOST_EPOCHS, Symbols
from interpose.dgview.viewer import Viewer
from interpose.elf.image import Image
from interpose.formats import datagrind

PLUGIN = Path(__file__).parents[1] / "guests" / "dgview" / "plugin.c"
BASE = 0x7000_0000_0000
HEAP = 0x6000_0000_0000


def build(folder: Path, *names: str) -> list[Path]:
    """A library for each name, with a function of that name."""
    found = []
    for name in names:
        found.append(folder / f"lib{name}.so")
        flags = ["-g", "-shared", "-fPIC", f"-DNAME={name}"]
        subprocess.run(["gcc", *flags, "-o", str(found[-1]), str(PLUGIN)], check=True)
    return found


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return build(tmp_path_factory.mktemp("plugins"), "first", "second")


def place_of(path: Path, name: str) -> tuple[int, int]:
    """Where .text and the function are, if the object is at BASE."""
    image = Image.open(str(path))
    text = image.section_named(".text")
    assert text is not None
    value = next(symbol.value for symbol in image.symtab if symbol.name == name)
    return BASE + text.addr, BASE + value


@pytest.fixture
def log(plugins: list[Path], tmp_path: Path) -> tuple[Path, int]:
    """First, second and first again; each writes ten times and allocates once."""
    with open(tmp_path / "f", "wb") as stream:
        w = datagrind.Writer(stream)
        for turn, (path, name) in enumerate([*zip(plugins, ("first", "second"), strict=True)] * 2):
            if turn == 3:
                break
            text, ip = place_of(path, name)
            w.text_avma(text, str(path))
            caller = w.context(w.bbdef([(0x1000, 4)], [(0, 8, 0)]), [0x1000, ip + 4])
            own = w.context(w.bbdef([(ip, 4)], [(1, 8, 0)]), [ip, 0x1000])
            w.malloc_block(HEAP + 4096 * turn, 100, [0x1000, ip + 1])
            for n in range(10):
                w.bbrun(own, 1, [HEAP + 4096 * turn + 8 * n])
                w.bbrun(caller, 1, [HEAP + 0x10000 + 8 * turn])
    return tmp_path / "f", ip


def test_names_at_a_time(log: tuple[Path, int], plugins: list[Path]) -> None:
    path, ip = log
    symbols = Symbols(Index.open(str(path)).trace)
    names = [symbols.levels(ip, instr)[0].function for instr in (0, 19, 20, 39, 40, 59, 1000)]
    assert names == ["first", "first", "second", "second", "first", "first", "first"]
    assert [symbols.levels(ip, n)[0].object for n in (0, 20)] == list(map(str, plugins))


@pytest.mark.parametrize(
    ("events", "ranges", "turns"),
    [
        ("fn:first", "", [0, 2]),
        ("fn:second", "", [1]),
        ("dso:{1}", "", [1]),
        ("fn:other,fn:second", "", [1]),
        ("", "fn:second", [1]),
        ("", "fn:first", [0, 2]),
        ("fn:second", "fn:first", []),
    ],
)
def test_filters_at_a_time(
    log: tuple[Path, int], plugins: list[Path], events: str, ranges: str, turns: list[int]
) -> None:
    path, _ = log
    whole = Index.open(str(path))
    by_event = conditions.parse(events.format(*plugins), ranges=False) if events else []
    by_range = conditions.parse(ranges, ranges=True) if ranges else []
    wanted = conditions.filter_of(by_event, by_range, whole.trace.ips(), Symbols(whole.trace))
    found = [row[1] for chunk in datagrind.Trace(path, filter=wanted).chunks() for row in rows(chunk)]
    own = [HEAP + 4096 * turn + 8 * n for turn in turns for n in range(10)]
    called = [HEAP + 0x10000 + 8 * turn for turn in turns for _ in range(10)] if not ranges else []
    assert sorted(found) == sorted(own + called)


def test_many_changes_are_bounded(plugins: list[Path], tmp_path: Path) -> None:
    with open(tmp_path / "f", "wb") as stream:
        w = datagrind.Writer(stream)
        for turn in range(3 * MOST_EPOCHS):
            path, name = plugins[turn % 2], ("first", "second")[turn % 2]
            text, ip = place_of(path, name)
            w.text_avma(text, str(path))
    symbols = Symbols(Index.open(str(tmp_path / "f")).trace)
    assert len(symbols.changes()) < MOST_EPOCHS
    assert symbols.levels(ip, 1 << 40)[0].function == name


def test_a_real_program(plugins: list[Path], tmp_path: Path) -> None:
    program = compile_guest("libraries.c", tmp_path, "-no-pie")
    run([str(program), *map(str, [*plugins, plugins[0]])], tmp_path / "d")
    viewer = Viewer(str(tmp_path / "d"))
    marked = next(s.value for s in Image.open(str(program)).symtab if s.name == "marked")
    named = []
    for chunk in datagrind.Trace(tmp_path / "d").chunks():
        columns = [chunk.column(column) for column in ("instr", "address", "ip", "dir")]
        for instr, address, ip, is_write in zip(*columns, strict=True):
            if address == marked and is_write:
                named.append(viewer.symbols.levels(ip, instr)[0].function)
    assert named == ["first", "second", "first"]
