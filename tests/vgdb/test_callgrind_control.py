"""Valgrind's own callgrind_control asks a run of ours.

It knows a run by its command line, which is the program's here: the program has Valgrind's name and options.
"""

from __future__ import annotations

import shutil
import subprocess

import pytest
from vgdb.running import TIMEOUT, compile_guest, interpose, running

CONTROL = shutil.which("callgrind_control")
pytestmark = pytest.mark.skipif(not CONTROL, reason="needs callgrind_control")


def test_what_it_asks_is_answered(tmp_path) -> None:
    program = tmp_path / "valgrind.bin"
    compile_guest(tmp_path, "leaky").rename(program)
    options = [f"--callgrind-out-file={tmp_path}/out"]
    words = ["computes", "--tool=callgrind", *options, f"--vgdb-prefix={tmp_path}/p"]
    # Its own words are behind the one that the guest looks at.
    with running(interpose("callgrind"), program, *words, "prog", folder=tmp_path, options=options) as run:

        def control(*words: str) -> str:
            command = [str(CONTROL), f"--vgdb-prefix={run.prefix}", *words, str(run.pid)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
            return done.stdout + done.stderr

        listed = control()
        if "not detected" in listed:
            pytest.skip(f"it does not take this for a run: {listed}")
        shown = control("-s")
        assert "Number of running threads: 2, thread IDs: 1 2" in shown and "Events collected: Ir" in shown
        assert "Functions: " in shown and "Basic blocks: " in shown
        back = control("-b")
        assert "Frame: Backtrace for Thread 1" in back and " main (1 x)" in back
        assert "Totals:" in control("-e")
        assert "OK." in control("-d=why") and "desc: Trigger: dump why" in (tmp_path / "out.1").read_text()
        assert "OK." in control("-z")
        assert "OK." in control("-i", "off")
        assert "No information available as instrumentation is switched off." in control("-s")
        assert "OK." in control("-i", "on")
        assert "OK." in control("-k")
        assert run.process.wait(TIMEOUT) == 0
