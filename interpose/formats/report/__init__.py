"""Reports in JSON Lines, as ``--json-file`` writes them (docs/json.md): typed records and a reader.

    from interpose.formats import report

    for error in report.read("memcheck.jsonl").errors:
        print(error)

A bad file raises ``interpose.formats.FormatError`` with file, line and reason.  ``schema()`` is the JSON
Schema of a record.
"""

from __future__ import annotations

from interpose.formats.report.model import (
    ClientMessage,
    Error,
    FatalSignal,
    Frame,
    HeapSummary,
    Leak,
    Mark,
    Part,
    Process,
    Report,
    Suppression,
    SuppressionUse,
    Thread,
    Totals,
)
from interpose.formats.report.reader import Reader, read

__all__ = [
    "ClientMessage",
    "Error",
    "FatalSignal",
    "Frame",
    "HeapSummary",
    "Leak",
    "Mark",
    "Part",
    "Process",
    "Reader",
    "Report",
    "Suppression",
    "SuppressionUse",
    "Thread",
    "Totals",
    "read",
    "schema",
]


def schema() -> dict[str, object]:
    """The JSON Schema of one record."""
    import json
    from pathlib import Path

    found: dict[str, object] = json.loads(Path(__file__).with_name("schema.json").read_text())
    return found
