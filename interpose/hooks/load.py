"""Files of hooks (``--hooks=``): executed in the supervisor before the program starts."""

from __future__ import annotations

import os
import sys
import traceback
import types
from typing import TYPE_CHECKING

from interpose.errors import InterposeError, LaunchError
from interpose.hooks import registry as registries
from interpose.hooks import running
from interpose.hooks.errors import HookError, printable
from interpose.hooks.registry import Registry
from interpose.paths import absolute
from interpose.report import given

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interpose.report.log import Log


_LIVE = "live:"
"""In the place of a file: hooks that stay in another process (interpose/hooks/live.py)."""


def begin(files: Sequence[str], log: Log, waits: int) -> Registry:
    """Execute files of hooks in the process that is to run them, whose output is the log from now on.

    At the other end of ``waits`` somebody waits for us to be ready. Raises LaunchError, and what :func:`load`
    raises.
    """
    try:
        from interpose.hooks.service import Output
    except ModuleNotFoundError as error:
        if error.name != "greenlet":
            raise
        raise LaunchError("--hooks needs the package greenlet: pip install greenlet") from None
    sys.stdout = sys.stderr = Output(log)
    running.guard()
    with running.as_long_as(waits):
        registry = load(files)
    log.flush()
    return registry


def load(files: Sequence[str]) -> Registry:
    """The hooks of some files, in order; :class:`HookError`, one line, for what is wrong with one."""
    registry = Registry()
    registries.begin(registry)
    try:
        for number, file in enumerate(files):
            before = len(registry)
            if file.startswith(_LIVE):
                from interpose.hooks.remote import connect

                registry.add(connect(file.removeprefix(_LIVE), before))
                continue
            _execute(file, f"interpose_hooks_{number}")
            if len(registry) == before:
                raise HookError(
                    f"{file}: no hook is in it; decorate functions with interpose.wrap or .replace"
                )
    finally:
        registries.end()
    return registry


def _execute(file: str, name: str) -> None:
    path = absolute(file)
    try:
        source = given.read(path).encode("utf-8", "surrogateescape")
    except OSError as error:
        raise HookError(f"{file}: cannot read the hooks: {error.strerror}") from None
    try:
        code = compile(source, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        where = f":{error.lineno}" if error.lineno else ""
        raise HookError(f"{file}{where}: {type(error).__name__}: {error.msg}") from None
    except ValueError as error:  # NUL bytes, before Python 3.12
        raise HookError(f"{file}: {error}") from None
    module = types.ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    folder = os.path.dirname(path)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    running.begin(os.fsencode(file), os.getpid())
    try:
        exec(code, module.__dict__)
    except MemoryError:
        raise
    except BaseException as error:
        raise HookError(_one_line(file, path, error)) from None
    finally:
        running.end()


def _one_line(file: str, path: str, error: BaseException) -> str:
    """What happened, and at which line of the file."""
    walk = traceback.walk_tb(error.__traceback__)  # millions of frames, maybe
    lines = [line for frame, line in walk if frame.f_code.co_filename == path]
    where = f"{file}:{lines[-1]}" if lines else file
    if isinstance(error, InterposeError):
        return f"{where}: {error.message}"
    if isinstance(error, SystemExit):
        return f"{where}: the file of hooks called exit"
    try:
        text = printable(" ".join(str(error).split()))
    except Exception:  # of the user's class
        text = ""
    return f"{where}: {type(error).__name__}" + (f": {text}" if text else "")
