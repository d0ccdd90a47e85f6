"""A file that stays the one that was opened, whatever is done to its name afterwards."""

from __future__ import annotations

import os

from interpose import system
from interpose.cache.digest import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar

HEAD = 4096
"""Bytes of the beginning that count for the identity: the ELF headers and, as a rule, the build-id."""
KEPT = 1024
"""Bytes of it that are kept: the ELF header, the program headers and what is behind them are read often."""
MOST_HELD = 512
"""Files that are kept open, those used last; a program may map thousands, and descriptors are limited."""


class OpenFile:
    """A readable file, known by its device, inode, size and times and by how it begins.

    The times alone do not tell two contents apart that were written within one tick of the kernel's clock.
    It is kept open, so that its contents can be read after it was deleted or replaced. When :data:`MOST_HELD`
    others were used since, and where the process's limit is near, it is opened again by its name when it is
    read, and only while it is the same.
    """

    __slots__ = ("_fd", "_head", "_name", "identity", "path", "size", "written_ns")

    _held: ClassVar[dict[int, list[int]]] = {}
    """Descriptors in use, the one that was used last last, each with where its file keeps it."""

    def __init__(self, path: str, name: str | None = None) -> None:
        """``path`` is what the file is called, ``name`` where to open it. Raises OSError, ValueError."""
        self._fd = [-1]
        self.path = path
        self._name = name or path
        fd = os.open(self._name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            self.identity, self._head = _identity(fd)
        except OSError:
            os.close(fd)
            raise
        _, _, self.size, self.written_ns, *_ = self.identity
        if system.is_to_spare(fd):
            self._hold(fd)
        else:
            os.close(fd)

    def _hold(self, fd: int) -> None:
        self._fd[0] = fd
        held = OpenFile._held
        held[fd] = self._fd
        while len(held) > MOST_HELD:
            oldest = next(iter(held))
            held.pop(oldest)[0] = -1
            os.close(oldest)

    def _close(self) -> None:
        fd = self._fd[0]
        if fd >= 0:
            OpenFile._held.pop(fd)[0] = -1
            os.close(fd)

    def __del__(self) -> None:
        self._close()

    def read(self, offset: int, size: int) -> bytes:
        """``size`` bytes, fewer where the file ends. Raises OSError."""
        if offset + size <= len(self._head):
            return self._head[offset : offset + size]
        size = min(size, max(self.size - offset, 0))  # headers may name any, and it is allocated
        fd = self._fd[0]
        if fd >= 0:
            held = OpenFile._held
            held[fd] = held.pop(fd)
            return _read(fd, offset, size)
        fd = os.open(self._name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            if _identity(fd)[0] != self.identity:
                raise OSError(0, "the file was replaced")
            return _read(fd, offset, size)
        finally:
            os.close(fd)


def _identity(fd: int) -> tuple[tuple[int, ...], bytes]:
    """What the file is known by, and how it begins."""
    status = os.fstat(fd)
    try:
        head = os.pread(fd, HEAD, 0)
        mark = int.from_bytes(digest(head), "little")
    except OSError:  # a folder
        head, mark = b"", 0
    times = status.st_mtime_ns, status.st_ctime_ns
    return (status.st_dev, status.st_ino, status.st_size, *times, mark), head[:KEPT]


def _read(fd: int, offset: int, size: int) -> bytes:
    data = os.pread(fd, size, offset)
    if len(data) == size or not data:
        return data
    chunks = [data]
    size -= len(data)
    while size:  # the kernel reads 2 GiB at most
        offset += len(chunks[-1])
        chunk = os.pread(fd, size, offset)
        if not chunk:
            break
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)
