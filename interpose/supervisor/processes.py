"""fork and exec: a forked client gets a forked supervisor; an exec keeps it and renews the image."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import struct

from interpose import paths, system
from interpose.errors import LaunchError
from interpose.jit._native import ffi, lib
from interpose.session import Memory, fill_channel, no_translator
from interpose.supervisor.client import Client
from interpose.supervisor.end import supervise
from interpose.wildcards import compile_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from interpose.gdb.fifos import Lent
    from interpose.options.core import CoreOptions
    from interpose.supervisor.main import Supervisor


_MANY_FORKS = 4  # of one process, after which more are to be expected


def _send(sock_fd: int, fds: Sequence[int]) -> None:
    """Pass descriptors to the client; nothing if it was killed, which the event loop sees."""
    lib.ip_delay(lib.IP_AT_SEND)
    with contextlib.suppress(ConnectionError):
        system.send_files(sock_fd, b"F", fds)


_NUMBER = struct.Struct("Q")
_CREDENTIALS = struct.Struct("3i")  # struct ucred


def sender(sock_fd: int, number: int, others: dict[int, int]) -> int | None:
    """The process that has shown itself with this number over the socket (``rt_show_pid``), as we number it.

    Its own number is another one in a PID namespace (pid_namespaces(7), SCM_CREDENTIALS in unix(7)). Children
    of vfork share the socket: whoever was first to show itself need not be first to make its request.

    :param others: those that have shown themselves, and were not asked for yet.
    """
    with socket.socket(fileno=os.dup(sock_fd)) as sock, contextlib.suppress(OSError):
        while number not in others:
            space = socket.CMSG_SPACE(_CREDENTIALS.size)
            word, ancillary, _, _ = sock.recvmsg(_NUMBER.size, space, socket.MSG_DONTWAIT)
            if len(word) != _NUMBER.size:
                break
            for level, kind, data in ancillary:
                if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
                    others[_NUMBER.unpack(word)[0]] = _CREDENTIALS.unpack(data[: _CREDENTIALS.size])[0]
    return others.pop(number, 0) or None


def _prepare() -> tuple[Memory, tuple[int, int], tuple[int, int]]:
    """What a fork needs, or nothing of it."""
    with contextlib.ExitStack() as undo:
        memory = Memory()
        undo.callback(memory.close)
        pair = system.socket_pair()
        undo.callback(_close, *pair)
        ready = os.pipe()
        undo.pop_all()
        return memory, pair, ready


def _close(*fds: int) -> None:
    for fd in fds:
        os.close(fd)


def fork(supervisor: Supervisor, slot: Any) -> None:
    """The client is about to fork: so do we, with the translator at rest."""
    session = supervisor.session
    try:
        memory, (ours, theirs), (ready_read, ready_write) = _prepare()
    except (LaunchError, OSError):
        slot.r[0] = errno.EAGAIN  # the program's fork fails, as for want of anything else
        return
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    session.forks += 1
    if session.forks == _MANY_FORKS:
        supervisor.tool.forks_often()
    childs_way = supervisor.way_to_child(slot)
    lib.ip_service_lock()
    try:
        pid = os.fork()
    except OSError as error:
        lib.ip_service_unlock()
        memory.close()
        _close(ours, theirs, ready_read, ready_write, *([childs_way] if childs_way >= 0 else []))
        slot.r[0] = error.errno
        return
    if pid == 0:
        _serve_child(supervisor, memory, ours, ready_write, (theirs, ready_read), childs_way)
    os.close(ready_write)
    if childs_way >= 0:
        os.close(childs_way)
    # The child copies from memory that our translator also writes.
    copied = os.read(ready_read, 1)
    lib.ip_service_unlock()
    if copied:
        _send(session.sock_fd, (*memory.descriptors(), theirs))
    slot.r[0] = 0 if copied else errno.EAGAIN
    memory.close()
    _close(ours, theirs, ready_read)


def _leave_fifos(supervisor: Supervisor) -> Lent | None:
    return None if supervisor.fifos is None else supervisor.fifos.lend()


def _serve_child(
    supervisor: Supervisor, memory: Memory, sock_fd: int, ready: int, foreign: Sequence[int], way: int
) -> None:
    """In the forked supervisor: serve the forked client until its end, then leave."""

    def work() -> None:
        supervisor.documents.leave()
        lib.ip_delay(lib.IP_AT_FORKED)
        lent = _leave_fifos(supervisor)
        if lent is not None and way < 0:
            lent.close()
        _close(*foreign)
        old = supervisor.session.memory
        old_sock = supervisor.session.sock_fd
        if lib.ip_service_refork(*memory.descriptors(), old.meta_fd) != 0:
            os._exit(1)  # the fork fails; the supervisor that forked sees it
        if supervisor.cache is not None:
            supervisor.cache.forked()
        supervisor.session.memory = memory
        supervisor.session.sock_fd = sock_fd
        lib.ip_service_socket(sock_fd)
        supervisor.shown.clear()
        supervisor.session.parent_pid = _maker(supervisor)
        supervisor.vforked = None  # whose turn it is, is us
        supervisor.client.detach()
        supervisor.client.header = memory.header
        supervisor.finished = False
        try:
            os.write(ready, b"1")
        except BrokenPipeError:
            os._exit(1)  # the supervisor that forked is gone: so is the program, soon
        _close(ready, old_sock, *old.descriptors())
        supervisor.born = False
        supervisor.fork_debugger(way, lent)
        supervisor.serve()

    supervise(supervisor.session, work)


def _maker(supervisor: Supervisor) -> int:
    """Who has made the process that a copy of us is for."""
    return supervisor.client.pid if supervisor.vforked is None else supervisor.vforked.pid()


def end_of_vfork_child(supervisor: Supervisor, slot: Any, report: Callable[[], int], status: int) -> int:
    """A child of vfork ends: what there is to say of it is said by a copy of us, for its parent goes on.

    :param report: returns the status to end with.
    :param status: the status to end with if there is no copy.
    """
    own = sender(supervisor.session.sock_fd, slot.a[5], supervisor.shown) or slot.a[7]
    answer, told = os.pipe()
    supervisor.log.flush()
    lib.ip_service_lock()  # the copy must not be one of a translator amid its work
    try:
        copy = os.fork()
    except OSError:
        lib.ip_service_unlock()
        _close(answer, told)
        return status
    if copy:
        lib.ip_service_unlock()  # that of either
    else:
        log = supervisor.log
        supervisor.session.parent_pid = _maker(supervisor)
        supervisor.leave_debugger()
        try:
            silent = supervisor.config.core.child_silent_after_fork
            if supervisor.vforked is not None and supervisor.vforked.has_file(slot):
                log.pid = own
            elif log.forked(own, silent=silent):
                supervisor.tool.started()
            supervisor.moved_to(own, silent=silent)
            os.write(told, bytes([report() & 0xFF]))
            log.close()
        finally:
            os._exit(0)
    os.close(told)
    result = os.read(answer, 1)
    os.close(answer)
    with contextlib.suppress(ChildProcessError):  # nobody waits for children once the program has forked
        os.waitpid(copy, 0)
    return result[0] if result else status


def is_traced(core: CoreOptions, path: str, argv: Sequence[str]) -> bool:
    """--trace-children and its exceptions (docs/spec/options.md section 2)."""
    if not core.trace_children:
        return False
    if any(compile_pattern(pattern)(path) for pattern in core.trace_children_skip or ()):
        return False
    return not any(
        compile_pattern(pattern)(word) for pattern in core.trace_children_skip_by_arg or () for word in argv
    )


def execute(supervisor: Supervisor, slot: Any) -> None:
    """The client is about to exec: decide whether the new image is ours too."""
    words = bytes(ffi.buffer(slot.data, min(slot.len, lib.IP_SLOT_DATA))).split(b"\0")
    path, *argv = (os.fsdecode(word) for word in words[: 1 + slot.a[0]])
    argv = argv or [""]  # as the kernel has it, which gives a program without words an empty one
    is_vfork_child = bool(slot.a[2])
    shown = sender(supervisor.session.sock_fd, slot.a[5], supervisor.shown) if is_vfork_child else None
    slot.r[0] = 0
    if not slot.a[3] or not is_traced(supervisor.config.core, path, argv):
        supervisor.leaving = not slot.a[2]  # a vfork child has no supervisor of its own
        if supervisor.leaving and supervisor.fifos is not None:
            supervisor.fifos.leave_alone()
        return  # a[3]: the runtime could follow (no setuid program, an ELF file of our machine)
    session = supervisor.session
    memory = Memory()
    ours, theirs = system.socket_pair()
    runtime = os.open(paths.runtime(supervisor.config.tool_name), os.O_RDONLY | os.O_CLOEXEC)
    pid = (shown or slot.a[1]) if is_vfork_child else supervisor.client.pid
    fill_channel(memory, supervisor.config, path, 0)  # the new runtime enters its pid
    memory.header.config_flags |= lib.IP_C_EXEC_CHILD
    if is_vfork_child:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        way = supervisor.way_to_exec(slot)
        lib.ip_service_lock()
        try:
            child = os.fork()
        except OSError as error:
            # The program's exec fails, as for want of anything else.
            slot.r[0] = (1 << 64) - (error.errno or errno.EAGAIN)
        else:
            if child == 0:
                os.close(theirs)
                _serve_exec(supervisor, memory, ours, pid, argv, way)
            slot.r[0] = 1
        lib.ip_service_unlock()
        if way >= 0:
            os.close(way)
        if slot.r[0] == 1:
            _send(session.sock_fd, (runtime, *memory.descriptors(), theirs))
        memory.unmap()
        _close(ours, theirs, runtime, *memory.descriptors())
        return
    old = session.memory.header.left_files  # the process keeps its number, and these files
    ffi.memmove(memory.header.left_files, old, ffi.sizeof(old))
    slot.r[0] = 1
    _send(session.sock_fd, (runtime, *memory.descriptors(), theirs))
    _close(theirs, runtime)
    supervisor.pending_exec = PendingExec(memory, ours, pid, argv)


def lend_image(supervisor: Supervisor, slot: Any) -> None:
    """The stubs image for a client that has left for where it cannot open it: another root, a sandbox."""
    session = supervisor.session
    slot.r[0] = 0
    with contextlib.suppress(OSError):
        image = os.open(ffi.string(session.memory.header.stubs), os.O_RDONLY | os.O_CLOEXEC)
        slot.r[0] = 1
        _send(session.sock_fd, (image,))
        os.close(image)


class PendingExec:
    """An exec under way: the new image reports (its pid is in its channel), or the old one that it failed."""

    def __init__(self, memory: Memory, sock_fd: int, pid: int, argv: Sequence[str]) -> None:
        self.memory = memory
        self.sock_fd = sock_fd
        self.pid = pid
        self.argv = argv

    def happened(self) -> bool:
        """Whether the new image runs."""
        return self.memory.header.client_pid != 0

    def wait(self) -> bool:
        """Until the new image runs; false if the other side hangs up before."""
        while not self.happened():
            if system.poll(self.sock_fd, 5):
                return self.happened()
        return True

    def drop(self) -> None:
        """It failed."""
        self.memory.unmap()
        _close(self.sock_fd, *self.memory.descriptors())


def _serve_exec(
    supervisor: Supervisor, memory: Memory, sock_fd: int, pid: int, argv: Sequence[str], way: int
) -> None:
    """In a forked supervisor: serve what a vfork child executes."""

    def work() -> None:
        lib.ip_service_abandon()
        lib.ip_delay(lib.IP_AT_FORKED)
        if way >= 0:
            supervisor.follow_exec(way)
        else:
            if supervisor.fifos is not None:
                supervisor.fifos.forget()
            supervisor.leave_debugger()
        supervisor.log.forked(pid)
        supervisor.session.parent_pid = supervisor.client.pid
        supervisor.documents.copied(pid)
        pending = PendingExec(memory, sock_fd, pid, argv)
        if not pending.wait():
            supervisor.log.close()
            os._exit(0)  # no exec: the channel is still that of the vfork child's parent
        replace_image(supervisor, pending)
        supervisor.serve()

    supervise(supervisor.session, work)


def child_is_there(supervisor: Supervisor, slot: Any) -> None:
    """A forked child is there; this is the supervisor that was forked for it."""
    supervisor.born = True
    pid = sender(supervisor.session.sock_fd, slot.a[5], supervisor.shown) or slot.a[0]
    supervisor.client.pid = supervisor.client.header.client_pid = pid
    supervisor.attach()
    supervisor.tool.forked()
    supervisor.moved_to(pid, silent=supervisor.config.core.child_silent_after_fork)
    is_debugged = supervisor.debugger_or_none is not None and supervisor.debugger_or_none.is_born()
    if supervisor.config.core.vgdb_stop_at:
        from interpose.gdb import occasions

        occasions.forked(supervisor)
    if supervisor.fifos is not None and not is_debugged:
        supervisor.fifos.wanted = pid


def replace_image(supervisor: Supervisor, pending: PendingExec) -> None:
    """The same process runs another program now, with memory files of its own."""
    old = supervisor.session.memory
    old_sock = supervisor.session.sock_fd
    supervisor.client.detach()
    supervisor.client.header = None  # the old tool's cycles keep the client for a while, and it the channel
    supervisor.session.memory = pending.memory
    supervisor.session.sock_fd = pending.sock_fd
    supervisor.shown.clear()
    supervisor.session.argv = pending.argv
    supervisor.log.resume()
    if supervisor.client.pid == pending.pid:
        if supervisor.xml is not None:
            supervisor.tool.end_document()
        supervisor.tell_end("exec", traced=True)
    supervisor.documents.executed()
    supervisor.client = Client(pending.pid, pending.memory.header)
    supervisor.client.attach()
    pending.memory.header.supervisor_pid = os.getpid()
    pending.memory.header.client_pid = pending.pid  # the program may know itself by another number
    status = lib.ip_service_reset(*pending.memory.descriptors())
    if status != 0:
        raise LaunchError(no_translator(status))
    lib.ip_service_socket(pending.sock_fd)
    supervisor.tool.executes()
    if supervisor.cache is not None:
        supervisor.cache.executes()
    if supervisor.debugger_or_none is not None:
        supervisor.debugger_or_none.executes()
    old.unmap()
    for fd in (old_sock, *old.descriptors()):
        os.close(fd)
    supervisor.born = True
    supervisor.thread_names.clear()
    supervisor.finished = False
    supervisor.new_image()
    is_followed = supervisor.debugger_or_none is not None and supervisor.debugger_or_none.is_followed()
    if supervisor.fifos is not None and supervisor.fifos.pid != pending.pid and not is_followed:
        supervisor.fifos.wanted = pending.pid
