"""Memory, instructions and watched places, as an editor's disassembly and memory views ask for them."""

from __future__ import annotations

import base64
import binascii
import os
import re
from typing import Any

from .gdb import Gdb, GdbError
from .records import quote

_TOP = (1 << 64) - 1
_LONGEST = 15  # bytes of an instruction
_MOST_READ, _MOST_INSTRUCTIONS = 1 << 20, 20_000
_UNREADABLE = re.compile(r"Cannot access memory at address (0x[0-9a-f]+)")
_LEAD = 64  # bytes before what is asked for, after which a wrong beginning has come right


def address_of(arguments: dict[str, Any]) -> int:
    """``memoryReference`` and ``offset``. Raises ValueError, TypeError."""
    reference = arguments["memoryReference"]
    if not isinstance(reference, str):
        raise TypeError("memoryReference: a text is needed")
    address = int(reference, 0) + int(arguments.get("offset") or 0)
    if not 0 <= address <= _TOP:
        raise ValueError(f"{address:#x} is no address")
    return address


def read(gdb: Gdb, arguments: dict[str, Any]) -> dict[str, Any]:
    """``readMemory``: what can be read from an address on, at most 1 MiB."""
    address, wanted = address_of(arguments), int(arguments["count"])
    if wanted < 0:
        raise ValueError("count: not below zero")
    data = _bytes(gdb, address, min(wanted, _MOST_READ, _TOP + 1 - address))
    answer: dict[str, Any] = {"address": f"{address:#x}"}
    if data:
        answer["data"] = base64.b64encode(data).decode("ascii")
    if len(data) < min(wanted, _MOST_READ):
        answer["unreadableBytes"] = wanted - len(data)
    return answer


def _bytes(gdb: Gdb, address: int, count: int) -> bytes:
    if count == 0:
        return b""
    try:
        parts = gdb.run(f"-data-read-memory-bytes {address:#x} {count}")["memory"]
    except GdbError:
        return b""
    first = parts[0] if parts else None
    if first is None or int(first["begin"], 16) != address:
        return b""
    return bytes.fromhex(first["contents"])


def write(gdb: Gdb, arguments: dict[str, Any]) -> dict[str, Any]:
    """``writeMemory``, all of it or nothing."""
    address, text = address_of(arguments), arguments["data"]
    if not isinstance(text, str):
        raise TypeError("data: a text is needed")
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"data: {error}") from None
    if data:
        gdb.run(f"-data-write-memory-bytes {address:#x} {data.hex()}")
    return {"bytesWritten": len(data)}


# -- instructions --------------------------------------------------------------------------------------------


def disassemble(gdb: Gdb, arguments: dict[str, Any]) -> dict[str, Any]:
    """``disassemble``: as many instructions as are asked for; what there is not is told as invalid."""
    at, count = address_of(arguments), int(arguments["instructionCount"])
    before = int(arguments.get("instructionOffset") or 0)
    if not 0 <= count <= _MOST_INSTRUCTIONS or abs(before) > _MOST_INSTRUCTIONS:
        raise ValueError(f"instructionCount: at most {_MOST_INSTRUCTIONS}")
    found: list[dict[str, Any]] = []
    if before < 0:
        behind = _before(gdb, at, -before)[:count]
        found = behind
    following = count - len(found)
    if following > 0:
        skipped = max(before, 0)
        found += _from(gdb, at, skipped + following)[skipped:]
    return {"instructions": found}


def _from(gdb: Gdb, at: int, count: int) -> list[dict[str, Any]]:
    found = _range(gdb, at, at + _LONGEST * count)[:count]
    end = int(found[-1]["address"], 16) + _length(found[-1]) if found else at
    return found + [_invalid(min(end + number, _TOP)) for number in range(count - len(found))]


def _before(gdb: Gdb, at: int, count: int) -> list[dict[str, Any]]:
    """The instructions that end at an address.

    Where one begins cannot be told backwards; but who begins anywhere soon meets the true ones, and has met
    them if it comes to the address. Functions begin at one.
    """
    low = max(at - _LONGEST * count - _LEAD, 0)
    best: list[dict[str, Any]] = []
    for start in [*_function_starts(gdb, low, at), *range(low, min(low + _LONGEST, at))]:
        found = _range(gdb, start, at)
        if found and int(found[-1]["address"], 16) + _length(found[-1]) == at:
            best = max(best, found, key=len)
            if len(best) >= count:
                break
    best = best[-count:]
    begin = int(best[0]["address"], 16) if best else at
    missing = count - len(best)
    return [_invalid(max(begin - number, 0)) for number in range(missing, 0, -1)] + best


def _function_starts(gdb: Gdb, low: int, at: int) -> list[int]:
    """Where the function begins that the byte before an address is in, if it does not lie too far away."""
    try:
        words = gdb.console(f"info symbol {at - 1:#x}")
    except GdbError:
        return []
    offset = re.search(r"\+ (\d+) in section|^\S+ in section", words)
    if offset is None:
        return []
    start = at - 1 - int(offset[1] or 0)
    return [start] if start >= low - (1 << 16) else []


def _range(gdb: Gdb, start: int, end: int) -> list[dict[str, Any]]:
    """The instructions that begin in a range, up to what cannot be read."""
    end = min(end, _TOP)
    for _ in range(2):
        if end <= start:
            break
        try:
            rows = gdb.run(f"-data-disassemble -s {start:#x} -e {end:#x} -- 5")["asm_insns"]
        except GdbError as error:
            place = _UNREADABLE.search(str(error))
            if place is None:
                return []
            end = int(place[1], 16)  # read once more, up to there
            continue
        return _instructions(rows)
    return []


def _instructions(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """gdb's groups of lines with their instructions, by address."""
    found: dict[int, dict[str, Any]] = {}
    for row in rows:
        for insn in row.get("line_asm_insn", [row]):
            if "address" in insn:
                found[int(insn["address"], 16)] = _instruction(insn, row)
    return [found[address] for address in sorted(found)]


def _instruction(insn: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "address": insn["address"],
        "instructionBytes": insn.get("opcodes", ""),
        "instruction": insn.get("inst", "??"),
    }
    if "func-name" in insn:
        offset = int(insn.get("offset", 0))
        shown["symbol"] = f"{insn['func-name']}+{offset}" if offset else insn["func-name"]
    path = row.get("fullname")
    if path and int(row.get("line", 0)) > 0:
        shown["location"] = {"name": os.path.basename(path), "path": path}
        shown["line"] = int(row["line"])
    return shown


def _length(insn: dict[str, Any]) -> int:
    return max(len(str(insn.get("instructionBytes", "")).split()), 1)


def _invalid(address: int) -> dict[str, Any]:
    return {"address": f"{address:#x}", "instruction": "(not readable)", "presentationHint": "invalid"}


# -- watched places ------------------------------------------------------------------------------------------

_ACCESS = {"write": "", "read": "-r ", "readWrite": "-a "}


def place_of(gdb: Gdb, at: str, expression: str) -> tuple[int, int]:
    """Address and size of what an expression names. Raises :class:`GdbError` of one that lies in no memory.

    :param at: words of MI commands that say in which frame.
    """

    def number(words: str) -> int:
        value = gdb.run(f"-data-evaluate-expression {at} {quote(words)}")["value"]
        return int(str(value).split()[0], 0)

    address = number(f"(unsigned long)&({expression})")
    return address, number(f"(unsigned long)sizeof({expression})")


def watched(address: int, size: int) -> dict[str, Any]:
    """The answer to ``dataBreakpointInfo``."""
    return {
        "dataId": f"{address:#x}/{size}",
        "description": f"{size} {'byte' if size == 1 else 'bytes'} at {address:#x}",
        "accessTypes": list(_ACCESS),
        "canPersist": False,
    }


def watch(gdb: Gdb, wish: dict[str, Any]) -> str:
    """Set a watchpoint; gdb's number of it. Raises GdbError, ValueError, TypeError."""
    if not isinstance(wish["dataId"], str):
        raise TypeError("dataId: a text is needed")
    where, _, length = wish["dataId"].partition("/")
    address, size = int(where, 0), int(length)
    access = wish.get("accessType") or "write"
    if access not in _ACCESS or size < 1 or not 0 <= address <= _TOP:
        raise ValueError("no such place, or access")
    made = gdb.run(f"-break-watch {_ACCESS[access]}{quote(f'*(unsigned char (*)[{size}]) {address:#x}')}")
    return next(str(point["number"]) for point in made.values() if isinstance(point, dict))
