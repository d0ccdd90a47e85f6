"""syscalls.def against the kernel's header and its own notation."""

from __future__ import annotations

import re
from pathlib import Path

RUNTIME = Path(__file__).resolve().parents[2] / "interpose" / "runtime"
SIZE = r"(?:\d+|\$[0-5](?:\*\d+)?|\*\$[0-5]|\^(?:\*\d+)?)"
TYPE = re.compile(rf"[?~]*(?:d|q|s|X|M[<>]|A>|(?:[<>=]|V[<>]|A<){SIZE}(?:!{SIZE})?)(?:@\S+)?")


def rows() -> list[tuple[int, str, str, list[str]]]:
    text = re.sub(r"/\*.*?\*/", "", (RUNTIME / "syscalls.def").read_text(), flags=re.S)
    text = re.sub(r'"\s*\n\s*"', "", text)
    found = re.findall(r'SYS(?:_AS)?\((\d+), (\w+), (?:"(\w+)", )?(\w+),\s*"([^"]*)"\)', text)
    assert len(found) == len(re.findall(r"^SYS", text, flags=re.M))
    return [(int(nr), name, handler, args.split()) for nr, name, _, handler, args in found]


def test_numbers_and_names_are_the_kernels() -> None:
    header = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h").read_text()
    kernel = {int(nr): name for name, nr in re.findall(r"#define __NR_(\w+) (\d+)", header)}
    table = {nr: name for nr, name, _, _ in rows()}
    assert list(table) == sorted(table) and len(table) == len(rows())
    assert {nr: table.get(nr) for nr in kernel} == kernel


def test_every_argument_follows_the_notation() -> None:
    for nr, name, _, args in rows():
        assert len(args) <= 6, name
        for arg in args:
            label, _, kind = arg.partition(":")
            assert label and len(label) < 24 and TYPE.fullmatch(kind), (nr, name, arg)
            for index in re.findall(r"\$(\d)", kind):
                assert int(index) < len(args), (nr, name, arg)


def test_every_handler_is_declared() -> None:
    declared = (RUNTIME / "rt.h").read_text() + (RUNTIME / "syscall.h").read_text()
    for _, name, handler, _ in rows():
        assert handler in ("PASS", "NOSYS") or re.search(rf"\b{handler}\(struct tstate", declared), name
