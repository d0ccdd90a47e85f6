"""The flags of the channel are one bit each, and no two the same."""

from __future__ import annotations

from interpose.jit._native import lib


def test_flags_are_bits_of_their_own() -> None:
    flags = {name: getattr(lib, name) for name in dir(lib) if name.startswith("IP_C_")}
    assert len(flags) > 30 and all(value.bit_count() == 1 for value in flags.values())
    assert len(set(flags.values())) == len(flags)
