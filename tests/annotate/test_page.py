"""The HTML page, drawn by a real Chromium, and what hostile names do in it."""

from __future__ import annotations

import html
import io
import json
import os
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from interpose.annotate import page
from interpose.annotate.cli import main
from interpose.annotate.code import Code
from interpose.annotate.data import Data
from interpose.errors import InterposeError

EVIL = "</script><img src=x onerror=document.title='owned'><!--<script>&lt;b&gt;\"'"


class Drawn(HTMLParser):
    """The elements of a page and the text of its body, after the script ran."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: dict[str, int] = {}
        self.texts: list[str] = []
        self._hidden = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self._hidden += tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.texts))


def draw(file: Path, tab: str = "", then: str = "") -> Drawn:
    """What Chromium makes of a page; ``then`` is a script of the test's own."""
    if not shutil.which("chromium"):
        pytest.skip("chromium is not installed")
    if then:
        text = re.sub(r"<meta http-equiv[^>]*>", "", file.read_text()).replace("</body>", "")
        file = file.with_name("then.html")
        file.write_text(f"{text}<script>{then}</script></body></html>")
    home = file.parent / "home"
    home.mkdir(exist_ok=True)
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000"]
    command += [f"--user-data-dir={home}", "--dump-dom", f"file://{file}#{tab.replace(' ', '%20')}"]
    environ = {**os.environ, "HOME": str(home)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environ)
    assert done.returncode == 0, done.stderr[-2000:]
    return Drawn(done.stdout)


def content(file: Path) -> dict:
    found = re.search(r'id="data">(.*?)</script>', file.read_text(), re.DOTALL)
    return json.loads(found[1])


HAND = """\
# callgrind format
creator: hand
cmd: prog
event: Sum = Ir + Dr : Together
events: Ir Dr
ob=/o/prog
fl=f.c
fn=main
1 10 1
cfn=work
calls=3 2
1 90 9
fn=work
2 90 9
"""


def made(tmp_path: Path, *texts: str, include: Path | None = None) -> Path:
    names = []
    for number, text in enumerate(texts):
        names.append(str(tmp_path / f"{number}.out"))
        Path(names[-1]).write_text(text, errors="surrogateescape")
    words = ["-I", str(include)] if include else []
    assert main(["--html", *words, str(tmp_path / "page.html"), *names]) == 0
    return tmp_path / "page.html"


def test_the_content(tmp_path):
    (tmp_path / "f.c").write_text("int main(void)\nwork();\n")
    found = content(made(tmp_path, HAND, include=tmp_path))
    names = found["names"]
    functions = [(names[f[0]], names[f[1]], names[f[2]], f[3]) for f in found["functions"]]
    assert functions == [
        ("main", "f.c", "/o/prog", [[10, 1], [100, 10], 0]),
        ("work", "f.c", "/o/prog", [[90, 9], [90, 9], 3]),
    ]
    assert found["edges"] == [[0, 1, [3, [90, 9]]]]
    assert found["flames"] == [[[[0, 0, 0, 100, 10], [1, 1, 0, 90, 90]], [[0, 0, 0, 10, 1], [1, 1, 0, 9, 9]]]]
    assert found["sources"][0]["lines"] == [
        [1, "int main(void)", [[10, 1]], [[1, 3, [90, 9]]]],
        [2, "work();", [[90, 9]], []],
    ]
    assert found["runs"][0]["totals"] == [100, 10] and "estimated" in found["estimated"]


def test_the_page_loads_nothing(tmp_path):
    text = made(tmp_path, HAND).read_text()
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1])
    assert "default-src 'none'; script-src 'sha256-" in policy and "unsafe" not in policy
    page_itself = text[: text.index('id="data"')] + text[text.index("</script>", text.index('id="data"')) :]
    assert re.findall(r"https?://[^'\"\s]+", page_itself) == ["http://www.w3.org/2000/svg"]
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|fetch|XMLHttp", page_itself
    )
    assert not re.search(r"<(link|img|iframe|script[^>]*src)", page_itself)


TABS = {
    "Functions": "inclusive self calls function file object 100 100.00%",
    "Call graph": "Callers",
    "Flame graph": "stacks are estimated",
    "Source": "int main(void)",
    "Instructions": "The profile has no addresses",
}


@pytest.mark.parametrize("tab", TABS)
def test_tabs_are_drawn(tmp_path, tab):
    (tmp_path / "f.c").write_text("int main(void)\nwork();\n")
    drawn = draw(made(tmp_path, HAND, include=tmp_path), tab)
    assert TABS[tab] in drawn.text and "prog" in drawn.text and "Error" not in drawn.text


CLICKS = """
document.querySelector('#search').value = '^wo';
document.querySelector('#search').dispatchEvent(new Event('input'));
document.title = document.querySelectorAll('#functions tbody tr').length + ' found';
document.querySelector('#event').value = 1;
document.querySelector('#event').dispatchEvent(new Event('change'));
document.querySelector('#functions tbody .link').click();
"""


def test_search_events_and_links_work(tmp_path):
    drawn = draw(made(tmp_path, HAND), then=CLICKS)
    assert "1 found" in drawn.text and "10 Dr" in drawn.text
    # The function that was clicked, in the call graph: its caller is there, by the other event.
    assert (
        re.search(r"work f\.c \[ */o/prog *\]", drawn.text)
        and "Callers cost calls function 9 90.00% 3 main" in drawn.text
    )


def test_two_runs_are_compared(tmp_path):
    new = (
        HAND.replace("2 90 9", "2 60 9")
        .replace("1 90 9", "1 60 9")
        .replace("f.c", "/b/f.c")
        .replace("/o/", "/n/")
    )
    file = made(tmp_path, HAND, new)
    found = content(file)
    assert [(found["names"][f[0]], f[3][0], f[4][0]) for f in found["functions"]] == [
        ("main", [10, 1], [10, 1]),
        ("work", [90, 9], [60, 9]),
    ]
    drawn = draw(file)
    assert "old: " in drawn.text and "60 85.71% -30 60 85.71% -30 3 work" in drawn.text
    assert "old new" in draw(file, "Flame graph").text


@pytest.mark.parametrize("tab", TABS)
def test_names_never_become_markup(tmp_path, tab):
    text = HAND.replace("work", EVIL).replace("f.c", f"{EVIL}.c").replace("/o/prog", f"/{EVIL}\x1b")
    text = (
        text.replace("cmd: prog", f"cmd: {EVIL}")
        .replace("Together", EVIL)
        .replace("creator: hand", f"creator: {EVIL}")
    )
    text = text.replace("events: Ir Dr", "positions: instr line\nevents: Ir <img>").replace("Ir + Dr", "Ir")
    text = re.sub(r"^(\d)", r"0x\1 \1", text, flags=re.MULTILINE).replace("calls=3 2", "calls=3 2 2")
    file = made(tmp_path, text, text)
    assert "\x1b" not in file.read_text()
    drawn = draw(file, tab)
    assert drawn.tags.get("img", 0) == 0 and drawn.tags["script"] == 2 and "owned" not in drawn.texts
    shown = re.sub(r"\s+", " ", EVIL)
    assert shown in drawn.text and not re.search(r"(Type|Syntax|Reference)Error", drawn.text)


def test_sources_never_become_markup(tmp_path):
    (tmp_path / "f.c").write_text(f"{EVIL}\n\u2028\0{EVIL}\n")
    drawn = draw(made(tmp_path, HAND, include=tmp_path), "Source")
    assert drawn.tags.get("img", 0) == 0 and EVIL in drawn.text


def test_instructions_of_a_real_program(profiled, tmp_path):
    pytest.importorskip("capstone")
    out = tmp_path / "page.html"
    assert main(["--html", str(out), str(profiled / "full.out")]) == 0
    found = content(out)
    names = found["names"]
    code = next(c for c in found["code"] if names[found["functions"][c["function"]][0]] == "work")
    assert code["found"]
    listing = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", profiled / "profiled"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for address, text, *_ in code["rows"]:
        mnemonic = re.search(rf"^ +{address[2:]}:\t(\S+)", listing, re.MULTILINE)[1]
        assert text.split(" ")[0].rstrip("lqwb") == mnemonic.rstrip("lqwb"), (address, text)
    assert any(row[6] for row in code["rows"])
    drawn = draw(out, "Instructions")
    assert "=> " in drawn.text and "%rsp" in drawn.text


def test_instructions_of_each_level_of_recursion(tmp_path):
    text = "events: Ir\npositions: instr line\nob=o\nfn=f\n0x10 1 5\njcnd=1/5 0x20 2\n* *\nfn=f'2\n0x10 1 7\n"
    found = content(made(tmp_path, text))
    rows = {found["names"][found["functions"][c["function"]][0]]: c["rows"] for c in found["code"]}
    assert rows == {
        "f": [["0x10", None, 1, 1, [5], [], [["0x20", 5, 1]]]],
        "f'2": [["0x10", None, 1, 1, [7], [], []]],
    }


def test_code_of_files_that_are_no_programs(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "text").write_text("no program")
    elf = Path("/bin/true").read_bytes()
    (tmp_path / "cut").write_bytes(elf[:70])
    (tmp_path / "wild").write_bytes(elf[:32] + b"\xff" * 32)
    for name in ("fifo", "text", "cut", "wild", "none", "."):
        assert Code(str(tmp_path / name)).texts([0, 2**64 - 1]) == {}


def test_a_page_of_nothing(tmp_path):
    found = content(made(tmp_path, "events: Ir\n"))
    assert found["functions"] == []
    drawn = draw(tmp_path / "page.html", "Call graph")
    assert "There are no functions" in drawn.text


def test_runs_without_a_common_event(tmp_path):
    with pytest.raises(InterposeError, match="there is no event to show"):
        made(tmp_path, HAND, HAND.replace("Ir", "X").replace("Dr", "Y"))
    with pytest.raises(InterposeError, match="3 given"):
        made(tmp_path, HAND, HAND, HAND)


def test_a_large_page_is_bounded(monkeypatch):
    monkeypatch.setattr(page, "MAX_FUNCTIONS", 50)
    monkeypatch.setattr(page, "MAX_EDGES", 20)
    monkeypatch.setattr(page, "MAX_SOURCE_LINES", 10)
    data = Data()
    text = "".join(f"fn=f{i}\n{i} {i + 1}\ncfn=f{i + 1}\ncalls=1 1\n{i} 1\n" for i in range(500))
    data.read(io.BytesIO(f"events: Ir\nfl=a.c\n{text}".encode()), "x")
    found = page.Page([data], []).content()
    assert len(found["functions"]) == 50 and len(found["edges"]) == 20
    assert sum(len(source["lines"]) for source in found["sources"]) <= 10


def test_long_names_leave_room(tmp_path):
    """Names of thousands of characters (templates) take three lines, the head of a table stays in sight."""
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")
    long = "Box<" + "std::vector<int, std::allocator<int> >, " * 125 + "int>::run(int)"
    (tmp_path / "f.c").write_text("int main(void)\nwork();\n")
    text = HAND.replace("cmd: prog", f"cmd: {long}").replace("fn=work", f"fn={long}")
    text += "".join(f"fn=f{n}\n3 1 1\n" for n in range(200))
    file = made(tmp_path, text, include=tmp_path)
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=chromium, args=["--no-sandbox"] if os.getuid() == 0 else []
        )
        tab = browser.new_page(viewport={"width": 1200, "height": 700})
        tab.goto(f"file://{file}")

        def boxes(what: str) -> list[dict[str, float]]:
            return [found for each in tab.locator(what).all() if (found := each.bounding_box())]

        rows = boxes("#functions tbody tr")
        assert len(rows) == 202 and max(row["height"] for row in rows) < 80
        assert min(cell["width"] for cell in boxes("#functions tbody tr:first-child td.name")) > 80
        header = boxes("header")[0]
        assert header["height"] < 250
        tab.evaluate("scrollTo(0, 3000)")
        assert all(head["y"] >= header["height"] - 1 for head in boxes("#functions th"))
        tab.evaluate("scrollTo(0, 0)")
        assert tab.locator("#functions .link").nth(1).get_attribute("title") == long
        tab.locator("#functions .link").nth(1).click()
        assert boxes("h2")[0]["height"] < 120 and boxes("h2")[1]["y"] < 700
        tab.click("text=Source")
        assert max(row["height"] for row in boxes(".code tr")) < 100
        tab.click("text=Flame graph")
        tab.hover(".flame div >> nth=1")
        assert long in tab.inner_text("#details") and boxes("#details")[0]["height"] <= 0.31 * 700
        browser.close()
