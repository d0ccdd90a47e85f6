"""What took long to read of a file is kept in $XDG_CACHE_HOME/interpose.

The name of what is kept has everything that decides its contents: build-id, format, and size and time of the
file that it was made from. Whatever goes wrong with the store is ignored.
"""

from __future__ import annotations

import os
import time

from interpose.elf.errors import ElfError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import suppress
    from typing import BinaryIO

    from interpose.elf.image import Image
else:
    from interpose.plain import suppress

WORTH_STORING_SECONDS = 0.02


def stored_name(image: Image, kind: str) -> str | None:
    """Where what ``kind`` (with the version of its format) says of an image is kept; None: nowhere."""
    try:
        build_id = image.build_id
    except ElfError:
        return None
    written = image.written_ns
    if build_id is None or written is None:
        return None
    top = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if not os.path.isabs(top):
        return None
    version, _, ending = kind.partition(".")
    return os.path.join(top, "interpose", f"{build_id}-{version}-{image.size:x}-{written:x}.{ending}")


def kept_answer(image: Image, kind: str, ask: Callable[[], bool]) -> bool:
    """What ``ask`` answers of an image, or has answered before."""
    path = stored_name(image, kind)
    if path is not None:
        with suppress(OSError, ValueError), open(path, "rb") as stream:
            return bool((b"no\n", b"yes\n").index(stream.read(8)))
    began = time.monotonic()
    answer = ask()
    if path is not None and time.monotonic() - began >= WORTH_STORING_SECONDS:
        store(path, lambda stream: stream.write(b"yes\n" if answer else b"no\n"))
    return answer


def store(path: str, write: Callable[[BinaryIO], object]) -> None:
    """Keep what ``write`` writes."""
    import tempfile

    temporary = None
    # $XDG_CACHE_HOME may be missing, but where it belongs must be there: some accounts have no home.
    if not os.path.isdir(os.path.dirname(os.path.dirname(os.path.dirname(path)))):
        return
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".new-", dir=os.path.dirname(path))
        with open(handle, "wb") as stream:
            write(stream)
        os.replace(temporary, path)
    except OSError:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)
