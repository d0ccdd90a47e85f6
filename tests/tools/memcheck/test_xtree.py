"""--xtree-memory and --xtree-leak: Valgrind's files but for addresses, numbers of processes and order."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tools.memcheck.guests import PACKAGE, TIMEOUT, VERSIONS, report_of, valgrind_version

SOURCE = Path(__file__).parents[2] / "guests" / "memcheck_heap" / "xtree.c"
OURS = [sys.executable, "-m", "interpose", "--tool=memcheck"]
beside_valgrind = pytest.mark.skipif(valgrind_version() not in VERSIONS, reason=f"compares with {VERSIONS}")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("xtree") / "xtree"
    include = Path(PACKAGE) / "include"
    build = ["gcc", "-g", "-w", f"-I{include}", "-o", str(path), str(SOURCE)]
    subprocess.run(build, check=True, timeout=TIMEOUT)
    return path


def tree(path: Path, drop_allocators: bool = False) -> tuple[list[str], list[str]]:
    """A callgrind tree: its head, and a line for each stack with its costs, sorted."""
    head, *parts = re.sub(r"^pid: \d+\n", "", path.read_text(), flags=re.M).split("\nfl=", 1)
    names: dict[str, str] = {}
    stacks = []

    def name(match: re.Match[str]) -> str:
        key = f"{'fn' if 'fn' in match[1] else 'fl'}{match[2]}"
        if match[3]:
            names[key] = match[3]
        return f"{match[1]}={names[key]}"

    *groups, last = ("fl=" + parts[0]).split("\n\n")
    for group in groups:
        lines = [re.sub(r"^(c?f[nil])=\((\d+)\)(?: (.*))?$", name, line) for line in group.split("\n")]
        if drop_allocators:  # who replaces malloc, and where, is told apart
            lines = [
                re.sub(
                    r"^(c?f[il])=(?:\S*(?:heap_stubs|vg_replace_malloc)\.c|UnknownFile\?\?\?)$", r"\1=", line
                )
                for line in lines
            ]
            lines = [re.sub(r"^(calls=0 )\d+$", r"\1", line) for line in lines]
            lines[-1] = lines[-1].split(" ", 1)[1]
        stacks.append("\n".join(lines))
    return head.splitlines(), [*sorted(stacks), last]


@beside_valgrind
@pytest.mark.parametrize(
    "options",
    (
        ["--xtree-memory=allocs", "--xtree-memory-file=tree"],
        ["--xtree-memory=full", "--xtree-memory-file=tree"],
        ["--xtree-memory=full", "--xtree-memory-file=tree", "--xtree-compress-strings=no"],
        ["--xtree-leak=yes", "--xtree-leak-file=tree"],
    ),
    ids=("allocs", "full", "uncompressed", "leak"),
)
def test_trees_are_valgrinds(options: list[str], program: Path) -> None:
    told, trees = [], []
    path = program.parent / "tree"
    for command in (["valgrind"], OURS):
        report = report_of([*command, *options], program)
        told.append(report.split("HEAP SUMMARY" if "memory" in options[0] else "LEAK SUMMARY")[0])
        trees.append(tree(path, drop_allocators="leak" in options[0]))
        path.unlink()
    assert trees[1] == trees[0]
    told = [
        re.sub(r"(?s)\AMemcheck.*?\n\n|^(?:   (?:at|by)| Address).*\n", "", text, flags=re.M) for text in told
    ]
    assert told[1] == told[0]


@beside_valgrind
def test_functions_without_names(program: Path) -> None:
    stripped = program.with_name("stripped")
    shutil.copy(program, stripped)
    subprocess.run(["strip", stripped], check=True, timeout=TIMEOUT)
    trees = []
    path = program.parent / "tree"
    for command in (["valgrind"], OURS):
        report_of([*command, "--xtree-memory=full", "--xtree-memory-file=tree"], stripped)
        trees.append(tree(path))
        path.unlink()
    assert trees[1] == trees[0]
    assert "UnknownFn???" in "".join(trees[1][1])


@beside_valgrind
def test_massifs_format_is_valgrinds(program: Path) -> None:
    texts = []
    path = program.parent / "tree.ms.1"
    for command in (["valgrind"], OURS):
        report_of([*command, "--xtree-memory=full", f"--xtree-memory-file={path}"], program)
        texts.append(re.sub(r"^time=\d+$|0x[0-9A-F]+", "", path.read_text(), flags=re.M))
        path.unlink()
    assert texts[1] == texts[0]


@pytest.mark.skipif(shutil.which("callgrind_annotate") is None, reason="needs valgrind's callgrind_annotate")
def test_callgrind_annotate_reads_them(program: Path) -> None:
    options = ["--xtree-memory=full", "--xtree-leak=yes"]
    report_of([*OURS, *options, "--xtree-memory-file=memory", "--xtree-leak-file=leaks"], program)
    for name, events in (("memory", r"curB .*totFdBk"), ("leaks", r"RB .*dDBk")):
        done = subprocess.run(
            ["callgrind_annotate", "--inclusive=yes", str(program.parent / name)],
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=True,
        )
        assert re.search(rf"^Events recorded: +{events}", done.stdout, re.M)
        assert re.search(r"xtree\.c:main\b", done.stdout) and not done.stderr


def test_each_process_writes_its_own(program: Path) -> None:
    report = report_of([*OURS, "--xtree-memory=allocs", "--xtree-memory-file=each.%p"], program, "fork")
    written = re.findall(r"xtree memory report: (.*)", report)
    assert len(set(written)) == 2
    totals = [re.search(r"^totals: (\d+) ", Path(path).read_text(), re.M) for path in written]
    assert sorted(int(found[1]) for found in totals if found) == [1110, 6110]


def test_an_argument_of_two_lines(program: Path) -> None:
    """It ended the file's head: nobody could read the rest."""
    files = [str(program.parent / name) for name in ("lines", "lines.ms")]
    for path in files:
        report_of([*OURS, "--xtree-memory=full", f"--xtree-memory-file={path}"], program, "two\nlines\r")
        [line] = re.findall(r"^cmd: (.*)$", Path(path).read_bytes().decode(), re.M)
        assert line == rf"{program} two\nlines\r"


def of_both(name: str) -> list[str]:
    files = [f"--xtree-memory-file={name}", f"--xtree-leak-file={name}"]
    return [*OURS, "-q", "--xtree-memory=full", "--xtree-leak=yes", *files]


def test_a_file_that_cannot_be_written_is_told(program: Path) -> None:
    report = report_of(of_both("/nowhere/tree"), program)
    assert len(re.findall(r"^Error: (?!Error)", report, re.M)) == 2


def test_quiet_runs_tell_of_no_file(program: Path) -> None:
    report = report_of(of_both("tree.%n"), program)
    assert " report: " not in report
    modes = {path.stat().st_mode & 0o777 for path in program.parent.glob("tree.[12]")}
    assert modes == {0o644}


@pytest.mark.parametrize("option", ("--xtree-memory", "--xtree-leak"))
@pytest.mark.parametrize(
    ("name", "reason"), (("", "No filename given"), ("%q{NOT_SET_HERE}", "'NOT_SET_HERE' is not set"))
)
def test_a_name_that_is_none_is_told_before_the_run(option: str, name: str, reason: str) -> None:
    on = "full" if option == "--xtree-memory" else "yes"
    words = [*OURS, f"{option}={on}", f"{option}-file={name}", "/bin/echo", "ran"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"Bad option: {option}-file={name}\n" in done.stderr and reason in done.stderr
    unused = subprocess.run(
        [*OURS, "-q", f"{option}-file={name}", "/bin/echo", "ran"], capture_output=True, text=True
    )
    assert (unused.returncode, unused.stdout, unused.stderr) == (0, "ran\n", "")


def test_stacks_that_are_not_kept_otherwise(program: Path) -> None:
    path = program.parent / "kept"
    report_of(
        [*OURS, "--keep-stacktraces=none", "--xtree-memory=full", f"--xtree-memory-file={path}"], program
    )
    assert "totals: 1110 4 1741 13 631 9" in path.read_text()
