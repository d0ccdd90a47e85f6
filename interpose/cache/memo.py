"""What followed from events in earlier runs: each event's answer, by a checksum of all events up to it.

The file: a head, for each answer its key, its length and its bytes, and at the end a checksum of it all.
"""

from __future__ import annotations

import struct

from interpose.cache.digest import digest

_HEAD = b"interpose memo 1"
_ENTRY = struct.Struct("<16sI")
MOST_BYTES = 16 << 20
MOST_ANSWERS = 20_000


class Memo:
    """One chain of events, and the answers that are known.

    :ivar added: answers of this run that are not in the file.
    :ivar damaged: the file was not what had been written.
    """

    def __init__(self, seed: bytes, data: bytes | None) -> None:
        """``seed`` has what decides the answers beside the events; ``data`` is what :meth:`contents` gave."""
        self._state = digest(seed)
        self._known: dict[bytes, bytes] = {}
        self.added: dict[bytes, bytes] = {}
        self._sound = True
        self.damaged = data is not None and not self.take(data)

    def take(self, data: bytes) -> bool:
        """Learn the answers of a file; false, and none are learnt, if it is damaged."""
        known = _answers(data)
        if known is not None:
            self._known.update(known)
        return known is not None

    def happened(self, event: bytes) -> None:
        """One more event."""
        self._state = digest(self._state + event)

    def distrust(self) -> None:
        """An event had something to it that its bytes do not say: from now on nothing is known, or added."""
        self._sound = False

    def answer(self, question: bytes = b"") -> bytes | None:
        """What is known of the events so far."""
        return self._known.get(digest(self._state + question)) if self._sound else None

    def add(self, answer: bytes, question: bytes = b"") -> None:
        """It was found out."""
        if self._sound and len(self._known) < MOST_ANSWERS:
            key = digest(self._state + question)
            self._known[key] = self.added[key] = answer

    def contents(self) -> bytes:
        """What to write."""
        body = b"".join(
            part for key, answer in self._known.items() for part in (_ENTRY.pack(key, len(answer)), answer)
        )
        return _HEAD + body + digest(_HEAD + body)


def _answers(data: bytes) -> dict[bytes, bytes] | None:
    body, check = data[:-16], data[-16:]
    if not body.startswith(_HEAD) or digest(body) != check:
        return None
    known = {}
    at = len(_HEAD)
    while at < len(body):
        key, size = _ENTRY.unpack_from(body, at)
        at += _ENTRY.size + size
        known[key] = body[at - size : at]
    return known
