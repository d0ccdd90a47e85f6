"""interpose-merge: the same error of many ranks once, whatever state their logs are in."""

from __future__ import annotations

import json
import os
import random
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpose.errors import InterposeError
from interpose.merge.cli import ranks
from interpose.merge.groups import Error, Groups, Ranks
from interpose.merge.readers import read

MODULE = [sys.executable, "-m", "interpose.merge.cli"]


def block(pid: int, what: str, *frames: str, more: tuple[str, ...] = ()) -> str:
    at = [f"   {'by' if i else 'at'} 0x{pid * 16 + i:X}: {frame}" for i, frame in enumerate(frames)]
    return "".join(f"=={pid}== {line}\n" for line in (what, *at, *more, ""))


def log(pid: int, *blocks: str, end: bool = True) -> str:
    text = f"=={pid}== Memcheck, a memory error detector\n=={pid}== Copyright (C) 2026\n"
    text += f"=={pid}== \n" + "".join(blocks)
    return text + (
        f"=={pid}== ERROR SUMMARY: 1 errors from 1 contexts (suppressed: 0 from 0)\n" if end else ""
    )


def merge(*words: object, stdin: str = "", cwd: Path | None = None) -> tuple[int, str, str]:
    done = subprocess.run(
        [*MODULE, *map(str, words)], capture_output=True, text=True, timeout=120, input=stdin, cwd=cwd
    )
    return done.returncode, done.stdout, done.stderr


def write(folder: Path, texts: dict[str, str | bytes]) -> list[Path]:
    for name, text in texts.items():
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return [folder / name for name in texts]


JUMP = "Conditional jump or move depends on uninitialised value(s)"


def test_the_same_error_is_told_once(tmp_path: Path) -> None:
    texts: dict[str, str | bytes] = {}
    for rank in (0, 1, 2, 3, 17):
        texts[f"log.{rank}"] = log(100 + rank, block(100 + rank, JUMP, "f (a.c:1)", "main (a.c:9)"))
    texts["log.4"] = log(9)
    code, out, err = merge(*write(tmp_path, texts))
    assert (code, err) == (0, "")
    assert out == (
        f"ranks 0-3, 17: 5 times\n{JUMP}\n   at f (a.c:1)\n   by main (a.c:9)\n\n"
        "6 logs, 1 without errors: 1 different error\n"
    )


def test_counts_of_the_list_of_errors_count(tmp_path: Path) -> None:
    pieces = (
        block(5, JUMP, "f (a.c:1)")
        + "==5== \n==5== 21 errors in context 1 of 1:\n"
        + block(5, JUMP, "f (a.c:1)")
    )
    code, out, _ = merge(*write(tmp_path, {"log.3": log(5, pieces)}))
    assert code == 0 and out.startswith(f"rank 3: 21 times\n{JUMP}\n")


def test_a_process_that_was_killed_is_named(tmp_path: Path) -> None:
    killed = "==7== The program was killed; what its heap held is not known\n==7== \n"
    logs = write(tmp_path, {"log.1": log(7, killed), "log.2": log(8)})
    assert f"rank 1: {logs[0]} says that the process was killed\n2 logs," in merge(*logs)[1]
    records = ['{"record":"start","pid":7}', '{"record":"end","pid":7,"how":"killed"}']
    logs = write(tmp_path, {"json.1": "\n".join(records) + "\n", "json.2": records[0] + "\n"})
    assert f"rank 1: {logs[0]} says that the process was killed\nrank 2: {logs[1]} ends" in merge(*logs)[1]


def test_an_origin_is_part_of_an_error(tmp_path: Path) -> None:
    """In JSON too: as in the text, two origins are two errors."""
    frame = {"ip": "0x1", "function": "f", "file": "a.c", "line": 1}
    origin = "Uninitialised value was created by a heap allocation"
    records = [
        {"record": "start", "pid": 5},
        {
            "record": "error",
            "pid": 5,
            "what": JUMP,
            "stack": [frame],
            "origin": {"text": origin, "stack": [frame]},
        },
        {"record": "error", "pid": 5, "what": JUMP, "stack": [frame]},
        {"record": "end", "pid": 5, "how": "exit"},
    ]
    text = block(6, JUMP, "f (a.c:1)").replace(
        "==6== \n", f"==6==  {origin}\n==6==    at 0x1: f (a.c:1)\n==6== \n"
    )
    lines = "".join(json.dumps(record) + "\n" for record in records)
    out = merge(*write(tmp_path, {"log.1": lines, "log.2": log(6, text)}))[1]
    assert f"ranks 1-2: 2 times\n{JUMP}\n   at f (a.c:1)\n {origin}\n   at f (a.c:1)\n" in out
    assert f"rank 1: once\n{JUMP}\n   at f (a.c:1)\n\n" in out


def test_leaks_are_added_up(tmp_path: Path) -> None:
    texts: dict[str, str | bytes] = {
        f"log.{rank}": log(
            rank,
            block(
                rank,
                f"{rank * 1000:,} bytes in {rank} blocks are definitely lost in loss record {rank} of 9",
                "f (a.c:1)",
            ),
        )
        for rank in (1, 2)
    }
    _, out, _ = merge(*write(tmp_path, texts))
    assert out.startswith(
        "ranks 1-2: 2 times, 3,000 bytes in 3 blocks\nblocks are definitely lost\n   at f (a.c:1)\n"
    )


def test_addresses_and_time_do_not_part_errors(tmp_path: Path) -> None:
    one = block(
        7,
        "Invalid read of size 4",
        "f (a.c:1)",
        more=(" Address 0xabc is 0 bytes inside a block of size 8 free'd",),
    )
    other = one.replace("0xabc", "0xdef0").replace("==7== ", "==00:00:00:01.234 8== ")
    _, out, _ = merge(*write(tmp_path, {"l.0": log(7, one), "l.1": log(8, other)}))
    assert out.startswith("ranks 0-1: 2 times\nInvalid read of size 4\n")


def test_what_the_wrappers_say(tmp_path: Path) -> None:
    said = "**7** MPI: Active for pid 7\n**7** MPI: 1 request not completed at MPI_Finalize (a.c:3)\n"
    _, out, _ = merge(*write(tmp_path, {"l.0": log(7, said), "l.1": log(8, said.replace("*7*", "*8*"))}))
    assert out.startswith("ranks 0-1: 2 times\nMPI: 1 request not completed") and "Active" not in out


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"", "is empty"),
        (b"\0\1\2" * 1000, "is no log of interpose's or Valgrind's"),
        (
            log(7, block(7, JUMP, "f (a.c:1)"), end=False),
            "ends before its summary: the process was killed, or runs",
        ),
        (log(7, block(7, JUMP, "f (a.c:1)"))[:-30], "breaks off in a line"),
        ("<?xml version='1.0'?>\n<valgrindoutput><error>", "breaks off, or is no XML"),
        ('{"record":"error","what":', "breaks off in a record"),
        ('{"record":"start"}\n', "ends before its last record"),
    ],
)
def test_what_is_wrong_with_a_log_is_one_line(tmp_path: Path, text: str | bytes, complaint: str) -> None:
    good = log(8, block(8, JUMP, "f (a.c:1)"))
    code, out, err = merge(*write(tmp_path, {"log.0": text, "log.1": good}))
    assert (code, err) == (0, "")
    assert [line for line in out.splitlines() if line.startswith("rank 0: /")] == [
        line for line in out.splitlines() if f"log.0 {complaint}" in line
    ]
    assert f"log.0 {complaint}" in out and "1: " in out


def test_no_log_is_a_mistake(tmp_path: Path) -> None:
    assert merge()[0] == 1
    assert merge(tmp_path / "none") == (
        1,
        f"rank 0: {tmp_path}/none cannot be read: No such file or directory\n"
        "1 log, 0 without errors: 0 different errors\n",
        "",
    )
    assert merge("--what")[2].startswith("interpose: Unknown option: --what\n")
    assert merge("--rank=0", "x")[2].startswith("interpose: Bad option: --rank=0\n")
    assert merge("--rank=3", "x1")[2] == "interpose: x1: its name has no 3 numbers\n"


def test_fifos_and_folders_do_not_stop_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "log.0")
    write(tmp_path, {"log.1": log(8, block(8, JUMP, "f (a.c:1)"))})
    code, out, _ = merge(tmp_path / "log.0", tmp_path / "log.1")
    assert code == 0 and "log.0 is empty" in out and "rank 1: once" in out
    assert merge(tmp_path)[1].startswith("rank 1: once") or "log.1" in merge(tmp_path)[1]
    assert merge("-", stdin=f"{tmp_path}/log.1\n")[0] == 0


def test_entities_are_not_expanded(tmp_path: Path) -> None:
    declared = "<!DOCTYPE x [<!ENTITY a 'ha'><!ENTITY b '&a;&a;'>]>"
    laughs = f"<?xml version='1.0'?>{declared}<valgrindoutput>&b;</valgrindoutput>"
    _, out, _ = merge(*write(tmp_path, {"log.0": laughs}))
    assert "it declares entities" in out


def xml(unique: int, times: int, end: str = "FINISHED") -> str:
    return (
        "<?xml version='1.0'?>\n<valgrindoutput><status><state>RUNNING</state></status>"
        f"<error><unique>0x{unique:x}</unique><kind>UninitCondition</kind><what>{JUMP}</what><stack><frame><ip>0x1</ip>"
        "<obj>/a</obj><fn>f</fn><file>a.c</file><line>1</line></frame></stack></error>"
        f"<status><state>{end}</state></status><errorcounts><pair><count>{times}</count><unique>0x{unique:x}</unique></pair>"
        "</errorcounts></valgrindoutput>\n"
    )


def record(**fields: object) -> str:
    return json.dumps(fields) + "\n"


def test_three_formats_agree(tmp_path: Path) -> None:
    stack = [{"ip": "0x1", "function": "f", "file": "a.c", "line": 1}]
    lines = record(record="start") + record(record="error", what=JUMP, stack=stack) + record(record="end")
    texts: dict[str, str | bytes] = {
        "log.0": log(1, block(1, JUMP, "f (a.c:1)")),
        "log.1": xml(4, 5),
        "log.2": lines,
    }
    code, out, _ = merge(*write(tmp_path, texts))
    assert code == 0
    assert (
        out == f"ranks 0-2: 7 times\n{JUMP}\n   at f (a.c:1)\n\n3 logs, 0 without errors: 1 different error\n"
    )


def test_json_output(tmp_path: Path) -> None:
    _, out, _ = merge(
        "--json", *write(tmp_path, {"log.5": log(1, block(1, JUMP, "f (a.c:1)")), "log.7": b""})
    )
    error, end = map(json.loads, out.splitlines())
    assert error["ranks"] == [[5, 5]] and error["times"] == 1 and error["what"] == JUMP
    assert end["complaints"] == [{"rank": 7, "log": str(tmp_path / "log.7"), "complaint": "is empty"}]


@given(st.lists(st.integers(0, 12)))
def test_ranks_are_a_set(numbers: list[int]) -> None:
    found = Ranks()
    for number in numbers:
        found.add(number)
    inside = [n for low, high in found.intervals for n in range(low, high + 1)]
    assert inside == sorted(set(numbers)) and found.count == len(inside)
    assert all(a[1] + 1 < b[0] for a, b in zip(found.intervals, found.intervals[1:], strict=False))


@pytest.mark.parametrize(
    ("names", "which", "wanted"),
    [
        (["log.0", "log.10", "log.2"], None, [0, 10, 2]),
        (["job77/r3.pid9", "job77/r1.pid9"], None, [3, 1]),
        (["run5-0.txt", "run5-1.txt"], None, [0, 1]),
        (["a.1.500", "a.1.499"], 2, [500, 499]),
        (["x", "y"], None, [0, 1]),
        (["one.9"], None, [9]),
        (["a.1", "b.1"], None, [0, 1]),
    ],
)
def test_rank_is_in_the_name(names: list[str], which: int | None, wanted: list[int]) -> None:
    assert ranks(names, which) == wanted


def test_rank_that_no_name_has() -> None:
    with pytest.raises(InterposeError, match="its name has no 2 numbers"):
        ranks(["a.1"], 2)


def test_different_errors_are_limited() -> None:
    groups = Groups(limit=2)
    groups.add(0, {text: Error(text, 3) for text in "abc"})
    assert len(groups.groups) == 2 and groups.ungrouped == 3


def test_damaged_logs(tmp_path: Path) -> None:
    seed = int(os.environ.get("INTERPOSE_SEED", "3"))
    rng = random.Random(seed)
    whole = [
        log(
            1,
            block(1, JUMP, "f (a.c:1)", "g (b.c:2)"),
            block(1, "8 bytes in 1 blocks are definitely lost", "m (x:1)"),
        ),
        xml(1, 2),
        record(record="start")
        + record(record="error", what=JUMP, stack=[{"function": "f"}])
        + record(record="end"),
    ]
    path = tmp_path / "log"
    for _ in range(400):
        data = bytearray(rng.choice(whole).encode())
        for _ in range(rng.randrange(6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        path.write_bytes(data[: rng.randrange(len(data) + 1)])
        errors, _ = read(str(path))
        assert all(error.times >= 0 for error in errors.values()), seed


def test_ten_thousand_ranks_in_little_memory(tmp_path: Path) -> None:
    """In one process, whose memory is limited: 10,000 logs of 40 KB would not fit."""
    filler = "".join(block(1, JUMP, f"f{i} (a.c:{i})", "main (a.c:9)") for i in range(20))
    for rank in range(10_000):
        own = block(rank + 1, "Invalid read of size 8", f"g{rank % 13} (b.c:1)")
        (tmp_path / f"log.{rank}").write_text(log(rank + 1, filler.replace("==1==", f"=={rank + 1}=="), own))
    limit = 400 << 20

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    done = subprocess.run(
        [*MODULE, str(tmp_path)], capture_output=True, text=True, timeout=300, preexec_fn=limited
    )
    assert done.returncode == 0, done.stderr
    headings = re.findall(r"^ranks? .*: .*times$", done.stdout, re.MULTILINE)
    assert headings[:20] == ["ranks 0-9999: 10000 times"] * 20 and len(headings) == 33
    assert done.stdout.endswith("10,000 logs, 0 without errors: 33 different errors\n")
