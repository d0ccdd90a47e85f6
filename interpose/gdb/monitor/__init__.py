"""Monitor commands: words that gdb, vgdb or the program itself send, and text that comes back."""

from .run import execute

__all__ = ["execute"]
