"""What followed from events in earlier runs: each event's answer, by a checksum of all events up to it.

The file: a head, for each answer its key, its length and its bytes, and at the end a checksum of it all.
"""

from __future__ import annotations

import struct

from interpose.cache.digest import digest

_HEAD = b"interpose memo 1"
_ENTRY = struct.Struct("<16sI")
_ROW = b"row"
_FACT = b"\0fact\0"
MOST_BYTES = 16 << 20
MOST_ANSWERS = 20_000


class Memo:
    """One chain of events, and the answers that are known.

    :ivar added: answers of this run that are not in the file.
    :ivar damaged: the file was not what had been written.
    """

    def __init__(self, seed: bytes, data: bytes | None) -> None:
        """``seed`` has what decides the answers beside the events; ``data`` is what :meth:`contents` gave."""
        self._seed = seed
        self._state = digest(seed)
        self._known: dict[bytes, bytes] = {}
        self.added: dict[bytes, bytes] = {}
        self._sound = True
        self._row: list[bytes] = []
        self._row_key = b""
        self.damaged = data is not None and not self.take(data)

    def take(self, data: bytes) -> bool:
        """Learn the answers of a file; false, and none are learnt, if it is damaged."""
        known = _answers(data)
        if known is not None:
            self._known = {**known, **self._known}
        return known is not None

    def happened(self, event: bytes, in_row: bool = False) -> None:
        """One more event; ``in_row``: one of some, all of one length, that follow one another in each run."""
        if not in_row:
            self.end_row()
        elif not self._row:
            self._row_key = digest(self._state + _ROW)
        if in_row:
            self._row.append(event)
        self._state = digest(self._state + event)

    def end_row(self) -> None:
        """Keep the events of a row, if they are not what is known."""
        row = b"".join(self._row)
        is_new = len(self._row) > 1 and not self._known.get(self._row_key, b"").startswith(row)
        if is_new and self._sound and len(self._known) < MOST_ANSWERS:
            self._known[self._row_key] = self.added[self._row_key] = row
        self._row.clear()

    def row(self, event: bytes) -> list[tuple[bytes, bytes]]:
        """What came in a row after this event when it came next before, each with its answer."""
        if not self._sound:
            return []
        size = len(event)
        known = self._known.get(self._row_key if self._row else digest(self._state + _ROW), b"")
        events = [known[at : at + size] for at in range(0, len(known), size)]
        met = len(self._row)
        if events[: met + 1] != [*self._row, event]:
            return []
        found: list[tuple[bytes, bytes]] = []
        state = digest(self._state + event)
        for following in events[met + 1 :]:
            state = digest(state + following)
            answer = self._known.get(digest(state))
            if answer is None:
                break
            found.append((following, answer))
        return found

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

    def holds(self, fact: bytes) -> bool:
        """Whether an earlier run of the program said so, whatever its events were."""
        return self._seed_key(fact) in self._known

    def say(self, fact: bytes) -> None:
        """Have the next run know it."""
        key = self._seed_key(fact)
        if key not in self._known:
            self._known[key] = self.added[key] = b""

    def _seed_key(self, fact: bytes) -> bytes:
        return digest(self._seed + _FACT + fact)

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
