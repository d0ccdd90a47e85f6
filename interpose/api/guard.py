"""The process between the caller and a program: whatever becomes of either, nothing of the program is left.

It adopts what the program's processes leave behind, so that it can wait for all of them, and for the
supervisors, whose reports are whole then.  When the caller says so, or is gone, it kills what there is.
"""

from __future__ import annotations

import _signal
import json
import os
import select
import sys
import time

from interpose.errors import InterposeError, internal_error
from interpose.jit._native import lib
from interpose.system import stat_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_PATIENCE = 5.0
"""Seconds that supervisors have to write what they know of killed programs."""


def entry() -> NoReturn:
    """``sys.argv``: descriptors to be told and to tell, ``wait`` or ``kill`` for children, command line."""
    control, status = int(sys.argv[1]), int(sys.argv[2])
    kill_children, words = sys.argv[3] == "kill", sys.argv[4:]
    os.set_inheritable(control, False)
    os.set_inheritable(status, False)
    lib.ip_adopt_orphans()
    # Before the fork: the child's end must not be missed.
    woken, waker = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    pid = os.fork()
    if pid == 0:
        os.close(woken)
        os.close(waker)
        _launch(words, status)
    _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    Guard(pid, control, status, woken, waker, kill_children).serve()
    os._exit(0)


def _launch(words: list[str], status: int) -> NoReturn:
    """Become the program."""
    code = 1
    try:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
        from interpose.cli import main as run

        code = run(words)
    except InterposeError as error:
        _tell(status, {"error": error.lines(), "code": error.exit_code})
    except BaseException as error:
        _tell(status, {"error": internal_error(error).lines(), "code": 1})
    finally:
        os._exit(code)


def _tell(fd: int, message: dict[str, Any]) -> None:
    try:
        os.write(fd, json.dumps(message).encode() + b"\n")
    except OSError:
        return  # nobody is there to hear it


class Guard:
    """Waits for all processes of a program."""

    def __init__(
        self, pid: int, control: int, status: int, woken: int, waker: int, kill_children: bool
    ) -> None:
        self._pid = pid
        self._control = control
        self._status = status
        self._woken = woken
        self._kill_children = kill_children
        self._mine = _command_line(os.getpid())
        _signal.signal(_signal.SIGCHLD, lambda number, frame: None)
        _signal.set_wakeup_fd(waker)
        # The mask is the caller's, who may block all signals and take them by sigwait; the program keeps it.
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, [_signal.SIGCHLD])

    def serve(self) -> None:
        """Until no process is left."""
        _tell(self._status, {"pid": self._pid})
        ready = select.poll()
        ready.register(self._woken, select.POLLIN)
        ready.register(self._control, select.POLLIN)
        while self._reap():
            if self._kill_children and not self._pid:
                self._kill_all()
                break
            for fd, _ in ready.poll():
                if fd == self._control:
                    self._kill_all()
                    return
                os.read(self._woken, 4096)
        _tell(self._status, {"done": True})

    def _reap(self) -> bool:
        """Take the ends of processes; false if there is none any more."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._pid:
                self._pid = 0
                _tell(self._status, {"status": os.waitstatus_to_exitcode(status)})

    def _kill_all(self) -> None:
        """All descendants; supervisors end by themselves when their programs do, and have told all then."""
        kill_supervisors_at = time.monotonic() + _PATIENCE
        while self._reap():
            patient = time.monotonic() < kill_supervisors_at
            for pid in _descendants(os.getpid()):
                if pid != self._pid and patient and _command_line(pid) == self._mine:
                    continue
                try:
                    os.kill(pid, _signal.SIGKILL)
                except OSError:
                    continue
            time.sleep(0.005)


def _command_line(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/cmdline", "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return b""


def _descendants(root: int) -> list[int]:
    """All processes below one, orphans included, which are adopted."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            parent = int(stat_fields(int(name))[1])
        except (OSError, IndexError, ValueError):
            continue
        children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    todo = [root]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found
