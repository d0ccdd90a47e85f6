"""Whether a file's symbol tables can hold a name: a look into the string tables alone.

Most programs define nothing that redirects, and none of their symbols is wanted then. Looking for a few
bytes in the string tables takes a fraction of a millisecond where unpacking the symbol tables of a libc and
its debug file takes fifty. This module imports next to nothing for the same reason.
"""

from __future__ import annotations

import os
import struct

DEBUG_ROOT = "/usr/lib/debug"
_EHDR = struct.Struct("<16s24xQ10xHHH")
_SHDR = struct.Struct("<IIQQQQIIQQ")
_SHT_STRTAB, _SHT_NOTE = 3, 7
_SHF_COMPRESSED = 0x800
_MAX_SECTIONS = 0xFF00


class NameTables:
    """The string tables of one file and of whatever debug files may belong to it, read when first needed."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._tables: list[bytes] | None = None
        self._unsure = False
        self._answers: dict[tuple[bytes, ...], bool] = {}

    def may_hold(self, *parts: bytes) -> bool:
        """False if no symbol's name contains one of ``parts``; true also where the file cannot tell."""
        answer = self._answers.get(parts)
        if answer is None:
            if self._tables is None:
                self._tables = []
                self._unsure = not self._read(self.path, debug=False)
            answer = self._unsure or any(part in table for table in self._tables for part in parts)
            self._answers[parts] = answer
        return answer

    def release(self) -> None:
        """Let go of the bytes; they are read again if need be."""
        self._tables = None

    def _read(self, path: str, *, debug: bool) -> bool:
        """Take the tables of a file; false if its section headers are missing or odd."""
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except (OSError, ValueError):
            return False
        try:
            ident, shoff, shentsize, shnum, shstrndx = _EHDR.unpack(os.pread(fd, _EHDR.size, 0))
            if ident[:6] != b"\x7fELF\x02\x01" or shentsize != _SHDR.size or not 0 < shnum < _MAX_SECTIONS:
                return False
            assert self._tables is not None
            places: list[str] = []
            rows = list(_SHDR.iter_unpack(os.pread(fd, shnum * _SHDR.size, shoff)))
            for row in rows:
                _, kind, flags, _, offset, size = row[:6]
                if kind == _SHT_STRTAB:
                    if flags & _SHF_COMPRESSED:
                        return False
                    self._tables.append(os.pread(fd, size, offset))
                elif kind == _SHT_NOTE and not debug:
                    places += _build_id_places(os.pread(fd, min(size, 4096), offset))
            if not debug:
                places += self._linked_places(fd, rows, shstrndx)
        except (OSError, struct.error, OverflowError):
            return False
        finally:
            os.close(fd)
        # Whether it does belong is not looked into: more names only mean more work.
        found = [self._read(place, debug=True) for place in places if os.path.exists(place)]
        return all(found)

    def _linked_places(self, fd: int, rows: list[tuple[int, ...]], names_index: int) -> list[str]:
        """Where the file that .gnu_debuglink names would be."""
        names = os.pread(fd, rows[names_index][5], rows[names_index][4]) if names_index < len(rows) else b""
        at = names.find(b".gnu_debuglink\0")
        row = next((row for row in rows if row[0] == at), None)
        if at < 0 or row is None:
            return []
        link = os.fsdecode(os.pread(fd, min(row[5], 4096), row[4]).partition(b"\0")[0])
        own = os.path.realpath(self.path)
        folder = os.path.dirname(own)
        places = [f"{folder}/{link}", f"{folder}/.debug/{link}", f"{DEBUG_ROOT}{folder}/{link}"]
        return [place for place in places if os.path.realpath(place) != own]


def _build_id_places(note: bytes) -> list[str]:
    if len(note) < 16:
        return []
    name_size, size, kind = struct.unpack_from("<III", note)
    if kind != 3 or name_size != 4 or note[12:16] != b"GNU\0":
        return []
    build_id = note[16 : 16 + size].hex()
    return [f"{DEBUG_ROOT}/.build-id/{build_id[:2]}/{build_id[2:]}.debug"]
