"""The local page: HTTP on the loopback interface, for whoever knows the token in the address.

A page of another origin can make a browser send requests here, but does not know the token, and cannot read
an answer. The checks of Host and Origin stop names that are made to point to this machine.
"""

from __future__ import annotations

import hmac
import itertools
import json
import os
import re
import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from interpose.dgview.index import CancelledError, View
from interpose.dgview.picture import MOST_PIXELS
from interpose.dgview.viewer import Viewer
from interpose.errors import InterposeError

_FOLDER = Path(__file__).parent / "page"
_FILES = {
    "": ("page.html", "text/html; charset=utf-8"),
    "page.js": ("page.js", "text/javascript; charset=utf-8"),
    "page.css": ("page.css", "text/css; charset=utf-8"),
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_MOST_BODY = 1 << 16
_MOST_COLUMNS = 64
_MOST_PAGE_NAME = 16
_ADDRESS = re.compile("0x[0-9a-f]{1,16}")


class _RefusedError(Exception):
    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


class Server(ThreadingHTTPServer):
    """One viewer, one token."""

    daemon_threads = True

    def __init__(self, viewer: Viewer, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.viewer = viewer
        self.token = secrets.token_urlsafe(24)
        self.origin = f"http://127.0.0.1:{self.server_address[1]}"
        self._serials: dict[str, int] = {}
        self._counter = itertools.count(1)

    @property
    def url(self) -> str:
        return f"{self.origin}/{self.token}/"

    def begin(self, kind: str) -> Callable[[], bool]:
        """Whether a newer question of the same kind came after this one."""
        mine = self._serials[kind] = next(self._counter)
        return lambda: self._serials[kind] != mine

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Browsers hang up when they do not want an answer any more."""


def _numbers(query: dict[str, list[str]], names: str) -> list[int]:
    try:
        found = [int(query[name][0]) for name in names.split()]
    except (KeyError, ValueError):
        raise _RefusedError(400, "numbers are missing") from None
    if not all(0 <= number < 1 << 63 for number in found):
        raise _RefusedError(400, "a number is out of range")
    return found


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    server_version = "interpose-dgview"
    sys_version = ""
    timeout = 600

    def log_message(self, format: str, *args: Any) -> None:
        """The token is no matter for a log."""

    # ---- Who asks ----

    def _path(self) -> tuple[str, dict[str, list[str]]]:
        """What is asked for, of whom may ask."""
        if self.headers.get("Host") != self.server.origin.removeprefix("http://"):
            raise _RefusedError(403, "wrong host")
        origin = self.headers.get("Origin")
        if origin is not None and origin != self.server.origin:
            raise _RefusedError(403, "wrong origin")
        if self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            raise _RefusedError(403, "wrong site")
        parts = urlsplit(self.path)
        _, _, rest = parts.path.partition("/")
        token, slash, name = rest.partition("/")
        if not slash or not hmac.compare_digest(token.encode(), self.server.token.encode()):
            raise _RefusedError(404, "not found")
        return name, parse_qs(parts.query, max_num_fields=20)

    def _answer(self, answer: Callable[[], tuple[bytes, str, dict[str, str]]]) -> None:
        headers: dict[str, str] = {}
        status, kind = 200, "text/plain; charset=utf-8"
        try:
            body, kind, headers = answer()
        except _RefusedError as error:
            status, body = error.status, error.text.encode()
        except CancelledError:
            status, body = 409, b"not wanted any more"
        except InterposeError as error:
            status, body = 400, error.message.encode("utf-8", "surrogateescape")
        self.send_response(status)
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store",
            "Content-Security-Policy": _POLICY,
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            **headers,
        }.items():
            self.send_header(name, value)
        if status == 403:
            self.close_connection = True
        self.end_headers()
        with suppress(BrokenPipeError, ConnectionResetError):
            self.wfile.write(body)

    # ---- Questions ----

    def do_GET(self) -> None:
        self._answer(self._get)

    def _get(self) -> tuple[bytes, str, dict[str, str]]:
        name, query = self._path()
        viewer = self.server.viewer
        # Views are of the columns of one filter's generation, and a page's new question ends its own old one.
        generation = _numbers(query, "generation")[0] if "generation" in query else None
        page = query.get("page", [""])[0][:_MOST_PAGE_NAME]
        if name in _FILES:
            file, kind = _FILES[name]
            return (_FOLDER / file).read_bytes(), kind, {}
        if name == "picture":
            view = self._view(query)
            exact = query.get("exact") == ["1"]
            cancelled = self.server.begin(f"picture {exact}{page}")
            body, is_exact = viewer.picture(view, exact, cancelled, generation)
            return body, "image/png", {"X-Exact": "1" if is_exact else "0"}
        if name == "state":
            return _json(viewer.state())
        if name == "at":
            return _json(viewer.at(self._view(query), self.server.begin(f"at{page}"), generation))
        if name == "addresses":
            words = query.get("columns", [""])[0].split(",")[:_MOST_COLUMNS]
            numbers = [int(word) for word in words if word.isascii() and word.isdigit()]
            return _json(viewer.addresses(numbers, generation))
        if name == "columns":
            words = query.get("addresses", [""])[0].split(",")[:_MOST_COLUMNS]
            numbers = [int(word, 16) for word in words if _ADDRESS.fullmatch(word)]
            return _json(viewer.columns(numbers, generation))
        raise _RefusedError(404, "not found")

    @staticmethod
    def _view(query: dict[str, list[str]]) -> View:
        view = View(*_numbers(query, "left right top bottom width height"))
        if (
            view.right <= view.left
            or view.bottom <= view.top
            or not 0 < view.width * view.height <= MOST_PIXELS
        ):
            raise _RefusedError(400, "no such view")
        return view

    def do_POST(self) -> None:
        self._answer(self._post)

    def _post(self) -> tuple[bytes, str, dict[str, str]]:
        name, _ = self._path()
        size = self.headers.get("Content-Length", "")
        if not size.isdigit() or int(size) > _MOST_BODY:
            self.close_connection = True
            raise _RefusedError(413, "too long")
        body = self.rfile.read(int(size))
        if name != "filter":
            raise _RefusedError(404, "not found")
        if self.headers.get("Content-Type") != "application/json" or self.headers.get("Origin") is None:
            raise _RefusedError(403, "not the page's")
        try:
            wanted = json.loads(body)
            events, ranges, fetches = str(wanted["events"]), str(wanted["ranges"]), bool(wanted["fetches"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise _RefusedError(400, "no filter") from None
        viewer = self.server.viewer
        viewer.check(events, ranges)
        viewer.busy = 0.0
        threading.Thread(target=viewer.set_filter, args=(events, ranges, fetches), daemon=True).start()
        return _json({})


def _json(value: Any) -> tuple[bytes, str, dict[str, str]]:
    # ASCII alone: names of files may hold bytes that are no text.
    return json.dumps(value).encode(), "application/json", {}


def serve(viewer: Viewer, port: int = 0) -> None:
    """Until it is interrupted."""
    try:
        server = Server(viewer, port)
    except OSError as error:
        raise InterposeError(f"port {port}: {error.strerror}") from None
    with server:
        print(f"{viewer.path}: {server.url}", flush=True)
        threading.Thread(target=viewer.read_names, daemon=True).start()
        with suppress(KeyboardInterrupt):
            server.serve_forever()
    os._exit(0)  # readers of a picture that nobody waits for
