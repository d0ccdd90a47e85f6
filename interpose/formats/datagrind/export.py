"""Whole traces as NumPy arrays, and as Parquet."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from interpose.errors import InterposeError
from interpose.formats import FormatError
from interpose.formats.datagrind.bulk import NEVER, Accesses, Trace, numpy
from interpose.formats.datagrind.records import StartEvent, TextAvma, TrackRange

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROWS = 1 << 20


def to_numpy(path: str | os.PathLike[str], *, fetches: bool = False) -> dict[str, NDArray[Any]]:
    """All accesses of a file that fits into memory, in columns (:class:`Accesses`).

    :class:`FormatError` has what was read up to there as `partial`.
    """
    np = numpy()
    parts: list[dict[str, NDArray[Any]]] = []

    def joined() -> dict[str, NDArray[Any]]:
        names = Accesses(0).arrays() if not parts else parts[0]
        return {name: np.concatenate([part[name] for part in parts] or [names[name]]) for name in names}

    with Trace(path, fetches=fetches, keep_history=False) as trace:
        try:
            for chunk in trace.chunks(Accesses(_ROWS)):
                parts.append({name: array.copy() for name, array in chunk.arrays().items()})
        except FormatError as error:
            error.partial = joined()
            raise
    return joined()


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise InterposeError(
            "pyarrow is not installed; pip install 'interpose[analysis]' brings it"
        ) from None
    return pyarrow, pyarrow.parquet


def _schema(pa: Any, text: str) -> Any:
    """Of ``name:type`` words; a list is one of addresses."""
    fields = (word.split(":") for word in text.split())
    return pa.schema(
        [(name, pa.list_(pa.uint64()) if kind == "list" else getattr(pa, kind)()) for name, kind in fields]
    )


def to_parquet(
    path: str | os.PathLike[str], folder: str | os.PathLike[str], *, fetches: bool = False
) -> None:
    """Write `accesses.parquet`, `contexts.parquet`, `blocks.parquet` and `marks.parquet` into a folder.

    Memory is bounded but for contexts and heap blocks.  Where the file is damaged, :class:`FormatError` is
    raised after what was read up to there was written.
    """
    pa, parquet = _pyarrow()
    os.makedirs(folder, exist_ok=True)

    def write(name: str, schema: Any, tables: Iterable[Any]) -> None:
        with parquet.ParquetWriter(os.path.join(folder, name), schema) as writer:
            for table in tables:
                writer.write_table(table)

    with Trace(path, fetches=fetches) as trace:
        schema = _schema(pa, "instr:uint64 address:uint64 ip:uint64 context:uint32 size:uint8 dir:uint8")

        def accesses() -> Iterator[Any]:
            with suppress(FormatError):  # trace.error has it
                for chunk in trace.chunks(Accesses(_ROWS)):
                    yield pa.table(chunk.arrays(), schema=schema)

        write("accesses.parquet", schema, accesses())
        _write_explanations(trace, pa, write)
        if trace.error is not None:
            raise trace.error


def _write_explanations(trace: Trace, pa: Any, write: Any) -> None:
    """What the accesses' numbers mean."""
    bbdefs = trace.contexts()
    schema = _schema(pa, "context:uint32 bbdef:uint32 stack:list")

    def contexts() -> Iterator[Any]:
        for begin in range(0, len(bbdefs), _ROWS):
            indices = range(begin, min(begin + _ROWS, len(bbdefs)))
            stacks = [trace.stack(index) for index in indices]
            yield pa.table([list(indices), bbdefs[begin : begin + _ROWS], stacks], schema=schema)

    write("contexts.parquet", schema, contexts())
    columns = trace.blocks()
    count = len(columns["address"])
    stacks = [trace.allocation_stack(trace.block(index)) for index in range(count)]
    schema = _schema(pa, "address:uint64 size:uint64 begin:uint64 end:uint64 stack:list")
    write("blocks.parquet", schema, [pa.table([*columns.values(), stacks], schema=schema)])
    kinds = {TrackRange: "range", StartEvent: "event", TextAvma: "text"}
    rows = [
        {
            "kind": kinds[type(mark.record)],
            "name": getattr(mark.record, "label", getattr(mark.record, "path", b"")),
            "type_name": getattr(mark.record, "type_name", None),
            "address": getattr(mark.record, "address", None),
            "length": getattr(mark.record, "length", None),
            "begin": mark.begin,
            "end": mark.end if mark.end != NEVER else None,
        }
        for mark in trace.marks()
    ]
    schema = _schema(
        pa, "kind:string name:binary type_name:binary address:uint64 length:uint64 begin:uint64 end:uint64"
    )
    write("marks.parquet", schema, [pa.Table.from_pylist(rows, schema=schema)])
