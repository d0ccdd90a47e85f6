"""Run an unmodified x86-64 Linux program on a synthetic CPU, with redirected functions and tools."""

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interpose.api.result import Run, RunError, RunTimeout
    from interpose.api.run import run, run_async
    from interpose.hooks import (
        Call,
        CallOver,
        Char,
        CString,
        Double,
        Float,
        Frame,
        HookError,
        Int8,
        Int16,
        Int32,
        Int64,
        Long,
        MemoryFault,
        Pointer,
        PointerTo,
        Registry,
        Short,
        Size,
        SSize,
        Thread,
        UChar,
        UInt,
        UInt8,
        UInt16,
        UInt32,
        UInt64,
        ULong,
        UShort,
        replace,
        wrap,
    )

__all__ = [
    "CString",
    "Call",
    "CallOver",
    "Char",
    "Double",
    "Float",
    "Frame",
    "HookError",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Long",
    "MemoryFault",
    "Pointer",
    "PointerTo",
    "Registry",
    "Run",
    "RunError",
    "RunTimeout",
    "SSize",
    "Short",
    "Size",
    "Thread",
    "UChar",
    "UInt",
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "ULong",
    "UShort",
    "replace",
    "run",
    "run_async",
    "wrap",
]

_ELSEWHERE = {
    **dict.fromkeys(__all__, "interpose.hooks"),
    "Run": "interpose.api.result",
    "RunError": "interpose.api.result",
    "RunTimeout": "interpose.api.result",
    "run": "interpose.api.run",
    "run_async": "interpose.api.run",
}


def __getattr__(name: str) -> object:
    """The command, which imports this each time, pays for nothing of the interface for Python."""
    if name not in _ELSEWHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = globals()[name] = getattr(import_module(_ELSEWHERE[name]), name)
    return found
