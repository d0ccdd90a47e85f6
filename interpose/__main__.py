"""``python -m interpose`` is the command ``interpose``."""

import _signal
import gc

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
