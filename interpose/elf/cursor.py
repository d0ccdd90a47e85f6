"""A read position in a DWARF section, and the encodings read from it (DWARF 5, 7.4 to 7.6)."""

from __future__ import annotations

import struct

from interpose.elf.errors import ElfError

DAMAGE = (struct.error, IndexError, ValueError, KeyError, ElfError, OverflowError)
"""What reading damaged debug information may raise; those who ask get no answer then."""


class Cursor:
    """A position in a section, and the encodings read from it."""

    __slots__ = ("data", "position")

    def __init__(self, data: bytes, position: int) -> None:
        self.data = data
        self.position = position

    def fixed(self, size: int) -> int:
        """An unsigned number of so many bytes."""
        end = self.position + size
        if end > len(self.data):
            raise IndexError("past the end of the section")
        value = int.from_bytes(self.data[self.position : end], "little")
        self.position = end
        return value

    def signed(self, size: int) -> int:
        """The same with a sign."""
        value = self.fixed(size)
        return value - (1 << 8 * size) if value >> (8 * size - 1) else value

    def uleb(self) -> int:
        """An unsigned LEB128 number."""
        value = shift = 0
        while True:
            byte = self.data[self.position]
            self.position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def sleb(self) -> int:
        """A LEB128 number with a sign."""
        start = self.position
        value = self.uleb()
        bits = 7 * (self.position - start)
        return value - (1 << bits) if value >> (bits - 1) & 1 else value

    def block(self, size: int) -> bytes:
        """So many bytes."""
        end = self.position + size
        if end > len(self.data):
            raise IndexError("past the end of the section")
        data = self.data[self.position : end]
        self.position = end
        return data

    def string(self) -> str:
        """Text to a NUL, which is passed over."""
        end = self.data.index(b"\0", self.position)
        text = self.data[self.position : end].decode("utf-8", "surrogateescape")
        self.position = end + 1
        return text

    def initial_length(self) -> tuple[int, int]:
        """Unit length and the size of offsets (7.4)."""
        length = self.fixed(4)
        return (self.fixed(8), 8) if length == 0xFFFFFFFF else (length, 4)
