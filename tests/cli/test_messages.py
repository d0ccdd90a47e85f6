"""Bad input from outside: one clear text on stderr, the right exit code, nothing on stdout, no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from interpose import tools

TOOLS = ", ".join(tools.names())
HINT = "interpose: Use --help for more information or consult the user manual.\n"


def interpose(*words: str, **more) -> subprocess.CompletedProcess[str]:
    """Run the command; not in the checkout, which ``-m`` would prefer to the installed package."""
    command = [sys.executable, "-m", "interpose", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd="/", **more)


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        ([], 1, "interpose: no program specified\n" + HINT),
        (["-q"], 1, "interpose: no program specified\n" + HINT),
        (["--zork", "true"], 1, "interpose: Unknown option: --zork\n" + HINT),
        (["--tool=zork", "true"], 1, f"interpose: unknown tool 'zork'; the tools are: {TOOLS}\n"),
        (["/nonexistent"], 127, "interpose: /nonexistent: No such file or directory\n"),
        (["no-such-program"], 127, "interpose: no-such-program: command not found\n"),
        (["/etc"], 126, "interpose: /etc: is a directory\n"),
        (["/etc/passwd"], 126, "interpose: /etc/passwd: Permission denied\n"),
        (
            ["--wrappers=/nonexistent.so", "true"],
            1,
            "interpose: Bad option: --wrappers=/nonexistent.so\n"
            "interpose: --engine=native and --attach load wrappers; "
            "otherwise, LD_PRELOAD does (docs/wrapping.md)\n" + HINT,
        ),
        (
            ["--log-file=/nonexistent/x", "true"],
            1,
            "interpose: Cannot create log file '/nonexistent/x': No such file or directory\n",
        ),
    ],
)
def test_bad_input(words, code, text):
    run = interpose(*words)
    assert (run.returncode, run.stdout, run.stderr) == (code, "", text)


@pytest.mark.parametrize(("number", "closed"), [(999, None), (0, 0), (1, 1)])
def test_a_closed_descriptor_for_the_log_is_replaced_by_standard_error(number, closed):
    """As under Valgrind 3.19, whose other words these are."""
    run = interpose(
        *("-q", f"--log-fd={number}", "sh", "-c", "exit 3"),
        preexec_fn=None if closed is None else lambda: os.close(closed),
    )
    assert (run.returncode, run.stdout) == (3, "")
    (line,) = run.stderr.splitlines()
    assert line.endswith("== Interpose: failed to move log file descriptor into safe range, using stderr")


def test_the_program_is_not_run_when_the_log_cannot_be_written(tmp_path):
    run = interpose("--log-file=/nonexistent/x", "touch", str(tmp_path / "x"))
    assert run.returncode == 1
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("word", ["-h", "--help", "--help-debug", "--help-dyn-options"])
def test_help_goes_to_standard_output(word):
    run = interpose(word)
    assert (run.returncode, run.stderr) == (0, "")
    assert "--leak-check" in run.stdout
    assert interpose("--tool=none", word).stdout.find("--leak-check") < 0


def test_version():
    run = interpose("--version")
    assert (run.returncode, run.stdout, run.stderr) == (0, "interpose-0.1.0\n", "")


@pytest.mark.parametrize(
    ("name", "words", "line"),
    [
        ("valgrind", [], "valgrind-3.27.1"),
        ("valgrind", ["-v"], "valgrind-3.27.1-interpose-0.1.0"),
        ("valgrind-ours", [], "valgrind-3.27.1"),
        ("memcheck", ["-v"], "interpose-0.1.0"),
    ],
)
def test_version_under_the_name_of_valgrind(tmp_path: Path, name: str, words: list[str], line: str) -> None:
    """Scripts that find a `valgrind` in PATH choose its options by the number in this line."""
    command = tmp_path / name
    command.write_text(f"#!{sys.executable}\nfrom interpose.__main__ import entry\nentry()\n")
    command.chmod(0o755)
    run = subprocess.run([command, *words, "--version"], capture_output=True, text=True, timeout=60, cwd="/")
    assert (run.returncode, run.stdout, run.stderr) == (0, f"{line}\n", "")


def test_version_is_the_packages():
    from importlib.metadata import PackageNotFoundError, version

    import interpose as package

    assert interpose("--version").stdout == f"interpose-{package.__version__}\n"
    try:
        assert version("interpose") == package.__version__
    except PackageNotFoundError:
        pytest.skip("the package is not installed; the source tree runs")


def test_closed_output_makes_no_noise():
    import os

    read, write = os.pipe()
    os.close(read)
    run = subprocess.run(
        [sys.executable, "-m", "interpose", "--help"],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        cwd="/",
    )
    os.close(write)
    assert run.stderr == ""


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ("sys.version_info = (3, 9, 2)", "Python 3.10 or newer is needed; this is 3.9.2 ("),
        (
            "sys.modules['interpose.jit._native'] = None",
            "the package was not built for this Python; this is ",
        ),
    ],
)
def test_wrong_python(change, text):
    code = f"import sys; from interpose import cli; {change}; cli.entry()"
    run = subprocess.run([sys.executable, "-c", code, "/bin/true"], capture_output=True, text=True, cwd="/")
    assert run.returncode == 1
    assert run.stderr.startswith(f"interpose: {text}")
    assert run.stderr.count("\n") == 1


def test_the_script_for_gdb_is_a_file_of_python():
    done = interpose("--gdb-script")
    assert done.returncode == 0 and done.stderr == ""
    with open(done.stdout.strip()) as file:
        compile(file.read(), done.stdout.strip(), "exec")
