"""The supervisor of programs under the native engine: it prepares each program, then answers what the part of
ours in it tells of the dynamic linker's doings."""

from __future__ import annotations

import os
import secrets
import select
import socket
import threading

from interpose import paths
from interpose.errors import InterposeError, internal_error, tell
from interpose.native import start, tracer, wire
from interpose.native.agent import Agent
from interpose.native.bindings import MissingTextError, Process, own_threads
from interpose.native.objects import Reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from interpose.options.parse import Config
    from interpose.report.log import Log

_AT_BASE = 7
_BACKLOG = 512


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
        self._alive: dict[int, int] = {}  # pidfds, by process
        self._lock = threading.Lock()
        self._wake_read, self._wake_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._failed: MissingTextError | None = None
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        self._listener.bind(f"\0{self._name}")
        self._listener.listen(_BACKLOG)
        threading.Thread(target=self._serve, name="events", daemon=True).start()

    # -- programs --------------------------------------------------------------------------------------

    def prepare(self, tracee: tracer.Tracee, last: int = 0) -> None:
        """From the stop at exec to the first constructor. ``last``: our descriptors fill the numbers below.

        Raises NoLinkerError with the thread still stopped; :class:`GoneError` if it ended on the way.
        """
        pid = tracee.tid
        self._watch(pid)
        held = start.hold(tracee)
        try:
            self._enter(pid, held.linker, _spare(pid, last))
            if self._failed is not None:
                raise self._failed
        except InterposeError as error:
            tell(error)
            start.end(held, error.exit_code)
            return
        start.release(held)

    def _enter(self, pid: int, linker: start.Linker, spare: Sequence[int]) -> None:
        threads = own_threads(pid)
        self._linkers[pid] = tracer.auxiliary(pid).get(_AT_BASE, 0)
        agent = self._agents[pid] = Agent(pid)
        wrappers = self.config.core.wrappers
        failed, offset = agent.start(self._library, wrappers, linker, self._name, self._token)
        for path, text in failed:
            self.log.plain(f"Warning: cannot load the wrappers {path}: {text}")
        if spare:
            agent.close_descriptors(spare)
        start.mark_threads(pid, threads, offset)

    def _watch(self, pid: int) -> None:
        """Keep a process in mind until it ends."""
        with self._lock:
            if pid not in self._alive:
                self._alive[pid] = os.pidfd_open(pid)
        os.write(self._wake_write, b"\0")

    def run(self) -> None:
        """Until the last process has ended."""
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
                    self._ended(descriptors[fd])

    def _ended(self, pid: int) -> None:
        with self._lock:
            os.close(self._alive.pop(pid))
            self._processes.pop(pid, None)
            self._linkers.pop(pid, None)
            self._agents.pop(pid, None)

    # -- events ----------------------------------------------------------------------------------------

    def _serve(self) -> None:
        while True:
            sock, _ = self._listener.accept()
            with sock:
                try:
                    self._answer(wire.Connection(sock))
                except wire.BadMessageError:
                    continue  # nobody of ours, or it ended
                except MissingTextError as error:
                    self._failed = error
                except OSError:
                    continue  # it ended
                except Exception as error:
                    tell(internal_error(error))

    def _answer(self, connection: wire.Connection) -> None:
        greeting = connection.greeting(self._token)
        pid = connection.pid
        process = self._processes.get(pid)
        if process is None:
            process = Process(self.config, self.log, self._reader, pid)
            if pid not in self._linkers:  # a forked child
                self._linkers[pid] = tracer.auxiliary(pid).get(_AT_BASE, 0)
                self._watch(pid)
                process.inherited(greeting, self._linkers[pid])
            self._processes[pid] = process
        if greeting.event == wire.LINKED:
            process.changed(connection, greeting, self._linkers[pid])
        connection.done()


def _spare(pid: int, last: int) -> list[int]:
    """The descriptors that only kept low numbers from the agent: those of the root folder's path."""
    found = []
    for name in os.listdir(f"/proc/{pid}/fd") if last else ():
        with open(f"/proc/{pid}/fdinfo/{name}") as file:
            flags = next((line for line in file if line.startswith("flags:")), "flags: 0")
        is_path = int(flags.split()[1], 8) & os.O_PATH
        if int(name) < last and is_path and os.readlink(f"/proc/{pid}/fd/{name}") == "/":
            found.append(int(name))
    return found
