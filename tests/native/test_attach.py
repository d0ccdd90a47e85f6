"""`--attach` and `--detach`: into a process that runs, and out of it."""

from __future__ import annotations

import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hooks.conftest import needs_frida
from native.test_life import wait_until
from native.test_run import WRAPPER, compile_text

from interpose import paths

pytestmark = needs_frida

# With an argument two threads call. The first tells what it gets when it reads a line, and opens what the
# line names.
PROGRAM = """
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((noipa)) int twice(int x) { return 2 * x; }
static volatile int odd;
static void *calls(void *p) {
    for (;;) {
        int got = twice(1);
        if (got != 2 && got != 102) odd = got;
    }
}
int main(int argc, char **argv) {
    char line[4096];
    pthread_t thread;
    void *opened = 0;
    if (argc > 1) pthread_create(&thread, 0, calls, 0);
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\\n")] = 0;
        if (line[0] == '/') opened = dlopen(line, RTLD_NOW);
        if (line[0] == '-') dlclose(opened);
        printf("%d %d\\n", twice(5), odd);
        fflush(stdout);
    }
    return 7;
}
"""


def interpose(*words: object, **more: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "interpose", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=20, **more)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("attach")


@pytest.fixture(scope="session")
def wrapper(folder: Path) -> Path:
    return compile_text(folder, "wrapper.so", WRAPPER, "-shared", "-fPIC")


@pytest.fixture(scope="session")
def program(folder: Path) -> Path:
    return compile_text(folder, "program", PROGRAM, "-pthread")


class Running:
    """A process, asked by lines."""

    def __init__(self, *command: object) -> None:
        self.process = subprocess.Popen(
            list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.pid = self.process.pid

    def ask(self, line: object = "") -> str:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def names(self, what: str) -> set[str]:
        return set(os.listdir(f"/proc/{self.pid}/{what}"))

    def maps(self) -> str:
        return Path(f"/proc/{self.pid}/maps").read_text()


@pytest.fixture
def running(program: Path) -> Iterator[Running]:
    found = Running(program)
    assert found.ask() == "10 0"
    yield found
    found.process.kill()
    found.process.wait()


@pytest.fixture
def calling(program: Path) -> Iterator[Running]:
    found = Running(program, "threads")
    assert found.ask() == "10 0"
    yield found
    found.process.kill()
    found.process.wait()


def test_in_and_out_and_in_again(calling: Running, wrapper: Path) -> None:
    descriptors, threads = calling.names("fd"), calling.names("task")
    for _ in range(3):
        found = interpose(f"--attach={calling.pid}", f"--wrappers={wrapper}")
        assert (found.returncode, found.stdout, found.stderr) == (0, "", "")
        assert calling.ask() == "110 0"
        found = interpose(f"--detach={calling.pid}")
        assert (found.returncode, found.stdout, found.stderr) == (0, "", "")
        assert calling.ask() == "10 0"
        assert calling.names("fd") == descriptors
        end = time.monotonic() + 10
        while calling.names("task") != threads and time.monotonic() < end:
            time.sleep(0.05)
        assert calling.names("task") == threads
        assert "wrapper.so" not in calling.maps() and "interpose" not in calling.maps()
    assert calling.process.stdin
    calling.process.stdin.close()
    assert calling.process.wait(10) == 7


# Forks, and calls there and here: each line names who answers. A child forks by the kernel's call alone.
FAMILY = """
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
__attribute__((noipa)) int twice(int x) { return 2 * x; }
int main(void) {
    static int to[4][2], from[2], pids[4];
    char line[100];
    for (int i = 0; i < 4; i++) pipe(to[i]);
    pipe(from);
    pids[0] = getpid();
    for (int me = 0; me ? read(to[me][0], line, 1) > 0 : !!fgets(line, sizeof line, stdin);) {
        prctl(PR_SET_PDEATHSIG, me ? SIGKILL : 0);
        int other = me ? 0 : atoi(line + 1), pid = 0;
        if (line[0] == 'f') {
            if (!(pid = other == 3 ? syscall(SYS_fork) : fork())) {
                me = other;
                line[0] = 'n';
            } else {
                pids[other] = pid;
                if (me == 0) printf("%d\\n", pid);
            }
        } else if (line[0] == 'g') { /* the first child's child */
            write(to[1][1], "2", 1);
            read(from[0], &pid, sizeof pid);
            printf("%d\\n", pid);
        } else if (me == 0 && line[0] == 'c') {
            int got;
            write(to[other][1], "c", 1);
            read(from[0], &got, sizeof got);
            printf("%d\\n", got);
        } else if (me == 0)
            printf("%d\\n", twice(5));
        if (me && line[0] == 'c') {
            int got = twice(5);
            write(from[1], &got, sizeof got);
        }
        if (me == 1 && line[0] == '2') {
            if ((pid = fork()))
                write(from[1], &pid, sizeof pid);
            else
                me = 2;
        }
        fflush(stdout);
    }
    return 7;
}
"""


@pytest.fixture
def family(folder: Path) -> Iterator[Running]:
    found = Running(compile_text(folder, "family", FAMILY))
    assert found.ask() == "10"
    yield found
    found.process.kill()
    found.process.wait()


def test_children_are_left_with_their_parent(family: Running, wrapper: Path) -> None:
    """Children, theirs, and those that nobody has told of; with the agent's descriptors."""
    before = family.names("fd")
    assert interpose(f"--attach={family.pid}", f"--wrappers={wrapper}").returncode == 0
    pids = [int(family.ask("f1")), int(family.ask("g")), int(family.ask("f3"))]
    assert [family.ask(line) for line in ("", "c1", "c2", "c3")] == ["110"] * 4
    found = interpose(f"--detach={family.pid}")
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")
    assert [family.ask(line) for line in ("", "c1", "c2", "c3")] == ["10"] * 4
    for pid in (family.pid, *pids):
        # The agent's last thread goes by itself.
        assert wait_until(lambda pid=pid: set(os.listdir(f"/proc/{pid}/fd")) == before), pid
        assert "interpose" not in Path(f"/proc/{pid}/maps").read_text()
        one_line(interpose(f"--detach={pid}"), "it is not attached to")
    assert wait_until(lambda: not any(is_ours(name, family.pid) for name in os.listdir("/proc")), 60)


def test_child_is_left_alone_by_its_own_number(family: Running, wrapper: Path) -> None:
    assert interpose(f"--attach={family.pid}", f"--wrappers={wrapper}").returncode == 0
    child, grandchild = int(family.ask("f1")), int(family.ask("g"))
    assert interpose(f"--detach={grandchild}").returncode == 0
    assert [family.ask(line) for line in ("", "c1", "c2")] == ["110", "110", "10"]
    assert interpose(f"--attach={grandchild}", f"--wrappers={wrapper}").returncode == 0
    assert [family.ask(line) for line in ("", "c1", "c2")] == ["110"] * 3
    assert interpose(f"--detach={child}").returncode == 0
    assert [family.ask(line) for line in ("", "c1", "c2")] == ["110", "10", "110"]
    assert interpose(f"--detach={family.pid}").returncode == 0
    assert [family.ask(line) for line in ("", "c1", "c2")] == ["10", "10", "110"]
    assert interpose(f"--detach={grandchild}").returncode == 0
    assert family.ask("c2") == "10"


def test_what_is_opened_later_is_bound(running: Running, wrapper: Path) -> None:
    assert interpose(f"--attach={running.pid}").returncode == 0
    assert running.ask() == "10 0"
    assert running.ask(wrapper) == "110 0"
    assert running.ask("-") == "10 0"
    assert running.ask(wrapper) == "110 0"
    assert interpose(f"--detach={running.pid}").returncode == 0
    assert running.ask() == "10 0"


def test_a_killed_supervisor_takes_the_wrappers_with_it(running: Running, wrapper: Path) -> None:
    assert interpose(f"--attach={running.pid}", f"--wrappers={wrapper}").returncode == 0
    assert running.ask() == "110 0"
    os.kill(supervisor_of(running.pid), signal.SIGKILL)
    end = time.monotonic() + 10
    while (answer := running.ask()) != "10 0" and time.monotonic() < end:
        time.sleep(0.05)
    assert answer == "10 0"


def one_line(found: subprocess.CompletedProcess[str], text: str) -> None:
    assert found.returncode == 1, found.stderr
    assert found.stderr.count("\n") == 1 and text in found.stderr, found.stderr


def test_refusals(running: Running, calling: Running, folder: Path) -> None:
    one_line(interpose("--attach=4194000"), "process 4194000: there is no such process")
    one_line(interpose(f"--detach={running.pid}"), "it is not attached to")
    thread = max(calling.names("task"), key=int)
    one_line(interpose(f"--attach={thread}"), f"this is a thread of process {calling.pid}")
    assert interpose(f"--attach={running.pid}").returncode == 0
    one_line(interpose(f"--attach={running.pid}"), "it is attached to already")
    found = interpose(f"--attach={running.pid}", "/bin/true")
    assert found.returncode == 1 and "take no program" in found.stderr
    assert interpose(f"--detach={running.pid}").returncode == 0
    one_line(
        interpose(f"--attach={running.pid}", "--wrappers=/none.so"), "/none.so: there is no such library"
    )
    assert running.ask() == "10 0"
    source = "#include <unistd.h>\nint main(void) { pause(); }"
    static = Running(compile_text(folder, "static", source, "-static"))
    try:
        one_line(interpose(f"--attach={static.pid}"), "statically linked")
    finally:
        static.process.kill()
        static.process.wait()
    one_line(interpose(f"--attach={static.pid}"), "there is no such process")


def test_a_traced_process_is_refused(running: Running) -> None:
    from interpose.native import tracer

    tracee = tracer.Tracee(running.pid)
    try:
        one_line(interpose(f"--attach={running.pid}"), f"it is being traced by process {os.getpid()}")
    finally:
        tracee.stop()
        tracee.let_go()


def test_programs_under_the_other_engine_are_refused(program: Path) -> None:
    guest = Running(sys.executable, "-m", "interpose", "-q", "--tool=none", program)
    try:
        assert guest.ask() == "10 0"
        one_line(interpose(f"--attach={guest.pid}"), "it is interpose's own, or runs under it already")
    finally:
        guest.process.kill()
        guest.process.wait()


def test_a_stopped_process_is_refused(running: Running, wrapper: Path) -> None:
    """To enter one would leave it stopped for good."""

    def stop() -> None:
        os.kill(running.pid, signal.SIGSTOP)
        os.waitpid(running.pid, os.WUNTRACED)

    stop()
    one_line(interpose(f"--attach={running.pid}", f"--wrappers={wrapper}"), "it is stopped")
    os.kill(running.pid, signal.SIGCONT)
    assert running.ask() == "10 0"
    assert interpose(f"--attach={running.pid}", f"--wrappers={wrapper}").returncode == 0
    assert running.ask() == "110 0"
    stop()
    one_line(interpose(f"--detach={running.pid}"), "it is stopped")
    os.kill(running.pid, signal.SIGCONT)
    assert running.ask() == "110 0"
    assert interpose(f"--detach={running.pid}").returncode == 0
    assert running.ask() == "10 0"


# Waits in vfork until a line comes, or filters its system calls; then it reads.
HARD = """
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv) {
    char line[100];
    struct sock_filter kills[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {4, kills};
    if (!strcmp(argv[1], "vfork") && !vfork()) {
        write(1, "begun\\n", 6);
        read(0, line, sizeof line);
        _exit(0);
    }
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (!strcmp(argv[1], "filter")) prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
    if (!strcmp(argv[1], "strict")) prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    do write(1, "begun\\n", 6); while (read(0, line, sizeof line) > 0);
    syscall(SYS_exit, 7);
}
"""


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("vfork", "it sleeps where nothing can wake it"),
        ("filter", "it filters its system calls (seccomp)"),
        ("strict", "it is in seccomp's strict mode"),
    ],
)
def test_what_would_not_survive_is_refused(how: str, why: str, folder: Path) -> None:
    hard = Running(compile_text(folder, "hard", HARD), how)
    assert hard.process.stdin and hard.process.stdout
    try:
        assert hard.process.stdout.readline() == "begun\n"
        one_line(interpose(f"--attach={hard.pid}"), why)
        assert hard.ask() == "begun"
        hard.process.stdin.close()
        assert hard.process.wait(10) == 7
    finally:
        hard.process.kill()
        hard.process.wait()


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces are made by root")


@needs_root
def test_another_network_namespace(program: Path, wrapper: Path, tmp_path: Path) -> None:
    """Each has abstract sockets of its own: the supervisor listens there, and so does what runs the hooks."""
    hooks = tmp_path / "hooks.py"
    hooks.write_text(
        "import interpose\n@interpose.wrap('NONE', 'twice')\n"
        "def twice(call, x: int) -> int:\n    return call(x) + 1\n"
    )
    running = Running("unshare", "-n", program)
    try:
        assert running.ask() == "10 0"
        found = interpose(f"--attach={running.pid}", f"--hooks={hooks}")
        assert (found.returncode, found.stderr) == (0, "")
        assert running.ask() == "11 0"
        assert interpose(f"--detach={running.pid}").returncode == 0
        assert running.ask() == "10 0"
        assert interpose(f"--attach={running.pid}").returncode == 0
        assert running.ask(wrapper) == "110 0"
    finally:
        running.process.kill()
        running.process.wait()


@needs_root
def test_other_namespaces_are_refused(program: Path, folder: Path) -> None:
    """Where the library is not, and where the agent could not name its user."""
    hidden = f"mount -t tmpfs none {Path(paths.product(paths.NATIVE)).parent} && exec {program}"
    for words, text in (
        (("unshare", "-U", program), "its user namespace does not map its user"),
        (("unshare", "-m", "sh", "-c", hidden), "is not there in its root"),
    ):
        running = Running(*words)
        try:
            assert running.ask() == "10 0"
            one_line(interpose(f"--attach={running.pid}"), text)
            assert running.ask() == "10 0"
        finally:
            running.process.kill()
            running.process.wait()


def test_wrappers_that_cannot_be_loaded(running: Running, wrapper: Path, tmp_path: Path) -> None:
    """Either all of them are in effect, or nothing is."""
    text = tmp_path / "text.so"
    text.write_text("no library\n")
    unfit = compile_text(tmp_path, "unfit.o", "int x;", "-c", "-m32")
    lacking = compile_text(
        tmp_path, "lacking.so", "int none(void); int (*p)(void) = none;", "-shared", "-fPIC"
    )
    for path, reason in (
        (text, "it is no library for x86-64"),
        (unfit, "it is no library for x86-64"),
        (tmp_path, "it is no library for x86-64"),
        (lacking, f"cannot load the wrappers {lacking}: undefined symbol: none"),
    ):
        one_line(interpose(f"--attach={running.pid}", f"--wrappers={wrapper},{path}"), reason)
        one_line(interpose(f"--detach={running.pid}"), "it is not attached to")
        assert running.ask() == "10 0"
        assert "interpose" not in running.maps()


def test_hooks_that_end_the_process_that_loads_them(running: Running, tmp_path: Path) -> None:
    hooks = tmp_path / "hooks.py"
    for text, reason in (
        ("import os; os.abort()", f"{hooks}: SIGABRT ended the process that runs the hooks"),
        ("import os; os._exit(0)", f"{hooks}:1: the file of hooks called exit"),
    ):
        hooks.write_text(text)
        found = interpose(f"--attach={running.pid}", f"--hooks={hooks}")
        assert (found.stdout, found.stderr, found.returncode) == ("", f"interpose: {reason}\n", 1)
        assert running.ask() == "10 0"


# Everything is loaded before the user changes, who need not be allowed to read it.
AS_NOBODY = """
import os, sys
from interpose import cli
from interpose.native import agent, attach, supervisor
cli.parse(sys.argv[1:])
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
cli.entry()
"""


def as_nobody(option: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", AS_NOBODY, option]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_other_users_are_refused(running: Running) -> None:
    """Whoever runs this: root, as a user without rights; others, with the first process."""
    pid = running.pid if os.geteuid() == 0 else 1
    found = as_nobody(f"--attach={pid}")
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr == f"interpose: process {pid}: it belongs to another user\n"
    assert running.ask() == "10 0"


@pytest.mark.skipif(os.geteuid() != 0, reason="two users are needed")
def test_other_users_cannot_detach(running: Running, wrapper: Path) -> None:
    assert interpose(f"--attach={running.pid}", f"--wrappers={wrapper}").returncode == 0
    found = as_nobody(f"--detach={running.pid}")
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr == f"interpose: process {running.pid}: it was attached to by another user\n"
    assert running.ask() == "110 0"
    assert interpose(f"--detach={running.pid}").returncode == 0


def test_strangers_on_the_supervisors_socket_disturb_nobody(running: Running, wrapper: Path) -> None:
    """Silence, garbage, a greeting with a wrong token, one that promises too much."""
    assert interpose(f"--attach={running.pid}").returncode == 0
    table = Path("/proc/net/unix").read_text()
    supervisor = supervisor_of(running.pid)
    name = "\0" + re.search(rf"@(interpose-{supervisor}-\w+)", table)[1]
    greeting = struct.pack("<II16sIIII", 0x6E697031, 1, b"x" * 16, 1 << 31, 1 << 31, 0, 0)
    strangers = []
    for text in (b"", b"\xff" * 100, greeting, greeting[:7]) * 10:
        stranger = socket.socket(socket.AF_UNIX)
        stranger.connect(name)
        stranger.sendall(text)
        strangers.append(stranger)
    assert running.ask(wrapper) == "110 0"
    for stranger in strangers:
        stranger.close()
    assert running.ask("-") == "10 0"
    assert interpose(f"--detach={running.pid}").returncode == 0


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[1])


def supervisor_of(pid: int) -> int:
    """Of the processes that came of an --attach the one that is no child of another."""
    ours = [int(name) for name in filter(str.isdigit, os.listdir("/proc")) if is_ours(name, pid)]
    return next(each for each in ours if parent_of(each) not in ours)


def is_ours(number: str, pid: int) -> bool:
    try:
        return f"--attach={pid}".encode() in Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False


EXECUTES = """
#include <stdio.h>
#include <unistd.h>
int main(void) {
    char line[10];
    while (fgets(line, sizeof line, stdin)) {
        int pid = line[0] == 'f' ? fork() : 0;
        if (!pid && line[0]) execl("/bin/sleep", "sleep", "100", (char *)0);
        printf("%d\\n", pid);
        fflush(stdout);
    }
}
"""


SLEEPING = ("230", "219")  # clock_nanosleep, and restart_syscall where something has interrupted it


def is_untouched(pid: int, before: str) -> bool:
    with open(f"/proc/{pid}/stat") as file:
        return (
            file.read().rpartition(")")[2].split()[0] == "S"
            and Path(f"/proc/{pid}/maps").read_text() == before
        )


def sleeps(pid: int) -> bool:
    """It is ``sleep``, and loads nothing any more."""
    is_sleep = os.readlink(f"/proc/{pid}/exe").endswith("sleep")
    return is_sleep and Path(f"/proc/{pid}/syscall").read_text().startswith(SLEEPING)


def test_what_executes_another_program_is_left_alone(folder: Path) -> None:
    """Nothing of ours is in there, and where it was is something else."""
    found = Running(compile_text(folder, "executes", EXECUTES))
    try:
        assert interpose(f"--attach={found.pid}").returncode == 0
        children = [int(found.ask("f")), int(found.ask("f"))]
        assert wait_until(lambda: all(map(sleeps, children)))
        maps = [Path(f"/proc/{pid}/maps").read_text() for pid in children]
        one_line(interpose(f"--detach={children[0]}"), "it is not attached to")
        # It can be attached to by itself, whoever was in it before.
        attached = interpose(f"--attach={children[1]}")
        assert (attached.returncode, attached.stderr) == (0, "")
        assert interpose(f"--detach={children[1]}").returncode == 0
        assert interpose(f"--detach={found.pid}").returncode == 0
        assert wait_until(lambda: is_untouched(children[0], maps[0]))
        assert os.path.exists(f"/proc/{children[1]}/exe")
        for pid in children:
            os.kill(pid, signal.SIGKILL)
        # The process itself.
        assert interpose(f"--attach={found.pid}").returncode == 0
        assert found.process.stdin
        found.process.stdin.write("e\n")
        found.process.stdin.flush()
        assert wait_until(lambda: sleeps(found.pid))
        map_of_it = Path(f"/proc/{found.pid}/maps").read_text()
        one_line(interpose(f"--detach={found.pid}"), "it is not attached to")
        assert wait_until(lambda: is_untouched(found.pid, map_of_it))
        assert wait_until(lambda: not any(is_ours(name, found.pid) for name in os.listdir("/proc")), 60)
    finally:
        found.process.kill()
        found.process.wait()
