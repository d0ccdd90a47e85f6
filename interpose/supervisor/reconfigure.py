"""VALGRIND_CLO_CHANGE: options that the program changes while it runs. The lines are Valgrind's."""

from __future__ import annotations

from interpose.errors import InterposeError, OptionError
from interpose.options.parse import NotDynamicError, change, dynamic_spelling, without_prefix
from interpose.report.suppressions import SuppressionFileError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interpose.supervisor.main import Supervisor


def change_option(supervisor: Supervisor, word: str) -> InterposeError | None:
    """Put one option word into effect, or say why not.

    Answers what Valgrind ends the program for: a suppression file that cannot be used.
    """
    log = supervisor.log
    meant = without_prefix(supervisor.config, word)
    if meant is None:
        return None
    word = meant
    spelling = dynamic_spelling(supervisor.config, word)
    try:
        config = change(supervisor.config, word)
    except NotDynamicError:
        log.plain(f"Cannot change {word.partition('=')[0]} option dynamically")
        return None
    except OptionError as error:
        if spelling is None:
            log.plain(f"Ignoring dynamic change to unrecognised option {word}")
        else:
            _tell(supervisor, word, spelling)
            log.plain("\n".join(error.lines()))
        return None
    if spelling is not None:
        _tell(supervisor, word, spelling)
    try:
        supervisor.reconfigure(config)
    except InterposeError as error:
        log.plain("\n".join(error.lines()))
        return error if isinstance(error, SuppressionFileError) else None
    return None


def _tell(supervisor: Supervisor, word: str, spelling: str) -> None:
    if supervisor.config.core.verbosity > 0:
        supervisor.log.plain(f"Handling new value {word} for option {spelling}")
