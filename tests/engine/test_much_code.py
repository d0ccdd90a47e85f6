"""Programs of much code: where their libraries lie, and that what they run stays translated."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from interpose.jit._native import lib

TIMEOUT = 120
FUNCTIONS = 300_000
"""A compiler for tensors (XLA with LLVM) has 460,000 blocks."""

RETURNS = r"""
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
int main(void) {
    enum { COUNT = %d };
    unsigned char *code = mmap(NULL, COUNT * 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(code, 0xc3, COUNT * 16); /* ret */
    mprotect(code, COUNT * 16, PROT_READ | PROT_EXEC);
    for (int turn = 0; turn < 3; turn++)
        for (unsigned char *p = code; p < code + COUNT * 16; p += 16) ((void (*)(void))p)();
    return 7;
}
"""

PLACES = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
int at_start(void);
static void *stack(void *unused) {
    printf("stack %p\n", (void *)&unused);
    return NULL;
}
int main(void) {
    pthread_t t;
    void *later = dlopen("./later.so", RTLD_NOW);
    printf("start %p\nlater %p\n", (void *)at_start, later ? dlsym(later, "later") : NULL);
    printf("own %p\n", mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    fflush(stdout);
    pthread_create(&t, NULL, stack, NULL);
    pthread_join(t, NULL);
    return 0;
}
"""


def ours(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "INTERPOSE_VERIFY": "0"}
    command = [sys.executable, "-m", "interpose", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, cwd=cwd, env=environ)


def compiled(folder: Path, name: str, source: str, *flags: str, compiler: str = "gcc") -> Path:
    (folder / f"{name}.c").write_text(source)
    subprocess.run([compiler, "-O1", f"{name}.c", "-o", name, *flags], cwd=folder, check=True)
    return folder / name


def test_much_code_stays_translated(tmp_path: Path) -> None:
    program = compiled(tmp_path, "returns", RETURNS % FUNCTIONS)
    run = ours("--tool=none", "--stats=yes", "--cache=no", program, cwd=tmp_path)
    assert run.returncode == 7, run.stderr
    blocks = re.search(r"translate: ([\d,]+) blocks", run.stderr)
    flushes = re.search(r"(\d+) whole flushes", run.stderr)
    assert blocks and flushes, run.stderr
    assert flushes[1] == "0"
    assert FUNCTIONS < int(blocks[1].replace(",", "")) < FUNCTIONS * 11 // 10


def places(folder: Path, tool: str, compiler: str) -> dict[str, int]:
    align = "-Wl,-z,max-page-size=0x200000"
    for name in ("at_start", "later"):
        source = f"int {name}(void) {{ return 1; }}\n"
        compiled(folder, f"{name}.so", source, "-shared", "-fPIC", align, compiler=compiler)
    flags = ("at_start.so", "-Wl,-rpath," + str(folder), "-pthread")
    program = compiled(folder, "places", PLACES, *flags, compiler=compiler)
    run = ours(f"--tool={tool}", program, cwd=folder)
    assert run.returncode == 0, run.stderr
    return {name: int(place, 16) for name, place in (line.split() for line in run.stdout.splitlines())}


@pytest.mark.parametrize("tool", ["none", "memcheck"])
def test_aligned_libraries_lie_with_the_others(tmp_path: Path, tool: str) -> None:
    """Translations of what lies below 4 GiB are kept, and those below 2 GiB found by a look-up in line."""
    found = places(tmp_path, tool, "gcc")
    assert 0 < found["start"] < lib.IP_IMAGES_HI
    assert 0 < found["later"] < lib.IP_IMAGES_HI
    assert found["own"] > 1 << 32
    assert found["stack"] > 1 << 32


@pytest.mark.skipif(not shutil.which("musl-gcc"), reason="there is no musl here")
def test_stacks_of_musl_are_no_images(tmp_path: Path) -> None:
    found = places(tmp_path, "none", "musl-gcc")
    assert found["own"] > 1 << 32
    assert found["stack"] > 1 << 32
