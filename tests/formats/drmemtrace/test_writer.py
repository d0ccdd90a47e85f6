"""What is written is what a reader delivers, in chunks that stand by themselves."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import zipfile

import pytest
from formats.drmemtrace.entries import NOP, PC, RET
from hypothesis import given, settings
from hypothesis import strategies as st

from interpose.formats.drmemtrace.constants import FILE_TYPE, INDIRECT_BRANCHES, INSTRUCTIONS, MarkerId, Type
from interpose.formats.drmemtrace.containers import Source
from interpose.formats.drmemtrace.errors import WriteError
from interpose.formats.drmemtrace.reader import Reader, read_header
from interpose.formats.drmemtrace.records import Data, Instr, Marker, ThreadExit
from interpose.formats.drmemtrace.writer import ITEM, Writer

WORD = st.integers(0, 2**64 - 1)
OWN = {
    MarkerId.VERSION,
    MarkerId.FILETYPE,
    MarkerId.CACHE_LINE_SIZE,
    MarkerId.PAGE_SIZE,
    MarkerId.CHUNK_INSTR_COUNT,
    MarkerId.CHUNK_FOOTER,
    MarkerId.RECORD_ORDINAL,
    MarkerId.BRANCH_TARGET,
    MarkerId.RESERVED_END,
    MarkerId.SPLIT_VALUE,
    MarkerId.MIDBLOCK_END_PC,
    MarkerId.KERNEL_EVENT_RAW,
}
PCS = st.integers(0x400000, 0x400010)
EVENTS = st.one_of(
    st.tuples(
        st.just("instr"), PCS, st.sampled_from(sorted(INSTRUCTIONS)), st.binary(min_size=1, max_size=15), WORD
    ),
    st.tuples(
        st.just("data"),
        st.sampled_from([Type.READ, Type.WRITE, Type.PREFETCH_WRITE_L3_NT, Type.DATA_FLUSH]),
        st.integers(0, 0xFFFF),
        WORD,
    ),
    st.tuples(st.just("marker"), st.sampled_from(sorted(set(MarkerId) - OWN)), WORD),
    st.tuples(st.just("no_fetch")),
)


def write(writer: Writer, events) -> list[object]:
    """Write events; what a reader delivers of them."""
    expected: list[object] = []
    pc, code = 0, b""
    for kind, *words in events:
        if kind == "instr":
            pc, number, code, target = words
            writer.instr(pc, len(code), number, code, target)
            seen = target or None if number in INDIRECT_BRANCHES else None
            expected.append((number, pc, len(code), code, seen))
        elif kind == "data":
            writer.data(*words)
            expected.append((*words, pc))
        elif kind == "marker":
            writer.marker(*words)
            expected.append(tuple(words))
        elif pc:
            writer.no_fetch(pc, len(code))
            expected.append((Type.INSTR_NO_FETCH, pc, len(code), code, None))
    return expected


def delivered(record) -> object:
    if isinstance(record, Instr):
        return (record.kind, record.pc, record.size, record.encoding, record.target)
    if isinstance(record, Data):
        return (record.kind, record.size, record.addr, record.pc)
    return (record.id, record.value)


def body(records) -> list[object]:
    """Without header, footers of chunks and end."""
    assert isinstance(records[-1], ThreadExit)
    return [
        delivered(record) for record in records[:-1] if not (isinstance(record, Marker) and record.id in OWN)
    ]


@settings(max_examples=150, deadline=None)
@given(st.lists(EVENTS, max_size=60), st.integers(1, 12), st.sampled_from(["zip", "gz", "trace"]))
def test_round_trip(tmp_path_factory, events, chunk, form):
    path = tmp_path_factory.mktemp("w") / f"t.{form}"
    with Writer(path, tid=3, pid=2, chunk_instr_count=chunk) as writer:
        expected = write(writer, events)
        written = writer.records
    reader = Reader(path, strict=True)
    records = list(reader)
    assert body(records) == expected
    assert reader.records == len(records) == written + 1
    check_chunks(records, chunk)
    if form == "zip":
        assert len(reader.source.names) == 1 + sum(
            isinstance(record, Marker) and record.id == MarkerId.CHUNK_FOOTER for record in records
        )
        check_pieces(path, records)


def check_chunks(records, chunk: int) -> None:
    """Each chunk has its number of instructions, and no data or marker of another's."""
    count, footers = 0, 0
    for record, following in itertools.pairwise(records):
        if isinstance(record, Instr) and record.kind != Type.INSTR_NO_FETCH:
            count += 1
        elif isinstance(record, Marker) and record.id == MarkerId.CHUNK_FOOTER:
            assert (count, record.value) == (chunk, footers)
            assert isinstance(following, Instr) and following.kind != Type.INSTR_NO_FETCH
            count, footers = 0, footers + 1
    assert count <= chunk


def check_pieces(path, records) -> None:
    """Chunks read one by one are the whole."""
    head = read_header(path)
    pieces = [list(Reader(path, header=head, first=n, count=1)) for n in range(len(Source(path).names))]
    joined = [record for piece in pieces for record in piece]
    assert [getattr(record, "ordinal") for record in joined] == list(range(1, len(records) + 1))  # noqa: B009
    assert body(joined) == body(records)


def test_items_are_the_same_as_calls(tmp_path):
    events = [
        ("instr", PC, Type.INSTR, NOP, 0),
        ("data", Type.WRITE, 8, 0x7000),
        ("marker", MarkerId.TIMESTAMP, 5),
        ("instr", PC + 1, Type.INSTR_RETURN, RET, PC),
        ("no_fetch",),
    ] * 3
    with Writer(tmp_path / "calls", tid=3, pid=2, chunk_instr_count=2) as writer:
        write(writer, events)
    packed = b"".join(
        [
            ITEM.pack(Type.INSTR, 1, NOP, PC, 0),
            ITEM.pack(Type.WRITE, 8, b"", 0x7000, 0),
            ITEM.pack(Type.MARKER, MarkerId.TIMESTAMP, b"", 5, 0),
            ITEM.pack(Type.INSTR_RETURN, 1, RET, PC + 1, PC),
            ITEM.pack(Type.INSTR_NO_FETCH, 1, b"", PC + 1, 0),
        ]
    )
    with Writer(tmp_path / "items", tid=3, pid=2, chunk_instr_count=2) as writer:
        writer.items(packed * 3)
        with pytest.raises(ValueError, match="no whole number"):
            writer.items(packed[:-1])
    assert (tmp_path / "calls").read_bytes() == (tmp_path / "items").read_bytes()


def test_many_records_and_places(tmp_path):
    """More than a buffer, and more places than the first table has."""
    count = 100_000
    packed = b"".join(
        ITEM.pack(Type.INSTR, 4, (n * 7919 % 2**32).to_bytes(4, "little"), PC + n % 30_000 * 4, 0)
        for n in range(count)
    )
    with Writer(tmp_path / "t.zip", tid=3, pid=2, chunk_instr_count=40_000, level=1) as writer:
        writer.items(packed)
    found = [record for record in Reader(tmp_path / "t.zip", strict=True) if isinstance(record, Instr)]
    assert len(found) == count
    assert all(
        int.from_bytes(record.encoding, "little") == n * 7919 % 2**32 for n, record in enumerate(found)
    )


def test_archive_is_one_for_others(tmp_path):
    with Writer(tmp_path / "t.zip", tid=3, pid=2, chunk_instr_count=2) as writer:
        for n in range(5):
            writer.instr(PC + n, 1, encoding=NOP)
    with zipfile.ZipFile(tmp_path / "t.zip") as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["chunk.00000000", "chunk.00000001", "chunk.00000002"]
    with Writer(tmp_path / "t.gz", tid=3, pid=2) as writer:
        writer.instr(PC, 1, encoding=NOP)
    assert subprocess.run(["gzip", "-t", tmp_path / "t.gz"]).returncode == 0


def test_beginning_of_the_file(tmp_path):
    with Writer(tmp_path / "t", tid=3, pid=2, chunk_instr_count=7) as writer:
        writer.timestamp(9)
        writer.cpu(-1)
    records = list(Reader(tmp_path / "t"))
    assert [(int(record.id), record.value) for record in records[:-1]] == [
        (12, 7),
        (9, FILE_TYPE),
        (10, 64),
        (20, 7),
        (18, 4096),
        (2, 9),
        (3, 2**64 - 1),
    ]


def test_what_no_trace_can_have(tmp_path):
    writer = Writer(tmp_path / "t", tid=3, pid=2)
    for call in (
        lambda: writer.instr(PC, 1),
        lambda: writer.instr(PC, 2, encoding=NOP),
        lambda: writer.instr(PC, 0, encoding=b""),
        lambda: writer.instr(PC, 16, encoding=bytes(16)),
        lambda: writer.instr(PC, 1, Type.READ, NOP),
        lambda: writer.instr(PC, 1, Type.INSTR_NO_FETCH, NOP),
        lambda: writer.data(Type.INSTR, 1, 0),
        lambda: writer.data(Type.READ, 0x10000, 0),
        lambda: writer.no_fetch(PC, 16),
        lambda: writer.marker(MarkerId.CHUNK_FOOTER, 0),
        lambda: writer.marker(100, 0),
    ):
        with pytest.raises(ValueError):
            call()
    writer.instr(PC, 1, encoding=NOP)
    writer.close()
    writer.close()
    assert body(list(Reader(tmp_path / "t"))) == [(Type.INSTR, PC, 1, NOP, None)]
    with pytest.raises(ValueError, match="ended"):
        writer.instr(PC, 1, encoding=NOP)


FULL = """\
import random, resource, sys
from interpose.formats.drmemtrace.constants import Type
from interpose.formats.drmemtrace.errors import WriteError
from interpose.formats.drmemtrace.writer import ITEM, Writer
path, limit, chunk = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
rng = random.Random(1)
writer = Writer(path, tid=3, pid=2, chunk_instr_count=chunk, level=1)
block = b"".join(
    ITEM.pack(Type.INSTR, 4, rng.randbytes(4), 0x400000 + n * 4, 0)
    + ITEM.pack(Type.READ, 8, b"", rng.getrandbits(64), 0)
    for n in range(20000)
)
try:
    for _ in range(1000):
        writer.items(block)
except WriteError as error:
    print(error.kept, error)
    sys.exit(7)
"""


@pytest.mark.parametrize("form", ["zip", "gz", "trace"])
@pytest.mark.parametrize("chunk", [3000, 10_000_000])
def test_file_that_can_take_no_more_is_valid_up_to_there(tmp_path, form, chunk):
    path, limit = tmp_path / f"t.{form}", 2_000_000
    done = subprocess.run(
        [sys.executable, "-c", FULL, path, str(limit), str(chunk)], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (7, "")
    assert done.stdout == f"True {path}: File too large; the trace ends early\n"
    records = list(Reader(path, strict=True))
    assert limit // 4 < path.stat().st_size <= limit
    assert isinstance(records[-1], ThreadExit) and isinstance(records[-2], Data)
    check_chunks(records, chunk)
    if form == "zip":
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None


def test_no_room_at_all(tmp_path):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    with pytest.raises(WriteError, match="No space left on device; the file is not usable"):  # noqa: SIM117
        with Writer("/dev/full", tid=3, pid=2) as writer:
            writer.instr(PC, 1, encoding=NOP)
    with pytest.raises(WriteError, match="No such file or directory"):
        Writer(tmp_path / "none" / "t", tid=3, pid=2)
