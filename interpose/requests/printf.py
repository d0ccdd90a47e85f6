"""VALGRIND_PRINTF: C's format strings over a va_list in the client's memory.

Source: client-requests.md section 3 (1403, 1404); the layout of va_list: System V ABI, AMD64 supplement,
section 3.5.7.
"""

from __future__ import annotations

import re
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interpose.supervisor.client import Client

_SPEC = re.compile(rb"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+)?)?(hh|h|ll|l|z|j|t|q|L)?([diouxXcspeEfFgGaAyn%])")
_GP_END, _FP_END = 48, 176
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


def format_va_list(client: Client, format_addr: int, va_list_addr: int) -> str:
    """The text that printf would produce; a conversion that is unknown stays as it is."""
    text = client.read_string(format_addr) or b""
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
        digits: int | None = None
        if b"." in match[0]:
            digits = _integer(args, b"", True) if precision == b"*" else int(precision or 0)
            digits = None if digits < 0 else digits
        length = length or b""
        if kind == "n":
            args.integer()
            return b""
        if kind == "s" or kind == "y":
            data = client.read_string(args.integer()) or b"(null)"
            return _pad(data[:digits].decode("utf-8", "surrogateescape"), style, columns).encode(
                "utf-8", "surrogateescape"
            )
        if kind == "c":
            return _pad(chr(args.integer() & 0xFF), style, columns).encode("latin-1")
        if kind == "p":
            return _pad(f"{args.integer():#x}", style, columns).encode()
        dot = "" if digits is None else f".{digits}"
        size = str(columns) if columns else ""
        if kind in "eEfFgGaA":
            value = args.long_double() if length == b"L" else args.double()
            if kind in "aA":
                return _pad(value.hex(), style, columns).encode()
            return f"%{style}{size}{dot}{kind}".encode() % value
        number = _integer(args, length, kind in "di")
        kind = "d" if kind in "diu" else kind
        return f"%{style}{size}{dot}{kind}".encode() % number

    return _SPEC.sub(one, text).decode("utf-8", "surrogateescape")
