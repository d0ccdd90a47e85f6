"""Where undefined memory comes from, for who asks from outside.

What ``interpose/shadow/origin.c`` finds for an error: memory that was copied to has a tag; other memory has
its block's allocation as origin, or the frame that holds it.
"""

from __future__ import annotations

from interpose.jit._native import ffi, lib

from .errors import Origin, OriginKind
from .reader import NOT_KEPT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .space import ThreadStack
    from .tool import Tool

_HASH = 0x9E3779B97F4A7C15  # of chunks' numbers (origin_place_of) and of frames (frame_owner)
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
    root = tool.reader.tool_root()
    if root is None:
        return 0, 0
    places, count = _number(tool, root.origins.places, 8), _number(tool, root.origins.count, 8)
    number = addr >> lib.MC_ORIGIN_CHUNK
    first = (number * _HASH & _WORD) >> 32
    for index in range(first, first + count):
        row = places + ffi.sizeof("struct mc_origin_place") * (index & count - 1)
        place = client.read_struct("struct mc_origin_place", row)
        if place is None or not place.chunk:
            break
        if place.number == number:
            return _tag_in(tool, place.chunk, addr)
    return 0, 0


def _tag_in(tool: Tool, chunk_at: int, addr: int) -> tuple[int, int]:
    chunk = tool.supervisor.client.read_struct("struct mc_origin_chunk", chunk_at)
    if chunk is None:
        return 0, 0
    granule = 4 * (addr % (1 << lib.MC_ORIGIN_CHUNK) >> lib.MC_ORIGIN_GRANULE)
    owner = _number(tool, chunk.owners + granule, 4) if chunk.owners else 0
    return _number(tool, chunk.tags + granule, 4), owner


def _number(tool: Tool, addr: int, size: int) -> int:
    return int.from_bytes(tool.supervisor.client.read(addr, size) or b"", "little")
