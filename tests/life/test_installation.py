"""The package is removed, or built anew, under a run: the program goes on, or ends with one line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from life.running import TOOLS, environment, processes_with, run, wait_until

from interpose import paths
from interpose.jit._native import lib

CHANGED = "interpose: the installation changed during the run, which cannot go on: "


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder with a copy of the package, products included."""
    import interpose

    copy = tmp_path / "copy" / "interpose"
    shutil.copytree(Path(interpose.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    products = copy / "_lib"
    shutil.rmtree(products, ignore_errors=True)
    products.mkdir()
    for name in ("interpose-rt-none", "interpose-rt-memcheck", paths.STUBS, paths.CORE_STUBS):
        shutil.copy(paths.product(name), products / name)
    return copy.parent


def removed_under(package: Path, script: str, *options: str) -> tuple[int, str, str]:
    """Run a shell script; when it has printed a line, remove the package, and let it go on."""
    token = uuid.uuid4().hex
    words = [sys.executable, "-m", "interpose", *options, "-q", "/bin/sh", "-c", script]
    how = environment(PYTHONPATH=str(package), RUN_TOKEN=token)
    process = subprocess.Popen(
        words, env=how, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    shutil.rmtree(package)
    try:
        out, err = process.communicate("on\n", timeout=30)
    except subprocess.TimeoutExpired:
        for pid in processes_with(token):
            os.kill(pid, 9)
        raise AssertionError("hangs") from None
    assert wait_until(lambda: not processes_with(token))
    return process.returncode, out, err


@pytest.mark.parametrize("tool", TOOLS)
def test_removed_before_exec(package: Path, tool: str) -> None:
    """By a child of vfork, which shares its parent's memory, socket and locks."""
    script = "/bin/true; echo up; read word; /bin/true; /bin/true; echo on"
    code, out, err = removed_under(package, script, f"--tool={tool}", "--trace-children=yes")
    assert (code, out) == (1, "")
    assert len(err.splitlines()) == 1 and err.startswith(CHANGED + str(package)), err


def test_removed_before_a_report(package: Path) -> None:
    """What is imported late is missing: said for what it is, and without advice to report it."""
    code, out, err = removed_under(package, "echo up; read word; kill -ABRT $$; echo on", "--tool=none")
    assert (code, out) == (1, "")
    assert len(err.splitlines()) == 1 and err.startswith(CHANGED + str(package)), err


def test_another_build(package: Path) -> None:
    """A runtime and a translator that were not built from the same sources."""
    runtime = package / "interpose" / "_lib" / "interpose-rt-none"
    own = lib.ip_build_id().to_bytes(4, "little")
    data = runtime.read_bytes()
    assert own in data
    runtime.unlink()
    runtime.write_bytes(data.replace(own, bytes(byte ^ 0xFF for byte in own)))
    runtime.chmod(0o755)
    done = run([sys.executable, "-m", "interpose", "--tool=none", "-q", "/bin/true"],
               env=environment(PYTHONPATH=str(package)))  # fmt: skip
    assert done.returncode == 1
    text = "interpose: the runtime and the translator are of different builds; install the package again\n"
    assert done.stderr == text
