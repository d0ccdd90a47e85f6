"""The shadow of the program's memory, read and changed from outside while the program stands still.

Its layout is that of ``interpose/shadow/shadow.h``: a V byte for each byte, an A bit for each.
"""

from __future__ import annotations

from interpose.jit._native import lib
from interpose.report.places import RED_ZONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Protocol

    from .space import ThreadStack

    class Memory(Protocol):
        """The client, as far as it is needed here."""

        def read(self, addr: int, size: int) -> bytes | None: ...
        def write(self, addr: int, data: bytes) -> bool: ...


PIECE = 1 << 16
"""Bytes looked at together."""
_PAGE = 4096
_UNADDRESSABLE = 0xFF


class Shadow:
    """V and A bits.  The shadow takes what is below a stack pointer for addressable: the stacks are asked."""

    def __init__(self, client: Memory, stacks: Sequence[ThreadStack]) -> None:
        self._client = client
        self._dead = [(stack.lo, stack.sp - RED_ZONE) for stack in stacks]

    def bits(self, addr: int, size: int) -> Iterator[tuple[bytes, bytes]]:
        """Pieces of a range: V bytes, and for each byte 0 if it is addressable.

        V is 0xff where it is not.
        """
        end = addr + size
        while addr < end:
            count = min(end - addr, PIECE - addr % PIECE)
            yield self._piece(addr, count)
            addr += count

    def _piece(self, addr: int, count: int) -> tuple[bytes, bytes]:
        if addr + count > lib.IP_A_BASE:
            return b"\xff" * count, b"\1" * count
        first = addr >> 3
        packed = self._read(first + lib.IP_A_BASE, (addr + count + 7 >> 3) - first, _UNADDRESSABLE)
        access = bytearray(byte >> bit & 1 for byte in packed for bit in range(8))
        access = access[addr & 7 : (addr & 7) + count]
        for low, high in self._dead:
            if low < addr + count and addr < high:
                begin, end = max(low, addr) - addr, min(high, addr + count) - addr
                access[begin:end] = b"\1" * (end - begin)
        values = bytearray(self._read(addr + lib.IP_V_CONST, count, 0xFF))
        for at in range(count):
            if access[at]:
                values[at] = 0xFF
        return bytes(values), bytes(access)

    def _read(self, at: int, count: int, missing: int) -> bytes:
        """Shadow bytes; pages that are not there read as given."""
        data = self._client.read(at, count)
        if data is not None:
            return data
        parts = []
        while count:
            size = min(count, _PAGE - at % _PAGE)
            parts.append(self._client.read(at, size) or bytes([missing]) * size)
            at, count = at + size, count - size
        return b"".join(parts)

    # -- changes -------------------------------------------------------------------------------

    def set(self, addr: int, size: int, *, addressable: bool, defined: bool) -> bool:
        """Mark a range, as far as it has a shadow; false if memory cannot be written."""
        end = min(addr + size, lib.IP_A_BASE)
        while addr < end:
            count = min(end - addr, _PAGE * 8 - addr % (_PAGE * 8))
            if self._has_shadow(addr, count) and not self._set(addr, count, addressable, defined):
                return False
            addr += count
        return True

    def _has_shadow(self, addr: int, count: int) -> bool:
        first, end = addr >> 3, addr + count + 7 >> 3
        return self._client.read(first + lib.IP_A_BASE, end - first) is not None

    def _set(self, addr: int, count: int, addressable: bool, defined: bool) -> bool:
        first, last = addr >> 3, addr + count - 1 >> 3
        packed = bytearray(self._read(first + lib.IP_A_BASE, last - first + 1, 0))
        for at in range(addr, addr + count):
            if at & 7 == 0 and at + 8 <= addr + count:
                packed[(at >> 3) - first] = 0 if addressable else 0xFF
            elif addressable:
                packed[(at >> 3) - first] &= ~(1 << (at & 7)) & 0xFF
            else:
                packed[(at >> 3) - first] |= 1 << (at & 7)
        value = b"\0" if defined else b"\xff"
        done = self._write_v(addr, value * count)
        return done and self._client.write(first + lib.IP_A_BASE, bytes(packed))

    def _write_v(self, addr: int, data: bytes) -> bool:
        """V bytes, page by page: those of pages that nobody has mapped are not there."""
        done = True
        while data:
            size = min(len(data), _PAGE - addr % _PAGE)
            if self._client.read(addr + lib.IP_V_CONST, 1) is not None:
                done = self._client.write(addr + lib.IP_V_CONST, data[:size]) and done
            addr, data = addr + size, data[size:]
        return done

    def define_addressable(self, addr: int, size: int) -> bool:
        """Mark as defined what is addressable in a range; false if memory cannot be written."""
        done = True
        for values, access in self.bits(addr, size):
            begin = 0
            while begin < len(values):
                if access[begin] or not values[begin]:
                    begin += 1
                    continue
                end = begin
                while end < len(values) and not access[end]:
                    end += 1
                done = self._write_v(addr + begin, bytes(end - begin)) and done
                begin = end
            addr += len(values)
        return done
