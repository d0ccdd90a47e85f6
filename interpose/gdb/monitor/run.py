"""Finds the command that a text means, and carries it out."""

from __future__ import annotations

import contextlib

from interpose.errors import InterposeError

from .table import Call
from .words import Arguments, Refused, candidates, choose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from interpose.supervisor.main import Supervisor

    from .table import Command, Commands

_UNKNOWN = "command '{}' not recognised\nIn gdb,     try 'monitor help'\nIn a shell, try 'vgdb help'\n"


def execute(
    supervisor: Supervisor, text: str, write: Callable[[str], None], by_program: bool = False
) -> bool:
    """Carry out one command; what it says goes to ``write``, piece by piece.

    :param by_program: the program asks, by a client request.
    :returns: whether there is such a command.
    """
    from .core import COMMANDS

    given = text.split()
    tables = (COMMANDS, supervisor.tool.monitor_commands())
    if not given:
        for firsts in (commands.firsts for commands in tables):
            if firsts:
                help_too = () if firsts[0] == "help" else ("help",)
                write(f"<empty string> can match {' '.join((*help_too, *firsts))}\n")
        return True
    try:
        found = _find(supervisor, given, tables)
        if found is None:
            if not by_program:
                write(_UNKNOWN.format(text))
            return False
        command, words = found
        with supervisor.debugger.standstill(), _output(supervisor, write, by_program) as say:
            command.run(Call(supervisor, text, Arguments(words, text), write, say, by_program))
    except Refused as reason:
        write(f"{reason}\n")
    except (InterposeError, OSError) as error:  # nothing that is asked for ends the program
        lines = error.lines() if isinstance(error, InterposeError) else [str(error)]
        write("".join(f"{line}\n" for line in lines))
    return True


def _find(
    supervisor: Supervisor, given: Sequence[str], tables: Sequence[Commands]
) -> tuple[Command, Sequence[str]] | None:
    """The command, and the words behind it: the core's first, then the tool's."""
    for commands in tables:
        if not candidates(given[0], commands.firsts):
            continue
        first = choose(given[0], commands.firsts)
        seconds = commands.seconds(first)
        name, used = first, 1
        if seconds:
            name, used = f"{first} {choose(given[1] if len(given) > 1 else '', seconds)}", 2
        return commands.named(name), given[used:]
    return None


@contextlib.contextmanager
def _output(
    supervisor: Supervisor, write: Callable[[str], None], by_program: bool
) -> Iterator[Callable[[str], None]]:
    """Where the log's lines and plain replies go meanwhile."""
    log = supervisor.log
    asked_for, log.asked_for = log.asked_for, True
    try:
        if by_program or supervisor.monitor_output == "log":
            yield log.unmarked
            return
        log.sink = write
        try:
            yield write
        finally:
            log.flush()
            log.sink = _between_commands(supervisor, write) if supervisor.monitor_output == "gdb" else None
    finally:
        log.asked_for = asked_for


def _between_commands(supervisor: Supervisor, write: Callable[[str], None]) -> Callable[[str], None]:
    """Where the log goes with ``v.set gdb_output``: back into its file once gdb has left, seen or not."""

    def show(text: str) -> None:
        fifos = supervisor.fifos
        if fifos is None or fifos.is_heard:
            write(text)
        else:
            supervisor.log.sink = None
            supervisor.log.unmarked(text)

    return show
