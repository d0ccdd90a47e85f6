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

from interpose.jit._native import lib

from .cases import RECORD, UNKNOWN, WIDE_STATE, Case, CaseFile, make
from .rows import CODES, Row, all_rows, left_out
from .state import Layout

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
EXACT = "--vex-iropt-register-updates=allregs-at-mem-access"
MODES: dict[str, list[str]] = {
    "none": ["--tool=none"],
    "single-step": ["--tool=none", "--single-step=yes"],
    "no-optimise": ["--tool=none", "--optimise=no"],
    "no-chaining": ["--tool=none", "--chaining=no"],
    "tiny-cache": ["--tool=none", "--tiny-cache=yes"],
    "memcheck": ["--tool=memcheck", "-q", "--undef-value-errors=no", EXACT],
    "tracking": ["--tool=memcheck", "-q", "--force-tracking=yes", EXACT],
    "memcheck-inexact": ["--tool=memcheck", "-q", "--undef-value-errors=no"],
    "tracking-inexact": ["--tool=memcheck", "-q", "--force-tracking=yes"],
}
"""Engine modes by name: options of interpose.  Without EXACT arithmetic flags at a fault may be others."""


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
    faulted: Counter[int] = field(default_factory=Counter)
    """Row numbers of cases that are one instruction and ended with a fault."""
    signals: Counter[int] = field(default_factory=Counter)


def mark_supported(guest: Guest, folder: Path, rng: random.Random) -> None:
    """Find out which rows this CPU has: the others answer with SIGILL."""
    for row in all_rows():
        row.supported = True
    rows = [r for r in all_rows() if not left_out(r)]
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
        elif len(case.rows) == 1:
            result.faulted.update(case.rows)
        if a == b or ours(a):
            continue
        if "--tool=memcheck" in options and EXACT not in options and without_flags(a) == without_flags(b):
            continue
        if stores_x87_pointers(case) and warm_equal(guest, path, options, i):
            continue  # the translator was waited for in between
        result.different.append(i)
    return result


def ours(record: tuple[int, ...]) -> bool:
    """Whether it is a fault, natively, at an address where interpose itself lies: there is no fault then."""
    return record[21] == 11 and lib.IP_CACHE_BASE <= record[23] < 1 << 31


def without_flags(record: tuple[int, ...]) -> tuple[int, ...]:
    """The record but for arithmetic flags, if the case ended with a fault."""
    fields = dict(zip(FIELDS, record, strict=False))
    if not fields["signo"]:
        return record
    return tuple(
        value & ~lib.IP_FL_ARITH if name.endswith("flags") else value for name, value in fields.items()
    )


def stores_x87_pointers(case: Case) -> bool:
    """Whether the case stores what AMD's xrstor drops: it depends on switches to other processes."""
    names = {r.number: r.mnemonic.removesuffix("64") for r in all_rows() if r.number in case.rows}
    return any(name in WIDE_STATE for name in names.values())


def warm_equal(guest: Guest, path: Path, options: list[str], index: int) -> bool:
    """Whether the case is as native when everything is translated already, in one of a few tries."""
    words = ("warm", str(path), str(index))
    for _ in range(6):
        a, b = (RECORD.unpack(guest.records(o, *words)) for o in (None, options))
        if a == b:
            return True
    return False


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


def coverage(executed: Counter[int], faulted: Counter[int]) -> str:
    """Per mnemonic of the decoder's table: how many forms ran, how often; what is left out, and why."""
    forms: dict[str, list[Row]] = {}
    for row in all_rows():
        forms.setdefault(row.mnemonic, []).append(row)
    lines = []
    total: Counter[str] = Counter()
    for name in sorted(forms):
        words = []
        reasons = Counter(left_out(r) for r in forms[name])
        rows = [r for r in forms[name] if not left_out(r) and r.supported]
        absent = reasons.pop("", 0) - len(rows)
        ran = sum(1 for r in rows if executed[r.number])
        faults = sum(1 for r in rows if not executed[r.number] and faulted[r.number])
        total.update(
            ran=ran, faults=faults, absent=absent, excluded=sum(reasons.values()), total=len(forms[name])
        )
        if ran:
            words.append(f"{ran} of {len(rows)} forms, {sum(executed[r.number] for r in rows)} times")
        if faults:
            words.append(f"{faults} forms that fault, {sum(faulted[r.number] for r in rows)} times")
        if missed := len(rows) - ran - faults:
            words.append(f"{missed} forms that did not come up")
            total["missed"] += missed
        if absent:
            words.append(f"{absent} forms are not on this CPU")
        words += [f"{n} forms left out: {why}" for why, n in reasons.items()]
        lines.append(f"{name:<20} {'; '.join(words)}")
    lines.append(f"{'(no instruction)':<20} {faulted[UNKNOWN]} times a fault, {executed[UNKNOWN]} times none")
    lines.append(
        "{total} forms: {ran} ran, {faults} only fault, {missed} did not come up, {absent} not on this CPU, "
        "{excluded} left out".format_map(total)
    )
    return "\n".join(lines)
