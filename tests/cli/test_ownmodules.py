"""The finder of the package's own modules: what it finds is what Python's would."""

from __future__ import annotations

import os
import py_compile
import subprocess
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path

import pytest

from interpose.ownmodules import Finder

TAG = sys.implementation.cache_tag or ""


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """What lies in it is found as the package's own: a module, and a package with one."""
    monkeypatch.setattr(sys, "pycache_prefix", None)
    (tmp_path / "plain.py").write_text("VALUE = 1\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "__init__.py").write_text('"""A package."""\nVALUE = 2\n')
    for source in tmp_path.rglob("*.py"):
        py_compile.compile(str(source), doraise=True)
    return tmp_path


def find(name: str, folder: Path):
    return Finder(TAG).find_spec(f"interpose.{name}", [str(folder)])


@pytest.mark.parametrize("name", ["plain", "folder"])
def test_as_python(name, folder):
    ours, theirs = find(name, folder), PathFinder.find_spec(f"interpose.{name}", [str(folder)])
    assert ours is not None and theirs is not None
    for field in ("name", "origin", "cached", "parent", "has_location", "submodule_search_locations"):
        assert getattr(ours, field) == getattr(theirs, field), field
    modules = []
    for spec in (ours, theirs):
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        modules.append(
            {key: getattr(module, key, None) for key in ("VALUE", "__doc__", "__file__", "__path__")}
        )
    assert modules[0] == modules[1]
    assert ours.loader.get_source(ours.name) == theirs.loader.get_source(theirs.name)
    # A second time, as importlib.reload has it.
    assert ours.loader.get_code(ours.name) == theirs.loader.get_code(theirs.name)


def test_source_has_its_name_of_now(folder):
    """Tracebacks tell it: compileall, given a relative path, writes that into the compiled file."""
    source = folder / "plain.py"
    source.write_text("def f():\n    return lambda: 1\n")
    py_compile.compile(str(source), dfile="some/where/plain.py", doraise=True)
    spec = find("plain", folder)
    assert spec is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    names = {code.co_filename for code in (module.f.__code__, module.f().__code__)}
    assert names == {str(source)}


def test_nothing_there(folder):
    assert find("missing", folder) is None
    assert find("missing", folder / "plain.py") is None
    assert Finder(TAG).find_spec("interpose.plain", [str(folder), str(folder)]) is None
    assert Finder(TAG).find_spec("other.plain", [str(folder)]) is None
    assert Finder(TAG).find_spec("interpose", None) is None


def rewrite(source: Path, compiled: Path) -> None:
    source.write_text("VALUE = 23\n")


def touch(source: Path, compiled: Path) -> None:
    os.utime(source, (1, 1))


def remove_source(source: Path, compiled: Path) -> None:
    source.unlink()


def remove(source: Path, compiled: Path) -> None:
    compiled.unlink()


def cut(source: Path, compiled: Path) -> None:
    compiled.write_bytes(compiled.read_bytes()[:-5])


def cut_head(source: Path, compiled: Path) -> None:
    compiled.write_bytes(compiled.read_bytes()[:7])


def other_version(source: Path, compiled: Path) -> None:
    compiled.write_bytes(b"\0\0\r\n" + compiled.read_bytes()[4:])


def by_hash(source: Path, compiled: Path) -> None:
    mode = py_compile.PycInvalidationMode.CHECKED_HASH
    py_compile.compile(str(source), doraise=True, invalidation_mode=mode)


CHANGES = (rewrite, touch, remove_source, remove, cut, cut_head, other_version, by_hash)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_left_to_python(change, folder):
    spec = find("plain", folder)
    assert spec is not None
    change(folder / "plain.py", Path(spec.cached))
    assert find("plain", folder) is None


@pytest.mark.parametrize(
    ("words", "prefix", "expected"),
    [((), "", True), (("-O",), "", False), ((), "elsewhere", False)],
    ids=["usual", "optimized", "elsewhere"],
)
def test_where_python_looks(words, prefix, expected, tmp_path):
    """Compiled files with other names or in other places are Python's affair."""
    asked = "import sys, interpose.__main__; print(type(sys.meta_path[0]).__name__)"
    env = {
        key: value
        for key, value in os.environ.items()
        if key not in ("PYTHONPYCACHEPREFIX", "PYTHONOPTIMIZE")
    }
    if prefix:
        env["PYTHONPYCACHEPREFIX"] = str(tmp_path / prefix)
    run = subprocess.run(
        [sys.executable, *words, "-c", asked], capture_output=True, text=True, timeout=60, check=True, env=env
    )
    assert (run.stdout == "Finder\n") is expected
