"""What one event (map, unmap, a resolved indirect function) did to the redirection state."""

from __future__ import annotations

from interpose.redir.model import ActiveBinding, CodeObject, Conflict, Specification
from interpose.redir.options import RequiredText

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    from interpose.records import dataclass


@dataclass(frozen=True, slots=True)
class Message:
    """A line for the user, shown from verbosity ``level`` on; ``debug`` selects the ``--PID--`` prefix."""

    level: int
    text: str
    debug: bool = False


@dataclass(frozen=True, slots=True)
class MissingText:
    """An object that lacks a symbol which ``--require-text-symbol`` demands; the run must stop."""

    obj: CodeObject
    required: RequiredText


@dataclass(frozen=True, slots=True)
class Change:
    """The difference between the state before and after an event. A binding that moved is removed and added.

    ``added`` and ``removed`` are what an engine puts into effect; ``ifunc_added`` and ``ifunc_removed`` are
    the resolvers it must watch, or not any more.
    """

    added: tuple[ActiveBinding, ...] = ()
    removed: tuple[ActiveBinding, ...] = ()
    ifunc_added: tuple[ActiveBinding, ...] = ()
    ifunc_removed: tuple[ActiveBinding, ...] = ()
    specs_added: tuple[Specification, ...] = ()
    specs_removed: tuple[Specification, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    messages: tuple[Message, ...] = ()
    missing: tuple[MissingText, ...] = ()

    @property
    def addresses(self) -> tuple[int, ...]:
        """The addresses whose meaning changed, ascending: translations made from them are stale."""
        parts = (self.added, self.removed, self.ifunc_added, self.ifunc_removed)
        return tuple(sorted({binding.address for part in parts for binding in part}))
