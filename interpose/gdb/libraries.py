"""The libraries that a program has loaded (``qXfer:libraries-svr4:read``), by the dynamic linker's own lists.

The dynamic section's ``DT_DEBUG`` points at ``struct r_debug``, which has the first ``struct link_map`` of a
namespace, and from its version 2 on the next namespace (``dlmopen``); see ``<link.h>`` of the C library. The
document is that of "Library List Format for SVR4 Targets" of GDB's manual. All of it is read from the
program's memory, and may be anything.

The kernel's vdso is left out, which gdb knows by the auxiliary vector: gdb drops that entry only where it can
read the program's list of mappings, says else that it cannot find the file, and its version 18 then ends with
an internal error at ``info sharedlibrary`` of a program with several namespaces.

Before them stands the image of the functions that replace the program's, which no list has: without its names
and unwind tables a debugger could not tell who called the function that it is in.
"""

from __future__ import annotations

import struct
from xml.sax.saxutils import quoteattr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NamedTuple

    from interpose.supervisor.client import Client
else:
    from interpose.records import NamedTuple

_AT_PHDR, _AT_PHENT, _AT_PHNUM, _AT_SYSINFO_EHDR = 3, 4, 5, 33
_PT_DYNAMIC, _PT_PHDR = 2, 6
_DT_NULL, _DT_DEBUG = 0, 21
_PROGRAM_HEADER = struct.Struct(
    "<IIQQQQQQ"
)  # type, flags, offset, address, physical, file size, size, alignment
_R_DEBUG = struct.Struct(
    "<i4xQQi4xQ"
)  # version, first map, breakpoint, state, the linker's base; then the next
_LINK_MAP = struct.Struct("<QQQQQ")  # base, name, dynamic section, next, previous
_MOST = 1 << 16
"""Libraries of a namespace, program headers, words of a dynamic section: beyond, the lists are damaged."""
_MOST_NAMESPACES = 64  # the C library has 16
_LONGEST_NAME = 4096
_ELF_HEADER = struct.Struct("<32xQ14xHH6x")  # where the program headers are, size of one, how many


class Own(NamedTuple):
    """An image of ours: the file for debuggers, and where its address 0 is."""

    path: str
    base: int


def document(client: Client, auxv: bytes, annex: bytes, own: Own | None = None) -> bytes:
    """The list as gdb wants it; empty before the dynamic linker has one, and for a static program.

    :param annex: nothing, or ``start=MAP;prev=MAP``: the part of a namespace's list that begins there. Newer
        gdbs add ``lmid=ADDRESS``, that of its ``r_debug``.
    """
    words = dict(part.partition(b"=")[::2] for part in annex.split(b";") if part)
    start, previous = int(words.get(b"start", b"0"), 16), int(words.get(b"prev", b"0"), 16)
    lines = []
    vdso = _entries(auxv).get(_AT_SYSINFO_EHDR, 0)
    hidden = _dynamic(client, vdso) if vdso else 0
    main = first = 0
    if start:
        debug = int(words.get(b"lmid", b"0"), 16)
        lines = [_library(*found, hidden) for found in _maps(client, start, previous, debug)]
    else:
        for at, (debug, head) in enumerate(_namespaces(client, auxv)):
            found = list(_maps(client, head, 0, debug))
            if at == 0 and found:
                main, first = found.pop(0)[0], debug
            lines += [_library(*one, hidden) for one in found]
        if own is not None and (main or not debug_field(client, auxv)):
            # First: gdb takes the last one for the program's newest.
            lines.insert(0, _library(own.base, own.path, own.base, _dynamic(client, own.base), first))
    program = f' main-lm="{main:#x}"' if main else ""
    return f'<library-list-svr4 version="1.0"{program}>{"".join(lines)}</library-list-svr4>'.encode()


def _library(at: int, name: str, base: int, dynamic: int, debug: int, hidden: int = 0) -> str:
    """:param hidden: the dynamic section of an image that is not to be listed, or 0."""
    if not name or (hidden and dynamic == hidden):
        return ""
    places = f'lm="{at:#x}" l_addr="{base:#x}" l_ld="{dynamic:#x}" lmid="{debug:#x}"'
    return f"<library name={quoteattr(name)} {places}/>"


def _dynamic(client: Client, base: int) -> int:
    """Where the dynamic section of the image is whose ELF header is at that address; 0: nowhere."""
    headers, size, number = _ELF_HEADER.unpack(client.read(base, _ELF_HEADER.size) or bytes(_ELF_HEADER.size))
    data = (client.read(base + headers, number * size) if size == _PROGRAM_HEADER.size else None) or b""
    found = [row[3] for row in _PROGRAM_HEADER.iter_unpack(data) if row[0] == _PT_DYNAMIC]
    return base + found[0] if found else 0


def _maps(client: Client, at: int, previous: int, debug: int) -> Iterator[tuple[int, str, int, int, int]]:
    """Address, name, base and dynamic section of each map of a namespace, with its ``r_debug``."""
    for _ in range(_MOST):
        data = client.read(at, _LINK_MAP.size) if at else None
        if data is None:
            return
        base, name, dynamic, following, before = _LINK_MAP.unpack(data)
        if before != previous:  # the list is being changed
            return
        text = client.read_string(name, _LONGEST_NAME) if name else b""
        yield at, _printable(text or b""), base, dynamic, debug
        at, previous = following, at


def _printable(name: bytes) -> str:
    """A file's name as far as XML 1.0 can hold it."""
    text = name.decode("utf-8", "replace")
    return "".join(c if c >= " " and c not in "\ufffe\uffff" else "?" for c in text)


def _namespaces(client: Client, auxv: bytes) -> Iterator[tuple[int, int]]:
    """The ``r_debug`` of each namespace and the first map of its list."""
    at = _word(client, debug_field(client, auxv))
    for _ in range(_MOST_NAMESPACES):
        data = client.read(at, _R_DEBUG.size) if at else None
        if data is None:
            return
        version, first = _R_DEBUG.unpack(data)[:2]
        yield at, first
        at = _word(client, at + _R_DEBUG.size) if version >= 2 else 0


def _entries(auxv: bytes) -> dict[int, int]:
    """The auxiliary vector's values by type."""
    return dict(struct.iter_unpack("<QQ", auxv[: len(auxv) // 16 * 16]))


def debug_field(client: Client, auxv: bytes) -> int:
    """Where the program's dynamic section has the address of ``r_debug``, which may be 0; 0: it has none."""
    entries = _entries(auxv)
    headers, number = entries.get(_AT_PHDR, 0), entries.get(_AT_PHNUM, 0)
    if not headers or entries.get(_AT_PHENT) != _PROGRAM_HEADER.size or not 0 < number < _MOST:
        return 0
    data = client.read(headers, number * _PROGRAM_HEADER.size) or b""
    base = dynamic = size = 0
    for kind, _, _, address, _, _, length, _ in _PROGRAM_HEADER.iter_unpack(data):
        if kind == _PT_PHDR:
            base = headers - address
        elif kind == _PT_DYNAMIC:
            dynamic, size = address, length
    at = base + dynamic
    section = client.read(at, min(size, _MOST * 16) // 16 * 16) if dynamic else None
    for number, (tag, _) in enumerate(struct.iter_unpack("<QQ", section or b"")):
        if tag == _DT_NULL:
            break
        if tag == _DT_DEBUG:
            return at + 16 * number + 8
    return 0


def _word(client: Client, at: int) -> int:
    return int.from_bytes((client.read(at, 8) if at else None) or b"", "little")
