"""gdb attached to the client: with the unwinder of interpose/gdb/frames.py it shows the program's frames."""

from __future__ import annotations

import ast
import shutil
import subprocess
from pathlib import Path

import pytest
from life.running import TOOLS, command, environment, state, wait_until

PROGRAM = """
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
volatile int global = 7;
__attribute__((noinline)) int inner(int n) {
    if (BUSY) for (;;) global = global * 3 + n;
    for (;;) sleep(1000);
}
__attribute__((noinline)) int outer(int n) { return inner(n + 1) + 1; }
int main(void) { puts("up"); fflush(stdout); return outer(41); }
"""


def constants() -> dict[str, object]:
    from interpose import paths

    found: dict[str, object] = {}
    for node in ast.parse(Path(paths.gdb_script()).read_text()).body:
        if isinstance(node, ast.Assign):
            target = node.targets[0]
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            try:
                value = ast.literal_eval(node.value)
            except ValueError:
                value = (
                    ast.literal_eval(node.value.args[0])
                    if isinstance(node.value, ast.Call) and node.value.args
                    else None
                )
            values = value if isinstance(target, ast.Tuple) else [value]
            found |= {ast.unparse(name): v for name, v in zip(names, values, strict=True)}
    return found


def test_constants_are_those_of_the_header() -> None:
    import struct

    from interpose import paths
    from interpose.jit._native import ffi, lib

    c = constants()
    assert c["CACHE"] == (lib.IP_CACHE_BASE, lib.IP_CACHE_BASE + lib.IP_CACHE_MAX)
    assert c["RUNTIME"] == (lib.IP_RT_BASE, lib.IP_LEFT_LO)
    assert (c["META"], c["CHANNEL"], c["CHANNEL_MAGIC"]) == (lib.IP_META_BASE, lib.IP_CHAN_BASE, lib.IP_MAGIC)
    assert c["META_BLOCKS"] == lib.IP_META_BLOCKS and c["META_POINTS"] == lib.IP_META_POINTS
    assert c["META_PCS"] == lib.IP_META_PCS and c["KEY_PC"] == lib.IP_KEY_PC
    packed = [name for name in c if name.startswith(("POINT_", "PCS_"))]
    assert len(packed) == 9
    assert {name: c[name] for name in packed} == {name: getattr(lib, f"IP_{name}") for name in packed}
    assert c["CHANNEL_PROG"] == ffi.offsetof("struct ip_chan", "prog")
    assert c["STUBS"] == tuple(name.encode() for name in (paths.STUBS, paths.HEAP_STUBS, paths.CORE_STUBS))
    assert c["STATE_GPR"] == ffi.offsetof("struct tstate", "gpr")
    assert c["STATE_PC"] == ffi.offsetof("struct tstate", "pc")
    assert c["N_BLOCKS_AT"] == ffi.offsetof("struct ip_meta", "n_blocks")
    assert c["COLD_USED_AT"] == ffi.offsetof("struct ip_meta", "cold_used") and c["COLD"] == lib.IP_COLD_BASE
    assert struct.calcsize(str(c["BLOCK"])) == ffi.sizeof("struct ip_block")
    assert [f for f, _ in ffi.typeof("struct ip_block").fields] == [
        "key", "host", "points", "pcs", "cold", "trace", "host_len", "cold_len", "n_points", "n_insns",
        "live", "entry"]  # fmt: skip


def shown(folder: Path, tool: str, source: str, flags: list[str], plain: bool, wanted: str) -> str:
    """What gdb shows of the program, which writes a line and then runs (R) or sleeps (S).

    :param plain: without capabilities /proc/PID/exe is the runtime, and the script finds the program.
    """
    from interpose import paths

    if shutil.which("gdb") is None:
        pytest.skip("no gdb")
    (folder / "waits.c").write_text(source)
    subprocess.run(["gcc", "-g", *flags, "waits.c", "-o", "waits"], cwd=folder, check=True)
    prefix = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if plain else []
    client = subprocess.Popen(
        [*prefix, *command(f"--tool={tool}", "-q"), "./waits"],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert client.stdout is not None and client.stdout.readline() == b"up\n"
        wait_until(lambda: state(client.pid) == wanted)
        gdb = ["gdb", "-nx", "-batch", "-p", str(client.pid), "-iex", "set debuginfod enabled off"]
        asks = ["-x", paths.gdb_script(), "-ex", "backtrace", "-ex", "print global"]
        for _ in range(5):  # a busy program may just be in the runtime, between two blocks
            done = subprocess.run([*gdb, *asks], capture_output=True, text=True, timeout=60, cwd=folder)
            if "inner (n=" in done.stdout:
                break
    finally:
        client.kill()
        client.wait()
        client.stdout.close()
    if "Operation not permitted" in done.stderr:
        pytest.skip("gdb may not attach here")
    out = done.stdout
    assert "inner (n=" in out and "outer (n=" in out and "main () at waits.c" in out, out + done.stderr
    assert out.index("inner (n=") < out.index("outer (n=") < out.index("main ()")
    assert "\n$1 = " in out
    return out


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("busy", [0, 1])
@pytest.mark.parametrize("tool", TOOLS)
def test_frames_of_the_program(tmp_path: Path, tool: str, busy: int, plain: bool) -> None:
    shown(tmp_path, tool, PROGRAM, ["-O1", f"-DBUSY={busy}"], plain, "R" if busy else "S")


@pytest.mark.parametrize("plain", [False, True])
def test_frames_below_a_replaced_function(tmp_path: Path, plain: bool) -> None:
    """Its symbols come with the script, the program's too where the folder's name has to be quoted."""
    folder = tmp_path / "a (b"
    folder.mkdir()
    source = PROGRAM.replace("global = global * 3 + n", "memset(room, n, sizeof room)")
    source = "#include <string.h>\nchar room[1 << 22];\n" + source
    out = shown(folder, "memcheck", source, ["-O0", "-fno-builtin", "-DBUSY=1"], plain, "R")
    assert "_memset (" in out and out.index("_memset (") < out.index("inner (n=")
