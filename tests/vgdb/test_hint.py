"""How a log says that gdb can come, beside Valgrind's."""

from __future__ import annotations

import re
import subprocess

import pytest
from vgdb.running import OURS, VGDB, ask, beside_valgrind, interpose, running, valgrind


def said(engine, program, folder, options) -> list[str]:
    """The lines about gdb of a run that is asked twice."""
    folder.mkdir()
    with running(engine, program, "sleeps", folder=folder, options=options) as run:
        by = (VGDB,) if "valgrind" in engine[0] else OURS
        for _ in range(2):
            ask(run, "v.info n_errs_found", by=by)
        subprocess.run(["sleep", "0.5"], check=True)  # nobody calls for a while
        ask(run, "v.wait", by=by)
        text = run.log.read_text().replace(f"=={run.pid}==", "==").replace(f"--pid={run.pid}", "--pid=N")
    text = re.sub(r"\| \S*vgdb ", "| vgdb ", text).replace(str(folder), "FOLDER")
    lines = text.splitlines()
    at = [number for number, line in enumerate(lines) if "TO DEBUG" in line]
    assert len(at) <= 4  # that behind the last call may be written later
    return ["\n".join(lines[number - 1 : number + 6]) for number in at[:3]]


CASES = {
    "": 0,
    "--vgdb-error=7": 3,
    "-q --vgdb-error=7": 3,
    "--vgdb-stop-at=exit": 3,
    "-v": 3,
    "-q -v": 0,
    "--vgdb-stop-at=none": 0,
}


@beside_valgrind
@pytest.mark.parametrize("options", CASES)
def test_same(leaky, tmp_path, options) -> None:
    ours = said(interpose(), leaky, tmp_path / "ours", options.split())
    assert ours == said(valgrind(), leaky, tmp_path / "theirs", options.split())
    assert len(ours) == CASES[options]
