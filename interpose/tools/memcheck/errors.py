"""Memcheck's errors: from the runtime's records to error records (docs/spec/output.md section 3.1).

One table says everything about a kind: what line, XML kind, suppression kind, what makes two errors equal,
and which parts follow.  Suppression kinds that files may name are derived from the same table.
"""

from __future__ import annotations

import os
import struct

from interpose.jit._native import ffi, lib
from interpose.report.errors import AuxPart, Error, ErrorKind
from interpose.report.stack import Stack, StackResolver
from interpose.report.suppressions import Component, ExactExtra, Extra

from .addrinfo import AddressSpace, describe_address, describe_block
from .options import LEAK_KINDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence
    from dataclasses import dataclass
    from enum import Enum, IntEnum
    from typing import Any, NamedTuple

    from interpose.report.errors import Describe
else:
    from interpose.records import Enum, IntEnum, NamedTuple, dataclass

COMPONENT = "Memcheck"
DEFAULT_SUPPRESSIONS = os.path.join(os.path.dirname(__file__), "default.supp")
"""Loaded unless ``--default-suppressions=no``."""

_SIZES = (1, 2, 4, 8, 16, 32)
RECORD = ffi.typeof("struct ip_error *")
_MOST_FRAMES = dict(RECORD.item.fields)["frames"].type.length
_HEAD = struct.Struct("2I7Q2I")
"""What a ``struct ip_error`` has before its frames."""
assert _HEAD.size == ffi.offsetof("struct ip_error", "frames")


class ErrKind(IntEnum):
    """``enum ip_errkind`` of abi/errors.h, and ``enum mc_errkind`` of memcheck_abi.h."""

    NONE = lib.IP_E_NONE
    READ = lib.IP_E_READ
    WRITE = lib.IP_E_WRITE
    JUMP = lib.IP_E_JUMP
    VALUE = lib.IP_E_VALUE
    COND = lib.IP_E_COND
    FREE = lib.IP_E_FREE
    MISMATCH = lib.IP_E_MISMATCH
    FISHY = lib.IP_E_FISHY
    REALLOC_ZERO = lib.IP_E_REALLOC_ZERO
    ALIGN = lib.IP_E_ALIGN
    SIZE_ALIGN = lib.IP_E_SIZE_ALIGN
    SIZE_MISMATCH = lib.IP_E_SIZE_MISMATCH
    ALIGN_MISMATCH = lib.IP_E_ALIGN_MISMATCH
    POOL = lib.IP_E_POOL
    UNSAFE_ZERO = lib.IP_E_UNSAFE_ZERO
    PARAM_REG = lib.MC_E_PARAM_REG
    PARAM_UNADDR = lib.MC_E_PARAM_UNADDR
    PARAM_UNDEF = lib.MC_E_PARAM_UNDEF
    OVERLAP = lib.MC_E_OVERLAP
    CHECK_UNADDR = lib.MC_E_CHECK_UNADDR
    CHECK_UNDEF = lib.MC_E_CHECK_UNDEF


_KIND_OF = {int(kind): kind for kind in ErrKind.__members__.values()}


class ErrorRecord(NamedTuple):
    """``struct ip_error`` of abi/errors.h.  ``frames[0]`` is the pc, the rest are return addresses.

    ``text`` and ``aux`` by kind:

    ==============  ==============================  ==========================================
    PARAM_*         parameter: ``write(buf)``
    OVERLAP         function                        source, destination, length (0: not shown)
    FISHY           ``malloc(size)``                value
    REALLOC_ZERO    function
    ALIGN           reason, may be empty            alignment
    SIZE_ALIGN      reason, may be empty            size, alignment
    SIZE_MISMATCH   ``new/delete``                  size
    ALIGN_MISMATCH  ``new/delete``                  alignment (0: default) then, at release
    ==============  ==============================  ==========================================
    """

    kind: ErrKind
    size: int = 0
    addr: int = 0
    pc: int = 0
    sp: int = 0
    aux: tuple[int, int, int, int] = (0, 0, 0, 0)
    otag: int = 0
    frames: tuple[int, ...] = ()
    text: str = ""

    @classmethod
    def decode(cls, data: Any) -> ErrorRecord:
        """Read a ``struct ip_error`` from any buffer."""
        return cls.of(ffi.from_buffer(RECORD, data))

    @classmethod
    def of(cls, record: Any) -> ErrorRecord:
        """Of a ``struct ip_error *``."""
        kind, size, addr, pc, sp, *aux, otag, count = _HEAD.unpack(ffi.buffer(record, _HEAD.size))
        frames = tuple(ffi.unpack(record.frames, min(count, _MOST_FRAMES)))
        text = ffi.string(record.text).decode("utf-8", "replace") if record.text[0] else ""
        return cls(_KIND_OF[kind], size, addr, pc, sp, tuple(aux), otag, frames, text)


class OriginKind(Enum):
    """Where an undefined value came from, as the origin line says it."""

    HEAP = " by a heap allocation"
    STACK = " by a stack allocation"
    CLIENT = " by a client request"
    UNKNOWN = ""


@dataclass(frozen=True)
class Origin:
    """The origin of an undefined value (``--track-origins=yes``)."""

    kind: OriginKind
    stack: Stack | None

    def part(self) -> AuxPart:
        return AuxPart(f"Uninitialised value was created{self.kind.value}", self.stack, role="origin")


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _sized(prefix: str) -> Callable[[ErrorRecord], str]:
    """``Addr4``: odd sizes count as the next size that has a kind."""

    known: dict[int, str] = {}

    def name(record: ErrorRecord) -> str:
        found = known.get(record.size)
        if found is None:
            size = next((size for size in _SIZES if size >= record.size), _SIZES[-1])
            found = known[record.size] = f"{prefix}{size}"
        return found

    return name


def _overlap(record: ErrorRecord) -> str:
    src, dst, length, _ = record.aux
    tail = f", {length}" if length else ""
    return f"Source and destination overlap in {record.text}(0x{dst:x}, 0x{src:x}{tail})"


def _fishy(record: ErrorRecord) -> str:
    function, _, argument = record.text.rstrip(")").partition("(")
    value = _signed(record.aux[0])
    return f"Argument '{argument}' of function {function} has a fishy (possibly negative) value: {value}"


def _reason(record: ErrorRecord) -> str:
    return f" {record.text.strip()}" if record.text.strip() else ""


def _align_mismatch(record: ErrorRecord) -> str:
    alloc, dealloc = record.aux[:2]
    given = "default-aligned" if dealloc == lib.IP_HR_UNSAID else dealloc
    return f"Mismatched {record.text} alignment alloc value: {alloc} dealloc value: {given}"


def _align_mismatch_in_xml(record: ErrorRecord) -> str:
    """Of a size, though it is the alignment, as Valgrind 3.27.1."""
    return _align_mismatch(record).replace(" alignment ", " size ")


@dataclass(frozen=True)
class _Row:
    """One kind of error."""

    xml: str
    suppression: str | Callable[[ErrorRecord], str]
    what: Callable[[ErrorRecord], str]
    address: bool = False
    """A description of the address follows."""
    origin: bool = False
    """The origin of the value follows, if known."""
    extra: Callable[[ErrorRecord], Hashable] = lambda record: None
    supp_extra: Callable[[ErrorRecord], str | None] = lambda record: None
    """The line between kind and frames of a suppression that is generated for it."""
    supp_line: Extra | None = None
    """How that line is read and compared, if there is one."""
    what_in_xml: Callable[[ErrorRecord], str] | None = None
    """Where Valgrind's XML has another text."""


class ParamExtra(ExactExtra):
    """The name of a parameter, in which the elements of a vector are numbered: `writev(vector[1])`."""

    def matches(self, value: str | None, error: Error) -> bool:
        """By the name as it stands, or Valgrind 3.27's; in files of 3.19 `[...]` stands for any element."""
        name = error.suppression_extra
        if value in (None, name) or not name:
            return value in (None, name)
        import re

        from .newer_names import NEWER_NAMES

        return value == re.sub(r"\[\d+\]", "[...]", name) or value in NEWER_NAMES.get(name, ())


def _text(record: ErrorRecord) -> str:
    return record.text


_FREE = "Invalid free() / delete / delete[] / realloc()"
_PARAM = "Syscall param {0.text} "
_PARAM_LINE = ParamExtra(required=True)
_FISHY_LINE = ExactExtra(required=False, form=r"[^()\s]+\([^()]*\)")

KINDS: dict[ErrKind, _Row] = {
    ErrKind.READ: _Row(
        "InvalidRead",
        _sized("Addr"),
        "Invalid read of size {0.size}".format,
        address=True,
        extra=lambda record: record.size,
    ),
    ErrKind.WRITE: _Row(
        "InvalidWrite",
        _sized("Addr"),
        "Invalid write of size {0.size}".format,
        address=True,
        extra=lambda record: record.size,
    ),
    ErrKind.JUMP: _Row(
        "InvalidJump", "Jump", "Jump to the invalid address stated on the next line".format, address=True
    ),
    ErrKind.VALUE: _Row(
        "UninitValue",
        _sized("Value"),
        "Use of uninitialised value of size {0.size}".format,
        origin=True,
        extra=lambda record: record.size,
    ),
    ErrKind.COND: _Row(
        "UninitCondition",
        "Cond",
        "Conditional jump or move depends on uninitialised value(s)".format,
        origin=True,
    ),
    ErrKind.PARAM_REG: _Row(
        "SyscallParam",
        "Param",
        (_PARAM + "contains uninitialised byte(s)").format,
        origin=True,
        extra=_text,
        supp_extra=_text,
        supp_line=_PARAM_LINE,
    ),
    ErrKind.PARAM_UNADDR: _Row(
        "SyscallParam",
        "Param",
        (_PARAM + "points to unaddressable byte(s)").format,
        address=True,
        extra=_text,
        supp_extra=_text,
        supp_line=_PARAM_LINE,
    ),
    ErrKind.PARAM_UNDEF: _Row(
        "SyscallParam",
        "Param",
        (_PARAM + "points to uninitialised byte(s)").format,
        address=True,
        origin=True,
        extra=_text,
        supp_extra=_text,
        supp_line=_PARAM_LINE,
    ),
    ErrKind.CHECK_UNADDR: _Row(
        "ClientCheck",
        "User",
        "Unaddressable byte(s) found during client check request".format,
        address=True,
        extra=lambda record: "unaddressable",
    ),
    ErrKind.CHECK_UNDEF: _Row(
        "ClientCheck",
        "User",
        "Uninitialised byte(s) found during client check request".format,
        address=True,
        origin=True,
        extra=lambda record: "undefined",
    ),
    ErrKind.FREE: _Row("InvalidFree", "Free", _FREE.format, address=True),
    ErrKind.MISMATCH: _Row(
        "MismatchedFree", "Free", "Mismatched free() / delete / delete []".format, address=True
    ),
    ErrKind.OVERLAP: _Row("Overlap", "Overlap", _overlap, extra=_text),
    ErrKind.POOL: _Row("InvalidMemPool", "Mempool", "Illegal memory pool address".format, address=True),
    ErrKind.FISHY: _Row(
        "FishyValue", "FishyValue", _fishy, extra=_text, supp_extra=_text, supp_line=_FISHY_LINE
    ),
    ErrKind.REALLOC_ZERO: _Row(
        "ReallocSizeZero", "ReallocZero", "{0.text}() with size 0".format, address=True
    ),
    ErrKind.ALIGN: _Row(
        "InvalidAlignment",
        "BadAlign",
        lambda record: f"Invalid alignment value: {record.aux[0]}{_reason(record)}",
    ),
    ErrKind.SIZE_ALIGN: _Row(
        "InvalidSizeAndAlignment",
        "BadAlign",
        lambda record: (
            f"Invalid size value: {record.aux[0]} alignment value: {record.aux[1]}{_reason(record)}"
        ),
    ),
    ErrKind.UNSAFE_ZERO: _Row(
        "InvalidSize",
        "UnsafeZeroSize",
        "Unsafe allocation with size of zero is implementation-defined".format,
    ),
    ErrKind.SIZE_MISMATCH: _Row(
        "MismatchedAllocateDeallocateSize",
        "SizeMismatch",
        "Mismatched {0.text} size value: {0.aux[0]}".format,
        address=True,
    ),
    ErrKind.ALIGN_MISMATCH: _Row(
        "MismatchedAllocateDeallocateAlignment",
        "AlignMismatch",
        _align_mismatch,
        address=True,
        what_in_xml=_align_mismatch_in_xml,
    ),
}

_OF_BLOCK = (ErrKind.MISMATCH, ErrKind.SIZE_MISMATCH, ErrKind.ALIGN_MISMATCH)
"""About a live block, whatever else has been or is where it lies."""

UNDEFINED_KINDS = frozenset(kind for kind, row in KINDS.items() if row.origin)
"""Errors about definedness: after one, the run ends with the hint to track origins."""

LEAK_XML = {
    "definite": "Leak_DefinitelyLost",
    "indirect": "Leak_IndirectlyLost",
    "possible": "Leak_PossiblyLost",
    "reachable": "Leak_StillReachable",
}
_LEAK_KINDS = {kind: ErrorKind(xml, "Leak", COMPONENT) for kind, xml in LEAK_XML.items()}
_LEAK_EXTRA = "match-leak-kinds:"


def leak_error_kind(kind: str) -> ErrorKind:
    """The error kind of a loss record."""
    return _LEAK_KINDS[kind]


def parse_leak_kinds(text: str) -> frozenset[str]:
    """A set of leak kinds: a comma list, or ``all`` or ``none`` alone (docs/spec/options.md section 1)."""
    text = text.strip()
    if text == "all":
        return frozenset(LEAK_KINDS)
    if text == "none":
        return frozenset()
    kinds = frozenset(text.split(","))
    if not kinds <= set(LEAK_KINDS):
        raise ValueError(text)
    return kinds


@dataclass(frozen=True)
class LeakExtra:
    """``match-leak-kinds: SET``; without it an entry matches every kind."""

    required: bool = False

    def parse(self, line: str) -> frozenset[str] | None:
        if line.startswith(_LEAK_EXTRA):
            return parse_leak_kinds(line[len(_LEAK_EXTRA) :])
        if line == "}" or line.startswith(("fun:", "obj:", "...")):
            return None
        raise ValueError(line)

    def matches(self, value: frozenset[str] | None, error: Error) -> bool:
        return value is None or error.leak_kind in value


def suppression_component() -> Component:
    """The suppression kinds of this tool, from the table of kinds."""
    # Of Valgrind's kinds we report all but CoreMem, which its files may have.
    kinds: dict[str, Extra | None] = {"Leak": LeakExtra(), "CoreMem": None}
    for kind, row in KINDS.items():
        if callable(row.suppression):
            names = [row.suppression(ErrorRecord(kind, size=size)) for size in _SIZES]
        else:
            names = [row.suppression]
        for name in names:
            kinds[name] = row.supp_line
    return Component(COMPONENT, kinds, {"Value0": "Cond", "BadSize": "UnsafeZeroSize"})


if TYPE_CHECKING:
    OriginLookup = Callable[[ErrorRecord], Origin | None]


_MADE: dict[tuple[str, str], ErrorKind] = {}


def _kind(xml: str, suppression: str) -> ErrorKind:
    """One object for each, however many errors there are."""
    made = _MADE.get((xml, suppression))
    if made is None:
        made = _MADE[xml, suppression] = ErrorKind(xml, suppression, COMPONENT)
    return made


def build_error(
    record: ErrorRecord,
    resolver: StackResolver,
    space: AddressSpace,
    tid: int,
    thread_name: str | None = None,
    origin_of: OriginLookup | None = None,
) -> tuple[Error, Describe]:
    """The error of a record, and the function that yields its address description and origin when asked."""
    row = KINDS[record.kind]
    suppression = row.suppression(record) if callable(row.suppression) else row.suppression
    inner, stack = resolver.of_call(record.frames)
    error = Error(
        kind=_kind(row.xml, suppression),
        tid=tid,
        what=(row.what(record),),
        stack=stack,
        inner=inner,
        thread_name=thread_name,
        extra=(record.kind, row.extra(record)),
        suppression_extra=row.supp_extra(record),
        what_in_xml=None if row.what_in_xml is None else row.what_in_xml(record),
        size=record.size,
        address=record.addr if row.address else None,
    )

    def describe() -> Sequence[AuxPart]:
        parts: list[AuxPart] = []
        block = space.block_numbered(record.aux[2]) if record.kind in _OF_BLOCK and record.aux[2] else None
        if block is not None:
            parts += describe_block(record.addr, block)
        elif row.address and (record.addr or record.kind is not ErrKind.REALLOC_ZERO):
            parts += describe_address(space, record.addr, tid)
        if row.origin and origin_of is not None and (origin := origin_of(record)) is not None:
            parts.append(origin.part())
        return parts

    return error, describe
