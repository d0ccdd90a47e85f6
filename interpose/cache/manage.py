"""``--cache=show`` and ``--cache=clear``."""

from __future__ import annotations

from interpose.cache.folder import Folder

_KINDS = {"code": "translations", "memo": "symbols and bindings"}


def show() -> str:
    """Where the cache is, and how much of what is in it."""
    folder = Folder()
    kinds: dict[str, list[int]] = {}
    for name, status in folder.files():
        kind = _KINDS.get(name.partition("-")[0], "line tables and others")
        kinds.setdefault(kind, []).append(status.st_size)
    lines = [folder.path]
    for kind, sizes in sorted(kinds.items()):
        lines.append(f"{len(sizes):8,} files {sum(sizes):16,} bytes  {kind}")
    total = [size for sizes in kinds.values() for size in sizes]
    lines.append(f"{len(total):8,} files {sum(total):16,} bytes  in all")
    return "\n".join(lines)


def clear() -> str:
    """Remove everything, and say how much that was."""
    folder = Folder()
    files, size = folder.clear()
    return f"{folder.path}: {files:,} files with {size:,} bytes removed"
