"""Print the sources that match glob patterns, one a line; used by meson.build when it configures.

Nobody keeps lists of files by hand; the price is that a file that comes or goes wants a new configuration,
which ``scripts/dev-build`` sees to.
"""

from __future__ import annotations

import argparse
from pathlib import Path


def main() -> None:
    """Print what the command line asks for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--exclude", action="append", default=[])
    parser.add_argument("--folders", action="store_true", help="print the folders of what matches")
    parser.add_argument("patterns", nargs="+")
    args = parser.parse_args()
    files = {
        str(path.relative_to(args.root))
        for pattern in args.patterns
        for path in args.root.glob(pattern)
        if path.is_file() and "__pycache__" not in path.parts and path.name not in args.exclude
    }
    if args.folders:
        files = {str(Path(file).parent) for file in files}
    print("\n".join(sorted(files)))


if __name__ == "__main__":
    main()
