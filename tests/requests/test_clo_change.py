"""CLO_CHANGE: options of --help-dyn-options take effect while the program runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

Build = Callable[..., Path]
Engine = Callable

SUPPRESSION = "{\n   mine\n   Memcheck:Addr1\n   fun:again\n   ...\n}\n"

# Option word, and a pattern that the log has with it and has not without it, or the other way round.
EFFECTS = [
    ("--child-silent-after-fork=yes", r"(?s)HEAP SUMMARY.*HEAP SUMMARY", False),
    ("--error-markers=BEGIN,END", r"^BEGIN$", True),
    ("--freelist-vol=0", r"3 bytes inside a block of size 10 free'd", False),
    ("--gen-suppressions=all", r"^\{$", True),
    ("--leak-check=no", r"definitely lost", False),
    ("--merge-recursive-frames=2", r"(again.*\n.*){2}again", False),
    ("--quiet", r"HEAP SUMMARY", False),
    ("--show-below-main=yes", r"main \(changes.c.*\n.*__libc_start_call_main", True),
    ("--show-error-list=yes", r"errors in context 1 of", True),
    ("--show-leak-kinds=none", r"are definitely lost in loss record", False),
    ("--show-realloc-size-zero=no", r"realloc\(\) with size 0", False),
    ("--show-reachable=yes", r"33 bytes in 1 blocks are still reachable", True),
    ("--errors-for-leak-kinds=none", r"ERROR SUMMARY: 3 errors", True),
    ("--stats=yes", r"translat", True),
    ("--suppressions=@SUPP@", r"0 bytes after a block of size 10", False),
    ("--sym-offsets=yes", r"again\+\d+", True),
    ("--time-stamp=yes", r"^==00:00:", True),
    ("--trace-children=yes", r"Command: true", True),
    ("--trace-flags=00001000", r"==== Stage 5", True),
    ("--trace-redir=yes", r"^REDIR: .*malloc", True),
    ("--verbose", r"REDIR: .*malloc", True),
]


def _log(run: Engine, program: Path, tmp_path: Path, options: list[str], words: list[str]) -> str:
    supp = tmp_path / "mine.supp"
    supp.write_text(SUPPRESSION)
    options, words = ([word.replace("@SUPP@", str(supp)) for word in part] for part in (options, words))
    found = run("memcheck", program, *options, words=words).err
    return re.sub(r"^(==|--)(?!00:)\d+\1 ", "", found, flags=re.MULTILINE)


@pytest.mark.parametrize(("word", "pattern", "with_it"), EFFECTS, ids=[word for word, _, _ in EFFECTS])
def test_takes_effect(
    build: Build, run: Engine, tmp_path: Path, word: str, pattern: str, with_it: bool
) -> None:
    program = build("changes.c")
    log = _log(run, program, tmp_path, ["--leak-check=full"], [word])
    body = log.partition("Handling new value")[2] or log
    assert bool(re.search(pattern, body, re.MULTILINE)) == with_it, log
    plain = _log(run, program, tmp_path, ["--leak-check=full"], [])
    assert bool(re.search(pattern, plain, re.MULTILINE)) != with_it, plain


def test_what_is_said(build: Build, run: Engine) -> None:
    """Valgrind 3.19's lines."""
    words = [
        "--leak-check=full",
        "--freelist-vol=7",
        "--tool=none",
        "--zork=3",
        "--leak-check=x",
        "x",
        "--help",
        "-v",
    ]
    said = run("memcheck", build("changes.c"), words=words).messages
    at = said.index("Handling new value --leak-check=full for option --leak-check=full")
    assert said[at : at + 8] == [
        "Handling new value --leak-check=full for option --leak-check=full",
        "Handling new value --freelist-vol=7 for option --freelist-vol",
        "Cannot change --tool option dynamically",
        "Ignoring dynamic change to unrecognised option --zork=3",
        "Ignoring dynamic change to unrecognised option --leak-check=x",
        "Ignoring dynamic change to unrecognised option x",
        "Cannot change --help option dynamically",
        "Handling new value -v for option -v",
    ]
    bad = run("memcheck", build("changes.c"), "-q", words=["--freelist-vol=abc"]).messages[:2]
    assert bad == ["Bad option: --freelist-vol=abc", "Invalid integer value 'abc'"]
    late = run(
        "memcheck", build("changes.c"), words=["--memcheck:vgdb-error=x", "--memcheck:zork=3"]
    ).messages
    at = late.index("Handling new value --vgdb-error=x for option --vgdb-error")
    assert late[at + 1 : at + 3] == ["Bad option: --vgdb-error=x", "Invalid integer value 'x'"]
    assert late[at + 4] == "Ignoring dynamic change to unrecognised option --zork=3"
    quiet = run("none", build("changes.c"), "-q", words=["--stats=no", "--num-callers=1"]).messages
    assert quiet == ["Cannot change --num-callers option dynamically"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (None, ['FATAL: can\'t open suppressions file "@SUPP@"']),
        (
            "{\n   x\n",
            [
                'FATAL: in suppressions file "@SUPP@" near line 2:',
                "   unexpected end-of-file (expecting tool:suppr)",
                "exiting now.",
            ],
        ),
    ],
    ids=["no file", "no suppressions"],
)
def test_bad_suppressions_end_the_program(
    build: Build, run: Engine, tmp_path: Path, text: str | None, lines: list[str]
) -> None:
    """With status 1 and without a report, as under Valgrind."""
    path = tmp_path / "some.supp"
    if text is not None:
        path.write_text(text)
    result = run("memcheck", build("changes.c"), words=[f"--suppressions={path}"])
    assert (result.code, result.out) == (1, "")
    *_, told = (at for at, line in enumerate(result.messages) if line.startswith("Handling new value"))
    assert result.messages[told + 1 :] == [line.replace("@SUPP@", str(path)) for line in lines]
