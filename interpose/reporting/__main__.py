"""``python -m interpose.reporting`` is the command ``interpose-report``."""

from interpose.reporting.cli import entry

if __name__ == "__main__":
    entry()
