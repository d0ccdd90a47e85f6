"""What goes wrong with hooks."""

from __future__ import annotations

from interpose.errors import InterposeError


class HookError(InterposeError):
    """A file of hooks, or a hook in it, that cannot be used; shown as one line before the program starts."""


class MemoryFault(Exception):
    """Memory of the program's that cannot be read, written or taken.

    :ivar address: the first byte that was asked for.
    :ivar size: how many were.
    """

    def __init__(self, what: str, address: int, size: int = 0) -> None:
        many = f"{size} bytes at " if size else ""
        super().__init__(f"cannot {what} {many}0x{address:x}")
        self.address = address
        self.size = size


class CallOver(RuntimeError):
    """A hooked call was used after its function had returned, or was left by a jump of the program's."""

    def __init__(self) -> None:
        super().__init__("this call is over")
