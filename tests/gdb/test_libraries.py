"""The dynamic linker's lists, which are the program's memory and may be anything."""

from __future__ import annotations

import random
import struct
import xml.dom.minidom

import pytest

from interpose.gdb.libraries import Own, document

HEADERS, DYNAMIC, DEBUG, OTHER, MAPS, NAMES = 0x1040, 0x2000, 0x3000, 0x3100, 0x4000, 0x6000
AUXV = struct.pack("<8Q", 3, HEADERS, 4, 56, 5, 2, 0, 0)


class Memory:
    """Memory from 0x1000 on, in a client's place."""

    def __init__(self) -> None:
        self.data = bytearray(0x8000)

    def put(self, at: int, form: str, *values: int) -> None:
        struct.pack_into(form, self.data, at - 0x1000, *values)

    def read(self, at: int, size: int) -> bytes | None:
        at -= 0x1000
        return bytes(self.data[at : at + size]) if 0 <= at <= len(self.data) - size else None

    def read_string(self, at: int, limit: int) -> bytes | None:
        rest = self.read(at, max(0x9000 - at, 0)) if at >= 0x1000 else None
        return None if rest is None else rest.split(b"\0")[0][:limit]


def memory() -> Memory:
    """A program without a name, two libraries, and another namespace with one."""
    m = Memory()
    m.put(HEADERS, "<IIQQQQQQ", 6, 4, 64, 0x40, 0, 112, 112, 8)
    m.put(HEADERS + 56, "<IIQQQQQQ", 2, 4, 0, 0x1000, 0, 48, 48, 8)  # the base is 0x1000
    m.put(DYNAMIC, "<6Q", 5, 1, 21, DEBUG, 0, 0)
    m.put(DEBUG, "<i4xQQi4xQQ", 2, MAPS, 0, 0, 0, OTHER)
    m.put(OTHER, "<i4xQQi4xQQ", 2, MAPS + 0x300, 0, 0, 0, 0)
    for at, name, following, before in (
        (0, NAMES + 32, 0x100, 0),
        (0x100, NAMES, 0x200, 0),
        (0x200, NAMES + 8, 0, 0x100),
        (0x300, NAMES + 16, 0, 0),
    ):
        back = MAPS + before if at in (0x100, 0x200) else 0
        m.put(MAPS + at, "<5Q", at, name, at + 1, MAPS + following if following else 0, back)
    m.data[NAMES - 0x1000 : NAMES - 0x1000 + 20] = b"/a&<\"'\0\0/b\xff\x01\n\0\0\0/c\0\0"
    return m


def names(m: Memory, annex: bytes = b"", auxv: bytes = AUXV) -> list[str]:
    root = xml.dom.minidom.parseString(document(m, auxv, annex)).documentElement
    return [node.getAttribute("name") for node in root.getElementsByTagName("library")]


def test_namespaces() -> None:
    m = memory()
    assert names(m) == ["/a&<\"'", "/b\ufffd??", "/c"]
    assert b'main-lm="0x4000"' in document(m, AUXV, b"")
    assert b'lmid="0x3100"' in document(m, AUXV, b"")


def test_parts() -> None:
    m = memory()
    assert names(m, b"start=4200;prev=4100") == ["/b\ufffd??"]
    assert b'lmid="0x3000"' in document(m, AUXV, b"lmid=3000;start=4200;prev=4100")
    assert names(m, b"start=4200;prev=4000") == []
    assert names(m, b"start=ffffffffffffffff") == []
    with pytest.raises(ValueError):
        document(m, AUXV, b"start=/")


def test_nothing_there() -> None:
    m = memory()
    m.put(DYNAMIC + 24, "<Q", 0)  # the dynamic linker has not run
    assert document(m, AUXV, b"") == b'<library-list-svr4 version="1.0"></library-list-svr4>'
    assert names(m, auxv=b"") == []
    assert names(m, auxv=AUXV[:-5]) == []
    assert names(Memory()) == []


def test_image_of_ours() -> None:
    """It stands before the program's libraries, and is there only when they are, or never can be."""
    m = memory()
    m.put(0x7000 + 32, "<Q", 0x80)
    m.put(0x7000 + 54, "<HH", 56, 1)
    m.put(0x7080, "<IIQQQQQQ", 2, 4, 0, 0x300, 0, 48, 48, 8)
    own = Own("/ours", 0x7000)
    line = b'<library name="/ours" lm="0x7000" l_addr="0x7000" l_ld="0x7300" lmid="%s"/>'
    text = document(m, AUXV, b"", own)
    assert line % b"0x3000" in text and text.index(b"/ours") < text.index(b"/a&")
    assert b"/ours" not in document(m, AUXV, b"start=4200;prev=4100", own)
    assert line % b"0x0" in document(m, b"", b"", own)  # a static program
    m.put(DYNAMIC + 24, "<Q", 0)
    assert b"/ours" not in document(m, AUXV, b"", own)
    assert b'l_ld="0x0"' in document(Memory(), b"", b"", own)


def test_vdso() -> None:
    """gdb has it from the auxiliary vector and would not find its file."""
    m = memory()
    m.put(0x7000 + 32, "<Q", 0x80)
    m.put(0x7000 + 54, "<HH", 56, 1)
    m.put(0x7080, "<IIQQQQQQ", 2, 4, 0, 0x300, 0, 48, 48, 8)
    m.put(MAPS + 0x100 + 16, "<Q", 0x7300)
    auxv = struct.pack("<2Q", 33, 0x7000) + AUXV
    assert names(m) == ["/a&<\"'", "/b\ufffd??", "/c"]
    assert names(m, auxv=auxv) == ["/b\ufffd??", "/c"]
    assert names(m, b"start=4100;prev=4000", auxv) == ["/b\ufffd??"]
    wrong = struct.pack("<2Q", 33, 0x7010) + AUXV
    assert names(m, auxv=wrong) == names(m)


def test_lists_without_an_end() -> None:
    m = memory()
    m.put(MAPS + 0x200 + 24, "<Q", MAPS + 0x100)
    m.put(OTHER + 40, "<Q", DEBUG)
    assert set(names(m)) == {"/a&<\"'", "/b\ufffd??", "/c"}


def test_noise() -> None:
    choice = random.Random(7)
    for _ in range(300):
        m = memory()
        for _ in range(choice.randrange(1, 40)):
            at = choice.choice((HEADERS, DYNAMIC, DEBUG, OTHER, MAPS, NAMES)) + choice.randrange(0x300)
            m.data[at - 0x1000] = choice.randrange(256)
        names(m)
