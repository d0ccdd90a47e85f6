"""``qMemoryRegionInfo``, lldb's: what is mapped at an address."""

from __future__ import annotations

from interpose.gdb.mappings import mappings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interpose.gdb.server import Server

_END = 1 << 64


def region(server: Server, rest: bytes) -> bytes:
    """``qMemoryRegionInfo:ADDR``: the mapping, or the gap, that it lies in."""
    address = int(rest, 16)
    if not 0 <= address < _END:
        raise ValueError
    free, limit = 0, _END
    for each in mappings(server):
        if each.begin <= address < each.end:
            rights = each.rights.replace("-", "").encode()
            answer = b"start:%x;size:%x;permissions:%b;" % (each.begin, each.end - each.begin, rights)
            return answer + (b"name:%b;" % each.name.hex().encode() if each.name else b"")
        if each.end <= address:
            free = max(free, each.end)
        else:
            limit = min(limit, each.begin)
    return b"start:%x;size:%x;" % (free, limit - free)
