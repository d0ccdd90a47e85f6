"""``python -m interpose`` is the command ``interpose``."""

from interpose.cli import entry

if __name__ == "__main__":
    entry()
