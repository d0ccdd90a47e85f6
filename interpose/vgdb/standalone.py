"""Monitor commands, one after the other."""

from __future__ import annotations

import os
import re
import time

from interpose.gdb.packets import OK

from .found import Place
from .link import Link
from .voice import VgdbError, Voice, write_output

_PACKET = re.compile(rb"\$([^#$]*)#..", re.DOTALL)
_RUN = re.compile(rb"(.)\*(.)", re.DOTALL)


def _frame(content: bytes) -> bytes:
    return b"$%b#%02x" % (content, sum(content) & 0xFF)


def _expanded(content: bytes) -> bytes:
    """Run lengths written out (gdb's manual, "Overview" of the remote protocol)."""
    return _RUN.sub(lambda run: run[1] * (run[2][0] - 28), content)


class _Ended(Exception):
    """The program has closed the connection."""


class _Conversation:
    """Packets over a link."""

    def __init__(self, link: Link, time_out: float) -> None:
        self._link = link
        self._data = b""
        self._time_out = time_out

    def send(self, content: bytes) -> float:
        """Send a packet; the time until which its answer is waited for."""
        try:
            self._link.send(_frame(content))
        except BrokenPipeError:
            raise _Ended from None
        return time.monotonic() + self._time_out

    def receive(self, until: float) -> bytes | None:
        """The next packet; None at the end."""
        while (packet := _PACKET.search(self._data)) is None:
            data = self._link.read(until)
            if data is None:
                raise VgdbError(
                    f"pid {self._link.place.pid} did not handle a command in {self._time_out:.0f} seconds"
                )
            if not data:
                return None
            self._data += data
        self._data = self._data[packet.end() :]
        return _expanded(packet[1])


def run(place: Place, commands: list[str], time_out: float, voice: Voice) -> int:
    """Send the commands and show the replies; the status to exit with."""
    with Link(place, voice) as link:
        talk = _Conversation(link, time_out)
        try:
            answer = talk.receive(talk.send(b"QStartNoAckMode"))
            for command in commands:
                if answer is None:
                    break
                voice.say(f"sending command {command} to pid {place.pid}")
                answer = _carry_out(talk, command)
        except _Ended:
            answer = None
        if answer is None:
            voice.tell("readchar: Got EOF\nerror reading packet")
    return 0


def _carry_out(talk: _Conversation, command: str) -> bytes | None:
    """Send one command; the packet that ends its reply."""
    until = talk.send(b"qRcmd," + os.fsencode(command).hex().encode())
    while True:
        answer = talk.receive(until)
        if answer is None:
            return None
        if answer[:1] == b"O" and answer != OK:
            _show(answer[1:])
            continue
        if answer[:1] == b"E":
            raise VgdbError(f"the command ended with an error: {answer.decode('ascii', 'replace')}")
        if not answer:
            raise VgdbError("the program takes no monitor commands")
        return answer


def _show(digits: bytes) -> None:
    try:
        data = bytes.fromhex(digits.decode("ascii", "replace"))
    except ValueError:
        raise VgdbError("the reply makes no sense") from None
    write_output(data)
