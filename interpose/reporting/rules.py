"""What each kind of error is, for readers who have not met it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """A kind: the level of SARIF (``error``, ``warning``, ``note``), one phrase, and what to do."""

    level: str
    short: str
    help: str


_UNDEFINED = "Its value was never set. The report says where it came from, unless --track-origins=no."
_BLOCK = "The report says what lies at the address: a block, and where it was allocated and freed."
_LEAK = "The report has the stack of its allocation."
_ALLOCATION = "What is asked of an allocation does not agree with the standard, or with its release."

RULES: dict[str, Rule] = {
    "InvalidRead": Rule("error", "Read of memory that is not the program's", _BLOCK),
    "InvalidWrite": Rule("error", "Write to memory that is not the program's", _BLOCK),
    "InvalidJump": Rule("error", "Jump to an address that holds no code", _BLOCK),
    "InvalidFree": Rule("error", "Release of what is no live heap block", _BLOCK),
    "MismatchedFree": Rule("error", "Release by a function of another family", _ALLOCATION),
    "UninitValue": Rule("error", "Address that depends on an undefined value", _UNDEFINED),
    "UninitCondition": Rule("error", "Decision that depends on an undefined value", _UNDEFINED),
    "SyscallParam": Rule("error", "System call with an undefined or invalid argument", _UNDEFINED),
    "ClientCheck": Rule("error", "Bytes that the program had checked are not as it wants", _UNDEFINED),
    "Overlap": Rule("error", "Copy between regions that overlap", "Use memmove, or parts that are apart."),
    "InvalidMemPool": Rule("error", "Memory pool that there is not", "The pool was not created, or is gone."),
    "FishyValue": Rule(
        "warning", "Size that was probably negative", "Look for an overflow in its computation."
    ),
    "ReallocSizeZero": Rule("warning", "realloc with size 0", "Its result differs between C libraries."),
    "InvalidAlignment": Rule("error", "Alignment that is not allowed", _ALLOCATION),
    "InvalidSizeAndAlignment": Rule("error", "Size that does not fit its alignment", _ALLOCATION),
    "InvalidSize": Rule("warning", "Allocation of no bytes", _ALLOCATION),
    "MismatchedAllocateDeallocateSize": Rule("error", "Release with another size", _ALLOCATION),
    "MismatchedAllocateDeallocateAlignment": Rule("error", "Release with another alignment", _ALLOCATION),
    "CoreMemError": Rule("error", "Unaddressable bytes where the engine reads for the program", _BLOCK),
    "FdBadClose": Rule(
        "error", "File descriptor that is closed twice", "The second close may hit another file."
    ),
    "FdBadUse": Rule("error", "Use of a file descriptor that is not open", "It was closed, or never opened."),
    "FdNotClosed": Rule(
        "warning", "File descriptor that is never closed", "The report says where it was opened."
    ),
    "Leak_DefinitelyLost": Rule("warning", "Block to which no pointer is left", _LEAK),
    "Leak_IndirectlyLost": Rule("note", "Block to which only lost blocks point", _LEAK),
    "Leak_PossiblyLost": Rule("note", "Block to which only pointers into its inside are left", _LEAK),
    "Leak_StillReachable": Rule("note", "Block that was not freed at the end", _LEAK),
    "FatalSignal": Rule("error", "Signal that ended the program", "The report has the stack at that point."),
}


def rule(kind: str) -> Rule:
    """The rule of a kind; one that is not known here is an error."""
    return RULES.get(kind) or Rule("error", kind, "")
