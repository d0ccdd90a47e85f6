"""``interpose --dap``: what values look like, and what becomes of expressions that call functions."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from dap_client import TIMEOUT, Client

pytestmark = pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")

SOURCE = """\
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
#include <map>
#include <string>
#include <vector>
struct Inner { int a; struct { short s; char c[3]; } deep; };
union Both { unsigned i; unsigned char b[4]; };
struct Bits { unsigned x : 3; int y : 5; unsigned long z : 40; };
struct Base { int base; };
class Whole : public Base {
  public:
    Inner in;
    Both both;
  private:
    Bits bits;
  public:
    void fill() {
        base = 1; in.a = 2; in.deep.s = 3; both.i = 258;
        bits.x = 5; bits.y = -3; bits.z = 1ul << 39;
    }
};
int calls;
int twice(int n) { calls++; return 2 * n; }
typedef void Nothing;
Nothing counts(void) { calls++; }
int fails(int n) { return *(volatile int *)(long)(n - n) + n; }
int ends(int n) { exit(n); }
int main(int argc, char **argv) {
    static int big[10000];
    for (int i = 0; i < 10000; i++) big[i] = i;
    Whole whole;
    whole.fill();
    std::string text = "h\\u00e9llo \\"w\\"\\n";
    std::vector<int> list(1200, 7);
    std::map<std::string, int> ages{{"one", 1}, {"two", 2}};
    int *none = nullptr;
    int sum = twice(0);
    if (argc > 1) {
        void *library = dlopen(argv[1], RTLD_NOW);
        int (*loaded)(int) = (int (*)(int))dlsym(library, "loaded");
        sum += loaded(3);
    }
    return sum;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("values")
    (folder / "values.cpp").write_text(SOURCE)
    (folder / "loaded.c").write_text("int loaded(int n) {\n    int four = 4 * n;\n    return four;\n}\n")
    for command in (
        ["g++", "-g", "-O0", "-w", "values.cpp", "-o", "values"],
        ["gcc", "-g", "-O0", "-shared", "-fPIC", "loaded.c", "-o", "loaded.so"],
    ):
        subprocess.run(command, check=True, timeout=TIMEOUT, cwd=folder)
    return folder / "values"


class Stop:
    """A client whose program stands behind the definitions."""

    def __init__(self, client: Client, program: Path) -> None:
        self.client = client
        client.start(program, tool="none")
        client.get("setExceptionBreakpoints", filters=["errors"])
        line = 1 + SOURCE[: SOURCE.index("int sum = twice")].count("\n")
        client.get("setBreakpoints", source={"path": f"{program}.cpp"}, breakpoints=[{"line": line}])
        client.get("configurationDone")
        self.thread = client.event("stopped")["threadId"]
        self.frame = client.get("stackTrace", threadId=self.thread)["stackFrames"][0]["id"]
        scope = client.get("scopes", frameId=self.frame)["scopes"][0]
        self.locals = self.below(scope)

    def below(self, parent: dict[str, Any], **more: object) -> dict[str, dict[str, Any]]:
        reference = parent["variablesReference"]
        rows = self.client.get("variables", variablesReference=reference, **more)["variables"]
        return {row["name"]: row for row in rows}

    def evaluate(self, expression: str) -> dict[str, Any]:
        return self.client.ask("evaluate", expression=expression, frameId=self.frame, context="watch")


def values(rows: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {name: row["value"] for name, row in rows.items()}


def test_structs_unions_and_bits(client: Client, program: Path) -> None:
    """gdb's public and private are no members; each member is an expression that an editor can watch."""
    stop = Stop(client, program)
    whole = stop.below(stop.locals["whole"])
    assert list(whole) == ["Base", "in", "both", "bits"]
    assert values(stop.below(whole["Base"])) == {"base": "1"}
    inner = stop.below(whole["in"])
    assert inner["a"]["value"] == "2"
    deep = stop.below(inner["deep"])
    assert deep["s"]["value"] == "3" and len(stop.below(deep["c"])) == 3
    both = stop.below(whole["both"])
    assert both["i"]["value"] == "258"
    assert [row["value"] for row in stop.below(both["b"]).values()][:2] == ["2 '\\002'", "1 '\\001'"]
    bits = stop.below(whole["bits"])
    assert values(bits) == {"x": "5", "y": "-3", "z": str(1 << 39)}
    for row in (*whole.values(), inner["deep"], deep["s"], both["i"], *bits.values()):
        assert stop.evaluate(row["evaluateName"])["body"]["result"] == row["value"]
    made = client.get(
        "setVariable", variablesReference=whole["bits"]["variablesReference"], name="y", value="7"
    )
    assert made["value"] == "7" and stop.evaluate("whole.bits.y")["body"]["result"] == "7"
    place = client.get(
        "dataBreakpointInfo", variablesReference=whole["in"]["variablesReference"], name="deep"
    )
    assert place["dataId"].endswith("/6")


def test_long_arrays_come_in_pages(client: Client, program: Path) -> None:
    stop = Stop(client, program)
    big = stop.locals["big"]
    assert big["indexedVariables"] == 10000
    for start in (0, 9900):
        page = stop.below(big, filter="indexed", start=start, count=100)
        assert values(page) == {f"[{at}]": str(at) for at in range(start, start + 100)}
    assert page["[9900]"]["evaluateName"] == "(big)[9900]"
    assert list(stop.below(big, start=9998, count=100)) == ["[9998]", "[9999]"]
    assert stop.below(big, start=10000, count=100) == {} == stop.below(big, filter="named")
    assert stop.below(stop.locals["whole"], filter="indexed") == {}
    whole = stop.below(big)
    assert len(whole) == 1001 and whole["..."]["value"] == "there are more"
    for wrong in ({"start": -1}, {"count": -1}, {"start": "x"}, {"filter": 5}):
        reference = big["variablesReference"]
        assert not client.ask("variables", variablesReference=reference, **wrong)["success"]


def has_printers() -> bool:
    command = ["gdb", "-nx", "-batch", "-ex", "info pretty-printer", sys.executable]
    folder = Path("/usr/share/gdb/auto-load")
    return (
        bool(list(folder.rglob("libstdc++*-gdb.py")))
        and not subprocess.run(command, capture_output=True).returncode
    )


@pytest.mark.skipif(not has_printers(), reason="libstdc++'s printers are not installed")
def test_strings_and_containers(client: Client, program: Path) -> None:
    stop = Stop(client, program)
    text = stop.locals["text"]
    assert (text["value"], text["variablesReference"]) == ('"héllo \\"w\\"\\n"', 0)
    assert values(stop.below(stop.locals["ages"])) == {'["one"]': "1", '["two"]': "2"}
    items = stop.below(stop.locals["list"])
    assert len(items) == 1001 and items["[0]"]["value"] == "7" and items["..."]["value"] == "there are more"
    assert list(stop.below(stop.locals["list"], start=1199, count=10)) == ["[1199]"]
    assert stop.evaluate("list[3]")["body"]["result"] == "7"


def test_functions_that_an_expression_calls(client: Client, program: Path) -> None:
    stop = Stop(client, program)
    assert stop.evaluate("twice(21)")["body"]["result"] == "42"
    assert stop.evaluate("calls")["body"]["result"] == "1"
    assert stop.evaluate("nothing")["message"] == 'No symbol "nothing" in current context.'
    assert stop.evaluate("*(int*)16")["message"] == "Cannot access memory at address 0x10"
    assert stop.evaluate("1/0")["message"] == "Division by zero"
    assert stop.evaluate("fails(3)")["message"] in (
        "SIGSEGV in a function that is called",
        "a signal or an exception has ended a function that is called",  # gdb 18 does not say which
    )
    frames = client.get("stackTrace", threadId=stop.thread)["stackFrames"]
    assert [frame["name"] for frame in frames] == ["main"]
    assert stop.evaluate("counts()")["success"] and stop.evaluate("calls")["body"]["result"] == "2"
    set_ = client.get("setExpression", expression="calls", value="0x10", frameId=stop.frame)
    assert set_["value"] == "16" and stop.evaluate("calls")["body"]["result"] == "16"
    assert not client.ask("setExpression", expression="calls + 1", value="3")["success"]
    assert not client.ask("setExpression", expression="calls", value="")["success"]
    client.get("setFunctionBreakpoints", breakpoints=[{"name": "twice"}])
    assert stop.evaluate("twice(1)")["message"] == "the program has stopped in a function that is called"
    assert client.event("stopped")["reason"] == "breakpoint"
    client.get("setFunctionBreakpoints", breakpoints=[])
    client.get("continue", threadId=stop.thread)
    client.event("stopped")  # the call is over
    client.get("continue", threadId=stop.thread)
    assert client.event("exited")["exitCode"] == 0
    assert len([one for one in client.messages if one.get("event") == "stopped"]) == 3


def test_a_call_that_ends_the_program(client: Client, program: Path) -> None:
    stop = Stop(client, program)
    assert stop.evaluate("ends(3)")["message"] == "the program has ended in a function that is called"
    assert client.event("exited")["exitCode"] == 3
    client.event("terminated")
    assert "no program" in client.ask("threads")["message"]
    client.get("disconnect")
    assert client.process.wait(TIMEOUT) == 0


@pytest.mark.parametrize("name", ["./loaded.so", "absolute"])
def test_breakpoints_in_a_library_that_is_loaded_later(client: Client, program: Path, name: str) -> None:
    folder = program.parent
    client.start(
        program,
        tool="none",
        cwd=str(folder),
        args=[str(folder / "loaded.so") if name == "absolute" else name],
    )
    source = {"path": str(folder / "loaded.c")}
    wishes = [{"line": 2}, {"line": 3, "condition": "four == 12"}, {"line": 3, "condition": "four == 13"}]
    made = client.get("setBreakpoints", source=source, breakpoints=wishes)["breakpoints"]
    assert [one["verified"] for one in made] == [False] * 3
    client.get("configurationDone")
    for at in (0, 1):
        stop = client.event("stopped")
        assert (stop["reason"], stop["hitBreakpointIds"]) == ("breakpoint", [made[at]["id"]])
        frame = client.get("stackTrace", threadId=stop["threadId"])["stackFrames"][0]
        assert (frame["name"], frame["line"]) == ("loaded", 2 + at)
        client.get("continue", threadId=stop["threadId"])
    assert client.event("exited")["exitCode"] == 12
    changed = [one["body"]["breakpoint"] for one in client.messages if one.get("event") == "breakpoint"]
    assert {one["id"] for one in changed if one["verified"]} == {one["id"] for one in made}


def test_what_lies_in_the_programs_folder_is_not_loaded(
    client: Client, program: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("shadows")
    for name in ("json", "select", "interpose", "cffi"):
        (folder / f"{name}.py").write_text('raise SystemExit("loaded")\n')
    client.start(program, tool="none", cwd=str(folder), stopOnEntry=True)
    client.get("configurationDone")
    client.event("stopped")
    client.get("continue", threadId=1)
    assert client.event("exited")["exitCode"] == 0
    assert "loaded" not in client.output("stderr")


def test_much_output(client: Client, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("much")
    (folder / "much.c").write_text(
        '#include <stdio.h>\nint main(void) { for (int i = 0; i < 170000; i++) printf("%060d\\n", i); }\n'
    )
    command = ["gcc", "-g", str(folder / "much.c"), "-o", str(folder / "much")]
    subprocess.run(command, check=True, timeout=TIMEOUT)
    client.start(folder / "much", tool="none")
    client.get("configurationDone")
    assert client.event("exited")["exitCode"] == 0
    client.event("terminated")
    assert client.output("stdout").splitlines() == [f"{at:060}" for at in range(170000)]


def test_a_second_editor_is_refused(client: Client, program: Path, tmp_path: Path) -> None:
    """The first goes on undisturbed."""
    stop = Stop(client, program)
    pid = int(stop.evaluate("(int)getpid()")["body"]["result"])
    (prefix,) = tmp_path.glob("interpose-dap-*")
    with Client(tmp_path) as second:
        second.get("initialize")
        answer = second.ask("attach", pid=pid, program=str(program), vgdbPrefix=f"{prefix}/pipe")
        assert not answer["success"]
        second.get("disconnect")
        assert second.process.wait(TIMEOUT) == 0
    assert stop.evaluate("whole.in.a")["body"]["result"] == "2"
    client.get("continue", threadId=stop.thread)
    assert client.event("exited")["exitCode"] == 0
