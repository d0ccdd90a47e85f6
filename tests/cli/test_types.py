"""The package's types: mypy finds nothing, and what it believes of the extension is so."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from interpose.jit._native import ffi, lib

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package's Python files with the types of the extension, as the build makes them."""
    where = tmp_path_factory.mktemp("typed")
    for path in (ROOT / "interpose").rglob("*.py"):
        to = where / path.relative_to(ROOT)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, to)
    generator = [sys.executable, ROOT / "interpose" / "jit" / "build_native.py"]
    headers = subprocess.check_output([*generator, "--headers"], text=True).split()
    output, stub = where / "_native.c", where / "interpose" / "jit" / "_native.pyi"
    subprocess.run([*generator, output, stub, *headers], check=True, capture_output=True)
    return where


def test_mypy_finds_nothing(tree: Path) -> None:
    config = ROOT / "pyproject.toml"
    command = [sys.executable, "-m", "mypy", "--config-file", config, "--cache-dir", tree / "cache"]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_types_are_those_of_the_extension(tree: Path) -> None:
    parsed = ast.parse((tree / "interpose" / "jit" / "_native.pyi").read_text())
    classes = {node.name: node for node in parsed.body if isinstance(node, ast.ClassDef)}
    library = classes.pop("Lib")
    functions = {node.name: node for node in library.body if isinstance(node, ast.FunctionDef)}
    constants = {node.target.id for node in library.body if isinstance(node, ast.AnnAssign)}
    assert functions.keys() | constants == set(dir(lib))
    for name, node in functions.items():
        assert len(node.args.posonlyargs or node.args.args) - 1 == len(ffi.typeof(getattr(lib, name)).args), (
            name
        )
    assert all(isinstance(getattr(lib, name), int) for name in constants)
    structures = {name: node for name, node in classes.items() if name.startswith("ip_") or name == "tstate"}
    assert len(structures) > 20
    for name, node in structures.items():
        fields = [line.target.id for line in node.body if isinstance(line, ast.AnnAssign)]
        assert fields == [field for field, _ in ffi.typeof(f"struct {name}").fields], name
