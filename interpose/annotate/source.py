"""Finds and reads the source files that a profile names: regular files only, whatever a profile says."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

MAX_SOURCE = 64 << 20


@dataclass
class SourceFile:
    """A source file that was found."""

    name: str
    folder: str
    path: str
    modified: float
    lines: list[str]


def find(name: str, include: list[str]) -> SourceFile | None:
    """A file by its name as it is, else in the folders to search."""
    for folder in ("", *include):
        path = folder + name
        found = _read(path)
        if found is not None:
            return SourceFile(name, folder, path, found[0], found[1])
    return None


def _read(path: str) -> tuple[float, list[str]] | None:
    try:
        # A name in a profile may be one of a device or a pipe: opening must not wait.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_SOURCE:
            return None
        with open(descriptor, "rb", closefd=False) as file:
            text = file.read(MAX_SOURCE).decode("utf-8", "replace")
    except OSError:
        return None
    finally:
        os.close(descriptor)
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return status.st_mtime, [line.rstrip("\r") for line in lines]
