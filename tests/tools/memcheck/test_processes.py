"""Leaks of children that were forked, executed or ended by a signal, each in a log of its own; and errors of
programs whose allocator is a preloaded library: as Valgrind reports them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tools.memcheck.guests import PACKAGE, TIMEOUT, VERSIONS, normalise, valgrind_version

GUESTS = Path(__file__).parents[2] / "guests" / "memcheck_heap"
LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
OURS = [sys.executable, "-m", "interpose", "--tool=memcheck", "--track-origins=no"]
OPTIONS = ["--leak-check=full", "--show-leak-kinds=all", "--trace-children=yes"]
pytestmark = pytest.mark.skipif(valgrind_version() not in VERSIONS, reason=f"compares with {VERSIONS}")


def environment(**more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "PYTHONPATH": PACKAGE, **more}


def build(name: str, folder: Path, *libraries: str) -> Path:
    program = folder / name
    command = ["gcc", "-g", "-w", "-o", str(program), str(GUESTS / f"{name}.c"), *libraries]
    subprocess.run(command, check=True, timeout=TIMEOUT)
    return program


def reports(command: list[str], program: Path, *arguments: str, **variables: str) -> list[str]:
    """The logs of all processes, of what each executed last, sorted: a child's number may be lower."""
    folder = program.parent / ("ours" if command is OURS else "theirs")
    folder.mkdir(exist_ok=True)
    subprocess.run(
        [*command, *OPTIONS, f"--log-file={folder}/%p", str(program), *arguments],
        env=environment(**variables),
        cwd=program.parent,
        timeout=TIMEOUT,
        check=False,
    )
    found = []
    for log in list(folder.iterdir()):
        text = re.sub(r"^(==\d+== )Parent PID.*\n", "", log.read_text(), flags=re.M)
        # One log for the programs before and after an exec: Valgrind empties it there.
        last = re.split(r"^(?===\d+== Memcheck, a memory)", text, flags=re.M)[-1]
        found.append(normalise(last))
        log.unlink()
    return sorted(found)


@pytest.mark.parametrize(
    "case", ("fork", "fork-exec", "term", "grandchild", "vfork-exec", "exec", "fork-lost", "fork-first")
)
def test_leaks_of_children(case: str, tmp_path: Path) -> None:
    program = build("children", tmp_path)
    ours, theirs = (reports(command, program, case) for command in (OURS, ["valgrind"]))
    assert ours == theirs
    assert any("loss record" in report for report in ours)


def compare_allocator(program: Path, options: list[str], **variables: str) -> None:
    """The errors of tests/guests/memcheck_heap/allocated.c are those that Valgrind reports."""
    texts = []
    for command in (OURS, ["valgrind"]):
        folder = program.parent / command[0].rpartition("/")[2]
        folder.mkdir()
        log = folder / "log"
        subprocess.run(
            [*command, *options, "--leak-check=full", f"--log-file={log}", str(program)],
            env=environment(**variables),
            timeout=TIMEOUT,
            check=False,
        )
        text = re.sub(
            r"total heap usage: .*", "", normalise(re.sub(r"==\d+== Parent.*\n", "", log.read_text()))
        )
        texts.append(re.sub(r"(?s)\n\n(?:(?!\n\n).)*(?:TCMalloc|MallocExt)(?:(?!\n\n).)*", "", text))
    for line in (
        "Invalid read",
        "Invalid free",
        "Conditional jump",
        "100 bytes in 1 blocks are definitely lost",
    ):
        assert line in texts[0]
    errors = [
        re.findall(r"^(?:[A-Z].*\n(?:   .*\n| .*\n)+)", text.split("HEAP SUMMARY")[0], re.M) for text in texts
    ]
    assert errors[0] == errors[1]


@pytest.mark.parametrize("library", ("libjemalloc.so.2", "libtcmalloc_minimal.so.4"))
@pytest.mark.parametrize("synonym", (False, True), ids=("as it is", "by name"))
def test_a_preloaded_allocator(library: str, synonym: bool, tmp_path: Path) -> None:
    if not (LIBRARIES / library).exists():
        pytest.skip(f"needs {library}")
    options = [f"--soname-synonyms=somalloc={library}"] if synonym else []
    compare_allocator(build("allocated", tmp_path), options, LD_PRELOAD=str(LIBRARIES / library))


@pytest.mark.parametrize("synonym", (False, True), ids=("as it is", "by name"))
def test_an_allocator_in_the_program(synonym: bool, tmp_path: Path) -> None:
    archive = LIBRARIES / "libjemalloc.a"
    if not archive.exists():
        pytest.skip(f"needs {archive}")
    program = build("allocated", tmp_path, str(archive), "-lpthread", "-ldl", "-lstdc++", "-lm")
    compare_allocator(program, ["--soname-synonyms=somalloc=NONE"] if synonym else [])
