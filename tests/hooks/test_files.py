"""Files of hooks that cannot be used: one clear line, and the program does not start."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hooks.conftest import needs_frida

HOOK = '@interpose.wrap("NONE", "f")\n'


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("def f(:\n", "{file}:2: SyntaxError: "),
        ("\tx = (\n", "{file}:2: IndentationError: "),
        ("x = '\0'\n", "{file}"),
        ("import no_such_module\n", "{file}:2: ModuleNotFoundError: No module named 'no_such_module'"),
        ("1 // 0\n", "{file}:2: ZeroDivisionError: "),
        ("import os; os._exit(0)\n", "{file}:2: the file of hooks called exit"),
        (
            "import ctypes; ctypes.string_at(0)\n",
            "{file}: SIGSEGV (address 0x0) ended the process that runs the hooks",
        ),
        ("import os; os.abort()\n", "{file}: SIGABRT ended the process that runs the hooks"),
        ("raise SystemExit(0)\n", "{file}:2: the file of hooks called exit"),
        (
            "def f(call): pass\n",
            "{file}: no hook is in it; decorate functions with interpose.wrap or .replace",
        ),
        ("@interpose.wrap\ndef f(call): pass\n", "{file}:2: TypeError: wrap"),
        ('@interpose.wrap("NONE")\ndef f(call): pass\n', "{file}:2: TypeError: wrap"),
        (
            '@interpose.wrap("NONE", "")\ndef f(call): pass\n',
            "{file}:2: TypeError: wrap needs a soname and a function",
        ),
        (
            "@interpose.wrap(1, 2)\ndef f(call): pass\n",
            "{file}:2: TypeError: wrap takes the soname and the function",
        ),
        (
            '@interpose.wrap("NONE", "f", tag=10000)\ndef f(call): pass\n',
            "{file}:2: TypeError: class tag 10000 is not",
        ),
        (
            '@interpose.wrap("NONE", "f", priority=1)\ndef f(call): pass\n',
            "{file}:2: TypeError: class tag 0000 demands",
        ),
        ('@interpose.wrap("NONE", "vfork")\ndef f(call): pass\n', "{file}:2: TypeError: vfork returns twice"),
        (
            '@interpose.wrap("NONE", "setjmp")\ndef f(call): pass\n',
            "{file}:2: TypeError: setjmp returns twice",
        ),
        (HOOK + "class f: pass\n", "{file}:2: TypeError: wrap decorates functions, not type"),
        (HOOK + "async def f(call): pass\n", "{file}:2: TypeError: f must be a plain function"),
        (HOOK + "def f(call): yield\n", "{file}:2: TypeError: f must be a plain function"),
        (HOOK + "def f(): pass\n", "{file}:2: TypeError: f: its first parameter must be the call"),
        (HOOK + "def f(call, *args): pass\n", "{file}:2: TypeError: f: parameter args must be a plain one"),
        (HOOK + "def f(call, a=1): pass\n", "{file}:2: TypeError: f: parameter a must not have a default"),
        (
            HOOK + "def f(call, a: list): pass\n",
            "{file}:2: TypeError: f: the annotation of a is no type of C's",
        ),
        (
            HOOK + "def f(call) -> dict: pass\n",
            "{file}:2: TypeError: f: the annotation of the result is no type",
        ),
        (
            HOOK + "def f(call, a: 'Nothing'): pass\n",
            "{file}:2: TypeError: f: an annotation cannot be understood",
        ),
        (
            HOOK + "def f(call, a: interpose.NoSuch): pass\n",
            "{file}:3: AttributeError: module 'interpose' has no",
        ),
        (
            "interpose.wrap('NONE', '\\ud800')\n",
            "{file}:2: TypeError: no object or function can have the name \\ud800",
        ),
        ("raise ValueError('\\ud800')\n", "{file}:2: ValueError: \\ud800"),
        (
            HOOK + "def f(call, a: interpose.PointerTo[int]): pass\n",
            "{file}:3: TypeError: PointerTo takes a structure",
        ),
    ],
)
def test_mistakes(text, line, tmp_path):
    file = tmp_path / "wrong.py"
    file.write_text("import interpose\n" + text)
    command = [sys.executable, "-m", "interpose", "--tool=none", f"--hooks={file}", "/bin/echo", "started"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert (run.stdout, run.returncode) == ("", 1)
    assert run.stderr.count("\n") == 1, run.stderr
    if sys.version_info < (3, 11) and text.startswith("@"):  # told at the function, not its decorator
        run.stderr = run.stderr.replace(f"{file}:3: TypeError: ", f"{file}:2: TypeError: ")
        line = line.replace(":3: TypeError", ":2: TypeError")
    if sys.version_info >= (3, 14):  # annotations are evaluated when the decorator asks for them
        told = ":2: TypeError: f: an annotation cannot be understood: "
        line = re.sub(r":3: \w+Error: ", told, line)
    assert run.stderr.startswith("interpose: " + line.format(file=file)), run.stderr


def test_files_that_are_not_there(tmp_path):
    for name, why in (("none.py", "No such file or directory"), (".", "Is a directory")):
        command = [
            sys.executable,
            "-m",
            "interpose",
            "--tool=none",
            f"--hooks={name}",
            "/bin/echo",
            "started",
        ]
        run = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
        assert (run.stdout, run.returncode) == ("", 1)
        assert run.stderr == f"interpose: {name}: cannot read the hooks: {why}\n"


def test_several_files_and_what_they_import(tmp_path, build: Callable[..., Path]):
    (tmp_path / "common.py").write_text("TEXT = 'shared'\n")
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text(
            "import interpose, common\nprint('loading', __name__ != '__main__')\n"
            f"@interpose.wrap('NONE', '{'takes' if name == 'one' else 'calls'}')\n"
            f"def f(call, n: int) -> int:\n    print('{name}', common.TEXT, n)\n    return call(n)\n"
        )
    program = build("errors.c")
    for options in (["--hooks=one.py,two.py"], ["--hooks=one.py", "--hooks=two.py"]):
        command = [sys.executable, "-m", "interpose", "--tool=none", "-q", *options, str(program)]
        run = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
        said = [line.split(" ", 1)[1] for line in run.stderr.splitlines()]
        assert said[:2] == ["loading True", "loading True"]
        assert said[3:] == ["two shared 1", "one shared 1"], run.stderr


def test_decorator_elsewhere_says_where_it_belongs():
    code = "import interpose\ninterpose.wrap('a', 'b')"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (
        "interpose.wrap is for files that --hooks names; elsewhere use interpose.Registry().wrap"
        in run.stderr
    )


def test_the_package_loads_nothing_of_hooks_by_itself():
    code = "import sys, interpose.cli; print([m for m in sys.modules if 'hooks' in m or 'inspect' in m])"
    # Without what a site's own .pth files load.
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, timeout=60, env=env
    )
    assert run.stdout == "[]\n", run.stderr


@needs_frida
def test_mistakes_are_the_same_under_the_native_engine(tmp_path):
    file = tmp_path / "wrong.py"
    for text, line in (
        ("[][0]\n", f"interpose: {file}:1: IndexError: list index out of range\n"),
        (
            "x = 1\n",
            f"interpose: {file}: no hook is in it; decorate functions with interpose.wrap or .replace\n",
        ),
        ("import os; os._exit(0)\n", f"interpose: {file}:1: the file of hooks called exit\n"),
        (
            "import os; os.abort()\n",
            f"interpose: {file}: SIGABRT ended the process that runs the hooks\n",
        ),
    ):
        file.write_text(text)
        command = [
            sys.executable,
            "-m",
            "interpose",
            "--engine=native",
            f"--hooks={file}",
            "/bin/echo",
            "started",
        ]
        run = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
        assert (run.stdout, run.stderr, run.returncode) == ("", line, 1)
