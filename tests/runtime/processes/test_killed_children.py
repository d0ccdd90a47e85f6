"""Children on the program's memory that are killed, and what waits for them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from life.running import command, compile_guest


@pytest.mark.parametrize("tool", ["none", "memcheck"])
def test_a_flush_waits_for_no_answer_of_one_that_is_dead(tmp_path: Path, tool: str) -> None:
    """It yielded a thousand times for each flush, and a yield may give a whole slice to another program."""
    guest = str(compile_guest("processes/killed_child_flush.c", tmp_path))
    for words in ([guest], [*command(f"--tool={tool}", "-q"), guest]):
        done = subprocess.run(
            [guest, "without-yields", *words], capture_output=True, text=True, timeout=120, check=False
        )
        assert (done.returncode, done.stdout) == (0, "9\n"), done.stderr
