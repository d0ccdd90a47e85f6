"""A process and its forked child under one debugger, who leaves them, or dies, or is hostile."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from gdb.sessions import TIMEOUT, compiled
from gdb.test_ends import HOSTILE, Talk, client, supervisor_of

_PASS_SIGCHLD = b"QPassSignals:14"

PROGRAM = """
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        write(1, "the child is through\\n", 21);
        _exit(4);
    }
    wait(&status);
    write(1, "the parent is through\\n", 22);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 9;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("forks")
    (folder / "forks.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "-w", "-o", folder / "forks", folder / "forks.c"], check=True)
    return folder / "forks"


def to_fork(talk: Talk) -> int:
    """Go on until the program has forked; the child's number."""
    assert b";fork-events+" in talk.ask(b"qSupported:multiprocess+;fork-events+;vfork-events+")
    assert talk.ask(b"?").startswith(b"T05")
    found = re.search(rb"fork:p([0-9a-f]+)\.", talk.ask(b"vCont;c"))
    assert found
    return int(found[1], 16)


def both_are_through(folder: Path) -> bool:
    text = (folder / "out").read_text()
    return "the child is through" in text and "the parent is through" in text


@pytest.mark.parametrize("asked", [True, False])
def test_the_debugger_is_killed(program: Path, tmp_path: Path, asked: bool) -> None:
    with client(program, tmp_path, "--vgdb-stop-at=startup") as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        child = to_fork(talk)
        if asked:
            assert talk.ask(b"Hgp%x.%x" % (child, child)) == b"OK"
            assert len(talk.ask(b"g")) > 100
        talk.relay.send_signal(signal.SIGKILL)
        talk.close()
        assert process.wait(timeout=TIMEOUT) == 4
    assert both_are_through(tmp_path)


def test_the_parents_supervisor_is_killed(program: Path, tmp_path: Path) -> None:
    with client(program, tmp_path, "--vgdb-stop-at=startup") as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        to_fork(talk)
        os.kill(supervisor_of(process.pid), signal.SIGKILL)
        assert process.wait(timeout=TIMEOUT) == 1
        talk.close()
        # The child goes on alone: the FIFOs' last owner is gone when its end is seen.
        with open(tmp_path / "end", "w") as out:
            subprocess.run(
                ["tail", "-f", "/dev/null", f"--pid={to_wait_for(tmp_path)}"], stdout=out, timeout=TIMEOUT
            )
    assert "the child is through" in (tmp_path / "out").read_text()


def to_wait_for(folder: Path) -> int:
    """The process that still writes to the program's output; our own number: none does."""
    place = os.fspath(folder / "out")
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                if os.readlink(f"/proc/{name}/fd/1") == place:
                    return int(name)
            except OSError:
                continue
    return 1 << 22


@pytest.mark.parametrize("first", ["parent", "child"])
def test_one_is_left_and_then_the_other(program: Path, tmp_path: Path, first: str) -> None:
    with client(program, tmp_path, "--vgdb-stop-at=startup") as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        child = to_fork(talk)
        both = [process.pid, child]
        for pid in both if first == "parent" else both[::-1]:
            assert talk.ask(b"D;%x" % pid) == b"OK"
        talk.close()
        assert process.wait(timeout=TIMEOUT) == 4
    assert both_are_through(tmp_path)


def test_the_parent_is_killed_by_the_debugger(program: Path, tmp_path: Path) -> None:
    with client(program, tmp_path, "--vgdb-stop-at=startup") as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        child = to_fork(talk)
        assert talk.ask(b"vKill;%x" % process.pid) == b"OK"
        assert process.wait(timeout=TIMEOUT) == 0
        assert talk.ask(b"Hgp%x.%x" % (child, child)) == b"OK"
        answer = talk.ask(b"vCont;c")
        assert answer == b"W04;process:%x" % child
        talk.close()
    assert "the child is through" in (tmp_path / "out").read_text()


def test_the_child_stays_after_a_silence(program: Path, tmp_path: Path) -> None:
    with client(program, tmp_path, "--vgdb-stop-at=startup") as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        child = to_fork(talk)
        assert talk.ask(b"vKill;%x" % process.pid) == b"OK"
        assert process.wait(timeout=TIMEOUT) == 0
        with pytest.raises(
            subprocess.TimeoutExpired
        ):  # the relay looks each second whether somebody is there
            talk.relay.wait(timeout=2.5)
        assert talk.ask(b"Hgp%x.%x" % (child, child)) == b"OK"
        assert talk.ask(b"D;%x" % child) == b"OK"
        talk.close()


def test_the_child_is_killed_by_the_debugger(program: Path, tmp_path: Path) -> None:
    with client(program, tmp_path, "--vgdb-stop-at=startup") as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        child = to_fork(talk)
        assert talk.ask(b"vKill;%x" % child) == b"OK"
        assert talk.ask(_PASS_SIGCHLD) == b"OK"
        assert talk.ask(b"vCont;c").startswith(b"W00;process:%x" % process.pid)
        talk.close()
        assert process.wait(timeout=TIMEOUT) == 0
    assert "the child is through" not in (tmp_path / "out").read_text()


def test_hostile_packets(program: Path, tmp_path: Path) -> None:
    with client(program, tmp_path, "--vgdb-stop-at=startup") as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        child = to_fork(talk)
        hostile = [
            content
            for content in HOSTILE
            if not content.startswith((b"vCont;c", b"vCont;r", b"C", b"S", b"Gf"))
        ]
        hostile += [b"\x01take:OK", b"D;0", b"D;zz", b"vKill;", b"vKill;zz", b"Tp%x.0" % child, b"qC"]
        for content in hostile:
            assert talk.ask(b"Hgp%x.0" % child) == b"OK", content
            answer = talk.ask(content)
            assert content not in (b"p-1", b"T-5") or answer.startswith(b"E")
            while answer.startswith(b"O") and answer != b"OK":  # what a command of the monitor says
                answer = talk.receive()
        assert talk.ask(b"D;%x" % child) == b"OK"
        assert talk.ask(b"D;%x" % process.pid) == b"OK"
        talk.close()
        assert process.wait(timeout=TIMEOUT) == 4
    assert both_are_through(tmp_path)


MANY = """
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    int sum = 0, status;
    for (int i = 0; i < 3; i++)
        if (fork() == 0) {
            if (i == 0 && fork() == 0) _exit(0);
            _exit(1 << i);
        }
    while (wait(&status) > 0) sum += WIFEXITED(status) ? WEXITSTATUS(status) : 64;
    return sum;
}
"""


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("many")
    (folder / "many.c").write_text(MANY)
    subprocess.run(["gcc", "-g", "-w", "-o", folder / "many", folder / "many.c"], check=True)
    return folder / "many"


def to_family(talk: Talk, pid: int) -> list[int]:
    """Go on until there are three children and a grandchild, which all wait; their numbers, oldest first."""
    talk.ask(b"qSupported:multiprocess+;fork-events+;vfork-events+")
    talk.ask(b"?")
    assert talk.ask(b"QPassSignals:14") == b"OK"  # a child's end may be told its parent whenever that comes
    born = []
    for process in (pid, pid, pid, 0):
        found = re.search(rb"fork:p([0-9a-f]+)\.", talk.ask(b"vCont;c:p%x.-1" % (process or born[0])))
        assert found
        born.append(int(found[1], 16))
    return born


def numbers(talk: Talk) -> list[int]:
    return [int(name, 16) for name in re.findall(rb"p([0-9a-f]+)\.", talk.ask(b"qfThreadInfo"))]


def test_many_children_are_left_from_the_oldest_on(many: Path, tmp_path: Path) -> None:
    with client(many, tmp_path, "--vgdb-stop-at=startup") as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        left = [process.pid, *to_family(talk, process.pid)]
        while left:
            assert numbers(talk) == left
            assert talk.ask(b"D;%x" % left.pop(0)) == b"OK"
        talk.close()
        assert process.wait(timeout=TIMEOUT) == 7


def test_many_children_end_one_after_another(many: Path, tmp_path: Path) -> None:
    with client(many, tmp_path, "--vgdb-stop-at=startup") as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        family = to_family(talk, process.pid)
        assert talk.ask(b"vKill;%x" % process.pid) == b"OK"
        assert process.wait(timeout=TIMEOUT) == 0
        statuses = [1, 2, 4, 0]
        for pid, status in zip(family, statuses, strict=True):
            assert talk.ask(b"vCont;c:p%x.-1" % pid) == b"W%02x;process:%x" % (status, pid)
        talk.close()


def process_of(end: bytes) -> int:
    found = re.fullmatch(rb"[WX][0-9a-f]{2};process:([0-9a-f]+)", end)
    assert found, end
    return int(found[1], 16)


def test_many_children_go_on_together(many: Path, tmp_path: Path) -> None:
    with client(many, tmp_path, "--vgdb-stop-at=startup") as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        family = {process.pid, *to_family(talk, process.pid)}
        ended = {talk.ask(b"vCont;c") for _ in family}
        assert {process_of(answer) for answer in ended} == family
        assert {answer[:3] for answer in ended} == {b"W00", b"W01", b"W02", b"W04", b"W07"}
        talk.close()
        assert process.wait(timeout=TIMEOUT) == 7


@pytest.mark.parametrize("which", [0, 1, 3])
def test_one_of_many_loses_its_supervisor(many: Path, tmp_path: Path, which: int) -> None:
    with client(many, tmp_path, "--vgdb-stop-at=startup") as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        family = to_family(talk, process.pid)
        killed = family[which]
        assert talk.ask(b"Hgp%x.%x" % (killed, killed)) == b"OK"  # so it is there
        os.kill(supervisor_of(killed), signal.SIGKILL)
        assert talk.ask(b"vCont;c:p%x.-1" % killed) == b"X09;process:%x" % killed
        rest = {process.pid, *family} - {killed}
        ended = [talk.ask(b"vCont;c") for _ in rest]
        assert {process_of(answer) for answer in ended} == rest
        talk.close()
        process.wait(timeout=TIMEOUT)


def test_the_debugger_of_many_is_killed(many: Path, tmp_path: Path) -> None:
    with client(many, tmp_path, "--vgdb-stop-at=startup") as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        to_family(talk, process.pid)
        talk.relay.send_signal(signal.SIGKILL)
        talk.close()
        assert process.wait(timeout=TIMEOUT) == 7


@pytest.mark.parametrize("call", ["fork", "vfork"])
def test_a_debugger_comes_amid_a_fork(tmp_path: Path, call: str) -> None:
    """What it finds first is a plain stop; of the child it hears when the program goes on."""
    source = (
        "#include <sys/wait.h>\n#include <unistd.h>\n"
        'int main(void) { int status; write(1, "begins\\n", 7); if (!%s()) usleep(800000), _exit(4);'
        " wait(&status); return WEXITSTATUS(status); }"
    )
    amid = compiled(tmp_path, "amid", source % call)
    with client(amid, tmp_path, "--delays=fork=1000") as process:
        end = time.monotonic() + TIMEOUT
        while "begins" not in (tmp_path / "out").read_text():
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.02)
        talk = Talk(tmp_path / "pipe", process.pid)
        talk.ask(b"qSupported:multiprocess+;fork-events+;vfork-events+")
        assert b"fork" not in talk.ask(b"?")
        assert talk.ask(_PASS_SIGCHLD) == b"OK"
        stop = talk.ask(b"vCont;c")
        if b"fork:" in stop:
            found = re.search(rb"fork:p([0-9a-f]+)\.", stop)
            assert found and talk.ask(b"D;" + found[1]) == b"OK"
            while b"vforkdone" in (stop := talk.ask(b"vCont;c")):
                pass
        assert stop.startswith(b"W04")
        talk.close()
        assert process.wait(timeout=TIMEOUT) == 4


def test_threads_that_begin_and_end_are_told(tmp_path: Path) -> None:
    source = tmp_path / "threads.c"
    source.write_text(
        "#include <pthread.h>\n"
        "static void *run(void *p) { return p; }\n"
        "int main(void) { pthread_t t; pthread_create(&t, 0, run, 0); pthread_join(t, 0); return 3; }\n"
    )
    subprocess.run(["gcc", "-w", "-pthread", "-o", tmp_path / "threads", source], check=True)
    with client(tmp_path / "threads", tmp_path, "--vgdb-stop-at=startup") as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        assert b";QThreadEvents+" in talk.ask(b"qSupported:multiprocess+")
        assert talk.ask(b"?").startswith(b"T05")
        assert talk.ask(b"QThreadEvents:2") == b"E16"
        assert talk.ask(b"QThreadEvents:1") == b"OK"
        found = re.match(rb"T05create:;thread:(p[0-9a-f]+\.[0-9a-f]+);", talk.ask(b"vCont;c"))
        assert found
        assert len(talk.ask(b"qfThreadInfo").split(b",")) == 2
        assert talk.ask(b"vCont;c") == b"w00;" + found[1]
        assert len(talk.ask(b"qfThreadInfo").split(b",")) == 1
        assert talk.ask(b"vCont;c").startswith(b"W03")
        talk.close()
        assert process.wait(timeout=TIMEOUT) == 3


VFORKED = """
#include <spawn.h>
#include <sys/wait.h>
extern char **environ;
int main(void) {
    int status;
    pid_t child;
    char *words[] = {"sh", "-c", "exit 4", 0};
    if (posix_spawn(&child, "/bin/sh", 0, 0, words, environ)) return 8;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 9;
}
"""


@pytest.fixture(scope="module")
def vforked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vforked")
    (folder / "vforked.c").write_text(VFORKED)
    subprocess.run(["gcc", "-g", "-w", "-o", folder / "vforked", folder / "vforked.c"], check=True)
    return folder / "vforked"


@pytest.mark.parametrize("how", ["left", "killed", "ended"])
def test_a_child_that_is_not_followed_is_left_last(vforked: Path, tmp_path: Path, how: str) -> None:
    with client(vforked, tmp_path, "--vgdb-stop-at=startup") as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        child = to_fork(talk)
        assert talk.ask(b"Hgp%x.%x" % (child, child)) == b"OK"
        assert talk.ask(b"g").startswith(b"E.this child is not followed")
        if how == "ended":
            assert talk.ask(b"QPassSignals:14") == b"OK"
            assert b"vforkdone" in talk.ask(b"vCont;c:p%x.-1" % process.pid)
            assert talk.ask(b"vCont;c:p%x.-1" % process.pid) == b"W04;process:%x" % process.pid
        else:
            assert talk.ask((b"D;%x" if how == "left" else b"vKill;%x") % process.pid) == b"OK"
        assert process.wait(timeout=TIMEOUT) == (0 if how == "killed" else 4)
        assert talk.ask(b"Hgp%x.%x" % (child, child)) == b"OK"
        assert talk.ask(b"Hgp%x.0" % process.pid) == b"E03"
        assert talk.ask(b"D;%x" % child) == b"OK"
        talk.relay.wait(timeout=TIMEOUT)  # nobody is left who speaks
        talk.close()
