"""Datagrind's option table."""

from __future__ import annotations

from interpose.options.spec import FileName, Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interpose.options.parse import Config

NAME = "Datagrind"
ALSO_NAMED = ("exp-datagrind",)
DESCRIPTION = "a data access logger"
READ_INLINE = False
"""The default of --read-inline-info."""


class Options(Table):
    """Options of datagrind."""

    title = "user options for Datagrind"

    datagrind_out_file: str = FileName("the file of accesses", "datagrind.out.%p")


def engine_flags(config: Config) -> list[str]:
    """Names of the channel's flags (abi/channel.h, IP_C_*) that datagrind wants."""
    if not config.core.instrument:
        return ["IP_C_HEAP"]
    return ["IP_C_TRACE", "IP_C_TRACE_DATA", "IP_C_TRACE_ADDRESSES", "IP_C_HEAP"]


def channel_fields(config: Config) -> dict[str, int]:
    """Fields of the channel that datagrind fills: freed blocks are used again at once."""
    return {"freelist_vol": 0, "freelist_big": 1 << 40}
