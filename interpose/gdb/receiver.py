"""Who serves a connection: the gdb server."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from interpose.gdb.fifos import Receiver
    from interpose.supervisor.main import Supervisor


def make(supervisor: Supervisor, send: Callable[[bytes], None]) -> Receiver:
    """A receiver for a new connection."""
    from interpose.gdb.server import Server

    return Server(supervisor, send)
