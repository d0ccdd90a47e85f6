"""interpose.run: what it returns, and that nothing is left however it ends."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import interpose
from interpose.api.run import Running
from interpose.errors import InterposeError, OptionError
from interpose.formats import callgrind, report

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>
__attribute__((noinline)) void lose(void) { memset(malloc(33), 1, 33); }
int main(int argc, char **argv) {
    char *p = malloc(4), line[100] = "";
    p[4] = 1;
    lose();
    if (fork() == 0) { p[5] = 1; _exit(0); }
    wait(0);
    fgets(line, sizeof line, stdin);
    printf("%s|%s|%s\n", line, getenv("MINE") ? getenv("MINE") : "-", getcwd(0, 0));
    fprintf(stderr, "err\n");
    free(p);
    return argc > 1 ? atoi(argv[1]) : 0;
}
"""


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("run")
    (folder / "prog.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O0", "-w", "-o", "prog", "prog.c"], check=True, cwd=folder)
    return str(folder / "prog")


@pytest.fixture(autouse=True)
def _nothing_is_left(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch):
    """No process, descriptor, thread, temporary file or signal handler."""
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    fds, threads = len(os.listdir("/proc/self/fd")), threading.active_count()
    handlers = [signal.getsignal(number) for number in range(1, 32)]
    yield
    deadline = time.monotonic() + 20
    while threading.active_count() > threads and time.monotonic() < deadline:
        time.sleep(0.01)
    # Fewer are no fault: what earlier tests left may have been collected meanwhile.
    assert len(os.listdir("/proc/self/fd")) <= fds and threading.active_count() <= threads
    assert list(folder.iterdir()) == []
    assert [signal.getsignal(number) for number in range(1, 32)] == handlers
    assert running(str(folder)) == []


def running(mark: str) -> list[str]:
    """Processes with this text in their command line or environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            for name in ("cmdline", "environ"):
                if mark.encode() in (folder / name).read_bytes() and folder.name != str(os.getpid()):
                    found.append((folder / "cmdline").read_text())
    return found


def wait_for(condition) -> bool:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


def test_memcheck(program: str, tmp_path: Path) -> None:
    done = interpose.run(
        [program, "3"], capture_output=True, text=True, input="hello", env={"MINE": "é"}, cwd=tmp_path
    )
    assert (done.returncode, done.exit_code, done.signal) == (3, 3, None)
    assert done.stdout == f"hello|é|{tmp_path}\n" and done.stderr == "err\n"
    first, second = done.errors
    assert first.what == second.what == "Invalid write of size 1"
    assert [frame.function for frame in first.stack] == ["main"] and first.stack[0].file == "prog.c"
    assert (first.pid, second.pid) == (done.pid, done.processes[1].pid)
    (leak,) = [each for each in done.leaks if each.pid == done.pid and each.stack[1].function == "lose"]
    assert (leak.leak_kind, leak.bytes, leak.blocks) == ("definite", 33, 1)
    assert "Invalid write of size 1" in done.log and "HEAP SUMMARY" in done.log
    done.save(tmp_path / "kept")
    assert len(report.read(tmp_path / "kept").errors) == 2
    with pytest.raises(interpose.RunError, match="exit code 3") as refused:
        done.check()
    assert refused.value.run is done


def test_a_program_without_faults() -> None:
    done = interpose.run(["/bin/true"])
    assert done.check() is done and done.report.complete and not done.log.count("Invalid")


def test_a_signal() -> None:
    done = interpose.run(["/bin/sh", "-c", "kill -USR1 $$"], tool="none")
    assert (done.returncode, done.exit_code, done.signal) == (-signal.SIGUSR1, None, signal.SIGUSR1)
    done = interpose.run(["/bin/sh", "-c", "kill -SEGV $$"], tool="none")
    assert done.signal == signal.SIGSEGV and done.fatal_signals[0].name == "SIGSEGV"


def test_a_caller_that_blocks_all_signals() -> None:
    """The ends of processes are heard of all the same, and the program gets the caller's mask."""
    words = ["grep", "SigBlk", "/proc/self/status"]
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        done = interpose.run(words, tool="none", capture_output=True, text=True, timeout=60)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    assert done.returncode == 0
    blocked = int(done.stdout.split()[1], 16)
    assert all(blocked >> (number - 1) & 1 for number in (signal.SIGCHLD, signal.SIGUSR1))


def test_callgrind(program: str) -> None:
    done = interpose.run([program], tool="callgrind", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    assert isinstance(done.profile, callgrind.Profile)
    assert len(done.profiles) == 2 and all(
        path.exists() for files in done.profiles.values() for path in files
    )
    paths = [path for files in done.profiles.values() for path in files]
    del done
    assert not any(path.exists() for path in paths)


def test_profiles_of_ones_own_place(tmp_path: Path) -> None:
    out = tmp_path / "cg.%p.x"
    done = interpose.run(["/bin/true"], tool="callgrind", callgrind_out_file=out)
    assert done.profiles == {done.pid: [tmp_path / f"cg.{done.pid}.x"]} and done.profile is not None


def test_profiles_of_several_parts() -> None:
    """The last one is that of the end, not the one whose name sorts last."""
    options = {"dump_every_bb": 500, "separate_callers": {2: "_dl_start"}}
    done = interpose.run(["/bin/true"], tool="callgrind", **options)
    names = [path.name for path in done.profiles[done.pid]]
    stem = f"callgrind.out.{done.pid}"
    assert len(names) > 11 and names == [*(f"{stem}.{part}" for part in range(1, len(names))), stem]
    assert done.profile is not None
    assert ("Trigger", "Program termination") in done.profile.parts[0].descriptions


@pytest.mark.parametrize("tool", ["callgrind", "datagrind"])
def test_files_that_were_there(tool: str, tmp_path: Path) -> None:
    """A file that is written again counts, one that the program makes beside it does not."""
    words = ["/bin/sh", "-c", "echo hello >'out '; echo hello >zz"]
    for _ in range(2):
        place = {f"{tool}_out_file": "%q{NAME}%%"}
        done = interpose.run(words, tool=tool, cwd=tmp_path, env={"NAME": "out*"}, **place)
        files = done.profiles[done.pid] if tool == "callgrind" else done.traces
        assert files == [tmp_path / "out*%"] and list(done.profiles) in ([], [done.pid])


def test_a_place_with_a_percent_sign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "50%p").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "50%p"))
    for tool in ("callgrind", "datagrind", "memtrace"):
        done = interpose.run(["/bin/true"], tool=tool)
        assert len(done.traces) + len(done.profiles) == 1
        del done
    assert os.listdir(tmp_path) == ["50%p"] and not os.listdir(tmp_path / "50%p")


@pytest.mark.parametrize("both", [{"input": b"", "stdin": -3}, {"capture_output": True, "stderr": -2}])
def test_what_subprocess_refuses(both: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="may not"):
        interpose.run(["/bin/true"], tool="none", **both)


@pytest.mark.parametrize("tool", ["callgrind", "datagrind"])
def test_an_output_that_cannot_be_written(tool: str, capfd: pytest.CaptureFixture[str]) -> None:
    """The program has not begun: that is no run with exit code 1."""
    with pytest.raises(InterposeError, match="'/none/x': No such file or directory"):
        interpose.run(["/bin/true"], tool=tool, **{f"{tool}_out_file": "/none/x"})
    assert "/none/x" in capfd.readouterr().err
    assert interpose.run(["/bin/false"], tool=tool).returncode == 1


@pytest.mark.parametrize("option", [{"cache": "show"}, {"mpi_wrappers": "mpicc"}, {"detach": 1}])
def test_options_that_run_nothing(option: dict[str, object]) -> None:
    with pytest.raises(InterposeError, match="no program runs: --"):
        interpose.run(["/bin/true"], **option)


@pytest.mark.parametrize("names", ["main", ["nobody", "main"]])
def test_options_with_a_number(program: str, names: object) -> None:
    """--separate-callers2=main, beside --separate-callers=2."""
    done = interpose.run(
        [program], tool="callgrind", separate_callers={2: names}, input=b"", capture_output=True
    )
    assert done.profile is not None
    callers = {record.function.name for record in done.profile.parts[0].records}
    assert any(name.startswith("main'") for name in callers) and "lose" in callers


@pytest.mark.parametrize("tool", ["datagrind", "memtrace"])
def test_traces(tool: str, tmp_path: Path) -> None:
    done = interpose.run(["/bin/true"], tool=tool)
    (trace,) = done.traces
    assert trace.exists()
    (kept,) = done.keep(tmp_path / "kept")
    del done
    assert not trace.exists() and kept.exists()


def test_options_of_every_kind(tmp_path: Path) -> None:
    (tmp_path / "a.supp").write_text("")
    (tmp_path / "b.supp").write_text("")
    done = interpose.run(
        ["/bin/true"],
        num_callers=20,
        track_origins=True,
        error_limit=False,
        suppressions=[tmp_path / "a.supp", tmp_path / "b.supp"],
        show_leak_kinds={"definite", "reachable"},
        malloc_fill=0xAB,
        ignore_ranges=[(0x1000, 0x2000)],
        error_markers=("<<", ">>"),
        verbosity=2,
        log_socket=None,
    )
    for word in (
        *("--num-callers=20", "--track-origins=yes", "--error-limit=no", "--malloc-fill=0xab", "-v"),
        *(f"--suppressions={tmp_path}/a.supp", f"--suppressions={tmp_path}/b.supp"),
        *("--show-leak-kinds=definite,reachable", "--ignore-ranges=0x1000-0x2000", "--error-markers=<<,>>"),
    ):
        assert word in done.processes[0].options
    assert interpose.run(["/bin/true"], quiet=True).log == ""


@pytest.mark.parametrize(
    ("more", "error", "message"),
    [
        ({"leak_chekc": "full"}, TypeError, "did you mean leak_check"),
        ({"cache_sim": True}, TypeError, "no option of memcheck"),
        ({"json_file": "x"}, TypeError, "the result has the report"),
        ({"leak_check": "ful"}, OptionError, "Bad option: --leak-check=ful"),
        ({"num_callers": 501}, OptionError, "Bad option"),
        ({"num_callers": object()}, TypeError, "num_callers cannot be"),
        ({"quiet": "yes"}, TypeError, "quiet must be True or False"),
        ({"tool": "memchek"}, InterposeError, "unknown tool 'memchek'"),
        ({"children": "love"}, ValueError, "'wait' or 'kill'"),
        ({"cwd": "/nonexistent"}, FileNotFoundError, "/nonexistent"),
        ({"suppressions": "/nonexistent"}, InterposeError, "/nonexistent"),
        ({"log_file": "/nonexistent/x"}, InterposeError, "Cannot create log file"),
    ],
)
def test_what_is_wrong_is_said(more: dict, error: type, message: str) -> None:
    with pytest.raises(error) as caught:
        interpose.run(["/bin/true"], **more)
    text = "\n".join(caught.value.lines()) if isinstance(caught.value, InterposeError) else str(caught.value)
    assert message in text


@pytest.mark.parametrize(
    ("program", "error"),
    [
        ("/bin/true", TypeError),
        ([], ValueError),
        (["/nonexistent/x"], InterposeError),
        (["/etc/passwd"], InterposeError),
    ],
)
def test_a_program_that_is_none(program: object, error: type) -> None:
    with pytest.raises(error):
        interpose.run(program)


TREE = "setsid sh -c 'sleep 1000 & exec sleep 1000' & (sleep 1000 &) ; sleep 1000"
"""Sessions of their own, orphans, executed programs."""


@pytest.mark.parametrize("trace", [False, True])
def test_a_timeout_ends_everything(trace: bool, tmp_path: Path) -> None:
    mark = f"MARK={tmp_path}"
    with pytest.raises(interpose.RunTimeout) as caught:
        interpose.run(
            ["/bin/sh", "-c", TREE],
            env={**os.environ, "M": mark},
            timeout=1.5,
            tool="none",
            trace_children=trace,
        )
    assert isinstance(caught.value, TimeoutError)
    assert running(mark) == []
    assert caught.value.run.processes[0].how == "killed"


def test_children_may_be_ended_with_the_program(tmp_path: Path) -> None:
    mark = f"MARK={tmp_path}"
    command = ["/bin/sh", "-c", "sleep 1000 & exit 4"]
    done = interpose.run(command, env={**os.environ, "M": mark}, tool="none", children="kill")
    assert done.returncode == 4 and running(mark) == []


CALLER = """
import interpose, sys
try:
    interpose.run(["/bin/sh", "-c", {tree!r}], tool="none", env={{"M": {mark!r}, "PATH": "/bin:/usr/bin"}})
except KeyboardInterrupt:
    sys.exit(9)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_caller_that_is_interrupted_or_killed(number: int, tmp_path: Path) -> None:
    mark = f"MARK={tmp_path}"
    script = CALLER.format(tree=TREE, mark=mark)
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    caller = subprocess.Popen([sys.executable, "-c", script], env=environ)
    assert wait_for(lambda: sum("sleep" in each for each in running(mark)) >= 4)
    caller.send_signal(number)
    assert caller.wait(30) == (9 if number == signal.SIGINT else -9)
    if number == signal.SIGKILL:
        assert wait_for(lambda: running(mark) == [])
    assert running(mark) == []


IMPATIENT = """
import os, signal, subprocess, sys
from interpose.api.run import run
def handler(number, frame):
    while frame is not None and frame.f_code is not run.__code__:
        frame = frame.f_back
    if frame is not None:
        raise KeyboardInterrupt
signal.signal(signal.SIGINT, handler)
read, write = os.pipe()
nag = "import os, sys; os.read(0, 1)\\nfor i in range(1000): os.kill(int(sys.argv[1]), 2); sum(range(i))"
nag = subprocess.Popen([sys.executable, "-c", nag, str(os.getpid())], stdin=read, start_new_session=True)
tree, environ = {tree!r}, {{"M": {mark!r}, "PATH": "/bin:/usr/bin"}}
try:
    run(["/bin/sh", "-c", tree], tool="none", stdout=write, env=environ)
except KeyboardInterrupt:
    nag.wait()
    sys.exit(9)
"""


def test_interrupts_in_a_row_leave_nothing(tmp_path: Path) -> None:
    """Each may come while the one before is being heeded, at any instruction of that."""
    mark = f"MARK={tmp_path}"
    script = IMPATIENT.format(tree="echo; " + TREE, mark=mark)
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    caller = subprocess.run([sys.executable, "-c", script], env=environ, timeout=60)
    assert caller.returncode == 9
    assert running(mark) == []


def test_an_interrupt_within_the_cancelling(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal's handler cancels while the cancelling before it writes: the pipe is closed once."""
    began = Running(["/bin/sleep", "1000"], "none", {"stdin": subprocess.DEVNULL})
    write, within = os.write, []

    def interrupted(fd: int, data: bytes) -> int:
        if not within:
            within.append(fd)
            began.cancel()
        return write(fd, data)

    monkeypatch.setattr(os, "write", interrupted)
    try:
        began.cancel()
        assert within
    finally:
        began.close()


def test_async(program: str) -> None:
    async def several() -> list[interpose.Run]:
        runs = [
            interpose.run_async([program, str(n)], capture_output=True, stdin=subprocess.DEVNULL)
            for n in range(4)
        ]
        return await asyncio.gather(*runs)

    done = asyncio.run(several())
    assert [each.returncode for each in done] == [0, 1, 2, 3]
    assert all(len(each.errors) == 2 for each in done)


def test_async_in_words() -> None:
    with pytest.raises(InterposeError, match="No such file"):
        asyncio.run(interpose.run_async(["/nonexistent"]))
    with pytest.raises(interpose.RunTimeout):
        asyncio.run(interpose.run_async(["/bin/sleep", "1000"], tool="none", timeout=0.7))


def test_a_cancelled_task_ends_everything_first(tmp_path: Path) -> None:
    mark = f"MARK={tmp_path}"

    async def work() -> None:
        run = interpose.run_async(["/bin/sh", "-c", TREE], env={**os.environ, "M": mark}, tool="none")
        task = asyncio.create_task(run)
        while sum("sleep" in each for each in running(mark)) < 4:
            await asyncio.sleep(0.02)
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert running(mark) == []

    asyncio.run(asyncio.wait_for(work(), 60))


def test_from_threads_and_within_a_loop() -> None:
    """As in a notebook: a loop runs in this thread already."""

    async def cell() -> int:
        return interpose.run(["/bin/true"], tool="none").returncode

    assert asyncio.run(cell()) == 0
    with ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(interpose.run, ["/bin/sh", "-c", f"exit {n}"], tool="none") for n in range(8)]
        assert [each.result().returncode for each in runs] == list(range(8))


def test_the_package_of_the_current_folder_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "interpose").mkdir()
    (tmp_path / "interpose" / "__init__.py").write_text("raise SystemExit('wrong')")
    (tmp_path / "json.py").write_text("raise SystemExit('wrong')")
    environ = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONHOME": "/nonexistent"}
    done = interpose.run(
        ["/usr/bin/env"], cwd=tmp_path, env=environ, tool="none", capture_output=True, text=True
    )
    assert done.returncode == 0 and f"PYTHONPATH={tmp_path}\n" in done.stdout
    assert set(done.stdout.splitlines()) == {f"{name}={value}" for name, value in environ.items()}


def test_importing_the_package_loads_nothing_else() -> None:
    script = (
        "import sys; before = set(sys.modules); import interpose; print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "['interpose']\n"


def test_the_program_has_no_descriptor_of_ours() -> None:
    native = subprocess.run(
        ["/bin/ls", "/proc/self/fd"], capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    done = interpose.run(
        ["/bin/ls", "/proc/self/fd"], tool="none", capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert done.stdout == native.stdout
