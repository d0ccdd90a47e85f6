"""Exit status, death by signal, terminals, streams and limits: as in a native run, or one clear line."""

from __future__ import annotations

import fcntl
import os
import pty
import resource
import select
import shutil
import signal
import subprocess
import sys
import termios
import time
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from life.running import TOOLS, command, compile_guest, environment, run, state, wait_until

from interpose.errors import LaunchError
from interpose.supervisor.main import Supervisor

DEATHS = [signal.SIGABRT, signal.SIGKILL, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP, signal.SIGPIPE, 40]


def ours(tool: str, *words: str) -> list[str]:
    return [*command(f"--tool={tool}", "-q"), *words]


@pytest.mark.parametrize("tool", TOOLS)
def test_status(ends: str, tool: str) -> None:
    for number in (0, 1, 77, 255):
        assert run(ours(tool, ends, "exit", str(number))).returncode == number
    for number in DEATHS:
        assert run([ends, "signal", str(int(number))], restore_signals=True).returncode == -number
        assert run(ours(tool, ends, "signal", str(int(number)))).returncode == -number
    assert run(ours(tool, ends, "fault")).returncode == -signal.SIGSEGV


@pytest.mark.parametrize("dead", [False, True])
def test_a_process_that_dies_at_once_is_not_said_to_be_hidden(dead: bool) -> None:
    """The kernel refuses the memory of a process that is being killed, too."""

    def is_dead(wait_ms: int = 0) -> bool:
        return dead and wait_ms > 0

    client = SimpleNamespace(attach=lambda: None, denied=True, hidden=False, is_dead=is_dead)
    supervisor: Any = SimpleNamespace(client=client)
    with nullcontext() if dead else pytest.raises(LaunchError):
        Supervisor.attach(supervisor)


@pytest.mark.parametrize("tool", TOOLS)
def test_killed_program_gets_its_report(ends: str, tool: str) -> None:
    process = subprocess.Popen(
        [*command(f"--tool={tool}"), ends, "leak"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.kill()
    out, err = process.communicate(timeout=30)  # ends when the supervisor does
    assert process.returncode == -signal.SIGKILL
    assert out == ""
    if tool == "memcheck":
        assert "ERROR SUMMARY: 0 errors" in err
        assert "The program was killed; what its heap held is not known" in err
        assert "HEAP SUMMARY" not in err and "All heap blocks" not in err and "LEAK SUMMARY" not in err


# -- terminals ----------------------------------------------------------------------------------


class Terminal:
    """A program in a session of its own on a pty."""

    def __init__(self, words: list[str]) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(words[0], words, environment(PS1="$ ", ENV=""))
        self.text = ""

    def until(self, wanted: str, seconds: float = 30) -> None:
        end = time.monotonic() + seconds
        while wanted not in self.text:
            ready, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            assert ready, f"{wanted!r} did not come in {self.text!r}"
            try:
                data = os.read(self.fd, 4096)
            except OSError:
                data = b""
            assert data, f"the end came before {wanted!r}: {self.text!r}"
            self.text += data.decode("utf-8", "replace")
        self.text = self.text.partition(wanted)[2]

    def send(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def status(self) -> int:
        got: list[int] = []

        def ended() -> bool:
            pid, value = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                got.append(value)
            return bool(pid)

        assert wait_until(ended)
        os.close(self.fd)
        return got[0]


@pytest.mark.parametrize("tool", TOOLS)
def test_interrupt_key(ends: str, tool: str) -> None:
    terminal = Terminal(ours(tool, ends, "sleep"))
    terminal.until("ready")
    terminal.send("\x03")
    status = terminal.status()
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGINT
    terminal = Terminal(ours(tool, ends, "handler"))
    terminal.until("ready")
    terminal.send("\x03")
    terminal.until("handler of 2")
    status = terminal.status()
    assert os.WIFEXITED(status) and os.WEXITSTATUS(status) == 42


@pytest.mark.parametrize("tool", TOOLS)
def test_job_control(ends: str, tool: str) -> None:
    shell = Terminal(["bash", "--norc", "--noprofile", "-i"])
    shell.until("$ ")
    shell.send("stty -echo; echo quiet $((1+1))\n")
    shell.until("quiet 2")
    shell.send(" ".join(ours(tool, ends, "cat")) + "\n")
    shell.until("ready")
    shell.send("one\n")
    shell.until("<one")
    shell.send("\x1a")
    shell.until("Stopped")
    shell.send("echo stopped $((2+2)); fg\n")
    shell.until("stopped 4")
    shell.send("two\n")
    shell.until("<two")
    shell.send("\x1a")
    shell.until("Stopped")
    shell.send("bg; sleep 0.5; jobs\n")  # reads from the terminal: stopped again
    shell.until("Stopped")
    shell.send("kill %1; fg; wait; echo done $((3+3))\n")
    shell.until("done 6")
    shell.send("exit\n")
    shell.status()


@pytest.mark.parametrize("tool", TOOLS)
def test_terminal_modes_are_the_programs(ends: str, tool: str) -> None:
    terminal = Terminal(ours(tool, ends, "raw"))
    terminal.until("raw")
    assert not termios.tcgetattr(terminal.fd)[3] & termios.ICANON
    terminal.send("\x03")
    terminal.until("got 3")
    assert os.WEXITSTATUS(terminal.status()) == 0


# -- streams ------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", TOOLS)
def test_reader_goes_away(tool: str) -> None:
    words = " ".join(ours(tool, "seq", "1", "1000000"))
    done = run(["bash", "-c", f"{words} | head -1; echo ${{PIPESTATUS[*]}}"], restore_signals=True)
    assert done.stdout == "1\n141 0\n"


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("closing", ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"])
def test_closed_standard_descriptors(ends: str, tool: str, closing: str) -> None:
    words = " ".join([*command(f"--tool={tool}"), ends, "exit", "5"])
    assert run(["bash", "-c", f"{words} {closing}"]).returncode == 5


@pytest.mark.parametrize("tool", TOOLS)
def test_log_cannot_be_written(ends: str, tool: str) -> None:
    full = "interpose: Cannot write the log: No space left on device; it is not complete\n"
    for words, told in (
        ([*command(f"--tool={tool}", "--log-file=/dev/full"), ends, "exit", "5"], full),
        (["bash", "-c", " ".join([*command(f"--tool={tool}"), ends, "exit", "5"]) + " 2>/dev/full"], ""),
    ):
        done = run(words)
        assert (done.returncode, done.stdout, done.stderr) == (5, "", told)
    read, write = os.pipe()
    os.close(read)
    done = run([*command(f"--tool={tool}", f"--log-fd={write}"), ends, "exit", "5"], pass_fds=[write])
    os.close(write)
    assert (done.returncode, done.stderr) == (5, "")


# -- limits -------------------------------------------------------------------------------------


def limited(**limits: int | tuple[int, int]) -> object:
    def apply() -> None:
        for name, value in limits.items():
            pair = value if isinstance(value, tuple) else (value, value)
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), pair)

    return apply


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("megabytes", [48, 100, 300, 600, 1000, 1500, 4000])
def test_small_address_space(ends: str, tool: str, megabytes: int) -> None:
    done = run(ours(tool, ends, "exit", "5"), preexec_fn=limited(AS=megabytes << 20))
    if done.returncode != 5:
        assert done.returncode == 1 and done.stdout == ""
        assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("interpose: "), done.stderr
    soft = run(
        ours(tool, ends, "exit", "5"),
        preexec_fn=limited(AS=(megabytes << 20, resource.getrlimit(resource.RLIMIT_AS)[1])),
    )
    assert soft.returncode == 5 or megabytes < 100, soft.stderr


@pytest.mark.parametrize("tool", [*TOOLS, "callgrind"])
def test_small_stack(ends: str, tool: str, tmp_path: Path) -> None:
    """It is the program's; what Python itself needs is less."""
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    kept = ("PATH", "PYTHONPATH", "XDG_CACHE_HOME", "HOME", "TMPDIR")  # the environment lies there, too
    env = {name: value for name, value in environment().items() if name in kept}
    for limit in (96 << 10, hard), 256 << 10:
        python = [sys.executable, "-c", "import interpose.cli"]
        if run(python, preexec_fn=limited(STACK=limit), env=env).returncode != 0:
            continue
        words = ours(tool, ends, "leaks", "100")
        if tool == "memcheck":
            words.insert(3, "--leak-check=full")
        done = run(words, preexec_fn=limited(STACK=limit), cwd=tmp_path, env=env)
        assert done.returncode == 0, (limit, done.stderr)
        assert "interpose: " not in done.stderr, (limit, done.stderr)


@pytest.mark.parametrize("tool", TOOLS)
def test_the_size_of_an_overflown_stack(ends: str, tool: str) -> None:
    """With what it has grown by, which is more than it has at first."""
    limit = 64 << 20
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    done = run(ours(tool, ends, "deeper", "0"), preexec_fn=limited(STACK=(limit, hard)))
    assert done.returncode == -signal.SIGSEGV
    assert f"The main thread stack size used in this run was {limit}." in done.stderr, done.stderr


@pytest.mark.parametrize("tool", TOOLS)
def test_small_files(ends: str, tool: str) -> None:
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    assert run(ours(tool, ends, "exit", "5"), preexec_fn=limited(FSIZE=(1024, hard))).returncode == 5
    done = run(ours(tool, ends, "exit", "5"), preexec_fn=limited(FSIZE=1024))
    assert done.returncode == 5 or "ulimit -f" in done.stderr


@pytest.mark.parametrize("tool", TOOLS)
def test_small_soft_limit_on_descriptors(tool: str) -> None:
    """It is the program's, also of what it executes; interpose has up to the hard one."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    words = ours(tool, "/bin/sh", "-c", "ulimit -Sn; /bin/sh -c 'ulimit -Sn'; exec /bin/sh -c 'ulimit -Hn'")
    words.insert(3, "--trace-children=yes")
    done = run(words, preexec_fn=limited(NOFILE=(12, hard)))
    shown = "unlimited" if hard == resource.RLIM_INFINITY else str(hard)
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["12", "12", shown], "")


@pytest.mark.parametrize(("files", "option"), [(22, "--vgdb=yes"), (20, "--vgdb=yes"), (18, "--vgdb=no")])
@pytest.mark.parametrize("tool", TOOLS)
def test_small_hard_limit_on_descriptors(tool: str, files: int, option: str) -> None:
    """Enough for forks and for execs that are followed; above it nobody may go."""
    words = ours(tool, "/bin/sh", "-c", "/bin/echo a; exec /bin/echo b")
    words[3:3] = ["--trace-children=yes", option]
    done = run(words, preexec_fn=limited(NOFILE=files))
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["a", "b"], "")


def test_more_objects_than_descriptors(tmp_path: Path) -> None:
    """Files that are not kept open are read all the same."""
    program = compile_guest("life/many_objects.c", tmp_path)
    first = compile_guest("life/one_object.c", tmp_path, "-shared", "-fPIC").read_bytes()
    objects = [tmp_path / f"{number}.so" for number in range(50)]
    for path in objects:
        path.write_bytes(first)
    words = ours("memcheck", str(program), *map(str, objects))
    for files in (24, 32, 48):
        done = run(words, preexec_fn=limited(NOFILE=files))
        assert done.returncode == 0, done.stderr
        assert "read_freed (one_object.c:6)" in done.stderr
        assert "interpose: " not in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
@pytest.mark.parametrize("processes", range(4))
def test_no_process_can_be_made(ends: str, tmp_path: Path, processes: int) -> None:
    """A user who has no process left."""

    def become() -> None:
        resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
        os.setgid(4242)
        os.setuid(4242)

    try:
        readable = run([sys.executable, "-c", "import interpose.cli"], user=4242, cwd="/").returncode == 0
    except PermissionError:
        readable = False
    if not readable:
        pytest.skip("another user cannot use this Python")
    done = run(ours("none", "/bin/true"), preexec_fn=become, cwd="/")
    assert done.returncode in (0, 1)
    assert len(done.stderr.splitlines()) == done.returncode, done.stderr
    if processes < 2:
        assert done.returncode == 1


# -- surroundings -------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", ["none", "memcheck", "callgrind"])
def test_no_proc(ends: str, tool: str) -> None:
    """A tool that must know the program's functions says so; the others need no names."""
    without = ["unshare", "-Urm", "/bin/sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
    if shutil.which("unshare") is None or run([*without, ends, "exit", "5"]).returncode != 5:
        pytest.skip("no namespaces here")
    done = run([*without, *ours(tool, ends, "exit", "5")])
    if tool == "none":
        assert (done.returncode, done.stderr) == (5, "")
    else:
        told = "interpose: cannot find out which files are mapped: /proc is not mounted\n"
        assert (done.returncode, done.stdout, done.stderr) == (1, "", told)


# -- processes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [["none"], ["memcheck"], ["none", "--trace-children=yes"], ["none", "--far-images=yes"]],
    ids=" ".join,
)
def test_processes_as_native(tmp_path: Path, options: list[str]) -> None:
    program = str(compile_guest("life/processes.c", tmp_path))
    native = run([program])
    assert len(native.stdout.splitlines()) > 30
    done = run([*ours(options[0], *options[1:]), program])
    assert done.stdout.splitlines() == native.stdout.splitlines()
    assert done.returncode == native.returncode
    assert "interpose:" not in done.stderr


def test_traced_children_and_exceptions(ends: str) -> None:
    script = f"{ends} exit 4; /bin/true --skip; {ends} exit 6"

    def banners(*options: str) -> int:
        done = run([*command("--tool=none", *options), "sh", "-c", script])
        assert done.returncode == 6
        return done.stderr.count("Command: ")

    assert banners() == 1
    assert banners("--trace-children=yes") == 4
    assert banners("--trace-children=yes", "--trace-children-skip=*true") == 3
    assert banners("--trace-children=yes", "--trace-children-skip-by-arg=--skip") == 3
    # Brackets are brackets: folders have such names, and Valgrind's patterns no sets.
    assert banners("--trace-children=yes", "--trace-children-skip=*tru[e]") == 4
    assert banners("--trace-children=yes", "--trace-children-skip-by-arg=--ski[p]") == 4


def test_silent_child(tmp_path: Path) -> None:
    source = tmp_path / "child.c"
    source.write_text(
        "#include <stdlib.h>\n#include <unistd.h>\n#include <sys/wait.h>\n"
        "int main(void) { volatile char *p = malloc(10); if (!fork()) { p[10] = 1; _exit(0); } wait(0); }\n"
    )
    subprocess.run(["gcc", "-g", str(source), "-o", str(tmp_path / "child")], check=True)
    loud = run([*command(), str(tmp_path / "child")])
    assert loud.stderr.count("ERROR SUMMARY") == 2 and loud.stderr.count("Invalid write") == 1
    silent = run([*command("--child-silent-after-fork=yes"), str(tmp_path / "child")])
    assert silent.stderr.count("ERROR SUMMARY") == 1 and "Invalid write" not in silent.stderr


def test_stop_and_continue(ends: str) -> None:
    process = subprocess.Popen(ours("memcheck", ends, "busy"), stdout=subprocess.PIPE, env=environment())
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGSTOP)
    assert wait_until(lambda: state(process.pid) == "T")
    process.send_signal(signal.SIGCONT)
    assert wait_until(lambda: state(process.pid) in "RS")
    process.terminate()
    assert process.wait(30) == -signal.SIGTERM
    process.stdout.close()


def test_descriptor_flags_are_kept(ends: str) -> None:
    """The program's files keep their modes."""
    read, write = os.pipe()
    process = subprocess.Popen(
        ours("none", ends, "cat"), stdin=read, stdout=subprocess.PIPE, env=environment()
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    assert not fcntl.fcntl(read, fcntl.F_GETFL) & (os.O_NONBLOCK | fcntl.FASYNC)
    os.close(read)
    os.close(write)
    assert process.wait(30) == 3
    process.stdout.close()


@pytest.mark.parametrize("how", [(), ("by signal",)], ids=["exit", "signal"])
def test_a_vfork_child_has_a_summary_of_its_own(how: tuple[str, ...], tmp_path: Path) -> None:
    program = compile_guest("life/vfork_end.c", tmp_path)
    done = run([*command("--tool=memcheck"), str(program), *how])
    child, status, number = map(int, done.stdout.split())
    assert (status, number) == ((-1, int(signal.SIGABRT)) if how else (3, -1))
    own = [line for line in done.stderr.splitlines() if line.startswith(f"=={child}==")]
    assert sum("ERROR SUMMARY: 0 errors" in line for line in own) == 1
    assert f"=={child}==     in use at exit: 10 bytes in 1 blocks" in own
    assert any("terminating with default action of signal 6" in line for line in own) == bool(how)
    parents = [line for line in done.stderr.splitlines() if line not in own]
    assert sum("ERROR SUMMARY" in line for line in parents) == 1
    assert any("All heap blocks were freed" in line for line in parents)


def test_what_a_vfork_child_meets_is_in_a_log_of_its_own(tmp_path: Path) -> None:
    include = Path(__file__).resolve().parents[2] / "include"
    program = compile_guest("memcheck/errors_vforked.c", tmp_path, f"-I{include}", "-O0")
    assert run([*command("--log-file=log.%p"), str(program)], cwd=tmp_path).returncode == 0
    met = []
    for log in tmp_path.glob("log.*"):
        lines = log.read_text().splitlines()
        number = log.suffix[1:]
        assert all(line.startswith((f"=={number}== ", f"**{number}** ")) for line in lines)
        assert sum("Memcheck, a memory error detector" in line for line in lines) == 1
        met.append((sum("Invalid write" in line for line in lines), lines[-1].partition(": ")[2][:8]))
    assert sorted(met) == [
        *((1, "2 errors"), (1, "2 errors"), (1, "2 errors"), (1, "3 errors")),
        *((2, "2 errors"), (2, "3 errors"), (2, "4 errors"), (3, "4 errors")),
    ]


def test_a_killed_process_is_told_of_in_its_log_and_not_in_a_vfork_childs(tmp_path: Path) -> None:
    program = compile_guest("life/vfork_killed.c", tmp_path)
    process = subprocess.Popen([*command("--log-file=log.%p"), str(program)], cwd=tmp_path, env=environment())
    assert process.wait(120) == -signal.SIGKILL
    own = tmp_path / f"log.{process.pid}"
    wait_until(lambda: "ERROR SUMMARY: 1 errors" in own.read_text())
    assert "The program was killed" in own.read_text()
    logs = [log.read_text() for log in tmp_path.glob("log.*")]
    assert own.read_text().count("Invalid write") == 1
    assert sum(text.count("Invalid write") for text in logs) == 2
    assert sum("The program was killed" in text for text in logs) == 1


def test_the_launchers_profile_ends_with_it(tmp_path: Path) -> None:
    """LD_PROFILE sets a timer in Python, too, and timers outlive an exec."""
    program = compile_guest("life/profile_timer.c", tmp_path, "-static")
    profiled = environment(LD_PROFILE="libc.so.6", LD_PROFILE_OUTPUT=str(tmp_path))
    assert run(ours("none", str(program)), env=profiled).returncode == 0
