"""Frames as text: the DESC part of a stack line, and which frames below `main` are shown.

Rules: output.md of the Valgrind 3.27 interface, section 5, checked against the output of Valgrind 3.19.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from interpose.elf.symbolizer import Frame

BELOW_MAIN = "(below main)"
BELOW_MAIN_FUNCTIONS = frozenset(
    ("__libc_start_main", "__libc_start_call_main", "__libc_start_main_impl", "generic_start_main", "_start")
)
# `__libc_start_main@@GLIBC_2.34` is none of them: Valgrind 3.19 prints it by name, between a
# constructor's frames and `(below main)`.


@dataclass(frozen=True, slots=True)
class FrameStyle:
    """The options that shape a frame; `fullpath_after` None means base names only."""

    demangle: bool = True
    sym_offsets: bool = False
    show_below_main: bool = False
    fullpath_after: tuple[str, ...] | None = None


DEFAULT_STYLE = FrameStyle()


def function_name(frame: Frame, style: FrameStyle = DEFAULT_STYLE) -> str | None:
    """The function as text and XML show it."""
    if not frame.is_inlined and not style.show_below_main and frame.function in BELOW_MAIN_FUNCTIONS:
        return BELOW_MAIN
    return frame.demangled if style.demangle else frame.function


def source_name(frame: Frame, style: FrameStyle = DEFAULT_STYLE) -> str | None:
    """The source file: base name, or with --fullpath-after what of the directory is left, and the base name.

    The strings are looked for in the directory, not in the whole path: `--fullpath-after=/src/` does not
    match a file that lies directly in `/src`. The first string that is found counts; text up to its end
    goes, then a leading `./`.
    """
    if frame.file is None or style.fullpath_after is None or frame.dir is None:
        return frame.file
    directory = frame.dir
    for wanted in style.fullpath_after:
        _, found, rest = directory.partition(wanted) if wanted else ("", "", "")
        if found:
            directory = rest
            break
    directory = directory.removeprefix("./")
    return f"{directory}/{frame.file}" if directory else frame.file


def describe_frame(frame: Frame, style: FrameStyle = DEFAULT_STYLE) -> str:
    """`fn (file:line)`, `fn (in /obj)`, `fn (in ???)`, `??? (in /obj)` or `???`."""
    name = function_name(frame, style)
    text = name if name is not None else "???"
    if name is not None and style.sym_offsets and frame.sym_offset:
        text += f"+{frame.sym_offset}"
    source = source_name(frame, style)
    if source is not None:
        return f"{text} ({source}:{frame.line})"
    if frame.obj is not None:
        return f"{text} (in {frame.obj})"
    return f"{text} (in ???)" if name is not None else text


def cut_below_main(
    stack: Sequence[Sequence[Frame]], style: FrameStyle = DEFAULT_STYLE
) -> list[Sequence[Frame]]:
    """The addresses of a stack trace (each the frames that `lookup` gave) that are shown.

    Nothing is shown below the outermost `main`; where there is none (constructors, exit handlers),
    nothing below the first start-up function, which itself is shown as `(below main)`.
    """
    if style.show_below_main:
        return list(stack)
    names = [frames[-1].function if frames else None for frames in stack]
    mains = [index for index, name in enumerate(names) if name == "main"]
    if mains:
        return list(stack[: mains[-1] + 1])
    for index, name in enumerate(names):
        if name in BELOW_MAIN_FUNCTIONS:
            return list(stack[: index + 1])
    return list(stack)
