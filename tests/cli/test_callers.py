"""Programs that start Valgrind themselves and read what it says, with a link of that name to the command."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from .launcher import place, script

MODULE = Path("/usr/share/perl5/Test/Valgrind.pm")
LISTS = """
cmake_minimum_required(VERSION 3.10)
project(checked C)
set(CMAKE_C_FLAGS "-g -O0 -w")
include(CTest)
foreach(name leaky bad fine)
  add_executable(${name} ${name}.c)
  add_test(NAME ${name} COMMAND ${name})
endforeach()
"""
SOURCES = {
    "leaky": "#include <stdlib.h>\nint main(void) { volatile char *p = malloc(10); p = 0; return p != 0; }\n",
    "bad": "#include <stdlib.h>\n"
    "int main(void) {\n  int *p = malloc(10);\n  if (*p) abort();\n  p[3] = 1;\n  free(p);\n  free(p);\n}\n",
    "fine": "int main(void) { return 0; }\n",
}


@pytest.fixture
def valgrind(tmp_path: Path) -> Path:
    """The link."""
    link = tmp_path / "links" / "valgrind"
    link.parent.mkdir()
    link.symlink_to(place(tmp_path, script()))
    return link


@pytest.mark.skipif(not shutil.which("ctest"), reason="cmake is not installed")
def test_ctest(valgrind: Path, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(LISTS)
    for name, text in SOURCES.items():
        (tmp_path / f"{name}.c").write_text(text)
    build = tmp_path / "build"
    build.mkdir()
    # What the tests say to Python's programs is none of cmake's business.
    words = ["cmake", f"-DMEMORYCHECK_COMMAND={valgrind}", ".."]
    subprocess.run(words, cwd=build, check=True, capture_output=True, timeout=120)
    subprocess.run(["cmake", "--build", "."], cwd=build, check=True, capture_output=True, timeout=120)
    shown = subprocess.run(
        ["ctest", "-T", "memcheck"], cwd=build, check=True, capture_output=True, text=True, timeout=300
    ).stdout
    found = shown.partition("Memory checking results:\n")[2].splitlines()
    assert [line for line in found if line] == [
        "FIM - 1",
        "IPW - 1",
        "Memory Leak - 1",
        "Uninitialized Memory Conditional - 1",
    ], shown


@pytest.mark.skipif(
    not os.path.exists("/usr/share/perl5/Test/Valgrind.pm"), reason="Test::Valgrind is missing"
)
def test_perls_test_valgrind(valgrind: Path, tmp_path: Path) -> None:
    """It asks for the version, has suppressions made, and reads XML from a descriptor of its own."""
    test = tmp_path / "t.t"
    test.write_text("use Test::More; use Test::Valgrind diag => 1; ok(1);\n")
    environ = {**os.environ, "PATH": f"{valgrind.parent}:/usr/bin:/bin", "HOME": str(tmp_path)}
    shown = subprocess.run(
        ["/usr/bin/perl", str(test)], env=environ, capture_output=True, text=True, timeout=300, cwd=tmp_path
    )
    assert shown.returncode == 0, shown
    lines = shown.stdout.splitlines()
    assert "1..15" in lines and "ok 8 - UninitCondition" in lines and "ok 12 - Leak_DefinitelyLost" in lines
    assert not [line for line in lines if line.startswith("not ok")]
