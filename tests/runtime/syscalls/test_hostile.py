"""Every system call with hostile arguments answers under the engine as it does natively."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from interpose import paths

TABLE = Path(paths.__file__).parent / "runtime" / "syscalls" / "syscalls.def"

NOT_MADE = frozenset(
    "exit exit_group rt_sigreturn fork vfork clone pause vhangup setsid setpgid sync syncfs kill shmat "
    "restart_syscall uretprobe uprobe".split()
)
"""They end, wait for ever, raise a signal, or concern more than this process."""

HOSTILE = {
    "zero": ["0"] * 6,
    "minus": ["-1"] * 6,
    "huge": ["0x7fffffffffffffff"] * 6,
    "kernel": ["0xffff800000000000"] * 6,
    "odd": ["odd"] * 6,
    "nowhere": ["nowhere"] * 6,
    "small": ["1000", "nowhere", "8", "8", "8", "8"],
    "big": ["1000", "odd", "0x7ffffffffffff000", "0", "0", "0"],
    "last": ["1000", "last", "4096", "last", "4096", "last"],
}
"""``odd``: an address with a low bit set; ``last``: the last byte before what is not mapped."""

WAITS = {
    "zero": {"select", "pselect6", "ppoll", "ptrace", "seccomp", "rt_sigsuspend"},
    "odd": {"brk"},
    "nowhere": {"brk", "munmap", "alarm"},
    "small": {"alarm"},
    "big": {"alarm"},
    "last": {"alarm"},
}
"""Beside those: what these arguments would have them do."""

KNOWN = {
    "sigaltstack": "whether the kernel takes an empty stack for the one that is there depends on who forked",
    "rseq": "not offered (docs/limits.md)",
    "map_shadow_stack": "not offered",
    "io_uring_setup": "may be switched off for some processes and not for others",
}

HEAD = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <unistd.h>
static char *at, *odd, *nowhere, *last;
#define INLINE static inline __attribute__((always_inline))
INLINE long call(long n, long a, long b, long c, long d, long e, long f) {
    long r;
    memset(at, 0, 32768);
    register long r10 asm("r10") = d;
    register long r8 asm("r8") = e;
    register long r9 asm("r9") = f;
    asm volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                 : "rcx", "r11", "memory");
    return r;
}
/* A number of the kernel's choice is as good as another. */
static void tell(const char *name, long r) { printf("%s %ld\n", name, r >= 0 ? 0 : r); }
/* Queues and the like outlive a program: the next one that asks for their key would get another answer. */
static void forget(long key) {
    msgctl(msgget(key, 0), IPC_RMID, NULL);
    semctl(semget(key, 0, 0), 0, IPC_RMID);
    shmctl(shmget(key, 0, 0), IPC_RMID, NULL);
}
int main(void) {
    unshare(CLONE_NEWIPC); /* those of programs beside this one: only root may */
    if (getuid() == 0) { setgid(65534); setuid(65534); }
    /* At the same place in each run: calls take the low half for flags. */
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    at = mmap((void *)0x48000000, 32768, PROT_READ | PROT_WRITE, flags, -1, 0);
    odd = at + 1, nowhere = at + 40960, last = at + 32767;
    setvbuf(stdout, malloc(1 << 17), _IOFBF, 1 << 17);
    close(0);
"""


def rows() -> list[tuple[int, str]]:
    text = re.sub(r"/\*.*?\*/", "", TABLE.read_text(), flags=re.S)
    return [(int(number), name) for number, name in re.findall(r"SYS(?:_AS)?\((\d+), (\w+),", text)]


def source(kind: str) -> str:
    forget = f"    forget((long){HOSTILE[kind][0]});"
    lines = [HEAD, forget]
    for number, name in rows():
        if name not in NOT_MADE and name not in WAITS.get(kind, ()):
            lines.append(
                f'    tell("{name}", call({number}, {", ".join(f"(long){x}" for x in HOSTILE[kind])}));'
            )
    return "\n".join([*lines, forget, "    fflush(stdout);", "    _exit(0);", "}"])


@pytest.mark.parametrize("kind", HOSTILE)
def test_answers_are_the_kernels(tmp_path, kind):
    (tmp_path / "prog.c").write_text(source(kind))
    subprocess.run(["gcc", "-O1", "-w", "-o", "prog", "prog.c"], check=True, cwd=tmp_path)
    for each in (*reversed(tmp_path.parents), tmp_path):
        if each.name.startswith(("pytest", "test")):
            each.chmod(0o755)  # the program runs as nobody, who must find itself
    native = _run([], tmp_path)
    assert len(native) > 300
    for tool in ("none", "memcheck"):
        answers = _run([sys.executable, "-m", "interpose", "-q", f"--tool={tool}", "--log-fd=-1"], tmp_path)
        differ = {
            name: (native[name], r) for name, r in answers.items() if native[name] != r and name not in KNOWN
        }
        assert answers.keys() == native.keys() and not differ


GAPS = r"""
#include <errno.h>
#include <stdio.h>
#include <unistd.h>
int main(void) {
    for (long n = 335; n < 424; n++)
        if (syscall(n, 0L, 0L, 0L, 0L, 0L, 0L) != -1 || errno != ENOSYS) printf("%ld\n", n);
    return 0;
}
"""


@pytest.mark.parametrize("tool", ["none", "memcheck"])
def test_numbers_between_the_tables_are_no_calls(tmp_path, tool):
    """Among them those of the kernel's own trampolines, which raise SIGILL natively since Linux 6.11."""
    (tmp_path / "prog.c").write_text(GAPS)
    subprocess.run(["gcc", "-w", "-o", "prog", "prog.c"], check=True, cwd=tmp_path)
    assert _run([sys.executable, "-m", "interpose", "-q", f"--tool={tool}"], tmp_path) == {}


def _run(command: list[str], folder: Path) -> dict[str, int]:
    words = [*command, str(folder / "prog")]
    result = subprocess.run(words, capture_output=True, text=True, timeout=120, cwd=folder)
    assert result.returncode == 0, result.stderr[-1000:]
    return {name: int(answer) for name, answer in (line.split() for line in result.stdout.splitlines())}
