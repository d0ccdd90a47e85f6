"""Names of threads, warnings about calls that cannot succeed, which deaths -q leaves out: as Valgrind's."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static void *bad(void *name) {
    if (name) prctl(PR_SET_NAME, name);
    char *p = malloc(4);
    p[4] = 1;
    free(p);
    return NULL;
}
static void *longer(void *name) {
    prctl(PR_SET_NAME, name);
    char *p = malloc(5);
    p[5] = 1;
    free(p);
    return NULL;
}
int main(int argc, char **argv) {
    if (argc > 1) {
        if (atoi(argv[1]) == 0) *(volatile int *)0 = 1;
        raise(atoi(argv[1]));
    }
    pthread_t t;
    pthread_create(&t, NULL, bad, "worker");
    pthread_join(t, NULL);
    prctl(PR_SET_NAME, "renamed");
    char *p = malloc(6);
    p[6] = 1;
    pthread_create(&t, NULL, longer, "a name that is far too long");
    pthread_join(t, NULL);
    struct sigaction ignore = {.sa_handler = SIG_IGN}, usual = {.sa_handler = SIG_DFL};
    sigaction(SIGKILL, &ignore, NULL);
    sigaction(SIGSTOP, &ignore, NULL);
    sigaction(SIGKILL, &usual, NULL);
    syscall(SYS_rt_sigaction, 65, NULL, NULL, 8);
    char byte;
    close(77);
    close(-1);
    dup(-1);
    dup2(0, -1);
    openat(-9, "x", O_RDONLY);
    openat(-9, "/", O_RDONLY);
    read(1 << 30, &byte, 1);
    syscall(SYS_splice, -1, NULL, -1, NULL, 1, 0);
    syscall(SYS_splice, 0, NULL, -1, NULL, 1, 0);
    syscall(SYS_tee, 0, -1, 1, 0);
    syscall(SYS_vmsplice, -1, NULL, 0, 0);
    syscall(SYS_copy_file_range, -1, NULL, 1, NULL, 1, 0);
    syscall(SYS_readahead, -1, 0, 1);
    syscall(SYS_sync_file_range, -1, 0, 1, 0);
    syscall(SYS_fallocate, -1, 0, 0, 1);
    syscall(SYS_timerfd_settime, -1, 0, &usual, NULL);
    syscall(SYS_timerfd_gettime, -1, &usual);
    char *none[] = {"x", NULL};
    syscall(SYS_execveat, -1, "x", none, none, 0);
    syscall(SYS_preadv2, -1, NULL, 0, 0, 0, 0);
    syscall(SYS_pwritev2, -1, NULL, 0, 0, 0, 0);
    syscall(SYS_rt_sigaction, SIGUSR1, 8, NULL, 8);
    syscall(SYS_rt_sigaction, SIGUSR1, NULL, 8, 8);
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, 8, 8, 8);
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, -1L, 8);
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, 8, NULL, 4);
    return 0;
}
"""
EXPECTED = """\
Thread 2 worker:
Thread 1 renamed:
Thread 2 a name that is f:
Warning: ignored attempt to set SIGKILL handler in sigaction();
         the SIGKILL signal is uncatchable
Warning: ignored attempt to set SIGSTOP handler in sigaction();
         the SIGSTOP signal is uncatchable
Warning: bad signal number 65 in sigaction()
Warning: invalid file descriptor -1 in syscall close()
Warning: invalid file descriptor -1 in syscall dup2()
Warning: invalid file descriptor -9 in syscall openat()
Warning: invalid file descriptor 1073741824 in syscall read()
Warning: invalid file descriptor -1 in syscall splice(fd_in)()
Warning: invalid file descriptor -1 in syscall splice(fd_out)()
Warning: invalid file descriptor -1 in syscall tee(fd_out)()
Warning: invalid file descriptor -1 in syscall vmsplice(fd)()
Warning: invalid file descriptor -1 in syscall copy_file_range(fd_in)()
Warning: invalid file descriptor -1 in syscall readahead()
Warning: invalid file descriptor -1 in syscall sync_file_range()
Warning: invalid file descriptor -1 in syscall fallocate()
Warning: invalid file descriptor -1 in syscall timerfd_settime()
Warning: invalid file descriptor -1 in syscall timerfd_gettime()
Warning: invalid file descriptor -1 in syscall execveat()
Warning: invalid file descriptor -1 in syscall preadv2()
Warning: invalid file descriptor -1 in syscall pwritev2()
Thread 1 renamed:
Warning: bad act handler address 0x8 in rt_sigaction()
Warning: bad oldact handler address 0x8 in rt_sigaction()
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("names")
    (folder / "names.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-w", "-pthread", "-o", "names", "names.c"], check=True, cwd=folder)
    return str(folder / "names")


def report(*words: str, tool: str = "memcheck") -> str:
    command = [sys.executable, "-m", "interpose", f"--tool={tool}", *words]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    return re.sub(r"(?m)^==\d+== ", "", done.stderr)


def test_names_and_warnings(program: str) -> None:
    shown = re.findall(r"(?m)^(?:Thread|Warning:|         the).*\n", report(program))
    assert "".join(shown) == EXPECTED


def test_a_tool_without_errors(program: str) -> None:
    """Misuse is told where errors are: Valgrind's none and callgrind say nothing of it, either."""
    shown = re.findall(r"(?m)^Warning: .*", report(program, tool="none"))
    assert shown and all("handler address" in line for line in shown)


def test_quietly(program: str) -> None:
    shown = report("-q", program)
    assert not re.search("(?m)^Warning", shown)
    # These are debug lines, which -q keeps.
    assert re.findall(r"(?m)^--\d+-- (.*)", shown) == [
        "Warning: Bad set handler address 0x8 in sigprocmask",
        "Warning: Bad oldset address 0xFFFFFFFFFFFFFFFF in sigprocmask",
    ]


@pytest.mark.parametrize(("argument", "told"), [("0", True), ("11", False), ("6", False), ("15", False)])
def test_a_death_without_a_word(program: str, argument: str, told: bool) -> None:
    """After -q a fault is told, a signal that somebody sent is not."""
    assert ("Process terminating with default action of signal" in report("-q", program, argument)) == told
    assert "Process terminating with default action of signal" in report(program, argument)
