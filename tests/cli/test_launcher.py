"""The command: what it does itself, what it leaves to Python, and how it fails."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import _cffi_backend
import pytest
from elftools.elf.elffile import ELFFile

import interpose
from interpose import launched
from interpose.jit._native import lib

from .launcher import REAL, built, place, script

NO_PYTHON = "interpose-python or the Python that it names cannot be executed: No such file or directory\n"
WHO = re.compile("^==[0-9]+==", re.MULTILINE)
SHOW = "import sys\nprint(sys.flags.no_site, sys.argv)\n"


@pytest.fixture
def command(tmp_path) -> Path:
    return place(tmp_path, script())


def run(*words: str | Path, **more) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=60, **more)


def test_it_needs_nobody():
    with open(built(), "rb") as file:
        elf = ELFFile(file)
        assert not [s for s in elf.iter_segments() if s["p_type"] in ("PT_INTERP", "PT_DYNAMIC")]
        symbols = elf.get_section_by_name(".symtab")
        assert symbols is not None
        assert not [s.name for s in symbols.iter_symbols() if s["st_shndx"] == "SHN_UNDEF" and s.name]


def test_its_constants_are_those_of_the_launcher():
    assert (launched.AGAIN, launched.END) == (lib.IP_LAUNCH_AGAIN, lib.IP_LAUNCH_END)
    assert launched.HIDDEN.encode() in built().read_bytes() and f'"{launched.HIDDEN}PYTHONPATH"' in script()
    assert lib.IP_TOLD not in (lib.IP_LAUNCH_READY, lib.IP_LAUNCH_AGAIN, lib.IP_LAUNCH_END)


def test_program_is_as_natively(command):
    shown = run(
        command, "--tool=none", "-q", "sh", "-c", "echo $PPID $0 $*; cat; exit 5", "a", "b c", input="in"
    )
    assert (shown.returncode, shown.stdout, shown.stderr) == (5, f"{os.getpid()} a b c\nin", "")


def test_standard_input_may_be_a_folder(command, tmp_path):
    """Python itself does not start then."""
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        shown = run(command, "--tool=none", "-q", "sh", "-c", "readlink /proc/self/fd/0", stdin=folder)
    finally:
        os.close(folder)
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, f"{tmp_path}\n", "")


def test_report_is_the_same(command, tmp_path):
    source = tmp_path / "p.c"
    source.write_text(
        "#include <stdlib.h>\nint main(int n, char **v) { char *p = malloc(3); return p[2 + n]; }\n"
    )
    subprocess.run(["gcc", "-g", str(source), "-o", str(tmp_path / "p")], check=True)
    ours, python = (
        run(*start, "--error-exitcode=9", "--log-fd=1", "-q", tmp_path / "p")
        for start in ([command], [sys.executable, "-m", "interpose"])
    )
    assert ours.returncode == python.returncode == 9
    assert "Invalid read of size 1" in ours.stdout
    assert [line.split("==")[2] for line in ours.stdout.splitlines()] == [
        line.split("==")[2] for line in python.stdout.splitlines()
    ]


def test_ignored_signals_stay_ignored(command):
    """Python would have SIGPIPE as it likes it: nobody would know how it was."""
    show = ["--tool=none", "-q", "grep", "SigIgn", "/proc/self/status"]
    ignored = run(command, *show, preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN))
    usual = run(command, *show, preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
    masks = [int(shown.stdout.split()[1], 16) for shown in (ignored, usual)]
    assert [mask >> (signal.SIGPIPE - 1) & 1 for mask in masks] == [1, 0]


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["--tool=none", "./nosuch"], 127, "interpose: ./nosuch: No such file or directory\n"),
        (["--tool=none", "/etc/passwd"], 126, "interpose: /etc/passwd: Permission denied\n"),
        (["--no-such-option", "true"], 1, "interpose: Unknown option: --no-such-option\n"),
        (["--tool=none", "--log-file=/nosuch/x", "true"], 1, "/nosuch/x"),
        (["--suppressions=/nosuch/x", "true"], 1, "/nosuch/x"),
    ],
)
def test_errors_are_told_once(command, words, code, text):
    shown = run(command, *words)
    assert shown.returncode == code
    assert shown.stderr.count(text) == 1 and "killed" not in shown.stderr
    other = run(sys.executable, "-m", "interpose", *words)
    assert WHO.sub("", shown.stderr) == WHO.sub("", other.stderr)


@pytest.mark.parametrize(
    "words", [["--version"], ["--help"], [], ["--tool=none", "--help", "true"], ["--cache=show", "-q"]]
)
def test_what_is_no_run(command, words):
    ours, python = run(command, *words), run(sys.executable, "-m", "interpose", *words)
    assert (ours.returncode, ours.stdout, ours.stderr) == (python.returncode, python.stdout, python.stderr)


def test_what_is_no_run_has_the_users_process(command, tmp_path):
    """An editor's adapter talks over standard input, and Ctrl-C reaches it."""
    request = b'{"seq":1,"type":"request","command":"disconnect"}'
    message = b"Content-Length: %d\r\n\r\n%s" % (len(request), request)
    words = [str(command), "--tool=none", "--dap"]
    talk = subprocess.run(words, input=message, capture_output=True, timeout=60)
    assert b'"disconnect"' in talk.stdout and talk.returncode == 0


def test_a_link_of_another_name_is_that_name(command, tmp_path):
    (tmp_path / "valgrind").symlink_to(command)
    assert run(tmp_path / "valgrind", "--version").stdout.startswith("valgrind-3.")
    found = run("valgrind", "-v", "--version", env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert found.stdout.startswith("valgrind-3.")


def test_python_is_spared_site(command):
    """Where pip puts it, all is found without."""
    packages = (
        command.parents[1] / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    )
    packages.mkdir(parents=True)
    for file in (interpose.__file__, _cffi_backend.__file__):
        path = Path(file).parent if file.endswith("__init__.py") else Path(file)
        (packages / path.name).symlink_to(path)
    python = command.with_name("python-telling")
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -X importtime "$@"\n')
    python.chmod(0o755)
    command.with_name(REAL).write_text(f"#!{python}\n{script()}")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    seen = run(command, "--tool=none", "-q", "true", env=environ).stderr.splitlines()
    names = [line.rpartition("|")[2].strip() for line in seen]
    assert "interpose.supervisor.main" in names and "site" not in names


@pytest.mark.parametrize("words", [["--tool=none", "-q", "/usr/bin/env"], ["--help"]])
def test_variables_for_python_are_the_programs(command, words):
    """Ours would not start with these, or show what it does."""
    ours = {"PYTHONHOME": "/nosuch", "PYTHONVERBOSE": "2", "PYTHONHASHSEED": "x", "PYTHONPLATLIBDIR": "x"}
    plain, shown = (run(command, *words, env={**os.environ, **more}) for more in ({}, ours))
    assert (shown.returncode, shown.stderr) == (plain.returncode, plain.stderr) == (0, "")
    more = set(shown.stdout.splitlines()) - set(plain.stdout.splitlines())
    assert more == ({f"{name}={value}" for name, value in ours.items()} if "-q" in words else set())


def test_modules_of_the_programs_python_are_not_ours(command, tmp_path):
    """Hooks find theirs there, behind Python's own."""
    for name in ("os", "encodings", "selectors", "struct", "codecs"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(99)\n")
    (tmp_path / "of_hooks.py").write_text("WORD = 'found'\n")
    (tmp_path / "hooks.py").write_text(
        "import struct, interpose, of_hooks\n"
        "@interpose.wrap('*', 'getppid')\n"
        "def of_getppid(call):\n    print(of_hooks.WORD)\n    return call()\n"
    )
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    words = [command, "--tool=none", "-q", f"--hooks={tmp_path / 'hooks.py'}", "sh", "-c", "echo $PYTHONPATH"]
    shown = run(*words, env={**os.environ, "PYTHONPATH": path})
    assert (shown.returncode, shown.stdout) == (0, f"{path}\n")
    assert shown.stderr.endswith("found\n")


def test_python_is_spared_what_is_preloaded(command, tmp_path):
    """An allocator that has no more than a program needs; the dynamic linker's messages."""
    source = tmp_path / "small.c"
    source.write_text(
        """#include <stddef.h>
        #include <unistd.h>
        static char room[1 << 18];
        static size_t used;
        void *malloc(size_t n) {
            n = (n + 15) & -16ul;
            return n > sizeof room - used ? NULL : &room[(used += n) - n];
        }
        void *calloc(size_t a, size_t b) { return malloc(a * b); }
        void *realloc(void *p, size_t n) { return p ? NULL : malloc(n); }
        void free(void *p) {}
        __attribute__((constructor)) static void say(void) { write(1, "here\\n", 5); }
        """
    )
    library = tmp_path / "small.so"
    subprocess.run(["gcc", "-w", "-shared", "-fPIC", source, "-o", library], check=True)
    environment = {**os.environ, "LD_PRELOAD": str(library), "LD_LIBRARY_PATH": "/x", "LD_OF": "a"}
    shown = run(command, "--tool=none", f"--log-file={tmp_path}/%q{{LD_OF}}", "/usr/bin/env", env=environment)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.startswith("here\n") and shown.stdout.count("here\n") == 1
    variables = [line for line in shown.stdout.splitlines() if "LD_" in line]
    assert sorted(variables) == ["LD_LIBRARY_PATH=/x", "LD_OF=a", f"LD_PRELOAD={library}"]
    assert (tmp_path / "a").read_text()

    tracing = {**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"}
    listed, natively = (
        [line.split()[0] for line in run(*words, "/usr/bin/env", env=tracing).stdout.splitlines()]
        for words in ([command, "--tool=none", "-q"], [])
    )
    assert listed == natively and "libc.so.6" in listed


def test_hooks_have_site(command, tmp_path):
    hooks = tmp_path / "hooks.py"
    hooks.write_text(
        "import sys, cffi, interpose\n"
        "print('site' in sys.modules, quit.__class__.__name__, cffi.__name__, file=sys.stderr)\n"
        "@interpose.wrap('nosuch*', 'nosuch')\ndef hook(call): pass\n"
    )
    shown = run(command, "--tool=none", "-q", f"--hooks={hooks}", "true")
    assert (shown.returncode, WHO.sub("", shown.stderr.replace("**", "=="))) == (0, " True Quitter cffi\n")


@pytest.mark.parametrize("interpreter", ["/bin/sh", "/usr/bin/env python3", "nosuch/python3"])
def test_another_first_line_is_the_kernels(tmp_path, interpreter):
    """Nothing but a plain Python is started in its way."""
    text = "exec echo shell $*\n" if interpreter == "/bin/sh" else SHOW
    command = place(tmp_path, text, interpreter)
    shown = run(command, "a", "b")
    if interpreter == "/bin/sh":
        assert shown.stdout == "shell a b\n"
    elif interpreter.startswith("nosuch"):
        assert shown.returncode == 1 and shown.stderr.endswith(NO_PYTHON)
    else:
        assert shown.stdout == f"0 {[str(command.with_name(REAL)), 'a', 'b']}\n"


def test_interpreter_with_spaces_and_a_long_name(tmp_path):
    """The kernel would not execute the script."""
    folder = tmp_path / "a b" / ("long" * 60) / "bin"
    folder.mkdir(parents=True)
    (folder / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (folder / "python3").chmod(0o755)
    command = place(tmp_path, script(), str(folder / "python3"))
    assert run(command, "--tool=none", "-q", "echo", "hi").stdout == "hi\n"
    assert run(command, "--version").stdout.startswith("interpose-")


def test_python_that_is_gone(tmp_path):
    command = place(tmp_path, SHOW, str(tmp_path / "python3"))
    shown = run(command, "a", "b")
    assert shown.returncode == 1
    assert shown.stderr.endswith(NO_PYTHON)


def test_script_that_is_gone(command):
    command.with_name(REAL).unlink()
    shown = run(command, "true", "a")
    assert shown.returncode == 1
    assert shown.stderr.endswith("interpose-python cannot be read: No such file or directory\n")


def test_python_that_ends_without_a_word(tmp_path):
    shown = run(place(tmp_path, "raise SystemExit(3)\n"), "true", "a")
    assert shown.returncode == 1
    assert shown.stderr == "interpose: the supervisor process ended before it was ready (killed?)\n"


def test_killed_launcher_leaves_nobody(tmp_path):
    """The supervisor hears of it when it answers."""
    text = (
        "import os, signal, sys\n"
        "os.kill(int(sys.argv[3]), signal.SIGKILL)\n"
        "while os.getppid() != os.getpid() and os.path.exists(f'/proc/{sys.argv[3]}/fd/1'): pass\n"
    )
    command = place(tmp_path, text + script())
    process = subprocess.Popen(
        [str(command), "--tool=none", "-q", "true"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    out, _ = process.communicate(timeout=60)  # until nobody has its output any more
    assert (process.returncode, out) == (-signal.SIGKILL, b"")


def test_interrupts_while_python_starts_end_it_without_a_word(command):
    for delay in range(0, 40, 2):
        process = subprocess.Popen(
            [str(command), "--tool=none", "-q", "sleep", "20"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        time.sleep(delay / 1000)
        os.killpg(process.pid, signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        assert (process.returncode, out) == (-signal.SIGINT, b""), delay


def test_runtime_that_cannot_be_executed(tmp_path):
    text = script().replace(
        "entry()\n", "from interpose import paths\npaths.runtime = lambda tool: '/etc/passwd'\nentry()\n"
    )
    shown = run(place(tmp_path, text), "--tool=none", "-q", "true")
    assert (shown.returncode, shown.stderr) == (
        1,
        "interpose: cannot execute /etc/passwd: Permission denied\n",
    )


def test_many_and_long_words(command):
    words = ["w" * 1000, "", "ö", *map(str, range(20000))]
    shown = run(command, "--tool=none", "-q", "sh", "-c", "echo $# $2 ${1#??}; echo ${20002}", "sh", *words)
    assert shown.stdout == f"{len(words)} {'w' * 998}\n19998\n"


def test_banner_before_an_error_names_the_parent(command, tmp_path):
    """The process that writes it is a child of nobody's by then."""
    log = tmp_path / "log"
    shown = run(command, "--suppressions=/nosuch/x", f"--log-file={log}", "true")
    assert shown.returncode == 1 and f" Parent PID: {os.getpid()}\n" in log.read_text()
