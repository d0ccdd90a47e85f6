"""Between gdb and a program: bytes go both ways as they come."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket

from interpose.errors import write_all

from .found import Place
from .link import Link
from .voice import VgdbError, Voice

_PIECE = 1 << 16
_LOOK_MS = 1000


def run(place: Place, voice: Voice) -> int:
    """Relay standard input and output."""
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # a terminal's Ctrl-C is gdb's, which passes it on in its way
    with Link(place, voice) as link:
        voice.say(f"relaying data between gdb and process {place.pid}")
        _relay(link, 0, 1)
    return 0


def _relay(link: Link, source: int, target: int) -> None:
    ready = select.poll()
    ready.register(source, select.POLLIN)
    ready.register(link.replies, select.POLLIN)
    with contextlib.suppress(BrokenPipeError, ConnectionError):
        while True:
            events = dict(ready.poll(_LOOK_MS))
            if not events and link.is_gone():
                return
            if link.replies in events:
                data = link.take()
                if not data:
                    return
                write_all(target, data)
            if source in events:
                data = os.read(source, _PIECE)
                if not data:
                    return
                link.send(data)


# -- TCP -----------------------------------------------------------------------------------------------------


def _owner(peer: tuple[str, int], own: tuple[str, int]) -> int | None:
    """The user at the other end of a connection within this machine; None if the kernel does not say."""

    def written(address: tuple[str, int]) -> str:
        return f"{socket.inet_aton(address[0])[::-1].hex().upper()}:{address[1]:04X}"

    try:
        with open("/proc/net/tcp", encoding="ascii") as file:
            rows = [line.split() for line in file]
    except OSError:
        return None
    for row in rows[1:]:
        if len(row) > 7 and row[1] == written(peer) and row[2] == written(own):
            return int(row[7])
    return None


def _accept(listener: socket.socket, voice: Voice) -> socket.socket:
    """The first connection that is the same user's.

    gdb can send no token before its protocol begins, but the kernel knows whose a local connection is.
    """
    while True:
        connection, peer = listener.accept()
        owner = _owner(peer, connection.getsockname())
        if owner in (os.geteuid(), 0):
            return connection
        voice.tell(f"refused a connection of {'nobody known' if owner is None else f'user {owner}'}")
        connection.close()


def run_tcp(place: Place, port: int, voice: Voice) -> int:
    """The same for a gdb that connects to a port of the loopback interface."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
            listener.listen(1)
        except OSError as error:
            raise VgdbError(f"vgdb error: cannot listen on port {port}: {error.strerror}") from None
        voice.say(f"listening on port {listener.getsockname()[1]} ...")
        connection = _accept(listener, voice)
    with connection, Link(place, voice) as link:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        voice.say("connected.")
        voice.say(f"relaying data between gdb and process {place.pid}")
        _relay(link, connection.fileno(), connection.fileno())
    return 0
