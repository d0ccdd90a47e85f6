"""What the commands beside ``interpose`` have in common: how they end, and how they write files."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from interpose.errors import InterposeError, internal_error, tell
from interpose.paths import absolute


class OutputError(InterposeError):
    """Standard output takes no more; what could not be said is lost."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"standard output: {error.strerror or error}")


@contextlib.contextmanager
def output_errors() -> Iterator[None]:
    """What is written meanwhile goes to standard output: its errors are told from those of other files.

    A reader that has left is none of them: each way to run a command has its own answer to that.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(error) from error


class _Output(io.FileIO):
    """Standard output."""

    def write(self, data: Any) -> int:
        """As the base's. Raises OutputError."""
        with output_errors():
            return super().write(data)


def _open_output() -> None:
    """Make ``sys.stdout`` one whose errors are told in words; a closed one takes all and keeps nothing."""
    old = sys.stdout
    if old is None:
        _discard_output()
    else:
        old.flush()
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(_Output(1, "wb", closefd=False)),
        encoding=getattr(old, "encoding", "utf-8"),
        errors=getattr(old, "errors", "strict"),
        line_buffering=getattr(old, "line_buffering", False),
        write_through=getattr(old, "write_through", False),
    )


def _discard_output() -> None:
    """Nothing may fail to be written when Python ends."""
    with contextlib.suppress(OSError):
        null = os.open(os.devnull, os.O_WRONLY)
        if null != 1:
            os.dup2(null, 1)
            os.close(null)


def talk(
    main: Callable[[list[str]], int],
    complain: Callable[[InterposeError], None] = tell,
    *,
    at_once: bool = False,
) -> NoReturn:
    """The body of a console script that talks to other processes, or has some of its own to end.

    Errors become lines.  A reader that leaves and Ctrl-C end it without a word, as exceptions: it may have to
    clean up.  ``at_once``: what it has in memory is not taken apart first.
    """
    _open_output()
    try:
        code = _answered(main)
    except InterposeError as error:
        complain(error)
        code = error.exit_code
    except BrokenPipeError:
        code = 1
        _discard_output()
    except KeyboardInterrupt:
        code = 130
    if at_once:
        os._exit(code)
    sys.exit(code)


def run(main: Callable[[list[str]], int]) -> NoReturn:
    """The body of a console script that reads files: errors become lines and an exit code, no traceback."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    _open_output()
    try:
        code = _answered(main)
    except InterposeError as error:
        tell(error)
        code = error.exit_code
    except Exception as error:
        tell(internal_error(error))
        code = 1
    sys.exit(code)


def _answered(main: Callable[[list[str]], int]) -> int:
    """Do what the command line says, and say all of it."""
    try:
        try:
            code = main(sys.argv[1:])
        except SystemExit:  # argparse, after its help
            sys.stdout.flush()
            raise
        sys.stdout.flush()
    except OutputError:
        _discard_output()
        raise
    return code


def start_words(module: str) -> list[str]:
    """The words that start ``entry`` of a module of ours as a process.

    ``python -m`` would load what lies in the folder that it starts in, which may be a user's ``json.py``.
    """
    # Where the current folder was removed, relative ones lead nowhere; where the process starts they might.
    path = [folder for folder in map(absolute, sys.path) if os.path.isabs(folder)]
    start = f"import sys; sys.path[:] = {path!r}; from {module} import entry; entry()"
    return [sys.executable, "-I", "-c", start]


def write_file(path: str, content: bytes) -> None:
    """Write what was asked for; errors in words."""
    try:
        with open(path, "wb") as file:
            file.write(content)
    except OSError as error:
        raise InterposeError(f"{path}: {error.strerror or error}") from error
