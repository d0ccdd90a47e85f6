"""Which process makes translations: the program's, but where the supervisor has to look at each."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from interpose.jit._native import lib

TIMEOUT = 90
GUESTS = Path(__file__).resolve().parents[1] / "guests" / "processes"


TAKEN = """
import ctypes, runpy, sys
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
address = int(sys.argv.pop(1))
assert libc.mmap(address, 4096, 3, 0x100022, -1, 0) == address  # private, anonymous, at that place or nowhere
runpy.run_module("interpose", run_name="__main__")
"""
PLACES = (lib.IP_XLT_BASE, lib.IP_XLT_META, lib.IP_XLT_CACHE)


def shares(*options: str, taken: int = 0, program: str = "/bin/true") -> tuple[int, int]:
    """How many requests for translations there were, and how many the program's own threads answered.

    :param taken: an address that something of the supervisor's process has already.
    """
    python = [sys.executable, *(("-c", TAKEN, str(taken)) if taken else ("-m", "interpose"))]
    words = [*python, "--stats=yes", "--cache=no", *options, program]
    environ = {**os.environ, "INTERPOSE_VERIFY": "0"}
    log = subprocess.run(
        words, capture_output=True, timeout=TIMEOUT, text=True, check=True, env=environ
    ).stderr
    found = re.search(r"([\d,]+) requests, ([\d,]+) answered by the program's own threads", log)
    assert found is not None, log
    return int(found[1].replace(",", "")), int(found[2].replace(",", ""))


@pytest.mark.parametrize("tool", ("none", "memcheck"))
def test_the_programs_threads_translate(tool: str) -> None:
    requests, here = shares(f"--tool={tool}")
    assert here > 0.95 * requests > 100


def test_a_tool_that_traces_leaves_it_to_the_supervisor() -> None:
    requests, here = shares("--tool=callgrind", "--callgrind-out-file=/dev/null")
    assert here == 0 < requests


@pytest.mark.parametrize("tool", ("none", "memcheck"))
def test_another_process_on_the_memory_asks(tool: str, tmp_path: Path) -> None:
    """It may be stopped with what it holds, and the program goes on."""
    program = tmp_path / "clone_translates"
    subprocess.run(["gcc", "-o", program, GUESTS / "clone_translates.c"], check=True)
    requests, here = shares(f"--tool={tool}", program=str(program))
    assert requests - here >= 1000


def test_stages_are_listed_by_the_supervisor() -> None:
    requests, here = shares("--tool=none", "--trace-flags=00000100", "--trace-notbelow=10")
    assert here == 0 < requests


@pytest.mark.parametrize("place", PLACES, ids=("tables", "meta", "cache"))
def test_where_the_supervisor_cannot_share_its_tables_it_translates(place: int) -> None:
    requests, here = shares("--tool=memcheck", taken=place)
    assert here == 0 < requests
