"""Signals, threads and processes: a program prints the same natively and under the runtime."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

GUESTS = Path(__file__).resolve().parent / "guests"
ROOT = Path(__file__).resolve().parents[3]


def _run(command: list[str]) -> tuple[int, str]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert "interpose:" not in done.stderr, done.stderr
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    folder = tmp_path_factory.mktemp("programs")

    def build(name: str) -> str:
        out = folder / name
        if not out.exists():
            flags = ["-std=gnu17", "-O1", "-w", "-pthread"]
            subprocess.run(["gcc", *flags, "-o", str(out), str(GUESTS / f"{name}.c")], check=True)
        return str(out)

    return build


@pytest.mark.parametrize("options", [[], ["--trace-children=yes"], ["--single-step=yes"]], ids=" ".join)
@pytest.mark.parametrize("name", ["signals", "processes"])
def test_same_output_as_native(guest: Callable[[str], str], name: str, options: list[str]) -> None:
    program = guest(name)
    native = _run([program])
    assert len(native[1].splitlines()) > 10
    assert _run([sys.executable, "-m", "interpose", "--tool=none", "-q", *options, program]) == native


@pytest.mark.parametrize("legacy", [False, True], ids=["xsave", "fxsave"])
def test_frame_is_the_kernels(tmp_path: Path, legacy: bool) -> None:
    """A frame of ours and one of the kernel's for the same state differ in no byte that the kernel writes."""
    runtime, flags = ROOT / "interpose" / "runtime", ["-std=gnu17", "-O2", "-Wall", "-Wextra", "-Werror"]
    includes = [f"-I{ROOT / 'interpose'}"]
    ours = tmp_path / "sigframe.o"
    alone = ["-ffreestanding", "-fno-pic", "-fno-stack-protector", "-mno-red-zone", "-mgeneral-regs-only"]
    compile_ours = ["gcc", *flags, *alone, *includes, "-c", "-o", ours, runtime / "signals/sigframe.c"]
    subprocess.run(compile_ours, check=True)
    program = tmp_path / "frame"
    sources = [GUESTS.parent / "sigframe_check.c", ours, runtime / "signals/signal_asm.S"]
    sources += ["-DLEGACY"] if legacy else [runtime / "base/cpu.c"]
    subprocess.run(["gcc", *flags, "-no-pie", *includes, "-o", program, *sources], check=True)
    status, output = _run([str(program)])
    assert status == 0, output
