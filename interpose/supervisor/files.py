"""What was read from the files that programs map, kept while one program replaces another.

Most of what a program executes maps the dynamic linker, the C library and the stubs that it has itself, in a
supervisor that was forked from its own. To unpack the symbols of a C library again, and to look for the names
of a hundred rules in them, took half the time of an exec.
"""

from __future__ import annotations

import os
from functools import cached_property

from interpose.elf.names import NameTables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from interpose.elf.image import Image
    from interpose.elf.symbolizer import ObjectFile


class KnownFile:
    """One file, as it was when it was first mapped."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.names = NameTables(path)
        self.object_file: ObjectFile | None = None

    @cached_property
    def go(self) -> tuple[Image, tuple[int, int]] | None:
        """The image and the link-time range of its Go functions, if it has some."""
        from interpose.elf.errors import ElfError
        from interpose.elf.golang import go_text
        from interpose.elf.image import Image

        try:
            image = Image.open(self.path)
        except (ElfError, OSError):
            return None
        text = go_text(image)
        return None if text is None else (image, text)


class Files:
    """The files of the present program and those of the one before it, which bounds what is kept."""

    def __init__(self) -> None:
        self._present: dict[object, KnownFile] = {}
        self._before: dict[object, KnownFile] = {}

    def next_program(self) -> None:
        """Another program begins."""
        self._before, self._present = self._present, {}

    def get(self, path: str) -> KnownFile:
        """The file at a path: a new one if it was written to or replaced since it was last mapped."""
        try:
            found = os.stat(path)
        except (OSError, ValueError):
            return KnownFile(path)
        identity = path, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
        known = self._present.get(identity) or self._before.get(identity) or KnownFile(path)
        self._present[identity] = known
        return known

    def open_object(self, path: str, make: Callable[[str], ObjectFile]) -> ObjectFile:
        """For a symbolizer: the file at a path, made if no earlier symbolizer has."""
        known = self.get(path)
        if known.object_file is None:
            known.object_file = make(path)
        return known.object_file
