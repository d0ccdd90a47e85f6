"""VALGRIND_CLO_CHANGE: options that the program changes while it runs. The lines are Valgrind's."""

from __future__ import annotations

from interpose.errors import InterposeError, OptionError
from interpose.options.parse import NotDynamicError, change, dynamic_spelling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interpose.supervisor.main import Supervisor


def change_option(supervisor: Supervisor, word: str) -> None:
    """Put one option word into effect, or say why not."""
    log = supervisor.log
    talks = supervisor.config.core.verbosity > 0
    spelling = dynamic_spelling(supervisor.config, word)
    try:
        config = change(supervisor.config, word)
    except NotDynamicError:
        log.plain(f"Cannot change {word.partition('=')[0]} option dynamically")
        return
    except OptionError as error:
        unknown = f"Ignoring dynamic change to unrecognised option {word}"
        log.plain(unknown if spelling is None else "\n".join(error.lines()))
        return
    if talks and spelling is not None:
        log.plain(f"Handling new value {word} for option {spelling}")
    try:
        supervisor.reconfigure(config)
    except InterposeError as error:
        log.plain("\n".join(error.lines()))
