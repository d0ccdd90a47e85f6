"""``interpose --attach=PID`` and ``--detach=PID``: into a process that runs, and out of it.

The supervisor goes on in the background, for what the process opens by dlopen() later; it listens at a name
that tells the process, by which ``--detach`` finds it.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import time

from interpose import paths, system
from interpose.elf.errors import ElfError
from interpose.elf.headers import EM_X86_64, MAGIC
from interpose.elf.image import Image
from interpose.errors import InterposeError, LaunchError, internal_error
from interpose.jit._native import lib
from interpose.launch import NEVER_READY, fork, leave_files, open_json, reap
from interpose.native import limits
from interpose.native.agent import load_frida
from interpose.native.start import NoLinkerError, linker_of
from interpose.report.log import FileNames, Log
from interpose.session import above_stdio

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from interpose.options.parse import Config
    from interpose.report.jsonlines import JsonReport

_OWN_CODE = (b"/memfd:interpose-channel", b"/interpose/jit/_native.")
_OUR_PART = b"/interpose-native.so"
_START_TIME = 19  # field of /proc/PID/stat, counted after the name
ANSWER_SIZE = 1 << 12
DETACH, FORGET = b"detach", b"forget"
"""What a supervisor is asked: to leave a process; or to forget it, if it executes another program by now."""
REQUEST_SIZE = 6
DONE = b"done"
NOT_ATTACHED = "it is not attached to"
NOT_YOURS = b"it was attached to by another user"
_DETACH_TIMEOUT = 60.0
_PATIENCE, _MOMENT = 2.0, 0.02  # seconds for a sleep that nothing can end, and between looks


class AttachError(InterposeError):
    """A process that cannot be attached to, or detached from."""

    def __init__(self, pid: int, reason: str) -> None:
        super().__init__(f"process {pid}: {reason}")


def control_name(pid: int) -> str:
    """Where the supervisor of a process listens, in the abstract namespace. Raises OSError."""
    start = system.stat_fields(pid)[_START_TIME]
    return f"\0interpose-native-{pid}-{start.decode()}"


def parent_of(pid: int) -> int:
    """That of a process; 0 if it has ended."""
    with contextlib.suppress(OSError, ValueError):
        return int(_status(pid)["PPid"])
    return 0


def is_entered(pid: int) -> bool:
    """Whether our part is in a process."""
    try:
        with open(f"/proc/{pid}/maps", "rb") as file:
            return _OUR_PART in file.read()
    except OSError:
        return False


def has_ended(pid: int) -> bool:
    """Whether nothing of a process runs any more."""
    try:
        return _status(pid)["State"].startswith(("Z", "X"))
    except (OSError, KeyError):
        return True


def _status(pid: int) -> dict[str, str]:
    with open(f"/proc/{pid}/status", errors="replace") as file:
        return {name: value.strip() for name, _, value in (line.partition(":") for line in file)}


STOPPED = "it is stopped (by SIGSTOP or a terminal): have it go on first (kill -CONT)"


def is_stopped(pid: int) -> bool:
    """Whether a signal has stopped a process: it can do nothing for us."""
    return _state_of(pid) == "T"


def _state_of(pid: int) -> str:
    with contextlib.suppress(OSError, KeyError):
        return _status(pid)["State"][:1]
    return ""


def check(pid: int) -> None:
    """Whether a process may and can be attached to. Raises AttachError."""
    try:
        status = _status(pid)
    except OSError:
        raise AttachError(pid, "there is no such process") from None
    if status.get("Tgid") != str(pid):
        raise AttachError(pid, f"this is a thread of process {status.get('Tgid')}")
    if status["State"].startswith(("Z", "X")):
        raise AttachError(pid, "it has ended")
    owners = set(status["Uid"].split()[:3])
    if os.geteuid() != 0 and owners != {str(os.geteuid())}:
        raise AttachError(pid, "it belongs to another user")
    if pid == os.getpid():
        raise AttachError(pid, "this is interpose itself")
    try:
        with open(f"/proc/{pid}/maps", "rb") as file:
            maps = file.read()
        with open(f"/proc/{pid}/exe", "rb") as file:
            head = file.read(20)
    except FileNotFoundError:
        raise AttachError(pid, "it is a thread of the kernel") from None
    except OSError as error:
        raise AttachError(pid, f"it may not be looked at: {error.strerror}") from None
    if any(part in maps for part in _OWN_CODE):
        raise AttachError(pid, "it is interpose's own, or runs under it already")
    if _OUR_PART in maps:
        raise AttachError(pid, "it is attached to already")
    if status.get("TracerPid", "0") != "0":
        raise AttachError(pid, f"it is being traced by process {status['TracerPid']}")
    if head[:5] != MAGIC + b"\2" or int.from_bytes(head[18:20], "little") != EM_X86_64:
        raise AttachError(pid, "it is no x86-64 program")
    if status["State"].startswith("T"):
        raise AttachError(pid, STOPPED)
    end = time.monotonic() + _PATIENCE
    while _state_of(pid) == "D":
        if time.monotonic() > end:
            raise AttachError(
                pid, "it sleeps where nothing can wake it, as vfork does until the child executes"
            )
        time.sleep(_MOMENT)
    _check_filters(pid, status)
    _check_user(pid, status)
    try:
        linker_of(pid)
    except NoLinkerError as error:
        raise AttachError(pid, f"{error}: the native engine can bind nothing in it") from None
    except OSError as error:
        raise AttachError(pid, f"it may not be looked at: {error.strerror}") from None


def _check_filters(pid: int, status: dict[str, str]) -> None:
    """Filters of system calls that end a process would end it at a call of the agent's; ours it may share."""
    mode, own = status.get("Seccomp", "0"), _status(os.getpid())
    if mode == "1":
        raise AttachError(pid, "it is in seccomp's strict mode: the agent's first system call would end it")
    if mode != "0" and status.get("Seccomp_filters", mode) != own.get("Seccomp_filters", own.get("Seccomp")):
        raise AttachError(pid, "it filters its system calls (seccomp): one of the agent's could end it")


def _check_user(pid: int, status: dict[str, str]) -> None:
    """The agent has to name its user, which has no number in a namespace of users that maps none."""
    if os.readlink(f"/proc/{pid}/ns/user") == os.readlink("/proc/self/ns/user"):
        return
    with open(f"/proc/{pid}/uid_map") as file:
        rows = [list(map(int, line.split())) for line in file]
    user = int(status["Uid"].split()[1])
    if not any(start <= user < start + count for _, start, count in rows):
        raise AttachError(pid, "its user namespace does not map its user: the agent could not say who it is")


def _check_files(pid: int, paths: Sequence[str]) -> None:
    """What the process is to open has to be there under the same name, and /proc for Frida."""
    root = f"/proc/{pid}/root"
    for path in paths:
        try:
            is_same = os.path.samefile(root + path, path)
        except OSError:
            is_same = False
        if not is_same:
            raise AttachError(pid, f"{path} is not there in its root or mount namespace")
    if not os.path.lexists(f"{root}/proc/self"):
        raise AttachError(pid, "there is no /proc in its root or mount namespace, which the agent needs")


def _check_wrappers(paths: Sequence[str]) -> None:
    for path in paths:
        if not os.path.exists(path):
            raise LaunchError(f"{path}: there is no such library")
        try:
            Image.open(path)
        except ElfError as error:
            raise LaunchError(f"{path}: it is no library for x86-64: {error.fault}") from None


def attach(config: Config, pid: int) -> int:
    """Bindings are in effect in the process when this returns. Raises InterposeError."""
    check(pid)
    wrappers = config.core.wrappers
    _check_wrappers(wrappers)
    _check_files(pid, [paths.product(paths.NATIVE), *map(paths.real, wrappers)])
    names = FileNames(pid)
    log = Log.open(config, names)
    json = open_json(config, names)
    read, write = os.pipe2(os.O_CLOEXEC)
    child = fork()
    if child == 0:
        _become_supervisor(config, log, json, pid, write)
    os.close(write)
    reap(child)
    answer = b""
    while chunk := os.read(read, ANSWER_SIZE):
        answer += chunk
    if not answer:
        raise LaunchError(NEVER_READY)
    if answer != DONE:
        raise InterposeError(_reason(answer))
    return 0


def _reason(answer: bytes) -> str:
    """What went wrong, as the supervisor says it, or its last words."""
    text = answer.decode("utf-8", "replace").rstrip(f"\n{chr(lib.IP_TOLD)}")
    return text.removeprefix("interpose: ")


def _become_supervisor(config: Config, log: Log, json: JsonReport | None, pid: int, answer: int) -> None:
    code = 1
    try:
        try:
            os.setsid()
            if fork() != 0:
                os._exit(0)
            leave_files({answer, *(fd for out in (log, json) if out is not None for fd in out.descriptors())})
            _leave_stderr(log)
            from interpose.native.supervisor import Supervisor

            limits.lift_own()
            lib.ip_last_words_at(answer)
            supervisor = Supervisor(config, log, pid, answer, json)
            lib.ip_last_words_at(2)
            load_frida()
            supervisor.attach(pid)
            os.write(answer, DONE)
            os.close(answer)
            leave_output(log)
            supervisor.run()
            code = 0
        except InterposeError as error:
            os.write(answer, "\n".join(error.lines()).encode())
        except BaseException as error:
            os.write(answer, "\n".join(internal_error(error).lines()).encode())
    finally:
        os._exit(code)


def _leave_stderr(log: Log) -> None:
    """Only the log has it from now on: Frida keeps a copy of descriptor 2."""
    if log.fd == 2:
        log.fd = above_stdio(os.dup(2))
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 2)
    os.close(null)


def leave_output(log: Log) -> None:
    """Whoever waits for the end of the command's output shall not wait for the process's."""
    null = os.open(os.devnull, os.O_RDWR)
    if log.fd is not None and not log.to_file and not stat.S_ISSOCK(os.fstat(log.fd).st_mode):
        os.dup2(null, log.fd)
    os.close(null)


def detach(pid: int) -> int:
    """The process is as it was when this returns. Raises AttachError."""
    return ask(pid, DETACH)


def ask(pid: int, request: bytes) -> int:
    """Have its supervisor do something about a process. Raises AttachError."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as sock:
        try:
            sock.connect(control_name(pid))
        except FileNotFoundError:
            raise AttachError(pid, "there is no such process") from None
        except OSError:
            raise AttachError(pid, NOT_ATTACHED) from None
        sock.settimeout(_DETACH_TIMEOUT)
        try:
            sock.sendall(request)
            answer = sock.recv(ANSWER_SIZE).decode()
        except OSError as error:
            raise AttachError(pid, f"its supervisor does not answer: {error}") from None
    if answer != DONE.decode():
        raise AttachError(pid, answer or "its supervisor has ended")
    return 0
