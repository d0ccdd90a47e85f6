"""The layouts of protocol.h and native.h, as Python and the agent's script have them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from interpose.native import wire

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
#include <stdio.h>
#include "native/client/native.h"
#include "abi/hook.h"
#define SIZE(type) printf(#type " %zu\\n", sizeof(struct type))
#define OFFSET(type, field) printf(#type "." #field " %zu\\n", offsetof(struct type, field))
#define VALUE(name) printf(#name " %d\\n", (int)name)
int main(void) {
    SIZE(ip_native_greeting); SIZE(ip_native_object); SIZE(ip_native_head); SIZE(ip_native_patch);
    SIZE(ip_native_claim); SIZE(ip_native_hello); SIZE(ip_native_welcome); SIZE(ip_native_hooked);
    SIZE(ip_native_answer); SIZE(ip_native_item);
    OFFSET(ip_native_item, original); OFFSET(ip_native_item, failed); OFFSET(ip_native_item, cave);
    OFFSET(ip_native_setup, flush); OFFSET(ip_native_setup, unbind); OFFSET(ip_native_setup, wait);
    OFFSET(ip_native_setup, debug); OFFSET(ip_native_setup, socket); OFFSET(ip_native_setup, token);
    OFFSET(ip_native_setup, execve); OFFSET(ip_native_setup, hooks); OFFSET(ip_native_setup, exit);
    OFFSET(ip_native_setup, leave); OFFSET(ip_native_setup, finish);
    VALUE(IP_NATIVE_MAGIC);
    VALUE(IP_NATIVE_LINKED); VALUE(IP_NATIVE_FORKED); VALUE(IP_NATIVE_EXEC); VALUE(IP_NATIVE_NO_EXEC);
    VALUE(IP_NATIVE_LOOKUP); VALUE(IP_NATIVE_DONE); VALUE(IP_NATIVE_PATCH); VALUE(IP_NATIVE_UNBIND);
    VALUE(IP_NATIVE_BIND); VALUE(IP_NATIVE_RESOLVE); VALUE(IP_NATIVE_FORGET); VALUE(IP_NATIVE_REPLACES);
    VALUE(IP_NATIVE_WRAPS); VALUE(IP_NATIVE_HOOKS); VALUE(IP_NATIVE_STARTS); VALUE(IP_NATIVE_COPIES);
    VALUE(IP_NATIVE_SHARES); VALUE(IP_NATIVE_EXITS); VALUE(IP_NATIVE_FORKS);
    VALUE(IP_NATIVE_NRADDR); VALUE(IP_NATIVE_CALL);
}
"""


def test_layouts(tmp_path: Path) -> None:
    source = tmp_path / "layouts.c"
    source.write_text(PROGRAM)
    command = ["gcc", "-std=gnu17", f"-I{ROOT}/interpose", str(source), "-o", str(tmp_path / "layouts")]
    subprocess.run(command, check=True)
    out = subprocess.run([tmp_path / "layouts"], capture_output=True, text=True, check=True).stdout
    c = {name: int(value) for name, value in (line.split() for line in out.splitlines())}
    sizes = {
        "greeting": wire._GREETING,
        "object": wire._OBJECT,
        "head": wire._HEAD,
        "patch": wire._PAIR,
        "claim": wire._CLAIM,
        "hello": wire.HELLO,
        "welcome": wire._WELCOME,
        "hooked": wire.HOOKED,
        "answer": wire.ANSWER,
    }
    assert {name: c[f"ip_native_{name}"] for name in sizes} == {n: s.size for n, s in sizes.items()}
    values = {name: value for name, value in c.items() if name.startswith("IP_NATIVE_")}
    assert values == {name: getattr(wire, name.removeprefix("IP_NATIVE_")) for name in values}
    script = (ROOT / "interpose" / "native" / "agent.js").read_text()
    assert int(re.search(r"const ITEM = (\d+)", script)[1]) == c["ip_native_item"]
    for field, use in (
        ("item.original", "item.add({}).writePointer(original)"),
        ("item.failed", "item.add({}).writeU32(0)"),
        ("item.cave", "item.add({}).readPointer())"),
        ("setup.flush", "setup.add({}).writePointer(keep(new NativeCallback(flush"),
        ("setup.unbind", "setup.add({}).writePointer(keep(new NativeCallback(unbind"),
        ("setup.wait", "setup.add({}).writePointer(keep(new NativeCallback(() => {{}}"),
        ("setup.debug", "setup.add({}).writePointer(ptr(debug))"),
        ("setup.socket", "setup.add({}).writeUtf8String(socket)"),
        ("setup.token", "setup.add({}).writeByteArray(token)"),
        ("setup.execve", "setup.add({} + 8 * i).writePointer(followCall(name))"),
        ("setup.hooks", "setup.add({}).writeUtf8String(hooks)"),
        ("setup.leave", "setup.add({}).writePointer(keep(new NativeCallback(leave"),
        ("setup.finish", "setup.add({}).writePointer(keep(new NativeCallback(finish"),
        ("setup.leave", "call({}, 'pointer')"),
        ("setup.finish", "call({}, 'void')"),
        ("setup.exit", "setup.add({}).writePointer(followCall('_exit'))"),
    ):
        assert use.format(c[f"ip_native_{field}"]) in script, field
