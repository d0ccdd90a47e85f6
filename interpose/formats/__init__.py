"""Readers and writers of the files that profilers and tracers write.

Each format has a module or package of its own, which needs nothing of the engine:
``interpose.formats.callgrind`` reads what any callgrind wrote, on any machine, with the standard library
alone. ``interpose.formats.datagrind`` and ``interpose.formats.drmemtrace``, whose files have billions of
records, have their loops in C, in the extension.
"""

from __future__ import annotations

from interpose.errors import InterposeError


class FormatError(InterposeError):
    """A file that is not what its format asks for: where, and why.

    ``partial`` is what was read up to there, where the reader was one that returns a whole.
    """

    def __init__(
        self,
        file: str,
        reason: str,
        *,
        line: int | None = None,
        offset: int | None = None,
        partial: object = None,
    ) -> None:
        where = f":{line}" if line is not None else f": at byte {offset}" if offset is not None else ""
        super().__init__(f"{file}{where}: {reason}")
        self.file = file
        self.reason = reason
        self.line = line
        self.offset = offset
        self.partial = partial
