"""Print the sources that match glob patterns, one a line; used by meson.build when it configures.

With ``--depfile`` it writes, besides, a make rule that names every folder searched, so that a file that comes
or goes makes ninja configure anew: nobody keeps lists of files by hand.
"""

from __future__ import annotations

import argparse
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--depfile", type=Path)
    parser.add_argument("--output", type=Path, help="stamp that the depfile speaks of")
    parser.add_argument("--exclude", action="append", default=[])
    parser.add_argument("patterns", nargs="*")
    args = parser.parse_args()
    files = sorted(
        path
        for pattern in args.patterns
        for path in args.root.glob(pattern)
        if path.is_file() and "__pycache__" not in path.parts and path.name not in args.exclude
    )
    listing = "\n".join(str(path.relative_to(args.root)) for path in files)
    if args.depfile is None:
        print(listing)
        return
    args.output.write_text(listing + "\n")
    tops = {pattern.split("/", 1)[0] for pattern in args.patterns}
    folders = sorted(
        str(folder)
        for top in tops
        for folder in [args.root / top, *(args.root / top).glob("**/")]
        if folder.is_dir() and not set(folder.parts) & {"__pycache__", "_lib"}
    )
    args.depfile.write_text(f"{args.output.name}: {' '.join(folders)}\n")


if __name__ == "__main__":
    main()
