"""Which process makes translations: the program's, but where the supervisor has to look at each."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

TIMEOUT = 90


def shares(*options: str) -> tuple[int, int]:
    """How many requests for translations there were, and how many the program's own threads answered."""
    words = [sys.executable, "-m", "interpose", "--stats=yes", "--cache=no", *options, "/bin/true"]
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


def test_stages_are_listed_by_the_supervisor() -> None:
    requests, here = shares("--tool=none", "--trace-flags=00000100", "--trace-notbelow=10")
    assert here == 0 < requests
