"""The event loop: who asks, who answers.

The translator thread (C) answers translation requests alone; everything here waits in
``lib.ip_next_event`` without the GIL and is rare.
"""

from __future__ import annotations

import _signal
import gc
import os
import struct
import time

from interpose import paths, system
from interpose.errors import InterposeError, LaunchError, out_of_descriptors, out_of_memory
from interpose.jit._native import ffi, lib
from interpose.supervisor.client import Client
from interpose.supervisor.documents import Documents
from interpose.supervisor.files import Files
from interpose.supervisor.latetool import LateTool
from interpose.supervisor.objects import (
    LateSymbolizer,
    Objects,
    announced_path,
    make_symbolizer,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from interpose.cache.run import Cache
    from interpose.elf.symbolizer import Symbolizer
    from interpose.gdb.debugger import Debugger
    from interpose.gdb.fifos import Fifos, Lent
    from interpose.hooks.service import HookService
    from interpose.options.parse import Config
    from interpose.report.errors import ErrorManager
    from interpose.report.stack import StackOptions, StackResolver
    from interpose.report.xml import XmlSink
    from interpose.session import Session
    from interpose.supervisor.descriptors import Descriptors
    from interpose.supervisor.processes import PendingExec
    from interpose.supervisor.progress import Progress
    from interpose.supervisor.unloaded import UnloadedCode
    from interpose.supervisor.vforked import Vforked

POLL_MS = 100
LASTS_S = 0.4  # a program that runs for so long is worth large pages for its code
_PROT_WRITE = 2  # mmap(2)
DEATH_MS = 1000  # how long a process that gives up its memory may take to be dead

# IP_R_* of requests for Python, by number.
KINDS = {
    number: name[len("IP_R_") :].lower()
    for number, name in ffi.typeof("enum ip_req").elements.items()
    if number >= lib.IP_R_HELLO
}


# Behind which nothing of the program runs.
_LAST = (lib.IP_R_EXIT, lib.IP_R_FATAL, lib.IP_R_INTERNAL)

_ERRORS_DISABLED = """\
WARNING: exiting thread has error reporting disabled.
WARNING: possibly as a result of some mistake in the use
WARNING: of the VALGRIND_DISABLE_ERROR_REPORTING macros."""


class Supervisor:
    """Serves one client process, through forks (in a process of its own) and execs."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.config = session.config
        self.log = session.log
        self.json = session.json
        self.xml = session.xml
        self.client = Client(session.client_pid, session.memory.header)
        self.log.program_is_gone = lambda: self.client.is_dead()
        self.documents = Documents(session, self.log.program_is_gone)
        self.progress: Progress | None = None
        self.shown: dict[int, int] = {}
        """Processes that have shown themselves and made no request yet, by the number that they said."""
        self.born = True
        """False while a forked client has not reported yet."""
        self.pending_exec: PendingExec | None = None
        self.leaving = False
        """The client executes a program that is not ours: its end, however soon, is not for us to report."""
        self.finished = False
        """The report is out, or there is none to make: only the client's end is waited for."""
        self._idle_at = time.monotonic() + POLL_MS / 1000
        self.interpreter = 0
        """Where the program's dynamic linker is mapped, 0: it has none."""
        self._handlers: dict[int, Callable[[Any], None]] = {
            number: handler
            for number, name in KINDS.items()
            if (handler := getattr(self, f"on_{name}", None)) is not None
        }
        self.files = Files()
        self.fifos: Fifos | None = None
        """Where vgdb reaches the program; None if nobody may."""
        self.host_visible = False
        """gdb may look at the memory of the engine (``v.set hostvisibility``)."""
        self.debug_level = 0
        self.monitor_output = "mixed"
        """Where the log and replies to monitor commands go (``v.set``): ``mixed``, ``gdb`` or ``log``."""
        self.deferred: set[int] = set()
        """Slots whose request is being answered, or waits for a debugger: their threads cannot stop."""
        self.vforked: Vforked | None = None
        """Who speaks for children by vfork, if there was one."""
        self.debugger_or_none: Debugger | None = None
        """The one of :attr:`debugger`, if it was ever asked for."""
        self.hooks: HookService | None = None
        if session.hooks is not None:
            from interpose.hooks.service import HookService
            from interpose.supervisor.hooked import SupervisorHost

            self.hooks = HookService(SupervisorHost(self), session.hooks)
        self.cache: Cache | None = None
        if self.config.core.cache in ("yes", "read"):
            from interpose.cache.run import open_cache

            self.cache = open_cache(self.config, session.memory.header, self.log)
            session.at_end = None if self.cache is None else self.cache.finish
        self.new_image()

    def new_image(self) -> None:
        """Everything that is known about one program image."""
        self._resolver: StackResolver | None = None
        self.vforked = None
        self._own_objects: frozenset[str] | None = None
        self.documents.new_image()
        self._lasts_at = time.monotonic() + LASTS_S
        self.unloaded: UnloadedCode | None = None
        self.files.next_program()
        if self.hooks is not None:
            self.hooks.new_image()
        if self.cache is not None:
            self.cache.next_program(ffi.string(self.session.memory.header.prog))
        memo = None if self.cache is None else self.cache.memo
        self.objects = Objects(self.config, self.log, self._make_symbolizer, self._read, self.hooks, memo)
        self.descriptors: Descriptors | None = None
        """The program's, with --track-fds."""
        self._core_errors: ErrorManager | None = None
        self.thread_names: dict[int, str] = {}
        self._late_tool = LateTool(self)

    @property
    def tool(self) -> Any:
        """The object of the tool's ``tool.py``: what it does with events (see :mod:`interpose.tools`)."""
        return self._late_tool.get()

    @property
    def xml_sink(self) -> XmlSink | None:
        """Where this process's events go as elements; None where there is no document for them."""
        return self.documents.sink(self.config, lambda: self.resolver)

    @property
    def debugger(self) -> Debugger:
        """The program's threads, for those who stop them."""
        if self.debugger_or_none is None:
            from interpose.gdb.debugger import Debugger

            self.debugger_or_none = Debugger(self)
        return self.debugger_or_none

    def way_to_child(self, slot: Any) -> int:
        """The child's end of a way between both supervisors, where a debugger follows; else -1."""
        return -1 if self.debugger_or_none is None else self.debugger_or_none.way_to_child(slot)

    def way_to_exec(self, slot: Any) -> int:
        """The same for what a child of vfork is about to execute."""
        return -1 if self.debugger_or_none is None else self.debugger_or_none.way_to_exec(slot)

    def follow_exec(self, way: int) -> None:
        """This is a copy of the supervisor, for what a child of vfork executes, which is debugged."""
        assert self.debugger_or_none is not None
        self.debugger_or_none.vforked(way, None if self.fifos is None else self.fifos.lend())

    def leave_debugger(self) -> None:
        """This is a copy of the supervisor, for a child of vfork: what it executes, or its end."""
        if self.debugger_or_none is not None:
            self.debugger_or_none.left_behind()

    def fork_debugger(self, way: int, lent: Lent | None) -> None:
        """This is a copy of the supervisor, for a child that is debugged only if there is a way."""
        if self.debugger_or_none is None:
            return
        self.debugger_or_none.forked(way, lent)
        if way < 0:
            self.debugger_or_none = None

    def core_errors(self) -> ErrorManager:
        """Takes the errors that the core finds: the tool's, or one of our own."""
        errors = self.tool.error_manager() or self._core_errors
        if errors is None:
            from interpose.report.core_errors import make_manager

            errors = self._core_errors = make_manager(self)
        return errors

    def error_manager(self) -> ErrorManager | None:
        """All errors so far; None if nobody looks for any."""
        return self.tool.error_manager() or self._core_errors

    def errors_shown(self) -> int:
        """Errors that were shown so far."""
        return self.tool.errors_shown() if self._core_errors is None else self._core_errors.shown

    def _read(self, addr: int, size: int) -> bytes | None:
        return self.client.read(addr, size)

    def _make_symbolizer(self) -> Symbolizer:
        return make_symbolizer(self.config, self.log, directories=self.json is not None)

    @property
    def symbolizer(self) -> Symbolizer:
        """Addresses to objects, functions and lines."""
        return self.objects.symbolizer

    @property
    def resolver(self) -> StackResolver:
        """Raw stacks to frames as reports show them."""
        if self._resolver is None:
            self._resolver = self._make_resolver()
        return self._resolver

    def _make_resolver(self) -> StackResolver:
        from interpose.report.stack import StackResolver

        resolver = StackResolver(LateSymbolizer(self.objects), self._stack_options())
        resolver.hooks = self.hooks
        return resolver

    def _stack_options(self) -> StackOptions:
        from interpose.report.stack import StackOptions

        if self._own_objects is None:
            stubs = os.fsdecode(ffi.string(self.session.memory.header.stubs))
            self._own_objects = frozenset({stubs, os.path.realpath(stubs)})
        return StackOptions.of(self.config.core, self._own_objects)

    def reconfigure(self, config: Config) -> None:
        """Take options that the program changed; an InterposeError if the tool cannot: the old ones stay."""
        from interpose.session import fill_changeable, stage_trace

        self.tool.reconfigure(config)
        self.config = self.session.config = config
        self.log.verbosity = config.core.verbosity
        self.log.time_stamp = config.core.time_stamp
        self.objects.reconfigure(config)
        if (config.core.vgdb == "no") is not (self.fifos is None):
            self.open_fifos()
        if self._resolver is not None:
            self._resolver.options = self._stack_options()
            self._resolver.forget()
        header = self.session.memory.header
        fill_changeable(header, config)
        header.config_flags &= ~lib.IP_C_TRACE_CHILDREN
        if config.core.trace_children:
            header.config_flags |= lib.IP_C_TRACE_CHILDREN
        lib.ip_service_trace(*stage_trace(self.session))

    # -- the loop ------------------------------------------------------------------------------

    def serve(self) -> None:
        """Answer until the client is gone."""
        while True:
            index = lib.ip_next_event(self._patience())
            if index == lib.IP_EVENT_USED:
                self._show_used()
                continue
            if index == lib.IP_EVENT_HEARD:
                self._listen()
                continue
            if self.debugger_or_none is not None:
                self.debugger_or_none.dispatch()
            if self.pending_exec is not None and self.pending_exec.happened():
                pending, self.pending_exec = self.pending_exec, None
                self._replace_image(pending)
                continue
            if index < 0 and self._late_tool.is_due:
                self._late_tool.prepare()
                continue
            if index < 0:
                self._idle()
                if self._is_over():
                    break
                if (
                    self.pending_exec is None
                    and system.is_hung_up(self.session.sock_fd)
                    and not self._still_there()
                ):
                    break
                continue
            self._serve_slot(index)
            if self.debugger_or_none is not None:
                self.debugger_or_none.dispatch()
            if self.finished and self._is_over(1000):
                break
            if time.monotonic() >= self._idle_at:  # requests may come without a pause
                self._idle()
        self._show_used()
        if self.leaving:
            if self.xml is not None:
                self.tool.end_document()
            self.tool.left()
            self.tell_end("exec", traced=False)
        elif not self.finished and self.born:
            self.client_vanished()
        if self.fifos is not None:
            self.fifos.hear_out()
            self.fifos.close()
        if self.cache is not None:
            self.cache.ended()

    def _patience(self) -> int:
        """How long to wait for an event, in milliseconds."""
        if self._late_tool.is_due:
            return 0
        return POLL_MS if self.pending_exec is None else 2

    def _listen(self) -> None:
        """Somebody outside may have something to say."""
        if not self.born or self.finished:
            return
        if self.fifos is not None:
            self.fifos.serve()
        if self.debugger_or_none is not None:
            self.debugger_or_none.listen()

    def open_fifos(self) -> None:
        """Be found by vgdb, if the options say so."""
        core = self.config.core
        if core.vgdb == "no":
            if self.fifos is not None:
                self.fifos.close()
            self.fifos = None
            return
        if self.fifos is None:
            from interpose.gdb.fifos import Fifos, prefix

            self.fifos = Fifos(self, prefix(core.vgdb_prefix, os.environ))
        self.fifos.open(self.client.pid)

    def _serve_slot(self, index: int) -> None:
        slot = lib.ip_service_slot(index)
        lib.ip_delay(lib.IP_AT_EVENT)
        self.deferred.add(index)
        waits = self._answer(slot, index)
        self.deferred.discard(index)
        lib.ip_delay(lib.IP_AT_REPLY)
        if not waits:
            lib.ip_reply(index)  # not after an error: the program would go on with half an answer

    def answer_now(self, index: int) -> None:
        """Do what a request asks for that a debugger had wait."""
        if not self._answer(lib.ip_service_slot(index), index, again=True):
            lib.ip_reply(index)

    def _waits_at_end(self, slot: Any, index: int, again: bool) -> bool:
        """Whether a debugger has the process stay, which is about to end."""
        if not again and self.config.core.vgdb_stop_at:
            from interpose.gdb.occasions import at_end

            if at_end(self, slot, index):
                return True
        return self.debugger_or_none is not None and self.debugger_or_none.ends_too_early(slot, index)

    def _holds_exec(self, slot: Any, index: int) -> bool:
        return self.debugger_or_none is not None and self.debugger_or_none.holds_exec(slot, index)

    def serve_one(self, timeout_ms: int) -> bool:
        """Answer one request, while a debugger waits for threads; false if there was none."""
        index = lib.ip_next_event(timeout_ms)
        if index == lib.IP_EVENT_USED:
            self._show_used()
        elif index == lib.IP_EVENT_HEARD:
            self._idle_at = 0.0  # heard later: a conversation is under way
        elif index >= 0:
            self._serve_slot(index)
        return bool(index >= 0)

    def _idle(self) -> None:
        """What is done ten times a second, between requests."""
        if self.born and not self.finished:
            self._late_tool.first_events().idle()
            if self.config.core.progress_interval:
                from interpose.supervisor.progress import show

                show(self)
        now = time.monotonic()
        if now >= self._lasts_at:
            lib.ip_large_pages()
        self._listen()
        self._idle_at = now + POLL_MS / 1000

    def _is_over(self, wait_ms: int = 0) -> bool:
        """The client is dead, and so is every process that shares its memory (and with it the socket)."""
        if not self.born or not self.client.is_dead(wait_ms):
            return False
        return system.is_hung_up(self.session.sock_fd)

    def _still_there(self) -> bool:
        """End of file on the socket: an exec that is not traced, or the client's end."""
        try:
            data = os.read(self.session.sock_fd, 1)
        except OSError:
            return False
        lib.ip_delay(lib.IP_AT_HANGUP)
        if data == b"" and (not self.born or not self.client.is_ending()):
            self.finished = True  # another program runs there now, or the fork failed
        return data != b""

    def _answer(self, slot: Any, index: int, again: bool = False) -> bool:
        """Do what a request asks for; whether its answer has to wait (then it is done ``again``)."""
        if slot.kind == lib.IP_R_DEBUG:
            return self.debugger.arrived(slot, index)
        if slot.kind in _LAST and self._waits_at_end(slot, index, again):
            return True
        if slot.kind == lib.IP_R_EXEC and not again and self._holds_exec(slot, index):
            return True
        if level := max(self.config.core.debug_log, self.debug_level):
            from interpose.supervisor.debuglog import tell

            tell(self.log, level, slot, KINDS.get(slot.kind, "?"))
        self.objects.end_ahead()
        handler = self._handlers.get(slot.kind)
        if handler is None:
            return False
        try:
            if slot.vforked.number or self.vforked is not None:
                from interpose.supervisor.vforked import answer

                answer(self, slot, handler)
            else:
                handler(slot)
        except (InterposeError, MemoryError):
            raise
        except Exception as error:
            if out_of_memory(error) or out_of_descriptors(error):
                raise
            if (changed := paths.installation_changed(error)) is not None:
                raise changed from error
            from interpose.supervisor.fatal import internal_fault

            fault = internal_fault(error, self, slot)
            if self.config.core.vgdb_stop_at:
                from interpose.gdb.occasions import after_fault

                if after_fault(self, slot, index, fault):
                    return True
            raise fault from error
        return False

    def _show_used(self) -> None:
        while (addr := lib.ip_next_used()) != 0:
            self.objects.first_use(addr)

    def client_vanished(self) -> None:
        """The program was killed: report what is known without its memory."""
        self.finished = True
        self._write_perf_map()
        self.tool.vanished()
        self.tell_end("killed")
        if self.debugger_or_none is not None:
            self.debugger_or_none.ended(0, _signal.SIGKILL)

    def moved_to(self, pid: int, *, silent: bool) -> None:
        """The report for programs goes on with a forked child."""
        self.documents.forked(pid, self.log, silent=silent)
        self._tell_start()

    def _tell_start(self) -> None:
        self.documents.start(self.config)

    def tell_end(self, how: str, **content: Any) -> None:
        self.documents.end(how, self.log, **content)

    def _write_perf_map(self) -> None:
        if self.config.core.perf_map:
            from interpose.supervisor.perfmap import write

            write(self)

    # -- life ----------------------------------------------------------------------------------

    def attach(self) -> None:
        self.client.attach()
        # A process that is being killed has no memory any more, which the kernel may call a refusal.
        if self.client.denied and not self.client.is_dead(DEATH_MS):
            if self.client.hidden:
                raise LaunchError("/proc is that of another PID namespace; mount one (unshare --mount-proc)")
            raise LaunchError(
                "the kernel does not let interpose read the program's memory; see kernel.yama.ptrace_scope"
            )

    def on_hello(self, slot: Any) -> None:
        self.attach()  # its memory is that of the runtime now
        self._show_used()
        self._tell_start()
        self._late_tool.first_events().started()
        if self.fifos is not None and not self._may_stop:
            self.fifos.tell_how()

    @property
    def _may_stop(self) -> bool:
        return self.config.core.vgdb_error == 0 or bool(self.config.core.vgdb_stop_at)

    def on_loaded(self, slot: Any) -> None:
        self.interpreter = slot.a[2]
        self._late_tool.first_events().loaded(slot.a[0], slot.a[4], slot.a[5])
        if self._may_stop:
            from interpose.gdb.occasions import at_startup

            at_startup(self)

    def on_exit(self, slot: Any) -> None:
        slot.r[0] = self._end(slot, self._end_by_exit, slot.a[0] & 0xFF)

    def _end(self, slot: Any, report: Callable[[Any], int], status: int) -> int:
        """The program ends, or a child of vfork that has the program's memory; the status to end with."""
        if slot.a[7]:
            from interpose.supervisor.processes import end_of_vfork_child

            status = end_of_vfork_child(self, slot, lambda: report(slot), status)
            if self.debugger_or_none is not None:
                by = slot.a[0] if slot.kind == lib.IP_R_FATAL else 0
                self.debugger_or_none.vforks.ended(slot.a[7], status, by)
            return status
        self.finished = True
        self._write_perf_map()
        status = report(slot)
        if self.fifos is not None:
            self.fifos.withdraw()
        return status

    def _end_by_exit(self, slot: Any) -> int:
        if self.hooks is not None:
            self.hooks.tell_unbound()
        self._warn_of_disabled_errors(slot.a[6])
        self.tool.ends(slot.tid_guest, by_signal=False)
        return self._finish(slot.a[0] & 0xFF)

    def _finish(self, status: int) -> int:
        status = self._finish_tool(status)
        self.tell_end("exit", code=status & 0xFF)
        if self.debugger_or_none is not None:
            self.debugger_or_none.ended(status & 0xFF)
        return status

    def _finish_tool(self, status: int | None) -> int:
        """What is said at the end; the status to end with."""
        if self.descriptors is not None:
            if self.xml_sink is not None:
                self.xml_sink.finished(self.log.elapsed())
            self.descriptors.finish()
        result = self.tool.finish(status)
        if self._core_errors is not None:
            self._core_errors.finish()
            if self.json is not None:
                self.json.summary(self._core_errors)
            result = self._core_errors.exit_status(result)
        return result

    def _warn_of_disabled_errors(self, threads: int) -> None:
        """Threads that have ended, probably by mistake, while their errors were not reported."""
        for _ in range(threads):
            self.log.plain(_ERRORS_DISABLED)

    def on_find(self, slot: Any) -> None:
        name = bytes(ffi.buffer(slot.data, min(slot.len, 200))).decode("utf-8", "replace")
        slot.r[0] = self.objects.find_function(name)

    def on_final_call(self, slot: Any) -> None:
        """Functions by which the C and C++ libraries release what they keep."""
        from interpose.supervisor.final_calls import functions

        found = functions(self, slot.a[1])
        slot.r[0] = found[slot.a[0]] if slot.a[0] < len(found) else 0

    def on_fatal(self, slot: Any) -> None:
        slot.r[0] = self._end(slot, self._end_by_signal, 0)

    def _end_by_signal(self, slot: Any) -> int:
        from interpose.supervisor.fatal import report_signal

        self.tool.ends(slot.tid_guest, by_signal=not slot.a[4])
        report_signal(self, slot)
        self._warn_of_disabled_errors(slot.a[6])
        if slot.a[4]:  # in a final call: the program had ended before
            return self._finish((slot.a[4] - 1) & 0xFF)
        status = self._finish_tool(None)
        self.tell_end("signal", signal=slot.a[0])
        if self.debugger_or_none is not None:
            self.debugger_or_none.ended(0, slot.a[0])
        return status

    def on_thread(self, slot: Any) -> None:
        if self.config.core.trace_sched and slot.a[1] != lib.IP_THREAD_NAMED:
            word = "starts" if slot.a[1] == lib.IP_THREAD_STARTS else "ends"
            self.log.debug(f"  SCHED[{slot.a[0]}]: {word} (task {slot.a[2]})")
        if slot.a[1] == lib.IP_THREAD_STARTS:
            self.thread_names.pop(slot.a[0], None)
        elif slot.a[1] == lib.IP_THREAD_ENDS:
            self._warn_of_disabled_errors(slot.a[3])
        elif slot.a[1] == lib.IP_THREAD_NAMED:
            name = bytes(ffi.buffer(slot.data, min(slot.len, 64))).split(b"\0", 1)[0]
            self.thread_names[slot.a[0]] = name.decode("utf-8", "surrogateescape")

    # -- code ----------------------------------------------------------------------------------

    def _code_changed(self) -> None:
        if self.hooks is not None:
            self.hooks.code_changed()
        if self._resolver is not None:
            self._resolver.forget()
        self.outdate_answers()

    def outdate_answers(self) -> None:
        """What requests were answered with ``IP_ANSWER_STANDS`` need not be so any more."""
        if self.client.header is not None:
            self.client.header.answers_age += 1

    def on_mapped(self, slot: Any) -> None:
        path = announced_path(bytes(ffi.buffer(slot.data, min(slot.len, lib.IP_SLOT_DATA))))
        self._code_changed()
        self._keep_names(slot.a[0], slot.a[1])
        start, length, offset, protection, device, inode, descriptor, is_written = slot.a[0:8]
        # Else the runtime watches each page that a translation was asked for, and must be asked.
        is_stable = not (protection & _PROT_WRITE or is_written)
        # Where a file may be found that its path does not lead to: deleted, replaced, or in a root of the
        # program's own. The kernel lets only some users look into map_files.
        places = f"/proc/{self.client.pid}"
        names = [f"{places}/fd/{descriptor}", f"{places}/map_files/{start:x}-{start + length:x}"]
        if path.startswith("/"):
            names.append(f"{places}/root{path}")
        file = self.files.get(path, (device, inode) if inode else None, names)
        _uncollected(lambda: self.objects.mapped(start, length, offset, file, is_stable))
        if self.cache is not None and is_stable:
            self.cache.mapped(start, length, offset, file)
        if self.config.core.trace_symtab:
            self.objects.show_symbols(file)
        _uncollected(lambda: self._late_tool.first_events().code_mapped(start, length, offset, file))

    def on_unmapped(self, slot: Any) -> None:
        self._code_changed()
        if not slot.a[2] or not self.objects.replaced(slot.a[0], slot.a[1]):
            self._keep_names(slot.a[0], slot.a[1])
            _uncollected(lambda: self.objects.unmapped(slot.a[0], slot.a[1]))
            self._late_tool.first_events().code_unmapped(slot.a[0], slot.a[1])

    def _keep_names(self, start: int, length: int) -> None:
        """A range where code may be is about to become something else."""
        if self.config.core.keep_debuginfo:
            from interpose.supervisor.unloaded import keep_names

            keep_names(self, start, length)

    # -- what the program asks -----------------------------------------------------------------

    def on_request(self, slot: Any) -> None:
        from interpose.requests.core import answer

        words = ffi.unpack(ffi.cast("uint64_t *", slot.data), 6)
        slot.r[0] = answer(self, slot, words, slot.a[0])

    def on_hook(self, slot: Any) -> None:
        if self.hooks is not None:
            from interpose.supervisor.hooked import answer

            answer(self.hooks, self, slot)

    def on_error(self, slot: Any) -> None:
        slot.r[0] = 0  # go on
        shown = self.tool.errors_shown()
        self.tool.error(slot)
        if self.config.core.vgdb_error <= shown + 1:
            from interpose.gdb.occasions import after_error

            after_error(self, slot, shown)

    def on_fds(self, slot: Any) -> None:
        from interpose.supervisor.descriptors import answer

        answer(self, slot)

    def on_message(self, slot: Any) -> None:
        if slot.a[0] == lib.IP_SAY_WARN and self.xml_sink is not None:
            return
        text = bytes(ffi.buffer(slot.data, slot.len)).split(b"\0", 1)[0].decode("utf-8", "replace")
        say = {lib.IP_SAY_DEBUG: self.log.debug, lib.IP_SAY_RAW: self.log.raw}.get(slot.a[0], self.log.plain)
        say(text.rstrip("\n"))

    def on_illegal(self, slot: Any) -> None:
        from interpose.supervisor.fatal import illegal_lines

        self.log.plain("\n".join(illegal_lines(self, slot)))

    def on_internal(self, slot: Any) -> None:
        from interpose.supervisor.fatal import internal_lines

        self.session.at_end = None  # nothing is kept: what the engine holds may be what it failed by
        self.log.plain("\n".join(internal_lines(self, slot.a[0])))

    def on_stopped(self, slot: Any) -> None:
        if self.config.core.verbosity > 0:
            from interpose.supervisor.laststages import stopped_lines

            self.log.debug("\n".join(stopped_lines(self, slot.a[0], slot.a[1])))

    def stop_client(self, slot: Any, status: int) -> None:
        """The program ends without a report, for what was said (--exit-on-first-error=yes, for one)."""
        self.finished = True
        self._write_perf_map()
        status &= 0xFF
        self.tell_end("stopped", code=status)
        slot.r[0], slot.r[1] = 1, status

    def end_client(self, *, silent: bool = True) -> None:
        """Somebody who watches wants the program to end: at once, with status 0 and without a report.

        :param silent: whether nobody is answered any more.
        """
        self.finished = True
        if self.fifos is not None and silent:
            self.fifos.fall_silent()
        self._write_perf_map()
        self.client.end(self.session.sock_fd)

    def answer_bytes(self, slot: Any, addr: int, data: bytes) -> None:
        """With the answer to a request, have the runtime write ``data`` (defined) at a client address.

        May be called more than once for one answer. The words of the request are gone from the slot then.
        """
        record = struct.pack("<QQ", addr, len(data)) + data + bytes(-len(data) % 8)
        start = slot.r[2]
        if data and start + len(record) <= len(slot.data):
            ffi.memmove(slot.data + start, record, len(record))
            slot.r[2] = start + len(record)

    def answer_word(self, slot: Any, addr: int, value: int) -> None:
        """The same for a 64-bit number."""
        self.answer_bytes(slot, addr, struct.pack("<Q", value & 0xFFFF_FFFF_FFFF_FFFF))

    def unwind(self, slot: Any) -> list[int]:
        """A raw stack trace of the thread that waits for an answer, where no call stack is kept."""
        from interpose.supervisor.stacktrace import unwind

        return unwind(self, slot)

    # -- processes -----------------------------------------------------------------------------

    def on_fork(self, slot: Any) -> None:
        from interpose.supervisor.processes import fork

        fork(self, slot)

    def on_fork_child(self, slot: Any) -> None:
        from interpose.supervisor.processes import child_is_there

        child_is_there(self, slot)

    def on_own_image(self, slot: Any) -> None:
        from interpose.supervisor.processes import lend_image

        lend_image(self, slot)

    def _replace_image(self, pending: PendingExec) -> None:
        from interpose.supervisor.processes import replace_image

        replace_image(self, pending)

    def on_exec_failed(self, slot: Any) -> None:
        if self.pending_exec is not None:
            self.pending_exec.drop()
            self.pending_exec = None
        if self.leaving and self.fifos is not None:
            self.fifos.come_back()
        self.leaving = False

    def on_exec(self, slot: Any) -> None:
        from interpose.supervisor.processes import execute

        if not slot.a[2]:  # a vfork child's memory is its parent's
            self.tool.executing()
            repeats = self.tool.repeats() if self.documents else ()
            if self.json is not None:
                self.json.repeats(repeats)
        execute(self, slot)


def _uncollected(work: Callable[[], None]) -> None:
    """Symbols and bindings come by the hundred thousand, without cycles: the collector doubles their cost."""
    gc.disable()
    try:
        work()
    finally:
        gc.enable()


def run(session: Session) -> None:
    """Serve a client from its first request to its end."""
    # What is loaded by now stays; what a report makes is dropped by its counts, cycles are few.
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()
    supervisor = Supervisor(session)
    supervisor.client.attach()
    supervisor.open_fifos()
    supervisor.serve()
