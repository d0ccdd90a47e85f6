"""`--engine=native` under the limits of the program (ulimit): it works, or one line says why not."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest
from hooks.conftest import needs_frida
from native.test_run import compile_text

pytestmark = needs_frida

# The limits that it has, and the number of the next descriptor.
PROGRAM = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>
__attribute__((noipa)) int twice(int x) { return 2 * x; }
int main(void) {
    struct rlimit files, space;
    getrlimit(RLIMIT_NOFILE, &files);
    getrlimit(RLIMIT_AS, &space);
    printf("%d %ld %ld %ld\\n", twice(5), (long)files.rlim_cur, (long)files.rlim_max, (long)space.rlim_cur);
    printf("%d\\n", open("/", O_PATH));
    return 7;
}
"""
HOOKS = """
import interpose
@interpose.wrap("NONE", "twice")
def twice(call, x: int) -> int:
    return call(x) + 100
"""


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_text(tmp_path_factory.mktemp("limits"), "program", PROGRAM)


def run(program: Path, which: int, limits: tuple[int, int]) -> subprocess.CompletedProcess[str]:
    hooks = program.parent / "hooks.py"
    hooks.write_text(HOOKS)
    command = [sys.executable, "-m", "interpose", "--engine=native", "-q", f"--hooks={hooks}", str(program)]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(which, limits),
    )


def one_line(found: subprocess.CompletedProcess[str], text: str) -> bool:
    return (found.returncode, found.stdout, found.stderr.count("\n")) == (1, "", 1) and text in found.stderr


def test_few_descriptors(program: Path) -> None:
    """The agent gets more, and the program what it was given."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    found = run(program, resource.RLIMIT_NOFILE, (30, hard))
    assert (found.returncode, found.stderr) == (7, "")
    space = resource.getrlimit(resource.RLIMIT_AS)[0]
    assert found.stdout == f"110 30 {hard} {space}\n3\n"


def test_few_descriptors_for_good(program: Path) -> None:
    """Whoever may raise it does, as long as that is needed."""
    found = run(program, resource.RLIMIT_NOFILE, (30, 30))
    if found.returncode == 7:
        assert (found.stdout.split()[:3], found.stderr) == (["110", "30", "30"], "")
    else:
        assert one_line(found, "its limit of descriptors (30) is too low for the native engine"), found.stderr


def test_little_memory(program: Path) -> None:
    size = 1 << 30
    found = run(program, resource.RLIMIT_AS, (size, resource.getrlimit(resource.RLIMIT_AS)[1]))
    assert (found.returncode, found.stderr) == (7, "")
    assert found.stdout.split()[::3][:2] == ["110", str(size)]
    found = run(program, resource.RLIMIT_AS, (size, size))
    if found.returncode == 7:
        assert found.stdout.split()[::3][:2] == ["110", str(size)]
    else:
        assert one_line(found, "the limit of address space (1048576 kB, ulimit -v) is too low"), found.stderr
