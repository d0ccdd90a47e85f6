"""Code that changes, in every way that programs have for it: output and end as native, under each tool.

``INTERPOSE_REWRITES=1000000`` makes the longest of them longer.
"""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

GUESTS = Path(__file__).resolve().parents[1] / "guests" / "code"
NAMES = sorted(path.stem for path in GUESTS.glob("*.c"))
REWRITES = os.environ.get("INTERPOSE_REWRITES", "10000")
TOOLS = ["none", "memcheck"]
MODES = {
    "none": ["--tool=none"],
    "memcheck": ["--tool=memcheck"],
    "tracking": ["--tool=memcheck", "--force-tracking=yes"],
    "single": ["--tool=none", "--single-step=yes", "--chaining=no"],
    "evict": ["--tool=none", "--evict=20"],
    "compare-all": ["--tool=memcheck", "--smc-check=all"],
    "callgrind": ["--tool=callgrind", "--callgrind-out-file=/dev/null"],
}
ONCE = {"flips", "many_at_once", "rewritten", "reloaded", "threads_patch"}
"""Those that take long: both tools, no other modes."""
CASES = [(n, mode) for n in NAMES for mode in MODES if n != "calm" and (mode in TOOLS or n not in ONCE)]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Programs by name."""
    folder = tmp_path_factory.mktemp("code")
    programs = {}
    for name in NAMES:
        source = GUESTS / f"{name}.c"
        flags = re.search(r"(?m)^// flags: (.*)", source.read_text())
        programs[name] = str(folder / name)
        words = ["gcc", "-O1", "-g", "-w", "-o", programs[name], str(source)]
        subprocess.run([*words, *(flags[1].split() if flags else [])], check=True)
    return programs


def ours(*words: str) -> list[str]:
    return [sys.executable, "-m", "interpose", "-q", *words]


def run(words: list[str]) -> tuple[int, str, str]:
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(("name", "mode"), CASES)
def test_as_native(built: dict[str, str], name: str, mode: str) -> None:
    words = [built[name], REWRITES] if name == "rewritten" else [built[name]]
    native = run(words)
    assert native[0] == 0, f"the guest itself fails: {native}"
    got = run([*ours(*MODES[mode]), *words])
    assert got[:2] == native[:2], got[2]
    assert "interpose:" not in got[2]


def compared(*words: str) -> int:
    done = run([*ours("-v", "--stats=yes", "--tool=none"), *words])
    return int(re.search(r"([\d,]+) compared", done[2])[1].replace(",", ""))  # type: ignore[index]


def test_ordinary_code_is_not_compared(built: dict[str, str]) -> None:
    """Private mappings of files that nobody here can write to stay as fast as they are."""
    assert compared("/bin/ls", "/") == 0
    assert compared("/bin/sh", "-c", "echo text > /dev/null; echo $((1+1))") == 0
    assert compared(built["vfork_traced"]) == 0
    assert compared(built["views"]) > 0


def test_old_translations_do_not_pile_up(built: dict[str, str]) -> None:
    """Most blocks are gone: the tables are flushed long before they are full."""
    done = run([*ours("-v", "--stats=yes", "--tool=none"), built["rewritten"], REWRITES])
    assert int(re.search(r"(\d+) whole flushes", done[2])[1]) >= int(REWRITES) // 10_000  # type: ignore[index]


def test_memory_of_rewritten_code_is_bounded(built: dict[str, str]) -> None:
    """What was translated for code that is gone does not pile up: a small cache is flushed many times."""
    # The peak of a process counts what started it: not this one, which is large.
    script = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True);"
        " print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    words = [*ours("--tool=none", "--tiny-cache=yes"), built["rewritten"], REWRITES]
    status, output, errors = run([sys.executable, "-c", script, *words])
    assert status == 0, errors
    *out, peak = output.split()
    times = int(REWRITES)
    assert [int(each) for each in out] == [times * (times - 1) // 2, times * (times + 1) // 2]
    assert int(peak) < 100_000


class Dialogue:
    """The program that is asked for one number at a time."""

    def __init__(self, tool: str, program: str) -> None:
        self.process = subprocess.Popen(
            [*ours(f"--tool={tool}"), program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self.process.stdout is not None
        self.page, self.sum = self.process.stdout.readline().split()

    def ask(self, value: int) -> int:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(struct.pack("i", value))
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def rights(self) -> str:
        """Of the page, as the kernel has them."""
        for line in Path(f"/proc/{self.process.pid}/maps").read_text().splitlines():
            lo, hi = (int(word, 16) for word in line.split()[0].split("-"))
            if lo <= int(self.page, 16) < hi:
                return line.split()[1]
        return ""

    def end(self) -> int:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait(30)


@pytest.mark.parametrize("tool", TOOLS)
def test_compared_pages_are_watched_again(built: dict[str, str], tool: str) -> None:
    """A page that was rewritten often is writable; left alone for a while it is protected again."""
    talk = Dialogue(tool, built["calm"])
    assert int(talk.sum) == 19900
    assert talk.rights().startswith("rw")
    end = time.monotonic() + 60
    while not talk.rights().startswith("r-") and time.monotonic() < end:
        time.sleep(0.1)
        assert talk.ask(0) == 199
    assert talk.rights().startswith("r-")
    for value in range(5, 10):
        assert talk.ask(value) == value
    assert talk.end() == 0
