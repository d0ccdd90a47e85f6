"""Programs made at random cost the same counted in line and recorded: each function's cost, each call."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from interpose.formats import callgrind

from .profiles import add_up, build, run

FUNCTIONS = 40
FORMS = {
    "lazy": ("-O2", "-Wl,-z,lazy"),
    "now": ("-O1", "-Wl,-z,now"),
    "stripped": ("-O2", "-s"),
    "static": ("-O2", "-static", "-s"),
    "library": ("-O2", "-fPIC", "-shared", "-Dmain=begin"),  # each calls, and jumps, by a linkage table
    "mixed": ("-O2", "-fPIC", "-shared", "-Dmain=begin", "-s", "-DHIDE"),  # half of them have no name
}
BEGIN = "int begin(void); int main(void) { return begin(); }\n"
HEAD = """
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
typedef unsigned (*function)(unsigned, unsigned);
#define F __attribute__((noinline, noipa)) unsigned
#ifdef HIDE
#define H __attribute__((visibility("hidden"))) F
#else
#define H F
#endif
#define COLD __attribute__((noinline, cold)) unsigned
static jmp_buf back;
static unsigned handled, budget;
static volatile unsigned way;
COLD rare(unsigned x) { return x * 31 + (way ? 1 : 2); }
"""
MAIN = """
static void on_signal(int sig) { handled += table[sig % N](0, handled); }
int main(void)
{
    signal(SIGUSR1, on_signal);
    unsigned sum = 0;
    for (unsigned i = 0; i < 60; i++) {
        budget = 400;
        if (setjmp(back) == 0) sum += table[i % N](3, i);
        if (i % 7 == 0) raise(SIGUSR1);
        way = i % 5 == 0;
    }
    printf("%u %u\\n", sum, handled);
    return 0;
}
"""


def write(seed: int) -> str:
    """Functions that call each other directly, by pointers, in libraries, at their ends, and leap out."""
    rng = random.Random(seed)
    lines = [HEAD, "".join(f"{'FH'[n % 2]} f{n}(unsigned d, unsigned x);\n" for n in range(FUNCTIONS))]
    table = ", ".join(f"f{n}" for n in range(FUNCTIONS))
    lines.append(f"#define N {FUNCTIONS}\nstatic function table[] = {{{table}}};\n")

    def other() -> int:
        return rng.randrange(FUNCTIONS)

    for n in range(FUNCTIONS):
        lines.append(f"{'FH'[n % 2]} f{n}(unsigned d, unsigned x)\n{{\n")
        lines.append(f"    unsigned s = x + {n};\n    if (d == 0 || budget == 0) return s;\n    budget--;\n")
        for _ in range(rng.randrange(1, 4)):
            what = rng.choice(
                [
                    f"s += f{other()}(d - 1, s);",
                    f"for (unsigned i = 0; i < {rng.randrange(1, 9)}; i++) s += f{other()}(d - 1, i);",
                    "s ^= table[s % N](d - 1, s);",
                    f"s += f{n}(d - 1, s >> 1);",
                    "{ char b[40]; memset(b, (int)s, sizeof b); s += (unsigned)strlen(strcpy(b, \"x\")); }",
                    "s += (unsigned)labs((long)s % 100);",
                    "if (s % 11 == 3) s += rare(s);",
                    f"if (s % 61 == {rng.randrange(61)}) longjmp(back, 1);",
                    f"switch (s % 6) {{ case 0: s++; break; case 1: s += f{other()}(d - 1, 1); break; "
                    "case 2: s ^= 5; break; case 3: s *= 3; break; case 4: s -= 7; break; default: s = ~s; }",
                    f"for (unsigned i = 0; i < 20 && s % {rng.randrange(3, 9)}; i++) s += 1 + (s & way);",
                ]
            )  # fmt: skip
            lines.append(f"    {what}\n")
        ends = [f"f{other()}(d - 1, s)", f"f{n}(d - 1, s)", "table[s % N](d - 1, s)", "s", "s * 7", "rare(s)"]
        lines.append(f"    return {rng.choice(ends)};\n}}\n")
    return "".join([*lines, MAIN])


def rows(path: Path) -> tuple[dict, dict]:
    parts = callgrind.read(path).parts
    sums = add_up(parts)
    return sums.own, sums.calls


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", [*range(5), 209])
def test_in_line_as_recorded(tmp_path: Path, seed: int, form: str) -> None:
    source, program = tmp_path / "made.c", tmp_path / "made"
    source.write_text(write(seed))
    if form in ("library", "mixed"):
        subprocess.run(
            ["gcc", "-w", *FORMS[form], "-o", str(tmp_path / "libmade.so"), str(source)], check=True
        )
        source.write_text(BEGIN)
        options: tuple[str, ...] = (f"-L{tmp_path}", "-lmade", f"-Wl,-rpath,{tmp_path}")
    else:
        options = FORMS[form]
    subprocess.run(["gcc", "-w", "-o", str(program), str(source), *options], check=True)
    wanted = subprocess.run([str(program)], capture_output=True, text=True, check=True, timeout=30).stdout
    for name, recorded in ("line", ()), ("recorded", ("--collect-jumps=yes",)):
        done = run(tmp_path, program, *recorded, name=name)
        assert (done.returncode, done.stdout) == (0, wanted), done.stderr
    line, whole = rows(tmp_path / "line"), rows(tmp_path / "recorded")
    assert line[0] == whole[0]
    assert line[1] == whole[1]


@pytest.mark.parametrize("guest", ["flags.S", "back.S"])
def test_calls_and_returns_by_hand(tmp_path: Path, guest: str) -> None:
    program = build(tmp_path, guest)
    for name, recorded in ("line", ()), ("recorded", ("--collect-jumps=yes",)):
        assert run(tmp_path, program, *recorded, name=name).returncode == 0
    assert rows(tmp_path / "line") == rows(tmp_path / "recorded")
