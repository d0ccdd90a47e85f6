"""Reuse distances and caches beside plain models, whatever the chunks."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter, OrderedDict

import pytest
from formats.drmemtrace.entries import PC
from hypothesis import given, settings
from hypothesis import strategies as st
from memtrace.traces import loops, random_accesses

from interpose.formats.drmemtrace.constants import Type

np = pytest.importorskip("numpy")

from interpose.formats.drmemtrace.bulk import RECORD  # noqa: E402
from interpose.jit._native import lib  # noqa: E402
from interpose.memtrace.locality import CacheSimulator, ReuseDistance  # noqa: E402
from interpose.memtrace.run import run  # noqa: E402
from interpose.memtrace.tally import Tally, touched  # noqa: E402

SMALL = {
    "line_size": 64,
    "l1i_size": 1024,
    "l1i_assoc": 2,
    "l1d_size": 1024,
    "l1d_assoc": 4,
    "ll_size": 4096,
    "ll_assoc": 4,
}


def sequence(accesses) -> list[tuple[bool, int]]:
    """Lines of a loop's accesses, and whether they are fetched."""
    found = []
    for _, addr in accesses:
        found += [(True, PC >> 6)]
        found += [(False, line) for line in range(addr >> 6, ((addr + 3) >> 6) + 1)]
        found += [(True, PC >> 6)]
    return found


def distances(lines: list[int], threshold: int) -> tuple[Counter[int], Counter[int], Counter[int]]:
    """Distances, references of each line, distant ones."""
    stack: list[int] = []
    found, references, distant = Counter(), Counter(), Counter()
    for line in lines:
        references[line] += 1
        if line in stack:
            distance = stack.index(line)
            found[distance] += 1
            distant[line] += distance > threshold
            stack.remove(line)
        stack.insert(0, line)
    return found, references, +distant


def reuse(folder, threads: int = 1):
    options = Namespace(line_size=64, threshold=5, top=1000)
    tool = ReuseDistance(options)
    assert run(tool, folder) == []
    result = tool.result()
    return (
        dict(zip(result.columns["distance"], result.columns["count"], strict=True)),
        {row["line"] >> 6: row["references"] for row in result.data["most_used"]},
        {row["line"] >> 6: row["distant"] for row in result.data["most_distant"]},
        result.data,
    )


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1 << 30), st.integers(1, 120), st.integers(1, 60), st.sampled_from([2, 7, 50, 1000]))
def test_reuse_distances(tmp_path_factory, seed, count, lines, chunk):
    accesses = random_accesses(seed, count, lines)
    folder = loops(tmp_path_factory.mktemp("t") / "t", accesses, chunk=chunk)
    found, references, distant, data = reuse(folder)
    all_lines = [line for _, line in sequence(accesses)]
    expected = distances(all_lines, 5)
    assert (found, references, distant) == tuple(map(dict, expected))
    values = sorted(expected[0].elements())
    assert data["median"] == values[(len(values) - 1) // 2]
    assert data["mean"] == pytest.approx(sum(values) / len(values))
    assert (data["accesses"], data["instruction_accesses"]) == (len(all_lines), 2 * count)


def test_many_lines_and_times(tmp_path):
    """More lines and more accesses than the first tables have."""
    accesses = [(Type.READ, 64 * (n * 7919 % 5000)) for n in range(12000)]
    found, references, _, data = reuse(loops(tmp_path / "t", accesses, chunk=9000))
    assert found == {0: 11999, 1: 12000, 5000: 7000}
    assert data["unique_lines"] == 5001 and references[0] == 3


class Lru:
    """A cache, plainly."""

    def __init__(self, size: int, ways: int) -> None:
        self.sets = [OrderedDict() for _ in range(size // 64 // ways)]
        self.ways = ways
        self.hits = self.misses = 0
        self.seen: set[int] = set()
        self.compulsory = 0

    def use(self, line: int) -> bool:
        lines = self.sets[line % len(self.sets)]
        hit = line in lines
        self.hits += hit
        self.misses += not hit
        self.compulsory += line not in self.seen
        self.seen.add(line)
        lines[line] = True
        lines.move_to_end(line)
        if len(lines) > self.ways:
            lines.popitem(last=False)
        return hit

    def data(self) -> tuple[int, int, int]:
        return self.hits, self.misses, self.compulsory


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 1 << 30), st.integers(1, 100), st.integers(1, 150)), min_size=1, max_size=3
    ),
    st.sampled_from([2, 7, 50, 1000]),
)
def test_caches(tmp_path_factory, threads, chunk):
    all_accesses = [random_accesses(*words) for words in threads]
    folder = loops(tmp_path_factory.mktemp("t") / "t", *all_accesses, chunk=chunk)
    tool = CacheSimulator(Namespace(**SMALL))
    assert run(tool, folder) == []
    data = tool.result().data
    cores = [(Lru(1024, 2), Lru(1024, 4)) for _ in threads]
    last = Lru(4096, 4)
    longest = max(map(len, all_accesses))
    for start in range(0, longest, 10):  # as long as the time of a thread stands still
        for accesses, (l1i, l1d) in zip(all_accesses, cores, strict=True):
            for is_instr, line in sequence(accesses[start : start + 10]):
                if not (l1i if is_instr else l1d).use(line):
                    last.use(line)

    def counts(level) -> tuple[int, int, int]:
        return level["hits"], level["misses"], level["compulsory_misses"]

    assert [(counts(core["L1I"]), counts(core["L1D"])) for core in data["cores"]] == [
        (l1i.data(), l1d.data()) for l1i, l1d in cores
    ]
    assert counts(data["LL"]) == last.data()
    assert data["LL"]["child_hits"] == sum(cache.hits for pair in cores for cache in pair)


def _records(*rows: tuple[Type, int, int]):
    records = np.zeros(len(rows), RECORD)
    for record, (kind, address, size) in zip(records, rows, strict=True):
        record["type"], record["pc"], record["addr"], record["size"] = kind, 0x9000, address, size
    return records


def test_lines_of_accesses():
    """By each record in turn; one at the end of the address space stays there, markers touch nothing."""
    places = [(0, 1), (63, 1), (60, 8), (128, 0), (2**64 - 1, 8), (10, 200)]
    rows = [(Type.READ, *place) for place in places]
    records = _records(
        *rows, (Type.INSTR, 7, 2), (Type.MARKER, 7, 2), (Type.PREFETCH, 7, 2), (Type.WRITE, 7, 2)
    )
    both = lib.IP_MTL_FETCHED | lib.IP_MTL_ACCESSED
    [(lines, fetched)] = touched(records, 64, both)
    assert lines.tolist() == [0, 0, 0, 1, 2, 2**58 - 1, 0, 1, 2, 3, 0x9000 // 64, 0]
    assert np.flatnonzero(fetched).tolist() == [10]
    [(lines, _)] = touched(records, 64, lib.IP_MTL_FETCHED)
    assert lines.tolist() == [0x9000 // 64]


def test_lines_of_huge_accesses():
    """However much records touch, a part has bounded size, and no line is missing."""
    records = _records(*[(Type.WRITE, 3, 65535)] * 50)
    parts = list(touched(records, 1, lib.IP_MTL_ACCESSED))
    assert max(len(lines) for lines, _ in parts) <= lib.IP_MTL_MOST + 50
    assert np.array_equal(np.concatenate([lines for lines, _ in parts]), np.tile(np.arange(3, 65538), 50))


def test_tally():
    """Counts of many keys, also of those whose counts come from elsewhere and from another process."""
    import pickle

    keys = np.random.default_rng(5).integers(0, 30000, 200000).astype("u8") * np.uint64(2**40 + 64)
    expected = Counter(keys.tolist())
    tally, other = Tally(), Tally()
    tally.add(keys[:1000])
    other.add(keys[1000:])
    tally.merge(pickle.loads(pickle.dumps(other)))
    found, counts = tally.items()
    assert found.tolist() == sorted(expected)
    assert dict(zip(found.tolist(), counts.tolist(), strict=True)) == expected
    assert tally.most(5) == sorted(expected.items(), key=lambda item: (-item[1], item[0]))[:5]
