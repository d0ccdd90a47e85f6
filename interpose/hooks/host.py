"""What hooks need of an engine beside their calls: the program's memory, names, and stacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interpose.hooks.hooked import HookedCall
    from interpose.hooks.port import Thread
    from interpose.report.log import Log
    from interpose.report.stack import StackResolver


class Host(Protocol):
    """One process of the program's, as :class:`interpose.hooks.service.HookService` sees it."""

    @property
    def log(self) -> Log: ...

    @property
    def verbosity(self) -> int:
        """1 without ``-v`` and ``-q``."""

    @property
    def pid(self) -> int: ...

    @property
    def resolver(self) -> StackResolver:
        """Addresses to lines of stacks."""

    def is_gone(self) -> bool:
        """Whether nobody is left to wait for a hook."""

    def read(self, address: int, size: int) -> bytes | None:
        """Bytes of the program's memory; None if some of them cannot be read."""

    def read_string(self, address: int, limit: int) -> bytes | None:
        """Bytes up to a NUL, without it, at most ``limit``; None if there is none to be read."""

    def find_function(self, name: str) -> int:
        """Address of a function by its symbol, in the order of mapping; 0 if no object has it."""

    def binding(self, address: int) -> tuple[str, str]:
        """Function and soname of a hooked address."""

    def thread(self, asker: Any) -> Thread:
        """Who has made an event (:attr:`interpose.hooks.hooked.Event.asker`)."""

    def return_addresses(self, call: HookedCall) -> Sequence[int]:
        """The stack of a call: return addresses, the hooked function's first."""
