"""Either side dies while a hook runs or waits."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from hooks.conftest import NATIVE, ON_CPU


def start(
    tmp_path: Path, program: Path, hooks: str, *words: str, tool: str = "none"
) -> subprocess.Popen[str]:
    (tmp_path / "hooks.py").write_text("import interpose, os\n" + hooks)
    engine = "--engine=native" if tool == NATIVE else f"--tool={tool}"
    command = [sys.executable, "-m", "interpose", engine, "-q", f"--hooks={tmp_path}/hooks.py"]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*command, str(program), *words], stdout=pipe, stderr=pipe, text=True, cwd=tmp_path
    )


def wait_for(path: Path) -> str:
    end = time.monotonic() + 60
    while not path.exists() or not path.read_text():
        assert time.monotonic() < end, "the hook did not begin"
        time.sleep(0.02)
    return path.read_text()


def is_gone(pid: int, seconds: float = 30) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("tool", ["none", ON_CPU])
def test_child_that_a_hook_forks_answers_nobody(tool, build, hooked):
    """It ends where it would go on with the program's call."""
    run = hooked(
        build("leaf.c"),
        """
        import os
        @interpose.wrap("NONE", "leaf")
        def leaf(call, n: int) -> int:
            child = os.fork()
            if child == 0 and n == 5:
                return 99
            if child == 0:
                call(n)
            return 100 + os.waitpid(child, 0)[1]
        """,
        tool=tool,
    )
    assert (run.out, run.err, run.code) == ("100 0\n", "", 0)


@pytest.mark.parametrize("tool", ["none", ON_CPU])
@pytest.mark.parametrize("body", ["while True: pass", "import time; time.sleep(10000)"])
def test_program_is_killed_while_its_hook_computes(tool, body, build, tmp_path):
    """The supervisor does not stay for a hook that nobody waits for."""
    hooks = f"""
@interpose.wrap("NONE", "work")
def work(call, n: int) -> int:
    open("{tmp_path}/pid", "w").write(str(os.getpid()))
    {body}
"""
    flow = build("flow.cc", "-pthread", "-fcf-protection=none")
    program = start(tmp_path, flow, hooks, "exec", tool=tool)
    supervisor = int(wait_for(tmp_path / "pid"))
    program.kill()
    program.communicate(timeout=60)
    assert is_gone(supervisor)


def test_supervisor_is_killed_in_a_hook(build, tmp_path):
    hooks = """
@interpose.wrap("NONE", "work")
def work(call, n: int) -> int:
    os.kill(os.getpid(), 9)
"""
    program = start(tmp_path, build("flow.cc", "-pthread", "-fcf-protection=none"), hooks, "exec")
    _, err = program.communicate(timeout=60)
    assert (program.returncode, err) == (
        1,
        "interpose: the supervisor is gone (killed?); the program cannot go on\n",
    )


@pytest.mark.parametrize("tool", ["none", ON_CPU])
def test_other_threads_go_on_while_one_is_in_a_hook(tool, build, tmp_path):
    """A hook of one thread waits for what another thread does."""
    (tmp_path / "two.c").write_text(
        "#include <pthread.h>\n#include <stdio.h>\n#include <unistd.h>\n"
        "volatile int turns;\n__attribute__((noipa)) int waits(volatile int *p) { return *p; }\n"
        "static void *count(void *a) { for (;;) turns++; }\n"
        "int main(void) { pthread_t t; pthread_create(&t, 0, count, 0); while (!turns);\n"
        '    printf("%d\\n", waits(&turns) > 1000); fflush(stdout); _exit(0); }\n'
    )
    flags = ["-O1", "-w", "-falign-functions=16", "-pthread"]
    subprocess.run(["gcc", *flags, "two.c", "-o", "two"], cwd=tmp_path, check=True)
    hooks = """
import time
@interpose.wrap("NONE", "waits")
def waits(call, p: interpose.Pointer) -> int:
    first = call.memory.load(p, int)
    while abs(call.memory.load(p, int) - first) < 100000:
        time.sleep(0.001)
    return call(p)
"""
    program = start(tmp_path, tmp_path / "two", hooks, tool=tool)
    out, err = program.communicate(timeout=60)
    assert (out, err, program.returncode) == ("1\n", "", 0)


def test_forged_requests_of_a_program_change_nothing(build, tmp_path):
    """The stubs' request made by somebody else, with any numbers, is answered with 0."""
    (tmp_path / "forged.c").write_text(
        "#include <stdio.h>\n#include <string.h>\n#include <valgrind/valgrind.h>\n"
        "int main(void) { static unsigned long frame[64]; unsigned long bad = 0;\n"
        "  for (int i = 0; i < 3000; i++) {\n"
        "    for (int w = 0; w < 64; w++) frame[w] = i % 3 ? 0x9e3779b97f4a7c15ul * (i * 64 + w) : w % 4;\n"
        "    frame[3] = i % 5; unsigned long at = i % 7 == 0 ? i * 0x123456789ul : (unsigned long)frame;\n"
        "    bad |= VALGRIND_DO_CLIENT_REQUEST_EXPR(9, 0x3201, at, frame[2], frame[3], 4, 5); }\n"
        '  printf("%lu\\n", bad); return 0; }\n'
    )
    subprocess.run(["gcc", "-O1", "-w", "forged.c", "-o", "forged"], cwd=tmp_path, check=True)
    program = start(tmp_path, tmp_path / "forged", "@interpose.wrap('NONE', 'x')\ndef x(call): pass\n")
    out, err = program.communicate(timeout=60)
    assert (out, err, program.returncode) == ("0\n", "", 0)


CRASHES = [
    pytest.param("__import__('ctypes').string_at(0)", "SIGSEGV (address 0x0)", id="access"),
    pytest.param("os.abort()", "SIGABRT", id="abort"),
]


@pytest.mark.parametrize("engine", ["none", ON_CPU])
@pytest.mark.parametrize(("crash", "signal_text"), CRASHES)
def test_hook_that_crashes(engine, crash, signal_text, build, tmp_path):
    """One line names the hook; on the real CPU the program goes on."""
    hooks = f"@interpose.wrap('NONE', 'leaf')\ndef leaf(call, n: int) -> int:\n    {crash}\n"
    program = start(tmp_path, build("leaf.c"), hooks, tool=engine)
    out, err = program.communicate(timeout=60)
    line = (
        f"interpose: hook leaf ({tmp_path}/hooks.py:2): {signal_text} ended the process that runs the hooks"
    )
    assert err.splitlines()[0] == line
    if engine == NATIVE:
        native = subprocess.run([build("leaf.c")], capture_output=True, text=True)
        assert (out, program.returncode) == (native.stdout, native.returncode)
    else:
        assert (out, err, program.returncode) == ("", f"{line}\n", 1)


@pytest.mark.parametrize("tool", ["none", ON_CPU])
@pytest.mark.parametrize("end", ["os._exit(3)", "raise SystemExit(3)"])
def test_hook_that_exits(tool, end, build, hooked):
    """The process is not the hook's to end: an exception like others, also behind a name of its own."""
    run = hooked(
        build("leaf.c"),
        f"""
        import os
        from os import _exit
        @interpose.wrap("NONE", "leaf")
        def leaf(call, n: int) -> int:
            child = os.fork()
            if child == 0:
                _exit(7)
            print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            {end}
        """,
        tool=tool,
    )
    native = subprocess.run([build("leaf.c")], capture_output=True, text=True)
    assert (run.out, run.code) == (native.stdout, native.returncode), run.err
    assert set(run.said) == {"child 7"}
    assert {line.strip() for line in run.log if "SystemExit" in line} >= {"SystemExit: 3"}
    assert "goes on with the original's result" in run.log[0]


@pytest.mark.parametrize("engine", ["none", ON_CPU])
@pytest.mark.parametrize("body", ["while True: pass", "__import__('time').sleep(10000)"])
def test_launch_is_killed_while_hooks_are_loaded(engine, body, build, tmp_path):
    """What the user's code takes its time for, nobody waits for any more."""
    program = start(
        tmp_path, build("leaf.c"), f"open('pid', 'w').write(str(os.getpid()))\n{body}\n", tool=engine
    )
    supervisor = int(wait_for(tmp_path / "pid"))
    program.kill()
    out, err = program.communicate(timeout=60)  # nobody keeps the output open
    assert (out, err) == ("", "")
    assert is_gone(supervisor)
