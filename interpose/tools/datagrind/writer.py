"""The file of accesses: chunks of memory that the program fills, written by a thread beside it."""

from __future__ import annotations

import fcntl
import mmap
import os
import queue
import stat
import struct
import threading
import time

from interpose.jit._native import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

HEADER = b"\x00\x0eDATAGRIND1\0\x01\x00\x08"
TEXT_AVMA = 8
PAGE = 4096
"""What lies at multiples of this, in memory and in the file, may go to the disk without the kernel's copy."""
_TRIED = 32 << 20
_SLOW = 400e6
"""Bytes a second: a slower disk is left to the kernel's cache, which takes some seconds of it in."""
_COUNTERS = struct.Struct("<QQQ")


def record(kind: int, payload: bytes) -> bytes:
    """A record of the format: its type, its length in one byte or nine, its payload."""
    if len(payload) < 255:
        return bytes((kind, len(payload))) + payload
    return struct.pack("<BBQ", kind, 255, len(payload)) + payload


def whole_records(data: bytes) -> int:
    """How many of the bytes, which begin with a record, are whole ones."""
    at = 0
    while at + 2 <= len(data):
        end = at + 2 + data[at + 1]
        if data[at + 1] == 255:
            if at + 10 > len(data):
                break
            end = at + 10 + int.from_bytes(data[at + 2 : at + 10], "little")
        if end > len(data):
            break
        at = end
    return at


class _Sink:
    """A file that is written from its beginning to its end, past the kernel's cache where that is faster."""

    def __init__(self, path: str) -> None:
        self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOCTTY, 0o666)
        self._flags = fcntl.fcntl(self.fd, fcntl.F_GETFL)
        self.regular = stat.S_ISREG(os.fstat(self.fd).st_mode)
        self.size = 0
        self._direct = False
        self._took = 0.0
        if self.regular:
            self._go_direct(True)

    def _go_direct(self, wanted: bool) -> None:
        try:
            fcntl.fcntl(self.fd, fcntl.F_SETFL, self._flags | (os.O_DIRECT if wanted else 0))
            self._direct = wanted
        except OSError:
            self._direct = False  # a file system that has no such way

    def write(self, view: memoryview) -> None:
        """All of it, or an OSError; ``size`` says how much there is."""
        while view:
            part = view
            if self._direct:
                part = view[: len(view) // PAGE * PAGE]
                if self.size % PAGE or not part:
                    self._go_direct(False)
                    continue
            began = time.monotonic()
            try:
                count = os.write(self.fd, part)
            except OSError:
                if not self._direct:
                    raise
                self._go_direct(False)  # told by the usual way, if it is the file and not the way
                continue
            self.size += count
            view = view[count:]
            if self._direct and self.size <= _TRIED:
                self._took += time.monotonic() - began
                if self.size + PAGE > _TRIED and self._took > self.size / _SLOW:
                    self._go_direct(False)

    def cut(self, size: int) -> None:
        """Leave the first bytes only."""
        if self.regular and self.size > size:
            os.ftruncate(self.fd, size)
            os.lseek(self.fd, size, os.SEEK_SET)
            self.size = size


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
        self._sink = _Sink(path)
        self._whole = 0  # bytes that are whole records
        self._rest = b""  # those behind
        self._shared: mmap.mmap | None = None
        self._next = 0  # the chunk that is being filled
        self._queue: queue.Queue[tuple[memoryview, int] | None] = queue.Queue()
        # Not the chunk that is being filled, nor the next one, where what goes beyond its end lies.
        self._free = threading.Semaphore(lib.DG_CHUNKS - 2)
        self._thread: threading.Thread | None = None
        self._error: OSError | None = None

    # -- the program's side ---------------------------------------------------------------------

    def attach(self, fd: int) -> bool:
        """Map the program's chunks; takes the descriptor over."""
        try:
            self._shared = mmap.mmap(fd, lib.DG_SHARED)
        except (OSError, ValueError):
            return False
        finally:
            os.close(fd)
        return True

    def mail(self, data: bytes) -> bool:
        """A record that goes between the program's, behind those that there are; False: no room for it."""
        shared = self._shared
        if shared is None:
            return False
        put, taken, _ = _COUNTERS.unpack_from(shared, lib.DG_MAILBOX)
        if len(data) > lib.DG_MAIL - (put - taken):
            return False
        first = lib.DG_MAILBOX + lib.DG_MAIL_HEAD
        at = put % lib.DG_MAIL
        part = min(len(data), lib.DG_MAIL - at)
        shared[first + at : first + at + part] = data[:part]
        shared[first : first + len(data) - part] = data[part:]
        struct.pack_into("<Q", shared, lib.DG_MAILBOX, put + len(data))
        return True

    def chunk(self, number: int, size: int, whole: int) -> None:
        """The next chunk is full; returns when the one after it may be filled, and its end be passed."""
        assert self._shared is not None
        begin = number * lib.DG_CHUNK
        self._next = (number + 1) % lib.DG_CHUNKS
        self._enqueue(memoryview(self._shared)[begin : begin + size], whole)
        self._free.acquire()

    def write(self, data: bytes) -> None:
        """Whole records that were copied."""
        self._enqueue(memoryview(data), len(data))
        self._queue.join()

    def killed(self) -> None:
        """The program has ended without a word: what it has put into its chunk is whole, too."""
        if self._shared is None or self.failed or os.getpid() != self._owner:
            return
        _, _, filled = _COUNTERS.unpack_from(self._shared, lib.DG_MAILBOX)
        number, size = filled >> 32, filled & 0xFFFFFFFF
        if number == self._next and 0 < size < lib.DG_CHUNK:
            self.chunk(number, size, size)

    def _enqueue(self, data: memoryview, whole: int) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="datagrind", daemon=True)
            self._thread.start()
        self._queue.put((data, whole))

    # -- the writing thread ----------------------------------------------------------------------

    def _work(self) -> None:
        while (item := self._queue.get()) is not None:
            self._put(*item)
            self._free.release()
            self._queue.task_done()

    def _put(self, data: memoryview, whole: int) -> None:
        """Write all of it; the first ``whole`` bytes end a record."""
        if self.failed:
            return
        sink = self._sink
        start = sink.size
        try:
            sink.write(data)
        except OSError as error:
            self._error = error
            self.failed = True
            begun = self._rest + bytes(data[: sink.size - start])
            self._whole += whole_records(begun)
            sink.cut(self._whole)
        else:
            self._whole = start + whole
            self._rest = bytes(data[whole:])

    # -- the end -----------------------------------------------------------------------------------

    def close(self) -> None:
        """Write what is left, and end at a whole record; not in a fork's copy, which has no thread."""
        if os.getpid() != self._owner:
            os.close(self._sink.fd)
            return
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None
        self._sink.cut(self._whole)
        if self._sink.size == 0:
            self._put(memoryview(HEADER), len(HEADER))
        os.close(self._sink.fd)
        self.tell()

    def tell(self) -> None:
        """Say, once, why nothing more is written."""
        error, self._error = self._error, None
        if error is not None:
            self._say(f"cannot write to '{self.path}': {error.strerror}; the program goes on unrecorded")
