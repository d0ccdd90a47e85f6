"""Where the threads of a process are: whether one runs what is about to change or to go."""

from __future__ import annotations

import contextlib
import os

from interpose.native import tracer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Range = tuple[int, int]

_MOST_STACK = 1 << 18  # bytes that are looked at for return addresses, from the stack pointer up
_MOST_STEPS = 64
_SYSCALL = b"\x0f\x05"


def threads_of(pid: int) -> set[int]:
    """The numbers of a process's threads. Raises OSError."""
    return set(map(int, os.listdir(f"/proc/{pid}/task")))


def _asleep_at(pid: int, tid: int) -> tuple[int, int] | None:
    """Stack pointer and program counter of a thread that sleeps in a system call; None if it runs."""
    with open(f"/proc/{pid}/task/{tid}/syscall") as file:
        words = file.read().split()
    if words[0] == "running" or len(words) < 3:
        return None
    return int(words[-2], 16), int(words[-1], 16)


def _within(address: int, ranges: Iterable[Range]) -> bool:
    return any(start <= address < end for start, end in ranges)


@contextlib.contextmanager
def kept_out(pid: int, spared: set[int], ranges: list[Range]) -> Iterator[None]:
    """While this lasts, the threads that run are stopped, and none is in ``ranges``.

    Threads that sleep are left alone: to stop one would end some system calls early, with EINTR.
    """
    held: list[tracer.Tracee] = []
    try:
        for tid in threads_of(pid) - spared:
            with contextlib.suppress(OSError):  # it ended
                place = _asleep_at(pid, tid)
                if place is not None and not _within(place[1], ranges):
                    continue
                tracee = tracer.Tracee(tid)
                tracee.stop()
                held.append(tracee)
                for _ in range(_MOST_STEPS):
                    if not _within(tracee.registers[tracer.RIP], ranges):
                        break
                    tracee.step()
        yield
    finally:
        for tracee in held:
            with contextlib.suppress(OSError):
                tracee.let_go()


def anybody_in(pid: int, spared: set[int], ranges: list[Range]) -> bool:
    """Whether a thread is in ``ranges``, or will return there as far as its stack tells."""
    for tid in threads_of(pid) - spared:
        with contextlib.suppress(OSError):
            place = _asleep_at(pid, tid)
            if place is not None:
                if _reaches(pid, *place, ranges):
                    return True
                continue
            tracee = tracer.Tracee(tid)
            try:
                tracee.stop()
                if not _gets_out(tracee, ranges):
                    return True
            finally:
                with contextlib.suppress(OSError):
                    tracee.let_go()
    return False


def _gets_out(tracee: tracer.Tracee, ranges: list[Range]) -> bool:
    """Take a stopped thread out of ``ranges``, if a few instructions do.

    On a busy machine one that is only let go may be stopped again before it has run at all.
    """
    place = 0
    for _ in range(_MOST_STEPS):
        registers = tracee.registers
        stack, pc = registers[tracer.RSP], registers[tracer.RIP]
        if not _within(pc, ranges) and stack > place:
            place = _return_place(tracee.tid, stack, ranges)
            if not place:
                return True
        if tracer.read(tracee.tid, pc, len(_SYSCALL)) == _SYSCALL:
            return False  # it may sleep there
        tracee.step()
    return False


def _reaches(pid: int, stack: int, pc: int, ranges: list[Range]) -> bool:
    return _within(pc, ranges) or _return_place(pid, stack, ranges) != 0


def _return_place(pid: int, stack: int, ranges: list[Range]) -> int:
    """Where on a stack the first return address into ``ranges`` may lie; 0: nowhere."""
    data = b""
    for size in (_MOST_STACK, 1 << 16, 1 << 13, 1 << 12):
        try:
            data = tracer.read(pid, stack, size)
        except OSError:
            continue
        break
    low, high = min(start for start, _ in ranges), max(end for _, end in ranges)
    words = memoryview(data[: len(data) & ~7]).cast("Q")
    for number, word in enumerate(words):
        if low <= word < high and _within(word, ranges):
            return stack + 8 * number
    return 0


def mark(pid: int, tids: Iterable[int], offset: int) -> None:
    """Tell the thunks which threads are the agent's, by their word at ``offset`` from the thread pointer.

    They get none of the program's signals either, whose handlers count on threads of the program.
    """
    for tid in tids:
        with contextlib.suppress(OSError):
            tracee = tracer.Tracee(tid)
            tracee.stop()
            base = tracee.registers[tracer.FS_BASE]
            if base:
                tracer.write(pid, base + offset, (8).to_bytes(8, "little"))
            tracee.block_signals()
            tracee.let_go()
