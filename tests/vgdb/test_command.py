"""The command interpose-vgdb beside Valgrind's vgdb, on the same program: messages, replies, status."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys

import pytest
from vgdb.running import (
    OURS,
    TIMEOUT,
    VGDB,
    beside_valgrind,
    environment,
    interpose,
    running,
    valgrind,
    vgdb,
)

LINES = (
    ["v.wait"],
    ["v.wait", "-c", "v.info", "n_errs_found", "a", "b"],
    ["-c", "v.wait", "-c"],
    ["-c", "-c", "v.wait"],
    ["v.clo --num-callers=3"],
    ["unknown"],
    ["-l"],
    ["--pid=1", "help"],
    ["--pid=x", "help"],
    ["--pid=99999999999", "help"],
    ["--pid="],
    ["--pid=0", "help"],
    ["--wait=x", "help"],
    ["--cmd-time-out=x", "v.wait"],
    ["--max-invoke-ms=x", "v.wait"],
    ["--port=x"],
    ["--port=99", "v.wait"],
    ["--zz"],
    ["v.clo", "--stats=yes"],
    ["v.wait", "--", "x"],
    ["--pid=1", "--pid=2", "v.wait"],
    ["--max-invoke-ms=0", "v.wait"],
    ["--max-invoke-ms=2000", "--cmd-time-out=2", "v.wait"],
    ["--max-invoke-ms=", "v.wait"],
    ["--max-invoke-ms=-1", "v.wait"],
    ["--cmd-time-out=", "v.wait"],
    ["--cmd-time-out=1", "--cmd-time-out=9999", "v.wait"],
    ["--wait=1", "--wait=2", "v.wait"],
    ["--zz", "--pid=x", "v.wait", "-"],
    ["-l", "-D"],
    ["-l", "v.wait"],
    ["-lT"],
    ["--pid", "5"],
    ["--pid=-5"],
    ["-c", "", "-c", "v.info n_errs_found } * # $", "-c", "  v.wait  "],
    ["v.info n_errs_found 'a  b'  \"c\"\tx"],
    ["v.wait\nv.wait"],
    ["v.info n_errs_found \udcff\u20ac"],
    ["v.info n_errs_found " + "x" * (8186 - 20)],
    [],
)


@pytest.fixture(scope="module")
def run(leaky, tmp_path_factory):
    with running(interpose("none"), leaky, folder=tmp_path_factory.mktemp("run")) as found:
        yield found


def outcome(run, words, by):
    done = vgdb(run, *words, by=by, errors="surrogateescape")
    return done.returncode, done.stdout, done.stderr.replace("interpose-vgdb", "vgdb")


@pytest.mark.skipif(not VGDB, reason="needs Valgrind's vgdb")
@pytest.mark.parametrize("words", LINES, ids=lambda words: repr(" ".join(words)[:60]))
def test_the_same_line_does_the_same(run, words) -> None:
    assert outcome(run, words, OURS) == outcome(run, words, (VGDB,))


@pytest.mark.parametrize(
    "by", [OURS, pytest.param((VGDB,), marks=pytest.mark.skipif(not VGDB, reason="no vgdb"))]
)
@pytest.mark.parametrize("size", [8187, 100_000])
def test_a_command_that_is_no_packet(run, by, size) -> None:
    """The program's server would wait for the end of it, and whoever sent it for the answer."""
    done = vgdb(run, "x" * size, by=by)
    assert done.returncode == 1 and done.stdout == ""
    assert re.match(r"command x{60}.* too long", done.stderr) and "args error" in done.stderr


@pytest.mark.parametrize("words", [["--valgrind=/x", "v.wait"], ["v.wait", "--vargs", "-q"]], ids=" ".join)
def test_what_is_for_multi_alone(run, words) -> None:
    done = vgdb(run, *words)
    assert done.returncode == 1
    assert done.stderr.startswith("Can't use --valgrind or --vargs without --multi\n")


def test_help_comes_before_mistakes(run) -> None:
    done = vgdb(run, "--zz", "-h")
    assert done.returncode == 0 and done.stdout.startswith("Usage: ")


@pytest.mark.parametrize("stamps", [False, True])
def test_several_programs(leaky, tmp_path, stamps) -> None:
    """They are listed with their words as they are, and one has to be chosen."""
    words = [*interpose("none"), f"--vgdb-prefix={tmp_path}/p", "-q", os.fspath(leaky), "pauses"]
    odd = [word.encode() for word in words] + [b"\xff b"]
    with running(interpose("none"), leaky, "pauses", folder=tmp_path) as run:
        second = subprocess.Popen(odd, stdout=subprocess.PIPE)
        try:
            assert second.stdout is not None and second.stdout.readline()
            options = ["-T"] if stamps else []
            listed = vgdb(run, "-l", *options, errors="surrogateescape", env=utf8())
            time = r"\d\d:\d\d:\d\d\.\d{6} " if stamps else ""
            lines = [
                f"use --pid={run.pid} for {leaky} pauses ",
                f"use --pid={second.pid} for {leaky} pauses \udcff b ",
            ]
            lines.sort(key=lambda line: int(re.search(r"\d+", line)[0]))
            assert [re.sub(f"^{time}", "", line) for line in listed.stdout.splitlines()] == lines
            assert all(re.match(f"{time}use", line) for line in listed.stdout.splitlines())
            for command in (["v.wait"], [], ["-D"]):
                done = vgdb(run, *options, *command, errors="surrogateescape", env=utf8())
                assert done.returncode == 1
                first = "no --pid= arg_pid given and multiple valgrind pids found."
                assert [re.sub(f"^{time}", "", line) for line in done.stderr.splitlines()] == [first, *lines]
                assert all(re.match(f"{time}[nu]", line) for line in done.stderr.splitlines())
        finally:
            second.kill()
            second.communicate()


def utf8() -> dict[str, str]:
    """Where Python is strict about text."""
    return {**environment(), "LC_ALL": "C.UTF-8", "PYTHONUTF8": "0", "PYTHONIOENCODING": "utf-8:strict"}


@pytest.mark.parametrize("given", ["", "x-"])
def test_a_prefix_may_be_short(leaky, tmp_path, given) -> None:
    words = [*interpose("none"), f"--vgdb-prefix={given}", "-q", os.fspath(leaky), "pauses"]
    program = subprocess.Popen(words, stdout=subprocess.PIPE, cwd=tmp_path)
    try:
        assert program.stdout is not None and program.stdout.readline()
        assert len(list(tmp_path.glob(f"{given}-*{program.pid}-by-*"))) == 3
        ask = [*OURS, f"--vgdb-prefix={given}", "v.wait"]
        done = subprocess.run(ask, capture_output=True, text=True, timeout=TIMEOUT, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (0, "gdbserver: continuing after wait ...\n")
    finally:
        program.kill()
        program.communicate()


@pytest.mark.skipif(not VGDB, reason="needs Valgrind's vgdb")
@pytest.mark.parametrize("prefix", ["none", "no/such/folder"])
def test_nobody_there(run, tmp_path, prefix) -> None:
    both = [
        subprocess.run(
            [*by, f"--vgdb-prefix={tmp_path}/{prefix}", "v.wait"],
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
        for by in (OURS, (VGDB,))
    ]
    assert both[0].returncode == both[1].returncode == 1
    assert both[0].stderr == both[1].stderr


def test_shared_memory_is_shown(run) -> None:
    form = r"vgdb \d+ written_by_vgdb (\d+) seen_by_valgrind (\d+)\nvgdb pid \d+\n"
    for _ in range(100):  # the last one that called may still be leaving
        found = re.fullmatch(form, vgdb(run, "-D").stderr)
        assert found
        if found[1] == found[2]:
            break
    assert found[1] == found[2]


def test_quiet_and_time_stamps(run) -> None:
    assert vgdb(run, "-q", "v.wait").stderr == ""
    assert re.match(r"\d\d:\d\d:\d\d\.\d{6} sending command v\.wait", vgdb(run, "-T", "v.wait").stderr)
    assert "writing" in vgdb(run, "-d", "-d", "v.wait").stderr
    assert f"found {os.fspath(run.files()[0].parent)}" not in vgdb(run, "v.wait").stderr
    assert "found " in vgdb(run, "-v", "v.wait").stderr


def test_help_names_every_option() -> None:
    done = subprocess.run([*OURS, "--help"], capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0
    for option in (
        "--pid",
        "--vgdb-prefix",
        "--wait",
        "--max-invoke-ms",
        "--port",
        "--cmd-time-out",
        "--multi",
    ):
        assert option in done.stdout


def test_waits_for_a_program(leaky, tmp_path) -> None:
    words = [*OURS, f"--vgdb-prefix={tmp_path}/p", "--wait=60", "v.wait"]
    waiting = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with running(interpose("none"), leaky, folder=tmp_path):
        out, _ = waiting.communicate(timeout=TIMEOUT)
    assert (waiting.returncode, out) == (0, "gdbserver: continuing after wait ...\n")


def test_does_not_wait_for_a_program_that_has_ended(tmp_path) -> None:
    """Its parent need not have heard of that: the debug adapter, of a program that cannot be run."""
    ended = subprocess.Popen(["true"])
    try:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        words = [*OURS, f"--vgdb-prefix={tmp_path}/p", "--wait=100000", f"--pid={ended.pid}", "v.wait"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    finally:
        ended.wait()
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"vgdb error: no FIFO found matching pid {ended.pid}\n"


def test_gives_up_on_a_program_that_does_not_answer(leaky, tmp_path) -> None:
    from vgdb.test_fifos import supervisor_of

    with running(interpose("none"), leaky, folder=tmp_path) as run:
        server = supervisor_of(run)
        os.kill(server, signal.SIGSTOP)
        try:
            done = vgdb(run, "--cmd-time-out=1", "v.wait")
        finally:
            os.kill(server, signal.SIGCONT)
        assert done.returncode == 1
        assert done.stderr.endswith(f"pid {run.pid} did not handle a command in 1 seconds\n")
        assert vgdb(run, "v.wait").stdout == "gdbserver: continuing after wait ...\n"


def test_the_end_of_the_program_ends_the_command(leaky, tmp_path) -> None:
    with running(interpose("none"), leaky, folder=tmp_path) as run:
        words = [*OURS, f"--vgdb-prefix={run.prefix}", "v.kill", "-c", "v.wait"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT)
        assert done.returncode == 0
        assert done.stderr.endswith("readchar: Got EOF\nerror reading packet\n")


def packet(content: bytes) -> bytes:
    return b"$%b#%02x" % (content, sum(content) & 0xFF)


def test_tcp_is_for_this_machine_and_user(run) -> None:
    words = [*OURS, f"--vgdb-prefix={run.prefix}", "--port=0"]
    listening = subprocess.Popen(words, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    try:
        assert listening.stderr is not None
        found = re.match(r"listening on port (\d+) \.\.\.", listening.stderr.readline())
        assert found
        port = int(found[1])
        with open("/proc/net/tcp") as file:
            own = [line.split()[1] for line in file if line.split()[1].endswith(f":{port:04X}")]
        assert own == [f"0100007F:{port:04X}"]
        with socket.create_connection(("127.0.0.1", port)) as gdb:
            gdb.settimeout(TIMEOUT)
            gdb.sendall(packet(b"qRcmd," + b"v.wait".hex().encode()))
            answer = b""
            while b"OK#9a" not in answer:
                piece = gdb.recv(4096)
                assert piece
                answer += piece
            assert b"gdbserver: continuing after wait".hex().encode() in answer
        assert listening.wait(TIMEOUT) == 0
    finally:
        listening.kill()
        listening.communicate(timeout=TIMEOUT)


STRANGER = """
import os, socket, sys
os.setuid(65534)  # behind the imports: another user may be unable to read Python's files
with socket.socket() as other:
    other.connect(("127.0.0.1", int(sys.argv[1])))
    sys.exit(other.recv(1) != b"")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_tcp_of_another_user_is_refused(run, tmp_path) -> None:
    words = [*OURS, f"--vgdb-prefix={run.prefix}", "--port=0"]
    listening = subprocess.Popen(words, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    try:
        assert listening.stderr is not None
        port = int(re.sub(r"\D", "", listening.stderr.readline()))
        done = subprocess.run([sys.executable, "-c", STRANGER, str(port)], timeout=TIMEOUT)
        assert done.returncode == 0
        assert listening.stderr.readline() == "refused a connection of user 65534\n"
    finally:
        listening.kill()
        listening.communicate(timeout=TIMEOUT)


def test_a_port_that_is_taken_is_one_line(run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        done = vgdb(run, f"--port={taken.getsockname()[1]}")
    assert done.returncode == 1
    assert re.fullmatch(r"vgdb error: cannot listen on port \d+: .*\n", done.stderr)


# -- what is not a program of ours ---------------------------------------------------------------------------


def test_files_that_only_look_like_a_program(tmp_path) -> None:
    """It is no FIFO, the process does not exist, the number is none."""
    os.mkfifo(tmp_path / "p-from-vgdb-to-999999999-by-a-on-b")
    for name in (
        "p-from-vgdb-to-2-by-a-on-b",
        "p-from-vgdb-to--by-",
        "p-from-vgdb-to-99999999999999-by-a-on-b",
    ):
        (tmp_path / name).touch()
    words = [*OURS, f"--vgdb-prefix={tmp_path}/p", "v.wait"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT)
    assert (done.returncode, done.stderr) == (1, "vgdb error: no FIFO found and no pid given\n")


def test_a_process_that_does_not_listen(tmp_path) -> None:
    pid = os.getpid()
    for kind in ("from-vgdb-to", "to-vgdb-from"):
        os.mkfifo(tmp_path / f"p-{kind}-{pid}-by-a-on-b")
    (tmp_path / f"p-shared-mem-vgdb-{pid}-by-a-on-b").write_bytes(bytes(48))
    words = [*OURS, f"--vgdb-prefix={tmp_path}/p", "v.wait"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 1
    assert done.stderr.startswith(f"vgdb error: pid {pid} does not listen at {tmp_path}/p-from-vgdb-to-")


@beside_valgrind
def test_a_program_under_valgrind_that_computes_answers_us(leaky, tmp_path) -> None:
    with running(valgrind("none"), leaky, "computes", folder=tmp_path) as run:
        for _ in range(3):
            done = vgdb(run, "v.info", "n_errs_found", "-c", "v.wait")
            assert done.stdout.startswith("n_errs_found 0 ") and done.returncode == 0


def test_a_shared_memory_that_is_too_short(tmp_path) -> None:
    fifo = tmp_path / f"p-from-vgdb-to-{os.getpid()}-by-a-on-b"
    os.mkfifo(fifo)
    os.mkfifo(tmp_path / f"p-to-vgdb-from-{os.getpid()}-by-a-on-b")
    (tmp_path / f"p-shared-mem-vgdb-{os.getpid()}-by-a-on-b").write_bytes(b"x")
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        words = [*OURS, f"--vgdb-prefix={tmp_path}/p"]
        done = subprocess.run([*words, "v.wait"], capture_output=True, text=True, timeout=TIMEOUT)
        assert done.returncode == 1 and "is no shared memory of a server" in done.stderr
        done = subprocess.run([*words, "-D"], capture_output=True, text=True, timeout=TIMEOUT)
        assert done.returncode == 1 and "is too short" in done.stderr
    finally:
        os.close(reader)


def test_a_reader_that_leaves_is_no_traceback(run) -> None:
    words = [*OURS, f"--vgdb-prefix={run.prefix}", "help debug"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    said = process.stderr.read()
    process.wait(TIMEOUT)
    assert b"Traceback" not in said
    assert vgdb(run, "v.wait").returncode == 0
