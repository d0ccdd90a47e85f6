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


def shares(
    *options: str, start: tuple[str, ...] | None = None, program: str = "/bin/true"
) -> tuple[int, int]:
    """How many requests for translations there were, and how many the program's own threads answered.

    :param start: Python's arguments to begin interpose in another way.
    """
    words = [sys.executable, *(start or ("-m", "interpose")), "--stats=yes", "--cache=no", *options, program]
    environ = {**os.environ, "INTERPOSE_VERIFY": "0"}
    log = subprocess.run(
        words, capture_output=True, timeout=TIMEOUT, text=True, check=True, env=environ
    ).stderr
    found = re.search(r"([\d,]+) requests, ([\d,]+) answered by the program's own threads", log)
    assert found is not None, log
    return int(found[1].replace(",", "")), int(found[2].replace(",", ""))


TOOLS = (
    ("--tool=none",),
    ("--tool=memcheck",),
    ("--tool=callgrind", "--callgrind-out-file=/dev/null"),
    ("--tool=datagrind", "--datagrind-out-file=/dev/null"),
    ("--tool=memtrace",),
)


@pytest.mark.parametrize("options", TOOLS, ids=lambda options: options[0][7:])
def test_the_programs_threads_translate(
    options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    requests, here = shares(*options)
    assert here > 0.95 * requests > 100


MANY = """
import array, runpy
from interpose.jit._native import ffi, lib
from interpose.tools.callgrind.functions import Functions
known = Functions.mapped
def mapped(self, *where):
    Functions.mapped = known
    many = lib.IP_TR_MAX_RANGES + 1
    lows = array.array("Q", range(1 << 40, (1 << 40) + 16 * many, 16))
    highs = array.array("Q", range((1 << 40) + 16, (1 << 40) + 16 * (many + 1), 16))
    numbers = ffi.from_buffer("uint32_t[]", array.array("I", range(1, many + 1)))
    known(self, *where)
    ends = (ffi.from_buffer("uint64_t[]", words) for words in (lows, highs))
    assert lib.ip_trace_functions_add(many, *ends, numbers) == 0
Functions.mapped = mapped
runpy.run_module("interpose", run_name="__main__")
"""


def test_with_more_functions_than_both_processes_can_see_the_supervisor_translates(tmp_path: Path) -> None:
    few, many = tmp_path / "few", tmp_path / "many"
    totals = []
    for out, start in (few, None), (many, ("-c", MANY)):
        requests, here = shares("--tool=callgrind", f"--callgrind-out-file={out}", start=start)
        assert (here == 0) == (out is many) and requests > 100
        totals.append(re.findall("^totals: .*", out.read_text(), re.MULTILINE))
    assert totals[0] == totals[1] != []


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
    requests, here = shares("--tool=memcheck", start=("-c", TAKEN, str(place)))
    assert here == 0 < requests
