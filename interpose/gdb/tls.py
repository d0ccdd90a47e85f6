"""Where a thread's copy of a thread-local variable is, as the GNU C library keeps them.

The thread pointer's second word is the dynamic thread vector (DTV): 16 bytes for each module, the address of
its block first ("ELF Handling For Thread-Local Storage", variant II). Where a link map has the number of its
module differs from version to version; the library says it in a variable that is meant for debuggers.
"""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interpose.gdb.threads import Thread
    from interpose.supervisor.client import Client

MODULE_FIELD = b"_thread_db_link_map_l_tls_modid"
"""The variable: bits of the field, number of elements, offset in the link map (32 bits each)."""

_UNALLOCATED = (1 << 64) - 1
_LONGEST = 1 << 16  # more modules than any program has


def address(client: Client, thread: Thread, field: int, offset: int, link_map: int) -> int | None:
    """The address of ``offset`` in the module's block of this thread; None if it has none (yet).

    :param field: the address of :data:`MODULE_FIELD`.
    """
    description = client.read(field, 12)
    if description is None:
        return None
    module = _word(client, link_map + struct.unpack("<3I", description)[2])
    dtv = _word(client, int(thread.state.fs_base) + 8)
    if module is None or dtv is None or not 0 < module < _LONGEST:
        return None
    block = _word(client, dtv + 16 * module)
    return None if block in (None, 0, _UNALLOCATED) else block + offset


def _word(client: Client, at: int) -> int | None:
    data = client.read(at, 8)
    return None if data is None else int.from_bytes(data, "little")
