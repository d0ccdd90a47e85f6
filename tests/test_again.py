"""A test that fails prints the one command that runs it as it ran."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import again
import pytest

SEED = 4711
TEST = """
import os
import pytest
SEED = int(os.environ.get("INTERPOSE_SEED", "42"))
@pytest.mark.parametrize("word", ["a'b"])
def test_it(word):
    assert SEED != 42, "as it ran"
"""


def test_seed_and_name_are_in_it(request: pytest.FixtureRequest) -> None:
    said = again.command(request.node)
    assert "INTERPOSE_SEED=4711 " in said
    assert said.endswith("pytest tests/test_again.py::test_seed_and_name_are_in_it")


def test_what_it_prints_runs_it_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder with our conftest.py, as a tree of its own."""
    tests = tmp_path / "tests"
    tests.mkdir()
    for name in ("again.py", "conftest.py", "ground.py"):
        (tests / name).symlink_to(Path(__file__).with_name(name))
    (tests / "test_it.py").write_text(TEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = tests\n")
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_it.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    said = re.search(r"^cd .*$", done.stdout, re.MULTILINE)
    assert done.returncode == 1 and said is not None, done.stdout
    bin_folder = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{bin_folder}:{os.environ['PATH']}")
    twice = subprocess.run(["sh", "-c", said[0]], cwd="/", capture_output=True, text=True, timeout=120)
    assert twice.returncode == 1 and "as it ran" in twice.stdout, twice
