"""A hooked call, as the function in Python sees it."""

from __future__ import annotations

from operator import index as whole
from typing import TYPE_CHECKING, Any

from interpose.hooks.errors import MemoryFault, printable
from interpose.hooks.port import INTEGER_REGISTERS, VECTOR_REGISTERS, Registers
from interpose.hooks.types import MASK, CType, Pointer, address_of, ctype_of, guess

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interpose.hooks.port import Frame, Port, Results, Thread
    from interpose.hooks.registry import Hook, Place, Places


class Memory:
    """The program's memory. What cannot be read or written raises :class:`MemoryFault`."""

    __slots__ = ("_port",)

    def __init__(self, port: Port) -> None:
        self._port = port

    def read(self, address: int, size: int) -> bytes:
        """``size`` bytes."""
        address, size = whole(address), whole(size)  # numpy's numbers, too
        if size < 0:
            raise ValueError(f"a size below 0: {size}")
        return self._port.read(address, size) if size else b""

    def write(self, address: int, data: bytes | bytearray | memoryview) -> None:
        """Change bytes; a tool that cares takes them for initialised then."""
        data = bytes(memoryview(data))  # bytes(3) would be three zeroes
        if data:
            self._port.write(whole(address), data)

    def read_string(self, address: int) -> bytes:
        """The bytes up to a NUL, without it."""
        return self._port.read_string(whole(address))

    def load(self, address: int, kind: Any) -> Any:
        """A value of a type as annotations name it (``int``, ``interpose.Size``, …)."""
        found = _type(kind)
        size = _size(found)
        return found.load(int.from_bytes(self.read(address, size), "little"), self._port)

    def store(self, address: int, value: Any, kind: Any) -> None:
        """The reverse; what a string or structure needs lasts until the hook returns."""
        found = _type(kind)
        word = found.store(value, self._port)
        self.write(address, word.to_bytes(8, "little")[: _size(found)])


def _type(kind: Any) -> CType:
    found = ctype_of(kind)
    if found is None:
        raise TypeError(f"no type of C's: {kind!r:.80}")
    return found


def _size(kind: CType) -> int:
    bits = getattr(kind, "bits", 64)
    if kind.name == "float":
        bits = 32
    return 1 if kind.name == "bool" else bits // 8


class Arguments:
    """The arguments that are integers or pointers, as words: six in registers, the others on the stack.

    An assignment holds for all later calls of the original.
    """

    __slots__ = ("_port",)

    def __init__(self, port: Port) -> None:
        self._port = port

    def __getitem__(self, index: int) -> int:
        index = whole(index)
        if index < 0:
            raise IndexError("arguments are counted from 0; only the program knows how many there are")
        if index < INTEGER_REGISTERS:
            return self._port.entry.integer[index]
        return _stack_word(self._port, index - INTEGER_REGISTERS)

    def __setitem__(self, index: int, value: Any) -> None:
        index = whole(index)
        if index < 0:
            raise IndexError("arguments are counted from 0; only the program knows how many there are")
        word = guess(value).store(value, self._port)
        if index < INTEGER_REGISTERS:
            self._port.entry.integer[index] = word
        else:
            self._port.stack_word(index - INTEGER_REGISTERS)  # an IndexError where there is none
            self._port.entry.stack[index - INTEGER_REGISTERS] = word


class Floats:
    """The arguments in vector registers, as C's ``double``."""

    __slots__ = ("_port",)

    def __init__(self, port: Port) -> None:
        self._port = port

    def __getitem__(self, index: int) -> float:
        self._check(index)
        value: float = _type(float).load(self._port.entry.vector[index], self._port)
        return value

    def __setitem__(self, index: int, value: float) -> None:
        self._check(index)
        self._port.entry.vector[index] = _type(float).store(value, self._port)

    @staticmethod
    def _check(index: int) -> None:
        if not 0 <= index < VECTOR_REGISTERS:
            raise IndexError(f"there are {VECTOR_REGISTERS} vector registers of arguments, from 0")


class Variadic:
    """The arguments behind those that the hook declares, taken one by one, as ``va_arg`` takes them."""

    __slots__ = ("_places", "_port")

    def __init__(self, port: Port, places: Places) -> None:
        self._port = port
        self._places = places

    def next(self, kind: Any = int) -> Any:
        """The next one, of a type as annotations name it."""
        found = _type(kind)
        return found.load(word_at(self._port, self._places.next(found)), self._port)


def word_at(port: Port, place: Place) -> int:
    """The word of an argument at the entry."""
    if place.kind == "i":
        return port.entry.integer[place.number]
    if place.kind == "v":
        return port.entry.vector[place.number]
    return _stack_word(port, place.number)


def _stack_word(port: Port, index: int) -> int:
    word = port.entry.stack.get(index)
    return port.stack_word(index) if word is None else word


def _no_arguments() -> Registers:
    return Registers([0] * INTEGER_REGISTERS, [0] * VECTOR_REGISTERS, [0], {})


class Call:
    """One call of a hooked function, which waits while the hook runs.

    Called, it calls the original: with the arguments given, and for the rest with those of the program.
    """

    __slots__ = ("_hook", "_port", "_variadic", "args", "floats", "memory")

    def __init__(self, hook: Hook, port: Port) -> None:
        self._hook = hook
        self._port = port
        self._variadic: Variadic | None = None
        self.args = Arguments(port)
        self.floats = Floats(port)
        self.memory = Memory(port)

    def __call__(self, *values: Any) -> Any:
        """Call the original, and return its result."""
        registers = self._port.entry.copy()
        signature = self._hook.signature
        places = signature.after.copy()
        for at, value in enumerate(values):
            if at < len(signature.parameters):
                _, kind, place = signature.parameters[at]
            else:
                kind = guess(value)
                place = places.next(kind)
            self._set(registers, place, kind.store(value, self._port))
        results = self._port.proceed(registers)
        return None if signature.result is None else self._load(signature.result, results)

    @staticmethod
    def _set(registers: Registers, place: Place, word: int) -> None:
        if place.kind == "i":
            registers.integer[place.number] = word
        elif place.kind == "v":
            registers.vector[place.number] = word
            registers.vectors[0] = max(registers.vectors[0] & 0xFF, place.number + 1)
        else:
            registers.stack[place.number] = word

    def _load(self, kind: CType, results: Results) -> Any:
        return kind.load(results.vector[0] if kind.is_float else results.integer[0], self._port)

    def invoke(self, function: str | int, *values: Any, result: Any = int) -> Any:
        """Call any function of the program's, by its symbol or address, in the thread that waits.

        A hook of that function runs as for any call. ``result``: its type as an annotation names it, or None.
        """
        if not isinstance(function, str):
            address = whole(function)
        else:
            address = self._port.find(function) if printable(function) == function else 0
            if not address:
                raise LookupError(f"no object of the program has a function {function}")
        from interpose.hooks.registry import Places

        places = Places()
        registers = _no_arguments()
        for value in values:
            kind = guess(value)
            place = places.next(kind)
            if place.kind == "s":
                raise TypeError("invoke takes six integers and eight floating-point numbers at most")
            self._set(registers, place, kind.store(value, self._port))
        kind_of_result = None if result is None else _type(result)
        results = self._port.invoke(address_of(address), registers)
        return None if kind_of_result is None else self._load(kind_of_result, results)

    def alloc(self, size: int) -> Pointer:
        """Fresh memory for the program, of zeroes, that lasts until the hook returns."""
        size = whole(size)
        if not 0 < size <= 1 << 20:
            raise ValueError(f"from 1 to 1048576 bytes can be taken, not {size}")
        address = self._port.take(size)
        self._port.write(address, bytes(size))
        return Pointer(address)

    @property
    def variadic(self) -> Variadic:
        """The arguments behind the declared ones: the same object each time, so `next` goes on."""
        if self._variadic is None:
            self._variadic = Variadic(self._port, self._hook.signature.after.copy())
        return self._variadic

    def _errno_address(self) -> int:
        address = self._port.find("__errno_location")
        if not address:
            raise LookupError("the program has no C library that tells where errno is")
        return self._port.invoke(address, _no_arguments()).integer[0]

    @property
    def errno(self) -> int:
        """The thread's ``errno``."""
        return int.from_bytes(self._port.read(self._errno_address(), 4), "little", signed=True)

    @errno.setter
    def errno(self, value: int) -> None:
        self._port.write(self._errno_address(), int(value).to_bytes(4, "little", signed=True))

    @property
    def stack(self) -> Sequence[Frame]:
        """The stack: the caller of the hooked function first."""
        return self._port.frames()

    @property
    def thread(self) -> Thread:
        """The thread that calls."""
        return self._port.thread

    @property
    def pid(self) -> int:
        """The process that calls."""
        return self._port.pid

    @property
    def function(self) -> str:
        """Name of the hooked function, for hooks of many."""
        return self._port.function

    @property
    def object(self) -> str:
        """Soname of the object that it is in."""
        return self._port.object

    @property
    def address(self) -> int:
        """Where it begins."""
        return self._port.address

    def __repr__(self) -> str:
        return f"<call of {self._port.function} by thread {self._port.thread.number}>"


def run(hook: Hook, port: Port, original: Results | None = None) -> tuple[int | None, int | None]:
    """Run a hook; words for the results in RAX and XMM0, None where the original's stay.

    Whatever the hook raises is raised. ``port.results`` is not needed: whoever calls knows what the original
    returned last.
    """
    signature = hook.signature
    values = [kind.load(word_at(port, place), port) for _, kind, place in signature.parameters]
    returned = hook.function(Call(hook, port), *values)
    if signature.result is None:
        if returned is not None:
            raise TypeError(f"{hook.name} is declared to return nothing, and returned {returned!r:.60}")
        return None, None
    if returned is None:
        return None, None
    word = signature.result.store(returned, port, is_result=True)
    return (None, word) if signature.result.is_float else (word & MASK, None)


__all__ = ["Arguments", "Call", "Floats", "Memory", "MemoryFault", "Variadic", "run"]
