"""``python -m interpose.memtrace``: the console script."""

from interpose.memtrace.cli import entry

if __name__ == "__main__":
    entry()
