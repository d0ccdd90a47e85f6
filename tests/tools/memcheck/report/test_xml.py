"""XML output: whole text of parts, order of the whole, and well-formedness."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from report.reporting import Log, Symbols
from tools.memcheck.report.space import Space
from tools.memcheck.report.test_leak import Memory
from tools.memcheck.report.test_summary import FULL, block, example

from interpose.records import replace
from interpose.report.errors import AuxPart, Error, ErrorKind, ErrorManager, ErrorOptions
from interpose.report.stack import StackResolver
from interpose.report.suppressions import CORE_ERRORS, Suppressions
from interpose.report.xml import Preamble, XmlSink
from interpose.tools.memcheck.errors import ErrKind, ErrorRecord, build_error, suppression_component
from interpose.tools.memcheck.heap import HeapBlock, HeapStats
from interpose.tools.memcheck.loss import LeakReporter
from interpose.tools.memcheck.summary import EndOptions, HeapEnd, finish_xml

PREAMBLE = Preamble(
    tool="memcheck",
    banner=["Memcheck, a memory error detector", "Command: ./b <x"],
    pid=12,
    ppid=11,
    launcher=["/usr/bin/interpose", "--xml=yes"],
    program=["./b", "<x"],
    qualifiers=[("MYV", "1&2")],
    user_comment="<x>hi</x>",
)


class Bench:
    def __init__(self, protocol: int = 6, **options) -> None:
        self.lines: list[str] = []
        self.log = Log()
        self.symbols = Symbols()
        self.symbols.add(1, "_Z1fv", "a.c", 7, obj="/bin/a", dir="/src", demangled="f(A<int>&)")
        self.symbols.add(2, "main", obj="/bin/a")
        gen = options.get("gen_suppressions") == "all"
        self.resolver = StackResolver(self.symbols)
        self.xml = XmlSink(self._write, self.resolver, with_suppressions=gen, protocol=protocol)
        self.suppressions = Suppressions([suppression_component(), CORE_ERRORS])
        manager_options = ErrorOptions(error_limit=False, **{"show_error_list": "yes", **options})
        self.errors = ErrorManager(manager_options, self.resolver, self.suppressions, self.xml, self.log)
        self.leaks = LeakReporter(self.log, self.errors)

    def _write(self, text: str) -> None:
        assert text.endswith("\n")
        self.lines += text[:-1].split("\n")


def test_the_beginning():
    b = Bench()
    b.xml.begin(PREAMBLE, "00:00:00:00.019")
    assert (
        b.lines
        == """<?xml version="1.0"?>

<valgrindoutput>

<protocolversion>6</protocolversion>
<protocoltool>memcheck</protocoltool>

<preamble>
  <line>Memcheck, a memory error detector</line>
  <line>Command: ./b &lt;x</line>
</preamble>

<pid>12</pid>
<ppid>11</ppid>
<tool>memcheck</tool>
<logfilequalifier> <var>MYV</var> <value>1&amp;2</value> </logfilequalifier>
<usercomment><x>hi</x></usercomment>

<args>
  <vargv>
    <exe>/usr/bin/interpose</exe>
    <arg>--xml=yes</arg>
  </vargv>
  <argv>
    <exe>./b</exe>
    <arg>&lt;x</arg>
  </argv>
</args>

<status>
  <state>RUNNING</state>
  <time>00:00:00:00.019 </time>
</status>
""".split("\n")
    )


def test_an_error():
    b = Bench()
    space = Space(live=[HeapBlock(0x1000, 16, alloc_stack=(2,))])
    record = ErrorRecord(ErrKind.READ, 4, addr=0x1012, frames=(1, 3))
    b.errors.report(*build_error(record, b.resolver, space, 2, "wor<ker"))
    assert (
        b.lines
        == """<error>
  <unique>0x0</unique>
  <tid>2</tid>
  <threadname>wor&lt;ker</threadname>
  <kind>InvalidRead</kind>
  <what>Invalid read of size 4</what>
  <stack>
    <frame>
      <ip>0x1</ip>
      <obj>/bin/a</obj>
      <fn>f(A&lt;int&gt;&amp;)</fn>
      <dir>/src</dir>
      <file>a.c</file>
      <line>7</line>
    </frame>
    <frame>
      <ip>0x2</ip>
      <obj>/bin/a</obj>
      <fn>main</fn>
    </frame>
  </stack>
  <auxwhat>Address 0x1012 is 2 bytes after a block of size 16 alloc'd</auxwhat>
  <stack>
    <frame>
      <ip>0x2</ip>
      <obj>/bin/a</obj>
      <fn>main</fn>
    </frame>
  </stack>
</error>
""".split("\n")
    )


SUPPRESSION = """  <suppression>
    <sname>insert_a_suppression_name_here</sname>
    <skind>Memcheck:Param</skind>
    <skaux>write(buf)</skaux>
    <sframe> <fun>_Z1fv</fun> </sframe>
    <rawtext>
<![CDATA[
{
   <insert_a_suppression_name_here>
   Memcheck:Param
   write(buf)
   fun:_Z1fv
}
]]>
    </rawtext>
  </suppression>
"""


def test_generated_suppressions_come_twice():
    b = Bench(gen_suppressions="all")
    record = ErrorRecord(ErrKind.PARAM_REG, text="write(buf)", frames=(1,))
    b.errors.report(*build_error(record, b.resolver, Space(), 1))
    text = "".join(f"{line}\n" for line in b.lines)
    assert text.count(SUPPRESSION) == 2
    assert text.endswith(f"  </stack>\n{SUPPRESSION}</error>\n\n{SUPPRESSION}")
    ElementTree.fromstring(f"<all>{text}</all>")


def test_names_cannot_end_a_section_early():
    b = Bench(gen_suppressions="all")
    b.symbols.add(9, "operator[]]>")
    record = ErrorRecord(ErrKind.COND, frames=(9,))
    b.errors.report(*build_error(record, b.resolver, Space(), 1))
    root = ElementTree.fromstring("<all>" + "\n".join(b.lines) + "</all>")
    assert "fun:operator[]]>\n" in (root.findtext("error/suppression/rawtext") or "")


def test_descriptors_and_variables():
    b = Bench()
    error = Error(ErrorKind("FdBadClose", "FdBadClose", "CoreError"), 1, ("closed",), (2,), fd=3, path="/a&b")
    b.errors.report(error, lambda: [AuxPart("declared at a.c:3", file="a.c", line=3, dir="/src")])
    root = ElementTree.fromstring("\n".join(b.lines))
    assert [child.tag for child in root] == [
        "unique", "tid", "kind", "fd", "path", "what", "stack", "xauxwhat",
    ]  # fmt: skip
    assert [(child.tag, child.text) for child in root.find("xauxwhat") or ()] == [
        ("text", "declared at a.c:3"), ("file", "a.c"), ("line", "3"), ("dir", "/src"),
    ]  # fmt: skip


def test_events():
    b = Bench()
    b.xml.client_message(1, None, "hello <3>\n", (2,))
    b.xml.fatal_signal(1, None, 11, "SIGSEGV", 1, "Access not within mapped region", 0, (2,))
    stack = """  <stack>
    <frame>
      <ip>0x2</ip>
      <obj>/bin/a</obj>
      <fn>main</fn>
    </frame>
  </stack>
"""
    assert "\n".join(b.lines) == (
        "<clientmsg>\n  <tid>1</tid>\n  <text>hello &lt;3&gt;\n  </text>\n" + stack + "</clientmsg>\n"
        "<fatal_signal>\n  <tid>1</tid>\n  <signo>11</signo>\n  <signame>SIGSEGV</signame>\n"
        "  <sicode>1</sicode>\n  <event>Access not within mapped region</event>\n  <siaddr>0x0</siaddr>\n"
        + stack
        + "</fatal_signal>\n"
    )


def whole(b: Bench, heap: list[HeapBlock], memory) -> ElementTree.Element:
    b.xml.begin(replace(PREAMBLE, user_comment=None), "00:00:00:00.019")
    for number in (1, 1, 2):
        b.errors.report(*build_error(ErrorRecord(ErrKind.COND, frames=(number,)), b.resolver, Space(), 1))
    stats = HeapStats(19, 8, 1153, sum(each.size for each in heap), len(heap))
    options = EndOptions(verbosity=b.errors.options.verbosity)
    finish_xml(
        b.xml,
        b.log,
        b.errors,
        b.leaks,
        HeapEnd(stats, lambda: heap, memory, FULL),
        options,
        "00:00:00:00.300",
    )
    assert b.log.lines == []
    return ElementTree.fromstring("\n".join(b.lines))


START = [
    "protocolversion", "protocoltool", "preamble", "pid", "ppid", "tool", "logfilequalifier", "args",
    "status", "error", "error", "status",
]  # fmt: skip


def test_the_whole_in_order():
    b = Bench()
    root = whole(b, *example())
    assert [child.tag for child in root] == [
        *START, "heap_summary", "all_heap_blocks_freed", "error", "error", "error", "error", "leak_summary",
        "errorcounts", "suppcounts", "error_summary",
    ]  # fmt: skip
    leak = root.findall("error")[3]
    assert leak.findtext("kind") == "Leak_DefinitelyLost"
    assert leak.findtext("xwhat/text") == (
        "64 (32 direct, 32 indirect) bytes in 1 blocks are definitely lost in loss record 5 of 9"
    )
    assert (leak.findtext("xwhat/leakedbytes"), leak.findtext("xwhat/leakedblocks")) == ("64", "1")
    assert [pair.findtext("count") for pair in root.findall("errorcounts/pair")] == ["1", "2"]
    assert root.findtext("error_summary/errors") == "7"
    assert root.findtext("error_summary/error_contexts") == "6"
    assert root.findtext("leak_summary/definitely_lost/bytes") == "86"
    assert root.findtext("all_heap_blocks_freed") == "false"
    assert root.findtext("heap_summary/total_heap_usage/bytes_allocated") == "1153"


def test_quiet():
    heap, memory = example()
    root = whole(Bench(verbosity=0, show_error_list="no"), heap, memory)
    assert [child.tag for child in root] == [*START, *["error"] * 4, "errorcounts"]


def test_old_protocols_have_no_summaries():
    root = whole(Bench(protocol=4), *example())
    assert root.findtext("protocolversion") == "4"
    assert [child.tag for child in root] == [*START, *["error"] * 4, "errorcounts", "suppcounts"]


def test_without_blocks():
    root = whole(Bench(), [], example()[1])
    assert [child.tag for child in root][len(START) :] == [
        "heap_summary", "all_heap_blocks_freed", "errorcounts", "suppcounts", "error_summary",
    ]  # fmt: skip
    assert root.findtext("all_heap_blocks_freed") == "true"


def test_amounts_of_the_leak_summary_are_grouped():
    b = Bench()
    root = whole(b, [replace(block(0, 9, 1), size=1_000_000)], Memory())
    assert root.findtext("leak_summary/definitely_lost/bytes") == "1,000,000"
