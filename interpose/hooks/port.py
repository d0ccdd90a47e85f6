"""What a hook needs of an engine: the registers of one hooked call, the program's memory, and the way on.

:class:`interpose.hooks.call.Call` and the types of :mod:`interpose.hooks.types` use nothing else, so that any
engine that can stop a program at a function's entry can run hooks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

INTEGER_REGISTERS = 6  # System V ABI, AMD64 supplement, 3.2.3: RDI, RSI, RDX, RCX, R8, R9
VECTOR_REGISTERS = 8  # XMM0 to XMM7


class Frame(NamedTuple):
    """One line of a stack trace; what is not known is None (``line``: 0)."""

    address: int
    function: str | None
    file: str | None
    line: int
    object: str | None

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.file else f"in {self.object}" if self.object else ""
        return f"0x{self.address:X}: {self.function or '???'}" + (f" ({place})" if place else "")


class Thread(NamedTuple):
    """A thread of the program's: its number in reports (1 is the main one), the kernel's, its name."""

    number: int
    tid: int
    name: str


class Registers(NamedTuple):
    """Where a function finds its arguments; changed in place. Words are unsigned 64-bit numbers."""

    integer: list[int]
    """RDI, RSI, RDX, RCX, R8, R9."""
    vector: list[int]
    """The low 64 bits of XMM0 to XMM7."""
    vectors: list[int]
    """One number: AL, how many vector registers a variadic call uses."""
    stack: dict[int, int]
    """Words of the arguments on the stack, by their number, that are others than the program's."""

    def copy(self) -> Registers:
        return Registers(list(self.integer), list(self.vector), list(self.vectors), dict(self.stack))


class Results(NamedTuple):
    """What a function returns in: words."""

    integer: tuple[int, int]
    """RAX, RDX."""
    vector: tuple[int, int]
    """The low 64 bits of XMM0 and XMM1."""


class Port(Protocol):
    """One hooked call as an engine shows it.

    Its methods may raise :class:`MemoryFault`, and :class:`CallOver` once the call has ended.
    """

    entry: Registers
    """The arguments at the entry; what a hook changes in them holds for all later calls of the original."""
    address: int
    """Where the hooked function begins."""

    @property
    def function(self) -> str:
        """Name of the hooked function as its symbol has it."""

    @property
    def object(self) -> str:
        """Soname of the object that it is in, ``NONE`` without one."""

    @property
    def pid(self) -> int: ...

    @property
    def thread(self) -> Thread: ...

    def stack_word(self, index: int) -> int:
        """The word of the arguments on the stack, as the program gave it."""

    def read(self, address: int, size: int) -> bytes:
        """Bytes of the program's memory."""

    def read_string(self, address: int) -> bytes:
        """Bytes up to a NUL, without it."""

    def write(self, address: int, data: bytes) -> None:
        """Change them; they count as initialised then."""

    def take(self, size: int) -> int:
        """Address of fresh memory that lasts until the hook returns."""

    def proceed(self, registers: Registers) -> Results:
        """Call the original."""

    def invoke(self, address: int, registers: Registers) -> Results:
        """Call another function of the program's, hooked or not."""

    def find(self, name: str) -> int:
        """Address of a function by its symbol, 0 if no object has it."""

    def frames(self) -> Sequence[Frame]:
        """The stack: the hooked function's caller first."""
