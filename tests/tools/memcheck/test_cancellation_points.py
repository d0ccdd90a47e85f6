"""Frames that the C library (glibc 2.41 and later) has in each system call that is a cancellation point."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tools.memcheck.guests import TIMEOUT

# As there: every such function calls one function, which calls another one that has the instruction.
SOURCE = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((noinline)) long __internal_syscall_cancel(long number, long a, long b, long c) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "0"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}
__attribute__((noinline)) long __syscall_cancel(long number, long a, long b, long c) {
    long result = __internal_syscall_cancel(number, a, b, c);
    return result < 0 ? -1 : result;
}
__attribute__((noinline)) long put(int fd, const void *from, size_t size) {
    long result = __syscall_cancel(SYS_write, fd, (long)from, size);
    return result + 1;
}
#define PASSES_ON(name, to) \
    __attribute__((noinline)) void name(int fd, char *p) { to(fd, p); __asm__ volatile(""); }
__attribute__((noinline)) void one(int fd, char *p) { put(fd, p, 8); __asm__ volatile(""); }
PASSES_ON(two, one)
PASSES_ON(three, two)
PASSES_ON(other, two)
PASSES_ON(four, three)
PASSES_ON(five, three)

int main(void) {
    int null = open("/dev/null", O_WRONLY);
    char *block = malloc(8), local[8];
    four(null, block);
    five(null, block); /* the same in the four frames that are compared */
    other(null, block);
    put(null, local, 8);
    close(null);
    put(null, "", 1);
    free(block);
    return 0;
}
"""


def _report(program: Path, *options: str) -> str:
    command = [sys.executable, "-m", "interpose", "-q", "--track-origins=no", *options, str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=TIMEOUT)
    return re.sub(r"^==\d+== ?", "", done.stderr, flags=re.M)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("cancellation") / "p"
    made.with_suffix(".c").write_text(SOURCE)
    build = ["gcc", "-g", "-O1", "-w", "-fno-optimize-sibling-calls", "-fno-ipa-icf", "p.c", "-o", "p"]
    subprocess.run(build, check=True, cwd=made.parent, timeout=TIMEOUT)
    return made


def test_errors_begin_with_the_function_that_was_called(program: Path) -> None:
    report = _report(program, "--track-fds=bad")
    stacks = [re.findall(r" (?:at|by) 0x\w+: (\w+)", part) for part in report.split("\n\n")]
    assert [stack[: stack.index("main") + 1] for stack in stacks if stack] == [
        ["put", "one", "two", "three", "four", "main"],
        ["put", "one", "two", "other", "main"],
        ["put", "main"],
        ["put", "main"],
    ]
    assert "in frame #1, created by main" in report


def test_suppressions_with_these_frames(program: Path, tmp_path: Path) -> None:
    """Valgrind 3.24 has them with a C library that has, as on Debian 13."""
    (tmp_path / "newer.supp").write_text(
        "{\n newer\n Memcheck:Param\n write(buf)\n fun:__internal_syscall_cancel\n fun:__syscall_cancel\n"
        " fun:put\n fun:one\n ...\n}\n"
    )
    left = _report(program, f"--suppressions={tmp_path}/newer.supp")
    assert left.count("Syscall param write(buf)") == 1


def test_suppressions_begin_there(program: Path, tmp_path: Path) -> None:
    """Those that were written before the C library had these frames match, and new ones have none of them."""
    written = _report(program, "--gen-suppressions=all")
    assert (
        "syscall_cancel" not in written and written.count("Memcheck:Param\n   write(buf)\n   fun:put\n") == 3
    )
    (tmp_path / "old.supp").write_text(
        "{\n old\n Memcheck:Param\n write(buf)\n fun:put\n fun:one\n fun:two\n ...\n}\n"
    )
    left = _report(program, f"--suppressions={tmp_path}/old.supp")
    assert left.count("Syscall param write(buf)") == 1


def test_local_variables_count_from_there(program: Path) -> None:
    assert "in frame #1 of thread 1" in _report(program, "--read-var-info=yes")


def test_a_signal_finds_all(tmp_path: Path) -> None:
    """Further out they are frames as others; where the program dies in one, too, as with Valgrind 3.27."""
    source = SOURCE.partition("int main")[0] + (
        "#include <signal.h>\n"
        "static char *past;\nstatic void met(int number) { (void)number; past[8] = 1; }\n"
        "int main(void) {\n    past = malloc(8);\n    signal(SIGUSR1, met);\n"
        "    __syscall_cancel(SYS_kill, getpid(), SIGUSR1, 0);\n"
        "    __syscall_cancel(SYS_kill, getpid(), SIGTERM, 0);\n    return 0;\n}\n"
    )
    (tmp_path / "p.c").write_text(source)
    build = ["gcc", "-g", "-O1", "-w", "-fno-optimize-sibling-calls", "-fno-ipa-icf", "p.c", "-o", "p"]
    subprocess.run(build, check=True, cwd=tmp_path, timeout=TIMEOUT)
    command = [sys.executable, "-m", "interpose", "--track-origins=no", "./p"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT)
    error, death = done.stderr.split("Process terminating")
    for part in (error, death):
        assert re.search(r"0x\w+: __internal_syscall_cancel.*\n.*0x\w+: __syscall_cancel", part)
