"""interpose-report: SARIF, the page, comparisons; of real reports and hostile ones."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from report.sarif_rules import check

from interpose.errors import InterposeError
from interpose.formats import report
from interpose.reporting.cli import main

SOURCE = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>
__attribute__((noinline)) void lose(void) { memset(malloc(33), 1, 33); }
__attribute__((noinline)) void over(char *p) {
    p[4] = 1; /* write */
    p[5] = 1; /* another write */
}
int main(int argc, char **argv) {
    char *p = malloc(4), *undefined = malloc(1);
    over(p);
    if (*undefined) argc++;
    lose();
    free(p);
    free(undefined);
    if (fork() == 0) *(volatile int *)8 = 1;
    wait(0);
    return p[0];
}
"""


def build(folder: Path, source: str) -> Path:
    """The program, built in the folder ``src`` of a project."""
    (folder / "src").mkdir(parents=True, exist_ok=True)
    (folder / "src" / "prog.c").write_text(source)
    subprocess.run(["gcc", "-g", "-O0", "-w", "-o", "prog", "src/prog.c"], check=True, cwd=folder)
    return folder / "prog"


def recorded(folder: Path, source: str = SOURCE, *words: str, name: str = "out.jsonl") -> Path:
    out = folder / name
    command = [sys.executable, "-m", "interpose", "-q", "--leak-check=full"]
    command += [f"--json-file={out}", str(build(folder, source)), *words]
    subprocess.run(command, capture_output=True, timeout=120)
    return out


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    recorded(folder, SOURCE)
    return folder


def output(capsysbinary: pytest.CaptureFixture[bytes], *words: str | Path) -> tuple[int, bytes]:
    code = main([str(word) for word in words])
    return code, capsysbinary.readouterr().out


# -- SARIF ---------------------------------------------------------------------------------------------------


def test_sarif(project: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    code, text = output(capsysbinary, "--sarif", "--root", project, project / "out.jsonl")
    assert code == 0
    log = json.loads(text)
    check(log)
    (run,) = log["runs"]
    assert log["version"] == "2.1.0"
    results = run["results"]
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in results)
    kinds = [result["ruleId"] for result in results]
    assert kinds.count("InvalidWrite") == 3 and {
        "UninitCondition",
        "Leak_DefinitelyLost",
        "FatalSignal",
    } < set(kinds)
    first = results[0]
    (place,) = first["locations"]
    line = SOURCE.splitlines().index("    p[4] = 1; /* write */") + 1
    assert place["physicalLocation"]["artifactLocation"] == {"uri": "src/prog.c", "uriBaseId": "SRCROOT"}
    assert place["physicalLocation"]["region"] == {"startLine": line}
    assert [frame["location"]["logicalLocations"][0]["name"] for frame in first["stacks"][0]["frames"]] == [
        "over",
        "main",
    ]
    assert "bytes after a block of size 4 alloc'd" in first["relatedLocations"][0]["message"]["text"]
    flow = first["codeFlows"][0]["threadFlows"][0]["locations"]
    assert flow[-1]["location"]["message"]["text"] == "Invalid write of size 1"
    leak = next(result for result in results if result["ruleId"] == "Leak_DefinitelyLost")
    # Not in malloc, which is ours, but where the program called it.
    assert leak["locations"][0]["logicalLocations"][0]["name"] == "lose" and leak["level"] == "warning"
    ends = [(each.get("exitSignalNumber"), each["executionSuccessful"]) for each in run["invocations"]]
    assert ends == [(None, True), (11, False)]
    prints = [
        json.dumps(result["partialFingerprints"]) for result in results if result["ruleId"] != "FatalSignal"
    ]
    assert len(set(prints)) == len(prints)


def test_sarif_of_a_comparison(project: Path, tmp_path: Path, capsysbinary) -> None:
    changed = SOURCE.replace("lose();", "").replace("over(p);", "over(p); p[-1] = 1;")
    new = recorded(tmp_path, changed)
    code, text = output(capsysbinary, "--sarif", "--baseline", project / "out.jsonl", "--root", tmp_path, new)
    log = json.loads(text)
    check(log)
    states = {result.get("baselineState") for result in log["runs"][0]["results"]}
    assert code == 2 and {"new", "unchanged", "absent"} <= states


# -- comparisons ---------------------------------------------------------------------------------------------


def test_lines_that_move_change_nothing(project: Path, tmp_path: Path, capsysbinary) -> None:
    moved = "/* more */\n" * 7 + SOURCE.replace("int main", "\n\n\nint unused;\nint main")
    new = recorded(tmp_path, moved)
    code, text = output(capsysbinary, "--baseline", project / "out.jsonl", new)
    assert code == 0 and text.startswith(b"0 new, 0 fixed, 6 unchanged"), text


def test_new_and_fixed(project: Path, tmp_path: Path, capsysbinary) -> None:
    changed = SOURCE.replace("    p[5] = 1; /* another write */\n", "").replace(
        "free(p);", "free(p); free(p);"
    )
    new = recorded(tmp_path, changed)
    code, text = output(capsysbinary, "--baseline", project / "out.jsonl", "--root", tmp_path, new)
    assert code == 2
    assert text.startswith(b"Invalid free() / delete / delete[] / realloc()\n")
    assert b"Fixed:\n   Invalid write of size 1: " in text and b"prog.c:9 in over" in text
    assert text.rstrip().endswith(b"1 new, 1 fixed, 5 unchanged")


def test_text(project: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    code, text = output(capsysbinary, project / "out.jsonl")
    assert code == 0 and b"Process" in text and b"died of signal 11 (SIGSEGV)" in text
    assert text.rstrip().endswith(b"5 errors and 1 loss record of 2 programs")


# -- the page ------------------------------------------------------------------------------------------------

EVIL = "</script><img src=x onerror=document.title='owned'><!--<script>&lt;b&gt;\"'\x1b[31m\u202e"


class Tags(HTMLParser):
    """The elements of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: dict[str, int] = {}
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def hostile(folder: Path) -> Path:
    frame = {"ip": "0x1", "object": EVIL, "function": EVIL, "directory": EVIL, "file": EVIL, "line": 1}
    start = {"record": "start", "pid": 1, "format": "interpose-report", "version": 1, "ppid": 0, "tool": EVIL}
    error = {"record": "error", "pid": 1, "number": 1, "kind": EVIL, "what": EVIL, "stack": [frame]}
    error["aux"] = [{"text": EVIL, "stack": [frame]}]
    error["suppression"] = {"kind": EVIL, "frames": [EVIL], "text": EVIL}
    death = {
        "record": "fatal_signal",
        "pid": 1,
        "signal": 11,
        "name": EVIL,
        "code": 1,
        "event": EVIL,
        "stack": [frame],
    }
    records = [{**start, "reason": "start", "command": [EVIL]}, error, death]
    path = folder / "hostile.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.mark.parametrize("words", [[], ["--sarif"], ["--html"]])
def test_hostile_names_give_no_orders(words: list[str], tmp_path: Path, capsysbinary) -> None:
    _, text = output(capsysbinary, *words, "--root", tmp_path, hostile(tmp_path))
    assert b"\x1b" not in text and b"\xe2\x80\xae" not in text
    if words == ["--html"]:
        assert Tags(text.decode()).tags == Tags(page_of_nothing(tmp_path, capsysbinary)).tags
    if words == ["--sarif"]:
        check(json.loads(text))


def page_of_nothing(folder: Path, capsysbinary) -> str:
    path = folder / "plain.jsonl"
    start = {
        "record": "start",
        "pid": 1,
        "format": "interpose-report",
        "version": 1,
        "ppid": 0,
        "tool": "none",
    }
    path.write_text(json.dumps({**start, "reason": "start"}) + "\n")
    return output(capsysbinary, "--html", path)[1].decode()


def drawn(page: Path, search: str = "") -> Tags:
    if not shutil.which("chromium"):
        pytest.skip("chromium is not installed")
    home = page.parent / "home"
    home.mkdir(exist_ok=True)
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000"]
    command += [f"--user-data-dir={home}", "--dump-dom", f"file://{page}#search={search}"]
    environ = {**os.environ, "HOME": str(home)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environ)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "<title>owned" not in done.stdout
    return Tags(done.stdout)


def test_the_page_is_drawn_with_source(project: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert main(["--html", "-o", str(page), "--root", str(project), str(project / "out.jsonl")]) == 0
    assert re.search(r"content=\"default-src (&#x27;|')none", page.read_text())
    found = " ".join(drawn(page, "another%20invalid").text)
    assert "0 of 6 errors" in found
    found = " ".join(drawn(page, "decision").text)
    assert "1 of 6 errors" in found and "if (*undefined) argc++;" in found
    assert "src/prog.c:14 in main" in found and "SIGSEGV" in found


def test_the_page_draws_hostile_names_as_text(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    main(["--html", "-o", str(page), str(hostile(tmp_path))])
    found = drawn(page)
    assert "img" not in found.tags and any("onerror=document.title" in text for text in found.text)


# -- what is wrong -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "arguments are required"),
        (["/nonexistent"], "/nonexistent: No such file"),
        (["--sarif", "--html", "x"], "not allowed with"),
        (["--root", "/nonexistent", "x"], "/nonexistent: this is no folder"),
        (["--sarf", "x"], "--sarf"),
        (["/dev/null"], "this is no report"),
        (["/bin/true"], "no JSON"),
    ],
)
def test_problems_are_one_line(words: list[str], message: str) -> None:
    with pytest.raises(InterposeError) as caught:
        main(words)
    assert message in caught.value.message


def test_the_command(project: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "interpose.reporting"]
    done = subprocess.run([*command, "/dev/null"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr == "interpose: /dev/null: this is no report: it does not begin with a record 'start'\n"  # fmt: skip  # noqa: E501
    done = subprocess.run(
        [*command, "-o", "/nonexistent/x", project / "out.jsonl"], capture_output=True, text=True
    )
    assert done.returncode == 1 and "No such file" in done.stderr
    assert subprocess.run([*command, "--help"], capture_output=True).returncode == 0


def test_a_pipe_can_be_read(project: Path) -> None:
    """What a shell makes of <(zcat old.jsonl.gz)."""
    command = [sys.executable, "-m", "interpose.reporting.cli"]
    text = (project / "out.jsonl").read_bytes()
    file = subprocess.run([*command, project / "out.jsonl"], capture_output=True)
    pipe = subprocess.run([*command, "/dev/stdin"], input=text, capture_output=True)
    assert (pipe.returncode, pipe.stdout, pipe.stderr) == (0, file.stdout, b"")


def test_the_same_error_of_many_processes_is_one(tmp_path: Path) -> None:
    reader = report.Reader()
    for pid in range(1, 4):
        start = {"record": "start", "pid": pid, "format": "interpose-report", "version": 1, "ppid": 0}
        stack = [{"ip": "0x1", "function": "f", "file": "a.c", "line": 3}]
        error = {
            "record": "error",
            "pid": pid,
            "number": 1,
            "kind": "InvalidRead",
            "what": "w",
            "stack": stack,
        }
        for record in ({**start, "tool": "memcheck", "reason": "fork"}, error):
            reader.feed(json.dumps(record))
    from interpose.reporting.compare import compare, distinct

    (error,) = distinct(reader.report).values()
    assert error.count == 3
    assert [each.count for each in distinct(reader.report).values()] == [3]
    assert not compare(reader.report, reader.report).new
