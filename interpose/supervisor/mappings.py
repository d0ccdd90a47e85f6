"""The program's mappings, as the runtime keeps them: without ours, executable where the program has it so."""

from __future__ import annotations

from interpose.jit._native import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NamedTuple

    from interpose.supervisor.client import Client
else:
    from interpose.records import NamedTuple

_KINDS = ("anonymous", "file", "anonymous", "brk", "shm")
_SHARED = 1  # struct rt_seg.mflags
PROT_READ, PROT_WRITE, PROT_EXEC = 1, 2, 4


class Mapping(NamedTuple):
    """One mapping of the client."""

    lo: int
    hi: int
    prot: int
    kind: str
    path: str | None
    is_shared: bool = False

    @property
    def rwx(self) -> str:
        """``r-x``."""
        bits = (PROT_READ, PROT_WRITE, PROT_EXEC)
        return "".join(c if self.prot & bit else "-" for c, bit in zip("rwx", bits, strict=True))


_SEG = ffi.sizeof("struct rt_seg")
_TOGETHER = 64
"""So many rows of the table are read at once sooner than found by halves."""


class _Reader:
    """The runtime's table; the program stands still, or its thread waits for an answer."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._names: dict[int, str | None] = {0: None}
        self.table: Any = client.read_struct("struct rt_seg_table", client.symbol(lib.IP_SYM_SEGMENTS))
        count = client.read(self.table.count_at, 4) if self.table is not None else None
        self.count = int.from_bytes(count or b"", "little")

    def rows(self, first: int, end: int) -> Any:
        """``struct rt_seg[]``, by address."""
        data = (
            self._client.read(self.table.segments + first * _SEG, (end - first) * _SEG)
            if end > first
            else b""
        )
        return ffi.from_buffer("struct rt_seg[]", data or b"")

    def mapping(self, seg: Any) -> Mapping:
        path = seg.path
        if path not in self._names:
            raw = self._client.read_string(self.table.paths + path, 4096)
            self._names[path] = raw.decode("utf-8", "surrogateescape") if raw else None
        is_shared = bool(seg.mflags & _SHARED)
        return Mapping(seg.lo, seg.hi, seg.prot, _KINDS[seg.kind], self._names[path], is_shared)

    def from_address(self, addr: int) -> Mapping | None:
        """The first mapping that ends above an address."""
        first, end = 0, self.count
        while end - first > _TOGETHER:
            middle = (first + end) // 2
            row = self.rows(middle, middle + 1)
            if not len(row):
                return None
            first, end = (first, middle + 1) if row[0].hi > addr else (middle + 1, end)
        return next((self.mapping(seg) for seg in self.rows(first, end) if seg.hi > addr), None)


def read_mappings(client: Client) -> list[Mapping]:
    """The mappings by address."""
    reader = _Reader(client)
    return [reader.mapping(seg) for seg in reader.rows(0, reader.count)]


def mapping_at(client: Client, addr: int) -> Mapping | None:
    """The mapping that holds an address."""
    found = _Reader(client).from_address(addr)
    return found if found is not None and found.lo <= addr else None


def brk_mapping(client: Client) -> Mapping | None:
    """The part of the program's data that brk(2) has made, its first mapping."""
    reader = _Reader(client)
    start = client.read(reader.table.brk_at, 8) if reader.table is not None else None
    found = reader.from_address(int.from_bytes(start, "little")) if start else None
    return found if found is not None and found.kind == "brk" else None
