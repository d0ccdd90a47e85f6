"""The command ``interpose-report``."""

from __future__ import annotations

import argparse
import os
import sys
from typing import NoReturn

from interpose import __version__
from interpose.console import run, write_file
from interpose.errors import InterposeError
from interpose.formats import report as reports
from interpose.reporting.compare import compare
from interpose.reporting.paths import Sources

NEW = 2
"""The exit code if a comparison has found something new."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InterposeError(message, f"Use {self.prog} --help for more information.")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="interpose-report",
        description="Shows reports that interpose --json-file wrote, as text, SARIF or one HTML page.",
        epilog="Exit code: 0; 2 if --baseline was given and there is something new; 1 for a problem.",
        allow_abbrev=False,
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--sarif", action="store_true", help="SARIF 2.1.0, for code hosts and editors")
    form.add_argument("--html", action="store_true", help="one page with source, which needs nothing else")
    parser.add_argument("--baseline", metavar="OLD", help="an earlier report: tell what is new since")
    parser.add_argument("-o", "--out", metavar="FILE", help="write to FILE, not to standard output")
    parser.add_argument(
        "--root",
        metavar="DIR",
        default=".",
        help="the project's folder: paths are relative to it (default: .)",
    )
    parser.add_argument(
        "--include",
        metavar="DIR",
        action="append",
        default=[],
        help="look for sources here, too; may be repeated",
    )
    parser.add_argument("--version", action="version", version=f"interpose-report-{__version__}")
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="reports; several are those of one run's processes"
    )
    return parser


def main(words: list[str]) -> int:
    """Run a command line."""
    options = _parser().parse_args(words)
    if not os.path.isdir(options.root):
        raise InterposeError(f"{options.root}: this is no folder")
    sources = Sources(options.root)
    report = reports.read(*options.files)
    comparison = compare(reports.read(options.baseline), report) if options.baseline is not None else None
    if options.sarif:
        from interpose.reporting.sarif import sarif

        content = sarif(report, sources, comparison)
    elif options.html:
        from interpose.reporting.page import html

        content = html(report, sources, comparison, options.include)
    else:
        from interpose.reporting.text import comparison_lines, report_lines

        lines = report_lines(report) if comparison is None else comparison_lines(comparison, sources)
        content = "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")
    _write(options.out, content)
    return NEW if comparison is not None and comparison.new else 0


def _write(path: str | None, content: bytes) -> None:
    if path is None:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
        return
    write_file(path, content)


def entry() -> None:
    """The console script."""
    run(main)
