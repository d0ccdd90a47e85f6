"""Children of vfork under a debugger: shown as they were born, left, killed, and gone on with."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from gdb.sessions import TIMEOUT
from gdb.test_ends import Talk, client, supervisor_of

PROGRAM = """
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
int main(int argc, char **argv) {
    if (argc > 1) {
        write(1, "the child is through\\n", 21);
        return 4;
    }
    char byte, *words[] = {argv[0], "child", 0};
    int status;
    pid_t child;
    read(0, &byte, 1);
    if (byte == 'v') {
        if ((child = vfork()) == 0) {
            write(1, "the child is through\\n", 21);
            _exit(4);
        }
    } else if (posix_spawn(&child, argv[0], 0, 0, words, environ))
        return 9;
    waitpid(child, &status, 0);
    write(1, "the parent is through\\n", 22);
    return WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vforks")
    (folder / "vforks.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "-w", "-o", folder / "vforks", folder / "vforks.c"], check=True)
    return folder / "vforks"


def to_vfork(talk: Talk, process: subprocess.Popen[bytes], how: bytes = b"s") -> int:
    """Go on until the program has made the child; its number."""
    assert b";vfork-events+" in talk.ask(b"qSupported:multiprocess+;fork-events+;vfork-events+;exec-events+")
    assert talk.ask(b"?").startswith(b"T05")
    assert talk.ask(b"QPassSignals:14") == b"OK"
    assert process.stdin is not None
    process.stdin.write(how)
    process.stdin.close()
    found = re.search(rb"vfork:p([0-9a-f]+)\.", talk.ask(b"vCont;c"))
    assert found
    return int(found[1], 16)


def both_are_through(folder: Path) -> bool:
    text = (folder / "out").read_text()
    return "the child is through" in text and "the parent is through" in text


TRACED = ("--trace-children=yes", "--vgdb-stop-at=none")


def test_it_is_shown_as_it_was_born(program: Path, tmp_path: Path) -> None:
    with client(program, tmp_path, *TRACED, stdin=subprocess.PIPE) as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        child = to_vfork(talk, process)
        parents = talk.ask(b"g")
        assert int.from_bytes(bytes.fromhex(parents[:16].decode()), "little") == child
        stack = talk.ask(b"p7")
        sp = int.from_bytes(bytes.fromhex(stack.decode()), "little")
        memory = talk.ask(b"m%x,40" % sp)
        assert talk.ask(b"Hgp%x.%x" % (child, child)) == b"OK"
        assert talk.ask(b"g") == b"0" * 16 + parents[16:]
        assert (talk.ask(b"p0"), talk.ask(b"p7")) == (b"0" * 16, stack)
        assert talk.ask(b"pffff").startswith(b"E")
        assert talk.ask(b"m%x,40" % sp) == memory
        assert talk.ask(b"P0=" + b"1" * 16).startswith(b"E.this child of vfork")
        assert talk.ask(b"qXfer:exec-file:read:%x:0,fff" % child) == b"l" + os.fsencode(program)
        assert b'id="p%x.%x"' % (child, child) in talk.ask(b"qXfer:threads:read::0,3fff")
        assert talk.ask(b"vCont;c:p%x.-1" % child).startswith(
            b"T05exec:%b;" % os.fsencode(program).hex().encode()
        )
        assert talk.ask(b"vCont;c:p%x.-1" % child) == b"W04;process:%x" % child
        assert b"vforkdone" in talk.ask(b"vCont;c")
        assert talk.ask(b"vCont;c") == b"W04;process:%x" % process.pid
        talk.close()
        assert process.wait(timeout=TIMEOUT) == 4
    assert both_are_through(tmp_path)


@pytest.mark.parametrize("how", [b"s", b"v"])
@pytest.mark.parametrize("order", ["child", "child parent", "parent child", ""])
def test_it_is_left(program: Path, tmp_path: Path, order: str, how: bytes) -> None:
    with client(program, tmp_path, *TRACED, stdin=subprocess.PIPE) as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        child = to_vfork(talk, process, how)
        numbers = {"parent": process.pid, "child": child}
        for name in order.split():
            assert talk.ask(b"D;%x" % numbers[name]) == b"OK"
        if order == "child":
            assert b"vforkdone" in talk.ask(b"vCont;c")
            assert talk.ask(b"vCont;c") == b"W04;process:%x" % process.pid
        elif not order:
            talk.relay.send_signal(signal.SIGKILL)
        talk.close()
        assert process.wait(timeout=TIMEOUT) == 4
    assert both_are_through(tmp_path)


@pytest.mark.parametrize("how", [b"s", b"v"])
@pytest.mark.parametrize("prefix", [b"D;", b"vKill;"])
def test_it_goes_on_when_the_parent_is_gone(program: Path, tmp_path: Path, prefix: bytes, how: bytes) -> None:
    with client(program, tmp_path, *TRACED, stdin=subprocess.PIPE) as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        child = to_vfork(talk, process, how)
        assert talk.ask(prefix + b"%x" % process.pid) == b"OK"
        if how == b"s":
            assert talk.ask(b"Hgp%x.%x" % (child, child)) == b"OK"
            assert len(talk.ask(b"g")) > 100
            assert talk.ask(b"vCont;c").startswith(b"T05exec:")
            assert talk.ask(b"vCont;c") == b"W04;process:%x" % child
        assert process.wait(timeout=TIMEOUT) == (4 if prefix == b"D;" else 0)
        talk.close()
    assert "the child is through" in (tmp_path / "out").read_text()


@pytest.mark.parametrize("begun", [False, True])
def test_it_is_killed(program: Path, tmp_path: Path, begun: bool) -> None:
    with client(program, tmp_path, *TRACED, stdin=subprocess.PIPE) as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        child = to_vfork(talk, process)
        if begun:
            assert talk.ask(b"vCont;c:p%x.-1" % child).startswith(b"T05exec:")
        assert talk.ask(b"vKill;%x" % child) == b"OK"
        assert b"vforkdone" in talk.ask(b"vCont;c")
        assert talk.ask(b"vCont;c") == b"W00;process:%x" % process.pid
        talk.close()
        assert process.wait(timeout=TIMEOUT) == 0
    assert "the child is through" not in (tmp_path / "out").read_text()


def test_its_supervisor_is_killed(program: Path, tmp_path: Path) -> None:
    with client(program, tmp_path, *TRACED, stdin=subprocess.PIPE) as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        child = to_vfork(talk, process)
        assert talk.ask(b"vCont;c:p%x.-1" % child).startswith(b"T05exec:")
        os.kill(supervisor_of(child), signal.SIGKILL)
        assert talk.ask(b"vCont;c:p%x.-1" % child) == b"X09;process:%x" % child
        assert b"vforkdone" in talk.ask(b"vCont;c")
        assert talk.ask(b"vCont;c").endswith(b";process:%x" % process.pid)
        talk.close()
        process.wait(timeout=TIMEOUT)
    assert "the parent is through" in (tmp_path / "out").read_text()
