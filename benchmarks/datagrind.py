#!/usr/bin/env python3
"""Read and show a large datagrind file: ``python3 benchmarks/datagrind.py [--accesses N] [--folder DIR]``.

Makes a trace (arrays that are walked, a stack, a heap in random order; NumPy is needed for that), reads it in
bulk, builds the viewer's index, opens it again, and draws views.  Printed are seconds, accesses a second, and
the peak of resident memory.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from interpose.dgview import picture
from interpose.dgview.index import Index
from interpose.formats import datagrind

RUNS = 1 << 20


def make(path: Path, accesses: int) -> None:
    """A run has four accesses: of an array, of the stack, two of the heap."""
    rng = np.random.default_rng(1)
    with open(path, "wb") as stream:
        writer = datagrind.Writer(stream)
        contexts = []
        for n in range(200):
            at = 0x400000 + 64 * n
            block = writer.bbdef(
                [(at + 4 * i, 4) for i in range(12)], [(0, 8, 1), (1, 8, 3), (0, 4, 6), (n % 2, 1, 9)]
            )
            contexts.append(writer.context(block, [at, 0x401000, 0x402000]))
        heap = 0x5555_0000_0000
        for n in range(2000):
            writer.malloc_block(heap + 4096 * n, 4000, [0x400010, 0x401000])
        kind = np.dtype([("head", "u1", 2), ("context", "<u8"), ("n", "u1"), ("at", "<u8", 4)])
        assert kind.itemsize == 43
        for begin in range(0, accesses // 4, RUNS):
            count = min(RUNS, accesses // 4 - begin)
            run = np.arange(begin, begin + count, dtype=np.uint64)
            rows = np.zeros(count, kind)
            rows["head"] = 12, 41
            rows["context"] = run // 4096 % 200
            rows["n"] = 12
            rows["at"][:, 0] = 0x7F00_0000_0000 + run * 8 % (64 << 20)
            rows["at"][:, 1] = 0x7FFF_FFFF_0000 - run % 997 * 8
            rows["at"][:, 2] = heap + rng.integers(0, 2000 * 4096, count, np.uint64)
            rows["at"][:, 3] = heap + run // 1000 * 64 % (2000 * 4096) + run % 64
            stream.write(rows.tobytes())


def report(what: str, began: float, accesses: int) -> None:
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"{what:40} {seconds:8.3f} s {accesses / seconds / 1e6:9.1f} M/s   peak {peak} MiB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--accesses", type=int, default=100_000_000)
    parser.add_argument("--folder", type=Path, default=None)
    words = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=words.folder) as folder:
        path = Path(folder) / "datagrind.out"
        make(path, words.accesses)
        print(f"{words.accesses} accesses, {os.path.getsize(path) >> 20} MiB")
        began = time.perf_counter()
        with datagrind.Trace(path) as trace:
            count = sum(chunk.count for chunk in trace.chunks())
        report("read in bulk", began, count)
        began = time.perf_counter()
        Index.open(str(path))
        report("index made and stored", began, count)
        began = time.perf_counter()
        index = Index.open(str(path))
        report("index opened", began, count)
        whole = picture.whole(index, 1500, 900)
        right, bottom = whole.right, whole.bottom
        views = {
            "all": whole,
            "half of the time": whole._replace(bottom=bottom // 2),
            "a twentieth of the time": whole._replace(bottom=bottom // 20),
            "a thousandth of the time": whole._replace(bottom=bottom // 1000),
            "a hundredth of the addresses": whole._replace(right=right // 100),
            "a hundredth of both": whole._replace(right=right // 100, bottom=bottom // 100),
        }
        for name, view in views.items():
            for exact in (False, True):
                began = time.perf_counter()
                _, is_exact = picture.draw(index, view, exact=exact)
                report(f"{name}, {'exact' if is_exact else 'coarse'}", began, count)
                if is_exact:
                    break
        for name, wanted in {
            "heap blocks": datagrind.Filter(by_range=True, any_block=True),
            "one function": datagrind.Filter(by_event=True, event_ips=[0x400000 + 4 * i for i in range(12)]),
            "one function in heap blocks": datagrind.Filter(
                by_event=True, event_ips=[0x400000 + 4 * i for i in range(12)], by_range=True, any_block=True
            ),
        }.items():
            began = time.perf_counter()
            first: list[float] = []
            index.filtered(wanted, so_far=lambda _: first.append(time.perf_counter()))  # noqa: B023
            if first:
                report(f"filter: {name}, first picture", began + time.perf_counter() - first[0], count)
            report(f"filter: {name}", began, count)


if __name__ == "__main__":
    main()
