"""The page in a real browser: what it draws is what ``--png`` draws."""

from __future__ import annotations

import base64
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dgview.traces import build_guest, decoded, write_program, write_random

from interpose.dgview import index as index_module
from interpose.dgview import picture, readers
from interpose.dgview.index import Index, View
from interpose.dgview.server import Server
from interpose.dgview.viewer import Viewer
from interpose.formats import datagrind

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")

SIZE = {"width": 760, "height": 400}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"] if os.getuid() == 0 else []
        )
        yield browser
        browser.close()


class Page:
    """A page on a log, and what went wrong in it."""

    def __init__(self, browser: Any, path: Path) -> None:
        self.server = Server(Viewer(str(path)))
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        self._thread.start()
        self.context = browser.new_context(viewport=SIZE)
        self.page = self.context.new_page()
        self.faults: list[str] = []
        self.requests: list[str] = []
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on(
            "dialog", lambda dialog: (self.faults.append(f"dialog {dialog.message}"), dialog.dismiss())
        )
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(self.server.url)
        self.settle()

    def close(self) -> None:
        self.context.close()
        self.server.shutdown()
        self._thread.join()
        self.server.server_close()
        assert self.faults == []
        assert all(url.startswith((self.server.origin, "blob:")) for url in self.requests)

    @property
    def index(self) -> Index:
        return self.server.viewer.index

    @property
    def view(self) -> View:
        left, right, top, bottom = map(int, self.page.evaluate("document.body.dataset.view").split(","))
        width, height = self.page.evaluate("[canvas.width, canvas.height]")
        return View(left, right, top, bottom, width, height)

    def settle(self) -> None:
        """Until the newest view is drawn, to the pixel."""
        for _ in range(400):
            exact, serial_now = self.page.evaluate("[document.body.dataset.exact, String(serial)]")
            if exact == serial_now:
                return
            self.page.wait_for_timeout(25)
        raise AssertionError("the picture does not come")

    def colours(self) -> list[list[tuple[int, int, int]]]:
        """Of the canvas."""
        text = self.page.evaluate(
            """() => {
                const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
                let text = "";
                for (let i = 0; i < data.length; i += 8192)
                    text += String.fromCharCode(...data.subarray(i, i + 8192));
                return btoa(text);
            }"""
        )
        data = base64.b64decode(text)
        width = self.view.width
        pixels = [tuple(data[i : i + 3]) for i in range(0, len(data), 4)]
        return [pixels[i : i + width] for i in range(0, len(pixels), width)]

    def check(self) -> View:
        """The canvas is the picture that the command draws of the view."""
        self.settle()
        view = self.view
        assert self.colours() == decoded(picture.draw(self.index, view)[0])[2]
        return view

    def spot(self, column: int, instr: int) -> str:
        """What the page says of a place."""
        view, box = self.view, self.page.locator("#canvas").bounding_box()
        x = (column + 0.5 - view.left) / (view.right - view.left) * box["width"]
        y = (instr + 0.5 - view.top) / (view.bottom - view.top) * box["height"]
        before = self.page.evaluate("looked")
        self.page.mouse.move(box["x"] + x, box["y"] + y)
        self.page.wait_for_function(
            "before => looked > before && document.body.dataset.spot === String(looked)", arg=before
        )
        return self.page.locator("#spot").inner_text()

    def drag(self, x0: float, y0: float, x1: float, y1: float) -> None:
        """In parts of the canvas."""
        box = self.page.locator("#canvas").bounding_box()
        self.page.mouse.move(box["x"] + x0 * box["width"], box["y"] + y0 * box["height"])
        self.page.mouse.down()
        self.page.mouse.move(box["x"] + x1 * box["width"], box["y"] + y1 * box["height"], steps=4)
        self.page.mouse.up()

    def show(self, **words: object) -> None:
        """Fill in the form and send it."""
        for name in ("events", "ranges"):
            self.page.fill(f"#{name}", str(words.get(name, "")))
        self.page.set_checked("#fetches", bool(words.get("fetches")))
        self.page.click("#apply")


@pytest.fixture
def pages(browser: Any) -> Iterator[Any]:
    opened: list[Page] = []

    def make(path: Path) -> Page:
        opened.append(Page(browser, path))
        return opened[-1]

    yield make
    for page in opened:
        page.close()


@pytest.fixture(scope="module")
def random_trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "trace"
    write_random(path, 21, 2000)
    return path


def test_what_it_shows_is_what_the_command_draws(pages, random_trace):
    page = pages(random_trace)
    view = page.check()
    assert view[:4] == (0, page.index.columns, 0, page.index.n_instrs)
    assert page.page.title() == str(random_trace)
    assert page.page.inner_text("#left") == f"0x{page.index.address(0):x}"
    assert {picture.READ, picture.WRITE} <= {pixel for row in page.colours() for pixel in row}


def test_zooming_and_moving(pages, random_trace):
    page = pages(random_trace)
    whole = page.view
    page.drag(0.25, 0.5, 0.5, 0.75)
    view = page.check()
    assert (
        abs(view.left - whole.right // 4) < whole.right // 50
        and abs(view.right - whole.right // 2) < whole.right // 50
    )
    assert abs(view.top - whole.bottom // 2) < whole.bottom // 50
    box = page.page.locator("#canvas").bounding_box()
    page.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.page.keyboard.down("Shift")
    page.page.mouse.wheel(0, -100)
    page.page.keyboard.up("Shift")
    across = page.check()
    assert across[2:4] == view[2:4] and across.right - across.left < view.right - view.left
    page.page.keyboard.down("Alt")
    page.page.mouse.wheel(0, -100)
    page.page.keyboard.up("Alt")
    down = page.check()
    assert down[:2] == across[:2] and down.bottom - down.top < across.bottom - across.top
    page.page.mouse.wheel(0, 100)
    assert page.check().right - page.view.left > down.right - down.left
    for button, is_across, is_smaller in [
        ("address-in", True, True),
        ("time-in", False, True),
        ("address-out", True, False),
        ("time-out", False, False),
        ("in", None, True),
    ]:
        last = page.check()
        page.page.click(f"#{button}")
        now = page.check()
        sizes = [(v.right - v.left, v.bottom - v.top) for v in (last, now)]
        for axis in (0, 1):
            if is_across is None or axis == (not is_across):
                assert (sizes[1][axis] < sizes[0][axis]) == is_smaller and sizes[0][axis] != sizes[1][axis]
            else:
                assert sizes[0][axis] == sizes[1][axis]
    smaller = page.check()
    assert smaller.right - smaller.left < view.right - view.left
    page.page.keyboard.down("Shift")
    page.drag(0.5, 0.5, 0.25, 0.5)
    page.page.keyboard.up("Shift")
    moved = page.check()
    assert moved.left > smaller.left and moved.right - moved.left == smaller.right - smaller.left
    page.page.keyboard.press("ArrowUp")
    assert page.check().top <= moved.top
    for _ in range(30):
        page.page.keyboard.press("+")
    deepest = page.check()
    assert deepest.right - deepest.left == 16 and deepest.bottom - deepest.top == 16
    page.page.keyboard.press("0")
    assert page.check() == whole
    page.page.keyboard.press("Backspace")
    assert page.check() == deepest
    page.page.click("#out")
    page.page.click("#all")
    assert page.check() == whole


def test_a_coarse_picture_is_replaced_by_the_exact_one(pages, random_trace, monkeypatch):
    monkeypatch.setattr(index_module, "AT_ONCE", 0)
    monkeypatch.setattr(index_module, "DIRECT", 0)
    page = pages(random_trace)
    page.drag(0.1, 0.01, 0.12, 0.99)
    page.check()
    assert any("exact=1" in url for url in page.requests)


def test_the_pointer(pages, tmp_path):
    executable, symbols = build_guest(tmp_path)
    places = write_program(tmp_path / "trace", executable, symbols)
    page = pages(tmp_path / "trace")
    column = page.index.column(places["heap"])
    page.drag(0.3, 0.0, 0.7, 0.4)
    page.settle()
    page.page.keyboard.press("0")
    page.settle()
    text = page.spot(column + 24, 7)
    assert "write of 4 bytes" in text and f"address 0x{places['heap'] + 24:x}" in text
    for line in (
        "leaf (symbols.c:2)",
        "middle (symbols.c:3)",
        "main (symbols.c:5)",
        "Heap block of 256 bytes",
    ):
        assert line in text
    assert "table" in page.spot(page.index.column(places["table"]), 0)
    assert "event phase" in page.spot(page.index.column(places["stack"]), 64)


def test_the_pointer_says_that_it_waits(pages, random_trace, monkeypatch):
    """The first question may have to wait for symbols."""
    page = pages(random_trace)
    released = threading.Event()
    at = page.server.viewer.at

    def slow(*words):
        released.wait(20)
        return at(*words)

    monkeypatch.setattr(page.server.viewer, "at", slow)
    page.page.mouse.move(300, 200)
    page.page.wait_for_selector("#spot:has-text('Reading')")
    released.set()
    page.page.wait_for_selector("#spot:has-text('address 0x')")
    assert "Reading" not in page.page.locator("#spot").inner_text()


def test_filters(pages, random_trace):
    page = pages(random_trace)
    whole = page.view
    page.show(events="user:one", ranges="malloc,user:two", fetches=True)
    page.page.wait_for_selector("body[data-generation='1']")
    page.check()
    assert picture.FETCH not in {pixel for row in page.colours() for pixel in row}, (
        "fetches are in no heap block"
    )
    assert page.index is not page.server.viewer.whole
    page.show(fetches=True)
    page.page.wait_for_selector("body[data-generation='2']")
    page.check()
    assert picture.FETCH in {pixel for row in page.colours() for pixel in row}
    page.show(events="user:one,malloc")
    page.page.wait_for_selector('#message:has-text("Invalid condition `malloc\'")')
    page.show(events="user:nobody")
    page.page.wait_for_selector("#message:has-text('No accesses match the criteria.')")
    page.show()
    page.page.wait_for_selector("body[data-generation='4']")
    assert page.check() == whole


CONDITIONS = {
    ("fn:leaf", ""): {"table", "heap"},
    ("fn:middle", ""): {"table", "heap"},
    ("fn:main", "malloc"): {"heap"},
    ("fn:nothing,fn:leaf", ""): {"table", "heap"},
    ("dso:{dso}", ""): {"table", "heap", "stack"},
    ("file:{file}", "range"): {"table"},
    ("user:phase", ""): {"stack"},
    ("user:phase,fn:leaf", ""): {"table", "heap", "stack"},
    ("user:phase", "malloc"): set(),
    ("", "range"): {"table"},
    ("", "user:table"): {"table"},
    ("", "fn:middle"): {"heap"},
    ("", "dso:{dso},user:table"): {"table", "heap"},
    ("", "file:{file}"): {"heap"},
    ("", "malloc"): {"heap"},
}


def test_every_condition_while_it_is_looked_at(pages, tmp_path):
    executable, symbols = build_guest(tmp_path)
    places = write_program(tmp_path / "trace", executable, symbols)
    page = pages(tmp_path / "trace")
    source = page.server.viewer.symbols.levels(places["leaf"])[0].path
    for generation, ((events, ranges), expected) in enumerate(CONDITIONS.items(), 1):
        words = [text.format(dso=executable, file=source) for text in (events, ranges)]
        page.show(events=words[0], ranges=words[1])
        page.page.wait_for_selector(f"body[data-generation='{generation}']")
        if not expected:
            page.page.wait_for_selector("#message:has-text('No accesses match the criteria.')")
            continue
        page.check()
        index = page.index
        shown = {index.address(column) >> 12 for column in range(0, index.columns, 4096)}
        at = {
            name: {places[name] + step >> 12 for step in (0, 252, -248)}
            for name in ("table", "heap", "stack")
        }
        assert {name for name, numbers in at.items() if numbers & shown} == expected, words
        assert {pixel for row in page.colours() for pixel in row} & {
            picture.READ,
            picture.WRITE,
            picture.BOTH,
        }


def test_the_view_stays_when_the_filter_changes(pages, random_trace):
    """The same addresses and the same time, also if other pages are left out; and the views to go back to."""
    page = pages(random_trace)
    whole = page.view
    page.drag(0.6, 0.25, 0.9, 0.75)
    first = page.check()
    page.drag(0.25, 0.25, 0.75, 0.75)
    view = page.check()
    ends = [page.index.address(column) for column in (view.left, view.right - 1)]
    page.show(fetches=True)
    page.page.wait_for_selector("body[data-generation='1']")
    moved = page.check()
    assert moved.left > view.left, "pages of code come before"
    assert [page.index.address(column) for column in (moved.left, moved.right - 1)] == ends
    assert moved[2:4] == view[2:4]
    page.show(events="user:nobody")
    page.page.wait_for_selector("body[data-generation='2']")
    page.page.wait_for_selector("#message:has-text('No accesses match the criteria.')")
    page.show()
    page.page.wait_for_selector("body[data-generation='3']")
    assert page.check() == view
    page.page.keyboard.press("Backspace")
    assert page.check() == first
    page.page.keyboard.press("Backspace")
    assert page.check() == whole


def test_a_view_that_has_just_come_stays(pages, random_trace):
    """Its addresses are told when the filter has changed already."""
    page = pages(random_trace)
    held, are_held = [], [True]

    def answer(route):
        if are_held:
            held.append(route)
        else:
            route.continue_()

    page.page.route("**/addresses?*", answer)
    page.drag(0.25, 0.25, 0.75, 0.75)
    view = page.view
    ends = [page.index.address(column) for column in (view.left, view.right - 1)]
    page.show(fetches=True)
    page.page.wait_for_function("() => state.generation === 1")
    assert held
    are_held.clear()
    for route in held:
        route.continue_()
    page.page.wait_for_selector("body[data-generation='1']")
    moved = page.check()
    assert [page.index.address(column) for column in (moved.left, moved.right - 1)] == ends
    assert moved[2:4] == view[2:4]


def test_a_filter_shows_what_it_has_read(pages, tmp_path, monkeypatch):
    write_random(tmp_path / "trace", 21, 2000)
    monkeypatch.setattr(index_module, "PATIENCE", 0.04)
    monkeypatch.setattr(index_module, "STEP", 64)
    monkeypatch.setattr(index_module, "CHUNK", 64)
    page = pages(tmp_path / "trace")
    released = threading.Event()
    monkeypatch.setattr(readers, "FEWEST", 20)
    next_slice, taken = readers.Readers._next, []

    def half(self):
        taken.append(self)
        assert len(taken) < 10 or released.wait(60)
        return next_slice(self)

    monkeypatch.setattr(readers.Readers, "_next", half)
    page.show(events="user:one")
    page.page.wait_for_selector("body[data-generation='1']")
    page.page.wait_for_selector("#message:has-text('Reading: ')")
    shown = {pixel for row in page.colours() for pixel in row}
    for _ in range(400):
        if shown & {picture.READ, picture.WRITE, picture.BOTH}:
            break
        page.page.wait_for_timeout(25)
        shown = {pixel for row in page.colours() for pixel in row}
    else:
        raise AssertionError("nothing is shown before all is read")
    assert "The log is being read" in page.spot(page.index.columns // 2, 100)
    page.drag(0.25, 0.1, 0.75, 0.6)  # it can be moved in
    zoomed = page.view
    ends = [page.index.address(column) for column in (zoomed.left, zoomed.right - 1)]
    released.set()
    page.page.wait_for_selector("body[data-generation='2']")
    view = page.check()
    assert page.index.is_whole and view[2:4] == zoomed[2:4]
    assert [page.index.address(column) for column in (view.left, view.right - 1)] == ends
    # What was read is not read again.
    monkeypatch.setattr(Index, "filtered", None)
    page.show()
    page.page.wait_for_selector("body[data-generation='3']")
    page.show(events="user:one")
    page.page.wait_for_selector("body[data-generation='4']")
    assert page.check() == view


def test_names_are_never_markup(pages, tmp_path):
    evil = "<img src=x onerror=alert(1)>"
    (tmp_path / evil).mkdir()
    path = tmp_path / evil / "<script>alert(2)<"
    with open(path, "wb") as stream:
        w = datagrind.Writer(stream)
        w.text_avma(0x400000, f"/{evil}")
        context = w.context(w.bbdef([(0x400010, 1)], [(1, 8, 0)]), [0x400010, 0x400020])
        w.track_range(0x5000, 4096, f"{evil}", "<b>bold</b>")
        w.start_event("</script><svg onload=alert(3)>")
        w.malloc_block(0x5000, 4096, [0x400010])
        for n in range(16):
            w.bbrun(context, 1, [0x5000 + 8 * n])
    page = pages(path)
    text = page.spot(page.index.column(0x5000 + 64), 8)
    assert f"range {evil} (<b>bold</b>)" in text and "event </script><svg onload=alert(3)>" in text
    assert f"(in /{evil})" in text
    assert page.page.title() == str(path)
    page.show(events=f"fn:{evil}")
    page.page.wait_for_selector("body[data-generation='1']")
    page.show(events=evil)
    page.page.wait_for_selector("#message:has-text('Invalid condition')")
    assert evil in page.page.inner_text("#message")
    assert page.page.locator("img, svg, b, iframe").count() == 0
    assert page.page.locator("script").count() == 1
