"""How processes are left that go on (``--detach``): whoever wants that asks at a name of the process's."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import socket
import threading
import time

from interpose.errors import InterposeError, internal_error, tell
from interpose.native import attach, limits, wire
from interpose.native.presence import Presence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from interpose.report.log import Log

_BACKLOG = 8
_TALK = 10.0  # seconds for whoever asks to say what
_PATIENCE = 5.0  # seconds for children that are being forked to tell of themselves
_MOMENT = 0.02


def _listen(pid: int) -> socket.socket:
    """Where a process's supervisor is asked to leave it. Raises OSError."""
    return wire.listen(attach.control_name(pid).removeprefix("\0"), _BACKLOG)


class _Ours:
    """A process that is entered.

    :ivar presence: the agent in it, or in the one that it was forked from, directly or not.
    """

    def __init__(self, presence: Presence, parent: int, listener: socket.socket) -> None:
        self.presence = presence
        self.parent = parent
        self.listener = listener


class Departures:
    """The processes of a run that are entered, with who was forked by whom."""

    def __init__(
        self,
        log: Callable[[int], Log],
        library: str,
        wrappers: Sequence[str],
        left: Callable[[int], None],
        replaced: Callable[[int], None],
        is_forking: Callable[[], bool],
    ) -> None:
        """Who is told what.

        ``left`` hears of each that was left, ``replaced`` of each that was found to execute another program;
        ``is_forking`` says whether children are on their way.
        """
        self._log = log
        self._library = library
        self._wrappers = wrappers
        self._left = left
        self._replaced = replaced
        self._is_forking = is_forking
        self._lock = threading.Lock()
        self._ours: dict[int, _Ours] = {}
        self._claims: dict[int, socket.socket] = {}
        self._answering = 0
        self._poll = select.epoll()
        self._listeners: dict[int, int] = {}  # whose process it is about, by descriptor
        threading.Thread(target=self._serve, name="departures", daemon=True).start()

    # -- who is there ----------------------------------------------------------------------------------

    def claim(self, pid: int) -> None:
        """A process is about to be entered. Raises AttachError if another supervisor is in it."""
        with self._lock:
            if pid in self._ours or pid in self._claims:
                return
        listener = None
        for again in (False, True):
            try:
                listener = _listen(pid)
                break
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                if again or attach.is_entered(pid):
                    break
            with contextlib.suppress(InterposeError):  # whoever was in what it executed before
                attach.ask(pid, attach.FORGET)
        if listener is None:
            raise attach.AttachError(pid, "it is attached to already")
        with self._lock:
            self._claims[pid] = listener

    def entered(self, presence: Presence) -> None:
        """A process has an agent of its own."""
        with self._lock:
            self._add(presence.pid, presence, 0)

    def forked(self, pid: int, parent: int) -> None:
        """A process is a child of one of ours."""
        with self._lock:
            ours = self._ours.get(parent) or self._ours.get(attach.parent_of(pid))
            if ours is not None and pid not in self._ours:
                self._add(pid, ours.presence, parent)

    def presence(self, pid: int) -> Presence | None:
        """What is ours in a process, if it has an agent of its own."""
        ours = self._ours.get(pid)
        return ours.presence if ours is not None and ours.presence.pid == pid else None

    def gone(self, pid: int) -> None:
        """A process has ended, executes another program, or was left."""
        with self._lock:
            ours = self._ours.pop(pid, None)
            if ours is None:
                return
            for other in self._ours.values():
                if other.parent == pid:
                    other.parent = ours.parent or pid  # of the first one, only the number stays
            del self._listeners[ours.listener.fileno()]
            ours.listener.close()

    def _add(self, pid: int, presence: Presence, parent: int) -> None:
        old = self._ours.get(pid)
        if old is not None:
            old.presence = presence
            return
        try:
            listener = self._claims.pop(pid, None) or _listen(pid)
        except OSError:  # it has ended, or is somebody else's
            return
        self._listeners[listener.fileno()] = pid
        self._poll.register(listener, select.EPOLLIN)
        self._ours[pid] = _Ours(presence, parent, listener)

    # -- who asks --------------------------------------------------------------------------------------

    def _serve(self) -> None:
        while True:
            for fd, _ in self._poll.poll():
                with self._lock:
                    pid = self._listeners.get(fd, 0)
                    listener = self._ours[pid].listener if pid in self._ours else None
                    if listener is None:
                        continue
                    with contextlib.suppress(OSError):
                        sock, _ = listener.accept()
                        self._answering += 1
                        threading.Thread(target=self._answer, args=(sock, pid), daemon=True).start()

    def _answer(self, sock: socket.socket, pid: int) -> None:
        try:
            self._talk(sock, pid)
        except Exception as error:
            tell(internal_error(error))
        finally:
            with self._lock:
                self._answering -= 1

    def _talk(self, sock: socket.socket, pid: int) -> None:
        with sock, contextlib.suppress(OSError):
            sock.settimeout(_TALK)
            request = sock.recv(attach.REQUEST_SIZE)
            if request not in (attach.DETACH, attach.FORGET):
                return
            if wire.Connection(sock).uid not in (0, os.geteuid()):
                sock.sendall(attach.NOT_YOURS)
                return
            if request == attach.DETACH:
                sock.sendall(self.leave(pid))
                return
            self._forget_replaced(pid)
            sock.sendall(attach.DONE)

    @property
    def is_asked(self) -> bool:
        """Whether somebody waits for an answer."""
        return self._answering > 0

    # -- out -------------------------------------------------------------------------------------------

    def leave(self, pid: int) -> bytes:
        """Leave a process and the children that it has forked; what is said to whoever asked."""
        problems = []
        tried: set[int] = set()
        with self._lock:
            if pid not in self._ours:
                return attach.DONE
            presence, family = self._ours[pid].presence, [pid]
        while wanted := [each for each in family if each not in tried]:
            for each in wanted:
                tried.add(each)
                problem = self._leave_one(each)
                if problem and (each == pid or problem != attach.NOT_ATTACHED):
                    problems.append(problem if each == pid else f"process {each}, its child: {problem}")
            end = time.monotonic() + _PATIENCE
            while self._is_forking() and time.monotonic() < end:
                time.sleep(_MOMENT)
            self._find_unknown(tried, presence)
            family = self._children(pid, tried)
        return "; ".join(problems).encode() or attach.DONE

    def _find_unknown(self, family: set[int], presence: Presence) -> None:
        """Children of processes of a family that were forked behind the C library's back."""
        for name in filter(str.isdigit, os.listdir("/proc")):
            pid = int(name)
            if pid in self._ours or pid in family:
                continue
            parent = attach.parent_of(pid)
            if parent in family and attach.is_entered(pid):
                with self._lock:
                    self._add(pid, presence, parent)

    def _children(self, pid: int, tried: set[int]) -> list[int]:
        """Those of a family that are still entered; the first of it may have been left."""
        with self._lock:
            return [each for each, ours in self._ours.items() if self._descends(ours, {pid, *tried})]

    def _descends(self, ours: _Ours, family: set[int]) -> bool:
        parent = ours.parent
        while parent and parent not in family:
            above = self._ours.get(parent)
            parent = above.parent if above is not None else 0
        return parent in family

    def _forget_replaced(self, pid: int) -> bool:
        """Whether a process executes another program by now, of which nobody tells.

        What was ours in it is gone, and nothing must be done there: the addresses that we know are others'.
        """
        with self._lock:
            if pid not in self._ours or attach.is_entered(pid) or attach.has_ended(pid):
                return False
        self._replaced(pid)
        return True

    def _leave_one(self, pid: int) -> str:
        """Empty, or what went wrong."""
        with self._lock:
            ours = self._ours.get(pid)
        if ours is None:
            return ""
        if self._forget_replaced(pid):
            return attach.NOT_ATTACHED
        if attach.is_stopped(pid):
            return attach.STOPPED
        try:
            presence, inherited = ours.presence, None
            if presence.pid != pid:
                inherited = ours.presence.files
                with limits.roomy(pid):
                    presence = Presence(pid, self._library)
            if not presence.leave(self._wrappers, inherited):
                self._log(pid).plain("Warning: the wrappers stay mapped: a thread is in one")
        except InterposeError as error:
            return "" if attach.has_ended(pid) else error.message
        except OSError as error:
            return "" if attach.has_ended(pid) else f"it cannot be left: {error.strerror}"
        self._left(pid)
        return ""
