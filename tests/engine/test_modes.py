"""Real programs in every engine mode: output and exit code as native."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from engine.modes import MODES

TIMEOUT = 240
PERL = """
my %h; $h{$_ % 7} .= chr(65 + $_ % 26) for 1 .. 200; print join(",", map {"$_=$h{$_}"} sort keys %h), "\\n"
"""
PYTHON = """
import re, json
print(json.dumps([m.group() for m in re.finditer(r'[a-c]+', 'abxcabyy' * 9)], indent=1))
"""
SHELL = """
x=0; for i in 1 2 3 4 5 6 7 8 9; do x=$((x * 3 + i)); done
printf "%s\\n" $x | (read -r y; echo "<$y>"); exit 3
"""
C = "int f(int n) { int s = 0; for (int i = 0; i < n; i++) s += i * i; return s; }\n"
PROGRAMS = {
    "python3": ["/usr/bin/python3", "-I", "-S", "-c", PYTHON],
    "perl": ["perl", "-e", PERL],
    "bash": ["bash", "-c", SHELL],
    "sort": ["sort", "-k2,2", "-k1nr", "/etc/passwd"],
    "gcc": ["gcc", "-O1", "-S", "-o", "-", "f.c"],
}
SLOW = {"evict": ["--evict=500"]}
"""An eviction at every 20th exit takes too long for what starts with a million instructions."""
LONG = {"gcc": ("single-step", "evict"), "python3": ("single-step", "tiny-cache")}
"""Modes in which they take too long."""
RUNS = [
    pytest.param(program, mode, id=f"{program}-{mode}")
    for program in PROGRAMS
    for mode in MODES
    if mode != "default" and mode not in LONG.get(program, ())
]


@pytest.mark.parametrize(("program", "mode"), RUNS)
def test_as_native(program: str, mode: str, tmp_path: Path) -> None:
    command = PROGRAMS[program]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    (tmp_path / "f.c").write_text(C)
    environ = {**os.environ, "LC_ALL": "C.UTF-8"}
    options = SLOW.get(mode) or MODES[mode]
    children = ["--trace-children=yes"] if program == "gcc" else []
    ours = [sys.executable, "-m", "interpose", "--tool=none", "-q", *options, *children]

    def run(words: list[str]) -> tuple[int, bytes, bytes]:
        done = subprocess.run(
            words, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT, env=environ
        )
        return done.returncode, done.stdout, done.stderr

    native, got = run(command), run([*ours, *command])
    assert got[:2] == native[:2], got[2].decode(errors="replace")


NUMBERS = {
    "flushes": r"([\d,]+) whole flushes",
    "dropped": r"([\d,]+) dropped",
    "chained": r"([\d,]+) chained",
    "blocks": r"([\d,]+) blocks",
    "instructions": r"([\d,]+) guest instructions",
    "bytes": r"-> ([\d,]+) bytes",
}


def statistics(mode: str, *options: str) -> dict[str, int]:
    """What --stats=yes counts for a small program in a mode."""
    words = ["--tool=none", "--stats=yes", "--cache=no", *MODES[mode], *options]
    command = [sys.executable, "-m", "interpose", *words, "/bin/true"]
    log = subprocess.run(command, capture_output=True, timeout=TIMEOUT, text=True, check=True).stderr
    found = {name: re.search(pattern, log) for name, pattern in NUMBERS.items()}
    return {name: int(m[1].replace(",", "")) for name, m in found.items() if m}


def bytes_for_each(counts: dict[str, int]) -> float:
    """Bytes of translated code for each guest instruction."""
    return counts["bytes"] / counts["instructions"]


def test_modes_take_effect() -> None:
    """Even a small program meets what its mode is there for."""
    plain = statistics("default")
    assert plain["flushes"] == 0 < plain["chained"]
    assert plain["dropped"] < 10  # entries of linkage tables that were not bound yet
    assert statistics("tiny-cache")["flushes"] > 0
    assert statistics("evict")["dropped"] > 50
    assert statistics("no-chaining")["chained"] == 0
    single = statistics("single-step")
    assert single["blocks"] == single["instructions"]
    memcheck, tracking = statistics("memcheck"), statistics("tracking")
    assert tracking["bytes"] > memcheck["bytes"]
    # Under none nearly nothing is there to improve, and the count of blocks differs from run to run.
    unimproved = statistics("no-optimise", "--tool=memcheck")
    assert bytes_for_each(unimproved) > 1.05 * bytes_for_each(memcheck)


def test_far_images_are_far() -> None:
    command = [sys.executable, "-m", "interpose", "-q", "--tool=none", *MODES["far-images"]]
    done = subprocess.run(
        [*command, "cat", "/proc/self/maps"], capture_output=True, timeout=TIMEOUT, text=True
    )
    images = [line for line in done.stdout.splitlines() if line.endswith((".so.6", ".so.2", "/cat"))]
    assert len(images) > 5
    assert all(int(line.split("-")[0], 16) >= 1 << 31 for line in images)
