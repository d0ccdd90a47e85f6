"""The instructions of test_vbits_sweep.py, and the assembly that runs each with a state of its own.

The state, in and out: rax rcx rdx rbx at 0; ymm0 to ymm3 at 32; 64 bytes that [rdi] names at 160; mm1 and mm2
at 224; flags at 240, and after the instruction the eight conditions in a byte each at 248. x87 instructions
have the doubles at 32, 64 and 96 as st(0) to st(2), and leave three numbers there and the status word at 224.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

CORPUS = Path(__file__).resolve().parents[2] / "shadow"

_SHAPES = (
    "xmm1, xmm2|xmm1, xmm1|xmm1, xmm2, 5|xmm1, xmm2, 1|xmm1, xmm2, 2|xmm1, xmm2, 27|"
    "xmm1, xmm2, xmm3|xmm1, xmm2, xmm2|xmm1, xmm2, xmm3, 5|xmm1, xmm2, xmm3, 2|xmm1, xmm2, xmm3, 78|"
    "xmm1, xmm2, xmm3, xmm0|ymm1, ymm2|ymm1, ymm2, 1|ymm1, ymm2, 147|ymm1, ymm2, ymm3|"
    "ymm1, ymm2, ymm3, 2|ymm1, ymm2, ymm3, 177|ymm1, ymm2, ymm3, ymm0|mm1, mm2|mm1, mm1|mm1, mm2, 5|"
    "mm1, ebx|mm1, rbx|ebx, mm2|rbx, mm2|mm1, ebx, 2|ebx, mm2, 1|xmm1, mm2|mm1, xmm2|ebx, xmm2|"
    "rbx, xmm2|ebx, ymm2|ebx, xmm2, 3|rbx, xmm2, 1|xmm1, ebx|xmm1, rbx|xmm1, ebx, 3|xmm1, rbx, 1|"
    "xmm1, xmm2, ebx|xmm1, xmm2, rbx|xmm1, xmm2, ebx, 3|xmm1, xmm2, rbx, 1|xmm1, 3|xmm1, 17|"
    "xmm1, xmm2, 3|ymm1, ymm2, 3|ymm1, ymm2, xmm3|mm1, 3|ymm1, xmm2|xmm1, ymm2|ymm1, ymm2, xmm3, 1|"
    "xmm1, ymm2, 1|xmm1, [rdi]|xmm1, [rdi], 5|xmm1, xmm2, [rdi]|xmm1, xmm2, [rdi], 5|ymm1, [rdi]|"
    "ymm1, ymm2, [rdi]|ymm1, ymm2, [rdi], 1|[rdi], xmm1|[rdi], ymm1|[rdi], xmm1, 1|[rdi], ymm1, 1|"
    "[rdi], xmm2, xmm1|[rdi], ymm2, ymm1|mm1, [rdi]|[rdi], mm1"
).split("|")

_CONDITIONS = ("o", "b", "z", "be", "s", "p", "l", "le")

_NOT_HERE = re.compile(
    r"(push|pop |movs[bwdq]?$|cmps|lods|stos|scas|lahf|sahf|cmpxchg|fninit|fincstp|fdecstp|ffree).*"
    r"|.*\b(rsp|rsi|r8d?|r10|rbp)\b.*|.*\[rdi\].*\{.*"
)
"""Instructions of the oracle's corpus that need other registers, or more than a state."""


def _assembled(lines: list[str], folder: Path) -> tuple[set[int], dict[int, str]]:
    """The numbers of the lines that are no instruction, and the codes of the others."""
    source = folder / "try.s"
    source.write_text(".intel_syntax noprefix\n" + "".join(f"{line}\n" for line in lines))
    done = subprocess.run(
        ["as", "-aln", str(source), "-o", "/dev/null"], capture_output=True, text=True, check=False
    )
    wrong = {int(n) - 2 for n in re.findall(r"try\.s:(\d+): Error", done.stderr)}
    code: dict[int, str] = {}
    for m in re.finditer(r"(?m)^ +(\d+) +(?:[0-9a-f]{4} )?([0-9A-F]+)(?=\s)", done.stdout):
        code[int(m[1]) - 2] = code.get(int(m[1]) - 2, "") + m[2]
    return wrong, code


def all_cases(mnemonics: list[str], folder: Path) -> list[str]:
    """Every mnemonic in every shape that the assembler takes, and the scalar ones; one of each encoding."""
    lines = [f"{mnemonic} {shape}" for mnemonic in mnemonics for shape in _SHAPES]
    for name in ("integer", "x87"):
        corpus = (CORPUS / f"oracle_{name}.txt").read_text().splitlines()
        lines += [line for line in corpus if not _NOT_HERE.fullmatch(line)]
    wrong, _ = _assembled(lines, folder)
    lines = [line for i, line in enumerate(lines) if i not in wrong]
    wrong, code = _assembled(lines, folder)
    assert not wrong
    once = {code[i]: line for i, line in reversed(list(enumerate(lines))) if not code[i].startswith("62")}
    return sorted(once.values())


def program(lines: list[str]) -> str:
    """The functions of the cases and their table, in assembly."""
    text = [".intel_syntax noprefix", ".text"]
    for i, line in enumerate(lines):
        is_mmx, is_x87 = (
            bool(re.search(r"\bmm\d", line)),
            line.startswith("f") and not line.startswith("femms"),
        )
        text += [f"case_{i}:", "push rbx", "push rbp", "push r12", "push r13", "mov r12, rdi", "mov r13, rsi"]
        if is_x87:
            text += ["fninit", *(f"fld qword ptr [r12+{at}]" for at in (96, 64, 32))]
        else:
            text += [f"vmovdqu ymm{k}, [r12+{32 + 32 * k}]" for k in range(4)]
        if is_mmx:
            text += ["movq mm1, [r12+224]", "movq mm2, [r12+232]"]
        text += ["push qword ptr [r12+240]", "popfq", "lea rdi, [r12+160]", "mov r9d, 1"]
        text += [f"mov {r}, [r12+{8 * k}]" for k, r in enumerate(("rax", "rcx", "rdx", "rbx"))]
        text += [line]
        text += [f"mov [r13+{8 * k}], {r}" for k, r in enumerate(("rax", "rcx", "rdx", "rbx"))]
        text += [f"set{c} byte ptr [r13+{248 + k}]" for k, c in enumerate(_CONDITIONS)]
        if is_x87:
            text += [
                "fnstsw word ptr [r13+224]",
                *(f"fstp qword ptr [r13+{at}]" for at in (32, 64, 96)),
                "fninit",
            ]
        else:
            text += [f"vmovdqu [r13+{32 + 32 * k}], ymm{k}" for k in range(4)]
        if is_mmx:
            text += ["movq [r13+224], mm1", "emms"]
        text += ["vzeroupper", "pop r13", "pop r12", "pop rbp", "pop rbx", "ret"]
    text += [
        '.section .data.rel.ro, "aw"',
        ".globl cases, n_cases",
        "cases:",
        *(f".quad case_{i}" for i in range(len(lines))),
    ]
    return "\n".join([*text, f"n_cases: .long {len(lines)}", '.section .note.GNU-stack, "", @progbits', ""])
