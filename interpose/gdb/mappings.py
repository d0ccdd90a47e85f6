"""The program's mappings as it knows them: without the engine's."""

from __future__ import annotations

from dataclasses import dataclass

from interpose.jit._native import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from interpose.gdb.server import Server
    from interpose.supervisor.client import Client

_PROTECTION = (1, 2, 4)  # PROT_READ, PROT_WRITE, PROT_EXEC
_SHARED = 1  # of rt_seg.mflags
_OURS = 16
_STACK_ROOM = 128 << 10  # what is shown below the stack pointer, as the kernel maps a stack at first


@dataclass(frozen=True, slots=True)
class Mapping:
    """From ``begin`` to ``end``; what is no file has no device, inode and offset."""

    begin: int
    end: int
    rights: str
    """``rwx``, with ``-`` for those that it has not."""
    shared: bool
    offset: int
    device: int
    inode: int
    name: bytes


def mappings(server: Server) -> Iterator[Mapping]:
    """Those of the program, by address."""
    client = server.supervisor.client
    table = client.read_struct("struct rt_seg_table", client.symbol(lib.IP_SYM_SEGMENTS))
    if table is None:
        return
    count = int.from_bytes(client.read(table.count_at, 4) or b"", "little")
    data = client.read(table.segments, count * ffi.sizeof("struct rt_seg")) or b""
    # By the stack pointers of its threads the part of a stack that is in use is known.
    pointers = [thread.state.gpr[lib.IP_RSP] for thread in server.debugger.threads()]
    for seg in ffi.from_buffer("struct rt_seg[]", data):
        if not seg.mflags & _OURS:
            yield _mapping(client, seg, table.paths, pointers)


def _mapping(client: Client, seg: Any, paths: int, pointers: Sequence[int]) -> Mapping:
    name, begin = b"", seg.lo
    is_file = seg.kind in (lib.RT_SEG_FILE, lib.RT_SEG_SHM)
    device, inode = (seg.dev, seg.ino) if is_file else (0, 0)
    if seg.kind == lib.RT_SEG_STACK:
        name = b"[stack]"
        here = [pointer for pointer in pointers if seg.lo <= pointer < seg.hi]
        begin = max(begin, (min(here, default=seg.hi) & -4096) - _STACK_ROOM)
    elif seg.kind == lib.RT_SEG_BRK:
        name = b"[heap]"
    elif seg.path:
        name = client.read_string(paths + seg.path, 4096) or b""
    elif seg.kind == lib.RT_SEG_SHM:
        name, device = b"/SYSV00000000 (deleted)", 1
    rights = "".join(
        letter if seg.prot & bit else "-" for letter, bit in zip("rwx", _PROTECTION, strict=True)
    )
    offset = seg.off if is_file else 0
    return Mapping(begin, seg.hi, rights, bool(seg.mflags & _SHARED), offset, device, inode, name)
