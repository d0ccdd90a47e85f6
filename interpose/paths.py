"""Where the built products lie: beside the package, or in the build folder of an editable install."""

from __future__ import annotations

import os

from interpose.errors import LaunchError

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
RUNTIME, STUBS, CORE_STUBS = "interpose-rt", "interpose-stubs.so", "interpose-core.so"
# Where meson builds each product, relative to the extension module's folder in the build tree.
_BUILT = {RUNTIME: "../runtime", STUBS: "../../wrappers", CORE_STUBS: "../../wrappers"}


def product(name: str) -> str:
    """Absolute path of a product; :class:`LaunchError` if it was not built."""
    installed = os.path.join(_PACKAGE, "_lib", name)
    if os.path.exists(installed):
        return installed
    from interpose.jit import _native

    built = os.path.join(os.path.dirname(os.path.realpath(_native.__file__)), _BUILT[name], name)
    if os.path.exists(built):
        return os.path.normpath(built)
    raise LaunchError(f"the installation is incomplete: {installed} is missing")


def library() -> str:
    """The folder of the installed products."""
    return os.path.join(_PACKAGE, "_lib")


def gdb_script() -> str:
    """What gdb is given with ``-x`` to show frames of a program that runs here."""
    return os.path.join(_PACKAGE, "gdb", "frames.py")


def include() -> str:
    """The folder to give a compiler with ``-I`` for ``<interpose/…>``."""
    for folder in (_PACKAGE, os.path.dirname(_PACKAGE)):
        headers = os.path.join(folder, "include")
        if os.path.isdir(os.path.join(headers, "interpose")):
            return headers
    raise LaunchError("the installation is incomplete: the headers are missing")
