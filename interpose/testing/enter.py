"""Where a process under interpose begins."""

from __future__ import annotations

import _signal


def enter() -> None:
    """Become what the command line says, and no more than the session that asked for it."""
    from interpose.jit._native import lib

    lib.ip_end_with_parent()
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    from interpose.cli import entry

    entry()
