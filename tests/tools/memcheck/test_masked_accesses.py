"""Accesses of AVX-512 under a mask, which Valgrind does not know: an instruction is one error."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = r"""
#include <stdlib.h>
#include <string.h>
#define STORE(p, mask, how) \
    __asm__ volatile("kmovq %1, %%k1; " how " %%zmm0, %0 %{%%k1%}" \
                     : "=m"(*(char(*)[64])(p)) : "r"(mask) : "k1")
#define LOAD(p, mask, how) \
    __asm__ volatile("kmovq %1, %%k1; " how " %0, %%zmm1 %{%%k1%}%{z%}" \
                     : : "m"(*(char(*)[64])(p)), "r"(mask) : "k1", "xmm1")
int main(void) {
    char *p = calloc(1, 40);
    unsigned long all = -1ul;
    __asm__ volatile("vpxorq %%zmm0, %%zmm0, %%zmm0" : : : "xmm0");
    STORE(p, 0xfffffffffful, "vmovdqu8");
    LOAD(p, 0xfffffffffful, "vmovdqu8");
    STORE(p, all, "vmovdqu8");                /* 24 at 40 */
    STORE(p, 0xf05fffffffffful, "vmovdqu8");  /* 12 at 40 */
    STORE(p, all, "vmovdqu32");               /* 24 at 40 */
    STORE(p - 8, 0xff1ul, "vmovdqu16");       /* 2 at -8 */
    LOAD(p, all, "vmovdqu8");                 /* 24 at 40 */
    LOAD(p, 0x5000ul, "vmovdqu32");           /* 12 at 48 */
    LOAD(p - 8, all, "vmovdqu64");            /* 64 at -8 */
    return 0;
}
"""


@pytest.mark.skipif(" avx512bw" not in Path("/proc/cpuinfo").read_text(), reason="the CPU has no AVX-512")
@pytest.mark.parametrize("options", [(), ("--force-tracking=yes",), ("--undef-value-errors=no",)])
def test_an_instruction_is_one_error(tmp_path: Path, options: tuple[str, ...]) -> None:
    (tmp_path / "masked.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O1", "-mavx512bw", "-o", "masked", "masked.c"], check=True, cwd=tmp_path)
    command = [sys.executable, "-m", "interpose", "--tool=memcheck", *options, "./masked"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    found = re.findall(
        r"Invalid (\w+) of size (\d+)\n.*main \(masked\.c:(\d+)\)\n.* is (\d+) bytes (before|after) ",
        done.stderr,
    )
    wanted = [
        ("read" if "LOAD" in line else "write", size, str(number), int(at))
        for number, line in enumerate(SOURCE.splitlines(), 1)
        for size, at in re.findall(r"/\* (\d+) at (-?\d+) \*/", line)
    ]
    places = [(*error[:3], -int(far) if side == "before" else 40 + int(far)) for *error, far, side in found]
    assert places == wanted
    assert f"ERROR SUMMARY: {len(wanted)} errors from {len(wanted)} contexts" in done.stderr


ORIGINS = r"""
#include <stdlib.h>
static volatile int set;
static int out[16];
static void *make(void) { return malloc(64); }
#define STALE "vmovdqu32 %[stale], %%zmm0; vpaddd %%zmm0, %%zmm0, %%zmm0; kxnorw %%k1, %%k1, %%k1; "
#define RUN(code)                                                                                        \
    __asm__ volatile(STALE code "; vmovdqu32 %%zmm0, %[out]"                                             \
                     : [out] "=m"(out)                                                                   \
                     : [stale] "m"(*(char(*)[64])stale), [data] "m"(*(char(*)[64])data), [p] "r"(data),  \
                       [q] "r"(out), [at] "v"(at)                                                        \
                     : "xmm0", "xmm1", "k1", "memory");                                                  \
    if (out[3] == 77) set++
typedef int vector __attribute__((vector_size(64)));
int main(void) {
    vector at = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    int *data = make();
    int *stale = make();
    RUN("vpermd %[data], %[at], %%zmm0%{%%k1%}");
    RUN("vpaddd %[data], %[at], %%zmm0%{%%k1%}");
    RUN("vpgatherdd (%[p], %[at], 4), %%zmm0%{%%k1%}");
    RUN("vmovdqu32 %[data], %%zmm1; vpscatterdd %%zmm1, (%[q], %[at], 4)%{%%k1%}; vmovdqu32 %[out], %%zmm0");
    return 0;
}
"""


@pytest.mark.skipif(" avx512bw" not in Path("/proc/cpuinfo").read_text(), reason="the CPU has no AVX-512")
def test_what_a_mask_overwrites_is_no_origin(tmp_path: Path) -> None:
    (tmp_path / "origins.c").write_text(ORIGINS)
    subprocess.run(["gcc", "-g", "-O1", "-mavx512bw", "-o", "origins", "origins.c"], check=True, cwd=tmp_path)
    command = [sys.executable, "-m", "interpose", "--tool=memcheck", "--track-origins=yes", "./origins"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    found = re.findall(r"main \(origins\.c:(\d+)\)", done.stderr)
    lines = {number: line for number, line in enumerate(ORIGINS.splitlines(), 1) if line.startswith("    ")}
    made = next(str(number) for number, line in lines.items() if "data = make" in line)
    runs = [str(number) for number, line in lines.items() if line.startswith("    RUN(")]
    assert found == [place for run in runs for place in (run, made)]
