"""Debug files from debuginfod servers, with the cache of elfutils' own client (debuginfod-find(1)).

Asked are the servers in DEBUGINFOD_URLS, in their order; DEBUGINFOD_CACHE_PATH, DEBUGINFOD_TIMEOUT,
DEBUGINFOD_MAXTIME and DEBUGINFOD_MAXSIZE hold as there. A server that fails is not asked again in this run.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress

from interpose.elf.errors import ElfError
from interpose.elf.image import Image

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import BinaryIO

_TIMEOUT_SECONDS = 90.0
_PROGRESS = 100 << 10  # bytes that are to arrive within each such time
_MISS_SECONDS = 600.0
_CHUNK = 1 << 16


class _ServerError(Exception):
    """A server gave no usable answer; the text says why."""


class Servers:
    """The servers that the environment names."""

    def __init__(self, environ: Mapping[str, str], warn: Callable[[str], None]) -> None:
        """``warn`` takes one line for each server that fails."""
        self._urls = [url.rstrip("/") for url in environ.get("DEBUGINFOD_URLS", "").split()]
        self._warn = warn
        self._folder = _cache_folder(environ)
        self._timeout = _number(environ, "DEBUGINFOD_TIMEOUT") or _TIMEOUT_SECONDS
        self._longest = _number(environ, "DEBUGINFOD_MAXTIME")
        self._largest = _number(environ, "DEBUGINFOD_MAXSIZE")

    def __bool__(self) -> bool:
        return bool(self._urls) and self._folder is not None

    def find(self, build_id: str) -> Image | None:
        """The debug file of a build-id (lowercase hex), from the cache or a server."""
        if self._folder is None or not re.fullmatch("[0-9a-f]{4,128}", build_id):
            return None
        path = os.path.join(self._folder, build_id, "debuginfo")
        with suppress(OSError):
            status = os.stat(path)
            if status.st_size:
                return _matching(path, build_id)
            # Nobody had it when it was last asked for.
            if time.time() - status.st_mtime < self._miss_seconds():
                return None
            os.unlink(path)
        missing = bool(self._urls)
        for url in list(self._urls):
            try:
                found = self._fetched(f"{url}/buildid/{build_id}/debuginfo", path, build_id)
            except _ServerError as error:
                self._warn(f"debuginfod: {url}: {error}")
                self._urls.remove(url)
                missing = False
                continue
            if found is not None:
                return found
        if missing:
            with suppress(OSError):
                os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0))
        return None

    def _miss_seconds(self) -> float:
        try:
            with open(os.path.join(self._folder or "", "cache_miss_s"), encoding="ascii") as stream:
                return float(stream.read(32))
        except (OSError, ValueError):
            return _MISS_SECONDS

    def _fetched(self, url: str, path: str, build_id: str) -> Image | None:
        """What a server has, kept in the cache; None: it does not have it. Raises :class:`_ServerError`."""
        import http.client
        import tempfile
        import urllib.error
        import urllib.request

        temporary = None
        try:
            request = urllib.request.Request(url, headers={"User-Agent": "interpose"})
            with urllib.request.urlopen(request, timeout=self._timeout) as answer:
                os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
                handle, temporary = tempfile.mkstemp(prefix=".new-", dir=os.path.dirname(path))
                with open(handle, "wb") as stream:
                    self._copy(answer, stream)
            found = _matching(temporary, build_id)
            if found is None:
                raise _ServerError("the answer is no debug file of that build-id")
            os.chmod(temporary, 0o400)
            os.replace(temporary, path)
            temporary = None
            return found
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 404:
                return None
            raise _ServerError(f"status {error.code}") from None
        except (OSError, ValueError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or str(error) or type(error).__name__
            raise _ServerError(str(reason).splitlines()[0]) from None
        finally:
            if temporary is not None:
                with suppress(OSError):
                    os.unlink(temporary)

    def _copy(self, answer: BinaryIO, stream: BinaryIO) -> None:
        began = window = time.monotonic()
        total = before = 0
        while chunk := answer.read1(_CHUNK):  # type: ignore[attr-defined]
            total += len(chunk)
            if self._largest and total > self._largest:
                raise _ServerError(f"more than {self._largest:.0f} bytes")
            stream.write(chunk)
            now = time.monotonic()
            if self._longest and now - began > self._longest:
                raise _ServerError(f"took longer than {self._longest:.0f} s")
            if now - window > self._timeout:
                if total - before < _PROGRESS:
                    raise _ServerError("too slow")
                window, before = now, total


def _cache_folder(environ: Mapping[str, str]) -> str | None:
    folder = environ.get("DEBUGINFOD_CACHE_PATH")
    if not folder:
        top = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME", ""), ".cache")
        folder = os.path.join(top, "debuginfod_client")
    return folder if os.path.isabs(folder) else None


def _number(environ: Mapping[str, str], name: str) -> float:
    try:
        return max(float(environ.get(name) or 0), 0.0)
    except ValueError:
        return 0.0


def _matching(path: str, build_id: str) -> Image | None:
    try:
        image = Image.open(path)
        return image if image.build_id == build_id else None
    except ElfError:
        return None
