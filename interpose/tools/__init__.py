"""The tools, one folder each; a folder with an ``options.py`` is a tool, and nothing else lists them.

``options.py`` defines ``class Options(Table)`` and the banner's ``NAME`` and ``DESCRIPTION``; ``XML = True``
says that the tool's report can be XML. ``LATE`` names modules that the tool's object needs, in the order in
which they are best loaded, if that object may come into being when the program has started: it leaves the
first events (``started``, ``loaded``, ``code_mapped``, ``code_unmapped``, ``idle``) to
:class:`~interpose.tools.base.BaseTool`.
"""

from __future__ import annotations

import os

from interpose.errors import InterposeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

_FOLDER = os.path.dirname(os.path.abspath(__file__))


def names() -> list[str]:
    """The tools there are, sorted."""
    return sorted(
        name for name in os.listdir(_FOLDER) if os.path.isfile(os.path.join(_FOLDER, name, "options.py"))
    )


def known_as(name: str) -> str:
    """The tool that a name stands for: its own, or one of ``ALSO_NAMED`` in its options."""
    if not name.isidentifier():
        for own in names():
            if name in getattr(load(own), "ALSO_NAMED", ()):
                return own
    return name


def load(name: str, part: str = "options") -> ModuleType:
    """Import ``interpose.tools.<name>.<part>``; for an unknown tool the error names those there are."""
    if not name.isidentifier() or not os.path.isfile(os.path.join(_FOLDER, name, "options.py")):
        raise InterposeError(f"unknown tool '{name}'; the tools are: {', '.join(names())}")
    module = f"interpose.tools.{name}.{part}"
    __import__(module)
    import sys

    return sys.modules[module]
