"""The folder of what outlasts a run: whose it must be, and how files of it are read and written.

What is in it decides what code a program runs. So it is taken only if nobody but the effective user, and
root, can have put it there; and a file is never changed in place, but replaced by a whole one.
"""

from __future__ import annotations

import os
import stat
import time

from interpose import system
from interpose.errors import InterposeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import suppress
else:
    from interpose.plain import suppress

_TEMPORARY = ".new-"
_STALE_SECONDS = 600  # a temporary file that is as old has no writer any more; how often they are looked for
_TOTAL_BYTES = 64  # of the lock file: what all files have together, and when that was added up
_USED_AGAIN_SECONDS = 3600  # how exactly the last use of a file is noted
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_PATIENCE_SECONDS = 2.0  # for another run that writes


class CacheError(InterposeError):
    """There is no place to keep anything, and why."""


class Folder:
    """``$XDG_CACHE_HOME/interpose``, or ``~/.cache/interpose``."""

    def __init__(self) -> None:
        """Raises :class:`CacheError` if nothing can be kept. The folder need not exist yet."""
        if os.geteuid() != os.getuid() or os.getegid() != os.getgid():
            raise CacheError("the effective user is another one than the real one")
        top = os.environ.get("XDG_CACHE_HOME")
        if not top:
            home = os.environ.get("HOME") or os.path.expanduser("~")
            top = os.path.join(home, ".cache")
        if not os.path.isabs(top):
            raise CacheError(f"{top}: not an absolute path")
        self.path = os.path.join(os.path.realpath(top), "interpose")
        self._fd = -1
        self._added = 0
        _check_way(os.path.dirname(self.path))
        self._open()

    def _open(self) -> None:
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        except OSError as error:
            raise CacheError(f"{self.path}: {error.strerror}") from None
        status = os.fstat(fd)
        if status.st_uid != os.geteuid() or status.st_mode & _OTHERS_WRITE:
            os.close(fd)
            raise CacheError(f"{self.path}: others can write there")
        self._fd = fd

    def make(self) -> None:
        """Create the folder if it is missing. Raises :class:`CacheError`."""
        if self._fd >= 0:
            return
        top = os.path.dirname(self.path)
        # $XDG_CACHE_HOME may be missing, but where it belongs must be there: some accounts have no home.
        try:
            if os.path.isdir(os.path.dirname(top)):
                for path in (top, self.path):
                    try:
                        os.mkdir(path, 0o700)
                    except FileExistsError:
                        continue
        except OSError as error:
            raise CacheError(f"{self.path}: {error.strerror}") from None
        _check_way(top)
        self._open()
        if self._fd < 0:
            raise CacheError(f"{self.path}: No such file or directory")

    def made(self) -> int:
        """A descriptor of the folder, which is created if it is missing; -1: it cannot be."""
        try:
            self.make()
        except CacheError:
            return -1
        return self._fd

    def descriptor(self, name: str) -> int:
        """A file of the folder, open for reading; -1 if there is none that may be trusted."""
        if self._fd < 0:
            return -1
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
            fd = os.open(name, flags, dir_fd=self._fd)
        except OSError:
            return -1
        status = os.fstat(fd)
        if (
            not stat.S_ISREG(status.st_mode)
            or status.st_uid != os.geteuid()
            or status.st_mode & _OTHERS_WRITE
            or status.st_nlink != 1
            or not system.is_to_spare(fd)
        ):
            os.close(fd)
            return -1
        if time.time() - status.st_mtime > _USED_AGAIN_SECONDS:
            _note_use(fd)
        return fd

    def read(self, name: str, most: int) -> bytes | None:
        """The contents of a file, or None; one of more than ``most`` bytes is none of ours."""
        fd = self.descriptor(name)
        if fd < 0:
            return None
        try:
            size = os.fstat(fd).st_size
            if size > most:
                return None
            data = os.pread(fd, size, 0)
            return data if len(data) == size else None
        except OSError:
            return None
        finally:
            os.close(fd)

    def _new_file(self) -> tuple[int, str]:
        name = f"{_TEMPORARY}{os.getpid()}-{time.time_ns()}"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(name, flags, 0o600, dir_fd=self._fd), name

    def check_writing(self) -> None:
        """Raises :class:`CacheError` if nothing can be kept now, as :meth:`replace` does not say why."""
        self.make()
        try:
            fd, name = self._new_file()
            try:
                os.write(fd, bytes(4096))
            finally:
                os.close(fd)
                self._remove(name)
        except OSError as error:
            raise CacheError(f"{self.path}: {error.strerror}") from None

    def replace(self, name: str, fill: Callable[[int], bool]) -> bool:
        """Have ``fill`` write a file, and put that in the place of ``name``; whether that was done.

        ``fill`` is given a descriptor, and answers false if there was nothing to write.
        """
        try:
            self.make()
            fd, temporary = self._new_file()
        except (OSError, CacheError):
            return False
        done = False
        try:
            try:
                done = fill(fd)
                size = os.fstat(fd).st_size
            finally:
                os.close(fd)
            if done:
                os.rename(temporary, name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
                self._added += size
        except OSError:  # a full disk
            done = False
        finally:
            if not done:
                self._remove(temporary)
        return done

    def lock(self) -> int:
        """A descriptor to close when writing is done; -1: another one is writing for too long."""
        import fcntl

        try:
            self.make()
            fd = os.open(
                ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=self._fd
            )
        except (OSError, CacheError):
            return -1
        until = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return fd
            except OSError:
                if time.monotonic() > until:
                    os.close(fd)
                    return -1
                time.sleep(0.01)

    def files(self) -> Iterator[tuple[str, os.stat_result]]:
        """Names and status of what is kept, temporary files included."""
        if self._fd < 0:
            return
        for name in os.listdir(self._fd):
            try:
                status = os.stat(name, dir_fd=self._fd, follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode) and name != ".lock":
                yield name, status

    def _remove(self, name: str) -> bool:
        try:
            os.unlink(name, dir_fd=self._fd)
        except OSError:
            return False
        return True

    def clear(self) -> tuple[int, int]:
        """Remove everything; how many files that were, and how many bytes."""
        gone = [status.st_size for name, status in self.files() if self._remove(name)]
        return len(gone), sum(gone)

    def unlock(self, lock: int, most: int) -> None:
        """Writing is done; :meth:`tidy` if there may be more than ``most`` bytes, or nobody has for a while.

        A look at each file takes as much time as a short run, where thousands are kept.
        """
        now = int(time.time())
        try:
            total, since = map(int, os.pread(lock, _TOTAL_BYTES, 0).split())
        except (OSError, ValueError):
            total, since = most, 0
        total += self._added  # what these have replaced is counted until they are added up again
        self._added = 0
        if total > most or not since <= now < since + _STALE_SECONDS:
            total, since = self.tidy(most), now
        try:
            os.pwrite(lock, (b"%d %d\n" % (total, since)).rjust(_TOTAL_BYTES), 0)
        except OSError:  # a full disk: the next one looks at the files
            with suppress(OSError):
                os.ftruncate(lock, 0)
        os.close(lock)

    def tidy(self, most: int) -> int:
        """Remove what killed writers left, and, beyond ``most`` bytes, what was not used for longest.

        How many bytes there are then.
        """
        now = time.time()
        kept = []
        for name, status in self.files():
            if not name.startswith(_TEMPORARY):
                kept.append((status.st_mtime, name, status.st_size))
            elif now - status.st_mtime > _STALE_SECONDS:
                self._remove(name)
        total = sum(size for *_, size in kept)
        for _, name, size in sorted(kept):
            if total <= most:
                break
            self._remove(name)
            total -= size
        return total


def _note_use(fd: int) -> None:
    try:
        os.utime(fd)
    except OSError:  # a file system that is read-only
        return


def _check_way(path: str) -> None:
    """Nobody else can put another folder in the place of one on the way."""
    user = os.geteuid()
    while True:
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            status = None
        except OSError as error:
            raise CacheError(f"{path}: {error.strerror}") from None
        if status is not None:
            writable = status.st_mode & _OTHERS_WRITE and not status.st_mode & stat.S_ISVTX
            if not stat.S_ISDIR(status.st_mode):
                raise CacheError(f"{path}: not a folder")
            if status.st_uid not in (0, user) or writable:
                raise CacheError(f"{path}: others can write there")
        parent = os.path.dirname(path)
        if parent == path:
            return
        path = parent
