"""What the README promises about the repository itself."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import version as installed_version
from pathlib import Path

import pytest

import interpose

ROOT = Path(__file__).parents[2]


def test_checks_run_the_readmes_command():
    command = re.search(r"^python3 -m venv .*pytest.*$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert command is not None
    assert command[0] in (ROOT / ".ci" / "run").read_text().splitlines()


def test_versions_agree():
    version = re.search(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version is not None and version[1] == interpose.__version__
    assert f"version: '{interpose.__version__}'" in (ROOT / "meson.build").read_text()
    assert (
        re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1] == interpose.__version__
    )


def pinned(package: str) -> str:
    """The one version of a formatter or linter that the project's test extra names."""
    match = re.search(rf'"{re.escape(package)}==([^"]+)"', (ROOT / "pyproject.toml").read_text())
    assert match is not None, f"{package} has no pinned version in pyproject.toml"
    return match[1]


def sources(*patterns: str) -> list[Path]:
    """The files of the tree that match; what a build or an environment put beside them is left out."""
    skipped = {".git", "build", "_lib", "__pycache__"}
    return sorted(
        path
        for pattern in patterns
        for path in ROOT.glob(pattern)
        if not any(part in skipped or part.startswith(".venv") for part in path.relative_to(ROOT).parts)
    )


def tool(*command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


@pytest.mark.parametrize("package", ["ruff", "clang-format"])
def test_formatters_are_those_that_the_project_pins(package):
    assert installed_version(package) == pinned(package)


@pytest.mark.parametrize("words", [["check"], ["format", "--check"]], ids=["lint", "format"])
def test_python_is_clean_by_ruff(words):
    tool(sys.executable, "-m", "ruff", *words, "--no-cache", ".")


def test_c_is_formatted():
    files = [
        str(path.relative_to(ROOT))
        for folder in ("interpose", "include", "wrappers", "examples", "tests")
        for path in sources(f"{folder}/**/*.[ch]")
    ]
    assert len([name for name in files if name.startswith("interpose/")]) > 50
    tool(clang_format(), "--dry-run", "-Werror", *files)


def clang_format() -> str:
    """The program of the pinned package, not one that happens to be on PATH."""
    program = Path(sys.executable).parent / "clang-format"
    assert program.exists(), f"pip install clang-format=={pinned('clang-format')} brings {program}"
    return str(program)
