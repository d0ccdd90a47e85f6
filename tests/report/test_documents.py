"""SARIF and the page of the run itself: --sarif-file and --html-file."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from report.sarif_rules import check

SOURCE = """
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static int over(char *p) { return p[4]; }
static int after(char *p) { return p[2]; }
int main(int argc, char **argv) {
    char *p = malloc(4), *how = argc > 1 ? argv[1] : "";
    int r = over(p) == 7;
    if (*how) {
        int ends[2];
        pipe(ends);
        pid_t child = fork();
        if (child == 0) {
            if (!strcmp(how, "outlive")) {
                close(ends[1]);
                read(ends[0], &r, 1);
                r = 0;
            }
            free(p);
            r += after(p) == 7;
            if (!strcmp(how, "exec"))
                execl(argv[0], argv[0], (char *)0);
            if (!strcmp(how, "kill"))
                kill(getppid(), SIGKILL);
            return r;
        }
        if (!strcmp(how, "outlive"))
            return 0;
        waitpid(child, NULL, 0);
        if (!strcmp(how, "kill"))
            pause();
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documents")
    (folder / "prog.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O0", "-o", "prog", "prog.c"], check=True, cwd=folder)
    return folder / "prog"


def run(program: Path, *options: str, words: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "interpose", "-q", *options, str(program), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=program.parent)


def told(path: Path) -> tuple[list[tuple[int, bool]], list[tuple[str, str, int]]]:
    """Of a SARIF file: each process's end, and rule, function and occurrences of each result."""
    log: dict[str, Any] = json.loads(path.read_text())
    check(log)
    (only,) = log["runs"]
    rules = only["tool"]["driver"]["rules"]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in only["results"])
    ends = [(each["processId"], each["executionSuccessful"]) for each in only["invocations"]]
    results = [
        (
            result["ruleId"],
            result["locations"][0]["logicalLocations"][0]["name"],
            result["occurrenceCount"],
        )
        for result in only["results"]
    ]
    return ends, results


def shown(path: Path) -> dict[str, Any]:
    """The data of a page."""
    found = re.search(r"<script[^>]*application/json[^>]*>(.*?)</script>", path.read_text(), re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_they_are_what_the_report_makes(program: Path) -> None:
    done = run(program, "--json-file=a.jsonl", "--sarif-file=a.sarif", "--html-file=a.html")
    assert done.returncode == 0
    ends, results = told(program.parent / "a.sarif")
    assert [success for _, success in ends] == [True] and results == [("InvalidRead", "over", 1)]
    for form, name in (("--sarif", "a.sarif"), ("--html", "a.html")):
        command = [sys.executable, "-m", "interpose.reporting", form, "a.jsonl"]
        made = subprocess.run(command, capture_output=True, timeout=60, cwd=program.parent, check=True)
        assert made.stdout == (program.parent / name).read_bytes()


def test_processes_that_share_a_name_share_the_document(program: Path) -> None:
    run(program, "--sarif-file=b.sarif", "--html-file=b.html", words=("fork",))
    ends, results = told(program.parent / "b.sarif")
    assert [success for _, success in ends] == [True, True]
    assert results == [("InvalidRead", "over", 1), ("InvalidRead", "after", 1)]
    assert len(shown(program.parent / "b.html")["processes"]) == 2


def test_each_process_has_its_own(program: Path) -> None:
    run(program, "--sarif-file=c.%p.sarif", words=("fork",))
    found = {}
    for path in program.parent.glob("c.*.sarif"):
        ((pid, success),), results = told(path)
        assert success and path.name == f"c.{pid}.sarif"
        found[tuple(results)] = pid
    assert set(found) == {(("InvalidRead", "over", 1),), (("InvalidRead", "after", 1),)}


def test_a_program_that_is_executed_goes_on_in_it(program: Path) -> None:
    run(program, "--trace-children=yes", "--sarif-file=d.sarif", words=("exec",))
    ends, results = told(program.parent / "d.sarif")
    assert [success for _, success in ends] == [True, False, True]
    assert results == [("InvalidRead", "over", 2), ("InvalidRead", "after", 1)]


def test_a_program_that_is_killed_leaves_them(program: Path) -> None:
    # What is left to do for a process that was killed its supervisor does after it is gone: wait for that.
    reading, writing = os.pipe()
    command = [
        sys.executable,
        "-m",
        "interpose",
        "-q",
        f"--log-fd={writing}",
        "--sarif-file=e.sarif",
        "./prog",
    ]
    process = subprocess.Popen([*command, "kill"], cwd=program.parent, pass_fds=[writing])
    os.close(writing)
    assert process.wait(60) == -9
    with open(reading, "rb") as log:
        log.read()
    ends, results = told(program.parent / "e.sarif")
    assert ends[0] == (process.pid, False) and ("InvalidRead", "over", 1) in results


@pytest.mark.parametrize("form", ["sarif", "html"])
def test_a_file_that_cannot_be_had_is_one_line_and_nothing_runs(program: Path, form: str) -> None:
    done = run(program, f"--{form}-file=/none/x")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"interpose: Cannot create {form.upper()} file '/none/x': No such file or directory\n"
    )
    assert "Expected 'p', 'n'" in run(program, f"--{form}-file=%z").stderr


def test_a_full_disk_is_one_line(program: Path) -> None:
    done = run(program, "--sarif-file=/dev/full", "--log-file=f.log")
    assert done.returncode == 0
    lines = (program.parent / "f.log").read_text().splitlines()
    assert lines[-1].endswith("Cannot write the sarif file: No space left on device")


@pytest.mark.parametrize("how", ["fork", "outlive"])
def test_a_pipe_gets_it_once(program: Path, how: str) -> None:
    command = [sys.executable, "-m", "interpose", "-q", "--log-file=/dev/null", "--sarif-file=/dev/stdout"]
    done = subprocess.run(
        [*command, "./prog", how], capture_output=True, text=True, timeout=60, cwd=program.parent
    )
    assert json.loads(done.stdout)["version"] == "2.1.0"


def test_the_last_process_completes_it(program: Path) -> None:
    # Standard output is the child's, too: it is at its end when both are gone.
    command = [
        sys.executable,
        "-m",
        "interpose",
        "-q",
        "--log-fd=1",
        "--sarif-file=g.sarif",
        "./prog",
        "outlive",
    ]
    subprocess.run(command, stdout=subprocess.PIPE, timeout=60, cwd=program.parent, check=True)
    ends, results = told(program.parent / "g.sarif")
    assert [success for _, success in ends] == [True, True]
    assert results == [("InvalidRead", "over", 1), ("InvalidRead", "after", 1)]
