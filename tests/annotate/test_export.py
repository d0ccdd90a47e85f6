"""Estimated stacks, and the files for other viewers that are made of them."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter

import pytest

from interpose.annotate import export, flamegraph
from interpose.annotate.cli import main
from interpose.annotate.data import Data, load
from interpose.annotate.stacks import MAX_DEPTH, MAX_FRAMES, estimate, walk
from interpose.errors import InterposeError

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(1)>]]>&\"'"


def data_of(text: str) -> Data:
    data = Data()
    data.read(io.BytesIO(text.encode()), "hand")
    return data


def stacks(data: Data, event: int = 0) -> dict[str, int]:
    return {
        ";".join(each.function.name for each in frame.stack()): frame.own[event]
        for frame in walk(estimate(data, event))
        if frame.own[event]
    }


SHARED = """\
events: Ir Dr
fl=f.c
fn=main
1 10 1
cfn=a
calls=1 1
1 60
cfn=b
calls=1 1
1 110
fn=a
2 20
cfn=shared
calls=1 1
2 40
fn=b
3 30 3
cfn=shared
calls=2 1
3 80
fn=shared
4 120 12
"""


def test_cost_is_divided_among_callers():
    expected = {"main": 10, "main;a": 20, "main;a;shared": 40, "main;b": 30, "main;b;shared": 80}
    data = data_of(SHARED)
    assert stacks(data) == expected
    assert [(root.function.name, root.whole) for root in estimate(data)] == [("main", [180, 16])]
    # The costs of other events come along in the same shares.
    other = {
        frame.stack()[-2].function.name: frame.own[1] for frame in walk(estimate(data)) if frame.depth == 2
    }
    assert other == {"a": 4, "b": 8}


@pytest.mark.parametrize(
    "calls",
    [
        [("f", "f")],
        [("f", "g"), ("g", "f")],
        [("main", "f"), ("f", "g"), ("g", "f")],
        [("a", "a"), ("b", "c"), ("c", "b"), ("main", "x")],
    ],
)
def test_circles_end_and_no_cost_is_lost(calls):
    names = sorted({name for call in calls for name in call})
    text = "events: Ir\n" + "".join(f"fn={name}\n1 {10 + i}\n" for i, name in enumerate(names))
    text += "".join(f"fn={caller}\ncfn={callee}\ncalls=1 1\n1 500\n" for caller, callee in calls)
    found: Counter[str] = Counter()
    for stack, cost in stacks(data_of(text)).items():
        frames = stack.split(";")
        assert len(frames) == len(set(frames))
        found[frames[-1]] += cost
    assert found == {name: 10 + i for i, name in enumerate(names)}


def test_what_circles_lead_to_is_theirs_by_what_each_reaches_first():
    """The one that costs most begins, with the weight of all it leads to; the other one has the least."""
    circle = "fn={0}\n1 0\ncfn={1}\ncalls=1 1\n1 1000000\nfn={1}\n1 0\ncfn={0}\ncalls=1 1\n1 1000000\n"
    shares = "fn={}\ncfn=shared\ncalls=1 1\n1 {}\n"
    text = "events: Ir\n" + circle.format("small", "back") + circle.format("large", "again")
    text += shares.format("small", 980) + shares.format("large", 990) + "fn=shared\n1 31\n"
    assert stacks(data_of(text)) == {"large;shared": 30, "small;shared": 1}


def test_every_function_has_what_it_cost_itself(profiled):
    data = load([str(profiled / "full.out")])
    for event in (0, 5, 12):
        for index in range(len(data.events)):
            found: Counter[object] = Counter()
            for frame in walk(estimate(data, event)):
                found[frame.function] += frame.own[index]
            expected = {
                f: costs[index]
                for f, costs in data.functions().items()
                if index < len(costs) and costs[index]
            }
            assert {function: cost for function, cost in found.items() if cost} == expected


def hostile_graph(kind: str) -> str:
    if kind == "deep":
        body = [f"fn=f{i}\n1 1\ncfn=f{i + 1}\ncalls=1 1\n1 {30_000 - i}\n" for i in range(30_000)]
    elif kind == "wide":
        body = [f"fn=main\ncfn=f{i}\ncalls=1 1\n1 1\nfn=f{i}\n1 1\n" for i in range(30_000)]
    elif kind == "ladder":  # 2 to the 200 paths
        body = []
        for i in range(200):
            body += [
                f"fn={s}{i}\n1 1\n" + "".join(f"cfn={t}{i + 1}\ncalls=1 1\n1 {2**60}\n" for t in "ab")
                for s in "ab"
            ]
    else:  # everybody calls everybody
        body = [
            f"fn=f{i}\n1 1\n" + "".join(f"cfn=f{j}\ncalls=1 1\n1 99\n" for j in range(100))
            for i in range(100)
        ]
    return "events: Ir\n" + "".join(body)


@pytest.mark.parametrize("kind", ["deep", "wide", "ladder", "complete"])
def test_hostile_graphs_are_bounded(kind):
    data = data_of(hostile_graph(kind))
    before = time.process_time()
    frames = walk(estimate(data))
    assert time.process_time() - before < 30
    assert sum(frame.own[0] for frame in frames) == sum(
        costs[0] for costs in data.functions().values() if costs
    )
    functions = len(data.functions())
    assert len(frames) <= MAX_FRAMES + functions and max(frame.depth for frame in frames) <= MAX_DEPTH


def evil_data() -> Data:
    text = (
        SHARED.replace("shared", EVIL).replace("f.c", f"{EVIL}.c").replace("events:", f"cmd: {EVIL}\nevents:")
    )
    return data_of(text.replace("fl=", "ob=" + EVIL + "\x1b\nfl="))


def test_speedscope():
    made = json.loads(export.speedscope(data_of(SHARED), [0, 1]))
    assert made["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    names = [frame["name"] for frame in made["shared"]["frames"]]
    first, second = made["profiles"]
    found = {
        ";".join(names[i] for i in sample): weight
        for sample, weight in zip(first["samples"], first["weights"], strict=True)
    }
    assert found == stacks(data_of(SHARED)) and first["endValue"] == 180 and second["endValue"] == 16
    assert "estimated" in made["exporter"]


def test_perfetto():
    made = json.loads(export.perfetto(data_of(SHARED), [0, 1]))["traceEvents"]
    slices = [event for event in made if event["ph"] == "X" and event["tid"] == 1]
    assert {"name": "main", "ts": 0, "dur": 180}.items() <= slices[0].items()
    for inner in slices[1:]:
        assert any(
            outer["ts"] <= inner["ts"] and inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"]
            for outer in slices
            if outer is not inner
        )
    siblings = sorted((s["ts"], s["ts"] + s["dur"]) for s in slices if s["name"] in "ab")
    assert siblings[0][1] <= siblings[1][0]
    assert [e["args"]["name"] for e in made if e["name"] == "thread_name"] == ["Ir", "Dr"]
    assert "estimated" in made[0]["args"]["name"]


def fields(data: bytes) -> list[tuple[int, int | bytes]]:
    """The fields of a protobuf message."""
    found: list[tuple[int, int | bytes]] = []
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            found.append((key >> 3, varint()))
        else:
            assert key & 7 == 2
            length = varint()
            found.append((key >> 3, data[at : at + length]))
            at += length
    return found


def varints(data: bytes) -> list[int]:
    return [value for _, value in fields(b"".join(b"\x08" + piece for piece in split(data)))]


def split(data: bytes) -> list[bytes]:
    pieces, start = [], 0
    for at, byte in enumerate(data):
        if byte < 0x80:
            pieces.append(data[start : at + 1])
            start = at + 1
    return pieces


def test_pprof_by_its_fields():
    message = fields(gzip.decompress(export.pprof(data_of(SHARED), [0, 1])))
    strings = [value.decode() for field, value in message if field == 6]
    assert strings[0] == ""
    types = [strings[dict(fields(value))[1]] for field, value in message if field == 1]
    assert types == ["Ir", "Dr"]
    functions = {
        dict(fields(value))[1]: strings[dict(fields(value))[2]] for field, value in message if field == 5
    }
    found = {}
    for field, value in message:
        if field == 2:
            sample = dict(fields(value))
            stack = ";".join(functions[number] for number in reversed(varints(sample[1])))
            found[stack] = varints(sample[2])[0]
    assert found == stacks(data_of(SHARED))
    assert any("estimated" in strings[value] for field, value in message if field == 13)


def test_pprof_is_read_by_gos(tmp_path, profiled):
    if not shutil.which("go"):
        pytest.skip("go is not installed")
    out = tmp_path / "out.pb.gz"
    assert main(["--export=pprof", str(out), str(profiled / "full.out")]) == 0
    environ = {**os.environ, "HOME": str(tmp_path), "PPROF_TMPDIR": str(tmp_path)}
    command = ["go", "tool", "pprof", "-top", "-sample_index=Dr", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, env=environ, timeout=120)
    if "no such tool" in done.stderr:
        pytest.skip("this go has no pprof")
    assert done.returncode == 0 and "File: profiled" in done.stdout and "Type: Dr" in done.stdout
    data = load([str(profiled / "full.out")])
    assert f"of {sum(c[1] for c in data.rows.values() if len(c) > 1)} total" in done.stdout


def test_flame_graph():
    root = ElementTree.fromstring(flamegraph.svg(data_of(SHARED), 0))
    space = {"s": "http://www.w3.org/2000/svg"}
    frames = root.findall("s:g", space)
    assert [frame.get("data-name") for frame in frames] == ["main", "b", "shared", "a", "shared"]
    titles = [frame.find("s:title", space).text for frame in frames]
    assert titles[1] == "b (f.c) []: 110 Ir (61.11%), itself 30"
    assert "estimated" in root.find("s:text[@id='note']", space).text
    script = root.find("s:script", space).text
    assert "http" not in script and "innerHTML" not in script


@pytest.mark.parametrize("kind", ["speedscope", "perfetto"])
def test_hostile_names_in_json(kind):
    text = getattr(export, kind)(evil_data(), [0]).decode()
    json.loads(text)
    assert "\x1b" not in text and "\\u001b" not in text


def test_hostile_names_in_svg():
    root = ElementTree.fromstring(flamegraph.svg(evil_data(), 0))
    tags = Counter(element.tag.rpartition("}")[2] for element in root.iter())
    assert tags["script"] == 1 and "img" not in tags
    assert EVIL in {element.get("data-name") for element in root.iter()}


@pytest.mark.parametrize("kind", ["flamegraph", "speedscope", "pprof", "perfetto"])
def test_files_are_written(kind, tmp_path):
    (tmp_path / "in").write_text(SHARED)
    assert main([f"--export={kind}", str(tmp_path / "out"), str(tmp_path / "in"), str(tmp_path / "in")]) == 0
    assert (tmp_path / "out").stat().st_size > 100
    with pytest.raises(InterposeError, match="No such file"):
        main([f"--export={kind}", str(tmp_path / "no" / "out"), str(tmp_path / "in")])
    with pytest.raises(InterposeError, match="the file to write is missing"):
        main([f"--export={kind}"])


def test_a_profile_without_costs(tmp_path):
    for kind in ("flamegraph", "speedscope", "pprof", "perfetto"):
        (tmp_path / "in").write_text("events: Ir\nfn=f\n1\n")
        assert main([f"--export={kind}", str(tmp_path / "out"), str(tmp_path / "in")]) == 0
