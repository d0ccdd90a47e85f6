"""Results, live hooks and interruptions in a real Jupyter kernel."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hooks.conftest import needs_frida

from interpose.api.display import MOST_SHOWN, run_html
from interpose.api.result import Run
from interpose.formats.report import Error, Leak, Report

HAS_KERNEL = all(importlib.util.find_spec(name) for name in ("jupyter_client", "ipykernel"))
needs_kernel = pytest.mark.skipif(not HAS_KERNEL, reason="no Jupyter kernel is installed")
ENGINES = [
    {"tool": "none"},
    pytest.param({"tool": "none", "engine": "native"}, marks=needs_frida),
]
SOURCE = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((noinline)) int twice(int x) { return 2 * x; }
int main(int argc, char **argv) {
    if (argc > 1) {
        for (int i = 0; i < 3; i++) if (!fork()) { if (i == 1) setsid(); break; }
        write(1, "<begun>", 7);
        for (;;) pause();
    }
    volatile char *p = malloc(4);
    p[4] = 1;
    return twice(3);
}
"""


class Kernel:
    """A kernel that is asked by cells."""

    def __init__(self, folder: Path) -> None:
        from jupyter_client import KernelManager
        from jupyter_client.kernelspec import KernelSpec

        spec = KernelSpec(argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"])
        self._manager = KernelManager(kernel_name="")
        self._manager._kernel_spec = spec
        self._manager.connection_file = str(folder / "connection.json")
        environ = {**os.environ, "TMPDIR": str(folder / "tmp"), "IPYTHONDIR": str(folder / "ipython")}
        (folder / "tmp").mkdir()
        self._manager.start_kernel(env=environ, cwd=str(folder))
        self.client = self._manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def begin(self, cell: str) -> str:
        return str(self.client.execute(cell))

    def end(self, cell: str) -> list[dict[str, Any]]:
        """The contents of what it has put out."""
        found = []
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            message = self.client.get_iopub_msg(timeout=60)
            if message["parent_header"].get("msg_id") != cell:
                continue
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                return found
            found.append({"type": message["msg_type"], **message["content"]})
        raise AssertionError(found)

    def run(self, cell: str) -> str:
        """What it prints; what goes wrong is an assertion."""
        found = self.end(self.begin(cell))
        assert not [each for each in found if each["type"] == "error"], found
        return "".join(each.get("text", "") for each in found)

    def interrupt(self) -> None:
        self._manager.interrupt_kernel()

    def close(self) -> None:
        self.client.stop_channels()
        self._manager.shutdown_kernel(now=True)
        self._manager.cleanup_resources()


LEFT = """
import os, tempfile, threading, time
def left():
    me, found = os.getpid(), []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                if os.fsencode(MARK) in file.read(): found.append(name)
        except OSError: pass
    files = []
    for fd in os.listdir("/proc/self/fd"):
        try: files.append(os.readlink(f"/proc/self/fd/{fd}"))
        except OSError: pass
    place = tempfile.gettempdir()
    files = [each for each in files if each.startswith(("pipe:", "/memfd:", place)) or "pidfd" in each]
    names = [thread.name for thread in threading.enumerate() if thread.name.startswith("interpose")]
    return found, sorted(os.listdir(place)), sorted(files), names
def nothing_left():
    end = time.monotonic() + 60
    while left() != before and time.monotonic() < end: time.sleep(0.02)
    print("clean" if left() == before else left())
"""


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("notebook")
    (folder / "prog.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O0", "-w", "-o", "prog", "prog.c"], check=True, cwd=folder)
    return str(folder / "prog")


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory, program: str) -> Iterator[Kernel]:
    kernel = Kernel(tmp_path_factory.mktemp("kernel"))
    try:
        kernel.run(f"import asyncio, interpose\nPROGRAM = MARK = {program!r}\n{LEFT}")
        kernel.run("interpose.run(['/bin/true'], tool='none')")  # what is loaded only once
        kernel.run("before = left()")
        yield kernel
    finally:
        kernel.close()


@needs_kernel
def test_results_are_shown(kernel: Kernel) -> None:
    (shown,) = kernel.end(kernel.begin("interpose.run([PROGRAM])"))[-1:]
    assert shown["type"] == "execute_result", shown
    html = shown["data"]["text/html"]
    assert "<b>memcheck</b>" in html and "exit code 6, 1 error, 1 leak" in html
    assert "Invalid write of size 1" in html and "main (prog.c:" in html
    assert kernel.run("nothing_left()") == "clean\n"


@needs_kernel
@pytest.mark.parametrize("engine", ENGINES)
def test_hooks_live_in_the_notebook(engine: dict[str, str], kernel: Kernel) -> None:
    kernel.run(
        "hooks, seen = interpose.Registry(), []\n"
        "@hooks.wrap('NONE', 'twice')\ndef twice(call, x: int) -> int:\n"
        "    seen.append(x)\n    return call(x) + 1\n"
    )
    told = kernel.run(
        f"done = interpose.run([PROGRAM], hooks=[hooks], **{engine!r})\nprint(done.exit_code, seen)"
    )
    assert told == "7 [3]\n"
    assert kernel.run("nothing_left()") == "clean\n"


@needs_kernel
@pytest.mark.parametrize("engine", ENGINES)
def test_interrupted_cell_leaves_nothing(engine: dict[str, str], kernel: Kernel) -> None:
    """With children, one in a session of its own; the second interruption comes while the first is heeded."""
    kernel.run("read, write = os.pipe()\ndef watch():\n    os.read(read, 1)\n    print('begun', flush=True)")
    cell = kernel.begin(
        "threading.Thread(target=watch).start()\n"
        f"interpose.run([PROGRAM, 'forks'], stdout=write, **{engine!r})\n"
    )
    while (message := kernel.client.get_iopub_msg(timeout=60))["content"].get("text") != "begun\n":
        assert message["msg_type"] != "error", message
    kernel.interrupt()
    kernel.interrupt()
    assert [each["ename"] for each in kernel.end(cell) if each["type"] == "error"] == ["KeyboardInterrupt"]
    kernel.run("os.close(read); os.close(write)")
    assert kernel.run("nothing_left()") == "clean\n"


@needs_kernel
@pytest.mark.parametrize("engine", ENGINES)
def test_cancelled_at_any_moment(engine: dict[str, str], kernel: Kernel) -> None:
    """Before it begins, while it starts, while it runs, and as it ends."""
    told = kernel.run(
        "told = []\n"
        "for seconds in (None, 0, 0.01, 0.1, 0.3, 0.6, 1.2):\n"
        f"    task = asyncio.create_task(interpose.run_async([PROGRAM, 'forks'], stdout=-3, **{engine!r}))\n"
        "    if seconds is not None: await asyncio.sleep(seconds)\n"
        "    task.cancel()\n"
        "    try: await task\n"
        "    except asyncio.CancelledError: told.append('cancelled')\n"
        "    except BaseException as error: told.append(repr(error))\n"
        f"task = asyncio.create_task(interpose.run_async([PROGRAM], **{engine!r}))\n"
        "await task\n"
        "print(set(told), task.cancel(), task.result().exit_code)\n"
    )
    assert told == "{'cancelled'} False 6\n"
    assert kernel.run("nothing_left()") == "clean\n"


def test_texts_are_never_markup() -> None:
    error = Error(1, 1, "InvalidRead", "<script>alert(1)</script> \udcff")
    many = [Leak(1, 2, "Leak_DefinitelyLost", f"lost {number}") for number in range(MOST_SHOWN + 7)]
    run = Run(("<b>&", "x"), "memcheck", 1, -9, Report(errors=[error], leaks=many), "")
    html = run_html(run)
    html.encode()
    assert "<script" not in html and "&lt;script&gt;" in html and "&lt;b&gt;&amp; x" in html
    assert "ended by SIGKILL, 1 error, 57 leaks" in html and "<p>7 more</p>" in html
    assert error._repr_html_() in html and "\\xff" in html
