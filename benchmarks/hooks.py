#!/usr/bin/env python3
"""What a hooked call costs: ``python3 benchmarks/hooks.py [calls]``.

A program calls an empty function a million times: natively, and under both engines with nothing bound, with
a wrapper in C, and with hooks in Python that return at once, that call the original, and that read a string
besides. Printed are microseconds of wall time for a call, without the program's start, and of processor time
of the process that runs the hooks.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from interpose import paths

PROGRAM = """#include <stdio.h>
#include <stdlib.h>
#include <time.h>
__attribute__((noipa, aligned(16))) int work(int n, const char *text) { return n + 1; }
int main(int argc, char **argv)
{
    struct timespec a, b;
    int n = atoi(argv[1]), s = 0;
    for (int i = 0; i < 100; i++) work(s, "some text"); /* translated, and found by Python */
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int i = 0; i < n; i++) s = work(s, "some text");
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("%.4f\\n", ((b.tv_sec - a.tv_sec) * 1e9 + b.tv_nsec - a.tv_nsec) / 1e3 / n);
    return s != n;
}
"""
WRAPPER = """#include <interpose/interpose.h>
int I_WRAP_SONAME_FNNAME_ZU(NONE, work)(int n, const char *text)
{ int r; OrigFn fn; VALGRIND_GET_ORIG_FN(fn); CALL_FN_W_WW(r, fn, n, text); return r; }
"""
RUNS = 3
HOOK = """import interpose, time
seen = 0
began = 0.0
@interpose.{kind}("NONE", "work")
def work(call, {parameters}) -> int:
    global seen, began
    seen += 1
    if seen == 100:
        began = time.process_time()
    if seen == {calls} + 100:
        print(f"cpu={{(time.process_time() - began) / {calls} * 1e6:.2f}}")
    return {result}
"""
HOOKS = {
    "hook that returns at once": ("replace", "n: int", "n + 1"),
    "hook that calls the original": ("wrap", "n: int", "call(n)"),
    "the same, and reads a string": ("wrap", "n: int, text: interpose.CString", "call(n, text)"),
}


def main() -> None:
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "program.c").write_text(PROGRAM)
        (folder / "wrapper.c").write_text(PROGRAM + WRAPPER)
        for source in ("program", "wrapper"):
            command = ["gcc", "-O1", "-w", f"-I{paths.include()}", f"{source}.c", "-o", source]
            subprocess.run(command, cwd=folder, check=True)
        print(f"{'':40}{'wall':>10}{'hooks':>12}   (microseconds for a call, {calls} calls)")
        show("natively", folder, ["./program", str(calls)])
        for option in ("--tool=none", "--engine=native"):
            engine = [sys.executable, "-m", "interpose", option, "-q"]
            print(option)
            show("nothing bound", folder, [*engine, "./program", str(calls)])
            show("wrapper in C", folder, [*engine, "./wrapper", str(calls)])
            for what, (kind, parameters, result) in HOOKS.items():
                text = HOOK.format(kind=kind, parameters=parameters, result=result, calls=calls)
                (folder / "hooks.py").write_text(text)
                show(what, folder, [*engine, "--hooks=hooks.py", "./program", str(calls)])


def show(what: str, folder: Path, command: list[str]) -> None:
    """The least of three runs."""
    found = []
    for _ in range(RUNS):
        run = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
        cpu = re.search(r"cpu=(\S+)", run.stderr)
        found.append((float(run.stdout), cpu[1] if cpu else ""))
    wall, processor = min(found)
    print(f"{what:40}{wall:>10.4f}{processor:>12}", flush=True)


if __name__ == "__main__":
    main()
