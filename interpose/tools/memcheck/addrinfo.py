"""What an address is: the descriptions under an error (docs/spec/output.md section 4).

The search order is that of docs/spec/output.md section 4; :class:`AddressSpace` answers each step.
"""

from __future__ import annotations

from interpose.report.errors import AuxPart
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
class StackPosition:
    """An address on a thread's stack."""

    tid: int
    frame: int | None = None
    """Number of the frame that holds it; 0 is the innermost."""
    function: str | None = None
    file: str | None = None
    line: int | None = None
    """First line of the function."""
    below_sp: int = 0
    """Bytes below the stack pointer, 0 if not below it."""
    in_guard: bool = False


@dataclass(frozen=True)
class Variable:
    """A variable known by its debug information (``--read-var-info=yes``)."""

    what: str
    """``local var "v"``, ``global var "v"``, ``v.f[3],`` as docs/spec/output.md section 4 writes them."""
    offset: int
    file: str | None = None
    line: int | None = None
    dir: str | None = None
    frame: int | None = None
    tid: int | None = None


@dataclass(frozen=True)
class Segment:
    """A mapping: kind ``anonymous``, ``file``, ``shm`` or ``brk``; protection like ``rw-``."""

    kind: str
    start: int
    end: int
    prot: str
    path: str | None = None


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
    def metapool_block(self, addr: int, /) -> HeapBlock | None:
        """A chunk of a metapool that holds the address."""

    def variable_at(self, addr: int, tid: int, /) -> Variable | None: ...
    def data_symbol_at(self, addr: int, /) -> DataSymbol | None: ...
    def stack_of(self, addr: int, tid: int, /) -> StackPosition | None: ...
    def section_of(self, addr: int, /) -> Section | None: ...
    def is_just_below_stack(self, addr: int, tid: int, /) -> bool: ...
    def brk_limit(self) -> tuple[int, int] | None:
        """Start and end of the brk segment."""

    def segment_of(self, addr: int, /) -> Segment | None: ...


UNKNOWN = "not stack'd, malloc'd or (recently) free'd"


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
    if position := space.stack_of(addr, tid):
        return _stack_parts(head, position)
    if far := _far_block(space, addr):
        return _block_parts(head, addr, far, "free'd" if far.freed else "alloc'd")
    if section := space.section_of(addr):
        stack = (addr,) if section.kind == "Text" else None
        return [AuxPart(f"{head} in the {section.kind} segment of {section.obj}", stack)]
    if space.is_just_below_stack(addr, tid):
        return [
            AuxPart(f"{head} just below the stack ptr.  To suppress, use: --workaround-gcc296-bugs=yes"),
        ]
    return [AuxPart(f"{head} {_mapping_text(space, addr)}")]


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


def _stack_parts(head: str, position: StackPosition) -> list[AuxPart]:
    parts = [AuxPart(f"{head} on thread {position.tid}'s stack")]
    if position.frame is not None:
        line = "" if position.line is None else position.line
        parts.append(
            AuxPart(
                f"in frame #{position.frame}, created by {position.function or '???'} "
                f"({position.file or '???'}:{line})"
            )
        )
    below = f"{position.below_sp} bytes below stack pointer"
    if position.in_guard:
        parts.append(AuxPart(f"In stack guard protected page, {below}"))
    elif position.below_sp > 0:
        parts.append(AuxPart(below))
    return parts


def _variable_parts(addr: int, variable: Variable) -> list[AuxPart]:
    noun = "byte" if variable.offset == 1 else "bytes"
    text = f"Location 0x{addr:x} is {variable.offset} {noun} inside {variable.what}"
    is_local = variable.frame is not None
    if is_local:
        text += ","
    if variable.file is None:
        return [AuxPart(text)]
    where = f"declared at {variable.file}:{variable.line}"
    if is_local:
        where += f", in frame #{variable.frame} of thread {variable.tid}"
    return [AuxPart(text), AuxPart(where, file=variable.file, line=variable.line, dir=variable.dir)]


def _mapping_text(space: AddressSpace, addr: int) -> str:
    segment = space.segment_of(addr)
    brk = space.brk_limit()
    if brk is not None and brk[0] <= addr < brk[1]:
        return f"in the brk data segment 0x{brk[0]:x}-0x{brk[1] - 1:x}"
    if segment is None or segment.kind == "brk":
        if brk is not None and segment is not None and addr >= brk[1]:
            return f"{addr - brk[1]} bytes after the brk data segment limit 0x{brk[1]:x}"
        return UNKNOWN
    if segment.kind == "file":
        return f"in a {segment.prot} mapped file {segment.path} segment"
    if segment.kind == "shm":
        return f"in a {segment.prot} shared memory segment"
    return f"in a {segment.prot} anonymous segment"
