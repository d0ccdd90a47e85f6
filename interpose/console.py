"""What commands that read files have in common: how they end, and how they write what was asked for."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from interpose.errors import InterposeError, internal_error, tell


def run(main: Callable[[list[str]], int]) -> NoReturn:
    """The body of a console script: errors become lines on standard error and an exit code, no traceback."""
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


def write_file(path: str, content: bytes) -> None:
    """Write what was asked for; errors in words."""
    try:
        Path(path).write_bytes(content)
    except OSError as error:
        raise InterposeError(f"{path}: {error.strerror or error}") from error
