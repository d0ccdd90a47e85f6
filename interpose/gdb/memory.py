"""Packets about the program's memory: ``m M x X``."""

from __future__ import annotations

from interpose.gdb import packets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interpose.gdb.server import Server

_FAULT = b"E0e"
_END = 1 << 64


def _place(text: bytes) -> tuple[int, int]:
    """``ADDR,LENGTH``; a ValueError for anything else."""
    address, length = (int(word, 16) for word in text.split(b","))
    if address < 0 or length < 0 or address >= _END:
        raise ValueError
    return address, min(length, packets.PACKET_SIZE, _END - address)


def read_hex(server: Server, rest: bytes) -> bytes:
    """``m ADDR,LENGTH``: as much of it as there is."""
    address, length = _place(rest)
    data = server.debugger.read(address, min(length, packets.PACKET_SIZE // 2))
    return data.hex().encode() if data or not length else _FAULT


def read_binary(server: Server, rest: bytes) -> bytes:
    """``x ADDR,LENGTH``."""
    address, length = _place(rest)
    data = server.debugger.read(address, min(length, packets.PACKET_SIZE // 2))
    return b"b" + data if data or not length else _FAULT


def _write(server: Server, address: int, length: int, data: bytes) -> bytes:
    if len(data) != length:
        raise ValueError
    return packets.OK if server.debugger.write(address, data) else _FAULT


def write_hex(server: Server, rest: bytes) -> bytes:
    """``M ADDR,LENGTH:DATA``."""
    where, _, digits = rest.partition(b":")
    return _write(server, *_place(where), bytes.fromhex(digits.decode("ascii")))


def write_binary(server: Server, rest: bytes) -> bytes:
    """``X ADDR,LENGTH:DATA``; gdb asks with no data whether it is there."""
    where, _, data = rest.partition(b":")
    return _write(server, *_place(where), data)
