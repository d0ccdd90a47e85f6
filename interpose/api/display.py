"""How a notebook shows the results of runs: HTML without a script, every text of a report escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from interpose.api.result import Run
    from interpose.formats.report import Error

MOST_SHOWN = 50
"""Errors, and as many leaks."""


def run_html(run: Run) -> str:
    """A line about the run, then each error and each leak, closed but for its first line."""
    if run.signal is None:
        end = f"exit code {run.exit_code}"
    else:
        end = f"ended by {getattr(run.signal, 'name', run.signal)}"
    counts = f"{_count(len(run.errors), 'error')}, {_count(len(run.leaks), 'leak')}"
    head = f"<b>{escape(run.tool)}</b> <code>{_shown(' '.join(run.command))}</code>: {escape(end)}, {counts}"
    return f"<div>{head}{''.join(_items(run.errors))}{''.join(_items(run.leaks))}</div>"


def error_html(error: Error) -> str:
    """An error or a leak: what it is, and the log's text of it."""
    first, _, _ = str(error).partition("\n")
    often = f" ({error.count} times)" if error.count > 1 else ""
    text = f"<pre>{_shown(str(error))}</pre>"
    return f"<details><summary>{_shown(first)}{often}</summary>{text}</details>"


def _items(errors: Sequence[Error]) -> Iterator[str]:
    yield from map(error_html, errors[:MOST_SHOWN])
    if len(errors) > MOST_SHOWN:
        yield f"<p>{len(errors) - MOST_SHOWN} more</p>"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _shown(text: str) -> str:
    """Bytes of names that are no UTF-8, which a notebook's file cannot hold, as ``\\xNN``."""
    return escape(text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"))
