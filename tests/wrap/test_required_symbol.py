"""--require-text-symbol: a run whose object lacks the function ends with one message and exit code 1."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import interpose

PACKAGE = Path(interpose.__file__).parents[1]
SOURCE = """\
#include <dlfcn.h>
#include <unistd.h>
int main(void) {
    write(1, "before ", 7);
    dlopen("libanswer.so", RTLD_NOW);
    write(1, "after ", 6);
    return 5;
}
"""
WANTS = """\

interpose:  Fatal error at when loading library with soname
interpose:     {}
interpose:  Cannot find any text symbol with a name that matches the pattern
interpose:     {}
interpose:  as required by a --require-text-symbol= specification.

interpose:  Cannot continue -- exiting now.

"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("required")
    (path / "answer.c").write_text("int answer(void) { return 42; }")
    (path / "prog.c").write_text(SOURCE)
    flags = ["-shared", "-fPIC", "-Wl,-soname,libanswer.so"]
    subprocess.run(["gcc", *flags, "answer.c", "-o", "libanswer.so"], cwd=path, check=True)
    subprocess.run(["gcc", "prog.c", "-Wl,-rpath,$ORIGIN", "-o", "prog"], cwd=path, check=True)
    return path


@pytest.mark.parametrize("engine", ["--tool=none", "--tool=memcheck", "--engine=native"])
@pytest.mark.parametrize(
    ("wanted", "code", "output"),
    [
        (":libanswer.so:answer", 5, "before after "),
        ("+libanswer*+ans?er", 5, "before after "),
        (":libanswer.so:question", 1, "before "),
        (":libanswer.so:a::question", 1, "before "),
        (":libc.so*:no_such_function", 1, ""),
        (":libc.so*:no_such_function :libanswer.so:answer", 1, ""),
    ],
)
def test_it_is_there_or_the_run_ends(folder: Path, engine: str, wanted: str, code: int, output: str) -> None:
    tool = ["--tool=none", engine] if "engine" in engine else [engine]
    if "engine" in engine and output == "before ":
        pytest.skip("looks at what is there at the start (docs/native.md)")
    options = [f"--require-text-symbol={each}" for each in wanted.split()]
    done = subprocess.run(
        [sys.executable, "-m", "interpose", "-q", *tool, *options, folder / "prog"],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"PYTHONPATH": str(PACKAGE)},
    )
    assert (done.returncode, done.stdout) == (code, output), done.stderr
    lacking = ("libc.so.6", "no_such_function") if "no_such" in wanted else ("libanswer.so", wanted[14:])
    assert done.stderr == (WANTS.format(*lacking) if code == 1 else "")


@pytest.mark.parametrize("engine", ["--tool=none", "--tool=memcheck", "--engine=native"])
def test_the_message_is_in_the_log(folder: Path, tmp_path: Path, engine: str) -> None:
    """As with Valgrind: who reads a log in a file learns there why it ends."""
    tool = ["--tool=none", engine] if "engine" in engine else [engine]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "interpose", "-q", *tool, f"--log-file={tmp_path / 'log'}"),
            *("--require-text-symbol=:libc.so*:no_such_function", folder / "prog"),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"PYTHONPATH": str(PACKAGE)},
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    assert (tmp_path / "log").read_text() == WANTS.format("libc.so.6", "no_such_function")
