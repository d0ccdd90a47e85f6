"""The types of C that a hook's annotations name, and how they look in registers.

``int`` is C's ``int``, ``float`` C's ``double``; :data:`Float` is C's ``float``. Types of :mod:`ctypes` may
be used instead. A parameter without annotation is a word: an unsigned number of 64 bits.
"""

from __future__ import annotations

import ctypes
import struct
from operator import index as whole
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

if TYPE_CHECKING:
    from interpose.hooks.port import Port

MASK = 0xFFFF_FFFF_FFFF_FFFF


class CType:
    """A type that fits into one register.

    :ivar name: as C spells it.
    :ivar is_float: it travels in vector registers.
    """

    name = ""
    is_float = False

    def load(self, word: int, port: Port) -> Any:
        """The Python value of a register's word."""
        raise NotImplementedError

    def store(self, value: Any, port: Port, *, is_result: bool = False) -> int:
        """The word for a Python value; what it points to may be placed in memory that ends with the hook.

        Raises TypeError or OverflowError for a value that the type does not take.
        """
        raise NotImplementedError

    def _refuse(self, value: Any) -> TypeError:
        return TypeError(f"{type(value).__name__} is no value for C's {self.name}: {value!r:.60}")


class CInt(CType):
    """An integer.

    :ivar signed: how the bits are read.
    :ivar least: the lowest value that it takes; the highest is that of its bits.
    """

    def __init__(self, name: str, bits: int, signed: bool, least: int | None = None) -> None:
        self.name = name
        self.bits = bits
        self.signed = signed
        self.least = (-(1 << (bits - 1)) if signed else 0) if least is None else least
        self._most = (1 << (bits - signed)) - 1

    def load(self, word: int, port: Port) -> int:
        value = word & ((1 << self.bits) - 1)
        return value - (1 << self.bits) if self.signed and value >> (self.bits - 1) else value

    def store(self, value: Any, port: Port, *, is_result: bool = False) -> int:
        if isinstance(value, ctypes._SimpleCData):
            value = value.value
        try:
            number = value.__index__()
        except AttributeError:
            raise self._refuse(value) from None
        if not self.least <= number <= self._most:
            raise OverflowError(f"{number} does not fit into C's {self.name}")
        return int(number) & MASK


class CBool(CType):
    """C's ``bool``."""

    name = "bool"

    def load(self, word: int, port: Port) -> bool:
        return word & 0xFF != 0

    def store(self, value: Any, port: Port, *, is_result: bool = False) -> int:
        if isinstance(value, ctypes._SimpleCData):
            value = value.value
        if not isinstance(value, int):
            raise self._refuse(value)
        return int(bool(value))


class CFloat(CType):
    """A floating-point number of 32 or 64 bits, in the low end of a vector register."""

    is_float = True

    def __init__(self, name: str, bits: int) -> None:
        self.name = name
        self._format = "<d" if bits == 64 else "<f4x"

    def load(self, word: int, port: Port) -> float:
        return float(struct.unpack(self._format, word.to_bytes(8, "little"))[0])

    def store(self, value: Any, port: Port, *, is_result: bool = False) -> int:
        if isinstance(value, ctypes._SimpleCData):
            value = value.value
        try:
            data = struct.pack(self._format, float(value) if isinstance(value, int) else value)
        except struct.error:
            raise self._refuse(value) from None
        except OverflowError:
            raise OverflowError(f"{value!r:.60} does not fit into C's {self.name}") from None
        return int.from_bytes(data, "little")


class Pointer(int):
    """An address in the program."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Pointer(0x{int(self):x})"


class CString(str):
    """A string of the program's, as UTF-8 (what is none stays, by ``surrogateescape``).

    Handed on unchanged it is the same pointer. NULL is None.

    :ivar address: where it lies; 0 for one made here.
    """

    __slots__ = ("address",)
    address: int

    def __new__(cls, text: str | bytes = "", address: int = 0) -> CString:
        made = super().__new__(
            cls, text.decode("utf-8", "surrogateescape") if isinstance(text, bytes) else text
        )
        made.address = address
        return made

    @property
    def raw(self) -> bytes:
        """Its bytes, without the NUL."""
        return self.encode("utf-8", "surrogateescape")


def address_of(value: int) -> int:
    """A pointer's word; below 0 they are such as C writes ``(void *)-1``."""
    if not -(1 << 63) <= value <= MASK:
        raise OverflowError(f"{value} is no address")
    return int(value) & MASK


def _place(data: bytes, port: Port, is_result: bool) -> int:
    if is_result:
        raise TypeError("a new string or structure cannot be a result: its memory ends with the hook")
    address = port.take(len(data))
    port.write(address, data)
    return address


class CStringType(CType):
    """``char *``, to a string with NUL."""

    name = "char *"

    def __init__(self, as_bytes: bool = False) -> None:
        self._as_bytes = as_bytes

    def load(self, word: int, port: Port) -> Any:
        if word == 0:
            return None
        data = port.read_string(word)
        return data if self._as_bytes else CString(data, word)

    def store(self, value: Any, port: Port, *, is_result: bool = False) -> int:
        if isinstance(value, (ctypes.c_void_p, ctypes.c_char_p)):
            value = value.value
        if value is None:
            return 0
        if isinstance(value, CString) and value.address:
            return value.address
        if isinstance(value, str):
            value = value.encode("utf-8", "surrogateescape")
        if isinstance(value, (bytes, bytearray)):
            if 0 in value:
                raise ValueError(f"a C string cannot hold a NUL: {bytes(value)!r:.60}")
            return _place(bytes(value) + b"\0", port, is_result)
        if isinstance(value, int) and not isinstance(value, bool):
            return address_of(value)
        raise self._refuse(value)


class PointerType(CType):
    """``void *``."""

    name = "void *"

    def load(self, word: int, port: Port) -> Any:
        return Pointer(word)

    def store(self, value: Any, port: Port, *, is_result: bool = False) -> int:
        if isinstance(value, (ctypes.c_void_p, ctypes.c_char_p)):
            value = value.value
        if value is None:
            return 0
        if isinstance(value, CString):
            value = value.address or value.raw + b"\0"
        if isinstance(value, StructPointer):
            value = value.address
        if isinstance(value, (ctypes.Structure, ctypes.Union, ctypes.Array)):
            value = bytes(value)
        if isinstance(value, (bytes, bytearray)):
            return _place(bytes(value), port, is_result)
        if isinstance(value, int) and not isinstance(value, bool):
            return address_of(value)
        raise self._refuse(value)


class StructPointer:
    """A pointer to a structure of the program's: its fields are read and written there, one by one.

    ``pointer.read()`` is a copy of the whole, ``pointer.write(copy)`` puts one back, ``address`` says where.
    A field that is a structure or an array is a pointer to it; an array's elements are reached by their
    numbers.
    """

    __slots__ = ("_port", "_type", "address")
    address: int

    def __init__(self, address: int, kind: Any, port: Port) -> None:
        object.__setattr__(self, "address", address)
        object.__setattr__(self, "_type", kind)
        object.__setattr__(self, "_port", port)

    def read(self) -> Any:
        """A copy, an instance of the :mod:`ctypes` type."""
        return self._type.from_buffer_copy(self._port.read(self.address, ctypes.sizeof(self._type)))

    def write(self, value: Any) -> None:
        """Change the whole structure."""
        value = self._copied(value)
        if not isinstance(value, self._type):
            raise TypeError(f"{type(value).__name__} is no {self._type.__name__}")
        self._port.write(self.address, bytes(value))

    @staticmethod
    def _copied(value: Any) -> Any:
        """What it points to, if it is such a pointer."""
        return value.read() if isinstance(value, StructPointer) else value

    def _piece(self, offset: int, size: int) -> Any:
        """An instance with what the program has there, and zeroes elsewhere, which need not be mapped."""
        data = bytearray(ctypes.sizeof(self._type))
        data[offset : offset + size] = self._port.read(self.address + offset, size)
        return self._type.from_buffer(data)

    def _put_back(self, piece: Any, offset: int, size: int) -> None:
        """Change what the program has there to what the instance has."""
        self._port.write(self.address + offset, bytes(piece)[offset : offset + size])

    def _span(self, field: Any) -> tuple[int, int]:
        """Where a field's bytes begin, and how many there are; of bit-fields those of the whole structure."""
        return (0, ctypes.sizeof(self._type)) if field.size >> 16 else (field.offset, field.size)

    def _element(self, index: int) -> tuple[int, int, int]:
        """Number of an array's element, and its bytes."""
        count = len(self)
        number = whole(index)
        number += count if number < 0 else 0
        if not 0 <= number < count:
            raise IndexError(f"{self._type.__name__} has no element {index}")
        size = ctypes.sizeof(self._type._type_)
        return number, number * size, size

    def _shown(self, value: Any, offset: int) -> Any:
        """What was read, or a pointer to it: a copy's changes would be lost without a word."""
        if isinstance(value, (ctypes.Structure, ctypes.Union, ctypes.Array)):
            return StructPointer(self.address + offset, type(value), self._port)
        return value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        field = getattr(self._type, name, None)
        if field is None or not hasattr(field, "offset"):
            return getattr(self.read(), name)
        return self._shown(getattr(self._piece(*self._span(field)), name), field.offset)

    def __setattr__(self, name: str, value: Any) -> None:
        field = getattr(self._type, name, None)
        if field is None or not hasattr(field, "offset"):
            raise AttributeError(f"{self._type.__name__} has no field {name}")
        offset, size = self._span(field)
        piece = self._piece(offset, size)
        setattr(piece, name, self._copied(value))
        self._put_back(piece, offset, size)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        number, offset, size = self._element(index)
        return self._shown(self._piece(offset, size)[number], offset)

    def __setitem__(self, index: int, value: Any) -> None:
        number, offset, size = self._element(index)
        piece = self._piece(offset, size)
        piece[number] = self._copied(value)
        self._put_back(piece, offset, size)

    def __len__(self) -> int:
        if not issubclass(self._type, ctypes.Array):
            raise TypeError(f"{self._type.__name__} is no array")
        return int(self._type._length_)

    def __iter__(self) -> Any:
        return (self[number] for number in range(len(self)))

    def __bytes__(self) -> bytes:
        return bytes(self.read())

    def __repr__(self) -> str:
        return f"<{self._type.__name__} at 0x{self.address:x}>"

    def __bool__(self) -> bool:
        return True


class StructType(PointerType):
    """A pointer to a structure, as a :mod:`ctypes` type; NULL is None."""

    def __init__(self, kind: Any) -> None:
        self.name = f"{kind.__name__} *"
        self._type = kind

    def load(self, word: int, port: Port) -> Any:
        return StructPointer(word, self._type, port) if word else None


WORD = CInt("word", 64, False, least=-(1 << 63))
"""What nobody has declared: of either sign."""
DOUBLE = CFloat("double", 64)
STRING = CStringType()
POINTER = PointerType()
_INT = CInt("int", 32, True)
_BOOL = CBool()

Int8 = Annotated[int, CInt("int8_t", 8, True)]
Int16 = Annotated[int, CInt("int16_t", 16, True)]
Int32 = Annotated[int, CInt("int32_t", 32, True)]
Int64 = Annotated[int, CInt("int64_t", 64, True)]
UInt8 = Annotated[int, CInt("uint8_t", 8, False)]
UInt16 = Annotated[int, CInt("uint16_t", 16, False)]
UInt32 = Annotated[int, CInt("uint32_t", 32, False)]
UInt64 = Annotated[int, CInt("uint64_t", 64, False)]
Char = Annotated[int, CInt("char", 8, True)]
UChar = Annotated[int, CInt("unsigned char", 8, False)]
Short = Annotated[int, CInt("short", 16, True)]
UShort = Annotated[int, CInt("unsigned short", 16, False)]
UInt = Annotated[int, CInt("unsigned int", 32, False)]
Long = Annotated[int, CInt("long", 64, True)]
ULong = Annotated[int, CInt("unsigned long", 64, False)]
Size = Annotated[int, CInt("size_t", 64, False)]
SSize = Annotated[int, CInt("ssize_t", 64, True)]
Float = Annotated[float, CFloat("float", 32)]
Double = Annotated[float, DOUBLE]


class PointerTo:
    """``PointerTo[T]``: a pointer to a structure that a :mod:`ctypes` type describes."""

    def __class_getitem__(cls, kind: Any) -> Any:
        if not (isinstance(kind, type) and issubclass(kind, (ctypes.Structure, ctypes.Union, ctypes.Array))):
            raise TypeError(f"PointerTo takes a structure, a union or an array of ctypes, not {kind!r}")
        return Annotated[StructPointer, StructType(kind)]


_PLAIN: dict[Any, CType] = {
    int: _INT,
    bool: _BOOL,
    float: DOUBLE,
    str: STRING,
    bytes: CStringType(as_bytes=True),
    CString: STRING,
    Pointer: POINTER,
    ctypes.c_void_p: POINTER,
    ctypes.c_char_p: STRING,
    ctypes.c_bool: _BOOL,
    ctypes.c_float: CFloat("float", 32),
    ctypes.c_double: DOUBLE,
}
_SIGNED, _UNSIGNED = "bhilq", "BHILQ"


def ctype_of(annotation: Any) -> CType | None:
    """The type that an annotation names; None if it names none."""
    if get_origin(annotation) is Annotated:
        return next((extra for extra in get_args(annotation)[1:] if isinstance(extra, CType)), None)
    try:
        known = _PLAIN.get(annotation)
    except TypeError:  # not hashable
        return None
    if known is not None:
        return known
    if isinstance(annotation, CType):
        return annotation
    if isinstance(annotation, type):
        code = getattr(annotation, "_type_", None)
        if issubclass(annotation, ctypes._SimpleCData) and isinstance(code, str):
            if code in _SIGNED or code in _UNSIGNED or code == "c":
                return CInt(
                    annotation.__name__, 8 * ctypes.sizeof(annotation), code in _SIGNED or code == "c"
                )
        elif issubclass(annotation, ctypes._Pointer):
            target = getattr(annotation, "_type_", None)
            if isinstance(target, type) and issubclass(
                target, (ctypes.Structure, ctypes.Union, ctypes.Array)
            ):
                return StructType(target)
            return POINTER
    return None


def guess(value: Any) -> CType:
    """The type for a value that no parameter declares: C's default promotions (C17, 6.5.2.2)."""
    if isinstance(value, ctypes._SimpleCData):  # which says what it is: a `float` has no other way
        return ctype_of(type(value)) or POINTER
    if isinstance(value, float):
        return DOUBLE
    if isinstance(value, str):
        return STRING
    if hasattr(value, "__index__"):
        return WORD
    return POINTER
