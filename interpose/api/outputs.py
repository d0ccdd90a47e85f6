"""Which files a tool has made: those of the names its option gives that were not there, or others, before."""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from interpose.report.log import FileNames

OPTIONS = {
    "callgrind": ("--callgrind-out-file", "/callgrind.out.%p"),
    "datagrind": ("--datagrind-out-file", "/datagrind.out.%p"),
    "memtrace": ("--memtrace-dir", ""),
}
"""The options that say where the files of tools go, and what follows the folder."""

_ENDINGS = {
    "callgrind": r"(?:\.(?P<part>\d+))?(?:-(?P<thread>\d+))?",
    "datagrind": r"(?:\.\d+){0,2}",  # another process's, a later program's
    "memtrace": r"/drmemtrace\.(?:.*)\.(?P<pid>\d{5,})\.\d{4}\.dir",
}
_PARTS = re.compile(r"%(?:q\{([^}]+)\}|(.?))", re.DOTALL)


def value_of(tool: str, path: str) -> str:
    """A path as the tool's option takes it; memtrace's is no template."""
    return path if tool == "memtrace" else FileNames.literal(path)


class _Made(NamedTuple):
    """A file, and what of the order and the process its name tells."""

    order: tuple[bool, float, int, list[int]]
    path: str
    pid: int | None


class Outputs:
    """The files of one tool in one run."""

    def __init__(self, tool: str, given: str, environ: Mapping[str, str], is_private: bool) -> None:
        """Looks at what is there; ``given``: the option's value, ``is_private``: this run's alone."""
        self._is_private = is_private
        pattern, self._glob, last, numbered = "", "", 0, False
        for part in _PARTS.finditer(given if tool != "memtrace" else ""):
            text = given[last : part.start()]
            last = part.end()
            variable, code = part.groups()
            text += environ.get(variable, "") if variable else "%" if code == "%" else ""
            pattern += re.escape(text)
            self._glob += glob.escape(text)
            if code in ("p", "n", "r"):
                pattern += r"\d+" if code != "p" else r"(?P=pid)" if numbered else r"(?P<pid>\d+)"
                self._glob += "*"
                numbered = numbered or code == "p"
        rest = given[last:]
        self._pattern = re.compile(pattern + re.escape(rest) + _ENDINGS[tool], re.DOTALL)
        self._glob += glob.escape(rest) + ("/drmemtrace.*.dir" if tool == "memtrace" else "*")
        self._before = self._there()

    def _there(self) -> dict[str, tuple[int, int, int]]:
        """Files that may be the tool's, and what changes when they are written."""
        found = {}
        for path in glob.glob(self._glob):
            try:
                status = os.stat(path)
            except OSError:
                continue
            if self._pattern.fullmatch(path) and not stat.S_ISCHR(status.st_mode):
                found[path] = (status.st_ino, status.st_size, status.st_mtime_ns)
        return found

    def made(self, pids: Collection[int]) -> list[tuple[Path, int | None]]:
        """What the run has made, with its process if the name says so; the last one of a process last."""
        found = []
        for path, what in self._there().items():
            match = self._pattern.fullmatch(path)
            if match is None or self._before.get(path) == what:
                continue
            groups = match.groupdict()
            pid = int(groups["pid"]) if groups.get("pid") else None
            if pid is not None and not self._is_private and pid not in pids:
                continue  # another run's, in the same folder
            part, thread = groups.get("part"), groups.get("thread")
            # The end's profile has no number; with profiles by thread, an empty file has the plain name.
            order = (what[1] > 0, float(part or "inf"), int(thread or 0), _numbers(path))
            found.append(_Made(order, path, pid))
        return [(Path(each.path), each.pid) for each in sorted(found)]


def _numbers(path: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", os.path.basename(path))]
