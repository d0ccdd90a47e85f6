"""The records of a trace as tools see them."""

from __future__ import annotations

from typing import NamedTuple

from interpose.formats.drmemtrace.constants import MarkerId, Type


class Instr(NamedTuple):
    """An instruction; of kind INSTR_NO_FETCH, a further iteration of a string instruction."""

    ordinal: int
    tid: int
    kind: Type
    pc: int
    size: int
    encoding: bytes
    """Empty: the trace has none."""
    is_new: bool
    """The encoding was not known before, or has changed."""
    target: int | None
    """Where an indirect branch went, if the trace says so."""


class Data(NamedTuple):
    """A read, a write, a prefetch or a flush of memory."""

    ordinal: int
    tid: int
    kind: Type
    pc: int
    """Of the instruction that it belongs to."""
    size: int
    addr: int


class Marker(NamedTuple):
    """What happened besides."""

    ordinal: int
    tid: int
    id: MarkerId | int
    """A number that we do not know comes as a number."""
    value: int


class ThreadExit(NamedTuple):
    """The thread's end."""

    ordinal: int
    tid: int


Record = Instr | Data | Marker | ThreadExit
