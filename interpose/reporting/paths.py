"""Paths of sources: relative to the project, where they lie in it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from urllib.parse import quote

from interpose.formats.report import Error, Frame
from interpose.paths import real


class Sources:
    """Where the project is."""

    def __init__(self, root: str) -> None:
        self.root = real(root)
        self._known: dict[str, tuple[str, bool]] = {}

    def path(self, frame: Frame) -> str | None:
        """The file of a frame: relative if it is the project's, absolute if that is known, else as it is."""
        return None if frame.path is None else self._look(frame.path)[0]

    def is_own(self, frame: Frame) -> bool:
        """Whether a frame's file lies in the project."""
        return frame.path is not None and not _is_ours(frame) and self._look(frame.path)[1]

    def _look(self, name: str) -> tuple[str, bool]:
        """The path to show, and whether it is the project's."""
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = self._look_anew(os.path.normpath(name))
        return found

    def _look_anew(self, path: str) -> tuple[str, bool]:
        if not os.path.isabs(path):
            # Of a folder that is not told: that of a distribution's build, mostly.
            is_here = not path.startswith("../") and os.path.exists(os.path.join(self.root, path))
            return path, is_here
        base = self.root.rstrip("/") + "/"
        for name in (path, real(path)):
            if name.startswith(base):
                return name[len(base) :], True
        return path, False

    def place(self, stack: Sequence[Frame]) -> Frame | None:
        """The frame that an error is shown at: the innermost of the project, else of any known file."""
        for wanted in (self.is_own, lambda frame: frame.file is not None, lambda frame: True):
            for frame in stack:
                if wanted(frame) and not _is_ours(frame):
                    return frame
        return stack[0] if stack else None

    def uri(self, path: str) -> str:
        """A path as a URI, relative ones as relative references."""
        text = quote(path.encode("utf-8", "surrogateescape"), safe="/-._~")
        if os.path.isabs(path):
            return f"file://{text}"
        return f"./{text}" if ":" in text.split("/")[0] else text


def _is_ours(frame: Frame) -> bool:
    """A replacement of malloc or strlen."""
    return os.path.basename(frame.object or "").startswith("interpose-")


def where(sources: Sources, error: Error) -> str:
    """``FILE:LINE in FUNCTION`` for a list."""
    frame = sources.place(error.stack)
    if frame is None:
        return "nowhere"
    path = sources.path(frame) or frame.object or "???"
    line = f":{frame.line}" if frame.line is not None and frame.file is not None else ""
    return f"{path}{line} in {frame.function or '???'}"
