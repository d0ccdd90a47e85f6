"""Debug files from debuginfod servers: a server of the test's own, good, absent, wrong, endless and slow."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

TIMEOUT = 120
SOURCE = """
#include <stdlib.h>
static __attribute__((noinline)) int hidden(volatile int *p) { return p[3]; }
int main(void) {
    hidden(malloc(4));
    return 0;
}
"""
PLACE = r"hidden \(program\.c:3\)"


class Server:
    """Answers by a function of the handler; `asked` are the paths."""

    def __init__(self) -> None:
        outer = self
        self.asked: list[str] = []
        self.answer: Callable[[BaseHTTPRequestHandler], None] = lambda handler: handler.send_error(404)
        self.ended = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(self.path)
                with suppress(OSError):
                    outer.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    one = Server()
    yield one
    one.close()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes, str]:
    """A program without debug information, its debug file, its build-id."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "program.c").write_text(SOURCE)
    for command in (
        "gcc -g -Wl,--build-id -o program program.c",
        "objcopy --only-keep-debug program debug",
        "strip program",
    ):
        subprocess.run(command.split(), check=True, cwd=folder)
    from interpose.elf.image import Image

    build_id = Image.open(str(folder / "program")).build_id
    assert build_id is not None
    return folder / "program", (folder / "debug").read_bytes(), build_id


def run(program: Path, urls: str, cache: Path, *options: str, **more: str) -> str:
    environment = {**os.environ, "DEBUGINFOD_URLS": urls, "DEBUGINFOD_CACHE_PATH": str(cache), **more}
    command = [sys.executable, "-m", "interpose", "--tool=memcheck", *options, str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, env=environment)
    assert "Invalid read of size 4" in done.stderr and "ERROR SUMMARY: 1 errors" in done.stderr, done.stderr
    return done.stderr


def sends(data: bytes, status: int = 200) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    return answer


def test_a_debug_file_is_fetched_once(built: tuple[Path, bytes, str], server: Server, tmp_path: Path) -> None:
    program, debug, build_id = built
    path = f"/buildid/{build_id}/debuginfo"
    server.answer = lambda handler: (sends(debug) if handler.path == path else sends(b"", 404))(handler)
    assert not re.search(PLACE, run(program, server.url, tmp_path, "--enable-debuginfod=no"))
    assert server.asked == []
    assert not re.search(PLACE, run(program, "", tmp_path))
    for _ in range(2):
        assert re.search(PLACE, run(program, f"{server.url}/ http://127.0.0.1:1", tmp_path))
    assert server.asked.count(path) == 1
    kept = tmp_path / build_id / "debuginfo"
    assert kept.read_bytes() == debug and not list(tmp_path.glob("*/.new-*"))
    # What debuginfod-find has left there is as good.
    assert re.search(PLACE, run(program, "http://127.0.0.1:1", tmp_path))


def test_what_no_server_has_is_not_asked_for_again(
    built: tuple[Path, bytes, str], server: Server, tmp_path: Path
) -> None:
    program, debug, build_id = built
    path = f"/buildid/{build_id}/debuginfo"
    for _ in range(2):
        assert not re.search(PLACE, run(program, server.url, tmp_path))
    assert server.asked.count(path) == 1
    (tmp_path / "cache_miss_s").write_text("0")
    server.answer = sends(debug)
    assert re.search(PLACE, run(program, server.url, tmp_path))


def test_the_next_server_is_asked(built: tuple[Path, bytes, str], server: Server, tmp_path: Path) -> None:
    program, debug, _ = built
    other = Server()
    other.answer = sends(debug)
    try:
        text = run(program, f"http://127.0.0.1:1 {server.url} {other.url}", tmp_path, "-v")
    finally:
        other.close()
    assert re.search(PLACE, text)
    assert re.search(r"--\d+-- debuginfod: http://127\.0\.0\.1:1: .*refused", text)


def endless(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    while True:
        handler.wfile.write(b"\x7fELF" * 4096)


def redirects(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(302)
    handler.send_header("Location", handler.path)
    handler.end_headers()


HOSTILE = {
    "garbage": (sends(b"\x7fELF" + bytes(range(256)) * 40), {}, "no debug file of that build-id"),
    "empty": (sends(b""), {}, "no debug file of that build-id"),
    "error": (sends(b"no", 500), {}, "status 500"),
    "endless": (endless, {"DEBUGINFOD_MAXSIZE": "1000000"}, "more than 1000000 bytes"),
    "redirects": (redirects, {}, "status 302"),
    "no http": (lambda handler: handler.wfile.write(b"\0\xff" * 999), {}, ""),
    "nothing": (lambda handler: None, {}, ""),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_answers(built: tuple[Path, bytes, str], server: Server, tmp_path: Path, kind: str) -> None:
    """The report is as without the server, one line under -v says why, and nothing is kept."""
    program, _, _ = built
    server.answer, variables, reason = HOSTILE[kind]
    text = run(program, server.url, tmp_path, "-v", **variables)
    assert not re.search(PLACE, text)
    lines = re.findall(r"--\d+-- debuginfod: (.*)", text)
    assert len(lines) == 1 and lines[0].startswith(server.url) and reason in lines[0], lines
    assert len(server.asked) == 1 or kind == "redirects"
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    assert "debuginfod:" not in run(program, server.url, tmp_path, **variables)


def test_slow_answers(built: tuple[Path, bytes, str], server: Server, tmp_path: Path) -> None:
    """Servers that say nothing, or send byte by byte, are given up after DEBUGINFOD_TIMEOUT."""
    program, _, _ = built
    limits = {"DEBUGINFOD_TIMEOUT": "1"}
    server.answer = lambda handler: server.ended.wait(TIMEOUT) and None
    assert "debuginfod: http" in run(program, server.url, tmp_path, "-v", **limits)

    def trickle(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not server.ended.is_set():
            handler.wfile.write(b"x")
            handler.wfile.flush()
            time.sleep(0.05)

    server.answer = trickle
    assert "too slow" in run(program, server.url, tmp_path, "-v", **limits)


def test_another_build_is_not_taken(built: tuple[Path, bytes, str], server: Server, tmp_path: Path) -> None:
    program, debug, build_id = built
    server.answer = sends(debug.replace(bytes.fromhex(build_id), bytes(len(build_id) // 2)))
    assert not re.search(PLACE, run(program, server.url, tmp_path))
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    # Nor one that somebody has put into the cache.
    (tmp_path / build_id).mkdir(exist_ok=True)
    (tmp_path / build_id / "debuginfo").write_bytes(debug[:500])
    assert not re.search(PLACE, run(program, server.url, tmp_path))
