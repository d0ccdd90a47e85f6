"""Very many errors: the limits' messages, exact counts, tables that grow (docs/spec/output.md section 3)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import interpose.report.errors as errors
from interpose.jit._native import lib

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static void leaf(char *p) { p[4] = 1; }
/* As many stacks as there are leaves; the innermost frames are few. */
static void tree(char *p, int depth) {
    if (!depth) { leaf(p); return; }
    tree(p, depth - 1);
    tree(p, depth - 1);
}
__attribute__((noinline)) static void places(char *p) {
    __asm__ volatile(".rept 3000\n movb $1, 4(%0)\n .endr" : : "r"(p) : "memory");
}
int main(int argc, char **argv) {
    char *volatile p = malloc(4);
    long many = atol(argv[2]);
    if (argv[1][0] == 't') tree(p, many);
    if (argv[1][0] == 'p') for (long i = 0; i < many; i++) places(p);
    if (argv[1][0] == 's') {
        for (long i = 0; i < many; i++) leaf(p);
        p[5] = 1; /* another one, behind the limit */
    }
    puts("end");
    free(p);
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("many")
    (folder / "many.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O1", "-fno-inline", "-fno-optimize-sibling-calls", "-w", "-o", "many",
                    "many.c"], check=True, cwd=folder)  # fmt: skip
    return folder / "many"


def report(program: Path, what: str, many: int, *options: str) -> str:
    command = [sys.executable, "-m", "interpose", "--leak-check=no", *options, str(program), what, str(many)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout == "end\n"
    return re.sub(r"^==\d+== ?", "", done.stderr, flags=re.MULTILINE)


def summary(text: str) -> tuple[int, int]:
    """Errors and contexts."""
    (found,) = re.findall(r"^ERROR SUMMARY: (\d+) errors from (\d+) contexts", text, re.MULTILINE)
    return int(found[0]), int(found[1])


REST = """Final error counts will be inaccurate.  Go fix your program!
Rerun with --error-limit=no to disable this cutoff.  Note
that errors may occur in your program without prior warning from
Valgrind, because errors are no longer being displayed.
"""


def test_the_limit_is_one() -> None:
    assert errors.MAX_FOUND == lib.IP_ERRORS_MOST
    assert errors.FRAMES_COMPARED == lib.IP_ERROR_FRAMES


def test_ten_million_errors(program: Path) -> None:
    """The message comes at the next error, of which nothing is said; the number stays."""
    text = report(program, "s", 10_000_100)
    message = "\n\nMore than 10000000 total errors detected.  I'm not reporting any more.\n" + REST
    assert text.count("Invalid write") == 1 and text.count(message) == 1
    assert summary(text) == (10_000_000, 1)


def test_exactly_ten_million_errors(program: Path) -> None:
    """Only one behind them is one too many."""
    text = report(program, "s", 9_999_999)
    assert text.count("Invalid write") == 2 and "More than" not in text
    assert summary(text) == (10_000_000, 2)


def test_suppressed_errors_do_not_count(program: Path, tmp_path: Path) -> None:
    (tmp_path / "leaf.supp").write_text("{\n leaf\n Memcheck:Addr1\n fun:leaf\n}\n")
    text = report(program, "s", 10_000_100, f"--suppressions={tmp_path}/leaf.supp")
    assert text.count("Invalid write") == 1 and "More than" not in text
    assert "ERROR SUMMARY: 1 errors from 1 contexts (suppressed: 10000100 from 1)" in text


def test_no_limit(program: Path) -> None:
    text = report(program, "s", 10_000_100, "--error-limit=no")
    assert "More than" not in text and summary(text) == (10_000_101, 2)


def test_many_contexts(program: Path) -> None:
    """Behind the thousandth, not even numbers."""
    text = report(program, "p", 2)
    assert text.count("Invalid write") == 1000
    assert text.count("More than 100 errors detected.  Subsequent errors\n") == 1
    message = "\n\nMore than 1000 different errors detected.  I'm not reporting any more.\n" + REST
    assert text.count(message) == 1 and summary(text) == (1000, 1000)


def test_many_contexts_without_limit(program: Path) -> None:
    """The runtime's table grows."""
    text = report(program, "p", 3, "--error-limit=no")
    assert text.count("Invalid write") == 3000 and summary(text) == (9000, 3000)


def test_many_contexts_in_a_document(program: Path, tmp_path: Path) -> None:
    """It has them all, and the log says nothing of less detail, as under Valgrind."""
    document, log = tmp_path / "errors.xml", tmp_path / "log"
    report(program, "p", 1, "--xml=yes", f"--xml-file={document}", f"--log-file={log}")
    assert document.read_text().count("<error>") == 3000
    assert "More than" not in log.read_text()


def test_many_stacks_of_few_contexts(program: Path) -> None:
    """Stacks that differ in outer frames only are repetitions, however many."""
    text = report(program, "t", 15, "--num-callers=50")
    assert summary(text) == (1 << 15, 4)
