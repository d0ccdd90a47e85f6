"""``interpose --engine=native program``: client and supervisor come to life.

As with the other engine the process that the user started becomes the program, and the supervisor is a
process beside it that is no child of the program's.
"""

from __future__ import annotations

import ctypes
import os

from interpose import system
from interpose.elf.errors import ElfError
from interpose.elf.image import Image
from interpose.errors import (
    InterposeError,
    LaunchError,
    OptionError,
    ProgramError,
    internal_error,
    tell,
    tell_at,
)
from interpose.launch import (
    READY,
    TOLD,
    fork,
    heed_signals,
    leave_files,
    open_json,
    original_environment,
    wait_for_supervisor,
)
from interpose.native import limits, wire
from interpose.native.agent import load_frida
from interpose.program import resolve
from interpose.report.log import FileNames, Log, is_open
from interpose.session import above_stdio

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from interpose.options.parse import Config
    from interpose.program import Program
    from interpose.report.jsonlines import JsonReport

_PR_SET_PTRACER, _ANY = 0x59616D61, -1 & (1 << 64) - 1


def check(config: Config) -> None:
    """The options that go with the engine. Raises OptionError."""
    named = [word for word in config.given if word.startswith("--tool=")]
    if named and config.tool_name != "none":
        raise OptionError.bad(named[-1], "the native engine has no tools: it puts wrappers into effect")


def run(config: Config) -> NoReturn:
    """Run the program of a configuration; returns by an :class:`InterposeError` only."""
    check(config)
    if not config.program:
        raise OptionError("no program specified")
    program = resolve(config.program, os.environ)
    _check_program(program)
    names = FileNames(os.getpid())
    log = Log.open(config, names)
    json = open_json(config, names)
    our_fd, their_fd = map(above_stdio, system.socket_pair())
    pid = os.getpid()
    ctypes.CDLL(None).prctl(_PR_SET_PTRACER, ctypes.c_ulong(_ANY), 0, 0, 0)
    descriptors = limits.raise_descriptors()
    intermediate = fork()
    if intermediate == 0:
        _become_supervisor(config, log, json, pid, our_fd, descriptors)
    os.close(our_fd)
    wait_for_supervisor(intermediate, their_fd)
    if json is not None:
        json.start("start", config, config.program, os.getppid())
        json.close()
    _fill_low_numbers(min(wire.last_low(os.getpid()), descriptors[0]))
    _execute(program, config.program)


def _check_program(program: Program) -> None:
    try:
        interpreter = Image.open(program.path).interpreter
    except ElfError as error:
        raise ProgramError(program.command, str(error)) from None
    if interpreter is None:
        reason = "it is statically linked: the native engine can bind nothing in it"
        raise ProgramError(program.command, reason, 1)


def _fill_low_numbers(last: int) -> None:
    """Take all descriptor numbers up to a limit that the program is not given; they stay over exec.

    What the agent opens shall not take low numbers, which programs print and compare.
    """
    spare = os.memfd_create(wire.SPARE, 0)
    for number in range(3, last):
        try:
            if os.get_inheritable(number):
                continue
        except OSError:
            pass
        if number != spare:
            os.dup2(spare, number)


def _execute(program: Program, words: tuple[str, ...]) -> NoReturn:
    """The kernel finds interpreters of scripts as it always does; a file without any is the shell's."""
    heed_signals()
    libc = ctypes.CDLL(None, use_errno=True)
    environment = original_environment()
    for path, argv in ((program.command, words), (program.path, program.argv)):
        arguments = [os.fsencode(word) for word in argv]
        libc.execve(
            os.fsencode(path),
            (ctypes.c_char_p * (len(arguments) + 1))(*arguments, None),
            (ctypes.c_char_p * (len(environment) + 1))(*environment, None),
        )
    raise ProgramError(program.command, os.strerror(ctypes.get_errno()))


def _become_supervisor(
    config: Config, log: Log, json: JsonReport | None, pid: int, sock: int, descriptors: limits.Limits
) -> NoReturn:
    """In the first child: fork again, leave the program's session and files, prepare the program, serve."""
    try:
        try:
            os.setsid()
            if fork() != 0:
                os._exit(0)
            written = {fd for output in (log, json) if output is not None for fd in output.descriptors()}
            leave_files({sock, *written})
            _supervise(config, log, json, pid, sock, descriptors)
        except InterposeError as error:
            tell(error)
            os.write(sock, TOLD)
        except BaseException as error:
            tell(internal_error(error))
            os.write(sock, TOLD)
    finally:
        os._exit(0)


def _keep_stderr() -> None:
    """Frida and its helpers have things to say on descriptor 2 that are nothing to the program's user."""
    if is_open(2):
        tell_at(system.duplicate(2, 3))
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        os.dup2(null, 2)
        os.close(null)


def _supervise(
    config: Config, log: Log, json: JsonReport | None, pid: int, sock: int, descriptors: limits.Limits
) -> None:
    from interpose.native import start, tracer
    from interpose.native.supervisor import Supervisor

    limits.lift_own()
    supervisor = Supervisor(config, log, pid, sock, json)
    _keep_stderr()
    load_frida()
    try:
        tracee = tracer.Tracee(pid, tells_exec=True, dies_with_us=True)
    except OSError as error:
        raise LaunchError(f"process {pid} cannot be traced: {error.strerror}") from None
    os.write(sock, READY)
    try:
        while (stop := tracee.wait())[1] != tracer.EVENT_EXEC:
            tracee.go_on(stop[0] if not stop[1] else 0)
        supervisor.prepare(tracee, descriptors)
    except start.NoLinkerError as error:
        raise LaunchError(f"{config.program[0]}: {error}") from None
    except tracer.GoneError:
        return
    supervisor.run()
