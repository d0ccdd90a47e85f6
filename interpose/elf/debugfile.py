"""Where the separate debug file of an image is.

Order: the build-id tree below each debug root, then the three places of .gnu_debuglink (GDB manual,
"Debugging Information in Separate Files"): beside the image, in its `.debug` folder, below each debug root.
A root given by --extra-debuginfo-path is searched last, for the file name itself too.
"""

from __future__ import annotations

import os

from interpose.elf.errors import ElfError
from interpose.elf.image import Image

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

DEBUG_ROOT = "/usr/lib/debug"
_CHUNK = 1 << 20


def find_debug_image(
    image: Image, extra_paths: Iterable[str] = (), allow_mismatched: bool = False, root: str = DEBUG_ROOT
) -> Image | None:
    """The debug file that belongs to `image`, or None.

    A candidate must have the same build-id, or, where the image has none, the CRC of .gnu_debuglink;
    `allow_mismatched` waives this for files found below `extra_paths`.
    """
    try:
        build_id, link = image.build_id, image.debuglink
    except ElfError:
        return None
    extra = tuple(extra_paths)
    if build_id and len(build_id) > 2:
        for top in (root, *extra):
            found = _opened(os.path.join(top, ".build-id", build_id[:2], f"{build_id[2:]}.debug"))
            if found is not None and found.build_id == build_id:
                return found
    if link is None:
        return None
    name, crc = link
    folder = os.path.dirname(os.path.realpath(image.path))
    places = [os.path.join(folder, name), os.path.join(folder, ".debug", name), f"{root}{folder}/{name}"]
    trusted = len(places)
    for top in extra:
        places += [f"{top}{folder}/{name}", os.path.join(top, name)]
    for number, place in enumerate(places):
        found = _opened(place)
        if found is None or os.path.realpath(place) == os.path.realpath(image.path):
            continue
        if (number >= trusted and allow_mismatched) or _belongs(found, build_id, crc):
            return found
    return None


def find_supplement(image: Image, extra_paths: Iterable[str] = (), root: str = DEBUG_ROOT) -> Image | None:
    """The file with what dwz found in several debug files (.gnu_debugaltlink; DWARF 5, 7.3.6)."""
    try:
        name, build_id = _alternate(image)
    except ElfError:
        return None
    if not name:
        return None
    places = [os.path.join(os.path.dirname(os.path.realpath(image.path)), name)]
    places += [os.path.join(top, ".dwz", os.path.basename(name)) for top in (root, *extra_paths)]
    if len(build_id) > 2:
        tail = os.path.join(".build-id", build_id[:2], f"{build_id[2:]}.debug")
        places += [os.path.join(top, tail) for top in (root, *extra_paths)]
    for place in places:
        found = _opened(place)
        if found is not None and _identity(found) == build_id:
            return found
    return None


def _alternate(image: Image) -> tuple[str, str]:
    """Name and identity, in lowercase hex, of the file that an image shares entries with."""
    raw = image.data_of(".gnu_debugaltlink")
    if raw:
        name, _, identity = raw.partition(b"\0")
        return os.fsdecode(name), identity.hex()
    raw = image.data_of(".debug_sup")
    if len(raw) < 4 or raw[2]:
        return "", ""
    name, _, rest = raw[3:].partition(b"\0")
    return os.fsdecode(name), rest[1:].hex()


def _identity(image: Image) -> str:
    """What names a file with shared entries: its build-id, or what its own .debug_sup says."""
    try:
        raw = image.data_of(".debug_sup")
        if raw[2:3] == b"\1":
            return raw[3:].partition(b"\0")[2][1:].hex()
        return image.build_id or ""
    except ElfError:
        return ""


def debug_places(image: Image, root: str = DEBUG_ROOT) -> list[str]:
    """Where :func:`find_debug_image` looks, without extra paths."""
    try:
        build_id, link = image.build_id, image.debuglink
    except ElfError:
        return []
    places = []
    if build_id and len(build_id) > 2:
        places.append(os.path.join(root, ".build-id", build_id[:2], f"{build_id[2:]}.debug"))
    if link is not None:
        folder = os.path.dirname(os.path.realpath(image.path))
        places += [f"{folder}/{link[0]}", f"{folder}/.debug/{link[0]}", f"{root}{folder}/{link[0]}"]
    return places


def _opened(path: str) -> Image | None:
    try:
        candidate = Image.open(path)
        _ = candidate.build_id
    except ElfError:
        return None
    return candidate


def _belongs(candidate: Image, build_id: str | None, crc: int) -> bool:
    if build_id and candidate.build_id:
        return candidate.build_id == build_id
    import zlib

    checksum = 0
    try:
        for at in range(0, candidate.size, _CHUNK):
            size = min(_CHUNK, candidate.size - at)
            checksum = zlib.crc32(candidate.read(at, size, "the file"), checksum)
    except ElfError:
        return False
    return checksum == crc
