"""A debugger under interpose, with a native program under it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from real.running import LONG, OURS, compare, need, run, under

WRITER = r"""
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int target = 1;
int main(void) {
    char name[40];
    pid_t child = fork();
    if (child == 0)
        for (;;) pause();
    snprintf(name, sizeof name, "/proc/%d/mem", child);
    int fd = open(name, O_RDWR), done = 0;
    for (int i = 0; i < 500; i++) done += pwrite(fd, &i, sizeof i, (off_t)&target) == sizeof i;
    int last = 0;
    pread(fd, &last, sizeof last, (off_t)&target);
    printf("%d %d %d\n", done, last, target);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}
"""
PROGRAM = r"""
#include <stdio.h>
struct point { int x, y; };
static int add(struct point p, int n) { return p.x + p.y * n; }
int main(void) {
    struct point p = {3, 4};
    int s = 0;
    for (int i = 0; i < 5; i++)
        s += add(p, i);
    printf("%d\n", s);
    return 7;
}
"""
COMMANDS = """
set confirm off
break add if n == 3
run
bt
info args
p p
finish
delete
next
python print(gdb.selected_frame().name(), [s.name for s in gdb.selected_frame().block()])
x/2i $pc
disassemble /s add
continue
p $_exitcode
"""


def test_writing_to_another_process_drops_no_code(tmp_path: Path) -> None:
    """A debugger does so at each stop: its own translations are none of that."""
    (tmp_path / "w.c").write_text(WRITER)
    subprocess.run(["gcc", "-O1", "-o", str(tmp_path / "w"), str(tmp_path / "w.c")], check=True)
    status, output, errors = run([*OURS, "--stats=yes", "./w"], tmp_path)
    assert (status, output) == (0, b"500 499 1\n"), errors
    dropped = [int(n.replace(",", "")) for n in re.findall(r"([\d,]+) dropped", errors.decode())]
    assert dropped and max(dropped) < 1000


@pytest.mark.parametrize("tool", ["none", "memcheck"])
def test_registers_in_gdb(tmp_path: Path, tool: str) -> None:
    """At its start gdb tries on forked children what ptrace and the CPU do, and says what it finds odd."""
    need("gdb", "gcc")
    (tmp_path / "p.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "-O0", "-o", str(tmp_path / "p"), str(tmp_path / "p.c")], check=True)
    commands = ["break main", "run", "bt", "info registers"]
    command = ["gdb", "-nx", "-batch", *(word for c in commands for word in ("-ex", c)), "./p"]
    native = run(command, tmp_path)
    assert b"rip" in native[1]
    ours = run([*under(tool, tmp_path / "log"), *command], tmp_path)
    assert ours == native


@pytest.mark.parametrize("tool", ["none", *(["memcheck"] if LONG else [])])
def test_gdb(tmp_path: Path, tool: str) -> None:
    need("gdb", "gcc")
    (tmp_path / "p.c").write_text(PROGRAM)
    (tmp_path / "commands").write_text(COMMANDS)
    subprocess.run(["gcc", "-g", "-O0", "-o", str(tmp_path / "p"), str(tmp_path / "p.c")], check=True)
    command = ["gdb", "-nx", "-batch", "-x", "commands", "./p"]
    compare(command, tmp_path, tool, lambda text: re.sub(rb"process \d+", b"process N", text))
