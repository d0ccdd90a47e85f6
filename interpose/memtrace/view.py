"""The records of a trace as text or as a table, threads interleaved by time."""

from __future__ import annotations

import argparse
import heapq
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from interpose.formats.drmemtrace.constants import INSTRUCTIONS, MarkerId, Type
from interpose.formats.drmemtrace.errors import FormatError
from interpose.formats.drmemtrace.layout import trace_files
from interpose.formats.drmemtrace.reader import Reader
from interpose.formats.drmemtrace.records import Data, Instr, Marker, Record
from interpose.formats.extra import need
from interpose.memtrace.disassembly import Disassembler
from interpose.memtrace.tool import natural

_ROWS = 1 << 16
_HEX = frozenset(
    {
        MarkerId.FILETYPE,
        MarkerId.KERNEL_EVENT,
        MarkerId.KERNEL_XFER,
        MarkerId.FUNC_RETADDR,
        MarkerId.FUNC_ARG,
        MarkerId.FUNC_RETVAL,
        MarkerId.FUNC_ID,
        MarkerId.RSEQ_ABORT,
        MarkerId.RSEQ_ENTRY,
    }
)
_WORDS = {
    Type.READ: "read",
    Type.WRITE: "write",
    Type.INSTR_FLUSH: "iflush",
    Type.INSTR_FLUSH_END: "iflush",
    Type.DATA_FLUSH: "dflush",
    Type.DATA_FLUSH_END: "dflush",
}
_KINDS = {
    Type.INSTR: "non-branch",
    Type.INSTR_DIRECT_JUMP: "jump",
    Type.INSTR_INDIRECT_JUMP: "indirect jump",
    Type.INSTR_CONDITIONAL_JUMP: "conditional jump",
    Type.INSTR_DIRECT_CALL: "call",
    Type.INSTR_INDIRECT_CALL: "indirect call",
    Type.INSTR_RETURN: "return",
    Type.INSTR_TAKEN_JUMP: "taken jump",
    Type.INSTR_UNTAKEN_JUMP: "untaken jump",
    Type.INSTR_SYSENTER: "sysenter",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the tool."""
    parser.add_argument(
        "--skip", type=natural, default=0, metavar="N", help="records to leave out at the start"
    )
    parser.add_argument("--count", type=natural, metavar="N", help="records to show (all)")
    parser.add_argument("--tid", type=natural, metavar="N", help="only this thread")
    parser.add_argument("--syntax", choices=("intel", "att"), default="intel", help="of instructions (intel)")


def _timed(number: int, path: Path, errors: list[FormatError]) -> Iterator[tuple[int, int, Record]]:
    """A file's records, each with the last time before it; the header has that of the first."""
    waiting: list[Record] = []
    time = 0
    try:
        for record in Reader(path):
            if isinstance(record, Marker) and record.id == MarkerId.TIMESTAMP:
                time = max(time, record.value)
            elif time == 0 and len(waiting) < 64:
                waiting.append(record)
                continue
            for early in waiting:
                yield time, number, early
            waiting.clear()
            yield time, number, record
    except FormatError as error:
        errors.append(error)
    for early in waiting:
        yield time, number, early


def records(place: str, errors: list[FormatError]) -> Iterator[Record]:
    """All records by time; what is wrong is added to ``errors``."""
    files = [_timed(number, path, errors) for number, path in enumerate(trace_files(place))]
    for _, _, record in heapq.merge(*files, key=lambda row: row[:2]):
        yield record


def chosen(options: argparse.Namespace, errors: list[FormatError]) -> Iterator[tuple[int, int, Record]]:
    """Number and instruction number of records, and these."""
    instructions = 0

    def numbered() -> Iterator[tuple[int, int, Record]]:
        nonlocal instructions
        number = 0
        for record in records(options.folder, errors):
            if options.tid is not None and record.tid != options.tid:
                continue
            number += 1
            instructions += isinstance(record, Instr) and record.kind in INSTRUCTIONS
            yield number, instructions, record

    stop = None if options.count is None else options.skip + options.count
    return itertools.islice(numbered(), options.skip, stop)


def kind_name(record: Record) -> str:
    """What a record is, in a word."""
    return record.kind.name if isinstance(record, (Instr, Data)) else type(record).__name__


def plain_value(value: object) -> object:
    """A record's encoding, for JSON."""
    return value.hex() if isinstance(value, bytes) else str(value)


def lines(options: argparse.Namespace, errors: list[FormatError]) -> Iterator[str]:
    """The text."""
    disassembler = Disassembler(options.syntax == "att")
    yield "Output format:"
    yield "<--record#-> <--instr#->: <---tid---> <record details>"
    yield "------------------------------------------------------------"
    for number, instructions, record in chosen(options, errors):
        yield f"{number:12d}{instructions:12d}: {record.tid:11d} {_details(record, disassembler)}"


def _details(record: Record, disassembler: Disassembler) -> str:
    if isinstance(record, Instr):
        word = "non-fetched" if record.kind is Type.INSTR_NO_FETCH else "ifetch"
        text = f"{word:<11} {record.size:2d} byte(s) @ {record.pc:#018x}"
        if record.encoding:
            text += f" {record.encoding.hex(' '):<30} {disassembler.text(record.pc, record.encoding)}"
        else:
            text += f" {_KINDS.get(record.kind, '')}"
        if record.target is not None:
            text += f" (target {record.target:#x})"
        return {Type.INSTR_TAKEN_JUMP: f"{text} (taken)", Type.INSTR_UNTAKEN_JUMP: f"{text} (untaken)"}.get(
            record.kind, text
        )
    if isinstance(record, Data):
        word = _WORDS.get(record.kind, record.kind.name.lower())
        return f"{word:<11} {record.size:2d} byte(s) @ {record.addr:#018x} by PC {record.pc:#018x}"
    if isinstance(record, Marker):
        return f"<marker: {_marker(record)}>"
    return f"<thread {record.tid} exited>"


def _marker(record: Marker) -> str:
    if record.id == MarkerId.CPU_ID:
        core = "unknown" if record.value == 0xFFFFFFFFFFFFFFFF else record.value
        return f"tid {record.tid} on core {core}"
    if not isinstance(record.id, MarkerId):
        return f"type {record.id} value {record.value}"
    name = record.id.name.lower().replace("_", " ")
    return f"{name} {record.value:#x}" if record.id in _HEX else f"{name} {record.value}"


def write_table(options: argparse.Namespace, file: BinaryIO, errors: list[FormatError]) -> int:
    """The records as a Parquet file; how many there were."""
    arrow, parquet = need("pyarrow"), need("pyarrow.parquet")
    schema = arrow.schema(
        [
            ("record", arrow.uint64()),
            ("instruction", arrow.uint64()),
            ("tid", arrow.uint32()),
            ("kind", arrow.dictionary(arrow.int16(), arrow.string())),
            ("pc", arrow.uint64()),
            ("size", arrow.uint16()),
            ("addr", arrow.uint64()),
            ("encoding", arrow.binary()),
            ("marker", arrow.uint16()),
            ("value", arrow.uint64()),
        ]
    )
    count = 0
    with parquet.ParquetWriter(file, schema) as writer:
        rows = chosen(options, errors)
        while batch := list(itertools.islice(rows, _ROWS)):
            count += len(batch)
            writer.write_table(_table(arrow, schema, batch))
    return count


def _table(arrow: Any, schema: Any, batch: list[tuple[int, int, Record]]) -> Any:
    columns: dict[str, list[Any]] = {name: [] for name in schema.names}
    for number, instructions, record in batch:
        row = dict.fromkeys(schema.names)
        row |= {"record": number, "instruction": instructions, "tid": record.tid}
        if isinstance(record, Instr):
            row |= {"kind": record.kind.name, "pc": record.pc, "size": record.size, "addr": record.target}
            row["encoding"] = record.encoding
        elif isinstance(record, Data):
            row |= {"kind": record.kind.name, "pc": record.pc, "size": record.size, "addr": record.addr}
        elif isinstance(record, Marker):
            row |= {"kind": "MARKER", "marker": int(record.id), "value": record.value}
        else:
            row["kind"] = "THREAD_EXIT"
        for name, column in columns.items():
            column.append(row[name])
    return arrow.table(
        {
            name: arrow.array(column, schema.field(name).type)
            if name != "kind"
            else arrow.array(column, arrow.string()).dictionary_encode().cast(schema.field(name).type)
            for name, column in columns.items()
        },
        schema=schema,
    )
