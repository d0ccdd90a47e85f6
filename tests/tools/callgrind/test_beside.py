"""Static programs made at random cost what they cost under Valgrind: each function, each call."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from .profiles import VALGRIND, profile, valgrind

FUNCTIONS = 40
FLAGS = (
    "-nostdlib", "-static", "-fno-builtin", "-fno-stack-protector", "-mno-red-zone",
    "-fno-reorder-blocks-and-partition",
)  # fmt: skip
HEAD = """
typedef unsigned (*function)(unsigned, unsigned);
#define F __attribute__((noinline, noipa)) unsigned
#define COLD __attribute__((noinline)) unsigned
static void *back[5];
__attribute__((aligned(4096))) volatile unsigned some = 1;
static unsigned handled, budget;
static volatile unsigned way;
COLD rare(unsigned x) { return x * 31 + (way ? 1 : 2); }
__attribute__((noinline)) long call(long n, long a, long b, long c, long d) {
  long r; register long r10 __asm__("r10") = d;
  __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
  return r; }
__attribute__((naked)) void restorer(void) { __asm__("mov $15, %eax\\n syscall"); }
__attribute__((noinline)) void *memset(void *p, int c, unsigned long n) {
  char *q = p;
  for (unsigned long i = 0; i < n; i++) q[i] = (char)c;
  return p; }
__attribute__((noinline)) void leap(void) { __builtin_longjmp(back, 1); }
__attribute__((noinline)) void deep(unsigned n) {
  volatile char big[200]; big[n % 200] = 1; if (n) deep(n - 1); else leap(); big[1] = 2; }
"""
MAIN = """
struct { void (*h)(int); unsigned long flags; void (*r)(void); unsigned long mask; } act;
__attribute__((noinline)) static void on_signal(int sig) { handled += table[sig % N](0, handled); }
__attribute__((noinline)) unsigned turn(unsigned i) {
    if (__builtin_setjmp(back) == 0) return table[i % N](3, i);
    return 1;
}
__attribute__((noinline)) void work(void)
{
    act.h = on_signal; act.flags = 0x04000000; act.r = restorer;
    call(13, 10, (long)&act, 0, 8);
    unsigned sum = 0;
    long pid = call(39, 0, 0, 0, 0);
    for (unsigned i = 0; i < 60; i++) {
        budget = 400;
        sum += turn(i);
        if (SIGNALS && i % 7 == 0) call(62, pid, 10, 0, 0);
        way = i % 5 == 0;
    }
}
__attribute__((noinline)) void leave(void) { for (;;) __asm__ volatile("syscall" : : "a"(231), "D"(0)); }
__attribute__((noinline)) void both(void) { work(); leave(); }
__asm__(".globl _start\\n.type _start,@function\\n"
        "_start: and $-64,%rsp\\n call both\\n hlt\\n.size _start,.-_start");
"""


def write(seed: int, *, leaps: bool, signals: bool) -> str:
    """Functions that call each other directly, by pointers and at their ends, leap, and call the kernel."""
    rng = random.Random(seed)
    lines = [f"#define SIGNALS {int(signals)}\n", HEAD]
    lines += [f"F f{n}(unsigned d, unsigned x);\n" for n in range(FUNCTIONS)]
    table = ", ".join(f"f{n}" for n in range(FUNCTIONS))
    lines.append(f"#define N {FUNCTIONS}\nstatic function table[] = {{{table}}};\n")

    def other() -> int:
        return rng.randrange(FUNCTIONS)

    for n in range(FUNCTIONS):
        lines.append(f"F f{n}(unsigned d, unsigned x)\n{{\n")
        lines.append(f"    unsigned s = x + {n};\n    if (d == 0 || budget == 0) return s;\n    budget--;\n")
        for _ in range(rng.randrange(1, 4)):
            choices = [
                f"s += f{other()}(d - 1, s);",
                f"for (unsigned i = 0; i < {rng.randrange(1, 9)}; i++) s += f{other()}(d - 1, i);",
                "s ^= table[s % N](d - 1, s);",
                f"s += f{n}(d - 1, s >> 1);",
                "{ char b[40]; memset(b, (int)s, sizeof b); s += b[s % 40]; }",
                "{ char b[40] = {0}; void *p = b; long n = s % 40; "
                '__asm__ volatile("rep stosb" : "+D"(p), "+c"(n) : "a"(1) : "memory"); s += b[0]; }',
                "if (s % 11 == 3) s += rare(s);",
                f"switch (s % 6) {{ case 0: s++; break; case 1: s += f{other()}(d - 1, 1); break; "
                "case 2: s ^= 5; break; case 3: s *= 3; break; case 4: s -= 7; break; default: s = ~s; }",
                f"for (unsigned i = 0; i < 20 && s % {rng.randrange(3, 9)}; i++) s += 1 + (s & way);",
                "s += (unsigned)call(39, 0, 0, 0, 0) == 0;",
                '__asm__ volatile("call 1f; jmp 2f; 1: ret; 2:" ::: "memory");',
                '__asm__ volatile("lock xadd %%eax, %0" : "+m"(some) :: "eax", "cc");',
            ]
            if leaps:
                choices += [
                    f"if (s % 61 == {rng.randrange(61)}) leap();",
                    f"if (s % 61 == {rng.randrange(61)}) deep({rng.randrange(6)});",
                ]
            lines.append(f"    {rng.choice(choices)}\n")
        # Not itself: that is where Valgrind sees a call, and we see a loop.
        later = (n + rng.randrange(1, FUNCTIONS)) % FUNCTIONS
        ends = [f"f{later}(d - 1, s)", f"table[(s % 7 + {n} + 1) % N](d - 1, s)", "s", "s * 7", "rare(s)"]
        lines.append(f"    return {rng.choice(ends)};\n}}\n")
    return "".join([*lines, MAIN])


CASES = [
    ("-O0", (), False, False),
    ("-O1", (), True, False),
    ("-O1", (), False, True),
    ("-O2", (), False, False),
    ("-O2", ("--collect-jumps=yes", "--dump-instr=yes"), False, False),
    ("-Os", (), True, False),
    ("-O1", ("--branch-sim=yes",), False, False),
    ("-O1", ("--separate-recs=4",), False, False),
    ("-O1", ("--skip-direct-rec=yes",), False, False),
    ("-O1", ("--fn-skip=f1*",), False, False),
]


@pytest.mark.skipif(VALGRIND is None, reason="no valgrind")
@pytest.mark.parametrize("number", range(len(CASES)))
def test_as_valgrind(tmp_path: Path, number: int) -> None:
    level, options, leaps, signals = CASES[number]
    source, program = tmp_path / "made.c", tmp_path / "made"
    source.write_text(write(100 + number, leaps=leaps, signals=signals))
    subprocess.run(["gcc", "-w", "-g", level, *FLAGS, "-o", program, source], check=True)
    ours, theirs = profile(tmp_path, program, *options), valgrind(tmp_path, program, *options)

    # The last block of the process, and what a handler returns through, are counted by us alone.
    def kept(table: dict) -> dict:
        return {key: row for key, row in table.items() if not {"leave", "restorer", "both"} & names(key)}

    assert kept(ours.own) == kept(theirs.own)
    assert kept(ours.calls) == kept(theirs.calls)


def names(key: str | tuple[str, str]) -> set[str]:
    return {key} if isinstance(key, str) else set(key)
