"""KCachegrind itself reads what our writer writes, and our reader what KCachegrind's converters write."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from interpose.formats.callgrind import Cost, EventType, Function, Writer, read, write

GUESTS = Path(__file__).parents[1] / "guests" / "formats"


def of_session(session: int) -> list[int]:
    """Processes of a session that live; whatever groups a shell has put them into."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            state, _, _, of = (folder / "stat").read_text().rpartition(") ")[2].split()[:4]
        except (OSError, ValueError):
            continue
        if folder.name.isdigit() and int(of) == session and state not in "ZX":
            found.append(int(folder.name))
    return found


def end_session(session: int) -> None:
    """Nothing of it is left, not the X server either; that one removes its lock when it may."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in of_session(session):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)
        end = time.monotonic() + 5
        while of_session(session) and time.monotonic() < end:
            time.sleep(0.05)


def opened(file: Path, command: str) -> list[str]:
    """What KCachegrind complains of while it opens a file, until it shows the command of that."""
    for needed in ("kcachegrind", "xvfb-run", "dbus-run-session", "xwininfo"):
        if not shutil.which(needed):
            pytest.skip(f"{needed} is not installed")
    home = file.parent / "home"
    home.mkdir(mode=0o700, exist_ok=True)
    said = file.with_suffix(".said")
    # The window's title has the command once the file is read; then the program has nothing left to do.
    script = (
        f"kcachegrind {file} 2>{said} & it=$!\n"
        f"while kill -0 $it && ! xwininfo -root -tree | grep -qF '{file} [{command}]'; do sleep 0.2; done\n"
        "kill $it && wait $it"
    )
    environ = {**os.environ, "HOME": str(home), "XDG_RUNTIME_DIR": str(home), "LC_ALL": "C.UTF-8"}
    words = ["xvfb-run", "-a", "dbus-run-session", "--", "sh", "-c", script]
    running = subprocess.Popen(
        words, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        running.wait(timeout=120)
    except subprocess.TimeoutExpired:
        pytest.fail(f"KCachegrind shows no window with {file}: {said.read_text()}")
    finally:
        end_session(running.pid)
        running.wait()
    return [line for line in said.read_text().splitlines() if str(file) in line or "Loading" in line]


def every_construct(file: Path, **options: bool) -> None:
    """A profile with all that the writer can write."""
    with file.open("wb") as stream:
        writer = Writer(stream, ["Ir", "Dr"], ["instr", "line"], creator="interpose-test", **options)
        sums = EventType("Sum", "All of it", ((1, "Ir"), (10, "Dr")))
        for part in (1, 2):
            writer.part_header(
                pid=7, cmd="./prog -x", part=part, thread=part, summary=[190, 2],
                descriptions=[("Trigger", "Program termination"), ("Timerange", "Basic block 0 - 10")],
                event_types=[EventType("Ir", "Instructions"), sums],
            )  # fmt: skip
            writer.function("/bin/prog", "prog.c", "main")
            writer.cost(10, 0x401000, [10, 1])
            writer.inline_file("prog.h")
            writer.cost(3, 0x401004, [20])
            writer.call("/lib/libc.so.6", "puts.c", "puts", 2, target_line=30, target_addr=0x80,
                        line=3, addr=0x401008, costs=[60, 1])  # fmt: skip
            writer.inline_file("prog.c")
            writer.call("/bin/prog", "prog.c", "operator()(int (*)[3])'2", 1, target_line=40,
                        target_addr=0x402000, line=12, addr=0x40100C, costs=[100])  # fmt: skip
            writer.jump(5, 3, target_line=10, target_addr=0x401000, line=12, addr=0x401010)
            writer.jump(2, target_line=3, target_addr=0x401004, line=13, addr=0x401012, target_file="prog.h")
            elsewhere = Function("/bin/prog", "prog.c", "operator()(int (*)[3])'2")
            writer.jump(
                1, target_line=40, target_addr=0x402000, line=14, addr=0x401014, target_function=elsewhere
            )
            writer.function("/bin/prog", "prog.c", "operator()(int (*)[3])'2")
            writer.cost(40, 0x402000, [100, 0])
            writer.function("/lib/libc.so.6", "puts.c", "puts")
            writer.cost(30, 0x80, [60, 1])
            writer.totals([190, 2])


@pytest.mark.parametrize("compressed", [True, False], ids=["compressed", "plain"])
def test_kcachegrind_opens_every_construct(tmp_path, compressed):
    file = tmp_path / "callgrind.out.7"
    every_construct(file, compress_strings=compressed, compress_pos=compressed)
    assert opened(file, "./prog -x") == []


def test_kcachegrind_complains_of_what_is_wrong(tmp_path):
    """That it says nothing above means something."""
    file = tmp_path / "callgrind.out.7"
    every_construct(file)
    file.write_text(file.read_text().replace("calls=2", "cals=2"))
    assert any("Invalid line 'cals=2" in line for line in opened(file, "./prog -x"))


def test_kcachegrind_opens_a_real_profile_that_was_read_and_written(tmp_path):
    if not shutil.which("valgrind"):
        pytest.skip("valgrind is not installed")
    program, original = tmp_path / "profiled", tmp_path / "original"
    subprocess.run(
        ["gcc", "-g", "-O1", "-static", "-pthread", GUESTS / "profiled.c", "-o", program], check=True
    )
    options = "--dump-instr=yes --collect-jumps=yes --cache-sim=yes --branch-sim=yes".split()
    command = [
        "valgrind",
        "-q",
        "--tool=callgrind",
        f"--callgrind-out-file={original}",
        *options,
        "./profiled",
    ]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    file = tmp_path / "callgrind.out.8"
    with file.open("wb") as stream:
        write(read(original), stream)
    assert opened(file, "./profiled") == []


@pytest.mark.parametrize(
    "options",
    [
        "--dump-instr=yes --collect-jumps=yes --branch-sim=yes",
        "--collect-jumps=yes --separate-callers=2 --compress-strings=no --compress-pos=no",
    ],
)
def test_kcachegrind_opens_our_profile_of_a_real_program(tmp_path, options):
    program, file = tmp_path / "profiled", tmp_path / "callgrind.out.9"
    subprocess.run(["gcc", "-g", "-O1", "-pthread", GUESTS / "profiled.c", "-o", program], check=True)
    command = [sys.executable, "-m", "interpose", "-q", "--tool=callgrind", f"--callgrind-out-file={file}"]
    subprocess.run([*command, *options.split(), "./profiled"], check=True, capture_output=True, cwd=tmp_path)
    assert opened(file, "./profiled") == []


OPREPORT = """\
CPU: AMD64, speed 2000 MHz (estimated)
Counted CYCLES events (Cycles) with a unit mask of 0x00 (No unit mask) count 100000
vma      samples  %        linenr info   image name   app name   symbol name
00401000 308  75.0  /src/a.c:6 /bin/app /bin/app main
  00401000 300  97.0  /src/a.c:7
  00401004 8  3.0  /src/a.c:8
00401100 100  25.0  (no location information) /lib/libc.so /bin/app (no symbols)
  00401100 100  100.0  (no location information)
"""


def test_what_op2calltree_writes_is_read(tmp_path):
    if not shutil.which("op2calltree"):
        pytest.skip("op2calltree is not installed")
    subprocess.run(
        ["op2calltree"], input=OPREPORT, text=True, check=True, cwd=tmp_path, stdout=subprocess.DEVNULL
    )
    part = read(tmp_path / "oprof.out.app").parts[0]
    costs = [(r.function.name, r.file, r.addr, r.line, r.costs) for r in part.records if isinstance(r, Cost)]
    assert sorted(costs, key=lambda cost: cost[2]) == [
        ("main", "/src/a.c", 0x401000, 7, (300,)),
        ("main", "/src/a.c", 0x401004, 8, (8,)),
        ("???", "???", 0x401100, 0, (100,)),
    ]
    assert part.events == ("CYCLES",) and part.summary == (408,)
