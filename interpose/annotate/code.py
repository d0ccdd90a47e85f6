"""Instructions of the objects that a profile names, as text, where capstone is installed."""

from __future__ import annotations

import os
import struct
from typing import Any

from interpose.annotate.source import regular
from interpose.elf.headers import PT_LOAD, HeaderError, Headers
from interpose.errors import InterposeError
from interpose.formats.instructions import engine

# The longest instruction of x86.
LONGEST = 15
_MAX_HEADER = 1 << 20


class Code:
    """The code of one object file, by the addresses that its program headers give."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._segments: list[tuple[int, int, int]] = []
        self._engine: Any = _engine()
        with regular(path) as descriptor:
            if descriptor is not None and self._engine is not None:
                self._load(descriptor)

    @property
    def usable(self) -> bool:
        """Whether there is code, and something to show it with."""
        return bool(self._segments)

    def _load(self, descriptor: int) -> None:
        def read(offset: int, size: int, what: str) -> bytes:
            if size > _MAX_HEADER or offset > 1 << 62:
                raise HeaderError(f"{what} is too large")
            data = os.pread(descriptor, size, offset)
            if len(data) != size:
                raise HeaderError(f"{what} is cut off")
            return data

        try:
            headers = Headers(read)
            if headers.is_elf and headers.is_x86_64:
                self._segments = [
                    (row[3], row[2], row[5]) for row in headers.program_headers() if row[0] == PT_LOAD
                ]
        except (HeaderError, OSError, struct.error):
            self._segments = []

    def texts(self, addresses: list[int]) -> dict[int, str]:
        """The instruction at each address that lies in the file."""
        found: dict[int, str] = {}
        with regular(self._path) as descriptor:
            if descriptor is None:
                return found
            for address in addresses:
                for vaddr, offset, size in self._segments:
                    if vaddr <= address < vaddr + size and offset + address - vaddr < 1 << 62:
                        length = min(LONGEST, vaddr + size - address)
                        try:
                            data = os.pread(descriptor, length, offset + address - vaddr)
                        except OSError:
                            break
                        for _, _, mnemonic, operands in self._engine.disasm_lite(data, address, 1):
                            found[address] = f"{mnemonic} {operands}".strip()
                        break
        return found


def _engine() -> Any:
    """In AT&T's syntax; None where capstone is missing."""
    try:
        return engine(is_att=True)
    except InterposeError:
        return None
