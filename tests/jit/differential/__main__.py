"""Differential run from the command line: ``python -m jit.differential`` with ``tests`` on PYTHONPATH.

``--nightly`` runs ten million instructions under none and under both translations of memcheck; every fourth
batch has its code far above 2 GiB.  ``--coverage FILE`` writes what ran, per mnemonic of the decoder's table.
``--unknown`` walks the opcode maps and lists what the CPU runs although the decoder does not know it.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from .cases import make
from .run import MODES, Guest, compare, coverage, explain, mark_supported
from .unknown import walk

NIGHTLY = 10_000_000
NIGHTLY_MODES = "none,memcheck,tracking"
HIGH_EVERY = 4


def parse_modes(text: str) -> dict[str, int]:
    """Modes, each with the number of batches of which one is run."""
    if text == "all":
        return dict.fromkeys(MODES, 1)
    out = {}
    for word in text.split(","):
        name, _, every = word.partition(":")
        if name not in MODES:
            raise SystemExit(f"no mode {name}")
        out[name] = int(every or 1)
    return out


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--instructions", type=int, default=100_000)
    parser.add_argument("--batch", type=int, default=100_000, help="instructions of one case file")
    parser.add_argument(
        "--modes",
        default=None,
        help=f"comma-separated, of {', '.join(MODES)}; MODE:N for every Nth batch only; or all",
    )
    parser.add_argument("--high", action="store_true", help="code far above 2 GiB")
    parser.add_argument("--nightly", action="store_true", help="ten million instructions, to the end")
    parser.add_argument("--show", type=int, default=1, help="differences of a batch to explain")
    parser.add_argument("--coverage", type=Path, default=None)
    parser.add_argument("--folder", type=Path, default=None, help="where guest and case files stay")
    parser.add_argument("--unknown", action="store_true", help="what the CPU runs and the decoder does not")
    args = parser.parse_args()
    args.total = NIGHTLY if args.nightly else args.instructions
    args.modes = parse_modes(args.modes or (NIGHTLY_MODES if args.nightly else "none"))
    if args.seed is None:
        args.seed = random.SystemRandom().getrandbits(32)
    return args


def main() -> int:
    args = arguments()
    folder = args.folder or Path(tempfile.mkdtemp(prefix="differential-"))
    folder.mkdir(parents=True, exist_ok=True)
    print(f"seed {args.seed}, files in {folder}", flush=True)
    rng = random.Random(args.seed)
    guest = Guest.build(folder)
    if args.unknown:
        return walk(guest, folder, rng)
    mark_supported(guest, folder, rng)
    executed: Counter[int] = Counter()
    faulted: Counter[int] = Counter()
    count: Counter[str] = Counter()
    done = batches = failed = 0
    while done < args.total and (args.nightly or not failed):
        started = time.monotonic()
        high = args.high or (args.nightly and batches % HIGH_EVERY == HIGH_EVERY - 1)
        file = make(rng, guest.layout, min(args.batch, args.total - done), high=high)
        path = folder / f"cases-{args.seed}-{batches}.bin"
        path.write_bytes(file.data)
        native = guest.records(None, "run", str(path), "0")
        seconds = f"{time.monotonic() - started:.1f} s to make"
        differ = 0
        for mode, every in args.modes.items():
            if batches % every:
                continue
            started = time.monotonic()
            result = compare(guest, file, path, MODES[mode], native)
            what = (
                f"{mode}{' high' if high else ''}: {result.instructions} instructions in {result.cases} cases"
            )
            seconds += f", {time.monotonic() - started:.1f} s"
            print(
                f"{what}, {len(result.different)} differ, signals {dict(result.signals)}, {seconds}",
                flush=True,
            )
            for index in result.different[: args.show]:
                print(explain(guest, file, path, MODES[mode], index), flush=True)
            differ += len(result.different)
            count[mode] += result.instructions
        executed += result.executed
        faulted += result.faulted
        done += result.instructions
        batches += 1
        failed += differ
        if not differ:
            path.unlink()
        if args.coverage:
            args.coverage.write_text(coverage(executed, faulted) + "\n")
    print(f"{dict(count)} instructions, {failed} cases differ")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
