"""``python -m interpose.lockstep``."""

from interpose.lockstep.cli import entry

if __name__ == "__main__":
    entry()
