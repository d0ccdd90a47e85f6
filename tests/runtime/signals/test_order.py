"""Which of several signals a program gets, where our handlers do not run in their order."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from life.running import command, compile_guest, environment

TOOLS: list[list[str]] = [[], ["--tool=none"], ["--tool=memcheck"], ["--tool=callgrind"]]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: "".join(tool) or "native")
def test_of_one_number_the_first_is_kept(tmp_path: Path, tool: list[str]) -> None:
    """Also where the second comes before our handler for the first has run an instruction."""
    guest = str(compile_guest("life/first_of_two.c", tmp_path))
    words = [*command(*tool, "-q", "--vgdb=no"), guest] if tool else [guest]
    how = {"stdout": subprocess.PIPE, "text": True, "env": environment(), "cwd": tmp_path}
    with subprocess.Popen(words, **how) as process:
        assert process.stdout is not None
        tracer = [guest, process.stdout.readline().strip(), *(["handler"] if tool else [])]
        try:
            done = subprocess.run(tracer, timeout=120, check=False)
            if done.returncode == 1:
                pytest.skip("nothing can be traced here")
            assert done.returncode == 0
            assert process.stdout.read() == "66\n"
        finally:
            process.kill()
