"""What the reader delivers, by the letter of the format."""

from __future__ import annotations

import gzip
import zipfile

import pytest
from formats.drmemtrace.entries import (
    MINIMAL,
    NOP,
    PC,
    RET,
    archive,
    encoding,
    end,
    entry,
    header,
    instr,
    marker,
    plain,
    prelude,
    trace,
)

from interpose.formats.drmemtrace.constants import FileType, MarkerId, Type
from interpose.formats.drmemtrace.errors import FormatError
from interpose.formats.drmemtrace.reader import Reader, read_header
from interpose.formats.drmemtrace.records import Data, Instr, Marker, ThreadExit


def read(path, data: bytes, **options):
    return list(Reader(plain(path / "t.trace", data), **options))


def test_minimal_trace(tmp_path):
    records = read(tmp_path, MINIMAL)
    assert [record.ordinal for record in records] == list(range(1, len(records) + 1))
    assert records[:7] == [
        Marker(1, 11, MarkerId.VERSION, 7),
        Marker(2, 11, MarkerId.FILETYPE, 0xE40),
        Marker(3, 11, MarkerId.CACHE_LINE_SIZE, 64),
        Marker(4, 11, MarkerId.CHUNK_INSTR_COUNT, 10_000_000),
        Marker(5, 11, MarkerId.PAGE_SIZE, 4096),
        Marker(6, 11, MarkerId.TIMESTAMP, 1000),
        Marker(7, 11, MarkerId.CPU_ID, 2),
    ]
    assert records[7:] == [Instr(8, 11, Type.INSTR, PC, 1, NOP, True, None), ThreadExit(9, 11)]


def test_what_the_header_says(tmp_path):
    reader = read_header(plain(tmp_path / "t", MINIMAL))
    assert (reader.version, reader.tid, reader.pid) == (7, 11, 10)
    assert (reader.filetype, reader.chunk_instr_count) == (FileType(0xE40), 10_000_000)
    assert (reader.cache_line_size, reader.page_size) == (64, 4096)


@pytest.mark.parametrize("version", range(2, 8))
def test_versions(tmp_path, version):
    coded = version >= 4
    filetype = FileType.ARCH_X86_64 | (FileType.ENCODINGS if coded else 0)
    kind = Type.INSTR_CONDITIONAL_JUMP if version < 5 else Type.INSTR_TAKEN_JUMP
    body = instr(PC, b"\x74\xfe", kind) if coded else entry(kind, 2, PC)
    data = header(version, filetype) + prelude() + body + entry(Type.READ, 4, 0x7000) + end()
    *_, jump, access, _ = read(tmp_path, data)
    assert jump == Instr(8, 11, kind, PC, 2, b"\x74\xfe" if coded else b"", coded, None)
    assert access == Data(9, 11, Type.READ, PC, 4, 0x7000)


@pytest.mark.parametrize("version", [0, 1, 8, 1 << 60])
def test_other_versions_are_refused(tmp_path, version):
    with pytest.raises(
        FormatError, match=rf"at byte 0: after record 0: version {version} \(2 to 7 can be read\)"
    ):
        read(tmp_path, header(version) + prelude() + end())


def test_encodings_are_remembered_and_change(tmp_path):
    body = [
        instr(PC),
        entry(Type.INSTR, 1, PC),
        instr(PC, b"\xcc"),
        entry(Type.INSTR, 1, PC),
        instr(PC),
        instr(PC),
    ]
    found = [record for record in read(tmp_path, trace(*body)) if isinstance(record, Instr)]
    assert [(record.encoding, record.is_new) for record in found] == [
        (NOP, True),
        (NOP, False),
        (b"\xcc", True),
        (b"\xcc", False),
        (NOP, True),
        (NOP, False),
    ]


def test_encoding_that_changed_on_another_way(tmp_path):
    """What came last after an instruction is not what its place has had since."""
    again = entry(Type.INSTR, 1, PC)
    body = [instr(PC + 8), instr(PC), instr(PC + 9), instr(PC, b"\xcc"), entry(Type.INSTR, 1, PC + 8), again]
    found = [record for record in read(tmp_path, trace(*body)) if isinstance(record, Instr)]
    assert [record.encoding for record in found] == [NOP, NOP, NOP, b"\xcc", NOP, b"\xcc"]


def test_long_encoding_is_two_entries(tmp_path):
    code = bytes(range(100, 115))
    *_, found, _ = read(tmp_path, trace(instr(PC, code)))
    assert (found.encoding, found.size) == (code, 15)


def test_targets_and_further_iterations(tmp_path):
    code = b"\xf3\xa4"
    body = [
        instr(PC, RET, Type.INSTR_RETURN, target=0x5000),
        instr(0x5000, code),
        entry(Type.READ, 1, 1),
        entry(Type.INSTR_NO_FETCH, 2, 0x5000),
        entry(Type.READ, 1, 2),
    ]
    *_, first, second, access, third, last, _ = read(tmp_path, trace(*body))
    assert (first.target, second.target) == (0x5000, None)
    assert third == Instr(third.ordinal, 11, Type.INSTR_NO_FETCH, 0x5000, 2, code, False, None)
    assert (access.addr, last.addr, last.pc) == (1, 2, 0x5000)


def test_instruction_without_size_gives_only_the_place(tmp_path):
    filtered = header(filetype=FileType.ARCH_X86_64 | FileType.DFILTERED | FileType.ENCODINGS)
    data = filtered + prelude() + entry(Type.INSTR, 0, 0x9000) + entry(Type.WRITE, 8, 0x10) + end()
    records = read(tmp_path, data)
    assert not [record for record in records if isinstance(record, Instr)]
    assert records[-2] == Data(8, 11, Type.WRITE, 0x9000, 8, 0x10)


def chunks(footer: int = 0, ordinal: int = 11) -> tuple[bytes, bytes]:
    first = header() + prelude(2) + instr(PC) + entry(Type.READ, 8, 16) + instr(PC + 1)
    first += marker(MarkerId.CHUNK_FOOTER, footer)
    second = (
        marker(MarkerId.RECORD_ORDINAL, ordinal)
        + marker(MarkerId.TIMESTAMP, 1000)
        + marker(MarkerId.CPU_ID, 2)
    )
    return first, second + instr(PC) + marker(MarkerId.TIMESTAMP, 2000) + marker(MarkerId.CPU_ID, 3) + end()


def test_chunks_read_like_one(tmp_path):
    whole = read(tmp_path, b"".join(chunks()), strict=True)
    assert list(Reader(archive(tmp_path / "t.zip", *chunks()), strict=True)) == whole
    assert list(Reader(archive(tmp_path / "s.zip", *chunks(), digits=4))) == whole
    assert [
        record.value for record in whole if isinstance(record, Marker) and record.id == MarkerId.TIMESTAMP
    ] == [
        1000,
        2000,
    ]
    again = [record for record in whole if isinstance(record, Instr)][-1]
    assert (again.pc, again.ordinal, again.is_new) == (PC, 12, False)


def test_a_chunk_by_itself(tmp_path):
    path = archive(tmp_path / "t.zip", *chunks())
    whole = list(Reader(path))
    head = read_header(path)
    first = list(Reader(path, first=0, count=1))
    second = list(Reader(path, header=head, first=1))
    assert first == whole[:11]
    assert [
        record._replace(is_new=False) if isinstance(record, Instr) else record for record in second
    ] == whole[11:]
    assert Reader(path, header=head, first=1).tid == 11


def test_components_count_in_the_archives_order(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as file:
        file.writestr("chunk.0001", chunks()[0])
        file.writestr("chunk.0000", chunks()[1])
    assert len(list(Reader(tmp_path / "t.zip", strict=True))) == 15


FAULTS = {
    "empty": (b"", "truncated: ends without a footer"),
    "no header": (MINIMAL[12:], "does not begin with a header: no drmemtrace trace"),
    "text": (b"#!/bin/sh\n" * 12, "does not begin with a header: no drmemtrace trace"),
    "two headers": (header() + header(), "a second header"),
    "second in the header": (header()[:12] * 2, "a second header"),
    "instruction in the header": (
        header()[:36] + instr(PC),
        "ENCODING between the header and the process number",
    ),
    "no thread": (header(tid=0), "the header names no thread or no process"),
    "no process": (header(pid=0), "the header names no thread or no process"),
    "many markers": (header()[:12] + marker(MarkerId.FILETYPE) * 1000, "too many markers in the header"),
    "unknown type": (trace(entry(51)), "unknown type 51"),
    "invalid type": (trace(entry(Type.INVALID)), "unknown type 50"),
    "large type": (trace(entry(0xFFFF)), "unknown type 65535"),
    "bundle": (trace(entry(Type.INSTR_BUNDLE)), "number 17 belongs to raw or online traces"),
    "split value": (trace(marker(MarkerId.SPLIT_VALUE)), "number 8 belongs to raw or online traces"),
    "long encoding": (trace(entry(Type.ENCODING, 9)), "an encoding of 9 bytes in all"),
    "empty encoding": (trace(entry(Type.ENCODING, 0)), "an encoding of 0 bytes in all"),
    "many encodings": (trace(entry(Type.ENCODING, 8) * 2), "an encoding of 16 bytes in all"),
    "lost encoding": (
        trace(encoding(NOP), entry(Type.READ)),
        "an encoding is followed by READ, not by its instruction",
    ),
    "other size": (
        trace(encoding(NOP), entry(Type.INSTR, 2, PC)),
        r"the instruction's size is not that of its encoding \(1 bytes\)",
    ),
    "other size later": (trace(instr(PC), entry(Type.INSTR, 2, PC)), "the instruction's size is not that"),
    "no encoding": (trace(entry(Type.INSTR, 1, PC)), "no encoding for the instruction at 0x401000"),
    "long instruction": (trace(entry(Type.INSTR, 16, PC)), "an instruction of 16 bytes"),
    "behind the footer": (MINIMAL + entry(Type.READ), "READ behind the footer"),
    "no footer": (MINIMAL[:-12], "truncated: ends without a footer"),
    "chunk is missing": (chunks()[0], "truncated: ends without a footer"),
    "part of an entry": (MINIMAL[:-5], "truncated: 7 bytes that are no entry"),
    "ordinal": (b"".join(chunks(ordinal=10)), "RECORD_ORDINAL says 10"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_told_with_their_place(tmp_path, name):
    data, reason = FAULTS[name]
    path = plain(tmp_path / "bad.trace", data)
    got = []
    with pytest.raises(FormatError, match=reason) as caught:
        got.extend(Reader(path, strict=True))
    error = caught.value
    assert str(error).startswith(f"{path}: at byte {error.offset}: after record {error.ordinal}: ")
    assert "\n" not in str(error)
    assert error.offset % 12 == 0 and error.offset <= len(data)


def test_what_was_read_so_far_is_kept(tmp_path):
    got = []
    with pytest.raises(FormatError) as caught:
        got.extend(Reader(plain(tmp_path / "t", trace(instr(PC), entry(99)))))
    assert got[-1] == Instr(8, 11, Type.INSTR, PC, 1, NOP, True, None)
    assert (caught.value.ordinal, caught.value.offset) == (8, 12 * 12)


def test_encodings_are_bounded(tmp_path):
    body = [instr(PC + number) for number in range(100)]
    with pytest.raises(FormatError, match="more than 50 different encodings") as caught:
        read(tmp_path, trace(*body), most_codes=50)
    assert caught.value.ordinal == 57


def test_many_encodings_of_one_place_and_many_places(tmp_path):
    body = [instr(PC + number % 7000, number.to_bytes(3, "little") + b"\x90") for number in range(20000)]
    found = [record for record in read(tmp_path, trace(*body)) if isinstance(record, Instr)]
    assert [int.from_bytes(record.encoding[:3], "little") for record in found] == list(range(20000))


def test_threads_of_a_trace_by_cores(tmp_path):
    body = [instr(PC), entry(Type.THREAD, 4, 77), entry(Type.PID, 4, 70), instr(PC + 1)]
    *_, first, second, _ = read(tmp_path, trace(*body))
    assert (first.tid, second.tid) == (11, 77)


def test_unknown_marker_keeps_its_number(tmp_path):
    assert read(tmp_path, trace(instr(PC), marker(77, 5)))[-2] == Marker(9, 11, 77, 5)


def test_error_survives_pickling(tmp_path):
    import pickle

    with pytest.raises(FormatError) as caught:
        list(Reader(plain(tmp_path / "t", b"")))
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.offset, again.ordinal) == (str(caught.value), 0, 0)


def test_missing_file(tmp_path):
    for name in ("t.trace", "t.zip", "t.gz", "t.lz4"):
        with pytest.raises(FormatError, match="No such file or directory"):
            list(Reader(tmp_path / name))


def test_gzip_of_several_members(tmp_path):
    first, second = chunks()
    path = plain(tmp_path / "t.gz", gzip.compress(first) + gzip.compress(second) + bytes(8))
    assert len(list(Reader(path, strict=True))) == 15
