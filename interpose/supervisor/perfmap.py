"""/tmp/perf-PID.map: names of translated functions for ``perf report`` (its interface for JIT compilers).

One line for each run of neighbouring blocks of one function: address, size, name, the numbers in hexadecimal.
perf reads it after the run, so it is written once, from the translator's tables.
"""

from __future__ import annotations

import os
from itertools import groupby

from interpose.errors import InterposeError, tell
from interpose.jit._native import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from interpose.supervisor.main import Supervisor


def blocks(meta_fd: int) -> Iterator[tuple[int, int, int]]:
    """Host address, its length and the guest address of each piece of a translated block, by host address."""
    header = ffi.new("struct ip_meta *")
    os.preadv(meta_fd, [ffi.buffer(header)], 0)
    table = ffi.new("struct ip_block[]", max(header.n_blocks, 1))
    os.preadv(meta_fd, [ffi.buffer(table)], lib.IP_META_BLOCKS)
    live = [table[i] for i in range(header.n_blocks) if table[i].live]
    yield from ((block.host, block.host_len, block.key & lib.IP_KEY_PC) for block in live)
    yield from ((block.cold, block.cold_len, block.key & lib.IP_KEY_PC) for block in live if block.cold_len)


def lines(supervisor: Supervisor) -> Iterator[str]:
    """The lines of the map."""
    symbolizer = supervisor.objects.symbolizer

    def name(block: tuple[int, int, int]) -> str:
        function = symbolizer.function_name(block[2])
        return function.replace("\n", " ") if function else "[translated code]"

    for function, group in groupby(blocks(supervisor.session.memory.meta_fd), key=name):
        members = list(group)
        end = members[-1][0] + members[-1][1]
        yield f"{members[0][0]:x} {end - members[0][0]:x} {function}\n"


def write(supervisor: Supervisor) -> None:
    """Write the map of a client that is at its end; a file that is in the way is replaced, not followed."""
    path = f"/tmp/perf-{supervisor.client.pid}.map"
    try:
        if os.path.lexists(path):
            os.unlink(path)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        with open(fd, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.writelines(lines(supervisor))
    except OSError as error:
        tell(InterposeError(f"cannot write {path}: {error.strerror}"))
