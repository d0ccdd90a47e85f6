"""The supervisor of programs under the native engine: it prepares each program, then answers what the part of
ours in it tells of the dynamic linker's doings."""

from __future__ import annotations

import contextlib
import copy
import os
import secrets
import select
import socket
import threading
import time

from interpose import paths
from interpose.errors import InterposeError, internal_error, tell
from interpose.native import attach, start, threads, tracer, wire
from interpose.native.agent import Agent
from interpose.native.bindings import MissingTextError, Process
from interpose.native.objects import Reader
from interpose.supervisor.processes import is_traced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from interpose.options.parse import Config
    from interpose.report.log import Log

_AT_BASE = 7
_PAGE_SIZE = 4096
_BACKLOG = 512
_DEPARTURE = 10.0  # seconds that Frida has to clean up
_PATIENCE = 2.0  # seconds that threads have to leave what goes
_TALK = 10.0  # seconds for whoever asks to say what


class Supervisor:
    """All processes of one run."""

    def __init__(self, config: Config, log: Log) -> None:
        self.config = config
        self.log = log
        self._name = f"interpose-{os.getpid()}-{secrets.token_hex(8)}"
        self._token = secrets.token_bytes(wire.TOKEN_SIZE)
        self._library = paths.product(paths.NATIVE)
        self._reader = Reader(config)
        self._processes: dict[int, Process] = {}
        self._linkers: dict[int, int] = {}
        self._agents: dict[int, Agent] = {}
        self._own_threads: dict[int, set[int]] = {}  # the agent's, by process
        self._own_files: dict[int, set[str]] = {}  # its descriptors
        self._own_code: dict[int, set[str]] = {}  # what the injector has mapped
        self._inherited: dict[int, list[wire.Linked]] = {}  # what a forked child had of its parent
        self._alive: dict[int, int] = {}  # pidfds, by process
        self._lock = threading.Lock()
        self._events = threading.Lock()  # one event at a time
        self._wake_read, self._wake_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        # Threads that may execute a program any time now, each with ours that traces it.
        self._following: dict[int, threading.Thread] = {}
        self._failed: MissingTextError | None = None
        self._listener = _listen(f"\0{self._name}")
        threading.Thread(target=self._serve, name="events", daemon=True).start()

    # -- programs --------------------------------------------------------------------------------------

    def prepare(self, tracee: tracer.Tracee) -> None:
        """From the stop at exec to the first constructor.

        Raises NoLinkerError with the thread still stopped; :class:`GoneError` if it ended on the way.
        """
        pid = tracee.tid
        self._watch(pid)
        held = start.hold(tracee)
        try:
            self._enter(pid, held.linker, _spare(pid))
        except InterposeError as error:
            tell(error)
            start.end(held, error.exit_code)
            return
        start.release(held)

    def attach(self, pid: int) -> None:
        """Into a process that runs. Raises InterposeError."""
        self._watch(pid)
        self._enter(pid, start.linker_of(pid), ())

    def _enter(self, pid: int, linker: start.Linker, spare: Sequence[int]) -> None:
        before, files, code = threads.threads_of(pid), _descriptors(pid), _loose_code(pid)
        self._linkers[pid] = tracer.auxiliary(pid).get(_AT_BASE, 0)
        agent = Agent(pid)
        self._agents[pid] = agent
        self._own_threads[pid] = threads.threads_of(pid) - before
        self._own_code[pid] = _loose_code(pid) - code
        wrappers = [os.path.realpath(path) for path in self.config.core.wrappers]
        follows = self.config.core.trace_children
        failed, offset = agent.start(self._library, wrappers, linker, self._name, self._token, follows)
        for path, text in failed:
            self.log.plain(f"Warning: cannot load the wrappers {path}: {text}")
        if spare:
            agent.close_descriptors(spare)
        if self._failed is not None:
            raise self._failed
        self._own_threads[pid] |= agent.threads()
        self._own_files[pid] = _descriptors(pid) - files
        threads.mark(pid, self._own_threads[pid], offset)
        threading.Thread(target=self._control, args=(pid,), name=f"control {pid}", daemon=True).start()

    def _watch(self, pid: int) -> None:
        """Keep a process in mind until it ends."""
        with self._lock:
            if pid not in self._alive:
                self._alive[pid] = os.pidfd_open(pid)
        self._wake()

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake_write, b"\0")

    def run(self) -> None:
        """Until the last process has ended, or was left."""
        while True:
            with self._lock:
                descriptors = {fd: pid for pid, fd in self._alive.items()}
            if not descriptors:
                return
            poll = select.poll()
            for fd in (*descriptors, self._wake_read):
                poll.register(fd, select.POLLIN)
            for fd, _ in poll.poll():
                if fd == self._wake_read:
                    os.read(fd, 4096)
                else:
                    self._forget(descriptors[fd])

    def _forget(self, pid: int) -> None:
        with self._lock:
            if pid in self._alive:
                os.close(self._alive.pop(pid))
            self._processes.pop(pid, None)
            self._linkers.pop(pid, None)
            self._agents.pop(pid, None)
            self._own_threads.pop(pid, None)
            self._own_files.pop(pid, None)
            self._own_code.pop(pid, None)
            self._inherited.pop(pid, None)

    # -- leaving ---------------------------------------------------------------------------------------

    def _control(self, pid: int) -> None:
        """Wait for somebody who wants the process left."""
        try:
            listener = _listen(attach.control_name(pid))
        except OSError:
            return  # it has ended
        while pid in self._agents:
            sock, _ = listener.accept()
            with sock:
                sock.settimeout(_TALK)
                with contextlib.suppress(OSError):
                    if wire.Connection(sock).uid not in (0, os.geteuid()):
                        continue
                    if sock.recv(len(attach.DETACH)) != attach.DETACH:
                        continue
                    sock.sendall(self._leave(pid))
        listener.close()
        self._wake()

    def _leave(self, pid: int) -> bytes:
        """Take everything out of a process; what is said to whoever asked."""
        agent = self._agents[pid]
        try:
            if self._is_deserted(pid, agent.stop()):
                agent.finish()
            else:
                self.log.plain("Warning: the wrappers stay mapped: a thread is in one")
            agent.leave()
            self._await_departure(pid)
        except InterposeError as error:
            return error.message.encode()
        except OSError as error:
            return f"it ended: {error.strerror}".encode()
        self._forget(pid)
        return attach.DONE

    def _await_departure(self, pid: int) -> None:
        """The agent ends its threads and closes its files after it has answered.

        Then the injector makes a thread of the program unmap what it had mapped. To end before it is ready
        would leave that thread there.
        """
        end = time.monotonic() + _DEPARTURE
        while time.monotonic() < end and (
            threads.threads_of(pid) & self._own_threads[pid]
            or _descriptors(pid) & self._own_files[pid]
            or _loose_code(pid) & self._own_code[pid]
            or tracer.tracer_of(pid)
        ):
            time.sleep(0.01)

    def _is_deserted(self, pid: int, pages: list[int]) -> bool:
        """Wait until no thread is in the libraries or on the pages that go, nor returns there."""
        names = [os.fsencode(os.path.realpath(p)) for p in (self._library, *self.config.core.wrappers)]
        ranges = [*_mapped_as(pid, names), *((page, page + _PAGE_SIZE) for page in pages)]
        end = time.monotonic() + _PATIENCE
        while threads.anybody_in(pid, self._own_threads[pid], ranges):
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True

    # -- events ----------------------------------------------------------------------------------------

    def _serve(self) -> None:
        while True:
            sock, _ = self._listener.accept()
            # Anybody may connect and say nothing.
            threading.Thread(target=self._converse, args=(sock,), daemon=True).start()

    def _converse(self, sock: socket.socket) -> None:
        with sock:
            sock.settimeout(_TALK)
            try:
                connection = wire.Connection(sock)
                greeting = connection.greeting(self._token)
                with self._events:
                    self._answer(connection, greeting)
            except wire.BadMessageError:
                return  # nobody of ours, or it ended
            except MissingTextError as error:
                self._failed = error
            except OSError:
                return  # it ended
            except Exception as error:
                tell(internal_error(error))

    def _answer(self, connection: wire.Connection, greeting: wire.Greeting) -> None:
        pid = connection.pid
        process = self._processes.get(pid)
        if pid not in self._linkers:
            # A forked child, whose objects are looked at when they change.
            self._linkers[pid] = tracer.auxiliary(pid).get(_AT_BASE, 0)
            self._watch(pid)
        if greeting.event == wire.FORKED:
            parent = self._processes.get(greeting.parent)
            self._inherited[pid] = [] if parent is None else parent.linked
        elif greeting.event == wire.EXEC:
            self._follow(pid, greeting.thread)
        elif greeting.event == wire.NO_EXEC:
            follower = self._following.pop(greeting.thread, None)
            if follower is not None:
                follower.join()  # it may be traced anew at once
        elif greeting.event == wire.LINKED:
            if process is None:
                process = Process(self.config, self._log_of(pid), self._reader, pid)
                self._processes[pid] = process
                if pid in self._inherited:
                    process.inherited(self._inherited.pop(pid))
            spared = {greeting.thread} | self._own_threads.get(pid, set())
            process.changed(connection, greeting, self._linkers[pid], spared)
        connection.done()

    def _log_of(self, pid: int) -> Log:
        if pid == self.log.pid:
            return self.log
        log = copy.copy(self.log)
        log.pid = pid
        return log

    # -- exec ------------------------------------------------------------------------------------------

    def _follow(self, pid: int, tid: int) -> None:
        """A thread is about to execute a program: returns when it is traced."""
        traced = threading.Event()
        follower = threading.Thread(target=self._await_exec, args=(pid, tid, traced), daemon=True)
        self._following[tid] = follower
        follower.start()
        traced.wait()

    def _await_exec(self, pid: int, tid: int, traced: threading.Event) -> None:
        try:
            try:
                tracee = tracer.Tracee(tid, tells_exec=True)
            finally:
                traced.set()
            if self._has_executed(tracee, pid, tid):
                tracee.tid = pid  # exec makes the thread the process's first
                self._executed(tracee)
        except tracer.GoneError:
            return
        except OSError as error:
            self.log.plain(f"Warning: process {pid} is not followed over exec: {error.strerror}")
        except Exception as error:
            tell(internal_error(error))

    def _has_executed(self, tracee: tracer.Tracee, pid: int, tid: int) -> bool:
        """Wait for the thread to execute; false if it could not and is traced no more."""
        while tid in self._following:
            for number in {tid, pid}:
                stop = tracer.look(number)
                if stop is None:
                    continue
                if stop[1] == tracer.EVENT_EXEC:
                    self._following.pop(tid, None)
                    return True
                tracee.go_on(stop[0] if not stop[1] else 0)
            time.sleep(0.0005)
        tracee.stop()
        tracee.let_go()
        return False

    def _executed(self, tracee: tracer.Tracee) -> None:
        pid = tracee.tid
        with self._lock:
            self._processes.pop(pid, None)
            self._agents.pop(pid, None)
            self._own_threads.pop(pid, None)
            self._own_files.pop(pid, None)
            self._own_code.pop(pid, None)
            self._inherited.pop(pid, None)
        path = os.readlink(f"/proc/{pid}/exe")
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            argv = [os.fsdecode(word) for word in file.read().split(b"\0")[:-1]]
        try:
            if is_traced(self.config.core, path, argv):
                self.prepare(tracee)
                return
        except start.NoLinkerError as error:
            if self.config.core.verbosity > 1:
                self.log.plain(f"Warning: {path} runs without wrappers: {error}")
        start.close_descriptors(tracee, _spare(pid))
        tracee.let_go()


def _listen(name: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    listener.bind(name)
    listener.listen(_BACKLOG)
    return listener


def _descriptors(pid: int) -> set[str]:
    """The open files of a process, with their numbers."""
    folder = f"/proc/{pid}/fd"
    found = set()
    for name in os.listdir(folder):
        with contextlib.suppress(OSError):  # closed
            found.add(f"{name} {os.readlink(f'{folder}/{name}')}")
    return found


def _loose_code(pid: int) -> set[str]:
    """The address ranges of a process that are writable code of no file."""
    with open(f"/proc/{pid}/maps") as file:
        rows = [line.split() for line in file]
    return {row[0] for row in rows if row[1].startswith("rwx") and len(row) == 5}


def _mapped_as(pid: int, names: Sequence[bytes]) -> list[tuple[int, int]]:
    """The address ranges of a process that some files are mapped at."""
    found = []
    with open(f"/proc/{pid}/maps", "rb") as file:
        for line in file:
            fields = line.rstrip(b"\n").split(None, 5)
            if len(fields) == 6 and fields[5] in names:
                start_, _, end = fields[0].partition(b"-")
                found.append((int(start_, 16), int(end, 16)))
    return found


def _spare(pid: int) -> list[int]:
    """The descriptors that only keep low numbers from the agent."""
    wanted, last = f"/memfd:{wire.SPARE} (deleted)", wire.last_low(pid)
    numbers = map(int, os.listdir(f"/proc/{pid}/fd"))
    return [fd for fd in numbers if fd < last and os.readlink(f"/proc/{pid}/fd/{fd}") == wanted]
