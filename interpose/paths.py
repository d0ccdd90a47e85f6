"""Where the built products lie: beside the package, or in the build folder of an editable install."""

from __future__ import annotations

import os
import sys
import time

from interpose.errors import LaunchError

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
STUBS, HEAP_STUBS, CORE_STUBS = "interpose-stubs.so", "interpose-heap.so", "interpose-core.so"
NATIVE = "interpose-native.so"
_RUNTIME = "interpose-rt-"
# Modules are imported when they are needed: later ones must be of the same installation as the first.
_BEGAN = time.time_ns()
_CHANGED = "the installation changed during the run, which cannot go on"
_seen: dict[str, tuple[int, ...]] = {}
# Where meson builds each product, relative to the extension module's folder in the build tree.
_RUNTIMES, _STUBS, _NATIVES = "../runtime", "../../wrappers", "../native"


def absolute(path: str) -> str:
    """The path from the root; as it is where it begins in the current folder and that was removed.

    Whatever is looked for there is not found, then, which is said where it is looked for.
    """
    try:
        return os.path.abspath(path)
    except OSError:
        return path


def real(path: str) -> str:
    """The same without symbolic links."""
    try:
        return os.path.realpath(path)
    except OSError:
        return path


def runtime(tool: str) -> str:
    """Absolute path of the runtime of that tool; raises as :func:`product`."""
    return product(_RUNTIME + tool)


def product(name: str) -> str:
    """Absolute path of a product; :class:`LaunchError` if it was not built, or is another one than before."""
    path = _find(name)
    status = os.stat(path)
    identity = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    if _seen.setdefault(name, identity) != identity:
        raise LaunchError(f"{_CHANGED}: {path}")
    return path


def symbols(stubs: str) -> str:
    """Path of that image of stubs for debuggers: the same without lines."""
    return product(os.path.basename(stubs).removesuffix(".so") + "-symbols.so")


def _find(name: str) -> str:
    installed = os.path.join(_PACKAGE, "_lib", name)
    if os.path.exists(installed):
        return installed
    from interpose.jit import _native

    built = os.path.join(
        os.path.dirname(os.path.realpath(_native.__file__)),
        _RUNTIMES if name.startswith(_RUNTIME) else _NATIVES if name == NATIVE else _STUBS,
        name,
    )
    if os.path.exists(built):
        return os.path.normpath(built)
    raise LaunchError(f"{_CHANGED if _seen else 'the installation is incomplete'}: {installed} is missing")


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


def mpi_sources() -> str:
    """The folder of the MPI wrapper library's sources."""
    for folder in (_PACKAGE, os.path.dirname(_PACKAGE)):
        sources = os.path.join(folder, "wrappers", "mpi")
        if os.path.exists(os.path.join(sources, "functions.table")):
            return sources
    raise LaunchError("the installation is incomplete: the sources of the MPI wrappers are missing")


def installation_changed(error: BaseException) -> LaunchError | None:
    """The one line to end with, when an error comes of files that were replaced or removed during the run."""
    files = [getattr(module, "__file__", None) for name, module in sys.modules.items() if _is_ours(name)]
    for file in (*files, library()):
        if file and _changed(file):
            return LaunchError(f"{_CHANGED}: {file} ({type(error).__name__}: {error})")
    return None


def _is_ours(module: str) -> bool:
    return module == "interpose" or module.startswith("interpose.")


def _changed(file: str) -> bool:
    try:
        return os.stat(file).st_ctime_ns > _BEGAN
    except OSError:
        return True
