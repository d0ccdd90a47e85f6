"""Files of profiles that cannot be written, and values of options that are none: one line, at once."""

from __future__ import annotations

import os
import select
import threading

import pytest

from interpose.tools.callgrind import geometry

from .profiles import profile, read, run

OUTPUT = "--callgrind-out-file="


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("none/out", "No such file or directory"),
        (".", "Is a directory"),
        ("/dev/null/out", "Not a directory"),
    ],
)
def test_what_cannot_be_opened_is_said_before_the_program_runs(flow, tmp_path, name, reason):
    done = run(tmp_path, flow, "-q", OUTPUT + name)
    path = name if name.startswith("/") else f"{tmp_path}/{name}"
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"interpose: cannot write the profile '{path}': {reason}\n"


def test_a_full_disk(flow, tmp_path):
    done = run(tmp_path, flow, "-q", OUTPUT + "/dev/full")
    assert done.returncode == 0
    assert done.stderr.endswith("Cannot write the profile '/dev/full': No space left on device\n")
    assert done.stderr.count("\n") == 1


def test_a_fifo(flow, tmp_path):
    """Nobody waits for a reader; one that is there gets the profile."""
    os.mkfifo(tmp_path / "fifo")
    done = run(tmp_path, flow, "-q", OUTPUT + "fifo")
    assert done.returncode == 0 and done.stderr.endswith(f"'{tmp_path}/fifo': nobody reads it\n")
    # A descriptor for both directions, so that the reader is there before the program is.
    reader = os.open(tmp_path / "fifo", os.O_RDWR)
    got = []

    def read_all():
        text = b""
        while b"\ntotals: " not in text or not text.endswith(b"\n"):
            text += os.read(reader, 1 << 16)
        got.append(text)

    thread = threading.Thread(target=read_all, daemon=True)
    thread.start()
    done = run(tmp_path, flow, "-q", OUTPUT + "fifo")
    thread.join(20)
    os.close(reader)
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "copy").write_bytes(got[0])
    run(tmp_path, flow, "-q", OUTPUT + "file")
    assert read(tmp_path / "copy").ir == read(tmp_path / "file").ir


def test_the_file_is_made_at_the_start(flow, tmp_path):
    """Empty, for its user alone; where threads have files of their own it stays empty, as Valgrind's does."""
    (tmp_path / "out").write_text("old")
    (tmp_path / "out").chmod(0o640)
    (tmp_path / "link").symlink_to("out")
    done = run(tmp_path, flow, "-q", "--separate-threads=yes", OUTPUT + "link")
    assert done.returncode == 0
    assert {path.name for path in tmp_path.iterdir()} == {"out", "link", "link-01"}
    assert (tmp_path / "out").read_text() == ""
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "link-01").stat().st_mode & 0o777 == 0o600


def test_a_fifo_with_a_reader_that_waits_for_the_end(flow, tmp_path):
    """It gets the profile as one file."""
    os.mkfifo(tmp_path / "fifo")
    reader = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    got = []

    def read_until_a_writer_has_left():
        waiting = select.poll()
        waiting.register(reader, select.POLLIN)
        while waiting.poll() and (text := os.read(reader, 1 << 16)):
            got.append(text)

    thread = threading.Thread(target=read_until_a_writer_has_left, daemon=True)
    thread.start()
    done = run(tmp_path, flow, "-q", OUTPUT + "fifo")
    thread.join(20)
    os.close(reader)
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "copy").write_bytes(b"".join(got))
    assert read(tmp_path / "copy").ir


def test_parts_have_one_name(flow, tmp_path):
    """%n is one number for all parts of a process."""
    assert run(tmp_path, flow, "--dump-before=catcher", OUTPUT + "a%%%n b(c)%q{HOME_OF_X}").returncode == 1
    assert run(tmp_path, flow, "--dump-before=catcher", OUTPUT + "a%%%n b(c)").returncode == 0
    assert {path.name for path in tmp_path.iterdir()} == {"a%1 b(c)", "a%1 b(c).1"}


def test_options_that_change_nothing(flow, tmp_path):
    """Valgrind takes them, too: the names of other times, and traces of its own insides."""
    without = (
        "--mangle-names=no --compress-mangled=yes --dump-bb=yes --dump-bbs=yes --collect-alloc=yes".split()
    )
    without += (
        "--simulate-sectors=yes --ct-verbose=0 --ct-verbose2=leaf --ct-vstart=9 --fn-group2=leaf".split()
    )
    assert profile(tmp_path, flow, *without).ir == profile(tmp_path, flow).ir


@pytest.mark.parametrize(
    "option",
    [
        "--D1=18446744073709551616,8,64",
        "--LL=2147483648,8,64",
        "--I1=32768,2147483648,64",
        "--I1=0,8,64",
        "--I1=32768,8",
        "--D1=",
        "--D1=-32768,8,64",
        "--LL=3000,8,64",
        "--I1=64,1,64",
        "--separate-callers=-1",
        "--separate-recs=x",
        "--collect-systime=sec",
        "--dump-line=YES",
    ],
)
def test_values_that_are_none(flow, tmp_path, option):
    done = run(tmp_path, flow, option)
    assert (done.returncode, done.stdout) == (1, "")
    lines = done.stderr.splitlines()
    assert lines[0] == f"interpose: Bad option: {option}" and len(lines) == 3
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "options, events",
    [
        ("--I1=32768,8,64 --cache-sim=no", 1),
        ("--cache-sim=no --I1=32768,8,64", 9),
        ("--simulate-wb=yes --cache-sim=no", 1),
        ("--simulate-hwpref=yes --simulate-cache=no", 1),
        ("--cache-sim=no --simulate-wb=yes", 12),
    ],
)
def test_the_last_option_holds(flow, tmp_path, options, events):
    """What an option implies can be taken back behind it, as with Valgrind."""
    assert run(tmp_path, flow, *options.split(), OUTPUT + "out").returncode == 0
    assert len(read(tmp_path / "out").events) == events


def test_cache_of_any_number_of_sets():
    """What the CPU has is simulated with a power of two sets, and as many ways as come nearest in size."""
    assert geometry.simulable(272629760, 20, 64) == (276824064, 33, 64)
    assert geometry.simulable(49152, 12, 64) == (49152, 12, 64)
    assert geometry.simulable(3 * 64, 1, 64) == (4 * 64, 2, 64)


def test_costs_have_a_position(flow, tmp_path):
    """As in Valgrind's callgrind, lines are left out for instructions only."""
    for options, positions in [
        (["--dump-line=no"], ["line"]),
        (["--dump-line=no", "--dump-instr=yes"], ["instr"]),
        (["--dump-instr=yes"], ["instr", "line"]),
    ]:
        assert run(tmp_path, flow, *options, OUTPUT + "out").returncode == 0
        (part,) = read(tmp_path / "out").parts
        assert list(part.positions) == positions
