"""No memory for the program, by its own limit or by somebody else's: as native, or one clear line."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from life.running import TOOLS, command, compile_guest, environment, processes_with, run, wait_until


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("megabytes", [40, 200])
def test_program_lowers_its_limit(tmp_path: Path, tool: str, megabytes: int) -> None:
    """What is refused natively is refused, in each of its ways, and nothing else."""
    program = str(compile_guest("life/limited.c", tmp_path))
    native = run([program, str(megabytes)])
    assert native.returncode == 5
    done = run([*command(f"--tool={tool}", "-q"), program, str(megabytes)])
    assert (done.returncode, done.stdout) == (5, native.stdout), done.stderr
    assert "interpose:" not in done.stderr


def limited(words: list[str], tool: str, room: int) -> tuple[int, str]:
    """The kernel's limit on the running client, set from outside: our own mappings fail, too.

    :param room: bytes beside those that it has when it is ready.
    :return: its exit code, and what was written to stderr.
    """
    token = uuid.uuid4().hex
    process = subprocess.Popen(
        [*command(f"--tool={tool}", "-q"), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(RUN_TOKEN=token),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    size = int(Path(f"/proc/{process.pid}/statm").read_text().split()[0]) * resource.getpagesize()
    resource.prlimit(process.pid, resource.RLIMIT_AS, (size + room, size + room))
    _, err = process.communicate("\n", timeout=60)
    lines = [line for line in err.splitlines() if not line.startswith("==")]
    context = f"{tool}, {room}: {process.returncode}, {err}"
    assert len(lines) == (process.returncode == 1), context
    assert all(line.startswith("interpose: ") and "internal" not in line for line in lines), context
    assert wait_until(lambda: not processes_with(token))
    return process.returncode, context


def grow(ends: str, tool: str, room: int) -> None:
    """Until there is no memory."""
    code, context = limited([ends, "grows", "4"], tool, room)
    assert code in (1, 6), context


@pytest.mark.skipif(os.geteuid() != 0, reason="limits of another process")
@pytest.mark.parametrize("room", [-(16 << 20), -(1 << 20), 0, 1 << 20, 16 << 20])
def test_no_memory_to_move_a_block(tmp_path: Path, room: int) -> None:
    """realloc, whose block has its pages moved: what was in it, NULL, or one clear line."""
    program = str(compile_guest("life/moves_block.c", tmp_path))
    code, context = limited([program], "memcheck", room)
    assert code in (0, 1, 6), context


def test_a_hard_limit_on_descriptors_is_told_as_one() -> None:
    """However few there are, the program runs, or one line says of which limit it is."""
    told = []
    for most in range(8, 24):
        done = subprocess.run(
            [*command("--tool=none", "-q"), "/bin/true"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=environment(),
            timeout=60,
            preexec_fn=lambda most=most: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)),
        )
        if done.returncode == 0:
            assert done.stderr == "", most
        else:
            told.append(done.stderr)
            assert done.returncode == 1, most
            assert re.fullmatch(r"interpose: .*raise '?ulimit -n'?\n", done.stderr), (most, done.stderr)
    assert told


@pytest.mark.skipif(os.geteuid() != 0, reason="limits of another process")
@pytest.mark.parametrize("tool", TOOLS)
def test_supervisor_has_no_descriptor_left(ends: str, tool: str) -> None:
    """The program's fork fails, and succeeds again when there are some."""
    token = uuid.uuid4().hex
    process = subprocess.Popen(
        [*command(f"--tool={tool}", "-q"), ends, "forks once"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(RUN_TOKEN=token),
    )
    assert process.stdin is not None and process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    supervisor = next(pid for pid in processes_with(token) if pid != process.pid)
    before = resource.prlimit(supervisor, resource.RLIMIT_NOFILE)
    lowest = max(int(name) for name in os.listdir(f"/proc/{supervisor}/fd")) + 1

    def ask() -> str:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write("x")
        process.stdin.flush()
        return process.stdout.readline()

    assert ask() == "9\n"
    results = set()
    for more in range(7):
        resource.prlimit(supervisor, resource.RLIMIT_NOFILE, (lowest - 4 + more, before[1]))
        results.add(ask())
    assert results <= {"-1\n", "9\n"} and "-1\n" in results
    resource.prlimit(supervisor, resource.RLIMIT_NOFILE, before)
    assert ask() == "9\n"
    _, err = process.communicate("", timeout=60)
    assert (process.returncode, err) == (5, "")


@pytest.mark.skipif(os.geteuid() != 0, reason="limits of another process")
@pytest.mark.parametrize("tool", TOOLS)
def test_limit_from_outside(ends: str, tool: str) -> None:
    rooms = [0, 1 << 12, 1 << 16, 1 << 19, 1 << 20, 5 << 20, 20 << 20, 64 << 20, 200 << 20]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda room: grow(ends, tool, room), rooms))
