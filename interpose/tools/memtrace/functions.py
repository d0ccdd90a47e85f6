"""Which functions are marked: the options' patterns against the symbols of mapped code."""

from __future__ import annotations

import fnmatch
import itertools
import os

from interpose.elf.errors import ElfError
from interpose.elf.symtab import function_symbols

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from interpose.elf.symbolizer import ObjectFile
    from interpose.tools.memtrace.options import FunctionSpec


class Found:
    """A function to mark: where it lies in memory, and how it is marked."""

    __slots__ = ("end", "library", "name", "noret", "parameters", "start")

    def __init__(self, start: int, size: int, name: str, library: str, parameters: int, noret: bool) -> None:
        self.start = start
        self.end = start + max(size, 1)
        self.name = name
        self.library = library
        self.parameters = parameters
        self.noret = noret


def find(
    specs: Sequence[FunctionSpec], file: ObjectFile, start: int, length: int, offset: int
) -> list[Found]:
    """The functions of a mapping that the specifications name, by address; the first one that fits counts."""
    image = file.image
    if image is None or not (vaddrs := image.vaddrs_of_offset(offset)):
        return []
    bias = start - vaddrs[0]
    library = os.path.basename(file.path)
    try:
        names = {library, image.soname or library}
        wanted = [spec for spec in specs if any(fnmatch.fnmatchcase(name, spec[0]) for name in names)]
        if not wanted:
            return []
        symbols = function_symbols(image, file.debug_image)
    except ElfError:
        return []
    found: dict[int, Found] = {}
    plain = {spec[1]: spec for spec in reversed(wanted) if not set(spec[1]) & set("*?[")}
    patterns = [spec for spec in wanted if spec[1] not in plain]
    for index, name in enumerate(symbols.names):
        place = symbols.addresses[index] + bias
        if symbols.is_ifunc[index] or place in found or not start <= place < start + length:
            continue
        spec = plain.get(name)
        if spec is None:
            spec = next((one for one in patterns if fnmatch.fnmatchcase(name, one[1])), None)
        if spec is not None:
            found[place] = Found(place, symbols.sizes[index], name, library, spec[2], spec[3])
    ordered = [found[place] for place in sorted(found)]
    for one, after in itertools.pairwise(ordered):
        one.end = min(one.end, after.start)
    return ordered
