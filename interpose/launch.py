"""Client and supervisor come to life.

The process that the user started becomes the client: it executes the runtime, in place, with the program's
own arguments and environment.  Before, it forks twice, so that the supervisor is no child that the program
could wait for: the command, which is no Python (:mod:`interpose.launched`), to have all this done in the
second child; ``python -m interpose`` when all is prepared.  The supervisor has a session of its own (Ctrl-C
is the program's) and keeps none of the program's files open but the log: whoever reads the program's output
sees its end when the program ends.
"""

from __future__ import annotations

import _signal
import os

from interpose import launched, paths, system, tools
from interpose.errors import LaunchError, Told
from interpose.jit._native import ffi, lib
from interpose.program import gained_by, resolve
from interpose.report.log import FileNames, Log
from interpose.session import (
    Memory,
    Session,
    above_stdio,
    fill_channel,
    lift_limit,
    place,
    start_translator,
)

# What is loaded before there are two processes costs no copies of the pages that it changes.
from interpose.supervisor.end import supervise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from interpose.options.parse import Config
    from interpose.report.jsonlines import JsonReport
    from interpose.report.xmlfile import XmlReport

# What the supervisor says over the socket: it serves; or it ends, and has said why.
READY, TOLD = bytes([lib.IP_LAUNCH_READY]), bytes([lib.IP_TOLD])
"""What a supervisor answers the process that launches it: it serves, or it has said why it does not."""
NEVER_READY = "the supervisor process ended before it was ready (killed?)"
_TUNABLES = b"GLIBC_TUNABLES"


def launch(config: Config) -> NoReturn:
    """Run the program of a configuration; returns by an :class:`InterposeError` only."""
    lib.ip_guard_python()
    launcher = launched.waiting
    if launcher is not None:
        lib.ip_last_words_to(launcher.sock)
        lib.ip_name_process(b"interpose")
    files = _more_files()
    program = resolve(config.program, os.environ)
    if privileges := gained_by(program.path):
        notice = f"Warning: {program.path} runs without its {privileges} rights"
        config = config.replace(notices=(*config.notices, f"{notice}: only the kernel's own exec gives them"))
    client_pid = os.getpid() if launcher is None else launcher.pid
    parent_pid = os.getppid() if launcher is None else launcher.parent
    names = FileNames(client_pid)
    log = Log.open(config, names)
    if config.core.suppressions:
        _check_suppressions(config, log, parent_pid)
    json = open_json(config, names)
    xml = _open_xml(config, names, log)
    _check_names(config, names)
    runtime_path = paths.runtime(config.tool_name)
    memory = Memory()
    fill_channel(memory, config, program.path, client_pid)
    if launcher is not None:
        # No option can mean this descriptor any more.
        high, launcher.sock = launcher.sock, system.duplicate(launcher.sock, 3)
        os.close(high)
        session = Session(config, program, memory, launcher.sock, client_pid, parent_pid, log, json, xml)
        _serve(session, runtime_path)
    our_fd, their_fd = map(above_stdio, system.socket_pair())
    session = Session(config, program, memory, our_fd, client_pid, parent_pid, log, json, xml)

    intermediate = fork()
    if intermediate == 0:
        _become_supervisor(session)
    os.close(our_fd)
    wait_for_supervisor(intermediate, their_fd)
    if config.core.wait_for_gdb:
        _delay(client_pid)
    runtime = above_stdio(os.open(runtime_path, os.O_RDONLY | os.O_CLOEXEC))
    base = place([runtime, *memory.descriptors(), their_fd])
    if files is not None:
        system.set_limit(lib.IP_LIMIT_NOFILE, files)
    _execute(base, program.argv)
    raise LaunchError(f"cannot execute {runtime_path}: {os.strerror(ffi.errno)}")


def _check_suppressions(config: Config, log: Log, parent_pid: int) -> None:
    """A file of suppressions that cannot be used is told in the log, behind the banner, and ends the run."""
    from interpose.report.suppressions import SuppressionFileError

    try:
        tools.load(config.tool_name, "tool").Tool.check(config)
    except SuppressionFileError as error:
        from interpose.report.log import banner

        banner(log, config, config.program, parent_pid, paths.library())
        log.plain("\n".join(error.lines()))
        log.close()
        raise Told(*error.lines(), exit_code=error.exit_code) from None


def _more_files() -> tuple[int, int] | None:
    """Make room for what this process opens; the limits before, the program's, if they had to change."""
    soft, hard = limits = system.limit(lib.IP_LIMIT_NOFILE)
    if soft >= min(lib.IP_FEW_FILES, hard):
        return None
    system.set_limit(lib.IP_LIMIT_NOFILE, (min(lib.IP_FEW_FILES, hard), hard))
    return limits


def open_json(config: Config, names: FileNames) -> JsonReport | None:
    """The report in JSON, if one is wanted; its descriptor is none of the program's."""
    core = config.core
    is_written = core.json_kind != "fd" or core.json_fd >= 0
    if not is_written and core.sarif_file is None and core.html_file is None:
        return None
    from interpose.report.jsonlines import JsonReport

    report = JsonReport.open(config, names)
    if core.json_kind == "fd" and core.json_fd > 2:
        os.set_inheritable(core.json_fd, False)
    return report


def _open_xml(config: Config, names: FileNames, log: Log) -> XmlReport | None:
    core = config.core
    if not core.xml:
        if core.xml_kind == "file":  # a name that is none is wrong all the same; by a copy, as %n counts
            FileNames(names.pid, names.environ, names.folder).expand("--xml-file", core.xml_file or "")
        return None
    from interpose.report.xmlfile import XmlReport

    return XmlReport.open(config, names, log)


def _check_names(config: Config, names: FileNames) -> None:
    """Names of files that are made when the program has run; by a copy, as ``%n`` counts."""
    copy = FileNames(names.pid, names.environ, names.folder)
    for option, template in (*config.core.written_late(), *config.tool.written_late()):
        copy.expand(option, template)


def fork() -> int:
    """Raises LaunchError."""
    try:
        return os.fork()
    except OSError as error:
        raise LaunchError(f"cannot start the supervisor process: {error.strerror}") from None


def wait_for_supervisor(intermediate: int, sock: int) -> None:
    """Go on when the supervisor that a child has forked is ready; end where it has said why it is not."""
    reap(intermediate)
    answer = os.read(sock, 1)
    if answer == TOLD:
        os._exit(1)
    if answer != READY:
        raise LaunchError(NEVER_READY)


def reap(pid: int) -> None:
    """Wait until a child is gone.  Where SIGCHLD is ignored, as an exec leaves it, nobody is told how."""
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        return


def original_environment() -> list[bytes]:
    """The environment as it was given to this process.

    ``os.environ`` is not it: Python sets LC_CTYPE in the C locale (PEP 538), and a mapping has no place for
    entries that are repeated or lack ``=``.  In GLIBC_TUNABLES, as it was given, the dynamic linker ends each
    tunable that it knows; what ``os.environ`` has is a copy from before.
    """
    try:
        with open("/proc/self/environ", "rb", buffering=0) as file:
            text = file.readall()
    except OSError:
        return [name + b"=" + value for name, value in os.environb.items()]
    if _TUNABLES in os.environb:
        whole = _TUNABLES + b"=" + os.environb[_TUNABLES]
        at = (b"\0" + text).find(b"\0" + _TUNABLES + b"=")
        if text[at : at + len(whole)].replace(b"\0", b":") == whole:
            text = text[:at] + whole + text[at + len(whole) :]
    entries = text.split(b"\0")
    return entries[:-1] if entries[-1] == b"" else entries


def _execute(runtime: int, argv: tuple[str, ...]) -> None:
    """Execute the runtime in this process; returns if that failed."""
    heed_signals()
    if "LD_PROFILE" in os.environ:
        # The dynamic linker profiles this process, too, and the timer would outlive its handler.
        _signal.setitimer(_signal.ITIMER_PROF, 0)
    arguments = [ffi.new("char[]", os.fsencode(word)) for word in argv]
    variables = [ffi.new("char[]", entry) for entry in original_environment()]
    lib.fexecve(
        runtime,
        ffi.new("char *[]", [*arguments, ffi.NULL]),
        ffi.new("char *[]", [*variables, ffi.NULL]),
    )


def heed_signals() -> None:
    """Python ignores some signals, and an ignored signal stays so over exec."""
    for name in ("SIGPIPE", "SIGXFZ", "SIGXFSZ"):
        if hasattr(_signal, name):
            _signal.signal(getattr(_signal, name), _signal.SIG_DFL)


def _become_supervisor(session: Session) -> NoReturn:
    """In the first child: fork again, leave the program's session and files, serve."""

    def work() -> None:
        lib.ip_last_words_to(session.sock_fd)
        lib.ip_catch_faults()
        os.setsid()
        if fork() != 0:
            os._exit(0)
        _work(session, READY)

    supervise(session, work)


def _serve(session: Session, runtime_path: str) -> NoReturn:
    """Be the supervisor that a launcher has started: it gets all that it needs to execute the runtime."""

    def work() -> None:
        lib.ip_last_words_to(session.sock_fd)
        lib.ip_catch_faults()
        runtime = above_stdio(os.open(runtime_path, os.O_RDONLY | os.O_CLOEXEC))
        os.setsid()
        words = b"".join(os.fsencode(word) + b"\0" for word in (runtime_path, *session.program.argv))
        head = ffi.new("struct ip_launch *", (lib.IP_LAUNCH_READY, 0, 0, len(words)))
        if session.config.core.wait_for_gdb:
            _delay(session.client_pid)
        _work(session, bytes(ffi.buffer(head)) + words, runtime)

    supervise(session, work)


def _delay(pid: int) -> None:
    """--wait-for-gdb."""
    import time

    os.write(2, f"pid={pid}, entering delay 8000 ms loop\n".encode())
    time.sleep(8)


def _work(session: Session, answer: bytes, *runtime: int) -> None:
    """Leave the program's files, answer the process that is to execute the runtime, serve.

    :param runtime: its descriptor, if that process has neither it nor the memory files: they go with the
        answer.
    """
    _lift_limits()
    outputs = (session.log, session.json, session.xml)
    written = {fd for output in outputs if output is not None for fd in output.descriptors()}
    memory = session.memory.descriptors()
    leave_files({*memory, *runtime, session.sock_fd, *written, *_given(session.config)})
    session.memory.header.supervisor_pid = os.getpid()
    _load_hooks(session)
    start_translator(session)
    lib.ip_last_words_to(-1)
    try:
        system.send_files(session.sock_fd, answer, (*runtime, *memory) if runtime else ())
    except OSError:
        return  # killed meanwhile: nobody to serve
    for fd in runtime:
        os.close(fd)
    from interpose.supervisor.main import run

    run(session)


def _given(config: Config) -> set[int]:
    """Descriptors of the program's that options name as files."""
    named = [word for word in config.given if "=/dev/" in word or "=/proc/self/" in word]
    if not named:
        return set()
    from interpose.report import given

    return given.keep(named)


def _load_hooks(session: Session) -> None:
    """--hooks: executed here, and before there is another thread."""
    if not session.config.core.hooks:
        return
    from interpose.hooks.load import begin

    launched.complete()
    session.hooks = begin(session.config.core.hooks, session.log, session.sock_fd)


def _lift_limits() -> None:
    """The program's limits are for the program."""
    for which in (
        lib.IP_LIMIT_AS,
        lib.IP_LIMIT_DATA,
        lib.IP_LIMIT_STACK,
        lib.IP_LIMIT_FSIZE,
        lib.IP_LIMIT_CPU,
        lib.IP_LIMIT_NOFILE,
    ):
        lift_limit(which)


def _highest_descriptor() -> int:
    """Kernels before 5.9 have no close_range: there each number up to the end costs a call."""
    try:
        return max(map(int, os.listdir("/proc/self/fd")))
    except OSError:
        return 1 << 30


def leave_files(kept: set[int]) -> None:
    """Close what belongs to the program; standard error stays for messages about ourselves."""
    try:
        null = os.open(os.devnull, os.O_RDWR)
    except OSError:  # no /dev here, or not for us
        null = os.memfd_create("null")
    for fd in (0, 1):
        os.dup2(null, fd)
    if null > 2:
        os.close(null)
    lowest = 3
    for fd in sorted(kept):
        os.closerange(lowest, fd)
        lowest = fd + 1
    os.closerange(lowest, _highest_descriptor() + 1)
    _signal.signal(_signal.SIGPIPE, _signal.SIG_IGN)
