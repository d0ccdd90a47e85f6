"""Where running programs are found: a socket for each, in a folder that only its user may enter."""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


MAX_REQUEST = 1 << 16
"""Bytes of a question."""


def folder(environ: Mapping[str, str]) -> str:
    """``$XDG_RUNTIME_DIR/interpose``, else one of the user's in ``/tmp``."""
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(runtime) and os.path.isdir(runtime):
        return os.path.join(runtime, "interpose")
    return f"/tmp/interpose-{os.getuid()}"


def is_ours(path: str) -> bool:
    """Whether a folder is the user's and closed to others: in ``/tmp`` anybody may have made it."""
    try:
        info = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(info.st_mode) and info.st_uid == os.getuid() and not info.st_mode & 0o077


def make(path: str) -> bool:
    """The folder is there and ours."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass
    except OSError:
        return False
    return is_ours(path)
