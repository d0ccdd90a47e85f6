"""Calls left by longjmp or an exception are not kept: neither their memory, nor a look at each in a trace."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

TURNS, LEVELS = 100_000, 8
THROWN = 300_000
ENTRY = 16  # struct ip_csent
SOURCE = """\
#include <setjmp.h>
#include <stdio.h>
static jmp_buf back;
__attribute__((noinline)) static void deep(int level) {
    volatile char frame[FRAME];
    frame[0] = (char)level;
    if (!level) longjmp(back, 1);
    deep(level - 1);
    frame[0]++;
}
int main(void) {
    for (volatile long i = 0; i < TURNS; i = i + 1)
        if (!setjmp(back)) deep(LEVELS);
    puts("done");
    fflush(stdout);
    return getchar() != EOF;
}
"""

# PLACED: the handler is what follows the call, as a compiler may place it.
THROWS = """\
#include <cstdio>
#ifdef PLACED
extern "C" void thrower() { throw 1; }
extern "C" void *__cxa_begin_catch(void *);
extern "C" void __cxa_end_catch();
extern "C" void caught(void *thrown) { __cxa_begin_catch(thrown), __cxa_end_catch(); }
extern "C" void many(long turns);
asm(R"(
many:
    .cfi_startproc
    .cfi_personality 0x3, __gxx_personality_v0
    .cfi_lsda 0x1b, .Llsda
    push %rbx
    .cfi_def_cfa_offset 16
    .cfi_offset %rbx, -16
    mov %rdi, %rbx
.Lbegin:
    call thrower
.Lend:
    mov %rax, %rdi
    call caught
    dec %rbx
    jnz .Lbegin
    pop %rbx
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .section .gcc_except_table, "a"
    .align 4
.Llsda:
    .byte 0xff, 0x9b
    .uleb128 .Ltypes - .Ltypes_from
.Ltypes_from:
    .byte 0x01
    .uleb128 .Lsites_end - .Lsites
.Lsites:
    .uleb128 .Lbegin - many, .Lend - .Lbegin, .Lend - many, 1
.Lsites_end:
    .byte 1, 0
    .align 4
    .long 0
.Ltypes:
    .text
)");
#else
static void many(long turns) {
    for (volatile long i = 0; i < turns; i = i + 1) try {
            throw 1;
        } catch (int) {
        }
}
#endif
int main() {
    many(TURNS);
    puts("done");
    fflush(stdout);
    return getchar() != EOF;
}
"""

POPS = """\
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    for (volatile long i = 0; i < TURNS; i = i + 1) {
        __asm__ volatile("sub $128, %%rsp; call 1f; 1: pop %%rax; add $128, %%rsp" ::: "rax", "cc");
        free(malloc(1));
    }
    puts("done");
    fflush(stdout);
    return getchar() != EOF;
}
"""


def resident(pid: int) -> int:
    """Bytes of anonymous memory that a process has in RAM."""
    found = re.search(r"^RssAnon:\s+(\d+) kB$", Path(f"/proc/{pid}/status").read_text(), re.M)
    assert found
    return int(found[1]) << 10


def growth(folder: Path, build: list[str], turns: int) -> int:
    """Bytes that so many turns cost above ten of them."""
    sizes = []
    for number in (10, turns):
        subprocess.run([*build, f"-DTURNS={number}", "-o", "left"], cwd=folder, check=True)
        command = [
            sys.executable,
            "-m",
            "interpose",
            "--tool=memcheck",
            "-q",
            "--freelist-vol=0",
            str(folder / "left"),
        ]
        with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as process:
            assert process.stdin and process.stdout
            assert process.stdout.readline() == "done\n"
            sizes.append(resident(process.pid))
        assert process.returncode == 0
    return sizes[1] - sizes[0]


@pytest.mark.parametrize("frame", [16, 2000])
def test_longjmp(tmp_path: Path, frame: int) -> None:
    (tmp_path / "left.c").write_text(SOURCE)
    build = ["gcc", "-O0", f"-DFRAME={frame}", f"-DLEVELS={LEVELS}", "left.c"]
    assert growth(tmp_path, build, TURNS) < TURNS * LEVELS * ENTRY // 4


@pytest.mark.parametrize("how", ["-O0", "-O2", "-DPLACED -no-pie"])
def test_exceptions(tmp_path: Path, how: str) -> None:
    """RSP comes back one word below what it was before the call, which the next call has, too."""
    (tmp_path / "left.cc").write_text(THROWS)
    assert growth(tmp_path, ["g++", *how.split(), "left.cc"], THROWN) < THROWN * ENTRY // 2


def test_calls_for_the_address_only(tmp_path: Path) -> None:
    """No return shows that they are over; an allocation's trace does."""
    (tmp_path / "left.c").write_text(POPS)
    assert growth(tmp_path, ["gcc", "left.c"], THROWN) < THROWN * ENTRY // 2
