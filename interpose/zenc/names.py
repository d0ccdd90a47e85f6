"""Redirect symbol names: ``_vg[rw]TTTTP(ZU|ZZ)_<soname>_<function>``.

The grammar is that of docs/spec/redirection.md section 1.
"""

from __future__ import annotations

from interpose.zenc.codec import BadEscapeError, ZencError, decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass
    from enum import Enum
else:
    from interpose.records import Enum, dataclass

_PREFIXES = ("_vgr", "_vgw")
_HEAD = len("_vgrTTTTPZU_")
_DIGITS = frozenset("0123456789")
_RESERVED = "VG_Z_"


class Kind(Enum):
    """What a redirection does to its target; the value is the letter that traces print."""

    REPLACE = "R"
    WRAP = "W"


class NotRedirectNameError(ZencError):
    """The symbol does not have the shape of a redirect name; it is an ordinary symbol."""


class DemangleError(ZencError):
    """The symbol has the head of a redirect name, but what follows cannot be decoded."""


class ReservedSonameError(ZencError):
    """The soname part starts with ``VG_Z_``, a prefix that the interface forbids."""


@dataclass(frozen=True, slots=True)
class RedirectName:
    """The decoded parts of a redirect symbol name.

    ``soname`` and ``function`` are patterns (``?`` and ``*`` are wildcards). ``tag`` 0 means no behavioural
    class, and then ``priority`` must be 0.
    """

    kind: Kind
    soname: str
    function: str
    tag: int = 0
    priority: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.tag <= 9999:
            raise ValueError(f"class tag {self.tag} is not in 0..9999")
        if not 0 <= self.priority <= 9:
            raise ValueError(f"priority {self.priority} is not in 0..9")
        if self.tag == 0 and self.priority != 0:
            raise ValueError(f"class tag 0000 demands priority 0, not {self.priority}")

    def symbol(self, *, encode_function: bool = True) -> str:
        """Return the symbol name; the function part is Z-encoded (``ZZ``) or literal (``ZU``)."""
        head = f"_vg{self.kind.value.lower()}{self.tag:04d}{self.priority:d}"
        tail = f"{encode(self.soname)}_{encode(self.function) if encode_function else self.function}"
        symbol = f"{head}Z{'Z' if encode_function else 'U'}_{tail}"
        if tail.startswith(_RESERVED):
            raise ReservedSonameError(f"symbol with a '{_RESERVED}' prefix: {symbol}", symbol)
        return symbol


def is_candidate(symbol: str) -> bool:
    """Tell cheaply whether ``symbol`` may be a redirect name (for scans of whole symbol tables)."""
    return symbol.startswith(_PREFIXES)


def parse(symbol: str) -> RedirectName:
    """Parse a redirect symbol name.

    Raises `NotRedirectNameError` where the shape is not that of a redirect name (so tag 0000 with another
    priority than 0 too), `DemangleError` where the head is right but the rest cannot be decoded, and
    `ReservedSonameError` for the forbidden soname prefix.
    """
    letter, tag, priority, encoding = symbol[3:4], symbol[4:8], symbol[8:9], symbol[9:_HEAD]
    if not (is_candidate(symbol) and _DIGITS.issuperset(symbol[4:9]) and encoding in ("ZU_", "ZZ_")):
        raise NotRedirectNameError(f"not of the form _vg[rw]TTTTP(ZU|ZZ)_soname_function: {symbol}", symbol)
    if tag == "0000" and priority != "0":
        raise NotRedirectNameError(f"class tag 0000 demands priority 0, not {priority}: {symbol}", symbol)
    rest = symbol[_HEAD:]
    if rest.startswith(_RESERVED):
        raise ReservedSonameError(f"symbol with a '{_RESERVED}' prefix: {symbol}", symbol)
    soname, underscore, function = rest.partition("_")
    if not underscore:
        raise DemangleError(f"no '_' ends the soname: {symbol}", symbol)
    try:
        decoded_soname = decode(soname)
        decoded_function = decode(function) if encoding == "ZZ_" else function
    except BadEscapeError as error:
        raise DemangleError(f"{error} in {symbol}", symbol) from None
    kind = Kind.REPLACE if letter == "r" else Kind.WRAP
    return RedirectName(kind, decoded_soname, decoded_function, int(tag), int(priority))


def display_name(symbol: str) -> str:
    """Return what reports print: the function part of a redirect name, any other symbol as it is."""
    if not is_candidate(symbol):
        return symbol
    try:
        return parse(symbol).function
    except ZencError:
        return symbol
