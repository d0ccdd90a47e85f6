"""--gen-suppressions=yes asks at each error: on a terminal, or whatever --input-fd names."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PROGRAM = """
#include <stdlib.h>
volatile int count;
#define FUNCTION(name, at) __attribute__((noinline)) void name(int *p) { if (p[at]) count++; }
FUNCTION(first, 0) FUNCTION(second, 1) FUNCTION(third, 2)
int main(void) {
    int *p = malloc(40);
    first(p), second(p), third(p);
    return 0;
}
"""
PROMPT = "---- Print suppression ? --- [Return/N/n/Y/y/C/c] ---- "


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("prompt")
    (folder / "asks.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", "-w", "-o", folder / "asks", folder / "asks.c"], check=True)
    return str(folder / "asks")


def command(program: str, *options: str) -> list[str]:
    return [sys.executable, "-m", "interpose", "-q", "--gen-suppressions=yes", *options, program]


def on_terminal(words: list[str], at_prompt: Callable[[int, int], None]) -> tuple[int, str]:
    """Run a command on a terminal; at each prompt, ``at_prompt(process, terminal)``.

    Returns when every process that has the terminal has ended.
    """
    process, terminal = pty.fork()
    if process == 0:
        os.execv(words[0], words)
    shown, answered = b"", 0
    try:
        while True:
            try:
                piece = os.read(terminal, 4096)
            except OSError:  # EIO: nobody has the other side any more
                break
            shown += piece
            while shown.count(PROMPT.encode()) > answered:
                answered += 1
                at_prompt(process, terminal)
    finally:
        os.close(terminal)
    return os.waitpid(process, 0)[1], shown.decode().replace("\r\n", "\n")


def suppressed(shown: str) -> list[str]:
    return re.findall(r"\{\n   <insert_a_suppression_name_here>\n   Memcheck:Cond\n   fun:(\w+)\n", shown)


def test_on_a_terminal(program: str) -> None:
    answers = iter([b"y\n", b"q\n", b"", b"Y\n"])

    def answer(_: int, terminal: int) -> None:
        os.write(terminal, next(answers))

    status, shown = on_terminal(command(program), answer)
    assert status == 0
    assert suppressed(shown) == ["first", "third"]
    assert shown.count(PROMPT) == 4
    assert f"{PROMPT}y\n{{\n" in shown


def test_killed_at_the_prompt(program: str) -> None:
    """The supervisor, which waits for an answer, ends, too."""
    status, shown = on_terminal(command(program), lambda process, _: os.kill(process, signal.SIGKILL))
    assert os.WTERMSIG(status) == signal.SIGKILL
    assert shown.count(PROMPT) == 1


@pytest.mark.parametrize(
    ("answers", "functions", "prompts"),
    [("y\n\ny\n", ["first", "third"], 3), ("n\nC\ny\n", [], 2), ("", [], 1), ("y\n", ["first"], 2)],
)
def test_from_a_descriptor(
    program: str, tmp_path: Path, answers: str, functions: list[str], prompts: int
) -> None:
    (tmp_path / "answers").write_text(answers)
    with open(tmp_path / "answers") as file:
        number = file.fileno()
        words = command(program, f"--input-fd={number}")
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, pass_fds=[number], timeout=60
        )
    assert suppressed(done.stderr) == functions
    assert done.stderr.count(PROMPT) == prompts


def test_from_a_descriptor_that_is_closed(program: str) -> None:
    done = subprocess.run(command(program, "--input-fd=77"), stderr=subprocess.PIPE, text=True, timeout=60)
    assert suppressed(done.stderr) == []
    assert done.stderr.count(PROMPT) == 1
