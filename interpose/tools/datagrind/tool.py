"""Datagrind in the supervisor: it owns the file, and writes what the program's threads hand over."""

from __future__ import annotations

import os
import struct

from interpose.errors import LaunchError
from interpose.jit._native import lib
from interpose.tools.base import BaseTool

from .functions import Functions
from .writer import HEADER, TEXT_AVMA, OutputFile, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from interpose.supervisor.files import KnownFile
    from interpose.supervisor.main import Supervisor

OPTION = "--datagrind-out-file"

_written: set[str] = set()
"""Names of files that this process, or one that it was forked from, has begun."""


class Tool(BaseTool):
    """See the module."""

    def __init__(self, supervisor: Supervisor) -> None:
        super().__init__(supervisor)
        self.file: OutputFile | None = None
        self._objects: dict[int, str] = {}
        """Where .text is, and of which file."""
        self._untold: list[tuple[int, str]] = []
        """Those that the file does not have yet."""
        self._functions = Functions()

    # -- the file ------------------------------------------------------------------------------

    def loaded(self, entry: int, stack_pointer: int, brk_start: int) -> None:
        self._open()

    def forked(self) -> None:
        self._close()
        super().forked()
        self._untold = list(self._objects.items())
        self._open()

    def _name(self) -> str:
        """The option's, with what tells it from those of this run that are in use."""
        from interpose.report.log import FileNames

        template = self.config.tool.datagrind_out_file
        names = self.log.names or FileNames(self.supervisor.client.pid)
        path = names.expand(OPTION, template)
        if path in _written and not FileNames.varies(template):
            path = f"{path}.{names.pid}"
        found, count = path, 1
        while found in _written:
            count += 1
            found = f"{path}.{count}"
        _written.add(found)
        return found

    def _open(self) -> None:
        path = self._name()
        try:
            self.file = OutputFile(path, self._say)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise LaunchError(f"cannot create the file of accesses '{path}': {reason}") from None

    def _say(self, text: str) -> None:
        self.log.plain(text)

    def _close(self) -> None:
        if self.file is not None:
            self.file.close()
            self.file = None

    def code_unmapped(self, addr: int, length: int) -> None:
        self._functions.remove(addr, length)

    def executes(self) -> None:
        self._functions.forget()
        self._close()

    def finish(self, status: int | None) -> int:
        self.warn_if_full()
        self._close()
        return super().finish(status)

    def vanished(self) -> None:
        if self.file is not None:
            self.file.killed()
        self._close()
        super().vanished()

    # -- what goes there -----------------------------------------------------------------------

    def code_mapped(self, start: int, length: int, offset: int, file: KnownFile) -> None:
        """Code of an object is there, from now on."""
        if not file.path.startswith("/"):
            return
        avma = start
        image = file.image()
        if image is not None:
            vaddrs = image.vaddrs_of_offset(offset)
            text = image.section_named(".text")
            if vaddrs and text is not None:
                avma = start - vaddrs[0] + text.addr
            if vaddrs:
                self._functions.add(image, start, length, vaddrs[0])
        if self._objects.get(avma) != file.path:
            self._objects[avma] = file.path
            self._untold.append((avma, file.path))
            self._mail()

    def _records(self) -> list[bytes]:
        """Those of the objects that the file does not have yet."""
        return [
            record(TEXT_AVMA, struct.pack("<Q", avma) + os.fsencode(path) + b"\0")
            for avma, path in self._untold
        ]

    def _mail(self) -> None:
        """Hand them to the program, which puts them between its own records."""
        file = self.file
        told = 0
        for data in self._records():
            if file is None or not file.mail(data):
                break
            told += 1
        del self._untold[:told]

    def request(self, slot: Any, words: Sequence[int], default: int) -> int | None:
        code, *arguments = words
        client = self.supervisor.client
        file = self.file
        if code not in (lib.DG_RQ_ATTACH, lib.DG_RQ_STOPPED, lib.DG_RQ_BYTES):
            return None
        if file is None or file.failed:
            if file is not None:
                file.tell()
            return 1
        if code == lib.DG_RQ_ATTACH:
            own = client.descriptor(arguments[0])
            if own < 0 or not file.attach(own):
                return 1
            self._mail()
            return 0
        if code == lib.DG_RQ_BYTES:
            objects = b"".join(self._records())
            self._untold.clear()
            data = client.read(arguments[0], arguments[1]) or b""
            if data.startswith(HEADER):
                objects, data = HEADER + objects, data[len(HEADER) :]
            file.write(objects + data)
        return 1 if file.failed else 0
