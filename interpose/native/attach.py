"""``interpose --attach=PID`` and ``--detach=PID``: into a process that runs, and out of it.

The supervisor goes on in the background, for what the process opens by dlopen() later; it listens at a name
that tells the process, by which ``--detach`` finds it.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat

from interpose.elf.headers import EM_X86_64, MAGIC
from interpose.errors import InterposeError, LaunchError, internal_error
from interpose.launch import fork, leave_files, open_json
from interpose.native import limits
from interpose.native.agent import load_frida
from interpose.native.start import NoLinkerError, linker_of
from interpose.report.log import FileNames, Log
from interpose.session import above_stdio

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interpose.options.parse import Config
    from interpose.report.jsonlines import JsonReport

_OWN_CODE = (b"/memfd:interpose-channel", b"/interpose/jit/_native.")
_OUR_PART = b"/interpose-native.so"
_START_TIME = 19  # field of /proc/PID/stat, counted after the name
ANSWER_SIZE = 1 << 12
DETACH = b"detach"
DONE = b"done"
NOT_YOURS = b"it was attached to by another user"
_DETACH_TIMEOUT = 60.0


class AttachError(InterposeError):
    """A process that cannot be attached to, or detached from."""

    def __init__(self, pid: int, reason: str) -> None:
        super().__init__(f"process {pid}: {reason}")


def control_name(pid: int) -> str:
    """Where the supervisor of a process listens, in the abstract namespace. Raises OSError."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b") ")[2].split()
    return f"\0interpose-native-{pid}-{fields[_START_TIME].decode()}"


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
    try:
        linker_of(pid)
    except NoLinkerError as error:
        raise AttachError(pid, f"{error}: the native engine can bind nothing in it") from None
    except OSError as error:
        raise AttachError(pid, f"it may not be looked at: {error.strerror}") from None


def attach(config: Config, pid: int) -> int:
    """Bindings are in effect in the process when this returns. Raises InterposeError."""
    check(pid)
    for path in config.core.wrappers:
        if not os.path.exists(path):
            raise LaunchError(f"{path}: there is no such library")
    names = FileNames(pid)
    log = Log.open(config, names)
    json = open_json(config, names)
    read, write = os.pipe2(os.O_CLOEXEC)
    child = fork()
    if child == 0:
        _become_supervisor(config, log, json, pid, write)
    os.close(write)
    os.waitpid(child, 0)
    answer = b""
    while chunk := os.read(read, ANSWER_SIZE):
        answer += chunk
    if not answer:
        raise LaunchError("the supervisor process ended before it was ready (killed?)")
    if answer != DONE:
        raise InterposeError(answer.decode())
    return 0


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
            supervisor = Supervisor(config, log, pid, [answer], json)
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
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as sock:
        try:
            sock.connect(control_name(pid))
        except FileNotFoundError:
            raise AttachError(pid, "there is no such process") from None
        except OSError:
            raise AttachError(pid, "it is not attached to") from None
        sock.settimeout(_DETACH_TIMEOUT)
        try:
            sock.sendall(DETACH)
            answer = sock.recv(ANSWER_SIZE).decode()
        except OSError as error:
            raise AttachError(pid, f"its supervisor does not answer: {error}") from None
    if answer != DONE.decode():
        raise AttachError(pid, answer or "its supervisor has ended")
    return 0
