"""The table of MPI's functions against the headers of the libraries, and the generator's output."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from interpose import paths
from interpose.errors import InterposeError
from interpose.mpi import generate, table
from interpose.mpi.table import Function

_OPAQUE = re.compile(r"void ?\*|.*function.*|\w+_fn$")


def functions() -> list[Function]:
    with open(f"{paths.mpi_sources()}/functions.table", encoding="utf-8") as file:
        return table.read(file.read())


def header(library: str) -> dict[str, str]:
    if shutil.which(f"mpicc.{library}") is None:
        pytest.skip(f"{library} is not installed")
    command = [f"mpicc.{library}", "-E", "-P", "-x", "c", "-"]
    done = subprocess.run(command, input="#include <mpi.h>\n", capture_output=True, text=True, check=True)
    return generate.declared(done.stdout)


def plain(parameter: str) -> str:
    """The type of a parameter: without names, const, and the size of arrays."""
    parameter = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", "", parameter)
    text = re.sub(r"\b(const|restrict)\b", "", parameter)
    text, arrays = re.subn(r"\[\d*\]", "", text)
    words = re.sub(r"(\w)\s+\w+\s*$", r"\1", text.strip()) if re.search(r"\w\s+\w+\s*$", text) else text
    words = re.sub(r"\*\s*\w+\s*$", "*", words)
    return words.replace(" ", "") + "*" * arrays


@pytest.mark.parametrize("library", ["openmpi", "mpich"])
def test_parameters_are_those_of_the_header(library: str) -> None:
    declared = header(library)
    wrong = []
    for function in functions():
        for wide in (False, True):
            name = function.name + ("_c" if wide else "")
            if name not in declared or (wide and not generate.widens(function)):
                continue
            theirs = [] if declared[name] in ("", "void") else generate.split(declared[name])
            ours = generate.parameters(function, wide)
            if len(ours) != len(theirs):
                wrong.append(f"{name}: {len(ours)} parameters, not {len(theirs)}")
                continue
            for mine, its in zip(map(plain, ours), map(plain, theirs), strict=True):
                opaque = mine == "void*" and ("*" in its or "function" in its)
                if mine != its and not opaque and not (mine == "int**" and its == "int**"):
                    wrong.append(f"{name}: {mine}, not {its}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("library", ["openmpi", "mpich"])
def test_nothing_of_the_standard_is_missing(library: str) -> None:
    known = {name for function in functions() for name in (function.name, function.name + "_c")}
    newer = re.compile(r"T_event|T_source|T_category_get_(num_)?events|Status_\w*08")
    missing = [
        n for n in header(library) if n not in known and not newer.match(n) and not generate.unwrapped(n)
    ]
    assert missing == []


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("Send in:buf", "buffers, and nothing else, have a shape"),
        ("Send int:x{1,y}", "buffers, and nothing else, have a shape"),
        ("Send in:buf{}", "no shape"),
        ("Send buf", "no parameter"),
        ("Send int:x + Q", "no variant: Q"),
    ],
)
def test_a_bad_line_is_named(line: str, complaint: str) -> None:
    with pytest.raises(InterposeError, match=r"functions\.table:2: ") as caught:
        table.read(f"# first\n{line}\n")
    assert complaint in str(caught.value)


def test_what_no_table_has_is_passed_on() -> None:
    text = generate.wrappers([], {"Newer_c": "int a, MPI_Comm comm", "Odd": "double x", "Many": "int x, ..."})
    assert "IP_WRAPPER(PMPI_Newer_c)(unsigned long a0, unsigned long a1)" in text
    assert "Odd" not in text and "Many" not in text
