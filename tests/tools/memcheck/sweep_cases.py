"""Cases of system calls with arguments that are wrong for memcheck: one C function each, in one program.

Each call of the table is made with all arguments undefined, and with their upper halves; then with each
pointer into a block that is unaddressable, into one that is undefined, and with null pointers.  Calls that do
several things have cases of their own, below.  A case's function is named ``c_NUMBER_CALL_CASE``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from interpose import paths

TABLE = Path(paths.__file__).parent / "runtime" / "syscalls" / "syscalls.def"

NOT_MADE = frozenset(
    "exit exit_group rt_sigreturn fork vfork pause rt_sigsuspend vhangup restart_syscall clone clone3 reboot "
    "kill seccomp arch_prctl setsid sync syncfs".split()
)
"""By the first kind of cases: they end, wait for ever, or touch more than this process."""
ADDRESSES_ALONE = frozenset("mmap munmap mprotect mremap brk shmdt shmat remap_file_pages".split())
PROCESSES = frozenset("pid tid tgid who pgid pid1 pid2".split())
NOBODY = "65534"
HARMLESS = {
    ("alarm", "seconds"): "0",
    ("umask", "mask"): "022",
    ("personality", "persona"): "0xffffffff",
    ("setfsuid", "uid"): NOBODY,
    ("ptrace", "request"): "0x4206",
    ("mmap", "flags"): "0x22",
    ("mmap", "length"): "4096",
    ("mlockall", "flags"): "0",
    ("prctl", "option"): "0x7777",
    ("keyctl", "option"): "0x7777",
    ("waitid", "options"): "4",
    ("socket", "domain"): "99",
    ("ioperm", "from"): "70000",
    ("iopl", "level"): "9",
    ("setrlimit", "resource"): "4",
    ("unshare", "flags"): "0x20000000",
    ("setns", "nstype"): "0",
    ("close_range", "first"): "5000",
    ("close_range", "last"): "5001",
    ("kexec_load", "flags"): "16",
    ("swapon", "flags"): "16",
    ("mseal", "flags"): "1",
    ("futex", "op"): "1",
    ("set_mempolicy", "policy"): "99",
    ("mbind", "policy"): "99",
    ("rt_sigaction", "signum"): "10",
    ("userfaultfd", "flags"): "0x7000",
    ("poll", "timeout"): "0",
    ("ppoll", "timeout"): "0",
    ("msync", "flags"): "0",
    ("io_setup", "nr_events"): "0",
    ("membarrier", "flags"): "0",
    ("dup2", "newfd"): "1001",
    ("dup3", "newfd"): "1001",
    ("brk", "end_data_segment"): "0",
    ("rt_sigqueueinfo", "sig"): "10",
    ("tgkill", "sig"): "10",
    ("tkill", "sig"): "10",
    ("io_uring_setup", "entries"): "0",
    ("epoll_wait", "timeout"): "0",
}
"""Values that do no harm, by call and argument."""

CRASH_VALGRIND = {
    ("io_submit", "R"),
    ("io_submit", "H"),
    ("io_submit", "N2"),
    ("io_submit", "U2"),
    ("io_submit", "Z"),
    ("perf_event_open", "Z"),
    ("perf_event_open", "N0"),
    ("io_submit", "iNA"),
    ("io_submit", "iUN"),
    ("open_by_handle_at", "Z"),
    ("open_by_handle_at", "N1"),
    ("open_by_handle_at", "U1"),
    ("open_by_handle_at", "hNA"),
    ("open_by_handle_at", "hUN"),
}
"""Cases that Valgrind 3.19 dies of."""

HEAD = r"""
#define _GNU_SOURCE
#include <linux/types.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <valgrind/memcheck.h>
#define NI __attribute__((noinline))
#define SIZE 65536
#define UNDEF(p, n) (void)VALGRIND_MAKE_MEM_UNDEFINED(p, n)
#define NOACC(p, n) (void)VALGRIND_MAKE_MEM_NOACCESS(p, n)
static char *block[3];
static char *cleared(int which) {
    (void)VALGRIND_MAKE_MEM_DEFINED(block[which], SIZE);
    return memset(block[which], 0, SIZE);
}
static char *ok(void) { return cleared(0); }
static char *un(void) { UNDEF(cleared(1), SIZE); return block[1]; }
static char *na(void) { NOACC(cleared(2), SIZE); return block[2]; }
#define OK (ok())
#define UN (un())
#define NA (na())
static long U(long v) { volatile long x = v; UNDEF(&x, 8); return x; }
static long H(long v) { volatile long x = v; UNDEF((char *)&x + 4, 4); return x; }
#define INLINE static inline __attribute__((always_inline))
INLINE long call(long n, long a, long b, long c, long d, long e, long f) {
    long r;
    register long r10 asm("r10") = d;
    register long r8 asm("r8") = e;
    register long r9 asm("r9") = f;
    asm volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                 : "rcx", "r11", "memory");
    return r;
}
"""
TAIL = r"""
int main(int argc, char **argv) {
    int lo = atoi(argv[1]), hi = atoi(argv[2]);
    for (int i = 0; i < 3; i++) block[i] = calloc(1, SIZE);
    if (getuid() == 0) { setgid(65534); setuid(65534); }
    close(0);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        if (cases[i].nr >= lo && cases[i].nr < hi) cases[i].f();
    call(231, 0, 0, 0, 0, 0, 0);
}
"""


@dataclass(frozen=True)
class Row:
    """A call of syscalls.def."""

    number: int
    name: str
    arguments: tuple[tuple[str, str], ...]
    """Names and types."""


def table() -> list[Row]:
    text = re.sub(r"/\*.*?\*/", "", TABLE.read_text(), flags=re.S)
    text = re.sub(r'"\s*\n\s*"', "", text)
    found = []
    for number, name, words in re.findall(
        r'SYS(?:_AS)?\((\d+), (\w+), [^"]*(?:"\w+", \w+,\s*)?"([^"]*)"\)', text
    ):
        pairs = (word.partition(":") for word in words.split() if word != "->f")
        found.append(Row(int(number), name, tuple((label, kind) for label, _, kind in pairs)))
    return found


@dataclass(frozen=True)
class Case:
    number: int
    call: str
    tag: str
    arguments: tuple[str, ...]
    prelude: str = ""

    @property
    def function(self) -> str:
        return f"c_{self.number}_{self.call}_{self.tag}"

    def source(self) -> str:
        words = (*self.arguments, *["0"] * (6 - len(self.arguments)))
        values = ", ".join(f"(long)({word})" for word in words)
        body = f"{self.prelude} call({self.number}, {values});"
        if self.prelude or "m" in re.findall(r"\w+", values):
            body = f"char *m = ok(); {body}"
        return f"NI void {self.function}(void) {{ {body} }}"


def _harmless(row: Row, index: int, sizes: set[int]) -> str:
    name, kind = row.arguments[index]
    kind = kind.lstrip("?~")
    if (row.name, name) in HARMLESS:
        return HARMLESS[row.name, name]
    if kind[0] in "fF":
        return "1000" if kind[0] == "f" else "-100"
    if kind[0] not in "dq":
        return "OK"
    if name in PROCESSES:
        return "0x3ffffff0"
    if name in ("uid", "gid", "ruid", "euid", "suid", "rgid", "egid", "sgid"):
        return NOBODY
    if name == "sigsetsize":
        return "8"
    return "16" if index in sizes else "1"


def plain_cases(row: Row) -> Iterator[Case]:
    """The same for every call."""
    if row.name in NOT_MADE or not row.arguments:
        return
    sizes = {int(n) for _, kind in row.arguments for n in re.findall(r"[<>=!]\$(\d)", kind)}
    values = [_harmless(row, index, sizes) for index in range(len(row.arguments))]

    def case(tag: str, words: list[str]) -> Case:
        return Case(row.number, row.name, tag, tuple(words))

    yield case("R", [f"U({value})" for value in values])
    yield case("H", [f"H({value})" for value in values])
    pointers = [i for i, value in enumerate(values) if value == "OK" and row.name not in ADDRESSES_ALONE]
    for wrong in pointers:
        for tag, what in (("N", "NA"), ("U", "UN")):
            yield case(f"{tag}{wrong}", [what if i == wrong else value for i, value in enumerate(values)])
    if pointers and row.name not in ("select", "pselect6"):  # those would wait for ever
        yield case("Z", ["0" if i in pointers else value for i, value in enumerate(values)])


# ---- calls that do several things -------------------------------------------------------------------------

IOCTLS = """
1 2 301 304 30d 31f 1260 1261 1262 1263 1264 1268 1272 1277 1278 127a 2201 2202 2203 2272 2276 2282 2285
2400 2401 3b01 4b2f 4b30 4b31 4b32 4b33 4b3a 4b3b 4b40 4b41 4b44 4b45 4b46 4b47 4b60 4b61 4b66 4b67 4b68
4b69 4c00 4c01 4c02 4c03 4c04 4c05 4c80 4c81 4c82 5000 5301 5302 5303 5305 5306 5307 5309 530b 530e 5310
5319 531b 5326 5331 5382 5386 5387 5401 5402 5403 5404 5405 5406 5407 5408 5409 540a 540b 540c 540d 540e
540f 5410 5411 5412 5413 5414 5415 5416 5417 5418 541b 541c 541d 541e 541f 5420 5421 5422 5423 5424 5425
5427 5428 5429 5437 5441 5450 5451 5452 5453 545d 5460 5600 5601 5602 5603 5605 5606 5607 5608 6e01 7001
8901 8902 8903 8904 8905 8906 8907 890b 890c 8910 8911 8912 8913 8914 8915 8916 8917 8918 8919 891a 891b
891c 891d 891e 891f 8920 8921 8922 8924 8927 8933 8942 8943 8947 8948 8953 8954 8955 8960 8961 8962 8970
8971 8980 8982 89a0 89b0 89b1 89f0 8b01 ae00 ae01 ae03 b701 b702 b703 b704 80045430 40045431 40045436
80045438 400454c8 400454ca 400454cb 800454cf 800454d2 80081270 80081272 80086601 40086602 c020660b
c0045878 4020940d 40049409 40082404 80082407 40082406 80247009 4024700a 40084503 80044501 82004509
c0c0583b c0045002 c0045005 c0045006 81785501 c00c6400 40000001 80000001 c0100001 9999 c0047a01 80187a02
40187a03 187a04 ffffffff
"""

MESSAGE = (
    "struct msghdr *h = (void *)m; struct iovec *v = (void *)(m + 256); h->msg_name = m + 512; "
    "h->msg_namelen = 16; "
    "h->msg_iov = v; h->msg_iovlen = 2; v[0].iov_base = m + 1024; v[0].iov_len = 8; v[1] = v[0]; "
    "h->msg_control = m + 2048; h->msg_controllen = 32; *(short *)(m + 512) = AF_INET;"
)
SECOND_MESSAGE = MESSAGE.replace("struct msghdr *h = (void *)m;", "struct msghdr *h = (void *)(m + 64);")
VECTOR = "struct iovec *v = (void *)m; v[0].iov_base = m + 4096; v[0].iov_len = 8; v[1] = v[0]; "
NO_PROCESS = "0x3ffffff0"


def special_cases(numbers: dict[str, int]) -> Iterator[Case]:
    """What the notation of the table cannot say."""

    def case(call: str, tag: str, prelude: str, *arguments: str | int) -> Case:
        return Case(numbers[call], call, tag, tuple(map(str, arguments)), prelude)

    for bad in ("NA", "UN"):
        yield from _vectors(case, bad)
        yield from _messages(case, bad)
        yield from _commands(case, bad)
        yield from _structures(case, bad)
    for name in (
        "msg_name",
        "msg_namelen",
        "msg_iov",
        "msg_iovlen",
        "msg_control",
        "msg_controllen",
        "msg_flags",
    ):
        for call in ("sendmsg", "recvmsg"):
            yield case(call, f"U{name}", f"{MESSAGE} UNDEF(&h->{name}, sizeof h->{name});", 1000, "m", 0)
    yield from _addresses(case)
    yield from _fields(case)
    yield from _registers(case)
    yield from _no_descriptors(case)


def _vectors(case, bad: str) -> Iterator[Case]:
    one = f"{VECTOR} v[1].iov_base = {bad} + 64;"
    for call, more in (("readv", ()), ("writev", ()), ("preadv", (0, 0)), ("pwritev", (0, 0))):
        yield case(call, f"S{bad}", one, 1000, "m", 2, *more)
    for call in ("preadv2", "pwritev2"):
        yield case(call, f"S{bad}", one, 1000, "m", 2, 0, 0, 0)
    part = "UNDEF(&v[1].iov_base, 8);" if bad == "UN" else "UNDEF(&v[1].iov_len, 8);"
    yield case("writev", f"T{bad}", VECTOR + part, 1000, "m", 2)
    yield case("vmsplice", f"S{bad}", one, 1000, "m", 2, 0)
    for call in ("process_vm_readv", "process_vm_writev"):
        yield case(call, f"S{bad}", one, NO_PROCESS, "m", 2, "m + 4096", 1, 0)


def _messages(case, bad: str) -> Iterator[Case]:
    changes = {
        "name": f"h->msg_name = {bad};",
        "iov": f"h->msg_iov = (void *){bad};",
        "data": f"v[1].iov_base = {bad};",
        "control": f"h->msg_control = {bad};",
    }
    for tag, change in changes.items():
        for call in ("sendmsg", "recvmsg"):
            yield case(call, tag + bad, f"{MESSAGE} {change}", 1000, "m", 0)
        if tag != "iov":
            yield case("recvmmsg", tag + bad, f"{SECOND_MESSAGE} {change}", 1000, "m", 2, 0, 0)
            yield case("sendmmsg", tag + bad, f"{SECOND_MESSAGE} {change}", 1000, "m", 2, 0)
    padded = (
        f"{MESSAGE} long *k = (long *)(m + 2048); k[0] = 20; ((int *)k)[2] = ((int *)k)[3] = 1; "
        "h->msg_controllen = 24;"
    )
    mark = "UNDEF(m + 2068, 4);" if bad == "UN" else "NOACC(m + 2068, 4);"
    yield case("sendmsg", f"padding{bad}", f"{padded} {mark}", 1000, "m", 0)


def _commands(case, bad: str) -> Iterator[Case]:
    for command in (0, 1, 2, 3, 11, 12, 13, 14, 15):
        yield case("shmctl", f"c{command}{bad}", "", 77777777, command, bad)
    for command in (0, 1, 2, 3, 11, 12, 13):
        yield case("msgctl", f"c{command}{bad}", "", 77777777, command, bad)
    for command in (0, 1, 2, 3, *range(11, 21)):
        yield case("semctl", f"c{command}{bad}", "", 77777777, 0, command, bad)
    for command in (*range(17), 36, 37, 38, *range(1024, 1035)):
        yield case("fcntl", f"c{command}{bad}", "", 1000, command, bad)
    for option in (2, 5, 6, 9, 11, 15, 16, 19, 25, 37, 40):
        yield case("prctl", f"c{option}{bad}", "", option, bad, 0, 0, 0)
    yield case("prctl", f"c22{bad}", "", 22, 2, bad, 0, 0)
    for command in range(17):
        for place in range(3):
            words: list[str | int] = ["m", "m", "m", 16] if command == 10 else ["m", "m", 16, "m"]
            words[place] = bad
            yield case("keyctl", f"c{command}_{place}{bad}", "", command, *words)
    for op in range(14):
        rest = ("m + 128", "m + 64", 1)
        yield case("futex", f"o{op}a{bad}", "", bad, op | 128, 9, *rest)
        yield case("futex", f"o{op}d{bad}", "", "m", op | 128, 9, bad, "m + 64", 1)
        yield case("futex", f"o{op}e{bad}", "", "m", op | 128, 9, "m + 128", bad, 1)
    for request in (*range(1, 27), *range(0x4200, 0x420A)):
        yield case("ptrace", f"r{request:x}{bad}", "", request, NO_PROCESS, 16, bad)
    for op in range(1, 5):
        yield case("epoll_ctl", f"o{op}{bad}", "", 1000, op, 1001, bad)
    for command in range(20):
        yield case("bpf", f"c{command}{bad}", "", command, bad, 120)
    for word in IOCTLS.split():
        yield case("ioctl", f"x{word}{bad}", "", 1000, f"0x{word}", bad)


def _structures(case, bad: str) -> Iterator[Case]:
    mark = "NOACC" if bad == "NA" else "UNDEF"
    yield case("msgsnd", f"t{bad}", f"{mark}(m + 8, 16);", 77777777, "m", 16, 0)
    yield case("msgrcv", f"t{bad}", "NOACC(m + 8, 16);", 77777777, "m", 16, 0, 0)
    pair = f"long *s = (long *)m; s[0] = (long){bad}; s[1] = 8;"
    yield case("pselect6", f"mask{bad}", pair, 1, 0, 0, 0, "m + 4096", "m")
    yield case("pselect6", f"time{bad}", "", 1, 0, 0, 0, bad, 0)
    for n in (8, 9, 64, 100, 1024):
        yield case("select", f"n{n}{bad}", "", n, 0, bad, 0, "m + 4096")
    for version in ("0x19980330", "0x20071026", "0x20080522"):
        head = f"*(int *)m = {version}; ((int *)m)[1] = {NO_PROCESS};"
        yield case("capget", f"v{version}{bad}", head, "m", bad)
        yield case("capset", f"v{version}{bad}", head, "m", bad)
    for kind in range(2, 4):
        yield case("syslog", f"t{kind}{bad}", "", kind, bad, 16)
    path = 'strcpy(m, "/nonexistent/x");'
    argv = f"{path} char **a = (void *)(m + 256), **e = (void *)(m + 512); a[0] = m;"
    yield case("utimensat", f"t{bad}", path, -100, "m", bad, 0)
    yield case("execve", f"a{bad}", f"{argv} a[1] = {bad};", "m", "m + 256", 0)
    yield case("execve", f"first{bad}", f"{argv} a[0] = {bad};", "m", "m + 256", 0)
    yield case("execve", f"e{bad}", f"{argv} e[0] = m; e[1] = {bad};", "m", "m + 256", "m + 512")
    handle = f"{path} *(int *)(m + 256) = 64; {mark}(m + 264, 8);"
    yield case("name_to_handle_at", f"h{bad}", handle, -100, "m", "m + 256", "m + 512", 0)
    yield case("open_by_handle_at", f"h{bad}", handle, 1000, "m + 256", 0)
    yield case("set_mempolicy", f"n{bad}", "", 99, bad, 64)
    yield case("get_mempolicy", f"n{bad}", "", 0, bad, 64, 0, 0)
    for code in (0x1003, 0x1004):
        yield case("arch_prctl", f"c{code:x}{bad}", "", code, bad)
    yield case("mq_open", f"create{bad}", 'strcpy(m, "/x");', "m", "0100|0x80000000", "0600", bad)
    yield case("mq_open", f"open{bad}", 'strcpy(m, "/x");', "m", 0, "0600", bad)
    yield case("io_submit", f"i{bad}", f"*(long *)m = (long){bad};", 0, 1, "m")
    for call, more in (("accept", ()), ("getsockname", ()), ("getpeername", ()), ("accept4", (0,))):
        yield case(call, f"a{bad}", "*(int *)m = 16;", 1000, bad, "m", *more)
    yield case("recvfrom", f"a{bad}", "*(int *)m = 16;", 1000, "m + 64", 8, 0, bad, "m")
    yield case("getsockopt", f"a{bad}", "*(int *)m = 16;", 1000, 1, 2, bad, "m")


FAMILIES = {
    "AF_INET": (16, ((2, 2), (4, 4), (8, 8))),
    "AF_INET6": (28, ((2, 2), (4, 4), (8, 16), (24, 4))),
    "AF_UNIX": (110, ((2, 4), (6, 4), (40, 4))),
    "AF_NETLINK": (12, ((4, 4), (8, 4))),
    "AF_BLUETOOTH": (10, ((2, 2), (8, 1))),
    "AF_UNSPEC": (16, ((4, 4),)),
    "99": (16, ((4, 4),)),
}


def _addresses(case) -> Iterator[Case]:
    for family, (size, members) in FAMILIES.items():
        path = 'strcpy(m + 2, "/tmp/none");' if family == "AF_UNIX" else ""
        head = f"*(short *)m = {family}; {path}"
        for at, length in members:
            change = f"{head} UNDEF(m + {at}, {length});"
            yield case("connect", f"{family}_{at}", change, 1000, "m", size)
            yield case("bind", f"{family}_{at}", change, 1000, "m", size)
            yield case("sendto", f"{family}_{at}", change, 1000, "m + 4096", 8, 0, "m", size)
        yield case("connect", f"{family}_N", f"{head} NOACC(m + 4, 100);", 1000, "m", size)


def _fields(case) -> Iterator[Case]:
    """Structures with one member undefined."""
    polls = "struct pollfd *p = (void *)m; p[0].fd = p[1].fd = -1;"
    for at, size in ((0, 4), (4, 2), (6, 2)):
        yield case("poll", f"f{at}", f"{polls} UNDEF(m + 8 + {at}, {size});", "m", 2, 0)
        yield case("ppoll", f"f{at}", f"{polls} UNDEF(m + 8 + {at}, {size});", "m", 2, "m + 64", 0, 8)
    for at in (0, 8, 16, 24):
        yield case("rt_sigaction", f"f{at}", f"UNDEF(m + {at}, 8);", 10, "m", 0, 8)
    for at, size in ((0, 8), (8, 4), (12, 4), (16, 8)):
        yield case("sigaltstack", f"f{at}", f"*(int *)(m + 8) = 2; UNDEF(m + {at}, {size});", "m", 0)
    for at, size in ((0, 8), (8, 4), (12, 4), (16, 4), (24, 8)):
        for notify in (0, 1, 4):
            event = f"*(int *)(m + 12) = {notify}; UNDEF(m + {at}, {size});"
            yield case("timer_create", f"f{at}_{notify}", event, 99, "m", "m + 4096")
    for at in (4, 8):
        yield case("epoll_ctl", f"f{at}", f"UNDEF(m + {at}, 4);", 1000, 1, 1001, "m")
    for size in (16, 48, 56):
        head = f"*(int *)m = {size}; UNDEF(m + 4, 200);"
        yield case("sched_setattr", f"s{size}", head, NO_PROCESS, "m", 0)
        head = f"((int *)m)[1] = {size}; UNDEF(m + 8, 200);"
        yield case("perf_event_open", f"s{size}", head, "m", NO_PROCESS, -1, -1, 0)
    yield case("select", "part", "UNDEF(m + 2, 6);", 16, "m", 0, 0, "m + 4096")


def _registers(case) -> Iterator[Case]:
    for option in range(73):
        if option not in (1, 4, 15, 22, 59):
            yield case("prctl", f"c{option}R", "", option, *["U(-1)"] * 4)
    yield case("prctl", "c1R", "", 1, *["U(0)"] * 4)
    yield case("prctl", "c4R", "", 4, "U(1)", 0, 0, 0)
    yield case("prctl", "c15R", "", 15, "U(m)", 0, 0, 0)
    for command in range(18):
        yield case("keyctl", f"c{command}R", "", command, *["U(-1)"] * 4)
    for command in (0, 1, 2, 3, *range(11, 20)):
        yield case("semctl", f"c{command}R", "", "U(77777777)", "U(0)", f"U({command})", "U(0)")
    for command in (*range(12), 15, 16, 36, 1024, 1025, 1026, 1031, 1032):
        yield case("fcntl", f"c{command}R", "", "U(1000)", f"U({command})", "U(m)")
    for op in range(14):
        yield case("futex", f"o{op}R", "*(int *)m = 5;", "m", op | 128, "U(1)", "U(0)", "U(m + 64)", "U(0)")
    for word in IOCTLS.split():
        yield case("ioctl", f"x{word}R", "", 1000, f"0x{word}", "U(m)")
    path = 'strcpy(m, "/nonexistent/x");'
    yield case("open", "r", path, "m", "U(0)", "U(0)")
    yield case("open", "create", path, "m", "U(0101)", "U(0)")
    yield case("openat", "r", path, -100, "m", "U(0)", "U(0)")
    yield case("openat", "create", path, -100, "m", "U(0101)", "U(0)")
    yield case("mremap", "r", "", 0, 0, 0, "U(0)", "U(0)")
    yield case("mremap", "fixed", "", 0, 0, 0, "U(2)", "U(0)")


def _no_descriptors(case) -> Iterator[Case]:
    """Where the number can be no descriptor, some calls are not looked at further."""
    one = "struct iovec *v = (void *)m; v->iov_base = UN; v->iov_len = 4;"
    for number in ("-1", "100000000"):
        tag = "minus" if number == "-1" else "big"
        for call in ("read", "write", "pread64", "pwrite64"):
            bad = "NA" if "read" in call else "UN"
            yield case(call, tag, "", number, bad, 1, 0)
        for call in ("writev", "pwritev", "pwritev2"):
            yield case(call, tag, one, number, "m", 1, 0, 0, 0)
        yield case("sendto", tag, "", number, "UN", 1, 0, 0, 0)
        yield case("fstat", tag, "", number, "NA")
        yield case("ioctl", tag, "", number, "0x5401", "NA")
        yield case("getdents64", tag, "", number, "NA", 16)
        yield case("timerfd_settime", tag, "", number, 0, "NA", "NA")
        yield case("timerfd_gettime", tag, "", number, "NA")


def all_cases() -> list[Case]:
    rows = table()
    numbers = {row.name: row.number for row in rows}
    found = [case for row in rows for case in plain_cases(row)]
    found += special_cases(numbers)
    return [case for case in found if (case.call, case.tag) not in CRASH_VALGRIND]


def program(cases: list[Case]) -> str:
    """The C text; its arguments are the first number and the one behind the last."""
    listed = "\n".join(f"{{{case.number}, {case.function}}}," for case in cases)
    functions = "\n".join(case.source() for case in cases)
    array = "static const struct { int nr; void (*f)(void); } cases[]"
    return f"{HEAD}{functions}\n{array} = {{\n{listed}\n}};{TAIL}"
