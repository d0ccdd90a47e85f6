"""Finds and reads the files that a profile names: regular files only, whatever a profile says."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
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


@contextlib.contextmanager
def regular(path: str) -> Iterator[int | None]:
    """A descriptor of a regular file, or None.

    A name in a profile may be one of a device or a pipe: opening must not wait, and nothing else is read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (OSError, ValueError):
        yield None
        return
    try:
        yield descriptor if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    finally:
        os.close(descriptor)


def _read(path: str) -> tuple[float, list[str]] | None:
    with regular(path) as descriptor:
        if descriptor is None:
            return None
        status = os.fstat(descriptor)
        if status.st_size > MAX_SOURCE:
            return None
        try:
            with open(descriptor, "rb", closefd=False) as file:
                text = file.read(MAX_SOURCE).decode("utf-8", "replace")
        except OSError:
            return None
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return status.st_mtime, [line.rstrip("\r") for line in lines]
