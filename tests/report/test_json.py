"""The report in JSON Lines: every record against the schema, processes of all kinds, hostile files."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import jsonschema
import pytest

from interpose.formats import FormatError, report
from interpose.options.parse import parse
from interpose.report.jsonlines import Encoded, JsonReport, line_of, stack_list
from interpose.report.log import FileNames
from interpose.report.stack import ResolvedFrame

SOURCE = r"""
#include <stdlib.h>
#include <unistd.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <interpose/memcheck.h>
#include <interpose/interpose.h>
__attribute__((noinline)) void over(char *p) { p[4] = 1; }
__attribute__((noinline)) void lose(void) { memset(malloc(33), 1, 33); }
int main(int argc, char **argv) {
    char *volatile p = malloc(4);
    char *undefined = malloc(1);
    for (int i = 0; i < 3; i++) over(p);
    INTERPOSE_PRINTF("hello <%d> %s\n", argc, argv[0]);
    if (INTERPOSE_REPORT_MARK("the children") != 1) return 1;
    int status;
    if (fork() == 0) { over(p); _exit(3); } /* the same place by another way: an error of its own */
    wait(&status);
    if (fork() == 0) *(volatile int *)8 = 1;
    wait(&status);
    if (fork() == 0) kill(getpid(), SIGKILL);
    wait(&status);
    if (vfork() == 0) { execl("/bin/true", "true", NULL); _exit(1); }
    wait(&status);
    if (fork() == 0) { execl(argv[0], "again", "x", NULL); _exit(1); }
    wait(&status);
    if (*undefined) status++;
    lose();
    INTERPOSE_PRINTF_BACKTRACE("bye\n");
    return 7;
}
"""


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(
        tmp_path_factory.mktemp("json"),
        SOURCE.replace("char *volatile p", "if (argc > 1) return 5;\n char *volatile p"),
    )


def build(folder: Path, source: str, name: str = "prog") -> Path:
    include = subprocess.run(
        [sys.executable, "-m", "interpose", "--include-dir"], capture_output=True, text=True
    )
    (folder / f"{name}.c").write_text(source)
    command = ["gcc", "-g", "-O0", "-w", "-I", include.stdout.strip(), "-o", name, f"{name}.c"]
    subprocess.run(command, check=True, cwd=folder)
    return folder / name


def run(*words: str | Path, **more) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "interpose", "-q", *map(str, words)]
    return subprocess.run(command, capture_output=True, timeout=120, **more)


def records(path: Path) -> list[dict]:
    """The records of a file, each valid."""
    validator = jsonschema.Draft202012Validator(report.schema())
    found = []
    text = path.read_bytes()
    assert text.endswith(b"\n")
    for line in text.splitlines():
        record = json.loads(line)
        validator.validate(record)
        found.append(record)
    return found


def test_one_file_of_all_processes(program: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    done = run(
        "--leak-check=full", "--trace-children=yes", "--track-origins=yes", f"--json-file={out}", program
    )
    assert done.returncode == 7
    found = records(out)
    main = found[0]["pid"]
    mine = [each for each in found if each["pid"] == main]
    assert (
        mine[0]["record"] == "start" and mine[0]["reason"] == "start" and mine[0]["command"] == [str(program)]
    )
    assert mine[-1] == {**mine[-1], "record": "end", "how": "exit", "code": 7}
    read = report.read(out)
    assert read.complete
    ends = sorted((each.reason, each.how, each.code, each.signal) for each in read.processes)
    assert ends == [
        ("exec", "exit", 0, None),
        ("exec", "exit", 5, None),
        ("fork", "exec", None, None),
        ("fork", "exit", 3, None),
        ("fork", "signal", None, signal.SIGKILL),
        ("fork", "signal", None, signal.SIGSEGV),
        ("start", "exit", 7, None),
    ]
    assert {process.ppid for process in read.processes[1:] if process.reason == "fork"} == {main}


def test_errors_have_all_there_is(program: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    run("--leak-check=full", "--track-origins=yes", f"--json-file={out}", program)
    read = report.read(out)
    main = read.processes[0].pid
    first, *rest = [error for error in read.errors if error.pid == main]
    assert (first.kind, first.what, first.size, first.count) == (
        "InvalidWrite",
        "Invalid write of size 1",
        1,
        3,
    )
    assert first.address is not None and f"{first.address:#x}" in first.aux[0].text
    assert [(f.function, f.file, f.directory, f.object) for f in first.stack] == [
        ("over", "prog.c", str(program.parent), str(program)),
        ("main", "prog.c", str(program.parent), str(program)),
    ]
    lines = SOURCE.splitlines()
    assert "void over" in lines[first.stack[0].line - 1]
    assert first.aux[0].text.endswith("bytes after a block of size 4 alloc'd")
    assert [f.function for f in first.aux[0].stack] == ["malloc", "main"]
    assert first.suppression.kind == "Memcheck:Addr1"
    assert first.suppression.frames == ("fun:over", "fun:main")
    assert str(first).splitlines()[1].startswith("   at 0x")
    undefined = next(error for error in rest if error.kind == "UninitCondition")
    assert undefined.origin.text == "Uninitialised value was created by a heap allocation"
    assert [f.function for f in undefined.origin.stack] == ["malloc", "main"]
    (leak,) = [leak for leak in read.leaks if leak.pid == main and leak.bytes == 33]
    assert (leak.leak_kind, leak.direct_bytes, leak.blocks) == ("definite", 33, 1)
    assert [f.function for f in leak.stack] == ["malloc", "lose", "main"]
    assert read.processes[0].leaks["definite"].bytes >= 33
    assert read.processes[0].heap.allocs == 3
    assert [m.text for m in read.client_messages] == [f"hello <1> {program}\n", "bye\n"]
    assert [f.function for f in read.client_messages[1].stack][-1] == "main"
    assert [mark.text for mark in read.marks] == ["the children"]
    (fatal,) = read.fatal_signals
    assert (fatal.name, fatal.event, fatal.address) == ("SIGSEGV", "Access not within mapped region", 8)


def test_repeats_are_told_before_a_mark(program: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    run(f"--json-file={out}", program)
    kinds = [each["record"] for each in records(out)]
    at = kinds.index("mark")
    assert kinds[at - 1] == "repeats"
    assert records(out)[at - 1]["errors"] == [{"number": 1, "count": 3, "new": 2}]


def test_each_process_has_a_file_of_its_own(program: Path, tmp_path: Path) -> None:
    run("--trace-children=yes", f"--json-file={tmp_path}/%p.jsonl", program)
    files = sorted(tmp_path.glob("*.jsonl"))
    assert len(files) == 6
    for file in files:
        assert {each["pid"] for each in records(file)} == {int(file.stem)}
        assert report.read(file).complete
    assert len(report.read(*files).processes) == 7


def test_a_suppressed_error_is_told_on_request(program: Path, tmp_path: Path) -> None:
    supp = tmp_path / "s.supp"
    supp.write_text("{\n over\n Memcheck:Addr1\n fun:over\n}\n")
    out = tmp_path / "out.jsonl"
    for option, expected in (("yes", []), ("all", [("over", str(supp), 2)])):
        run(f"--suppressions={supp}", f"--show-error-list={option}", f"--json-file={out}", program)
        records(out)
        read = report.read(out)
        main = read.processes[0]
        found = [e.suppressed_by for e in read.suppressed if e.pid == main.pid]
        assert [(use.name, use.file, use.line) for use in found] == expected
        assert [(use.name, use.count) for use in main.suppressions] == [("over", 3)]


@pytest.mark.parametrize("tool", ["none", "callgrind"])
def test_tools_without_errors(tool: str, program: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    run(f"--tool={tool}", f"--json-file={out}", program, cwd=tmp_path)
    found = records(out)
    last = [each for each in found if each["pid"] == found[0]["pid"]][-1]
    assert found[0]["tool"] == tool and (last["how"], last["code"]) == ("exit", 7)
    assert any(each["record"] == "fatal_signal" and each["stack"] for each in found)


def test_a_killed_program_leaves_what_is_known(tmp_path: Path) -> None:
    program = build(
        tmp_path,
        "#include <stdlib.h>\n#include <unistd.h>\nint main(void)"
        "{ char *volatile p = malloc(1); p[1] = 1; write(1, p, 1); for (;;) pause(); }",
    )
    for victim in ("program", "supervisor"):
        out = tmp_path / f"{victim}.jsonl"
        command = [sys.executable, "-m", "interpose", "-q", f"--json-file={out}", program]
        running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        running.stdout.read(1)
        supervisor = next(int(word) for word in writers(out))
        os.kill(running.pid if victim == "program" else supervisor, signal.SIGKILL)
        running.wait(30)
        running.stdout.close()
        deadline = time.monotonic() + 30
        while list(writers(out)) and time.monotonic() < deadline:
            time.sleep(0.05)
        records(out)
        read = report.read(out)
        assert [error.kind for error in read.errors] == ["InvalidWrite", "SyscallParam"][: len(read.errors)]
        assert read.errors
        assert read.complete == (victim == "program")


def writers(path: Path):
    """The processes that have a file open."""
    for folder in Path("/proc").glob("[0-9]*/fd"):
        try:
            if any(os.path.samefile(fd, path) for fd in folder.iterdir()):
                yield folder.parent.name
        except OSError:
            continue


def test_a_pipe_of_many_processes_has_whole_lines(tmp_path: Path) -> None:
    program = build(
        tmp_path,
        r"""
        #include <stdlib.h>
        #include <unistd.h>
        #include <sys/wait.h>
        #define A(n) __attribute__((noinline)) void a_function_with_a_long_name_##n(char *p, int k)
        A(0) { p[k] = 1; }
        A(1) { a_function_with_a_long_name_0(p, k); }
        A(2) { a_function_with_a_long_name_1(p, k); }
        int main(int n, char **v) {
            char *p = malloc(4);
            for (int i = 0; i < 8; i++)
                if (fork() == 0) {
                    for (int k = 4; k < 9; k++) {
                        char *q = malloc(k);
                        a_function_with_a_long_name_2(q, k);
                        free(q);
                        q[0] = 1;
                    }
                    _exit(0);
                }
            while (wait(0) > 0);
            char fd[1]; return read(atoi(v[1]), fd, 1) != -1; /* the descriptor is not ours */
        }""",
    )
    read_end, write_end = os.pipe()
    text: list[bytes] = []
    reader = threading.Thread(target=lambda: text.append(open(read_end, "rb").read()))
    reader.start()
    done = run(f"--json-fd={write_end}", program, str(write_end), pass_fds=[write_end])
    os.close(write_end)
    reader.join(60)
    assert done.returncode == 0
    out = tmp_path / "out"
    out.write_bytes(text[0])
    records(out)
    assert len(report.read(out).processes) == 9


def test_names_that_are_no_text(tmp_path: Path) -> None:
    strange = os.fsdecode(b'pr\xffog\n\x1b[31m</script>"\\')
    program = build(
        tmp_path, "#include <stdlib.h>\nint main(void) { char *volatile p = malloc(1); p[1] = 1; }"
    )
    hostile = tmp_path / strange.replace("/", "_")
    program.rename(hostile)
    out = tmp_path / "out.jsonl"
    run(f"--json-file={out}", hostile)
    found = records(out)
    assert "pr\\xffog\n\x1b[31m<" in found[0]["command"][0]
    assert report.read(out).errors[0].stack[0].object.endswith('_script>"\\')


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--json-file=", "No filename given"),
        ("--json-file=/nonexistent/x", "Cannot create JSON file '/nonexistent/x': No such file or directory"),
        ("--json-file=%q{NOBODY_SETS_THIS}", "'NOBODY_SETS_THIS' is not set"),
        ("--json-fd=77", "Cannot write the json to file descriptor 77"),
        ("--json-socket=127.0.0.1:1", "127.0.0.1:1"),
        ("--json-socket=nowhere", "no ip:port"),
    ],
)
def test_a_destination_that_cannot_be_had(option: str, message: str) -> None:
    done = run(option, "/bin/true", text=True)
    assert done.returncode == 1 and message in done.stderr


def test_a_line_without_room_is_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "full.jsonl"
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        out = JsonReport.open(parse([f"--json-file={path}", "x"], {}), FileNames(1, {}))
        for _ in range(30):
            out.record("message", text="x" * 90)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    lines = path.read_bytes()
    assert 800 < len(lines) < 1000 and lines.endswith(b"\n")
    assert set(lines.splitlines()) == {line_of({"record": "message", "pid": 1, "text": "x" * 90}).encode()}


FIRST = {"record": "start", "pid": 1, "format": "interpose-report", "version": 1, "ppid": 0, "tool": "none"}
START = line_of({**FIRST, "reason": "start"})
ERROR = START + '\n{"record":"error","pid":1,"number":1,"kind":"K","what":%s}\n'


def test_the_line_that_was_being_written_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "torn").write_text(f'{START}\n{{"record":"message","pi')
    assert not report.read(tmp_path / "torn").complete


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "this is no report"),
        ("hello\n", ":1: no JSON"),
        ("[1]\n", ":1: the record is no object"),
        ('{"record":"end","pid":1,"how":"exit"}\n', "process 1 did not start"),
        (START.replace("interpose-report", "other") + "\n", "the format is not"),
        (START.replace('"version":1', '"version":2') + "\n", "newer than this reader"),
        (START.replace('"pid":1', '"pid":"1"') + "\n", "'pid' is no 64-bit number"),
        (ERROR % "3", ":2: the record: 'what' is no text"),
        (ERROR % '"w","stack":[1]', "no object"),
        (ERROR % '"w","stack":[{"ip":"0xzz"}]', "address"),
        (f"{START}\n{'[' * 100_000}\n", ":2: no JSON: nested too deep"),
        (f'{START}\n{{"record":"mark","pid":1,"text":{"9" * 5000}}}\n', ":2: no JSON"),
        (f'{START}\n{{"record":"repeats","pid":1,"errors":{{}}}}\n', "no list"),
        (f"{START}\n\0\0\n", "no JSON"),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused_with_its_line(text: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "bad").write_text(text)
    with pytest.raises(FormatError) as caught:
        report.read(tmp_path / "bad")
    assert reason in str(caught.value) and str(tmp_path / "bad") in str(caught.value)


def test_a_newer_kind_of_record_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "newer").write_text(
        f'{START}\n{{"record":"poem","pid":1}}\n{{"record":"end","pid":1,"how":"exit"}}\n'
    )
    assert report.read(tmp_path / "newer").complete


def test_every_prefix_of_a_report_is_read_or_refused(program: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    run("--leak-check=full", f"--json-file={out}", program)
    text = out.read_bytes()
    part = tmp_path / "part"
    for end in range(0, len(text), 97):
        part.write_bytes(text[:end])
        try:
            report.read(part)
        except FormatError as error:
            assert "this is no report" in str(error)
    for at in range(0, len(text), 211):
        part.write_bytes(text[:at] + bytes([text[at] ^ 0x15]) + text[at + 1 :])
        try:
            report.read(part)
        except FormatError:
            continue


def test_a_record_is_put_together_of_what_is_json_already() -> None:
    """Kept frames are in the line as if they had been encoded with it, in the record's order."""
    frame = ResolvedFrame(0x1001, "f", "f", "/bin/a", "/src", "a.c", 7, "f")
    told = [
        {"ip": "0x1001", "object": "/bin/a", "function": "f", "directory": "/src", "file": "a.c", "line": 7}
    ]
    stack = stack_list([frame])
    aux = Encoded(f"[{line_of({'text': 'é', 'stack': stack})}]")
    record = {"record": "error", "pid": 1, "stack": stack, "aux": aux, "what": 'a "b"', "size": 4}
    whole = {**record, "stack": told, "aux": [{"text": "é", "stack": told}]}
    assert line_of(record) == line_of(whole)
    assert list(json.loads(line_of(record))) == list(record)
    assert line_of({"stack": stack}) == line_of({"stack": told})
    assert line_of({}) == "{}"


def test_what_is_no_utf8_is_escaped_beside_and_in_kept_frames() -> None:
    bad = os.fsdecode(b"/tmp/\xff")
    stack = stack_list([ResolvedFrame(1, None, None, bad)])
    line = line_of({"text": bad, "stack": stack, "path": bad})
    line.encode()
    shown = "/tmp/\\xff"
    assert json.loads(line) == {"text": shown, "stack": [{"ip": "0x1", "object": shown}], "path": shown}
