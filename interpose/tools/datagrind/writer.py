"""The file of accesses: memory that the program fills, written beside it (write/write.c)."""

from __future__ import annotations

import mmap
import os
import stat
import struct
import threading

from interpose.jit._native import ffi, lib
from interpose.report.given import open_for_writing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

HEADER = b"\x00\x0eDATAGRIND1\0\x01\x00\x08"
TEXT_AVMA = 8
MAIL = lib.DG_MAILBOX + ffi.offsetof("struct dg_mailbox", "mail")
_COUNTERS = struct.Struct("<QQ")


def record(kind: int, payload: bytes) -> bytes:
    """A record of the format: its type, its length in one byte or nine, its payload."""
    if len(payload) < 255:
        return bytes((kind, len(payload))) + payload
    return struct.pack("<BBQ", kind, 255, len(payload)) + payload


class OutputFile:
    """Takes bytes in order; what cannot be written ends the file at its last whole record."""

    def __init__(self, path: str, say: Callable[[str], None]) -> None:
        """Begin the file; OSError or ValueError if that cannot be."""
        self.path = path
        self._owner = os.getpid()
        self._say = say
        self._fd = open_for_writing(path, 0o666, patience=True)
        self._writer = lib.dg_writer_new(self._fd, stat.S_ISREG(os.fstat(self._fd).st_mode))
        if self._writer == ffi.NULL:
            os.close(self._fd)
            raise MemoryError
        self._shared: mmap.mmap | None = None
        self._address: Any = ffi.NULL
        self._thread: threading.Thread | None = None
        self._told = False

    @property
    def failed(self) -> bool:
        """Nothing more is written."""
        return bool(self._writer.error)

    # -- the program's side ---------------------------------------------------------------------

    def attach(self, fd: int) -> bool:
        """Map the memory that the program queues from; takes the descriptor over."""
        try:
            self._shared = mmap.mmap(fd, lib.DG_SHARED)
        except (OSError, ValueError):
            return False
        finally:
            os.close(fd)
        self._address = ffi.from_buffer("uint8_t[]", self._shared)
        self._thread = threading.Thread(
            target=lib.dg_writer_run, args=(self._writer, self._address), name="datagrind", daemon=True
        )
        self._thread.start()
        return True

    def mail(self, data: bytes) -> bool:
        """A record that goes between the program's, behind those that there are; False: no room for it."""
        shared = self._shared
        if shared is None:
            return False
        put, taken = _COUNTERS.unpack_from(shared, lib.DG_MAILBOX)
        if len(data) > lib.DG_MAIL - (put - taken):
            return False
        first = MAIL
        at = put % lib.DG_MAIL
        part = min(len(data), lib.DG_MAIL - at)
        shared[first + at : first + at + part] = data[:part]
        shared[first : first + len(data) - part] = data[part:]
        struct.pack_into("<Q", shared, lib.DG_MAILBOX, put + len(data))
        return True

    def write(self, data: bytes) -> None:
        """Whole records that were copied, of a program whose memory is not shared."""
        lib.dg_writer_put(self._writer, data, len(data))

    def killed(self) -> None:
        """The program has ended without a word: what it has not queued is whole, too."""
        if os.getpid() == self._owner:
            self._join(killed=True)

    def _join(self, *, killed: bool) -> None:
        if self._thread is not None:
            self._writer.ending = 2 if killed else 1
            lib.dg_ring(self._address)
            self._thread.join()
            self._thread = None

    # -- the end -----------------------------------------------------------------------------------

    def close(self) -> None:
        """Write what is left, and end at a whole record; not in a fork's copy, which has no thread."""
        if os.getpid() != self._owner:
            os.close(self._fd)
            return
        self._join(killed=False)
        if self._writer.size + self._writer.staged == 0:
            self.write(HEADER)
        lib.dg_writer_close(self._writer)
        os.close(self._fd)
        self.tell()

    def tell(self) -> None:
        """Say, once, why nothing more is written."""
        if self.failed and not self._told:
            self._told = True
            reason = os.strerror(self._writer.error)
            self._say(f"cannot write to '{self.path}': {reason}; the program goes on unrecorded")
