"""``python -m interpose`` is the command ``interpose``."""

import _signal

if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    # Ctrl-C before the program runs ends us as it would end the program; all the rest is loaded after this.
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

from interpose.cli import entry

if __name__ == "__main__":
    entry()
