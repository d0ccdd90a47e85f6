"""Whatever a trace holds, each analyzer says in one line what is wrong, and shows what it could read."""

from __future__ import annotations

import gzip
import random
import struct
import zipfile

import pytest
from formats.drmemtrace.entries import archive, entry, header, instr, plain
from hypothesis import given, settings
from hypothesis import strategies as st
from memtrace.traces import MAPPED, loops, random_accesses, various

from interpose.formats.drmemtrace.constants import MarkerId, Type
from interpose.memtrace import cli

pytest.importorskip("numpy")
pytest.importorskip("capstone")

TOOLS = (*MAPPED, "view", "invariant_checker")
SIZE = 12
NUMBERS = [
    0,
    1,
    2,
    7,
    15,
    16,
    255,
    4096,
    0x401000,
    1 << 31,
    1 << 32,
    1 << 60,
    (1 << 63) - 1,
    1 << 63,
    2**64 - 1,
]


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> list[list[bytes]]:
    """The chunks of some traces that are as they must be."""
    folder = tmp_path_factory.mktemp("seeds")
    various(folder / "various")
    loops(folder / "loops", random_accesses(1, 300, 40), random_accesses(2, 200, 9), chunk=100)
    found = []
    for path in sorted(folder.glob("*/trace/*.zip")):
        with zipfile.ZipFile(path) as opened:
            found.append([opened.read(name) for name in opened.namelist()])
    return found


def changed(chunks: list[bytes], rng: random.Random) -> list[bytes]:
    """With some entries changed, taken out or said again: most of what makes a trace one stays."""
    parts = [bytearray(chunk) for chunk in chunks]
    for _ in range(rng.randrange(1, 5)):
        part = rng.choice(parts)
        if len(part) < SIZE:
            continue
        at = SIZE * rng.randrange(min(len(part) // SIZE, rng.choice([12, 60, 10_000])))
        what = rng.randrange(7)
        if what == 0:
            struct.pack_into("<H", part, at, rng.choice([*Type, 51, 0xFFFF]))
        elif what == 1:
            struct.pack_into("<H", part, at + 2, rng.choice([0, 1, 8, 15, 16, 255, 0xFFFF]))
        elif what == 2:
            struct.pack_into("<Q", part, at + 4, rng.choice(NUMBERS))
        elif what == 3:
            struct.pack_into("<HHQ", part, at, Type.MARKER, rng.choice(list(MarkerId)), rng.choice(NUMBERS))
        elif what == 4:
            del part[at : at + SIZE * rng.choice([1, 2, 30])]
        elif what == 5:
            part[at:at] = part[max(0, at - 3 * SIZE) : at] * rng.choice([1, 40])
        else:
            del part[rng.randrange(len(part)) :]
    return [bytes(part) for part in parts]


@settings(max_examples=120, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from(TOOLS), st.sampled_from(["zip", "gz", "raw"]))
def test_changed_entries(seeds, tmp_path_factory, rng, tool, form):
    chunks = changed(rng.choice(seeds), rng)
    folder = tmp_path_factory.getbasetemp()
    if form == "zip":
        path = archive(folder / "changed.zip", *chunks)
    else:
        data = b"".join(chunks)
        path = plain(folder / f"changed.{form}", gzip.compress(data, 1) if form == "gz" else data)
    assert cli.main([tool, str(path)]) in (0, 1)


@pytest.mark.parametrize("tool", TOOLS)
def test_an_archive_without_a_header(capfd, tmp_path, tool):
    """Of which no chunk can be read, since all of them need what the first one begins with."""
    chunk = header()[:SIZE] + entry(Type.INVALID) + instr(0x401000)
    path = archive(tmp_path / "t.zip", chunk, chunk)
    assert cli.main([tool, str(path)]) == 1
    out, err = capfd.readouterr()
    fault = err or out
    assert str(path) in fault and "Traceback" not in fault
