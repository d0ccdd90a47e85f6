"""Messages of the Debug Adapter Protocol: JSON behind a header that says its length in bytes.

The form is that of "Base Protocol" in the protocol's overview, https://microsoft.github.io/debug-adapter-protocol.
"""

from __future__ import annotations

import json
from typing import Any

_HEADER_LIMIT, _CONTENT_LIMIT = 1 << 13, 1 << 26


class ProtocolError(Exception):
    """What came is not of the protocol, and where the next message begins is unknown."""


def frame(message: dict[str, Any]) -> bytes:
    """A message as bytes."""
    content = json.dumps(message, separators=(",", ":")).encode("ascii")
    return b"Content-Length: %d\r\n\r\n%b" % (len(content), content)


class Reader:
    """Takes bytes as they come, gives requests."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The requests that are whole now. Raises :class:`ProtocolError`."""
        self._data += data
        found: list[dict[str, Any]] = []
        while (end := self._data.find(b"\r\n\r\n", 0, _HEADER_LIMIT)) >= 0:
            length = _length(bytes(self._data[:end]))
            begin = end + 4
            if len(self._data) < begin + length:
                return found
            found.append(_request(bytes(self._data[begin : begin + length])))
            del self._data[: begin + length]
        if len(self._data) >= _HEADER_LIMIT:
            raise ProtocolError(f"no end of a header in {_HEADER_LIMIT} bytes")
        return found

    def finish(self) -> None:
        """There are no more bytes. Raises :class:`ProtocolError` if a message was begun."""
        if self._data:
            raise ProtocolError("the input ends in the middle of a message")


def _length(header: bytes) -> int:
    for line in header.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            digits = value.strip()
            if not digits.isdigit() or len(digits) > 9 or int(digits) > _CONTENT_LIMIT:
                raise ProtocolError(f"bad Content-Length: {digits[:40].decode('ascii', 'backslashreplace')}")
            return int(digits)
    raise ProtocolError("a header without Content-Length")


def _request(content: bytes) -> dict[str, Any]:
    try:
        message = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"a message that is not JSON: {error}") from None
    if (
        not isinstance(message, dict)
        or not isinstance(message.get("seq"), int)
        or not isinstance(message.get("type"), str)
    ):
        raise ProtocolError("a message without seq and type")
    return message
