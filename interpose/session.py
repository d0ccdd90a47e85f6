"""What client and supervisor share: memory files, descriptors, the channel (abi/channel.h)."""

from __future__ import annotations

import errno
import os

from interpose import paths, system, tools
from interpose.errors import LaunchError
from interpose.jit._native import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from interpose.hooks.registry import Registry
    from interpose.options.parse import Config
    from interpose.program import Program
    from interpose.report.jsonlines import JsonReport
    from interpose.report.log import Log
    from interpose.report.xmlfile import XmlReport

CHANNEL_SIZE = lib.IP_CHAN_BYTES + lib.IP_XLT_MAX
CACHE_SIZE = lib.IP_CACHE_MAX
META_SIZE = lib.IP_META_MAX
TINY_CACHE = 1 << 18

HIGHEST_FD = lib.IP_HIGHEST_FD
_SPIN = 120_000  # ticks before a futex wait, some 50 microseconds; the translator sets it exactly


class Memory:
    """The three memory files of one client image."""

    __slots__ = ("cache_fd", "chan_fd", "header", "meta_fd")

    def __init__(self) -> None:
        made: list[int] = []
        try:
            for name, size in (("channel", CHANNEL_SIZE), ("cache", CACHE_SIZE), ("meta", META_SIZE)):
                made.append(_memory_file(f"interpose-{name}", size))
            self.chan_fd, self.cache_fd, self.meta_fd = made
            mapped = lib.ip_map_channel(self.chan_fd)
            if not mapped:
                why = os.strerror(ffi.errno)
                raise LaunchError(f"cannot map shared memory: {why}; check 'ulimit -v'")
            self.header: Any = ffi.gc(mapped, lib.ip_unmap_channel)
        except BaseException:
            for fd in made:
                os.close(fd)
            raise

    def unmap(self) -> None:
        """Let go of the mapping; the files stay open."""
        self.header = None

    def close(self) -> None:
        """Let go of the files, too."""
        self.unmap()
        for fd in self.descriptors():
            os.close(fd)

    def descriptors(self) -> tuple[int, int, int]:
        """Channel, cache, meta: the order in which the client gets them."""
        return self.chan_fd, self.cache_fd, self.meta_fd


class Session:
    """All that the supervisor needs to serve a client.

    :ivar config: the options.
    :ivar program: the ELF file and the arguments it runs with.
    :ivar argv: the words of the command as the user gave them (for the banner).
    :ivar memory: the memory files and the mapped channel (``memory.header`` is its ``struct ip_chan *``).
    :ivar sock_fd: our end of the stream socket to the client; end of file means that the client is gone.
    :ivar client_pid: the program's process.
    :ivar parent_pid: the parent of the program (for the banner).
    :ivar hooks: functions in Python that stand for the program's, or None.
    :ivar at_end: what a supervisor does when the program is gone and all is told, or None.
    :ivar forks: how often the program has forked, and those that it was forked from.
    :ivar log: the plain log; its ``names`` makes every other file name.
    :ivar json: the report in JSON, if one is wanted.
    """

    __slots__ = (
        "argv",
        "at_end",
        "client_pid",
        "config",
        "forks",
        "hooks",
        "json",
        "log",
        "memory",
        "parent_pid",
        "program",
        "sock_fd",
        "xml",
    )

    def __init__(
        self,
        config: Config,
        program: Program,
        memory: Memory,
        sock_fd: int,
        client_pid: int,
        parent_pid: int,
        log: Log,
        json: JsonReport | None = None,
        xml: XmlReport | None = None,
    ) -> None:
        self.config = config
        self.hooks: Registry | None = None
        self.at_end: Callable[[], None] | None = None
        self.forks = 0
        self.program = program
        self.argv: Sequence[str] = config.program
        self.memory = memory
        self.sock_fd = sock_fd
        self.client_pid = client_pid
        self.parent_pid = parent_pid
        self.log = log
        self.json = json
        self.xml = xml


def above_stdio(fd: int) -> int:
    """The same file at a descriptor above 2, for a run that began with some of 0 to 2 closed."""
    if fd > 2:
        return fd
    moved = system.duplicate(fd, 3)
    os.close(fd)
    return moved


def lift_limit(which: int) -> None:
    """Let this process have as much of a resource (``lib.IP_LIMIT_*``) as it may."""
    hard = system.limit(which)[1]
    for limits in ((system.UNLIMITED, system.UNLIMITED), (hard, hard)):
        try:
            system.set_limit(which, limits)
            return
        except OSError:
            continue  # only a privileged process may raise a hard limit


def _memory_file(name: str, size: int) -> int:
    try:
        fd = above_stdio(os.memfd_create(name))
        try:
            os.ftruncate(fd, size)
        except OSError:
            # The program's limit on file sizes is none of ours; SIGXFSZ is ignored in Python.
            limits = system.limit(lib.IP_LIMIT_FSIZE)
            lift_limit(lib.IP_LIMIT_FSIZE)
            try:
                os.ftruncate(fd, size)
            except OSError as error:
                if error.errno != errno.EFBIG:
                    raise
                raise LaunchError(
                    f"cannot make {size >> 20} MiB of shared memory: file sizes are limited; "
                    "check 'ulimit -f'"
                ) from None
            finally:
                system.set_limit(lib.IP_LIMIT_FSIZE, limits)
    except OSError as error:
        raise LaunchError(f"cannot make shared memory: {error.strerror}") from None
    return fd


def _duplicate(fd: int, at: int) -> int:
    try:
        return system.duplicate(fd, at, inherited=True)
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.EINVAL):
            return -1
        raise LaunchError(f"cannot place a file descriptor at {at}: {error.strerror}") from None


def place(descriptors: Sequence[int]) -> int:
    """Duplicate descriptors, inheritable, to the highest consecutive free numbers; the first of these.

    Only taking a number shows that it is free: those of an interpose that runs this one are hidden.
    """
    count = len(descriptors)
    soft, _ = system.limit(lib.IP_LIMIT_NOFILE)
    limit = HIGHEST_FD if soft == system.UNLIMITED else min(soft, HIGHEST_FD)
    base = limit - count
    while base > 2:
        taken: list[int] = []
        for index, fd in enumerate(descriptors):
            got = _duplicate(fd, base + index)
            if got >= 0:
                taken.append(got)
            if got != base + index:
                break
        else:
            return base
        for fd in taken:
            os.close(fd)
        base += index - count  # the last of them just below the one in use
    raise LaunchError(f"no {count} consecutive file descriptors are free below {limit}; raise ulimit -n")


def main_stack_size(config: Config) -> int:
    """Bytes of the main thread's stack at first: --main-stacksize, or ulimit up to 16 MB; at least 1 MB."""
    size = config.core.main_stacksize
    if size <= 0:
        soft, _ = system.limit(lib.IP_LIMIT_STACK)
        size = 16 << 20 if soft == system.UNLIMITED else min(soft, 16 << 20)
    return (max(size, 1 << 20) + 4095) & -4096


def _exact_flags(config: Config) -> bool:
    """Whether each fault finds all flags as they are natively, also those about to be overwritten."""
    core = config.core
    asked = (core.vex_iropt_register_updates, core.px_file_backed)
    return core.vgdb == "full" or any(mode.startswith("allregs-") for mode in asked)


def config_flags(config: Config) -> int:
    """The channel's IP_C_* bits for the options."""
    core = config.core
    flags = 0
    for wanted, bit in (
        (core.trace_children, lib.IP_C_TRACE_CHILDREN),
        (core.single_step, lib.IP_C_SINGLE_STEP),
        (not core.optimise, lib.IP_C_NO_OPT),
        (not core.cleanup, lib.IP_C_NO_CLEANUP),
        (not core.instrument, lib.IP_C_NO_INSTR),
        (not core.chaining, lib.IP_C_NO_CHAIN),
        (core.force_tracking, lib.IP_C_FORCE_TRACK),
        (_exact_flags(config), lib.IP_C_EXACT),
        (core.smc_check == "all", lib.IP_C_SMC_ALL),
        (core.perf_map, lib.IP_C_PERF_MAP),
        (not core.vdso, lib.IP_C_NO_VDSO),
        (core.main_stacksize > 0, lib.IP_C_FIXED_STACK),
        (core.far_images, lib.IP_C_FAR_IMAGES),
        (core.track_fds != "no", lib.IP_C_TRACK_FDS),
        ("lax-ioctls" in (core.sim_hints or ()), lib.IP_C_LAX_IOCTLS),
        (core.modify_fds == "yes", lib.IP_C_MOVE_FDS),
        (core.modify_fds == "high", lib.IP_C_MOVE_ALL_FDS),
        (not (core.fsgsbase and lib.ip_has_fsgsbase()), lib.IP_C_NO_GSBASE),
        (core.trace_malloc, lib.IP_C_SHOW_HEAP),
        (not core.realloc_zero_bytes_frees, lib.IP_C_REALLOC_ZERO_KEEPS),
    ):
        if wanted:
            flags |= bit
    for name in tools.load(config.tool_name).engine_flags(config):
        flags |= getattr(lib, name)
    if not core.instrument:
        # Nothing would keep them up to date.
        flags &= ~(lib.IP_C_SHADOW | lib.IP_C_CALLSTACK | lib.IP_C_UNDEF | lib.IP_C_ORIGINS)
    return flags


def fill_changeable(header: Any, config: Config) -> None:
    """The part of the configuration that the runtime reads each time, and that may change while it runs."""
    core = config.core
    header.verbosity = max(core.verbosity, 0)
    header.shows = (
        (core.trace_syscalls and lib.IP_SHOW_CALLS)
        | (core.sigill_diagnostics and lib.IP_SHOW_ILLEGAL)
        | (core.trace_signals and lib.IP_SHOW_SIGNALS)
        | (core.trace_sched and lib.IP_SHOW_THREADS)
        | (core.child_silent_after_fork and lib.IP_HIDE_VFORKED)
    )
    header.merge_frames = core.merge_recursive_frames
    # Stacks that lose frames differ in others than the first ones of what is recorded.
    header.error_frames = lib.IP_ERROR_FRAMES_ALL if core.hooks else lib.IP_ERROR_FRAMES
    for name, value in tools.load(config.tool_name).channel_fields(config).items():
        setattr(header, name, value)


def fill_channel(memory: Memory, config: Config, path: str, client_pid: int) -> None:
    """Write the configuration that the runtime reads when it starts, for a program at ``path``.

    Raises LaunchError.
    """
    core = config.core
    header = memory.header
    flags = config_flags(config)
    if flags & (lib.IP_C_SHADOW | lib.IP_C_TRACE) and not os.path.exists("/proc/self/fd"):
        # Nothing else says what is mapped: of functions that nobody knows, a tool that follows values reports
        # what is no error.
        raise LaunchError("cannot find out which files are mapped: /proc is not mounted")
    header.magic = lib.IP_MAGIC
    header.build = lib.ip_build_id()
    header.client_pid = client_pid
    header.spin = _SPIN if len(os.sched_getaffinity(0)) > 1 else 0
    header.config_flags = flags
    header.stop_after = core.stop_after
    header.evict = core.evict
    header.random_registers = core.random_registers
    for name, value in core.delays:
        header.delayed = 1
        if name == "seed":
            header.delay_seed = value
        else:
            header.delay_ms[getattr(lib, f"IP_AT_{name.upper()}")] = value
    header.main_stack = main_stack_size(config)
    header.num_callers = core.num_callers
    header.errors_until = lib.IP_ERRORS_MOST if core.error_limit else (1 << 64) - 1
    header.max_stackframe = max(core.max_stackframe, 0)
    header.redzone = core.redzone_size
    header.alignment = core.alignment
    header.malloc_fill = header.free_fill = -1
    fill_changeable(header, config)
    _fill_path(header.prog, path)
    # Every program gets the core's part: rules may bind indirect functions at any time.
    _fill_path(header.stubs, paths.product(_stubs(flags)))


def _stubs(flags: int) -> str:
    """The replacement functions: a tool that traces wants the program's own string functions."""
    if not flags & lib.IP_C_HEAP:
        return paths.CORE_STUBS
    return paths.HEAP_STUBS if flags & lib.IP_C_TRACE else paths.STUBS


_NO_BLOCK = 999999999
"""The default of --trace-notbelow, which says nothing, as 0 does for --trace-notabove."""


def stage_trace(session: Session) -> tuple[int, bytes, int, int]:
    """Where the stages of translations are printed, which, and of which blocks (--trace-flags)."""
    core = session.config.core
    flags = "".join("1" if bit else "0" for bit in core.trace_flags or (False,) * 8)
    first = max(core.trace_notbelow, 0) if core.trace_notbelow != _NO_BLOCK else 0
    last = max(core.trace_notabove, 0) or _NO_BLOCK
    return session.log.fd if session.log.fd is not None else -1, flags.encode(), first, last


def no_translator(status: int) -> str:
    """Why its thread or its memory could not be had (a negative number of an error)."""
    return f"cannot start the translator: {os.strerror(-status)}; check 'ulimit -v' and 'ulimit -u'"


def start_translator(session: Session) -> None:
    """Start the translator thread of this process; it needs no Python."""
    memory = session.memory
    core = session.config.core
    status = lib.ip_service_start(
        memory.chan_fd,
        memory.cache_fd,
        memory.meta_fd,
        session.config.tool_name.encode(),
        memory.header.config_flags,
        TINY_CACHE if core.tiny_cache else lib.IP_CACHE_MAX,
        *stage_trace(session),
    )
    lib.ip_service_socket(session.sock_fd)
    if status != 0:
        raise LaunchError(no_translator(status))


def _fill_path(field: Any, path: str) -> None:
    data = os.fsencode(path) + b"\0"
    if len(data) > len(field):
        raise LaunchError(f"{path[:60]}…: the name is too long")
    ffi.memmove(field, data, len(data))
