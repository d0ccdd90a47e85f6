"""Files that a debugger reads through the server (``vFile``)."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from gdb import sessions
from gdb.sessions import TIMEOUT
from gdb.test_ends import Talk, client

from interpose.gdb import files


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sessions.build(sessions.read(sessions.GUESTS / "files.gdb"), tmp_path_factory.mktemp("files"))


def name(path: object) -> bytes:
    return str(path).encode().hex().encode()


def whole(talk: Talk, path: object) -> bytes:
    answer = talk.ask(b"vFile:open:%b,0,0" % name(path))
    assert re.fullmatch(rb"F[0-9a-f]+", answer), answer
    data = b""
    while True:
        head, _, part = talk.ask(b"vFile:pread:%b,4000,%x" % (answer[1:], len(data))).partition(b";")
        assert int(head[1:], 16) == len(part)
        if not part:
            break
        data += part
    assert talk.ask(b"vFile:close:%b" % answer[1:]) == b"F0"
    return data


def test_contents_and_state(program: Path, tmp_path: Path) -> None:
    bytes_of_all_kinds = bytes(range(256)) * 100 + b"}" * 9000 + b"#" * 9000
    (tmp_path / "data").write_bytes(bytes_of_all_kinds)
    (tmp_path / "link").symlink_to("data")
    with client(program, tmp_path, "--vgdb-stop-at=startup") as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        assert talk.ask(b"?").startswith(b"T05")
        for system in (0, process.pid):
            assert talk.ask(b"vFile:setfs:%x" % system) == b"F0"
            assert whole(talk, tmp_path / "data") == bytes_of_all_kinds
            assert whole(talk, tmp_path / "link") == bytes_of_all_kinds
            assert talk.ask(b"vFile:readlink:" + name(tmp_path / "link")) == b"F4;data"
        opened = talk.ask(b"vFile:open:%b,0,0" % name(tmp_path / "data"))[1:]
        head, _, state = talk.ask(b"vFile:fstat:" + opened).partition(b";")
        assert (head, len(state)) == (b"F40", 64)
        assert int.from_bytes(state[28:36], "big") == len(bytes_of_all_kinds)
        exe = talk.ask(b"vFile:readlink:" + name(f"/proc/{process.pid}/exe"))
        assert exe == b"F%x;%b" % (len(str(program)), str(program).encode())
        text = whole(talk, f"/proc/{process.pid}/task/{process.pid}/maps").decode()
        assert str(program) in text and "interpose" not in text and "memfd" not in text
        assert talk.ask(b"D") == b"OK"
        talk.close()
        assert process.wait(timeout=TIMEOUT) == 0


def test_nothing_is_written_and_garbage_is_refused(program: Path, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("stays")
    hostile = [
        (b"open:%b,1,1b6" % name(tmp_path / "data"), b"F-1,1e"),
        (b"open:%b,601,1b6" % name(tmp_path / "new"), b"F-1,1e"),
        (b"open:%b,200,1b6" % name(tmp_path / "new"), b"F-1,1e"),
        (b"unlink:%b" % name(tmp_path / "data"), b"F-1,1e"),
        (b"pwrite:0,0,x", b"F-1,1e"),
        (b"open:%b,0,0" % name(tmp_path / "none"), b"F-1,2"),
        (b"open:%b,0,0" % name(tmp_path), b"F-1,15"),
        (b"open:%b,0,0" % name("/dev/zero"), b"F-1,d"),
        (b"open:%b,0,0" % name("/proc/self/fd/0"), b"F-1,d"),
        (b"open:,0,0", b"F-1,2"),
        (b"open:2f00,0,0", b"F-1,2"),
        (b"open:zz,0,0", b"F-1,16"),
        (b"open:2f", b"F-1,16"),
        (b"open:%b,0,0" % (b"2f" * 5000), b"F-1,5b"),
        (b"pread:0,10,0", b"F-1,9"),
        (b"pread:-1,10,0", b"F-1,9"),
        (b"close:ffffffffffffffffffff", b"F-1,9"),
        (b"fstat:", b"F-1,16"),
        (b"setfs:1", b"F-1,1"),
        (b"setfs:-1", b"F-1,1"),
        (b"readlink:%b" % name("/"), b"F-1,16"),
        (b"stat:%b" % name("/"), b""),
        (b"", b""),
    ]
    with client(program, tmp_path, "--vgdb-stop-at=startup") as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        assert talk.ask(b"?").startswith(b"T05")
        for content, answer in hostile:
            told = talk.ask(b"vFile:" + content)
            assert told == answer or (told.startswith(b"F-1") and b"/" in content), (content, told)
        opened = [talk.ask(b"vFile:open:%b,0,0" % name(tmp_path / "data")) for _ in range(70)]
        assert opened[-1] == b"F-1,18" and opened[0] == b"F0"
        for count, offset in ((b"-1", b"0"), (b"1", b"-1"), (b"1", b"ffffffffffffffff")):
            assert talk.ask(b"vFile:pread:0,%b,%b" % (count, offset)) == b"F-1,16"
        assert talk.ask(b"vFile:pread:0,ffffffffff,2") == b"F3;ays"
        assert talk.ask(b"D") == b"OK"
        talk.close()
        assert process.wait(timeout=TIMEOUT) == 0
    assert (tmp_path / "data").read_text() == "stays"
    assert not (tmp_path / "new").exists()


def test_no_file_stays_open_behind_a_debugger() -> None:
    opened = files.Files()
    read, write = os.pipe()
    opened.add(read)
    opened.add(b"text")
    opened.close_all()
    with pytest.raises(BrokenPipeError):
        os.write(write, b"x")
    os.close(write)


def test_files_are_those_below_the_programs_root(tmp_path: Path) -> None:
    jail = tmp_path / "jail"
    (jail / "etc").mkdir(parents=True)
    (jail / "etc/name").write_text("inside")
    (jail / "etc/absolute").symlink_to("/etc/name")
    (jail / "etc/out").symlink_to("/../../../../../etc/hostname")
    source = tmp_path / "jailed.c"
    source.write_text(
        "#include <signal.h>\n#include <unistd.h>\n"
        f'int main(void) {{ if (chroot("{jail}")) return 77; raise(SIGUSR1); return 5; }}\n'
    )
    subprocess.run(["gcc", "-w", "-o", tmp_path / "jailed", source], check=True)
    with client(tmp_path / "jailed", tmp_path, "--vgdb-stop-at=startup") as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        assert talk.ask(b"?").startswith(b"T05")
        if not talk.ask(b"vCont;c").startswith(b"T1e"):
            pytest.skip("chroot is not permitted")
        assert talk.ask(b"vFile:setfs:%x" % process.pid) == b"F0"
        assert whole(talk, "/etc/name") == b"inside"
        assert whole(talk, "/etc/absolute") == b"inside"
        assert talk.ask(b"vFile:open:%b,0,0" % name("/etc/out")) == b"F-1,2"
        assert talk.ask(b"vFile:readlink:" + name("/etc/absolute")) == b"F9;/etc/name"
        assert talk.ask(b"vFile:setfs:0") == b"F0"
        assert talk.ask(b"vFile:open:%b,0,0" % name("/etc/name")) == b"F-1,2"
        assert talk.ask(b"vCont;c").startswith(b"W05")
        talk.close()
        assert process.wait(timeout=TIMEOUT) == 5
