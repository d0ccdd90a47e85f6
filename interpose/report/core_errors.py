"""Errors that the core finds under any tool (docs/spec/output.md section 3.2): their kinds, their manager."""

from __future__ import annotations

from .errors import ErrorKind, ErrorManager, ErrorOptions, Sinks
from .suppressions import CORE_ERRORS, Suppressions
from .text import TextSink

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interpose.options.parse import Config
    from interpose.report.errors import ErrorSink
    from interpose.supervisor.main import Supervisor

FD_BAD_CLOSE, FD_NOT_CLOSED, FD_BAD_USE = (
    ErrorKind(name, name, CORE_ERRORS.name) for name in ("FdBadClose", "FdNotClosed", "FdBadUse")
)


def load_suppressions(config: Config) -> Suppressions:
    """What the options name, for a tool that finds no errors; raises a SuppressionFileError."""
    found = Suppressions([CORE_ERRORS])
    for path in config.core.suppressions or ():
        found.load(path)
    return found


def error_options(config: Config) -> ErrorOptions:
    """The options about errors."""
    core = config.core
    return ErrorOptions(
        error_limit=core.error_limit,
        exit_on_first_error=core.exit_on_first_error,
        error_exitcode=core.error_exitcode,
        show_error_list=core.show_error_list,
        gen_suppressions=core.gen_suppressions,
        verbosity=core.verbosity,
        xml=core.xml,
    )


def make_manager(supervisor: Supervisor) -> ErrorManager:
    """The manager of a run whose tool has none."""
    core = supervisor.config.core
    begin, end = core.error_markers or ("", "")
    sinks: list[ErrorSink] = [TextSink(supervisor.log, supervisor.resolver, (begin, end))]
    if supervisor.json is not None:
        from .jsonlines import JsonSink

        sinks.append(JsonSink(supervisor.json, supervisor.resolver, core.show_error_list == "all"))
    return ErrorManager(
        error_options(supervisor.config),
        supervisor.resolver,
        load_suppressions(supervisor.config),
        Sinks(*sinks),
        supervisor.log,
        lambda: supervisor.client.read_input(core.input_fd).decode("latin-1"),
    )
