"""What is wrong with a trace, or kept one from being written."""

from __future__ import annotations

from interpose import formats
from interpose.errors import InterposeError


class FormatError(formats.FormatError):
    """A file is no trace that can be read on; everything before that place has been delivered.

    ``offset`` counts bytes of entries (12 each) from where reading began.
    """

    def __init__(
        self,
        file: str,
        reason: str,
        *,
        component: str = "",
        offset: int | None = None,
        ordinal: int | None = None,
    ) -> None:
        name = f"{file} ({component})" if component else file
        after = f"after record {ordinal}: " if ordinal is not None else ""
        super().__init__(name, after + reason, offset=offset)
        self.file = file
        self.reason = reason
        self.component = component
        self.ordinal = ordinal
        """The last record that was delivered; 0: none."""

    def __reduce__(self) -> tuple[object, ...]:
        return (_again, (self.file, self.reason, self.component, self.offset, self.ordinal))


def _again(file: str, reason: str, component: str, offset: int | None, ordinal: int | None) -> FormatError:
    """An error that another process has sent."""
    return FormatError(file, reason, component=component, offset=offset, ordinal=ordinal)


class WriteError(InterposeError):
    """A trace could not be written on; the file is valid up to there when ``kept`` says so."""

    def __init__(self, path: str, reason: str, kept: bool) -> None:
        kept_text = "the trace ends early" if kept else "the file is not usable"
        super().__init__(f"{path}: {reason}; {kept_text}")
        self.path = path
        self.kept = kept
