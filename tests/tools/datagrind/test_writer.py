"""The file is a sequence of whole records wherever chunks end, and however the program does."""

from __future__ import annotations

import io
import mmap
import os
import select
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from interpose.formats import datagrind
from interpose.formats.datagrind.records import framed
from interpose.jit._native import ffi, lib
from interpose.tools.datagrind.writer import HEADER, OutputFile, record

BLOCK = framed(10, (7).to_bytes(8, "little"))


class Program:
    """What the program does with the memory that it shares."""

    def __init__(self, out: OutputFile) -> None:
        self.out = out
        self.fd = os.memfd_create("pieces")
        os.ftruncate(self.fd, lib.DG_SHARED)
        self.memory = mmap.mmap(self.fd, lib.DG_SHARED)
        self.box = ffi.cast("struct dg_mailbox *", ffi.from_buffer(self.memory) + lib.DG_MAILBOX)
        assert out.attach(os.dup(self.fd))

    def put(self, at: int, data: bytes) -> None:
        self.memory[at : at + len(data)] = data

    def queue(self, at: int, size: int, done: int = 0) -> None:
        """Whole records that lie there come next; ``done``: 1 + number of the piece that is free then."""
        entry = self.box.queue[self.box.queued % lib.DG_QUEUE]
        entry.at, entry.bytes, entry.done = at, size, done
        self.box.queued += 1
        lib.dg_ring(self.out._address)

    def wait(self, done: Callable[[], bool]) -> None:
        """Until the other side has done something."""
        deadline = time.monotonic() + 20
        while not done() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert done()

    def taken(self) -> bytes:
        """All mail that there is."""
        put, taken = self.box.put, self.box.taken
        ring = bytes(ffi.buffer(self.box.mail))
        self.box.taken = put
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


def test_pieces_in_the_order_in_which_they_are_queued(out: OutputFile, program: Program) -> None:
    """More than the stage of writes past the kernel's cache holds, of any size, from any piece."""
    sizes = [len(BLOCK) * n for n in (1, 20_000, 26_000, 3, 26_001)] * 12
    expected = HEADER
    program.put(0, HEADER)
    program.queue(0, len(HEADER))
    for number, size in enumerate(sizes):
        at = (1 + number % 5) * lib.DG_PIECE
        program.wait(lambda: bool(program.box.written == program.box.queued))
        data = framed(10, number.to_bytes(8, "little")) * (size // len(BLOCK))
        program.put(at, data)
        program.queue(at, size)
        expected += data
    out.close()
    assert Path(out.path).read_bytes() == expected
    assert len(expected) > 2 * (4 << 20)


def test_a_pipe_waits_for_its_reader_for_a_while(
    tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    monkeypatch.setattr("interpose.report.given._PATIENCE", 0.05)
    with pytest.raises(OSError, match="nobody reads from this pipe"):
        OutputFile(str(fifo), said.append)
    monkeypatch.setattr("interpose.report.given._PATIENCE", 60)
    got: list[bytes] = []
    reader = threading.Timer(0.2, lambda: got.append(fifo.read_bytes()))
    reader.start()
    out = OutputFile(str(fifo), said.append)
    out.close()
    reader.join()
    assert (got, said) == ([HEADER], [])


def test_a_piece_is_free_when_it_is_written(tmp_path: Path, said: list[str]) -> None:
    """And not before: the program would overwrite what is not in the file."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    out = OutputFile(str(fifo), said.append)
    program = Program(out)
    data = HEADER + BLOCK * 26_000
    program.put(3 * lib.DG_PIECE, data)
    program.box.waiting = 1
    program.queue(3 * lib.DG_PIECE, len(data), done=4)
    program.wait(lambda: bool(select.select([reader], [], [], 0)[0]))
    assert (program.box.free, program.box.written, program.box.waiting) == (0, 0, 1)
    read = b""
    while len(read) < len(data):
        select.select([reader], [], [], 20)
        read += os.read(reader, 1 << 16)
    program.wait(lambda: bool(program.box.written))
    assert read == data
    assert program.box.free == 1 << 3
    assert program.box.progress == 1
    assert program.box.waiting == 0
    out.close()
    os.close(reader)
    os.close(program.fd)


def test_what_the_program_says_may_be_wrong(out: OutputFile, program: Program) -> None:
    """Memory that a hostile program can reach: nothing beyond the pieces is read."""
    for at, size, done in (
        (lib.DG_MAILBOX - 8, 16, 0),
        (0xFFFFFFF0, 64, 0),
        (0, 0xFFFFFFFF, 0xFFFFFFFF),
        (8, 0, 65),
    ):
        program.queue(at, size, done)
    program.wait(lambda: bool(program.box.written == program.box.queued))
    program.box.unqueued[5] = 0xFFFFFFF000000000
    program.box.unqueued[6] = 0x00000000FFFFFFFF
    out.killed()
    out.close()
    assert Path(out.path).read_bytes() == HEADER
    assert program.box.free == 0


def test_nothing_but_a_header(out: OutputFile) -> None:
    out.close()
    assert Path(out.path).read_bytes() == HEADER


def test_what_a_killed_program_had_put(out: OutputFile, program: Program) -> None:
    """What is queued, then what all threads need, then what each has written."""
    mine = framed(10, bytes(8))
    program.put(0, HEADER + BLOCK * 3)
    program.put(2 * lib.DG_PIECE, mine * 5)
    program.queue(0, len(HEADER))
    program.box.unqueued[7] = 2 * lib.DG_PIECE << 32 | 2 * lib.DG_PIECE + len(mine) * 5
    program.box.unqueued[0] = len(HEADER) << 32 | len(HEADER) + len(BLOCK) * 3
    program.box.unqueued[1] = 4 * lib.DG_PIECE << 32 | 4 * lib.DG_PIECE
    out.killed()
    out.close()
    assert Path(out.path).read_bytes() == HEADER + BLOCK * 3 + mine * 5


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
