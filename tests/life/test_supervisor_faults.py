"""Faults of ours, injected: said once, with what helps to find them; then the end with 1; no traceback."""

from __future__ import annotations

import errno
import os
import random
import re
import subprocess
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from life.running import TOOLS, compile_guest, environment, processes_with, wait_until

from interpose import paths

HERE = Path(__file__).parent
COUNT = int(os.environ.get("INTERPOSE_KILLS", "200")) // 16
SEED = int(os.environ.get("INTERPOSE_SEED", "1"))
NO_MEMORY = "interpose: out of memory, so the program cannot go on; check 'ulimit -v' and free memory\n"
NO_TRANSLATOR = (
    "interpose: cannot start the translator: Resource temporarily unavailable;"
    " check 'ulimit -v' and 'ulimit -u'\n"
)


@pytest.fixture(scope="session")
def failing(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Allocators that fail when they are told to."""
    out = tmp_path_factory.mktemp("failing") / "failing.so"
    source = str(HERE / "failing_alloc.c")
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o", str(out), source], check=True
    )
    return str(out)


def run(fault: str, tool: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A run with a fault; nothing of it is left afterwards."""
    token = uuid.uuid4().hex
    command = [sys.executable, str(HERE / "faulty.py"), fault, f"--tool={tool}", "-q", *words]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(RUN_TOKEN=token),
    )
    try:
        out, err = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        for pid in processes_with(token):
            os.kill(pid, 9)
        process.kill()
        raise AssertionError(f"{fault}: hangs") from None
    assert wait_until(lambda: not processes_with(token)), fault
    assert "Traceback" not in err
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def said_once(err: str, text: str) -> list[str]:
    """The lines of an error that begins so, after checking that it is the only one."""
    assert err.count("interpose: ") == 1, err
    assert err.startswith(f"interpose: internal error: {text}"), err
    return err.splitlines()


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("request_kind", ["hello", "mapped", "loaded", "exit"])
def test_exception(ends: str, tool: str, request_kind: str) -> None:
    done = run(f"raises={request_kind}", tool, ends, "exit", "5")
    assert done.returncode == 1
    lines = said_once(done.stderr, "KeyError: 'injected' at ")
    assert re.search(rf"thread 1 \(task \d+\) at guest pc 0x[0-9A-F]+ asked: {request_kind}", lines[2])
    if request_kind in ("loaded", "exit"):
        assert "  Stage 1: From x86 to UCode" in lines
        assert any(line.startswith("  Stage 6: ") for line in lines)
    assert lines[-1].startswith("  Please report this")


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("fault", ["segv=exit", "aborts=exit", "translator"])
def test_signal(ends: str, tool: str, fault: str) -> None:
    """In Python's thread and in the translator's: the block under way is shown."""
    done = run(fault, tool, "--cache=no", ends, "exit", "5")
    assert done.returncode == 1
    lines = said_once(done.stderr, f"signal {6 if 'abort' in fault else 11} (code ")
    assert re.search(r"translating 0x[0-9a-f]{4,}; please report this", lines[0])
    assert re.search(r"\n +0x[0-9a-f]+: +\w+", done.stderr)


@pytest.mark.parametrize("tool", TOOLS)
def test_end_amid_a_translation(tool: str) -> None:
    """The program is gone: nobody waits for a translation that goes on for ever."""
    done = run("endless=exit", tool, "/bin/true")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("tool", TOOLS)
def test_no_process_for_what_a_child_of_vfork_executes(tool: str, tmp_path: Path) -> None:
    """Its exec fails, as natively where processes are limited; the program goes on, its next child runs."""
    program = compile_guest("life/vfork_execs.c", tmp_path)
    done = run("fork=exec", tool, "--trace-children=yes", str(program))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [f"first {errno.EAGAIN}", "ran", "second 0"]


@pytest.mark.parametrize("tool", TOOLS)
def test_runtime(ends: str, tool: str) -> None:
    """A fault in the client: its registers, and the block by the supervisor."""
    done = run("runtime=mapped", tool, ends, "exit", "5")
    assert done.returncode == 1
    said_once(done.stderr, "unknown exit kind 63; please report")
    assert re.search(r"\n  guest pc 0x[0-9a-f]+, thread 1, ", done.stderr)
    assert "== Stage 1: From x86 to UCode\n" in done.stderr
    assert "== Please report this" in done.stderr


@pytest.mark.parametrize("tool", TOOLS)
def test_wild_pointer_in_the_runtime(ends: str, tool: str) -> None:
    """What the code that faults has in its registers is said, too: the guest's tell little of it."""
    symbols = subprocess.run(
        ["nm", paths.runtime(tool)], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    (at,) = re.findall(r"^(\w+) T rt_exit_process$", symbols, re.M)
    done = run(f"wild={at}", tool, ends, "exit", "5")
    assert done.returncode == 1
    said_once(
        done.stderr,
        f"signal 11 (code 1) in the runtime at 0x{int(at, 16) + 7:x}, address 0x30; please report",
    )
    first = r"\n  registers of the runtime:\n  rax 0x0{16}  rcx 0x0{14}77  "
    assert re.search(first + r"(.*\n){4}  guest pc 0x[0-9a-f]+, thread 1, ", done.stderr), done.stderr


@pytest.mark.parametrize("tool", TOOLS)
def test_python_gets_no_memory(ends: str, failing: str, tool: str) -> None:
    """At any allocation; what follows may succeed or not."""
    words = (ends, "leaks", "100") if tool == "memcheck" else (ends, "exit", "5")
    words = ("--cache=no", *words)  # each run has as much to do as the first
    counted = run(f"allocation={failing},0,0", tool, *words)
    total = int(counted.stderr.rpartition("allocations ")[2])
    assert total > 1000
    moments = random.Random(SEED)

    def one(turn: int) -> None:
        # The first hundreds are the start, which is more delicate than the rest.
        nth = moments.randint(1, 600 if turn % 2 else total)
        fault = f"allocation={failing},{nth},{turn // 2 % 2}"
        done = run(fault, tool, *words)
        assert (done.returncode, done.stderr) == (1, NO_MEMORY) or nth > total * 0.9, fault

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(one, range(COUNT)))


@pytest.mark.parametrize("tool", TOOLS)
def test_small_address_space_of_the_supervisor(ends: str, tool: str) -> None:
    def one(room: int) -> None:
        done = run(f"address_space={room}", tool, ends, "exit", "5")
        if done.returncode != 5:
            assert done.returncode == 1, done
            assert done.stderr.count("\n") == 1 and done.stderr.startswith("interpose: "), done.stderr
            assert "internal error" not in done.stderr, done.stderr

    rooms = [
        0,
        1 << 12,
        1 << 16,
        1 << 20,
        20 << 20,
        100 << 20,
        300 << 20,
        600 << 20,
        620 << 20,
        700 << 20,
        1 << 30,
    ]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(one, rooms))


def test_reading_debug_info_gets_no_memory(ends: str) -> None:
    """Its reader is a library that would abort."""

    def one(megabytes: int) -> str:
        done = run(f"address_space={megabytes << 20}", "memcheck", ends, "fault")
        if done.returncode == -11:
            return ""
        said = "".join(f"{line}\n" for line in done.stderr.splitlines() if not line.startswith("=="))
        assert done.returncode == 1 and said in (NO_MEMORY, NO_TRANSLATOR), f"{megabytes}: {done.stderr}"
        return said

    with ThreadPoolExecutor(3) as pool:
        results = list(pool.map(one, [*range(788, 980, 9), 4000]))
    assert NO_MEMORY in results and results[-1] == ""
