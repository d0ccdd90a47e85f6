"""--stop-after=N: N basic blocks, the rest on the real CPU, and the stages of the last block in the log."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from lockstep.running import ENVIRON, run

from interpose.jit.stages import emitted_code

PROGRAMS = {
    "true": ["true"],
    "ls": ["ls", "/usr/include"],
    "python": [
        sys.executable,
        "-S",
        "-c",
        "import json; d = [i * i for i in range(9000)]; print(sum(d), len(json.dumps(d)))",
    ],
}


def native(words: list[str]) -> tuple[int, str]:
    done = subprocess.run(words, capture_output=True, text=True, env=ENVIRON, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout


@pytest.mark.parametrize("blocks", [1, 2, 777, 20_000, 150_000])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_rest_runs_natively(name, blocks):
    words = PROGRAMS[name]
    done = run("interpose", "-q", "--tool=none", f"--stop-after={blocks}", *words)
    assert (done.returncode, done.stdout) == native(words), done.stderr
    assert done.stderr == ""


def test_memcheck_stops_too():
    words = PROGRAMS["ls"]
    done = run("interpose", "-q", "--tool=memcheck", "--stop-after=4000", *words)
    assert (done.returncode, done.stdout) == native(words), done.stderr


COUNTED = r"""
#include <sys/syscall.h>
static long call(long nr, long a, long b, long c) {
    long r;
    __asm__ volatile("syscall" : "=a"(r) : "0"(nr), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return r;
}
void _start(void) {
    call(SYS_getpid, 0, 0, 0);   /* each call ends a block */
    call(SYS_getppid, 0, 0, 0);
    call(SYS_write, 1, (long)"out\n", 4);
    call(SYS_exit_group, 7, 0, 0);
}
"""


def test_counts_blocks_exactly(compile_guest):
    """After n of its first blocks a program that makes one call a block goes on behind the n-th call."""
    program = compile_guest("counted", COUNTED, "-static", "-nostdlib", "-fno-stack-protector", "-no-pie")
    seen = []
    for n in (1, 2, 3):
        done = run("interpose", "--tool=none", f"--stop-after={n}", program)
        assert (done.returncode, done.stdout) == (7, "out\n")
        places = re.search(r"last one is at 0x([0-9A-F]+)[\s\S]*goes on at 0x([0-9A-F]+)", done.stderr)
        assert places, done.stderr
        seen.append((int(places[1], 16), int(places[2], 16)))
    # The block after the n-th is the last one of the next run.
    assert seen[0][1] == seen[1][0] and seen[1][1] == seen[2][0]
    code = open(program, "rb").read()
    for _, after in seen:
        offset = after - 0x401000 + 0x1000
        assert code[offset - 2 : offset] == b"\x0f\x05"


def test_says_nothing_when_the_program_ends_before():
    done = run("interpose", "--tool=none", "--stop-after=100000000", "true")
    assert done.returncode == 0
    assert "Stopped after" not in done.stderr


def test_prints_the_stages_of_the_last_block():
    done = run("interpose", "--tool=none", "--stop-after=50", "true")
    lines = [re.sub(r"^--\d+-- ?", "", line) for line in done.stderr.splitlines()]
    head = next(line for line in lines if line.startswith("Stopped after 50 basic blocks"))
    start = re.search(r"0x([0-9A-F]+)", head)[1].lower()
    titles = [line for line in lines if re.match(r"Stage \d: ", line)]
    assert [title.split(":")[0] for title in titles] == [f"Stage {n}" for n in range(1, 7)]
    first = lines[lines.index(titles[0]) + 1]
    assert first.strip().startswith(f"0x{start}:")
    emitted = " ".join(lines[lines.index(titles[5]) + 1 :]).split("The real CPU")[0]
    assert f"(0x{start}):" in emitted and emitted_code(emitted)


def test_the_heap_keeps_growing_by_brk(compile_guest):
    """The kernel knows nothing of the program's heap until the runtime hands it over."""
    program = compile_guest(
        "heap",
        r"""
        #include <stdio.h>
        #include <unistd.h>
        int main(void) {
            char *a = sbrk(100000), *b;
            for (volatile int i = 0; i < 3000; i++) getppid();
            b = sbrk(100000);
            b[99999] = 1;
            printf("%d\n", b == a + 100000);
            return 0;
        }
        """,
    )
    for blocks in (1, 3000, 8000):
        done = run("interpose", "-q", "--tool=none", f"--stop-after={blocks}", program)
        assert (done.returncode, done.stdout) == (0, "1\n"), (blocks, done.stderr)


def test_command_line_survives(compile_guest):
    program = compile_guest(
        "cmdline",
        r"""
        #include <stdio.h>
        #include <unistd.h>
        int main(void) {
            char text[4096];
            for (volatile int i = 0; i < 3000; i++) getppid();
            FILE *f = fopen("/proc/self/cmdline", "r");
            fwrite(text, 1, fread(text, 1, sizeof text, f), stdout);
            return 0;
        }
        """,
    )
    done = run("interpose", "-q", "--tool=none", "--stop-after=5000", program, "one", "", "two")
    assert done.stdout == f"{program}\0one\0\0two\0"
    assert os.path.exists(program)


@pytest.mark.parametrize("tool", ("callgrind", "memtrace"))
def test_registers_are_whole_where_runs_are_recorded(compile_guest, tool, tmp_path):
    """A run's record takes registers before the countdown; they were left in their slots.

    The dynamic linker's relocations are loops whose registers all matter.
    """
    program = compile_guest("said", '#include <stdio.h>\nint main(void) { puts("said"); return 0; }\n')
    files = {"callgrind": "--callgrind-out-file=/dev/null", "memtrace": f"--memtrace-dir={tmp_path}"}
    for blocks in range(4000, 9000, 130):
        words = (f"--tool={tool}", files[tool], f"--stop-after={blocks}")
        done = run("interpose", "-q", *words, program)
        assert (done.returncode, done.stdout) == (0, "said\n"), (blocks, done.stderr)
