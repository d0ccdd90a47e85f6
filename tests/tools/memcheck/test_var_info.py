"""--read-var-info=yes: variables by name and declaration, as the comments of tests/guests/varinfo say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "tests" / "guests" / "varinfo"
TIMEOUT = 120
_HEAD = re.compile(r"Location 0x[0-9a-f]+ is (\d+ bytes? inside .*)")
_LOOK = re.compile(r"LOOK\(.*\); *// (.*?)(?: \((valgrind): .*\))?$")


def needs(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


def compiled(folder: Path, source: str, *command: str) -> Path:
    """The program of a source file, made by a compiler and its arguments."""
    needs(command[0])
    program = folder / Path(source).stem
    line = [*command, "-w", f"-I{ROOT / 'include'}", "-o", str(program), str(SOURCES / source)]
    subprocess.run(line, check=True, timeout=TIMEOUT, cwd=folder)
    return program


def interpose(*options: str) -> list[str]:
    return [sys.executable, "-m", "interpose", "--tool=memcheck", "--read-var-info=yes", *options]


def whole_report(command: list[str], program: Path, **more: str) -> str:
    environment = {**os.environ, **more}
    done = subprocess.run(
        [*command, str(program)], capture_output=True, text=True, timeout=TIMEOUT, env=environment
    )
    return re.sub(r"^==\d+== ?", "", done.stderr, flags=re.MULTILINE)


def report(command: list[str], program: Path, **more: str) -> str:
    """The same, files without directories, which clang's have by where the checkout is."""
    text = whole_report(command, program, **more)
    return re.sub(r"(\(|declared at )[^()\s]*/([\w.]+:\d+)", r"\1\2", text)


def looks(text: str, file: str) -> list[tuple[int, str]]:
    """(line, description) of each byte that was looked at: `1 byte inside v.x @9 #1`, empty without one."""
    found = []
    for block in text.split("\n\n" if "\n\n" in text else "\n \n"):
        where = re.search(rf"   by 0x[0-9A-F]+: .*\({re.escape(file)}:(\d+)\)", block)
        if "Uninitialised byte(s) found" not in block or where is None:
            continue
        told = ""
        if head := _HEAD.search(block):
            told = head[1].removeprefix("0 bytes inside ").removesuffix(",")
            rest = block[head.end() :].split("\n   ")[0]
            if declared := re.search(rf"declared at {re.escape(file)}:(\d+)", rest):
                told += f" @{declared[1]}"
                is_global_part = '"' not in told and ", in frame" not in rest
                assert ("a global variable declared" in rest) == is_global_part, block
            if frame := re.search(r"in frame #(\d+) of thread \d+", rest):
                told += f" #{frame[1]}"
        found.append((int(where[1]), told))
    return found


def wanted(source: str) -> dict[int, tuple[str, bool]]:
    """Line → (description, whether Valgrind gives it)."""
    found = {}
    for number, line in enumerate((SOURCES / source).read_text().splitlines(), 1):
        if match := _LOOK.search(line):
            found[number] = match[1].replace(" (valgrind)", ""), match[2] is None
    return found


def check(text: str, source: str, *, valgrind: bool = False, missing: set[int] = frozenset()) -> None:
    """Every look, in each run of its line, got its description; `missing` lines are not compiled in."""
    want, seen = wanted(source), set()
    assert want
    for line, told in looks(text, source):
        expected, is_valgrinds = want[line]
        seen.add(line)
        if valgrind and not is_valgrinds:
            continue
        if expected == "-":
            assert told == "", line
        elif expected.startswith("~"):
            assert re.search(expected[1:], told), (line, told)
        else:
            assert told == expected, line
    assert seen | missing == set(want), text


def only_gcc(source: str) -> set[int]:
    """Lines between `#ifndef __clang__` and `#endif`."""
    lines, inside = set(), False
    for number, line in enumerate((SOURCES / source).read_text().splitlines(), 1):
        if line.startswith("#ifndef __clang__") or line.startswith("#endif"):
            inside = line.startswith("#ifndef")
        elif inside and "LOOK(" in line:
            lines.add(number)
    return lines


@pytest.mark.parametrize(
    "flags",
    [
        "-gdwarf-2 -gstrict-dwarf",
        "-gdwarf-3",
        "-gdwarf-4",
        "-gdwarf-5",
        "-gdwarf-5 -no-pie -gz",
        "-gdwarf64 -gdwarf-4",
        "-gdwarf64 -gdwarf-5",
    ],
)
def test_c_by_gcc(tmp_path: Path, flags: str) -> None:
    check(report(interpose(), compiled(tmp_path, "plain.c", "gcc", "-O0", *flags.split())), "plain.c")


@pytest.mark.parametrize("flags", ["-gdwarf-2", "-gdwarf-4", "-gdwarf-5", "-gdwarf-5 -gz"])
def test_c_by_clang(tmp_path: Path, flags: str) -> None:
    program = compiled(tmp_path, "plain.c", "clang", "-O0", *flags.split())
    check(report(interpose(), program), "plain.c", missing=only_gcc("plain.c"))


@pytest.mark.parametrize(
    "command",
    ["g++ -gdwarf-4", "g++ -gdwarf-5", "g++ -gdwarf-4 -fdebug-types-section", "g++ -g -fdebug-types-section",
     "clang++ -gdwarf-4", "clang++ -gdwarf-5"],
)  # fmt: skip
def test_cpp(tmp_path: Path, command: str) -> None:
    program = compiled(tmp_path, "classes.cc", *command.split(), "-std=c++17", "-O0")
    check(report(interpose(), program), "classes.cc")


@pytest.mark.parametrize(
    "flags",
    ["-gdwarf-5 -O0", "-gdwarf-4 -O1", "-gdwarf-4 -O2", "-gdwarf-5 -O2", "-gdwarf-5 -O3",
     "-gdwarf-5 -Og -fno-omit-frame-pointer", "-gdwarf-4 -O2 -flto"],
)  # fmt: skip
def test_optimised_c(tmp_path: Path, flags: str) -> None:
    program = compiled(tmp_path, "optimised.c", "gcc", *flags.split())
    check(report(interpose(), program), "optimised.c")


FORTRAN = """
program p
  integer :: a(2,3), i
  common /blk/ c(4)
  integer :: c
  a = 0
  call look(a(2,3))
  call look(c(3))
  call look(i)
end program
"""


def test_fortran(tmp_path: Path) -> None:
    """Arrays are written as there; variables in common blocks are global, as Valgrind has them."""
    needs("gfortran")
    (tmp_path / "p.f90").write_text(FORTRAN)
    (tmp_path / "look.c").write_text('#include "look.h"\nvoid look_(void *p) { LOOK(p); }\n')
    command = ["gfortran", "-g", f"-I{SOURCES}", f"-I{ROOT / 'include'}", "-o", "p", "p.f90", "look.c"]
    subprocess.run(command, check=True, cwd=tmp_path, timeout=TIMEOUT)
    text = report(interpose(), tmp_path / "p")
    assert re.findall(r"inside (.*)\n (.*)", text) == [
        ("a(2,3),", "declared at p.f90:3, in frame #2 of thread 1"),
        ("c(3),", "a global variable declared at p.f90:4"),
        ('local var "i"', "declared at p.f90:3, in frame #2 of thread 1"),
    ]


LIBRARY = """
#include "look.h"
struct s { int a[4]; short b; } of_library[3];
static int hidden;
void look(int x, void *of_caller) {
    char local[9];
    LOOK(&of_library[1].b);
    LOOK(&hidden);
    LOOK(&local[x]);
    LOOK(of_caller);
}
"""
LOADER = """
#include <dlfcn.h>
int main(void) {
    double of_main[4];
    void *library = dlopen("./library.so", RTLD_NOW);
    void (*look)(int, void *) = (void (*)(int, void *))dlsym(library, "look");
    look(3, &of_main[2]);
    return 0;
}
"""


def test_a_library_loaded_later(tmp_path: Path) -> None:
    (tmp_path / "library.c").write_text(LIBRARY)
    (tmp_path / "main.c").write_text(LOADER)
    flags = ["gcc", "-g", "-w", f"-I{SOURCES}", f"-I{ROOT / 'include'}"]
    for more in (["-shared", "-fPIC", "-o", "library.so", "library.c"], ["-o", "main", "main.c"]):
        subprocess.run([*flags, *more], check=True, cwd=tmp_path, timeout=TIMEOUT)
    done = subprocess.run(
        [*interpose(), "./main"], cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT
    )
    assert re.findall(r"inside (.*)\n==\d+==  (.*)", done.stderr) == [
        ("of_library[1].b,", "a global variable declared at library.c:3"),
        ('global var "hidden"', "declared at library.c:4"),
        ("local[3],", "declared at library.c:6, in frame #1 of thread 1"),
        ("of_main[2],", "declared at main.c:4, in frame #2 of thread 1"),
    ]


MONITOR = r"""
#include <stdio.h>
#include <valgrind/valgrind.h>
int numbers[10];
int main(void) {
    int local = 3;
    char command[64];
    sprintf(command, "v.info location %p", (void *)&numbers[4]);
    VALGRIND_MONITOR_COMMAND(command);
    sprintf(command, "v.info location %p", (void *)&local);
    VALGRIND_MONITOR_COMMAND(command);
    return 0;
}
"""


@pytest.mark.parametrize("whose", ["ours", "valgrind"])
def test_the_monitor_describes_locations(tmp_path: Path, whose: str) -> None:
    (tmp_path / "asks.c").write_text(MONITOR)
    command = ["gcc", "-gdwarf-4", f"-I{ROOT / 'include'}", "-o", "asks", "asks.c"]
    subprocess.run(command, check=True, cwd=tmp_path, timeout=TIMEOUT)
    if whose == "valgrind":
        needs("valgrind")
    tool = interpose() if whose == "ours" else ["valgrind", "--read-var-info=yes"]
    text = report(tool, tmp_path / "asks")
    part = r"is 0 bytes inside numbers\[4\],\n a global variable declared at asks\.c:4\n"
    if whose == "valgrind":  # 3.27 describes no global, as of gcc 16
        part += r"|is 16 bytes inside data symbol \"numbers\"\n"
    assert re.search(part, text), text
    assert re.search(r'inside local var "local"\n declared at asks\.c:6, in frame #0 of thread 1\n', text)


@pytest.mark.parametrize("source", ["plain.c", "classes.cc", "optimised.c"])
def test_valgrind_says_the_same(tmp_path: Path, source: str) -> None:
    """What the comments say of Valgrind: theirs is the text that ours has to be."""
    needs("valgrind")
    compiler = ["g++", "-std=c++17"] if source.endswith("cc") else ["gcc"]
    program = compiled(tmp_path, source, *compiler, "-gdwarf-4", "-O0")
    check(report(["valgrind", "--read-var-info=yes"], program), source, valgrind=True)
