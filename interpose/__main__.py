"""``python -m interpose`` is the command ``interpose``."""

import _signal
import gc
import os
import sys


def _leave_current_folder() -> None:
    """Take out what ``-m`` puts first: a ``select.py`` there is the user's, and not for us to execute.

    Unless the package itself is there.
    """
    try:
        folder = os.getcwd()
    except OSError:  # removed: then there is nothing in it, either
        return
    if sys.path[:1] == [folder] and __file__.rpartition("/interpose/")[0] != folder:
        del sys.path[0]


if __name__ == "__main__" and not getattr(sys.flags, "safe_path", sys.flags.isolated):
    _leave_current_folder()

if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    # Ctrl-C before the program runs ends us as it would end the program; all the rest is loaded after this.
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

# What is loaded stays: looking for cycles in it costs more than all that a start leaves behind.
gc.disable()

from interpose import ownmodules  # noqa: E402

ownmodules.begin()

from interpose.cli import entry  # noqa: E402

if __name__ == "__main__":
    entry()
