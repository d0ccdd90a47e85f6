"""Repeated string instructions cost what they cost under Valgrind, whatever ends them and sets RCX."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from tools.memcheck.guests import REFERENCE, valgrind_version

from interpose.formats import callgrind

from .profiles import VALGRIND, Sums, profile, valgrind

DATA = """
        .data
        .balign 8
numbers: .quad 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20
words:  .long 0, 0, 0, 0, 0, 1, 0, 0
        .skip 96
differs: .byte 0, 0, 0, 0, 0, 1, 0, 0
        .skip 96
ones:   .byte 1, 1, 1, 1, 1, 1, 1, 1
        .skip 96
zeros:  .skip 8192
        .text
"""


def number(n: int) -> str:
    return f"numbers+{8 * n}(%rip)"


def ends() -> list[str]:
    """By the flag before the last turn, in it, or by the number of turns."""
    lines = ["xor %eax, %eax; lea differs(%rip), %rdi; mov numbers(%rip), %rcx; repe scasb"]
    for n in (1, 2, 5, 6, 7, 20):
        lines += [
            f"lea zeros(%rip), %rsi; lea differs(%rip), %rdi; mov ${n}, %ecx; repe cmpsb",
            f"lea zeros(%rip), %rsi; lea differs(%rip), %rdi; mov {number(n)}, %rcx; repe cmpsb",
            f"xor %eax, %eax; lea differs(%rip), %rdi; mov ${n}, %ecx; repe scasb",
            f"mov $1, %eax; lea differs(%rip), %rdi; mov ${n}, %ecx; repne scasb",
            f"mov $1, %eax; lea words(%rip), %rdi; mov {number(n)}, %rcx; repne scasl",
        ]
    loads = [f"mov {number(n)}, %rcx" for n in (0, 1, 2, 3, 8, 9, 10, 16)]
    return lines + [f"lea zeros(%rip), %rdi; {load}; rep stosb" for load in loads]


WAYS = [  # to a number of turns
    "mov $16, %ecx",
    "movabs $16, %rcx",
    "xor %ecx, %ecx",
    "mov $16, %edx; mov %edx, %ecx",
    "mov $16, %r9d; mov %r9, %rcx",
    "mov $15, %ecx; inc %ecx",
    "mov $16, %ecx; dec %rcx",
    "mov $2, %ecx; shl $3, %ecx",
    "mov $2, %ecx; shl %cl, %ecx",
    "mov $2, %ecx; shl $0, %ecx",
    "mov $2, %ecx; rol $3, %ecx",
    "mov $32, %ecx; ror $1, %rcx",
    "mov $32, %ecx; sar $1, %ecx",
    "mov $0x10000000, %ecx; bswap %ecx",
    "mov $16, %edx; movslq %edx, %rcx",
    "mov $4, %ecx; mov $4, %edx; imul %edx, %ecx",
    "mov $4, %ecx; imul $4, %rcx, %rcx",
    "imul $0, %ecx, %ecx",
    "lea 16, %ecx",
    "mov $2, %edx; lea 1(%rdx,%rdx,2), %ecx",
    "lea zeros(%rip), %ecx; shr $12, %ecx; and $15, %ecx",
    "mov $-16, %rcx; neg %rcx",
    "mov $-5, %ecx; not %ecx",
    "xor %rcx, %rcx; add $4, %rcx",
    "sub %ecx, %ecx; or $5, %ecx",
    "and $0, %ecx",
    "and $15, %ecx",
    "mov $4, %eax; cltq; mov %rax, %rcx",
    "mov $4, %eax; cwtl; mov %rax, %rcx",
    "clc; sbb %ecx, %ecx",
    "clc; mov $4, %ecx; adc $1, %ecx",
    "push $16; pop %rcx",
    "xor %ecx, %ecx; mov $16, %cl",
    "xor %ecx, %ecx; mov $16, %cx",
    "mov $4, %ecx; xor %ch, %ch",
    "mov $16, %dl; movzbl %dl, %ecx",
    "xor %ecx, %ecx; cmp $1, %ecx; setc %cl",
    "mov $16, %ecx; mov $5, %edx; cmp %edx, %edx; cmovne %edx, %ecx",
    f"mov $6, %ecx; add {number(16)}, %rcx",
    "mov $16, %edx; xchg %rdx, %rcx",
    f"mov {number(7)}, %rdx; mov $3, %ecx; xchg %rdx, %rcx",
    "mov $4, %ecx; xchg %rcx, %rcx",
    "mov $4, %ecx; mov %rcx, (%rdi); push %rcx; pop %rdx; add %ecx, (%rdi)",
    "mov $4, %ecx; movd %ecx, %xmm0; movd %xmm0, %ecx",
    "mov $4, %eax; mov $2, %edx; mul %edx; mov %eax, %ecx",
    "mov $8, %eax; bsf %eax, %ecx",
    "mov $4, %ecx; mov $4, %edx; shld $1, %edx, %ecx",
    "mov $4, %esi; xor %eax, %eax; cpuid; mov %esi, %ecx",
    "mov $4, %ecx; cld; nopl (%rcx)",
    "mov $16, %ecx; jmp 1f; 1: nop",
    "mov $16, %ecx; test %eax, %eax; jnz 1f; nop; 1:",
    "mov $16, %ecx; call 2f; jmp 1f; 2: ret; 1: nop",
    "mov $16, %ecx; rep stosb; rep stosb; mov $4, %ecx",
]
FOLDED = [
    "imul $0, %ecx, %ecx",
    "mov $4, %eax; mov $2, %edx; mul %edx; mov %eax, %ecx",
    "mov $8, %eax; bsf %eax, %ecx",
]
"""Of these, Valgrind 3.27 knows that there are turns, and counts no jump before them; 3.19 does not."""
SCANS = ["or $-1, %rcx; mov $1, %eax; repne scasb", "or $-1, %ecx; mov $1, %al; repne scasb"]


def program(folder: Path, ways: Sequence[str] = WAYS) -> Path:
    """Each line is a function, called three times."""
    lines = ends()
    lines += [f"lea zeros(%rip), %rdi; xor %eax, %eax; {way}; rep stosb" for way in ways]
    lines += [f"lea differs(%rip), %rdi; xor %eax, %eax; {scan}" for scan in SCANS]
    text = [DATA]
    for n, line in enumerate(lines):
        text.append(f".type f{n}, @function\n.balign 16\nf{n}: {line}; nop; ret\n.size f{n}, . - f{n}\n")
    calls = "; ".join(f"call f{n}" for n in range(len(lines)))
    text.append(
        f".globl _start\n.type _start, @function\n_start: mov $3, %r15d\n3: {calls}; dec %r15d; jnz 3b\n"
    )
    text.append("mov $60, %eax; xor %edi, %edi; syscall\n.size _start, . - _start\n")
    (folder / "made.s").write_text("".join(text))
    built = folder / "made"
    subprocess.run(["gcc", "-nostdlib", "-static", "-o", built, folder / "made.s"], check=True)
    return built


@pytest.mark.skipif(VALGRIND is None, reason="no valgrind")
@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--separate-callers=1",),
        ("--branch-sim=yes",),
        ("--cache-sim=yes", "--I1=4096,2,64", "--D1=8192,4,64", "--LL=65536,8,64", "--branch-sim=yes"),
    ],
    ids=["in line", "recorded", "branches", "caches"],
)
def test_as_valgrind(tmp_path: Path, options: tuple[str, ...]) -> None:
    old = valgrind_version() == REFERENCE or "--branch-sim=yes" not in options
    ways = WAYS if old else [way for way in WAYS if way not in FOLDED]
    built = program(tmp_path, ways)
    ours, theirs = profile(tmp_path, built, *options).own, valgrind(tmp_path, built, *options).own
    assert len(ours) > len(ends()) + len(ways) + len(SCANS)
    main = {"(below main)": ()}  # Valgrind does not count the last block
    assert {**ours, **main} == {**theirs, **main}


@pytest.mark.skipif(VALGRIND is None, reason="no valgrind")
def test_jumps_as_valgrind(tmp_path: Path) -> None:
    """A repeated instruction jumps to itself behind each turn: two lines of Valgrind's, to be added."""

    def jumps(found: Sums) -> dict[str, tuple[int, int]]:
        sums: dict[str, tuple[int, int]] = {}
        for record in found.parts[0].records:
            if isinstance(record, callgrind.Jump) and record.addr == record.target_addr:
                executed, followed = sums.get(record.function.name, (0, 0))
                more = record.executed if record.followed is None else record.followed
                sums[record.function.name] = executed + record.executed, followed + more
        return sums

    built = program(tmp_path)
    options = ("--collect-jumps=yes", "--dump-instr=yes")
    ours, theirs = jumps(profile(tmp_path, built, *options)), jumps(valgrind(tmp_path, built, *options))
    assert len(ours) > len(ends())
    assert {name: followed for name, (_, followed) in ours.items()} == {
        name: followed for name, (_, followed) in theirs.items()
    }
    # A second block that was never followed is not in Valgrind's file.
    once = {name for name, (executed, followed) in theirs.items() if executed == followed == 3}
    assert {name: found for name, found in ours.items() if name not in once} == {
        name: found for name, found in theirs.items() if name not in once
    }
    assert len(once) < len(ours) / 3
