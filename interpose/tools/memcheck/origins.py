"""Where undefined memory comes from, for who asks from outside; and which instruction made a frame's room.

What ``interpose/shadow/origin.c`` finds for an error: memory that was copied to has a tag; other memory has
its block's allocation as origin, or the frame that holds it.
"""

from __future__ import annotations

from interpose.jit._native import ffi, lib
from interpose.report.places import RED_ZONE

from .errors import Origin, OriginKind
from .reader import NOT_KEPT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .space import ThreadStack
    from .tool import Tool

_PUSHES = range(0x50, 0x58)  # opcodes
_MOST_CODE = 1 << 16  # bytes of a function that are looked through
_LONGEST = 15  # bytes of an instruction
_HASH = 0x9E3779B97F4A7C15  # of chunks' numbers (origin_place_of) and of frames (frame_owner)
_WORD = (1 << 64) - 1


def origin_at(tool: Tool, addr: int) -> Origin | None:
    """Of an undefined byte; None if it is not known."""
    from interpose.supervisor.stacktrace import guest_pc

    tag, owner = _tag(tool, addr)
    thread = next((thread for thread in tool.space.threads() if thread.lo <= addr < thread.hi), None)
    if thread is not None:
        ip, frame, is_deep = _frame(tool, thread, addr, guest_pc(thread.pc))
        if not tag or owner != frame:  # what another frame had there says nothing
            return Origin(OriginKind.STACK, (room_made_at(tool, ip, is_deep),))
    if tag:
        return tool.origin_of(tag)
    holders = tool.reader.near(addr, 0, freed=False)
    inner = min((block for block in holders if addr < block.end), key=lambda block: block.size, default=None)
    return Origin(OriginKind.HEAP, inner.alloc_stack or NOT_KEPT) if inner else None


def room_made_at(tool: Tool, ip: int, is_deep: bool) -> int:
    """The instruction that made room on the stack in a frame of the function that ``ip`` is in.

    That is the function's first one, for the bytes below a call are its red zone, or, if it is deep, that
    which moved RSP there.  Which one that was is known if there is but one that can be: the largest constant,
    or a single change by a register (of an array of variable length) where constants do not reach so far.
    """
    start = tool.supervisor.symbolizer.function_address(ip)
    if start is None:
        return ip
    if not is_deep:
        return start
    changes = tool.frame_changes.setdefault(start, FrameChanges(start))
    changes.read_until(tool, ip)
    found = [(at, by) for at, by in changes.found if at < ip]
    variable = [at for at, by in found if not by]
    if sum(by for _, by in found) > RED_ZONE:
        return start if variable else max(found, key=lambda change: change[1])[0]
    return variable[0] if len(variable) == 1 else start


class FrameChanges:
    """What moves RSP down in a function, as far as its code was looked through."""

    def __init__(self, start: int) -> None:
        self._next = self._start = start
        self.found: list[tuple[int, int]] = []
        """Addresses of instructions, and by how many bytes, 0 where a register tells."""

    def read_until(self, tool: Tool, end: int) -> None:
        end = min(end, self._start + _MOST_CODE)
        if end <= self._next:
            return
        code = tool.supervisor.client.read(self._next, end - self._next + _LONGEST)
        insn, first = ffi.new("struct ip_insn *"), self._next
        while code and self._next < end:
            bytes_here = code[self._next - first :][:_LONGEST]
            length = lib.ip_decode(bytes_here, len(bytes_here), self._next, insn)
            if length <= 0:
                self._next = self._start + _MOST_CODE  # data, or code of another kind
                return
            by = 8 if not insn.map and insn.opcode in _PUSHES else _constant(insn)
            if by > 0 or _is_variable(insn):
                self.found.append((self._next, by))
            self._next += length


def _constant(insn: Any) -> int:
    """How far ``sub $n, %rsp`` moves RSP down, and ``add $-n, %rsp``."""
    if insn.map or insn.opcode not in (0x81, 0x83) or insn.rex & 9 != 8:
        return 0
    return int({0xEC: insn.imm, 0xC4: -insn.imm}.get(insn.modrm, 0))


def _is_variable(insn: Any) -> bool:
    """``sub %reg, %rsp`` in both encodings."""
    if insn.map or not insn.rex & 8:
        return False
    to = insn.opcode == 0x29 and insn.modrm & 0xC7 == 0xC4 and not insn.rex & 1
    return to or (insn.opcode == 0x2B and insn.modrm & 0xF8 == 0xE0 and not insn.rex & 4)


def _frame(tool: Tool, thread: ThreadStack, addr: int, pc: int) -> tuple[int, int, bool]:
    """An address in the function whose frame it is, what tells that from others at the same place, and
    whether it is below the frame's red zone."""
    ip, frame, is_deep = pc, 0, False
    for slot, ret in tool.space.return_slots(thread):
        frame = (slot ^ ret * _HASH & _WORD) >> 8 & 0xFFFFFFFF
        is_deep = addr < slot - RED_ZONE
        if addr < slot:
            break
        ip = ret - 1
    return ip, frame, is_deep


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
