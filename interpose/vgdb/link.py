"""A connection to one program, over its FIFOs."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import struct
import time

from .found import Place
from .voice import VgdbError, Voice

SHARED_SIZE = 48
_WRITTEN_AT, _SEEN_AT, _VGDB_PID_AT = 0, 4, 40
_CALL = b"\x03"
_OPEN_SECONDS = 2
_LOOK_MS = 500  # between two looks whether the program is still there


def shared_state(place: Place) -> str:
    """``-D``."""
    try:
        with open(place.shared, "rb") as file:
            data = file.read(SHARED_SIZE)
    except OSError as error:
        raise VgdbError(f"cannot read {place.shared}: {error.strerror}") from None
    if len(data) < SHARED_SIZE:
        raise VgdbError(f"{place.shared} is too short: {len(data)} bytes")
    written, seen = struct.unpack_from("<ii", data)
    (pid,) = struct.unpack_from("<i", data, _VGDB_PID_AT)
    return f"vgdb {os.getpid()} written_by_vgdb {written} seen_by_valgrind {seen}\nvgdb pid {pid}"


class Link:
    """Bytes to and from a program's gdb server; a context manager."""

    def __init__(self, place: Place, voice: Voice) -> None:
        self.place = place
        self._voice = voice
        self._shared = self._to = self.replies = -1
        self._is_answered = False
        try:
            self._connect()
        except OSError as error:
            self.close()
            name = error.filename or place.requests
            raise VgdbError(f"vgdb error: cannot use {name}: {error.strerror}") from None
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Link:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _connect(self) -> None:
        place, flags = self.place, os.O_CLOEXEC | os.O_NOFOLLOW
        self._voice.debug(f"vgdb: using {place.requests} {place.replies} {place.shared}")
        self._shared = os.open(place.shared, os.O_RDWR | flags)
        if os.fstat(self._shared).st_size < SHARED_SIZE:
            raise VgdbError(f"vgdb error: {place.shared} is no shared memory of a server")
        self._lock()
        self._to = self._open_requests(os.O_WRONLY | os.O_NONBLOCK | flags)
        os.set_blocking(self._to, True)
        os.pwrite(self._shared, struct.pack("<i", os.getpid()), _VGDB_PID_AT)
        # Without a writer there is nothing to read yet, and no end either.
        self.replies = os.open(place.replies, os.O_RDONLY | os.O_NONBLOCK | flags)
        with contextlib.suppress(BlockingIOError):
            while os.read(self.replies, 1 << 16):  # what was for one who has died
                pass
        self.send(_CALL)

    def _open_requests(self, flags: int) -> int:
        """Valgrind opens its end anew after each conversation, when it next looks; ours stays open."""
        end = time.monotonic() + _OPEN_SECONDS
        while True:
            try:
                return os.open(self.place.requests, flags)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
            if not self.is_alive():
                raise VgdbError(f"vgdb error: pid {self.place.pid} has ended")
            if time.monotonic() >= end:
                raise VgdbError(
                    f"vgdb error: pid {self.place.pid} does not listen at {self.place.requests}\n"
                    "(under Valgrind all threads may be blocked: only Valgrind's vgdb wakes them)"
                )
            time.sleep(0.01)

    def _lock(self) -> None:
        try:
            fcntl.lockf(self._shared, fcntl.LOCK_EX | fcntl.LOCK_NB, 1)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            (other,) = struct.unpack("<i", os.pread(self._shared, 4, _VGDB_PID_AT))
            raise VgdbError(
                f"syscall failed: {error.strerror}\nCannot acquire lock.\n"
                f"Probably vgdb pid {other} already speaks with Valgrind pid {self.place.pid}"
            ) from None

    def send(self, data: bytes) -> None:
        """Write, and say so in the shared memory."""
        self._voice.debug(f"writing {data!r}", 2)
        left = memoryview(data)
        while left:
            left = left[os.write(self._to, left) :]
            (written,) = struct.unpack("<I", os.pread(self._shared, 4, _WRITTEN_AT))
            os.pwrite(self._shared, struct.pack("<I", written + 1 & 0xFFFF_FFFF), _WRITTEN_AT)

    def read(self, until: float | None = None) -> bytes | None:
        """What comes next; empty at the end, None if nothing came until a time (``time.monotonic``)."""
        ready = select.poll()
        ready.register(self.replies, select.POLLIN)
        while True:
            wait = _LOOK_MS
            if until is not None:
                wait = min(wait, max(0, int((until - time.monotonic()) * 1000) + 1))
            events = ready.poll(wait)
            if not events:
                if until is not None and time.monotonic() >= until:
                    return None
                if self.is_gone():
                    return b""
                continue
            with contextlib.suppress(BlockingIOError):
                return self.take()

    def take(self) -> bytes:
        """What :attr:`replies` is ready to give; empty at the end."""
        data = os.read(self.replies, 1 << 16)
        self._is_answered = self._is_answered or bool(data)
        self._voice.debug(f"read {data!r}", 2)
        return data

    def is_gone(self) -> bool:
        """The program has ended before anybody opened its end of the replies, whose end would say so.

        Once it has answered its number says nothing: a child may go on with the conversation.
        """
        return not self._is_answered and not self.is_alive()

    def is_alive(self) -> bool:
        """The program is there."""
        try:
            os.kill(self.place.pid, 0)
        except PermissionError:
            return True
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Leave: the program goes on."""
        for fd in (self._to, self.replies, self._shared):
            if fd >= 0:
                os.close(fd)
        self._shared = self._to = self.replies = -1
