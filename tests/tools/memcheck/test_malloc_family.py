"""Every way of linking: the functions of the malloc family are replaced, each of them.

A block of the program's own malloc in the hands of our realloc or free would be an invalid one.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tools.memcheck.guests import PACKAGE, TIMEOUT

GUESTS = Path(__file__).parents[2] / "guests" / "memcheck_traps"
SOURCE = GUESTS / "malloc_family.c"
OPERATORS = GUESTS / "shared_operators.cpp"

WAYS = {
    "dynamic": "gcc",
    "static": "gcc -static",
    "static-pie": "gcc -static-pie",
    "static-pie, debug stripped": "gcc -static-pie -Wl,-S",
    "static-pie, LTO": "gcc -static-pie -flto -O2",
    "static-pie, LLD": "gcc -static-pie -fuse-ld=lld",
    "static, LTO": "gcc -static -flto -O2",
    "static, mold": "gcc -static -fuse-ld=mold",
    "static-pie, mold": "gcc -static-pie -fuse-ld=mold",
    "musl": "musl-gcc",
    "musl, static": "musl-gcc -static",
    "musl, static-pie": "musl-gcc -static-pie -fPIE",
    "jemalloc": "gcc -ljemalloc",
    "jemalloc, static": "g++ -static -ljemalloc",
    "jemalloc, static-pie": "g++ -static-pie -ljemalloc_pic",
    "jemalloc in a dynamic program": "g++ -Wl,-Bstatic -ljemalloc -Wl,-Bdynamic",
    "tcmalloc": "g++ -ltcmalloc_minimal",
    "tcmalloc, static": "g++ -static -ltcmalloc_minimal",
    "tcmalloc, static-pie": "g++ -static-pie -ltcmalloc_minimal",
    "tcmalloc in a dynamic program": "g++ -Wl,-Bstatic -ltcmalloc_minimal -Wl,-Bdynamic",
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_the_whole_family_is_replaced(way: str, tmp_path: Path) -> None:
    compiler, *flags = way.split()
    program = tmp_path / "program"
    try:
        build = [
            compiler,
            "-g",
            "-fno-builtin",
            "-w",
            "-xc",
            str(SOURCE),
            "-xnone",
            "-o",
            str(program),
            *flags,
        ]
        subprocess.run(build, check=True, capture_output=True, timeout=TIMEOUT)
    except (FileNotFoundError, subprocess.CalledProcessError) as error:
        pytest.skip(f"cannot be linked here: {error}")
    native = subprocess.run([program], check=True, capture_output=True, text=True, timeout=TIMEOUT)
    ours = subprocess.run(
        [sys.executable, "-m", "interpose", "--tool=memcheck", "--leak-check=no", str(program), "read freed"],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        env={"PYTHONPATH": PACKAGE, "PATH": "/usr/bin:/bin"},
    )
    assert ours.returncode == 0, ours.stderr
    assert ours.stdout == native.stdout
    # Only a replaced allocator can tell that a block was freed.
    blocks = int(native.stdout.split()[0])
    assert ours.stderr.count("Invalid read of size 1") == blocks, ours.stderr
    assert f"ERROR SUMMARY: {blocks} errors from {blocks} contexts" in ours.stderr


TOO_MUCH = r"""
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#define TRY(call) (errno = 0, p = (call), printf("%s %d %d\n", #call, p == NULL, errno))
int main(void) {
    void *p;
    volatile size_t much = -1;
    TRY(malloc(much));
    TRY(calloc(much, 2));
    TRY(calloc(much, 1));
    TRY(realloc(NULL, much));
    TRY(realloc(malloc(1), much));
    TRY(reallocarray(NULL, much, 2));
    TRY(memalign(64, much));
    TRY(memalign(much, 64));
    TRY(memalign(~(much >> 1), 64));
    TRY(aligned_alloc(64, much - 63));
    TRY(valloc(much));
    TRY(pvalloc(much));
    TRY(pvalloc(much - 4095));
    TRY(pvalloc(much - 4096));
    printf("%d\n", posix_memalign(&p, 64, much));
}
"""


def test_more_than_there_can_be(tmp_path: Path) -> None:
    """No block, and the C library's error, as natively."""
    (tmp_path / "much.c").write_text(TOO_MUCH)
    subprocess.run(["gcc", "-w", "-fno-builtin", "much.c", "-o", "much"], cwd=tmp_path, check=True)
    ours = [sys.executable, "-m", "interpose", "-q", "--tool=memcheck", "--log-file=/dev/null", "./much"]
    native, under = (
        subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=TIMEOUT
        ).stdout
        for command in (["./much"], ours)
    )
    assert under == native
    assert native.count(" 1 12\n") == 13
    assert native.count(" 1 22\n") == 1


PAGES = r"""
#include <stdlib.h>
static _Alignas(4096) char pages[1 << 16], *next = pages;
void *pvalloc(size_t n) { char *p = next; next += (n + 4095) & -4096; return p; }
void *valloc(size_t n) { return pvalloc(n); }
int main(void) {
    free(valloc(10));
    free(pvalloc(10));
    return 0;
}
"""


def test_pages_of_an_allocator_of_the_programs(tmp_path: Path) -> None:
    """tcmalloc has pvalloc, too; its blocks would be unknown to a replaced free."""
    (tmp_path / "pages.c").write_text(PAGES)
    subprocess.run(["gcc", "-w", "-fno-builtin", "pages.c", "-o", "pages"], cwd=tmp_path, check=True)
    ours = subprocess.run(
        [sys.executable, "-m", "interpose", "--tool=memcheck", "./pages"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=TIMEOUT,
    )
    assert "total heap usage: 2 allocs, 2 frees, 4,106 bytes" in ours.stderr
    assert "ERROR SUMMARY: 0 errors" in ours.stderr


@pytest.mark.parametrize("flags", (["-rdynamic"], []), ids=("exported", "symbol table"))
def test_operators_that_are_one_function_with_their_array_form(tmp_path: Path, flags: list[str]) -> None:
    """mimalloc's: which form is meant cannot be known, but new and delete are taken for the same."""
    program = tmp_path / "program"
    build = ["g++", "-std=c++17", "-g", "-O0", "-w", "-o", str(program), str(OPERATORS), *flags]
    subprocess.run(build, check=True, capture_output=True, timeout=TIMEOUT)
    ours = subprocess.run(
        [sys.executable, "-m", "interpose", "--tool=memcheck", "--leak-check=no", str(program)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        env={"PYTHONPATH": PACKAGE, "PATH": "/usr/bin:/bin"},
    )
    assert ours.returncode == 0, ours.stderr
    assert "Mismatched" not in ours.stderr, ours.stderr
    # Only a replaced allocator can tell that a block was freed.
    assert ours.stderr.count("Invalid read of size 1") == 1, ours.stderr
    assert "ERROR SUMMARY: 1 errors from 1 contexts" in ours.stderr
