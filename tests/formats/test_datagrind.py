"""Datagrind's files: what is written is read, by both readers, and what is no such file is told as that."""

from __future__ import annotations

import io
import random
import struct
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpose.errors import InterposeError
from interpose.formats import FormatError, datagrind
from interpose.formats.datagrind.records import framed
from interpose.jit._native import lib

CORPUS = sorted((Path(__file__).parent / "corpus" / "datagrind").iterdir())

HEADER = bytes([0, 14]) + b"DATAGRIND1\0" + bytes([1, 0, 8])


def small(word_size: int = 8) -> bytes:
    """A trace with every record."""
    stream = io.BytesIO()
    w = datagrind.Writer(stream, word_size=word_size)
    w.text_avma(0x401000, "/usr/bin/prog")
    block = w.bbdef([(0x401000, 4), (0x401004, 3), (0x401007, 2)], [(0, 8, 0), (1, 4, 1), (0, 1, 1)])
    other = w.bbdef([(0x401100, 5)], [(2, 5, 0)])
    first = w.context(block, [0x401000, 0x402000])
    second = w.context(other, [0x401100])
    w.malloc_block(0x10000, 100, [0x405000, 0x406000])
    w.track_range(0x20000, 64, "table", "int[16]")
    w.start_event("phase")
    for n in range(5):
        w.bbrun(first, 3, [0x10000 + 8 * n, 0x7FFF0000 - 4 * n, 0x20000])
    w.end_event("phase")
    w.untrack_range(0x20000, 64)
    w.free_block(0x10000)
    w.bbrun(first, 1, [0x10008])
    w.bbrun(second, 1, [0x401100])
    return stream.getvalue()


def typed(data: bytes) -> tuple[list[datagrind.Record], datagrind.Reader, FormatError | None]:
    reader = datagrind.Reader(io.BytesIO(data), "t")
    records: list[datagrind.Record] = []
    try:
        for record in reader:
            records.append(record)
    except FormatError as error:
        return records, reader, error
    return records, reader, None


def accesses_of(records: list[datagrind.Record]) -> list[tuple[int, ...]]:
    """What the columns must be: (instr, address, ip, context, size, dir), fetches left out."""
    bbdefs = [r for r in records if isinstance(r, datagrind.BBDef)]
    contexts = [r for r in records if isinstance(r, datagrind.Context)]
    done = 0
    rows: list[tuple[int, ...]] = []
    for run in records:
        if not isinstance(run, datagrind.BBRun):
            continue
        block = bbdefs[contexts[run.context].bbdef]
        for address, (kind, size, instr) in zip(run.addresses, block.accesses, strict=False):
            if kind != datagrind.Dir.EXEC:
                rows.append((done + instr, address, block.instrs[instr].address, run.context, size, kind))
        done += run.n_instrs
    return rows


def bulk(
    path: Path, capacity: int = 1000
) -> tuple[list[tuple[int, ...]], datagrind.Trace, FormatError | None]:
    trace = datagrind.Trace(path)
    rows: list[tuple[int, ...]] = []
    try:
        for chunk in trace.chunks(datagrind.Accesses(capacity)):
            columns = (chunk.column(name) for name in ("instr", "address", "ip", "context", "size", "dir"))
            rows += list(zip(*columns, strict=True))
    except FormatError as error:
        assert trace.error is error
        return rows, trace, error
    return rows, trace, None


def agree(data: bytes, path: Path, capacity: int = 1000) -> None:
    """Both readers take the same from any bytes."""
    path.write_bytes(data)
    records, reader, error = typed(data)
    rows, trace, bulk_error = bulk(path, capacity)
    assert rows == accesses_of(records)
    assert trace.problems == reader.problems
    assert trace.n_problems == reader.n_problems
    assert (error is None) == (bulk_error is None)
    if error is not None and bulk_error is not None:
        assert (bulk_error.reason, bulk_error.offset) == (error.reason, error.offset)
    assert trace.raw.n_instrs == reader.n_instrs
    texts = [
        r for r in records if isinstance(r, (datagrind.TextAvma, datagrind.TrackRange, datagrind.StartEvent))
    ]
    assert [mark.record for mark in trace.marks()] == texts
    assert [trace.stack(n) for n in range(trace.raw.n_contexts)] == [
        r.stack for r in records if isinstance(r, datagrind.Context)
    ]


# ---- What is right ----


@pytest.mark.parametrize("word_size", [4, 8])
def test_what_is_written_is_read(word_size, tmp_path):
    data = small(word_size)
    records, reader, error = typed(data)
    assert error is None and reader.problems == []
    assert records[0] == datagrind.Header(word_size=word_size)
    again = io.BytesIO()
    writer = datagrind.Writer(again, word_size=word_size)
    for record in records[1:]:
        writer.write(record)
    assert again.getvalue() == data
    kinds = {type(record) for record in records}
    assert len(kinds) == 11
    agree(data, tmp_path / "f")


@pytest.mark.parametrize("capacity", [1, 2, 3, 7])
def test_columns_smaller_than_a_run(capacity, tmp_path):
    agree(small(), tmp_path / "f", capacity)


def test_the_first_bytes_are_the_manuals():
    data = small()
    assert data[:16] == HEADER
    at = data.index(b"/usr/bin/prog\0")
    assert data[at - 10 : at] == bytes([8, 22]) + (0x401000).to_bytes(8, "little")


def test_long_records_have_a_long_length(tmp_path):
    stream = io.BytesIO()
    writer = datagrind.Writer(stream)
    block = writer.bbdef([(0x1000 + n, 1) for n in range(255)], [(n % 2, 8, n) for n in range(255)])
    context = writer.context(block, range(1, 256))
    writer.bbrun(context, 255, range(1 << 20, (1 << 20) + 255))
    assert stream.getvalue()[16:18] == bytes([11, 255])
    agree(stream.getvalue(), tmp_path / "f", 100)


def test_code_addresses_for_several_threads(tmp_path):
    """As the viewer asks for them when one filter follows another."""
    with open(tmp_path / "f", "wb") as stream:
        w = datagrind.Writer(stream)
        for n in range(1000):
            w.context(w.bbdef([(1000 * n + i, 1) for i in range(100)], []), [1000 * n])
    trace = datagrind.Trace(tmp_path / "f", collect_ips=True)
    for _ in trace.chunks():
        pass
    expected = [1000 * n + i for n in range(1000) for i in range(100)]
    with ThreadPoolExecutor(4) as pool:
        assert all(one.result() == expected for one in [pool.submit(trace.ips) for _ in range(40)])


def test_fetches_come_before_the_accesses_of_their_instruction(tmp_path):
    (tmp_path / "f").write_bytes(small())
    with datagrind.Trace(tmp_path / "f", fetches=True) as trace:
        chunk = next(trace.chunks())
        rows = list(zip(chunk.column("instr"), chunk.column("address"), chunk.column("dir"), strict=True))
    assert rows[:6] == [
        (0, 0x401000, 2),
        (0, 0x10000, 0),
        (1, 0x401004, 2),
        (1, 0x7FFF0000, 1),
        (1, 0x20000, 0),
        (2, 0x401007, 2),
    ]
    # Where only part of the block was run, only that was fetched; what the tracer wrote is not doubled.
    assert rows[-3:] == [(15, 0x401000, 2), (15, 0x10008, 0), (16, 0x401100, 2)]


def test_history(tmp_path):
    (tmp_path / "f").write_bytes(small())
    _, trace, _ = bulk(tmp_path / "f")
    block = trace.block_at(0x10063, 14)
    assert block is not None and (block.address, block.size, block.begin, block.end) == (0x10000, 100, 0, 15)
    assert trace.allocation_stack(block) == (0x405000, 0x406000)
    assert trace.block_at(0x10064, 14) is None
    assert trace.block_at(0x10000, 16) is None
    marks = list(trace.marks())
    assert [(type(m.record).__name__, m.begin, m.end) for m in marks] == [
        ("TextAvma", 0, lib.IP_DG_NEVER),
        ("TrackRange", 0, 15),
        ("StartEvent", 0, 15),
    ]


def test_strings_are_cut_and_characters_are_not():
    stream = io.BytesIO()
    writer = datagrind.Writer(stream)
    writer.start_event("é" * 40)
    writer.start_event("x" + "é" * 40)
    writer.start_event(b"a\0b")
    labels = [r.label for r in typed(stream.getvalue())[0] if isinstance(r, datagrind.StartEvent)]
    assert labels == ["é".encode() * 32, b"x" + "é".encode() * 31, b"a"]


def test_the_writer_refuses_what_no_reader_takes():
    writer = datagrind.Writer(io.BytesIO())
    with pytest.raises(ValueError, match="0 instructions"):
        writer.bbdef([])
    with pytest.raises(ValueError, match="not there"):
        writer.bbdef([(1, 1)], [(0, 1, 1)])
    block = writer.bbdef([(1, 1)], [(0, 1, 0)])
    with pytest.raises(ValueError, match="no block 1"):
        writer.context(1, [1])
    with pytest.raises(ValueError, match="0 frames"):
        writer.context(block, [])
    context = writer.context(block, [1])
    with pytest.raises(ValueError, match="no context 5"):
        writer.bbrun(5, 1)
    with pytest.raises(ValueError, match="more addresses"):
        writer.bbrun(context, 1, [1, 2])


# ---- NumPy and Parquet ----


def test_numpy_and_parquet(tmp_path):
    np = pytest.importorskip("numpy")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "f"
    path.write_bytes(small() + bytes([12, 1, 0]))
    with pytest.raises(FormatError) as caught:
        datagrind.to_numpy(path)
    expected = accesses_of(typed(small())[0])
    partial = caught.value.partial
    assert isinstance(partial, dict)
    names = ("instr", "address", "ip", "context", "size", "dir")
    assert list(zip(*(partial[name].tolist() for name in names), strict=True)) == expected
    assert partial["address"].dtype == np.uint64
    with pytest.raises(FormatError):
        datagrind.to_parquet(path, tmp_path / "p")
    table = parquet.read_table(tmp_path / "p" / "accesses.parquet")
    assert [tuple(row[name] for name in names) for row in table.to_pylist()] == expected
    blocks = parquet.read_table(tmp_path / "p" / "blocks.parquet").to_pylist()
    assert blocks == [{"address": 0x10000, "size": 100, "begin": 0, "end": 15, "stack": [0x405000, 0x406000]}]
    contexts = parquet.read_table(tmp_path / "p" / "contexts.parquet").to_pylist()
    assert contexts[0] == {"context": 0, "bbdef": 0, "stack": [0x401000, 0x402000]}
    marks = parquet.read_table(tmp_path / "p" / "marks.parquet").to_pylist()
    assert [(m["kind"], m["name"]) for m in marks] == [
        ("text", b"/usr/bin/prog"),
        ("range", b"table"),
        ("event", b"phase"),
    ]


@pytest.mark.parametrize("module", ["numpy", "pyarrow"])
def test_without_the_extra_one_line_says_what_is_missing(module, tmp_path, monkeypatch):
    (tmp_path / "f").write_bytes(small())
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        InterposeError, match=r"is not installed; pip install 'interpose\[analysis\]' brings it"
    ):
        datagrind.to_numpy(tmp_path / "f") if module == "numpy" else datagrind.to_parquet(
            tmp_path / "f", tmp_path
        )


# ---- What is wrong ----


def word(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}Q", *values)


BLOCK = framed(11, bytes([1]) + word(1) + word(0x1000) + bytes([4]) + bytes([0, 8, 0]))
CONTEXT = framed(13, word(0) + bytes([1]) + word(0x1000))
RUN = framed(12, word(0) + bytes([1]) + word(0x5000))

DROPPED = {
    "unknown 1": (bytes([1, 0]), "Unknown record type 1"),
    "unknown 7": (bytes([7, 2, 0, 0]), "Unknown record type 7"),
    "unknown 200": (bytes([200, 0]), "Unknown record type 200"),
    "second header": (HEADER, "Second header"),
    "no instructions": (framed(11, bytes([0]) + word(0)), "Block without instructions"),
    "bad instruction": (
        framed(11, bytes([1]) + word(1) + word(0) + bytes([1]) + bytes([0, 8, 1])),
        "Access of instruction 1 in a block of 1",
    ),
    "no stack": (framed(13, word(0) + bytes([0])), "Context without a stack"),
    "context of no block": (framed(13, word(1) + bytes([1]) + word(0)), "Index 1 out of range, there are 1"),
    "run of no context": (framed(12, word(2**60) + bytes([1])), f"Index {2**60} out of range, there are 1"),
    "too many": (framed(12, word(0) + bytes([1]) + word(1, 2)), "2 addresses for 1 accesses"),
    "event": (framed(5, b"label"), "String without an end"),
    "range": (framed(3, word(1, 2) + b"type\0label"), "String without an end"),
    "range without a type": (framed(3, word(1, 2) + b"type"), "String without an end"),
    "text": (framed(8, word(1) + b"path"), "String without an end"),
    "not tracked": (framed(4, word(16, 2)), "Range 0x10 of 2 bytes is not tracked"),
}


@pytest.mark.parametrize("name", DROPPED)
def test_a_record_that_breaks_a_rule_is_dropped(name, tmp_path):
    record, reason = DROPPED[name]
    data = HEADER + BLOCK + CONTEXT + record + RUN
    records, reader, error = typed(data)
    assert error is None
    assert [type(r).__name__ for r in records] == ["Header", "BBDef", "Context", "BBRun"]
    assert reader.problems == [(len(HEADER + BLOCK + CONTEXT), reason)]
    agree(data, tmp_path / "f")


def test_a_dropped_block_shifts_the_numbers_behind_it(tmp_path):
    data = HEADER + DROPPED["no instructions"][0] + BLOCK + CONTEXT + RUN
    assert accesses_of(typed(data)[0]) == [(0, 0x5000, 0x1000, 0, 8, 0)]
    agree(data, tmp_path / "f")


TOO_LARGE = {
    "block": (framed(11, BLOCK[2:] + b"xy"), 21, 23),
    "context": (framed(13, CONTEXT[2:] + b"x"), 17, 18),
    "run": (framed(12, RUN[2:] + b"xyz"), 17, 20),
    "event": (framed(5, b"a\0b\0"), 2, 4),
    "malloc": (framed(9, word(1, 2, 1, 7) + b"x"), 32, 33),
    "free": (framed(10, word(1, 2)), 8, 16),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_a_record_that_is_too_large_takes_effect(name, tmp_path):
    record, expected, size = TOO_LARGE[name]
    data = HEADER + BLOCK + CONTEXT + record
    records, reader, error = typed(data)
    assert error is None and len(records) == 4
    assert [p.reason for p in reader.problems] == [
        f"Record is too large (expected {expected} but got {size})"
    ]
    agree(data, tmp_path / "f")


@pytest.mark.parametrize(
    "record",
    [
        framed(11, b""),
        framed(11, bytes([1]) + word(2**60) + word(0) + bytes([1])),
        framed(11, bytes([255]) + word(0)),
        framed(12, word(0)),
        framed(13, word(0) + bytes([3]) + word(1, 2)),
        framed(9, word(1, 2, 2**61)),
        framed(10, b"1234567"),
        framed(3, word(1)),
    ],
)
def test_a_record_that_is_too_short_ends_the_reading(record, tmp_path):
    data = HEADER + BLOCK + CONTEXT + RUN
    records, _, error = typed(data + record + RUN)
    assert error is not None and error.reason == "Record is too short" and error.offset == len(data)
    assert accesses_of(records) == [(0, 0x5000, 0x1000, 0, 8, 0)]
    agree(data + record + RUN, tmp_path / "f")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "No datagrind header"),
        (b"\x7fELF and more than sixteen", "No datagrind header"),
        (b"\0\x0d" + HEADER[2:15], "No datagrind header"),
        (HEADER[:9], "The file ends within a record"),
        (HEADER.replace(b"GRIND", b"grind"), "Bad signature"),
        (HEADER[:-1] + b"\x05", "Word size 5 is neither 4 nor 8"),
    ],
)
def test_what_is_no_trace(data, reason, tmp_path):
    _, _, error = typed(data)
    assert error is not None and error.reason == reason and error.offset == 0
    assert str(error) == f"t: at byte 0: {reason}"
    agree(data, tmp_path / "f")


def test_another_version_and_endianness_are_read(tmp_path):
    data = HEADER[:-3] + bytes([2, 1, 8]) + BLOCK + CONTEXT + RUN
    records, reader, error = typed(data)
    assert error is None and reader.header == datagrind.Header(2, 1, 8) and len(records) == 4
    assert [p.reason for p in reader.problems] == ["Version 2, not 1; trying to read it anyway"]
    agree(data, tmp_path / "f")


def test_cut_anywhere(tmp_path):
    data = small()
    for size in range(len(data)):
        agree(data[:size], tmp_path / "f")


@pytest.mark.parametrize("length", [1 << 25, 1 << 40, 1 << 60, (1 << 64) - 1])
def test_a_length_that_no_file_has_costs_nothing(length, tmp_path):
    data = small() + struct.pack("<BBQ", 12, 255, length) + bytes(100)
    tracemalloc.start()
    agree(data, tmp_path / "f")
    assert tracemalloc.get_traced_memory()[1] < 40 << 20
    tracemalloc.stop()


def test_a_record_of_megabytes_is_skipped(tmp_path):
    size = lib.IP_DG_LONGEST + 1
    with open(tmp_path / "f", "wb") as stream:
        stream.write(HEADER + BLOCK + CONTEXT + struct.pack("<BBQ", 12, 255, size))
        stream.seek(size, io.SEEK_CUR)
        stream.write(RUN)
    rows, trace, error = bulk(tmp_path / "f")
    assert error is None and rows == [(0, 0x5000, 0x1000, 0, 8, 0)]
    assert [p.reason for p in trace.problems] == [f"Record of {size} bytes"]
    assert datagrind.BBRun(0, 1, (0x5000,)) == list(datagrind.read(tmp_path / "f"))[-1]


def test_a_longer_record_than_the_buffer(tmp_path):
    """Five megabytes of addresses in one run."""
    count = 700_000
    block = framed(11, bytes([1]) + word(count) + word(0x1000) + bytes([4]) + bytes([0, 8, 0]) * count)
    run = framed(12, word(0) + bytes([1]) + word(*range(count)))
    (tmp_path / "f").write_bytes(HEADER + block + CONTEXT + run + run)
    for fetches in (False, True):
        with datagrind.Trace(tmp_path / "f", fetches=fetches) as trace:
            seen = [(chunk.count, chunk.column("address")[-1]) for chunk in trace.chunks()]
        assert sum(n for n, _ in seen) == 2 * (count + fetches)
        assert seen[-1][1] == count - 1


def test_problems_without_end_are_counted(tmp_path):
    agree(HEADER + bytes([200, 0]) * 5000 + BLOCK + CONTEXT + RUN, tmp_path / "f")


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_corpus(path, tmp_path):
    agree(path.read_bytes(), tmp_path / "f", 5)


@settings(max_examples=150)
@given(data=st.data())
def test_any_damage(data, tmp_path_factory):
    """A good trace with bytes changed, cut out, doubled or put in."""
    content = bytearray(small(data.draw(st.sampled_from([4, 8]))))
    rng = random.Random(data.draw(st.integers(0, 2**32)))
    for _ in range(data.draw(st.integers(1, 6))):
        at = rng.randrange(len(content))
        end = min(len(content), at + rng.randrange(1, 12))
        kind = data.draw(st.sampled_from(["set", "cut", "double", "insert"]))
        if kind == "set":
            content[at] = rng.choice([0, 1, 11, 12, 13, 127, 128, 254, 255, rng.randrange(256)])
        elif kind == "cut":
            del content[at:end]
        elif kind == "double":
            content[at:at] = content[at:end]
        else:
            content[at:at] = rng.randbytes(end - at)
        if not content:
            break
    agree(bytes(content), tmp_path_factory.getbasetemp() / "fuzz", rng.randrange(1, 9))


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 15) | st.sampled_from([128, 255]), st.binary(max_size=40)), max_size=20)
)
def test_any_records(tmp_path_factory, records):
    body = b"".join(framed(kind, payload) if kind < 128 else bytes([kind, 0]) for kind, payload in records)
    agree(HEADER + BLOCK + CONTEXT + body, tmp_path_factory.getbasetemp() / "fuzz")
