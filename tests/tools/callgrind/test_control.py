"""``interpose-control`` and a program that runs: it counts, waits for a byte, counts on."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .profiles import build, read

LEAF = 4


@pytest.fixture(scope="module")
def guest(tmp_path_factory):
    return build(tmp_path_factory.mktemp("requests"), "requests.c", "-pthread")


@contextlib.contextmanager
def waiting(folder, guest, *options, what="wait"):
    """The program, where it waits for its first byte, and its environment."""
    environ = {**os.environ, "XDG_RUNTIME_DIR": str(folder)}
    command = [
        sys.executable,
        "-m",
        "interpose",
        "--tool=callgrind",
        f"--callgrind-out-file={folder / 'out'}",
    ]
    process = subprocess.Popen(
        [*command, *options, guest, what],
        env=environ,
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
    )
    try:
        assert process.stdout.read(1) == b"?"
        yield process, environ
        process.stdin.close()
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()


def control(environ, *words):
    command = [sys.executable, "-m", "interpose.control", *words]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    return done


def go_on(process):
    process.stdin.write(b"x")
    assert process.stdout.read(1) == b"?"


def pages(pid):
    """How many pages of the process are mapped to memory."""
    found = 0
    with open(f"/proc/{pid}/pagemap", "rb") as pagemap:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            lo, hi = (int(end, 16) for end in line.split()[0].split("-"))
            if hi > 1 << 47:
                continue
            pagemap.seek(lo // 4096 * 8)
            entries = pagemap.read((hi - lo) // 4096 * 8)
            found += sum(byte >> 7 for byte in entries[7::8])
    return found


def test_tables_of_contexts(tmp_path):
    """Contexts in code without names have tables of their own; a dump reads, and so maps, what was used."""
    guest = build(tmp_path, "bare.S", "-nostdlib", "-static", "-s", "-Wl,--eh-frame-hdr")
    with waiting(tmp_path, guest) as (process, environ):
        before = pages(process.pid)
        assert "OK." in control(environ, "-d", str(process.pid)).stdout
        assert pages(process.pid) - before < 2000
    assert sum(cost for (cost,) in read(tmp_path / "out.1").own.values()) > 40 * 900 * 10


def test_dump_and_zero(guest, tmp_path):
    with waiting(tmp_path, guest) as (process, environ):
        assert "OK." in control(environ, "-d=first", str(process.pid)).stdout
        go_on(process)
        assert "OK." in control(environ, "--zero", "requests").stdout
        go_on(process)
        go_on(process)
    first, rest = read(tmp_path / "out.1"), read(tmp_path / "out")
    assert first.ir["leaf"] == 10 * LEAF
    assert first.parts[0].description("Trigger") == "dump first"
    assert rest.ir["leaf"] == 12 * LEAF


def test_state(guest, tmp_path):
    with waiting(tmp_path, guest) as (process, environ):
        shown = control(environ, "-s", "-b", "-e").stdout
        assert f"PID {process.pid}: {guest} wait" in shown
        assert "Number of running threads: 1, thread IDs: 1" in shown
        assert "Backtrace for Thread 1" in shown and "] " in shown and " main (1 x)" in shown
        assert "Totals:   Ir" in shown
        assert "  Events collected: Ir; not Dr\n" in control(environ, "-e=Ir,Dr").stdout


def test_costs_of_calls_under_way(guest, tmp_path):
    """In columns, as callgrind_control shows them where both are asked for."""

    def numbers(*texts):
        return [int(text.replace(",", "")) for text in texts]

    with waiting(tmp_path, guest, "--cache-sim=yes") as (_, environ):
        assert "  Frame: Backtrace for Thread 1\n" in control(environ, "-b").stdout
        both = control(environ, "-e=Dw,Ir", "-b").stdout
        totals = numbers(*re.search(r"Th  1   ([\d,]+)  ([\d,]+)", both).groups())
        head, *rows = both.partition("  Frame: ")[2].splitlines()
        assert re.fullmatch(r" *Ir +Dw Backtrace for Thread 1", head)
        shape = re.compile(r"   \[ *\d+\]  ( *[\d,]+ +[\d,]+ )(.+) \(\d+ x\)")
        costs = {row[2]: row[1] for row in map(shape.fullmatch, rows)}
        assert {len(text) for text in costs.values()} == {len(head.partition("Back")[0])}
        instructions, writes = numbers(*costs["main"].split())
        assert 10 * LEAF < instructions <= totals[0] and 0 < writes <= totals[1]
        assert "  Frame: Backtrace for Thread 1\n" in control(environ, "-e=No", "-b").stdout


def test_a_name_that_no_run_has_is_told(guest, tmp_path):
    with waiting(tmp_path, guest) as (process, environ):
        command = [sys.executable, "-m", "interpose.control", "-z"]
        told = "interpose: no-such-program: no active callgrind run has this number or name\n"
        for names in (["no-such-program"], [str(process.pid), "no-such-program", "no-such-program"]):
            done = subprocess.run(
                [*command, *names], env=environ, capture_output=True, text=True, timeout=60, check=False
            )
            assert (done.returncode, done.stderr) == (1, told)
            wanted = "OK." if len(names) > 1 else "No active callgrind runs detected.\n"
            assert wanted in done.stdout


def test_a_name_with_a_space(guest, tmp_path):
    program = tmp_path / "two words"
    shutil.copy(guest, program)
    with waiting(tmp_path, program) as (process, environ):
        assert f"PID {process.pid}: {program}" in control(environ, "-s", "two words").stdout


@pytest.mark.parametrize("options", [(), ("--separate-threads=yes",)], ids=["together", "apart"])
@pytest.mark.parametrize("how", ["--zero", "--dump"])
def test_state_counts_from_zero(guest, tmp_path, options, how):
    """What -e and -b say of a thread, too, is what it has done since the last zero or dump."""
    with waiting(tmp_path, guest, *options) as (process, environ):

        def total():
            return int(control(environ, "-e").stdout.split()[-1].replace(",", ""))

        begun = total()
        assert begun > 10 * LEAF
        control(environ, how)
        assert total() == 0
        assert "  main (0 x)" in control(environ, "-b").stdout
        go_on(process)
        assert 0 < total() < begun
        control(environ, how)
        assert total() == 0


def test_instrumentation(guest, tmp_path):
    with waiting(tmp_path, guest) as (process, environ):
        control(environ, "--instr=off")
        go_on(process)
        off = "No information available as instrumentation is switched off."
        assert off in control(environ, "-s").stdout
        control(environ, "-i", "on")
        go_on(process)
    found = read(tmp_path / "out")
    assert found.ir["leaf"] == 16 * LEAF
    # Who had called main is not known, but main does not call them by its return.
    assert ("main", "(below main)") not in found.called


def test_instrumentation_of_a_thread_that_makes_no_call(guest, tmp_path):
    """It notices, too: nothing more is counted."""
    with waiting(tmp_path, guest, what="spin") as (process, environ):
        control(environ, "--instr=off")
        totals = 1
        for part in range(1, 50):
            control(environ, "-d")
            found = read(tmp_path / f"out.{part}")
            totals = sum(found.ir.values())
            if not totals:
                break
        assert not totals
        control(environ, "--instr=on")
        for more in range(part + 1, part + 50):
            control(environ, "-d")
            if read(tmp_path / f"out.{more}").ir.get("leaf"):
                break
        else:
            pytest.fail("it does not count again")
        process.send_signal(signal.SIGUSR1)


@pytest.mark.parametrize("what", ["wait", "spin", "stopped", "ask"])
def test_kill(guest, tmp_path, what):
    """The program ends at once, with status 0 and an empty profile, and runs nothing of its own any more."""
    where = "wait" if what == "stopped" else what
    with waiting(tmp_path, guest, what=where) as (process, environ):
        if what == "wait":
            go_on(process)
        control(environ, "-s")  # what is seen here is not to be written
        if what == "stopped":
            process.send_signal(signal.SIGSTOP)
        assert "OK." in control(environ, "-k", str(process.pid)).stdout
        assert process.wait(0.5) == 0
        assert process.stdout.read() == b""
    assert (tmp_path / "out").read_bytes() == b""
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o600


def test_killed_from_outside(guest, tmp_path):
    """By kill -9: there is a profile of what was seen last, here at a question."""
    with pytest.raises(AssertionError), waiting(tmp_path, guest) as (process, environ):
        go_on(process)
        control(environ, "-s")
        go_on(process)
        process.kill()
    assert process.returncode == -9
    end = time.monotonic() + 30
    while "totals" not in (tmp_path / "out").read_text():
        assert time.monotonic() < end
        time.sleep(0.02)
    found = read(tmp_path / "out")
    assert found.ir["leaf"] == 16 * LEAF
    assert found.parts[0].description("Trigger") == "Killed"


def test_nobody_else_may_ask(guest, tmp_path):
    """A folder that others may enter is not used; nothing is left behind."""
    (tmp_path / "interpose").mkdir(mode=0o777)
    os.chmod(tmp_path / "interpose", 0o777)
    with waiting(tmp_path, guest) as (_, environ):
        assert list((tmp_path / "interpose").iterdir()) == []
        assert control(environ).stdout == "No active callgrind runs detected.\n"
    os.chmod(tmp_path / "interpose", 0o700)
    with waiting(tmp_path, guest) as (process, _):
        assert [path.name for path in (tmp_path / "interpose").iterdir()] == [str(process.pid)]
    assert list((tmp_path / "interpose").iterdir()) == []


def test_bad_words(tmp_path):
    environ = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "interpose.control"]
    for words in (["--zork"], ["--instr=maybe"], ["--dump=" + 70000 * "x"]):
        done = subprocess.run([*command, *words], env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == 1 and words[0].split("=")[0] in done.stderr
