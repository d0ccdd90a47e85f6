"""``qMemoryRegionInfo``, lldb's: what is mapped at an address."""

from __future__ import annotations

from interpose.gdb.files import maps
from interpose.jit._native import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from interpose.gdb.server import Server

_END = 1 << 64
_NAME = 5  # column of a line of /proc/PID/maps, from 0


def _mappings(text: bytes) -> Iterator[tuple[int, int, bytes, bytes]]:
    """Begin, end, permissions and name of each, from the text of ``/proc/PID/maps``."""
    for line in text.splitlines():
        words = line.split(None, _NAME)
        begin, end = (int(digits, 16) for digits in words[0].split(b"-"))
        yield begin, end, words[1], words[_NAME] if len(words) > _NAME else b""


def region(server: Server, rest: bytes) -> bytes:
    """``qMemoryRegionInfo:ADDR``: the mapping, or the gap, that it lies in."""
    address = int(rest, 16)
    if not 0 <= address < _END:
        raise ValueError
    stacks = [thread.state.gpr[lib.IP_RSP] for thread in server.debugger.threads()]
    free, limit = 0, _END
    for begin, end, permissions, name in _mappings(maps(server.supervisor.client, stacks)):
        if begin <= address < end:
            what = permissions[:3].replace(b"-", b"")
            answer = b"start:%x;size:%x;permissions:%b;" % (begin, end - begin, what)
            return answer + (b"name:%b;" % name.hex().encode() if name else b"")
        if end <= address:
            free = max(free, end)
        else:
            limit = min(limit, begin)
    return b"start:%x;size:%x;" % (free, limit - free)
