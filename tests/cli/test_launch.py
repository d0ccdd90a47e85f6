"""The birth of client and supervisor, with a stand-in for the runtime that prints what it was born with.

Both ways: as ``python -m interpose`` has it, and by the launcher.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from interpose.jit._native import lib

from .launcher import place

HERE = Path(__file__).parent
# What a child needs to import the package under test.
IMPORTS = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}


@pytest.fixture(scope="session")
def runtime(tmp_path_factory) -> str:
    out = tmp_path_factory.mktemp("runtime") / "fake"
    subprocess.run(["gcc", "-O1", str(HERE / "fake_runtime.c"), "-o", str(out)], check=True)
    return str(out)


@pytest.fixture(scope="session", params=["python", "launcher"])
def start(request, tmp_path_factory) -> list[str]:
    """The words that stand before runtime, report and command."""
    fake = str(HERE / "fake_launch.py")
    if request.param == "python":
        return [sys.executable, fake]
    script = (
        "import sys\n"
        "if sys.flags.no_site:\n    import site\n    site.main()\n"
        "from interpose import launched\nlaunched.begin()\n"
        f"exec(compile(open({fake!r}).read(), {fake!r}, 'exec'))\n"
    )
    return [str(place(tmp_path_factory.mktemp("launcher"), script))]


class Launched:
    def __init__(self, process: subprocess.CompletedProcess[str], report: Path) -> None:
        self.code = process.returncode
        self.out = process.stdout.splitlines()
        self.err = process.stderr
        self.report = report

    def lines(self, key: str) -> list[str]:
        return [line.split(" ", 1)[1] for line in self.out if line.startswith(key + " ")]

    def seen(self) -> dict:
        """What the supervisor wrote; it may be a moment later than the client."""
        deadline = time.monotonic() + 10
        while not self.report.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        return json.loads(self.report.read_text())


@pytest.fixture
def launch(runtime, start, tmp_path):
    def go(*words: str, **more) -> Launched:
        report = tmp_path / "report"
        command = [*start, runtime, str(report), *words]
        process = subprocess.run(
            command, capture_output=True, text=True, timeout=60, **{"stdin": subprocess.DEVNULL, **more}
        )
        return Launched(process, report)

    return go


def test_client_gets_arguments_and_exit_code(launch):
    run = launch("/bin/true", "a", "", "c d")
    assert run.code == 7
    assert run.lines("arg") == ["/bin/true", "a", "", "c d"]
    seen = run.seen()
    assert seen["path"] == seen["prog"] == "/bin/true"
    assert [str(seen["client"])] == run.lines("pid")
    assert seen["parent"] == os.getpid()


def test_script_gets_its_interpreter(launch, tmp_path):
    script = tmp_path / "s"
    script.write_text("#!/bin/sh -e\n")
    script.chmod(0o755)
    run = launch(str(script), "x")
    assert run.lines("arg") == ["/bin/sh", "-e", str(script), "x"]
    assert run.seen()["prog"] == "/bin/sh"


def test_environment_is_exactly_the_given_one(launch):
    # In the C locale Python adds LC_CTYPE to its own.
    environ = {"PATH": "/bin", **IMPORTS, "ODD": "a=b\n", "EMPTY": ""}
    run = launch("/bin/true", env=environ)
    got = "\n".join(run.out).split("\nenv ")[1:]
    got[-1] = got[-1].split("\nfd ")[0]
    assert got == [f"{name}={value}" for name, value in environ.items()]


def test_tunables_stay_one_entry(launch):
    """The dynamic linker cuts them where it was given them."""
    tunables = "glibc.malloc.perturb=7:glibc.malloc.check=0:glibc.no.such=1"
    run = launch("/bin/true", env={"PATH": "/bin", **IMPORTS, "GLIBC_TUNABLES": tunables, "LAST": "1"})
    assert run.lines("env")[-2:] == [f"GLIBC_TUNABLES={tunables}", "LAST=1"]


def test_starts_where_the_ends_of_children_are_ignored(launch):
    run = launch("/bin/true", preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert run.code == 7


def test_entries_without_a_name_survive(runtime, start, tmp_path):
    """execve allows repeated entries and entries without ``=``, which no Python mapping holds."""
    entries = ["X=1", "X=2", *(f"{name}={value}" for name, value in IMPORTS.items()), "odd", "", "LAST=1"]
    source = tmp_path / "e.c"
    source.write_text(
        "#include <unistd.h>\nint main(int n, char **a) {\n"
        f"  char *e[] = {{{', '.join(json.dumps(entry) for entry in entries)}, 0}};\n"
        "  return n && execve(a[1], a + 1, e);\n}\n"
    )
    subprocess.run(["gcc", str(source), "-o", str(tmp_path / "e")], check=True)
    words = [runtime, str(tmp_path / "r"), "/bin/true"]
    command = [str(tmp_path / "e"), *start, *words]
    out = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout.splitlines()
    assert [line[4:] for line in out if line.startswith("env ")] == entries


def test_descriptors_of_the_client(launch):
    run = launch("/bin/true")
    table = {int(fd): int(size) for fd, size in (line.split() for line in run.lines("fd"))}
    (execfn,) = run.lines("execfn")
    base = int(execfn.removeprefix("/dev/fd/"))
    assert sorted(table) == [0, 1, 2, *range(base, base + 5)]
    assert table[base + 1] == lib.IP_CHAN_BYTES + lib.IP_XLT_MAX
    assert table[base + 2] == lib.IP_CACHE_MAX
    assert table[base + 3] == lib.IP_META_MAX
    assert base > 500


def test_few_descriptors(launch):
    import resource

    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    run = launch("/bin/true", preexec_fn=limit)
    assert run.lines("execfn") == ["/dev/fd/59"]
    assert run.code == 7

    def too_few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (9, 9))

    run = launch("/bin/true", preexec_fn=too_few)
    assert run.code == 1
    assert (
        run.err.endswith(": 9 file descriptors are too few; raise ulimit -n\n") and run.err.count("\n") == 1
    )


def test_few_descriptors_that_may_be_more(launch):
    """The soft limit is the program's alone."""
    import resource

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    run = launch("/bin/true", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (9, hard)))
    assert run.code == 7
    assert run.lines("execfn") == ["/dev/fd/59"]


def test_small_limit_on_file_size(launch):
    import resource

    run = launch(
        "/bin/true",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY)),
    )
    assert run.code == 7


@pytest.mark.parametrize("closed", [(0,), (0, 1, 2), (1,), (2,)])
def test_closed_standard_descriptors_stay_closed(runtime, start, tmp_path, closed):
    def close():
        for fd in closed:
            os.close(fd)

    # The output goes to descriptor 1; where that is closed, nothing can be seen but the exit code.
    out = tmp_path / "out"
    command = [*start, runtime, str(tmp_path / "r"), "/bin/true"]
    with open(out, "wb") as file:
        process = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.DEVNULL,
            preexec_fn=close,
            timeout=60,
        )
    assert process.returncode == 7
    if 1 not in closed:
        fds = [int(line.split()[1]) for line in out.read_text().splitlines() if line.startswith("fd ")]
        assert not set(fds) & set(closed)


def test_signals_are_as_before(launch):
    run = launch("/bin/true")
    assert run.lines("signal") == []
    run = launch("/bin/true", preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    assert run.lines("signal") == [str(int(signal.SIGINT))]


def test_supervisor_is_no_child_and_has_its_own_session(launch):
    run = launch("/bin/true")
    assert run.lines("child") == ["0"]
    seen = run.seen()
    assert seen["sid"] not in (seen["client"], os.getsid(0))
    assert seen["supervisor_pid"] == seen["pid"] != seen["client"] == seen["client_pid"]


def test_supervisor_keeps_no_file_of_the_program(launch):
    read, write = os.pipe()
    run = launch("/bin/true", pass_fds=[write])
    os.close(write)
    seen = run.seen()
    assert run.lines("fd")[3].split()[0] == str(write)
    assert set(seen["fds"]) == {0, 1, 2, *seen["own"]} and seen["channels"] == 1
    assert seen["stdin"] == "/dev/null"
    assert os.read(read, 1) == b""
    os.close(read)


def test_reader_of_the_output_sees_its_end_when_the_program_ends(runtime, start, tmp_path):
    """The supervisor of this client lives on: it waits for a socket that a background child keeps open."""
    source = tmp_path / "hold.c"
    source.write_text(
        "#include <unistd.h>\n"
        "int main(void) { if (fork() == 0) { close(0); close(1); sleep(20); } return 7; }\n"
    )
    subprocess.run(["gcc", str(source), "-o", str(tmp_path / "hold")], check=True)
    command = [*start, str(tmp_path / "hold"), str(tmp_path / "r"), "/bin/true"]
    begun = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    assert process.stdout.read() == b""
    assert process.wait() == 7
    assert time.monotonic() - begun < 10


def test_client_sees_the_supervisor_go(launch):
    run = launch("--stats=yes", "/bin/true", "wait")
    assert run.out[-1] == "supervisor gone"


def test_fault_in_the_supervisor_is_said_once(launch):
    run = launch("--trace-sched=yes", "/bin/true", "wait")
    assert run.out[-1] == "supervisor gone"
    lines = [line for line in run.err.splitlines() if not line.startswith("==")]
    assert lines[0].startswith("interpose: internal error: ValueError: a fault of ours at ")
    assert all(line.startswith("  ") or not line for line in lines[1:])
    assert "Please report this" in lines[-1] and not any("Traceback" in line for line in lines)


def test_channel_carries_the_options(launch):
    seen = launch("--num-callers=33", "--malloc-fill=5a", "--chaining=no", "/bin/true").seen()
    assert seen["magic"] == lib.IP_MAGIC
    assert seen["num_callers"] == 33 and seen["malloc_fill"] == 0x5A
    wanted = lib.IP_C_SHADOW | lib.IP_C_HEAP | lib.IP_C_CALLSTACK | lib.IP_C_UNDEF | lib.IP_C_NO_CHAIN
    assert seen["flags"] & wanted == wanted
    assert not seen["flags"] & (lib.IP_C_SINGLE_STEP | lib.IP_C_TRACE_CHILDREN)
    assert seen["stubs"].endswith("interpose-stubs.so")
    none = launch("--tool=none", "--single-step=yes", "--trace-children=yes", "/bin/true").seen()
    assert none["flags"] == lib.IP_C_SINGLE_STEP | lib.IP_C_TRACE_CHILDREN
    assert none["stubs"].endswith("interpose-core.so") and none["malloc_fill"] == -1


@pytest.mark.parametrize(
    ("option", "exact"),
    [
        ("--vgdb=full", True),
        ("--vgdb=yes", False),
        ("--vex-iropt-register-updates=allregs-at-each-insn", True),
        ("--px-default=allregs-at-mem-access", True),
        ("--px-file-backed=allregs-at-mem-access", True),
        ("--px-default=sp-at-mem-access", False),
    ],
)
def test_who_asks_for_all_registers_gets_all_flags(launch, option, exact):
    assert bool(launch("--tool=memcheck", option, "/bin/true").seen()["flags"] & lib.IP_C_EXACT) == exact


@pytest.mark.parametrize(
    ("soft", "size"),
    [(512 << 10, 1 << 20), (8 << 20, 8 << 20), (64 << 20, 16 << 20)],
)
def test_main_stack_size(launch, soft, size):
    import resource

    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    run = launch("/bin/true", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (soft, hard)))
    assert run.seen()["main_stack"] == size


@pytest.mark.parametrize(("asked", "size"), [(4 << 20, 4 << 20), (100, 1 << 20), (2_000_001, 2_002_944)])
def test_main_stack_size_that_was_asked_for(launch, asked, size):
    """As Valgrind takes it: at least a megabyte, in whole pages. Reports of overflows say so."""
    assert launch(f"--main-stacksize={asked}", "/bin/true").seen()["main_stack"] == size


def test_log_goes_where_it_was_sent(launch, tmp_path):
    run = launch(f"--log-file={tmp_path}/log.%p", "/bin/true")
    pid = run.lines("pid")[0]
    run.seen()
    deadline = time.monotonic() + 10
    path = tmp_path / f"log.{pid}"
    while not path.read_text() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert path.read_text() == f"=={pid}== supervisor ran\n"
    assert run.err == ""
