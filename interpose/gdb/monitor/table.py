"""The declaration of a monitor command, and what it is given."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from dataclasses import dataclass

    from interpose.report.errors import AuxPart
    from interpose.report.log import Log
    from interpose.supervisor.main import Supervisor

    from .words import Arguments
else:
    from interpose.records import dataclass


class Call:
    """One command that is carried out.

    :ivar text: the whole command.
    :ivar words: what follows its name.
    :ivar log: for what has Valgrind's prefix; it goes where the reply goes (``v.set``).
    :ivar by_program: the program asks by a client request.
    """

    def __init__(
        self,
        supervisor: Supervisor,
        text: str,
        words: Arguments,
        tell: Callable[[str], None],
        say: Callable[[str], None],
        by_program: bool,
    ) -> None:
        self.supervisor = supervisor
        self.text = text
        self.words = words
        self.log: Log = supervisor.log
        self.by_program = by_program
        self._tell = tell
        self._say = say

    def say(self, text: str) -> None:
        """A plain line of the reply."""
        self._say(text + "\n")

    def tell(self, text: str) -> None:
        """A line for whoever asks, wherever replies go."""
        self._tell(text + "\n")

    def describe(self, parts: Iterable[AuxPart]) -> None:
        """What an address is."""
        from interpose.report.text import stack_lines

        for part in parts:
            if part.text and self.by_program:
                self.log.plain(f" {part.text}")
            elif part.text:
                self.say(f" {part.text}")
            if part.stack is not None:
                self.log.plain("\n".join(stack_lines(self.supervisor.resolver, part.stack)))


@dataclass(frozen=True)
class Command:
    """A command, or one of those that share a first word.

    :ivar name: its words.
    :ivar run: carries it out; may raise :class:`~.words.Refused`.
    :ivar help: lines of ``help``, complete.
    :ivar order: the place of its second word in an answer that names several.
    :ivar debug: ``help debug`` alone shows it.
    """

    name: str
    run: Callable[[Call], None]
    help: tuple[str, ...]
    order: int = 0
    debug: bool = False


def line(usage: str, what: str) -> str:
    """A line of ``help``."""
    return f"  {usage:<23} : {what}"


@dataclass(frozen=True)
class Commands:
    """The commands of the core, or of a tool, in the order of ``help``.

    :ivar firsts: their first words, in the order in which answers name them.
    """

    commands: tuple[Command, ...] = ()
    firsts: tuple[str, ...] = ()

    def seconds(self, first: str) -> list[str]:
        """The words that a first word wants behind it, in the order in which answers name them."""
        found = {}
        for command in self.commands:
            head, _, tail = command.name.partition(" ")
            if head == first and tail:
                found[tail] = command.order
        return sorted(found, key=lambda word: found[word])

    def named(self, name: str) -> Command:
        """The command with these words."""
        return next(command for command in self.commands if command.name == name)

    def help(self, debug: bool = False) -> list[str]:
        """The lines of one group."""
        return [text for command in self.commands if command.debug is debug for text in command.help]
