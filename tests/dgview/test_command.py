"""``interpose-dgview``: options, messages and exit codes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from dgview.traces import decoded, write_random

from interpose.dgview import picture
from interpose.dgview.index import Index
from interpose.formats import datagrind


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("command") / "datagrind.out.1"
    write_random(path, 11)
    return path


def run(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "interpose.dgview", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_a_picture_without_a_browser(trace, tmp_path):
    done = run("--png", tmp_path / "p.png", "--size=120x80", trace)
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith(f"{trace}: 6 bbdefs, ") and done.stdout.endswith(" accesses\n")
    assert " instrs (approx), " in done.stdout
    data = (tmp_path / "p.png").read_bytes()
    assert decoded(data)[:2] == (120, 80)
    index = Index.build(str(trace))
    assert data == picture.draw(index, picture.whole(index, 120, 80))[0]


def test_a_part(trace, tmp_path):
    done = run(
        f"--png={tmp_path / 'p.png'}", "--size=64x10", "--addresses=0x10400-0x107ff", "--instrs=10-19", trace
    )
    assert done.returncode == 0
    index = Index.build(str(trace))
    view = picture.View(index.column(0x10400), index.column(0x10800), 10, 20, 64, 10)
    assert (tmp_path / "p.png").read_bytes() == picture.draw(index, view)[0]


@pytest.mark.parametrize(
    "words", [["-r", "malloc"], ["-rmalloc"], ["--ranges=malloc"], ["--ranges", "malloc"]]
)
def test_spellings_of_a_filter(words, trace, tmp_path):
    done = run(*words, "-e", "user:one,user:two", f"--png={tmp_path / 'p.png'}", "--size=50x50", trace)
    assert done.returncode == 0 and done.stderr == ""
    wanted = datagrind.Filter(by_event=True, event_labels=[b"one", b"two"], by_range=True, any_block=True)
    index = Index.build(str(trace), filter=wanted)
    assert (tmp_path / "p.png").read_bytes() == picture.draw(index, picture.whole(index, 50, 50))[0]


def test_fetches_have_a_colour_of_their_own(trace, tmp_path):
    assert run(f"--png={tmp_path / 'p.png'}", "--fetches", trace).returncode == 0
    _, _, rows = decoded((tmp_path / "p.png").read_bytes())
    assert picture.FETCH in {pixel for row in rows for pixel in row}


@pytest.mark.parametrize(
    "option", ["--events=malloc", "--events=range", "--ranges=nothing", "-e", "--events=fn:a,x"]
)
def test_an_invalid_condition(option, trace):
    words = [option, "bad"] if option == "-e" else [option]
    done = run(*words, trace)
    word = "bad" if option == "-e" else option.rpartition("=")[2].rpartition(",")[2]
    assert (done.returncode, done.stderr, done.stdout) == (2, f"Invalid condition `{word}'\n", "")


def test_nothing_matches(trace, tmp_path):
    done = run("--events=user:nobody", "--png", tmp_path / "p.png", trace)
    assert done.returncode == 1
    assert done.stderr == f"{trace}: No accesses match the criteria.\n"
    assert not (tmp_path / "p.png").exists()


@pytest.mark.parametrize("words", [[], ["a", "b"], ["--nonsense", "a"], ["-z", "a"], ["a", "--png"]])
def test_usage(words):
    done = run(*words)
    assert done.returncode == 2 and "Usage: interpose-dgview [options] FILE" in done.stderr


@pytest.mark.parametrize(
    "option",
    [
        "--size=0x5",
        "--size=99999x99999",
        "--size=5",
        "--addresses=x-y",
        "--addresses=0x2-0x1",
        "--addresses=0x1-0x10000000000000000",
        "--addresses=0x10000000000000000-0x10000000000000001",
        "--instrs=2-1",
        "--instrs=0-99999999999999999999",
        "--port=x",
    ],
)
def test_bad_values(option, trace):
    done = run(option, trace)
    assert (done.returncode, done.stderr) == (2, f"Bad value: {option}\n")


@pytest.mark.parametrize(
    "part",
    [
        "--addresses=0-0xffffffffffffffff",
        "--instrs=0-4000000000000000000",
        "--addresses=0-0xfffffffffffffffe",
    ],
)
def test_part_beyond_everything(part, trace, tmp_path):
    """Ends need not be exact."""
    done = run(part, "--png", tmp_path / "p.png", trace)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_help():
    done = run("--help")
    assert done.returncode == 0 and done.stdout.startswith("Usage: interpose-dgview")


def test_files_that_are_none(tmp_path):
    (tmp_path / "text").write_text("no trace, but long enough")
    for name, reason in {
        "missing": f"{tmp_path}/missing: No such file or directory",
        "": f"{tmp_path}/: not a regular file",
        "text": f"{tmp_path}/text: at byte 0: No datagrind header",
    }.items():
        done = run("--png", tmp_path / "p.png", f"{tmp_path}/{name}")
        assert (done.returncode, done.stderr) == (1, f"{reason}\n")
    os.mkfifo(tmp_path / "fifo")
    assert run(tmp_path / "fifo").stderr == f"{tmp_path}/fifo: not a regular file\n"


def test_a_damaged_file_is_shown_up_to_the_damage(trace, tmp_path):
    data = trace.read_bytes()
    path = tmp_path / "cut"
    path.write_bytes(data[:16] + bytes([7, 0]) + data[16:-5])
    done = run("--png", tmp_path / "p.png", path)
    assert done.returncode == 0
    first, second = done.stderr.splitlines()
    assert first == f"{path}: Unknown record type 7 (at byte 16)"
    assert second.startswith(f"{path}: at byte ") and second.endswith(": The file ends within a record")
    assert decoded((tmp_path / "p.png").read_bytes())[:2] == (1600, 1000)


def test_a_picture_that_cannot_be_written(trace):
    done = run("--png=/dev/full", trace)
    assert (done.returncode, done.stderr) == (1, "/dev/full: No space left on device\n")


def test_nothing_is_left_beside_a_file_that_is_no_log(tmp_path):
    path = tmp_path / "foreign"
    path.write_bytes(bytes(range(256)) * 100)
    assert run(f"--png={tmp_path / 'p.png'}", path).returncode == 1
    assert os.listdir(tmp_path) == ["foreign"]


def test_a_port_that_is_taken(trace):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run(f"--port={port}", trace)
    assert (done.returncode, done.stderr) == (1, f"port {port}: Address already in use\n")


def test_a_file_that_cannot_be_read():
    """Opens, and gives no byte."""
    done = run("/proc/self/mem")
    assert (done.returncode, done.stderr) == (1, "/proc/self/mem: at byte 0: Input/output error\n")
