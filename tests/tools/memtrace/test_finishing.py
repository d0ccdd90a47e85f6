"""Raw records of a test's own to the entries of a trace, exactly."""

from __future__ import annotations

import errno
import signal
import struct
import subprocess
import sys
from pathlib import Path
from typing import TextIO

import pytest
from tools.memtrace.raw import NO_WORD, R, Raw, W, access, entries, event, run

from interpose.jit._native import lib
from interpose.tools.memtrace import finishing
from interpose.tools.memtrace.finishing import FinishError, Run, finish

READ, WRITE, INSTR, MARKER, NO_FETCH, ENCODING = 0, 1, 10, 28, 29, 47
DIRECT_JUMP, INDIRECT_JUMP, CALL, RETURN, TAKEN, UNTAKEN = 11, 12, 14, 16, 48, 49
EPOCH = 11644473600 * 1000000


def marker(name: str, value: int) -> tuple[int, int, int]:
    return MARKER, getattr(lib, f"IP_MTM_{name}"), value


def time(us: int, cpu: int) -> list[tuple[int, int, int]]:
    return [marker("TIMESTAMP", us + EPOCH), marker("CPU_ID", cpu)]


def code(*lengths_and_bytes: bytes) -> list[tuple[int, int, int]]:
    return [(ENCODING, len(data), struct.unpack("<Q", data.ljust(8, b"\0"))[0]) for data in lengths_and_bytes]


def header(tid: int = 7, pid: int = 100) -> list[tuple[int, int, int]]:
    return [
        (25, 0, 7),
        marker("VERSION", 7),
        marker("FILETYPE", 0xE40),
        (22, 4, tid),
        (24, 4, pid),
        marker("CACHE_LINE_SIZE", 64),
        marker("PAGE_SIZE", 4096),
    ]


END = [(23, 4, 7), (26, 0, 0)]


def finished(raw: Raw) -> list[tuple[int, int, int]]:
    """The entries of the only thread, without header and end, which are checked."""
    raw.run.form = "raw"
    result = finish(str(raw.save()))
    found = entries(Path(result.files[0]))
    assert found[: len(header())] == header()
    assert found[-2:] == END
    return found[len(header()) : -2]


def test_taken_and_untaken(tmp_path: Path) -> None:
    raw = Raw(tmp_path)
    nop, jz = b"\x90", b"\x74\x10"
    block = raw.block(0x1000, [("plain", nop), ("jcc", jz, {"target": 0x1013})])
    near, far = (
        raw.block(0x1003, [("plain", nop)]),
        raw.block(0x1013, [("jmp", b"\xeb\xeb", {"target": 0x1000})]),
    )
    raw.frame(
        7,
        1,
        [
            *event(lib.IP_TR_TIME, 5, 1),
            *run(block, 2),
            *run(far, 1),
            *run(block, 2),
            *run(near, 1),
            *run(block, 2),
        ],
    )
    assert finished(raw) == [
        *time(5, 1),
        *code(nop),
        (INSTR, 1, 0x1000),
        *code(jz),
        (TAKEN, 2, 0x1001),
        *code(b"\xeb\xeb"),
        (DIRECT_JUMP, 2, 0x1013),
        (INSTR, 1, 0x1000),
        (UNTAKEN, 2, 0x1001),
        *code(nop),
        (INSTR, 1, 0x1003),
        (INSTR, 1, 0x1000),  # where the last branch went nobody knows: it is left out
    ]


def test_side_exit(tmp_path: Path) -> None:
    """A run that ends at a branch before the block's end has taken it."""
    raw = Raw(tmp_path)
    nop, jz = b"\x90", b"\x74\x10"
    block = raw.block(0x1000, [("jcc", jz, {"target": 0x1012}), ("plain", nop), ("plain", nop)])
    far = raw.block(0x1012, [("plain", nop)])
    raw.frame(7, 1, [*run(block, 3), *run(block, 1), *run(block, 0), *run(far, 1)])
    assert [entry for entry in finished(raw) if entry[0] != ENCODING] == [
        (UNTAKEN, 2, 0x1000),
        (INSTR, 1, 0x1002),
        (INSTR, 1, 0x1003),
        (TAKEN, 2, 0x1000),
        (INSTR, 1, 0x1012),
    ]


def test_addresses(tmp_path: Path) -> None:
    """Words, index, displacement, segment; a call's and a return's target and stack."""
    raw = Raw(tmp_path)
    call, ret = b"\xff\xd0", b"\xc3"
    block = raw.block(
        0x1000,
        [
            ("plain", b"\x48\x8b\x44\x8b\x08", {"accesses": [access(R, 8, 0, 8, index=1, scale=4)]}),
            ("plain", b"\x64\x8b\x04\x25\0\0\0\0", {"accesses": [access(R, 4, disp=0x10, seg=4)]}),
            ("plain", b"\x01\x03", {"accesses": [access(R, 4, 0), access(W, 4, 0)]}),
            ("plain", b"\x0f\xa3\x03", {"accesses": [access(R, 4, 0, index=1, flags=lib.IP_TRA_BIT)]}),
            ("calli", call, {"accesses": [access(W, 8, 2, -8)]}),
        ],
        words=3,
        sp_word=2,
    )
    callee = raw.block(0x2000, [("ret", ret, {"accesses": [access(R, 8, 0)]})], words=1, sp_word=0)
    back = raw.block(0x1014, [("plain", b"\x90")])
    raw.frame(
        7,
        1,
        [
            *event(lib.IP_TR_FSBASE, 0x7000, 0),
            *run(block, 5, 0x5000, 0x100, 0x9000),
            *run(callee, 1, 0x8FF8),
            *run(back, 1),
        ],
    )
    assert [entry for entry in finished(raw) if entry[0] != ENCODING] == [
        (INSTR, 5, 0x1000),
        (READ, 8, 0x5408),
        (INSTR, 8, 0x1005),
        (READ, 4, 0x7010),
        (INSTR, 2, 0x100D),
        (READ, 4, 0x5000),
        (WRITE, 4, 0x5000),
        (INSTR, 3, 0x100F),
        (READ, 4, 0x5020),  # bit 256
        marker("BRANCH_TARGET", 0x2000),
        (15, 2, 0x1012),
        (WRITE, 8, 0x8FF8),
        marker("BRANCH_TARGET", 0x1014),
        (RETURN, 1, 0x2000),
        (READ, 8, 0x8FF8),
        (INSTR, 1, 0x1014),
    ]


@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize("count", [0, 1, 3, 2000])
def test_string_instructions(tmp_path: Path, count: int, down: bool) -> None:
    raw = Raw(tmp_path)
    movs = b"\xf3\x48\xa5"
    block = raw.block(
        0x1000,
        [("plain", movs, {"rep": 0xF3, "rep_words": 2, "accesses": [access(R, 8, 0), access(W, 8, 1)]})],
        words=5,
    )
    step = -8 if down else 8
    raw.frame(7, 1, run(block, 1, 0x10000, 0x50000, count + 5, 5, 0x50000 + step * count))
    expected = [(INSTR, 3, 0x1000)]
    for n in range(count):
        expected += [(NO_FETCH, 3, 0x1000)] if n else []
        expected += [(READ, 8, 0x10000 + step * n), (WRITE, 8, 0x50000 + step * n)]
    assert [entry for entry in finished(raw) if entry[0] != ENCODING] == expected


def test_system_calls(tmp_path: Path) -> None:
    raw = Raw(tmp_path)
    raw.run.syscalls = {0: 3}
    block = raw.block(0x1000, [("syscall", b"\x0f\x05")])
    after = raw.block(0x1002, [("plain", b"\x90")])
    raw.frame(
        7,
        1,
        [
            *run(block, 1),
            *event(lib.IP_TR_SYSCALL, 0, 3, 0x5000, 10, 0, 0, 0, 50, 1),
            *event(lib.IP_TR_SYSRET, 0, -9, 40, 0),
            *run(after, 1),
            *run(block, 1),
            *event(lib.IP_TR_TIME, 60, 0),
            *event(lib.IP_TR_SYSCALL, 231, 0, 0, 0, 0, 0, 0, 70, 0),
        ],
    )
    assert [entry for entry in finished(raw) if entry[0] != ENCODING] == [
        (INSTR, 2, 0x1000),
        *time(50, 1),
        marker("SYSCALL", 0),
        marker("MAYBE_BLOCKING_SYSCALL", 0),
        marker("FUNC_ID", 0x100000000),
        marker("FUNC_ARG", 3),
        marker("FUNC_ARG", 0x5000),
        marker("FUNC_ARG", 10),
        marker("FUNC_ID", 0x100000000),
        marker("FUNC_RETVAL", 0),
        marker("SYSCALL_FAILED", 9),
        *time(50, 0),  # the clock was set back
        (INSTR, 1, 0x1002),
        (INSTR, 2, 0x1000),
        *time(70, 0),
        marker("SYSCALL", 231),
    ]


def test_signal(tmp_path: Path) -> None:
    raw = Raw(tmp_path)
    jmpi = raw.block(0x1000, [("jmpi", b"\xff\xe0")])
    handler = raw.block(0x2000, [("syscall", b"\x0f\x05")])
    after = raw.block(0x3000, [("plain", b"\x90")])
    raw.frame(
        7,
        1,
        [
            *run(jmpi, 1),
            *event(lib.IP_TR_SIGNAL, 10, 0x3000, 0x9000, 0x8000, 5, 0),
            *run(handler, 1),
            *event(lib.IP_TR_SYSCALL, 15, 0, 0, 0, 0, 0, 0, 6, 0),
            *event(lib.IP_TR_SIGRETURN, 0x3000, 0x9000),
            *run(after, 1),
        ],
    )
    assert [entry for entry in finished(raw) if entry[0] != ENCODING] == [
        marker("BRANCH_TARGET", 0x3000),
        (INDIRECT_JUMP, 2, 0x1000),
        marker("KERNEL_EVENT", 0x3000),
        marker("SIGNAL_NUMBER", 10),
        *time(5, 0),
        (INSTR, 2, 0x2000),
        *time(6, 0),
        marker("SYSCALL", 15),
        marker("KERNEL_XFER", 0x2002),
        (INSTR, 1, 0x3000),
    ]


def test_functions(tmp_path: Path) -> None:
    """Entry with arguments and return address, return with its value, a tail call, a frame that is left."""
    raw = Raw(tmp_path)
    raw.run.functions = [(0x2000, 1, 2, False), (0x3000, 2, 0, False)]
    call = raw.block(
        0x1000,
        [("call", b"\xe8\0\0\0\0", {"target": 0x2000, "accesses": [access(W, 8, 0, -8)]})],
        words=1,
        sp_word=0,
    )
    first = raw.block(
        0x2000,
        [("jmp", b"\xeb\x00", {"target": 0x3000, "function": 1})],
        words=6,
        function=1,
        args_word=0,
    )
    second = raw.block(
        0x3000,
        [("ret", b"\xc3", {"function": 2})],
        words=8,
        function=2,
        args_word=2,
        sp_word=0,
        result_word=1,
    )
    after = raw.block(0x1005, [("plain", b"\x90")])
    raw.frame(
        7,
        1,
        [
            *run(after, 1),
            *run(call, 1, 0x9000),
            *run(first, 1, 11, 12, 0, 0, 0, 0),
            *run(second, 1, 0x8FF8, 77, 0, 0, 0, 0, 0, 0),
            *run(after, 1),
        ],
    )
    assert [entry for entry in finished(raw) if entry[0] != ENCODING] == [
        (INSTR, 1, 0x1005),
        (CALL, 5, 0x1000),
        (WRITE, 8, 0x8FF8),
        marker("FUNC_ID", 1),
        marker("FUNC_RETADDR", 0x1005),
        marker("FUNC_ARG", 11),
        marker("FUNC_ARG", 12),
        (DIRECT_JUMP, 2, 0x2000),
        marker("FUNC_ID", 2),
        marker("FUNC_RETADDR", 0x1005),
        marker("BRANCH_TARGET", 0x1005),
        (RETURN, 1, 0x3000),
        marker("FUNC_ID", 2),
        marker("FUNC_RETVAL", 77),
        marker("FUNC_ID", 1),
        marker("FUNC_RETVAL", 77),
        (INSTR, 1, 0x1005),
    ]


def test_windows(tmp_path: Path) -> None:
    """A window begins and ends in the middle of a run; what a cut run goes on with is known."""
    raw = Raw(tmp_path)
    nop, jz = b"\x90", b"\x74\x10"
    block = raw.block(0x1000, [("plain", nop), ("jcc", jz, {"target": 0x1013}), ("plain", nop)])
    raw.frame(
        7,
        1,
        [
            *event(lib.IP_TR_TIME, 5, 1),
            *event(lib.IP_MTR_WINDOW, 0, 1),
            *run(block, 3),
            *event(lib.IP_MTR_CUT, 2),
            *run(block, 3),
            *event(lib.IP_TR_TIME, 6, 1),
            *event(lib.IP_MTR_WINDOW, 1, 0),
            *run(block, 3),
            *event(lib.IP_MTR_CUT, 0),
            *run(block, 3),
        ],
    )
    assert [entry for entry in finished(raw) if entry[0] != ENCODING] == [
        *time(5, 1),
        marker("WINDOW_ID", 0),
        (UNTAKEN, 2, 0x1001),
        (INSTR, 1, 0x1003),
        (INSTR, 1, 0x1000),
        (UNTAKEN, 2, 0x1001),
        *time(6, 1),
        marker("WINDOW_ID", 1),
        (INSTR, 1, 0x1000),
        (UNTAKEN, 2, 0x1001),
        (INSTR, 1, 0x1003),
    ]


def test_code_that_was_not_recorded(tmp_path: Path) -> None:
    """It begins another window; a branch that led there is left out, for nobody knows where it went."""
    raw = Raw(tmp_path)
    nop, jz = b"\x90", b"\x74\x10"
    block = raw.block(0x1000, [("plain", nop), ("jcc", jz, {"target": 0x1013})])
    gap = event(lib.IP_TR_GAP)
    raw.frame(7, 1, [*run(block, 2), *gap, *gap, *run(block, 1), *gap, *run(block, 1)])
    assert [entry for entry in finished(raw) if entry[0] != ENCODING] == [
        (INSTR, 1, 0x1000),
        marker("WINDOW_ID", 1),
        (INSTR, 1, 0x1000),
        marker("WINDOW_ID", 2),
        (INSTR, 1, 0x1000),
    ]


@pytest.mark.parametrize("cut", [*range(1, 32), 64, 90])
def test_truncated(tmp_path: Path, cut: int) -> None:
    """Whatever is missing at the end, the trace is whole up to there."""
    raw = Raw(tmp_path, form="raw")
    block = raw.block(0x1000, [("plain", b"\x90", {"accesses": [access(R, 8, 0), access(W, 8, 1)]})], words=2)
    for n in range(4):
        raw.frame(7, 1, run(block, 1, 3 * n, n))
    result = finish(str(raw.save(cut)))
    found = entries(Path(result.files[0]))
    assert found[-2:] == END
    behind = [sum(map(len, raw.frames[n + 1 :])) for n in range(4)]
    assert result.instructions == sum(size >= cut for size in behind)
    assert len(found) == len(header()) + 2 + 3 * result.instructions + (result.instructions > 0)


def test_hostile(tmp_path: Path) -> None:
    """Templates that lead outside, events without words, counts beyond all bounds: the trace ends there."""
    for n, bad in enumerate(
        [
            {"n_words": 60000},
            {"n_insns": 60000},
            {"sp_word": 77},
            {"args_word": 0},
            {"result_word": 3},
        ]
    ):
        raw = Raw(tmp_path / str(n), form="raw")
        good = raw.block(0x1000, [("plain", b"\x90")])
        wrong = raw.block(0x1000, [("plain", b"\x90")], **bad)
        raw.frame(7, 1, [*run(good, 1), *run(wrong, 1), *run(good, 1)])
        result = finish(str(raw.save()))
        assert result.instructions == 1
        assert result.notes
    for n, words in enumerate(
        [run(0x1234, 1), run(0x79001008, 1), event(lib.IP_TR_SYSCALL, 1), [1 << 40 | 1]]
    ):
        raw = Raw(tmp_path / f"words{n}", form="raw")
        good = raw.block(0x1000, [("plain", b"\x90")])
        raw.frame(7, 1, [*run(good, 1), *words, 0, 0])
        result = finish(str(raw.save()))
        assert result.instructions == 1
        assert result.notes
    assert NO_WORD == 0xFFFF


def test_encodings_of_code_that_changes(tmp_path: Path) -> None:
    """A place whose code changes there and back has its encoding each time, and only then."""
    raw = Raw(tmp_path)
    first = raw.block(0x1000, [("plain", b"\x90"), ("plain", b"\x90")])
    other = raw.block(0x1000, [("plain", b"\xf8"), ("plain", b"\x90")])
    raw.frame(7, 1, [word for block in (first, first, other, other, first, first) for word in run(block, 2)])
    both = [(INSTR, 1, 0x1000), (INSTR, 1, 0x1001)]
    assert finished(raw) == [
        *code(b"\x90"),
        both[0],
        *code(b"\x90"),
        both[1],
        *both,
        *code(b"\xf8"),
        *both,
        *both,
        *code(b"\x90"),
        *both,
        *both,
    ]


def test_encoding_of_a_branch_that_was_left_out(tmp_path: Path) -> None:
    """It comes when the branch does."""
    raw = Raw(tmp_path)
    nop, jz = b"\x90", b"\x74\x10"
    block = raw.block(0x1000, [("plain", nop), ("jcc", jz, {"target": 0x1013})])
    alone = raw.block(0x1001, [("jcc", jz, {"target": 0x1013})])
    raw.frame(7, 1, [*run(block, 2), *event(lib.IP_TR_GAP), *run(block, 2), *run(alone, 1), *run(block, 1)])
    assert finished(raw) == [
        *code(nop),
        (INSTR, 1, 0x1000),
        marker("WINDOW_ID", 1),
        (INSTR, 1, 0x1000),
        *code(jz),
        (UNTAKEN, 2, 0x1001),
        (UNTAKEN, 2, 0x1001),
        (INSTR, 1, 0x1000),
    ]


@pytest.mark.parametrize("chunk", [1, 2, 3, 7])
def test_each_chunk_has_its_encodings(tmp_path: Path, chunk: int) -> None:
    """Wherever a chunk is cut, each place in it has its encoding before its first instruction there."""
    import zipfile

    raw = Raw(tmp_path, chunk=chunk)
    nop, jz = b"\x90", b"\x74\x10"
    first = raw.block(0x1000, [("plain", nop)] * 3 + [("jcc", jz, {"target": 0x1015})])
    last = raw.block(0x1015, [("jmp", b"\xeb\xe9", {"target": 0x1000})])
    single = raw.block(0x1005, [("jcc", jz, {"target": 0x1000})])
    words = [*run(first, 4), *run(last, 1), *run(first, 3), *run(first, 4), *run(single, 1)]
    raw.frame(7, 1, words * 9)
    result = finish(str(raw.save()))
    with zipfile.ZipFile(result.files[0]) as archive:
        chunks = [list(struct.iter_unpack("<HHQ", archive.read(name))) for name in archive.namelist()]
    assert len(chunks) > 9
    for found in chunks:
        known: set[int] = set()
        coded = False
        for kind, _, value in found:
            if kind == ENCODING:
                assert not coded
            elif kind in {INSTR, DIRECT_JUMP, TAKEN, UNTAKEN}:
                assert coded == (value not in known)
                known.add(value)
            coded = kind == ENCODING


def test_number_that_two_templates_have(tmp_path: Path) -> None:
    """What is known of a template is kept by its number: a file where it is another's is damaged."""
    raw = Raw(tmp_path, form="raw")
    good = raw.block(0x1000, [("plain", b"\x90")])
    wrong = raw.block(0x2000, [("plain", b"\x90")], number=0)
    raw.frame(7, 1, [*run(good, 1), *run(wrong, 1), *run(good, 1)])
    result = finish(str(raw.save()))
    assert result.instructions == 1
    assert result.notes


def test_no_raw_file(tmp_path: Path) -> None:
    with pytest.raises(FinishError, match=r"run\.json: No such file"):
        finish(str(tmp_path))
    Raw(tmp_path).save()
    (tmp_path / "raw" / "records.bin").write_bytes(b"12345")
    with pytest.raises(FinishError, match="not a file of memtrace's records"):
        finish(str(tmp_path))
    (tmp_path / "raw" / "records.bin").write_bytes(b"")
    with pytest.raises(FinishError, match="nothing was recorded"):
        finish(str(tmp_path))


def test_finisher_killed(tmp_path: Path) -> None:
    """There is no trace that ends in its middle; finishing again makes it, and leaves nothing else."""
    raw = Raw(tmp_path, form="raw")
    block = raw.block(0x1000, [("plain", b"\x90")] * 20)
    raw.frame(7, 1, run(block, 20) * 2000)
    raw.save()
    script = (
        "import os, signal, sys\n"
        "from interpose.tools.memtrace import finishing\n"
        "class Lib:\n"
        "    def __getattr__(self, name):\n"
        "        if name == 'ip_mtf_close':\n"
        "            os.kill(os.getpid(), signal.SIGKILL)\n"
        "        return getattr(library, name)\n"
        "library, finishing.lib = finishing.lib, Lib()\n"
        "finishing.finish(sys.argv[1])\n"
    )
    killed = subprocess.run([sys.executable, "-c", script, tmp_path], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / "trace").exists()
    assert finish(str(tmp_path)).instructions == 40000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["raw", "trace"]


def test_records_of_another_build(tmp_path: Path) -> None:
    """Templates that are laid out otherwise are not taken for damage."""
    raw = Raw(tmp_path)
    raw.frame(7, 1, run(raw.block(0x1000, [("plain", b"\x90")]), 1))
    path = raw.save() / "raw" / "records.bin"
    data = bytearray(path.read_bytes())
    data[28] += 8  # the size of a block's template
    path.write_bytes(data)
    with pytest.raises(FinishError, match="recorded by another version of interpose"):
        finish(str(tmp_path))


def test_chunks_and_threads(tmp_path: Path) -> None:
    """Chunks are members of an archive; each thread has a file, and the schedules have both."""
    import gzip
    import zipfile

    raw = Raw(tmp_path, chunk=1000)
    block = raw.block(0x1000, [("plain", b"\x90")] * 30)
    for thread in (1, 2):
        words = [word for _ in range(100) for word in run(block, 30)]
        raw.frame(6 + thread, thread, [*event(lib.IP_TR_TIME, thread, 3), *words])
    result = finish(str(raw.save()))
    assert len(result.files) == 2
    assert result.instructions == 6000
    with zipfile.ZipFile(result.files[0]) as archive:
        assert archive.namelist() == ["chunk.00000000", "chunk.00000001", "chunk.00000002"]
        chunks = [list(struct.iter_unpack("<HHQ", archive.read(name))) for name in archive.namelist()]
    assert [sum(kind == INSTR for kind, *_ in chunk) for chunk in chunks] == [1000, 1000, 1000]
    assert chunks[0][-1] == marker("CHUNK_FOOTER", 0)
    data = gzip.decompress((tmp_path / "trace" / "serial_schedule.bin.gz").read_bytes())
    assert list(struct.iter_unpack("<QQQQ", data)) == [(7, EPOCH + 1, 3, 0), (8, EPOCH + 2, 3, 0)]
    with zipfile.ZipFile(tmp_path / "trace" / "cpu_schedule.bin.zip") as archive:
        assert archive.namelist() == ["3"]
        assert archive.read("3") == data


def test_thread_without_an_instruction(tmp_path: Path) -> None:
    """The process ended before the second thread had completed one: it has no file, and is in no schedule."""
    import gzip

    raw = Raw(tmp_path)
    block = raw.block(0x1000, [("plain", b"\x90")] * 3)
    raw.frame(7, 1, [*event(lib.IP_TR_TIME, 1, 3), *run(block, 3)])
    raw.frame(8, 2, event(lib.IP_TR_TIME, 2, 3))
    result = finish(str(raw.save()))
    assert [Path(name).name.split(".")[2] for name in result.files] == ["00007"]
    assert list((tmp_path / "trace").glob("drmemtrace.*")) == [Path(result.files[0])]
    data = gzip.decompress((tmp_path / "trace" / "serial_schedule.bin.gz").read_bytes())
    assert list(struct.iter_unpack("<QQQQ", data)) == [(7, EPOCH + 1, 3, 0)]


def test_what_is_known_is_saved_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full leaves what was there before, and no part of what comes instead."""

    def filled(_data: object, file: TextIO) -> None:
        file.write("{")
        raise OSError(errno.ENOSPC, "full")

    (tmp_path / "raw").mkdir()
    known = Run("prog", 7)
    known.save(str(tmp_path))
    known.functions.append((0x1000, 1, 2, False))
    monkeypatch.setattr(finishing.json, "dump", filled)
    with pytest.raises(OSError, match="full"):
        known.save(str(tmp_path))
    assert [path.name for path in (tmp_path / "raw").iterdir()] == ["run.json"]
    assert Run.load(str(tmp_path)).functions == []
