"""What a plain run loads: each module costs every run a tenth of a millisecond, some cost ten."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SLOW = {
    *(
        "argparse",
        "ast",
        "asyncio",
        "collections",
        "contextlib",
        "copy",
        "ctypes",
        "dataclasses",
        "datetime",
        "decimal",
        "enum",
        "functools",
        "hashlib",
    ),
    *(
        "importlib.metadata",
        "inspect",
        "json",
        "logging",
        "numpy",
        "pathlib",
        "pkg_resources",
        "random",
        "re",
    ),
    *(
        "shutil",
        "socket",
        "subprocess",
        "symbolic",
        "tempfile",
        "threading",
        "traceback",
        "typing",
        "zipfile",
    ),
}
"""Of the standard library and of others: what takes a millisecond or brings much with it."""
TOOLS = {
    "none": (),
    "callgrind": ("--callgrind-out-file=out",),
    "memcheck": (),
}


def loaded(words: tuple[str, ...], folder: Path) -> list[str]:
    """The modules that both processes load, in order, from the package itself on."""
    # As the console script does it: ``-m`` has loaded a dozen modules before.
    start = "from interpose.__main__ import entry; entry()"
    run = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", start, *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=folder,
        # A line table that was read is not kept: that needs modules of its own, once.
        env={**os.environ, "XDG_CACHE_HOME": "nowhere", "HOME": str(folder)},
    )
    names = [line.rpartition("|")[2].strip() for line in run.stderr.splitlines() if "import time:" in line]
    return names[names.index("interpose") :]


@pytest.mark.parametrize("program", ["true", "ls"])
@pytest.mark.parametrize("tool", TOOLS)
def test_no_slow_module(tool, program, tmp_path):
    """Also where blocks are searched for at the end: ls keeps some."""
    names = loaded((f"--tool={tool}", *TOOLS[tool], program), tmp_path)
    assert f"interpose.tools.{tool}.tool" in names, "both processes are looked at"
    assert SLOW.isdisjoint(names), sorted(SLOW.intersection(names))


@pytest.mark.parametrize("tool", TOOLS)
def test_no_other_tool(tool, tmp_path):
    names = loaded((f"--tool={tool}", *TOOLS[tool], "true"), tmp_path)
    other = [name for name in names if name.startswith("interpose.tools.") and f".{tool}" not in name]
    assert other in ([], ["interpose.tools.base"])
    assert "interpose.options.helptext" not in names


SHADOWS = ("dataclasses", "json", "re", "select", "struct", "symbolic")


def test_modules_of_the_current_folder_are_the_users(tmp_path: Path) -> None:
    """``-m`` puts it first, and any of them was executed by the first need of one of Python's."""
    for name in SHADOWS:
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not for you')\n")
    log, report = tmp_path / "log", tmp_path / "report"
    words = [f"--log-file={log}", f"--json-file={report}", "-v", "true"]
    done = subprocess.run(
        [sys.executable, "-m", "interpose", *words], capture_output=True, text=True, timeout=60, cwd=tmp_path
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "ERROR SUMMARY: 0 errors" in log.read_text() and '"record":"end"' in report.read_text()


def test_the_package_may_be_in_the_current_folder() -> None:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "interpose", "--version"],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=root,
        env=env,
    )
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("interpose-")
