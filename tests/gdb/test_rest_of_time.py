"""A debugger that comes while calls with time-outs are under way: they go on with the rest."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from gdb.sessions import compiled

pytestmark = pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")

TIMEOUT = 120
LENGTH = 5000
PROGRAM = """\
#define _GNU_SOURCE
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#define LENGTH 5000
static int word, semaphores;
static const char *names[] = {"nanosleep", "clock_nanosleep", "poll", "epoll_wait", "epoll_pwait2", "futex",
                              "rt_sigtimedwait", "semtimedop", "io_getevents"};
enum { KINDS = sizeof names / sizeof *names };
static void *sleeps(void *kind) {
    struct timespec t = {LENGTH, 0};
    struct epoll_event event;
    struct sembuf down = {0, -1, 0};
    struct io_event done;
    aio_context_t aio = 0;
    sigset_t none;
    int epoll = epoll_create1(0), which = (long)kind;
    sigemptyset(&none);
    syscall(SYS_io_setup, 1, &aio);
    pthread_setname_np(pthread_self(), names[which]);
    switch (which) {
    case 0: syscall(SYS_nanosleep, &t, NULL); break;
    case 1: syscall(SYS_clock_nanosleep, CLOCK_REALTIME, 0, &t, NULL); break;
    case 2: poll(NULL, 0, LENGTH * 1000); break;
    case 3: epoll_wait(epoll, &event, 1, LENGTH * 1000); break;
    case 4: syscall(SYS_epoll_pwait2, epoll, &event, 1, &t, NULL, 0); break;
    case 5: syscall(SYS_futex, &word, FUTEX_WAIT, 0, &t, NULL, 0); break;
    case 6: syscall(SYS_rt_sigtimedwait, &none, NULL, &t, 8); break;
    case 7: syscall(SYS_semtimedop, semaphores, &down, 1, &t); break;
    case 8: syscall(SYS_io_getevents, aio, 1, 1, &done, &t); break;
    }
    pthread_setname_np(pthread_self(), "over");
    pause();
    return NULL;
}
int main(void) {
    pthread_t thread;
    semaphores = semget(IPC_PRIVATE, 1, 0600);
    for (long i = 0; i < KINDS; i++) pthread_create(&thread, NULL, sleeps, (void *)i);
    char byte;
    printf("%p\\n", &word), fflush(stdout);
    read(0, &byte, 1);
    semctl(semaphores, 0, IPC_RMID);
    _exit(0);
}
"""
CALLS = {
    "nanosleep": (35, 0),
    "clock_nanosleep": (230, 2),
    "poll": (7, 2),
    "epoll_wait": (232, 3),
    "epoll_pwait2": (441, 3),
    "futex": (202, 3),
    "rt_sigtimedwait": (128, 2),
    "semtimedop": (220, 3),
    "io_getevents": (208, 4),
}
"""Numbers of the calls, and which argument their time-out is."""


def left(pid: int, word: int) -> dict[str, float]:
    """What the threads that sleep have told the kernel to wait for, in seconds."""
    found = {}
    for folder in Path(f"/proc/{pid}/task").iterdir():
        name = (folder / "comm").read_text().strip()
        words = (folder / "syscall").read_text().split()
        if name not in CALLS or len(words) < 7 or int(words[0]) not in (CALLS[name][0], 281):
            continue
        if name == "futex" and int(words[1], 16) != word:  # it waits for gdb
            continue
        value = int(words[1 + CALLS[name][1]], 16)
        if name in ("poll", "epoll_wait"):
            found[name] = value / 1000
            continue
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            seconds, more = struct.unpack("<qq", os.pread(memory.fileno(), 16, value))
        found[name] = seconds + more / 1e9
    return found


def asleep(pid: int, word: int) -> dict[str, float]:
    """The same once all of them are."""
    end = time.monotonic() + TIMEOUT
    while len(found := left(pid, word)) < len(CALLS):
        assert time.monotonic() < end, sorted(set(CALLS) - set(found))
        time.sleep(0.02)
    return found


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("rest"), "rest", PROGRAM, "-pthread")


@pytest.mark.skipif(os.geteuid() != 0, reason="another's calls are shown to root alone")
@pytest.mark.parametrize("how", ["detach", "continue"])
def test_the_rest_is_waited_for(program: Path, tmp_path: Path, how: str) -> None:
    prefix = tmp_path / "pipe"
    words = ["-m", "interpose", "-q", "--tool=none", f"--vgdb-prefix={prefix}", str(program)]
    begun = time.monotonic()
    run = subprocess.Popen([sys.executable, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert run.stdout
        word = int(run.stdout.readline(), 16)
        assert set(asleep(run.pid, word).values()) == {LENGTH}
        earliest = time.monotonic()
        time.sleep(1.5)  # so that they differ
        relay = f"{sys.executable} -m interpose.vgdb --vgdb-prefix={prefix} --pid={run.pid} -q"
        resume = [how]
        line = [
            "set remotetimeout 100",
            f"target remote | {relay}",
            "shell sleep 1",
            "echo through\\n",
            *resume,
        ]
        command = ["gdb", "-nx", "-batch", *(word for each in line for word in ("-ex", each)), str(program)]
        gdb = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        try:
            assert gdb.stdout
            while b"through" not in gdb.stdout.readline():
                pass
            stopped = time.monotonic()
            end = stopped + TIMEOUT
            while set((found := asleep(run.pid, word)).values()) & {LENGTH}:
                assert time.monotonic() < end, found
                time.sleep(0.02)
        finally:
            os.killpg(gdb.pid, 9)
            gdb.communicate()
        # They began before they were seen asleep, and after the program did.
        most, least = LENGTH - (stopped - earliest) + 0.2, LENGTH - (time.monotonic() - begun)
        assert {name for name, rest in found.items() if not least <= rest <= most} == set(), (
            found,
            least,
            most,
        )
    finally:
        run.communicate(b"x", timeout=TIMEOUT)
    assert run.returncode == 0
