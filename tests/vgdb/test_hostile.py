"""What may come over the FIFOs, and in which order things may end: the program goes on."""

from __future__ import annotations

import fcntl
import os
import random
import signal
import struct
import subprocess
import time

import pytest
from vgdb.running import OURS, TIMEOUT, ask, interpose, running, vgdb
from vgdb.test_fifos import supervisor_of, until

SEED = int(os.environ.get("INTERPOSE_SEED", "5"))


def fifo(run, kind: str) -> str:
    return next(str(path) for path in run.files() if kind in path.name)


def answers(run) -> bool:
    return ask(run, "v.wait") == "gdbserver: continuing after wait ...\n"


GARBAGE = [
    b"\x03" * 5000,
    b"$qRcmd,zz#00",
    b"$qRcmd,#00",
    b"$" + b"a" * 60_000,
    b"#00" * 20_000,
    b"\x00" * 60_000,
    b"$qRcmd," + b"41" * 20_000 + b"#00",
    b"$QStartNoAckMode#b0" * 100,
    b"+-" * 10_000,
]


@pytest.mark.parametrize("number", range(len(GARBAGE)))
def test_garbage(leaky, tmp_path, number) -> None:
    with running(interpose("none"), leaky, "sleeps", folder=tmp_path) as run:
        writer = os.open(fifo(run, "-from-"), os.O_WRONLY)
        try:
            os.write(writer, b"\x03" + GARBAGE[number])
        finally:
            os.close(writer)
        assert answers(run)
        assert run.process.poll() is None


def test_noise(leaky, tmp_path) -> None:
    choice = random.Random(SEED)
    with running(interpose(), leaky, "sleeps", folder=tmp_path) as run:
        for _ in range(60):
            writer = os.open(fifo(run, "-from-"), os.O_WRONLY)
            try:
                pieces = [
                    b"$",
                    b"#",
                    b"\x03",
                    b"qRcmd,",
                    b"+",
                    b"2a",
                    b"*",
                    b"}",
                    b"g",
                    b"G00",
                    b"m0,9999",
                    b"Z0,0,1",
                ]
                os.write(writer, b"".join(choice.choices(pieces, k=choice.randrange(200))))
            finally:
                os.close(writer)
        assert answers(run), SEED


WORDS = (
    *(
        "help",
        "debug",
        "v.info",
        "v.set",
        "v.clo",
        "v.do",
        "v.wait",
        "v.translate",
        "location",
        "all_errors",
        "unwind",
    ),
    *(
        "leak_check",
        "block_list",
        "who_points_at",
        "xb",
        "get_vbits",
        "make_memory",
        "check_memory",
        "xtmemory",
    ),
    *(
        "full",
        "kinds",
        "all",
        "limited",
        "heuristics",
        "any",
        "new",
        "defined",
        "noaccess",
        "undefined",
        "addressable",
    ),
    *(
        "0",
        "1",
        "-1",
        "0x",
        "0x0",
        "0xffffffffffffffff",
        "0xfffffffffffffff0",
        "18446744073709551616",
        "0b2",
        "1e5",
    ),
    *(
        "4096",
        "1..2",
        "2..1",
        "..",
        "[",
        "0x10[",
        "0x10[4]",
        "0x10[]",
        "é",
        "\x01",
        "a" * 200,
        "memory",
        "exectxt",
    ),
    *(
        "stats",
        "scheduler",
        "gdbserver_status",
        "hostvisibility",
        "debuglog",
        "vgdb-error",
        "n_errs_found",
        "%s%n",
    ),
)


def test_sixty_commands_of_any_words(leaky, tmp_path) -> None:
    choice = random.Random(SEED)
    commands = [" ".join(choice.choices(WORDS, k=choice.randrange(1, 6))) for _ in range(60)]
    words = [word for command in commands for word in ("-c", command if command[0] != "-" else f"x{command}")]
    with running(interpose(), leaky, "sleeps", folder=tmp_path) as run:
        done = vgdb(run, "-q", *words)
        assert (done.returncode, done.stderr) == (0, ""), (SEED, done)
        assert answers(run)
        assert "internal error" not in run.log.read_text()


def test_a_vgdb_that_reads_nothing_holds_up_nobody_once_it_is_dead(leaky, tmp_path) -> None:
    with running(interpose(), leaky, "sleeps", folder=tmp_path) as run:
        words = [*OURS, f"--vgdb-prefix={run.prefix}", *(["-c", "help debug"] * 60)]
        stuck = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        time.sleep(0.3)
        stuck.kill()
        stuck.communicate(timeout=TIMEOUT)
        assert answers(run)


def test_replies_that_nobody_reads_are_not_the_next_ones(leaky, tmp_path) -> None:
    with running(interpose("none"), leaky, folder=tmp_path) as run:
        command = b"$qRcmd," + b"help debug".hex().encode() + b"#00"
        shared = os.open(fifo(run, "-shared-"), os.O_RDWR)
        writer = os.open(fifo(run, "-from-"), os.O_WRONLY)
        reader = os.open(fifo(run, "-to-vgdb"), os.O_RDONLY | os.O_NONBLOCK)
        try:
            fcntl.lockf(shared, fcntl.LOCK_EX | fcntl.LOCK_NB, 1)
            os.pwrite(shared, struct.pack("<i", 7), 40)
            os.write(writer, b"\x03$QStartNoAckMode#b0" + command)
            until(lambda: b"#" in _peek(reader))
        finally:
            for fd in (reader, writer, shared):
                os.close(fd)
        assert answers(run)


def _peek(reader: int) -> bytes:
    try:
        return os.read(reader, 100)
    except BlockingIOError:
        return b""


def test_the_death_of_the_server_ends_a_vgdb_that_waits(leaky, tmp_path) -> None:
    with running(interpose("none"), leaky, folder=tmp_path) as run:
        server = supervisor_of(run)
        words = [*OURS, f"--vgdb-prefix={run.prefix}"]
        relay = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert relay.stderr is not None
        assert b"relaying" in relay.stderr.readline()
        os.kill(server, signal.SIGKILL)
        assert relay.wait(TIMEOUT) == 0
        relay.communicate(timeout=TIMEOUT)


def test_files_that_are_taken_away_while_the_program_runs(leaky, tmp_path) -> None:
    with running(interpose("none"), leaky, folder=tmp_path) as run:
        for path in run.files():
            path.unlink()
            path.mkdir()
        run.process.terminate()
        run.process.wait(TIMEOUT)
        assert len(run.files()) == 3
