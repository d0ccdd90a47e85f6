"""Archives and streams, whole, damaged and hostile."""

from __future__ import annotations

import gzip
import io
import struct
import tracemalloc
import zipfile
import zlib

import pytest
from formats.drmemtrace.entries import MINIMAL, PC, archive, entry, header, instr, plain, prelude, trace
from formats.drmemtrace.test_reader import chunks

from interpose.formats.drmemtrace.constants import Type
from interpose.formats.drmemtrace.errors import FormatError
from interpose.formats.drmemtrace.reader import Reader
from interpose.jit._native import lib

LONG = trace(*[instr(PC + n % 100, struct.pack("<I", n * 2654435761 % 2**32)) for n in range(20000)])


def lz4_of(data: bytes) -> bytes:
    return pytest.importorskip("lz4.frame").compress(data)


def snappy_of(data: bytes, *, plain_chunks: bool = False) -> bytes:
    codec = pytest.importorskip("pyarrow").Codec("snappy")
    out = b"\xff\6\0\0sNaPpY"
    for at in range(0, len(data), 1 << 16):
        piece = data[at : at + (1 << 16)]
        sum_ = lib.ip_mt_crc32c(piece, len(piece))
        masked = ((sum_ >> 15 | sum_ << 17) + 0xA282EAD8) & 0xFFFFFFFF
        body = struct.pack("<I", masked) + (piece if plain_chunks else codec.compress(piece, asbytes=True))
        out += struct.pack("<I", len(body) << 8 | plain_chunks) + body
    return out


FORMS = {"zip": None, "gz": gzip.compress, "lz4": lz4_of, "sz": snappy_of, "trace": bytes}


def write(path, form: str, data: bytes):
    if form == "zip":
        return archive(path / "t.zip", data)
    return plain(path / f"t.{form}", FORMS[form](data))


@pytest.mark.parametrize("form", FORMS)
def test_forms_hold_the_same(tmp_path, form):
    expected = list(Reader(plain(tmp_path / "plain", LONG)))
    assert len(expected) == 20008
    assert list(Reader(write(tmp_path, form, LONG))) == expected


def test_gzip_is_known_by_its_content(tmp_path):
    assert len(list(Reader(plain(tmp_path / "t.trace", gzip.compress(MINIMAL))))) == 9
    assert len(list(Reader(plain(tmp_path / "t.gz", MINIMAL)))) == 9


def test_stored_members(tmp_path):
    assert len(list(Reader(archive(tmp_path / "t.zip", *chunks(), method=zipfile.ZIP_STORED)))) == 15


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("part", [0.3, 0.99])
def test_truncated_files_give_what_they_have(tmp_path, form, part):
    path = write(tmp_path, form, LONG)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * part)])
    got = []
    with pytest.raises(FormatError, match="truncated"):
        got.extend(Reader(path))
    assert len(got) > 20000 * part * 0.8
    assert got == list(Reader(plain(tmp_path / "plain", LONG)))[: len(got)]


@pytest.mark.parametrize("form", ["zip", "gz", "lz4", "sz"])
def test_damaged_data(tmp_path, form):
    path = write(tmp_path, form, LONG)
    data = bytearray(path.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 200] = bytes(200)
    path.write_bytes(data)
    with pytest.raises(FormatError):
        list(Reader(path))


def test_wrong_checksum(tmp_path):
    path = archive(tmp_path / "t.zip", MINIMAL, method=zipfile.ZIP_STORED)
    data = path.read_bytes()
    at = data.index(entry(Type.INSTR, 1, PC))
    path.write_bytes(data[: at + 4] + b"\x01" + data[at + 5 :])
    with pytest.raises(FormatError, match="the checksum is wrong"):
        list(Reader(path))


def test_archive_without_its_directory(tmp_path):
    """The writer was killed: the members are read from the front."""
    path = archive(tmp_path / "t.zip", *chunks())
    whole = list(Reader(path))
    data = path.read_bytes()
    path.write_bytes(data[: data.index(b"PK\1\2")])
    got = []
    with pytest.raises(FormatError, match="truncated or damaged archive"):
        got.extend(Reader(path))
    assert got == whole


def test_archive_without_its_directory_from_a_stream(tmp_path):
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def seek(self, *_: object) -> int:
            raise io.UnsupportedOperation

        tell = seek

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as file:
        for number, chunk in enumerate(chunks()):
            with file.open(f"chunk.{number:04d}", "w") as member:
                member.write(chunk)
    data = pipe.getvalue()
    assert len(list(Reader(plain(tmp_path / "whole.zip", data)))) == 15
    got = []
    with pytest.raises(FormatError, match="truncated or damaged archive"):
        got.extend(Reader(plain(tmp_path / "t.zip", data[: data.index(b"PK\1\2")])))
    assert len(got) == 15


@pytest.mark.parametrize("directory", [True, False])
def test_hostile_names_stay_in_one_line(tmp_path, directory):
    with zipfile.ZipFile(tmp_path / "t.zip", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a\n\x1b[31m" + "x" * 1000, b"no trace at all")
    if not directory:
        data = (tmp_path / "t.zip").read_bytes()
        (tmp_path / "t.zip").write_bytes(data[: data.index(b"PK\1\2")])
    with pytest.raises(FormatError) as caught:
        list(Reader(tmp_path / "t.zip"))
    assert caught.value.component == "a??[31m" + "x" * 57


def test_component_that_ends_early(tmp_path):
    first, second = chunks()
    got = []
    with pytest.raises(FormatError, match=r"chunk\.00000000.*truncated: ends without a footer"):
        got.extend(Reader(archive(tmp_path / "t.zip", first[:-12], second)))
    assert len(got) == 10


def test_empty_archive(tmp_path):
    with pytest.raises(FormatError, match="the archive is empty"):
        list(Reader(archive(tmp_path / "t.zip")))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_methods(tmp_path, method):
    with pytest.raises(FormatError, match="compression method"):
        list(Reader(archive(tmp_path / "t.zip", MINIMAL, method=method)))


def test_other_chunks_of_snappy(tmp_path):
    """Those that may be skipped are, others are not; plain data; streams one behind the other."""
    half = len(LONG) // 2
    data = snappy_of(LONG[:half]) + b"\xfe\3\0\0pad" + snappy_of(LONG[half:], plain_chunks=True)
    assert len(list(Reader(plain(tmp_path / "t.sz", data)))) == 20008
    for bad in (snappy_of(LONG) + b"\2\0\0\0", snappy_of(LONG)[10:], b"\xff\6\0\0sNaPpy", b"no snappy"):
        with pytest.raises(FormatError, match="damaged"):
            list(Reader(plain(tmp_path / "t.sz", bad)))


def test_checksums_of_snappy(tmp_path):
    assert lib.ip_mt_crc32c(b"123456789", 9) == 0xE3069283
    data = bytearray(snappy_of(LONG, plain_chunks=True))
    data[100] ^= 1
    with pytest.raises(FormatError, match="the checksum is wrong"):
        list(Reader(plain(tmp_path / "t.sz", bytes(data))))


def test_bytes_lost_in_the_middle(tmp_path):
    """The directory leads to before the beginning: the file is read from the front as far as it goes."""
    data = archive(tmp_path / "t.zip", *chunks()).read_bytes()
    second = data.index(b"PK\3\4", 1)
    got = []
    with pytest.raises(FormatError):
        got.extend(Reader(plain(tmp_path / "cut.zip", data[: second + 60] + data[second + 90 :])))
    assert len(got) >= 10


def test_overlapping_members(tmp_path):
    """An archive that names one member many times would make much of little."""
    path = archive(tmp_path / "t.zip", LONG)
    data = path.read_bytes()
    at, tail = data.index(b"PK\1\2"), data.index(b"PK\5\6")
    directory = data[at:tail] * 5
    ending = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 5, 5, len(directory), at, 0)
    path.write_bytes(data[:at] + directory + ending)
    with pytest.raises(FormatError, match="overlap"):
        Reader(path)


@pytest.mark.parametrize("form", ["zip", "gz"])
def test_bombs_take_no_memory(tmp_path, form):
    """A hundred megabytes in a hundred kilobytes."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31 if form == "gz" else -15)
    start = header() + prelude() + instr(PC)
    block = entry(Type.READ, 8, 0x7000) * 100_000
    raw, crc, size = b"", 0, 0
    for piece in [start, *[block] * 83, bytes([255]) * 12]:
        raw += packer.compress(piece)
        crc = zlib.crc32(piece, crc)
        size += len(piece)
    raw += packer.flush()
    if form == "zip":
        name = b"chunk.0"
        fields = (crc, len(raw), size, len(name), 0)
        local = struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 20, 0, 8, 0, 33, *fields) + name
        central = (
            struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", 20, 20, 0, 8, 0, 33, *fields, 0, 0, 0, 0, 0) + name
        )
        tail = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 1, 1, len(central), len(local) + len(raw), 0)
        raw = local + raw + central + tail
    path = plain(tmp_path / f"t.{form}", raw)
    assert len(raw) < 200_000
    reader = Reader(path)
    tracemalloc.start()
    count = 0
    with pytest.raises(FormatError, match="unknown type 65535"):
        for blocks in reader.blocks():
            count += len(blocks) // 32
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 8_300_008
    assert peak < 20 << 20
