"""Runs inside gdb: show the program's own frames of a process that runs under interpose.

``gdb -p PID -x "$(interpose --gdb-script)"``.  A thread is in translated code or in the runtime, which gdb
cannot unwind.  The guest's registers are in the thread's state, which FS points at (``struct tstate`` of
``interpose/abi/tstate.h``), and in translated code partly in the real ones; the translator's tables say which
(docs/debugging.md).  An unwinder makes the guest's frame the caller of the frame that gdb stopped in.

gdb has a Python of its own, so nothing of the package is imported; ``tests/gdb/test_gdb.py`` compares
the constants with the header's.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import gdb
import gdb.unwinder

CACHE, COLD = (0x5D000000, 0x6D000000), 0x65000000
RUNTIME = (0x7C100000, 0x7D000000)
META = 0x6D000000
META_BLOCKS, META_POINTS, META_PCS = 0x03011000, 0x05011000, 0x09011000
CHANNEL_MAGIC = 0x49504F53
CHANNEL, CHANNEL_PROG = 0x7DC00000, 0x660
STUBS = (b"interpose-stubs.so", b"interpose-heap.so", b"interpose-core.so")
KEY_PC = 0x0000FFFFFFFFFFFF
STATE_GPR, STATE_PC = 0x00, 0x88
N_BLOCKS_AT, COLD_USED_AT = 8, 32  # in struct ip_meta
# key, host, points, pcs, where stubs are, length, that of stubs apart, number of points
BLOCK = struct.Struct("<QIIIIHHHxx")
# Of a packed point (inline/points.h): bits of its first byte, its most bytes; of a packed pc (inline/pcs.h).
POINT_FLAGS, POINT_NEXT, POINT_INSN, POINT_SPILLED, POINT_FAR, POINT_MOST = 7, 8, 16, 32, 255, 8
PCS_HEAD, PCS_FAR, PCS_MOST = 8, 255, 5
REGISTERS = "rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15".split()


def _read(address: int, size: int) -> bytes:
    return bytes(gdb.selected_inferior().read_memory(address, size))


def _word(address: int, form: str = "<Q") -> int:
    return int(struct.unpack(form, _read(address, struct.calcsize(form)))[0])


def block_of(host: int) -> tuple[int, ...] | None:
    """The translated block that holds a host address: blocks are sorted by it, and so are stubs apart."""
    start, length = (4, 6) if host >= COLD and _word(META + COLD_USED_AT, "<I") else (1, 5)
    low, high = 0, _word(META + N_BLOCKS_AT, "<I")
    while low < high:
        middle = (low + high) // 2
        block = BLOCK.unpack(_read(META + META_BLOCKS + middle * BLOCK.size, BLOCK.size))
        if host < block[start]:
            high = middle
        elif host >= block[start] + block[length]:
            low = middle + 1
        else:
            return block
    return None


def in_translation(host: int) -> tuple[int, int]:
    """Guest pc at a host address, and the registers that are in the thread's state."""
    block = block_of(host)
    if block is None:
        return 0, 0
    spilled = instruction = 0
    _, hot, points_at, pcs_at, cold, length, cold_length, n_points = block
    begin = cold - length if cold <= host < cold + cold_length else hot
    points = _read(META + META_POINTS + points_at, n_points * POINT_MOST)
    for offset, number, registers in unpacked(points, n_points):
        if offset > host - begin:
            break
        instruction, spilled = number, registers
    return _guest_pc(_read(META + META_PCS + pcs_at, PCS_HEAD + PCS_MOST * instruction), instruction), spilled


def unpacked(data: bytes, count: int) -> Iterator[tuple[int, int, int]]:
    """Of each point the host offset, the guest instruction, and the registers that are spilled."""
    at = offset = instruction = spilled = 0
    for _ in range(count):
        what, distance = data[at], data[at + 1]
        at += 2
        offset += distance
        if distance == POINT_FAR:
            (offset,) = struct.unpack_from("<H", data, at)
            at += 2
        if what & POINT_NEXT:
            instruction += 1
        if what & POINT_INSN:
            instruction = data[at]
            at += 1
        if what & POINT_SPILLED:
            (spilled,) = struct.unpack_from("<H", data, at)
            at += 2
        at += what & POINT_FLAGS == POINT_FLAGS
        yield offset, instruction, spilled


def _guest_pc(data: bytes, instruction: int) -> int:
    pc, at = int.from_bytes(data[:PCS_HEAD], "little"), PCS_HEAD
    for _ in range(instruction):
        distance = data[at]
        at += 1
        if distance == PCS_FAR:
            (distance,) = struct.unpack_from("<i", data, at)
            at += PCS_MOST - 1
        pc += distance
    return pc


def _pc_of(key: int) -> int:
    """What a program jumped to may be no address of user space; then it is no key."""
    return key if key >> 47 & 0x1FFF else key & KEY_PC


def _value(number: int) -> gdb.Value:
    return gdb.Value(number).cast(gdb.lookup_type("unsigned long"))


class FrameId:
    """Names a frame for gdb."""

    def __init__(self, sp: gdb.Value, pc: gdb.Value) -> None:
        self.sp, self.pc = sp, pc


class Unwinder(gdb.unwinder.Unwinder):  # type: ignore[misc]
    """From translated code and the runtime to the guest's registers."""

    def __init__(self) -> None:
        super().__init__("interpose")

    def __call__(self, frame: gdb.PendingFrame) -> gdb.UnwindInfo | None:
        """The guest's frame as the caller of one of ours."""
        pc = int(frame.read_register("rip")) & (1 << 64) - 1
        translated = CACHE[0] <= pc < CACHE[1]
        if not translated and not RUNTIME[0] <= pc < RUNTIME[1]:
            return None
        try:
            state = int(frame.read_register("fs_base")) & (1 << 64) - 1
            if translated:
                guest_pc, saved = in_translation(pc)
            else:
                guest_pc, saved = _pc_of(_word(state + STATE_PC)), 0xFFFF
            if not guest_pc:
                return None
            values = {}
            for number, name in enumerate(REGISTERS):
                if saved >> number & 1:
                    values[name] = _word(state + STATE_GPR + 8 * number)
                else:
                    values[name] = int(frame.read_register(name)) & (1 << 64) - 1
        except gdb.error:
            return None
        values["rip"] = guest_pc
        # Inner to the guest's frame, wherever our own stack lies.
        info = frame.create_unwind_info(FrameId(_value(values["rsp"] - 256), _value(pc)))
        for name, value in values.items():
            info.add_saved_register(name, _value(value))
        return info


def _auxv_entry() -> int:
    for line in gdb.execute("info auxv", to_string=True).splitlines():
        words = line.split()
        if words and words[0] == "9":  # AT_ENTRY
            return int(words[-1], 16)
    return 0


def add_program() -> None:
    """Symbols of the program where /proc/PID/exe could not name it (gdb then took the runtime for it)."""
    name = gdb.current_progspace().filename or ""
    if "/interpose-rt-" not in name or _word(CHANNEL, "<I") != CHANNEL_MAGIC:
        return
    program = _read(CHANNEL + CHANNEL_PROG, 4096).split(b"\0")[0].decode("utf-8", "surrogateescape")
    with open(program, "rb") as file:
        entry = struct.unpack_from("<Q", file.read(64), 24)[0]
    _add_symbols(program, _auxv_entry() - entry)


def add_replacements() -> None:
    """Symbols of the functions that replace the program's: they run as its code, from no library of its."""
    with open(f"/proc/{gdb.selected_inferior().pid}/maps", "rb") as file:
        for line in file:
            words = line.rstrip(b"\n").split(None, 5)
            name = words[-1].rpartition(b"/")[2]
            if name in STUBS and int(words[2], 16) == 0:
                path = words[-1].decode("utf-8", "surrogateescape")
                _add_symbols(path, int(words[0].partition(b"-")[0], 16))
                return


def _add_symbols(path: str, base: int) -> None:
    quoted = "".join(c if c.isalnum() or c in "/._-" else f"\\{c}" for c in path)
    gdb.execute(f"add-symbol-file {quoted} -o {base:#x}", to_string=True)


def _start(_event: object = None) -> None:
    try:
        if gdb.selected_inferior().pid:
            add_program()
            add_replacements()
    except (gdb.error, OSError) as error:
        gdb.write(f"interpose: symbols are missing: {error}\n")


def register() -> None:
    """Install the unwinder."""
    gdb.unwinder.register_unwinder(None, Unwinder(), replace=True)
    gdb.invalidate_cached_frames()
    _start()


register()
