"""Processes that show themselves over a socket which they share."""

from __future__ import annotations

import os
import socket
import struct

from interpose import system
from interpose.supervisor.processes import sender


def shows_itself(fd: int, *numbers: int) -> int:
    """A process that says these numbers, and has ended."""
    pid = os.fork()
    if pid == 0:
        with socket.socket(fileno=fd) as sock:
            for number in numbers:
                sock.send(struct.pack("Q", number))
        os._exit(0)
    os.waitpid(pid, 0)
    return pid


def test_whoever_asks_first_is_not_who_came_first() -> None:
    ours, theirs = system.socket_pair()
    others: dict[int, int] = {}
    killed = shows_itself(theirs, 1)  # before its request
    first, second = shows_itself(theirs, 2), shows_itself(theirs, 3, 4)
    assert sender(ours, 3, others) == second
    assert sender(ours, 2, others) == first
    assert sender(ours, 4, others) == second
    assert sender(ours, 5, others) is None
    assert others == {1: killed}
    os.close(theirs)
    assert sender(ours, 5, others) is None  # nobody is left
    os.close(ours)
