"""What the manual promises of requests and the heap holds for programs that are as unkind as they can be."""

from __future__ import annotations

import struct
from pathlib import Path

from interpose.dgview.viewer import Viewer
from interpose.formats import datagrind

from . import records
from .running import compile_guest, run
from .test_programs import symbols_of

MOST = 64
"""Bytes of a label."""


def test_hostile_requests(tmp_path: Path) -> None:
    program = compile_guest("hostile.c", tmp_path, "-pthread", "-no-pie", "-fno-builtin")
    done = run([str(program)], tmp_path / "dg.%p", "--trace-children=yes")
    assert done.stdout == "3\ndone\n"
    files = sorted(tmp_path.glob("dg.*"))
    assert len(files) == 3  # the program, its child, what it executed
    found = {path: list(records.raw(path.read_bytes())) for path in files}
    (path,) = [
        path for path, all_of_it in found.items() if any(kind == records.TRACK for kind, _ in all_of_it)
    ]
    big = symbols_of(program)["big"][0]
    assert [
        (kind, struct.unpack("<QQ", data[:16]), data[16:].split(b"\0")[:-1])
        for kind, data in found[path]
        if kind in (records.TRACK, records.UNTRACK)
    ] == [
        (records.TRACK, (big, 2400), [b"x" * MOST, b"x" * MOST]),
        (records.TRACK, (big, 10), [b"", b""]),
        (records.TRACK, (big + 5, 10), [b"a", b"b\xff\xfe"]),
        (records.UNTRACK, (big, 2400), []),
        (records.UNTRACK, (big, 2400), []),
        (records.UNTRACK, (big, 11), []),
        (records.TRACK, (2**64 - 8, 100), [b"w", b"wraps"]),
        (records.TRACK, (0, 0), [b"n", b"nothing"]),
        (records.TRACK, (big, 8), [b"", b""]),
    ]
    events = [(kind, data) for kind, data in found[path] if kind in (records.START, records.END)]
    assert all(
        data.endswith(b"\0") and data.count(b"\0") == 1 and len(data) <= MOST + 1 for _, data in events
    )
    assert [one for one in events if b"<b>" not in one[1]] == [
        (records.START, b"x" * MOST + b"\0"),
        (records.END, b"never begun\0"),
        (records.END, b"x" * MOST + b"\0"),
        (records.START, b"\0"),
        (records.START, b"\0"),
        (records.START, b"eeeeee\0"),
    ]
    for number in range(3):
        label = b"<b>t%d</b>\n&\"'\0" % number
        assert [kind for kind, data in events if data == label] == [records.START, records.END] * 50
    for one in files:
        trace = datagrind.Trace(one)
        for _ in trace.chunks():
            pass
        twice = one == path  # what was untracked twice, and with another length
        assert [problem.reason.split()[0] for problem in trace.problems] == ["Range"] * 2 * twice, (
            trace.problems
        )
    viewer = Viewer(str(path))
    for events_wanted, ranges in (("user:<b>t1</b>\n&\"'", ""), ("", "malloc")):
        viewer.set_filter(events_wanted, ranges, False)
        assert viewer.failed is None and viewer.index.n_pages > 0


def test_the_heap_in_all_ways(tmp_path: Path) -> None:
    """A block is there once at a time, under the size that was asked for, whatever allocates and frees it."""
    program = compile_guest("hostile.c", tmp_path, "-pthread", "-no-pie", "-fno-builtin")
    run([str(program)], tmp_path / "dg.%p")
    live: dict[int, int] = {}
    sizes = []
    (path,) = [
        p
        for p in tmp_path.glob("dg.*")
        if (records.TRACK in {kind for kind, _ in records.raw(p.read_bytes())})
    ]
    for kind, data in records.raw(path.read_bytes()):
        if kind == records.MALLOC:
            address, size, _ = struct.unpack_from("<3Q", data)
            assert address not in live
            live[address] = size
            sizes.append(size)
        elif kind == records.FREE:
            del live[struct.unpack("<Q", data)[0]]
    assert {1 << 33, 1 << 32, 1 << 20, 21, 128} <= set(sizes)
    assert sizes.count(100) >= 150 + 2  # of the threads; posix_memalign, reallocarray
