"""Datagrind's files: every access of a program, with the blocks, stacks and heap blocks that explain it.

    from interpose.formats import datagrind

    for record in datagrind.read("datagrind.out.1234"):     # typed, one by one
        ...
    with datagrind.Trace("datagrind.out.1234") as trace:    # tens of millions of accesses a second
        for chunk in trace.chunks():
            chunk.arrays()                                  # NumPy, without a copy
    with open("out", "wb") as stream:
        datagrind.Writer(stream).bbdef(...)
    datagrind.to_parquet("datagrind.out.1234", "folder")

docs/spec/traces.md has the layout of the records, and docs/datagrind.md what the columns mean.
"""

from __future__ import annotations

from interpose.formats import FormatError
from interpose.formats.datagrind.bulk import Accesses, Filter, Trace
from interpose.formats.datagrind.errors import Problem
from interpose.formats.datagrind.export import to_numpy, to_parquet
from interpose.formats.datagrind.reader import Reader, read
from interpose.formats.datagrind.records import (
    Access,
    BBDef,
    BBRun,
    Context,
    Dir,
    EndEvent,
    FreeBlock,
    Header,
    Instr,
    MallocBlock,
    Record,
    StartEvent,
    TextAvma,
    TrackRange,
    UntrackRange,
)
from interpose.formats.datagrind.writer import Writer

__all__ = [
    "Access",
    "Accesses",
    "BBDef",
    "BBRun",
    "Context",
    "Dir",
    "EndEvent",
    "Filter",
    "FormatError",
    "FreeBlock",
    "Header",
    "Instr",
    "MallocBlock",
    "Problem",
    "Reader",
    "Record",
    "StartEvent",
    "TextAvma",
    "Trace",
    "TrackRange",
    "UntrackRange",
    "Writer",
    "read",
    "to_numpy",
    "to_parquet",
]
