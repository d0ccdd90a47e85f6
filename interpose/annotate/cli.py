"""The command ``interpose-annotate``."""

from __future__ import annotations

import gc
import os
import sys

from interpose import __version__
from interpose.annotate import text
from interpose.annotate.data import Data, aligned, difference, load
from interpose.annotate.options import USAGE, Options, parse
from interpose.console import run, write_file
from interpose.errors import InterposeError, tell


def main(words: list[str]) -> int:
    """Run a command line; the exit code says whether every profile was whole."""
    options = parse(words)
    if options.info is not None:
        print(USAGE if options.info == "help" else f"interpose-annotate-{__version__}\n", end="")
        return 0
    if options.found:
        print(f"Reading data from '{text.safe(options.profiles[0])}'...")
    if options.html:
        return _page(options)
    data = _read(options)
    if options.export is not None:
        _export(data, options, options.export)
    else:
        _show(data, options)
    return _complete([data])


def _complete(runs: list[Data]) -> int:
    """Says what could not be read; the exit code."""
    errors = [source.error for data in runs for source in data.sources if source.error is not None]
    for error in errors:
        tell(error)
    return int(bool(errors))


def _page(options: Options) -> int:
    from interpose.annotate.page import html

    runs = [load([name], instructions=True) for name in options.profiles]
    if len(runs) == 2:
        runs[0] = aligned(*runs)
    write_file(options.out or "", html(runs, options.include))
    return _complete(runs)


def _read(options: Options) -> Data:
    if not options.diff:
        return load(options.profiles)
    old, new = (load([name]) for name in options.profiles)
    return difference(old, new)


def _show(data: Data, options: Options) -> None:
    paint = text.coloured if _wants_colour(options) else text.plain
    report = text.Report(data, options, paint)
    write = sys.stdout.write
    for line in report.lines():
        write(f"{line}\n")
    sys.stdout.flush()


def _export(data: Data, options: Options, kind: str) -> None:
    from interpose.annotate import export, flamegraph

    report = text.Report(data, options)
    if not data.events:
        raise InterposeError(f"{data.sources[0].name} has no events")
    # The first event that was asked for weighs; what the format can hold of the others comes along.
    first = report.sort[0] if options.sort else report.shown[0]
    events = [first, *(index for index in dict.fromkeys(report.shown) if index != first)]
    made = flamegraph.svg(data, first) if kind == "flamegraph" else getattr(export, kind)(data, events)
    write_file(options.out or "", made)


def _wants_colour(options: Options) -> bool:
    if options.colour != "auto":
        return options.colour == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def entry() -> None:
    """The console script."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    # Millions of sums, and no cycle among them: the collector would look through all of them again and again.
    gc.disable()
    run(main)
