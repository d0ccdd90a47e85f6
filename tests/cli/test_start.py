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


@pytest.mark.parametrize("tool", TOOLS)
def test_no_slow_module(tool, tmp_path):
    names = loaded((f"--tool={tool}", *TOOLS[tool], "true"), tmp_path)
    assert f"interpose.tools.{tool}.tool" in names, "both processes are looked at"
    assert SLOW.isdisjoint(names), sorted(SLOW.intersection(names))


@pytest.mark.parametrize("tool", TOOLS)
def test_no_other_tool(tool, tmp_path):
    names = loaded((f"--tool={tool}", *TOOLS[tool], "true"), tmp_path)
    other = [name for name in names if name.startswith("interpose.tools.") and f".{tool}" not in name]
    assert other in ([], ["interpose.tools.base"])
    assert "interpose.options.helptext" not in names
