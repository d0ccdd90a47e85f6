"""The file of accesses: chunks of memory that the program fills, written by a thread beside it."""

from __future__ import annotations

import mmap
import os
import queue
import stat
import struct
import threading

from interpose.jit._native import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

HEADER = b"\x00\x0eDATAGRIND1\0\x01\x00\x08"
TEXT_AVMA = 8
_PIECE = 1 << 20
_BETWEEN = -1  # instead of a number of bytes: a record that goes between others


def record(kind: int, payload: bytes) -> bytes:
    """A record of the format: its type, its length in one byte or nine, its payload."""
    if len(payload) < 255:
        return bytes((kind, len(payload))) + payload
    return struct.pack("<BBQ", kind, 255, len(payload)) + payload


class OutputFile:
    """Takes bytes in order; what cannot be written ends the file at its last whole record.

    :ivar failed: nothing more is written.
    """

    def __init__(self, path: str, say: Callable[[str], None]) -> None:
        """Begin the file; OSError or ValueError if that cannot be."""
        self.path = path
        self.failed = False
        self._owner = os.getpid()
        self._say = say
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOCTTY, 0o666)
        self._regular = stat.S_ISREG(os.fstat(self._fd).st_mode)
        self._size = 0
        self._whole = 0  # bytes that are whole records
        self._waiting = b""  # records that go behind the one under way
        self._shared: memoryview | None = None
        self._queue: queue.Queue[tuple[memoryview | bytes, int] | None] = queue.Queue()
        self._free = threading.Semaphore(lib.DG_CHUNKS - 1)
        self._thread: threading.Thread | None = None
        self._error: OSError | None = None
        self._put(HEADER, len(HEADER))

    # -- the program's side ---------------------------------------------------------------------

    def attach(self, fd: int) -> bool:
        """Map the program's chunks; takes the descriptor over."""
        try:
            self._shared = memoryview(mmap.mmap(fd, lib.DG_SHARED, prot=mmap.PROT_READ))
        except (OSError, ValueError):
            return False
        finally:
            os.close(fd)
        return True

    def text_avma(self, avma: int, path: bytes) -> None:
        """Where the code of an object is."""
        data = record(TEXT_AVMA, struct.pack("<Q", avma) + path + b"\0")
        self._enqueue(data, _BETWEEN)

    def chunk(self, number: int, size: int, whole: int) -> None:
        """The next chunk is full; returns when the one after it may be filled."""
        assert self._shared is not None
        begin = number * lib.DG_CHUNK
        self._enqueue(self._shared[begin : begin + size], whole)
        self._free.acquire()

    def write(self, data: bytes, whole: int) -> None:
        """The same for bytes that were copied."""
        self._enqueue(data, whole)
        self._queue.join()

    def _enqueue(self, data: memoryview | bytes, whole: int) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="datagrind", daemon=True)
            self._thread.start()
        self._queue.put((data, whole))

    # -- the writing thread ----------------------------------------------------------------------

    def _work(self) -> None:
        while (item := self._queue.get()) is not None:
            self._put(*item)
            if isinstance(item[0], memoryview):
                self._free.release()
            self._queue.task_done()

    def _put(self, data: memoryview | bytes, whole: int) -> None:
        """Write all of it; the first ``whole`` bytes (0: unknown) end a record.

        A chunk may end within a record: what belongs between records waits for the end of that one.
        """
        if whole == _BETWEEN:
            self._waiting += data
        elif self._waiting and whole > 0:
            self._write(data[:whole], whole)
            self._put_waiting()
            self._write(data[whole:], 0)
        else:
            self._write(data, whole)
        if self._waiting and self._size == self._whole:
            self._put_waiting()

    def _put_waiting(self) -> None:
        waiting, self._waiting = self._waiting, b""
        self._write(waiting, len(waiting))

    def _write(self, data: memoryview | bytes, whole: int) -> None:
        if self.failed:
            return
        start = self._size
        try:
            view = memoryview(data)
            while view:
                count = os.write(self._fd, view[:_PIECE])
                self._size += count
                view = view[count:]
        except OSError as error:
            self._error = error
            self.failed = True
        if whole and self._size >= start + whole:
            self._whole = start + whole
        if self.failed:
            self._cut()

    def _cut(self) -> None:
        if self._regular and self._size > self._whole:
            os.ftruncate(self._fd, self._whole)
            os.lseek(self._fd, self._whole, os.SEEK_SET)
            self._size = self._whole

    # -- the end -----------------------------------------------------------------------------------

    def close(self) -> None:
        """Write what is left, and end at a whole record; not in a fork's copy, which has no thread."""
        if os.getpid() != self._owner:
            os.close(self._fd)
            return
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None
        self._cut()
        if self._size == self._whole:
            self._put_waiting()
        os.close(self._fd)
        self.tell()

    def tell(self) -> None:
        """Say, once, why nothing more is written."""
        error, self._error = self._error, None
        if error is not None:
            self._say(f"cannot write to '{self.path}': {error.strerror}; the program goes on unrecorded")
