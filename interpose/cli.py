"""The command line: ``interpose [options] program [arguments]``."""

from __future__ import annotations

import os
import sys

from interpose import INTERFACES, __version__, launched
from interpose.errors import (
    NO_DESCRIPTORS,
    OUT_OF_MEMORY,
    InterposeError,
    OptionError,
    internal_error,
    out_of_descriptors,
    out_of_memory,
    tell,
)
from interpose.options.parse import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from interpose.options.parse import Config


def show(config: Config, what: str) -> None:
    """Print what was asked for instead of a run: help texts and the version, on standard output."""
    if what == "version":
        text = f"{_version(config)}\n"
    elif what == "include":
        from interpose import paths

        text = f"{paths.include()}\n"
    elif what == "gdb":
        from interpose import paths

        text = f"{paths.gdb_script()}\n"
    else:
        from interpose.options import helptext

        if what == "dynamic":
            text = helptext.dynamic_text(config.tool_name)
        else:
            text = helptext.help_text(config.tool_name, debug=what == "debug")
    _say(text)


def _version(config: Config) -> str:
    """The line of ``--version``: as ``valgrind`` (a link) of the Valgrind whose interfaces these are.

    Scripts choose options by its number (curl's runtests.pl gives ``--logfile`` to what is older than 3),
    or refuse what does not begin with ``valgrind-`` (Perl's Test::Valgrind).
    """
    own = f"interpose-{__version__}"
    if not os.path.basename(sys.argv[0]).startswith("valgrind"):
        return own
    interfaces = f"valgrind-{INTERFACES}"
    return f"{interfaces}-{own}" if config.core.verbosity > 1 else interfaces


def _say(text: str) -> None:
    """What was asked for, to standard output."""
    from interpose.console import output_errors

    with output_errors():
        print(text, end="", flush=True)


def is_command(config: Config) -> bool:
    """Whether something else is asked for than the run of a program."""
    core = config.core
    other = core.show, core.mpi_wrappers, core.attach or None, core.detach or None
    return any(what is not None for what in other) or core.cache in ("show", "clear")


def _is_run(config: Config) -> bool:
    """Whether a program runs on the engine of ours, and nothing else is asked for."""
    return bool(config.program) and not is_command(config) and config.core.engine != "native"


def _this_python() -> str:
    return f"this is {'.'.join(map(str, sys.version_info[:3]))} ({sys.executable})"


def main(words: Sequence[str]) -> int:
    """Run a command line; returns an exit code only if no program takes this process over."""
    if sys.version_info < (3, 10):  # noqa: UP036
        raise InterposeError(f"Python 3.10 or newer is needed; {_this_python()}")
    config = parse(words)
    if launched.waiting is not None and not _is_run(config):
        launched.waiting.do_again()
    if config.core.show == "dap":
        from interpose.dap.server import serve

        if config.program:
            raise OptionError("--dap takes no program: the editor names it")
        return serve()
    if config.core.show is not None:
        show(config, config.core.show)
        return 0
    if config.core.cache in ("show", "clear"):
        from interpose.cache import manage

        _say(f"{manage.show() if config.core.cache == 'show' else manage.clear()}\n")
        return 0
    if config.core.mpi_wrappers is not None:
        from interpose.mpi.build import library

        _say(f"{library(config.core.mpi_wrappers)}\n")
        return 0
    if config.core.attach or config.core.detach:
        from interpose.native import attach

        if config.program:
            raise OptionError("--attach and --detach take no program")
        if config.core.detach:
            return attach.detach(config.core.detach)
        return attach.attach(config, config.core.attach)
    if config.core.engine == "native":
        from interpose.native.command import run

        return run(config)
    if not config.program:
        raise OptionError("no program specified")
    try:
        from interpose.launch import launch
    except ModuleNotFoundError as error:
        if error.name != "interpose.jit._native":
            raise
        text = f"the package was not built for this Python; {_this_python()}; install it again"
        raise InterposeError(text) from error
    launch(config)


def entry() -> None:
    """The console script: our errors become lines on standard error and an exit code, no traceback."""
    code = 1
    try:
        try:
            code = main(sys.argv[1:])
        except BrokenPipeError:
            code = 1
        except InterposeError as error:
            tell(error)
            code = error.exit_code
        except Exception as error:
            if out_of_memory(error):
                os.write(2, OUT_OF_MEMORY)
            elif out_of_descriptors(error):
                tell(InterposeError(NO_DESCRIPTORS))
            else:
                tell(internal_error(error))
    except BaseException:
        # Not even a message could be made.
        os.write(2, OUT_OF_MEMORY)
    if launched.waiting is not None:
        launched.waiting.end(code)
    # Nothing of ours is left to tidy up, and a standard output that was closed must not make noise.
    os._exit(code)
