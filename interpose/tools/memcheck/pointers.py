"""What the result of a leak search does not say of itself: who points where."""

from __future__ import annotations

from .blocks import Blocks
from .heap import AllocKind, HeapBlock
from .leak import LeakSearch, State, find_hits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NamedTuple

    from .space import ClientSpace
else:
    from interpose.records import NamedTuple

_TOP = (1 << 64) - 1
_REGISTERS = "RAX RCX RDX RBX RSP RBP RSI RDI R8 R9 R10 R11 R12 R13 R14 R15".split()


class Pointer(NamedTuple):
    """A pointer into a range: in memory at ``where``, or in a register of a thread."""

    where: int
    offset: int
    thread: int = 0
    register: str = ""


def pointers_to(space: ClientSpace, addr: int, size: int) -> Iterator[Pointer]:
    """Defined, aligned words of the program that point into a range, and registers that do."""
    size = min(size, _TOP - addr)
    if size:
        block = HeapBlock(addr, size, AllocKind.MALLOC, None, None, False)
        found, _ = find_hits(Blocks.of([block]), space)
        rows = list(zip(found[::3], found[1::3], strict=True))
        usable = space.valid_words([where for where, _ in rows]) if rows else b""
        for (where, offset), is_usable in zip(rows, usable, strict=True):
            if is_usable and offset < size:
                yield Pointer(where, offset)
        for thread in space.threads():
            for name, value, is_defined in zip(_REGISTERS, thread.registers, thread.defined, strict=True):
                if is_defined and addr <= value < addr + size:
                    yield Pointer(0, value - addr, thread.tid, name)


def block_tree(result: LeakSearch, root: int) -> Iterator[tuple[int, int]]:
    """(depth, block): the blocks lost with a block, each below one that points to it."""
    children: dict[int, list[int]] = {}
    for hit in sorted(hit for hit in result.hits if hit.holder >= 0):
        if result.state[hit.block] is State.INDIRECT:
            children.setdefault(hit.holder, []).append(hit.block)
    seen = {root}
    stack = [(1, child) for child in reversed(children.get(root, ()))]
    while stack:
        depth, block = stack.pop()
        if block not in seen:
            seen.add(block)
            yield depth, block
            stack += [(depth + 1, child) for child in reversed(children.get(block, ()))]
