"""What was read from the files that programs map, kept while one program replaces another.

Most of what a program executes maps the dynamic linker, the C library and the stubs that it has itself, in a
supervisor that was forked from its own. To unpack the symbols of a C library again, and to look for the names
of a hundred rules in them, took half the time of an exec.
"""

from __future__ import annotations

import os

from interpose.elf.headers import PT_LOAD, HeaderError, Headers, whole
from interpose.elf.names import NameTables
from interpose.elf.openfile import OpenFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from functools import cached_property

    from interpose.elf.image import Image
    from interpose.elf.symbolizer import ObjectFile
else:
    from interpose.plain import cached_property


class KnownFile:
    """One file, as it was when it was first mapped."""

    def __init__(self, path: str, file: OpenFile | None) -> None:
        self.path = path
        self.names = NameTables(path, file)
        self._file = file
        self._image: tuple[Image | None] | None = None
        self._object_file: ObjectFile | None = None

    @property
    def beginning(self) -> str | None:
        """Its size and a checksum of its first page, with the build-id as a rule; None if it is gone."""
        return None if self._file is None else f"{self._file.size:x} {self._file.identity[-1]:x}"

    @cached_property
    def identity(self) -> bytes | None:
        """What tells it from any other file, and any other contents; None if nothing does."""
        from interpose.cache.run import is_settled

        if self._file is None or not is_settled(max(self._file.identity[3:5])):
            return None
        return repr((self.path, self._file.identity)).encode("utf-8", "surrogateescape")

    @cached_property
    def load_segments(self) -> list[tuple[int, ...]]:
        """Its program headers of what is loaded (:meth:`Headers.program_headers`), without all the rest of
        :meth:`image`; none if it is gone or no ELF file of ours."""
        if self._file is None:
            return []
        try:
            headers = Headers(whole(self._file.read))
            rows = headers.program_headers() if headers.is_elf and headers.is_x86_64 else []
        except (OSError, OverflowError, HeaderError):
            return []
        return [row for row in rows if row[0] == PT_LOAD]

    def debug_places(self) -> list[str]:
        """Where a debug file of it would be looked for."""
        from interpose.elf.debugfile import debug_places

        image = self.image()
        return [] if image is None else debug_places(image)

    def image(self) -> Image | None:
        """Its headers; None if it is gone or no ELF file of ours."""
        if self._object_file is not None:
            return self._object_file.image
        if self._image is None:
            self._image = (self._read(),)
        return self._image[0]

    def _read(self) -> Image | None:
        from interpose.elf.errors import ElfError
        from interpose.elf.image import Image

        if self._file is None:
            return None
        try:
            return Image(self.path, self._file)
        except ElfError:
            return None

    def release(self) -> None:
        """Let go of what is read again when it is asked for: most files are never asked again."""
        self.names.release()
        self._image = None

    @cached_property
    def go(self) -> tuple[Image, tuple[int, int]] | None:
        """The image and the link-time range of its Go functions, if it has some."""
        from interpose.elf.golang import go_text

        image = self.image()
        text = None if image is None else go_text(image)
        return None if image is None or text is None else (image, text)

    def object_file(self, make: Callable[[str, OpenFile | None], ObjectFile]) -> ObjectFile:
        """For a symbolizer: the same for all that map this file, made if no earlier symbolizer has."""
        if self._object_file is None:
            self._object_file = make(self.path, self._file)
            if self._image is not None:
                (self._object_file.image,) = self._image
        return self._object_file


class Files:
    """The files of the present program and those of the one before it, which bounds what is kept."""

    def __init__(self) -> None:
        self._present: dict[object, KnownFile] = {}
        self._before: dict[object, KnownFile] = {}

    def next_program(self) -> None:
        """Another program begins."""
        self._before, self._present = self._present, {}

    def get(
        self, path: str, mapped: tuple[int, int] | None = None, other_names: Iterable[str] = ()
    ) -> KnownFile:
        """A file that was mapped under this path: a new one if it was written to or replaced since.

        ``mapped`` are the device and inode of what is mapped. By the path there may already be another file,
        or none, so whatever bears one of ``other_names`` is looked at, too.
        """
        file = _opened(path, (path, *other_names), mapped)
        if file is None:
            return KnownFile(path, None)
        identity = path, file.identity
        known = self._present.get(identity) or self._before.get(identity) or KnownFile(path, file)
        self._present[identity] = known
        return known


def _opened(path: str, names: Iterable[str], mapped: tuple[int, int] | None) -> OpenFile | None:
    for name in names:
        try:
            # To open something else may have effects.
            if mapped is not None and not _is(name, mapped):
                continue
            file = OpenFile(path, name)
        except (OSError, ValueError):
            continue
        if mapped is None or file.identity[:2] == mapped:
            return file
    return None


def _is(name: str, mapped: tuple[int, int]) -> bool:
    status = os.stat(name)
    return (status.st_dev, status.st_ino) == mapped
