"""Programs with runtimes of their own: just-in-time compilers, collectors, stacks and threads they manage."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from real.running import LONG, TOOLS, WORKLOADS, compare, need, run, under

CARGO = Path.home() / ".cargo" / "bin"
NODE = [[], ["--max-lazy", "--always-turbofan"], ["--stress-compaction"], ["--no-opt", "--sparkplug"]]
SERIAL = ["-XX:+UseSerialGC"]
JAVA = [
    SERIAL,
    ["-XX:+UseZGC"],
    ["-XX:+UseG1GC"],
    ["-XX:+UseParallelGC"],
    ["-XX:+UseShenandoahGC"],
    [*SERIAL, "-Xint"],
    [*SERIAL, "-XX:TieredStopAtLevel=1"],
    [*SERIAL, "-XX:-TieredCompilation"],
    [*SERIAL, "-Xcomp", "-XX:TieredStopAtLevel=1"],
]


def build_go(name: str, folder: Path) -> None:
    need("go")
    environ = {**os.environ, "GOCACHE": str(folder / "cache"), "GO111MODULE": "off", "GOFLAGS": ""}
    command = ["go", "build", "-o", str(folder / name), str(WORKLOADS / f"{name}.go")]
    subprocess.run(command, check=True, cwd=folder, env=environ)


def build_rust(name: str, folder: Path, *flags: str) -> None:
    rustc = next((str(p) for p in (CARGO / "rustc", Path("/usr/bin/rustc")) if p.exists()), None)
    if rustc is None:
        pytest.skip("rustc is not installed")
    command = [rustc, "-g", *flags, "-o", str(folder / name), str(WORKLOADS / f"{name}.rs")]
    subprocess.run(command, check=True, cwd=folder)


@pytest.mark.parametrize("tool", TOOLS)
def test_go(tmp_path: Path, tool: str) -> None:
    """Goroutines, collections, preemption by signals, recovered faults. Only the null pointer is an error."""
    build_go("real", tmp_path)
    for _ in range(20 if LONG else 1):
        assert set(compare(["./real"], tmp_path, tool)) <= {"main.nilderef"}


@pytest.mark.parametrize("tool", TOOLS)
def test_go_with_c(tmp_path: Path, tool: str) -> None:
    need("gcc")
    build_go("cgo", tmp_path)
    assert compare(["./cgo"], tmp_path, tool) == Counter()


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("static", [False, True], ids=["dynamic", "static"])
def test_rust(tmp_path: Path, tool: str, static: bool) -> None:
    """Unwinding, collections, threads, channels."""
    build_rust("real", tmp_path, "-O", "-C", f"target-feature={'+' if static else '-'}crt-static")
    assert compare(["./real"], tmp_path, tool) == Counter()


@pytest.mark.parametrize("tool", TOOLS)
def test_rust_stack_overflow(tmp_path: Path, tool: str) -> None:
    build_rust("overflow", tmp_path)
    native = run(["./overflow"], tmp_path)
    ours = run([*under(tool, tmp_path / "log"), "./overflow"], tmp_path)
    assert ours[:2] == native[:2]
    assert b"thread 'small'" in ours[2] and b"has overflowed its stack" in ours[2]


@pytest.mark.parametrize("flags", NODE if LONG else NODE[:1], ids=" ".join)
def test_node(tmp_path: Path, flags: list[str]) -> None:
    """Optimised and deoptimised code, expressions, WebAssembly, workers, children."""
    need("node")
    compare(["node", *flags, str(WORKLOADS / "real.js"), "20" if LONG else "1"], tmp_path, "none")


@pytest.mark.parametrize("flags", JAVA if LONG else JAVA[:2], ids=" ".join)
def test_java(tmp_path: Path, flags: list[str]) -> None:
    """Exceptions from faults, stack overflow, collectors, safepoints, threads, children."""
    need("java", "javac")
    subprocess.run(["javac", "-d", str(tmp_path), str(WORKLOADS / "Real.java")], check=True)
    supported = run(["java", *flags, "-version"], tmp_path)[0] == 0
    if not supported:
        pytest.skip(f"this Java has no {' '.join(flags)}")
    command = ["java", "-Xmx128m", *flags, "-cp", ".", "Real", "20" if LONG else "1"]
    compare(command, tmp_path, "none")
