"""Programs that people debug: an interpreter, a server with threads; attached while they run."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from gdb import sessions
from gdb.sessions import TIMEOUT

pytestmark = pytest.mark.skipif(sessions.GDB is None, reason="gdb is not installed")
PYTHON = shutil.which("python3", path="/usr/bin:/bin")
SERVER = """
import socketserver, sys, threading
class Answers(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            self.wfile.write(line.upper())
class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
with Server(("127.0.0.1", 0), Answers) as server:
    threading.Thread(target=server.serve_forever).start()
    print(server.server_address[1], flush=True)
    sys.stdin.readline()
    server.shutdown()
print("over")
"""


@contextlib.contextmanager
def serving(tool: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    assert PYTHON is not None
    command = [sys.executable, "-m", "interpose", f"--tool={tool}", f"--vgdb-prefix={folder}/pipe", "-q"]
    process = subprocess.Popen(
        [*command, PYTHON, "-S", "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ask(port: int, word: str) -> str:
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT) as line:
        line.sendall(f"{word}\n".encode())
        return line.makefile().readline().strip()


@pytest.mark.skipif(PYTHON is None, reason="python3 of the system is not installed")
@pytest.mark.parametrize("tool", ["none", "memcheck"])
def test_threaded_server(tool: str, tmp_path: Path) -> None:
    assert PYTHON is not None
    script = tmp_path / "script"
    script.write_text(
        "info threads\nthread apply all -q backtrace 3\n"
        "print (int)getpid()\nprint (long)PyLong_FromLong(5) != 0\ninfo sharedlibrary\ndetach\n"
    )
    with serving(tool, tmp_path) as process:
        assert process.stdout is not None and process.stdin is not None
        port = int(process.stdout.readline())
        with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT) as line:
            for word in ("first", "second"):
                line.sendall(f"{word}\n".encode())
                assert line.makefile().readline().strip() == word.upper()
                debugger = subprocess.run(
                    sessions.gdb_command(tmp_path / "pipe", process.pid, Path(PYTHON), script),
                    capture_output=True, text=True, timeout=TIMEOUT, stdin=subprocess.DEVNULL,
                )  # fmt: skip
                missing = sessions.found_in_order(
                    ["1 .*Thread", "3 .*Thread", "#0 ", r"= \d+", "= 1", "libc.so.6", "detached"],
                    debugger.stdout,
                )
                assert missing is None, f"{missing!r}:\n{debugger.stdout}{debugger.stderr}"
        assert ask(port, "third") == "THIRD"
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "over\n"
        assert process.wait(timeout=TIMEOUT) == 0
