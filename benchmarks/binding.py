#!/usr/bin/env python3
"""What one wildcard wrapper over many functions costs: ``python3 benchmarks/binding.py [functions ...]``.

A program loads and closes a library whose wrapper matches each of its functions. Printed are the processor
times of the redirection core alone (to bind them all and to let go of them), and the wall times of a whole
run under interpose and under Valgrind, the fastest of three. Each column should grow as the number does.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from interpose import paths
from interpose.redir import CodeObject, RedirState

ROUNDS = 3
SIZES = (12_500, 25_000, 50_000, 100_000)
WRAPPER = """#include <interpose/interpose.h>
int I_WRAP_SONAME_FNNAME_ZZ(many, functionZuZa)(int x)
{ int r; OrigFn fn; VALGRIND_GET_ORIG_FN(fn); CALL_FN_W_W(r, fn, x); return r; }
"""
PROGRAM = """#include <dlfcn.h>
int main(int argc, char **argv)
{
    void *many = dlopen(argv[1], RTLD_NOW);
    ((int (*)(int))dlsym(many, "function_7"))(1);
    return dlclose(many);
}
"""


def core(count: int) -> tuple[float, float]:
    """Seconds of the redirection core to bind and to forget."""
    base = 0x10000000
    symbols = [(f"function_{i}", 16 * i, 8, True, False, True) for i in range(1, count + 1)]
    end = base + 16 * (count + 2)
    symbols.append(("_vgw00000ZZ_many_functionZuZa", end - base - 16, 8, True, False, True))
    state = RedirState(tells_additions=False)
    began = time.process_time()
    added = state.add_object(CodeObject("many.so", [(base, end)], symbols, "many", base)).added
    bound = time.process_time()
    removed = state.remove_range(base, end).removed
    assert len(added) == len(removed) == count
    return bound - began, time.process_time() - bound


def build(folder: Path, count: int) -> Path:
    """The library."""
    lines = [".text"]
    for name in (f"function_{i}" for i in range(count)):
        lines += [f".globl {name}", f".type {name},@function", f"{name}: lea 1(%rdi),%eax", "ret"]
        lines.append(f".size {name}, .-{name}")
    (folder / "many.s").write_text("\n".join([*lines, '.section .note.GNU-stack,"",@progbits', ""]))
    (folder / "wrapper.c").write_text(WRAPPER)
    command = ["gcc", "-w", "-shared", "-fPIC", "-Wl,-soname,many", f"-I{paths.include()}"]
    subprocess.run([*command, "many.s", "wrapper.c", "-o", f"many{count}.so"], cwd=folder, check=True)
    return folder / f"many{count}.so"


def fastest(command: list[str]) -> float:
    """Wall seconds of the fastest run."""
    times = []
    for _ in range(ROUNDS):
        began = time.monotonic()
        subprocess.run(command, check=True)
        times.append(time.monotonic() - began)
    return min(times)


def main() -> None:
    """Print a line for each number of functions."""
    sizes = [int(word) for word in sys.argv[1:]] or SIZES
    engines = {"interpose": [sys.executable, "-m", "interpose"], "valgrind": ["valgrind"]}
    if shutil.which("valgrind") is None:
        del engines["valgrind"]
    print(f"{'functions':>10}{'core binds':>12}{'core forgets':>14}", *(f"{name:>10}" for name in engines))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "program.c").write_text(PROGRAM)
        subprocess.run(["gcc", "program.c", "-o", "program"], cwd=folder, check=True)
        for count in sizes:
            binds, forgets = map(min, zip(*(core(count) for _ in range(ROUNDS)), strict=True))
            words = [str(folder / "program"), str(build(folder, count))]
            walls = [fastest([*engine, "--tool=none", "-q", *words]) for engine in engines.values()]
            print(
                f"{count:>10}{binds:>12.2f}{forgets:>14.2f}",
                *(f"{wall:>10.2f}" for wall in walls),
                flush=True,
            )


if __name__ == "__main__":
    main()
