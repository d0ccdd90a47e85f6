"""Whoever dies: the program goes on, or ends, and nothing is left."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from gdb.sessions import TIMEOUT, compiled

from interpose.gdb.packets import Reader, frame

PROGRAM = """
#include <stdio.h>
#include <unistd.h>
volatile int turns;
int step(int n) { return n + 1; }
int main(void) {
    for (; turns < 3000; turns++) { step(turns); usleep(1000); }
    puts("through");
    return 5;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("ends"), "turns", PROGRAM)


class Talk:
    """A conversation with the server, packet by packet, over interpose-vgdb's standard streams."""

    def __init__(self, prefix: Path, pid: int) -> None:
        self.ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", "interpose.vgdb", f"--vgdb-prefix={prefix}", "--wait=20"]
        self.relay = subprocess.Popen(
            [*command, f"--pid={pid}", "-q"], stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL
        )
        theirs.close()
        self.ours.settimeout(TIMEOUT)
        self.reader = Reader()
        self.packets: list[bytes] = []

    def send(self, data: bytes) -> None:
        self.ours.sendall(data)

    def receive(self) -> bytes:
        while not self.packets:
            data = self.ours.recv(1 << 16)
            if not data:
                raise ConnectionError("the relay has hung up")
            self.packets += [item for item in self.reader.feed(data) if isinstance(item, bytes)]
        return self.packets.pop(0)

    def ask(self, content: bytes) -> bytes:
        self.send(frame(content))
        answer = self.receive()
        with contextlib.suppress(BrokenPipeError):  # it told of the end, and the relay went before us
            self.send(b"+")
        return answer

    def ask_many(self, packets: list[bytes], at_once: int = 50) -> list[bytes]:
        """The answers to packets, some of which are under way at a time. The answers to more could fill their
        socket, and the relay, which waits for room there, read no further packets."""
        answers = []
        for first in range(0, len(packets), at_once):
            some = packets[first : first + at_once]
            for packet in some:
                self.send(packet)
            answers += [self.receive() for _ in some]
        return answers

    def close(self) -> None:
        self.ours.close()
        self.relay.kill()
        self.relay.wait()


@contextlib.contextmanager
def client(
    program: Path, folder: Path, *options: str, stdin: int = subprocess.DEVNULL
) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "interpose", "--tool=none", f"--vgdb-prefix={folder}/pipe", *options]
    with open(folder / "out", "wb") as out:
        process = subprocess.Popen([*command, str(program)], stdin=stdin, stdout=out, stderr=out)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def place_of(program: Path, name: str) -> int:
    table = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
    return next(int(line.split()[0], 16) for line in table.splitlines() if line.endswith(f" {name}"))


def run_to(talk: Talk, program: Path, name: str) -> int:
    """Stop in a function, whose breakpoint stays; its address."""
    talk.ask(b"qSupported:swbreak+")
    assert talk.ask(b"?").startswith(b"T05")
    auxv = talk.ask(b"qXfer:auxv:read::0,1000")[1:]
    entry = next(
        int.from_bytes(auxv[at + 8 : at + 16], "little")
        for at in range(0, len(auxv), 16)
        if auxv[at : at + 8] == b"\t\0\0\0\0\0\0\0"
    )
    address = entry - place_of(program, "_start") + place_of(program, name)
    assert talk.ask(b"Z0,%x,1" % address) == b"OK"
    assert b"swbreak" in talk.ask(b"vCont;c")
    return address


def test_what_gdb_sends_once_more_is_answered_once(program: Path, tmp_path: Path) -> None:
    """It waits two seconds for us to begin, less than we need on a busy machine."""
    with client(program, tmp_path, "--vgdb-stop-at=startup") as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        talk.send(b"+" + 3 * frame(b"qSupported:swbreak+"))
        assert talk.receive().startswith(b"PacketSize=")
        talk.send(b"+")
        assert talk.ask(b"vMustReplyEmpty") == b""
        assert talk.ask(b"QStartNoAckMode") == b"OK"
        talk.send(2 * frame(b"qC"))  # now nothing is lost, so these are two
        assert talk.receive() == talk.receive() != b""
        assert talk.ask(b"D") == b"OK"
        talk.close()
        assert process.wait(timeout=TIMEOUT) == 5


@pytest.mark.parametrize("stopped", [True, False])
def test_the_debugger_is_killed(program: Path, tmp_path: Path, stopped: bool) -> None:
    with client(program, tmp_path, "--vgdb-stop-at=startup") as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        run_to(talk, program, "step")
        if not stopped:
            talk.send(frame(b"z0,0,1") + frame(b"vCont;c"))
        talk.relay.send_signal(signal.SIGKILL)
        talk.close()
        assert process.wait(timeout=TIMEOUT) == 5
    assert "through" in (tmp_path / "out").read_text()


THREADS = """
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
volatile int over;
int step(int n) { return n + 1; }
void *other(void *x) { while (!over) usleep(1000); return 0; }
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, other, 0);
    step(1);
    over = 1;
    pthread_join(thread, 0);
    puts("through");
    return 5;
}
"""


def test_the_debugger_is_killed_while_a_thread_is_to_stay(tmp_path: Path) -> None:
    program = compiled(tmp_path, "threads", THREADS, "-pthread")
    with client(program, tmp_path, "--vgdb-stop-at=startup") as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        address = run_to(talk, program, "step")
        assert talk.ask(b"z0,%x,1" % address) == b"OK"
        talk.send(frame(b"vCont;c:%x" % process.pid))
        talk.relay.send_signal(signal.SIGKILL)
        talk.close()
        assert process.wait(timeout=TIMEOUT) == 5
    assert "through" in (tmp_path / "out").read_text()


def test_one_debugger_after_another(program: Path, tmp_path: Path) -> None:
    with client(program, tmp_path, "--vgdb-stop-at=startup") as process:
        for _ in range(3):
            talk = Talk(tmp_path / "pipe", process.pid)
            run_to(talk, program, "step")
            assert talk.ask(b"D") == b"OK"
            talk.close()
        assert process.wait(timeout=TIMEOUT) == 5


def test_the_program_is_killed(program: Path, tmp_path: Path) -> None:
    with client(program, tmp_path, "--vgdb-stop-at=startup") as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        run_to(talk, program, "step")
        talk.send(frame(b"vCont;c"))
        talk.receive()
        process.kill()
        talk.send(b"+")
        assert talk.receive().startswith(b"X09")
        talk.close()


def supervisor_of(pid: int) -> int:
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != pid:
            with contextlib.suppress(OSError):
                if b"interpose" not in Path(f"/proc/{name}/cmdline").read_bytes():
                    continue
                for info in Path(f"/proc/{name}/fdinfo").iterdir():
                    if f"Pid:\t{pid}\n" in info.read_text():
                        return int(name)
    raise AssertionError("no supervisor holds the program")


def test_the_supervisor_is_killed(program: Path, tmp_path: Path) -> None:
    with client(program, tmp_path, "--vgdb-stop-at=startup") as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        run_to(talk, program, "step")
        os.kill(supervisor_of(process.pid), signal.SIGKILL)
        assert process.wait(timeout=TIMEOUT) == 1
        talk.close()
    assert "the supervisor is gone" in (tmp_path / "out").read_text()


HOSTILE = [
    b"",
    b"m",
    b"m,",
    b"m0,ffffffffffffffffffff",
    b"mffffffffffffffff,ffffffff",
    b"m-1,-1",
    b"M0,4:00",
    b"M10,zz:zz",
    b"X7fff,3:ab",
    b"xffffffffffffffff,1",
    b"g0",
    b"G" + b"f" * 100,
    b"Gxyz",
    b"p",
    b"pffffff",
    b"p-1",
    b"Pffff=00",
    b"P0",
    b"P0=zz",
    b"P10=00",
    b"H",
    b"Hx0",
    b"Hgp9999999.1",
    b"Hg99999999999999999999999999",
    b"T0x",
    b"T-5",
    b"Z9,0,0",
    b"Z0",
    b"Z0,zz,1",
    b"Z2,0,ffffffffffffffffff",
    b"z4,0,1",
    b"Z0,ffffffffffffffff,1",
    b"Z2,ffffffffffffffff,ffffffffffffffff",
    b"z2,ffffffffffffffff,ffffffffffffffff",
    b"vCont;",
    b"vCont;z",
    b"vCont;C",
    b"vCont;r",
    b"vCont;r5,",
    b"vCont;c:p",
    b"vCont;c:zz",
    b"C",
    b"Czz",
    b"S",
    b"qXfer",
    b"qXfer:features:read:target.xml:0",
    b"qXfer:features:read:none.xml:0,100",
    b"qXfer:features:read:target.xml:-1,-1",
    b"qXfer:auxv:read::ffffffffff,ffffff",
    b"qXfer:siginfo:write::ffff:abc",
    b"qXfer:nothing:read::0,0",
    b"qXfer:exec-file:read:zz:0,10",
    b"qRcmd,z",
    b"qRcmd,",
    b"qGetTLSAddr:0,0",
    b"qGetTLSAddr:1,2,3",
    b"qThreadExtraInfo,zz",
    b"QCatchSyscalls:1;ffffff",
    b"QCatchSyscalls:2",
    b"QPassSignals:zz",
    b"qSymbol:zz:zz",
    b"R00",
    b"!",
    b"d",
    b"vMustReplyEmpty",
    b"vRun;2f",
    b"vAttach;1",
    b"QStartNoAckModeX",
    b"\xff" * 50,
    b"}",
]


def test_hostile_packets(program: Path, tmp_path: Path) -> None:
    with client(program, tmp_path, "--vgdb-stop-at=startup") as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        assert talk.ask(b"?").startswith(b"T05")
        assert talk.ask(b"") == b""
        for content in HOSTILE:
            talk.send(frame(content) + b"\x03" + b"$m0,1#00" + b"$x")
            talk.send(b"+" * 50 + b"-")
            talk.receive()
        talk.send(frame(b"z0,0,0"))
        while talk.receive() != b"OK":
            pass
        assert talk.ask(b"D") == b"OK"
        talk.close()
        assert process.wait(timeout=TIMEOUT) == 5


def test_many_breakpoints_and_watchpoints(program: Path, tmp_path: Path) -> None:
    with client(program, tmp_path, "--vgdb-stop-at=startup") as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        assert talk.ask(b"?").startswith(b"T05")
        assert talk.ask(b"QStartNoAckMode") == b"OK"
        talk.reader.check = False
        packets = [frame(b"Z0,%x,1" % (0x10000 + count)) for count in range(2000)]
        assert set(talk.ask_many(packets)) == {b"OK"}
        answers = talk.ask_many([frame(b"Z2,%x,1" % (0x10000 + 2 * count)) for count in range(1030)])
        assert answers[:1024] == [b"OK"] * 1024
        assert answers[1024:] == [b"E0c"] * 6
        talk.send(frame(b"D"))
        assert talk.receive() == b"OK"
        talk.close()
        assert process.wait(timeout=TIMEOUT) == 5
