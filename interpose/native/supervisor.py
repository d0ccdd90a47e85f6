"""The supervisor of programs under the native engine: it prepares each program, then answers what the part of
ours in it tells of the dynamic linker's doings."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import signal
import socket
import threading
import time

from interpose import paths, system
from interpose.errors import InterposeError, MissingTextError, internal_error, tell
from interpose.jit._native import lib
from interpose.native import attach, limits, start, tracer, wire
from interpose.native.bindings import Process
from interpose.native.cleaner import Cleaner
from interpose.native.departure import Departures
from interpose.native.ends import Reports, command_of, status_of
from interpose.native.objects import Reader
from interpose.native.presence import Presence
from interpose.supervisor.processes import is_traced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from interpose.native.hookserver import Hooks
    from interpose.options.parse import Config
    from interpose.report.jsonlines import JsonReport
    from interpose.report.log import Log

_AT_BASE = 7
_BACKLOG = 512
_TALK = 10.0  # seconds for whoever asks to say what
_MOMENT = 20  # milliseconds
_GENERATIONS = 16  # of forks that nobody has told of


class Supervisor:
    """All processes of one run."""

    def __init__(
        self, config: Config, log: Log, pid: int, waits: int, json: JsonReport | None = None
    ) -> None:
        """For the process ``pid``; before there is another thread. Raises InterposeError.

        At the other end of ``waits`` somebody waits for us to be ready.
        """
        self.config = config
        self.log = log
        self._reports = Reports(config, log, json)
        self._logs: dict[int, Log] = {}  # those of other processes that have said something
        self._name = f"interpose-{os.getpid()}-{secrets.token_hex(8)}"
        self._token = secrets.token_bytes(wire.TOKEN_SIZE)
        self._cleaner = Cleaner()
        self._runners: dict[int, int] = {}  # pidfds of processes that run hooks: whose
        self._hooks: Hooks | None = None
        if config.core.hooks:
            self._hooks = self._start_hooks(pid, waits)
            self._runners[os.pidfd_open(self._hooks.first)] = pid
        self._first: int | None = pid
        """The process that the user named, as long as it executes no other program."""
        self._hook_names: dict[int, str] = {}  # where the process listens that runs the hooks of one
        self._library = paths.product(paths.NATIVE)
        self._reader = Reader(config)
        self._processes: dict[int, Process] = {}
        self._linkers: dict[int, int] = {}
        self._inherited: dict[int, tuple[Process, list[wire.Linked]]] = {}
        """Forked children that have told of no object yet: whose copies they are, what they began with."""
        self._alive: dict[int, int] = {}  # pidfds, by process
        self._lock = threading.Lock()
        self._events = threading.Lock()  # one event at a time
        self._wake_read, self._wake_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        # Threads that may execute a program any time now, each with ours that traces it.
        self._following: dict[int, threading.Thread] = {}
        self._failed: MissingTextError | None = None
        self._listeners: dict[int, socket.socket] = {}  # by the namespace of the network
        self._callers: set[socket.socket] = set()  # who have not said yet what they want
        self._forks = 0  # under way: their children are to come
        self._last_call = 0.0  # when to listen no more
        self._departures = Departures(
            self._log_of,
            self._library,
            config.core.wrappers,
            self._left,
            self._replaced,
            lambda: self._forks > 0,
        )
        self._listen()

    def _start_hooks(self, pid: int, waits: int) -> Hooks:
        from interpose.hooks.load import begin

        lib.ip_last_words_to(waits)
        lib.ip_catch_faults()  # here until the hooks are loaded, in the process that runs them to its end
        registry = begin(self.config.core.hooks, self.log, waits)
        lib.ip_last_words_to(-1)
        from interpose.native.hookserver import Hooks

        private = [waits, self._cleaner.fd]
        hooks = Hooks(self.config, self.log, registry, pid, self._name, self._token, private)
        for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT):
            signal.signal(number, signal.SIG_DFL)
        return hooks

    # -- programs --------------------------------------------------------------------------------------

    def prepare(self, tracee: tracer.Tracee, descriptors: limits.Limits | None = None) -> None:
        """From the stop at exec to the first constructor; with this limit of descriptors from then on.

        Raises NoLinkerError with the thread still stopped; :class:`GoneError` if it ended on the way.
        """
        pid = tracee.tid
        self._watch(pid)
        self._cleaner.hold(pid)
        try:
            held = start.hold(tracee)
            try:
                for complaint in self._enter(pid, held.linker, _spare(pid), descriptors):
                    self.log.plain(f"Warning: {complaint}")
            except tracer.GoneError:
                raise
            except Exception as error:  # of a fault of ours, too: nobody else ends the program
                told = error if isinstance(error, InterposeError) else internal_error(error)
                tell(told, self.log)
                self._cleaner.let_go(pid)
                start.end(held, told.exit_code)
                return
            self._cleaner.let_go(pid)
            start.release(held)
        finally:
            self._cleaner.release(pid)

    def attach(self, pid: int) -> None:
        """Into a process that runs, with all of the wrappers. Raises InterposeError."""
        self._watch(pid)
        try:
            self._listen(wire.network_of(pid))
        except OSError as error:
            reason = f"its network namespace cannot be entered: {error.strerror}"
            raise attach.AttachError(pid, reason) from None
        failed = self._enter(pid, start.linker_of(pid), ())
        if failed:
            self._departures.leave(pid)
            raise attach.AttachError(pid, "; ".join(failed))
        self._reports.attached(pid)

    def _enter(
        self,
        pid: int,
        linker: start.Linker,
        spare: Sequence[int],
        descriptors: limits.Limits | None = None,
    ) -> list[str]:
        """Bindings are in effect in a process afterwards; what is wrong with wrappers is returned."""
        self._linkers[pid] = tracer.auxiliary(pid).get(_AT_BASE, 0)
        self._departures.claim(pid)
        with limits.roomy(pid, descriptors):
            presence = Presence(pid, self._library)
            self._departures.entered(presence)
            agent = presence.agent
            wrappers = [paths.real(path) for path in self.config.core.wrappers]
            follows = self.config.core.trace_children
            hooks = "" if self._hooks is None else self._hook_names.get(pid, self._hooks.name)
            reports = self._reports.wanted
            failed = agent.start(wrappers, linker, self._name, self._token, follows, reports, hooks)
        if spare:
            agent.close_descriptors(spare)
        if self._failed is not None:
            raise self._failed
        presence.settled()
        complaints = [
            f"cannot load the wrappers {path}: {text.removeprefix(f'{path}: ')}" for path, text in failed
        ]
        if pid not in self._processes:
            complaints.append("nothing is bound: it cannot reach the supervisor (a filter of system calls?)")
        return complaints

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
            if not descriptors and self._is_over():
                return
            poll = select.poll()
            with self._lock:
                others = list(self._runners)
            for fd in (*descriptors, *others, self._wake_read):
                poll.register(fd, select.POLLIN)
            for fd, _ in poll.poll(None if descriptors else _MOMENT):
                if fd == self._wake_read:
                    os.read(fd, 4096)
                elif fd in others:
                    self._lose_hooks(fd)
                else:
                    self._forget(descriptors[fd])

    def _is_over(self) -> bool:
        """The last process has ended: whether no other one is about to tell of itself, forked by it.

        Anybody may connect and say nothing: that keeps nobody waiting for long.
        """
        with self._lock:
            if self._forks or self._departures.is_asked:
                return False
            listeners = list(self._listeners.values())
            if not self._callers and not any(system.poll(each.fileno(), 0) for each in listeners):
                return True
        self._last_call = self._last_call or time.monotonic() + _TALK
        return time.monotonic() > self._last_call

    def _forget(self, pid: int) -> None:
        if self._hooks is not None and pid == self._first:
            self._tell_unbound(self._hooks, pid)
        with self._lock:
            pidfd = self._alive.pop(pid, -1)
        if pidfd >= 0:
            self._reports.ended(pid, status_of(pid, pidfd))
            os.close(pidfd)
        self._drop_program(pid)
        with self._lock:
            self._linkers.pop(pid, None)
            self._hook_names.pop(pid, None)
            log = self._logs.pop(pid, None)
        if log is not None:
            log.close()

    def _drop_program(self, pid: int) -> None:
        """What a process ran is gone, or was left."""
        self._departures.gone(pid)
        with self._lock:
            self._processes.pop(pid, None)
            self._inherited.pop(pid, None)

    def _add_runner(self, pid: int, runner: int) -> None:
        """``runner`` runs the hooks of a process."""
        with contextlib.suppress(OSError):
            fd = os.pidfd_open(runner)
            with self._lock:
                self._runners[fd] = pid
            self._wake()

    def _lose_hooks(self, fd: int) -> None:
        """A process that runs hooks has ended: after the program's, or before."""
        with self._lock:
            pid = self._runners.pop(fd)
            process = self._alive.get(pid)
        os.close(fd)
        if process is not None and not system.poll(process, 0):
            text = "The process that runs the hooks is gone (killed?); the program goes on without them"
            self._log_of(pid).plain(text)

    def _tell_unbound(self, hooks: Hooks, pid: int) -> None:
        """At the end of the program that the user started: name hooks whose functions were never there."""
        process = self._processes.get(pid)
        if process is not None and self.config.core.verbosity > 0:
            for line in process.unbound_hooks(hooks.registry):
                self.log.plain(line)

    def _left(self, pid: int) -> None:
        """A process goes on without us."""
        self._reports.left(pid)
        self._forget(pid)
        self._wake()

    def _replaced(self, pid: int) -> None:
        """A process executes another program, and is not followed."""
        self._reports.executed(pid, None)
        self._forget(pid)
        self._wake()

    # -- events ----------------------------------------------------------------------------------------

    def _listen(self, namespace: str | None = None) -> None:
        """Listen where the processes of a namespace of the network can reach us. Raises OSError."""
        inode = os.stat("/proc/self/ns/net" if namespace is None else namespace).st_ino
        if inode not in self._listeners:
            listener = wire.listen(self._name, _BACKLOG, namespace)
            listener.setblocking(False)
            self._listeners[inode] = listener
            threading.Thread(target=self._serve, args=(listener,), name="events", daemon=True).start()

    def _serve(self, listener: socket.socket) -> None:
        poll = select.poll()
        poll.register(listener, select.POLLIN)
        while True:
            poll.poll()
            try:
                with self._lock:
                    sock, _ = listener.accept()
                    self._callers.add(sock)
            except OSError:
                time.sleep(_MOMENT / 1000)  # no descriptor is left, or it was somebody who has gone again
                continue
            # Anybody may connect and say nothing.
            threading.Thread(target=self._converse, args=(sock,), daemon=True).start()

    def _converse(self, sock: socket.socket) -> None:
        is_fork = False
        with sock:
            sock.settimeout(_TALK)
            try:
                connection = wire.Connection(sock)
                greeting = connection.greeting(self._token)
                is_fork = greeting.event == wire.FORKS
                if is_fork:
                    with self._lock:
                        self._forks += 1
                        self._callers.discard(sock)
                    connection.wait_for_end()
                    return
                with self._events:
                    if greeting.event == wire.LOOKUP:
                        connection.reply(json.dumps(self.look_up(connection.question())).encode())
                    else:
                        self._answer(connection, greeting)
            except wire.BadMessageError:
                return  # nobody of ours, or it ended
            except MissingTextError as error:
                self._failed = error
            except OSError:
                return  # it ended
            except Exception as error:
                tell(internal_error(error))
            finally:
                with self._lock:
                    self._forks -= is_fork
                    self._callers.discard(sock)

    def look_up(self, question: bytes) -> Any:
        """What the process that runs hooks asks: the address of a function, or the names of a bound one."""
        asked = json.loads(question)
        if "runner" in asked:
            self._add_runner(asked["pid"], asked["runner"])
            return True
        process, among = self._origin(asked["pid"])
        if process is None:
            return None
        return process.find(asked["find"], among) if "find" in asked else process.binding(asked["binding"])

    def _origin(self, pid: int) -> tuple[Process | None, list[wire.Linked] | None]:
        """Who knows of a process's objects (one that it was forked from), and which it has, if not all."""
        for _ in range(_GENERATIONS):
            if pid in self._processes:
                return self._processes[pid], None
            if pid in self._inherited:
                return self._inherited[pid]
            pid = attach.parent_of(pid)  # forked behind the C library's back
            if not pid:
                break
        return None, None

    def _answer(self, connection: wire.Connection, greeting: wire.Greeting) -> None:
        pid = connection.pid
        self._hook_names[pid] = greeting.hooks
        process = self._processes.get(pid)
        if pid not in self._linkers:
            # A forked child, whose objects are looked at when they change.
            self._linkers[pid] = tracer.auxiliary(pid).get(_AT_BASE, 0)
            self._watch(pid)
        if greeting.event == wire.FORKED:
            parent = self._processes.get(greeting.value)
            if parent is not None:
                self._inherited[pid] = (parent, parent.linked)
            elif greeting.value in self._inherited:
                self._inherited[pid] = self._inherited[greeting.value]
            self._departures.forked(pid, greeting.value)
            self._reports.forked(pid, greeting.value)
        elif greeting.event == wire.EXITS:
            self._reports.exits(pid, greeting.value)
        elif greeting.event == wire.EXEC:
            self._follow(pid, greeting.thread)
        elif greeting.event == wire.NO_EXEC:
            follower = self._following.pop(greeting.thread, None)
            if follower is not None:
                follower.join()  # it may be traced anew at once
        elif greeting.event == wire.LINKED:
            if process is None:
                process = Process(self.config, self._log_of(pid), self._reader, pid)
                if self._hooks is not None:
                    process.bind_hooks(self._hooks.registry, greeting.entries)
                self._processes[pid] = process
                if pid in self._inherited:
                    process.inherited(self._inherited.pop(pid)[1])
            presence = self._departures.presence(pid)
            spared = {greeting.thread} | (presence.threads if presence is not None else set())
            process.changed(connection, greeting, self._linkers[pid], spared)
            if self._hooks is not None:
                self._hooks.changed()
        connection.done()

    def _log_of(self, pid: int) -> Log:
        if pid == self.log.pid:
            return self.log
        log = self._logs.get(pid)
        if log is None:
            core = self.config.core
            is_shared = self._hooks is not None  # with the process that runs them
            log = self._logs[pid] = self.log.of_child(
                pid, is_shared=is_shared, silent=core.child_silent_after_fork
            )
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
        if pid == self._first:
            self._first = None
        self._drop_program(pid)
        path = os.readlink(f"/proc/{pid}/exe")
        argv = command_of(pid)
        self._log_of(pid).resume()
        try:
            if is_traced(self.config.core, path, argv):
                start.linker_of(pid)
                with contextlib.suppress(OSError):  # it runs on, unbound, after a line
                    self._listen(wire.network_of(pid))
                self._reports.executed(pid, argv)
                self.prepare(tracee)
                return
        except start.NoLinkerError as error:
            if self.config.core.verbosity > 1:
                self._log_of(pid).plain(f"Warning: {path} runs without wrappers: {error}")
        self._reports.executed(pid, None)
        start.close_descriptors(tracee, _spare(pid))
        tracee.let_go()


def _spare(pid: int) -> list[int]:
    """The descriptors that only keep low numbers from the agent."""
    wanted, last = f"/memfd:{wire.SPARE} (deleted)", wire.last_low(pid)
    numbers = map(int, os.listdir(f"/proc/{pid}/fd"))
    return [fd for fd in numbers if fd < last and os.readlink(f"/proc/{pid}/fd/{fd}") == wanted]
