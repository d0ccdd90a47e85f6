"""CPython's own tests, read from the JUnit file that ``-m test --junit-xml`` writes."""

from __future__ import annotations

import subprocess
import xml.etree.ElementTree
from pathlib import Path

from .suite import Statuses, Unit

MODULES = (
    "test_signal test_threading test_subprocess test_ctypes test_mmap test_asyncio test_faulthandler"
    " test_multiprocessing_fork"
).split()
# Since 3.11.5 a package, and then not always installed: its content, under a name that is no package's.
FORK = (
    "import sys, unittest\nimport test._test_multiprocessing\n"
    "test._test_multiprocessing.install_tests_in_module_dict(globals(), 'fork')\n"
)
# Sleeps for five minutes where a thread of the pool takes its first task before the pool's queue is
# emptied: with sleeps of one second instead, natively in 20 of 200 runs of the test's body in one process,
# under none in 5 of 10.
IGNORED = ("*.WithThreadsTestPool.test_terminate",)


class CPython:
    def __init__(self, interpreter: str, modules: list[str]) -> None:
        self.interpreter, self.modules = interpreter, modules or MODULES

    def _installed(self, module: str) -> bool:
        line = f"import importlib.util, sys; sys.exit(importlib.util.find_spec('test.{module}') is None)"
        return subprocess.run([self.interpreter, "-c", line], check=False).returncode == 0

    def units(self, folder: Path) -> list[Unit]:
        made = folder / "tests"
        made.mkdir(parents=True, exist_ok=True)
        found = []
        for module in self.modules:
            result = folder / f"{module}.xml"
            options = ["--junit-xml", str(result), "--timeout", "3000"]
            options += [word for pattern in IGNORED for word in ("-i", pattern)]
            if not self._installed(module):
                if module != "test_multiprocessing_fork":
                    continue
                (made / "test_forking.py").write_text(FORK)
                options += ["--testdir", str(made), "test_forking"]
            else:
                options.append(module)
            command = (self.interpreter, "-m", "test", *options)
            found.append(Unit(module, command, folder, {"PYTHONDONTWRITEBYTECODE": "1"}, result))
        return found

    def statuses(self, unit: Unit, output: str) -> Statuses:
        assert unit.result is not None
        if not unit.result.exists():
            return {}
        found: Statuses = {}
        for case in xml.etree.ElementTree.parse(unit.result).iter("testcase"):
            bad = [child.tag for child in case if child.tag in ("error", "failure")]
            status = bad[0] if bad else "skip" if case.find("skipped") is not None else "ok"
            found[case.get("name", "?")] = status
        return found
