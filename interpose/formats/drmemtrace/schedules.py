"""Which thread ran when: ``serial_schedule.bin`` and ``cpu_schedule.bin.zip`` beside a trace."""

from __future__ import annotations

import os
import struct
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from interpose.formats.drmemtrace.containers import Source
from interpose.formats.drmemtrace.errors import FormatError
from interpose.formats.drmemtrace.layout import auxiliary_file

SERIAL = ("serial_schedule.bin", "serial_schedule.bin.gz")
BY_CPU = "cpu_schedule.bin.zip"
_ENTRY = struct.Struct("<4Q")


class Slice(NamedTuple):
    """From this time on, a thread runs on a processor, until the schedule says otherwise."""

    tid: int
    timestamp: int
    """Microseconds since 1601, as in the trace."""
    cpu: int
    instruction: int
    """How many instructions of the thread lie before."""


def packed(slices: Iterable[Slice | tuple[int, int, int, int]]) -> bytes:
    """As a file has them; those left out that go on with the thread and processor of the one before."""
    data = bytearray()
    before = None
    for tid, timestamp, cpu, instruction in slices:
        if (tid, cpu) != before:
            data += _ENTRY.pack(tid, timestamp, cpu, instruction)
            before = tid, cpu
    return bytes(data)


def _slices(path: Path, component: str, blocks: Iterable[bytes]) -> Iterator[Slice]:
    rest = b""
    for block in blocks:
        data = rest + block
        whole = len(data) - len(data) % _ENTRY.size
        yield from map(Slice._make, _ENTRY.iter_unpack(data[:whole]))
        rest = data[whole:]
    if rest:
        raise FormatError(str(path), f"truncated: {len(rest)} bytes that are no entry", component=component)


def read(path: str | os.PathLike[str]) -> Iterator[Slice]:
    """The slices of a file, in its order: of an archive, one component behind the other."""
    source = Source(path)
    for name, blocks in source.components():
        yield from _slices(source.path, name, blocks)


def serial(place: str | os.PathLike[str]) -> Iterator[Slice]:
    """The whole trace's slices by time; ``place`` is a folder of a trace or a file of it."""
    for name in SERIAL:
        path = auxiliary_file(place, name)
        if path is not None:
            return read(path)
    raise FormatError(str(place), "no serial schedule")


def by_cpu(place: str | os.PathLike[str]) -> dict[int, list[Slice]]:
    """The slices of each processor by time."""
    path = auxiliary_file(place, BY_CPU)
    if path is None:
        raise FormatError(str(place), "no schedule by processors")
    source = Source(path)
    found: dict[int, list[Slice]] = {}
    for name, blocks in source.components():
        if not (name.isascii() and name.isdigit()):
            raise FormatError(str(path), "the component's name is no processor", component=name)
        found.setdefault(int(name[:18]), []).extend(_slices(path, name, blocks))
    return found


def write_by_cpu(path: str | os.PathLike[str], slices: Iterable[Slice | tuple[int, int, int, int]]) -> None:
    """Write ``cpu_schedule.bin.zip`` of slices that are sorted by time."""
    cpus: dict[int, list[Slice | tuple[int, int, int, int]]] = {}
    for one in slices:
        cpus.setdefault(one[2], []).append(one)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for cpu, chosen in sorted(cpus.items()):
            archive.writestr(str(cpu), packed(chosen))
