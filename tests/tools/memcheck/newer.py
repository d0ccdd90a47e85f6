"""Where our reports differ from those of Valgrind 3.27.1, on a machine that has it.

The lines that differ are in tests/guests/memcheck/expect/newer.diff, a reason before those of each program.
Run as a script with that Valgrind installed, this writes the lines again, for all programs or those named;
the reason for a new one is to be added by hand:

    PYTHONPATH=.:tests python tests/tools/memcheck/newer.py [names]
"""

from __future__ import annotations

import difflib
import re
import sys
import tempfile
from pathlib import Path

from tools.memcheck.differences import DIFFERENCES
from tools.memcheck.guests import (
    EXPECTATIONS,
    NEWER_VERSION,
    Guest,
    all_guests,
    valgrind_version,
    without_library_lines,
)

_FILE = EXPECTATIONS / "newer.diff"
_HEAD = re.compile(r"^# (\w+): (.*)\n", re.MULTILINE)


def _read() -> dict[str, tuple[str, str]]:
    """Reason and lines by program."""
    _, *parts = _HEAD.split(_FILE.read_text()) if _FILE.exists() else [""]
    return {name: (why, text) for name, why, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True)}


NEWER = _read()


def changes(guest: Guest, theirs: str, ours: str) -> str:
    """The lines that only one has, ``-`` theirs and ``+`` ours; libraries differ between machines."""
    found = [line for line in difflib.ndiff(theirs.splitlines(), ours.splitlines()) if line[0] in "-+"]
    text = "".join(f"{line[0]}{line[2:]}".rstrip() + "\n" for line in found)
    text = re.sub(r"\d+ bytes below stack pointer", "N bytes below stack pointer", text)
    text = re.sub(r"\((?:[\w.+-]+/)+([\w.+-]+:\d+)\)", r"(\1)", text)  # where it was compiled
    text = re.sub(r"^(.*\n)\1+", r"\1", text, flags=re.MULTILINE)  # how often varies
    return without_library_lines(text, guest.source.name)


def as_before(guest: Guest, theirs: str, ours: str) -> bool:
    """Whether what is said of 3.19 holds."""
    difference = DIFFERENCES.get(guest.name)
    if difference is None:
        return ours == theirs
    if difference.own is not None:
        return re.fullmatch(difference.own, ours) is not None
    try:
        for edit in difference.edits:
            theirs = edit(theirs)
    except ValueError:
        return False
    return ours == theirs


def _update(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for guest in all_guests():
            if (names and guest.name not in names) or guest.missing():
                continue
            ours, theirs = (
                guest.run(command(), Path(folder)).text()
                for command in (guest.our_command, guest.valgrind_command)
            )
            if as_before(guest, theirs, ours):
                NEWER.pop(guest.name, None)
            else:
                why = NEWER.get(guest.name, ("?", ""))[0]
                NEWER[guest.name] = why, changes(guest, theirs, ours)
    _FILE.write_text("".join(f"# {name}: {why}\n{text}" for name, (why, text) in sorted(NEWER.items())))


if __name__ == "__main__":
    if valgrind_version() != NEWER_VERSION:
        sys.exit(f"the Valgrind that is installed is not {NEWER_VERSION}")
    _update(sys.argv[1:])
