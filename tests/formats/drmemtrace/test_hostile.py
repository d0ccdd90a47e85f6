"""Whatever a file holds: records, then an end or one clear line, in bounded time and memory."""

from __future__ import annotations

import gzip
import random
import zlib
from pathlib import Path

import pytest
from formats.drmemtrace.entries import MINIMAL, PC, RET, archive, entry, instr, marker, plain, trace
from formats.drmemtrace.test_reader import chunks
from hypothesis import example, given, settings
from hypothesis import strategies as st

from interpose.formats.drmemtrace.constants import MarkerId, Type
from interpose.formats.drmemtrace.errors import FormatError
from interpose.formats.drmemtrace.reader import Reader

CORPUS = Path(__file__).parent / "corpus"
BUSY = trace(
    instr(PC, bytes(range(12))),
    entry(Type.READ, 8, 1),
    entry(Type.INSTR_NO_FETCH, 12, PC),
    instr(PC + 12, RET, Type.INSTR_RETURN, target=PC),
    marker(MarkerId.SYSCALL, 3),
    *[instr(PC + n) for n in range(30)],
)


def exercise(path: Path) -> tuple[int, str]:
    """Number of records, and the error's text."""
    got = []
    try:
        got.extend(Reader(path))
    except FormatError as error:
        text = str(error)
        assert text.startswith(str(path)) and "\n" not in text
        # In front of the place there is nothing but whole records, all of which were delivered.
        assert error.ordinal is None or error.ordinal >= len(got)
        return len(got), text
    assert [record.ordinal for record in got] == list(range(1, len(got) + 1))
    return len(got), ""


ENTRIES = st.lists(
    st.tuples(
        st.one_of(st.sampled_from(sorted(Type)), st.integers(0, 0xFFFF)),
        st.one_of(st.integers(0, 46), st.integers(0, 0xFFFF)),
        st.one_of(st.sampled_from([0, 1, 7, PC, 1 << 60, 2**64 - 1]), st.integers(0, 2**64 - 1)),
    ),
    max_size=40,
)


@settings(max_examples=200, deadline=None)
@given(ENTRIES, st.booleans())
@example([(Type.MARKER, MarkerId.CHUNK_INSTR_COUNT, 1 << 60)], True)
@example([(Type.MARKER, MarkerId.RECORD_ORDINAL, 1 << 60)], True)
def test_any_entries(tmp_path_factory, entries, headed):
    data = b"".join(entry(*fields) for fields in entries)
    exercise(plain(tmp_path_factory.mktemp("f") / "t", trace(data) if headed else data))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_changed_bytes_of_any_form(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("f")
    form = data.draw(st.sampled_from(["t.trace", "t.gz", "t.zip"]))
    if form == "t.zip":
        archive(folder / form, *chunks())
        raw = bytearray((folder / form).read_bytes())
    else:
        raw = bytearray(gzip.compress(BUSY) if form == "t.gz" else BUSY)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at] = data.draw(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]) | st.integers(0, 255))
    del raw[data.draw(st.integers(0, len(raw)) | st.just(len(raw))) :]
    exercise(plain(folder / form, bytes(raw)))


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=400), st.sampled_from(["t", "t.zip", "t.gz", "t.lz4", "t.sz"]))
def test_any_bytes(tmp_path_factory, data, name):
    if name == "t.lz4":
        pytest.importorskip("lz4.frame")
    exercise(plain(tmp_path_factory.mktemp("f") / name, data))


def corpus() -> dict[str, tuple[str, bytes]]:
    """Names, what is said of the file, and its bytes."""
    rng = random.Random(8)
    packed = gzip.compress(BUSY, mtime=0)
    return {
        "empty.trace": ("without a footer", b""),
        "noise.trace": ("no drmemtrace trace", rng.randbytes(240)),
        "half.gz": ("truncated", packed[: len(packed) // 2]),
        "flipped.gz": ("damaged", packed[:60] + bytes([packed[60] ^ 0x55]) + packed[61:]),
        "count.trace": ("", trace(instr(PC), chunk_instrs=1 << 60)),
        "ordinal.trace": ("", trace(instr(PC), marker(MarkerId.RECORD_ORDINAL, 1 << 60))),
        "sizes.trace": ("", trace(instr(PC), *[entry(Type.READ, 0xFFFF, 2**64 - 1)] * 9)),
        "encoding.trace": ("an encoding of 65535 bytes", trace(entry(Type.ENCODING, 0xFFFF))),
        "future.trace": ("version 255", bytes(MINIMAL).replace(entry(25, 0, 7), entry(25, 0, 255))),
        "raw-deflate.zip": ("truncated or damaged archive", zlib.compress(BUSY)),
    }


@pytest.mark.parametrize("path", sorted(CORPUS.iterdir()), ids=lambda path: path.name)
def test_corpus(path):
    said = corpus()[path.name][0]
    count, error = exercise(path)
    assert said in error and bool(said) == bool(error)
    assert count or said


def test_corpus_is_all_there():
    assert {path.name for path in CORPUS.iterdir()} == set(corpus())
