"""Run a tool over a trace: in this process, over the cores of this machine, or on Dask's distributed."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from interpose.errors import InterposeError
from interpose.formats.drmemtrace.containers import Source
from interpose.formats.drmemtrace.errors import FormatError
from interpose.formats.drmemtrace.layout import trace_files
from interpose.formats.drmemtrace.reader import Reader, read_header
from interpose.formats.extra import need
from interpose.memtrace.tool import Piece, Tool, map_piece

LAST = 1 << 64
_IN_FLIGHT = 3
"""Pieces for each worker that are under way or wait to be merged."""

_PATIENCE = 10
"""Seconds in which a scheduler answers."""

Submit = Callable[..., Any]


def _beginning(path: str, index: int, header: Reader | None) -> int:
    """The time at which a chunk begins."""
    reader = Reader(path, header=header, first=index, count=1)
    for _ in reader.blocks():
        return reader.copied[0] if index else reader.first_timestamp
    return 0


def pieces(place: str | os.PathLike[str]) -> tuple[list[Piece], list[FormatError]]:
    """The pieces of a trace by the time at which they begin, and what is wrong with files that have none."""
    found: list[Piece] = []
    errors: list[FormatError] = []
    for number, path in enumerate(trace_files(place)):
        name = str(path)
        try:
            source = Source(path)
            if source.fault is not None or len(source.names) < 2:
                found.append(Piece(name, number, 0, None, _beginning_or_zero(name)))
                continue
            header = read_header(path)
        except FormatError as error:
            errors.append(error)
            continue
        time = 0
        for index in range(len(source.names)):
            with suppress(FormatError):  # told when the piece is read
                time = max(time, _beginning(name, index, header))
            found.append(Piece(name, number, index, 1, time))
    return sorted(found, key=lambda piece: (piece.timestamp, piece.file, piece.first)), errors


def _beginning_or_zero(path: str) -> int:
    with suppress(FormatError):
        return _beginning(path, 0, None)
    return 0


# ---- where pieces are done ----


class _Done:
    """What was done at once."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def result(self) -> Any:
        """As futures have it."""
        return self._value


def _here(function: Callable[..., Any], *args: Any) -> _Done:
    return _Done(function(*args))


@contextmanager
def workers(jobs: int, dask_workers: int, scheduler: str | None) -> Iterator[tuple[Submit, int]]:
    """How to submit a piece, and how many may be under way."""
    if scheduler is not None or dask_workers:
        distributed = need("distributed")
        if scheduler is None:
            target: dict[str, Any] = {
                "n_workers": dask_workers,
                "threads_per_worker": 1,
                "dashboard_address": None,
            }
        else:
            target = {"address": scheduler, "timeout": _PATIENCE}
        try:
            cluster = distributed.Client(**target)
        except (OSError, ValueError) as error:
            raise InterposeError(f"{scheduler or 'a local cluster'}: {error}") from None
        with cluster as client:
            count = max(1, len(client.scheduler_info()["workers"]))

            def submit(function: Callable[..., Any], *args: Any) -> Any:
                return client.submit(function, *args, pure=False)

            yield submit, count * _IN_FLIGHT
    elif jobs > 1:
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor

        with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
            yield pool.submit, jobs * _IN_FLIGHT
    else:
        yield _here, 1


def run(
    tool: Tool,
    place: str | os.PathLike[str],
    *,
    jobs: int = 1,
    dask_workers: int = 0,
    scheduler: str | None = None,
) -> list[FormatError]:
    """Do all pieces and merge them; what is wrong with the trace.  Whatever could be read has been merged."""
    todo, errors = pieces(place)
    ends = [*(piece.timestamp for piece in todo[1:]), LAST][: len(todo)]  # there may be none
    broken: set[int] = set()
    with workers(jobs, dask_workers, scheduler) as (submit, most):
        under_way: deque[tuple[Piece, int, Any]] = deque()

        def take() -> None:
            piece, until, future = under_way.popleft()
            if piece.file in broken:
                return  # what lies behind a fault does not follow from what was merged
            state, error = future.result()
            tool.merge(piece, state, until)
            if error is not None:
                broken.add(piece.file)
                errors.append(error)

        for piece, until in zip(todo, ends, strict=True):
            under_way.append((piece, until, submit(map_piece, tool, piece)))
            if len(under_way) >= most:
                take()
        while under_way:
            take()
    return errors
