"""The console script: each tool's text, JSON and table, in one process and in several."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from formats.drmemtrace.entries import PC, archive, entry, header, instr, marker, plain, prelude, trace
from memtrace.traces import MAPPED, loops, random_accesses, various

from interpose.formats.drmemtrace.constants import MarkerId, Type
from interpose.memtrace import cli

pytest.importorskip("numpy")
pytest.importorskip("capstone")


def run(capfd, *words: object, code: int = 0) -> str:
    assert cli.main([str(word) for word in words]) == code
    captured = capfd.readouterr()
    assert bool(captured.err) == (code != 0 and words[0] != "invariant_checker")
    return captured.out


def data(capfd, *words: object) -> dict[str, object]:
    return json.loads(run(capfd, *words, "--json"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return various(tmp_path / "various")


def test_basic_counts(capfd, folder):
    text = run(capfd, "basic_counts", folder)
    assert text.startswith(
        "Basic counts tool results:\nTotal counts:\n           6 total (fetched) instructions\n"
    )
    assert "Thread 11 counts:\n           6 (fetched) instructions\n" in text
    total = data(capfd, "basic_counts", folder)["total"]
    assert {name: count for name, count in total.items() if count} == {
        "(fetched) instructions": 6,
        "unique (fetched) instructions": 6,
        "non-fetched instructions": 2,
        "prefetches": 1,
        "data loads": 4,
        "data stores": 4,
        "threads": 1,
        "scheduling markers": 6,
        "function id markers": 2,
        "function return address markers": 1,
        "function argument markers": 1,
        "function return value markers": 1,
        "system call number markers": 1,
        "other markers": 6,
    }


@pytest.mark.parametrize(
    "words",
    [
        ("view", "--count", "-1"),
        ("view", "--skip=-3"),
        ("view", "--skip", "9" * 20),
        ("histogram", "--top=-1"),
        ("cache_simulator", "--L1D-assoc", "0"),
        ("cache_simulator", "--L1D-size=-64K"),
        ("cache_simulator", "--L1D-size="),
        ("cache_simulator", "--L1D-size", "K"),
        ("reuse_distance", "--line-size", "48"),
    ],
)
def test_numbers_that_are_none(capfd, folder, words):
    with pytest.raises(SystemExit) as ended:
        cli.main([words[0], str(folder), *words[1:]])
    assert ended.value.code == 2 and "error: argument --" in capfd.readouterr().err


def test_a_size_with_and_without_its_unit(capfd, folder):
    shown = []
    for size in ("48K", "49152"):
        assert cli.main(["cache_simulator", str(folder), "--L1D-size", size, "--L1D-assoc", "12"]) == 0
        shown.append(capfd.readouterr().out)
    assert shown[0] == shown[1]


def test_opcode_mix(capfd, folder):
    found = data(capfd, "opcode_mix", folder)
    assert found["total"] == 6
    assert found["opcodes"] == {"call": 1, "je": 1, "movsb": 1, "prefetcht0": 1, "ret": 1, "syscall": 1}
    assert "              6 : total executed instructions\n              1 :      call\n" in run(
        capfd, "opcode_mix", folder
    )


def test_opcodes_that_capstone_lacks_and_traces_without_encodings(capfd, tmp_path):
    code = bytes.fromhex("62f57c085807")  # vaddph
    plain(tmp_path / "t", trace(instr(PC, code), entry(Type.READ, 64, 0)))
    assert data(capfd, "opcode_mix", tmp_path / "t")["opcodes"] == {"vaddph": 1}
    old = (
        header(3, 0x40)
        + prelude()
        + entry(Type.INSTR, 1, PC)
        + entry(Type.THREAD_EXIT, 4, 11)
        + entry(Type.FOOTER)
    )
    plain(tmp_path / "t", old)
    assert data(capfd, "opcode_mix", tmp_path / "t")["opcodes"] == {"(no encoding)": 1}


def test_syscall_mix(capfd, folder):
    found = data(capfd, "syscall_mix", folder)
    assert (found["syscalls"], found["failures"]) == ({"1": 1}, {"32": 1})
    assert "          count : syscall_num\n              1 :         1\n" in run(capfd, "syscall_mix", folder)


def test_histogram(capfd, folder):
    found = data(capfd, "histogram", folder, "--top", 1)
    assert found["icache"] == {"lines": 1, "top": [{"line": 0x401000, "count": 6}]}
    assert found["dcache"] == {"lines": 3, "top": [{"line": 0x8000, "count": 3}]}
    text = run(capfd, "histogram", folder)
    assert (
        "icache: 1 unique cache lines\ndcache: 3 unique cache lines\nicache top 10\n          0x401000: 6\n"
        in text
    )


def test_func_view(capfd, folder):
    text = run(capfd, "func_view", folder, "--calls")
    assert text.splitlines()[1:5] == [
        "T11 libc.so!f(0x11)",
        "T11 -> 0x3",
        "Function id=0: libc.so!f",
        "           1 calls",
    ]
    (row,) = data(capfd, "func_view", folder)["functions"]
    assert row == {"id": 0, "name": "libc.so!f", "calls": 1, "returns": 1}
    (folder / "aux" / "funclist.log").write_text("x\n")
    assert cli.main(["func_view", str(folder)]) == 1
    assert "funclist.log: line 1 names no function" in capfd.readouterr().err


def test_view(capfd, folder):
    text = run(capfd, "view", folder, "--skip", 6, "--count", 3)
    assert text.splitlines()[3:6] == [
        "           7           0:          11 <marker: tid 11 on core unknown>",
        "           8           1:          11 ifetch       5 byte(s) @ 0x0000000000401000 e8 0b 00 00 00"
        "                 call     0x401010",
        "           9           1:          11 write        8 byte(s) @ 0x0000000000007ff8"
        " by PC 0x0000000000401000",
    ]
    text = run(capfd, "view", folder, "--syntax", "att")
    assert "non-fetched  2 byte(s) @ 0x0000000000401012" not in text
    assert "rep movsb (%rsi), (%rdi)" in text and "<thread 11 exited>" in text
    assert "(target 0x401005)" in text and "(untaken)" in text and "<marker: syscall failed 32>" in text
    assert run(capfd, "view", folder, "--tid", 12).count("\n") == 5


def test_view_as_json_lines(capfd, folder):
    rows = [
        json.loads(line)
        for line in run(capfd, "view", folder, "--json", "--skip", 7, "--count", 2).splitlines()
    ]
    assert [(row["record"], row["kind"], row["pc"]) for row in rows] == [
        (8, "INSTR_DIRECT_CALL", PC),
        (9, "WRITE", PC),
    ]
    assert rows[0]["encoding"] == "e80b000000"


def test_view_interleaves_threads_by_time(capfd, tmp_path):
    accesses = [(Type.READ, 0x7000)] * 30
    loops(tmp_path / "t", accesses, accesses)
    rows = [json.loads(line) for line in run(capfd, "view", tmp_path / "t", "--json").splitlines()]
    times = [row["value"] for row in rows if row.get("id") == MarkerId.TIMESTAMP]
    assert times == sorted(times) and len(times) == 6
    assert len(rows) == 2 * (7 + 2 * 2 + 3 * 30 + 1)


def test_invariant_checker(capfd, folder):
    assert run(capfd, "invariant_checker", folder) == (
        "Invariant checker results:\nTrace invariant checks passed\n" + "=" * 75 + "\n"
    )
    bad = plain(folder / "trace" / "bad", trace(instr(PC), instr(PC + 2)))
    text = run(capfd, "invariant_checker", folder, code=1)
    assert (
        f"{bad}: record 9: flow: at 0x401002; what comes before goes on at 0x401001\n1 violations\n" in text
    )


@pytest.mark.parametrize("tool", ["basic_counts", "opcode_mix", "reuse_distance", "histogram", "syscall_mix"])
def test_several_processes_find_the_same(capfd, tmp_path, tool):
    folder = loops(tmp_path / "t", random_accesses(1, 200, 50), random_accesses(2, 300, 50))
    done = run(capfd, tool, folder)
    command = [sys.executable, "-m", "interpose.memtrace", tool, folder, "--jobs", "2"]
    assert subprocess.run(command, capture_output=True, text=True).stdout == done


def test_cluster_finds_the_same(capfd, tmp_path):
    pytest.importorskip("distributed")
    folder = loops(tmp_path / "t", random_accesses(1, 200, 50), random_accesses(2, 300, 50))
    done = run(capfd, "cache_simulator", folder)
    command = [sys.executable, "-m", "interpose.memtrace", "cache_simulator", folder, "--workers", "1"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (found.stdout, found.returncode) == (done, 0), found.stderr


def started(folder: Path, what: str, *words: str, until: Callable[[], bool]) -> subprocess.Popen[bytes]:
    """A process of Dask that is ready, with what it says in a file."""
    command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *words, "--no-dashboard"]
    with open(folder / f"{what}.log", "wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
    limit = time.monotonic() + 120
    while not until() and process.poll() is None and time.monotonic() < limit:
        time.sleep(0.1)
    assert until(), (folder / f"{what}.log").read_text()
    return process


def test_scheduler_that_runs_finds_the_same(capfd, tmp_path):
    """A scheduler and a worker that somebody else has started."""
    distributed = pytest.importorskip("distributed")
    folder = loops(tmp_path / "t", random_accesses(1, 200, 50), random_accesses(2, 300, 50))
    done = run(capfd, "cache_simulator", folder)
    there = tmp_path / "scheduler.json"

    def is_ready() -> bool:
        with contextlib.suppress(OSError, ValueError), distributed.Client(scheduler_file=there) as client:
            return bool(client.scheduler_info()["workers"])
        return False

    words = ("--host", "127.0.0.1", "--scheduler-file", str(there))
    with contextlib.ExitStack() as stack:
        for what, more, until in (
            ("scheduler", ("--port", "0"), there.exists),
            ("worker", ("--nthreads", "1"), is_ready),
        ):
            process = started(tmp_path, what, *words, *more, until=until)
            stack.callback(process.wait, 60)
            stack.callback(process.terminate)
        address = json.loads(there.read_text())["address"]
        command = [
            sys.executable,
            "-m",
            "interpose.memtrace",
            "cache_simulator",
            folder,
            "--scheduler",
            address,
        ]
        found = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (found.stdout, found.returncode) == (done, 0), found.stderr


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense://x"])
def test_scheduler_that_is_none(capfd, tmp_path, monkeypatch, address):
    pytest.importorskip("distributed")
    monkeypatch.setattr("interpose.memtrace.run._PATIENCE", 1)
    assert (
        cli.main(["basic_counts", str(loops(tmp_path / "t", [(Type.READ, 64)])), "--scheduler", address]) == 1
    )
    said = capfd.readouterr().err
    assert len(said.splitlines()) == 1
    assert said.startswith(f"interpose: {address}: ")


@pytest.mark.parametrize("tool", [*MAPPED, "view", "invariant_checker"])
def test_tables(capfd, tmp_path, folder, tool):
    parquet = pytest.importorskip("pyarrow.parquet")
    out = tmp_path / "out.parquet"
    run(capfd, tool, folder, "--parquet", out)
    table = parquet.read_table(out)
    if tool == "view":
        assert table.num_rows == 36
        assert table["kind"].to_pylist()[7:9] == ["INSTR_DIRECT_CALL", "WRITE"]
        assert table["encoding"].to_pylist()[7] == b"\xe8\x0b\x00\x00\x00"
    elif tool == "basic_counts":
        assert table["thread"].to_pylist() == ["total", "11"]
        assert table["data loads"].to_pylist() == [4, 4]
    elif tool == "invariant_checker":
        assert table.num_rows == 0
    else:
        assert table.num_rows > 0


def test_table_that_cannot_be_written(capfd, folder):
    pytest.importorskip("pyarrow.parquet")
    for tool in ("opcode_mix", "view"):
        assert cli.main([tool, str(folder), "--parquet", "/nowhere/x"]) == 1
        assert capfd.readouterr().err.startswith("interpose: /nowhere/x: ")


@pytest.mark.parametrize("tool", [*MAPPED, "view"])
def test_what_could_be_read_is_shown(capfd, tmp_path, tool):
    path = plain(tmp_path / "t", trace(instr(PC), entry(Type.INVALID)))
    assert cli.main([tool, str(path)]) == 1
    out, err = capfd.readouterr()
    assert err == f"interpose: {path}: at byte 144: after record 8: unknown type 50\n"
    assert out.endswith("=" * 75 + "\n")
    if tool == "basic_counts":
        assert "           1 total (fetched) instructions\n" in out


def test_rest_behind_a_broken_chunk_is_left_out(capfd, tmp_path):
    first = header() + prelude(1) + instr(PC) + marker(MarkerId.CHUNK_FOOTER, 0)
    later = marker(MarkerId.RECORD_ORDINAL, 9) + instr(PC + 1) + entry(99)
    last = (
        marker(MarkerId.RECORD_ORDINAL, 10)
        + instr(PC + 2)
        + entry(Type.THREAD_EXIT, 4, 11)
        + entry(Type.FOOTER)
    )
    path = archive(tmp_path / "t.zip", first, later, last)
    assert cli.main(["basic_counts", str(path)]) == 1
    out, err = capfd.readouterr()
    assert "           2 total (fetched) instructions\n" in out
    assert err.count("\n") == 1 and "(chunk.00000001): at byte 36: after record 10: unknown type 99" in err


def test_records_of_a_run_are_finished_later(capfd, tmp_path):
    """From the program to an analysis, each step by itself."""
    options = ["--tool=memtrace", f"--memtrace-dir={tmp_path}", "--memtrace-finish=no", "-q"]
    subprocess.run([sys.executable, "-m", "interpose", *options, "/bin/true"], check=True, timeout=120)
    (folder,) = tmp_path.iterdir()
    assert run(capfd, "finish", folder).startswith(f"{folder}: ")
    assert not (folder / "raw" / "records.bin").exists()
    assert "Trace invariant checks passed" in run(capfd, "invariant_checker", folder)
    assert data(capfd, "opcode_mix", folder)["total"] > 10000
    assert cli.main(["finish", str(folder)]) == 1
    assert capfd.readouterr().err.startswith("interpose: ")


@pytest.mark.parametrize("tool", [*MAPPED, "view", "invariant_checker"])
def test_nothing_there(capfd, tmp_path, tool):
    assert cli.main([tool, str(tmp_path)]) == 1
    out, err = capfd.readouterr()
    assert (out, err) == ("", f"interpose: {tmp_path}: no trace files\n")


def test_missing_package_is_one_line(folder):
    script = "import sys; sys.modules['capstone'] = None\nfrom interpose.memtrace.cli import entry; entry()"
    done = subprocess.run([sys.executable, "-c", script, "view", folder], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (
        1,
        "interpose: capstone is missing: pip install 'interpose[analysis]'\n",
    )


def test_reader_that_has_seen_enough(tmp_path):
    folder = loops(tmp_path / "t", random_accesses(1, 20000, 50), chunk=10000)
    command = [sys.executable, "-m", "interpose.memtrace", "view", str(folder)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout.readline() == b"Output format:\n"
    child.stdout.close()
    assert child.stderr.read() == b""
    assert child.wait(60) == 1


@pytest.mark.parametrize(
    "words", [["cache_simulator", "--L1I-size", "3000"], ["histogram", "--line-size", "48"]]
)
def test_geometry_that_is_none(capfd, folder, words):
    try:
        assert cli.main([*words, str(folder)]) == 1
    except SystemExit as end:
        assert end.code == 2
    assert "power of two" in capfd.readouterr().err
    assert os.path.exists(folder)
