"""XML of whole runs: grammar, processes of all kinds, ends of all kinds, hostile names, and its readers."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from lxml import etree
from report.test_json import build
from report.xml_normal import normalised
from tools.memcheck.guests import xml_protocol

import interpose.formats.report
from interpose.formats import report

SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <interpose/memcheck.h>
__attribute__((noinline)) void over(char *p) { p[4] = 1; }
__attribute__((noinline)) void lose(void) { memset(malloc(33), 1, 33); }
__attribute__((noinline)) void child(char *p) { over(p); }
static void *thread(void *p) {
    pthread_setname_np(pthread_self(), "<&\x01\xff>");
    over(p);
    return 0;
}
char *volatile p, *undefined;
int main(int argc, char **argv) {
    p = malloc(4), undefined = malloc(1);
    char mode = argc > 1 ? argv[1][0] : 'x';
    for (int i = 0; i < 5; i++) over(p);
    INTERPOSE_PRINTF("hello <%d> & ]]>\n", 3);
    lose();
    int status = 0;
    switch (mode) {
    case 'a': { /* everything */
        pthread_t id;
        pthread_create(&id, 0, thread, p);
        pthread_join(id, 0);
        if (*undefined) lose();
        write(1, undefined, 1);
        INTERPOSE_PRINTF_BACKTRACE("bye\n");
        malloc(-1);
        INTERPOSE_DO_LEAK_CHECK;
        free(p), free(undefined), free(undefined);
        break;
    }
    case 'f':
        if (fork() == 0) { child(p); _exit(3); }
        wait(&status);
        over(p + 1);
        break;
    case 'v':
        if (vfork() == 0) { execl(argv[0], argv[0], "x", NULL); _exit(1); }
        wait(&status);
        break;
    case 'e': execl(argv[0], argv[0], "x", NULL); break;
    case 't': execl("/bin/true", "true", NULL); break;
    case 'm': {
        static char bytes[1 << 20];
        int from = open("/bin/true", O_RDONLY), to = memfd_create("true", 0);
        write(to, bytes, read(from, bytes, sizeof bytes));
        fexecve(to, (char *[]){"true", NULL}, (char *[]){NULL});
        break;
    }
    case 'n': execve("/bin/true", (char *[]){NULL}, NULL); break;
    case 's':
        if (fork() == 0) { child(p); execl(argv[0], argv[0], "x", NULL); }
        wait(&status);
        break;
    case 'k': kill(getpid(), SIGKILL);
    case 'g': *(volatile int *)8 = 1;
    case 'b': abort();
    case 'd': open("/etc/passwd", O_RDONLY), read(77, argv[0], 1), dup2(1, 78), close(78), close(78); break;
    case 'w':
        write(1, "\n", 1);
        pause();
    }
    return 0;
}
"""
WARNINGS = r"""
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
static char other[1 << 16] __attribute__((aligned(16)));
int main(int argc, char **argv) {
    struct sigaction ignored = {.sa_handler = SIG_IGN};
    int status = 0;
    if (argv[1][0] == 'f' && fork()) {
        wait(&status);
        return status;
    }
    close(-1), ioctl(0, 0x1234, &status);
    sigaction(SIGKILL, &ignored, 0);
    __asm__ volatile("movq %%rsp, %%rbx; movq %0, %%rsp; pushq %%rax; popq %%rax; movq %%rbx, %%rsp"
                     : : "r"(other + sizeof other) : "rbx", "memory");
    return 0;
}
"""
GRAMMAR = etree.RelaxNG(etree.parse(str(Path(interpose.formats.report.__file__).with_name("valgrind.rng"))))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("xml")
    build(folder, SOURCE)
    subprocess.run(["gcc", "-shared", "-x", "c", "/dev/null", "-o", "empty.so"], check=True, cwd=folder)
    return folder / "prog"


def command(*words: str | Path) -> list[str]:
    return [sys.executable, "-m", "interpose", "--xml=yes", *map(str, words)]


def run(*words: str | Path, **more) -> subprocess.CompletedProcess:
    return subprocess.run(command(*words), capture_output=True, timeout=120, **more)


def valid(path: Path) -> etree._Element:
    """The root of a document that is as the grammar says."""
    document = etree.parse(str(path))
    assert GRAMMAR.validate(document), GRAMMAR.error_log.last_error
    return document.getroot()


def kinds(root: etree._Element) -> list[str]:
    """All but possible leaks: the C library keeps a thread's block by a pointer to its inside."""
    found = [kind.text for kind in root.findall("error/kind")]
    return [kind for kind in found if kind != "Leak_PossiblyLost"]


def is_whole(root: etree._Element) -> bool:
    return [state.text for state in root.findall("status/state")] == ["RUNNING", "FINISHED"]


# -- the document ------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", [4, 5, 6])
def test_everything(program: Path, tmp_path: Path, protocol: int) -> None:
    out = tmp_path / "out.xml"
    done = run(f"--xml-protocol={protocol}", f"--xml-file={out}", "--gen-suppressions=all", program, "a")
    assert done.returncode == 0
    assert done.stderr == b""  # neither banner nor summaries
    root = valid(out)
    assert is_whole(root) and root.findtext("protocolversion") == str(protocol)
    assert (root.find("heap_summary") is not None) is (protocol == 6)
    lost = "Leak_DefinitelyLost"
    assert kinds(root) == [
        "InvalidWrite", "InvalidWrite", "UninitCondition", "SyscallParam", "FishyValue", lost, "InvalidFree",
        lost,
    ]  # fmt: skip
    assert root.findtext("error/threadname") == r"<&\x01\xff>"
    assert [text.text for text in root.findall("clientmsg/text")] == ["hello <3> & ]]>\n  ", "bye\n  "]
    assert root.find("clientmsg/stack") is not None
    assert root.findtext("error/suppression/skind") == "Memcheck:Addr1"
    stubs = [frame for frame in root.iter("frame") if (frame.findtext("obj") or "").endswith("stubs.so")]
    assert stubs and all(frame.find("file") is None for frame in stubs)  # no consumer blames them


SEARCHES = r"""
#include <stdlib.h>
#include "valgrind/memcheck.h"
void *volatile p;
int main(void) {
    VALGRIND_DO_LEAK_CHECK;
    p = malloc(3000); p = 0;
    VALGRIND_DO_QUICK_LEAK_CHECK;
    p = malloc(7); p = 0;
    VALGRIND_DO_ADDED_LEAK_CHECK;
    return 0;
}
"""


@pytest.mark.parametrize("more", [[], ["--xml-protocol=5"], ["-q"]], ids=["6", "5", "quiet"])
def test_searches_by_request(tmp_path: Path, more: list[str]) -> None:
    """Each has its summary, as the search at the end."""
    built, out = build(tmp_path, SEARCHES), tmp_path / "out.xml"
    assert run(*more, f"--xml-file={out}", "--leak-check=no", built).returncode == 0
    root = valid(out)
    begin, end = (at for at, each in enumerate(root) if each.tag == "status")
    told = [
        each for each in root[begin:end] if each.tag in ("all_heap_blocks_freed", "leak_summary", "error")
    ]
    places = ("definitely_lost/bytes", "xwhat/text")
    shown = [next(filter(None, map(each.findtext, places)), each.text) for each in told]
    added = "7 (+7) bytes in 1 (+1) blocks are definitely lost in new loss record 1 of 2"
    assert shown == ([added] if more else ["true", "false", "3,000", "false", added, "3,007 (+7)"])


CASES = ["a", "g", "b", "t"]
EXTRA = {"a": ["--track-origins=yes", "--show-leak-kinds=all"], "g": ["-q"], "b": ["--gen-suppressions=all"]}


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
@pytest.mark.parametrize("mode", CASES)
def test_the_same_as_valgrind(mode: str, program: Path, tmp_path: Path) -> None:
    """The document, line by line."""
    texts = []
    for words in (["valgrind", "--xml=yes"], command(f"--xml-protocol={xml_protocol()}")):
        out = tmp_path / "out.xml"
        out.unlink(missing_ok=True)
        more = [*EXTRA.get(mode, []), f"--xml-file={out}"]
        subprocess.run([*words, *more, program, mode], capture_output=True, timeout=120)
        whole, _, _ = normalised(out.read_text(errors="replace")).partition("</valgrindoutput>")
        whole = whole.replace("\x01", r"\x01").replace("<&\\x01\ufffd>", r"&lt;&amp;\x01\xff&gt;")
        texts.append(_without_lost_in_registers(whole) if mode in "gb" else whole)
    theirs, ours = texts
    # 3.24 shows the C library's own frames of a system call (glibc 2.41 and later).
    inner = r"<fn>__(?:internal_syscall_cancel|syscall_cancel(?:_arch)?)</fn>"
    theirs = re.sub(rf" *<frame>\n(?:(?! *</frame>).*\n)*? *{inner}\n(?:.*\n)*? *</frame>\n", "", theirs)
    if mode == "t":  # Valgrind's document has no end: the program is not its own any more
        ours = ours[: len(theirs)]
    assert ours == theirs


def _without_lost_in_registers(text: str) -> str:
    """What registers still hold where a signal ends the program differs between the engines."""
    error = r"<error>(?:(?!</error>).)*<kind>Leak_.*?</error>\n\n(?:  <suppression>.*?</suppression>\n)?"
    return re.sub(error, "", text, flags=re.DOTALL)


def test_quiet(program: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.xml"
    run("-q", f"--xml-file={out}", program)
    root = valid(out)
    assert is_whole(root) and len(kinds(root)) == 2
    assert root.find("suppcounts") is None and root.find("error_summary") is None


def test_a_fatal_signal(program: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.xml"
    done = run(f"--xml-file={out}", program, "g")
    assert done.returncode == -signal.SIGSEGV
    root = valid(out)
    fatal = root.find("fatal_signal")
    assert [fatal.findtext(name) for name in ("tid", "signo", "signame", "sicode", "event", "siaddr")] == [
        "1", "11", "SIGSEGV", "1", "Access not within mapped region", "0x8",
    ]  # fmt: skip
    assert fatal.findtext("stack/frame/fn") == "main"
    assert b"main thread stack size used in this run" in done.stderr  # has no element


def test_descriptors(program: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.xml"
    assert run("--track-fds=yes", f"--xml-file={out}", program, "d").stderr == b""
    found = {error.findtext("kind"): error for error in valid(out).findall("error")}
    assert found["FdBadClose"].findtext("fd") == "78"
    assert found["FdBadClose"].findtext("auxwhat") == "Previously closed"
    assert found["FdNotClosed"].findtext("path") == "/etc/passwd"
    assert found["FdBadUse"].findtext("fd") == "77"
    # Those left open are told when the program has ended, as by Valgrind 3.27.
    order = [element.findtext("state") or element.findtext("kind") for element in valid(out)]
    ended = order.index("FINISHED")
    assert order.count("FINISHED") == 1 and "FdNotClosed" in order[ended:] and "FdBadUse" in order[:ended]
    assert "FdNotClosed" not in order[:ended]


def test_exit_on_first_error(program: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.xml"
    done = run("--exit-on-first-error=yes", "--error-exitcode=7", f"--xml-file={out}", program)
    assert done.returncode == 7 and b"Exit program on first error" in done.stderr
    root = valid(out)
    assert kinds(root) == ["InvalidWrite"] and not is_whole(root)


def test_comment_and_variables(program: Path, tmp_path: Path) -> None:
    comment = "--xml-user-comment=<build id='7'>a &amp; b\x02</build>"
    environment = {**os.environ, "MINE": "<1>", "OTHER": "\udcff"}
    run(comment, f"--log-file={tmp_path}/log.%q{{OTHER}}", f"--xml-file={tmp_path}/out.%q{{MINE}}", program,
        env=environment)  # fmt: skip
    root = valid(tmp_path / "out.<1>")
    assert root.find("usercomment/build").get("id") == "7"
    assert root.findtext("usercomment/build") == "a & b\\x02"
    found = [(each.findtext("var"), each.findtext("value")) for each in root.findall("logfilequalifier")]
    assert found == [("OTHER", "\\xff"), ("MINE", "<1>")]


def test_hostile_names(program: Path, tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/<&>\x01\xff]]>\r\n"
    os.mkdir(folder)
    shutil.copy(program, folder + b"/prog")
    out = tmp_path / "out.xml"
    run(f"--xml-file={out}", "--gen-suppressions=all", os.fsdecode(folder + b"/prog"), "x", "\x1b[0m")
    root = valid(out)
    shown = f"{tmp_path}/<&>\\x01\\xff]]>\r\n/prog"
    assert root.findtext("args/argv/exe") == shown
    assert root.findall("args/argv/arg")[1].text == "\\x1b[0m"
    assert root.findtext("error/stack/frame/obj") == shown


def test_tools_without_errors_refuse(program: Path) -> None:
    done = run("--tool=none", "--xml-fd=1", program)
    assert done.returncode == 1
    assert done.stderr.splitlines()[:2] == [
        b"interpose: Bad option: --xml=yes",
        b"interpose: None does not support XML output.",
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], b"--xml=yes, but no XML destination specified"),
        (["--xml-fd=1", "--gen-suppressions=yes"], b"--xml=yes together with --gen-suppressions=yes"),
        (["--xml-fd=1", "--dump-error=3"], b"Cannot be used together with --dump-error"),
        (["--xml-file=/nowhere/x"], b"/nowhere/x"),
        (["--xml-file=a%z"], b"Bad option: --xml-file=a%z"),
        (["--xml-fd=1", "--xml-protocol=7"], b"--xml-protocol=7"),
    ],
)
def test_refusals(words: list[str], message: bytes, program: Path) -> None:
    done = run(*words, program)
    assert done.returncode == 1 and message in done.stderr and done.stdout == b""


@pytest.mark.parametrize("name", ["", "a%z", "~/a", "a.%q{NOBODY_SETS_THIS}"])
def test_a_name_that_is_none_without_xml(name: str, program: Path) -> None:
    """The option is looked at, as the others are."""
    done = run("--xml=no", f"--xml-file={name}", program)
    assert done.returncode == 1 and done.stdout == b""
    assert done.stderr.startswith(f"interpose: Bad option: --xml-file={name}\n".encode())


def test_a_descriptor_that_is_none(program: Path) -> None:
    done = run("--xml-fd=77", program)
    assert done.returncode == 0
    first, _, document = done.stderr.partition(b"\n")
    assert b"failed to move XML file descriptor" in first and document.startswith(b"<?xml")


# -- processes ---------------------------------------------------------------------------------


def names(folder: Path) -> dict[str, etree._Element]:
    """The documents of a folder, all valid."""
    return {path.name: valid(path) for path in folder.iterdir()}


@pytest.mark.parametrize("name", ["out.%p", "out", "out.%n", "out.%p.%n"])
def test_a_forked_child_has_a_document_of_its_own(name: str, program: Path, tmp_path: Path) -> None:
    run(f"--xml-file={tmp_path}/{name}", program, "f")
    found = names(tmp_path)
    assert len(found) == 2 and all(is_whole(root) for root in found.values())
    parent, child = sorted(
        found.values(), key=lambda root: root.findtext("error/stack/frame[2]/fn") == "child"
    )
    assert kinds(parent) == ["InvalidWrite", "InvalidWrite", "Leak_DefinitelyLost"]
    assert kinds(child) == ["InvalidWrite", "Leak_DefinitelyLost"]
    assert child.findtext("ppid") == parent.findtext("pid")
    own, others = parent.findtext("pid"), child.findtext("pid")
    of_parent = name.replace("%p", own).replace("%n", "1")
    # A child's numbers begin behind those that its name took to be compared with the parent's.
    of_child = name.replace("%p", others).replace("%n", "2") if "%p" in name else f"{of_parent}.{others}"
    assert set(found) == {of_parent, of_child}


def test_warnings_have_no_place(tmp_path: Path) -> None:
    """Nor has the log any of them beside a document; text has, also a child's without a document."""
    build(tmp_path, WARNINGS)
    warned = (b"invalid file descriptor", b"uncatchable", b"unhandled ioctl", b"switching stacks")
    done = run(f"--xml-file={tmp_path}/out", tmp_path / "prog", "-")
    assert done.returncode == 0 and is_whole(valid(tmp_path / "out"))
    assert done.stderr == b""
    text = run("--xml=no", tmp_path / "prog", "-")
    assert [words for words in warned if words not in text.stderr] == []
    with open(tmp_path / "out", "wb") as file:
        done = run(f"--xml-fd={file.fileno()}", tmp_path / "prog", "f", pass_fds=(file.fileno(),))
    assert done.returncode == 0 and done.stderr.count(b"invalid file descriptor") == 1


def test_a_child_without_a_place_is_told_as_text(program: Path, tmp_path: Path) -> None:
    with open(tmp_path / "out", "wb") as file:
        done = run(f"--xml-fd={file.fileno()}", program, "f", pass_fds=(file.fileno(),))
    assert len(kinds(valid(tmp_path / "out"))) == 3
    assert b"has no place: --xml-fd is its parent's" in done.stderr
    assert b"by 0x" in done.stderr and b": child (prog.c:" in done.stderr and b"ERROR SUMMARY" in done.stderr


def test_a_silent_child_writes_nothing(program: Path, tmp_path: Path) -> None:
    run("--child-silent-after-fork=yes", f"--xml-file={tmp_path}/out.%p", program, "f")
    assert len(names(tmp_path)) == 1


def test_a_silent_child_writes_after_an_exec(program: Path, tmp_path: Path) -> None:
    run(
        "--child-silent-after-fork=yes", "--trace-children=yes", f"--xml-file={tmp_path}/out.%p", program, "s"
    )
    found = names(tmp_path)
    assert len(found) == 2
    assert all("child" not in [fn.text for fn in root.iter("fn")] for root in found.values())


@pytest.mark.parametrize("mode", ["e", "v", "s"])
@pytest.mark.parametrize("name", ["out.%p", "out"])
def test_executed_programs(mode: str, name: str, program: Path, tmp_path: Path) -> None:
    """The file is that of the program that ran last in the process; what was found before is kept beside."""
    run("--trace-children=yes", f"--xml-file={tmp_path}/{name}", program, mode)
    found = names(tmp_path)
    assert all(is_whole(root) and "InvalidWrite" in kinds(root) for root in found.values())
    modes = {file: root.findall("args/argv/arg")[0].text for file, root in found.items()}
    assert sorted(modes.values()) == {"e": ["e", "x"], "v": ["v", "x"], "s": ["s", "s", "x"]}[mode]
    kept = [file for file in modes if file.endswith(".1")]
    assert [modes[file] for file in kept] == {"e": ["e"], "v": [], "s": ["s"]}[mode]
    assert all(modes[file[: -len(".1")]] == "x" for file in kept)


def test_a_program_that_is_executed_without_words(program: Path, tmp_path: Path) -> None:
    """The kernel gives it an empty one."""
    done = run("--trace-children=yes", f"--xml-file={tmp_path}/out", program, "n")
    assert done.returncode == 0
    root = valid(tmp_path / "out")
    words = [(word.tag, word.text) for word in root.findall("args/argv/*")]
    assert is_whole(root) and words == [("exe", None)]


@pytest.mark.parametrize(("mode", "follow"), [("t", "no"), ("m", "no"), ("m", "yes")])
def test_an_exec_that_is_not_followed_ends_the_document(
    mode: str, follow: str, program: Path, tmp_path: Path
) -> None:
    done = run(f"--trace-children={follow}", f"--xml-file={tmp_path}/out", program, mode)
    assert (done.returncode, done.stderr) == (0, b"")
    root = valid(tmp_path / "out")
    assert is_whole(root) and kinds(root) == ["InvalidWrite"]
    assert root.findtext("errorcounts/pair/count") == "5"


def test_every_process_has_a_connection(program: Path) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(60)
    documents: list[bytes] = []

    def receive(connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            documents.append(stream.read())

    def serve() -> None:
        readers = []
        for _ in range(3):
            readers.append(threading.Thread(target=receive, args=(listener.accept()[0],)))
            readers[-1].start()
        for reader in readers:
            reader.join(60)

    server = threading.Thread(target=serve)
    server.start()
    run(f"--xml-socket=127.0.0.1:{listener.getsockname()[1]}", "--trace-children=yes", program, "s")
    server.join(60)
    listener.close()
    assert sorted(etree.fromstring(text).findall("args/argv/arg")[0].text for text in documents) == list(
        "ssx"
    )
    assert all(GRAMMAR.validate(etree.fromstring(text)) for text in documents)


def test_a_listener_that_is_not_there(program: Path) -> None:
    """The document goes to standard error, and those of children are text."""
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))  # and does not listen
    with taken:
        port = taken.getsockname()[1]
        result = run(f"--xml-socket=127.0.0.1:{port}", "--trace-children=yes", program, "s")
    told, _, rest = result.stderr.decode().partition("<?xml")
    assert "Cannot connect to the XML listener" in told and "sent to stderr instead" in told
    assert rest.count("<valgrindoutput>") == rest.count("</valgrindoutput>") == 1
    assert "Cannot connect to the XML listener" in rest and "== Invalid write of size 1" in rest


# -- ends --------------------------------------------------------------------------------------


def test_a_program_that_is_killed(program: Path, tmp_path: Path) -> None:
    run(f"--xml-file={tmp_path}/out", program, "k")
    root = valid(tmp_path / "out")
    assert is_whole(root) and kinds(root) == ["InvalidWrite", "Leak_DefinitelyLost"]


def _waiting(program: Path, out: Path) -> subprocess.Popen:
    process = subprocess.Popen(command(f"--xml-file={out}", program, "w"), stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline()
    return process


def test_a_supervisor_that_is_killed(program: Path, tmp_path: Path) -> None:
    """What is there is the beginning of a document, whole elements only."""
    out = tmp_path / "out"
    process = _waiting(program, out)
    for status in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = status.read_bytes().split(b"\0")
        except OSError:
            continue
        if f"--xml-file={out}".encode() in words:
            os.kill(int(status.parent.name), signal.SIGKILL)
    process.wait(60)
    process.stdout.close()
    text = out.read_text()
    assert text.endswith("</clientmsg>\n")
    root = etree.fromstring(f"{text}</valgrindoutput>".encode())
    assert GRAMMAR.validate(root) and kinds(root) == ["InvalidWrite"]
    assert [error.kind for error in report.read(out).errors] == ["InvalidWrite"]


def test_a_disk_without_room(program: Path) -> None:
    done = run("--xml-file=/dev/full", program)
    line = b"interpose: Cannot write the xml: No space left on device; it is not complete\n"
    assert done.returncode == 0 and done.stderr == line


def test_a_reader_that_goes_away(program: Path) -> None:
    read, write = os.pipe()
    process = subprocess.Popen(command(f"--xml-fd={write}", program), pass_fds=(write,))
    os.close(write)
    os.close(read)
    assert process.wait(60) == 0


# -- readers -----------------------------------------------------------------------------------


def test_valgrind_ci_reads_it(program: Path, tmp_path: Path) -> None:
    """ValgrindCI of PyPI: errors by file and line, the program's own."""
    pytest.importorskip("ValgrindCI")
    out = tmp_path / "out.xml"
    run("--track-origins=yes", f"--xml-file={out}", program, "a")
    reader = Path(sys.executable).with_name("valgrind-ci")
    done = subprocess.run(
        [reader, out, "--summary"], capture_output=True, text=True, cwd=tmp_path, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{program}.c:\n") and done.stdout.count(":\n") == 1
    assert "InvalidWrite" in done.stdout and "Leak_DefinitelyLost" in done.stdout
    done = subprocess.run(
        [reader, out, "--output-dir", "html"], cwd=tmp_path, capture_output=True, timeout=60
    )
    assert done.returncode == 0 and (tmp_path / "html" / "index.html").exists()


def test_our_own_reader(program: Path, tmp_path: Path) -> None:
    out, lines = tmp_path / "out.xml", tmp_path / "out.jsonl"
    run("--track-origins=yes", f"--xml-file={out}", f"--json-file={lines}", program, "a")
    xml, json = report.read(out), report.read(lines)
    assert [(error.kind, error.what, error.count) for error in xml.errors] == [
        (error.kind, error.what, error.count) for error in json.errors
    ]
    assert [leak.bytes for leak in xml.leaks] == [leak.bytes for leak in json.leaks]
