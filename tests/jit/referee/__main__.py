"""The decoder against iced-x86 over every shared library: ``python -m jit.referee``, ``tests`` on PYTHONPATH.

Every length, and once for each encoding everything that interpose/abi/x86_insn.h says about it.  Where they
differ, capstone's reading is printed beside.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from .compare import Native
from .libraries import FOLDER, Referee, libraries, sections

REPORT_SECONDS = 30


def second_opinion(code: str) -> str:
    """What capstone makes of the bytes."""
    import capstone

    md = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    md.detail = True
    insn = next(md.disasm(bytes.fromhex(code).ljust(15, b"\x90"), 0x1000, 1), None)
    if insn is None:
        return "capstone: invalid"
    read, written = ([insn.reg_name(r) for r in regs] for regs in insn.regs_access())
    return f"capstone: {insn.size} bytes, {insn.mnemonic} {insn.op_str}, reads {read}, writes {written}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="*", type=Path, help=f"libraries or folders; {FOLDER} if none")
    parser.add_argument("--show", type=int, default=100, help="differences to print")
    args = parser.parse_args()
    paths = [p for given in args.paths or [FOLDER] for p in (libraries(given) if given.is_dir() else [given])]
    with tempfile.TemporaryDirectory() as build:
        referee = Referee(Native(Path(build)))
    started = reported = time.monotonic()
    size = 0
    for n, path in enumerate(paths, 1):
        for address, data in sections(path):
            size += len(data)
            referee.code(address, data)
        if time.monotonic() - reported > REPORT_SECONDS or n == len(paths):
            reported = time.monotonic()
            print(
                f"{n} of {len(paths)} libraries, {size >> 20} MiB of code, "
                f"{referee.instructions} instructions, {referee.encodings} encodings, "
                f"{referee.invalid} bytes that are none, "
                f"{len(referee.found)} kinds of difference, {reported - started:.0f} s",
                flush=True,
            )
    for what, (code, text) in list(referee.found.items())[: args.show]:
        print(f"{what}\n    {code}  {text}\n    {second_opinion(code)}")
    return bool(referee.found)


if __name__ == "__main__":
    sys.exit(main())
