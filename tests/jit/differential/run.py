"""Runs case files natively and under interpose, compares, and names the first difference."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from iced_x86 import Decoder, Formatter, FormatterSyntax

from .cases import RECORD, WIDE_STATE, Case, CaseFile, Layout, make
from .rows import CODES, EXCLUDED, Row, all_rows

HERE = Path(__file__).resolve().parent
GPRS = "rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15".split()
FIELDS = [
    *GPRS, "flags", "fs", "gs", "xstate", "memory", "signo", "si_code", "si_addr", "trapno", "err", "cr2",
    "fault pc", "fault flags", "fault registers",
]  # fmt: skip
FLAGS = [
    "-std=gnu17", "-O2", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-nostdlib", "-static", "-fno-pic",
    "-no-pie", "-mgeneral-regs-only", "-mno-red-zone", "-fno-stack-protector", "-fcf-protection=none",
    "-fno-builtin", "-fno-tree-loop-distribute-patterns", "-Wl,-z,noexecstack,--build-id=none",
]  # fmt: skip
MODES: dict[str, list[str]] = {
    "none": ["--tool=none"],
    "single-step": ["--tool=none", "--single-step=yes"],
    "no-optimise": ["--tool=none", "--optimise=no"],
    "no-chaining": ["--tool=none", "--chaining=no"],
    "tiny-cache": ["--tool=none", "--tiny-cache=yes"],
    "memcheck": ["--tool=memcheck", "-q", "--undef-value-errors=no"],
    "tracking": ["--tool=memcheck", "-q", "--force-tracking=yes"],
}
"""Engine modes by name: options of interpose."""


@dataclass
class Guest:
    """The built guest program."""

    path: Path
    layout: Layout

    @classmethod
    def build(cls, folder: Path) -> Guest:
        path = folder / "guest"
        command = ["gcc", *FLAGS, "-o", str(path), str(HERE / "guest.c"), str(HERE / "guest_asm.S")]
        subprocess.run(command, check=True)
        info = subprocess.run([str(path), "info"], check=True, stdout=subprocess.PIPE).stdout
        return cls(path, Layout.parse(info))

    def records(self, options: list[str] | None, *words: str, timeout: float = 900) -> bytes:
        """Output of the guest; natively if options is None."""
        command = [str(self.path), *words]
        if options is not None:
            command = [sys.executable, "-m", "interpose", *options, *command]
        done = subprocess.run(command, capture_output=True, timeout=timeout)
        if done.returncode:
            text = done.stderr.decode(errors="replace")
            raise RuntimeError(
                f"{' '.join(command)}: exit {done.returncode} after {len(done.stdout)} bytes\n{text}"
            )
        return done.stdout


@dataclass
class Result:
    """What a comparison found."""

    cases: int = 0
    instructions: int = 0
    different: list[int] = field(default_factory=list)
    executed: Counter[int] = field(default_factory=Counter)
    """Row numbers of cases that ran without a fault."""
    signals: Counter[int] = field(default_factory=Counter)


def mark_supported(guest: Guest, folder: Path, rng: random.Random) -> None:
    """Find out which rows this CPU has: the others answer with SIGILL."""
    for row in all_rows():
        row.supported = True
    rows = [r for r in all_rows() if r.mnemonic not in EXCLUDED]
    by_number = {r.number: r for r in rows}
    ok: set[int] = set()
    for _ in range(2):
        file = make_each(rng, guest.layout, [r for r in rows if r.number not in ok])
        path = folder / "probe.bin"
        path.write_bytes(file.data)
        for case, record in zip(
            file.cases, RECORD.iter_unpack(guest.records(None, "run", str(path), "0")), strict=True
        ):
            if record[21] != 4:
                ok.update(case.rows)
    for number, row in by_number.items():
        row.supported = number in ok


def make_each(rng: random.Random, layout: Layout, rows: list[Row]) -> CaseFile:
    """A case for each row."""
    return make(rng, layout, len(rows), rows=list(rows), longest=1)


def compare(guest: Guest, file: CaseFile, path: Path, options: list[str], native: bytes) -> Result:
    """Run the file under interpose and compare it with the native output."""
    got = guest.records(options, "run", str(path), "0")
    result = Result(len(file.cases))
    if len(got) != len(native):
        raise RuntimeError(f"{len(got)} bytes of records instead of {len(native)}")
    for i, (case, a, b) in enumerate(
        zip(file.cases, RECORD.iter_unpack(native), RECORD.iter_unpack(got), strict=True)
    ):
        result.instructions += len(case.rows)
        result.signals[a[21]] += 1
        if not a[21]:
            result.executed.update(case.rows)
        if a == b:
            continue
        # Memcheck goes to another translation for these, so that their first run waits for the translator.
        if (
            stores_x87_pointers(case)
            and (a[19] != b[19] or a[20] != b[20])
            and ("--tool=memcheck" in options or repeats_equal(guest, path, options, i))
        ):
            continue
        result.different.append(i)
    return result


def stores_x87_pointers(case: Case) -> bool:
    """Whether the case stores what AMD's xrstor drops: it depends on switches to other processes."""
    names = {r.number: r.mnemonic.removesuffix("64") for r in all_rows() if r.number in case.rows}
    return any(name in WIDE_STATE for name in names.values())


def repeats_equal(guest: Guest, path: Path, options: list[str], index: int) -> bool:
    words = ("run", str(path), str(index), "1")
    return any(guest.records(None, *words) == guest.records(options, *words) for _ in range(3))


def disassembly(file: CaseFile, case: Case) -> list[str]:
    data = file.code[case.start - file.code_addr : case.end - file.code_addr]
    decoder, formatter = Decoder(64, data, ip=case.start), Formatter(FormatterSyntax.NASM)
    out = []
    for insn in decoder:
        at = insn.ip - case.start
        raw = data[at : at + insn.len].hex()
        out.append(f"  {insn.ip:#x}  {raw:<32} {formatter.format(insn)}  ; {CODES[insn.code]}")
    return out


def explain(guest: Guest, file: CaseFile, path: Path, options: list[str], index: int) -> str:
    """The case, its code, what differs, and the command that shows it again."""
    case = file.cases[index]
    lines = [f"case {index} differs under {' '.join(options)}:", *disassembly(file, case)]
    native = guest.records(None, "dump", str(path), str(index))
    try:
        got = guest.records(options, "dump", str(path), str(index))
    except RuntimeError as error:
        lines.append(str(error))
        got = b""
    a, b = RECORD.unpack_from(native), RECORD.unpack_from(got) if got else ()
    lines += [
        f"  {n}: native {x:#x}, translated {y:#x}" for n, x, y in zip(FIELDS, a, b, strict=False) if x != y
    ]
    if a == b:
        lines.append("  (alone the case does not differ)")
    at = RECORD.size
    lines += differences("xstate", native[at : at + guest.layout.size], got[at : at + guest.layout.size], 0)
    at += guest.layout.size
    for addr, prot in file.bufs:
        if prot & 2:
            lines += differences("memory", native[at : at + 0x2000], got[at : at + 0x2000], addr)
            at += 0x2000
    command = (
        f"{sys.executable} -m interpose {' '.join(options)} {guest.path} dump {path} {index} | xxd | less"
    )
    lines.append(f"  again: PYTHONPATH={os.environ.get('PYTHONPATH', '.')} {command}")
    return "\n".join(lines)


def differences(what: str, a: bytes, b: bytes, base: int) -> list[str]:
    spots = [i for i in range(0, min(len(a), len(b)), 8) if a[i : i + 8] != b[i : i + 8]]
    return [
        f"  {what} at {base + i:#x}: native {a[i : i + 8].hex()}, translated {b[i : i + 8].hex()}"
        for i in spots[:8]
    ]


def coverage(executed: Counter[int]) -> str:
    """Per mnemonic: forms that ran without a fault, of the forms the table has, and how often."""
    forms: dict[str, list[Row]] = {}
    for row in all_rows():
        forms.setdefault(row.mnemonic, []).append(row)
    lines = []
    for name in sorted(forms):
        rows = [r for r in forms[name] if r.supported]
        if name in EXCLUDED:
            lines.append(f"{name:<20} excluded: {EXCLUDED[name]}")
        elif not rows:
            lines.append(f"{name:<20} not on this CPU")
        else:
            ran = sum(1 for r in rows if executed[r.number])
            lines.append(
                f"{name:<20} {ran:3} of {len(rows):3} forms, {sum(executed[r.number] for r in rows)} times"
            )
    return "\n".join(lines)
