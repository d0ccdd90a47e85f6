"""What the benchmarks measure by."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import ModuleType

HELD = 64 << 20
HOLD = """
import os, sys
if sys.argv[1] == "forks" and os.fork():
    os.wait()
else:
    held = bytearray(os.urandom(1 << 20) * 64)
    print("held", flush=True)
    sys.stdin.read()
"""


def _module(name: str) -> ModuleType:
    path = Path(__file__).resolve().parents[2] / "benchmarks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"benchmarks_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_peak_has_children_and_their_children_in_it() -> None:
    peaks = {}
    for how in ("alone", "forks"):
        command = [sys.executable, "-c", HOLD, how]
        with (
            _module("memory").Watch() as watch,
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process,
        ):
            assert process.stdout is not None and process.stdout.readline() == b"held\n"
            until = time.monotonic() + 60
            while watch.peak < HELD and time.monotonic() < until:
                time.sleep(0.01)
            process.communicate()
        peaks[how] = watch.peak
    assert min(peaks.values()) >= HELD, peaks


def test_threads_that_keep_awake_take_no_time_from_others() -> None:
    with _module("awake").Awake():
        until = time.monotonic() + 60
        while time.monotonic() < until:
            others = {int(name) for name in os.listdir("/proc/self/task")} - {threading.get_native_id()}
            idle = {task for task in others if os.sched_getscheduler(task) == os.SCHED_IDLE}
            if {frozenset(os.sched_getaffinity(task)) for task in idle} >= {
                frozenset({cpu}) for cpu in os.sched_getaffinity(0)
            }:
                break
            time.sleep(0.01)
        assert len(idle) == len(os.sched_getaffinity(0))
        assert os.sched_getscheduler(0) == os.SCHED_OTHER
