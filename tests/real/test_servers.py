"""Servers with their clients: started, loaded, stopped, started again.

They listen on Unix sockets in folders of their own.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from real.running import LONG, TOOLS, WORKLOADS, need, places, run, under

START = 240


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short enough for the name of a socket."""
    path = Path(tempfile.mkdtemp(prefix="real", dir="/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


class Server:
    """A server process, and how to see that it answers."""

    def __init__(self, command: list[str], folder: Path, ready: list[str]) -> None:
        self.log = (folder / "server.log").open("ab")
        self.process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log
        )
        end = time.monotonic() + START
        while run(ready, folder)[0] != 0:
            if self.process.poll() is not None or time.monotonic() > end:
                self.process.kill()
                raise AssertionError((folder / "server.log").read_text(errors="replace"))
            time.sleep(0.1)

    def stop(self, how: signal.Signals | None = None) -> int:
        if how is not None:
            self.process.send_signal(how)
        try:
            return self.process.wait(START)
        finally:
            self.process.kill()
            self.log.close()


def checked(command: list[str], folder: Path) -> str:
    status, output, errors = run(command, folder)
    assert status == 0, (command, output, errors)
    return output.decode()


@pytest.mark.parametrize("tool", TOOLS)
def test_redis(folder: Path, tool: str) -> None:
    need("redis-server", "redis-benchmark", "redis-cli")
    socket = str(folder / "s")
    server = [
        "redis-server",
        "--port",
        "0",
        "--unixsocket",
        socket,
        "--dir",
        ".",
        "--save",
        "",
        "--daemonize",
        "no",
    ]
    cli = ["redis-cli", "-e", "-s", socket]
    load = ["redis-benchmark", "-s", socket, "-n", "10000" if LONG else "200", "-c", "20", "--csv"]
    one = Server([*under(tool, folder / "one"), *server], folder, [*cli, "ping"])
    figures = checked(load, folder)
    assert '"MSET' in figures and figures.count("\n") >= 20
    if LONG:
        assert '"MSET' in checked([*under(tool, folder / "load"), *load], folder)
        assert not places(folder / "load")
    checked([*cli, "set", "key", "value"], folder)
    checked([*cli, "bgsave"], folder)
    end = time.monotonic() + START
    while "rdb_bgsave_in_progress:0" not in (state := checked([*cli, "info", "persistence"], folder)):
        assert time.monotonic() < end
        time.sleep(0.1)
    assert "rdb_last_bgsave_status:ok" in state
    size = checked([*cli, "dbsize"], folder)
    run([*cli, "shutdown"], folder)
    assert one.stop() == 0
    two = Server([*under(tool, folder / "two"), *server], folder, [*cli, "ping"])
    assert checked([*cli, "get", "key"], folder) == "value\n"
    assert checked([*cli, "dbsize"], folder) == size
    run([*cli, "shutdown", "nosave"], folder)
    assert two.stop() == 0
    # Its table starts uninitialised on purpose: Redis's own suppression file for Valgrind names it.
    assert set(places(folder / "one", folder / "two")) <= {"lzf_compress"}


def unprivileged(folder: Path) -> list[str]:
    """PostgreSQL refuses to run as root: a user namespace where root has another number, or another user."""
    if os.geteuid() != 0:
        return []
    probe = [sys.executable, "-c", "import interpose"]
    inside = ["unshare", "--user", "--map-user=1000", "--map-group=1000"]
    if shutil.which("unshare") and run([*inside, *probe], folder)[0] == 0:
        return inside
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if shutil.which("setpriv") and run([*nobody, *probe], folder)[0] == 0:
        os.chown(folder, 65534, 65534)
        return nobody
    pytest.skip("root here, and no other user that could read the package")


@pytest.mark.parametrize("tool", TOOLS)
def test_postgresql(folder: Path, tool: str) -> None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    binaries = found[-1].parent if found else Path(shutil.which("postgres") or "/nowhere").resolve().parent
    if not all((binaries / name).exists() for name in ("postgres", "initdb", "pgbench", "psql")):
        pytest.skip("PostgreSQL is not installed")
    user = unprivileged(folder)
    client = ["-h", str(folder), "-U", "postgres"]
    psql = [*user, str(binaries / "psql"), *client, "-qAtX"]
    bench = [*user, str(binaries / "pgbench"), *client]
    tooled = [*under(tool, folder / "log.%p", "--trace-children=yes")]
    make = [str(binaries / "initdb"), "-D", "data", "-U", "postgres", "-A", "trust", "--no-sync"]
    checked([*user, *(tooled if LONG else []), *make], folder)
    # Short: an idle server looks after itself rarely, and so does one that runs slowly.
    pause = "10" if LONG else "60"
    server = [
        *user, *tooled, str(binaries / "postgres"), "-D", "data", "-k", str(folder),
        "-c", "listen_addresses=", "-c", f"autovacuum_naptime={pause}", "-c", "fsync=off",
    ]  # fmt: skip
    ready = [*psql, "postgres", "-c", "select 1"]
    one = Server(server, folder, ready)
    checked([*bench, "-q", "-i", "-s", "1", "postgres"], folder)
    limit = ["-T", "5", "-c", "4", "-j", "2"] if LONG else ["-t", "5", "-c", "2", "-j", "2"]
    assert "number of failed transactions: 0" in checked([*bench, *limit, "postgres"], folder)
    results = None
    if LONG:
        results = run([*psql, "postgres", "-f", str(WORKLOADS / "query.sql")], folder)
    assert one.stop(signal.SIGINT) == 0
    if results is not None:
        plain = [part for part in server if part not in tooled]
        native = Server(plain, folder, ready)
        checked([*psql, "postgres", "-c", "drop table t cascade", "-c", "drop function f"], folder)
        assert run([*psql, "postgres", "-f", str(WORKLOADS / "query.sql")], folder) == results
        assert native.stop(signal.SIGINT) == 0
    two = Server(server, folder, ready)
    sums = "select sum(abalance) = (select sum(bbalance) from pgbench_branches) from pgbench_accounts"
    assert checked([*psql, "postgres", "-c", sums], folder) == "t\n"
    assert two.stop(signal.SIGTERM) == 0
    told = (folder / "server.log").read_text(errors="replace")
    lines = [
        line
        for line in told.splitlines()
        if any(w in line for w in ("PANIC", "terminated by signal", "crash"))
    ]
    assert not lines, lines
    if not LONG:
        assert "ERROR" not in told
    # Padding bytes of pages and records are written to files: Valgrind reports the same.
    assert {
        name for name in places(*folder.glob("log.*")) if name not in ("pwrite", "pwrite64", "write")
    } == set()
