"""Builds the freestanding harnesses of the folders here around the runtime's own sources."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
RUNTIME = ROOT / "interpose" / "runtime"

FLAGS = [
    "-std=gnu17", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-nostdlib", "-static",
    "-fno-stack-protector", "-fno-pic", "-no-pie", "-mno-red-zone", "-mgeneral-regs-only",
    "-fcf-protection=none", "-fno-tree-loop-distribute-patterns", "-fno-asynchronous-unwind-tables",
    "-Wl,-Ttext-segment=0x7c100000", "-Wl,-z,noexecstack", "-Wl,--build-id=none",
]  # fmt: skip
SOURCES = [
    "base/compiler.c",
    "base/util.c",
    "base/lock.c",
    "base/uaccess.S",
    "loader/loader.c",
    "loader/initial_stack.c",
    "loader/vdso.c",
]
SOURCES += [
    f"memory/{name}.c" for name in ("limits", "mm", "mm_table", "mm_place", "mm_code", "mm_files", "mm_remap")
]
SOURCES += ["processes/identity.c", "core/no_hooks.c"]
SYSCALLS = [f"syscalls/{name}" for name in ("syscall.c", "syscall_asm.S", "syscall_fd.c")] + [
    "signals/sigwait.c",
    "debug/timeouts.c",
    "core/vsyscall.c",
]
SYSCALLS += [f"procfs/{name}.c" for name in ("procfs", "procfs_read", "procfs_text", "procfs_stat")]


@pytest.fixture(scope="session")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Path of a built harness by its source's path from here, without the ending."""
    folder = tmp_path_factory.mktemp("harness")

    def build(name: str) -> Path:
        out = folder / Path(name).name
        if not out.exists():
            command = ["gcc", *FLAGS, f"-I{ROOT / 'interpose'}", f"-I{HERE}"]
            command += ["-o", str(out), str(HERE / "harness.c"), str(HERE / f"{name}.c")]
            if name == "syscalls/syscalls":
                command += [*(str(RUNTIME / s) for s in SYSCALLS), "-Wl,--unresolved-symbols=ignore-all"]
            subprocess.run(command + [str(RUNTIME / s) for s in SOURCES], check=True)
        return out

    return build


@pytest.fixture(scope="session")
def compile_guest(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Compile a guest program from text."""
    folder = tmp_path_factory.mktemp("guest")

    def build(name: str, text: str, *flags: str) -> Path:
        source, out = folder / f"{name}.c", folder / name
        source.write_text(text)
        subprocess.run(["gcc", "-O1", "-o", str(out), str(source), *flags], check=True)
        return out

    return build
