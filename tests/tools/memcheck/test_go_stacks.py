"""A thread whose stack Go has taken out of its heap: what lies below in the mapping is no part of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tools.memcheck.guests import TIMEOUT

# Since Go 1.26 the heap begins anywhere in its mapping, so a stack may lie at the mapping's top as well.
SOURCE = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

__asm__(".section .gopclntab, \"a\"\n.long 0xfffffff1\n.byte 0, 0, 1, 8\n"
        ".quad 1, 0, 0, 0, 0, 0, 0, 72\n.long 0, 0, 0x1000\n.text\n");

#define SIZE (4 << 20)
static int gone;

int main(void) {
    char *heap = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t *kept = (uint64_t *)(heap + SIZE / 2), *top = (uint64_t *)(heap + SIZE - (64 << 10));
    memset(heap + SIZE / 2, 0, SIZE / 4);
    kept[7] = 7;
    long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, id;
    __asm__ volatile("xor %%edx, %%edx\nxor %%r10d, %%r10d\nxor %%r8d, %%r8d\nsyscall\n"
                     "test %%rax, %%rax\njnz 1f\n"
                     "movl $1, gone(%%rip)\nmov $60, %%eax\nxor %%edi, %%edi\nsyscall\n1:"
                     : "=a"(id) : "0"((long)SYS_clone), "D"(flags), "S"(top)
                     : "rcx", "r11", "rdx", "r8", "r10", "memory");
    while (!__atomic_load_n(&gone, __ATOMIC_ACQUIRE)) sched_yield();
    return id < 0 ? 1 : kept[7] == 7 ? 42 : 2;
}
"""


@pytest.mark.parametrize("cache", ["no", "yes"])
def test_heap_below_stays(cache: str, tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O1", "p.c", "-o", "p"], check=True, cwd=tmp_path, timeout=TIMEOUT)
    for _ in range(2):
        command = [sys.executable, "-m", "interpose", "-q", f"--cache={cache}", "./p"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT)
        assert (done.returncode, done.stderr) == (42, "")
