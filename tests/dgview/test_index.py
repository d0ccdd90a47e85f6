"""The picture shows every access where it is, and no other; a kept index is believed only if it fits."""

from __future__ import annotations

import os
import random
import threading
from itertools import pairwise
from pathlib import Path

import pytest
from dgview.test_filter import EVENTS, RANGES
from dgview.traces import Access, decoded, write_random
from hypothesis import given, settings
from hypothesis import strategies as st

from interpose.dgview import index as index_module
from interpose.dgview import picture, readers
from interpose.dgview.index import CancelledError, Index, View
from interpose.dgview.viewer import Viewer
from interpose.formats import datagrind
from interpose.jit._native import ffi, lib

CORPUS = sorted((Path(__file__).parents[1] / "formats" / "corpus" / "datagrind").iterdir())


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    (tmp_path / "cache").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def bits(seen: list[Access], index: Index, view: View, everything: list[Access] | None = None) -> bytes:
    """What must be drawn, worked out access by access; `everything` says which pages there are."""
    out = bytearray(view.width * view.height)
    pages = sorted({a.address + n >> 12 for a in everything or seen for n in (0, max(a.size, 1) - 1)})
    across, down = view.width / (view.right - view.left), view.height / (view.bottom - view.top)
    for a in seen:
        if not view.top <= a.instr < view.bottom:
            continue
        y = int((a.instr - view.top) * down)
        for address in range(a.address, a.address + max(a.size, 1)):
            column = (pages.index(address >> 12) << 12) + (address & 4095)
            if view.left <= column < view.right:
                out[y * view.width + int((column - view.left) * across)] |= 1 << a.dir
    assert index.n_pages == len(pages)
    return bytes(out)


def views(index: Index) -> list[View]:
    whole = picture.whole(index, 64, 48)
    width, height = whole.right, whole.bottom
    return [
        whole,
        whole._replace(top=height // 3, bottom=height // 2),
        View(width // 4, width // 4 + 333, 0, height, 100, 20),
        View(5000, 5064, height // 2, height // 2 + 10, 128, 40),
        View(0, width * 3, 0, height * 2, 50, 50),
    ]


@pytest.mark.parametrize("places", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_every_access_is_where_it_is(seed, places, tmp_path, monkeypatch):
    """Also where there are many places to begin at, and much lies between them that a view does not need."""
    if places:
        monkeypatch.setattr(index_module, "STEP", 16)
        monkeypatch.setattr(index_module, "CHUNK", 16)
    seen = write_random(tmp_path / "f", seed)
    index = Index.build(str(tmp_path / "f"))
    assert (len(index.places) > 5) == places
    assert index.n_instrs == max(a.instr for a in seen) + 1
    for view in views(index):
        pixels = bytearray(view.width * view.height)
        assert index.draw(view, pixels)
        assert bytes(pixels) == bits(seen, index, view)


def in_small_parts(monkeypatch, cores: int = 3) -> None:
    """Read by several threads, slice by slice, whatever there is."""
    monkeypatch.setattr(index_module, "STEP", 16)
    monkeypatch.setattr(index_module, "CHUNK", 16)
    monkeypatch.setattr(readers, "CHUNK", 16)
    monkeypatch.setattr(readers, "FEWEST", 20)
    monkeypatch.setattr(readers, "PASSED", 0)
    monkeypatch.setattr(readers, "TAKEN", 0)
    monkeypatch.setattr(readers, "_cores", lambda: cores)


@pytest.mark.parametrize("seed", range(3))
def test_every_access_of_a_filter_is_where_it_is(seed, tmp_path, monkeypatch):
    """The page's filters, which many threads read in an order of their own."""
    in_small_parts(monkeypatch)
    seen = write_random(tmp_path / "f", seed, 900)
    whole = Index.build(str(tmp_path / "f"))
    counts = set()
    for event_words, event_matches in EVENTS.values():
        for range_words, range_matches in RANGES.values():
            index = whole.filtered(datagrind.Filter(**event_words, **range_words))
            matching = [a for a in seen if event_matches(a) and range_matches(a)]
            counts.add(len(matching))
            assert index.is_whole and index.n_instrs == max((a.instr + 1 for a in matching), default=0)
            if not matching:
                assert index.n_pages == 0
                continue
            assert len(list(index.places)) > 10
            for view in views(index):
                # No wider than its columns: between two pixels of one access, `bits` has a gap.
                view = view._replace(width=min(view.width, view.right - view.left))
                pixels = bytearray(view.width * view.height)
                assert index.draw(view, pixels)
                assert bytes(pixels) == bits(matching, index, view)
            everything = picture.whole(index, 1, 1)
            found = index.find(everything)
            assert found is not None and sum(found.sums) == len(matching)
    assert len(counts) > 8


def test_the_sums_of_a_filter(tmp_path, monkeypatch):
    """Drawn from them, however coarse they are."""
    in_small_parts(monkeypatch)
    seen = write_random(tmp_path / "f", 2, 3000)
    whole = Index.build(str(tmp_path / "f"))
    monkeypatch.setattr(index_module, "AT_ONCE", 0)
    for most in (0, 2000, 200):
        base = whole
        if most:
            base = grid_of(tmp_path / "f", most)
            base.places = whole.places
            base.trace = whole.trace
        index = base.filtered(datagrind.Filter(by_range=True, any_block=True))
        matching = [a for a in seen if a.blocks]
        level = index.grid.levels[0]
        assert (level.row_bits, level.part_bits) == (
            base.grid.levels[0].row_bits,
            base.grid.levels[0].part_bits,
        )
        rows = -(-index.n_instrs >> level.row_bits)
        view = View(0, index.columns, 0, rows << level.row_bits, index.columns >> level.part_bits, rows)
        drawn = bytearray(view.width * view.height)
        lib.ip_grid_draw_level(index.grid, 0, view.raw(), ffi.from_buffer("uint8_t[]", drawn))
        assert bytes(drawn) == bits(matching, index, view)


@pytest.mark.parametrize("n_blocks", [10, 3000])
def test_slices(n_blocks, tmp_path, monkeypatch):
    """All of the log, each part once, the first ones spread over it; fewer where a beginning is dear."""
    monkeypatch.setattr(index_module, "STEP", 16)
    monkeypatch.setattr(index_module, "CHUNK", 16)
    monkeypatch.setattr(readers, "FEWEST", 20)
    monkeypatch.setattr(readers, "_cores", lambda: 2)
    with open(tmp_path / "f", "wb") as stream:
        w = datagrind.Writer(stream)
        context = w.context(w.bbdef([(1, 1)], [(0, 1, 0)] * 8), [1])
        for n in range(n_blocks):
            w.malloc_block(n << 12, 8, [7])
        for n in range(2000):
            w.bbrun(context, 1, [n << 12] * 8)
    whole = Index.build(str(tmp_path / "f"))
    trace = whole.trace.filtered(datagrind.Filter(by_range=True, any_block=True))
    slices = readers._slices(trace, whole.places)
    assert len(slices) > 50 if n_blocks == 10 else len(slices) == 2
    assert sum(one.size for one in slices) == (tmp_path / "f").stat().st_size - whole.places[0].offset
    ordered = sorted(slices)
    assert [one.end for one in ordered] == [*(one.begin for one in ordered[1:]), None]
    if n_blocks == 10:
        quarter = (ordered[-1].begin.offset - ordered[0].begin.offset) / 4
        assert [round(one.begin.offset / quarter) for one in slices[:5]] == [0, 4, 2, 1, 3]


def test_fetches_that_the_tracer_wrote(tmp_path):
    """They are shown when they are asked for."""
    with open(tmp_path / "f", "wb") as stream:
        w = datagrind.Writer(stream)
        context = w.context(w.bbdef([(1, 1), (2, 1)], [(2, 1, 0), (0, 8, 0), (2, 1, 1)]), [1])
        for _ in range(20):
            w.bbrun(context, 2, [1, 0x5000, 2])
    for fetches, n in ((False, 20), (True, 60)):
        trace = datagrind.Trace(tmp_path / "f", fetches=fetches)
        assert sum(chunk.count for chunk in trace.chunks()) == n


def test_fetches(tmp_path):
    write_random(tmp_path / "f", 1)
    index = Index.build(str(tmp_path / "f"), fetches=True)
    pages = {index.address(column) >> 12 for column in range(0, index.columns, 4096)}
    assert 1 in pages and 0x10 in pages
    pixels = bytearray(64 * 48)
    index.draw(picture.whole(index, 64, 48), pixels)
    assert 1 << lib.IP_DG_EXEC in pixels


def grid_of(path: Path, most_cells: int) -> Index:
    trace = datagrind.Trace(path)
    index = Index(trace)
    index.grid = ffi.gc(lib.ip_grid_new(most_cells), lib.ip_grid_free)
    for chunk in trace.chunks(datagrind.Accesses(50)):
        lib.ip_grid_add(index.grid, chunk.raw)
    lib.ip_grid_finish(index.grid)
    return index


@pytest.mark.parametrize("most", [4, 16, 64, 200, 1000, 0])
def test_sums_stay_right_however_coarse(most, tmp_path):
    seen = write_random(tmp_path / "f", 5, 1500)
    index = grid_of(tmp_path / "f", most)
    grid = index.grid
    if most >= 64:
        assert grid.levels[0].n_cells <= most
    pages = [grid.pages[n] for n in range(grid.n_pages)]
    touched = {
        (a.instr, pages.index(part >> 12), part & 4095, a.dir)
        for a in seen
        for part in range(a.address, a.address + max(a.size, 1))
    }
    for level in grid.levels[0 : grid.n_levels]:
        cells = {}
        for page in range(grid.n_pages):
            rows = [
                (level.cells[n].row, level.cells[n].part)
                for n in range(level.first[page], level.first[page + 1])
            ]
            assert rows == sorted(set(rows))
            for n in range(level.first[page], level.first[page + 1]):
                cell = level.cells[n]
                cells[cell.row, page, cell.part] = list(cell.sums)
        expected: dict[tuple[int, int, int], set[int]] = {}
        for instr, page, within, kind in touched:
            place = instr >> level.row_bits, page, within >> level.part_bits
            expected.setdefault(place, set()).add(kind)
        assert {place: {k for k in range(3) if sums[k]} for place, sums in cells.items()} == expected
        # An access counts once for each finest part that it reaches into.
        assert sum(map(sum, cells.values())) >= len(seen)


def test_drawn_from_sums(tmp_path, monkeypatch):
    """What is drawn from sums of no more than a pixel is off by less than one."""
    seen = write_random(tmp_path / "f", 2, 3000)
    index = Index.build(str(tmp_path / "f"))
    monkeypatch.setattr(index_module, "AT_ONCE", 0)
    view = View(0, index.columns, 0, index.n_instrs, 50, 60)
    assert index._level(view) is not None
    pixels = bytearray(view.width * view.height)
    assert index.draw(view, pixels)
    exact = bits(seen, index, view)
    for at, value in enumerate(exact):
        y, x = divmod(at, view.width)
        near = 0
        for row in range(max(y - 1, 0), y + 1):
            for column in range(max(x - 1, 0), x + 1):
                near |= pixels[row * view.width + column]
        assert value & ~near == 0
    # A view that the sums are too coarse for is drawn from them only if that may be.
    monkeypatch.setattr(index_module, "DIRECT", 0)
    narrow = View(0, 64, 0, index.n_instrs, 640, 60)
    assert not index.draw(narrow, bytearray(640 * 60), exact=False)
    assert index.draw(narrow, bytearray(640 * 60), exact=True)


def test_only_what_a_view_needs_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(index_module, "STEP", 16)
    monkeypatch.setattr(index_module, "CHUNK", 16)
    with open(tmp_path / "f", "wb") as stream:
        w = datagrind.Writer(stream)
        context = w.context(w.bbdef([(1, 1)] * 4, [(0, 1, n) for n in range(4)]), [1])
        for n in range(1000):
            w.bbrun(context, 4, [(0x50000 if n in (300, 301, 700) else 0x10000) + n] * 4)
    index = Index.build(str(tmp_path / "f"))
    whole = picture.whole(index, 9, 9)
    assert index.accesses(whole) == 4000
    rare = whole._replace(left=4096)
    assert 12 <= index.accesses(rare) < 800
    found = index.find(rare)
    assert found is not None and found.sums == (12, 0, 0)
    assert index.accesses(rare._replace(top=2000, bottom=2500)) == 0


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_corpus(path, cache, tmp_path):
    (tmp_path / "f").write_bytes(path.read_bytes())
    for _ in range(2):
        viewer = Viewer(str(tmp_path / "f"))
        view = picture.whole(viewer.index, 30, 20)
        viewer.picture(view, True, lambda: False)
        viewer.at(view, lambda: False)
        viewer.state()
    for words in [("user:a", "", False), ("", "range,malloc", True), ("fn:x", "fn:x", True)]:
        viewer.set_filter(*words)
        assert viewer.failed is None
        viewer.picture(picture.whole(viewer.index, 30, 20), True, lambda: False)


def test_there_are_places_where_nothing_matches(tmp_path, monkeypatch):
    monkeypatch.setattr(index_module, "STEP", 16)
    with open(tmp_path / "f", "wb") as stream:
        w = datagrind.Writer(stream)
        context = w.context(w.bbdef([(1, 1)], [(0, 1, 0)] * 1000), [1])
        for n in range(3000):
            w.bbrun(context, 1, [n] * 1000)
    wanted = datagrind.Filter(by_event=True, event_ips=[2])
    assert len(Index.build(str(tmp_path / "f"), filter=wanted).places) > 5
    index = Index.build(str(tmp_path / "f")).filtered(wanted)
    assert index.n_pages == 0 and index.columns == 0 and len(index.places) > 5


def test_what_is_found_in_a_rectangle(tmp_path):
    seen = write_random(tmp_path / "f", 4)
    index = Index.build(str(tmp_path / "f"))
    for a in seen[::9]:
        column = index.column(a.address)
        assert index.address(column) == a.address
        found = index.find(View(column, column + 1, a.instr, a.instr + 1, 1, 1))
        assert found is not None and found.instr == a.instr
        touching = [b for b in seen if b.instr == a.instr and 0 <= a.address - b.address < max(b.size, 1)]
        assert sum(found.sums) == len(touching)
    whole = index.find(picture.whole(index, 1, 1))
    assert whole is not None and sum(whole.sums) == len(seen)
    assert index.find(View(0, 1, index.n_instrs, index.n_instrs + 5, 1, 1)) is None


def test_a_picture_that_nobody_wants(tmp_path):
    write_random(tmp_path / "f", 4)
    index = Index.build(str(tmp_path / "f"))
    with pytest.raises(CancelledError):
        picture.draw(index, picture.whole(index, 10, 10), cancelled=lambda: True)


@pytest.mark.parametrize("fetches", [False, True])
def test_what_was_read_so_far(fetches, tmp_path, monkeypatch):
    """On the axes of the whole, more each time, and no access that is not there."""
    in_small_parts(monkeypatch, cores=1)
    monkeypatch.setattr(index_module, "PATIENCE", 0)
    seen = write_random(tmp_path / "f", 6, 3000)
    whole = Index.build(str(tmp_path / "f"))
    wanted = datagrind.Filter(by_event=True, event_labels=[b"one"])
    parts: list[Index] = []
    monkeypatch.setattr(index_module.time, "monotonic", lambda: 0)
    # A slice for each time that something is shown.
    allowed, asked = threading.Semaphore(0), threading.Semaphore(0)
    next_slice = readers.Readers._next

    def slowly(self):
        asked.release()
        assert allowed.acquire(timeout=60)
        piece = next_slice(self)
        if piece is None:
            asked.release()
        return piece

    def show(part):
        parts.append(part)
        assert fetches or asked.acquire(timeout=60)
        allowed.release()

    monkeypatch.setattr(readers.Readers, "_next", slowly)
    last = whole.filtered(wanted, fetches=fetches, so_far=show)
    assert last.is_whole and len(parts) > 5
    view = View(0, whole.columns, 0, whole.n_instrs, whole.columns >> 6, whole.n_instrs)
    matching = [a for a in seen if b"one" in a.events]
    expected = bits(matching, whole, view, seen)
    before = bytes(len(expected))
    ends = []
    for part in parts:
        assert not part.is_whole and part.n_instrs - whole.n_instrs in (0, fetches)
        assert (part.n_pages == whole.n_pages) or fetches
        assert part.grid.levels[0].row_bits == 0
        pixels = bytearray(view.width * view.height)
        assert not part.draw(view, pixels)
        assert part.find(view) is None
        ends.append(len(pixels.rstrip(b"\0")) // view.width)
        if fetches:
            continue  # of which nobody knew the pages before
        assert all(now & was == was for was, now in zip(before, pixels, strict=True))
        assert all(now & there == now for now, there in zip(pixels, expected, strict=True))
        before = pixels
    assert max(ends) > whole.n_instrs // 2
    some = next(n for n, part in enumerate(parts) if part.n_cells)
    # Spread over the time, but for fetches, which are read from the beginning on.
    assert (ends[some + 2] < whole.n_instrs // 2) == fetches


# ---- Pictures ----


def spread(path: Path) -> None:
    """Two neighbouring pages, a gap, one page; reads, writes, and both at one address."""
    with open(path, "wb") as stream:
        w = datagrind.Writer(stream)
        reads = w.context(w.bbdef([(0x400000, 1)], [(0, 1, 0)]), [0x400000])
        writes = w.context(w.bbdef([(0x400010, 1)], [(1, 1, 0)]), [0x400010])
        for n in range(16):
            w.bbrun(reads, 1, [0x10000 + 512 * n])
            w.bbrun(writes, 1, [0x10000 + 512 * n + (256 if n % 2 else 0)])
        w.bbrun(reads, 1, [0x20000])


def test_colours_and_borders(tmp_path):
    spread(tmp_path / "f")
    index = Index.build(str(tmp_path / "f"))
    assert (index.columns, index.n_instrs, index.gaps()) == (3 * 4096, 33, [2])
    png, exact = picture.draw(index, View(0, 3 * 4096, 0, 33, 96, 33))
    width, height, rows = decoded(png)
    assert exact and (width, height) == (96, 33)
    assert rows[0][0] == picture.READ and rows[1][0] == picture.WRITE
    assert rows[2][4] == picture.READ and rows[3][6] == picture.WRITE
    assert [row[32] for row in rows if row[32] not in (picture.READ, picture.WRITE)] == [
        picture.PAGE_BORDER
    ] * 31
    assert all(row[64] == picture.GAP for row in rows)
    assert all(row[95] == picture.BACKGROUND for row in rows)
    # Reads and writes of one pixel.
    _, _, one = decoded(picture.draw(index, View(0, 256, 0, 2, 1, 1))[0])
    assert one == [[picture.BOTH]]
    # Lines, where a pixel is 8 bytes; then no access is hidden by a gap.
    _, _, lines = decoded(picture.draw(index, View(4096 + 2048, 3 * 4096, 30, 33, 768, 3))[0])
    assert [x for x in range(256) if lines[2][x] == picture.LINE_BORDER] == list(range(0, 256, 8))
    assert lines[0][256] == picture.GAP and lines[2][256] == picture.READ


def test_many_gaps_leave_room_for_each_other(tmp_path):
    with open(tmp_path / "f", "wb") as stream:
        w = datagrind.Writer(stream)
        context = w.context(w.bbdef([(1, 1)], [(0, 1, 0)]), [1])
        for n in range(60):
            w.bbrun(context, 1, [n << 20])
    index = Index.build(str(tmp_path / "f"))
    _, _, rows = decoded(picture.draw(index, picture.whole(index, 60, 60))[0])
    at = [x for x, pixel in enumerate(rows[-1]) if pixel == picture.GAP]
    assert at and all(b - a >= picture.FEWEST_PIXELS for a, b in pairwise(at))
    # They are so many that none hides an access.
    assert all(rows[n][n] == picture.READ for n in range(60))
    _, _, rows = decoded(picture.draw(index, picture.whole(index, 40, 1))[0])
    assert picture.GAP not in rows[0]


# ---- What is kept ----


def drawn(index: Index) -> bytes:
    return picture.draw(index, picture.whole(index, 80, 60))[0]


def test_a_kept_index_is_the_one_that_was_made(cache, tmp_path, monkeypatch):
    path = tmp_path / "f"
    seen = write_random(path, 7)
    first = Index.open(str(path))
    assert (tmp_path / "f.dgx").exists()
    monkeypatch.setattr(Index, "build", None)
    again = Index.open(str(path))
    assert drawn(again) == drawn(first)
    assert again.places == first.places
    assert again.trace.ips() == first.trace.ips()
    names = ("n_bbdefs", "n_contexts", "n_bbruns", "n_instrs", "n_accesses", "n_blocks", "n_marks")
    assert [getattr(again.trace.raw, name) for name in names] == [
        getattr(first.trace.raw, name) for name in names
    ]
    assert list(again.trace.marks()) == list(first.trace.marks())
    for a in seen[::20]:
        assert again.trace.block_at(a.address, a.instr) == first.trace.block_at(a.address, a.instr)
    assert again.trace.stack(3) == first.trace.stack(3)


def test_another_file_of_the_same_name_has_another_index(cache, tmp_path):
    path = tmp_path / "f"
    write_random(path, 7)
    first = drawn(Index.open(str(path)))
    write_random(path, 8)
    assert drawn(Index.open(str(path))) != first
    assert drawn(Index.open(str(path))) == drawn(Index.build(str(path)))


def test_where_the_folder_cannot_be_written_the_index_goes_to_the_cache(cache, tmp_path):
    path = tmp_path / "f"
    write_random(path, 7)
    os.mkdir(tmp_path / "f.dgx")
    first = drawn(Index.open(str(path)))
    (kept,) = (cache / "interpose").iterdir()
    assert kept.suffix == ".dgx"
    assert drawn(Index.open(str(path))) == first


def test_what_is_no_file_is_no_index(cache, tmp_path):
    path = tmp_path / "f"
    write_random(path, 7)
    os.mkfifo(tmp_path / "f.dgx")
    assert Index._load(str(path), str(tmp_path / "f.dgx")) is None
    with open(tmp_path / "large", "wb") as stream:
        stream.truncate(1 << 40)
    assert Index._load(str(path), str(tmp_path / "large")) is None


def test_a_cut_file_keeps_its_error(cache, tmp_path):
    path = tmp_path / "f"
    write_random(path, 7)
    path.write_bytes(path.read_bytes()[:-3])
    for _ in range(2):
        index = Index.open(str(path))
        assert index.error is not None and index.error.reason == "The file ends within a record"
        assert index.n_pages > 0
    with pytest.raises(datagrind.FormatError):
        for _ in index.trace.chunks():
            pass


def test_what_was_dropped_is_told_again(cache, tmp_path):
    """Records that break a rule, more than are told, also by whoever opens the kept index."""
    path = tmp_path / "f"
    write_random(path, 7)
    whole = path.read_bytes()
    for wrong in (3, 100):  # records of a type that there is not
        path.write_bytes(whole + b"\x07\x01\x00" * wrong)
        told = []
        for _ in range(2):
            trace = Index.open(str(path)).trace
            told.append((trace.n_problems, trace.problems))
        assert Index._load(str(path), f"{path}.dgx") is not None
        assert told[0] == told[1] and told[0][0] >= 1
        assert all("Unknown record type" in problem.reason for problem in told[0][1])


@settings(max_examples=150)
@given(seed=st.integers(0, 2**32), changes=st.integers(1, 8))
def test_a_damaged_index_harms_nobody(seed, changes, tmp_path_factory):
    """Whatever is in it: it is refused, or something is drawn."""
    folder = tmp_path_factory.getbasetemp() / "damaged"
    folder.mkdir(exist_ok=True)
    path, kept = folder / "f", folder / "f.dgx"
    if not path.exists():
        write_random(path, 7)
        index = Index.build(str(path))
        assert index._save(str(folder / "whole"))
    data = bytearray((folder / "whole").read_bytes())
    rng = random.Random(seed)
    for _ in range(changes):
        at = rng.randrange(len(data)) if rng.random() < 0.7 else rng.randrange(0, 1000)
        if rng.random() < 0.1:
            del data[at : at + rng.randrange(1, 50)]
        else:
            data[at % len(data)] = rng.choice([0, 1, 8, 48, 57, 127, 255, rng.randrange(256)])
    kept.write_bytes(data)
    index = Index._load(str(path), str(kept))
    if index is None:
        return
    for view in [picture.whole(index, 40, 30), View(0, 5000, 3, 400, 64, 64)]:
        if view.bottom < 1 << 62 and view.right < 1 << 62:
            picture.draw(index, view)
            for level in range(index.grid.n_levels):
                lib.ip_grid_draw_level(
                    index.grid, level, view.raw(), ffi.new("uint8_t[]", view.width * view.height)
                )
            index.find(view)
    index.trace.block_at(0x10000, 5)
    list(index.trace.marks())
    for words in [
        {"by_event": True, "event_ips": [0x9010], "event_labels": [b"one"]},
        {"by_range": True, "range_ips": [0xA010], "range_labels": [b"two"]},
        {"by_range": True, "any_block": True, "any_range": True},
    ]:
        index.filtered(datagrind.Filter(**words))
