"""The callgrind profile format, version 1: typed records, a streaming reader, a writer.

    from interpose.formats import callgrind

    for record in callgrind.Reader(open("callgrind.out.1234", "rb"), "callgrind.out.1234"):
        if isinstance(record, callgrind.Call): ...

``read(path)`` gives the whole as a ``Profile``; ``write(profile, stream)`` writes one; a profiler uses
``Writer``. A bad file raises ``interpose.formats.FormatError`` with file, line and reason.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interpose.formats.callgrind.model import (
        Call,
        Cost,
        EventType,
        Function,
        Jump,
        Part,
        Profile,
        Record,
    )
    from interpose.formats.callgrind.reader import Reader, read
    from interpose.formats.callgrind.writer import Writer, write

__all__ = [
    "Call",
    "Cost",
    "EventType",
    "Function",
    "Jump",
    "Part",
    "Profile",
    "Reader",
    "Record",
    "Writer",
    "read",
    "write",
]

_ELSEWHERE = {"Reader": "reader", "read": "reader", "Writer": "writer", "write": "writer"}


def __getattr__(name: str) -> object:
    """A profiler that writes pays for no reader."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = globals()[name] = getattr(import_module(f"{__name__}.{_ELSEWHERE.get(name, 'model')}"), name)
    return found
