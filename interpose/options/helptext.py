"""The texts of --help, --help-debug and --help-dyn-options, made from the tables."""

from __future__ import annotations

import textwrap

from interpose import tools
from interpose.options.core import CoreOptions
from interpose.options.spec import IGNORED, PLANNED, Option, Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_WIDTH = 100
_COLUMN = 30
_NOTES = {PLANNED: " (accepted; no effect in this version)", IGNORED: " (accepted; nothing to do here)"}


def is_debug(option: Option) -> bool:
    """Whether the option is shown by --help-debug only."""
    group = option.group or ""
    return group.startswith(("debugging", "accepted"))


def spelled(option: Option) -> str:
    """Spellings and value, as help shows them."""
    text = " ".join(option.spellings()) if not option.takes_value else f"{option.name}={option.metavar}"
    return text


def described(option: Option) -> str:
    """What it does, its default, and whether it has an effect."""
    default = option.show_default()
    aliases = (
        f"; also {', '.join(f'{alias}=' for alias in option.aliases)}"
        if option.takes_value and option.aliases
        else ""
    )
    return option.help + aliases + (f" [{default}]" if default else "") + _NOTES.get(option.status, "")


def _lines(options: list[Option]) -> Iterator[str]:
    for option in options:
        left = "    " + spelled(option)
        body = textwrap.wrap(described(option), _WIDTH - _COLUMN, break_on_hyphens=False)
        if len(left) >= _COLUMN:
            yield left
        else:
            yield left.ljust(_COLUMN) + body.pop(0)
        for line in body:
            yield " " * _COLUMN + line


def _sections(table: type[Table], debug: bool) -> Iterator[tuple[str, list[Option]]]:
    groups: dict[str, list[Option]] = {}
    for option in table.options():
        groups.setdefault(option.group or table.title, []).append(option)
    for group, options in groups.items():
        if debug or not is_debug(options[0]):
            yield group, options


def help_text(tool: str, *, debug: bool = False) -> str:
    """--help, and with ``debug`` --help-debug, for a tool."""
    table = tools.load(tool).Options
    lines = ["usage: interpose [options] prog-and-args", ""]
    for owner in (CoreOptions, table):
        for group, options in _sections(owner, debug):
            lines += [f"  {group}, with default in [ ]:", *_lines(options), ""]
        if not list(owner.options()):
            lines += [f"  {owner.title}:", "    (none)", ""]
    lines += [
        f"  Tools: {' '.join(tools.names())}",
        "  Further options are read from ~/.valgrindrc, ~/.interposerc, $VALGRIND_OPTS, $INTERPOSE_OPTS,",
        "  ./.valgrindrc and ./.interposerc; later ones win, and those of the command line over all.",
    ]
    return "\n".join(lines) + "\n"


def dynamic_words(table: type[Table]) -> list[str]:
    """The dynamic options of a table as docs/spec/options.md section 9 lists them."""
    return [word for option in table.options() if option.dynamic for word in option.dynamic_spellings()]


def dynamic_list(tool: str) -> list[str]:
    """The lines that list the dynamic options of a tool."""
    words = " ".join(dynamic_words(CoreOptions) + dynamic_words(tools.load(tool).Options))
    indent = "    "
    wrapped = textwrap.wrap(
        words, 76, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
    return ["  dynamically changeable options:", *wrapped]


def dynamic_text(tool: str) -> str:
    """--help-dyn-options for a tool."""
    lines = [
        "Some options can be changed while the program runs, from the program by the client request",
        '  VALGRIND_CLO_CHANGE("--trace-redir=yes");',
        "or by the monitor command",
        '  interpose-vgdb "v.clo --trace-redir=yes"',
        "",
        *dynamic_list(tool),
    ]
    return "\n".join(lines) + "\n"
