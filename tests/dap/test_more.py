"""``interpose --dap``: instructions, memory, watched places, threads, exec, restart; a client of others."""

from __future__ import annotations

import base64
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from dap_client import TIMEOUT, Client

pytestmark = pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")

SOURCE = """\
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct point { int x, y; } place = {3, 4};
char text[16] = "hello";
static volatile sig_atomic_t over;
static int begun;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static void handler(int number) { over = number; }
__attribute__((noinline)) void meet(void) { asm(""); }
static void *thread(void *arg) {
    int own = *(int *)arg;
    pthread_mutex_lock(&lock);
    begun += own;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&lock);
    for (;;) pause();
}
int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    char *pointer = text;
    register int turns = 0;
    place.y = 5;
    text[3] = 'L';
    if (!strcmp(how, "threads")) {
        pthread_t t[2];
        int numbers[2] = {1, 2};
        for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, thread, &numbers[i]);
        pthread_mutex_lock(&lock);
        while (begun < 3) pthread_cond_wait(&cond, &lock);
        meet();
        return 4;
    }
    if (!strcmp(how, "handles")) {
        signal(SIGTERM, handler);
        puts("ready");
        fflush(stdout);
        while (!over) usleep(1000);
        printf("over %d\\n", (int)over);
        return 6;
    }
    if (!strcmp(how, "executes")) {
        execv(argv[2], (char *[]){argv[2], NULL});
        return 9;
    }
    printf("%s %d %s\\n", text, place.y, pointer);
    return turns;
}
"""


def line_of(words: str) -> int:
    return 1 + SOURCE[: SOURCE.index(words)].count("\n")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("more")
    (folder / "more.c").write_text(SOURCE)
    command = ["gcc", "-g", "-O0", "-w", "-pthread", str(folder / "more.c"), "-o", str(folder / "more")]
    subprocess.run(command, check=True, timeout=TIMEOUT)
    return folder / "more"


def stop_in(client: Client, program: Path, function: str, **more: object) -> int:
    """The thread that has come to a function."""
    client.start(program, tool=more.pop("tool", "none"), **more)
    client.get("setFunctionBreakpoints", breakpoints=[{"name": function}])
    client.get("configurationDone")
    stop = client.event("stopped")
    assert stop["reason"] == "breakpoint"
    return stop["threadId"]


def frame_of(client: Client, thread: int, at: int = 0) -> dict[str, Any]:
    return client.get("stackTrace", threadId=thread)["stackFrames"][at]


# -- instructions ------------------------------------------------------------------------------------------


def test_instructions_around_the_current_one(client: Client, program: Path) -> None:
    thread = stop_in(client, program, "main")
    here = frame_of(client, thread)["instructionPointerReference"]
    found = client.get("disassemble", memoryReference=here, instructionOffset=-3, instructionCount=20)
    listed = found["instructions"]
    assert len(listed) == 20
    addresses = [int(one["address"], 16) for one in listed]
    assert addresses == sorted(addresses) and addresses[3] == int(here, 16)
    lengths = [len(one["instructionBytes"].split()) for one in listed]
    assert [at + length for at, length in zip(addresses, lengths, strict=True)][:-1] == addresses[1:]
    # The bytes are those of the file, which another disassembler reads alike.
    theirs = subprocess.run(["objdump", "-d", "-w", str(program)], capture_output=True, text=True).stdout
    for one in listed:
        assert one["instructionBytes"] in theirs
    assert {one["line"] for one in listed if "line" in one} >= {line_of("const char *how")}
    assert any(one.get("symbol", "").startswith("main") for one in listed)

    later = client.get("disassemble", memoryReference=here, instructionOffset=2, instructionCount=3)
    assert later["instructions"] == listed[5:8]
    before = client.get(
        "disassemble", memoryReference=here, offset=0, instructionOffset=-10, instructionCount=4
    )
    assert len(before["instructions"]) == 4
    assert all(int(one["address"], 16) < int(here, 16) for one in before["instructions"])


def test_instructions_where_there_are_none(client: Client, program: Path) -> None:
    thread = stop_in(client, program, "main")
    for reference in ("0x10", "0xffffffffffffffff", "0"):
        for offset in (-5, 0, 5):
            found = client.get(
                "disassemble", memoryReference=reference, instructionOffset=offset, instructionCount=5
            )["instructions"]
            assert [one["presentationHint"] for one in found] == ["invalid"] * 5
    here = frame_of(client, thread)["instructionPointerReference"]
    for wrong in ({"instructionCount": 10**9}, {"instructionCount": -1}, {"instructionCount": "x"}, {}):
        assert "bad arguments" in client.ask("disassemble", memoryReference=here, **wrong)["message"]
    assert "bad arguments" in client.ask("disassemble", memoryReference="x", instructionCount=1)["message"]
    assert "bad arguments" in client.ask("disassemble", memoryReference="-1", instructionCount=1)["message"]
    assert client.get("disassemble", memoryReference=here, instructionCount=0) == {"instructions": []}


def test_steps_and_breakpoints_of_instructions(client: Client, program: Path) -> None:
    thread = stop_in(client, program, "main", args=["one"])  # so that main begins without a jump
    here = frame_of(client, thread)["instructionPointerReference"]
    listed = client.get("disassemble", memoryReference=here, instructionCount=4)["instructions"]
    client.get("next", threadId=thread, granularity="instruction")
    assert client.event("stopped")["reason"] == "step"
    now = frame_of(client, thread)["instructionPointerReference"]
    assert int(now, 16) == int(listed[1]["address"], 16)
    points = [
        {"instructionReference": listed[2]["address"]},
        {"instructionReference": "here"},
    ]
    answers = client.get("setInstructionBreakpoints", breakpoints=points)["breakpoints"]
    assert [one["verified"] for one in answers] == [True, False]
    client.get("continue", threadId=thread)
    stop = client.event("stopped")
    assert (stop["reason"], stop["hitBreakpointIds"]) == ("breakpoint", [answers[0]["id"]])
    assert int(frame_of(client, thread)["instructionPointerReference"], 16) == int(listed[2]["address"], 16)


# -- memory ------------------------------------------------------------------------------------------------


def test_memory(client: Client, program: Path) -> None:
    thread = stop_in(client, program, "main")
    frame = frame_of(client, thread)["id"]
    shown = client.get("evaluate", expression="(char *)text", frameId=frame, context="watch")
    reference = shown["memoryReference"]
    found = client.get("readMemory", memoryReference=reference, count=16)
    assert base64.b64decode(found["data"]) == b"hello" + bytes(11) and "unreadableBytes" not in found
    assert client.get("readMemory", memoryReference=reference, offset=1, count=0) == {
        "address": f"{int(reference, 16) + 1:#x}"
    }
    data = base64.b64encode(b"XY").decode()
    assert client.get("writeMemory", memoryReference=reference, offset=1, data=data) == {"bytesWritten": 2}
    again = client.get("evaluate", expression="(char *)text", frameId=frame, context="hover")
    assert '"hXYlo"' in again["result"]
    assert client.get("readMemory", memoryReference="0x10", count=8) == {
        "address": "0x10",
        "unreadableBytes": 8,
    }
    assert not client.ask("writeMemory", memoryReference="0x10", data=data)["success"]
    for wrong in ({"count": -1}, {"count": "many"}, {}):
        assert "bad arguments" in client.ask("readMemory", memoryReference=reference, **wrong)["message"]
    assert "bad arguments" in client.ask("writeMemory", memoryReference=reference, data="%%")["message"]
    assert "bad arguments" in client.ask("writeMemory", memoryReference=reference, data=5)["message"]
    huge = client.get("readMemory", memoryReference=reference, count=1 << 40)
    assert len(base64.b64decode(huge["data"])) >= 16
    client.get("continue", threadId=thread)
    assert client.event("exited")["exitCode"] == 0
    assert client.output("stdout") == "hXYLo 5 hXYLo\n"


def test_watched_places(client: Client, program: Path) -> None:
    thread = stop_in(client, program, "main")
    frame = frame_of(client, thread)["id"]
    whole = client.get("dataBreakpointInfo", name="place", frameId=frame)
    assert whole["dataId"].endswith("/8") and whole["accessTypes"] == ["write", "read", "readWrite"]
    shown = client.get("evaluate", expression="place", frameId=frame)
    reference = shown["variablesReference"]
    client.get("variables", variablesReference=reference)
    member = client.get("dataBreakpointInfo", variablesReference=reference, name="y")
    assert member["dataId"].endswith("/4")
    byte = client.get("dataBreakpointInfo", name="text[3]", frameId=frame, bytes=1)
    at = client.get("dataBreakpointInfo", name=byte["dataId"].partition("/")[0], asAddress=True, bytes=2)
    assert at["dataId"] == byte["dataId"].replace("/1", "/2")
    nowhere = client.get("dataBreakpointInfo", name="place.y + 1", frameId=frame)
    assert nowhere["dataId"] is None and nowhere["description"]

    wishes = [
        {"dataId": member["dataId"], "accessType": "write"},
        {"dataId": byte["dataId"], "accessType": "readWrite", "hitCondition": "1"},
        {"dataId": "nonsense/4"},
        {"dataId": member["dataId"], "accessType": "execute"},
        {"dataId": member["dataId"], "condition": "no_such_thing"},
    ]
    answers = client.get("setDataBreakpoints", breakpoints=wishes)["breakpoints"]
    assert [one["verified"] for one in answers] == [True, True, False, False, False]
    for turn in range(2):
        client.get("continue", threadId=thread)
        stop = client.event("stopped")
        assert (stop["reason"], stop["hitBreakpointIds"]) == ("data breakpoint", [answers[turn]["id"]])
    client.get("setDataBreakpoints", breakpoints=[])
    client.get("continue", threadId=thread)
    assert client.event("exited")["exitCode"] == 0


# -- processes ---------------------------------------------------------------------------------------------


def test_threads(client: Client, program: Path) -> None:
    thread = stop_in(client, program, "meet", args=["threads"])
    threads = client.get("threads")["threads"]
    assert len(threads) == 3
    stacks = {one["id"]: client.get("stackTrace", threadId=one["id"])["stackFrames"] for one in threads}
    assert [frame["name"] for frame in stacks.pop(thread)[:2]] == ["meet", "main"]
    owns = set()
    for number, frames in stacks.items():
        inner = next(frame for frame in frames if frame["name"] == "thread")
        owns.add(client.get("evaluate", expression="own", frameId=inner["id"])["result"])
        assert number != thread
    assert owns == {"1", "2"}
    started = [m for m in client.messages if m.get("event") == "thread" and m["body"]["reason"] == "started"]
    assert len(started) == 2
    client.get("stepOut", threadId=thread)
    stop = client.event("stopped")
    assert (stop["reason"], stop["threadId"]) == ("step", thread)
    client.get("continue", threadId=thread)
    assert client.event("exited")["exitCode"] == 4


@pytest.mark.parametrize("follows", ["yes", "no"])
def test_exec(client: Client, program: Path, tmp_path_factory: pytest.TempPathFactory, follows: str) -> None:
    folder = tmp_path_factory.mktemp("next")
    (folder / "next.c").write_text(
        "#include <stdio.h>\nint after(void) { return 8; }\n"
        'int main(void) {\n    puts("executed");\n    return after();\n}\n'
    )
    command = ["gcc", "-g", "-O0", str(folder / "next.c"), "-o", str(folder / "next")]
    subprocess.run(command, check=True, timeout=TIMEOUT)
    client.start(
        program,
        tool="none",
        args=["executes", str(folder / "next")],
        interposeArgs=[f"--trace-children={follows}"],
    )
    client.get("setFunctionBreakpoints", breakpoints=[{"name": "after"}])
    client.get("configurationDone")
    if follows == "yes":
        stop = client.event("stopped")
        assert stop["reason"] == "breakpoint"
        assert frame_of(client, stop["threadId"])["name"] == "after"
        client.get("continue", threadId=stop["threadId"])
    assert client.event("exited")["exitCode"] == 8
    client.event("terminated")
    assert client.output("stdout") == "executed\n"


def test_started_again(client: Client, program: Path) -> None:
    thread = stop_in(client, program, "main")
    source = {"path": str(program.parent / "more.c")}
    client.get("setBreakpoints", source=source, breakpoints=[{"line": line_of("place.y = 5")}])
    for _ in range(2):
        client.get("restart")
        stop = client.event("stopped")
        assert stop["reason"] == "breakpoint"
        assert frame_of(client, stop["threadId"])["name"] == "main"
    client.get("continue", threadId=thread)
    stop = client.event("stopped")
    assert frame_of(client, stop["threadId"])["line"] == line_of("place.y = 5")
    assert not [one for one in client.messages if one.get("event") in ("exited", "terminated")]
    client.get("continue", threadId=thread)
    assert client.event("exited")["exitCode"] == 0


def test_the_end_may_be_handled(client: Client, program: Path) -> None:
    client.start(program, tool="memcheck", args=["handles"])
    client.get("configurationDone")
    while "ready" not in client.output("stdout"):
        client.event("output")
    client.get("terminate")
    assert client.event("exited")["exitCode"] == 6
    assert client.output("stdout") == "ready\nover 15\n"
    assert "ERROR SUMMARY" in client.output("stderr")


def test_the_end_of_a_program_that_stands(client: Client, program: Path) -> None:
    stop_in(client, program, "main", tool="memcheck")
    client.get("terminate")
    assert client.event("exited")["exitCode"] == 128 + signal.SIGTERM
    client.event("terminated")
    assert "ERROR SUMMARY" in client.output("stderr")


def test_a_run_without_debugging(client: Client, program: Path) -> None:
    client.start(program, tool="none", noDebug=True)
    client.get("setFunctionBreakpoints", breakpoints=[{"name": "main"}])
    client.get("configurationDone")
    assert client.event("exited")["exitCode"] == 0
    assert not [one for one in client.messages if one.get("event") == "stopped"]


def test_values_in_the_console(client: Client, program: Path) -> None:
    thread = stop_in(client, program, "main")
    frame = frame_of(client, thread)["id"]
    for context in ("hover", "watch", "repl", "variables"):
        assert (
            client.get("evaluate", expression="place.x + 1", frameId=frame, context=context)["result"] == "4"
        )
    assert not client.ask("evaluate", expression="no_such_thing", frameId=frame, context="hover")["success"]
    assert not client.ask("evaluate", expression="", frameId=frame, context="repl")["success"]
    assert not client.ask("evaluate", expression="1\n2", frameId=frame, context="repl")["success"]
    assert "rip" in client.get("evaluate", expression="-exec info registers rip", context="repl")["result"]
    reference = client.get("scopes", frameId=frame)["scopes"][0]["variablesReference"]
    client.get("variables", variablesReference=reference)
    set_ = client.get("setVariable", variablesReference=reference, name="argc", value="7")
    assert set_["value"] == "7"
    assert not client.ask("setVariable", variablesReference=reference, name="argc", value="?")["success"]
    assert not client.ask("setVariable", variablesReference=reference, name="nothing", value="1")["success"]
    assert client.get("evaluate", expression="argc", frameId=frame)["result"] == "7"


# -- a client that others have written ---------------------------------------------------------------------


def test_a_client_of_the_python_package(program: Path, tmp_path: Path) -> None:
    """dap-python reads messages by types of its own (its stops have texts for numbers of breakpoints)."""
    # Not "dap": that is this folder, too.
    dap = pytest.importorskip("dap.client", reason="dap-python is not installed")
    client = dap.Client("interpose")

    class Handler(type(client.handler)):  # type: ignore[misc]
        def handle_response(self, response: Any) -> Any:
            """An answer without a body: 0.5.0 looks for all of the answer in the body."""
            return super().handle_response(response) if response.body else response

    client.handler = Handler(client)
    process = subprocess.Popen(
        [sys.executable, "-m", "interpose", "--dap"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert process.stdin and process.stdout
    seen: list[Any] = []

    def until(name: str) -> Any:
        end = time.monotonic() + TIMEOUT
        while True:
            process.stdin.write(bytes(client.send()))
            process.stdin.flush()
            for at, message in enumerate(seen):
                if type(message).__name__ == name:
                    del seen[: at + 1]
                    return message
            ready, _, _ = select.select([process.stdout], [], [], max(0, end - time.monotonic()))
            assert ready, f"no {name}; so far {seen}"
            data = os.read(process.stdout.fileno(), 1 << 16)
            assert data, f"the adapter has ended; so far {seen}"
            seen.extend(client.receive(data))

    try:
        capabilities = until("Initialized")
        assert capabilities.supportsDisassembleRequest
        client.send_request("launch", {"program": str(program), "tool": "none", "stopOnEntry": True})
        until("InitializedEvent")
        client.set_function_breakpoints([])
        until("SetFunctionBreakpointsResponse")
        client.configuration_done()
        until("Response")
        stop = until("StoppedEvent")
        client.threads()
        assert len(until("ThreadsResponse").threads) == 1
        client.stack_trace(stop.threadId)
        frame = until("StackTraceResponse").stackFrames[0]
        assert "_start" in frame.name
        client.disassemble(frame.instructionPointerReference, instruction_count=3)
        assert len(until("DisassembleResponse").instructions) == 3
        client.scopes(frame.id)
        scope = until("ScopesResponse").scopes[1]
        client.variables(scope.variablesReference)
        assert "rip" in [variable.name for variable in until("VariablesResponse").variables]
        client.evaluate("place.x", frame.id)
        assert until("EvaluateResponse").result == "3"
        client.continue_(stop.threadId)
        assert until("ExitedEvent").exitCode == 0
        until("TerminatedEvent")
        client.disconnect()
        until("Response")
        assert process.wait(TIMEOUT) == 0
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("text", (None, b"", b"Content-Length: 2\r\n\r\n{"))
def test_input_that_is_no_pipe(text: bytes | None, tmp_path: Path) -> None:
    """epoll refuses plain files and ``/dev/null``."""
    source = Path(os.devnull)
    if text is not None:
        source = tmp_path / "input"
        source.write_bytes(text)
    with source.open("rb") as file:
        done = subprocess.run(
            [sys.executable, "-m", "interpose", "--dap"],
            stdin=file,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
    if text:
        assert done.returncode == 1 and "the input ends in the middle of a message" in done.stderr
    else:
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
