"""What the commands beside ``interpose`` have in common: how they end, and how they write files."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

from interpose.errors import InterposeError, internal_error, tell


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
    try:
        code = main(sys.argv[1:])
        if sys.stdout is not None:  # closed by who started it
            sys.stdout.flush()
    except InterposeError as error:
        complain(error)
        code = error.exit_code
    except BrokenPipeError:
        code = 1
        # Nothing may be written to it when Python ends.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except KeyboardInterrupt:
        code = 130
    if at_once:
        os._exit(code)
    sys.exit(code)


def run(main: Callable[[list[str]], int]) -> NoReturn:
    """The body of a console script that reads files: errors become lines and an exit code, no traceback."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        code = main(sys.argv[1:])
    except InterposeError as error:
        tell(error)
        code = error.exit_code
    except Exception as error:
        tell(internal_error(error))
        code = 1
    sys.exit(code)


def start_words(module: str) -> list[str]:
    """The words that start ``entry`` of a module of ours as a process.

    ``python -m`` would load what lies in the folder that it starts in, which may be a user's ``json.py``.
    """
    path = [os.path.abspath(folder) for folder in sys.path]
    start = f"import sys; sys.path[:] = {path!r}; from {module} import entry; entry()"
    return [sys.executable, "-I", "-c", start]


def write_file(path: str, content: bytes) -> None:
    """Write what was asked for; errors in words."""
    try:
        with open(path, "wb") as file:
            file.write(content)
    except OSError as error:
        raise InterposeError(f"{path}: {error.strerror or error}") from error
