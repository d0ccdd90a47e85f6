"""Z-encoding, both ways, and the redirect symbol names that are built on it."""

from interpose.zenc.codec import BadEscapeError, ZencError, decode, encode
from interpose.zenc.names import (
    DemangleError,
    Kind,
    NotRedirectNameError,
    RedirectName,
    ReservedSonameError,
    display_name,
    is_candidate,
    parse,
)

__all__ = [
    "BadEscapeError",
    "DemangleError",
    "Kind",
    "NotRedirectNameError",
    "RedirectName",
    "ReservedSonameError",
    "ZencError",
    "decode",
    "display_name",
    "encode",
    "is_candidate",
    "parse",
]
