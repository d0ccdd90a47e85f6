"""``interpose --dap``, driven by an editor: Emacs with dap-mode."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DAP_MODE = list(Path("/usr/share/emacs/site-lisp/elpa").glob("dap-mode-*"))
SOURCE = """\
#include <stdio.h>
#include <stdlib.h>
static int total(const int *numbers, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum += numbers[i]; // here
    return sum;
}
int main(void) {
    int *numbers = calloc(3, sizeof *numbers);
    numbers[1] = 7;
    int sum = total(numbers, 3);
    printf("the sum is %d\\n", sum);
    free(numbers);
    return numbers[1] > 9;
}
"""


@pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")
@pytest.mark.skipif(
    shutil.which("emacs") is None or not DAP_MODE, reason="Emacs or dap-mode is not installed"
)
def test_a_session(tmp_path: Path) -> None:
    source, program = tmp_path / "prog.c", tmp_path / "prog"
    source.write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O0", "-o", str(program), str(source)], check=True)
    adapter = " ".join(json.dumps(word) for word in (sys.executable, "-m", "interpose", "--dap"))
    variables = (
        f"(setq adapter '({adapter}) program {json.dumps(str(program))} source {json.dumps(str(source))} "
        f"folder {json.dumps(str(tmp_path) + '/')})"
    )
    session = Path(__file__).with_name("session.el")
    done = subprocess.run(
        ["emacs", "--batch", "-f", "package-initialize", "--eval", variables, "-l", str(session)],
        capture_output=True,
        timeout=400,
        cwd=tmp_path,
        text=True,
        errors="replace",
    )
    told = done.stdout + done.stderr
    assert done.returncode == 0, told
    assert "stop 1: total, line 5\nn is 3\nsum is 0\nstop 2: main, line 11\nstop 3: main, line 14\n" in told
    assert "Invalid read of size 4" in told and "the sum is 7\n" in told
    assert "ERROR SUMMARY: 1 errors from 1 contexts" in told
