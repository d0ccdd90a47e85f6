"""How a program is reached: its files, who may use them, and that nothing of them is left."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import subprocess
import time

import pytest
from vgdb.running import OURS, TIMEOUT, VGDB, ask, interpose, running, vgdb


def until(condition) -> None:
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_files_have_valgrinds_names_and_are_for_the_owner_only(leaky, tmp_path) -> None:
    with running(interpose("none"), leaky, folder=tmp_path) as run:
        user = os.environ.get("LOGNAME") or os.environ.get("USER") or "???"
        host = os.environ.get("HOST") or os.environ.get("HOSTNAME") or "???"
        end = f"{run.pid}-by-{user}-on-{host}"
        names = {path.name: path.lstat() for path in run.files()}
        assert set(names) == {f"p-from-vgdb-to-{end}", f"p-to-vgdb-from-{end}", f"p-shared-mem-vgdb-{end}"}
        assert all(stat.S_IMODE(info.st_mode) & 0o077 == 0 for info in names.values())
        assert names[f"p-shared-mem-vgdb-{end}"].st_size == 48
        assert sum(stat.S_ISFIFO(info.st_mode) for info in names.values()) == 2


def test_who_comes_before_the_program_waits_for_it(leaky, tmp_path) -> None:
    """A process without threads would be one that has ended (``W00``), a thread at 0 one that is lost."""
    prefix = f"--vgdb-prefix={tmp_path / 'p'}"
    command = [*interpose("none"), prefix, "--vgdb-error=0", "--delays=request=500", str(leaky)]
    with contextlib.ExitStack() as stack:
        process = stack.enter_context(
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        )
        stack.callback(process.kill)
        until(lambda: len(list(tmp_path.glob("p-*"))) == 3)
        words = [*OURS, "-q", prefix]
        relay = stack.enter_context(subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        stack.callback(relay.kill)
        assert relay.stdin is not None and relay.stdout is not None
        relay.stdin.write(b"$?#3f")
        relay.stdin.flush()
        answer = b""
        while b"#" not in answer:
            answer += os.read(relay.stdout.fileno(), 4096) or pytest.fail(repr(answer))
        assert answer.startswith(b"+$T") and b";10:" in answer and b";10:" + b"0" * 16 not in answer


@pytest.mark.parametrize("how", ["pauses", "sleeps", "computes"])
def test_whatever_the_program_does_it_answers(leaky, tmp_path, how) -> None:
    with running(interpose("none"), leaky, how, folder=tmp_path) as run:
        for number in range(3):
            reply = ask(run, f"v.info n_errs_found try {number}")
            assert reply == f"n_errs_found 0 n_errs_shown 0 (vgdb-error 999999999) try {number}\n"


@pytest.mark.skipif(not VGDB, reason="needs Valgrind's vgdb")
@pytest.mark.parametrize("how", ["pauses", "computes"])
def test_valgrinds_vgdb_talks_to_us(leaky, tmp_path, how) -> None:
    with running(interpose("none"), leaky, how, folder=tmp_path) as run:
        done = vgdb(run, "v.info", "n_errs_found", "a", "b", "-c", "v.wait", by=(VGDB,))
        replies = "n_errs_found 0 n_errs_shown 0 (vgdb-error 999999999) a b\n"
        assert done.stdout == replies + "gdbserver: continuing after wait ...\n"


@pytest.mark.parametrize("how", ["kill", "ends", "v.kill"])
def test_nothing_is_left_when_the_program_ends(leaky, tmp_path, how) -> None:
    with running(interpose(), leaky, folder=tmp_path) as run:
        assert len(run.files()) == 3
        if how == "v.kill":
            assert "kill this process" in ask(run, "v.kill")
            assert run.process.wait(TIMEOUT) == 0
            assert "ERROR SUMMARY" not in run.log.read_text()
        else:
            os.kill(run.pid, signal.SIGKILL if how == "kill" else signal.SIGTERM)
            run.process.wait(TIMEOUT)
        until(lambda: not run.files())


def supervisor_of(run) -> int:
    """The process that has the run's FIFO open to read from."""
    fifo = next(str(path) for path in run.files() if "-from-" in path.name)
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if fifo in [os.readlink(f"/proc/{name}/fd/{fd}") for fd in os.listdir(f"/proc/{name}/fd")]:
                return int(name)
    raise AssertionError("nobody serves the FIFO")


def test_the_program_takes_away_what_a_killed_supervisor_leaves(leaky, tmp_path) -> None:
    with running(interpose("none"), leaky, folder=tmp_path) as run:
        assert len(run.files()) == 3
        os.kill(supervisor_of(run), signal.SIGKILL)
        run.process.wait(TIMEOUT)
        assert not run.files()


def test_what_nobody_is_left_to_take_away_is_recognised(leaky, tmp_path) -> None:
    with running(interpose("none"), leaky, folder=tmp_path) as run:
        supervisor = supervisor_of(run)
        os.kill(supervisor, signal.SIGSTOP)
        os.kill(run.pid, signal.SIGKILL)
        run.process.wait(TIMEOUT)
        os.kill(supervisor, signal.SIGKILL)
        assert len(run.files()) == 3
        done = vgdb(run, "v.wait")
        assert (done.returncode, done.stderr) == (1, "vgdb error: no FIFO found and no pid given\n")
        assert not run.files()


def test_a_vgdb_that_is_killed_leaves_the_program_as_it_was(leaky, tmp_path) -> None:
    with running(interpose("none"), leaky, folder=tmp_path) as run:
        relay = subprocess.Popen(
            [*vgdb_command(run)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert relay.stderr is not None
        assert b"relaying" in relay.stderr.readline()
        busy = vgdb(run, "v.wait")
        assert busy.returncode == 1
        assert f"Probably vgdb pid {relay.pid} already speaks with Valgrind pid {run.pid}" in busy.stderr
        relay.kill()
        relay.communicate(timeout=TIMEOUT)
        assert ask(run, "v.wait") == "gdbserver: continuing after wait ...\n"


def vgdb_command(run) -> list[str]:
    from vgdb.running import OURS

    return [*OURS, f"--vgdb-prefix={run.prefix}"]


def test_no_files_without_vgdb(leaky, tmp_path) -> None:
    with running(interpose("none"), leaky, folder=tmp_path, options=["--vgdb=no"]) as run:
        assert not run.files()


def test_a_prefix_without_a_folder_is_one_warning(leaky, tmp_path) -> None:
    options = [f"--vgdb-prefix={tmp_path}/none/p"]
    with running(interpose("none"), leaky, folder=tmp_path, options=options) as run:
        assert run.log.read_text().count("Warning: cannot make") == 1


def test_files_of_a_forked_child_are_its_own(tmp_path) -> None:
    source = tmp_path / "forks.c"
    source.write_text(
        "#include <stdio.h>\n#include <unistd.h>\n"
        "int main(void) { int p = fork(); if (!p) for (;;) pause();\n"
        'printf("child=%#x\\n", p); fflush(stdout); for (;;) pause(); }\n'
    )
    program = tmp_path / "forks"
    subprocess.run(["gcc", "-w", str(source), "-o", str(program)], check=True, timeout=TIMEOUT)
    with running(interpose("none"), program, folder=tmp_path) as run:
        child = run.places["child"]
        try:
            until(lambda: len(run.files()) == 6)
            listed = vgdb(run, "-l").stdout
            assert f"use --pid={run.pid} for" in listed and f"use --pid={child} for" in listed
            many = vgdb(run, "v.wait")
            assert many.returncode == 1
            assert many.stderr.startswith(
                "no --pid= arg_pid given and multiple valgrind pids found.\nuse --pid="
            )
            assert vgdb(run, f"--pid={child}", "v.wait").stdout == "gdbserver: continuing after wait ...\n"
        finally:
            os.kill(child, signal.SIGKILL)
        until(lambda: len(run.files()) == 3)
        assert ask(run, "v.wait") == "gdbserver: continuing after wait ...\n"


def test_many_one_after_the_other(leaky, tmp_path) -> None:
    """The next one may call before it is seen that the last one has left."""
    with running(interpose("none"), leaky, folder=tmp_path) as run:
        words = [*vgdb_command(run), f"--pid={run.pid}", "v.wait"]
        for _ in range(10):
            callers = [
                subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                for _ in range(4)
            ]
            answered = 0
            for caller in callers:
                out, said = caller.communicate(timeout=TIMEOUT)
                if caller.returncode:
                    assert "Cannot acquire lock" in said
                else:
                    assert out == "gdbserver: continuing after wait ...\n"
                    answered += 1
            assert answered > 0


def test_output_for_gdb_goes_to_the_log_once_gdb_has_left(leaky, tmp_path) -> None:
    with running(interpose(), leaky, folder=tmp_path) as run:
        done = vgdb(run, "v.set", "gdb_output", "-c", "v.info", "n_errs_found")
        assert done.stdout.startswith("valgrind output will go to gdb\nn_errs_found 2 ")
        run.process.terminate()
        run.process.wait(TIMEOUT)
    said = run.log.read_text()
    assert "ERROR SUMMARY: 2 errors" in said
    assert said.count("Reset valgrind output to log (") == 1


def test_a_value_out_of_bounds_is_refused_and_the_program_goes_on(leaky, tmp_path) -> None:
    with running(interpose("none"), leaky, folder=tmp_path) as run:
        reply = ask(run, "v.set merge-recursive-frames 99999")
        assert "'--merge-recursive-frames' argument must be between 0 and 500" in reply
        assert ask(run, "v.wait") == "gdbserver: continuing after wait ...\n"


def test_output_for_the_log_is_not_for_gdb_any_more(leaky, tmp_path) -> None:
    with running(interpose(), leaky, folder=tmp_path) as run:
        vgdb(run, "v.set", "gdb_output", "-c", "v.set", "log_output", "-c", "v.info", "last_error")
        assert run.log.read_text().count("uninitialised value") == 2


def test_replies_for_the_log_are_in_it(leaky, tmp_path) -> None:
    with running(interpose(), leaky, folder=tmp_path) as run:
        done = vgdb(
            run, "v.set", "log_output", "-c", "v.info", "n_errs_found", "-c", "v.info", "-c", "leak_check"
        )
        assert done.stdout.startswith("valgrind output will go to log\n<empty string> can match all_errors")
        said = run.log.read_text()
        assert "n_errs_found 2" in said and "LEAK SUMMARY" in said


def left_by(run) -> None:
    """Kill a run so that nobody takes its files away."""
    supervisor = supervisor_of(run)
    os.kill(supervisor, signal.SIGSTOP)
    os.kill(run.pid, signal.SIGKILL)
    run.process.wait(TIMEOUT)
    os.kill(supervisor, signal.SIGKILL)
    until(lambda: not is_listened_to(run))


def is_listened_to(run) -> bool:
    path = next(path for path in run.files() if "-from-vgdb-to-" in path.name)
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def renamed(run, pid: int) -> None:
    """As if the number of the run were another process's."""
    for path in run.files():
        path.rename(path.with_name(path.name.replace(str(run.pid), str(pid))))


def test_files_whose_number_has_another_process_now(leaky, tmp_path) -> None:
    with running(interpose("none"), leaky, folder=tmp_path) as run:
        left_by(run)
        time.sleep(0.5)  # a number comes round much later; the next process is to be younger than the files
        with subprocess.Popen(["sleep", "1000"]) as other:
            try:
                renamed(run, other.pid)
                done = vgdb(run, "-l")
                assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
                assert not run.files()
                assert other.poll() is None
            finally:
                other.kill()


def test_an_older_process_may_be_the_one(leaky, tmp_path) -> None:
    """Valgrind has its FIFO open only while it looks: what the times do not exclude stays."""
    with subprocess.Popen(["sleep", "1000"]) as other:
        try:
            time.sleep(0.5)
            with running(interpose("none"), leaky, folder=tmp_path) as run:
                left_by(run)
                renamed(run, other.pid)
                assert vgdb(run, "-l").stdout == f"use --pid={other.pid} for sleep 1000 \n"
                assert len(run.files()) == 3
                done = vgdb(run, "v.wait")
                assert done.returncode == 1 and "does not listen" in done.stderr
        finally:
            other.kill()


def test_a_program_of_another_process_namespace_keeps_its_files(leaky, tmp_path) -> None:
    """Its number is nobody's here, but somebody listens."""
    with running(interpose("none"), leaky, folder=tmp_path) as run:
        nobody = 4194304  # above the kernel's highest
        renamed(run, nobody)
        assert vgdb(run, "-l").stdout == ""
        assert len(run.files()) == 3
        for path in run.files():
            path.rename(path.with_name(path.name.replace(str(nobody), str(run.pid))))
        assert ask(run, "v.wait") == "gdbserver: continuing after wait ...\n"
