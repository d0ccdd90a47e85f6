"""Where undefined memory comes from, for who asks from outside.

What ``interpose/shadow/origin.c`` finds for an error: memory that was copied to has a tag; other memory has
its block's allocation as origin, or the frame that holds it.
"""

from __future__ import annotations

import struct

from interpose.jit._native import ffi, lib

from .errors import Origin, OriginKind
from .reader import NOT_KEPT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .space import ThreadStack
    from .tool import Tool

_GRANULE, _CHUNK = 2, 20  # ORIGIN_GRANULE, ORIGIN_CHUNK (shadow/origin_table.h)
_HASH = 0x9E3779B97F4A7C15
_WORD = (1 << 64) - 1


def origin_at(tool: Tool, addr: int) -> Origin | None:
    """Of an undefined byte; None if it is not known."""
    from interpose.supervisor.stacktrace import guest_pc

    tag, owner = _tag(tool, addr)
    thread = next((thread for thread in tool.space.threads() if thread.lo <= addr < thread.hi), None)
    if thread is not None:
        ip, frame = _frame(tool, thread, addr, guest_pc(thread.pc))
        if not tag or owner != frame:  # what another frame had there says nothing
            return Origin(OriginKind.STACK, (tool.supervisor.symbolizer.function_address(ip) or ip,))
    if tag:
        return tool.origin_of(tag)
    holders = tool.reader.near(addr, 0, freed=False)
    inner = min((block for block in holders if addr < block.end), key=lambda block: block.size, default=None)
    return Origin(OriginKind.HEAP, inner.alloc_stack or NOT_KEPT) if inner else None


def _frame(tool: Tool, thread: ThreadStack, addr: int, pc: int) -> tuple[int, int]:
    """An address in the function whose frame it is, and what tells that from others at the same place."""
    ip, frame = pc, 0
    for slot, ret in tool.space.return_slots(thread):
        frame = (slot ^ ret * _HASH & _WORD) >> 8 & 0xFFFFFFFF
        if addr < slot:
            break
        ip = ret - 1
    return ip, frame


def _tag(tool: Tool, addr: int) -> tuple[int, int]:
    """The tag of the granule and which frame it was given for; 0: none."""
    client = tool.supervisor.client
    root = client.symbol(lib.IP_SYM_TOOL)
    origins = client.read_struct("struct mc_origins", root + ffi.offsetof("struct mc_root", "origins"))
    if origins is None:
        return 0, 0
    places, count = _words(tool, origins.places, 1)[0], _words(tool, origins.count, 1)[0]
    number = addr >> _CHUNK
    first = (number * _HASH & _WORD) >> 32
    for at in range(first, first + count):
        found, chunk = _words(tool, places + 16 * (at & count - 1), 2)
        if not chunk:
            break
        if found == number:
            _, tags, owners = _words(tool, chunk, 3)
            granule = 4 * (addr >> _GRANULE & (1 << _CHUNK - _GRANULE) - 1)
            return _number(tool, tags + granule), _number(tool, owners + granule) if owners else 0
    return 0, 0


def _words(tool: Tool, addr: int, count: int) -> tuple[int, ...]:
    data = tool.supervisor.client.read(addr, 8 * count)
    return struct.unpack(f"<{count}Q", data) if data else (0,) * count


def _number(tool: Tool, addr: int) -> int:
    return int.from_bytes(tool.supervisor.client.read(addr, 4) or b"", "little")
