"""What is printed of a difference."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile

from interpose.jit._native import ffi, lib
from interpose.jit.stages import stage_lines, stages
from interpose.lockstep.options import REGISTERS
from interpose.procmaps import regions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from interpose.elf.symbolizer import ObjectFile
    from interpose.lockstep.pair import Pair

_FLAGS = ((0x1, "CF"), (0x4, "PF"), (0x10, "AF"), (0x40, "ZF"), (0x80, "SF"), (0x400, "DF"), (0x800, "OF"))
_BEFORE = 100  # steps that the command for a repetition compares before the difference
# Where vector registers lie in the standard format of XSAVE (SDM volume 1, 13.4): component, first
# register, bytes of a register, what it is called.
_COMPONENTS = (
    (2, 0, 16, "upper half of ymm"),
    (5, 0, 8, "k"),
    (6, 0, 32, "upper half of zmm"),
    (7, 16, 64, "zmm"),
)


def flags_text(flags: int) -> str:
    """Names of the flags that are set."""
    return " ".join(name for bit, name in _FLAGS if flags & bit) or "none"


class Places:
    """What the program's addresses are called."""

    def __init__(self, pid: int) -> None:
        from interpose.elf.symbolizer import Symbolizer

        self._symbolizer = Symbolizer(directories=False)
        try:
            found = list(regions(pid))
        except OSError:
            found = []  # it is gone
        files: dict[str, ObjectFile] = {}
        for region in found:
            path = os.fsdecode(region.name)
            if path.startswith("/") and os.path.isfile(path):
                file = files.get(path) or self._symbolizer.object_at(path)
                files[path] = file
                self._symbolizer.add_mapping(file, region.start, region.end - region.start, region.offset)

    def name(self, address: int) -> str:
        """``function+offset (file:line)``, as far as known."""
        frame = self._symbolizer.lookup(address)[-1]
        text = frame.demangled or "?"
        if frame.sym_offset:
            text += f"+{frame.sym_offset:#x}"
        if frame.file and frame.line:
            return f"{text} ({frame.file}:{frame.line})"
        return f"{text} (in {frame.obj})" if frame.obj else text


def disassembly(address: int, code: bytes) -> str:
    """One instruction; objdump's text where there is one, else the decoder's name for it."""
    if not code:
        return "(no instruction can be read)"
    tool = shutil.which("objdump")
    if tool is not None:
        with tempfile.NamedTemporaryFile() as file:
            file.write(code)
            file.flush()
            command = [
                tool,
                "-D",
                "-b",
                "binary",
                "-m",
                "i386:x86-64",
                f"--adjust-vma={address:#x}",
                file.name,
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        for line in done.stdout.splitlines():
            parts = line.split("\t")
            if len(parts) >= 3:
                return " ".join(parts[2].split())
    insn = ffi.new("struct ip_insn *")
    if lib.ip_decode(code, len(code), address, insn) <= 0:
        return "(bad)"
    return ffi.string(lib.ip_mnem_name(insn.mnem)).decode()


def last_steps(state: Any) -> list[tuple[int, bytes]]:
    """The newest instructions that N executed, oldest first."""
    newest = state.ring_at
    steps = []
    for index in range(max(0, newest - len(state.ring)), newest):
        step = state.ring[index % len(state.ring)]
        steps.append((step.pc, bytes(ffi.buffer(step.bytes, 16))[: step.len]))
    return steps


def vector_name(offset: int) -> str:
    """The register at an offset in an XSAVE image."""
    if offset < 32:
        return "mxcsr" if offset >= 24 else "x87 control, status or tag word"
    if offset < 160:
        return f"st({(offset - 32) // 16}) or mm{(offset - 32) // 16}"
    if offset < 416:
        return f"xmm{(offset - 160) // 16}"
    for component, first, size, name in _COMPONENTS:
        start = lib.ip_ls_component(component)
        count = 8 if component == 5 else 16
        if start >= 0 and start <= offset < start + size * count:
            return f"{name}{first + (offset - start) // size}"
    return f"byte {offset} of the processor state"


def difference_lines(state: Any) -> Iterator[str]:
    """Expected is what the real CPU made, got what the translation made."""
    expected, got = state.n, state.frame if state.differ_frame else state.t
    rows = []
    if state.differ & lib.IP_LS_D_PC:
        rows.append(("pc", f"{expected.pc:#x}", f"{got.pc:#x}"))
    for index, name in enumerate(REGISTERS):
        if state.differ & lib.IP_LS_D_GPR and state.differ_gpr >> index & 1:
            rows.append((name, f"{expected.gpr[index]:#x}", f"{got.gpr[index]:#x}"))
    if state.differ & lib.IP_LS_D_FLAGS:
        mask = state.differ_flags
        rows.append(
            (f"flags {flags_text(mask)}", flags_text(expected.rflags & mask), flags_text(got.rflags & mask))
        )
    if state.differ & lib.IP_LS_D_VECTOR:
        at = state.differ_offset & ~15
        rows.append(
            (
                vector_name(state.differ_offset),
                bytes(ffi.buffer(state.x_n))[at : at + 16].hex(" "),
                bytes(ffi.buffer(state.x_t))[at : at + 16].hex(" "),
            )
        )
    if state.differ & lib.IP_LS_D_MEMORY:
        rows.append(
            (
                f"memory at {state.differ_addr:#x}",
                bytes(state.differ_n).hex(" "),
                bytes(state.differ_t).hex(" "),
            )
        )
    width = max(len(row[0]) for row in rows) if rows else 0
    for name, want, have in rows:
        yield f"  {name:<{width}}  expected {want}"
        yield f"  {'':<{width}}  got      {have}"


def repeat_command(pair: Pair) -> str:
    """The command that shows the same difference again, with less to compare before it."""
    options, steps = pair.options, pair.state.steps
    start = max(options.start_at, steps - _BEFORE) if steps > _BEFORE else options.start_at
    changes = [f"--stop-at={steps + 1}"]
    if start:
        changes.append(f"--start-at={start}")
    return shlex.join(options.command(*changes))


def stages_of_block(pair: Pair) -> Iterator[str]:
    """The translation that T ran last."""
    from interpose.session import config_flags

    state = pair.state
    start = state.pcs[0]
    code = pair.native.read(start, 1024)
    config = pair.options.engine
    if not code:
        return
    track = bool(state.block_key & lib.IP_KEY_TRACK)
    yield f"translation of the block at {start:#x} ({state.n_insns} instructions, at {state.block_host:#x}):"
    try:
        titled = stages(code, pc=start, tool=config.tool_name, flags=config_flags(config), track=track)
    except ValueError as error:
        yield f"  {error}"
        return
    for line in stage_lines(titled):
        yield f"  {line}".rstrip()


def report(pair: Pair, headline: str) -> list[str]:
    """Everything about the place where the two parted."""
    state = pair.state
    places = Places(state.n_pid if state.t_ended else state.t_pid)
    lines = [f"{headline} after {state.steps:,} steps (N is the real CPU, T the translation)"]
    steps = last_steps(state)
    if steps:
        pc, code = steps[-1]
        lines.append(f"  at {pc:#x} {places.name(pc)}")
        lines.append(f"  {disassembly(pc, code)}    [{code.hex(' ')}]")
    lines += difference_lines(state)
    lines += ["", f"last {len(steps)} instructions:"]
    for pc, code in steps:
        lines.append(f"  {pc:#x}  {disassembly(pc, code):<44}  {places.name(pc)}")
    lines.append("")
    lines += stages_of_block(pair)
    lines += ["again with:", f"  {repeat_command(pair)}"]
    return lines
