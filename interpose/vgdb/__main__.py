"""``python -m interpose.vgdb``."""

from interpose.vgdb.cli import entry

if __name__ == "__main__":
    entry()
