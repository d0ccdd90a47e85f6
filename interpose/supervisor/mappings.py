"""The program's mappings, as the runtime keeps them: without ours, executable where the program has it so."""

from __future__ import annotations

from interpose.jit._native import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

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


def read_mappings(client: Client) -> list[Mapping]:
    """The mappings by address; the program stands still, or its thread waits for an answer."""
    table = client.read_struct("struct rt_seg_table", client.symbol(lib.IP_SYM_SEGMENTS))
    if table is None:
        return []
    count = int.from_bytes(client.read(table.count_at, 4) or b"", "little")
    data = client.read(table.segments, count * ffi.sizeof("struct rt_seg")) or b""
    names: dict[int, str | None] = {0: None}
    found = []
    for seg in ffi.from_buffer("struct rt_seg[]", data):
        path = seg.path
        if path not in names:
            raw = client.read_string(table.paths + path, 4096)
            names[path] = raw.decode("utf-8", "surrogateescape") if raw else None
        is_shared = bool(seg.mflags & _SHARED)
        found.append(Mapping(seg.lo, seg.hi, seg.prot, _KINDS[seg.kind], names[path], is_shared))
    return found
