"""Where an object's functions are, from its call frame information: that is there without symbols, too."""

from __future__ import annotations

from array import array

from interpose.elf.errors import ElfError
from interpose.elf.functiontable import function_table
from interpose.jit._native import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interpose.elf.image import Image


def starts(image: Image) -> array[int]:
    """Where functions begin, ascending, as the object's addresses; empty if it does not say."""
    try:
        table, base = function_table(image)
    except ElfError:
        table, base = b"", 0
    found = {start for offset in array("i", table)[::2] if 0 <= (start := base + offset) < 1 << 64}
    return array("Q", sorted(found))


class Functions:
    """What the translator knows of them: each has a number."""

    def __init__(self) -> None:
        self._count = 0
        self._known: dict[tuple[str, int, bytes], int] = {}
        """The number of the first function of an object at an address."""

    def add(self, image: Image, start: int, length: int, vaddr: int) -> None:
        """Code of an object is at ``start``, which is ``vaddr`` to it.

        If it was there before, it has the numbers of then, and so the templates.
        """
        move = start - vaddr
        end = start + length
        begins = array("Q", (at + move for at in starts(image) if start <= at + move < end))
        if not begins:
            return
        ends = begins[1:]
        ends.append(end)
        key = image.path, start, begins.tobytes()
        first = self._known.setdefault(key, self._count + 1)
        if first > self._count:
            self._count += len(begins)
        numbers = array("I", range(first, first + len(begins)))
        lib.ip_trace_functions_add(
            len(begins),
            ffi.from_buffer("uint64_t[]", begins),
            ffi.from_buffer("uint64_t[]", ends),
            ffi.from_buffer("uint32_t[]", numbers),
        )

    def remove(self, start: int, length: int) -> None:
        """It has gone."""
        lib.ip_trace_functions_del(start, start + length)

    def forget(self) -> None:
        """All of it has."""
        lib.ip_trace_functions_del(0, 2**64 - 1)
