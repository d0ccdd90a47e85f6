"""``--multi``: gdb's run starts programs under interpose, one after the other; nothing is left."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time

import pytest
from vgdb.running import OURS, TIMEOUT, compile_guest

pytestmark = pytest.mark.skipif(not shutil.which("gdb"), reason="needs gdb")


def gdb(folder, program, *commands: str) -> str:
    relay = " ".join([*OURS, f"--vgdb-prefix={folder}/p", "--multi", "--vargs", "-q", "--tool=none"])
    setup = ("set pagination off", "set confirm off", f"target extended-remote | {relay}")
    words = ["gdb", "-nx", "-batch"]
    for command in (*setup, f"set remote exec-file {program}", *commands):
        words += ["-ex", command]
    done = subprocess.run([*words, str(program)], capture_output=True, text=True, timeout=TIMEOUT)
    return done.stdout + done.stderr


def nobody_is_left(folder) -> bool:
    return not list(folder.glob("p-*"))


def settles(condition) -> None:
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_runs_kills_and_runs_again(leaky, tmp_path) -> None:
    said = gdb(tmp_path, leaky, "break lose", "run", "bt", "kill", "run", "print 6*7", "info threads")
    assert said.count("Breakpoint 1, lose") == 2
    assert "killed]" in said and "$1 = 42" in said and "Thread " in said
    settles(lambda: nobody_is_left(tmp_path))


def test_words_with_blanks_and_quotes_arrive(tmp_path) -> None:
    source, program = tmp_path / "shows.c", tmp_path / "shows"
    source.write_text(
        "#include <stdio.h>\nint main(int c, char **v) {\n"
        'for (int i = 1; i < c; i++) printf("[%s]", v[i]);\nfflush(stdout); return c; }\n'
    )
    subprocess.run(["gcc", "-g", "-w", str(source), "-o", str(program)], check=True, timeout=TIMEOUT)
    words = """set args "a b" 'c d' e\\ f "it's" '"' $HOME *.nothing "" x\\\\y"""
    said = gdb(tmp_path, program, words, "run", "run", "run one")
    assert said.count("""[a b][c d][e f][it's]["][$HOME][*.nothing][][x\\y]""") == 2
    assert said.count("exited with code 012]") == 2
    assert "[one]" in said and "exited with code 02]" in said


@pytest.fixture(scope="module")
def outlives(tmp_path_factory):
    return compile_guest(tmp_path_factory.mktemp("outlives"), "outlives")


FOLLOWS = ("set follow-fork-mode child", "break late")


def test_a_child_is_followed(outlives, tmp_path) -> None:
    """Its parent has ended long before, and was not what gdb wants to know about."""
    said = gdb(
        tmp_path, outlives, *FOLLOWS, "catch fork", "run", "continue", "bt", "continue", "run", "continue"
    )
    assert said.count("Catchpoint 2 (forked process") == 2
    assert said.count("hit Breakpoint 1, late") == 2 and "in main" in said
    assert said.count("exited with code 03]") == 1
    settles(lambda: nobody_is_left(tmp_path))


def test_parent_and_child_are_debugged(outlives, tmp_path) -> None:
    both = ("set detach-on-fork off", "set schedule-multiple on")
    said = gdb(
        tmp_path, outlives, *both, "break late", "run", "inferior 2", "continue", "continue", "info inferiors"
    )
    assert "exited with code 04]" in said
    assert "hit Breakpoint 1.2, late" in said and "exited with code 03]" in said
    settles(lambda: nobody_is_left(tmp_path))


def test_arguments_environment_and_folder_arrive(tmp_path) -> None:
    source, program = tmp_path / "shows.c", tmp_path / "shows"
    source.write_text(
        "#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
        "int main(int c, char **v) { char d[999]; getcwd(d, 999);\n"
        'printf("[%s] [%s] %s\\n", v[1], getenv("SHOWN"), d); fflush(stdout); return 5; }\n'
    )
    subprocess.run(["gcc", "-g", "-w", str(source), "-o", str(program)], check=True, timeout=TIMEOUT)
    inner = tmp_path / "inner"
    inner.mkdir()
    said = gdb(tmp_path, program, "set env SHOWN yes", f"set cwd {inner}", "set args one", "run")
    assert f"[one] [yes] {inner}" in said
    assert "exited with code 05" in said
    settles(lambda: nobody_is_left(tmp_path))


def test_a_program_that_is_none_is_told(tmp_path) -> None:
    missing = tmp_path / "missing"
    relay = [*OURS, f"--vgdb-prefix={tmp_path}/p", "--multi"]
    process = subprocess.Popen(relay, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    content = b"vRun;" + os.fsencode(missing).hex().encode()
    out, said = process.communicate(b"$%b#%02x" % (content, sum(content) & 0xFF), timeout=TIMEOUT)
    assert out == b"+$E01#a6" and f"cannot run {missing}: it has ended with status 127".encode() in said
    assert process.returncode == 0


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"$",
        b"$#00",
        b"$vRun#ff",
        b"\x03\x03",
        b"$vRun;zz#00",
        b"\xff" * 100_000,
        b"$" + b"a" * 100_000 + b"#00",
    ],
    ids=["nothing", "no end", "empty", "wrong sum", "interrupts", "no hex", "bytes", "too long"],
)
def test_garbage_is_no_traceback(tmp_path, data) -> None:
    words = [*OURS, f"--vgdb-prefix={tmp_path}/p", "--multi"]
    done = subprocess.run(words, input=data, capture_output=True, timeout=TIMEOUT)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


def test_what_is_announced_is_known_before_a_program_and_after_it(tmp_path) -> None:
    """gdb 18 sends QThreadEvents with each order to go on, to a program that is gone, too."""
    words = [*OURS, f"--vgdb-prefix={tmp_path}/p", "--multi"]
    packets = (b"QStartNoAckMode", b"qSupported:multiprocess+", b"QPassSignals:", b"QThreadEvents:0")
    asked = b"".join(b"$%b#%02x" % (each, sum(each) & 0xFF) for each in packets)
    said = subprocess.run(words, input=asked, capture_output=True, timeout=TIMEOUT).stdout
    assert b"QThreadEvents+" in said and b"QPassSignals+" in said
    assert said.count(b"$OK#9a") == 3 and b"$#00" not in said


def test_a_gdb_that_is_killed_takes_the_program_along(leaky, tmp_path) -> None:
    relay = [*OURS, f"--vgdb-prefix={tmp_path}/p", "--multi", "--vargs", "-q", "--tool=none"]
    process = subprocess.Popen(
        relay, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdin is not None and process.stdout is not None
    content = b"vRun;" + os.fsencode(leaky).hex().encode() + b";" + b"pauses".hex().encode()
    process.stdin.write(b"$%b#%02x" % (content, sum(content) & 0xFF))
    process.stdin.flush()
    assert process.stdout.read(3) in (b"+$T", b"+$S")
    assert not nobody_is_left(tmp_path)
    process.stdin.close()
    assert process.wait(TIMEOUT) == 0
    process.stdout.close()
    settles(lambda: nobody_is_left(tmp_path))


def test_a_program_that_is_gone_before_gdb_has_it_go_on(leaky, tmp_path) -> None:
    """The word about its end is no answer to another question: gdb hears it when it waits for one."""
    gone = ("run", "next", "monitor v.kill", "echo asked\\n")
    said = gdb(
        tmp_path, leaky, "break lose", *gone, "info threads", "continue", *gone, "kill", "run", "print 6*7"
    )
    assert "Invalid hex digit" not in said and "Ignoring packet error" not in said
    assert said.count("Breakpoint 1, lose") == 3
    assert re.search(r"asked\n.*exited normally\].*asked\n.*killed\].*\$1 = 42", said, re.DOTALL), said
    settles(lambda: nobody_is_left(tmp_path))
