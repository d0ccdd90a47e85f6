"""What a child has met is told, whoever of the family ends while it is about to be."""

from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import Any

import pytest

from interpose.gdb import family as module
from interpose.gdb.family import TAKE, Child, Heritage
from interpose.gdb.packets import Reader
from interpose.gdb.server import Server


@pytest.fixture(autouse=True)
def no_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is to be woken for what comes."""
    monkeypatch.setattr(module, "lib", SimpleNamespace(ip_watch=lambda fd: 0))


def running_child(server: Server, pid: int) -> socket.socket:
    """A child that gdb has let go on; its server's end of the way."""
    ours, its = socket.socketpair()
    ours.setblocking(False)
    child = server.children[pid] = Child(pid, ours.detach())
    child.runs = True
    return its


def family(own: int) -> tuple[Server, SimpleNamespace, list[bytes]]:
    """A server that is attached, what it debugs with, and what it sends to gdb."""
    sent: list[bytes] = []
    debugger = SimpleNamespace(
        stop_all=lambda: None, resume_all=lambda: None, detach=lambda: None, forget_events=lambda: None
    )
    supervisor: Any = SimpleNamespace(
        debugger=debugger, client=SimpleNamespace(pid=own), fifos=None, finished=True
    )
    server = Server(supervisor, sent.append)
    server.multiprocess = server._attached = True
    return server, debugger, sent


def packets_of(data: bytes) -> list[bytes]:
    return [item for item in Reader().feed(data) if isinstance(item, bytes)]


def test_the_process_ends_while_it_is_stopped_for_its_child() -> None:
    server, debugger, sent = family(7)
    its = running_child(server, 8)
    its.sendall(b"$T05thread:p8.8;#f8")
    debugger.stop_all = lambda: server.ended(3, 0)
    server.listen()
    assert server.is_closed
    assert sent == []  # the child's server goes on with all that gdb is to hear
    (content,) = [packet for packet in packets_of(its.recv(1 << 16)) if packet.startswith(TAKE)]
    heritage = Heritage.read(content[len(TAKE) :], [])
    assert (heritage.reply, heritage.told) == (b"W03;process:7", [b"T05thread:p8.8;"])
    its.close()


def test_an_end_is_told_before_what_the_process_has_met_itself() -> None:
    """gdb takes an end that comes while it steps another process over a breakpoint for that step's."""
    server, debugger, sent = family(7)
    server._stopped = True
    its = running_child(server, 8)
    server.children[8].runs = False
    met = SimpleNamespace(index=0)
    back: list[object] = []

    def meet(wanted: object) -> object:
        its.sendall(b"$W04;process:8#53")  # as soon as it goes on
        return met

    debugger.threads = lambda: []
    debugger.take_event, debugger.put_back = meet, back.append
    server.receive(b"$vCont;c#a8")
    assert packets_of(b"".join(sent)) == [b"W04;process:8"]
    assert back == [met]
    its.close()


def test_a_stop_for_another_process_is_no_interruption() -> None:
    """The child's stop has crossed it: the child goes on later without another one."""
    server, debugger, sent = family(8)
    server.descent = SimpleNamespace(copied=lambda: None)  # type: ignore[assignment]
    server._stopped = True
    debugger.threads, debugger.take_event = lambda: [], lambda wanted: None
    debugger.keep = lambda threads: None
    server.receive(b"\x03")
    server.receive(b"$vCont;c#a8")
    assert sent == [b"+"]
    server._stopped = True
    server.descent = None  # the conversation is its own: now it is gdb's user
    server.stop_reply = lambda: b"T02"  # type: ignore[method-assign]
    server.receive(b"\x03")
    server.receive(b"$vCont;c#a8")
    assert packets_of(b"".join(sent)) == [b"T02"]


def test_process_and_child_have_ended() -> None:
    server, debugger, sent = family(7)
    its = running_child(server, 8)
    its.sendall(b"$W04;process:8#53")
    debugger.stop_all = lambda: server.ended(0, 9)
    server.listen()
    assert packets_of(b"".join(sent)) == [b"X09;process:7"]
    assert server.outlives_program
    debugger.stop_all = lambda: None
    server.receive(b"$vCont;c#a8")
    assert packets_of(b"".join(sent))[1:] == [b"W04;process:8"]
    assert server.is_closed
    its.close()
