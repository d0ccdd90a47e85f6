"""Write ``docs/options.md`` from the tables: ``python -m interpose.options.document > docs/options.md``."""

from __future__ import annotations

import sys

from interpose import tools
from interpose.options.core import CoreOptions
from interpose.options.spec import IGNORED, PLANNED, WORKS, Option, Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_STATUS = {WORKS: "", PLANNED: "no effect yet", IGNORED: "nothing to do here"}

_HEAD = """\
# Options

Made from the option tables (`interpose/options/core.py`, `interpose/tools/*/options.py`) by
`python -m interpose.options.document > docs/options.md`; a test compares.

Options are read from `~/.valgrindrc`, `~/.interposerc`, `$VALGRIND_OPTS`, `$INTERPOSE_OPTS`,
`./.valgrindrc`, `./.interposerc` and the command line; later ones win. `--tool=` in Valgrind's own files
and variable is passed over, as by Valgrind. An rc file is read only if it is a regular file, owned by you
and not writable by everyone. `--memcheck:opt=value` counts when memcheck runs. Column D: can be changed
while the program runs (`VALGRIND_CLO_CHANGE`). An option with "no effect yet" is accepted, and a warning
says so when it is used.
"""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _row(option: Option) -> str:
    spelled = ", ".join(f"`{word}{'=' if option.takes_value else ''}`" for word in option.spellings())
    values = _cell(f"`{option.metavar}`") if option.metavar else ""
    default = _cell(option.show_default())
    cells = [
        spelled,
        values,
        default,
        "D" if option.dynamic else "",
        _cell(option.help),
        _STATUS[option.status],
    ]
    return "| " + " | ".join(cells) + " |"


def _table(table: type[Table]) -> Iterator[str]:
    group = None
    for option in table.options():
        if option.group != group:
            group = option.group
            yield from ["", f"### {group}", "", "| Option | Values | Default | D | Meaning | Status |"]
            yield "|---|---|---|---|---|---|"
        yield _row(option)
    if group is None:
        yield from ["", "None."]


def document() -> str:
    """The whole page."""
    lines = [_HEAD, "## Core", *_table(CoreOptions)]
    for name in tools.names():
        lines += ["", f"## Tool {name}", *_table(tools.load(name).Options)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(document())
