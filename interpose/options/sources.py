"""Where options come from, in order, and how texts are split into words (docs/spec/options.md section 1).

At each place Valgrind's own file or variable is read first, then ours, so that ours wins: ``~/.valgrindrc``,
``~/.interposerc``, ``$VALGRIND_OPTS``, ``$INTERPOSE_OPTS``, ``./.valgrindrc``, ``./.interposerc``.  What is
written for Valgrind means here what it means there: ``--tool=`` counts in our own only.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

RC_FILES = (".valgrindrc", ".interposerc")
VARIABLES = ("VALGRIND_OPTS", "INTERPOSE_OPTS")


def split_words(text: str) -> list[str]:
    """Words parted by blanks; ``'…'`` and ``"…"`` group, also within a word."""
    words: list[str] = []
    word: list[str] | None = None
    quote = ""
    for char in text:
        if quote:
            if char == quote:
                quote = ""
            else:
                assert word is not None
                word.append(char)
        elif char in "'\"":
            quote = char
            word = [] if word is None else word
        elif char.isspace():
            if word is not None:
                words.append("".join(word))
            word = None
        elif word is None:
            word = [char]
        else:
            word.append(char)
    if word is not None:
        words.append("".join(word))
    return words


def read_rc(path: str, notices: list[str]) -> list[str]:
    """The words of an rc file; of an unsafe one none, with a notice.

    It must be a regular file, owned by the effective user and not writable by everyone, because options name
    files that are written.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return []
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & stat.S_IWOTH:
            notices.append(f"{path} was not read as it is either not a regular file,")
            notices.append("    or is world writeable, or is not owned by the current user.")
            return []
        chunks = []
        while chunk := os.read(descriptor, 1 << 16):
            chunks.append(chunk)
    finally:
        os.close(descriptor)
    return split_words(os.fsdecode(b"".join(chunks)))


def outside_words(environ: Mapping[str, str], notices: list[str]) -> list[str]:
    """The words of all sources but the command line, in order of rising precedence."""
    words: list[str] = []
    home = environ.get("HOME", "")
    if home:
        words += _rc_words(home, notices)
    valgrinds, ours = (split_words(environ.get(variable, "")) for variable in VARIABLES)
    words += [*_without_tool(valgrinds), *ours]
    if not _is_home(home):
        words += _rc_words(".", notices)
    return words


def _rc_words(folder: str, notices: list[str]) -> list[str]:
    valgrinds, ours = (read_rc(os.path.join(folder, name), notices) for name in RC_FILES)
    return [*_without_tool(valgrinds), *ours]


def _without_tool(words: list[str]) -> list[str]:
    """Valgrind looks for its tool on the command line alone; elsewhere it passes over that and ``--``."""
    return [word for word in words if word != "--" and not word.startswith("--tool=")]


def _is_home(home: str) -> bool:
    try:
        return bool(home) and os.path.samefile(".", home)
    except OSError:
        return False
