"""--track-fds and --modify-fds: what is opened, closed and misused, in threads, children and other images."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HEAD = r"""
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
static int file(void) { return open("/dev/null", O_RDONLY); }
int main(int argc, char **argv) {
"""
CLOSED_IN_MAIN = (
    " Previously closed",
    "  close",
    "  main",
    " Originally opened",
    "  open",
    "  file",
    "  main",
)


def build(folder: Path, body: str, head: str = "") -> Path:
    source = folder / "prog.c"
    source.write_text(head + HEAD + body + "\nreturn 0;\n}\n")
    subprocess.run(["gcc", "-g", "-O0", "-w", "-pthread", "-o", "prog", str(source)], check=True, cwd=folder)
    return folder / "prog"


def run(*words: str | Path, **more) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "interpose", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, close_fds=True, **more)


def shown(text: str) -> list[str]:
    """The report without numbers of processes and ports, each frame as the function alone."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("=="):
            continue
        line = re.sub(r"^==\d+== ?", "", line)
        line = re.sub(r"^   (at|by) 0x[0-9A-F]+: (\S+).*", r"  \2", line)
        lines.append(re.sub(r"(127\.0\.0\.1|::1\]):\d+", r"\1:PORT", line))
    return lines


def report(folder: Path, body: str, *options: str, status: int = 0, head: str = "") -> list[str]:
    """What ``-q`` shows of a program."""
    result = run("-q", "--run-libc-freeres=no", *(options or ("--track-fds=yes",)), build(folder, body, head))
    assert result.returncode == status, result.stderr
    return shown(result.stderr)


TWICE = "int fd = file(); close(fd); close(fd); return fd == 3 ? 0 : 9;"


@pytest.mark.parametrize("tool", ["none", "memcheck", "callgrind"])
def test_a_double_close_is_an_error_with_its_history(tmp_path, tool):
    words = ("--callgrind-out-file=/dev/null",) if tool == "callgrind" else ()
    lines = report(
        tmp_path, TWICE, f"--tool={tool}", "--track-fds=bad", "--error-exitcode=5", *words, status=5
    )
    assert lines == [
        "File descriptor 3: /dev/null is already closed",
        "  close",
        "  main",
        *CLOSED_IN_MAIN,
    ]


def test_uses_of_what_is_not_open(tmp_path):
    lines = report(
        tmp_path,
        """
        char c;
        int fd = file();
        close(fd);
        read(fd, &c, 1);
        read(40, &c, 1);
        close(41);                            /* no error: programs close all numbers */
        read(-1, &c, 1);                      /* a warning of its own */
        openat(42, "/dev/null", O_RDONLY);    /* the folder does not matter */
        openat(43, "null", O_RDONLY);
        struct pollfd p[2] = {{44, POLLIN}, {-1, POLLIN}};
        poll(p, 2, 0);
        fd_set s;
        struct timeval zero = {0};
        FD_ZERO(&s);
        FD_SET(45, &s);
        select(46, &s, 0, 0, &zero);
        mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, 46, 0);
        dup2(47, 48);
        epoll_ctl(epoll_create1(0), EPOLL_CTL_ADD, 49, &(struct epoll_event){EPOLLIN});
        """,
        "--track-fds=bad",
    )
    heads = [line for line in lines if line.startswith("File")]
    never = [f"File descriptor {n} was never created" for n in (40, 43, 44, 45, 47, 49)]
    # The first number that is free is 3, which openat has, too.
    assert heads == ["File descriptor 3 was closed already", *never]


OPENERS = {
    "dup(fd)": ("dup", ": /dev/null"),
    "(dup2(fd, 50), close(fd), 50)": ("dup2", ": /dev/null"),
    "(dup3(fd, 60, O_CLOEXEC), close(fd), 60)": ("dup3", ": /dev/null"),
    "fcntl(fd, F_DUPFD, 20)": ("fcntl", ": /dev/null"),
    "fcntl(fd, F_DUPFD_CLOEXEC, 20)": ("fcntl", ": /dev/null"),
    'creat("new", 0600)': ("creat", ": new"),
    'openat(AT_FDCWD, "/dev/zero", O_RDONLY)': ("openat", ": /dev/zero"),
    "epoll_create(1)": ("epoll_create", ":"),
    "eventfd(0, 0)": ("eventfd", ":"),
    "timerfd_create(CLOCK_MONOTONIC, 0)": ("timerfd_create", ":"),
    'memfd_create("m", 0)': ("memfd_create", ":"),
    "syscall(SYS_pidfd_open, getpid(), 0)": ("syscall", ":"),
    "syscall(SYS_pidfd_getfd, syscall(SYS_pidfd_open, getpid(), 0), fd, 0)": ("syscall", ": /dev/null"),
    'syscall(SYS_openat2, AT_FDCWD, "/dev/zero", (long[3]){0}, 24)': ("syscall", ": /dev/zero"),
    "syscall(SYS_inotify_init1, 0)": ("syscall", ":"),
    "syscall(SYS_signalfd4, -1, (long[1]){0}, 8, 0)": ("syscall", ":"),
}


def test_everything_that_opens_is_listed_with_where(tmp_path):
    body = "".join(
        f'{{ int fd = file(), n = {call}; if (n != fd) close(fd); printf("%d\\n", n); }}\n'
        for call in OPENERS
    )
    # A process can no longer be told by pidfd_getfd where the kernel refuses; numbers say which calls worked.
    result = run("-q", "--tool=none", "--track-fds=yes", build(tmp_path, body), cwd=tmp_path)
    numbers = [int(n) for n in result.stdout.split()]
    lines = shown(result.stderr)
    told = {}
    for at, line in enumerate(lines):
        if (match := re.fullmatch(r"Open file descriptor (\d+)(:.*)", line)) is not None:
            told[int(match[1])] = (lines[at + 1].strip(), match[2].replace(str(tmp_path), "FOLDER"))
    for number, (function, what) in zip(numbers, OPENERS.values(), strict=True):
        if number >= 0:
            assert re.fullmatch(rf"(__)?{function}\w*", told[number][0]), (told[number], function)
            assert told[number][1] == what
    assert sum(n >= 0 for n in numbers) >= len(OPENERS) - 1


def test_sockets_are_listed_with_their_addresses(tmp_path):
    lines = report(
        tmp_path,
        r"""
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001)};
        socklen_t n = sizeof a;
        int listens = socket(AF_INET, SOCK_STREAM, 0);
        bind(listens, (void *)&a, sizeof a);
        listen(listens, 1);
        getsockname(listens, (void *)&a, &n);
        int connects = socket(AF_INET, SOCK_STREAM, 0);
        connect(connects, (void *)&a, n);
        accept(listens, 0, 0);
        struct sockaddr_un u = {.sun_family = AF_UNIX, .sun_path = "a.sock"};
        bind(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&u, sizeof u);
        strcpy(u.sun_path, "xabstract");
        u.sun_path[0] = 0;
        bind(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&u, 2 + 9);
        u.sun_path[5] = 0;
        bind(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&u, sizeof u);
        socket(AF_UNIX, SOCK_DGRAM, 0);
        socket(AF_INET, SOCK_DGRAM, 0);
        socket(AF_NETLINK, SOCK_RAW, 0);
        int closed = socket(AF_INET, SOCK_DGRAM, 0);
        close(closed);
        close(closed);
        unlink("a.sock");
        """,
    )
    heads = [re.sub(r" \d+:", ":", line) for line in lines if line[:4] in ("Open", "File")]
    assert heads == [
        "File descriptor: AF_INET socket: <unbound> <-> <unbound> is already closed",
        "Open pf-16 socket:",
        "Open AF_INET socket: <unbound> <-> unbound",
        "Open AF_UNIX socket: <unknown>",
        "Open AF_UNIX socket: @abst@act",
        "Open AF_UNIX socket: @abstract",
        "Open AF_UNIX socket: a.sock",
        "Open AF_INET socket: 127.0.0.1:PORT <-> 127.0.0.1:PORT",
        "Open AF_INET socket: 127.0.0.1:PORT <-> 127.0.0.1:PORT",
        "Open AF_INET socket: 127.0.0.1:PORT <-> unbound",
    ]


PASSED = r"""
    int s[2], got[2];
    socketpair(AF_UNIX, SOCK_STREAM, 0, s);
    char space[CMSG_SPACE(8)] = {0}, byte = 'x';
    struct iovec io = {&byte, 1};
    struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = space};
    m.msg_controllen = sizeof space;
    struct cmsghdr *h = CMSG_FIRSTHDR(&m);
    h->cmsg_level = SOL_SOCKET, h->cmsg_type = SCM_RIGHTS, h->cmsg_len = CMSG_LEN(8);
    ((int *)CMSG_DATA(h))[0] = ((int *)CMSG_DATA(h))[1] = file();
    sendmsg(s[0], &m, 0);
    close(*(int *)CMSG_DATA(h));
    m.msg_controllen = sizeof space;
    recvmsg(s[1], &m, 0);
    memcpy(got, CMSG_DATA(h), 8);
    printf("%d %d\n", got[0], got[1]);
    close(s[0]), close(s[1]), close(got[0]);
"""


def test_descriptors_that_a_message_brings(tmp_path):
    lines = report(tmp_path, PASSED)
    assert lines[:2] == [
        "FILE DESCRIPTORS: 4 open (3 inherited) at exit.",
        "Open file descriptor 6: /dev/null",
    ]
    assert any("recvmsg" in line for line in lines) and len([x for x in lines if x.startswith("Open")]) == 1


def test_a_number_is_what_it_was_given_to_last(tmp_path):
    """Whatever it was before, with a shorter name, or where it was opened from fewer frames."""
    body = r"""
        char name[300];
        memset(name, 'n', 250), name[250] = 0;
        int deep(int n) { return n ? deep(n - 1) + 0 * n : open(name, O_CREAT | O_RDWR, 0600); }
        close(file());
        close(deep(7));
        close(3);
        unlink(name);
        int fd = file();
        if (close(fd)) return 1;
        close(fd);
    """
    program = build(tmp_path, body)
    result = run("-q", "--run-libc-freeres=no", "--track-fds=bad", program, cwd=tmp_path)
    lines = shown(result.stderr)
    assert lines[0] == f"File descriptor 3: {'n' * 250} is already closed"
    at = lines.index(" Originally opened")
    assert lines[at + 1 : at + 11] == ["  open", *["  deep.0"] * 8, "  main"]
    again = lines.index("File descriptor 3: /dev/null is already closed")
    assert lines[again + 3 :] == list(CLOSED_IN_MAIN)


def test_numbers_that_are_closed_where_nobody_sees_it(tmp_path):
    """By a process on the same table: what they were is told, but not where that was."""
    lines = report(
        tmp_path,
        r"""
        int a = file(), b = file(), closed = open("/dev/zero", O_RDONLY);
        if (fork() == 0) _exit(0);
        wait(0);
        int closes(void *x) { syscall(SYS_close, a); syscall(SYS_exit, 0); }
        char *stack = mmap(0, 65536, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        waitpid(clone(closes, stack + 65536, CLONE_FILES | SIGCHLD, 0), 0, 0);
        close(a), close(a);
        """,
        "--track-fds=bad",
    )
    heads = [at for at, line in enumerate(lines) if line == "File descriptor 3: /dev/null is already closed"]
    assert len(heads) == 2
    first = lines[heads[0] : heads[1]]
    assert " Previously closed" not in first and " Originally opened" in first


def test_tables_of_children_on_the_same_memory_are_given_back(tmp_path):
    """Each child of vfork has a copy of five hundred notes, some 200 KB."""
    body = r"""
        for (int i = 0; i < 500; i++) if (file() < 0) return 1;
        for (int i = 0; i < atoi(argv[1]); i++) {
            if (vfork() == 0) { close(3); _exit(0); }
            wait(0);
        }
        close(3);
        close_range(3, ~0U, 0);
    """
    program = build(tmp_path, body)
    peaks = []
    for children in ("10", "400"):
        command = [sys.executable, "-m", "interpose", "-q", "--track-fds=bad", str(program), children]
        with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
            assert process.stderr.read() == b""
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        peaks.append(usage.ru_maxrss)
    assert peaks[1] - peaks[0] < 20_000, peaks


def test_close_range_closes_each(tmp_path):
    lines = report(
        tmp_path,
        """
        int a = file(), b = file(), c = file();
        close_range(a, b, CLOSE_RANGE_CLOEXEC);
        close_range(a, b, 0);
        close(b);
        """,
        "--track-fds=yes",
    )
    heads = [line for line in lines if line[:4] in ("Open", "File")]
    assert heads == ["File descriptor 4: /dev/null is already closed", "Open file descriptor 5: /dev/null"]
    assert lines[lines.index(" Previously closed") + 1] == "  close_range"


def test_threads_share_and_children_do_not(tmp_path):
    lines = report(
        tmp_path,
        r"""
        int fd = file();
        void *closes(void *x) { close(fd); return 0; }
        pthread_t t;
        if (vfork() == 0) { close(fd); _exit(0); }
        wait(0);
        if (fork() == 0) { close(fd); exit(0); }
        wait(0);
        pthread_create(&t, 0, closes, 0);
        pthread_join(t, 0);
        close(fd);
        """,
        "--track-fds=bad",
    )
    heads = [line for line in lines if line.startswith("File")]
    assert heads == ["File descriptor 3: /dev/null is already closed"]
    assert lines[lines.index(" Previously closed") + 2].startswith("  closes")


def test_a_thread_with_a_table_of_its_own(tmp_path):
    lines = report(
        tmp_path,
        r"""
        int fd = file();
        void *closes(void *x) { unshare(CLONE_FILES); close(fd); return 0; }
        pthread_t t;
        pthread_create(&t, 0, closes, 0);
        pthread_join(t, 0);
        """,
        "--track-fds=yes",
    )
    assert [line for line in lines if line[:4] in ("Open", "File")] == ["Open file descriptor 3: /dev/null"]


def test_a_forked_child_lists_what_it_has(tmp_path):
    lines = report(tmp_path, "int a = file(), b = file(); if (fork() == 0) { close(a); _exit(0); } wait(0);")
    # The child's first: its parent waits for it.
    heads = [line for line in lines if line.startswith("Open")]
    assert heads == [f"Open file descriptor {n}: /dev/null" for n in (4, 4, 3)]


def test_what_an_image_inherits_is_listed_on_request_alone(tmp_path):
    body = 'if (argc == 1) { file(); execl(argv[0], argv[0], "x", NULL); }'
    program = build(tmp_path, body)
    pipes = {"stdin": subprocess.DEVNULL}
    result = run("--tool=none", "--track-fds=yes", "--trace-children=yes", program, **pipes)
    assert "FILE DESCRIPTORS: 4 open (4 inherited) at exit." in shown(result.stderr)
    assert "Open" not in result.stderr
    result = run("--tool=none", "--track-fds=all", "--trace-children=yes", program, **pipes)
    lines = shown(result.stderr)
    at = lines.index("Open file descriptor 3: /dev/null")
    assert lines[at + 1] == "   <inherited from parent>"
    assert "ERROR SUMMARY: 0 errors from 0 contexts (suppressed: 0 from 0)" in lines
    assert "Open file descriptor 0: /dev/null" in lines


def test_descriptors_left_open_are_errors_that_can_be_suppressed(tmp_path):
    body = "file();"
    program = build(tmp_path, body)
    result = run(
        "-q", "--tool=none", "--track-fds=yes", "--gen-suppressions=all", "--error-exitcode=3", program
    )
    assert result.returncode == 3
    entry = result.stderr[result.stderr.index("{") : result.stderr.index("}") + 1]
    assert "   CoreError:FdNotClosed\n" in entry
    (tmp_path / "supp").write_text(entry)
    for tool in ("none", "memcheck"):
        words = (f"--tool={tool}", f"--suppressions={tmp_path}/supp", "--track-fds=yes", "--error-exitcode=3")
        result = run(*words, program)
        assert result.returncode == 0
        assert "ERROR SUMMARY: 0 errors from 0 contexts (suppressed: 1 from 1)" in result.stderr


def test_quiet_has_the_heading_of_what_is_shown(tmp_path):
    """As in Valgrind; none where nothing is open, or all of it is suppressed."""
    heading = "FILE DESCRIPTORS: 5 open (3 inherited) at exit."
    words = ("-q", "--tool=none", "--track-fds=yes")
    lines = shown(run(*words, build(tmp_path, "file(); file();")).stderr)
    assert lines[0] == heading and lines.count(heading) == 1
    assert sum(line.startswith("Open file descriptor") for line in lines) == 2
    (tmp_path / "supp").write_text("{\n   x\n   CoreError:FdNotClosed\n   ...\n   fun:main\n}\n")
    assert run(*words, f"--suppressions={tmp_path}/supp", tmp_path / "prog").stderr == ""
    assert run(*words, build(tmp_path, "")).stderr == ""


def test_a_bad_suppression_file_is_told_before_the_program_runs(tmp_path):
    (tmp_path / "supp").write_text("{\n   x\n   CoreError:Zork\n   ...\n}\n")
    result = run("--tool=none", "--track-fds=yes", f"--suppressions={tmp_path}/supp", "echo", "ran")
    assert result.returncode == 1 and result.stdout == ""
    lines = [re.sub(r"^==\d+== ", "", line) for line in result.stderr.splitlines()]
    assert lines[3:] == [
        "Command: echo ran",
        "",
        f'FATAL: in suppressions file "{tmp_path}/supp" near line 3:',
        "   unknown core suppression type",
        "exiting now.",
    ]


def test_a_missing_suppression_file_is_told_in_the_log(tmp_path):
    result = run("-q", f"--log-file={tmp_path}/log", f"--suppressions={tmp_path}/supp", "echo", "ran")
    assert (result.returncode, result.stdout, result.stderr) == (1, "", "")
    text = f"""FATAL: can't open suppressions file "{tmp_path}/supp"\n"""
    assert re.sub(r"^==\d+== ", "", (tmp_path / "log").read_text()) == text


def test_json_has_number_and_path(tmp_path):
    run("-q", "--track-fds=yes", f"--json-file={tmp_path}/out", build(tmp_path, TWICE + "file();"))
    found = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    (error,) = [record for record in found if record["record"] == "error"]
    assert (error["kind"], error["fd"], error["path"]) == ("FdBadClose", 3, "/dev/null")


def test_the_first_error_ends_the_run_where_that_is_wanted(tmp_path):
    words = ("-q", "--tool=none", "--track-fds=bad", "--exit-on-first-error=yes", "--error-exitcode=9")
    result = run(*words, build(tmp_path, 'close(3 + file() * 0); close(3); puts("later"); fflush(stdout);'))
    assert result.returncode == 9 and result.stdout == ""


def test_disabled_errors_are_not_told(tmp_path):
    include = subprocess.run(
        [sys.executable, "-m", "interpose", "--include-dir"], capture_output=True, text=True
    ).stdout.strip()
    body = "int fd = file(); close(fd); VALGRIND_DISABLE_ERROR_REPORTING; close(fd);"
    head = f'#include "{include}/valgrind/valgrind.h"\n'
    lines = report(tmp_path, body, "--track-fds=bad", head=head)
    assert not [line for line in lines if line.startswith("File")]


@pytest.mark.parametrize("how", ["yes", "high"])
def test_new_numbers_are_high_and_not_used_before(tmp_path, how):
    body = r"""
    struct rlimit l = {200, 200};
    setrlimit(RLIMIT_NOFILE, &l);
    int p[2], first = file();
    pipe(p);
    close(first);
    int again = file();
    close(0);
    int zero = file();
    int cloexec = open("/dev/null", O_RDONLY | O_CLOEXEC);
    printf("%d %d %d %d %d %d ", first, p[0], p[1], again, zero, dup2(again, 50));
    printf("%d %d\n", fcntl(again, F_GETFD), fcntl(cloexec, F_GETFD));
    for (int i = 0; i < 500; i++) {
        int fd = file();
        if (fd < 3) return 1;
        close(fd);
    }
    """
    words = ("-q", "--tool=none", f"--modify-fds={how}", build(tmp_path, body))
    result = run(*words)
    assert result.returncode == 0, result.stderr
    numbers = list(map(int, result.stdout.split()))
    zero = numbers.pop(4)
    assert numbers[-3:] == [50, 0, 1]
    high = numbers[:-3]
    assert all(n > 150 for n in high) and high == sorted(set(high), reverse=True)
    assert zero == 0 if how == "yes" else zero > 150


def test_moved_descriptors_of_a_message(tmp_path):
    program = build(tmp_path, PASSED)
    numbers = run("-q", "--tool=none", "--modify-fds=high", program).stdout.split()
    assert all(int(n) > 200 for n in numbers) and len(set(numbers)) == 2


def test_a_stale_use_is_found_when_numbers_are_not_used_again(tmp_path):
    body = "int a = file(); close(a); int b = file(); char c; read(a, &c, 1);"
    assert report(tmp_path, body, "--track-fds=bad") == []
    lines = report(tmp_path, body, "--track-fds=bad", "--modify-fds=high")
    assert lines[0].endswith("was closed already")


def test_many_descriptors(tmp_path):
    body = """
    struct rlimit l;
    getrlimit(RLIMIT_NOFILE, &l);
    l.rlim_cur = l.rlim_max;
    setrlimit(RLIMIT_NOFILE, &l);
    for (int i = 0; i < 2500; i++) if (file() < 0) return 1;
    close_range(3, ~0U, 0);
    file();
    """
    result = run("--tool=none", "--track-fds=yes", build(tmp_path, body), stdin=subprocess.DEVNULL)
    assert result.returncode == 0
    assert "FILE DESCRIPTORS: 4 open (3 inherited) at exit." in shown(result.stderr)


@pytest.mark.parametrize("tool", ["none", "memcheck"])
def test_the_list_on_request(tmp_path, tool):
    include = subprocess.run(
        [sys.executable, "-m", "interpose", "--include-dir"], capture_output=True, text=True
    ).stdout.strip()
    head = f'#include "{include}/valgrind/valgrind.h"\n'
    program = build(tmp_path, 'file(); VALGRIND_MONITOR_COMMAND("v.info open_fds"); close(3);', head)
    words = ("-q", f"--tool={tool}", "--track-fds=yes", program)
    assert shown(run(*words, stdin=subprocess.DEVNULL).stderr) == [
        "FILE DESCRIPTORS: 4 open (3 inherited) .",
        "Open file descriptor 3: /dev/null",
        "  open",
        "  file",
        "  main",
        "",
    ]
    result = run("-q", f"--tool={tool}", "--track-fds=bad", program)
    assert "must be started with --track-fds=[yes|all]" in result.stderr


def test_xml_has_number_and_path(tmp_path):
    run("-q", "--xml=yes", f"--xml-file={tmp_path}/out", "--track-fds=yes", build(tmp_path, TWICE))
    text = (tmp_path / "out").read_text()
    assert "<kind>FdBadClose</kind>\n  <fd>3</fd>\n  <path>/dev/null</path>\n" in text


PASSES = """
static int pass(int to, int first, int second, int many) {
    char control[CMSG_SPACE(2 * sizeof(int))] = {0}, byte = 1;
    struct iovec v = {&byte, 1};
    struct mmsghdr m = {{.msg_iov = &v, .msg_iovlen = 1, .msg_control = control}};
    m.msg_hdr.msg_controllen = sizeof control;
    struct cmsghdr *c = CMSG_FIRSTHDR(&m.msg_hdr);
    int fds[] = {first, second};
    c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS, c->cmsg_len = CMSG_LEN(sizeof fds);
    memcpy(CMSG_DATA(c), fds, sizeof fds);
    return many ? sendmmsg(to, &m, 1, 0) : sendmsg(to, &m.msg_hdr, 0);
}
"""


def test_a_message_that_hands_on_what_is_closed(tmp_path):
    lines = report(
        tmp_path,
        """
        int un[2], fd = file();
        socketpair(AF_UNIX, SOCK_STREAM, 0, un);
        pass(un[0], fd, 1, 0); /* all open */
        close(fd);
        pass(un[0], 1, fd, 0);
        pass(un[0], 60, 1, 1);
        pass(un[0], -1, 1, 0);
        close(un[0]), close(un[1]);
        """,
        head="#define _GNU_SOURCE\n#include <string.h>\n#include <sys/socket.h>\n" + PASSES,
    )
    assert lines == [
        "File descriptor 3 was closed already",
        "  sendmsg",
        "  pass",
        "  main",
        *CLOSED_IN_MAIN,
        "File descriptor 60 was never created",
        "  sendmmsg",
        "  pass",
        "  main",
    ]


def test_files_have_the_names_that_the_program_opened_them_by(tmp_path):
    """Whatever becomes of them; a copy has the kernel's of when it was made. As with Valgrind."""
    body = r"""
        mkdir("folder", 0700);
        int folder = open("folder", O_DIRECTORY), file = openat(folder, "in", O_CREAT | O_RDWR, 0600);
        open("./folder/../folder", O_DIRECTORY);
        dup(file);
        unlinkat(folder, "in", 0);
        rename("folder", "other");
        int gone = open("other", O_DIRECTORY), ends[2];
        close(gone);
        close(gone);
        pipe(ends);
        close(ends[0]);
        close(ends[0]);
    """
    result = run("-q", "--tool=none", "--track-fds=yes", build(tmp_path, body), cwd=tmp_path)
    heads = [line for line in shown(result.stderr) if line.startswith(("File", "Open"))]
    assert heads == [
        "File descriptor 7: other is already closed",
        "File descriptor 7: file descriptor 7 is already closed",
        "Open file descriptor 8:",
        f"Open file descriptor 6: {tmp_path}/folder/in",
        "Open file descriptor 5: ./folder/../folder",
        "Open file descriptor 4: in",
        "Open file descriptor 3: folder",
    ]
