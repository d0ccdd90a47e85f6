"""What a wrapped call costs under `--engine=native`: ``python3 benchmarks/native.py``.

Beside a plain call through the PLT, LD_PRELOAD, and Frida's JavaScript interceptor. Printed are nanoseconds a
call, the least of some runs, and how many times a plain call. The last row is a program without bindings.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from interpose import paths

RUNS = 7
CALLS = 20_000_000
SCRIPT_CALLS = 200_000

LIBRARY = "int work(int x, int y) { return x * y + 3; }\n"
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int work(int, int);
int main(int argc, char **argv) {
    long calls = atol(argv[1]);
    struct timespec from, to;
    volatile int sum = 0;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (long i = 0; i < calls; i++) sum = work(sum, 7);
    clock_gettime(CLOCK_MONOTONIC, &to);
    printf("%f\\n", ((to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec)) / calls);
}
"""
PRELOADED = """
#define _GNU_SOURCE
#include <dlfcn.h>
static int (*next)(int, int);
__attribute__((constructor)) static void begin(void) { next = (int (*)(int, int))dlsym(RTLD_NEXT, "work"); }
int work(int x, int y) { return next(x, y) + 1; }
"""
WRAPPER = """
#include <interpose/interpose.h>
int INTERPOSE_WRAP_SONAME_FNNAME_ZU(libworkZdso, work)(int x, int y) {
    int result;
    InterposeOrigFn original;
    INTERPOSE_GET_ORIG_FN(original);
    INTERPOSE_CALL_FN_W_WW(result, original, x, y);
    return result + 1;
}
"""
REPLACEMENT = """
#include <interpose/interpose.h>
int INTERPOSE_REPLACE_SONAME_FNNAME_ZU(libworkZdso, work)(int x, int y) { return x * y + 4; }
"""
FRIDA = """
import frida, sys
device = frida.get_local_device()
done = []
pid = device.spawn(sys.argv[2:], stdio="inherit")
session = device.attach(pid)
script = session.create_script({
    "attach": "Interceptor.attach(W, {onEnter(args) {}, onLeave(value) { value.replace(value.add(1)); }});",
    "replace": "const o = new NativeFunction(W, 'int', ['int', 'int']);"
               "Interceptor.replace(W, new NativeCallback((x, y) => o(x, y) + 1, 'int', ['int', 'int']));",
}[sys.argv[1]].replace("W", "Process.getModuleByName('libwork.so').getExportByName('work')"))
script.load()
import threading
ended = threading.Event()
session.on("detached", lambda *rest: ended.set())
device.resume(pid)
ended.wait(60)
"""


def build(folder: Path, name: str, text: str, *flags: str) -> Path:
    source = folder / f"{name}.c"
    source.write_text(text)
    out = folder / name
    command = ["gcc", "-O2", f"-I{paths.include()}", str(source), "-o", str(out), *flags]
    subprocess.run(command, check=True)
    return out


def least(command: list[str], runs: int = RUNS, **env: str) -> float:
    """Nanoseconds a call."""
    found = []
    for _ in range(runs):
        done = subprocess.run(
            command, env={**os.environ, **env}, check=True, stdout=subprocess.PIPE, text=True, timeout=300
        )
        found.append(float(done.stdout.split()[-1]))
    return min(found)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shared = ("-shared", "-fPIC")
        work = build(folder, "libwork.so", LIBRARY, *shared, "-Wl,-soname,libwork.so")
        program = build(folder, "program", PROGRAM, str(work), f"-Wl,-rpath,{folder}", "-fno-plt")
        lazy = build(folder, "lazy", PROGRAM, str(work), f"-Wl,-rpath,{folder}")
        preloaded = build(folder, "preloaded.so", PRELOADED, *shared)
        wrapper = build(folder, "wrapper.so", WRAPPER, *shared)
        replacement = build(folder, "replacement.so", REPLACEMENT, *shared)
        engine = [sys.executable, "-m", "interpose", "--engine=native"]
        frida = [sys.executable, "-c", FRIDA]
        calls = [str(lazy), str(CALLS)]
        few = [str(lazy), str(SCRIPT_CALLS)]
        rows = {
            "plain call through the PLT": least(calls),
            "the same without a PLT (-fno-plt)": least([str(program), str(CALLS)]),
            "LD_PRELOAD, dlsym(RTLD_NEXT)": least(calls, LD_PRELOAD=str(preloaded)),
            "interpose, replacement": least([*engine, f"--wrappers={replacement}", *calls]),
            "interpose, wrapper with CALL_FN": least([*engine, f"--wrappers={wrapper}", *calls]),
            "Frida's Interceptor.attach, JavaScript": least([*frida, "attach", *few], 3),
            "Frida's Interceptor.replace, JavaScript": least([*frida, "replace", *few], 3),
            "interpose, no bindings": least([*engine, *calls]),
        }
    plain = rows["plain call through the PLT"]
    print("| call | ns | times a plain one |\n|---|---:|---:|")
    for what, took in rows.items():
        print(f"| {what} | {took:.2f} | {took / plain:.2f} |")


if __name__ == "__main__":
    main()
