"""What an address is where no tool knows more: symbols, stacks, mappings. The texts are Valgrind's."""

from __future__ import annotations

from interpose.report.errors import AuxPart

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass

    from interpose.supervisor.main import Supervisor
    from interpose.supervisor.mappings import Mapping
else:
    from interpose.records import dataclass

_UNKNOWN = "not stack'd, malloc'd or on a free list"
_MOST_FRAMES = 512
RED_ZONE = 128
"""Bytes below RSP that are in use all the same."""


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
class Segment:
    """A mapping: kind ``anonymous``, ``file``, ``shm`` or ``brk``; protection like ``rw-``."""

    kind: str
    start: int
    end: int
    prot: str
    path: str | None = None

    @classmethod
    def of(cls, mapping: Mapping) -> Segment:
        """A mapping of the program's."""
        return cls(mapping.kind, mapping.lo, mapping.hi, mapping.rwx, mapping.path)


def describe(supervisor: Supervisor, addr: int) -> list[AuxPart]:
    """The auxiliary parts that say what an address is, of a program that stands still."""
    symbolizer = supervisor.symbolizer
    head = f"Address 0x{addr:x} is"
    if (data := symbolizer.describe_data(addr)) is not None:
        return [AuxPart(f'{head} {data.offset} bytes inside data symbol "{data.name}"')]
    if (position := _on_stack(supervisor, addr)) is not None:
        return stack_parts(head, position)
    if (section := symbolizer.section_of(addr)) is not None:
        kind, name = section
        return [AuxPart(f"{head} in the {kind} segment of {name}", (addr,) if kind == "Text" else None)]
    from interpose.supervisor.mappings import brk_mapping, mapping_at

    grown, mapping = brk_mapping(supervisor.client), mapping_at(supervisor.client, addr)
    brk = (grown.lo, grown.hi) if grown is not None else None
    segment = Segment.of(mapping) if mapping is not None else None
    return [AuxPart(f"{head} {mapping_text(segment, brk, addr) or _UNKNOWN}")]


def _on_stack(supervisor: Supervisor, addr: int) -> StackPosition | None:
    from interpose.elf.unwind import Unwinder
    from interpose.jit._native import lib
    from interpose.supervisor.stacktrace import by_dwarf_number, guest_pc

    for slot in supervisor.client.slots():
        state = supervisor.client.read_struct("struct tstate", slot.tstate)
        if state is None or not state.stack_lo <= addr < state.stack_hi:
            continue
        number, sp = state.tid_guest, state.gpr[lib.IP_RSP]
        if addr < sp:
            return StackPosition(number, below_sp=sp - addr)
        unwinder = Unwinder(supervisor.client.read, supervisor.symbolizer.frame_table)
        registers, pc = by_dwarf_number(state.gpr), guest_pc(state.pc)
        frames = list(unwinder.frames(pc, registers, _MOST_FRAMES))
        ends = [registers[_SP] for _, registers, _ in frames[1:]]
        for frame, (end, (at, _, exact)) in enumerate(zip(ends, frames, strict=False)):
            if addr < end:
                name, file, line = supervisor.symbolizer.function_start(at if exact else at - 1)
                return StackPosition(number, frame, name, file, line)
        return StackPosition(number)
    return None


_SP = 7  # DWARF's number of RSP


def stack_parts(head: str, position: StackPosition) -> list[AuxPart]:
    """What is said of an address on a stack; ``head`` begins it."""
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
    elif position.below_sp > RED_ZONE:
        parts.append(AuxPart(below))
    return parts


def mapping_text(segment: Segment | None, brk: tuple[int, int] | None, addr: int) -> str | None:
    """Which mapping an address is in; None if there is nothing to say.

    :param brk: where the brk segment is.
    """
    if brk is not None and brk[0] <= addr < brk[1]:
        return f"in the brk data segment 0x{brk[0]:x}-0x{brk[1] - 1:x}"
    if segment is None or segment.kind == "brk":
        if brk is not None and segment is not None and addr >= brk[1]:
            return f"{addr - brk[1]} bytes after the brk data segment limit 0x{brk[1]:x}"
        return None
    if segment.kind == "file":
        return f"in a {segment.prot} mapped file {segment.path} segment"
    if segment.kind == "shm":
        return f"in a {segment.prot} shared memory segment"
    return f"in a {segment.prot} anonymous segment"
