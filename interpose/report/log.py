"""The plain-text log: prefixes, banner and destinations (docs/spec/output.md sections 1, 2 and 10)."""

from __future__ import annotations

import errno
import os
import stat
import time

from interpose import __version__, system
from interpose.errors import ListenerError, LogError, OptionError, tell, write_all, write_some
from interpose.jit._native import lib
from interpose.paths import absolute
from interpose.report.given import open_with_patience

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from interpose.options.parse import Config

COPYRIGHT = "Copyright (C) 2026, by the interpose authors"
# What launchers call it: Open MPI; MPICH, Intel MPI, Cray's; PMIx (Slurm, PRRTE); MVAPICH2; Slurm alone.
RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID")
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_PIECE = 4096  # PIPE_BUF: what a pipe takes at once when it says that it takes something
_OF_A_PROCESS = ("pid", "silent", "names", "_fd", "_is_file", "_opens_late", "_is_midline", "_hooks_line")
_PATIENCE = 5.0  # seconds for a reader who does not read once the program is gone


class FileNames:
    """Makes file names from templates (docs/spec/output.md section 10).

    One object serves a process, because ``%n`` counts one sequence over all its files.  Relative names are
    resolved against the folder in which the run began.
    """

    def __init__(self, pid: int, environ: Mapping[str, str] | None = None, folder: str | None = None) -> None:
        self.pid = pid
        self.environ = os.environ if environ is None else environ
        self.folder = absolute(".") if folder is None else folder
        self.sequence = 0

    def forked(self, pid: int) -> None:
        """Serve a child from now on."""
        self.pid = pid
        self.sequence = 0

    def pass_over(self, template: str | None) -> None:
        """Count as if a name had been made: Valgrind looks first whether a forked child's is another one."""
        if template is not None:
            self.sequence += template.replace("%%", "").count("%n")

    def expand(self, option: str, template: str) -> str:
        """The absolute name for a template given by ``option`` (``--log-file``, for messages)."""
        argument = f"{option}={template}"
        if not template:
            raise OptionError.bad(argument, "No filename given")
        if template.startswith("~"):
            raise OptionError.bad(
                argument,
                "Filename begins with '~'",
                "You probably expected the shell to expand the '~', but it",
                "didn't.  The rules for '~'-expansion vary from shell to shell.",
                "You might have more luck using $HOME instead.",
            )
        parts = []
        rest = template
        while True:
            before, percent, rest = rest.partition("%")
            parts.append(before)
            if not percent:
                break
            code, rest = rest[:1], rest[1:]
            if code == "%":
                parts.append("%")
            elif code == "p":
                parts.append(str(self.pid))
            elif code == "n":
                self.sequence += 1
                parts.append(str(self.sequence))
            elif code == "q":
                variable, brace, rest = rest[1:].partition("}") if rest[:1] == "{" else ("", "", rest)
                if not brace or not variable:
                    raise OptionError.bad(argument, "Expected '{VAR}' after '%q'")
                if variable not in self.environ:
                    raise OptionError.bad(argument, f"Environment variable '{variable}' is not set")
                parts.append(self.environ[variable])
            elif code == "r":
                parts.append(self._rank(argument))
            else:
                raise OptionError.bad(argument, "Expected 'p', 'n', 'q', 'r' or '%' after '%'")
        return os.path.join(self.folder, "".join(parts))

    def _rank(self, argument: str) -> str:
        """The number of this process among those that mpirun started."""
        for variable in RANK_VARIABLES:
            rank = self.environ.get(variable, "")
            if rank.isdecimal():
                return rank
        raise OptionError.bad(argument, "%r is the rank of an MPI process, and no mpirun started this one")

    @staticmethod
    def literal(path: str) -> str:
        """The template of this path: nothing in it is an expansion."""
        return path.replace("%", "%%")

    @staticmethod
    def variables(template: str) -> list[str]:
        """The variables that a template names by ``%q{VAR}``."""
        found = (part.partition("}")[0] for part in template.replace("%%", "").split("%q{")[1:])
        return list(dict.fromkeys(found))

    @staticmethod
    def varies(template: str) -> bool:
        """Whether a template names another file in a forked child.

        Its environment is the same, and ``%n`` begins anew: alone it would name the parent's file.
        """
        return "%p" in template.replace("%%", "")


def _open_file(path: str, is_shared: bool) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOCTTY
    return open_with_patience(path, flags | (0 if is_shared else os.O_TRUNC), 0o644)


def open_destination(
    names: FileNames,
    what: str,
    kind: str,
    fd: int,
    template: str | None,
    socket: tuple[str, int] | None,
    *,
    is_shared: bool = False,
) -> int | None:
    """Our own descriptor for the destination of the log or the XML (``what``); None drops the output.

    ``is_shared``: another process of ours has begun to write the file, or will.
    """
    try:
        if kind == "file":
            assert template is not None
            path = names.expand(f"--{what}-file", template)
            try:
                opened = _open_file(path, is_shared)
            except (OSError, ValueError) as error:
                reason = error.strerror if isinstance(error, OSError) else str(error)
                raise LogError(f"Cannot create {_name(what)} file '{path}': {reason}") from None
        elif kind == "socket":
            assert socket is not None
            opened = _connect(what, socket)
        elif fd < 0:
            return None
        elif fd == 2 and not is_open(fd):
            return None  # the run began without standard error: nobody wants to read
        else:
            if system.flags(fd) & os.O_ACCMODE == os.O_RDONLY:
                raise LogError(f"Cannot write the {what} to file descriptor {fd}: it is not open for writing")
            return system.duplicate(fd, system.LOWEST_FD)
        own = system.duplicate(opened, system.LOWEST_FD)
    except OSError as error:
        target = f"file descriptor {fd}" if kind == "fd" else "its destination"
        raise LogError(f"Cannot write the {what} to {target}: {_reason(error)}") from None
    os.close(opened)
    return own


def _name(what: str) -> str:
    """As Valgrind writes it: the log, but XML."""
    return what if what == "log" else what.upper()


def _reason(error: OSError) -> str:
    """Why there is no descriptor."""
    soft, _ = system.limit(lib.IP_LIMIT_NOFILE)
    if error.errno == errno.EMFILE or (error.errno == errno.EINVAL and soft <= system.LOWEST_FD):
        return f"{soft} file descriptors are too few; raise ulimit -n"
    return error.strerror or str(error)


def is_open(fd: int) -> bool:
    """Whether a descriptor is one."""
    try:
        system.flags(fd)
    except OSError:
        return False
    return True


def _connect(what: str, address: tuple[str, int]) -> int:
    import socket

    connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        connection.connect(address)
    except OSError as error:
        connection.close()
        listener = f"{_name(what)} listener {address[0]}:{address[1]}"
        raise ListenerError(f"Cannot connect to the {listener}: {error.strerror}") from None
    return connection.detach()


def _never() -> bool:
    return False


class Output:
    """A destination of whole lines, of one process after the other.

    What a full disk has no room for is told once at standard error; a reader that goes away wants no more.

    :ivar what: the word in the names of its options, ``log`` or ``json``.
    :ivar silent: a forked child's until it executes a program (--child-silent-after-fork=yes).
    """

    what = "log"

    def __init__(
        self, fd: int | None, pid: int, *, names: FileNames | None = None, template: str | None = None
    ) -> None:
        self._fd = fd
        self._is_file: bool | None = None
        self.pid = pid
        self.silent = False
        self._opens_late = False  # a silent child's own file is made when it is silent no more
        self.program_is_gone: Callable[[], bool] = _never
        self._is_told = False
        self.names = names
        self._template = template

    @property
    def fd(self) -> int | None:
        """Where the lines go; None: nowhere."""
        return self._fd

    @fd.setter
    def fd(self, fd: int | None) -> None:
        self._fd = fd
        self._is_file = None  # looked at when it is first written to

    def descriptors(self) -> list[int]:
        """What the supervisor must keep."""
        return [] if self.fd is None else [self.fd]

    def _write(self, text: str) -> None:
        fd = self._fd
        if fd is None or self.silent:
            return
        data = memoryview(text.encode("utf-8", "surrogateescape"))
        try:
            if self._is_file is None:
                self._is_file = stat.S_ISREG(os.fstat(fd).st_mode)
            if self._is_file:
                self._write_file(fd, data)
            else:
                self._write_slowly(fd, data)
        except OSError as error:
            # A full disk may have room again; a closed pipe or connection never comes back.
            self._failed(error, text)

    def _failed(self, error: OSError, text: str) -> None:
        """What could not be written, or not all of it, is lost."""
        if error.errno in _NO_ROOM:
            self._tell_once(error)

    def _tell_once(self, error: OSError) -> None:
        if not self._is_told:
            self._is_told = True
            tell(LogError(f"Cannot write the {self.what}: {error.strerror}; it is not complete"))

    def _write_file(self, fd: int, data: memoryview) -> None:
        write_all(fd, data)

    def _write_slowly(self, fd: int, data: memoryview) -> None:
        """To a reader that may not read: wait with the program, but not for ever without it."""
        import select

        ready = select.poll()
        ready.register(fd, select.POLLOUT)
        waited = 0.0
        while data:
            if not ready.poll(500):
                waited += 0.5
                if waited >= _PATIENCE and self.program_is_gone():
                    self.fd = None
                    os.close(fd)
                    return
                continue
            end = bytes(data[:_PIECE]).rfind(b"\n") + 1 if len(data) > _PIECE else len(data)
            try:
                data = data[write_some(fd, data[: end or _PIECE]) :]
                waited = 0.0
            except BlockingIOError:
                continue  # the program's own setting: a descriptor shared with it may be non-blocking

    # -- changes of process --------------------------------------------------------------------

    def has_file_for_each(self) -> bool:
        """Whether its name says that each process has a file of its own."""
        return self.names is not None and self._template is not None and FileNames.varies(self._template)

    def moved(self, pid: int, *, silent: bool = False) -> bool:
        """Serve another process; true if a file of its own was opened.

        :param silent: --child-silent-after-fork=yes; :meth:`resume` ends it.
        """
        self.pid = pid
        self.silent = silent
        if not self.has_file_for_each():
            return False
        if self.fd is None and not self._opens_late:
            return False
        old, self.fd = self.fd, None
        if old is not None:
            os.close(old)
        return self._open_own(later=silent)

    def _open_own(self, *, later: bool = False, is_shared: bool = False) -> bool:
        """Open the file that the name says for this process, later if it is silent; true if it is open."""
        self._opens_late = later
        if later:
            return False
        assert self.names is not None
        where = (self.names, self.what, "file", -1, self._template, None)
        try:
            self.fd = open_destination(*where, is_shared=is_shared)
        except (LogError, OptionError):
            self.fd = None
        return self.fd is not None

    def resume(self) -> None:
        """Write again after an exec ended the silence of a forked child."""
        self.silent = False
        if self._opens_late:
            self._open_own()

    def close(self) -> None:
        """Give the descriptor back."""
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None


class RecordOutput(Output):
    """A destination of records that are there as a whole or not at all, wherever that can be had."""

    def _failed(self, error: OSError, text: str) -> None:
        """Who reads a pipe may have read enough; a listener that goes wanted the whole report."""
        super()._failed(error, text)
        if self.fd is not None and stat.S_ISSOCK(os.fstat(self.fd).st_mode):
            self._tell_once(error)

    def _write_file(self, fd: int, data: memoryview) -> None:
        """A record that finds no room is taken back: the file holds whole ones only."""
        done = 0
        try:
            while done < len(data):
                done += write_some(fd, data[done:])
        except OSError:
            end = os.lseek(fd, 0, os.SEEK_CUR)
            if done and os.fstat(fd).st_size == end:
                os.ftruncate(fd, end - done)
            raise

    def _write_slowly(self, fd: int, data: memoryview) -> None:
        """A pipe takes long records piecewise: other processes that write to it wait for the end of ours."""
        import contextlib
        import fcntl

        with contextlib.suppress(OSError):  # where there are no locks
            fcntl.lockf(fd, fcntl.LOCK_EX)
        try:
            super()._write_slowly(fd, data)
        finally:
            with contextlib.suppress(OSError):
                fcntl.lockf(fd, fcntl.LOCK_UN)


class Log(Output):
    """Writes lines, each with its prefix, in one write.

    :ivar verbosity: 0 after ``-q``, 1, 2 after ``-v``, …
    """

    def __init__(
        self,
        fd: int | None,
        pid: int,
        *,
        verbosity: int = 1,
        time_stamp: bool = False,
        names: FileNames | None = None,
        template: str | None = None,
        started: float | None = None,
    ) -> None:
        super().__init__(fd, pid, names=names, template=template)
        self.verbosity = verbosity
        self.time_stamp = time_stamp
        self.to_file = template is not None
        self._is_midline = False
        """What the program printed last has no end of its line yet."""
        self._hooks_line = ""
        """Nor has this, which hooks printed: it is not written yet."""
        self._is_redirected = False
        """To standard error: who listened is gone."""
        self._holds = False
        self._held = ""
        self.sink: Callable[[str], None] | None = None
        """Where lines go instead of the file: to whoever asked for them."""
        self.asked_for = False
        """A monitor command is being carried out: what it shows is text, whatever form the report has."""
        self._started = time.monotonic() if started is None else started

    @classmethod
    def open(cls, config: Config, names: FileNames) -> Log:
        """The log that the options ask for; :class:`LogError` or :class:`OptionError` if it cannot be had."""
        core = config.core
        number = core.log_fd
        is_lost = core.log_kind == "fd" and number >= 0 and number != 2 and not is_open(number)
        if is_lost:
            number = 2
        unheard: ListenerError | None = None
        try:
            fd = open_destination(names, "log", core.log_kind, number, core.log_file, core.log_socket)
        except ListenerError as error:
            unheard = error
            fd = open_destination(names, "log", "fd", 2, None, None)
        log = cls(
            fd,
            names.pid,
            verbosity=core.verbosity,
            time_stamp=core.time_stamp,
            names=names,
            template=core.log_file if core.log_kind == "file" else None,
        )
        if is_lost:  # Valgrind's way, and nearly its words
            log.plain("Interpose: failed to move log file descriptor into safe range, using stderr")
        if unheard is not None:  # Valgrind's way, too
            log.plain(f"{unheard}\nLogging messages will be sent to stderr instead.")
        return log

    # -- writing -------------------------------------------------------------------------------

    def plain(self, text: str = "") -> None:
        """Messages: ``==PID== ``; several lines are parted by newlines."""
        self._lines("==", text)

    def debug(self, text: str = "") -> None:
        """Debug lines, traces, some warnings: ``--PID-- ``."""
        self._lines("--", text)

    def step(self, level: int, component: str, text: str) -> None:
        """What ``-d`` shows: ``--PID:1:component text``."""
        self.flush()
        self._write(f"--{self.pid}:{level}:{component:>8} {text}\n")

    def client(self, text: str) -> None:
        """What the program prints through VALGRIND_PRINTF: ``**PID** ``.

        It is there at once, whether its line ends or not: the program may be about to say how something went,
        and that may be a crash. What it prints next goes on there; a message of another kind begins a line.
        """
        if not text or self.silent:
            return
        self._end_hooks_line()
        *whole, rest = text.split("\n")
        lines = [f"{line}\n" for line in whole] + ([rest] if rest else [])
        prefix = self._prefix("**")
        first = "" if self._is_midline else prefix
        self._is_midline = bool(rest)
        self._write(first + prefix.join(lines))

    def hooks(self, text: str) -> None:
        """What hooks print: whole lines, for Python writes the end of each by itself."""
        *whole, rest = (self._hooks_line + text).split("\n")
        self._hooks_line = ""
        if whole:
            self.client("".join(f"{line}\n" for line in whole))
        self._hooks_line = rest

    def _end_hooks_line(self) -> None:
        if self._hooks_line:
            self.hooks("\n")

    def raw(self, text: str) -> None:
        """Lines without a prefix: suppressions."""
        self.flush()
        self._write(text + "\n")

    def unmarked(self, text: str) -> None:
        """Text as it is, its ends of lines included."""
        self.flush()
        self._write(text)

    def question(self, text: str) -> None:
        """A line that the answer ends."""
        self.flush()
        self._write(f"{self._prefix('==')}{text} ")
        self._release()

    def flush(self) -> None:
        """End a line of the program's, or of its hooks, that has no end yet."""
        self._end_hooks_line()
        if self._is_midline:
            self._is_midline = False
            self._write("\n")

    def milliseconds(self) -> int:
        """Since the start."""
        return int((time.monotonic() - self._started) * 1000)

    def _prefix(self, mark: str) -> str:
        if not self.time_stamp:
            return f"{mark}{self.pid}{mark} "
        return f"{mark}{self.elapsed()} {self.pid}{mark} "

    def elapsed(self) -> str:
        """Since the run began: ``DD:HH:MM:SS.mmm``."""
        seconds, milliseconds = divmod(self.milliseconds(), 1000)
        minutes, seconds = divmod(seconds, 60)
        hours, minutes = divmod(minutes, 60)
        days, hours = divmod(hours, 24)
        return f"{days:02}:{hours:02}:{minutes:02}:{seconds:02}.{milliseconds:03}"

    def _lines(self, mark: str, text: str) -> None:
        self.flush()
        prefix = self._prefix(mark)
        whole = text.replace("\n", f"\n{prefix}")
        self._write(f"{prefix}{whole}\n")

    def _write(self, text: str) -> None:
        if self.sink is not None:
            self.sink(text)
        elif self._holds:
            # What is written by one call stays together, beside what other processes write to the same pipe.
            if len(self._held) + len(text) > _PIECE:
                self._release()
            self._held += text
        else:
            super()._write(text)

    def _failed(self, error: OSError, text: str) -> None:
        """A listener that is gone: the rest goes to standard error, as if none had been there."""
        super()._failed(error, text)
        if error.errno not in (errno.EPIPE, errno.ECONNRESET) or self.fd is None or self._is_redirected:
            return
        if not stat.S_ISSOCK(os.fstat(self.fd).st_mode) or not is_open(2):
            return
        self._is_redirected = True
        os.dup2(2, self.fd, inheritable=False)
        self._is_file = None
        super()._write(
            f"{self._prefix('==')}The log's listener is gone. What follows is sent to stderr instead.\n{text}"
        )

    def _release(self) -> None:
        if self._held:
            text, self._held = self._held, ""
            super()._write(text)

    def hold(self) -> None:
        """Write what follows by fewer calls of the system, until :meth:`let_go`."""
        self._holds = True

    def let_go(self) -> None:
        """Write what is held, and from now on at once."""
        self._release()
        self._holds = False

    # -- changes of process --------------------------------------------------------------------

    def forked(self, pid: int, *, silent: bool = False) -> bool:
        """Serve a forked child; true if a log file of its own was opened, which wants a banner."""
        self._hooks_line = ""  # the parent's, who goes on with it
        if self.names is not None:
            self.names.forked(pid)
            self.names.pass_over(self._template)
        has_own = self.moved(pid, silent=silent)
        if has_own or silent:
            self._is_midline = False
        return has_own

    def of_child(self, pid: int, *, is_shared: bool, silent: bool) -> Log:
        """The one of a further process of this supervisor's, in a file of its own if the name says so."""
        child = object.__new__(type(self))
        child.__dict__.update(self.__dict__)
        child.pid, child.silent = pid, silent
        child._hooks_line = ""
        child._is_midline = self._is_midline and not silent
        child._holds, child._held = False, ""
        if self.fd is None and not self._opens_late:
            return child
        if not self.has_file_for_each():
            child.fd = os.dup(self.fd) if self.fd is not None else None
            return child
        child._is_midline = False
        assert self.names is not None
        child.names = FileNames(pid, self.names.environ, self.names.folder)
        child.names.pass_over(self._template)
        child.fd = None
        child._open_own(later=silent, is_shared=is_shared)
        return child

    def exchange(self, other: Log) -> None:
        """Go on for the process of another one (:meth:`of_child`), which takes what is this one's."""
        for name in _OF_A_PROCESS if self.has_file_for_each() else ("pid", "silent"):
            mine, theirs = getattr(self, name), getattr(other, name)
            setattr(self, name, theirs)
            setattr(other, name, mine)

    def close(self) -> None:
        """Write what is held and give the descriptor back."""
        self._end_hooks_line()
        self.let_go()
        super().close()


def command_words(argv: Sequence[str]) -> str:
    """The program and its arguments for the banner, on one line: blank, ``\\``, ``<`` and ``>`` get a ``\\``,
    and each byte that is no printable ASCII character becomes ``_``."""
    words = ("".join(chr(b) if 0x20 <= b < 0x7F else "_" for b in os.fsencode(word)) for word in argv)
    return " ".join("".join(f"\\{c}" if c in " \\<>" else c for c in word) for word in words)


def banner_lines(config: Config, argv: Sequence[str]) -> list[str]:
    """The lines that name tool, version and command; also the XML preamble's."""
    from interpose import tools

    module = tools.load(config.tool_name)
    return [
        f"{module.NAME}, {module.DESCRIPTION}",
        COPYRIGHT,
        f"Using interpose-{__version__}; rerun with -h for copyright info",
        f"Command: {command_words(argv)}",
    ]


def banner(log: Log, config: Config, argv: Sequence[str], parent: int, library: str) -> None:
    """Print the banner and, with ``-v``, how the run was set up; after ``-q`` only notices (section 2)."""
    for notice in config.notices:
        log.plain(notice)
    for line in config.passed_over:
        log.debug(line)
    if log.verbosity < 1:
        return
    if not config.core.xml:  # there, the same lines are the preamble
        lines = banner_lines(config, argv)
        if log.to_file:
            lines.append(f"Parent PID: {parent}")
        log.plain("\n".join([*lines, ""]))
    for name in config.without_effect:
        log.plain(f"Warning: {name} is accepted but has no effect in this version")
    if log.verbosity >= 2:
        _verbose_banner(log, config, library)
    elif not config.core.xml:
        for text in config.tool.warnings():
            log.plain(text)


def _verbose_banner(log: Log, config: Config, library: str) -> None:
    log.debug("\n".join(["Interpose options:", *(f"   {word}" for word in config.given)]))
    try:
        with open("/proc/version", encoding="utf-8", errors="replace") as file:
            log.debug(f"Contents of /proc/version:\n  {file.read().strip()}")
    except OSError:
        pass
    page = os.sysconf("SC_PAGESIZE")
    log.debug(f"Arch and hwcaps: AMD64, LittleEndian, {_hardware()}")
    log.debug(f"Page sizes: currently {page}, max supported {page}")
    log.debug(f"Interpose library directory: {library}")


def _hardware() -> str:
    wanted = (
        "cx16",
        "lzcnt",
        "rdtscp",
        "sse3",
        "ssse3",
        "sse4_2",
        "avx",
        "avx2",
        "bmi1",
        "bmi2",
        "f16c",
        "avx512f",
    )
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            flags = next((line.split(":", 1)[1].split() for line in file if line.startswith("flags")), [])
    except OSError:
        flags = []
    return "-".join(["amd64", *(name for name in wanted if name in flags)])
