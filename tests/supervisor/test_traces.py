"""What is told as it happens: system calls, signals, the heap's calls, threads, illegal instructions,
progress, symbols that are read, the stages of blocks, requests of the runtime."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = r"""
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
static void *thread(void *p) { return p; }
static void nothing(int sig) {}
static void over(int sig) { _exit(3); }
int main(int argc, char **argv) {
    if (argv[1][0] == 'm') {
        char *p = malloc(10);
        p = realloc(p, 20);
        free(p);
        free(calloc(3, 4));
        free(memalign(64, 100));
        void *none = NULL;
        int refused = posix_memalign(&none, 3, 5);
        mallinfo();
        mallinfo2();
        malloc_usable_size(NULL);
    }
    if (argv[1][0] == 's') {
        access("/nowhere/at all", 4);
        write(-1, argv, 2);
        close(dup(1));
    }
    if (argv[1][0] == 't') {
        pthread_t id;
        pthread_create(&id, NULL, thread, NULL);
        pthread_join(id, NULL);
    }
    if (argv[1][0] == 'i') {
        signal(SIGILL, over);
        __asm__ volatile("ud2");
    }
    if (argv[1][0] == 'g') {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        sigprocmask(SIG_BLOCK, &set, NULL);
        signal(SIGUSR1, nothing);
        kill(getpid(), SIGUSR1);
        sigprocmask(SIG_UNBLOCK, &set, NULL);
        raise(SIGCHLD);
        raise(SIGTERM);
    }
    if (argv[1][0] == 'p') { /* two seconds of CPU time, and a little */
        struct rusage used;
        do getrusage(RUSAGE_SELF, &used);
        while (used.ru_utime.tv_sec * 10 + used.ru_utime.tv_usec / 100000 + used.ru_stime.tv_sec * 10 < 25);
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traces")
    (folder / "prog.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O0", "-w", "-pthread", "-o", "prog", "prog.c"], check=True, cwd=folder)
    return folder / "prog"


def log(program: Path, mode: str, *options: str, status: int = 0) -> list[str]:
    """The lines of the log, without process numbers."""
    command = [sys.executable, "-m", "interpose", *options, str(program), mode]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == status
    text = re.sub(r"^(==|--)\d+(==|--) ?", r"\1 ", done.stderr, flags=re.MULTILINE)
    return re.sub(r"SYSCALL\[\d+,", "SYSCALL[PID,", text).splitlines()


def test_the_heaps_calls(program: Path) -> None:
    text = "\n".join(log(program, "m", "-q", "--trace-malloc=yes"))
    assert re.match(
        r"-- malloc\(10\) = 0x([0-9A-F]+)\n-- realloc\(0x\1,20\) = 0x([0-9A-F]+)\n-- free\(0x\2\)\n"
        r"-- calloc\(3,4\) = 0x([0-9A-F]+)\n-- free\(0x\3\)\n"
        r"-- memalign\(al 64, size 100\) = 0x([0-9A-F]+)\n-- free\(0x\4\)\n"
        r"== Invalid alignment value: 3 .*\n(?:==.*\n)+"
        r"-- mallinfo\(\)\n-- mallinfo2\(\)\n"
        r"-- malloc_usable_size\(0x0\) = 0\n?",
        text,
    ), text


@pytest.mark.parametrize("tool", ["memcheck", "none"])
def test_system_calls(tool: str, program: Path) -> None:
    lines = log(program, "s", "-q", f"--tool={tool}", "--trace-syscalls=yes")
    at = next(i for i, line in enumerate(lines) if "/nowhere" in line)
    assert re.fullmatch(
        r"SYSCALL\[PID,1\]\(21\) sys_access \( 0x[0-9a-f]+\(/nowhere/at all\), 4 \) --> \.\.\.", lines[at]
    )
    assert lines[at + 1] == "SYSCALL[PID,1](21) ... --> Failure(0x2)"
    assert re.search(r"sys_write \( -1, 0x[0-9a-f]+, 2 \)", "\n".join(lines))
    assert "SYSCALL[PID,1](1) ... --> Failure(0x9)" in lines
    assert lines[-1].startswith("SYSCALL[PID,1](231) sys_exit_group ( 0 )")


def test_threads(program: Path) -> None:
    told = [line for line in log(program, "t", "-q", "--trace-sched=yes") if "SCHED" in line]
    assert [re.sub(r"\d+\)", "N)", line) for line in told] == [
        "--   SCHED[2]: starts (task N)",
        "--   SCHED[2]: ends (task N)",
    ]


def test_an_illegal_instruction_that_is_handled(program: Path) -> None:
    lines = log(program, "i", status=3)
    at = next(i for i, line in enumerate(lines) if "Unrecognised instruction at address 0x" in line)
    assert re.fullmatch(r"==    at 0x[0-9A-F]+: main \(prog.c:\d+\)", lines[at + 1])
    assert lines[at + 2].startswith("== Your program just tried to execute an instruction that interpose")


@pytest.mark.parametrize("option", ["-q", "--sigill-diagnostics=no"])
def test_without_diagnostics(option: str, program: Path) -> None:
    assert not any("Unrecognised" in line for line in log(program, "i", option, status=3))


def test_progress(program: Path) -> None:
    """One line for each second, as far as the supervisor gets to look."""
    lines = [line for line in log(program, "p", "--tool=none", "--progress-interval=1") if "PROGRESS" in line]
    assert 1 <= len(lines) <= 4
    for line in lines:
        assert re.fullmatch(
            r"-- PROGRESS: U \d+s, W \d+s, \d+\.\d% CPU, EvC \d+\.\d\dM, TIn \d+\.\dk, TOut \d+\.\dk, #thr 1",
            line,
        ), line
    assert not any("PROGRESS" in line for line in log(program, "m", "--progress-interval=1"))


def test_signals(program: Path) -> None:
    told = [
        line for line in log(program, "g", "-q", "--trace-signals=yes", status=-15) if line.startswith("-- ")
    ]
    lines = re.sub(r"0x[0-9a-f]+|\(\d+\)", "N", re.sub(r"to \d{2,}", "to PID", "\n".join(told))).split("\n")
    assert lines == [
        "-- do_setmask: tid = 1 how = 0 (SIG_BLOCK), newset = N N",
        "-- sys_sigaction: sigNo 10, new N, old N, new flags N",
        "-- kill: signal 10 to PID: 0",
        "-- do_setmask: tid = 1 how = 1 (SIG_UNBLOCK), newset = N N",
        "-- delivering signal 10 (SIGUSR1):0 to thread 1",
        "-- push_signal_frame (thread 1): signal 10",
        "-- signal_return (thread 1): RIP=N",
        "-- tgkill: signal 17 to PID: 0",
        "-- tgkill: signal 15 to PID: 0",
        "-- delivering signal 15 (SIGTERM):-6 to thread 1",
        "-- delivering 15 (code -6) to default handler; action: terminate",
    ]


def test_symbols(program: Path) -> None:
    lines = log(program, "x", "-q", "--trace-symtab=yes", f"--trace-symtab-patt={program}")
    assert lines[0] == f"------ name = {program}"
    assert any(re.fullmatch(r"symbols: [1-9]\d* of code, \d+ of data", line) for line in lines)
    assert any(re.fullmatch(rf"\.debug_line: \d+ bytes in {re.escape(str(program))}", line) for line in lines)
    assert log(program, "x", "-q", "--trace-symtab=yes", "--trace-symtab-patt=*nowhere") == []


def test_stages_of_some_blocks(program: Path) -> None:
    def blocks(*options: str) -> list[int]:
        lines = log(program, "x", "-q", "--cache=no", "--trace-flags=10000000", *options)
        return [
            int(line.split("(block ")[1].split(")")[0]) for line in lines if line.startswith("==== Stage")
        ]

    every = set(blocks())
    assert every == set(range(max(every) + 1)) and len(every) > 100
    assert set(blocks("--trace-notbelow=5", "--trace-notabove=9")) == set(range(5, 10))
    assert set(blocks("--trace-notabove=3")) == set(range(4))
    assert min(blocks("--trace-notbelow=50")) == 50


def test_own_doings(program: Path) -> None:
    once, twice = (log(program, "m", "-q", *["-d"] * times) for times in (1, 2))
    assert any(re.fullmatch(rf"--\d+:1:requests thread 1: mapped .* {program}", line) for line in once)
    assert not any(":2:" in line for line in once) and any(":2:requests thread 1: " in line for line in twice)
    assert re.fullmatch(r"--\d+:1:requests thread 1: exit 0x0 .*", once[-1])
