"""What an address is: the descriptions under an error (docs/spec/output.md section 4).

The search order is that of docs/spec/output.md section 4; :class:`AddressSpace` answers each step.
"""

from __future__ import annotations

from interpose.report.errors import AuxPart
from interpose.report.places import Segment, StackPosition, mapping_text, stack_parts
from interpose.report.stack import Stack

from .heap import FAR, HeapBlock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass
    from typing import Protocol
else:
    from interpose.records import dataclass

    Protocol = object


@dataclass(frozen=True)
class ClientBlock:
    """A block described by the program (CREATE_BLOCK)."""

    addr: int
    size: int
    description: str
    stack: Stack | None = None


@dataclass(frozen=True)
class DataSymbol:
    """A variable known by the symbol table."""

    name: str
    offset: int


@dataclass(frozen=True)
class Section:
    """The part of an object an address lies in: Text Data BSS GOT PLT OPD GOTPLT Unknown."""

    kind: str
    obj: str


@dataclass(frozen=True)
class Variable:
    """A variable known by its debug information (``--read-var-info=yes``)."""

    name: str
    offset: int
    """Bytes into the variable, or into the part of it."""
    part: str = ""
    """What of the variable, as it follows its name: ``.f[3]``."""
    file: str | None = None
    line: int | None = None
    frame: int | None = None
    """Number of the frame that it is a local variable of."""
    tid: int | None = None


UNKNOWN = "not stack'd, malloc'd or (recently) free'd"


class AddressSpace(Protocol):
    """Everything that is known about the client's addresses."""

    redzone: int

    def client_block(self, addr: int, /) -> ClientBlock | None: ...
    def pool_block(self, addr: int, /) -> HeapBlock | None:
        """A live chunk of a memory pool that holds the address."""

    def block_numbered(self, number: int, /) -> HeapBlock | None:
        """A block by the number of its record."""

    def live_block_near(self, addr: int, distance: int, /) -> HeapBlock | None: ...
    def freed_block_near(self, addr: int, distance: int, /) -> HeapBlock | None: ...
    def unallocated(self, addr: int, /) -> tuple[int, int] | None:
        """Start and end of the memory around the address that the heap has, and no block of it."""

    def metapool_block(self, addr: int, /) -> HeapBlock | None:
        """A chunk of a metapool that holds the address."""

    def variable_at(self, addr: int, tid: int, /) -> Variable | None: ...
    def static_local_at(self, addr: int, /) -> Variable | None:
        """A static variable of a function; Valgrind calls those by their data symbols, if they have one."""

    def data_symbol_at(self, addr: int, /) -> DataSymbol | None: ...
    def stack_of(self, addr: int, tid: int, /) -> StackPosition | None: ...
    def section_of(self, addr: int, /) -> Section | None: ...
    def is_just_below_stack(self, addr: int, tid: int, /) -> bool: ...
    def brk_limit(self) -> tuple[int, int] | None:
        """Start and end of the brk segment."""

    def segment_of(self, addr: int, /) -> Segment | None: ...


def describe_address(space: AddressSpace, addr: int, tid: int = 1) -> list[AuxPart]:
    """The auxiliary parts that say what an address is."""
    head = f"Address 0x{addr:x} is"
    if client := space.client_block(addr):
        where = relation(addr, client.addr, client.size)
        text = f"{head} {where} a {client.description} of size {client.size:,} client-defined"
        return [AuxPart(text, client.stack)]
    if pool := space.pool_block(addr):
        return _block_parts(head, addr, pool, "client-defined")
    live = space.live_block_near(addr, space.redzone)
    freed = space.freed_block_near(addr, space.redzone)
    if live:
        return _block_parts(head, addr, live, "alloc'd", "recently re-allocated block" if freed else "block")
    if freed:
        return _block_parts(head, addr, freed, "free'd")
    if chunk := space.metapool_block(addr):
        return _block_parts(head, addr, chunk, "client-defined")
    if variable := space.variable_at(addr, tid):
        return _variable_parts(addr, variable)
    if symbol := space.data_symbol_at(addr):
        return [AuxPart(f'{head} {symbol.offset} bytes inside data symbol "{symbol.name}"')]
    if static := space.static_local_at(addr):
        return _variable_parts(addr, static)
    if position := space.stack_of(addr, tid):
        return stack_parts(head, position)
    if far := _far_block(space, addr):
        return _block_parts(head, addr, far, "free'd" if far.freed else "alloc'd")
    if gap := space.unallocated(addr):
        where = relation(addr, gap[0], gap[1] - gap[0])
        return [AuxPart(f'{head} {where} an unallocated block of size {gap[1] - gap[0]:,} in arena "client"')]
    if section := space.section_of(addr):
        stack = (addr,) if section.kind == "Text" else None
        return [AuxPart(f"{head} in the {section.kind} segment of {section.obj}", stack)]
    if space.is_just_below_stack(addr, tid):
        return [
            AuxPart(f"{head} just below the stack ptr.  To suppress, use: --workaround-gcc296-bugs=yes"),
        ]
    return [AuxPart(f"{head} {mapping_text(space.segment_of(addr), space.brk_limit(), addr) or UNKNOWN}")]


def relation(addr: int, start: int, size: int) -> str:
    """``N bytes before|inside|after``."""
    if addr < start:
        return f"{start - addr:,} bytes before"
    if addr >= start + size:
        return f"{addr - start - size:,} bytes after"
    return f"{addr - start:,} bytes inside"


def _block_parts(head: str, addr: int, block: HeapBlock, state: str, noun: str = "block") -> list[AuxPart]:
    text = f"{head} {relation(addr, block.addr, block.size)} a {noun} of size {block.size:,} {state}"
    if not block.freed:
        return [AuxPart(text, block.alloc_stack)]
    # --keep-stacktraces decides which of the two there are; a lone allocation stack needs its own title too.
    parts = [AuxPart(text, block.free_stack)]
    if block.alloc_stack:
        parts.append(AuxPart("Block was alloc'd at", block.alloc_stack))
    return parts


def describe_block(addr: int, block: HeapBlock) -> list[AuxPart]:
    """The auxiliary parts that say where an address is in a live block."""
    return _block_parts(f"Address 0x{addr:x} is", addr, block, "alloc'd")


def _far_block(space: AddressSpace, addr: int) -> HeapBlock | None:
    near = [
        block
        for block in (space.live_block_near(addr, FAR), space.freed_block_near(addr, FAR))
        if block is not None
    ]
    return min(near, key=lambda block: block.distance(addr), default=None)


def _variable_parts(addr: int, variable: Variable) -> list[AuxPart]:
    noun = "byte" if variable.offset == 1 else "bytes"
    is_local = variable.frame is not None
    if variable.part:
        what = f"{variable.name}{variable.part}"
    else:
        what = f'{"local" if is_local else "global"} var "{variable.name}"'
    text = f"Location 0x{addr:x} is {variable.offset} {noun} inside {what}"
    frame = f"in frame #{variable.frame} of thread {variable.tid}"
    if variable.file is None:
        if is_local:
            return [AuxPart(text if variable.part else f"{text},"), AuxPart(frame)]
        return [AuxPart(f"{text},"), AuxPart("a global variable")] if variable.part else [AuxPart(text)]
    if variable.part:
        text += ","
    where = f"declared at {variable.file}:{variable.line}"
    if is_local:
        where += f", {frame}"
    elif variable.part:
        where = f"a global variable {where}"
    return [AuxPart(text), AuxPart(where, file=variable.file, line=variable.line)]
