"""What is wrong with a file."""

from __future__ import annotations

from typing import NamedTuple

from interpose.jit._native import lib


class Problem(NamedTuple):
    """Why a record was dropped; reading goes on behind it."""

    offset: int
    reason: str


TEXTS = {
    lib.IP_DG_UNKNOWN_TYPE: "Unknown record type {a}",
    lib.IP_DG_SECOND_HEADER: "Second header",
    lib.IP_DG_NO_INSTRUCTIONS: "Block without instructions",
    lib.IP_DG_BAD_INSTRUCTION: "Access of instruction {a} in a block of {b}",
    lib.IP_DG_NO_STACK: "Context without a stack",
    lib.IP_DG_BAD_INDEX: "Index {a} out of range, there are {b}",
    lib.IP_DG_TOO_MANY: "{a} addresses for {b} accesses",
    lib.IP_DG_TOO_LARGE: "Record is too large (expected {a} but got {b})",
    lib.IP_DG_UNTERMINATED: "String without an end",
    lib.IP_DG_NOT_TRACKED: "Range 0x{a:x} of {b} bytes is not tracked",
    lib.IP_DG_OVERSIZE: "Record of {a} bytes",
    lib.IP_DG_VERSION: "Version {a}, not 1; trying to read it anyway",
    lib.IP_DG_NOT_KEPT: "Too many heap blocks, ranges or events; those from here on are not known",
    lib.IP_DG_NO_HEADER: "No datagrind header",
    lib.IP_DG_BAD_SIGNATURE: "Bad signature",
    lib.IP_DG_BAD_WORD_SIZE: "Word size {a} is neither 4 nor 8",
    lib.IP_DG_TOO_SHORT: "Record is too short",
}
TRUNCATED = "The file ends within a record"


def text_of(reason: int, a: int = 0, b: int = 0) -> str:
    """A reason in words."""
    return TEXTS[reason].format(a=a, b=b)
