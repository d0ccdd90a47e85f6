"""What is frequent in ordinary code takes no slow path, or none with a full exit."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

TURNS = 20000

TAIL_CALLS = """
__asm__("last: mov %rdi, %rax; ret;"
        "first: push %rbx; mov %rdi, %rbx; sub $24, %rsp; mov %rdi, 8(%rsp); mov 8(%rsp), %rdi;"
        "test %rdi, %rdi; js 1f; lea last(%rip), %rax; add $24, %rsp; pop %rbx; jmp *%rax;"
        "1: add $24, %rsp; pop %rbx; ret");
"""
STRINGS = """
__asm__("first: push %rdi; push %rdi; mov %rsp, %rsi; lea 8(%rsp), %rdi; movsq; lea -8(%rsi), %rsi; lodsb;"
        "lea -8(%rdi), %rdi; stosb; pop %rax; pop %rcx; ret");
"""
UNDEFINED_VECTORS = """
__asm__("first: sub $24, %rsp; movd (%rsp), %xmm6; pshufd $0xe0, %xmm6, %xmm0; punpckldq %xmm6, %xmm0;"
        "movq %xmm0, 8(%rsp); add $24, %rsp; mov %rdi, %rax; ret");
"""
MAIN = f"""
long first(long);
int main(void) {{
    long sum = 0, memory[4] = {{0}};
    for (long i = 0; i < {TURNS}; i++) sum += first(i) + memory[i & 3];
    return sum == 1;
}}
"""


def _slow_paths(tmp_path: Path, source: str) -> list[int]:
    """How many slow paths such a program takes, by kind; of the last kind are those without the full exit."""
    (tmp_path / "p.c").write_text(source + MAIN)
    subprocess.run(["gcc", "-O1", "-w", "p.c", "-o", "p"], cwd=tmp_path, check=True)
    command = [sys.executable, "-m", "interpose", "--tool=memcheck", "--stats=yes", "./p"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    assert "ERROR SUMMARY: 0 errors" in run.stderr, run.stderr
    counted = re.search(r"slow paths: (.*)", run.stderr)
    assert counted, run.stderr
    return [int(n.replace(",", "")) for n in re.findall(r"[\d,]*\d", counted[1])]


def test_epilogues_that_end_in_a_jump(tmp_path: Path) -> None:
    assert sum(_slow_paths(tmp_path, TAIL_CALLS)) < TURNS / 4


def test_string_instructions(tmp_path: Path) -> None:
    assert sum(_slow_paths(tmp_path, STRINGS)) < TURNS / 4


def test_undefined_vectors(tmp_path: Path) -> None:
    """They are settled in assembly, which counts nothing."""
    assert sum(_slow_paths(tmp_path, UNDEFINED_VECTORS)) < TURNS / 4
