"""syscalls.def against the kernel's header and its own notation."""

from __future__ import annotations

import re
from pathlib import Path

RUNTIME = Path(__file__).resolve().parents[3] / "interpose" / "runtime"
SIZE = r"(?:\d+|\$[0-5](?:\*\d+)?|\*\$[0-5]|\^(?:\*\d+)?)"
TYPE = re.compile(rf"[?~]*(?:d|f|F|q|s|X|M[<>]|A>|(?:[<>=]|V[<>]|A<){SIZE}(?:!{SIZE})?)(?:@\S+)?")


def rows() -> list[tuple[int, str, str, list[str]]]:
    text = re.sub(r"/\*.*?\*/", "", (RUNTIME / "syscalls/syscalls.def").read_text(), flags=re.S)
    text = re.sub(r'"\s*\n\s*"', "", text)
    found = re.findall(r'SYS(?:_AS)?\((\d+), (\w+), (?:"(\w+)", )?(\w+),\s*"([^"]*)"\)', text)
    assert len(found) == len(re.findall(r"^SYS", text, flags=re.M))
    return [(int(nr), name, handler, args.split()) for nr, name, _, handler, args in found]


def test_numbers_and_names_are_the_kernels() -> None:
    header = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h").read_text()
    kernel = {int(nr): name for name, nr in re.findall(r"#define __NR_(\w+) (\d+)", header)}
    kernel |= {470: "listns", 471: "rseq_slice_yield"}  # the newest, where the header may be older
    table = {nr: name for nr, name, _, _ in rows()}
    assert list(table) == sorted(table) and len(table) == len(rows())
    assert {nr: table.get(nr) for nr in kernel} == kernel


def test_every_argument_follows_the_notation() -> None:
    for nr, name, _, args in rows():
        if args[-1:] == ["->f"]:
            args = args[:-1]
        assert len(args) <= 6, name
        for arg in args:
            label, _, kind = arg.partition(":")
            assert label and len(label) < 24 and TYPE.fullmatch(kind), (nr, name, arg)
            for index in re.findall(r"\$(\d)", kind):
                assert int(index) < len(args), (nr, name, arg)


def test_every_handler_is_declared() -> None:
    declared = "".join(path.read_text() for path in RUNTIME.rglob("*.h"))
    for _, name, handler, _ in rows():
        assert handler in ("PASS", "NOSYS") or re.search(rf"\b{handler}\(struct tstate", declared), name


def _numbers(header: str) -> dict[int, str]:
    text = (Path("/usr/include/x86_64-linux-gnu/asm") / header).read_text()
    return {int(n): name for name, n in re.findall(r"#define __NR_(\w+)\s+(\d+)", text)}


def test_i386_calls_are_those_of_the_same_name() -> None:
    """Each number of syscalls32.def means in the i386 table what it is mapped to in the x86-64 table."""
    text = re.sub(r"/\*.*?\*/", "", (RUNTIME / "syscalls/syscalls32.def").read_text(), flags=re.S)
    rows = re.findall(r'(SAME|REAL)\((\d+), (\d+), "([^"]*)"\)', text)
    assert len(rows) == text.count("(") and len({nr for _, nr, _, _ in rows}) == len(rows)
    narrow, wide = _numbers("unistd_32.h"), _numbers("unistd_64.h")
    other_names = {
        "waitpid": "wait4",
        "mmap2": "mmap",
        "umount": "umount2",
        "_llseek": "lseek",
        "oldfstat": "fstat",
        "fstatat": "newfstatat",
        "ugetrlimit": "getrlimit",
    }

    def plain(name: str) -> str:
        name = re.sub(r"(_time64|_64|(?<!pread)(?<!pwrite)64|(?<!_)32)$", "", name)
        return other_names.get(name, name)

    wrong = []
    for kind, nr, as_nr, _ in rows:
        a, b = narrow[int(nr)], wide[int(as_nr)]
        if (kind == "SAME" or int(as_nr)) and b not in (plain(a), a) and plain(a) != plain(b):
            wrong.append((nr, a, b))
    assert not wrong
