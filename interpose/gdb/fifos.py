"""How vgdb reaches a program: two FIFOs and a word of shared memory, with Valgrind's names and layout.

What comes in goes to a :class:`Receiver`; nothing of that is loaded before somebody calls.
"""

from __future__ import annotations

import os

from interpose import system
from interpose.jit._native import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import suppress
    from typing import Protocol

    from interpose.supervisor.client import Client
    from interpose.supervisor.main import Supervisor
else:
    Protocol = object
    from interpose.plain import suppress

SHARED_SIZE = 48
"""Bytes of the shared memory (VgdbShared64): written_by_vgdb and seen_by_valgrind, 4 bytes each; where a
server is forced in, which nobody needs here; from :data:`VGDB_PID_AT` on the number of the vgdb it serves."""
NEVER = 999_999_999
"""``--vgdb-error`` where nobody has set it."""
VGDB_PID_AT = 40
_CALL = b"\x03"
_PIECE = 1 << 16
_PATIENCE_MS = 200  # between two looks whether somebody who does not read is there at all


class Receiver(Protocol):
    """Whoever speaks gdb's protocol.

    :ivar outlives_program: it has something to answer when the program is gone.
    """

    @property
    def outlives_program(self) -> bool: ...
    def receive(self, data: bytes, /) -> None: ...
    def closed(self) -> None: ...


def prefix(given: str | None, environ: Mapping[str, str]) -> str:
    """``--vgdb-prefix``, else ``$TMPDIR/vgdb-pipe`` or ``/tmp/vgdb-pipe``."""
    return given if given is not None else f"{environ.get('TMPDIR') or '/tmp'}/vgdb-pipe"


def names(start: str, pid: int, environ: Mapping[str, str]) -> tuple[str, str, str]:
    """The files of a process: requests, replies, shared memory."""
    user = environ.get("LOGNAME") or environ.get("USER") or "???"
    host = environ.get("HOST") or environ.get("HOSTNAME") or "???"
    end = f"{pid}-by-{user}-on-{host}".replace("/", "_")
    return f"{start}-from-vgdb-to-{end}", f"{start}-to-vgdb-from-{end}", f"{start}-shared-mem-vgdb-{end}"


def _identity(info: os.stat_result) -> tuple[int, int]:
    return info.st_dev, info.st_ino


class Lent:
    """The ends of FIFOs that another process made, for whoever may go on with its conversation."""

    def __init__(self, fds: tuple[int, int, int]) -> None:
        self.fds = fds

    def close(self) -> None:
        """It is not wanted any more."""
        for fd in self.fds:
            if fd >= 0:
                os.close(fd)
        self.fds = -1, -1, -1


class Fifos:
    """The files of one process, and whoever is connected.

    :ivar wanted: a process that is to have files; made by :meth:`serve`, because most of those that a program
        forks are gone before.
    """

    def __init__(self, supervisor: Supervisor, start: str) -> None:
        self._supervisor = supervisor
        self._start = start
        self._paths: tuple[str, ...] = ()
        self._made: list[tuple[str, tuple[int, int]]] = []
        self._from = self._to = self._shared = -1
        self._vgdb = self._calls = 0
        self._is_silent = self._adopted = self._is_told = False
        self._begun: Client | None = None
        self._receiver: Receiver | None = None
        self.wanted = 0
        self.pid = 0

    # -- files ---------------------------------------------------------------------------------

    def open(self, pid: int) -> None:
        """Be reachable under this process's number.  Without a place for the files, a line says so."""
        if pid == self.pid:
            return
        self.close()
        self.wanted, self.pid = 0, pid
        requests, replies, shared = self._paths = names(self._start, pid, os.environ)
        try:
            for path in self._paths:  # of an earlier process of this number, which was killed
                with suppress(FileNotFoundError):
                    os.unlink(path)
            self._leave_to_program(self._paths)  # before there is one: we may be killed at any moment
            flags = os.O_CLOEXEC | os.O_NOFOLLOW
            self._shared = os.open(shared, flags | os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            self._note(shared)
            os.pwrite(self._shared, bytes(SHARED_SIZE), 0)  # a hole might find no room when it is written to
            for path in (replies, requests):  # the last one is looked for
                os.mkfifo(path, 0o600)
                self._note(path)
            self._from = os.open(requests, flags | os.O_RDONLY | os.O_NONBLOCK)
            # Also to read: nobody else is needed to open it, and it stays open between two that call, so that
            # the end of the replies always means the end of the program.
            self._to = os.open(replies, flags | os.O_RDWR | os.O_NONBLOCK)
            if (problem := lib.ip_watch(self._from)) < 0:
                raise OSError(-problem, os.strerror(-problem))
        except OSError as error:
            name = error.filename or requests
            self._leave_to_program(("", "", ""))
            self.close()
            self.pid = pid  # once is enough
            self._tell(f"cannot make {name}: {error.strerror}; vgdb and gdb do not find this program")

    def _leave_to_program(self, paths: tuple[str, ...]) -> None:
        """What it removes when we are killed: the kernel tells nobody else."""
        left = self._supervisor.session.memory.header.left_files
        for place, path in zip(left, paths, strict=True):
            name = os.fsencode(os.path.abspath(path)) if path else b""
            if len(name) < len(place):
                ffi.memmove(place, name + b"\0", len(name) + 1)

    def _note(self, path: str) -> None:
        self._made.append((path, _identity(os.lstat(path))))

    def _tell(self, text: str) -> None:
        core = self._supervisor.config.core
        if core.vgdb_prefix is not None or core.vgdb_error == 0 or core.verbosity > 1:
            self._supervisor.log.plain(f"Warning: {text}")

    def tell_how(self) -> None:
        """A line for gdb's user, where the options make one likely; whenever somebody else can come."""
        core = self._supervisor.config.core
        likely = core.vgdb_error < NEVER or core.vgdb_stop_at or core.verbosity > 1
        if self._from < 0 or self._supervisor.finished or not likely:
            return
        self._is_told = True
        prefix = f"--vgdb-prefix={core.vgdb_prefix} " if core.vgdb_prefix is not None else ""
        self._supervisor.log.plain(
            "\nTO DEBUG THIS PROCESS USING GDB: start GDB like this\n"
            f"  /path/to/gdb {self._supervisor.session.argv[0]}\n"
            "and then give GDB the following command\n"
            f"  target remote | interpose-vgdb {prefix}--pid={self.pid}\n"
            "--pid is optional if only one valgrind process is running\n"
        )

    def tell_child(self) -> None:
        """The same where gdb is waited for the first time: a forked child has said nothing yet."""
        if self.wanted:
            self.open(self.wanted)
        if not self._is_told and self._receiver is None:
            self.tell_how()

    def forget(self) -> None:
        """This is a copy: the files are another process's."""
        self.lend().close()

    def lend(self) -> Lent:
        """The same, and the files stay open: :meth:`adopt` may follow."""
        lent = Lent((self._from, self._to, self._shared))
        self._receiver = None
        self._from = self._to = self._shared = -1
        self._paths = ()
        self._made = []
        self.wanted = self.pid = 0
        self._adopted = self._is_told = False
        return lent

    def adopt(self, lent: Lent, receiver: Receiver) -> Callable[[bytes], None]:
        """Go on with a conversation that another process has begun; what sends to it.

        At its end this process gets files of its own.
        """
        self.close()
        self._from, self._to, self._shared = lent.fds
        self._receiver, self._adopted = receiver, True
        lib.ip_watch(self._from)
        return self._send

    @property
    def is_adopted(self) -> bool:
        """The conversation under way was begun with another process."""
        return self._adopted

    def give_up(self, *, anew: bool) -> None:
        """Somebody else goes on with the conversation; be reachable by another one, or no more."""
        pid = self.pid
        self._receiver = None
        self.close()
        if anew:
            self.open(pid)

    def close(self) -> None:
        """Be reachable no more; whoever is connected is told by the end of the replies."""
        self._hang_up()
        if self._made:
            self._leave_to_program(("", "", ""))
        self.withdraw()
        self.forget()

    def withdraw(self) -> None:
        """Be found no more; whoever is connected stays so.

        Before the program goes: it removes the files if we are killed.
        """
        for path, identity in self._made:
            with suppress(OSError):
                if _identity(os.lstat(path)) == identity:  # not of a process that has this number now
                    os.unlink(path)
        self._made = []

    def leave_alone(self) -> None:
        """The program goes on without us, and nobody would remove the files if we were killed then.

        A conversation under way goes on, and its files stay, until it does.
        """
        if self._receiver is None:
            self.withdraw()

    def come_back(self) -> None:
        """It does not go."""
        if self.pid and not self._made:
            pid = self.pid
            self.close()
            self.wanted = pid

    # -- talk ----------------------------------------------------------------------------------

    def serve(self) -> None:
        """Take what has come; from the event loop, when a watched file says something, and now and then."""
        if self.wanted and not self._supervisor.leaving:
            self.open(self.wanted)
        client = self._supervisor.client
        debugger = self._supervisor.debugger_or_none
        is_attached = debugger is not None and debugger.listener is not None
        if is_attached and self._supervisor.pending_exec is not None:
            return  # nobody can be stopped until it is through, or has failed
        if self._begun is None or (is_attached and self._begun is not client):
            if not client.has_begun():
                return  # gdb would take a program without threads for one that has ended
            self._begun = client
        while self._from >= 0 and not self._is_silent:
            try:
                data = os.read(self._from, _PIECE)
            except BlockingIOError:
                break
            if not data:
                self._see()  # vgdb counts what it has written after it has
                was_called = self._receiver is not None  # there is no data either while nobody calls
                self._hang_up()
                self._drain()
                if self._adopted:
                    self.forget()
                    self.wanted = self._supervisor.client.pid
                if was_called:
                    self.tell_how()
                break
            self._see()
            self._take(data)
        if self._receiver is not None:
            self._see()

    def hear_out(self) -> None:
        """The program is gone: answer on while gdb has something to leave, until it has or is gone itself."""
        while self._receiver is not None and self._receiver.outlives_program:
            system.poll(self._from, -1)
            self.serve()

    def counts(self) -> tuple[int, int, int]:
        """Writes of vgdb, writes seen, and how often somebody has called."""
        if self._shared < 0:
            return 0, 0, self._calls
        data = os.pread(self._shared, 8, 0)
        return int.from_bytes(data[:4], "little"), int.from_bytes(data[4:], "little"), self._calls

    def fall_silent(self) -> None:
        """Somebody has ended the program: what it was asked gets no answer any more, as in Valgrind."""
        self._is_silent = True

    def _take(self, data: bytes) -> None:
        caller = self._caller()
        if self._receiver is not None and caller != self._vgdb:
            # The next one called before we saw the last one leave.
            self._hang_up()
            data = data[max(0, data.rfind(_CALL)) :]
        if self._receiver is None:
            from interpose.gdb.receiver import make

            self._vgdb = caller
            self._calls += 1
            self._drain()
            self._receiver = make(self._supervisor, self._send)
        self._receiver.receive(data)

    def _caller(self) -> int:
        """The process number of the vgdb that called last."""
        return int.from_bytes(os.pread(self._shared, 4, VGDB_PID_AT), "little")

    def _drain(self) -> None:
        """Replies that nobody has read are not for the next one."""
        with suppress(OSError):
            while os.read(self._to, _PIECE):
                pass

    def _see(self) -> None:
        """What was written is seen: nobody needs to look for us."""
        os.pwrite(self._shared, os.pread(self._shared, 4, 0), 4)

    def reset_output(self, why: str) -> None:
        """``v.set gdb_output`` ends with the conversation."""
        supervisor = self._supervisor
        supervisor.log.sink = None
        if supervisor.monitor_output == "gdb":
            supervisor.monitor_output = "mixed"
            supervisor.log.plain(f"Reset valgrind output to log ({why})")

    def _hang_up(self) -> None:
        receiver, self._receiver = self._receiver, None
        if receiver is not None:
            self.reset_output("orderly_finish" if self._supervisor.finished else "reset_after_error")
            receiver.closed()

    @property
    def is_heard(self) -> bool:
        """Whoever we reply to is still there."""
        return self._from >= 0 and not (
            system.poll(self._from, 0) & lib.IP_HUNG_UP or self._caller() != self._vgdb
        )

    def _send(self, data: bytes) -> None:
        """Write a reply; it waits for a reader that lives, as long as the program does."""
        import select

        if self._caller() != self._vgdb:
            return  # somebody else is there now
        left = memoryview(data)
        ready = None
        while left and self._to >= 0 and not self._is_silent:
            try:
                left = left[os.write(self._to, left) :]
            except BlockingIOError:
                if ready is None:
                    ready = select.poll()
                    ready.register(self._to, select.POLLOUT)
                is_left = not ready.poll(_PATIENCE_MS) and not self.is_heard
                if is_left or self._supervisor.client.is_dead():
                    return  # the end of the requests says so, too
