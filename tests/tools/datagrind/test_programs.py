"""Whole programs under datagrind: requests, heap blocks, call stacks, threads, processes, ends."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tools.datagrind import records
from tools.datagrind.records import Recording, Run
from tools.datagrind.running import GUESTS, compile_guest, record, run


def symbols_of(program: Path) -> dict[str, tuple[int, int]]:
    """Address and size of each symbol."""
    text = subprocess.run(["nm", "-S", str(program)], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in text.splitlines()]
    return {row[3]: (int(row[0], 16), int(row[1], 16)) for row in rows if len(row) == 4}


class Recorded:
    """A guest's file, with names."""

    def __init__(self, recording: Recording, program: Path) -> None:
        self.recording = recording
        self.symbols = symbols_of(program)

    def address(self, name: str) -> int:
        return self.symbols[name][0]

    def name(self, pc: int) -> str:
        for name, (start, size) in self.symbols.items():
            if start <= pc < start + size:
                return name
        return "?"

    def writers(self, name: str) -> list[Run]:
        """The runs that write to a variable."""
        where = self.address(name)
        return [
            run for run in self.recording.runs if any(a.write and a.address == where for a in run.accesses)
        ]

    def stacks(self, name: str) -> list[list[str]]:
        """Of the runs that write to a variable: names up to main."""
        found = []
        for one in self.writers(name):
            names = [self.name(pc) for pc in one.stack]
            found.append(names[: names.index("main") + 1] if "main" in names else names)
        return found


def recorded(name: str, folder: Path, *flags: str) -> Recorded:
    program = compile_guest(name, folder, "-no-pie", *flags)
    return Recorded(record([str(program)], folder), program)


def test_requests(tmp_path: Path) -> None:
    found = recorded("requests.c", tmp_path)
    buf, pool = found.address("buf"), found.address("pool")
    events = found.recording.events
    at = next(i for i, e in enumerate(events) if getattr(e, "kind", 0) == records.TRACK)
    marks = [e for e in events[at:] if isinstance(e, records.Mark) and e.kind != records.TEXT]
    heap = next(i for i, m in enumerate(marks) if m.texts == ("heap",))
    assert [(m.kind, m.values[:2], m.texts) for m in marks[:heap]] == [
        (records.TRACK, (buf, 64), ("char[64]", "my range")),
        (records.START, (), ("one",)),
        (records.END, (), ("one",)),
        (records.UNTRACK, (buf, 64), ()),
        (records.START, (), ("x" * 64,)),
        (records.START, (), ("",)),
        (records.START, (), ("yy",)),
        (records.MALLOC, (pool + 16, 100), ()),
        (records.FREE, (pool + 16,), ()),
        (records.MALLOC, (pool + 16, 200), ()),
        (records.FREE, (pool + 16,), ()),
    ]
    # The store lies between the marks of its event.
    one = [i for i, event in enumerate(events) if isinstance(event, records.Mark) and event.texts == ("one",)]
    begin, end = one
    inside = [a for e in events[begin:end] if isinstance(e, Run) for a in e.accesses]
    assert [(a.write, a.size) for a in inside if a.address == buf + 3] == [(True, 1)]


def test_heap_blocks(tmp_path: Path) -> None:
    found = recorded("requests.c", tmp_path)
    marks = found.recording.marks
    heap, end = (i for i, m in enumerate(marks) if m.texts == ("heap",))
    blocks = [m for m in marks[heap:end] if m.kind in (records.MALLOC, records.FREE)]
    sizes = [m.values[1] for m in blocks if m.kind == records.MALLOC]
    assert sizes == [10, 15, 512, 20, 3000]
    small, zeroed, aligned, grown, moved = (m.values[0] for m in blocks if m.kind == records.MALLOC)
    assert aligned % 256 == 0
    freed = [m.values[0] for m in blocks if m.kind == records.FREE]
    assert freed == [grown, small, zeroed, aligned, moved]
    main, size = found.symbols["main"]
    for mark in blocks:
        if mark.kind == records.MALLOC:
            assert any(main <= ip < main + size for ip in mark.values[3:])


def test_call_stacks(tmp_path: Path) -> None:
    found = recorded("contexts.c", tmp_path)
    assert found.stacks("in_leaf") == [["leaf", "middle", "main"]]
    assert found.stacks("in_tail") == [["tail_target", "main"]]
    (deep,) = found.writers("in_deep")
    assert len(deep.stack) == 255
    assert {found.name(pc) for pc in deep.stack} == {"deep"}
    assert found.stacks("after_jump") == [["jumped", "main"]]
    assert found.stacks("after_handler") == [["interrupted", "main"]]
    (handler,) = found.stacks("in_handler")
    assert handler[0] == "handler"
    assert handler[-2:] == ["interrupted", "main"]
    nested = found.stacks("in_nested")
    assert [stack[:2] + stack[-2:] for stack in nested] == [["inside", "leaves", "left", "main"]] * 3
    assert len({len(stack) for stack in nested}) == 1, "what a handler left stays on the stack"
    assert found.stacks("after_nested") == [["left", "main"]] * 3
    assert found.stacks("at_end") == [["main"]]


def test_a_long_handler_where_the_stack_is_deep(tmp_path: Path) -> None:
    """A look at every frame for each of its indirect jumps would take minutes."""
    run([str(compile_guest("handler_deep.c", tmp_path))], Path("/dev/null"))


def test_return_addresses_lie_in_the_calls(tmp_path: Path) -> None:
    found = recorded("contexts.c", tmp_path)
    (leaf,) = found.writers("in_leaf")
    insns = {pc: size for block in found.recording.bbdefs for pc, size in block.insns}
    assert len(leaf.stack) >= 3
    for ip in leaf.stack[1:3]:
        assert any(pc <= ip < pc + size for pc, size in insns.items() if ip - 8 < pc <= ip)


def test_threads(tmp_path: Path) -> None:
    found = recorded("threads.c", tmp_path, "-pthread")
    start, size = found.symbols["arrays"]
    touched = [a.address for a in found.recording.accesses if a.write and start <= a.address < start + size]
    quarter = size // 4
    for number in range(4):
        lo = start + number * quarter
        assert [a for a in touched if lo <= a < lo + quarter] == list(range(lo, lo + quarter, 8))


def test_many_threads_at_a_time(tmp_path: Path) -> None:
    """Some have memory of their own, which is copied; each one's accesses are all there, in order."""
    found = recorded("crowd.c", tmp_path, "-pthread")
    start, size = found.symbols["rows"]
    touched: dict[int, list[int]] = {}
    for access in found.recording.accesses:
        if access.write and start <= access.address < start + size:
            touched.setdefault((access.address - start) // 24000, []).append(access.address)
    assert sorted(touched) == list(range(80))
    for row, addresses in touched.items():
        lo = start + row * 24000
        assert addresses == list(range(lo, lo + 24000, 8))


def test_threads_in_order(tmp_path: Path) -> None:
    program = compile_guest("order.c", tmp_path, "-no-pie", "-pthread")
    run([str(program)], tmp_path / "d.%p")
    found = {path: Recorded(records.read(path), program) for path in tmp_path.glob("d.*")}
    assert len(found) == 2
    (parent,) = (one for one in found.values() if one.writers("before"))
    (child,) = (one for one in found.values() if one.writers("in_child"))
    written = [a.address for a in parent.recording.accesses if a.write]
    places = [written.index(parent.address(name)) for name in ("before", "during", "after")]
    assert places == sorted(places)
    assert not parent.writers("in_child")
    assert not child.writers("before") + child.writers("during") + child.writers("after")
    assert [child.name(pc) for pc in child.writers("in_child")[0].stack[:2]] == ["child", "work"]


def test_libraries_that_follow_each_other(tmp_path: Path) -> None:
    program = compile_guest("libraries.c", tmp_path, "-no-pie")
    paths = [tmp_path / name for name in ("liba.so", "libb.so", "liba.so")]
    for path in paths[:2]:
        source = str(GUESTS / "library.c")
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(path), source], check=True)
    found = Recorded(record([str(program), *map(str, paths)], tmp_path), program)
    marked = found.address("marked")
    order = []
    at: dict[int, str] = {}
    for event in found.recording.events:
        if isinstance(event, records.Mark) and event.kind == records.TEXT:
            at[event.values[0]] = event.texts[0]
        elif isinstance(event, Run):
            for access in event.accesses:
                if access.write and access.address == marked:
                    below = max(avma for avma in at if avma <= access.pc)
                    order.append(at[below])
    assert order == list(map(str, paths))


def variables(recording: Recording, found: dict[str, tuple[int, int]]) -> set[str]:
    written = {a.address for a in recording.accesses if a.write}
    return {name for name in ("in_parent", "in_child", "in_new") if found[name][0] in written}


@pytest.mark.parametrize("template", ["d.%p", "d"])
def test_each_process_has_its_file(tmp_path: Path, template: str) -> None:
    program = compile_guest("processes.c", tmp_path, "-no-pie")
    out = tmp_path / "out"
    out.mkdir()
    run([str(program)], out / template, "--trace-children=yes")
    found = symbols_of(program)
    written = {path.name: variables(records.read(path), found) for path in out.iterdir()}
    assert sorted(map(sorted, written.values())) == [["in_child"], ["in_new"], ["in_new"], ["in_parent"]]
    (forked,) = (name for name, seen in written.items() if seen == {"in_child"})
    pattern = r"d\.\d+" if template == "d.%p" else r"d(\.\d+){0,2}"
    assert all(re.fullmatch(pattern + r"(\.2)?", name) for name in written), written
    assert f"{forked}.2" in written


def is_open(file: Path) -> bool:
    """Some process still has it."""
    for descriptor in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile, or closed it
            if descriptor.samefile(file):
                return True
    return False


def test_a_killed_program_leaves_whole_records(tmp_path: Path) -> None:
    program = compile_guest("endless.c", tmp_path, "-no-pie")
    output = tmp_path / "d"
    command = [sys.executable, "-m", "interpose", "--tool=datagrind", f"--datagrind-out-file={output}"]
    with subprocess.Popen([*command, str(program)], stderr=subprocess.PIPE) as process:
        while not output.exists() or output.stat().st_size < 6_000_000:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
    while is_open(output):
        time.sleep(0.01)
    found = records.read(output)
    start, size = symbols_of(program)["array"]
    touched = [a for a in found.accesses if start <= a.address < start + size]
    assert len(touched) > 100_000
    os.unlink(output)


def test_a_full_disk_stops_the_recording_only(tmp_path: Path) -> None:
    program = compile_guest("threads.c", tmp_path, "-pthread")
    done = run([str(program)], Path("/dev/full"))
    (line,) = (line for line in done.stderr.splitlines() if "/dev/full" in line and "Command" not in line)
    assert line.endswith(
        "cannot write to '/dev/full': No space left on device; the program goes on unrecorded"
    )


def test_a_file_that_cannot_be_made(tmp_path: Path) -> None:
    done = run(["/bin/true"], tmp_path / "none" / "d", status=1)
    assert "cannot create the file of accesses" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_older_name_of_the_tool(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "interpose",
        "--tool=exp-datagrind",
        f"--datagrind-out-file={tmp_path}/d",
    ]
    subprocess.run([*command, "/bin/true"], check=True, capture_output=True)
    assert records.read(tmp_path / "d").runs


def test_real_programs(tmp_path: Path) -> None:
    words = ["sqlite3", ":memory:", "create table t(a); insert into t values(1),(2); select sum(a) from t;"]
    output = tmp_path / "d"
    assert run(words, output).stdout == "3\n"
    assert len(records.read(output).accesses) > 100_000


def test_contexts_are_defined_once(tmp_path: Path) -> None:
    """Also where the oldest callers are beyond what a context holds."""
    contexts = [(number, *stack) for number, stack in recorded("contexts.c", tmp_path).recording.contexts]
    assert max(map(len, contexts)) == 256
    assert len(contexts) == len(set(contexts))


def test_a_forked_child_has_its_parents_blocks(tmp_path: Path) -> None:
    """Each block is there before it is accessed or freed, once, under its size."""
    program = compile_guest("inherited.c", tmp_path, "-no-pie")
    out = tmp_path / "out"
    out.mkdir()
    run([str(program)], out / "d.%p", "--trace-children=yes")
    seen = []
    for path in out.iterdir():
        live: dict[int, int] = {}
        at_first = None
        for event in records.read(path).events:
            if isinstance(event, Run):
                if at_first is None:
                    at_first = dict(live)
            elif event.kind == records.MALLOC:
                assert event.values[0] not in live
                live[event.values[0]] = event.values[1]
            elif event.kind == records.FREE:
                del live[event.values[0]]
        sizes = sorted(at_first.values())
        seen.append((len(sizes), sizes[-1:], len(live)))
    ours = 5000
    assert sorted(seen) == [
        (0, [], ours + 1),
        (ours // 2 + 1, [1 << 21], ours // 2 - 1),
        (ours + 1, [1 << 20], ours // 2 + 1),
    ]
