"""Where the threads of a process are (`interpose/native/threads.py`)."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from native.test_run import compile_text

from interpose.native import threads

# Half of its time in one function, or asleep beneath it; that tells where it is.
PROGRAM = """
#include <stdio.h>
#include <unistd.h>
__attribute__((noipa)) void leaf(int sleeps) { if (sleeps) pause(); }
__attribute__((noipa, section("place"))) void inside(int sleeps) {
    leaf(sleeps);
    __asm__ volatile("nop; nop; nop; nop; nop; nop; nop; nop");
}
extern char __start_place[], __stop_place[];
int main(int argc, char **argv) {
    printf("%p %p\\n", (void *)__start_place, (void *)__stop_place);
    fflush(stdout);
    for (;;) inside(argc > 1);
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_text(tmp_path_factory.mktemp("threads"), "program", PROGRAM)


@pytest.fixture
def started(program: Path, request: pytest.FixtureRequest) -> Iterator[tuple[int, tuple[int, int]]]:
    process = subprocess.Popen([program, *request.param], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    start, end = (int(word, 16) for word in process.stdout.readline().split())
    yield process.pid, (start, end)
    process.kill()
    process.communicate()


@pytest.mark.parametrize("started", [[]], indirect=True)
def test_a_thread_that_runs_gets_out(started: tuple[int, tuple[int, int]]) -> None:
    """Wherever it is stopped, and however little it runs in between."""
    pid, inside = started
    for _ in range(50):
        assert not threads.anybody_in(pid, set(), [inside])


@pytest.mark.parametrize("started", [["sleeps"]], indirect=True)
def test_a_thread_that_sleeps_stays(started: tuple[int, tuple[int, int]]) -> None:
    pid, inside = started
    while "S (sleeping)" not in Path(f"/proc/{pid}/status").read_text():
        time.sleep(0.01)
    for _ in range(50):
        assert threads.anybody_in(pid, set(), [inside])
    assert not threads.anybody_in(pid, {pid}, [inside])
    elsewhere = inside[1] + (1 << 30)
    assert not threads.anybody_in(pid, set(), [(elsewhere, elsewhere + 16)])
