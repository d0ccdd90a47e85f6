"""The text of frames (Valgrind 3.27 interface, output.md section 5)."""

from __future__ import annotations

from interpose.elf.render import FrameStyle, cut_below_main, describe_frame, function_name
from interpose.elf.symbolizer import Frame

MAIN = Frame(0x1090DF, "main", "main", "/tmp/a", "a.c", "/tmp/src", 22, 31)
FAR = Frame(0x109353, "_ZN2ns3BoxIiE3farEi", "ns::Box<int>::far(int)", "/tmp/a", "a.cc", "./x/../y", 13, 3)
INLINED = Frame(0x109353, "leaf", "leaf", "/tmp/a", "a.c", "/tmp/src", 7, None, True)
START = Frame(0x109180, "_start", "_start", "/tmp/a", None, None, None, 32)
CALL_MAIN = Frame(
    0x4882249,
    "__libc_start_call_main",
    "__libc_start_call_main",
    "/lib/libc.so.6",
    "libc_start_call_main.h",
    "./csu/../sysdeps/nptl",
    58,
    121,
)
VERSIONED = Frame(
    0x4882304,
    "__libc_start_main@@GLIBC_2.34",
    "__libc_start_main@@GLIBC_2.34",
    "/lib/libc.so.6",
    "libc-start.c",
    "./csu/../csu",
    347,
    245,
)


def test_forms() -> None:
    assert describe_frame(MAIN) == "main (a.c:22)"
    assert describe_frame(FAR) == "ns::Box<int>::far(int) (a.cc:13)"
    assert describe_frame(FAR, FrameStyle(demangle=False)) == "_ZN2ns3BoxIiE3farEi (a.cc:13)"
    assert describe_frame(START, FrameStyle(show_below_main=True)) == "_start (in /tmp/a)"
    assert describe_frame(START) == "(below main) (in /tmp/a)"
    assert describe_frame(CALL_MAIN) == "(below main) (libc_start_call_main.h:58)"
    assert describe_frame(VERSIONED) == "__libc_start_main@@GLIBC_2.34 (libc-start.c:347)"
    assert describe_frame(Frame(1, obj="/tmp/a")) == "??? (in /tmp/a)"
    assert describe_frame(Frame(1, None, None, "/tmp/a", "x.s", "/", 4)) == "??? (x.s:4)"
    assert describe_frame(Frame(1, "f", "f")) == "f (in ???)"
    assert describe_frame(Frame(1)) == "???"
    assert function_name(START) == "(below main)"


def test_offsets() -> None:
    style = FrameStyle(sym_offsets=True, show_below_main=True)
    assert describe_frame(MAIN, style) == "main+31 (a.c:22)"
    assert describe_frame(INLINED, style) == "leaf (a.c:7)"
    assert describe_frame(Frame(1, "f", "f", "/a", sym_offset=0), style) == "f (in /a)"


def test_fullpath_after() -> None:
    def shown(frame: Frame, *after: str) -> str:
        return describe_frame(frame, FrameStyle(fullpath_after=after)).split("(")[-1].split(":")[0]

    assert shown(MAIN, "") == "/tmp/src/a.c"
    assert shown(MAIN, "nomatch") == "/tmp/src/a.c"
    assert shown(MAIN, "/tmp") == "/src/a.c"
    assert shown(MAIN, "nomatch", "/tmp/") == "src/a.c"
    assert shown(MAIN, "sr") == "c/a.c"
    assert shown(MAIN, "/tmp/src") == "a.c"
    assert shown(MAIN, "/tmp/src/") == "/tmp/src/a.c"
    assert shown(FAR, "") == "x/../y/a.cc"
    assert shown(FAR, "x/") == "../y/a.cc"


def test_cut_below_main() -> None:
    bad = Frame(0x100, "bad", "bad", "/tmp/a", "a.c", "/", 1, 0)
    unknown = Frame(0x1FFF000747)
    stack = [[bad], [INLINED, MAIN], [MAIN], [CALL_MAIN], [VERSIONED], [START], [unknown]]
    assert cut_below_main(stack) == stack[:3]
    assert cut_below_main(stack, FrameStyle(show_below_main=True)) == stack
    constructor = [[bad], [VERSIONED], [START], [unknown]]
    assert cut_below_main(constructor) == constructor[:3]
    handler = [[bad], [CALL_MAIN], [VERSIONED], [START]]
    assert cut_below_main(handler) == handler[:2]
    assert cut_below_main([[bad], [unknown]]) == [[bad], [unknown]]
    assert cut_below_main([]) == []
