"""What is known about the client: heap, stacks, objects, mappings (for descriptions and leaks)."""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right

from interpose.jit._native import ffi, lib
from interpose.report.places import Segment, StackPosition
from interpose.supervisor.mappings import PROT_EXEC, PROT_READ, PROT_WRITE
from interpose.words import Words

from .addrinfo import ClientBlock, DataSymbol, Section, Variable
from .heap import CHUNKS, NESTED_MORE, AllocKind, BlockMap, HeapBlock
from .reader import HeapReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from dataclasses import replace
    from typing import NamedTuple, TypeVar

    from interpose.supervisor.main import Supervisor
    from interpose.supervisor.mappings import Mapping

    Found = TypeVar("Found", Variable, StackPosition)
else:
    from interpose.records import NamedTuple, replace

_MAX_DEPTH = 512
_SMALL = 1 << 16  # bytes of memory that are read sooner than looked up
_SAVED_RIP = 176  # in a signal's frame, where its ucontext has it; RSP is the word before
_SIGRETURN = (  # mov $15, %rax or %eax; syscall
    b"\x48\xc7\xc0\x0f\0\0\0\x0f\x05",
    b"\xb8\x0f\0\0\0\x0f\x05",
)


class ThreadStack(NamedTuple):
    """A thread at a standstill."""

    tid: int
    lo: int
    hi: int
    sp: int
    pc: int
    registers: tuple[int, ...]
    defined: tuple[bool, ...]
    call_stack: tuple[int, int]


class EndedThread(NamedTuple):
    """The thread that ends the program: nobody uses its registers any more, so no block hangs on them but
    on those that are ``kept``, by number."""

    tid: int
    kept: tuple[int, ...]


class ClientSpace:
    """Answers :class:`addrinfo.AddressSpace` and :class:`leak.LeakMemory` for a supervisor's client."""

    def __init__(self, supervisor: Supervisor, reader: HeapReader, redzone: int) -> None:
        self._supervisor = supervisor
        self._reader = reader
        self.redzone = redzone
        self.ended: EndedThread | None = None

    def forget(self) -> None:
        """The client ran."""
        self._reader.forget()

    # -- blocks --------------------------------------------------------------------------------

    def client_block(self, addr: int) -> ClientBlock | None:
        """A block that the program has described."""
        found = self._reader.described_at(addr)
        if found is None:
            return None
        block, name = found
        description = name.decode("utf-8", "surrogateescape")
        return ClientBlock(block.addr, block.size, description, self._reader.stack(block.ctx))

    def pool_block(self, addr: int) -> HeapBlock | None:
        """A chunk of a memory pool that the address lies in, or in whose red zone it does."""
        return self._reader.chunk_at(addr, AllocKind.POOL)

    def metapool_block(self, addr: int) -> HeapBlock | None:
        return self._reader.chunk_at(addr, AllocKind.METAPOOL)

    def block_numbered(self, number: int) -> HeapBlock | None:
        return self._reader.block(number)

    def live_block_near(self, addr: int, distance: int) -> HeapBlock | None:
        nested = self.redzone + NESTED_MORE
        found = self._reader.near(addr, max(distance, nested), freed=False)
        blocks = [block for block in found if block.kind not in CHUNKS]
        return BlockMap.nearest(blocks, addr, distance, nested)

    def freed_block_near(self, addr: int, distance: int) -> HeapBlock | None:
        return BlockMap.nearest(self._reader.near(addr, distance, freed=True), addr, distance)

    def unallocated(self, addr: int) -> tuple[int, int] | None:
        mapping = self._reader.mapping_at(addr)
        if mapping is None or mapping.kind != "anonymous":
            return None  # the program has mapped something over it
        return self._reader.unallocated(addr, self.redzone)

    # -- objects -------------------------------------------------------------------------------

    def variable_at(self, addr: int, tid: int) -> Variable | None:
        if not self._supervisor.config.core.read_var_info:
            return None
        from .variables import variable_at

        for thread in self.threads():
            if thread.lo <= addr < thread.hi:
                slots = self.return_slots(thread)
                found = variable_at(self._supervisor, thread, slots, addr)
                return found and self._as_shown(found, thread, tid)
        place = self._supervisor.symbolizer.variable_at(addr)
        return Variable(*place) if place is not None else None

    def static_local_at(self, addr: int) -> Variable | None:
        if not self._supervisor.config.core.read_var_info:
            return None
        place = self._supervisor.symbolizer.variable_at(addr, static_local=True)
        return Variable(*place) if place is not None else None

    def data_symbol_at(self, addr: int) -> DataSymbol | None:
        place = self._supervisor.symbolizer.describe_data(addr)
        return DataSymbol(place.name, place.offset) if place is not None else None

    def section_of(self, addr: int) -> Section | None:
        found = self._supervisor.symbolizer.section_of(addr)
        return Section(*found) if found is not None else None

    # -- stacks --------------------------------------------------------------------------------

    def threads(self) -> list[ThreadStack]:
        """Every live thread, by number."""
        found = []
        client = self._supervisor.client
        for slot in client.slots():
            ts = client.read_struct("struct tstate", slot.tstate)
            if ts is None:
                continue
            found.append(
                ThreadStack(
                    ts.tid_guest,
                    ts.stack_lo,
                    ts.stack_hi,
                    ts.gpr[lib.IP_RSP],
                    ts.pc,
                    tuple(ts.gpr),
                    tuple(v == 0 for v in ts.vgpr),
                    (ts.cs_base, ts.cs_top),
                )
            )
        return sorted(found)

    def return_slots(self, thread: ThreadStack) -> list[tuple[int, int]]:
        """(address of the return address, return address) of the stack in use, innermost first."""
        return self._stacks(thread)[0][1]

    def _stacks(self, thread: ThreadStack) -> list[tuple[int, list[tuple[int, int]]]]:
        """(stack pointer, return slots) of the stack in use, then of each that a signal was met on which is
        handled on an alternate one."""
        base, top = thread.call_stack
        size = max(min(top + 16 - base, 16 * _MAX_DEPTH), 0)
        data = self._supervisor.client.read(top + 16 - size, size) or b""
        sp, hi = thread.sp, thread.hi
        slots: list[tuple[int, int]] = []
        found = [(sp, slots)]
        is_live = False  # the entry before; a handler may have been left by a jump
        for ret, above in reversed(list(struct.iter_unpack("<QQ", data))):
            slot = above - 8
            if above and not ret and is_live:
                sp, hi, slots = above, 1 << 64, []
                found.append((sp, slots))
            is_live = bool(ret) and sp <= slot < hi
            if is_live:
                slots.append((slot, ret))
                sp = slot + 8
        return found

    def stack_of(self, addr: int, tid: int) -> StackPosition | None:
        threads = self.threads()
        for thread in threads:
            if position := self._position(thread, addr):
                return self._as_shown(position, thread, tid)
        mapping = self._reader.mapping_at(addr)
        if mapping is not None and not mapping.prot:
            for thread in threads:
                if mapping.hi == thread.lo and addr < thread.sp:
                    return StackPosition(thread.tid, below_sp=thread.sp - addr, in_guard=True)
        return None

    def _as_shown(self, found: Found, thread: ThreadStack, tid: int) -> Found:
        """With its frame's number as in an error of thread ``tid``, whose own stack may begin further out."""
        from interpose.supervisor.stacktrace import guest_pc

        if found.frame is None or thread.tid != tid:
            return found
        inner: list[int] = [ret - 1 for _, ret in self.return_slots(thread)[: lib.IP_FRAMES_OF_CALL + 1]]
        hidden = self._supervisor.resolver.hidden((guest_pc(thread.pc), *inner))
        return replace(found, frame=max(found.frame - hidden, 0))

    def _position(self, thread: ThreadStack, addr: int) -> StackPosition | None:
        """Where an address is on one of a thread's stacks."""
        from interpose.supervisor.stacktrace import guest_pc

        is_in_use = thread.lo <= addr < thread.hi
        if is_in_use and addr < thread.sp:
            return StackPosition(thread.tid, below_sp=thread.sp - addr)
        number, ip = 0, guest_pc(thread.pc)
        for at, (sp, slots) in enumerate(self._stacks(thread)):
            is_here = sp <= addr if at else is_in_use
            for depth, (slot, ret) in enumerate(slots):
                if is_here and addr < slot + 8:
                    name, file, line = self._supervisor.symbolizer.function_start(ip)
                    return StackPosition(thread.tid, number, name, file, line)
                if is_here and addr < self._signal_frame_end(slot, ret, slots[depth + 1 : depth + 3]):
                    return StackPosition(thread.tid)
                number, ip = number + 1, ret - 1
            if is_in_use:
                return StackPosition(thread.tid)
        return None

    def _signal_frame_end(self, slot: int, ret: int, above: Sequence[tuple[int, int]]) -> int:
        """Where the signal's frame ends above a handler's return address in `slot`; 0: it is no handler's.

        No function has made it.  It ends where RSP was, but on an alternate stack, of which it is the first.
        """
        if not above or above[0][0] != slot + _SAVED_RIP:
            return 0
        code = self._supervisor.client.read(ret, len(_SIGRETURN[0])) or b""
        if not code.startswith(_SIGRETURN):
            return 0
        saved = above[0][0]
        rsp = int.from_bytes(self._supervisor.client.read(saved - 8, 8) or b"", "little")
        return rsp if len(above) > 1 and rsp > saved else saved + 8

    def is_just_below_stack(self, addr: int, tid: int) -> bool:
        return False

    # -- mappings ------------------------------------------------------------------------------

    def brk_limit(self) -> tuple[int, int] | None:
        mapping = self._reader.brk_mapping()
        if mapping is None:
            return None
        header = self._supervisor.client.header  # a forked child's begins without
        return mapping.lo, (header.data_end if header is not None else 0) or mapping.hi

    def segment_of(self, addr: int) -> Segment | None:
        mapping = self._reader.mapping_at(addr)
        return None if mapping is None else Segment.of(mapping)

    # -- leak search ---------------------------------------------------------------------------

    def regions(self) -> Iterable[tuple[int, int]]:
        """Readable and writable ranges: constants hold no pointers to the heap.

        Data made read-only after relocation may: start-up code of a static program allocates before.
        """
        found = []
        data = self._supervisor.objects.data_segments()
        ends = [end for _, end in data]
        for mapping in self._reader.mappings():
            access = mapping.prot & (PROT_READ | PROT_WRITE)
            if access == PROT_READ | PROT_WRITE:
                found += self._written(mapping)
            elif mapping.prot == PROT_READ and mapping.kind == "file":
                at = bisect_right(ends, mapping.lo)
                if at < len(data) and data[at][0] < mapping.hi:
                    found.append((max(data[at][0], mapping.lo), min(ends[at], mapping.hi)))
        return found

    def readable(self) -> Iterable[tuple[int, int]]:
        return [(mapping.lo, mapping.hi) for mapping in self._reader.mappings() if mapping.prot & PROT_READ]

    def _written(self, mapping: Mapping) -> list[tuple[int, int]]:
        """The parts of a mapping that may have something in them: of most stacks and heaps little is used."""
        if mapping.kind not in ("anonymous", "brk") or mapping.is_shared or mapping.hi - mapping.lo < _SMALL:
            return [(mapping.lo, mapping.hi)]
        return self._supervisor.client.touched(mapping.lo, mapping.hi)

    def read(self, addr: int, length: int) -> bytes | None:
        return self._supervisor.client.read(addr, length)

    def valid_words(self, addrs: Sequence[int]) -> Sequence[int]:
        """A V byte of zero means addressable and defined; without V bits (--instrument=no) all counts.

        A word that begins where invalid accesses are ignored is none, as in Valgrind.
        """
        good = bytearray(b"\1") * len(addrs)
        if self._supervisor.session.memory.header.config_flags & lib.IP_C_SHADOW:
            words = ffi.from_buffer("uint64_t[]", Words("Q", addrs))
            memory = self._supervisor.client.memory_fd()
            lib.ip_valid_words(memory, lib.IP_V_CONST, words, len(addrs), ffi.from_buffer("uint8_t[]", good))
        by_option = self._supervisor.config.tool.ignore_ranges or ()
        for lo, hi, *_ in (*by_option, *self._reader.ignored_ranges()):
            first, behind = bisect_left(addrs, lo), bisect_right(addrs, hi)
            good[first:behind] = bytes(behind - first)
        return good

    def read_words(self, addrs: Sequence[int]) -> Sequence[int]:
        wanted, words = Words("Q", addrs), Words("Q", bytes(8 * len(addrs)))
        memory = self._supervisor.client.memory_fd()
        lib.ip_read_words(
            memory, ffi.from_buffer("uint64_t[]", wanted), len(addrs), ffi.from_buffer("uint64_t[]", words)
        )
        return words

    def registers(self) -> Iterable[int]:
        return [
            value
            for thread in self.threads()
            for number, (value, defined) in enumerate(zip(thread.registers, thread.defined, strict=True))
            if defined and (self.ended is None or thread.tid != self.ended.tid or number in self.ended.kept)
        ]

    def is_gone(self) -> bool:
        return self._reader.is_gone()

    def is_code(self, addr: int) -> bool:
        mapping = self._reader.mapping_at(addr)
        return mapping is not None and bool(mapping.prot & PROT_EXEC)
