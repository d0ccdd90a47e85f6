"""``python -m interpose.control``."""

from interpose.control.cli import entry

if __name__ == "__main__":
    entry()
