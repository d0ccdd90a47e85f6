"""pytest --interpose on a C extension with one fault a function, in sessions of their own."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import sysconfig
import time
from importlib.metadata import entry_points
from pathlib import Path
from xml.etree import ElementTree

import pytest

from interpose.testing.found import Settings
from interpose.testing.outside import LEAK_SUPPRESSIONS, SUPPRESSIONS, running_at

EXTENSION = r"""
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <unistd.h>
#include <sys/wait.h>
#define FUNCTION(name) static PyObject *name(PyObject *self, PyObject *none)
FUNCTION(past_end) {
    volatile char *p = malloc(10);
    char c = p[10];
    free((void *)p);
    Py_RETURN_NONE;
}
FUNCTION(undefined) {
    volatile char *p = malloc(10);
    if (p[3] == 7) write(2, "7", 1);
    free((void *)p);
    Py_RETURN_NONE;
}
FUNCTION(leak) { volatile char *p = malloc(1234); p[0] = 1; Py_RETURN_NONE; }
FUNCTION(crash) { *(volatile int *)8 = 1; Py_RETURN_NONE; }
FUNCTION(fine) { Py_RETURN_NONE; }
#define METHOD(name) {#name, name, METH_NOARGS, ""}
static PyMethodDef methods[] = {
    METHOD(past_end), METHOD(undefined), METHOD(leak), METHOD(crash), METHOD(fine), {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "faulty", "", -1, methods};
PyMODINIT_FUNC PyInit_faulty(void) { return PyModule_Create(&module); }
"""


def line(function: str) -> int:
    """Where a function's fault lies."""
    lines = EXTENSION.splitlines()
    first = next(number for number, text in enumerate(lines, 1) if f"FUNCTION({function})" in text)
    return first + (function == "past_end") * 2


TESTS = """
'''
>>> import faulty
>>> faulty.past_end() or faulty.undefined()
'''
import faulty, os, pytest, unittest

def test_fine():
    faulty.fine()
    assert os.environ["PYTHONMALLOC"] == "malloc" and "INTERPOSE_PYTEST" not in os.environ
def test_past(): faulty.past_end()
def test_past_again(): faulty.past_end() or faulty.past_end()
def test_undefined(): faulty.undefined()
def test_leak(): faulty.leak()
def test_worker():
    pid = os.fork()
    if pid == 0:
        faulty.past_end() or faulty.undefined()
        os._exit(0)
    os.waitpid(pid, 0)
@pytest.mark.xfail(strict=True)
def test_expected(): faulty.past_end()
def test_two_faults():
    faulty.past_end()
    assert 0
@pytest.fixture
def late():
    yield
    faulty.past_end()
def test_teardown(late): pass
@pytest.fixture
def early(): faulty.past_end()
def test_setup(early): pass
@pytest.mark.parametrize("how", ["past_end", "fine", "undefined"])
def test_each(how): getattr(faulty, how)()
class TestOld(unittest.TestCase):
    def setUp(self): faulty.fine()
    def test_old(self): faulty.past_end()
    def test_old_fine(self): faulty.fine()
    @classmethod
    def tearDownClass(cls): faulty.undefined()
def test_raises():
    with pytest.raises(ZeroDivisionError):
        faulty.past_end() or 1 / 0
def test_fine_again(): faulty.fine()
"""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plugin")
    (folder / "faulty.c").write_text(EXTENSION)
    include = sysconfig.get_path("include")
    if not Path(include, "Python.h").exists():
        pytest.skip("Python's headers are not installed")
    command = ["gcc", "-g", "-O1", "-w", "-shared", "-fPIC", f"-I{include}", "-o", "faulty.so", "faulty.c"]
    subprocess.run(command, check=True, cwd=folder)
    (folder / "test_all.py").write_text(TESTS)
    (folder / "test_crash.py").write_text(
        "import faulty\ndef test_before(): faulty.fine()\n"
        "def test_crash(): faulty.past_end() or faulty.crash()\ndef test_after(): faulty.undefined()\n"
    )
    (folder / "test_exit.py").write_text(
        "import faulty, os\ndef test_before(): faulty.fine()\n"
        "def test_exit(): faulty.past_end() or os._exit(0)\n"
    )
    (folder / "test_leaks.py").write_text(
        "import faulty, os\ndef test_leak(): faulty.leak()\n"
        "def test_fine(): assert os.environ['PYTHONMALLOC'] == os.environ.get('GIVEN', 'malloc')\n"
    )
    (folder / "test_forked.py").write_text(
        "import faulty\ndef test_past(): faulty.past_end()\ndef test_fine(): faulty.fine()\n"
    )
    (folder / "forking.py").write_text(
        "import os\nfrom _pytest.runner import runtestprotocol\n"
        "def pytest_runtest_protocol(item):\n"
        "    if pid := os.fork(): return os.waitpid(pid, 0) != 0\n"
        "    runtestprotocol(item, log=False)\n    os._exit(0)\n"
    )
    (folder / "test_import.py").write_text("import faulty\nfaulty.past_end()\ndef test_fine(): pass\n")
    (folder / "test_many.py").write_text(
        "import pytest, time\n@pytest.mark.parametrize('n', range(8))\ndef test_many(n): time.sleep(0.1)\n"
    )
    (folder / "test_plain.py").write_text(
        "import sys\ndef test_it(): assert 'interpose.testing' not in sys.modules\n"
    )
    return folder


def command(*words: str, alone: bool = False) -> list[str]:
    """pytest with the plugin, which an installed package brings by itself unless it is to be the only one."""
    installed = any(entry.name == "interpose" for entry in entry_points(group="pytest11"))
    plugin = [] if installed and not alone else ["-p", "interpose.pytest_plugin"]
    return [sys.executable, "-m", "pytest", *plugin, "-p", "no:cacheprovider", *words]


def session(
    folder: Path, *words: str, alone: bool = True, malloc: str | None = None
) -> subprocess.CompletedProcess:
    """``alone``: without other plugins, which would be translated as well; ``malloc``: for PYTHONMALLOC."""
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    environ = {**os.environ, "PYTHONPATH": path, "COLUMNS": "120"}
    # The interpreter's blocks are the same ones in each session: they are verified elsewhere.
    for name in [name for name in environ if name.startswith("PYTEST_") or name == "INTERPOSE_VERIFY"]:
        del environ[name]
    if alone:
        environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    if malloc is not None:
        environ["PYTHONMALLOC"] = environ["GIVEN"] = malloc
    done = subprocess.run(
        command(*words, alone=alone), cwd=folder, env=environ, capture_output=True, text=True, timeout=300
    )
    assert "INTERNALERROR" not in done.stdout + done.stderr, done.stdout + done.stderr
    return done


def outcomes(junit: Path) -> dict[str, tuple[str, str]]:
    """Of each test: how it ended and the text of its failure, and what is attached."""
    found = {}
    for case in ElementTree.parse(junit).iter("testcase"):
        ends = [each for each in case if each.tag in ("failure", "error", "skipped")]
        text = "\n".join(f"{each.get('message')}\n{each.text}" for each in ends)
        text += "\n".join(each.get("value", "") for each in case.iter("property"))
        found[case.get("name")] = ("+".join(each.tag for each in ends) or "passed", text)
    return found


def test_each_error_is_attached_to_its_test(folder: Path, tmp_path: Path) -> None:
    """In whatever kind of test, in each phase; what a module does when it is imported is the module's."""
    junit = tmp_path / "junit.xml"
    words = ["-rA", "--interpose=memcheck", "--interpose-fail=all", f"--junitxml={junit}"]
    more = ("--doctest-modules", "--continue-on-collection-errors", "test_all.py", "test_import.py")
    done = session(folder, *words, *more)
    found = outcomes(junit)
    assert done.returncode == 1, done.stdout
    assert {name: how for name, (how, _) in found.items()} == {
        "test_all": "failure",  # the doctest
        "test_import": "error",
        "test_fine": "passed",
        "test_past": "failure",
        "test_past_again": "failure",
        "test_undefined": "failure",
        "test_leak": "passed",
        "test_worker": "failure",
        "test_expected": "skipped",
        "test_two_faults": "failure",
        "test_teardown": "error",
        "test_setup": "error",
        "test_each[past_end]": "failure",
        "test_each[fine]": "passed",
        "test_each[undefined]": "failure",
        "test_old": "failure",
        "test_old_fine": "error",  # its class's end belongs to the last test
        "test_raises": "failure",
        "test_fine_again": "passed",
    }
    assert (
        f"memcheck: 1 error\nInvalid read of size 1: past_end (faulty.c:{line('past_end')})"
        in found["test_past"][1]
    )
    assert "memcheck: 2 errors\nInvalid read of size 1 (2 times): past_end" in found["test_past_again"][1]
    assert "Conditional jump or move depends on uninitialised" in found["test_undefined"][1]
    assert "memcheck: 2 errors" in found["test_worker"][1] and "memcheck: 2 errors" in found["test_all"][1]
    assert "assert 0" in found["test_two_faults"][1] and "InvalidRead" in found["test_two_faults"][1]
    assert "Invalid read of size 1" in found["test_setup"][1]
    assert "ERROR test_import.py - Invalid read of size 1" in done.stdout
    assert "Uninitialised value was created by a heap allocation" in done.stdout
    # The section of a report, the interpreter's frames cut short.
    text = done.stdout.split("_ test_past _", 1)[1]
    section = text.split("- interpose call -", 1)[1].splitlines()[1:6]
    assert section[0] == "Invalid read of size 1"
    assert re.fullmatch(r"   at 0x[0-9A-F]+: past_end \(faulty\.c:\d+\)", section[1])
    assert re.fullmatch(r"   \.\.\. \d+ more of the interpreter", section[4])
    # One leak, of the whole session.
    rest = done.stdout.split("= interpose =", 1)[1]
    assert len(re.findall("are definitely lost", rest)) == 1 and f"leak (faulty.c:{line('leak')})" in rest
    assert "1,234" in rest
    assert "are possibly lost" not in rest, "blocks of the interpreter are none of ours"


def test_with_xdist_and_a_crash(folder: Path, tmp_path: Path) -> None:
    """A second worker comes after the one that crashed."""
    pytest.importorskip("xdist")
    junit = tmp_path / "junit.xml"
    words = ("-p", "xdist.plugin", "-n", "1", "--interpose=memcheck", f"--junitxml={junit}")
    done = session(folder, *words, "test_crash.py", "test_leaks.py", malloc="pymalloc")
    assert done.returncode == 1
    found = outcomes(junit)
    assert found["test_before"][0] == "passed" and found["test_after"][0] == "failure", done.stdout
    how, text = found["test_crash"]
    assert how == "error" and "crashed while running" in text
    assert "Invalid read of size 1" in text and "Invalid write of size 4" in text and "SIGSEGV" in text
    rest = done.stdout.split("= interpose =", 1)[1]
    assert f"leak (faulty.c:{line('leak')})" in rest
    assert len(re.findall("are definitely lost", rest)) == 1
    assert found["test_leak"][0] == found["test_fine"][0] == "passed"


def test_workers_beside_each_other(folder: Path) -> None:
    pytest.importorskip("xdist")
    words = ("-p", "xdist.plugin", "-n", "2", "--interpose=none", "test_many.py", "-v")
    done = session(folder, *words)
    assert done.returncode == 0 and "[gw0]" in done.stdout and "[gw1]" in done.stdout, done.stdout


def test_a_crash_is_told_with_its_test(folder: Path) -> None:
    words = ("--interpose=memcheck", "--interpose-leaks=no", "test_crash.py")
    done = session(folder, *words, "-p", "no:faulthandler")
    assert done.returncode == 128 + signal.SIGSEGV
    assert "interpose: pytest was ended by SIGSEGV in test_crash.py::test_crash\n" in done.stderr
    assert "Invalid read of size 1\n" in done.stderr and "Access not within mapped region" in done.stderr


def test_a_session_that_ends_in_a_test_has_not_passed(folder: Path) -> None:
    done = session(folder, "--interpose=memcheck", "--interpose-leaks=no", "test_exit.py")
    assert done.returncode == 1
    assert "interpose: pytest ended with exit code 0 in test_exit.py::test_exit\n" in done.stderr
    assert "Invalid read of size 1\n" in done.stderr


def test_what_a_plugin_runs_in_another_process_is_told_with_its_test(folder: Path) -> None:
    words = ("-p", "forking", "--interpose=memcheck", "--interpose-leaks=no", "test_forked.py")
    done = session(folder, *words)
    assert done.returncode == 1
    assert "beside test_forked.py::test_past:\nInvalid read of size 1 in process" in done.stdout
    assert "test_fine:" not in done.stdout


def test_leaks_of_each_test(folder: Path, tmp_path: Path) -> None:
    """With the allocator that the user has chosen."""
    junit = tmp_path / "junit.xml"
    words = ("--interpose=memcheck", "--interpose-leaks=test", f"--junitxml={junit}", "test_leaks.py")
    done = session(folder, *words, malloc="pymalloc")
    found = outcomes(junit)
    assert (found["test_leak"][0], found["test_fine"][0]) == ("error", "passed"), done.stdout
    assert "1,234 (+1,234) bytes in 1 (+1) blocks are definitely lost" in found["test_leak"][1]
    assert done.returncode == 1


def test_nothing_fails_on_request(folder: Path) -> None:
    words = ("--interpose=memcheck", "--interpose-fail=no", "--interpose-leaks=no", "-rA")
    done = session(folder, *words, "test_all.py::test_undefined", malloc="pymalloc")
    assert done.returncode == 0 and "1 passed" in done.stdout
    assert "Conditional jump or move depends on uninitialised" in done.stdout


def test_another_tool(folder: Path) -> None:
    done = session(folder, "--interpose=none", "test_leaks.py", "-q", malloc="pymalloc")
    assert done.returncode == 0 and "2 passed" in done.stdout


def test_no_effect_without_the_option(folder: Path) -> None:
    done = session(folder, "test_plain.py", "-q", alone=False)
    assert done.returncode == 0 and "1 passed" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--interpose=memchek"], "unknown tool 'memchek'"),
        (["--interpose=memcheck", "--interpose-options=--leak-chek=no"], "Unknown option: --leak-chek=no"),
        (["--interpose=memcheck", "--interpose-leaks=often"], "invalid choice: 'often'"),
        (["--interpose=memcheck", "--interpose-options='"], "--interpose-options: No closing quotation"),
        (["--interpose=memcheck", "--interpose-options=/bin/true"], "not /bin/true"),
        (["--interpose=memcheck", "--interpose-options=--version"], "not --version"),
        (["--interpose=memcheck", "--interpose-options=--cache=show"], "not --cache=show"),
        (["--interpose=memcheck", "--interpose-options=-v --"], "not -v --"),
    ],
)
def test_what_is_wrong_is_said(words: list[str], message: str, folder: Path) -> None:
    done = session(folder, *words, "test_plain.py")
    assert done.returncode == 4 and message in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("more", [(), ("-p", "xdist.plugin", "-n", "1")])
def test_why_nothing_began_is_said(more: tuple[str, ...], folder: Path) -> None:
    """What the run itself finds wrong stands in its log, which goes with the session."""
    words = ["--interpose=memcheck", "--interpose-options=--suppressions=/nowhere", *more]
    done = session(folder, *words, "test_plain.py")
    assert done.returncode and 'FATAL: can\'t open suppressions file "/nowhere"' in done.stderr
    assert "pytest did not begin" in done.stderr or "no worker can begin" in done.stderr


def test_help_runs_nothing(folder: Path) -> None:
    done = session(folder, "--interpose=memcheck", "--help")
    assert done.returncode == 0 and "--interpose-leaks" in done.stdout


def test_a_session_that_is_killed_leaves_nothing(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "test_sleep.py").write_text(
        "import time\ndef test_it(): print('here', flush=True); time.sleep(1000)"
    )
    environ = {**os.environ, "MARK": str(tmp_path)}
    words = command("-s", "--interpose=none", "test_sleep.py")
    running = subprocess.Popen(words, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, text=True)
    while "here" not in running.stdout.readline():
        assert running.poll() is None
    running.kill()
    running.wait(30)
    running.stdout.close()
    deadline = time.monotonic() + 30
    while with_variable(str(tmp_path)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert with_variable(str(tmp_path)) == []


def with_variable(text: str) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if text.encode() in (process / "environ").read_bytes():
                found.append(process.name)
    return found


@pytest.mark.parametrize(
    "python", sorted({os.path.realpath(p) for p in (sys.executable, "/usr/bin/python3")})
)
def test_the_interpreter_itself_is_clean(python: str, tmp_path: Path) -> None:
    if not Path(python).exists():
        pytest.skip(f"{python} is not installed")
    script = (
        "import json, re, ctypes, decimal, sqlite3, hashlib, zlib, threading, subprocess, datetime, pickle\n"
        "t = threading.Thread(target=lambda: sum(range(1000))); t.start(); t.join()\n"
        "print(json.loads('[1, 2.5, \"x\"]'), re.findall('a+', 'aab'), decimal.Decimal(1) / 3)\n"
        "print(sqlite3.connect(':memory:').execute('select 1').fetchall(), zlib.crc32(b'x'))\n"
    )
    # From 3.12 on interned strings live for ever, and at the end nothing leads to them any more.
    ask = [python, "-c", "import sys; print(sys.version_info < (3, 12))"]
    leaks = "full" if subprocess.check_output(ask, text=True) == "True\n" else "no"
    words = [sys.executable, "-m", "interpose", "--tool=memcheck", f"--leak-check={leaks}"]
    words += [
        "--error-exitcode=9",
        f"--suppressions={SUPPRESSIONS}",
        f"--suppressions={LEAK_SUPPRESSIONS}",
        python,
        "-c",
        script,
    ]
    environ = {**os.environ, "PYTHONMALLOC": "malloc"}
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, env=environ)
    assert done.returncode == 0, done.stderr[-3000:]


def test_the_test_under_way() -> None:
    assert running_at("begin a.py::test_x[1 2]") == "a.py::test_x[1 2]"
    assert running_at("end a.py::test_x[1 2] setup") == "a.py::test_x[1 2]"
    assert [running_at(each) for each in ("end a.py::t teardown", "tests", "session", None)] == [None] * 4


def test_which_errors_fail() -> None:
    from interpose.formats.report import Error, Leak

    error = Error(1, 1, "InvalidRead", "w")
    definite, possible = Leak(1, 2, "Leak_DefinitelyLost", "w"), Leak(1, 3, "Leak_PossiblyLost", "w")
    decisions = {
        fail: [Settings("memcheck", fail).fails(each) for each in (error, definite, possible)]
        for fail in ("definite", "all", "no")
    }
    assert decisions == {"definite": [True, True, False], "all": [True] * 3, "no": [False] * 3}
