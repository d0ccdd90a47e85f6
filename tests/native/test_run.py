"""`--engine=native`: whole programs. What both engines do alike is in tests/wrap."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hooks.conftest import needs_frida

from interpose import paths

pytestmark = needs_frida
GUESTS = Path(__file__).resolve().parents[1] / "guests"
FLAGS = ("-g", "-O1", "-falign-functions=16", "-w", f"-I{paths.include()}")


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("native")


def compile_text(folder: Path, name: str, text: str, *flags: str) -> Path:
    source = folder / f"{name}.c"
    source.write_text(text)
    out = folder / name
    subprocess.run(["gcc", *FLAGS, str(source), "-o", str(out), *flags], check=True)
    return out


def interpose(*words: object, **more: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "interpose", "--engine=native", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **more)


WRAPPER = """
#include <interpose/interpose.h>
int INTERPOSE_WRAP_SONAME_FNNAME_ZU(NONE, twice)(int x) {
    int r;
    InterposeOrigFn f;
    INTERPOSE_GET_ORIG_FN(f);
    INTERPOSE_CALL_FN_W_W(r, f, x);
    return r + 100;
}
"""
PROGRAM = """
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
__attribute__((noipa)) int twice(int x) { return 2 * x; }
__attribute__((constructor)) static void early(void) { printf("early %d\\n", twice(1)); }
int main(int argc, char **argv) {
    printf("main %d, %d words, descriptor %d\\n", twice(2), argc, open("/", O_PATH));
    fflush(stdout);
    if (argc > 1) raise(atoi(argv[1]));
    return 7;
}
"""


@pytest.fixture(scope="session")
def wrapper(folder: Path) -> Path:
    return compile_text(folder, "wrapper.so", WRAPPER, "-shared", "-fPIC")


@pytest.fixture(scope="session")
def program(folder: Path) -> Path:
    return compile_text(folder, "program", PROGRAM, "-rdynamic")


def test_wrappers_named_by_the_option(program: Path, wrapper: Path) -> None:
    """Constructors are wrapped, too, and descriptors have their native numbers."""
    found = interpose(f"--wrappers={wrapper}", program)
    assert (found.stdout, found.stderr, found.returncode) == (
        "early 102\nmain 104, 1 words, descriptor 3\n",
        "",
        7,
    )


def test_without_wrappers_nothing_changes(program: Path) -> None:
    found = interpose(program)
    assert (found.stdout, found.stderr, found.returncode) == (
        "early 2\nmain 4, 1 words, descriptor 3\n",
        "",
        7,
    )


@pytest.mark.parametrize("signo", [9, 11, 15])
def test_death_by_signal_is_the_programs(program: Path, wrapper: Path, signo: int) -> None:
    found = interpose(f"--wrappers={wrapper}", program, signo)
    assert (found.returncode, found.stdout) == (-signo, "early 102\nmain 104, 2 words, descriptor 3\n")


def test_wrappers_of_the_heap(folder: Path) -> None:
    """The agent's own threads use none of them."""
    wrap = GUESTS / "wrap"
    flags = [*FLAGS, "-DOURS", "-fno-builtin", f"-I{wrap}"]
    library, program = folder / "around.so", folder / "around"
    source = wrap / "around_wrapper.c"
    subprocess.run(["gcc", *flags, "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    subprocess.run(["gcc", *flags, str(wrap / "around.c"), "-o", str(program)], check=True)
    found = interpose(program, env={**os.environ, "LD_PRELOAD": str(library)})
    assert found.stdout == "malloc of 1234\none two, 7\nall called 1, original is malloc 1\n", found.stderr


def test_broken_libraries_are_one_line_each(program: Path, wrapper: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.so"
    text.write_text("no library")
    found = interpose(f"--wrappers={tmp_path}/missing.so,{text},{wrapper}", program)
    assert found.stdout.startswith("early 102\n") and found.returncode == 7
    lines = found.stderr.splitlines()
    assert len(lines) == 2
    assert "cannot load the wrappers" in lines[0] and "missing.so" in lines[0]
    assert "text.so" in lines[1]


def test_functions_without_room_are_named(folder: Path) -> None:
    text = """
#include <stdio.h>
#include <interpose/interpose.h>
int tiny(int), looped(int);
__asm__(".fill 200, 1, 0xf4\\n.globl tiny, looped; .type tiny, @function; .type looped, @function\\n"
        "tiny: lea 1(%rdi), %eax\\n ret\\n .size tiny, . - tiny\\n"
        "looped: mov %edi, %eax\\n1: dec %eax\\n jg 1b\\n ret\\n .size looped, . - looped\\n"
        ".fill 200, 1, 0xf4\\n");
int INTERPOSE_WRAP_SONAME_FNNAME_ZU(NONE, tiny)(int x) { return -1; }
int INTERPOSE_WRAP_SONAME_FNNAME_ZU(NONE, looped)(int x) { return -2; }
int main(void) { printf("%d %d\\n", tiny(1), looped(3)); }
"""
    found = interpose(compile_text(folder, "short", text))
    assert found.stdout == "2 0\n"
    lines = found.stderr.splitlines()
    assert len(lines) == 2 and all("Warning: cannot redirect NONE:" in line for line in lines)
    assert "NONE:tiny" in lines[0] and "after 4 something else begins" in lines[0]
    assert "NONE:looped" in lines[1] and "after 2 something else" in lines[1]


def test_refusals_are_one_line(folder: Path, program: Path) -> None:
    static = compile_text(folder, "static", "int main(void) { return 0; }", "-static")
    found = interpose(static)
    assert found.returncode == 1 and found.stderr.startswith(f"interpose: {static}: it is statically linked")
    assert found.stderr.count("\n") == 1
    found = interpose("--tool=memcheck", program)
    assert found.returncode == 1 and "native engine has no tools" in found.stderr
    found = interpose("/nonexistent/program")
    assert found.returncode == 127 and found.stderr.count("\n") == 1


def test_a_crashing_wrapper_is_the_programs_crash(folder: Path, program: Path) -> None:
    text = """
#include <interpose/interpose.h>
int INTERPOSE_REPLACE_SONAME_FNNAME_ZU(NONE, twice)(int x) { return *(volatile int *)0; }
"""
    library = compile_text(folder, "crashing.so", text, "-shared", "-fPIC")
    found = interpose(f"--wrappers={library}", program)
    assert (found.returncode, found.stdout, found.stderr) == (-11, "", "")


FAMILY = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>
#include <sys/wait.h>
__attribute__((noipa)) int twice(int x) { return 2 * x; }
static void tell(const char *who) {
    printf("%s %d, %s, %s\\n", who, twice(1), getenv("KEPT"), program_invocation_short_name);
    fflush(stdout);
}
int main(int argc, char **argv) {
    tell(argv[1]);
    if (strcmp(argv[1], "first")) {
        printf("descriptor %d\\n", open("/", O_PATH));
        return 5;
    }
    if (fork() == 0) {
        tell("child");
        void *wrapper = dlopen(argv[2], RTLD_NOW);
        tell("opened");
        dlclose(wrapper);
        tell("closed");
        exit(0);
    }
    wait(0);
    tell("parent");
    char command[4096];
    snprintf(command, sizeof command, "exec %s spawned", argv[0]);
    printf("status %d\\n", WEXITSTATUS(system(command)));
    printf("no program %d\\n", execl("/nonexistent", "x", NULL));
    tell("still");
    execl(argv[0], argv[0], "executed", NULL);
}
"""


def family(twice: int, opened: int, executed: int) -> str:
    def line(who: str, value: int) -> str:
        return f"{who} {value}, yes, family\n"

    first = line("first", twice) + line("child", twice) + line("opened", opened) + line("closed", twice)
    after = line("parent", twice) + line("spawned", executed) + "descriptor 3\nstatus 5\nno program -1\n"
    return first + after + line("still", twice) + line("executed", executed) + "descriptor 3\n"


@pytest.fixture(scope="session")
def relatives(folder: Path) -> Path:
    return compile_text(folder, "family", FAMILY, "-rdynamic")


def test_forked_children_are_followed(relatives: Path, wrapper: Path) -> None:
    env = {**os.environ, "KEPT": "yes"}
    found = interpose(relatives, "first", wrapper, env=env)
    assert (found.stdout, found.stderr, found.returncode) == (family(2, 102, 2), "", 5)


def test_executed_programs_are_followed_where_wanted(relatives: Path, wrapper: Path) -> None:
    env = {**os.environ, "KEPT": "yes"}
    options = ["--trace-children=yes", f"--wrappers={wrapper}"]
    found = interpose(*options, relatives, "first", wrapper, env=env)
    assert (found.stdout, found.stderr, found.returncode) == (family(102, 102, 102), "", 5)
    found = interpose(*options, "--trace-children-skip=*/family", relatives, "first", wrapper, env=env)
    assert (found.stdout, found.stderr, found.returncode) == (family(102, 102, 2), "", 5)


def test_scripts_and_shells(tmp_path: Path, program: Path, wrapper: Path) -> None:
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\n{program}\n{program} 15\necho $? $0\n")
    script.chmod(0o755)
    found = interpose("--trace-children=yes", f"--wrappers={wrapper}", script)
    text = "early 102\nmain 104, 1 words, descriptor 3\nearly 102\nmain 104, 2 words, descriptor 3\n"
    assert (found.stdout, found.returncode) == (f"{text}143 {script}\n", 0), found.stderr


def test_the_process_is_the_one_that_was_started(tmp_path: Path) -> None:
    """Its number, its parent, its session and its signals are those of a native run."""
    text = (
        "import os, signal; print(os.getpid(), os.getppid(), os.getsid(0), flush=True);"
        "signal.raise_signal(10)"
    )
    command = [sys.executable, "-m", "interpose", "--engine=native", sys.executable, "-c", text]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    out, _ = process.communicate(timeout=60)
    assert out.split() == [str(process.pid), str(os.getpid()), str(os.getsid(0))]
    assert process.returncode == -10


def redirections(*options: object, env: dict[str, str]) -> tuple[list[str], list[str]]:
    """The last state that --trace-redir=yes shows, without addresses: its rules, and the active bindings."""
    command = [sys.executable, "-m", "interpose", "--trace-redir=yes", *map(str, options)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60, env=env)
    lines = [re.sub(r"^--\d+-- ", "", line) for line in found.stderr.splitlines() if line.startswith("--")]
    state = "\n".join(lines).rpartition("<<\n")[2].splitlines()
    state = [re.sub(r"0x[0-9a-f]+", "ADDRESS", line).strip() for line in state]
    middle = state.index("------ ACTIVE ------")
    return [line for line in state[:middle] if "->" in line], [
        line for line in state[middle:] if "->" in line
    ]


def test_both_engines_tell_of_the_same_redirections(program: Path, wrapper: Path) -> None:
    env = {**os.environ, "LD_PRELOAD": str(wrapper)}
    rules, active = redirections("--tool=none", program, env=env)
    assert len(rules) == len(active) == 1 and "twice" in rules[0]
    assert redirections("--engine=native", program, env=env) == (rules, active)


CLOCKS = """
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
int main(void) {
    struct timeval now;
    struct timespec when;
    printf("%d %d %d\\n", time(0) > 0, gettimeofday(&now, 0), clock_gettime(CLOCK_MONOTONIC, &when));
}
"""


def test_clocks_of_the_vdso_are_refused_in_a_line_each(folder: Path, tmp_path: Path) -> None:
    hooks = tmp_path / "hooks.py"
    hooks.write_text(
        "import interpose\nfor name in ('time', 'gettimeofday', 'clock_gettime'):\n"
        "    @interpose.wrap('libc.so*', name)\n"
        "    def hook(call, first: interpose.Pointer, second: interpose.Pointer) -> int:\n"
        "        print(call.function)\n        return call(first, second)\n"
    )
    found = interpose(f"--hooks={hooks}", compile_text(folder, "clocks", CLOCKS))
    assert (found.stdout, found.returncode) == ("1 0 0\n", 0)
    refused = re.findall(r"Warning: cannot redirect libc\.so\*:(\w+) ", found.stderr)
    said = re.findall(r"^\*\*\d+\*\* (\w+)$", found.stderr, re.MULTILINE)
    assert sorted(refused + said) == ["clock_gettime", "gettimeofday", "time"] and "clock_gettime" in said
