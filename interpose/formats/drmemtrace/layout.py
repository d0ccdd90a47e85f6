"""Where the files of a trace are: one file, a folder of them, or the folder with raw/, trace/ and aux/."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from interpose.formats.drmemtrace.errors import FormatError

_NO_TRACES = frozenset(
    {"cpu_schedule.bin.zip", "modules.log", "funclist.log", "encodings.bin", "v2p.textproto"}
)
_SCHEDULE = "serial_schedule.bin"
_RECORDS = "records.bin"
"""In ``raw/``: what a trace is still to be made of."""


def is_trace(name: str) -> bool:
    """Whether a file of that name in a folder of traces is one."""
    return name not in _NO_TRACES and not name.startswith(_SCHEDULE)


def trace_folder(folder: str | os.PathLike[str]) -> Path:
    """The folder with the traces: ``trace/`` of a top folder, which is known by it or by ``raw/``."""
    top = Path(folder)
    inner = top / "trace"
    return inner if inner.is_dir() or (top / "raw").is_dir() else top


def trace_files(place: str | os.PathLike[str]) -> list[Path]:
    """The trace files at a place, a file or a folder, by name."""
    path = Path(place)
    try:
        if not path.is_dir():
            # It is read more than once; a FIFO would wait for whoever writes, too.
            if not stat.S_ISREG(path.stat().st_mode):
                raise FormatError(str(path), "no regular file")
            return [path]
        folder = trace_folder(path)
        found = sorted(entry for entry in folder.iterdir() if entry.is_file() and is_trace(entry.name))
    except OSError as error:
        if (path / "raw" / _RECORDS).is_file():
            reason = "no trace yet, only what was recorded: interpose-memtrace finish makes it"
            raise FormatError(str(path), reason) from error
        raise FormatError(str(error.filename or path), error.strerror or str(error)) from error
    if not found:
        raise FormatError(str(folder), "no trace files")
    return found


def auxiliary_file(place: str | os.PathLike[str], name: str) -> Path | None:
    """A file that belongs to a trace, such as ``funclist.log``; None without one."""
    path = Path(place)
    top = path if path.is_dir() else path.parent
    tops = [top, top.parent] if top.name == "trace" else [top]
    for folder in [folder for each in tops for folder in (each, each / "trace", each / "raw", each / "aux")]:
        if (folder / name).is_file():
            return folder / name
    return None
