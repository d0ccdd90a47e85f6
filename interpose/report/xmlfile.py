"""Where XML goes: one whole document for each program that runs (docs/spec/output.md section 7).

A forked child has a document of its own, and so has each program that a process executes: a parser of XML can
do nothing with two in one, or with half a one.
"""

from __future__ import annotations

import os
import stat
import sys

from interpose.errors import ListenerError, LogError, OptionError

from .log import FileNames, Log, RecordOutput, banner_lines, is_open, open_destination
from .xml import Preamble, XmlWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from interpose.options.parse import Config


class XmlReport(RecordOutput):
    """The destination, through forks and execs.

    :ivar has_document: one is begun and not ended.
    """

    what = "xml"

    def __init__(self, fd: int | None, log: Log, *, names: FileNames, config: Config) -> None:
        core = config.core
        is_file = core.xml_kind == "file"
        super().__init__(fd, log.pid, names=names, template=core.xml_file if is_file else None)
        self.has_document = False
        self._log = log
        self._config = config
        self._path: str | None = None
        """Of a file that can be another one for another process; /dev/null and pipes cannot."""
        if is_file and fd is not None and stat.S_ISREG(os.fstat(fd).st_mode):
            self._path = os.readlink(f"/proc/self/fd/{fd}")
        self._needs_place = False
        """Of a forked child that has written nothing yet."""
        self._used = False
        """A document was written to this place."""
        self._has_news = False
        """Something was found, and is in the document."""

    @classmethod
    def open(cls, config: Config, names: FileNames, log: Log) -> XmlReport:
        """The destination that the options name; raises as the log's."""
        core = config.core
        number = core.xml_fd
        if core.xml_kind == "fd" and not is_open(number):
            number = 2
            log.plain("Interpose: failed to move XML file descriptor into safe range, using stderr")
        try:
            fd = open_destination(names, cls.what, core.xml_kind, number, core.xml_file, core.xml_socket)
        except ListenerError as error:
            log.plain(f"{error}\nXML output will be sent to stderr instead.")
            fd = open_destination(names, cls.what, "fd", 2, None, None)
        if core.xml_kind == "fd" and number > 2:
            os.set_inheritable(number, False)
        return cls(fd, log, names=names, config=config)

    @property
    def writes(self) -> bool:
        """False of a process that has no place for a document: its report is text."""
        return self.fd is not None or self._needs_place or self.silent

    def write(self, text: str) -> None:
        """Whole lines of the document."""
        if self.has_document:
            self._has_news = True
            self._write(text)

    # -- documents -----------------------------------------------------------------------------

    def begin(self, argv: Sequence[str], parent: int) -> None:
        """The document of a program that starts to run, or of a forked child."""
        if self.silent:
            return
        if self._needs_place:
            self._take_place()
        elif self._used:
            self._make_room()
        if self.fd is None:
            return
        self.has_document = self._used = True
        config = self._config
        launcher = (os.path.abspath(sys.argv[0]), *config.given)
        writer = XmlWriter(self._write, config.core.xml_protocol)
        preamble = Preamble(
            tool=config.tool_name,
            banner=banner_lines(config, argv),
            pid=self.pid,
            ppid=parent,
            launcher=launcher,
            program=argv,
            qualifiers=self._qualifiers(),
            user_comment=config.core.xml_user_comment,
        )
        writer.begin(preamble, self._log.elapsed())
        self._has_news = False

    def _qualifiers(self) -> list[tuple[str, str]]:
        """The variables in the names of log and XML file."""
        assert self.names is not None
        core = self._config.core
        found: dict[str, str] = {}
        for kind, template in ((core.log_kind, core.log_file), (core.xml_kind, core.xml_file)):
            if kind == "file" and template:
                for variable in FileNames.variables(template):
                    found[variable] = self.names.environ.get(variable, "")
        return list(found.items())

    def ended(self) -> None:
        """The document has its end."""
        self.has_document = False

    def cut(self) -> None:
        """Nothing more can be said: end the document as it is."""
        if self.has_document:
            XmlWriter(self._write).end()
            self.ended()

    # -- changes of process --------------------------------------------------------------------

    def leave(self) -> None:
        """This is a copy, for a child that has not shown itself: the document is its parent's."""
        self.has_document = False

    def moved(self, pid: int, *, silent: bool = False) -> bool:
        """Serve a forked child, which gets a place when it has something to say."""
        self.pid = pid
        self.silent = silent
        self.has_document = self._used = self._has_news = False
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None
            self._needs_place = self._path is not None or self._config.core.xml_kind == "socket"
        return False

    def _take_place(self) -> None:
        """A file of the child's own, beside its parent's if the name does not tell them apart."""
        self._needs_place = False
        core = self._config.core
        assert self.names is not None
        try:
            if core.xml_kind == "socket":
                self.fd = open_destination(self.names, self.what, "socket", -1, None, core.xml_socket)
                return
            assert self._template is not None and self._path is not None
            if core.log_kind != "file":
                self.names.pass_over(self._template)
            if FileNames.varies(self._template):
                self._path = self.names.expand("--xml-file", self._template)
            else:
                self._path = f"{self._path}.{self.pid}"
            self._reopen()
        except (LogError, OptionError) as error:
            self._log.plain("\n".join(error.lines()))

    def _reopen(self) -> None:
        assert self.names is not None and self._path is not None
        template = self.names.literal(self._path)
        self.fd = open_destination(self.names, self.what, "file", -1, template, None)

    def _make_room(self) -> None:
        """The process runs another program: what was found in the one before is kept, as NAME.1 and so on."""
        self._used = False
        if self.fd is None or (self._path is None and self._config.core.xml_kind != "socket"):
            return
        os.close(self.fd)
        self.fd = None
        if self._path is not None and self._has_news:
            number = 1
            while os.path.lexists(f"{self._path}.{number}"):
                number += 1
            try:
                os.rename(self._path, f"{self._path}.{number}")
            except OSError as error:
                self._log.plain(f"Cannot keep {self._path}: {error.strerror}")
        self._needs_place = self._path is None
        if self._needs_place:
            self._take_place()
            return
        try:
            self._reopen()
        except (LogError, OptionError) as error:
            self._log.plain("\n".join(error.lines()))
