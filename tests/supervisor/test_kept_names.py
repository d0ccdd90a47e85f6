"""--keep-debuginfo=yes: stacks of descriptors keep the names of unloaded code, under every tool."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

LIBRARY = r"""
#include <fcntl.h>
#include <unistd.h>
int open_%(name)s(void) { return open("/dev/null", O_RDONLY); }
int twice_%(name)s(void) {
    int number = open("/dev/zero", O_RDONLY);
    close(number);
    return close(number);
}
"""
PROGRAM = r"""
#include <dlfcn.h>
#include <stdio.h>
typedef int call(void);
int main(void) {
    for (int i = 0; i < 3; i++) {
        const char *name = i == 1 ? "two" : "one";
        char text[64];
        sprintf(text, "./%s.so", name);
        void *library = dlopen(text, RTLD_NOW);
        sprintf(text, "open_%s", name);
        call *f = (call *)dlsym(library, text);
        printf("%p\n", (void *)f);
        f();
        sprintf(text, "twice_%s", name);
        if (i < 2) ((call *)dlsym(library, text))();
        dlclose(library);
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    for name in ("one", "two"):
        (folder / f"{name}.c").write_text(LIBRARY % {"name": name})
        command = ["gcc", "-g", "-shared", "-fPIC", "-fno-optimize-sibling-calls", "-o", f"{name}.so"]
        subprocess.run([*command, f"{name}.c"], check=True, cwd=folder)
    (folder / "main.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "-w", "-o", "main", "main.c"], check=True, cwd=folder)
    return folder / "main"


def _stacks(text: str, title: str) -> list[list[str]]:
    """The functions of the program and its libraries in the stacks below each line with the title."""
    found: list[list[str]] = []
    inside = False
    for line in text.splitlines():
        frame = re.search(r" (?:at|by) 0x[0-9A-F]+: (\S+) ?(.*)", line)
        if title in line:
            found.append([])
        elif inside and frame and (frame[1] == "???" or re.match(r"\((?:one|two|main)\.c", frame[2])):
            found[-1].append(frame[1])
        inside = title in line or (inside and frame is not None)
    return found


@pytest.mark.parametrize("tool", ["none", "memcheck", "callgrind"])
def test_descriptors_keep_their_names(program: Path, tool: str, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "interpose",
        f"--tool={tool}",
        "-s",
        "--track-fds=yes",
        "--keep-debuginfo=yes",
    ]
    if tool == "callgrind":
        command.append(f"--callgrind-out-file={tmp_path}/out")
    done = subprocess.run(
        [*command, "./main"], cwd=program.parent, capture_output=True, text=True, timeout=120
    )
    assert len(set(done.stdout.split())) == 1, "the libraries were to lie at the same place"
    opened = [["open_one", "main"], ["open_two", "main"], ["open_one", "main"]]
    assert _stacks(done.stderr, "Open file descriptor") == opened
    # Each when it happened, and again in the list at the end.
    for title in ("is already closed", "Previously closed", "Originally opened"):
        stacks = _stacks(done.stderr, title)
        assert stacks[:2] == [["twice_one", "main"], ["twice_two", "main"]], title
        assert sorted(stacks[2:]) == stacks[:2], title
