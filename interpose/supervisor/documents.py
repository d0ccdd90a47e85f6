"""The reports for programs (JSON and XML): which process they are about, how it began, how it ended."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from interpose.options.parse import Config
    from interpose.report.log import Log
    from interpose.report.stack import StackResolver
    from interpose.report.xml import XmlSink
    from interpose.session import Session

_NO_DOCUMENT = """\
The XML of process {} has no place: --xml-fd is its parent's. Its report follows here;
with --xml-file=NAME.%p each process has a file of its own."""
_NO_LISTENER = "The XML of process {} has no place: nobody listens. Its report follows here."


class Documents:
    """What a run writes beside the log, as far as its options ask for it.

    :param program_is_gone: whether the program is dead: nobody waits for who reads a document then.
    :ivar json: the JSON report, or None.
    :ivar xml: the XML document, or None.
    """

    def __init__(self, session: Session, program_is_gone: Callable[[], bool]) -> None:
        self.json, self.xml = session.json, session.xml
        self._session = session
        self._came_by = "start"  # or fork, exec
        self._xml_sink: XmlSink | None = None
        for report in self._all():
            report.program_is_gone = program_is_gone

    def __bool__(self) -> bool:
        return self.json is not None or self.xml is not None

    def _all(self) -> Sequence[Any]:
        return [report for report in (self.json, self.xml) if report is not None]

    def new_image(self) -> None:
        """Another program, with other functions."""
        self._xml_sink = None

    def sink(self, config: Config, resolver: Callable[[], StackResolver]) -> XmlSink | None:
        """Where this process's events go as elements; None where there is no document for them."""
        if self.xml is None or not self.xml.writes:
            return None
        if self._xml_sink is None:
            from interpose.report.xml import XmlSink

            self._xml_sink = XmlSink(self.xml.write, resolver(), protocol=config.core.xml_protocol)
        self._xml_sink.with_suppressions = config.core.gen_suppressions == "all"
        return self._xml_sink

    def start(self, config: Config) -> None:
        """The program runs from here on."""
        if self.json is not None:
            self.json.start(self._came_by, config, self._session.argv, self._session.parent_pid)
        if self.xml is not None:
            self.xml.begin(self._session.argv, self._session.parent_pid)

    def forked(self, pid: int, log: Log, *, silent: bool) -> None:
        """They go on with a child, if there is a place for what they say of it."""
        self._came_by = "fork"
        for report in self._all():
            report.moved(pid, silent=silent)
        if self.xml is not None and not self.xml.writes:
            by_socket = self._session.config.core.xml_kind == "socket"
            log.plain((_NO_LISTENER if by_socket else _NO_DOCUMENT).format(pid))

    def copied(self, pid: int) -> None:
        """They are about what a child of vfork executes."""
        for report in self._all():
            report.moved(pid)

    def executed(self) -> None:
        """The same process runs another program."""
        for report in self._all():
            report.resume()
        self._came_by = "exec"

    def leave(self) -> None:
        """This is a copy of the supervisor, and the XML is the parent's."""
        if self.xml is not None:
            self.xml.leave()

    def end(self, how: str, log: Log, **content: Any) -> None:
        """What becomes of the program: ``how`` and the words for it are those of docs/json.md."""
        if self.json is not None:
            self.json.end(how, **content)
            if not content.get("traced"):
                for complaint in self.json.write_documents():
                    log.plain(complaint)
        if self.xml is not None:
            self.xml.cut()  # unless the tool has ended it with all that belongs there
