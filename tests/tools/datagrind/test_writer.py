"""The file is a sequence of whole records wherever chunks end, and however the program does."""

from __future__ import annotations

import io
import os
import shutil
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from interpose.formats import datagrind
from interpose.formats.datagrind.records import framed
from interpose.jit._native import lib
from interpose.tools.datagrind.writer import HEADER, OutputFile, record

BLOCK = framed(10, (7).to_bytes(8, "little"))


class Program:
    """What the program does with the memory that it shares."""

    def __init__(self, out: OutputFile) -> None:
        self.out = out
        self.fd = os.memfd_create("chunks")
        os.ftruncate(self.fd, lib.DG_SHARED)
        assert out.attach(os.dup(self.fd))

    def put(self, at: int, data: bytes) -> None:
        os.pwrite(self.fd, data, at)

    def taken(self) -> bytes:
        """All mail that there is."""
        put, taken = struct.unpack("<QQ", os.pread(self.fd, 16, lib.DG_MAILBOX))
        ring = os.pread(self.fd, lib.DG_MAIL, lib.DG_MAILBOX + lib.DG_MAIL_HEAD)
        os.pwrite(self.fd, struct.pack("<Q", put), lib.DG_MAILBOX + 8)
        return bytes(ring[i % lib.DG_MAIL] for i in range(taken, put))


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def out(tmp_path: Path, said: list[str]) -> OutputFile:
    return OutputFile(str(tmp_path / "f"), said.append)


@pytest.fixture
def program(out: OutputFile) -> Iterator[Program]:
    made = Program(out)
    yield made
    os.close(made.fd)


def blocks(path: str) -> int:
    reader = datagrind.Reader(io.BytesIO(Path(path).read_bytes()))
    found = list(reader)
    assert reader.problems == []
    return sum(isinstance(one, datagrind.FreeBlock) for one in found)


def test_chunks_and_the_last_one_of_any_size(out: OutputFile, program: Program) -> None:
    data = HEADER + BLOCK * (2 * lib.DG_CHUNK // len(BLOCK) + 100)
    count = 0
    for number in range(3):
        part = data[number * lib.DG_CHUNK : (number + 1) * lib.DG_CHUNK]
        program.put(number * lib.DG_CHUNK, part)
        whole = (number * lib.DG_CHUNK + len(part) - len(HEADER)) // len(BLOCK) * len(BLOCK)
        out.chunk(number, len(part), whole + len(HEADER) - number * lib.DG_CHUNK)
        count = whole // len(BLOCK)
    out.close()
    assert Path(out.path).read_bytes() == data
    assert blocks(out.path) == count


def test_two_chunks_are_free_for_the_program(out: OutputFile, program: Program) -> None:
    """The one that it fills, and the next one: records go beyond a chunk's end before it is handed over."""
    written = threading.Event()
    write = out._sink.write

    def slowly(view: memoryview) -> None:
        written.wait(20)
        write(view)

    out._sink.write = slowly  # type: ignore[method-assign]
    answered: list[int] = []

    def fill() -> None:
        for number in range(lib.DG_CHUNKS):
            out.chunk(number, lib.DG_CHUNK, lib.DG_CHUNK)
            answered.append(number)

    filler = threading.Thread(target=fill)
    filler.start()
    deadline = time.monotonic() + 20
    while len(answered) < lib.DG_CHUNKS - 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    filler.join(0.2)
    assert answered == list(range(lib.DG_CHUNKS - 2))
    written.set()
    filler.join(20)
    out.close()
    assert len(answered) == lib.DG_CHUNKS


def test_nothing_but_a_header(out: OutputFile) -> None:
    out.close()
    assert Path(out.path).read_bytes() == HEADER


def test_what_a_killed_program_had_put(out: OutputFile, program: Program) -> None:
    data = HEADER + BLOCK * (lib.DG_CHUNK // len(BLOCK) + 10)
    program.put(0, data)
    out.chunk(0, lib.DG_CHUNK, lib.DG_CHUNK - 6)
    program.put(lib.DG_MAILBOX + 16, struct.pack("<Q", 1 << 32 | len(data) - lib.DG_CHUNK))
    out.killed()
    out.close()
    assert Path(out.path).read_bytes() == data


def test_a_killed_program_had_just_handed_its_chunk_over(out: OutputFile, program: Program) -> None:
    data = HEADER + BLOCK
    program.put(0, data)
    program.put(lib.DG_MAILBOX + 16, struct.pack("<Q", len(data)))
    out.chunk(0, len(data), len(data))
    out.killed()
    out.close()
    assert Path(out.path).read_bytes() == data


def test_mail_in_a_ring(out: OutputFile, program: Program) -> None:
    """Any number of objects, each whole and once, the ring's end in the middle of one."""
    one = record(8, bytes(8) + b"/" * 4000 + b"\0")
    for _ in range(2 * lib.DG_MAIL // len(one)):
        assert out.mail(one)
        assert program.taken() == one
    count = 0
    while out.mail(one):
        count += 1
    assert count == lib.DG_MAIL // len(one)
    assert program.taken() == one * count
    assert out.mail(one)


def test_no_mail_before_there_is_a_program(out: OutputFile) -> None:
    assert not out.mail(BLOCK)
    out.write(HEADER + BLOCK)
    out.close()
    assert blocks(out.path) == 1


FULL = """
import sys
from interpose.tools.datagrind.writer import HEADER, OutputFile
from interpose.formats.datagrind.records import framed
block = framed(10, bytes(8))
out = OutputFile(sys.argv[1], print)
for n in range(40):
    out.write((HEADER if n == 0 else b"") + block * 10000)
assert out.failed
out.tell()
out.close()
"""


def small_file_system(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """A script of the shell where ``folder`` is a file system of one MiB."""
    if shutil.which("unshare") is None:
        pytest.skip("no unshare")
    words = ["unshare", "-rm", "sh", "-c", f"mount -t tmpfs -o size=1m none '{folder}' || exit 77\n{script}"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("no file system may be mounted here")
    return done


def test_a_full_file_system(tmp_path: Path) -> None:
    small, kept = tmp_path / "small", tmp_path / "kept"
    small.mkdir()
    done = small_file_system(small, f"{sys.executable} -c '{FULL}' '{small}/f' && cp '{small}/f' '{kept}'")
    assert done.returncode == 0, done.stderr
    expected = f"cannot write to '{small}/f': No space left on device; the program goes on unrecorded\n"
    assert done.stdout == expected
    assert kept.stat().st_size <= 1 << 20
    assert blocks(str(kept)) > 90_000


def test_a_program_on_a_full_file_system(tmp_path: Path) -> None:
    small, kept = tmp_path / "small", tmp_path / "kept"
    small.mkdir()
    command = f"{sys.executable} -m interpose --tool=datagrind --datagrind-out-file='{small}/f'"
    counts = 'sh -c "i=0; while [ \\$i -lt 20000 ]; do i=\\$((i+1)); done; echo \\$i"'
    done = small_file_system(small, f"{command} {counts} && cp '{small}/f' '{kept}'")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "20000\n"
    lines = [line for line in done.stderr.splitlines() if "cannot write" in line]
    assert len(lines) == 1
    assert lines[0].endswith("No space left on device; the program goes on unrecorded")
    reader = datagrind.Reader(io.BytesIO(kept.read_bytes()))
    assert sum(isinstance(one, datagrind.BBRun) for one in reader) > 1000
    assert reader.problems == []
