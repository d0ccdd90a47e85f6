"""XML output: the elements of the document (docs/spec/output.md section 7).

Each element of the top level is written whole, by one call, so that a document is never cut within one.
"""

from __future__ import annotations

import re

from .errors import AuxPart, Error, ErrorManager
from .stack import ResolvedFrame, Stack, StackResolver
from .suppressions import PLACEHOLDER, GeneratedSuppression, generate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from dataclasses import dataclass
else:
    from interpose.records import dataclass

PROTOCOLS = (4, 5, 6)
"""4 is what most consumers know; 5 adds errors about file descriptors, 6 the summaries at the end."""

if TYPE_CHECKING:
    Node = tuple[str, str | int | "Sequence[Node | str]"]
"""An element: name, and text or children, of which some may be lines already."""


_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"}
# What has an escape, and what no document may hold, escaped or not (XML 1.0, production 2).
_SPECIAL = re.compile("[&<>\r]|[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _escaped(found: re.Match[str]) -> str:
    character = found[0]
    if (known := _ESCAPES.get(character)) is not None:
        return known
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogateescape"))


def escape(text: str) -> str:
    """The escapes of the protocol; bytes that are no UTF-8, and control characters, as ``\\xNN``."""
    return _SPECIAL.sub(_escaped, text)


def admissible(text: str) -> str:
    """The same text without what no document may hold; its markup stays."""
    return _SPECIAL.sub(lambda found: found[0] if found[0] in "&<>\r" else _escaped(found), text)


def render(node: Node, indent: int = 0) -> list[str]:
    """An element as lines, two blanks a level; an element with text fits one line."""
    name, content = node
    pad = " " * indent
    if isinstance(content, (str, int)):
        return [f"{pad}<{name}>{escape(str(content))}</{name}>"]
    lines = [f"{pad}<{name}>"]
    for child in content:
        if isinstance(child, str):
            lines.append(child)
        elif isinstance(text := child[1], (str, int)):  # as above: most are, and a report may have a million
            lines.append(f"{pad}  <{child[0]}>{escape(str(text))}</{child[0]}>")
        else:
            lines += render(child, indent + 2)
    lines.append(f"{pad}</{name}>")
    return lines


@dataclass(frozen=True)
class Preamble:
    """What the output begins with."""

    tool: str
    banner: Sequence[str]
    pid: int
    ppid: int
    launcher: Sequence[str]
    """Our own program and its options."""
    program: Sequence[str]
    qualifiers: Sequence[tuple[str, str]] = ()
    """Variables that file names were made of (``%q{VAR}``), and their values."""
    user_comment: str | None = None
    """Copied verbatim."""


class XmlWriter:
    """Writes the frame of a document, in the order in which its methods are called."""

    def __init__(self, write: Callable[[str], None], protocol: int = PROTOCOLS[-1]) -> None:
        """``write`` takes one or more whole lines with their ends."""
        self._write = write
        self.protocol = protocol
        self._is_finished = False

    def _lines(self, lines: Iterable[str]) -> None:
        text = "\n".join(lines)
        self._write(f"{text}\n")

    def element(self, *nodes: Node) -> None:
        """Elements of the top level, with an empty line after them."""
        self._lines([*(line for node in nodes for line in render(node)), ""])

    def begin(self, preamble: Preamble, elapsed: str) -> None:
        """Everything before the first error; ``elapsed`` as ``DD:HH:MM:SS.mmm``."""
        lines = ['<?xml version="1.0"?>', "", "<valgrindoutput>", ""]

        def add(*nodes: Node) -> None:
            for node in nodes:
                lines.extend(render(node))

        add(("protocolversion", self.protocol), ("protocoltool", preamble.tool))
        lines.append("")
        add(("preamble", [("line", line) for line in preamble.banner]))
        lines.append("")
        add(("pid", preamble.pid), ("ppid", preamble.ppid), ("tool", preamble.tool))
        for name, value in preamble.qualifiers:
            pair = f"<var>{escape(name)}</var> <value>{escape(value)}</value>"
            lines.append(f"<logfilequalifier> {pair} </logfilequalifier>")
        if preamble.user_comment is not None:
            lines.append(f"<usercomment>{admissible(preamble.user_comment)}</usercomment>")
        lines.append("")
        add(("args", [("vargv", _command(preamble.launcher)), ("argv", _command(preamble.program))]))
        lines.append("")
        add(_status("RUNNING", elapsed))
        self._lines([*lines, ""])

    def finished(self, elapsed: str) -> None:
        """The program has ended; said once."""
        if not self._is_finished:
            self._is_finished = True
            self._lines(["", *render(_status("FINISHED", elapsed)), ""])

    def end(self) -> None:
        self._lines(["</valgrindoutput>", ""])


def _status(state: str, elapsed: str) -> Node:
    return ("status", [("state", state), ("time", f"{elapsed} ")])


class XmlSink(XmlWriter):
    """Writes errors and what else happens, too."""

    def __init__(
        self,
        write: Callable[[str], None],
        resolver: StackResolver,
        *,
        with_suppressions: bool = False,
        protocol: int = PROTOCOLS[-1],
    ) -> None:
        """``with_suppressions``: ``--gen-suppressions=all``."""
        super().__init__(write, protocol)
        self.resolver = resolver
        self.with_suppressions = with_suppressions

    # -- errors (the sink's side) --------------------------------------------------------------------------

    def show(self, error: Error) -> None:
        """One error."""
        lines = self._error(error)
        if self.with_suppressions:
            candidate = generate(error, self.resolver.frames(error.stack or ()))
            if candidate is not None:
                lines[-1:-1] = _suppression(candidate)
        self._lines([*lines, ""])

    def suppressed(self, error: Error) -> None:
        """The counts of suppressions at the end tell it."""

    def again(self, error: Error, candidate: GeneratedSuppression | None) -> None:
        """The list at the end has no place in XML: counts refer to the errors by their numbers."""

    def message(self, *lines: str) -> None:
        """Messages about reporting itself have no place in XML either."""

    def suppression(self, candidate: GeneratedSuppression) -> None:
        """A generated suppression, once more after its error."""
        self._lines(_suppression(candidate))

    def _error(self, error: Error) -> list[str]:
        """The lines of an error, of which a run may have very many: nothing is made of them but these."""
        lines = ["<error>", f"  <unique>0x{error.unique:x}</unique>", f"  <tid>{_tid(error.tid)}</tid>"]
        if error.thread_name:
            lines.append(f"  <threadname>{escape(error.thread_name)}</threadname>")
        lines.append(f"  <kind>{error.kind.xml}</kind>")
        if error.fd is not None:
            lines.append(f"  <fd>{error.fd}</fd>")
            if error.path is not None:
                lines.append(f"  <path>{escape(error.path)}</path>")
        text = error.what_in_xml or " ".join(error.what)
        if error.leaked is None:
            lines.append(f"  <what>{escape(text)}</what>")
        else:
            size, blocks = error.leaked
            lines += render(("xwhat", [("text", text), ("leakedbytes", size), ("leakedblocks", blocks)]), 2)
        if error.stack is not None:
            lines += self._stack(error.stack)
        for part in error.aux:
            if part.file is None:
                lines.append(f"  <auxwhat>{escape(part.text)}</auxwhat>")
            else:
                lines += render(_located(part, part.file), 2)
            if part.stack is not None:
                lines += self._stack(part.stack)
        lines.append("</error>")
        return lines

    def _stack(self, stack: Stack) -> list[str]:
        """The lines of a stack trace, at the one depth that it has."""
        return ["  <stack>", *self.resolver.forms(stack, "xml", self._frame), "  </stack>"]

    def stack(self, stack: Stack) -> Node:
        """A stack trace. Frames of replaced functions have no source: consumers blame the first that has."""
        return ("stack", self.resolver.forms(stack, "xml", self._frame))

    def _frame(self, frame: ResolvedFrame) -> str:
        """The lines of a frame, at the one depth that stacks have."""
        text = f"    <frame>\n      <ip>0x{frame.ip:X}</ip>\n"
        if frame.obj is not None:
            text += f"      <obj>{escape(frame.obj)}</obj>\n"
        if frame.name is not None:
            text += f"      <fn>{escape(frame.name)}</fn>\n"
        if frame.obj not in self.resolver.options.own_objects:
            if frame.dir is not None:
                text += f"      <dir>{escape(frame.dir)}</dir>\n"
            if frame.file is not None:
                text += f"      <file>{escape(frame.file)}</file>\n"
            if frame.line is not None:
                text += f"      <line>{frame.line}</line>\n"
        return f"{text}    </frame>"

    # -- other events ----------------------------------------------------------------------------------------

    def client_message(self, tid: int, name: str | None, text: str, stack: Stack | None = None) -> None:
        """What the program prints through client requests; two blanks follow it, as in Valgrind."""
        nodes: list[Node] = [*_thread(tid, name), ("text", f"{text}  ")]
        if stack is not None:
            nodes.append(self.stack(stack))
        self._lines(render(("clientmsg", nodes)))

    def fatal_signal(
        self,
        tid: int,
        thread_name: str | None,
        signo: int,
        signame: str,
        sicode: int,
        event: str | None,
        siaddr: int | None,
        stack: Stack,
    ) -> None:
        """The signal that ends the program."""
        nodes: list[Node] = [*_thread(tid, thread_name)]
        nodes += [("signo", signo), ("signame", signame), ("sicode", sicode)]
        if event is not None:
            nodes.append(("event", event))
        if siaddr is not None:
            nodes.append(("siaddr", f"0x{siaddr:X}"))
        nodes.append(self.stack(stack))
        self.element(("fatal_signal", nodes))

    def counts(self, errors: ErrorManager) -> None:
        """How often each error and each suppression occurred, and from protocol 6 on ``error_summary``; the
        latter two not with ``-q``."""
        recorded = [error for error in errors.recorded() if error.suppressed_by is None]
        pairs = [
            f"  <pair>\n    <count>{error.count}</count>\n    <unique>0x{error.unique:x}</unique>\n  </pair>"
            for error in recorded
        ]
        self.element(("errorcounts", pairs))
        if errors.options.verbosity < 1:
            self._lines([""])  # in the place of what follows, as in Valgrind
            return
        if errors.options.lists_errors():
            used = errors.suppressions.used()
            uses: list[Node] = [("pair", [("count", entry.count), ("name", entry.name)]) for entry in used]
            self.element(("suppcounts", uses))
        if self.protocol < 6:
            return
        self.element(
            (
                "error_summary",
                [
                    ("errors", errors.errors_found),
                    ("error_contexts", errors.contexts),
                    ("suppressed", errors.suppressed),
                    ("suppressed_contexts", errors.suppressed_contexts),
                ],
            )
        )


def _command(words: Sequence[str]) -> list[Node]:
    return [("exe", words[0]), *(("arg", word) for word in words[1:])]


def _tid(tid: int) -> int:
    """An element must have one, though no thread be responsible."""
    return tid or 1


def _thread(tid: int, name: str | None) -> list[Node]:
    nodes: list[Node] = [("tid", _tid(tid))]
    if name:
        nodes.append(("threadname", name))
    return nodes


def _located(part: AuxPart, file: str) -> Node:
    nodes: list[Node] = [("text", part.text), ("file", file)]
    if part.line is not None:
        nodes.append(("line", part.line))
    if part.dir is not None:
        nodes.append(("dir", part.dir))
    return ("xauxwhat", nodes)


def _suppression(candidate: GeneratedSuppression) -> list[str]:
    lines = ["  <suppression>", f"    <sname>{PLACEHOLDER}</sname>", *render(("skind", candidate.kind), 4)]
    if candidate.extra is not None:
        lines += render(("skaux", candidate.extra), 4)
    for kind, value in candidate.frames:
        lines.append(f"    <sframe> {render((kind, value))[0]} </sframe>")
    # A section cannot hold its own end mark: split it in two.
    text = [admissible(line).replace("]]>", "]]]]><![CDATA[>") for line in candidate.lines()]
    return [*lines, "    <rawtext>", "<![CDATA[", *text, "]]>", "    </rawtext>", "  </suppression>"]
