"""Children that are killed while their leaks are searched, as test frameworks kill a test's process group."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tools.memcheck.guests import PACKAGE, TIMEOUT

CHILDREN = 24
SOURCE = """\
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile kept[200000];
int main(void) {
    for (int i = 0; i < 200000; i++) kept[i] = malloc(24 + i % 8);
    for (int i = 0; i < CHILDREN; i++) {
        pid_t pid = fork();
        if (!pid) exit(0);
        usleep(i * 8000);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("killed")
    (folder / "killed.c").write_text(SOURCE)
    command = ["gcc", "-g", "-O0", f"-DCHILDREN={CHILDREN}", "-o", "killed", "killed.c"]
    subprocess.run(command, check=True, cwd=folder, timeout=TIMEOUT)
    return folder / "killed"


@pytest.mark.parametrize("form", ["text", "xml"])
def test_nothing_of_theirs_is_lost(program: Path, form: str) -> None:
    """Whenever they are killed, what they still hold is not told as lost."""
    options = ["--leak-check=full", "--log-file=log.%p"]
    if form == "xml":
        options += ["--xml=yes", "--xml-file=log.%p.xml"]
    done = subprocess.run(
        [sys.executable, "-m", "interpose", *options, program],
        cwd=program.parent,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": PACKAGE},
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 0
    logs = list(program.parent.glob("log.*"))
    text = "".join(log.read_text() for log in logs)
    for log in logs:
        log.unlink()
    assert "Leak_" not in text
    assert not re.search(r"blocks are \w+ lost", text)
    assert not re.search(r"(definitely|indirectly|possibly) lost: [1-9]", text)
