"""The loader: programs of every kind start right, damaged files end in one line."""

from __future__ import annotations

import random
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

SHOW = r"""
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
int data = 7, zero[5000];
extern char **environ;
int main(int argc, char **argv) {
    for (int i = 0; i < argc; i++) printf("arg %s\n", argv[i]);
    for (char **e = environ; *e; e++) printf("env %s\n", *e);
    int sum = 0;
    for (int i = 0; i < 5000; i++) sum += zero[i];
    printf("data %d %d\n", data, sum);
    printf("execfn %s\n", (char *)getauxval(AT_EXECFN));
    printf("platform %s\n", (char *)getauxval(AT_PLATFORM));
    printf("vdso %lx\n", getauxval(AT_SYSINFO_EHDR));
    printf("aligned %d\n", ((unsigned long)(argv - 1) & 15) == 0);
    unsigned long here = (unsigned long)&argc, random = getauxval(AT_RANDOM);
    printf("below limit %d %d\n", here < 0x7ff000000000, random < 0x7ff000000000);
    const ElfW(Phdr) *ph = (void *)getauxval(AT_PHDR);
    int loads = 0;
    for (unsigned i = 0; i < getauxval(AT_PHNUM); i++) loads += ph[i].p_type == PT_LOAD;
    printf("loads %d\n", loads > 0);
    return 3;
}
"""


@pytest.mark.parametrize("flags", [[], ["-static"], ["-static-pie"], ["-no-pie"]], ids=" ".join)
def test_program_sees_its_own_stack(
    harness: Callable[[str], Path], compile_guest: Callable[..., Path], flags: list[str]
) -> None:
    guest = compile_guest("show" + "".join(flags), SHOW, *flags)
    env = {"A": "1", "EMPTY": "", "LONG": "x" * 5000}
    command = [harness("loader/load_native"), guest, "one", "", "three"]
    run = subprocess.run(command, capture_output=True, text=True, env=env, timeout=20)
    lines = run.stdout.splitlines()
    assert run.returncode == 3, run.stderr
    arguments = [line for line in lines if line.startswith("arg ")]
    assert arguments == [f"arg {guest}", "arg one", "arg ", "arg three"]
    assert [line for line in lines if line.startswith("env ")] == [f"env {k}={v}" for k, v in env.items()]
    assert "data 7 0" in lines
    assert f"execfn {guest}" in lines
    assert "platform x86_64" in lines
    assert "vdso 0" not in lines
    assert "below limit 1 1" in lines and "loads 1" in lines and "aligned 1" in lines


def run_and_listen(command: list[Path], folder: Path) -> tuple[subprocess.CompletedProcess[str], str]:
    """Run with descriptor 3 in a file; the run, and what the supervisor would have been told."""
    told = folder / "told"
    shell = ["sh", "-c", 'exec 3>"$0"; exec "$@"', told, *command]
    run = subprocess.run(shell, capture_output=True, text=True, timeout=20)
    return run, told.read_text()


def test_code_is_announced_with_its_file(
    harness: Callable[[str], Path], compile_guest: Callable[..., Path], tmp_path: Path
) -> None:
    guest = compile_guest("announced", "int main(void) { return 0; }")
    run, told = run_and_listen([harness("loader/load_native"), guest], tmp_path)
    assert run.returncode == 0
    lines = told.splitlines()
    mapped = [line.split() for line in lines if line.startswith("mapped")]
    assert Path(mapped[0][5]) == guest.resolve()
    assert Path(mapped[1][5]) == Path("/lib64/ld-linux-x86-64.so.2").resolve()
    for m in mapped:
        assert 0x10000000 <= int(m[1], 16) < 0x5D000000
        assert int(m[3], 16) > 0  # file offset: text does not begin the file
        assert int(m[4]) == 5
    assert lines[-1].startswith("loaded entry ")


def expect_refusal(harness: Callable[[str], Path], path: Path | str, words: str) -> None:
    run = subprocess.run([harness("loader/load_native"), path], capture_output=True, text=True, timeout=20)
    assert run.returncode == 1
    assert run.stderr.count("\n") == 1
    assert run.stderr.startswith("interpose: ") and words in run.stderr, run.stderr


@pytest.fixture(scope="session")
def static_bytes(compile_guest: Callable[..., Path]) -> bytes:
    return compile_guest("tiny", "int main(void) { return 0; }", "-static").read_bytes()


def first_load(image: bytes) -> int:
    """Offset of the first PT_LOAD header."""
    phoff, (phentsize, phnum) = struct.unpack_from("<Q", image, 32)[0], struct.unpack_from("<HH", image, 54)
    for i in range(phnum):
        if struct.unpack_from("<I", image, phoff + i * phentsize)[0] == 1:
            return phoff + i * phentsize
    raise AssertionError("no PT_LOAD")


@pytest.mark.parametrize(
    ("offset", "layout", "value", "words"),
    [
        (4, "B", 1, "32-bit"),
        (5, "B", 2, "little-endian"),
        (16, "<H", 1, "ELF type 1"),
        (18, "<H", 183, "machine 183"),
        (54, "<H", 32, "program headers of 32 bytes"),
        (56, "<H", 0, "0 program headers"),
        (56, "<H", 60000, "60000 program headers"),
        (32, "<Q", 1 << 62, "truncated"),
    ],
)
def test_bad_headers_are_named(
    harness: Callable[[str], Path], static_bytes: bytes, tmp_path: Path, offset: int, layout: str, value: int,
    words: str,
) -> None:  # fmt: skip
    image = bytearray(static_bytes)
    struct.pack_into(layout, image, offset, value)
    bad = tmp_path / "bad"
    bad.write_bytes(image)
    expect_refusal(harness, bad, words)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        (8, 0xFFFFFFFFFFFFF000, "beyond the end of any file"),  # p_offset
        (16, 0xFFFFFFFFFFFFF000, "outside the address space"),  # p_vaddr
        (16, 0x7000_0000, "out of order"),
        (16, 0x400008, "differ within a page"),
        (32, 1 << 50, "larger in the file"),  # p_filesz
        (40, 1 << 63, "outside the address space"),  # p_memsz
        (40, 0x10000000, "overlaps"),
    ],
)
def test_bad_segments_are_named(
    harness: Callable[[str], Path], static_bytes: bytes, tmp_path: Path, field: int, value: int, words: str
) -> None:
    image = bytearray(static_bytes)
    struct.pack_into("<Q", image, first_load(image) + field, value)
    bad = tmp_path / "bad"
    bad.write_bytes(image)
    expect_refusal(harness, bad, words)


def test_other_refusals(harness: Callable[[str], Path], static_bytes: bytes, tmp_path: Path) -> None:
    (tmp_path / "short").write_bytes(static_bytes[:3])
    (tmp_path / "cut").write_bytes(static_bytes[:5000])
    (tmp_path / "text").write_text("#!/bin/sh\n")
    expect_refusal(harness, tmp_path / "none", "no such file or directory")
    expect_refusal(harness, tmp_path, "not a regular file")
    expect_refusal(harness, tmp_path / "short", "not an ELF file")
    expect_refusal(harness, tmp_path / "cut", "truncated")
    expect_refusal(harness, tmp_path / "text", "not an ELF file")


def test_taken_fixed_addresses_are_refused(
    harness: Callable[[str], Path], compile_guest: Callable[..., Path]
) -> None:
    guest = compile_guest(
        "fixed", "int main(void) { return 0; }", "-static", "-no-pie", "-Wl,-Ttext-segment=0x7dc00000"
    )
    expect_refusal(harness, guest, "are taken")


def test_damaged_headers_never_crash_the_loader(
    harness: Callable[[str], Path], static_bytes: bytes, tmp_path: Path
) -> None:
    """A random header ends in one line, or loads; the loader itself never dies of a signal."""
    chooser = random.Random(5)
    headers = 64 + 56 * struct.unpack_from("<H", static_bytes, 56)[0]
    refused = 0
    bad = tmp_path / "bad"
    for _ in range(120):
        image = bytearray(static_bytes)
        for _ in range(chooser.choice([1, 2, 8])):
            byte = chooser.choice([0, 1, 0x7F, 0x80, 0xFF, chooser.randrange(256)])
            image[chooser.randrange(4, headers)] = byte
        bad.write_bytes(image)
        run, told = run_and_listen([harness("loader/load_native"), bad], tmp_path)
        if "loaded entry" in told:
            continue  # from there on it is the damaged program that runs
        refused += 1
        assert run.returncode == 1, image[:headers].hex()
        assert run.stderr.startswith("interpose: ") and run.stderr.count("\n") == 1
    assert refused > 10
