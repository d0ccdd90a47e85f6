"""Python's part of the command ``interpose`` (interpose/launcher).

The command is a launcher in C.  It starts Python beside itself, to become the supervisor, and becomes the
program when it has been told how (abi/launch.h).  What is no run of a program is done where the user has
started it: then the launcher executes Python itself, which does it all.
"""

from __future__ import annotations

import _signal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import NoReturn

AGAIN, END = 3, 4
"""``IP_LAUNCH_*``: the extension that has them need not be there."""
HIDDEN = "INTERPOSE_HIDDEN_"
"""What the launcher puts before names of variables that the dynamic linker or Python would take."""


class Launcher:
    """The process that waits for an answer, and becomes the program's."""

    __slots__ = ("parent", "pid", "sock")

    def __init__(self, sock: int, pid: int, parent: int) -> None:
        self.sock = sock
        self.pid = pid
        self.parent = parent

    def _answer(self, kind: int, code: int = 0) -> NoReturn:
        try:
            os.write(self.sock, bytes((kind, code, 0, 0, 0, 0, 0, 0)))
        except OSError:
            os._exit(1)  # it was killed
        os._exit(code)

    def do_again(self) -> NoReturn:
        """This is no run of a program."""
        self._answer(AGAIN)

    def end(self, code: int) -> NoReturn:
        """There is no run, and why has been said."""
        self._answer(END, code)


waiting: Launcher | None = None
"""Who has started this process; None: the user has."""


def begin() -> None:
    """Take what the launcher has put before the command's words."""
    global waiting
    _, _, sock, pid, parent, *sys.argv = sys.argv
    if int(sock) >= 0:
        waiting = Launcher(int(sock), int(pid), int(parent))
        os.set_inheritable(waiting.sock, False)
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    for name in [name for name in os.environ if name.startswith((f"{HIDDEN}LD_", f"{HIDDEN}PYTHON"))]:
        os.environ[name.removeprefix(HIDDEN)] = os.environ.pop(name)
    if sys.flags.no_site and "site" not in sys.modules:
        sys.meta_path.append(_late)


def complete() -> None:
    """Have Python be as a user's program finds it: the launcher has spared it ``site``."""
    if _late in sys.meta_path:
        sys.meta_path.remove(_late)
        import site

        site.main()


class _Late:
    """The last finder: what is nowhere may be where ``site`` would have Python look."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """As any finder's."""
        complete()
        from importlib.util import find_spec

        return find_spec(name) if path is None else None


_late = _Late()
