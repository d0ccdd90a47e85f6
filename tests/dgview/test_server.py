"""The page's server answers the page, and nobody else."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from dgview.traces import build_guest, write_program

from interpose.dgview import picture
from interpose.dgview.index import View
from interpose.dgview.server import Server
from interpose.dgview.viewer import Viewer

Program = tuple[Path, Path, dict[str, int]]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    folder = tmp_path_factory.mktemp("served")
    executable, symbols = build_guest(folder)
    return folder / "trace", executable, write_program(folder / "trace", executable, symbols)


@pytest.fixture
def server(program: Program) -> Iterator[Server]:
    with Server(Viewer(str(program[0]))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(
    server: Server,
    path: str,
    headers: dict[str, str] | None = None,
    method: str = "GET",
    body: bytes | None = None,
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=20)
    connection.request(method, path, body, headers or {})
    answer = connection.getresponse()
    result = answer.status, dict(answer.getheaders()), answer.read()
    connection.close()
    return result


def asked(server: Server, rest: str) -> tuple[int, dict[str, str], bytes]:
    return ask(server, f"/{server.token}/{rest}")


def test_it_is_on_the_loopback_interface_only(server):
    assert server.server_address[0] == "127.0.0.1"


def test_the_page_and_its_headers(server):
    status, headers, body = asked(server, "")
    assert status == 200 and b"<canvas" in body
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self';")
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["Referrer-Policy"] == "no-referrer" and headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert not any(name.startswith("Access-Control") for name in headers)


@pytest.mark.parametrize(
    "path", ["/", "/x/", "/../", "/{t}", "/{t}x/state", "/{t}/../page.py", "/{t}/page/page.js", "/%s/"]
)
def test_no_other_path(server, path):
    status, _, body = ask(server, path.replace("{t}", server.token))
    assert (status, body) == (404, b"not found")


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "localhost.evil.example:80"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_no_other_origin(server, headers):
    for method in ("GET", "POST"):
        status, _, _ = ask(
            server, f"/{server.token}/state", headers, method, b"{}" if method == "POST" else None
        )
        assert status == 403


def test_other_methods_and_bodies(server):
    assert ask(server, f"/{server.token}/state", method="PUT", body=b"")[0] == 501
    own = {"Origin": server.origin, "Content-Type": "application/json"}
    path = f"/{server.token}/filter"
    good = json.dumps({"events": "", "ranges": "", "fetches": False}).encode()
    assert ask(server, path, own, "POST", good)[0] == 200
    assert ask(server, path, own | {"Content-Type": "text/plain"}, "POST", good)[0] == 403
    assert ask(server, path, {"Content-Type": "application/json"}, "POST", good)[0] == 403
    for bad in (b"", b"[]", b"{", b"[" * 60000, b'{"events": 1}'):
        assert ask(server, path, own, "POST", bad)[0] == 400
    assert ask(server, path, own | {"Content-Length": "99999999999"}, "POST", b"")[0] == 413
    assert ask(server, path, own | {"Content-Length": "-1"}, "POST", b"")[0] == 413


def test_a_picture_is_that_of_the_command(server):
    index = server.viewer.index
    status, headers, body = asked(
        server,
        f"picture?left=0&right={index.columns}&top=0&bottom={index.n_instrs}&width=90&height=70&exact=1",
    )
    assert status == 200 and headers["Content-Type"] == "image/png" and headers["X-Exact"] == "1"
    assert body == picture.draw(index, picture.whole(index, 90, 70))[0]


@pytest.mark.parametrize(
    "query",
    [
        "",
        "left=0&right=0&top=0&bottom=1&width=1&height=1",
        "left=0&right=1&top=0&bottom=1&width=0&height=1",
        "left=0&right=1&top=0&bottom=1&width=99999&height=99999",
        "left=-1&right=1&top=0&bottom=1&width=1&height=1",
        "left=0&right=99999999999999999999&top=0&bottom=1&width=1&height=1",
        "left=x&right=1&top=0&bottom=1&width=1&height=1",
    ],
)
def test_views_that_are_none(server, query):
    for name in ("picture", "at"):
        assert asked(server, f"{name}?{query}")[0] == 400


def test_any_view_in_range(server):
    end = (1 << 63) - 1
    query = f"left=0&right={end}&top=0&bottom={end}&width=9&height=9"
    assert asked(server, f"picture?{query}")[0] == 200
    assert asked(server, f"at?{query}")[0] == 200
    query = f"left={end - 1}&right={end}&top={end - 1}&bottom={end}&width=9&height=9"
    assert asked(server, f"picture?{query}")[0] == 200
    assert asked(server, f"at?{query}")[0] == 200


def at(server: Server, address: int, instr: int) -> dict:
    column = server.viewer.index.column(address)
    view = View(column, column + 1, instr, instr + 1, 1, 1)
    query = "&".join(f"{name}={value}" for name, value in view._asdict().items())
    status, _, body = asked(server, f"at?{query}")
    assert status == 200
    return json.loads(body)


def test_what_is_at_a_spot(server, program):
    _, executable, places = program
    found = at(server, places["table"], 0)
    assert (found["address"], found["dir"], found["size"]) == (f"0x{places['table']:x}", "read", 4)
    assert [level["function"] for level in found["stack"]] == ["leaf", "middle", "main"]
    assert [level["line"] for level in found["stack"]] == [2, 3, 5]
    assert found["stack"][0]["path"].endswith("/symbols.c")
    assert found["stack"][0]["object"] == str(executable)
    assert found["stack"][0]["text"] == "leaf (symbols.c:2)"
    assert found["labels"] == ["range table (int[64])"]
    assert found["variable"] == "table" and "block" not in found
    found = at(server, places["heap"] + 8, 3)
    assert found["dir"] == "write" and found["sums"] == [0, 1, 0]
    block = found["block"]
    assert (block["address"], block["size"], block["offset"]) == (f"0x{places['heap']:x}", 256, 8)
    assert (block["begin"], block["end"]) == (0, 96)
    assert [level["function"] for level in block["stack"]] == ["main", "middle"]
    found = at(server, places["stack"] - 8, 65)
    assert found["labels"] == ["event phase"]
    assert [level["function"] for level in found["stack"]] == ["main"]
    nothing = at(server, places["stack"] - 8, 0)
    assert "dir" not in nothing and nothing["address"] == f"0x{places['stack'] - 8:x}"


def test_addresses(server, program):
    columns = [server.viewer.index.column(program[2][name]) for name in ("table", "heap")]
    status, _, body = asked(server, f"addresses?columns={columns[0]},x,-4,{columns[1]}")
    assert status == 200
    assert json.loads(body) == [f"0x{program[2][name]:x}" for name in ("table", "heap")]


def test_columns(server, program):
    words = [f"0x{program[2][name]:x}" for name in ("table", "heap")]
    status, _, body = asked(server, f"columns?addresses={words[0]},x,-4,0x{'f' * 17},{words[1]}")
    assert status == 200
    assert json.loads(body) == [server.viewer.index.column(program[2][name]) for name in ("table", "heap")]


@pytest.mark.parametrize(
    "query",
    [
        "picture?left=0&right=1&top=0&bottom=1&width=1&height=1",
        "at?left=0&right=1&top=0&bottom=1&width=1&height=1",
        "addresses?columns=1",
        "columns?addresses=0x1000",
    ],
)
def test_columns_of_another_filter_are_refused(server, query):
    assert asked(server, f"{query}&generation=0")[0] == 200
    assert asked(server, f"{query}&generation=1")[0] == 409
    assert asked(server, f"{query}&generation=x")[0] == 400


def test_pages_do_not_end_each_others_questions(server, monkeypatch):
    kinds = []
    begin = server.begin
    monkeypatch.setattr(server, "begin", lambda kind: kinds.append(kind) or begin(kind))
    for page in ("1", "2", "1"):
        for name in ("picture", "at"):
            query = f"{name}?left=0&right=1&top=0&bottom=1&width=1&height=1&page={page}"
            assert asked(server, query)[0] == 200
    assert len(set(kinds)) == 4 and kinds[:2] == kinds[4:]
    first, second = server.begin(kinds[0]), server.begin(kinds[2])
    assert not first() and not second()
    server.begin(kinds[0])
    assert first() and not second()


def post_filter(server: Server, **words: object) -> tuple[int, bytes]:
    body = json.dumps({"events": "", "ranges": "", "fetches": False, **words}).encode()
    headers = {"Origin": server.origin, "Content-Type": "application/json"}
    status, _, answer = ask(server, f"/{server.token}/filter", headers, "POST", body)
    return status, answer


def state(server: Server) -> dict:
    while True:
        found = json.loads(asked(server, "state")[2])
        if found["busy"] is None:
            return found
        time.sleep(0.01)


def test_filters_change_while_it_is_looked_at(server):
    before = state(server)
    assert before["generation"] == 0 and before["counts"]["bbruns"] == 64 and not before["empty"]
    assert post_filter(server, events="user:phase")[0] == 200
    after = state(server)
    assert (
        after["generation"] == 1 and after["events"] == "user:phase" and after["columns"] < before["columns"]
    )
    assert post_filter(server, ranges="fn:nothing")[0] == 200
    assert state(server)["empty"]
    assert post_filter(server, events="malloc") == (400, b"Invalid condition `malloc'")
    assert state(server)["generation"] == 2
    assert post_filter(server)[0] == 200
    assert state(server)["columns"] == before["columns"]


def test_names_are_read_ahead(program):
    path, _, places = program
    viewer = Viewer(str(path))
    asked = []
    levels = viewer.symbols.levels
    viewer.symbols.levels = lambda ip, instr=0: asked.append(ip) or levels(ip, instr)
    viewer.read_names()
    assert asked == viewer.whole.trace.ips()
    assert places["leaf"] in asked
