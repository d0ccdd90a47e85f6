"""The how-to pages: what they name is there, and "add a tool" works when it is followed to the letter."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "howto").glob("*.md"))
STEP = re.compile(
    r"(?:^`(?P<file>[\w/.]+)` becomes\n\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_files_that_a_page_names_are_there(page):
    """Paths in backquotes, but for those of the tool that the reader makes."""
    names = re.findall(r"`((?:interpose|tests|include|scripts|docs)/[\w./-]+)`", page.read_text())
    made = ("interpose/tools/blocks/", "interpose/tools/NAME/")
    missing = [name for name in names if not name.startswith(made) and not (ROOT / name).exists()]
    assert not missing


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of the sources, without what was built from them."""
    copy = tmp_path_factory.mktemp("checkout") / "interpose"
    skipped = shutil.ignore_patterns(
        ".*", "build", "_lib", "__pycache__", "*.so", "tests", "benchmarks", "*.egg-info", "dist"
    )
    shutil.copytree(ROOT, copy, ignore=skipped, symlinks=True)
    return copy


def test_the_page_that_adds_a_tool(checkout):
    """Every command is run, every file written, and every line of output looked for, in order."""
    environ = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "LC_ALL": "C.UTF-8",
    }
    environ.pop("PYTHONPATH", None)
    output = ""
    steps = list(STEP.finditer((ROOT / "docs" / "howto" / "add-a-tool.md").read_text()))
    assert [step["kind"] for step in steps] == ["sh", "c", "python", "sh", "text", "sh", "text"]
    for step in steps:
        if step["kind"] == "sh":
            command = ["sh", "-eu", "-c", step["text"]]
            done = subprocess.run(
                command,
                cwd=checkout,
                env=environ,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=900,
            )
            output = done.stdout
            assert done.returncode == 0, f"{step['text']}\n{output[-4000:]}"
        elif step["kind"] == "text":
            printed = iter([re.sub(r"^==\d+== ", "", line) for line in output.splitlines()])
            for line in step["text"].splitlines():
                assert any(line == other for other in printed), f"{line!r} is not in\n{output}"
        else:
            path = checkout / step["file"]
            assert path.exists(), f"{path} comes from the folder that was copied"
            path.write_text(step["text"])
