"""``python -m interpose.annotate`` is the command ``interpose-annotate``."""

from interpose.annotate.cli import entry

if __name__ == "__main__":
    entry()
