"""SARIF and HTML of a run itself (``--sarif-file``, ``--html-file``; docs/reports.md).

Both are whole documents, of all processes that share a file's name. So the records of the report in JSON are
kept, in a memory file that forked processes inherit, and the document is made of them when the process ends
that was started, and when the last one ends. Nothing is loaded for it before.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat

from interpose import system
from interpose.errors import InterposeError, write_all

from .log import FileNames, open_destination

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from interpose.options.parse import Config

# Bytes of the memory file that locks are about: whose process serves the document, and who asks who does.
_SERVES, _ASKS = 0, 1
_PIECE = 1 << 20


class Document:
    """One file, and the records that it is to be made of."""

    def __init__(self, form: str, template: str, names: FileNames) -> None:
        self.form = form
        self._template = template
        self._names = names
        self._out: int | None = None
        self._records: int | None = None
        self._open()

    def _open(self) -> None:
        """Raises as the log."""
        self._first = self._names.pid
        self._serving = 0
        self._sharers = 1
        self._out = open_destination(self._names, self.form, "file", -1, self._template, None)
        made = os.memfd_create(f"interpose-{self.form}")
        self._records = system.duplicate(made, system.LOWEST_FD)
        os.close(made)
        fcntl.fcntl(self._records, fcntl.F_SETFL, os.O_APPEND)

    def descriptors(self) -> list[int]:
        """What the supervisor must keep."""
        return [fd for fd in (self._out, self._records) if fd is not None]

    def add(self, line: bytes) -> None:
        """One record, with its end of line."""
        if self._records is None:
            return
        with contextlib.suppress(OSError):  # no memory: the document lacks it
            if self._serving != os.getpid():
                self._serving = os.getpid()
                fcntl.lockf(self._records, fcntl.LOCK_SH, 1, _SERVES)
            write_all(self._records, line)

    def of_child(self, names: FileNames) -> Document:
        """The one of a further process of this supervisor's; raises as the log."""
        if FileNames.varies(self._template):
            return Document(self.form, self._template, names)
        self._sharers += 1
        return self

    def moved(self) -> None:
        """Serve a forked child: in a document of its own if the name says so."""
        if not FileNames.varies(self._template):
            return
        for fd in self.descriptors():
            os.close(fd)
        self._out = self._records = None
        with contextlib.suppress(InterposeError, OSError):
            self._open()

    def write(self, pid: int) -> None:
        """A process has ended. :class:`OSError` if the file cannot be written."""
        if self._records is None or self._out is None:
            return
        self._sharers -= 1
        with contextlib.suppress(OSError):
            fcntl.lockf(self._records, fcntl.LOCK_EX, 1, _ASKS)
        try:
            is_last = self._sharers <= 0 and self._is_last()
            # What cannot be replaced gets it once.
            can_be_replaced = stat.S_ISREG(os.fstat(self._out).st_mode)
            if pid == self._first or (is_last and can_be_replaced):
                content = self._render()
                if can_be_replaced:
                    os.ftruncate(self._out, 0)
                write_all(self._out, content)
        finally:
            with contextlib.suppress(OSError):
                fcntl.lockf(self._records, fcntl.LOCK_UN, 1, _ASKS)

    def _is_last(self) -> bool:
        assert self._records is not None
        try:
            fcntl.lockf(self._records, fcntl.LOCK_UN, 1, _SERVES)
            self._serving = 0
            fcntl.lockf(self._records, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _SERVES)
            fcntl.lockf(self._records, fcntl.LOCK_UN, 1, _SERVES)
        except OSError:
            return False
        return True

    def _render(self) -> bytes:
        from interpose.formats.report.reader import Reader
        from interpose.reporting.paths import Sources

        assert self._records is not None
        reader, at, rest = Reader(), 0, b""
        while piece := os.pread(self._records, _PIECE, at):
            at += len(piece)
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                reader.feed(line)
        reader.finish()
        sources = Sources(self._names.folder)
        make: Callable[..., bytes]
        if self.form == "sarif":
            from interpose.reporting.sarif import sarif as make
        else:
            from interpose.reporting.page import html as make
        return make(reader.report, sources)


def wanted(config: Config, names: FileNames) -> list[Document]:
    """The documents that the options ask for."""
    core = config.core
    forms = (("sarif", core.sarif_file), ("html", core.html_file))
    return [Document(form, template, names) for form, template in forms if template is not None]
