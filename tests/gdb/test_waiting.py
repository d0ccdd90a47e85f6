"""Programs that wait for gdb: at a fault of the engine's own, and how a signal ends the waiting."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from gdb.sessions import TIMEOUT, compiled
from gdb.test_ends import Talk

from interpose.gdb.packets import frame

FAULTY = Path(__file__).parents[1] / "life" / "faulty.py"
PROGRAM = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile sig_atomic_t came;
static void handler(int sig) { came = sig; }
int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    if (strstr(how, "handles")) signal(SIGTERM, handler);
    if (strstr(how, "ignores")) signal(SIGHUP, SIG_IGN);
    if (strstr(how, "forks") && fork()) {
        wait(NULL);
        return 0;
    }
    if (strstr(how, "faults")) *(volatile int *)8 = 0;
    if (strstr(how, "error")) {
        int *block = malloc(12);
        block[3] = 0;
    }
    if (strstr(how, "stays"))
        while (!came) usleep(1000);
    printf("came %d\n", (int)came);
    return 5;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("waiting"), "waits", PROGRAM)


class Run:
    """A run whose log and output are in one file."""

    def __init__(self, folder: Path, *words: str | Path) -> None:
        self.out = folder / "out"
        with open(self.out, "wb") as out:
            self.process = subprocess.Popen([sys.executable, *words], stdout=out, stderr=out)
        self.pid = self.process.pid

    def text(self) -> str:
        return self.out.read_text(errors="replace")

    def until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + TIMEOUT
        while not condition():
            assert self.process.poll() is None and time.monotonic() < end, self.text()
            time.sleep(0.02)

    def waits(self, event: str, times: int = 1) -> None:
        self.until(lambda: self.text().count(f"(action {event}) vgdb me ... ") >= times)

    def end(self) -> int:
        return self.process.wait(TIMEOUT)


@contextlib.contextmanager
def run(folder: Path, *words: str | Path) -> Iterator[Run]:
    made = Run(folder, *words)
    try:
        yield made
    finally:
        made.process.kill()
        made.process.wait()


def waiting(folder: Path, program: Path, how: str, *options: str) -> contextlib.AbstractContextManager[Run]:
    engine = ("-m", "interpose", "--tool=memcheck", f"--vgdb-prefix={folder}/pipe", *options)
    return run(folder, *engine, program, how)


def vgdb(folder: Path, *words: str) -> str:
    command = [sys.executable, "-m", "interpose.vgdb", f"--vgdb-prefix={folder}/pipe", "-q", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done
    return done.stdout


# -- faults of the engine ----------------------------------------------------------------------------------


FAULTS = ("raises=loaded", "raises=exit", "runtime=mapped")
"""Of the supervisor, which has asked for nothing that it could not still answer, and of the runtime."""


def faulty(folder: Path, program: Path, fault: str, event: str) -> contextlib.AbstractContextManager[Run]:
    options = ("--tool=memcheck", f"--vgdb-prefix={folder}/pipe", f"--vgdb-stop-at={event}")
    return run(folder, FAULTY, fault, *options, program, "")


@pytest.mark.parametrize("fault", FAULTS)
def test_gdb_is_waited_for_when_the_engine_fails(program: Path, tmp_path: Path, fault: str) -> None:
    with faulty(tmp_path, program, fault, "valgrindabexit") as made:
        made.waits("at valgrind abnormal exit")
        assert made.text().index("interpose: internal error: ") < made.text().index("(action at valgrind")
        talk = Talk(tmp_path / "pipe", made.pid)
        talk.ask(b"qSupported:swbreak+")
        assert talk.ask(b"?").startswith(b"T05")
        registers = bytes.fromhex(talk.ask(b"g")[: 17 * 16].decode())
        pc, sp = (int.from_bytes(registers[at : at + 8], "little") for at in (128, 56))
        assert pc and sp
        assert len(talk.ask(b"m%x,8" % sp)) == 16
        talk.send(frame(b"vCont;c"))
        if fault.startswith("raises"):
            assert talk.receive() == b"W01"
        assert made.end() == 1
        talk.close()
    assert made.text().count("interpose: internal error: ") == 1


@pytest.mark.parametrize("fault", FAULTS)
def test_a_command_has_the_engine_fail_at_last(program: Path, tmp_path: Path, fault: str) -> None:
    with faulty(tmp_path, program, fault, "all") as made:
        if fault != "raises=loaded":
            made.waits("at startup")
            vgdb(tmp_path, "v.wait")
        if fault == "raises=exit":
            made.waits("at exit")
            vgdb(tmp_path, "v.wait")
        made.waits("at valgrind abnormal exit")
        assert (
            vgdb(tmp_path, "v.info n_errs_found") == "n_errs_found 0 n_errs_shown 0 (vgdb-error 999999999) \n"
        )
        assert made.end() == 1


def test_a_fault_ends_the_run_where_nobody_wants_to_see_it(program: Path, tmp_path: Path) -> None:
    with faulty(tmp_path, program, "raises=loaded", "exit,abexit") as made:
        assert made.end() == 1
    assert "(action at valgrind" not in made.text()


# -- signals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--vgdb-error=0", "--vgdb-stop-at=exit,startup"])
def test_what_it_waits_for_is_said_before_how_gdb_comes(program: Path, tmp_path: Path, option: str) -> None:
    with waiting(tmp_path, program, "", option) as made:
        made.until(lambda: "--pid is optional" in made.text())
        said = re.findall(r"Command:|\(action at startup\)|TO DEBUG", made.text())
    assert said == ["Command:", "(action at startup)", "TO DEBUG"]


@pytest.mark.parametrize("event", ["exit", "abexit"])
def test_why_it_dies_is_said_before_it_waits(program: Path, tmp_path: Path, event: str) -> None:
    with waiting(tmp_path, program, "faults", f"--vgdb-stop-at={event}") as made:
        made.waits(f"at {event}")
        vgdb(tmp_path, "v.wait")
        assert made.end() == -signal.SIGSEGV
    said = re.findall(r"Process terminating|\(action at \w+\)|ERROR SUMMARY", made.text())
    assert said == ["Process terminating", f"(action at {event})", "ERROR SUMMARY"]


def test_a_child_says_how_gdb_comes_to_it(program: Path, tmp_path: Path) -> None:
    with waiting(tmp_path, program, "forks, error", "--vgdb-error=1", "--vgdb-stop-at=exit") as made:
        made.waits("on error")
        made.until(lambda: made.text().count("--pid is optional") == 2)
        said = made.text()
        child = re.findall(r"--pid=(\d+)", said)[1]
        assert f"=={child}== (action on error)" in said and child != str(made.pid)
        vgdb(tmp_path, f"--pid={child}", "v.wait")
        made.waits("at exit")
        assert f"=={made.pid}== (action at exit)" in made.text()  # alone
        vgdb(tmp_path, f"--pid={made.pid}", "v.wait")
        assert made.end() == 0


def test_less_than_no_error_stops_nowhere(program: Path, tmp_path: Path) -> None:
    """Valgrind, too, takes such a number and says how gdb comes."""
    with waiting(tmp_path, program, "error", "--vgdb-error=-1") as made:
        assert made.end() == 5
    assert "TO DEBUG" in made.text() and "Invalid write" in made.text()
    assert "(action" not in made.text()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_ends_a_program_that_waits(program: Path, tmp_path: Path, number: int) -> None:
    with waiting(tmp_path, program, "", "--vgdb-stop-at=all") as made:
        made.waits("at startup")
        os.kill(made.pid, number)
        assert made.end() == -number
    assert re.findall(r"\(action .*", made.text()) == ["(action at startup) vgdb me ... "]
    assert made.text().count("Continuing for signal ") == 1


def test_it_reaches_a_handler(program: Path, tmp_path: Path) -> None:
    with waiting(tmp_path, program, "handles error stays", "--vgdb-stop-at=exit", "--vgdb-error=1") as made:
        made.waits("on error")
        os.kill(made.pid, signal.SIGTERM)
        assert made.end() == 5
    assert "came 15\n" in made.text()
    assert "(action at exit)" not in made.text()


def test_it_ends_the_waiting_at_the_end(program: Path, tmp_path: Path) -> None:
    with waiting(tmp_path, program, "", "--vgdb-stop-at=exit") as made:
        made.waits("at exit")
        os.kill(made.pid, signal.SIGTERM)
        assert made.end() == 5
    assert "ERROR SUMMARY" in made.text()


def test_another_signal_before_it(program: Path, tmp_path: Path) -> None:
    """The thread has taken the first one; the kernel keeps the next one back."""
    with waiting(tmp_path, program, "", "--vgdb-stop-at=startup") as made:
        made.waits("at startup")
        for number in (signal.SIGCHLD, signal.SIGWINCH, signal.SIGTERM):
            os.kill(made.pid, number)
        assert made.end() == -signal.SIGTERM


def test_signals_that_end_nothing_leave_it_waiting(program: Path, tmp_path: Path) -> None:
    with waiting(tmp_path, program, "", "--vgdb-stop-at=startup") as made:
        made.waits("at startup")
        for number in (signal.SIGCHLD, signal.SIGWINCH, signal.SIGCONT, signal.SIGUSR1):
            os.kill(made.pid, number)
        time.sleep(0.5)  # whatever ended the waiting would have looked by now; a slow one fails nothing
        assert made.process.poll() is None
        assert vgdb(tmp_path, "v.wait") == "gdbserver: continuing after wait ...\n"
        assert made.end() == -signal.SIGUSR1


def test_where_gdb_is_there_a_signal_waits_for_it(program: Path, tmp_path: Path) -> None:
    with waiting(tmp_path, program, "", "--vgdb-stop-at=startup") as made:
        made.waits("at startup")
        talk = Talk(tmp_path / "pipe", made.pid)
        talk.ask(b"qSupported:swbreak+")
        assert talk.ask(b"?").startswith(b"T05")
        os.kill(made.pid, signal.SIGTERM)
        for _ in range(20):  # the supervisor has looked around several times
            time.sleep(0.02)
            assert talk.ask(b"?").startswith(b"T05")
        assert talk.ask(b"vCont;c").startswith(b"T0f")
        assert talk.ask(b"vCont;C0f") == b"X0f"
        talk.close()
        assert made.end() == -signal.SIGTERM
    assert "Continuing" not in made.text()
