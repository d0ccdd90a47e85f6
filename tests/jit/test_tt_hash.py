"""The translation table finds a block in few steps, however dense blocks are."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = """\
#include <stdio.h>
#include <stdlib.h>
#include "abi/inline/tt_hash.h"

static uint64_t table[IP_META_TTSIZE];

int main(int argc, char **argv) {
    uint64_t step = strtoull(argv[1], 0, 0), count = strtoull(argv[2], 0, 0), base = strtoull(argv[3], 0, 0);
    uint64_t all = 0, most = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t key = base + i * step;
        uint32_t n = 0;
        while (table[ip_tt_place(key, n)]) n++;
        table[ip_tt_place(key, n)] = key;
        all += n;
        most = n > most ? n : most;
    }
    for (uint64_t i = 0; i < count; i++) {
        uint64_t key = base + i * step;
        uint32_t n = 0;
        while (table[ip_tt_place(key, n)] != key)
            if (!table[ip_tt_place(key, n++)]) return 1; /* a search ends at an empty place */
    }
    printf("%llu %llu\\n", (unsigned long long)(all / count), (unsigned long long)most);
    return argc != 4;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("table")
    (folder / "table.c").write_text(SOURCE)
    command = ["gcc", "-O1", f"-I{ROOT / 'interpose'}", "table.c", "-o", "table"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "table"


def steps(program: Path, *words: int) -> tuple[int, int]:
    """Steps of a search: in the mean, and at the most."""
    out = subprocess.run([str(program), *map(str, words)], check=True, capture_output=True, text=True).stdout
    mean, most = map(int, out.split())
    return mean, most


@pytest.mark.parametrize("base", [0x401000, 0x10000000, 0x7F1234567000])
@pytest.mark.parametrize(("step", "count"), [(2, 200_000), (5, 200_000), (7, 250_000), (15, 300_000)])
def test_dense(program: Path, base: int, step: int, count: int) -> None:
    mean, most = steps(program, step, count, base)
    assert mean <= 10 and most < 200


@pytest.mark.parametrize("base", [0x401000, 0x7F1234567000])
@pytest.mark.parametrize("step", [16, 24, 48])
def test_ordinary(program: Path, base: int, step: int) -> None:
    assert steps(program, step, 100_000, base) == (0, 0)
