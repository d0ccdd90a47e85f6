"""VALGRIND_PRINTF: C's format strings over a va_list in the client's memory.

See docs/spec/client-requests.md section 3 (1403, 1404); the layout of va_list: section 3.5.7 of the System V
ABI's AMD64 supplement.
"""

from __future__ import annotations

import math
import re
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interpose.supervisor.client import Client

_SPEC = re.compile(rb"%([-+ #0',]*)(\*|\d+)?(?:\.(\*|\d+)?)?(hh|h|ll|l|z|j|t|q|L)?([diouxXcspeEfFgGaAyn%])")
_GP_END, _FP_END = 48, 176
_WIDEST = 65536
"""Columns and digits beyond are a mistake of the caller's, which must not cost the memory for them."""
_LONGEST = 1 << 24
"""Bytes of a string: more have no end, or none that anybody would read."""
_BITS = {b"hh": 8, b"h": 16, b"": 32}


class _VaList:
    """Reads arguments in order: registers' save area first, then the stack."""

    def __init__(self, client: Client, addr: int) -> None:
        self._client = client
        data = client.read(addr, 24) or bytes(24)
        self._gp, self._fp, self._overflow, self._save = struct.unpack("<IIQQ", data)

    def _word_at(self, addr: int) -> bytes:
        return self._client.read(addr, 8) or bytes(8)

    def _from_overflow(self, size: int = 8) -> int:
        addr = self._overflow
        self._overflow += size
        return addr

    def integer(self) -> int:
        if self._gp < _GP_END:
            addr = self._save + self._gp
            self._gp += 8
        else:
            addr = self._from_overflow()
        return int.from_bytes(self._word_at(addr), "little")

    def double(self) -> float:
        if self._fp < _FP_END:
            addr = self._save + self._fp
            self._fp += 16
        else:
            addr = self._from_overflow()
        return struct.unpack("<d", self._word_at(addr))[0]

    def long_double(self) -> float:
        self._overflow = (self._overflow + 15) & ~15
        data = self._client.read(self._from_overflow(16), 10) or bytes(10)
        mantissa = int.from_bytes(data[:8], "little")
        exponent = int.from_bytes(data[8:], "little")
        value = mantissa * 2.0 ** max(-1074, min(1023, (exponent & 0x7FFF) - 16383 - 63)) if mantissa else 0.0
        return -value if exponent >> 15 else value


def _integer(args: _VaList, length: bytes, signed: bool) -> int:
    bits = _BITS.get(length, 64)
    value = args.integer() & ((1 << bits) - 1)
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def _pad(text: str, flags: str, width: int) -> str:
    return text.ljust(width) if "-" in flags else text.rjust(width)


def _numeral(value: int, kind: str, flags: str, width: int, digits: int | None) -> str:
    """An integer as C prints it (C17, 7.21.6.1)."""
    body = f"{abs(value):{'d' if kind in 'diu' else kind}}"
    if digits is not None:
        body = body.zfill(digits) if value or digits else ""
    if kind in "diu" and ("'" in flags or "," in flags):  # the comma is Valgrind's own
        body = re.sub(r"(?<=\d)(?=(?:\d{3})+$)", ",", body)
    prefix = ""
    if kind in "di":
        prefix = "-" if value < 0 else "+" if "+" in flags else " " if " " in flags else ""
    elif "#" in flags and kind in "xX" and value:
        prefix = "0" + kind
    elif "#" in flags and kind == "o" and not body.startswith("0"):
        body = "0" + body
    if "0" in flags and "-" not in flags and digits is None:
        body = body.zfill(width - len(prefix))
    return _pad(prefix + body, flags, width)


def _floating(value: float, kind: str, flags: str, width: int, digits: int | None) -> str:
    """A floating-point number as C prints it; Python's own formatting knows all but %a."""
    if not math.isfinite(value):
        flags = flags.replace("0", "")
    elif kind in "aA":
        sign = "-" if math.copysign(1, value) < 0 else "+" if "+" in flags else " " if " " in flags else ""
        mantissa, _, exponent = abs(value).hex().partition("p")
        text = f"{sign}{mantissa.rstrip('0').rstrip('.') if '.' in mantissa else mantissa}p{exponent}"
        return _pad(text.upper() if kind == "A" else text, flags, width)
    precision = "" if digits is None else f".{digits}"
    flags = re.sub("[',]", "", flags)
    return f"%{flags}{width or ''}{precision}{kind if kind not in 'aA' else 'f'}" % value


def format_va_list(client: Client, format_addr: int, va_list_addr: int) -> str:
    """The text that printf would produce; a conversion that is unknown stays as it is."""
    text = client.read_string(format_addr, _LONGEST, exact=True) or b""
    args = _VaList(client, va_list_addr)

    def one(match: re.Match[bytes]) -> bytes:
        flags, width, precision, length, conversion = match.groups()
        kind = conversion.decode()
        if kind == "%":
            return b"%"
        style = flags.decode()
        columns = 0
        if width == b"*":
            columns = _integer(args, b"", True)
            if columns < 0:
                style, columns = style + "-", -columns
        elif width:
            columns = int(width)
        columns = min(columns, _WIDEST)
        digits: int | None = None
        if b"." in match[0]:
            digits = _integer(args, b"", True) if precision == b"*" else int(precision or 0)
            digits = None if digits < 0 else min(digits, _WIDEST)
        length = length or b""
        if kind == "n":
            args.integer()
            return b""
        if kind == "s" or kind == "y":
            most = _LONGEST if digits is None else min(digits, _LONGEST)  # it need not end there
            data = client.read_string(args.integer(), most, exact=True)
            data = b"(null)"[:digits] if data is None else data
            return _pad(data.decode("utf-8", "surrogateescape"), style, columns).encode(
                "utf-8", "surrogateescape"
            )
        if kind == "c":
            return _pad(chr(args.integer() & 0xFF), style, columns).encode("latin-1")
        if kind == "p":
            return _pad(f"{args.integer():#x}", style, columns).encode()
        if kind in "eEfFgGaA":
            value = args.long_double() if length == b"L" else args.double()
            return _floating(value, kind, style, columns, digits).encode()
        return _numeral(_integer(args, length, kind in "di"), kind, style, columns, digits).encode()

    return _SPEC.sub(one, text).decode("utf-8", "surrogateescape")
