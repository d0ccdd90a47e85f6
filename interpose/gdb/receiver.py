"""Who serves a connection: the gdb server."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from interpose.gdb.fifos import Receiver
    from interpose.supervisor.main import Supervisor


def make(supervisor: Supervisor, send: Callable[[bytes], None]) -> Receiver:
    """A receiver for a new connection."""
    try:
        from interpose.gdb.server import Server  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return _MonitorOnly(supervisor, send)
    server: Receiver = Server(supervisor, send)
    return server


class _MonitorOnly:
    """Answers monitor commands and nothing else."""

    def __init__(self, supervisor: Supervisor, send: Callable[[bytes], None]) -> None:
        self._supervisor = supervisor
        self._send = send
        self._data = b""
        self._acks = True

    def _packet(self, content: bytes) -> None:
        self._send(b"$" + content + b"#%02x" % (sum(content) & 0xFF))

    def receive(self, data: bytes) -> None:
        """Take what has come."""
        self._data += data
        while found := re.search(rb"\$([^#]*)#..", self._data):
            self._data = self._data[found.end() :]
            if self._acks:
                self._send(b"+")
            self._answer(found[1])

    def _answer(self, content: bytes) -> None:
        if content == b"QStartNoAckMode":
            self._packet(b"OK")
            self._acks = False
        elif content.startswith(b"qRcmd,"):
            from interpose.gdb.monitor import execute

            text = bytes.fromhex(content[6:].decode()).decode("utf-8", "surrogateescape")
            execute(self._supervisor, text, self._write)
            self._packet(b"OK")
        else:
            self._packet(b"")

    def _write(self, text: str) -> None:
        data = text.encode("utf-8", "surrogateescape")
        for start in range(0, len(data), 2000):
            self._packet(b"O" + data[start : start + 2000].hex().encode())

    def closed(self) -> None:
        """Nobody is there any more."""
