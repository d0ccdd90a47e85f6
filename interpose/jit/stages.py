"""The six stages of a translation as text, for any bytes.

docs/translation.md explains the stages.  On the command line:
``python -m interpose.jit.stages [options of interpose] [--pc=ADDRESS] HEX...``.
"""

from __future__ import annotations

import re
import sys

from interpose.errors import InternalError
from interpose.jit._native import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TITLES = (
    "From x86 to UCode",
    "Optimised",
    "Instrumented",
    "Cleaned up",
    "Registers allocated",
    "Emitted",
)
_CAPACITY = 1 << 18
_ADDRESSES = re.compile(r"0x[0-9a-f]+ \(0x[0-9a-f]+\):")


def stages(
    code: bytes, *, pc: int = 0x400000, tool: str = "none", flags: int = 0, track: bool = False
) -> list[tuple[str, str]]:
    """Title and text of each stage of the block that begins with ``code``.

    :param pc: the guest address of the first byte.
    :param tool: whose stage 3 it gets.
    :param flags: ``lib.IP_C_*`` bits, as in the channel (``IP_C_SHADOW``, …).
    :param track: the tracking translation instead of the clean one.
    """
    return [(title, _stage(code, pc, tool, flags, track, n)) for n, title in enumerate(TITLES, 1)]


def _stage(code: bytes, pc: int, tool: str, flags: int, track: bool, number: int) -> str:
    buffer = ffi.new("char[]", _CAPACITY)
    length = lib.ip_show_stage(tool.encode(), code, len(code), pc, flags, track, number, buffer, _CAPACITY)
    if length == -2:
        raise InternalError(ffi.string(buffer).decode())
    if length < 0:
        raise ValueError(f"no translation by {tool!r} of the bytes at {pc:#x}")
    return ffi.buffer(buffer, length)[:].decode()


def emitted_code(text: str) -> bytes:
    """The bytes of a stage 6 listing."""
    return bytes.fromhex(_ADDRESSES.sub("", text))


def stage_lines(titled: list[tuple[str, str]]) -> Iterator[str]:
    """The stages under their titles, line by line."""
    for number, (title, text) in enumerate(titled, 1):
        yield f"Stage {number}: {title}"
        yield from text.rstrip("\n").splitlines()
        yield ""


def stages_for(
    options: Sequence[str], code: bytes, *, pc: int = 0x400000, track: bool = False
) -> list[tuple[str, str]]:
    """The stages of the block as the command line's options (``--tool=NAME``, …) make it."""
    from interpose.options.parse import parse
    from interpose.session import config_flags

    config = parse([*options, "program"])
    return stages(code, pc=pc, tool=config.tool_name, flags=config_flags(config), track=track)


def main(words: Sequence[str]) -> None:
    """Print the stages of the bytes named on the command line."""
    pc = 0x400000
    options: list[str] = []
    digits: list[str] = []
    for word in words:
        if word.startswith("--pc="):
            pc = int(word[5:], 0)
        else:
            (options if word.startswith("-") else digits).append(word)
    print("\n".join(stage_lines(stages_for(options, bytes.fromhex(" ".join(digits)), pc=pc))))


if __name__ == "__main__":
    main(sys.argv[1:])
