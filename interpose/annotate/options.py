"""The command line of ``interpose-annotate``."""

from __future__ import annotations

import glob
import re
from dataclasses import dataclass, field

from interpose.errors import InterposeError

USAGE = """\
usage: interpose-annotate [options] [callgrind-out-file... [source-files...]]
       interpose-annotate [options] --diff OLD NEW
       interpose-annotate --export=FORMAT OUT callgrind-out-file...
       interpose-annotate --html OUT callgrind-out-file [file to compare with it]

  Several profiles are added. Without one, the first of callgrind.out* (else cachegrind.out*) is read.

  options for the user, with defaults in [ ], are:
    -h --help             show this message
    --version             show version
    --show=A,B,C          only show figures for events A,B,C [all]
    --threshold=<0--100>  percentage of counts (of primary sort event) we
                          are interested in [99%]
    --sort=A,B,C          sort columns by events A,B,C [event column order]
                          Each event can be followed by a : and a threshold
                          percentage; --threshold is ignored then
    --show-percs=yes|no   show a percentage for each non-zero count [yes]
    --auto=yes|no         annotate all source files containing functions
                          that helped reach the event count threshold [yes]
    --context=N           print N lines of context before and after
                          annotated lines [8]
    --inclusive=yes|no    add subroutine costs to functions calls [no]
    --tree=none|caller|   print for each function their callers,
           calling|both   the called functions or both [none]
    -I DIR --include=DIR  add DIR to the directories to search for source
                          files
    --colour=auto|always|never  [auto: on a terminal, unless NO_COLOR is set]
    --diff                compare two profiles: signed numbers, NEW less OLD
    --export=FORMAT       flamegraph (SVG), speedscope, pprof or perfetto,
                          weighed by the first event of --sort (pprof: all);
                          stacks are estimated from the call graph
    --html                one page: call graph, flame graph, functions,
                          source and instructions, two runs compared
"""

EXPORTS = ("flamegraph", "speedscope", "pprof", "perfetto")
TREES = ("none", "caller", "calling", "both")
_NUMBER = re.compile(r"\d{1,9}(\.\d{0,9})?")


@dataclass
class Options:
    """What was asked for."""

    show: list[str] | None = None
    sort: list[tuple[str, float | None]] | None = None
    threshold: float = 99.0
    show_percs: bool = True
    auto: bool = True
    context: int = 8
    inclusive: bool = False
    tree: str = "none"
    include: list[str] = field(default_factory=list)
    colour: str = "auto"
    diff: bool = False
    export: str | None = None
    html: bool = False
    out: str | None = None
    profiles: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    found: bool = False
    info: str | None = None


class UsageError(InterposeError):
    """A command line that cannot be followed."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "Use --help for more information.")


def parse(words: list[str]) -> Options:
    """Reads the words after the command's name."""
    options = Options()
    files: list[str] = []
    waiting = iter(words)
    for word in waiting:
        if word == "--":
            files.extend(waiting)
        elif word.startswith("-") and word != "-":
            if word in ("-I", "--include"):
                following = next(waiting, None)
                if following is None:
                    raise UsageError(f"{word} needs a directory")
                word = f"--include={following}"
            _option(options, word)
        else:
            files.append(word)
    if options.info is None:
        _files(options, files)
    return options


def _option(options: Options, word: str) -> None:
    name, equals, value = word.partition("=")
    if name.startswith("-I") and name != "-I":
        name, equals, value = "--include", "=", word[2:]
    if word in ("-h", "--help"):
        options.info = "help"
    elif word == "--version":
        options.info = "version"
    elif word in ("--diff", "--html"):
        setattr(options, word[2:], True)
    elif not equals or not value:
        raise UsageError(f"unknown option, or one without a value: {word}")
    elif name in ("--auto", "--inclusive", "--show-percs"):
        setattr(options, name[2:].replace("-", "_"), _choice(word, value, ("yes", "no")) == "yes")
    elif name == "--tree":
        options.tree = _choice(word, value, TREES)
    elif name in ("--colour", "--color"):
        options.colour = _choice(word, value, ("auto", "always", "never"))
    elif name == "--export":
        options.export = _choice(word, value, EXPORTS)
    elif name in ("-I", "--include"):
        options.include.append(value if value.endswith("/") else f"{value}/")
    elif name == "--show":
        options.show = value.split(",")
    elif name == "--sort":
        options.sort = [_sorted_by(word, each) for each in value.split(",")]
    elif name == "--threshold":
        options.threshold = _percentage(word, value)
    elif name == "--context":
        if not re.fullmatch(r"\d{1,9}", value):
            raise UsageError(f"{word}: a number of lines is needed")
        options.context = int(value)
    else:
        raise UsageError(f"unknown option: {word}")


def _choice(word: str, value: str, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise UsageError(f"{word}: one of {', '.join(choices)} is needed")
    return value


def _percentage(word: str, value: str) -> float:
    number = float(value) if _NUMBER.fullmatch(value) else -1
    if not 0 <= number <= 100:
        raise UsageError(f"{word}: a percentage from 0 to 100 is needed")
    return number


def _sorted_by(word: str, value: str) -> tuple[str, float | None]:
    event, colon, threshold = value.partition(":")
    return event, _percentage(word, threshold) if colon else None


def _files(options: Options, files: list[str]) -> None:
    """What each file name is."""
    if options.export or options.html:
        if not files:
            raise UsageError("the file to write is missing")
        options.out = files.pop(0)
    while files and (not options.profiles or looks_like_a_profile(files[0])):
        options.profiles.append(files.pop(0))
    options.sources = files
    if not options.profiles:
        found = sorted(glob.glob("callgrind.out*")) or sorted(glob.glob("cachegrind.out*"))
        if not found:
            raise UsageError("no profile was named, and no callgrind.out* is here")
        options.profiles = [found[0]]
        options.found = True
    if options.diff and len(options.profiles) != 2:
        raise UsageError(f"--diff compares two profiles; {len(options.profiles)} given")
    if options.html and len(options.profiles) > 2:
        raise UsageError(f"--html shows one profile or compares two; {len(options.profiles)} given")


def looks_like_a_profile(name: str) -> bool:
    """Whether a file that follows a profile is one, too, and not a source file to annotate."""
    try:
        with open(name, "rb") as file:
            start = file.read(4096)
    except OSError:
        return False
    return start.startswith((b"# callgrind format", b"version:", b"creator:", b"events:")) or (
        b"\nevents:" in start and b"{" not in start
    )
