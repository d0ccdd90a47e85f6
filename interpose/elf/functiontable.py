"""Where functions begin, by the look-up table of call frame information: it is there without symbols, too."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interpose.elf.image import Image

_WORDS = (0x03, 0x0B)
"""Encodings of 4 bytes: udata4, sdata4."""
_LINKED = b"\x03\x3b"
"""Count: udata4; table: sdata4, from the section on."""


def function_table(image: Image) -> tuple[bytes, int]:
    """The look-up table of ``.eh_frame_hdr`` as the file has it (Linux Standard Base, "Exception Frames").

    Pairs of 32-bit distances (function, entry) from the address that is returned with it, ascending.  Empty
    if there is none in this form, which linkers make.
    """
    section = image.section_named(".eh_frame_hdr")
    if section is None:
        return b"", 0
    data = image.section_data(section)
    if len(data) < 12 or data[0] != 1 or data[1] & 0x0F not in _WORDS or data[2:4] != _LINKED:
        return b"", 0
    end = 12 + 8 * int.from_bytes(data[8:12], "little")
    return (data[12:end], section.addr) if end <= len(data) else (b"", 0)
