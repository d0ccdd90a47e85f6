"""Programs in lockstep: no difference where there is none, and each kind of difference found where it is."""

from __future__ import annotations

import re
import shlex
import subprocess

import pytest
from lockstep.running import ENVIRON, run

LOCKSTEP = "interpose.lockstep"
FREESTANDING = ("-static", "-nostdlib", "-no-pie", "-fno-stack-protector")

FIBONACCI = r"""
static long call(long nr, long a, long b, long c) {
    long r;
    __asm__ volatile("syscall" : "=a"(r) : "0"(nr), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return r;
}
static __attribute__((noinline)) unsigned long f(unsigned long n) { return n < 2 ? n : f(n - 1) + f(n - 2); }
void _start(void) {
    char text[32];
    unsigned long v = f(7);
    int i = 31;
    text[i] = '\n';
    do text[--i] = '0' + v % 10; while (v /= 10);
    call(1, 1, (long)(text + i), 32 - i);
    call(231, 3, 0, 0);
}
"""

# One instruction a step, so that the steps can be named.
STEPS = r"""
__asm__(".globl _start\n"
        "_start: mov $1, %eax\n"          /* step 0 */
        "mov %rax, x(%rip)\n"             /* 1 */
        "movq %rax, %xmm0\n"              /* 2 */
        "xor %eax, %eax\n"                /* 3 */
        "addq $0x10, x(%rip)\n"           /* 4 */
        "paddq %xmm0, %xmm0\n"            /* 5 */
        "mov $231, %eax\n"                /* 6 */
        "xor %edi, %edi\n"                /* 7 */
        "syscall\n"                       /* 8 */
        ".data\n"
        "x: .quad 0\n");
"""

# What two runs cannot see alike of themselves: time, chance, signals at any moment, children, files.
WORLD = r"""
#include <cpuid.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile int hits, alarms;
static volatile double sum;
static sigjmp_buf back;
static void on_signal(int s, siginfo_t *i, void *u) { hits++; sum = sum * 1.5 + s + i->si_pid % 7; }
static void on_alarm(int s) { alarms++; sum += 0.25 * s; }
static void on_fault(int s) { siglongjmp(back, s); }

int main(void) {
    struct sigaction a = {0};
    a.sa_sigaction = on_signal;
    a.sa_flags = SA_SIGINFO;
    sigaction(SIGUSR1, &a, 0);
    raise(SIGUSR1);
    kill(getpid(), SIGUSR1);
    signal(SIGSEGV, on_fault);
    if (!sigsetjmp(back, 1)) *(volatile int *)8 = 1;
    signal(SIGALRM, on_alarm);
    struct itimerval t = {{0, 15000}, {0, 15000}};
    setitimer(ITIMER_REAL, &t, 0);
    for (volatile long x = 0, i = 0; i < 300; i++) x += i * i / 3;
    usleep(20000);
    memset(&t, 0, sizeof t);
    setitimer(ITIMER_REAL, &t, 0);

    int p[2], status;
    char text[16] = {0};
    if (pipe(p)) return 1;
    if (fork() == 0) {
        if (write(p[1], "hello", 5) != 5) _exit(1);
        _exit(4);
    }
    struct iovec v[2] = {{text, 2}, {text + 2, 3}};
    if (readv(p[0], v, 2) != 5) return 1;
    wait(&status);
    system("exit 3"); /* a child in this very memory, until it executes */

    unsigned lo, hi, b, c, d;
    __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
    __get_cpuid(1, &lo, &b, &c, &d);
    unsigned long flags;
    __asm__ volatile("pushfq; pop %0" : "=r"(flags));
    srand((unsigned)time(0) ^ lo ^ hi ^ b);
    char *m = malloc(300000);
    memset(m, rand(), 300000);
    m = realloc(m, 900000);
    FILE *f = fopen("/proc/self/maps", "r");
    sum += fread(m, 1, 4096, f);
    fclose(f);
    char *map = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    map[5000]++;
    munmap(map, 4096);
    printf("%d %d %s %d %d %lx %d\n", hits, alarms > 0, text, WEXITSTATUS(status), sum > 1, flags & 0x100,
           map[5000]);
    fflush(stdout);
    abort();
}
"""

THREADS = r"""
#include <pthread.h>
static void *run(void *a) { return a; }
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    return pthread_join(t, 0);
}
"""


def figures(text: str) -> tuple[int, int]:
    """Steps and blocks of the summary."""
    match = re.search(r"lockstep: ([\d,]+) steps in ([\d,]+) blocks.*, no difference; ", text)
    assert match, text
    return int(match[1].replace(",", "")), int(match[2].replace(",", ""))


@pytest.mark.parametrize("every_block", ["no", "yes"])
def test_freestanding_program(compile_guest, every_block):
    program = compile_guest("fibonacci", FIBONACCI, *FREESTANDING)
    done = run(LOCKSTEP, f"--every-block={every_block}", program)
    assert (done.returncode, done.stdout) == (0, "13\n"), done.stderr
    steps, blocks = figures(done.stderr)
    assert steps > 400
    assert blocks == steps if every_block == "no" else blocks < steps / 2
    assert "exit code 3" in done.stderr


@pytest.mark.parametrize(
    ("script", "end"), [("exit 255", "ended with exit code 255"), ("kill -9 $$", "died by signal 9")]
)
def test_how_the_program_ended(script, end):
    done = run(LOCKSTEP, "--every-block=yes", "--start-at=1000000000", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    assert f"no difference; the program {end}" in done.stderr


def test_no_difference_is_told_of_a_program_that_ends_before_it_is_followed():
    done = run(LOCKSTEP, "--skip-until=0x1234", "sh", "-c", "exit 1")
    assert done.returncode == 2, done.stderr
    assert "ended before it came to the place" in done.stderr


def test_dynamic_program_from_its_first_instruction():
    done = run(LOCKSTEP, "--stop-at=20000", "true")
    assert done.returncode == 0, done.stderr
    assert figures(done.stderr)[0] == 20000
    assert "stopped as asked" in done.stderr


SHARED = r"""
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    volatile char *map = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (fork() == 0) {
        map[1000] = 7;
        _exit(0);
    }
    wait(0);
    for (volatile int i = 0; i < 1000; i++) continue;
    return 0;
}
"""


def test_memory_that_nothing_reads(compile_guest):
    program = compile_guest("shared", SHARED)
    words = [LOCKSTEP, "--skip-until=main", "--every-block=yes"]
    assert run(*words, program).returncode == 0
    done = run(*words, "--memory-every=100", program)
    assert done.returncode == 1, done.stderr
    shown = re.search(r"memory at 0x\w+3e8 +expected (.*)\n.* got +(.*)\n", done.stderr)
    assert shown, done.stderr
    assert shown[1].split() == ["00"] * 16
    assert shown[2].split() == ["07"] + ["00"] * 15


def test_dynamic_program_by_blocks():
    done = run(LOCKSTEP, "--every-block=yes", "true")
    assert done.returncode == 0, done.stderr
    assert figures(done.stderr)[0] > 50_000
    assert "exit code 0" in done.stderr


@pytest.mark.parametrize("tool", ["none", "memcheck"])
def test_everything_that_differs_by_nature(compile_guest, tool):
    program = compile_guest("world", WORLD)
    words = ["--skip-until=main", "--every-block=yes", "--memory-every=500", f"--tool={tool}", program]
    done = run(LOCKSTEP, *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "2 1 hello 4 1 0 1\n"
    assert "died by signal 6" in done.stderr
    signals = re.search(r"(\d+) signals", done.stderr)
    assert signals and int(signals[1]) >= 4  # SIGUSR1 twice, SIGSEGV, SIGALRM


TICKS = r"""
#include <signal.h>
#include <sys/time.h>
static volatile int ticks;
static void on_alarm(int s) { ticks++; }
int main(void) {
    signal(SIGALRM, on_alarm);
    struct itimerval t = {{0, 3000}, {0, 3000}};
    setitimer(ITIMER_REAL, &t, 0);
    for (volatile long x = 0, i = 0; i < 3000; i++) x += i * i / 3;
    return !ticks;
}
"""


@pytest.mark.parametrize("flag", ["-O1", "-O2"])
def test_signals_in_any_turn_of_a_block(compile_guest, flag):
    """A block that takes several turns of the loop comes by each instruction as often; behind its last T is
    where it began."""
    done = run(LOCKSTEP, "--skip-until=main", "--every-block=yes", compile_guest("ticks", TICKS, flag))
    assert done.returncode == 0, done.stderr
    signals = re.search(r"(\d+) signals", done.stderr)
    assert signals and int(signals[1]) > 20


PENDING = r"""
#include <signal.h>
#include <stdio.h>
static volatile int again = 3, sum;
static void on_first(int s) { if (again-- > 0) raise(SIGUSR1); }
static void on_second(int s, siginfo_t *i, void *u) { sum += s; }
__attribute__((noinline)) static unsigned long below(void) {
    unsigned long mix = 0, *p = __builtin_frame_address(0);
    for (int i = 20; i < 600; i++) mix = mix * 31 + ((volatile unsigned long *)p)[-i];
    return mix;
}
int main(void) {
    struct sigaction a = {.sa_sigaction = on_second, .sa_flags = SA_SIGINFO};
    sigset_t both, old;
    signal(SIGUSR1, on_first);
    sigaction(SIGUSR2, &a, 0);
    raise(SIGUSR1);
    unsigned long mix = below();
    sigemptyset(&both);
    sigaddset(&both, SIGUSR1);
    sigaddset(&both, SIGUSR2);
    sigprocmask(SIG_BLOCK, &both, &old);
    raise(SIGUSR1);
    raise(SIGUSR2);
    sigprocmask(SIG_SETMASK, &old, 0);
    mix += below();
    printf("%d %d\n", again, sum);
    return !mix;
}
"""


@pytest.mark.parametrize("every_block", ["no", "yes"])
@pytest.mark.parametrize("tool", ["none", "memcheck"])
def test_signals_that_waited(compile_guest, tool, every_block):
    """One that comes as a handler returns, two at once; what is left of all their frames is read."""
    program = compile_guest("pending", PENDING, "-O1")
    done = run(LOCKSTEP, "--skip-until=main", f"--every-block={every_block}", f"--tool={tool}", program)
    assert (done.returncode, done.stdout) == (0, "-2 12\n"), done.stderr
    assert "6 signals" in done.stderr


def test_tracking_translation(compile_guest):
    program = compile_guest("fibonacci", FIBONACCI, *FREESTANDING)
    done = run(LOCKSTEP, "--tool=memcheck", "--force-tracking=yes", program)
    assert (done.returncode, done.stdout) == (0, "13\n"), done.stderr


HEAP = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
    char *a = malloc(40), *b = calloc(30, 7), *c;
    strcpy(a, "kept by realloc");
    for (int i = 0; i < 3; i++) a = realloc(a, 5000u << i);
    memset(b, 3, 210);
    free(b);
    c = aligned_alloc(64, 640);
    memcpy(c, a, 16);
    b = calloc(30, 7);
    printf("%s %s %d\n", a, c, b[99]);
    free(a);
    return 0;
}
"""


def test_replaced_heap(compile_guest):
    """Blocks, and what the runtime writes to them; functions that the runtime calls at the end."""
    program = compile_guest("heap", HEAP)
    words = ["--skip-until=main", "--every-block=yes", "--tool=memcheck", "--run-libc-freeres=yes", program]
    done = run(LOCKSTEP, *words)
    assert (done.returncode, done.stdout) == (0, "kept by realloc kept by realloc 0\n"), done.stderr
    assert "exit code 0" in done.stderr


def test_effects_happen_once(compile_guest, tmp_path):
    """Only the translation makes system calls."""
    target = tmp_path / "appended"
    program = compile_guest(
        "append",
        r"""
        #include <fcntl.h>
        #include <unistd.h>
        int main(int argc, char **argv) {
            int fd = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0644);
            return write(fd, "once\n", 5) != 5 || argc != 2;
        }
        """,
    )
    done = run(LOCKSTEP, "--skip-until=main", program, str(target))
    assert done.returncode == 0, done.stderr
    assert target.read_text() == "once\n"


def test_register_difference_is_found_at_its_step(compile_guest):
    program = compile_guest("fibonacci", FIBONACCI, *FREESTANDING)
    done = run(LOCKSTEP, "--poke=100:rbx=0x1234567", program)
    assert done.returncode == 1
    lines = [line.removeprefix("lockstep:").removeprefix(" ") for line in done.stderr.splitlines()]
    assert lines[0].startswith("first difference after 100 steps")
    got = [line.split() for line in lines if line.split()[:1] == ["got"]]
    assert got == [["got", "0x1234567"]]
    assert any(re.fullmatch(r"  rbx +expected 0x[0-9a-f]+", line) for line in lines)
    assert re.search(r"at 0x[0-9a-f]+ f(\+0x[0-9a-f]+)? \(fibonacci\.c:\d+\)", done.stderr)
    last = lines[lines.index("last 16 instructions:") + 1 :][:16]
    assert all(re.match(r"  0x[0-9a-f]+  \S", line) for line in last)
    assert [line.strip() for line in lines if "Stage " in line] == [
        "Stage 1: From x86 to UCode",
        "Stage 2: Optimised",
        "Stage 3: Instrumented",
        "Stage 4: Cleaned up",
        "Stage 5: Registers allocated",
        "Stage 6: Emitted",
    ]
    command = shlex.split(lines[lines.index("again with:") + 1])
    again = subprocess.run(command, capture_output=True, text=True, env=ENVIRON, timeout=60, check=False)
    assert again.returncode == 1
    assert "first difference after 100 steps" in again.stderr


@pytest.mark.parametrize("step", [1, 57, 333])
def test_difference_of_the_stack_pointer(compile_guest, step):
    program = compile_guest("fibonacci", FIBONACCI, *FREESTANDING)
    done = run(LOCKSTEP, f"--poke={step}:rsp=0x1000", program)
    assert done.returncode == 1
    assert f"first difference after {step} steps" in done.stderr


def test_memory_difference(compile_guest):
    """The register is the same again when the comparison begins; what it left in memory is not."""
    program = compile_guest("steps", STEPS, *FREESTANDING)
    done = run(LOCKSTEP, "--poke=1:rax=0x77", "--start-at=5", program)
    assert done.returncode == 1, done.stderr
    assert "first difference after 5 steps" in done.stderr
    assert re.search(r"memory at 0x[0-9a-f]+  expected 11 00", done.stderr)
    assert re.search(r"got +87 00", done.stderr)


def test_vector_difference(compile_guest):
    program = compile_guest("steps", STEPS, *FREESTANDING)
    done = run(LOCKSTEP, "--poke=2:rax=0x77", "--start-at=5", program)
    assert done.returncode == 1, done.stderr
    assert "first difference after 6 steps" in done.stderr
    assert re.search(r"xmm0 +expected 02 00", done.stderr)
    assert re.search(r"got +ee 00", done.stderr)


def test_path_difference(compile_guest):
    """A wrong value that decides a branch, seen only where the two have parted."""
    program = compile_guest("fibonacci", FIBONACCI, *FREESTANDING)
    right = run(LOCKSTEP, program)
    assert right.returncode == 0
    done = run(LOCKSTEP, "--poke=20:rdi=0x0", "--start-at=21", program)
    assert done.returncode == 1, done.stderr


def test_threads_are_refused(compile_guest):
    program = compile_guest("threads", THREADS, "-pthread")
    done = run(LOCKSTEP, "--skip-until=main", program)
    assert done.returncode == 2
    assert "the program starts a thread; it cannot be followed" in done.stderr


def test_exec_is_not_followed():
    done = run(LOCKSTEP, "--skip-until=entry", "--every-block=yes", "sh", "-c", "exec echo done")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert "executes another one" in done.stderr


def test_bad_input():
    for words, text in (
        (["--poke=1:xyz=3", "true"], "Use step:register=value"),
        (["--poke=1:rax=0x10000000000000000", "true"], "more than 64 bits"),
        (["--start-at=-4", "true"], "Not a number of steps"),
        (["--poke=18446744073709551616:rax=1", "true"], "more than 64 bits"),
        (["--skip-until=", "true"], "Use a function"),
        (["--skip-until=0x10000000000000000", "true"], "not an address"),
        (["--skip-until=no_such_function", "true"], "no such function"),
        (["--skip-until=0x10", "true"], "ended before it came to the place"),
        (["--no-such-option", "true"], "--no-such-option"),
        ([], "no program specified"),
    ):
        done = run(LOCKSTEP, *words)
        assert done.returncode == 2, (words, done.stderr)
        assert text in done.stderr
        assert "Traceback" not in done.stderr
    assert run(LOCKSTEP, "/no/such/program").returncode == 127
