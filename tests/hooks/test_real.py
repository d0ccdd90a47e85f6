"""Real programs with hooks on what they call most."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from hooks.conftest import ON_CPU

TOOLS = ("none", "memcheck", ON_CPU)


def need(command: str) -> str:
    found = shutil.which(command)
    if found is None:
        pytest.skip(f"{command} is not installed")
    return found


@pytest.mark.parametrize("tool", TOOLS)
def test_sqlite(tool, hooked, tmp_path):
    """Each file is opened by another spelling of its name, and writes are counted."""
    sqlite = need("sqlite3")
    run = hooked(
        sqlite,
        """
        from interpose.hooks import *
        written = 0

        @wrap("libc.so*", "open64")
        def open64(call, path: CString, flags: int, mode: UInt) -> int:
            if path.endswith("/told.db"):
                print("database", oct(mode), path.address != 0)
            return call("/" + path, flags, mode)

        @wrap("libc.so*", "pwrite64")
        def pwrite64(call, fd: int, data: Pointer, size: Size, offset: Long) -> SSize:
            global written
            n = call(fd, data, size, offset)
            if offset == 0 and size > 100:
                print(call.memory.read(data, 15).decode("latin1"))
            written += n
            return n

        @wrap("libc.so*", "exit")
        def exit(call, status: int) -> None:
            print("written", written > 1000)
            call(status)
        """,
        "-init",
        "/dev/null",
        str(tmp_path / "told.db"),
        "create table t(x); insert into t values(1),(2),(40); select sum(x) from t;",
        tool=tool,
    )
    assert (run.out, run.code) == ("43\n", 0), run.err
    assert run.log == []
    assert (tmp_path / "told.db").stat().st_size > 1000
    assert "database 0o644 True" in run.said
    assert run.said[-1] == "written True"
    assert "SQLite format 3" in run.said


@pytest.mark.parametrize("tool", TOOLS)
def test_python(tool, hooked, tmp_path):
    """Threads, many small reads, strings that the C library looks at."""
    code = (
        "import threading, os\n"
        "found = []\n"
        "look = lambda: found.append(open('/proc/self/comm').read())\n"
        "ts = [threading.Thread(target=look) for n in range(4)]\n"
        "[t.start() for t in ts]; [t.join() for t in ts]\n"
        "print(len(found), os.read(os.open('/etc/hostname', 0), 4))\n"
    )
    run = hooked(
        sys.executable,
        """
        from interpose.hooks import *
        made, reads = [], 0

        @wrap("libc.so*", "pthread_create")
        def pthread_create(call, thread: Pointer) -> int:
            r = call(thread)
            made.append(r)
            print("thread", len(made), r)
            return r

        @wrap("libc.so*", "read")
        def read(call, fd: int, buffer: Pointer, size: Size) -> SSize:
            global reads
            reads += 1
            if size == 4:
                call.memory.write(buffer, b"hook")
                return 4
            return call(fd, buffer, size)

        @wrap("libc.so*", "open*64")
        def opened(call, path: CString) -> int:
            if "hostname" in (path or ""):
                print(call.function.startswith("open"), path, bool(call.stack))
            return call(path)
        """,
        "-S",
        "-c",
        code,
        tool=tool,
        env={"PYTHONMALLOC": "malloc"},
    )
    assert (run.out, run.code) == ("4 b'hook'\n", 0), run.err[-2000:]
    assert run.said[:4] == [f"thread {n} 0" for n in range(1, 5)]
    assert [line for line in run.said if "hostname" in line][:1] == ["True /etc/hostname True"]


@pytest.mark.parametrize("tool", TOOLS)
def test_malloc_and_strlen(tool, hooked, build):
    """Replaced by the tool, or indirect functions: the hook goes around what is there."""
    run = hooked(
        "/bin/ls",
        """
        from interpose.hooks import *
        blocks = {}
        lengths = 0

        @wrap("libc.so*", "malloc")
        def malloc(call, size: Size) -> Pointer:
            block = call(size)
            blocks[block] = size
            return block

        @wrap("libc.so*", "free")
        def free(call, block: Pointer) -> None:
            if block:
                blocks.pop(block, None)
            call(block)

        @wrap("libc.so*", "strlen")
        def strlen(call, text: CString) -> Size:
            global lengths
            n = call(text)
            lengths += n == len(text.raw)
            lengths -= n != len(text.raw)
            return n

        @wrap("libc.so*", "exit")
        def exit(call, status: int) -> None:
            print(len(blocks) > 3, all(size >= 0 for size in blocks.values()), lengths > 3)
            call(status)
        """,
        "-l",
        "/etc/hostname",
        tool=tool,
    )
    assert "/etc/hostname\n" in run.out
    assert run.log == [], run.err[-2000:]
    assert run.said[-1] == "True True True"


@pytest.mark.parametrize("tool", TOOLS)
def test_curl(tool, hooked):
    curl = need("curl")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "6")
            self.end_headers()
            self.wfile.write(b"hello\n")
            agents.append(self.headers["User-Agent"])

        def log_message(self, *args) -> None:
            pass

    agents: list[str] = []
    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        run = hooked(
            curl,
            """
            from interpose.hooks import *

            @wrap("libc.so*", "send")
            def send(call, fd: int, data: Pointer, size: Size, flags: int) -> SSize:
                request = call.memory.read(data, size)
                print(request.split(b"\\r\\n")[0].decode())
                changed = request.replace(b"interpose-test", b"changed-by-one")
                return call(fd, changed, len(changed), flags)

            @wrap("libcurl.so*", "curl_easy_perform")
            def perform(call, handle: Pointer) -> int:
                print("perform")
                return call(handle)
            """,
            "-sS",
            "-A",
            "interpose-test",
            "--noproxy",
            "*",
            f"http://127.0.0.1:{server.server_port}/page",
            tool=tool,
        )
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert (run.out, run.code) == ("hello\n", 0), run.err
    assert "GET /page HTTP/1.1" in run.said
    assert agents == ["changed-by-one"]


@pytest.mark.parametrize("name", ["trace_opens", "failing_malloc", "slow_calls"])
def test_examples(name):
    file = Path(__file__).resolve().parents[2] / "examples" / f"{name}.py"
    command = [
        sys.executable,
        "-m",
        "interpose",
        "--tool=none",
        "-q",
        f"--hooks={file}",
        "/bin/ls",
        "-d",
        "/",
    ]
    run = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env={**os.environ, "FAIL_EVERY": "1000000"}
    )
    assert (run.stdout, run.returncode) == ("/\n", 0), run.stderr
    assert "Traceback" not in run.stderr


def test_shell_with_children(hooked):
    run = hooked(
        "/bin/sh",
        """
        from interpose.hooks import *

        @wrap("libc.so*", "write")
        def write(call, fd: int, data: Pointer, size: Size) -> SSize:
            text = call.memory.read(data, size).upper()
            return call(fd, text, size)
        """,
        "-c",
        "echo one; (echo two; echo three); for i in 1 2 3; do (echo child $i) & done; wait; exit 3",
    )
    assert (sorted(run.out.splitlines()), run.code) == (
        ["CHILD 1", "CHILD 2", "CHILD 3", "ONE", "THREE", "TWO"],
        3,
    )
    assert subprocess.run(["true"]).returncode == 0


@pytest.mark.parametrize("tool", TOOLS)
def test_everything_at_once(tool, hooked):
    """Every function of the program, of its libraries and of the dynamic linker."""
    run = hooked(
        "/bin/echo",
        """
        names = set()

        @interpose.wrap("*", "*")
        def everything(call):
            names.add(call.function)
            if len(names) == 50:
                print("fifty")
            call()
        """,
        "hello",
        tool=tool,
    )
    assert (run.out, run.code, run.log) == ("hello\n", 0, []), run.err[-2000:]
    assert "fifty" in run.said
