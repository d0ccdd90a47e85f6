"""``interpose --dap``, driven as an editor drives it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest
from dap_client import TIMEOUT, Client

needs_gdb = pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")

SOURCE = """\
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
struct point { int x, y; };
static int twice(int n) {
    int result = n * 2;
    return result;
}
int main(int argc, char **argv) {
    struct point place = {3, 4};
    int sum = twice(place.x);
    int *block = malloc(12);
    block[3] = sum;
    printf("sum %d %s\\n", sum, getenv("COLOUR"));
    fflush(stdout);
    free(block);
    while (argc > 1 && argv[1][0] == 'w')
        usleep(1000);
    return 7;
}
"""
LINE = {text: 1 + SOURCE[: SOURCE.index(text)].count("\n") for text in ("int sum", "block[3]", "int result")}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("a program")
    source = folder / "main.c"
    source.write_text(SOURCE)
    subprocess.run(
        ["gcc", "-g", "-O0", "-w", str(source), "-o", str(folder / "main")], check=True, timeout=TIMEOUT
    )
    return folder / "main"


def _processes(mark: str) -> list[int]:
    """Processes whose command line or environment has a text."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                text = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            except OSError:
                continue
            if os.fsencode(mark) in text:
                found.append(int(entry.name))
    return found


def _nothing_is_left(folder: Path) -> bool:
    """Neither processes nor files, soon."""
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        if not _processes(f"TMPDIR={folder}") and not list(folder.iterdir()):
            return True
        time.sleep(0.05)
    return False


def _stack(client: Client, thread: int) -> list[dict]:
    return client.get("stackTrace", threadId=thread)["stackFrames"]


def _locals(client: Client, frame: dict) -> dict[str, dict]:
    scope = client.get("scopes", frameId=frame["id"])["scopes"][0]
    listed = client.get("variables", variablesReference=scope["variablesReference"])["variables"]
    return {variable["name"]: variable for variable in listed}


@needs_gdb
def test_session(client: Client, program: Path, tmp_path: Path) -> None:
    """Breakpoint, variables, a step, the stop at the error, and the end."""
    client.start(program, env={"COLOUR": "blue"}, args=["once"])
    source = {"path": str(program.parent / "main.c")}
    set_ = client.get("setBreakpoints", source=source, breakpoints=[{"line": LINE["int sum"]}])
    assert [(one["verified"], one["line"]) for one in set_["breakpoints"]] == [(True, LINE["int sum"])]
    client.get("setFunctionBreakpoints", breakpoints=[{"name": "twice", "condition": "n == 3"}])
    client.get("setExceptionBreakpoints", filters=["errors"])
    client.get("configurationDone")

    stop = client.event("stopped")
    assert stop["reason"] == "breakpoint"
    thread = stop["threadId"]
    assert [one["id"] for one in client.get("threads")["threads"]] == [thread]
    frame = _stack(client, thread)[0]
    assert (frame["name"], frame["line"], frame["source"]["path"]) == (
        "main",
        LINE["int sum"],
        source["path"],
    )
    shown = _locals(client, frame)
    members = client.get("variables", variablesReference=shown["place"]["variablesReference"])["variables"]
    assert [(one["name"], one["value"]) for one in members] == [("x", "3"), ("y", "4")]
    assert client.get("evaluate", expression="place.x + 1", frameId=frame["id"])["result"] == "4"

    client.get("continue", threadId=thread)
    assert client.event("stopped")["reason"] == "breakpoint"
    assert [frame["name"] for frame in _stack(client, thread)] == ["twice", "main"]
    client.get("next", threadId=thread)
    assert client.event("stopped")["reason"] == "step"
    frame = _stack(client, thread)[0]
    assert frame["line"] == LINE["int result"] + 1
    assert _locals(client, frame)["result"]["value"] == "6"
    client.get("stepOut", threadId=thread)
    assert client.event("stopped")["reason"] == "step"

    client.get("continue", threadId=thread)
    stop = client.event("stopped")
    assert (stop["reason"], stop["description"]) == ("exception", "Invalid write of size 4")
    info = client.get("exceptionInfo", threadId=thread)
    assert info["details"]["message"] == stop["text"]
    assert f"main (main.c:{LINE['block[3]']})" in stop["text"]
    assert "0 bytes after a block of size 12 alloc'd" in stop["text"] and "==" not in stop["text"]
    frame = _stack(client, thread)[0]
    assert (frame["name"], frame["line"]) == ("main", LINE["block[3]"])
    said = client.get("evaluate", expression="monitor v.info n_errs_found", context="repl")["result"]
    assert "n_errs_found 1" in said

    client.get("continue", threadId=thread)
    assert client.event("exited")["exitCode"] == 7
    client.event("terminated")
    assert client.output("stdout") == "sum 6 blue\n"
    assert "ERROR SUMMARY: 1 errors" in client.output("stderr")
    client.get("disconnect")
    assert client.process.wait(TIMEOUT) == 0
    assert _nothing_is_left(tmp_path)


@needs_gdb
@pytest.mark.parametrize(
    "call",
    [
        'strcpy(block, "hey")',
        'stpcpy(block, "hey")',
        'strncpy(block, "hello", 5)',
        'strcat(strcpy(block, "he"), "y")',
    ],
)
def test_step_out_of_a_replaced_function(
    client: Client, tmp_path_factory: pytest.TempPathFactory, call: str
) -> None:
    """The error is in a function of ours, which has no lines: a step from there ends in who called it."""
    source = tmp_path_factory.mktemp("copies") / "copies.c"
    source.write_text(
        "#define _GNU_SOURCE\n#include <string.h>\nint main(void) { extern void *malloc(unsigned long);\n"
        f"    char *block = malloc(3);\n    {call};\n    block[1] = 1;\n    return 0;\n}}\n"
    )
    program = source.with_suffix("")
    command = ["gcc", "-g", "-O0", "-fno-builtin", "-w", str(source), "-o", str(program)]
    subprocess.run(command, check=True, timeout=TIMEOUT)
    client.start(program)
    client.get("configurationDone")
    stop = client.event("stopped")
    assert stop["description"] == "Invalid write of size 1"
    assert _stack(client, stop["threadId"])[1]["line"] == 5
    client.get("next", threadId=stop["threadId"])
    assert client.event("stopped")["reason"] == "step"
    frame = _stack(client, stop["threadId"])[0]
    assert frame["name"] == "main" and frame["line"] in (5, 6)
    client.get("continue", threadId=stop["threadId"])
    assert client.event("exited")["exitCode"] == 0


@needs_gdb
def test_without_stops_at_errors(client: Client, program: Path) -> None:
    client.start(program, tool="memcheck", interposeArgs=["--error-exitcode=9"], stopOnEntry=True)
    client.get("setExceptionBreakpoints", filters=[])
    client.get("configurationDone")
    stop = client.event("stopped")
    assert stop["reason"] == "entry"
    assert not client.ask("exceptionInfo", threadId=stop["threadId"])["success"]
    client.get("continue", threadId=stop["threadId"])
    assert client.event("exited")["exitCode"] == 9
    assert [message for message in client.messages if message.get("event") == "stopped"] == [
        message for message in client.messages if message.get("body") == stop
    ]


@needs_gdb
def test_pause_and_breakpoint_while_it_runs(client: Client, program: Path, tmp_path: Path) -> None:
    client.start(program, tool="none", args=["wait"])
    client.get("configurationDone")
    client.event("output")
    source = {"path": str(program.parent / "main.c")}
    line = 1 + SOURCE[: SOURCE.index("usleep(")].count("\n")
    client.get("setBreakpoints", source=source, breakpoints=[{"line": line}])
    assert client.event("stopped")["reason"] == "breakpoint"
    client.get("setBreakpoints", source=source, breakpoints=[])
    _bad_breakpoints_stop_nothing(client, source, line)
    thread = client.get("threads")["threads"][0]["id"]
    client.get("continue", threadId=thread)
    assert not client.ask("stackTrace", threadId=thread)["success"]
    client.get("pause", threadId=thread)
    assert client.event("stopped")["reason"] == "pause"
    assert _stack(client, thread)[-1]["name"] == "main"
    client.get("terminate")
    client.event("terminated")
    client.get("disconnect")
    assert client.process.wait(TIMEOUT) == 0
    assert _nothing_is_left(tmp_path)


def _bad_breakpoints_stop_nothing(client: Client, source: dict[str, str], line: int) -> None:
    """What is no breakpoint is answered as one that there is not, and the program goes on."""
    client.get("continue", threadId=client.get("threads")["threads"][0]["id"])
    bad: list[dict[str, object]] = [
        {"logMessage": 5},
        {"condition": []},
        {"hitCondition": {}},
        {"condition": "a\nb"},
    ]
    wishes = [{"line": line, **each} for each in bad]
    answers = client.get("setBreakpoints", source=source, breakpoints=wishes)["breakpoints"]
    assert [each["verified"] for each in answers] == [False] * len(bad), answers
    references = [{"instructionReference": each} for each in (5, None, "main")]
    answers = client.get("setInstructionBreakpoints", breakpoints=references)["breakpoints"]
    assert [each["verified"] for each in answers] == [False] * len(references), answers
    assert "the program runs" in client.ask("stackTrace", threadId=1)["message"]
    client.get("pause", threadId=1)
    assert client.event("stopped")["reason"] == "pause"


@needs_gdb
def test_pause_between_conditions(client: Client, tmp_path_factory: pytest.TempPathFactory) -> None:
    """gdb is asked to stop the program while it looks at a condition that does not hold."""
    folder = tmp_path_factory.mktemp("spins")
    (folder / "spins.c").write_text("volatile long n;\nint main(void) {\n    for (;;)\n        n++;\n}\n")
    command = ["gcc", "-g", "-O0", str(folder / "spins.c"), "-o", str(folder / "spins")]
    subprocess.run(command, check=True, timeout=TIMEOUT)
    client.start(folder / "spins", tool="none", stopOnEntry=True)
    client.get("configurationDone")
    thread = client.event("stopped")["threadId"]
    wishes = [{"line": 4, "condition": "n < 0"}]
    client.get("setBreakpoints", source={"path": str(folder / "spins.c")}, breakpoints=wishes)
    for _ in range(20):
        client.get("continue", threadId=thread)
        client.get("pause", threadId=thread)
        assert client.event("stopped")["reason"] == "pause"
    client.get("disconnect")
    assert client.process.wait(TIMEOUT) == 0


@needs_gdb
def test_counted_hits_and_log_points(client: Client, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("turns")
    (folder / "turns.c").write_text(
        "int main(void) {\n    int sum = 0;\n    for (int i = 0; i < 6; i++)\n        sum += i;\n"
        "    sum *= 2;\n    return sum;\n}\n"
    )
    command = ["gcc", "-g", "-O0", str(folder / "turns.c"), "-o", str(folder / "turns")]
    subprocess.run(command, check=True, timeout=TIMEOUT)
    client.start(folder / "turns", tool="none")
    source = {"path": str(folder / "turns.c")}
    wishes = [
        {"line": 4, "hitCondition": ">=4"},
        {"line": 5, "logMessage": "sum {sum}, {sum > 9}, {nothing}!"},
    ]
    made = client.get("setBreakpoints", source=source, breakpoints=wishes)["breakpoints"]
    assert [point["verified"] for point in made] == [True, True]
    client.get("configurationDone")
    for turn in (3, 4, 5):
        thread = client.event("stopped")["threadId"]
        assert _locals(client, _stack(client, thread)[0])["i"]["value"] == str(turn)
        client.get("continue", threadId=thread)
    assert client.event("exited")["exitCode"] == 30
    assert 'sum 15, 1, <No symbol "nothing" in current context.>!\n' in client.output("console")


@needs_gdb
@pytest.mark.parametrize("hits", ["0", "-1", "==2", "often", "9" * 30])
def test_counts_of_hits_that_are_none(client: Client, program: Path, hits: str) -> None:
    client.start(program, tool="none")
    source = {"path": str(program.parent / "main.c")}
    wish = {"line": LINE["block[3]"], "hitCondition": hits}
    (answer,) = client.get("setBreakpoints", source=source, breakpoints=[wish])["breakpoints"]
    assert not answer["verified"] and "expected the number of the hit" in answer["message"]


@needs_gdb
@pytest.mark.parametrize("how", ["disconnect", "closed", "killed"])
def test_leaving_in_the_middle(client: Client, program: Path, tmp_path: Path, how: str) -> None:
    client.start(program, args=["wait"])
    client.get("setExceptionBreakpoints", filters=[])
    client.get("configurationDone")
    client.event("output")
    assert len(_processes(f"TMPDIR={tmp_path}")) > 2
    if how == "disconnect":
        client.get("disconnect")
    elif how == "closed":
        client.process.stdin.close()
        client.process.stdin = None
    else:
        client.process.send_signal(signal.SIGKILL)
    assert client.process.wait(TIMEOUT) == (-signal.SIGKILL if how == "killed" else 0)
    assert _nothing_is_left(tmp_path)


@needs_gdb
def test_attach(client: Client, program: Path, tmp_path: Path) -> None:
    prefix = program.parent / "attached"
    command = [
        sys.executable,
        "-m",
        "interpose",
        "--tool=none",
        f"--vgdb-prefix={prefix}",
        str(program),
        "wait",
    ]
    guest = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert guest.stdout and guest.stdout.readline() == b"sum 6 (null)\n"
        client.get("initialize")
        client.get("attach", pid=guest.pid, program=str(program), vgdbPrefix=str(prefix), stopOnEntry=True)
        client.get("configurationDone")
        thread = client.event("stopped")["threadId"]
        assert _stack(client, thread)[-1]["name"] == "main"
        client.get("disconnect")
        assert client.process.wait(TIMEOUT) == 0
        assert _nothing_is_left(tmp_path)
        assert guest.poll() is None
    finally:
        guest.kill()
        guest.communicate()


@needs_gdb
def test_refusals(client: Client, program: Path, tmp_path: Path) -> None:
    """What cannot be is answered, and the session goes on."""
    client.get("initialize")
    assert "no such request" in client.ask("dance")["message"]
    assert "no program" in client.ask("threads")["message"]
    for bad in ({}, {"program": 3}, {"program": "x", "args": [1]}, {"program": "x", "env": []}):
        assert "bad arguments" in client.ask("launch", **bad)["message"]
    assert "no such command" in client.ask("launch", program=str(program), gdb="/no/gdb")["message"]
    assert "has ended with status" in client.ask("launch", program="/no/program")["message"]
    assert client.ask("attach")["message"] == "bad arguments: pid is missing"
    assert not client.ask("attach", pid=1 << 22)["success"]
    assert f"process {os.getpid()} cannot be reached" in client.ask("attach", pid=os.getpid())["message"]
    assert "bad arguments" in client.ask("attach", pid=os.getpid(), vgdbPrefix=5)["message"]
    client.get("launch", program=str(program))
    assert "already" in client.ask("launch", program=str(program))["message"]
    assert "bad arguments" in client.ask("setBreakpoints", breakpoints=[{}])["message"]
    unknown = client.get("setBreakpoints", source={"path": "/no/such.c"}, breakpoints=[{"line": 1}])
    assert not unknown["breakpoints"][0]["verified"]
    for number in (0, -1, 99):
        assert not client.ask("variables", variablesReference=number)["success"]
        assert not client.ask("scopes", frameId=number)["success"]
    for number in (1e999, -1e999, float("nan")):
        assert "bad arguments" in client.ask("stackTrace", threadId=number)["message"]
    client.get("disconnect")
    assert client.process.wait(TIMEOUT) == 0
    assert _nothing_is_left(tmp_path)


@pytest.mark.parametrize(
    "data",
    [
        b"hello\r\n\r\n",
        b"Content-Length: -5\r\n\r\n",
        b"Content-Length: 99999999999\r\n\r\n",
        b"Content-Length: 4\r\n\r\nnone",
        b"Content-Length: 2\r\n\r\n[]",
        b"Content-Length: 100000\r\n\r\n" + b"[" * 100000,
        b"Content-Length: 50\r\n\r\n{",
        b"x" * 10000,
        Random(1).randbytes(20000).replace(b"\n", b""),
    ],
    ids=["words", "negative", "huge", "text", "list", "deep", "cut", "endless", "noise"],
)
def test_garbage(data: bytes, tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "interpose", "--dap"],
        input=data,
        capture_output=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        timeout=TIMEOUT,
    )
    assert run.returncode == 1
    assert run.stderr.startswith(b"interpose: --dap: ") and run.stderr.count(b"\n") == 1
    assert _nothing_is_left(tmp_path)


def test_names_no_program() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "interpose", "--dap", "true"], capture_output=True, timeout=TIMEOUT
    )
    assert run.returncode == 1 and b"--dap takes no program" in run.stderr
