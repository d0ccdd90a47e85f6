"""Finds the package's own modules, of which a run loads forty to eighty, where their compiled files lie.

Python's own way to a module asks every finder, looks at folders again, and checks a dozen things that are
known here: a fifth of what loading takes.  What is loaded is the same, by the same rule: the compiled file is
good if it names the time and size of its source.  Whatever is not as usual is left to the finders behind it.
"""

from __future__ import annotations

import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec, SourceFileLoader
    from importlib.util import MAGIC_NUMBER
    from types import CodeType, ModuleType

    def _fix_co_filename(code: CodeType, path: str, /) -> None: ...
else:
    # Their names in public cost half a millisecond.
    from _frozen_importlib import ModuleSpec
    from _frozen_importlib_external import MAGIC_NUMBER, SourceFileLoader
    from _imp import _fix_co_filename

# PEP 552: the version of the bytecode, and no flags: time and size of the source are what follows.
_HEAD = MAGIC_NUMBER + bytes(4)
_HEAD_SIZE = 16
_PACKAGE = __name__.partition(".")[0] + "."


class _Loader(SourceFileLoader):
    """Has the code already, once."""

    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self._code: CodeType | None = code

    def get_code(self, fullname: str) -> CodeType | None:
        code, self._code = self._code, None
        return super().get_code(fullname) if code is None else code


def _read(path: str) -> bytes | None:
    """A file's content; None if it cannot be read, or changes."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        size = os.fstat(fd).st_size
        data = os.read(fd, size)
        return data if len(data) == size else None
    except OSError:
        return None
    finally:
        os.close(fd)


def _is_of(data: bytes, source: str) -> bool:
    """A compiled file's content is what the source would be compiled to."""
    try:
        status = os.stat(source)
    except OSError:
        return False
    stamp = (int(status.st_mtime) & 0xFFFFFFFF).to_bytes(4, "little")
    return data[:_HEAD_SIZE] == _HEAD + stamp + (status.st_size & 0xFFFFFFFF).to_bytes(4, "little")


class Finder:
    """A finder for ``sys.meta_path``.

    :param tag: what the names of compiled files end with.
    """

    def __init__(self, tag: str) -> None:
        self._end = f".{tag}.pyc"

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """As any finder's; None for what the others shall look for."""
        if path is None or not name.startswith(_PACKAGE) or len(path) != 1 or path[0][:1] != "/":
            return None
        folder, last = path[0], name.rpartition(".")[2]
        within = f"{folder}/{last}"
        source, compiled = f"{within}.py", f"{folder}/__pycache__/{last}{self._end}"
        data, is_package = _read(compiled), False
        if data is None:
            source, compiled = f"{within}/__init__.py", f"{within}/__pycache__/__init__{self._end}"
            data, is_package = _read(compiled), True
        if data is None or not _is_of(data, source):
            return None
        try:
            code = marshal.loads(memoryview(data)[_HEAD_SIZE:])
        except (EOFError, TypeError, ValueError):
            return None
        _fix_co_filename(code, source)  # who compiled it may have named it another way
        loader = _Loader(name, source, code)
        spec = ModuleSpec(name, loader, origin=source)
        spec.has_location = True
        spec.cached = compiled
        if is_package:
            spec.submodule_search_locations = [within]
        return spec


def begin() -> None:
    """Have a :class:`Finder` find modules of the package from now on, if Python has them where it looks."""
    tag = sys.implementation.cache_tag
    if tag is not None and sys.pycache_prefix is None and not sys.flags.optimize:
        sys.meta_path.insert(0, Finder(tag))
