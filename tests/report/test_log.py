"""The log: prefixes, whole lines, destinations, file names (docs/spec/output.md sections 1, 2 and 10)."""

from __future__ import annotations

import contextlib
import os
import re
import select
import socket
import struct
import subprocess
import threading

import pytest

from interpose.errors import InterposeError, LogError, OptionError
from interpose.hooks.service import Output as Lines
from interpose.options.core import CoreOptions
from interpose.options.parse import parse
from interpose.options.spec import PLANNED
from interpose.report.jsonlines import JsonReport
from interpose.report.log import (
    RANK_VARIABLES,
    FileNames,
    Log,
    Output,
    RecordOutput,
    banner,
    command_words,
    open_destination,
)
from interpose.report.xmlfile import XmlReport


@pytest.fixture
def pipe():
    read, write = os.pipe()
    yield read, write
    for fd in (read, write):
        with contextlib.suppress(OSError):
            os.close(fd)


def written(read: int) -> str:
    os.set_blocking(read, False)
    try:
        return os.read(read, 1 << 16).decode("utf-8", "surrogateescape")
    except BlockingIOError:
        return ""


def test_prefixes(pipe):
    log = Log(pipe[1], 42)
    log.plain("one\ntwo")
    log.plain()
    log.debug("three")
    log.client("four\n")
    log.raw("five")
    assert written(pipe[0]) == "==42== one\n==42== two\n==42== \n--42-- three\n**42** four\nfive\n"


def test_lines_are_held_until_they_are_many(pipe):
    log = Log(pipe[1], 42)
    log.hold()
    log.plain("one\ntwo")
    log.raw("three")
    assert written(pipe[0]) == ""
    log.question("now?")
    assert written(pipe[0]) == "==42== one\n==42== two\nthree\n==42== now? "
    block = "x" * 100 + "\n" + "y" * 2900
    whole = f"==42== {'x' * 100}\n==42== {'y' * 2900}\n"
    log.plain(block)
    assert written(pipe[0]) == ""
    log.plain(block)  # with the one before it would be more than a pipe takes as a whole
    assert written(pipe[0]) == whole
    log.let_go()
    assert written(pipe[0]) == whole
    log.plain("at once")
    assert written(pipe[0]) == "==42== at once\n"


def test_client_text_is_there_before_its_line_ends(pipe):
    log = Log(pipe[1], 7)
    log.client("a")
    assert written(pipe[0]) == "**7** a"
    log.client("b\nc\n\ntail")
    assert written(pipe[0]) == "b\n**7** c\n**7** \n**7** tail"
    log.client("")
    log.plain("next")
    assert written(pipe[0]) == "\n==7== next\n"
    log.client("\nlast")
    log.close()
    assert written(pipe[0]) == "**7** \n**7** last"


def test_what_hooks_print_is_written_line_by_line(pipe):
    log = Log(pipe[1], 7)
    print("a", "b", file=Lines(log))
    assert written(pipe[0]) == "**7** a b\n"
    log.hooks("c")
    assert written(pipe[0]) == ""
    log.client("d")
    assert written(pipe[0]) == "**7** c\n**7** d"
    log.hooks("e")
    log.plain("f")
    assert written(pipe[0]) == "e\n==7== f\n"
    log.hooks("g")
    log.close()
    assert written(pipe[0]) == "**7** g\n"


def test_time_stamp(pipe):
    log = Log(pipe[1], 9, time_stamp=True)
    log.plain("x")
    log._started -= 86400 * 3 + 3600 * 4 + 60 * 5 + 6.5
    log.debug("y")
    first, second = written(pipe[0]).splitlines()
    assert re.fullmatch(r"==00:00:00:00\.\d{3} 9== x", first)
    assert re.fullmatch(r"--03:04:05:06\.[5-9]\d\d 9-- y", second)


def test_bytes_that_are_no_text_survive(pipe):
    log = Log(pipe[1], 1)
    log.plain(os.fsdecode(b"\xff\xfe"))
    os.set_blocking(pipe[0], False)
    assert os.read(pipe[0], 100) == b"==1== \xff\xfe\n"


def test_a_closed_pipe_is_silent(pipe, capfd):
    os.close(pipe[0])
    Log(pipe[1], 1).plain("nobody reads")
    assert capfd.readouterr() == ("", "")


NO_ROOM = "interpose: Cannot write the log: No space left on device; it is not complete\n"


def test_a_full_disk_is_told_once(capfd):
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        log = Log(full, 1)
        log.plain("no room")
        log.plain("none either")
    finally:
        os.close(full)
    assert capfd.readouterr() == ("", NO_ROOM)


@pytest.mark.parametrize("kind", [Log, RecordOutput])
def test_a_file_that_takes_nothing_is_told_once(kind, capfd):
    child = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE)
    takes_nothing = os.open(f"/proc/{child.pid}/mem", os.O_WRONLY)
    try:
        child.communicate()
        assert os.write(takes_nothing, b"x") == 0  # there is no such memory any more
        log = kind(takes_nothing, 1)
        log._write("nothing of it\n")
        log._write("nor of it\n")
    finally:
        os.close(takes_nothing)
    assert capfd.readouterr() == ("", NO_ROOM)


def test_non_blocking_destination_loses_nothing(pipe):
    read, write = pipe
    os.set_blocking(write, False)
    got = []
    reader = threading.Thread(target=lambda: got.extend(iter(lambda: os.read(read, 4096), b"")))
    log = Log(write, 1)
    text = "x" * 100
    reader.start()
    for _ in range(5000):
        log.plain(text)
    log.close()
    reader.join()
    assert b"".join(got).count(b"\n") == 5000


def test_dropped_log_writes_nothing(capfd):
    log = Log(None, 1)
    log.plain("x")
    log.close()
    assert capfd.readouterr() == ("", "")


# -- file names ------------------------------------------------------------------------------------


def names(**environ: str) -> FileNames:
    return FileNames(123, environ, "/start")


@pytest.mark.parametrize(
    ("template", "path"),
    [
        ("x.%p", "/start/x.123"),
        ("/abs/%q{HOME}/%%p", "/abs/h/%p"),
        ("sub/x", "/start/sub/x"),
        ("%n-%n", "/start/1-2"),
    ],
)
def test_expansion(template, path):
    assert names(HOME="h").expand("--log-file", template) == path


@pytest.mark.parametrize("template", ["", "~/x", "%z", "x%", "%q", "%q{", "%q{}", "%q{UNSET}", "%q{A"])
def test_bad_templates(template):
    with pytest.raises(OptionError) as caught:
        names(A="1").expand("--log-file", template)
    assert caught.value.lines()[0] == f"Bad option: --log-file={template}"
    assert caught.value.exit_code == 1


def test_sequence_counts_over_all_files_of_a_process():
    maker = names()
    assert maker.expand("--log-file", "a%n") == "/start/a1"
    assert maker.expand("--xml-file", "b%n") == "/start/b2"
    maker.forked(5)
    assert maker.expand("--log-file", "%p.%n") == "/start/5.1"


def test_templates_that_vary():
    assert FileNames.varies("x.%p") and FileNames.varies("%%%p")
    assert (
        not FileNames.varies("x")
        and not FileNames.varies("x.%n")
        and not FileNames.varies("100%%p")
        and not FileNames.varies("%q{X}.%r")
    )


@pytest.mark.parametrize("variable", RANK_VARIABLES)
def test_rank_of_any_launcher(variable):
    assert FileNames(1, {variable: "17"}, "/d").expand("--log-file", "log.%r") == "/d/log.17"


@pytest.mark.parametrize("environ", [{}, {"PMI_RANK": ""}, {"PMI_RANK": "../../x"}])
def test_no_rank_without_a_launcher(environ):
    with pytest.raises(OptionError, match=r"Bad option: --log-file=log\.%r"):
        FileNames(1, environ, "/d").expand("--log-file", "log.%r")


# -- destinations ----------------------------------------------------------------------------------


def opened(*words: str) -> Log:
    return Log.open(parse(words, {}), FileNames(os.getpid()))


def test_log_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log = opened("--log-file=log.%p")
    log.plain("x")
    path = tmp_path / f"log.{os.getpid()}"
    assert path.read_text() == f"=={os.getpid()}== x\n"
    assert log.forked(77)
    log.plain("y")
    assert (tmp_path / "log.77").read_text() == "==77== y\n"
    log.close()


@pytest.mark.parametrize(("template", "name"), [("log", "log"), ("log.%n", "log.1")])
def test_forked_child_shares_a_file_that_is_the_same_for_it(tmp_path, template, name):
    log = opened(f"--log-file={tmp_path}/{template}")
    pid = os.getpid()
    log.plain("x")
    of_vfork = log.of_child(76, is_shared=True, silent=False)
    of_vfork.plain("z")
    of_vfork.close()
    assert not log.forked(77)
    log.plain("y")
    log.close()
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == f"=={pid}== x\n==76== z\n==77== y\n"


def test_a_forked_childs_numbers_begin_behind_its_logs(tmp_path):
    """As under Valgrind, in each generation; what else is named goes on from there."""
    log = opened(f"--log-file={tmp_path}/%p.%n-%n")
    further = log.of_child(76, is_shared=False, silent=False)
    further.close()
    assert log.forked(77) and log.names.expand("--xtree-leak-file", "x%n").endswith("x5")
    assert log.forked(78)
    log.close()
    assert {path.name for path in tmp_path.iterdir()} == {f"{os.getpid()}.1-2", "76.3-4", "77.3-4", "78.3-4"}


def test_a_line_without_end_is_a_forked_childs_too(pipe):
    """As under Valgrind."""
    log = Log(pipe[1], 1)
    log.client("begun by 1 ")
    pid = os.fork()
    if pid == 0:
        log.forked(2)
        log.client("of 2\n")
        os._exit(0)
    os.waitpid(pid, 0)
    log.client("and ended\n")
    assert written(pipe[0]) == "**1** begun by 1 of 2\nand ended\n"


def test_a_childs_own_file_begins_with_a_line(tmp_path):
    log = opened(f"--log-file={tmp_path}/%p")
    log.client("begun ")
    further = log.of_child(76, is_shared=False, silent=False)
    further.client("x\n")
    further.close()
    assert log.forked(77)
    log.client("y\n")
    log.close()
    texts = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert texts == {str(os.getpid()): f"**{os.getpid()}** begun ", "76": "**76** x\n", "77": "**77** y\n"}


def test_silence_after_fork(pipe):
    log = Log(pipe[1], 1)
    log.forked(2, silent=True)
    log.plain("x")
    log.resume()
    log.plain("y")
    assert written(pipe[0]) == "==2== y\n"


def test_a_silent_child_gets_a_file_when_it_speaks(tmp_path):
    """With --child-silent-after-fork=yes Valgrind makes none before the child executes what is followed."""
    log = opened(f"--log-file={tmp_path}/%p")
    log.plain("x")
    assert not log.forked(76, silent=True)
    log.plain("not seen")
    assert not log.forked(77, silent=True)
    further = log.of_child(78, is_shared=False, silent=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [str(os.getpid())]
    for one in (log, further):
        one.resume()
        one.plain("y")
        one.close()
    texts = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert texts == {str(os.getpid()): f"=={os.getpid()}== x\n", "77": "==77== y\n", "78": "==78== y\n"}


def test_log_survives_the_closing_of_its_descriptor(pipe):
    log = opened(f"--log-fd={pipe[1]}")
    os.close(pipe[1])
    log.plain("still")
    log.close()
    assert written(pipe[0]).endswith("== still\n")


def test_log_socket():
    with socket.create_server(("127.0.0.1", 0)) as server:
        log = opened(f"--log-socket=127.0.0.1:{server.getsockname()[1]}")
        log.plain("x")
        log.close()
        connection, _ = server.accept()
        with connection:
            assert connection.recv(100).endswith(b"== x\n")


def test_log_socket_without_a_listener(capfd):
    log = opened("--log-socket=127.0.0.1:1")
    log.plain("x")
    log.close()
    first, second, last = capfd.readouterr().err.splitlines()
    assert "Cannot connect to the log listener 127.0.0.1:1" in first
    assert second.endswith("== Logging messages will be sent to stderr instead.")
    assert last.endswith("== x")


def leave(server: socket.socket, output: Output) -> None:
    """Take the connection and reset it."""
    connection, _ = server.accept()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
    assert output.fd is not None
    ended = select.poll()
    ended.register(output.fd, 0)
    assert ended.poll(60_000)


def test_log_socket_whose_listener_goes(capfd):
    with socket.create_server(("127.0.0.1", 0)) as server:
        log = opened(f"--log-socket=127.0.0.1:{server.getsockname()[1]}")
        leave(server, log)
    log.plain("x")
    log.plain("y")
    log.close()
    first, *rest = capfd.readouterr().err.splitlines()
    assert first.endswith("== The log's listener is gone. What follows is sent to stderr instead.")
    assert [line.rpartition("== ")[2] for line in rest] == ["x", "y"]


@pytest.mark.parametrize("form", ["xml", "json"])
def test_a_report_whose_listener_goes_says_so_once(form, capfd):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        names = FileNames(os.getpid())
        report: Output
        if form == "xml":
            config = parse(["--tool=memcheck", "--xml=yes", f"--xml-socket={address}"], {})
            report = XmlReport.open(config, names, opened("--log-fd=-1"))
        else:
            report = JsonReport.open(parse([f"--json-socket={address}"], {}), names)
        leave(server, report)
    for _ in range(3):
        report._write("x\n")
    report.close()
    told = capfd.readouterr().err
    assert re.fullmatch(f"interpose: Cannot write the {form}: [A-Z][a-z ]+; it is not complete\n", told)


@pytest.mark.parametrize(
    "word",
    [
        "--log-file=/dev/null/x",
        "--log-file=/",
        "--log-file=%z",
    ],
)
def test_impossible_destinations(word):
    with pytest.raises(InterposeError) as caught:
        opened(word)
    assert caught.value.exit_code == 1


def test_descriptor_for_reading_only(pipe):
    with pytest.raises(LogError, match="not open for writing"):
        open_destination(names(), "log", "fd", pipe[0], None, None)


# -- banner ------------------------------------------------------------------------------------------


def shown(pipe, *words: str) -> list[str]:
    config = parse(words, {})
    log = (
        Log.open(config, FileNames(5))
        if "--log-file" in words[0]
        else Log(pipe[1], 5, verbosity=config.core.verbosity)
    )
    banner(log, config, config.program, 4, "/lib")
    return written(pipe[0]).splitlines()


def test_banner(pipe):
    lines = shown(pipe, "--num-callers=3", "prog", "a b", "<\\>")
    assert lines[0] == "==5== Memcheck, a memory error detector"
    assert lines[1].startswith("==5== Copyright (C) ")
    assert lines[2] == "==5== Using interpose-0.1.0; rerun with -h for copyright info"
    assert lines[3] == r"==5== Command: prog a\ b \<\\\>"
    assert lines[4:] == ["==5== "]


def test_banner_in_a_file_names_the_parent(pipe, tmp_path):
    shown(pipe, f"--log-file={tmp_path}/log", "prog")
    assert "==5== Parent PID: 4" in (tmp_path / "log").read_text().splitlines()


def test_quiet_and_verbose_banners(pipe):
    assert shown(pipe, "-q", "prog") == []
    lines = shown(pipe, "-v", "--num-callers=3", "prog")
    at = lines.index("--5-- Interpose options:")
    assert lines[at + 1 : at + 3] == ["--5--    -v", "--5--    --num-callers=3"]
    assert "--5-- Page sizes: currently 4096, max supported 4096" in lines


def test_banner_tells_of_options_without_effect(pipe, monkeypatch):
    monkeypatch.setattr(CoreOptions.spellings()["--trace-signals"], "status", PLANNED)
    lines = shown(pipe, "--trace-signals=yes", "prog")
    assert "==5== Warning: --trace-signals is accepted but has no effect in this version" in lines


def test_command_words():
    assert command_words(["a", "b c"]) == r"a b\ c"


def test_command_words_lie_on_one_line():
    assert command_words(["a\nb", "c\td\x7f", "\xe4", "\udcff!"]) == "a_b c_d_ __ _!"


def test_a_log_that_moves_from_a_file_to_a_pipe_waits_for_its_reader(tmp_path):
    first = os.open(tmp_path / "log", os.O_WRONLY | os.O_CREAT)
    log = Log(first, 1)
    log.plain("to the file")
    read, write = os.pipe2(os.O_NONBLOCK)
    os.set_blocking(read, True)
    log.fd = write
    found = bytearray()

    def reader() -> None:
        while data := os.read(read, 1000):
            found.extend(data)

    thread = threading.Thread(target=reader)
    thread.start()
    log.plain("x" * 300_000)  # more than it holds, and the descriptor never waits by itself
    log.close()
    thread.join()
    os.close(read)
    os.close(first)
    assert (tmp_path / "log").read_text() == "==1== to the file\n"
    assert found.decode() == "==1== " + "x" * 300_000 + "\n"
