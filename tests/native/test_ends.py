"""Reports in JSON, SARIF and HTML of programs on the real CPU: however processes end, it is told."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hooks.conftest import needs_frida
from native.test_life import wait_until
from native.test_run import compile_text

from interpose.formats.report import read
from interpose.native import ends

pytestmark = needs_frida

# Ends as its argument says; children say "child" before they do.
PROGRAM = """
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static void end(const char *how) {
    if (!strcmp(how, "exit")) exit(3);
    if (!strcmp(how, "_exit")) _exit(4);
    if (!strcmp(how, "quick_exit")) quick_exit(5);
    if (!strcmp(how, "exit_group")) syscall(SYS_exit_group, 6);
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "kill")) raise(SIGKILL);
    if (!strcmp(how, "fault")) *(volatile int *)8 = 1;
    if (!strcmp(how, "exec")) execl("/bin/sh", "sh", "-c", "exit 9", (char *)0);
    if (!strcmp(how, "failed exec")) execl("/nonexistent", "sh", (char *)0);
    if (!strcmp(how, "system")) exit(system("exit 14") >> 8);
}
int main(int argc, char **argv) {
    if (strcmp(argv[1], "forks")) end(argv[1]);
    for (int i = 2; i < argc; i++) {
        if (!fork()) {
            end(argv[i]);
            return 7;
        }
        wait(0);
    }
    if (argc > 2 && !fork()) {
        while (getppid() == atoi(getenv("PARENT"))) usleep(1000);
        return 8;
    }
    return 7;
}
"""
RUNNER = "import os, sys; os.environ['PARENT'] = str(os.getpid()); os.execv(sys.executable, sys.argv[1:])"


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_text(tmp_path_factory.mktemp("ends"), "program", PROGRAM)


def interpose(folder: Path, *words: object, name: str = "report.json") -> subprocess.CompletedProcess[str]:
    files = [f"--{form}-file={folder}/{name if form == 'json' else f'{form}.out'}" for form in FORMS]
    command = [sys.executable, "-m", "interpose", "--engine=native", *files, *map(str, words)]
    runner = [sys.executable, "-c", RUNNER, *command]
    return subprocess.run(runner, capture_output=True, text=True, timeout=60)


FORMS = ("json", "sarif", "html")


def records(folder: Path, count: int, name: str = "report.json") -> list[dict[str, Any]]:
    """Those of a report as soon as so many processes have ended, and the documents were made of them."""
    deadline = time.monotonic() + 60
    while True:
        lines = [line for path in folder.glob(name) for line in path.open()]
        found = [json.loads(line) for line in lines if line.endswith("\n")]
        done = sum(record["record"] == "end" and not record.get("traced") for record in found)
        if done >= count and all(is_whole(folder / f"{form}.out", count) for form in FORMS[1:]):
            return found
        assert time.monotonic() < deadline, found
        time.sleep(0.02)


def is_whole(document: Path, count: int) -> bool:
    text = document.read_text() if document.exists() else ""
    if document.name.startswith("html"):
        return text.rstrip().endswith("</html>")
    try:
        (run,) = json.loads(text)["runs"]
    except ValueError:
        return False
    return len(run["invocations"]) >= count


def told(record: dict[str, Any]) -> tuple[Any, ...]:
    names = ("reason", "how", "code", "signal", "traced")
    return tuple(record[name] for name in names if name in record)


@pytest.mark.parametrize(
    ("how", "code", "end"),
    [
        ("exit", 3, ("exit", 3)),
        ("exit_group", 6, ("exit", 6)),
        ("abort", -6, ("signal", 6)),
        ("kill", -9, ("signal", 9)),
        ("exec", 9, ("exec", False)),
        ("failed exec", 7, ("exit", 7)),
    ],
)
def test_end_of_the_program(how: str, code: int, end: tuple[Any, ...], program: Path, tmp_path: Path) -> None:
    found = interpose(tmp_path, program, how)
    assert (found.returncode, found.stderr) == (code, "")
    assert [told(record) for record in records(tmp_path, 1)] == [("start",), end]


def test_exit_is_told_before_the_parent_hears_of_it(program: Path, tmp_path: Path) -> None:
    assert interpose(tmp_path, program, "quick_exit").returncode == 5
    assert read(str(tmp_path / "report.json")).complete
    assert is_whole(tmp_path / "sarif.out", 1) and is_whole(tmp_path / "html.out", 1)


def test_children_have_reports_of_their_own(program: Path, tmp_path: Path) -> None:
    """The last one outlives its parent."""
    hows = ("_exit", "abort", "fault", "exec", "system")
    found = interpose(tmp_path, program, "forks", *hows, name="%p.json")
    assert (found.returncode, found.stderr) == (7, "")
    by_process: dict[int, list[tuple[Any, ...]]] = {}
    for record in records(tmp_path, 2 + len(hows), "*.json"):
        by_process.setdefault(record["pid"], []).append(told(record))
    assert len(list(tmp_path.glob("*.json"))) == 2 + len(hows)
    assert sorted(by_process.values(), key=str) == sorted(
        [
            [("start",), ("exit", 7)],
            [("fork",), ("exit", 4)],
            [("fork",), ("signal", 6)],
            [("fork",), ("signal", 11)],
            [("fork",), ("exec", False)],
            [("fork",), ("exit", 14)],
            [("fork",), ("exit", 8)],
        ],
        key=str,
    )


def test_programs_that_are_followed(program: Path, tmp_path: Path) -> None:
    found = interpose(tmp_path, "--trace-children=yes", program, "system")
    assert (found.returncode, found.stderr) == (14, "")
    found_records = records(tmp_path, 2)
    first = found_records[0]["pid"]
    assert [told(each) for each in found_records if each["pid"] == first] == [("start",), ("exit", 14)]
    assert [told(each) for each in found_records if each["pid"] != first] == [("exec",), ("exit", 14)]


@pytest.mark.parametrize("asked", [False, True])
def test_status_of_somebody_elses_child(asked: bool) -> None:
    """Before and after its parent has asked for it."""
    process = subprocess.Popen(["/bin/sh", "-c", "kill -ABRT $$"])
    pidfd = os.pidfd_open(process.pid)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    if asked:
        process.wait()
    status = ends.status_of(process.pid, pidfd)
    os.close(pidfd)
    process.wait()
    assert (status is None and asked) or status in (6, 6 | 0x80)


def test_nobody_says_how_a_process_ended(tmp_path: Path) -> None:
    """An older kernel, whose parent was faster: the report says that much."""
    from interpose.options.parse import parse
    from interpose.report.jsonlines import JsonReport
    from interpose.report.log import FileNames, Log

    config = parse([f"--json-file={tmp_path}/report.json", "--engine=native", "/bin/true"], {})
    names = FileNames(4711)
    reports = ends.Reports(config, Log(None, 4711), JsonReport.open(config, names))
    reports.forked(4712, 4711)
    reports.ended(4712, None)
    reports.exits(4711, 3)
    reports.ended(4711, 0)
    lines = [json.loads(line) for line in (tmp_path / "report.json").read_text().splitlines()]
    assert [(line["pid"], *told(line)) for line in lines] == [
        (4712, "fork"),
        (4712, "killed"),
        (4711, "exit", 3),
    ]


def test_process_that_is_attached_to(tmp_path: Path) -> None:
    process = subprocess.Popen(["/bin/sh", "-c", "read line; exit 5"], stdin=subprocess.PIPE)
    command = [sys.executable, "-m", "interpose", f"--attach={process.pid}"]
    try:
        for name in ("first.json", "second.json"):
            subprocess.run([*command, f"--json-file={tmp_path}/{name}"], check=True, timeout=60)
            if name == "first.json":
                detach = [sys.executable, "-m", "interpose", f"--detach={process.pid}"]
                subprocess.run(detach, check=True, timeout=60)
                (end,) = read(f"{tmp_path}/{name}").processes
                assert (end.reason, end.how) == ("attach", "detach")
        process.communicate(b"\n", timeout=60)
        found = [json.loads(line) for line in (tmp_path / "first.json").read_text().splitlines()]
        assert found[0]["command"] == ["/bin/sh", "-c", "read line; exit 5"]
        assert found[0]["ppid"] == os.getpid()
        (tmp_path / "first.json").unlink()
        assert wait_until(lambda: read(f"{tmp_path}/second.json").complete, 60)
        assert [told(each) for each in map(json.loads, (tmp_path / "second.json").open())] == [
            ("attach",),
            ("exit", 5),
        ]
    finally:
        process.kill()
        process.wait()


def test_log_by_process(program: Path, tmp_path: Path) -> None:
    """What hooks print in children and what is said about them is in the file of each."""
    hooks = tmp_path / "hooks.py"
    hooks.write_text(
        "import interpose\n@interpose.wrap('libc.so*', 'quick_exit')\n"
        "def quick_exit(call, code: int) -> None: print('leaves with', code); call(code)\n"
    )
    command = [sys.executable, "-m", "interpose", "--engine=native", f"--hooks={hooks}"]
    command += [f"--log-file={tmp_path}/%p.log", str(program), "forks", "quick_exit", "quick_exit"]
    subprocess.run([sys.executable, "-c", RUNNER, *command], timeout=60)
    texts = sorted(re.sub(r"\*\*\d+\*\* ", "", path.read_text()) for path in tmp_path.glob("*.log"))
    said = [text for text in texts if text]
    assert said == ["leaves with 5\n"] * 2 and len(texts) in (3, 4)
