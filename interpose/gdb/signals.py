"""Signals by the numbers of GDB's protocol (``enum gdb_signal``), which are not Linux's."""

from __future__ import annotations

UNKNOWN = 143

_BY_LINUX = {
    1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 10, 8: 8, 9: 9, 10: 30, 11: 11, 12: 31, 13: 13, 14: 14, 15: 15,
    17: 20, 18: 19, 19: 17, 20: 18, 21: 21, 22: 22, 23: 16, 24: 24, 25: 25, 26: 26, 27: 27, 28: 28, 29: 23,
    30: 32, 31: 12, 32: 77, 64: 78,
    **{real_time: real_time + 12 for real_time in range(33, 64)},
}  # fmt: skip
_BY_GDB = {theirs: ours for ours, theirs in _BY_LINUX.items()}


def to_gdb(signal: int) -> int:
    """The protocol's number of a signal of Linux's."""
    return _BY_LINUX.get(signal, UNKNOWN)


def from_gdb(number: int) -> int:
    """The signal of Linux's with this number in the protocol; 0 if there is none."""
    return _BY_GDB.get(number, 0)
