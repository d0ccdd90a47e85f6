"""``interpose-memtrace TOOL FOLDER``: analyses of memory traces."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from interpose.console import talk
from interpose.errors import InterposeError, tell
from interpose.formats.drmemtrace.errors import FormatError
from interpose.formats.drmemtrace.layout import trace_files
from interpose.formats.extra import need
from interpose.memtrace import view
from interpose.memtrace.counts import BasicCounts, Histogram, OpcodeMix, SyscallMix
from interpose.memtrace.functions import FuncView
from interpose.memtrace.invariants import Violation, check
from interpose.memtrace.locality import CacheSimulator, ReuseDistance
from interpose.memtrace.run import run, workers
from interpose.memtrace.tool import Result, Tool, natural

TOOLS: tuple[type[Tool], ...] = (
    BasicCounts,
    OpcodeMix,
    ReuseDistance,
    CacheSimulator,
    Histogram,
    FuncView,
    SyscallMix,
)
_LINE = "=" * 75


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(
        prog="interpose-memtrace", description="Analyses of drmemtrace memory traces.", allow_abbrev=False
    )
    commands = top.add_subparsers(dest="tool", required=True, metavar="TOOL")
    for tool in TOOLS:
        each = commands.add_parser(tool.name, help=_first_line(tool), allow_abbrev=False)
        _common(each)
        _parallel(each)
        tool.arguments(each)
    each = commands.add_parser("view", help=_first_line(view), allow_abbrev=False)
    _common(each)
    view.arguments(each)
    each = commands.add_parser("invariant_checker", help="What must hold in every trace.", allow_abbrev=False)
    _common(each)
    _parallel(each)
    each = commands.add_parser("finish", help="Make the trace of a folder with records.", allow_abbrev=False)
    each.add_argument("folder", metavar="FOLDER", help="that interpose --memtrace-finish=no has left")
    each.add_argument("--keep-raw", action="store_true", help="do not remove the records")
    each.add_argument("--workers", type=natural, metavar="N", help="threads (one for each CPU)")
    return top


def _first_line(documented: object) -> str:
    return (documented.__doc__ or "").splitlines()[0]


def _common(each: argparse.ArgumentParser) -> None:
    each.add_argument("folder", metavar="FOLDER", help="of a trace, or one trace file")
    each.add_argument("--json", action="store_true", help="JSON instead of text")
    each.add_argument("--parquet", metavar="OUT", help="write the result as a Parquet file, too")


def _parallel(each: argparse.ArgumentParser) -> None:
    group = each.add_mutually_exclusive_group()
    group.add_argument("--jobs", type=natural, default=1, metavar="N", help="processes of this machine (1)")
    group.add_argument(
        "--workers", type=natural, default=0, metavar="N", help="workers of a local Dask cluster"
    )
    group.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask cluster")


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(line + "\n")


@contextlib.contextmanager
def _written(path: str) -> Iterator[BinaryIO]:
    try:
        with open(path, "wb") as file:
            yield file
    except OSError as error:
        raise InterposeError(f"{path}: {error.strerror or error}") from error


def _write_parquet(path: str, columns: dict[str, list[Any]]) -> None:
    arrow, parquet = need("pyarrow"), need("pyarrow.parquet")
    with _written(path) as file:
        parquet.write_table(arrow.table(columns), file)


def _show(options: argparse.Namespace, title: str, result: Result, errors: list[FormatError]) -> None:
    if options.json:
        faults = [str(error) for error in errors]
        sys.stdout.write(json.dumps({"tool": options.tool, **result.data, "errors": faults}, indent=1) + "\n")
    else:
        _say([title])
        _say(result.text)
        _say([_LINE])
    if options.parquet:
        _write_parquet(options.parquet, result.columns)


def _mapped(options: argparse.Namespace) -> list[FormatError]:
    tool = next(tool for tool in TOOLS if tool.name == options.tool)(options)
    errors = run(
        tool,
        options.folder,
        jobs=options.jobs,
        dask_workers=options.workers,
        scheduler=options.scheduler,
    )
    _show(options, tool.title, tool.result(), errors)
    return errors


def _viewed(options: argparse.Namespace) -> list[FormatError]:
    errors: list[FormatError] = []
    trace_files(options.folder)  # an error of this comes before any line
    if options.parquet:
        with _written(options.parquet) as file:
            count = view.write_table(options, file, errors)
        if options.json:
            sys.stdout.write(
                json.dumps({"tool": "view", "records": count, "parquet": options.parquet}) + "\n"
            )
    elif options.json:
        for number, instructions, record in view.chosen(options, errors):
            row = {"record": number, "instruction": instructions, **record._asdict()}
            row["kind"] = view.kind_name(record)
            sys.stdout.write(json.dumps(row, default=view.plain_value) + "\n")
    else:
        _say(view.lines(options, errors))
        _say(["View tool results:", _LINE])
    return errors


def _checked(path: Path) -> list[Violation]:
    return list(check(path))


def _invariants(options: argparse.Namespace) -> bool:
    """Whether all hold."""
    found: list[Violation] = []
    with workers(options.jobs, options.workers, options.scheduler) as (submit, _):
        for future in [submit(_checked, path) for path in trace_files(options.folder)]:
            found += future.result()
    names = Violation._fields
    columns = {name: [getattr(each, name) for each in found] for name in names}

    def text() -> Iterable[str]:
        yield from (violation.line() for violation in found)
        yield f"{len(found)} violations" if found else "Trace invariant checks passed"

    data = {"violations": [violation._asdict() for violation in found]}
    _show(options, "Invariant checker results:", Result(iter(text()), data, columns), [])
    return not found


def _finish(options: argparse.Namespace) -> bool:
    """Whether nothing was wrong with the records."""
    from interpose.tools.memtrace.finishing import finish

    result = finish(options.folder, keep_raw=options.keep_raw, workers=options.workers)
    text = f"{result.instructions:,} instructions, {result.records:,} records, {result.bytes:,} bytes"
    _say([f"{options.folder}: {text} in {len(result.files)} file(s)", *result.notes])
    return not result.notes


def main(argv: Sequence[str]) -> int:
    """Run a tool; the exit code."""
    options = parser().parse_args(argv)
    try:
        if options.tool == "invariant_checker":
            return 0 if _invariants(options) else 1
        if options.tool == "finish":
            return 0 if _finish(options) else 1
        errors = _viewed(options) if options.tool == "view" else _mapped(options)
        sys.stdout.flush()
        for error in errors:
            tell(error)
        return 1 if errors else 0
    except InterposeError as error:
        sys.stdout.flush()
        tell(error)
        return error.exit_code


def entry() -> None:
    """The console script."""
    talk(main)
