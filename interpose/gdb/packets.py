"""GDB's remote serial protocol below the packets: framing, checksums, escapes, run lengths.

"Overview" and "Packet Acknowledgment" of the appendix "GDB Remote Serial Protocol" of GDB's manual. Whatever
comes in may be garbage: nothing here raises, and nothing grows without bound.
"""

from __future__ import annotations

import enum
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

OK = b"OK"
"""The reply to what was done and has no other result."""

PACKET_SIZE = 0x3FFF
"""Bytes of a packet's content that we announce (``qSupported``); what we send is no longer."""

FEATURES = (
    b"PacketSize=%x" % PACKET_SIZE,
    b"QStartNoAckMode+",
    b"QPassSignals+",
    b"QCatchSyscalls+",
    b"QThreadEvents+",
    b"qXfer:features:read+",
    b"qXfer:auxv:read+",
    b"qXfer:exec-file:read+",
    b"qXfer:libraries-svr4:read+",
    b"augmented-libraries-svr4-read+",
    b"qXfer:siginfo:read+",
    b"qXfer:siginfo:write+",
    b"qXfer:threads:read+",
    b"vContSupported+",
    b"swbreak+",
    b"hwbreak+",
)
"""What a program's server can do, whoever asks; and what it does for those alone who can, too:"""
MUTUAL = (b"multiprocess+", b"exec-events+", b"fork-events+", b"vfork-events+")
NEWBORN = re.compile(rb"fork:p([0-9a-f]+)\.")
"""In what is told of a stop for a fork or vfork: the child's number."""

_LONGEST = 4 * PACKET_SIZE  # of what a packet may have on its way in: escapes double it
_ESCAPE, _ESCAPED_BY = 0x7D, 0x20
_TO_ESCAPE = frozenset(b"#$}*")
_HEX = frozenset(b"0123456789abcdefABCDEF")


class Refused(Exception):
    """A request cannot be had: ``E`` and the number."""

    def __init__(self, number: int = 1) -> None:
        super().__init__(number)
        self.reply = b"E%02x" % number


class Signal(enum.Enum):
    """What comes between packets."""

    ACK = b"+"
    NACK = b"-"
    INTERRUPT = b"\x03"
    DAMAGED = b""
    """A packet came whose checksum is wrong, or that is longer than any may be: to be sent again."""


def escape(content: bytes) -> bytes:
    """Binary content as it is sent."""
    if not _TO_ESCAPE.intersection(content):
        return content
    out = bytearray()
    for byte in content:
        if byte in _TO_ESCAPE:
            out += bytes((_ESCAPE, byte ^ _ESCAPED_BY))
        else:
            out.append(byte)
    return bytes(out)


def unescape(content: bytes) -> bytes:
    """The inverse of :func:`escape`; an escape without anything behind it is dropped."""
    if _ESCAPE not in content:
        return content
    out = bytearray()
    bytes_left = iter(content)
    for byte in bytes_left:
        if byte == _ESCAPE:
            following = next(bytes_left, None)
            if following is None:
                break
            byte = following ^ _ESCAPED_BY
        out.append(byte)
    return bytes(out)


def expand(content: bytes, limit: int = _LONGEST) -> bytes | None:
    """Content with its run lengths (``0* `` is ``0000``) written out, escapes still in it.

    None if it is no such content: a run of nothing, a count below the printable characters, more than
    ``limit`` bytes.
    """
    if b"*" not in content:
        return content
    out = bytearray()
    at = 0
    while at < len(content):
        byte = content[at]
        if byte != ord("*"):
            out.append(byte)
            at += 1
            continue
        if not out or at + 1 >= len(content):
            return None
        more = content[at + 1] - 29
        if not 3 <= more <= 97 or len(out) + more > limit:
            return None
        out += bytes((out[-1],)) * more
        at += 2
    return bytes(out)


def frame(content: bytes) -> bytes:
    """A packet with this content, which is escaped where it has to be."""
    body = escape(content)
    return b"$%b#%02x" % (body, sum(body) & 0xFF)


class Reader:
    """Bytes as they come in, to packets and what is between them."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self.check = True
        """Whether checksums count: without acknowledgments a bad packet cannot be asked for again."""

    def feed(self, data: bytes) -> Iterator[bytes | Signal]:
        """Take bytes; yields the content of each packet that is complete, or a :class:`Signal`."""
        self._buffer += data
        while self._buffer:
            first = self._buffer[0]
            if first != ord("$"):
                del self._buffer[:1]
                signal = _BETWEEN.get(first)
                if signal is not None:
                    yield signal
                continue
            end = self._buffer.find(b"#")
            again = self._buffer.find(b"$", 1, end if end >= 0 else len(self._buffer))
            if again >= 0:  # "$" is escaped within a packet: this one has lost its end
                del self._buffer[:again]
                yield Signal.DAMAGED
                continue
            if end < 0 or len(self._buffer) < end + 3:
                if len(self._buffer) <= _LONGEST:
                    return
                self._buffer.clear()
                yield Signal.DAMAGED
                return
            body, digits = bytes(self._buffer[1:end]), bytes(self._buffer[end + 1 : end + 3])
            del self._buffer[: end + 3]
            yield self._content(body, digits)

    def _content(self, body: bytes, digits: bytes) -> bytes | Signal:
        if self.check and (not _HEX.issuperset(digits) or int(digits, 16) != sum(body) & 0xFF):
            return Signal.DAMAGED
        if len(body) > _LONGEST:
            return Signal.DAMAGED
        # Run lengths are for replies: "*" in a request stands for itself.
        return unescape(body)


_BETWEEN = {signal.value[0]: signal for signal in Signal if signal.value}
