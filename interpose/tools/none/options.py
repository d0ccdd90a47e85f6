"""Options of a tool that has none."""

from __future__ import annotations

from interpose.options.spec import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interpose.options.parse import Config

NAME = __name__.split(".")[-2].capitalize()
"""That of the folder, so that a copy of the folder is a tool of its own."""
DESCRIPTION = "the minimal tool"
READ_INLINE = False
"""The default of --read-inline-info."""


class Options(Table):
    """No options."""

    title = f"user options for {NAME}"


def engine_flags(config: Config) -> list[str]:
    """Names of the channel's flags (abi/channel.h, IP_C_*) that the tool wants: none."""
    return []


def channel_fields(config: Config) -> dict[str, int]:
    """Fields of the channel that the tool fills: none."""
    return {}
