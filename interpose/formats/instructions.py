"""capstone, which shows x86-64 instructions as text."""

from __future__ import annotations

from typing import Any

from interpose.formats.extra import need


def engine(*, is_att: bool = False) -> Any:
    """A disassembler; ``is_att``: in AT&T's syntax. Raises an InterposeError where capstone is missing."""
    capstone = need("capstone")
    made = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    if is_att:
        made.syntax = capstone.CS_OPT_SYNTAX_ATT
    return made
