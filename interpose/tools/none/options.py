"""Options of the tool ``none``: it has none."""

from __future__ import annotations

from interpose.options.spec import Table

NAME = "None"
DESCRIPTION = "the minimal tool"


class Options(Table):
    """No options."""

    title = "user options for None"
