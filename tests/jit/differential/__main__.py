"""Differential run from the command line: ``python -m jit.differential`` with ``tests`` on PYTHONPATH.

``--nightly`` runs ten million instructions; ``--coverage FILE`` writes what was executed, per mnemonic.
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


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--instructions", type=int, default=100_000)
    parser.add_argument("--batch", type=int, default=100_000, help="instructions of one case file")
    parser.add_argument("--modes", default="none", help=f"comma-separated, of {', '.join(MODES)}; or all")
    parser.add_argument("--high", action="store_true", help="code far above 2 GiB")
    parser.add_argument("--nightly", action="store_true", help="ten million instructions")
    parser.add_argument("--show", type=int, default=1, help="differences to explain")
    parser.add_argument("--coverage", type=Path, default=None)
    parser.add_argument("--folder", type=Path, default=None, help="where guest and case files stay")
    args = parser.parse_args()
    seed = args.seed if args.seed is not None else random.SystemRandom().getrandbits(32)
    total = 10_000_000 if args.nightly else args.instructions
    folder = args.folder or Path(tempfile.mkdtemp(prefix="differential-"))
    folder.mkdir(parents=True, exist_ok=True)
    print(f"seed {seed}, files in {folder}", flush=True)
    rng = random.Random(seed)
    guest = Guest.build(folder)
    mark_supported(guest, folder, rng)
    executed: Counter[int] = Counter()
    done, failed = 0, False
    modes = list(MODES) if args.modes == "all" else args.modes.split(",")
    while done < total and not failed:
        started = time.monotonic()
        file = make(rng, guest.layout, min(args.batch, total - done), high=args.high)
        path = folder / f"cases-{done}.bin"
        path.write_bytes(file.data)
        native = guest.records(None, "run", str(path), "0")
        made = time.monotonic()
        for mode in modes:
            result = compare(guest, file, path, MODES[mode], native)
            counts = f"{result.instructions} instructions in {result.cases} cases"
            seconds = f"{made - started:.1f} s to make, {time.monotonic() - made:.1f} s"
            print(
                f"{mode}: {counts}, {len(result.different)} differ, signals {dict(result.signals)}, {seconds}"
            )
            for index in result.different[: args.show]:
                print(explain(guest, file, path, MODES[mode], index), flush=True)
            failed |= bool(result.different)
        executed += result.executed
        done += result.instructions
        if not failed:
            path.unlink()
    if args.coverage:
        args.coverage.write_text(coverage(executed) + "\n")
    return failed


if __name__ == "__main__":
    sys.exit(main())
