"""Where a file's code has the markers that wrappers reach their originals by.

On a CPU a marker does nothing: four rotations of rdi that add up to whole turns, and an exchange of a
register with itself that tells what is meant (include/interpose/request.h). Two of the kinds have to do
something here.
"""

from __future__ import annotations

from interpose.elf.errors import ElfError
from interpose.elf.headers import PF_X
from interpose.native.wire import CALL, NRADDR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interpose.elf.image import Image

_PREAMBLE = bytes.fromhex("48c1c703 48c1c70d 48c1c73d 48c1c733")
_KINDS = {bytes.fromhex("4887c9"): NRADDR, bytes.fromhex("4887d2"): CALL}


def markers(image: Image) -> list[tuple[int, int]]:
    """Link-time addresses of the markers in a file's executable segments, each with its kind."""
    found = []
    for header in image.load_segments:
        if not header.flags & PF_X:
            continue
        try:
            data = image.read(header.offset, header.filesz, "code")
        except ElfError:
            continue
        at = data.find(_PREAMBLE)
        while at >= 0:
            end = at + len(_PREAMBLE)
            kind = _KINDS.get(data[end : end + 3])
            if kind is not None:
                found.append((header.vaddr + at, kind))
            at = data.find(_PREAMBLE, end)
    return found
