"""Hooks in Python on the real CPU, where that differs from the other engine (tests/hooks has the rest)."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hooks.conftest import needs_frida
from native.test_attach import Running, interpose, parent_of
from native.test_life import wait_until
from native.test_run import compile_text

import interpose as package

pytestmark = needs_frida

# Answers lines: what it got, and the numbers of its descriptors.
PROGRAM = """
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noipa)) int twice(int x) { return 2 * x; }
__attribute__((noipa)) int waits(int x) { return poll(0, 0, 1000 * x); }
static void *calls(void *p) { return (void *)(long)twice((int)(long)p); }
static int in_vfork(void *p) { _exit(twice(3)); }
static void status(int pid) {
    int got, after;
    waitpid(pid, &got, 0);
    after = twice(2);
    printf("%d %d\\n", WEXITSTATUS(got), after);
}
int main(int argc, char **argv) {
    char line[4096];
    if (argc > 1) {
        printf("%s %d\\n", argv[1], twice(7));
        return 0;
    }
    while (fgets(line, sizeof line, stdin)) {
        int pid;
        void *got = 0;
        switch (line[0]) {
        case 'f':
            if (!(pid = fork())) _exit(twice(1));
            status(pid);
            break;
        case 'r': /* a fork that the C library does not hear of */
            if (!(pid = syscall(SYS_fork))) _exit(twice(1));
            status(pid);
            break;
        case 'v': {
            static char stack[1 << 16];
            pid = clone(in_vfork, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, 0);
            status(pid);
            break;
        }
        case 't':
            for (int i = 0; i < 200; i++) {
                pthread_t thread;
                pthread_create(&thread, 0, calls, (void *)(long)i);
                pthread_join(thread, &got);
            }
            printf("%d\\n", (int)(long)got);
            break;
        case 'c':
            close_range(3, ~0u, 0);
            printf("%d\\n", twice(4));
            break;
        case 'w': printf("%d\\n", waits(atoi(line + 1))); break;
        case 'x': execl("/proc/self/exe", "x", "executed", NULL); break;
        default: errno = 7; printf("%d %d\\n", twice(5), errno);
        }
        fflush(stdout);
    }
    return 7;
}
"""
HOOKS = """
import interpose
count = 0
@interpose.wrap("NONE", "twice")
def twice(call, x: int) -> int:
    global count
    count += 1
    return call(x) + 100 * count
@interpose.wrap("NONE", "waits")
def waits(call, x: int) -> int:
    return call(x) + 5
"""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("nativehooks")


@pytest.fixture(scope="session")
def program(folder: Path) -> Path:
    return compile_text(folder, "program", PROGRAM, "-pthread")


@pytest.fixture(scope="session")
def hooks(folder: Path) -> Path:
    file = folder / "hooks.py"
    file.write_text(HOOKS)
    return file


def start(program: Path, hooks: Path | str, *options: str) -> Running:
    return Running(
        sys.executable, "-m", "interpose", "--engine=native", "-q", *options, f"--hooks={hooks}", program
    )


def ended(running: Running) -> int:
    assert running.process.stdin
    running.process.stdin.close()
    return running.process.wait(20)


def test_in_and_out_of_a_process_that_runs(program: Path, hooks: Path) -> None:
    running = Running(program)
    try:
        assert running.ask() == "10 7"
        descriptors = running.names("fd")
        for _ in range(2):
            found = interpose(f"--attach={running.pid}", f"--hooks={hooks}")
            assert (found.returncode, found.stdout, found.stderr) == (0, "", "")
            assert [running.ask(), running.ask()] == ["110 7", "210 7"]
            assert interpose(f"--detach={running.pid}").returncode == 0
            assert running.ask() == "10 7"
            assert "interpose" not in running.maps()
            assert wait_until(lambda: running.names("fd") == descriptors)
            assert wait_until(lambda: processes_with(f"--attach={running.pid}") == [])
        assert ended(running) == 7
    finally:
        running.process.kill()


def processes_with(option: str) -> list[int]:
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if option.encode() in Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0"):
                found.append(int(name))
        except OSError:
            continue
    return sorted(found)


def test_every_kind_of_child_has_hooks_of_its_own(program: Path, hooks: Path) -> None:
    """A child has a copy of the hooks' variables; one that shares its parent's memory shares them."""
    running = start(program, hooks)
    try:
        assert running.ask() == "110 7"
        assert running.ask("f") == f"{(2 + 200) & 255} {4 + 200}"
        assert running.ask("r") == f"{(2 + 300) & 255} {4 + 300}"
        assert running.ask("v") == f"{(6 + 400) & 255} {4 + 500}"
        assert running.ask("t") == f"{398 + 100 * 205}"
        assert ended(running) == 7
    finally:
        running.process.kill()


def test_program_that_closes_every_descriptor(program: Path, hooks: Path) -> None:
    running = start(program, hooks)
    try:
        assert running.ask() == "110 7"
        assert running.ask("c") in ("208", "8")  # Frida leaves, and takes the bindings with it, some time
    finally:
        running.process.kill()


def test_executed_program_goes_on_with_the_hooks(program: Path, hooks: Path) -> None:
    running = start(program, hooks, "--trace-children=yes")
    try:
        assert running.ask() == "110 7"
        assert running.ask("x") == "executed 214"
        assert running.process.wait(20) == 0
    finally:
        running.process.kill()
    running = start(program, hooks)
    try:
        assert running.ask() == "110 7"
        assert running.ask("x") == "executed 14"
    finally:
        running.process.kill()


def test_hooks_of_what_the_engine_itself_follows(program: Path, tmp_path: Path) -> None:
    """A program that is executed is followed behind the hook of the call."""
    file = tmp_path / "hooks.py"
    file.write_text(
        HOOKS + "@interpose.wrap('libc.so*', 'execve')\n"
        "def execve(call, path: interpose.CString) -> int:\n    print(path)\n    return call(path)\n"
        "@interpose.wrap('ld-linux*', '_dl_debug_state')\n"
        "def changed(call) -> None:\n    call()\n"
    )
    command = [
        sys.executable,
        "-m",
        "interpose",
        "--engine=native",
        "--trace-children=yes",
        "-q",
        f"--hooks={file}",
    ]
    found = subprocess.run(
        [*command, str(program)], input="a\nx\n", capture_output=True, text=True, timeout=60
    )
    assert (found.stdout, found.returncode) == ("110 7\nexecuted 214\n", 0), found.stderr
    assert re.fullmatch(r"\*\*\d+\*\* /proc/self/exe\n", found.stderr)


def test_leaving_while_a_hook_waits(program: Path, hooks: Path) -> None:
    """The function returns to the stub, which has nobody to ask."""
    running = Running(program)
    try:
        assert running.ask() == "10 7"
        assert interpose(f"--attach={running.pid}", f"--hooks={hooks}").returncode == 0
        assert running.process.stdin and running.process.stdout
        running.process.stdin.write("w4\n")
        running.process.stdin.flush()
        time.sleep(0.3)
        assert interpose(f"--detach={running.pid}").returncode == 0
        assert running.process.stdout.readline() == "0\n"
        assert running.ask() == "10 7"
        assert ended(running) == 7
    finally:
        running.process.kill()


def test_process_with_the_hooks_is_killed(program: Path, tmp_path: Path) -> None:
    """The program goes on without them, in calls that wait too."""
    file = tmp_path / "hooks.py"
    file.write_text(
        "import interpose, os\n@interpose.wrap('NONE', 'twice')\ndef twice(call, x: int) -> int:\n"
        "    if call(x) == 10:\n        os.kill(os.getpid(), 9)\n    return 1\n"
    )
    command = [sys.executable, "-m", "interpose", "--engine=native", "-q", f"--hooks={file}", str(program)]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    try:
        assert process.stdin and process.stderr
        process.stdin.write("t\na\n")
        process.stdin.flush()
        line = process.stderr.readline()
        assert "The process that runs the hooks is gone (killed?); the program goes on without them" in line
        out, err = process.communicate("b\nf\n", timeout=60)
        assert (out, err, process.returncode) == ("398\n10 7\n10 7\n2 4\n", "", 7)
    finally:
        process.kill()


def test_supervisor_is_killed(program: Path, hooks: Path) -> None:
    """Nobody stays, and the functions are what they were."""
    running = Running(program)
    try:
        assert interpose(f"--attach={running.pid}", f"--hooks={hooks}").returncode == 0
        assert running.ask() == "110 7"
        ours = processes_with(f"--attach={running.pid}")
        (supervisor,) = [pid for pid in ours if parent_of(pid) not in ours]
        os.kill(supervisor, signal.SIGKILL)
        end = time.monotonic() + 10
        while (
            running.ask() != "10 7" or processes_with(f"--attach={running.pid}")
        ) and time.monotonic() < end:
            time.sleep(0.05)
        assert running.ask() == "10 7"
        assert processes_with(f"--attach={running.pid}") == []
    finally:
        running.process.kill()


def test_run_with_a_registry_of_this_process(program: Path) -> None:
    registry = package.Registry()
    seen = []

    @registry.wrap("NONE", "twice")
    def twice(call, x: int) -> int:
        seen.append((x, call.pid, [frame.function for frame in call.stack][:1]))
        return call(x) + 1

    run = package.run(
        [program],
        tool="none",
        engine="native",
        hooks=[registry],
        input="a\nf\n",
        capture_output=True,
        text=True,
    )
    assert (run.stdout, run.returncode) == ("11 7\n3 5\n", 7)
    assert sorted(x for x, _, _ in seen) == [1, 2, 5]
    assert len({pid for _, pid, _ in seen}) == 2
    assert all(stack in (["main"], ["status"]) for _, _, stack in seen)
    assert (run.report.complete, run.report.processes[0].code, run.log) == (True, 7, "")


GENERATIONS = """
#define _GNU_SOURCE
#include <errno.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noipa)) int twice(int x) { return 2 * x; }
int main(int argc, char **argv) {
    int first = argc > 1 ? (int)syscall(SYS_fork) : fork();
    if (!first && argc == 1 && !fork()) {
        errno = 5;
        _exit(twice(1) != 2 || errno != 42);
    }
    int status = 0;
    wait(&status);
    if (!first) _exit(twice(2) != 4 || errno != 42 || status);
    return twice(3) != 6 || errno != 42 || status;
}
"""


@pytest.mark.parametrize("words", [(), ("without the C library",)])
def test_names_in_children_that_load_nothing(words: tuple[str, ...], tmp_path: Path) -> None:
    """What a hook asks about objects is answered in forked children of any generation.

    One that is forked without the C library forks no more: it may have copied a lock that the agent held.
    """
    program = compile_text(tmp_path, "program", GENERATIONS)
    hooks = tmp_path / "hooks.py"
    hooks.write_text(
        "import interpose\n@interpose.wrap('NONE', 'twice')\ndef twice(call, x: int) -> int:\n"
        "    print(x, call.function, call.object, call.invoke('getpid') == call.pid)\n"
        "    result = call(x)\n    call.errno = 42\n    return result\n"
    )
    found = interpose("--engine=native", "-q", f"--hooks={hooks}", program, *words)
    assert (found.returncode, found.stdout) == (0, ""), found.stderr
    said = sorted(line.partition(" ")[2] for line in found.stderr.splitlines())
    assert said == [f"{x} twice NONE True" for x in ((2, 3) if words else (1, 2, 3))]


def test_hooks_of_what_a_dlclose_calls(tmp_path: Path) -> None:
    """The dynamic linker calls these while objects go away, when calls go to the originals."""
    compile_text(tmp_path, "library.so", "int one(void) { return 1; }", "-shared", "-fPIC")
    text = """
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
__attribute__((noipa)) int twice(int x) { return 2 * x; }
int main(int argc, char **argv) {
    int bad = 0;
    for (int i = 0; i < 2; i++) {
        void *opened = dlopen(argv[1], RTLD_NOW);
        bad |= !opened || ((int (*)(void))dlsym(opened, "one"))() != 1 || dlclose(opened);
        bad |= twice(4) != 9;
    }
    printf("%d\\n", bad);
    return 3;
}
"""
    program = compile_text(tmp_path, "program", text)
    hooks = tmp_path / "hooks.py"
    hooks.write_text(
        "import interpose\n"
        "for name in 'free munmap pthread_mutex_lock'.split():\n"
        "    @interpose.wrap('*', name)\n    def hook(call):\n        call()\n"
        "@interpose.wrap('NONE', 'twice')\ndef twice(call, x: int) -> int:\n    return call(x) + 1\n"
    )
    found = interpose("--engine=native", "-q", f"--hooks={hooks}", program, tmp_path / "library.so")
    assert (found.stdout, found.stderr, found.returncode) == ("0\n", "", 3)
