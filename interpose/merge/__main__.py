"""``python -m interpose.merge`` is the command ``interpose-merge``."""

from interpose.merge.cli import entry

if __name__ == "__main__":
    entry()
