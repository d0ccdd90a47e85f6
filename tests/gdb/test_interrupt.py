"""Ctrl-C that crosses a stop which gdb may pass over: the program stops at the next occasion."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from gdb.sessions import TIMEOUT, compiled
from gdb.test_ends import Talk, client, run_to

from interpose.gdb.packets import frame

PROGRAM = """
#include <unistd.h>
volatile int turns;
int step(int n) { return n + 1; }
int main(void) {
    step(0);
    for (;;) turns++;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("interrupt"), "spins", PROGRAM)


def run_on(talk: Talk, program: Path) -> None:
    """Stand where no breakpoint will be met again."""
    run_to(talk, program, "step")
    (pc,) = re.findall(b"(?<=;10:)[0-9a-f]+", talk.ask(b"?"))
    assert talk.ask(b"z0,%x,1" % int.from_bytes(bytes.fromhex(pc.decode()), "little")) == b"OK"


def test_it_holds_when_gdb_goes_on(program: Path, tmp_path: Path) -> None:
    with client(program, tmp_path, "--vgdb-stop-at=startup") as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        run_on(talk, program)
        talk.send(b"\x03")
        assert talk.ask(b"vCont;c").startswith(b"T02")
        # Of once.
        talk.send(frame(b"vCont;c") + b"\x03")
        assert talk.receive().startswith(b"T02")
        talk.send(b"+")
        assert talk.ask(b"vCont;s").startswith(b"T05")
        talk.close()


@pytest.mark.parametrize("question", [b"qXfer:threads:read::0,1000", b"qfThreadInfo"])
def test_not_behind_a_stop_for_the_user(program: Path, tmp_path: Path, question: bytes) -> None:
    """gdb reads the list of threads before it shows a stop; then it is not asked to stop at the next."""
    with client(program, tmp_path, "--vgdb-stop-at=startup") as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        run_on(talk, program)
        talk.send(b"\x03")
        assert talk.ask(question)
        talk.send(b"\x03")
        for _ in range(2):
            assert talk.ask(b"vCont;s").startswith(b"T05")
        talk.close()


EXECUTES = """
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
    if (argc > 1) return 7;
    write(1, "executes\\n", 9);
    execl(argv[0], argv[0], "again", (char *)0);
    return 1;
}
"""


def test_it_holds_behind_an_exec(tmp_path: Path) -> None:
    """Nothing can be stopped amid an exec: gdb hears of that first, and the image is not kicked before it can
    be."""
    program = compiled(tmp_path, "executes", EXECUTES)
    options = ("--vgdb-stop-at=startup", "--trace-children=yes", "--delays=exec=500")
    with client(program, tmp_path, *options) as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        talk.ask(b"qSupported:multiprocess+;exec-events+")
        assert talk.ask(b"?").startswith(b"T05")
        talk.send(frame(b"vCont;c"))
        end = time.monotonic() + TIMEOUT
        while "executes\n" not in (tmp_path / "out").read_text().replace("/executes\n", ""):
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.02)
        time.sleep(0.1)
        talk.send(b"\x03")
        assert b"exec:" in talk.receive()
        talk.send(b"+")
        assert talk.ask(b"vCont;c").startswith(b"T02")
        assert talk.ask(b"qC").startswith(b"QC")
        assert talk.ask(b"D;%x" % process.pid) == b"OK"
        talk.close()
        assert process.wait(timeout=TIMEOUT) == 7
