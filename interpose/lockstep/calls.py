"""System calls in lockstep: the translated run makes them, the native one gets to see what they did.

What a call writes is read from the runtime's own table, ``interpose/runtime/syscalls/syscalls.def``.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from pathlib import Path

from interpose.jit._native import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from interpose.lockstep.pair import Pair

TABLE = Path(__file__).resolve().parents[1] / "runtime" / "syscalls" / "syscalls.def"
_PAGE = 4096
_UNKNOWN_BYTES = 4096  # looked at where the table says X: most often a structure
_MOST_BYTES = 1 << 28

MMAP, MPROTECT, MUNMAP, BRK, MREMAP, MADVISE, SHMAT, SHMDT = 9, 10, 11, 12, 25, 28, 30, 67
OPEN, CLOSE = 2, 3
RT_SIGRETURN, CLONE, VFORK, EXIT, ARCH_PRCTL, EXIT_GROUP, CLONE3 = 15, 56, 58, 60, 158, 231, 435
PKEY_MPROTECT = 329
SET_GS, SET_FS = 0x1001, 0x1002
CLONE_VM, CLONE_VFORK, CLONE_PARENT_SETTID = 0x100, 0x4000, 0x100000
MAP_PRIVATE, MAP_TYPE, MAP_FIXED, MAP_ANONYMOUS = 2, 15, 0x10, 0x20
MREMAP_MAYMOVE, MREMAP_FIXED = 1, 2


# What a request for a block asks for: the runtime fills it, or copies the old one.
_SIZE_OF_BLOCK = {
    lib.IP_HR_MALLOC: lambda args: args[0],
    lib.IP_HR_CALLOC: lambda args: args[0] * args[1],
    lib.IP_HR_REALLOC: lambda args: args[1],
    lib.IP_HR_REALLOCARRAY: lambda args: args[1] * args[2],
    lib.IP_HR_MEMALIGN: lambda args: args[1],
}


class CannotFollowError(Exception):
    """The program does what lockstep mode has no answer to."""


@dataclass(frozen=True)
class Size:
    """A size of the table's notation: ``16``, ``$2*12``, ``*$4``, ``^``."""

    base: str
    number: int
    times: int = 1

    @classmethod
    def parse(cls, text: str) -> Size:
        match = re.fullmatch(r"(\*?\$|\^)?(\d*)(?:\*(\d+))?", text)
        if match is None:
            raise ValueError(f"not a size: {text!r}")
        return cls(match[1] or "", int(match[2] or 0), int(match[3] or 1))

    def value(self, args: Sequence[int], result: int, word: WordReader) -> int:
        """Bytes, or number of vector entries."""
        if self.base == "$":
            number = args[self.number]
        elif self.base == "*$":
            number = word(args[self.number])
        elif self.base == "^":
            number = max(result, 0)
        else:
            number = self.number
        return number * self.times


if TYPE_CHECKING:
    from collections.abc import Callable

    WordReader = Callable[[int], int]


@dataclass(frozen=True)
class Argument:
    """One argument; ``kind`` is the letter of the table, ``V>`` and its like with their direction."""

    name: str
    kind: str
    size: Size
    after: Size

    @classmethod
    def parse(cls, text: str) -> Argument:
        name, _, rest = text.partition(":")
        rest = rest.lstrip("?~").partition("@")[0]
        match = re.fullmatch(r"([VMA][<>]|[dfFqs<>=X])([^!]*)(?:!(.*))?", rest)
        if match is None:
            raise ValueError(f"not an argument: {text!r}")
        size = Size.parse(match[2])
        return cls(name, match[1], size, size if match[3] is None else Size.parse(match[3]))


@dataclass(frozen=True)
class Call:
    """One system call."""

    name: str
    arguments: tuple[Argument, ...]


_ROW = re.compile(r'^SYS(?:_AS)?\((\d+), (\w+),(?: "[^"]*",)? \w+,\s*((?:"[^"]*"\s*)+)\)', re.MULTILINE)


def read_table(path: Path = TABLE) -> dict[int, Call]:
    """The system calls by number."""
    found = {}
    for number, name, text in _ROW.findall(path.read_text()):
        words = "".join(re.findall(r'"([^"]*)"', text)).replace("->f", "").split()
        found[int(number)] = Call(name, tuple(Argument.parse(word) for word in words))
    return found


class Mirror:
    """Brings the native process to what the translated one's system calls made of the world."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.table = read_table()
        self.brk = 0

    def call(self, number: int, args: Sequence[int], result: int) -> None:
        """After a call of T's; N stands before it. N's registers are the caller's business."""
        self._refuse(number, args)
        if number == ARCH_PRCTL and result == 0 and args[0] in (SET_FS, SET_GS):
            self.pair.set_base(fs=args[0] == SET_FS, value=args[1])
            return
        if result >= 0 or result < -4095:
            self._space(number, args, result)
        self._outputs(number, args, result)

    def _refuse(self, number: int, args: Sequence[int]) -> None:
        if number not in (CLONE, CLONE3):
            return
        flags = self._clone_flags(number, args)
        if flags & CLONE_VM and not flags & CLONE_VFORK:
            raise CannotFollowError("the program starts a thread")

    def _clone_flags(self, number: int, args: Sequence[int]) -> int:
        return self._word(args[0]) if number == CLONE3 else args[0]

    # -- the address space -----------------------------------------------------------------------

    def _space(self, number: int, args: Sequence[int], result: int) -> None:
        n = self.pair.native_call
        if number == MMAP:
            self._map(args, result)
        elif number in (MUNMAP, MPROTECT, PKEY_MPROTECT, MADVISE):
            n(number, *args)
        elif number == MREMAP:
            moved = result != args[0]
            flags = args[3] | (MREMAP_MAYMOVE | MREMAP_FIXED if moved else 0)
            self._must(n(MREMAP, args[0], args[1], args[2], flags, result), result, "mremap")
        elif number == BRK:
            self._move_brk(args[0], result)
        elif number == SHMAT:
            self.snapshot(result, self.pair.mapping_end(result) - result, 3)
        elif number == SHMDT:
            n(MUNMAP, args[0], self.pair.native_mapping_end(args[0]) - args[0])
        elif number == VFORK or (number in (CLONE, CLONE3) and self._clone_flags(number, args) & CLONE_VM):
            self.pair.copy_all()  # the child has written to the same memory
        elif number == CLONE and args[0] & CLONE_PARENT_SETTID:
            self.pair.copy(args[2], 4)

    def _must(self, got: int, wanted: int, what: str) -> None:
        if got != wanted:
            raise CannotFollowError(f"{what} gave {got:#x} natively instead of {wanted:#x}")

    def _map(self, args: Sequence[int], at: int) -> None:
        _, length, prot, flags, fd, offset = args
        length = -(-length // _PAGE) * _PAGE
        prot &= 7
        if flags & MAP_ANONYMOUS and flags & MAP_TYPE == MAP_PRIVATE:
            self._anonymous(at, length, prot)
            return
        if flags & MAP_TYPE == MAP_PRIVATE:
            own = self.pair.native_open(f"/proc/{self.pair.t_pid}/fd/{fd & 0xFFFFFFFF}")
            if own >= 0:
                got = self.pair.native_call(MMAP, at, length, prot, MAP_PRIVATE | MAP_FIXED, own, offset)
                self.pair.native_call(CLOSE, own)
                self._must(got, at, "mmap")
                return
        # Shared: what N writes there must not reach the file a second time.
        self.snapshot(at, length, prot)

    def _anonymous(self, at: int, length: int, prot: int) -> None:
        flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED
        self._must(self.pair.native_call(MMAP, at, length, prot, flags, -1, 0), at, "mmap")

    def snapshot(self, at: int, length: int, prot: int) -> None:
        """Private memory of N's with what T has there now."""
        self._anonymous(at, length, prot | 3)
        self.pair.copy(at, length)
        if prot != prot | 3:
            self.pair.native_call(MPROTECT, at, length, prot)

    def _move_brk(self, wanted: int, result: int) -> None:
        got = self.pair.native_call(BRK, wanted)
        if got != result:
            # A kernel that did not let the runtime tell it where the heap is (native.c).
            old = -(-self.brk // _PAGE) * _PAGE
            new = -(-result // _PAGE) * _PAGE
            if self.brk and new > old:
                self._anonymous(old, new - old, 3)
            elif self.brk and new < old:
                self.pair.native_call(MUNMAP, new, old - new)
        self.brk = result

    # -- what calls write ------------------------------------------------------------------------

    def _word(self, at: int) -> int:
        return int.from_bytes(self.pair.translated.read(at, 4), "little")

    def _outputs(self, number: int, args: Sequence[int], result: int) -> None:
        call = self.table.get(number)
        if call is None:
            for arg in args:
                self.pair.copy(arg, _UNKNOWN_BYTES)
            return
        for index, argument in enumerate(call.arguments[:6]):
            if args[index]:
                self._output(argument, index, args, result)

    def _output(self, argument: Argument, index: int, args: Sequence[int], result: int) -> None:
        at = args[index]
        size = (argument.after if result >= 0 else argument.size).value(args, result, self._word)
        if argument.kind in (">", "="):
            self.pair.copy(at, min(size, _MOST_BYTES))
        elif argument.kind == "V>":
            self._vectors(at, size)
        elif argument.kind == "M>":
            self._message(at)
        elif argument.kind == "A>" and index < 5:
            self.pair.copy(at, self._word(args[index + 1]))
        elif argument.kind == "X":
            self.pair.copy(at, _UNKNOWN_BYTES)

    def _vectors(self, at: int, count: int) -> None:
        words = ffi.from_buffer("uint64_t[]", self.pair.translated.read(at, 16 * min(count, 1024)))
        for index in range(0, len(words) - 1, 2):
            self.pair.copy(words[index], words[index + 1])

    def _message(self, at: int) -> None:
        data = self.pair.translated.read(at, 56)  # struct msghdr
        if len(data) < 56:
            return
        words = ffi.from_buffer("uint64_t[]", data)
        self.pair.copy(at, 56)
        self.pair.copy(words[0], words[1] & 0xFFFFFFFF)
        self._vectors(words[2], words[3])
        self.pair.copy(words[4], words[5])

    # -- client requests -------------------------------------------------------------------------

    def request(self, block: int, result: int) -> None:
        """After a client request of T's, whose six words are at ``block``.

        The runtime may have mapped memory for the program, and written to it: a replaced heap does both.
        """
        for lo, hi in self.pair.new_segments():
            self.snapshot(lo, hi - lo, 3)
        words = self.pair.translated.read(block, 48)
        if len(words) < 48:
            return
        code, *args = struct.unpack("<6Q", words)
        if not lib.IP_HR_BASE <= code < lib.IP_HR_BASE + 0x10000:
            for arg in args:
                self.pair.copy(arg, _UNKNOWN_BYTES)
        elif code in (lib.IP_HR_COPY, lib.IP_HR_FILL):
            self.pair.copy(args[0], min(args[2], _MOST_BYTES))
        elif code == lib.IP_HR_STATS:
            self.pair.copy(args[0], 32)
        elif code in _SIZE_OF_BLOCK:
            self.pair.copy(result, min(_SIZE_OF_BLOCK[code](args), _MOST_BYTES))
