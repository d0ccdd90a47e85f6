"""Runs that take what earlier ones kept: the same output, whatever happens to programs, options or files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from interpose import paths
from interpose.cache.run import is_settled
from interpose.jit._native import lib

GUESTS = Path(__file__).resolve().parents[1] / "guests"
SOURCES = [
    *(GUESTS / "code" / f"{name}.c" for name in ("across_pages", "file_written", "fork_patches", "moved")),
    *(GUESTS / "code" / f"{name}.c" for name in ("other_process", "straddle", "unmapped_running", "views")),
    *(
        GUESTS / "engine" / f"{name}.c"
        for name in ("setjmps", "threads_basic", "signals_siginfo", "processes")
    ),
    GUESTS / "engine" / "exceptions.cc",
]
TOOLS = ["none", "memcheck"]

# The supervisor outlives the program while it writes: wait for all of it.
REAPER = """
import ctypes, os, subprocess, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
status = subprocess.call(sys.argv[1:])
try:
    while True: os.wait()
except ChildProcessError:
    os._exit(status if status >= 0 else 128 - status)
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The folder that runs keep things in."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "interpose"


def run(*words: str, **variables: str) -> tuple[int, str, str]:
    words = ("--cache=yes", *words)  # what comes later holds
    command = [sys.executable, "-c", REAPER, sys.executable, "-m", "interpose", *map(str, words)]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **variables},
    )
    return done.returncode, done.stdout, done.stderr


def native(*words: str) -> tuple[int, str]:
    command = [sys.executable, "-c", REAPER, *map(str, words)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout


def counts(text: str) -> tuple[int, int]:
    """Blocks that were translated, and those that were kept (--stats=yes)."""
    made = re.search(r"translate: ([\d,]+) blocks", text)
    kept = re.search(r"([\d,]+) kept", text)
    return tuple(int(found[1].replace(",", "")) for found in (made, kept))


def build(source: Path, out: Path, *words: str) -> Path:
    flags = re.search(r"(?m)^// flags: (.*)", source.read_text())
    compiler = "g++" if source.suffix == ".cc" else "gcc"
    words = [*words, *(flags[1].split() if flags else [])]
    subprocess.run([compiler, "-O1", "-g", "-w", "-o", str(out), str(source), *words], check=True)
    return out


def compiled(folder: Path, name: str, text: str, *words: str) -> Path:
    source = folder / f"{name}.c"
    source.write_text(text)
    return build(source, folder / name, *words)


def code_files(cache: Path) -> list[Path]:
    return sorted(cache.glob("code-*"), key=lambda path: path.stat().st_size)


@pytest.mark.parametrize("tool", TOOLS)
def test_code_that_nothing_is_kept_of_is_translated_by_the_program(cache, tool: str) -> None:
    """Beside what is kept of the same file: what only the supervisor has is all that is asked of it."""
    shell = ("--tool=" + tool, "--stats=yes", "/bin/bash", "-c")
    run(*shell, ":", INTERPOSE_VERIFY="0")
    status, out, log = run(
        *shell, "for ((i = 6; i < 7; i++)); do printf '%x\n' $((i * 7)); done", INTERPOSE_VERIFY="0"
    )
    assert (status, out) == (0, "2a\n")
    made, kept = counts(log)
    here = re.search(r"([\d,]+) answered by the program's own threads", log)
    assert kept > 1000 and made > 100
    assert int(here[1].replace(",", "")) > 0.7 * made


@pytest.mark.parametrize("tool", TOOLS)
def test_the_second_run_translates_next_to_nothing(tool, cache):
    words = (f"--tool={tool}", "--stats=yes", "/bin/ls", "/usr")
    first, second = run(*words), run(*words)
    assert first[:2] == second[:2] == native("/bin/ls", "/usr")
    made, kept = counts(first[2])
    assert kept == 0
    made_again, kept = counts(second[2])
    assert kept > 0.8 * made and made_again < 0.2 * made


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_as_natively(source, tool, cache, tmp_path):
    program = build(source, tmp_path / source.stem)
    expected = native(program)
    for _ in range(3):
        code, out, err = run("-q", f"--tool={tool}", program)
        assert (code, out) == expected, err


# What a handler is told of a jump to no address, for which blocks note where jumps are.
JUMPS = """
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
static sigjmp_buf back;
extern char jump[], call[];
static const char *volatile name;
static void handler(int sig, siginfo_t *si, void *context) {
    ucontext_t *u = context;
    char *at = (char *)u->uc_mcontext.gregs[REG_RIP];
    const char *place = at == jump ? "jump" : at == call ? "call" : "elsewhere";
    printf("%s: %d %d %s\\n", name, sig, si->si_code, place);
    siglongjmp(back, 1);
}
static int by(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static void work(void) {
    int n[100];
    for (int i = 0; i < 100; i++) n[i] = i * 37 % 101;
    qsort(n, 100, sizeof *n, by);
    printf("%d %d\\n", n[0], n[99]);
}
int main(void) {
    work();
    struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &sa, NULL);
    work();
    const unsigned long no_address = 0x8000000000000000;
    name = "jump";
    if (!sigsetjmp(back, 1)) __asm__ volatile(".globl jump\\njump: jmp *%0" ::"r"(no_address));
    name = "call";
    if (!sigsetjmp(back, 1)) __asm__ volatile(".globl call\\ncall: call *%0" ::"r"(no_address));
    return 0;
}
"""


@pytest.mark.parametrize("tool", TOOLS)
def test_what_a_program_with_a_handler_for_faults_runs_is_kept(tool, cache, tmp_path):
    program = compiled(tmp_path, "jumps", JUMPS, "-mno-red-zone")
    expected = native(program)
    assert expected[1].count("elsewhere") == 0
    made = []
    for _ in range(4):
        code, out, err = run(f"--tool={tool}", "--stats=yes", program)
        assert (code, out) == expected, err
        made.append(counts(err)[0])
    assert max(made[2:]) < 0.2 * made[0], made


def test_a_handler_does_not_count_for_what_is_executed(cache, tmp_path):
    """Nor does the one that comes in another run, with other arguments."""
    text = JUMPS.replace(
        "int main(void) {", "int main(int argc, char **argv) {\n    if (argc > 1) return work(), 0;"
    )
    text = text.replace("    return 0;\n}\n", '    execl(argv[0], argv[0], "again", NULL);\n}\n')
    program = compiled(
        tmp_path, "jumps", text.replace("<setjmp.h>", "<setjmp.h>\n#include <unistd.h>"), "-mno-red-zone"
    )
    expected, again = native(program), native(program, "again")
    for _ in range(3):
        assert run("-q", "--trace-children=yes", program)[:2] == expected
        assert run("-q", program, "again")[:2] == again


FAULTY = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) static void lose(void) {
    volatile char *lost = malloc(24);
    *lost = 1;
}
int main(void) {
    volatile int *a = malloc(40);
    lose();
    if (a[3]) puts("set");
    a[10] = (int)strlen("text");
    free((void *)a);
    return a[0] != 0;
}
"""


def test_the_same_report(cache, tmp_path):
    program = compiled(tmp_path, "faulty", FAULTY, "-g")
    reports = []
    for _ in range(3):
        code, out, err = run("--leak-check=full", "--track-origins=yes", program)
        reports.append((code, out, re.sub(r"==\d+==", "==", err)))
    assert reports[0] == reports[1] == reports[2]
    assert "Invalid write" in reports[0][2] and "definitely lost: 24" in reports[0][2]


LOADER = """
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
int main(int argc, char **argv) {
    for (int i = 0; i < atoi(argv[2]); i++)
        mmap(NULL, 1 << 20, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 3; i++) {
        void *library = dlopen(argv[1], RTLD_NOW);
        int (*answer)(int) = (int (*)(int))dlsym(library, "answer");
        printf("%d\\n", answer(i));
        dlclose(library);
    }
    return 0;
}
"""
LIBRARY = "int answer(int x) { return x * %d + %d; }"


@pytest.mark.parametrize("tool", TOOLS)
def test_a_library_that_was_replaced(tool, cache, tmp_path):
    """Same name, size and first page; nothing but the bytes of its code tells."""
    program = compiled(tmp_path, "loader", LOADER, "-ldl")
    names = []
    for number, values in enumerate(((3, 4), (5, 6))):
        text = LIBRARY % values
        names.append(
            compiled(tmp_path, f"lib{number}.so", text, "-shared", "-fPIC", "-Wl,--build-id=none", "-s")
        )
    used = tmp_path / "used.so"
    contents = [name.read_bytes() for name in names]
    assert len(contents[0]) == len(contents[1]) and contents[0][:4096] == contents[1][:4096]
    for which in (0, 0, 1, 1, 0):
        used.unlink(missing_ok=True)
        used.write_bytes(contents[which])
        code, out, err = run("-q", f"--tool={tool}", program, used, "0")
        assert (code, out) == native(program, used, "0"), err


@pytest.mark.parametrize("tool", TOOLS)
def test_a_library_at_other_addresses(tool, cache, tmp_path):
    program = compiled(tmp_path, "loader", LOADER, "-ldl")
    library = compiled(tmp_path, "lib.so", LIBRARY % (7, 8), "-shared", "-fPIC")
    for holes in ("0", "3", "0", "1", "3"):
        code, out, err = run("-q", f"--tool={tool}", program, library, holes)
        assert (code, out) == native(program, library, holes), err


WRAPPED = """
#include <stdio.h>
__attribute__((noinline)) int half(int x) { return x / 2; }
int main(void) {
    printf("%d\\n", half(84));
    return 0;
}
"""
WRAPPER = """
#include <interpose/interpose.h>
int I_WRAP_SONAME_FNNAME_ZU(NONE, half)(int x) {
    OrigFn original;
    int result;
    VALGRIND_GET_ORIG_FN(original);
    CALL_FN_W_W(result, original, x);
    return result + 1;
}
"""


@pytest.mark.parametrize("tool", TOOLS)
def test_wrappers_that_come_and_go(tool, cache, tmp_path):
    include = subprocess.run(
        [sys.executable, "-m", "interpose", "--include-dir"], capture_output=True, text=True, check=True
    ).stdout.strip()
    header = Path(include) / "interpose" / "interpose.h"
    text = WRAPPER if header.exists() else WRAPPER.replace("interpose/interpose.h", "interpose/valgrind.h")
    program = compiled(tmp_path, "wrapped", WRAPPED, "-rdynamic")
    library = compiled(tmp_path, "wrap.so", text, "-shared", "-fPIC", f"-I{include}")
    for preload in ("", str(library), str(library), "", str(library)):
        code, out, err = run("-q", f"--tool={tool}", program, LD_PRELOAD=preload)
        assert (code, out) == (0, "43\n" if preload else "42\n"), err


CLOSING = """
#include <dlfcn.h>
#include <stdio.h>
__attribute__((noipa)) int half(int x) { return x / 2; }
int main(int argc, char **argv) {
    void *wrapper = dlopen(argv[1], RTLD_NOW);
    printf("%d\\n", half(84));
    if (argc > 2) {
        dlclose(wrapper);
        printf("%d\\n", half(84));
    }
    return 0;
}
"""


@pytest.mark.parametrize("tool", TOOLS)
def test_a_wrapper_that_only_this_run_closes(tool, cache, tmp_path):
    """What an earlier run's answers bound is taken back by a core that comes with the closing."""
    program = compiled(tmp_path, "closing", CLOSING, "-rdynamic")
    library = compiled(tmp_path, "wrap.so", WRAPPER, "-shared", "-fPIC", f"-I{paths.include()}")
    time.sleep(2.5)  # files that changed just now are not taken for known
    for _ in range(2):
        assert run("-q", f"--tool={tool}", program, library)[:2] == (0, "43\n")
    code, out, err = run("-q", f"--tool={tool}", program, library, "close")
    assert (code, out) == (0, "43\n42\n"), err


def test_every_byte_of_a_small_file_counts(cache):
    run("-q", "--tool=none", "/bin/true")
    smallest = code_files(cache)[0].read_bytes()
    fd = os.memfd_create("damaged")
    os.pwrite(fd, smallest, 0)
    assert lib.ip_keep_check(os.dup(fd)) > 0
    for at in range(len(smallest)):
        os.pwrite(fd, bytes([smallest[at] ^ 0x40]), at)
        assert lib.ip_keep_check(os.dup(fd)) == -1, at
        os.pwrite(fd, smallest[at : at + 1], at)
    for size in (*range(0, 200, 7), len(smallest) - 1):
        os.ftruncate(fd, size)
        assert lib.ip_keep_check(os.dup(fd)) == -1, size


@pytest.mark.parametrize("share", [0.001, 0.1, 0.4, 0.7, 0.999])
def test_a_damaged_file_is_ignored(share, cache):
    words = ("--tool=none", "-v", "/bin/ls", "/usr")
    expected = native("/bin/ls", "/usr")
    run(*words)
    for path in cache.iterdir():
        data = bytearray(path.read_bytes())
        if data:
            data[int(len(data) * share)] ^= 0xFF
            path.write_bytes(data)
    code, out, err = run(*words)
    assert (code, out) == expected
    assert "cache: " in err and "ignored" in err
    code, out, err = run(*words)
    assert (code, out) == expected
    assert "ignored" not in err, "it was written anew"


@pytest.mark.parametrize("contents", [b"", b"garbage" * 1000, bytes(1 << 16), b"\xff" * 5000])
def test_anything_in_the_place_of_the_files(contents, cache):
    run("-q", "--tool=memcheck", "/bin/true")
    for path in cache.iterdir():
        path.write_bytes(contents)
    assert run("-q", "--tool=memcheck", "/bin/true") == (0, "", "")


def test_runs_at_once_share_and_add(cache):
    command = [
        sys.executable,
        "-c",
        REAPER,
        sys.executable,
        "-m",
        "interpose",
        "-q",
        "--tool=none",
        "--cache=yes",
    ]
    for _ in range(2):
        started = [
            subprocess.Popen([*command, *words], stdout=subprocess.DEVNULL)
            for words in (
                ["/bin/ls"],
                ["/bin/ls", "-l", "/"],
                ["/bin/ls", "-R", "/dev"],
                ["/bin/ls", "--help"],
            )
        ]
        assert {process.wait(timeout=120) for process in started} <= {0, 1}
    assert not list(cache.glob(".new-*"))
    for path in code_files(cache):
        assert lib.ip_keep_check(os.open(path, os.O_RDONLY)) > 0
    for words in ((), ("-l", "/")):
        made, kept = counts(run("--tool=none", "--stats=yes", "/bin/ls", *words)[2])
        assert kept > 3 * made


FORKS = """
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) static int work(volatile int n) {
    int sum = 0;
%s
    return sum;
}
int main(void) {
    int status = 0;
    if (fork() == 0) _exit(work(3) == 1);
    wait(&status);
    return status != 0;
}
"""


def test_a_forked_child_adds_nothing(cache, tmp_path):
    """What it runs for the first time is not in the file, though its parent's blocks are."""
    steps = "\n".join(f"    if (n == {number}) sum ^= {number} * n;" for number in range(100, 200))
    program = compiled(tmp_path, "forks", FORKS % steps)
    run("-q", "--tool=none", program)
    sizes = {path.name: path.stat().st_size for path in code_files(cache)}
    made, _ = counts(run("--tool=none", "--stats=yes", program)[2])  # the child's: it ends last
    assert made > 16
    assert sizes == {path.name: path.stat().st_size for path in code_files(cache)}


def test_an_executed_child_notes_apart_from_its_parent(cache):
    """Both go on with what they translate, more of it than stays in memory."""
    names = ("/usr/bin/perl", "/bin/ls")
    script = "for my $i (1 .. 3) { system '/bin/ls', '/usr'; my @a = sort map { sprintf '%d', $_ } 1 .. 99 }"
    words = ("--tool=none", "--trace-children=yes", names[0], "-e", script)
    assert run("-q", *words)[:2] == run("-q", *words)[:2] == native(names[0], "-e", script)
    for path in code_files(cache):
        descriptor = os.open(path, os.O_RDONLY)
        assert lib.ip_keep_check(descriptor) > 0
    for name, more in zip(names, ("-e1", "/usr"), strict=True):
        made, kept = counts(run("--tool=none", "--trace-children=yes", "--stats=yes", name, more)[2])
        assert kept > 4 * made


def test_a_run_that_found_the_engine_at_fault_adds_nothing(cache):
    """What it has of exits is wrong, and may not become that of later runs."""
    faulty = GUESTS.parent / "life" / "faulty.py"
    words = ["runtime=mapped", "--tool=none", "--cache=yes", "/bin/true"]
    done = subprocess.run([sys.executable, "-c", REAPER, sys.executable, faulty, *words], capture_output=True)
    assert b"unknown exit kind 63" in done.stderr, done
    assert not code_files(cache)
    assert run("-q", "/bin/true") == (0, "", "")


@pytest.mark.parametrize("option", ["--trace-flags=10000000", "--smc-check=all", "--single-step=yes"])
def test_options_that_want_code_to_be_translated(option, cache):
    words = ("--tool=none", "--stats=yes", option, "/bin/true")
    for _ in range(2):
        assert counts(run(*words)[2])[1] == 0
    run("--tool=none", "/bin/true")
    assert counts(run(*words)[2])[1] == 0


def test_no_writes_nothing_and_read_adds_nothing(cache):
    assert run("-q", "--cache=no", "/bin/true") == (0, "", "")
    assert run("-q", "--cache=read", "/bin/true") == (0, "", "")
    assert not cache.exists()
    run("-q", "/bin/true")
    before = sorted((path.name, path.stat().st_mtime_ns) for path in cache.iterdir())
    assert counts(run("--cache=read", "--stats=yes", "/bin/true")[2])[1] > 0
    assert counts(run("--cache=no", "--stats=yes", "/bin/true")[2])[1] == 0
    run("-q", "--cache=read", "/bin/ls")
    assert before == sorted((path.name, path.stat().st_mtime_ns) for path in cache.iterdir())


def test_show_and_clear(cache):
    run("-q", "/bin/true")
    code, out, _ = run("--cache=show")
    assert code == 0 and out.startswith(f"{cache}\n")
    assert re.search(r"\d+ files +[\d,]+ bytes  translations", out)
    assert re.search(r"1 files +[\d,]+ bytes  symbols and bindings", out)
    code, out, _ = run("--cache=clear")
    assert code == 0 and "removed" in out
    assert not list(cache.glob("[!.]*"))
    assert "0 files" in run("--cache=show")[1]


def test_a_folder_of_others_is_said_under_v(cache):
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    assert run("-q", "/bin/true") == (0, "", "")
    assert "no cache: " in run("-v", "/bin/true")[2]
    assert not list(cache.iterdir())
    code, _, err = run("--cache=show")
    assert code == 1 and "others can write" in err


NUMBERS = "getpid getppid getuid geteuid getgid getegid getpgrp clock rand random lrand48 mrand48".split()
OF_ONE = "abs labs llabs ffs ffsl toascii isatty isalpha isdigit isspace toupper tolower l64a getsid".split()


@pytest.mark.parametrize("tool", TOOLS)
def test_what_cannot_be_added_is_not_written_again(tool, cache, tmp_path):
    """Entries of linkage tables, which are made anew in each run once they are bound.

    What else is new in a run depends on who comes first: one of some has too little to write.
    """
    names = [(name, "") for name in NUMBERS] + [(name, "7") for name in OF_ONE]
    declared = "".join(f"long {name}({'long' if of else 'void'});\n" for name, of in names)
    calls = "".join(f"        {name}({of});\n" for name, of in names)
    text = f"{declared}int main(void) {{\n    for (int i = 0; i < 3; i++) {{\n{calls}    }}\n}}\n"
    program = compiled(tmp_path, "bound", text, "-fno-builtin", "-no-pie", "-Wl,-z,lazy")
    while not is_settled(program.stat().st_ctime_ns):  # until then nothing is remembered of it
        time.sleep(0.1)
    run(f"--tool={tool}", "-q", program)
    begun = []
    while not begun or (begun[-1] and len(begun) < 10):
        before = cache.stat().st_mtime_ns
        made, kept = counts(run(f"--tool={tool}", "--stats=yes", program)[2])
        assert made > len(names) and kept > made
        begun.append(cache.stat().st_mtime_ns != before)
    assert not begun[-1], "each run began a file"


def test_the_size_has_a_limit(cache):
    for program in ("/bin/true", "/bin/ls", "/bin/cat"):
        run("-q", "--cache-size=1", program, "/dev/null")
        assert sum(path.stat().st_size for path in cache.iterdir()) <= 1 << 20


def test_what_a_full_file_has_stays(cache, tmp_path):
    """It was replaced by what it had no room for: each run threw away what the one before had kept."""
    functions = "".join(f"long f{i}(long x) {{ return x * {i} + v; }}\n" for i in range(2000))
    calls = "".join(f"    v = f{i}(v);\n" for i in range(2000))
    text = f"volatile long v;\n{functions}int main(void) {{\n{calls}    return 0;\n}}\n"
    program = compiled(tmp_path, "large", text, "-O0", "-static")
    words = ("--tool=memcheck", "--stats=yes", "--cache-size=1", program)
    made, kept = counts(run(*words)[2])
    assert made > 3000 and kept == 0
    full = code_files(cache)[-1].read_bytes()
    for _ in range(2):
        made, kept = counts(run(*words)[2])
        assert made > 1000 and kept > 100
        assert code_files(cache)[-1].read_bytes() == full


CHOICES = r"""
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <valgrind/valgrind.h>

/* In a resolver nothing of the C library may be used. */
static long call(long nr, long a, long b, long c) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(nr), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}
static int wants_other(int which) {
    char text[8] = "";
    long fd = call(SYS_open, (long)CHOICE, O_RDONLY, 0);
    call(SYS_read, fd, (long)text, sizeof text);
    call(SYS_close, fd, 0, 0);
    return text[which] == 'b';
}
#define FUNCTION(name, which)                                                                      \
    __attribute__((noipa)) int name##_usual(int x) { return x + 1; }                               \
    __attribute__((noipa)) int name##_other(int x) { return x + 2; }                               \
    static void *name##_pick(void) { return wants_other(which) ? name##_other : name##_usual; }    \
    int name(int) __attribute__((ifunc(#name "_pick")));                                           \
    int I_WRAP_SONAME_FNNAME_ZU(NONE, name)(int x) {                                               \
        OrigFn original;                                                                           \
        int result;                                                                                \
        VALGRIND_GET_ORIG_FN(original);                                                            \
        CALL_FN_W_W(result, original, x);                                                          \
        return result * 100;                                                                       \
    }
FUNCTION(first, 0)
FUNCTION(second, 1)
FUNCTION(third, 2)
FUNCTION(fourth, 3)
#define SHOW(name) printf(#name " %d %d %d\n", name(0), name##_usual(0), name##_other(0))
int main(void) {
    SHOW(first);
    SHOW(second);
    SHOW(third);
    SHOW(fourth);
    return 0;
}
"""


@pytest.mark.parametrize("tool", TOOLS)
def test_what_resolvers_chose_is_bound_before_they_choose(tool, cache, tmp_path):
    choice = tmp_path / "choice"
    program = compiled(tmp_path, "choices", CHOICES, f'-DCHOICE="{choice}"', f"-I{paths.include()}")
    while not is_settled(program.stat().st_ctime_ns):  # until then nothing is remembered of it
        time.sleep(0.1)

    def chosen(letters: str) -> int:
        """The requests of a run in which this is chosen."""
        choice.write_text(letters)
        code, out, err = run("-q", "-d", "-d", f"--tool={tool}", program)
        numbers = {"a": "100 100 2", "b": "200 1 200"}
        names = ("first", "second", "third", "fourth")
        expected = "".join(f"{name} {numbers[letter]}\n" for name, letter in zip(names, letters, strict=True))
        assert (code, out) == (0, expected), err
        return len(re.findall(r": request 0x", err))

    asked = chosen("aaaa")
    for _ in range(2):
        assert chosen("aaaa") <= asked - 3
    for letters in ("aaba", "abab", "aaaa", "bbbb", "aaaa"):
        chosen(letters)
    assert chosen("aaaa") <= asked - 3


def test_that_nothing_can_be_added_is_said_under_v(tmp_path):
    variables = {"XDG_CACHE_HOME": "", "HOME": str(tmp_path / "missing")}
    assert "cache: nothing can be added: " in run("-v", "/bin/true", **variables)[2]
    assert run("/bin/true", **variables)[2].count("cache") == 0
