"""XML output, protocol 6 (docs/spec/output.md section 7)."""

from __future__ import annotations

from .errors import AuxPart, Error, ErrorManager
from .stack import Stack, StackResolver
from .suppressions import PLACEHOLDER, GeneratedSuppression, generate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from dataclasses import dataclass
else:
    from interpose.records import dataclass

PROTOCOL = 6

if TYPE_CHECKING:
    Node = tuple[str, str | int | "Sequence[Node]"]
"""An element: name, and text or children."""


def escape(text: str) -> str:
    """The three escapes of the protocol."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def render(node: Node, indent: int = 0) -> list[str]:
    """An element as lines, two blanks a level; an element with text fits one line."""
    name, content = node
    pad = " " * indent
    if isinstance(content, (str, int)):
        return [f"{pad}<{name}>{escape(str(content))}</{name}>"]
    lines = [f"{pad}<{name}>"]
    for child in content:
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


class XmlSink:
    """Writes the elements in the order in which its methods are called."""

    def __init__(
        self, write: Callable[[str], None], resolver: StackResolver, *, with_suppressions: bool = False
    ) -> None:
        """``write`` takes one line; ``with_suppressions``: ``--gen-suppressions=all``."""
        self._write = write
        self.resolver = resolver
        self._with_suppressions = with_suppressions

    def _lines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._write(line)

    def element(self, *nodes: Node) -> None:
        """Elements of the top level, with an empty line after them."""
        for node in nodes:
            self._lines(render(node))
        self._write("")

    # -- the frame of the document -----------------------------------------------------------------------

    def begin(self, preamble: Preamble, elapsed: str) -> None:
        """Everything before the first error; ``elapsed`` as ``DD:HH:MM:SS.mmm``."""
        self._lines(['<?xml version="1.0"?>', "", "<valgrindoutput>", ""])
        self.element(("protocolversion", PROTOCOL), ("protocoltool", preamble.tool))
        self.element(("preamble", [("line", line) for line in preamble.banner]))
        for node in (("pid", preamble.pid), ("ppid", preamble.ppid), ("tool", preamble.tool)):
            self._lines(render(node))
        for name, value in preamble.qualifiers:
            pair = f"<var>{escape(name)}</var> <value>{escape(value)}</value>"
            self._write(f"<logfilequalifier> {pair} </logfilequalifier>")
        if preamble.user_comment is not None:
            self._write(f"<usercomment>{preamble.user_comment}</usercomment>")
        self._write("")
        self.element(("args", [("vargv", _command(preamble.launcher)), ("argv", _command(preamble.program))]))
        self.status("RUNNING", elapsed)

    def status(self, state: str, elapsed: str) -> None:
        """``RUNNING`` or ``FINISHED``."""
        self.element(("status", [("state", state), ("time", f"{elapsed} ")]))

    def end(self) -> None:
        self._lines(["</valgrindoutput>", ""])

    # -- errors (the sink's side) --------------------------------------------------------------------------

    def show(self, error: Error) -> None:
        """One error."""
        lines = render(("error", self._error(error)))
        if self._with_suppressions:
            candidate = generate(error, self.resolver.frames(error.stack or ()))
            if candidate is not None:
                lines[-1:-1] = _suppression(candidate)
        self._lines(lines)
        self._write("")

    def suppressed(self, error: Error) -> None:
        """The counts of suppressions at the end tell it."""

    def body(self, error: Error) -> None:
        """The list at the end has no place in XML: counts refer to the errors by their numbers."""

    def message(self, *lines: str) -> None:
        """Messages about reporting itself have no place in XML either."""

    def suppression(self, candidate: GeneratedSuppression) -> None:
        """A generated suppression, once more after its error."""
        self._lines(_suppression(candidate))
        self._write("")

    def _error(self, error: Error) -> list[Node]:
        nodes: list[Node] = [("unique", f"0x{error.unique:x}"), *_thread(error.tid, error.thread_name)]
        nodes.append(("kind", error.kind.xml))
        if error.fd is not None:
            nodes.append(("fd", error.fd))
            if error.path is not None:
                nodes.append(("path", error.path))
        text = " ".join(error.what)
        if error.leaked is None:
            nodes.append(("what", text))
        else:
            size, blocks = error.leaked
            nodes.append(("xwhat", [("text", text), ("leakedbytes", size), ("leakedblocks", blocks)]))
        if error.stack is not None:
            nodes.append(self.stack(error.stack))
        for part in error.aux:
            nodes.append(_aux(part))
            if part.stack is not None:
                nodes.append(self.stack(part.stack))
        return nodes

    def stack(self, stack: Stack) -> Node:
        """A stack trace."""
        frames: list[Node] = []
        for frame in self.resolver.frames(stack):
            nodes: list[Node] = [("ip", f"0x{frame.ip:X}")]
            for name, value in (
                ("obj", frame.obj),
                ("fn", frame.name),
                ("dir", frame.dir),
                ("file", frame.file),
                ("line", frame.line),
            ):
                if value is not None:
                    nodes.append((name, value))
            frames.append(("frame", nodes))
        return ("stack", frames)

    # -- other events ----------------------------------------------------------------------------------------

    def client_message(self, tid: int, name: str | None, text: str, stack: Stack | None = None) -> None:
        """What the program prints through client requests."""
        nodes: list[Node] = [*_thread(tid, name), ("text", text)]
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
            nodes.append(("siaddr", f"0x{siaddr:x}"))
        nodes.append(self.stack(stack))
        self.element(("fatal_signal", nodes))

    def counts(self, errors: ErrorManager) -> None:
        """How often each error and each suppression occurred, and ``error_summary``; the latter two not with
        ``-q``."""
        recorded = [error for error in errors.recorded() if error.suppressed_by is None]
        self.element(
            (
                "errorcounts",
                [("pair", [("count", error.count), ("unique", f"0x{error.unique:x}")]) for error in recorded],
            )
        )
        if errors.options.verbosity < 1:
            return
        if errors.options.lists_errors():
            used = errors.suppressions.used()
            pairs: list[Node] = [("pair", [("count", entry.count), ("name", entry.name)]) for entry in used]
            self.element(("suppcounts", pairs))
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


def _thread(tid: int, name: str | None) -> list[Node]:
    nodes: list[Node] = [("tid", tid)]
    if name:
        nodes.append(("threadname", name))
    return nodes


def _aux(part: AuxPart) -> Node:
    if part.file is None:
        return ("auxwhat", part.text)
    nodes: list[Node] = [("text", part.text), ("file", part.file)]
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
    text = [line.replace("]]>", "]]]]><![CDATA[>") for line in candidate.lines()]
    return [*lines, "    <rawtext>", "<![CDATA[", *text, "]]>", "    </rawtext>", "  </suppression>"]
