"""The two processes: T, which interpose runs, and N, its fork on the real CPU."""

from __future__ import annotations

import os
import signal

from interpose.errors import InterposeError, LaunchError, internal_error, tell
from interpose.jit._native import ffi, lib
from interpose.lockstep.calls import EXIT, EXIT_GROUP, OPEN, RT_SIGRETURN, Mirror
from interpose.lockstep.maps import missing
from interpose.procmaps import regions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from interpose.lockstep.options import Options
    from interpose.procmaps import Region

_WORD = (1 << 64) - 1
_CHUNK = 1 << 20
_BELOW_RED_ZONE = 4096


class Ended(Exception):
    """There is nothing more to compare."""


class ProcessMemory:
    """Memory of a traced process, protections notwithstanding."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.fd = os.open(f"/proc/{pid}/mem", os.O_RDWR | os.O_CLOEXEC)

    def read(self, at: int, size: int) -> bytes:
        """Bytes at [at, at + size), fewer where memory ends."""
        parts = []
        end = at + size
        while at < end:
            try:
                data = os.pread(self.fd, min(end - at, _CHUNK), at)
            except (OSError, OverflowError):
                data = b""
            if not data:
                break
            parts.append(data)
            at += len(data)
        return b"".join(parts)

    def write(self, at: int, data: bytes) -> None:
        """Write as far as memory goes."""
        try:
            os.pwrite(self.fd, data, at)
        except (OSError, OverflowError):
            return


class Pair:
    """Drives both processes, through ``struct ip_ls``.

    :ivar state: the structure; its documentation is ``interpose/lockstep/lockstep.h``.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.state: Any = ffi.new("struct ip_ls *")
        self.state.start_at = options.start_at
        self.state.stop_at = self._next_stop()
        self.state.vector_every = options.vector_every
        self.state.keep_undefined = options.undefined_flags
        core = options.engine.core
        self.state.forgive_dead = core.optimise and core.instrument
        self.state.poke_reg = -1
        if options.poke is not None:
            self.state.poke_step, self.state.poke_reg, self.state.poke_value = options.poke
        self.mirror = Mirror(self)
        self._t_memory: ProcessMemory | None = None
        self._n_memory: ProcessMemory | None = None

    @property
    def t_pid(self) -> int:
        return self.state.t_pid

    @property
    def translated(self) -> ProcessMemory:
        """T's memory."""
        if self._t_memory is None:
            self._t_memory = ProcessMemory(self.state.t_pid)
        return self._t_memory

    @property
    def native(self) -> ProcessMemory:
        """N's memory."""
        if self._n_memory is None:
            self._n_memory = ProcessMemory(self.state.n_pid)
        return self._n_memory

    # -- birth -------------------------------------------------------------------------------------

    def start(self) -> None:
        """T to the program's first instruction."""
        pid = os.fork()
        if pid == 0:
            self._become_t()
        if lib.ip_ls_start(self.state, pid) != 0:
            if self.state.t_ended:
                raise Ended  # it has said why
            raise self.broken()

    def _become_t(self) -> None:
        from interpose.launch import launch

        try:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            status = lib.ip_ls_traceme()
            if status != 0:
                raise LaunchError(f"lockstep: the program cannot be traced: {os.strerror(-status)}")
            launch(self.options.engine)
        except InterposeError as error:
            tell(error)
            os._exit(error.exit_code)
        except BaseException as error:
            tell(internal_error(error))
        os._exit(1)

    def run_to(self, address: int) -> None:
        """T alone to an address."""
        if lib.ip_ls_run_to(self.state, address) != 0:
            if self.state.t_ended:
                raise Ended
            raise self.broken()

    def fork(self) -> None:
        """N comes to life where T stands."""
        if lib.ip_ls_fork(self.state) != 0:
            raise self.broken()

    def broken(self) -> InterposeError:
        """What went wrong with the tracing itself."""
        what = ffi.string(self.state.text).decode()
        error = self.state.error
        return LaunchError(f"lockstep: cannot {what}" + (f": {os.strerror(error)}" if error else ""))

    # -- the run -----------------------------------------------------------------------------------

    def run(self) -> int:
        """On to a difference, the limit or an end; an ``IP_LS_*`` event."""
        while True:
            event = lib.ip_ls_run(self.state)
            if event == lib.IP_LS_ERROR:
                raise self.broken()
            if event == lib.IP_LS_LIMIT and self.options.memory_every:
                if self._memory_differs():
                    return lib.IP_LS_DIFFER
                if self.state.steps < self.options.stop_at:
                    self.state.stop_at = self._next_stop()
                    continue
            if event == lib.IP_LS_SYSCALL:
                if self.state.t_ended:
                    # In a call: an exit, an exec, or a signal that it sent itself.
                    return lib.IP_LS_T_EXEC if self.state.t_ended == 2 else lib.IP_LS_BOTH_DIED
                self._call()
            elif event == lib.IP_LS_REQUEST:
                if self.state.t_ended:
                    return lib.IP_LS_T_ENDED
                self.mirror.request(self.state.n.gpr[lib.IP_RAX], self.state.t.gpr[lib.IP_RDX])
                self._check(lib.ip_ls_adopt(self.state, 1))
            else:
                return event

    def _next_stop(self) -> int:
        """The step before which the processes go on by themselves."""
        steps, every, last = self.state.steps, self.options.memory_every, self.options.stop_at
        return min(max(steps, self.options.start_at) + every, last) if every else last

    def _memory_differs(self) -> bool:
        """Compare all that the program can write; where the first difference is goes into the state."""
        for at, got, expected in self._different_memory():
            offset = next(
                (i for i, (a, b) in enumerate(zip(got, expected, strict=False)) if a != b),
                min(len(got), len(expected)),
            )
            self.state.differ |= lib.IP_LS_D_MEMORY
            self.state.differ_addr = at + offset
            for field, data in ((self.state.differ_t, got), (self.state.differ_n, expected)):
                ffi.memmove(field, data[offset : offset + 16].ljust(16, b"\0"), 16)
            return True
        return False

    def _different_memory(self) -> Iterator[tuple[int, bytes, bytes]]:
        """Pieces of what the program can write that differ: the address, T's bytes and N's."""
        for region in self.regions(self.t_pid):
            for at in range(region.start, region.end if region.writable else region.start, _CHUNK):
                size = min(region.end - at, _CHUNK)
                translated, native = self.translated.read(at, size), self.native.read(at, size)
                if translated != native:
                    yield at, translated, native

    def _call(self) -> None:
        state = self.state
        gpr = list(state.n.gpr)
        number = gpr[lib.IP_RAX] & 0xFFFFFFFF
        args = [gpr[r] for r in (lib.IP_RDI, lib.IP_RSI, lib.IP_RDX, lib.IP_R10, lib.IP_R8, lib.IP_R9)]
        # At its end the program may have to call a function first (--run-libc-freeres).
        if number in (RT_SIGRETURN, EXIT, EXIT_GROUP):
            self._check(lib.ip_ls_adopt(state, 1))
            return
        result = state.after.gpr[lib.IP_RAX]
        self.mirror.call(number, args, result - (1 << 64) if result >> 63 else result)
        self._check(lib.ip_ls_adopt(state, 0))

    def _check(self, status: int) -> None:
        if status != 0:
            raise self.broken()

    def finish(self, *, kill: bool) -> int | None:
        """End N; T is killed or goes on alone to its end.

        :returns: T's exit code, or the negative number of the signal that ended it; None if nobody knows.
        """
        state = self.state
        if state.t_pid == 0:
            return None
        if kill and state.t_ended != 1:
            os.kill(state.t_pid, signal.SIGKILL)
        status = lib.ip_ls_finish(state)
        if status < 0:
            try:
                status = os.waitpid(state.t_pid, 0)[1]
            except ChildProcessError:
                return None
        return os.waitstatus_to_exitcode(status)

    # -- what the mirror does to N -----------------------------------------------------------------

    def native_call(self, number: int, *args: int) -> int:
        """N makes a system call; its result, an address or a negative error."""
        words = [arg & _WORD for arg in (*args, 0, 0, 0, 0, 0, 0)[:6]]
        return lib.ip_ls_syscall(self.state, number, ffi.new("uint64_t[6]", words))

    def native_open(self, path: str) -> int:
        """A descriptor of N's for reading; its stack lends the room for the name."""
        name = os.fsencode(path) + b"\0"
        at = self.state.n.gpr[lib.IP_RSP] - _BELOW_RED_ZONE - len(name)
        saved = self.native.read(at, len(name))
        if len(saved) != len(name):
            return -1
        self.native.write(at, name)
        try:
            return self.native_call(OPEN, at, os.O_RDONLY | os.O_CLOEXEC)
        finally:
            self.native.write(at, saved)

    def set_base(self, *, fs: bool, value: int) -> None:
        """arch_prctl: N's own bases are the guest's."""
        state = self.state
        bases = (value, state.n_gs) if fs else (state.n_fs, value)
        self._check(lib.ip_ls_set_bases(state, *bases))

    def copy(self, at: int, size: int) -> None:
        """T's bytes to N."""
        while size > 0:
            data = self.translated.read(at, min(size, _CHUNK))
            if not data:
                return
            self.native.write(at, data)
            at += len(data)
            size -= len(data)

    def copy_all(self) -> None:
        """Everything that T may have written to."""
        for at, data, _ in self._different_memory():
            self.native.write(at, data)

    def regions(self, pid: int) -> list[Region]:
        """The guest's mappings."""
        bare = self.options.engine.tool_name == "none"
        end = lib.IP_CLIENT_END_BARE if bare else lib.IP_CLIENT_END
        return [
            region
            for region in regions(pid)
            if (lib.IP_CLIENT_LO <= region.start < end or region.start < lib.IP_CACHE_BASE)
            and not lib.IP_OWN_BASE <= region.start < lib.IP_OWN_END
        ]

    def mapping_end(self, at: int) -> int:
        """Where T's mapping that begins at an address ends."""
        return next((region.end for region in regions(self.t_pid) if region.start == at), at)

    def native_mapping_end(self, at: int) -> int:
        """The same of N's."""
        return next((region.end for region in regions(self.state.n_pid) if region.start == at), at)

    def new_segments(self) -> list[tuple[int, int]]:
        """What T has mapped and N has not."""
        return missing(self.regions(self.t_pid), self.regions(self.state.n_pid))


def resolve_place(pair: Pair, text: str) -> int:
    """What --skip-until names: an address (0x...), a function of a file that is mapped now, or ``entry``."""
    if text.startswith("0x"):
        try:
            address = int(text, 16)
        except ValueError:
            address = -1
        if not 0 <= address < 1 << 64:
            raise LaunchError(f"--skip-until={text}: not an address")
        return address
    from interpose.elf.errors import ElfError
    from interpose.elf.image import Image

    seen = set()
    for region in pair.regions(pair.t_pid):
        if region.name in seen or not region.name.startswith(b"/") or region.offset != 0:
            continue
        seen.add(region.name)
        try:
            image = Image.open(os.fsdecode(region.name))
            bias = region.start - (image.load_base & -4096)
            for symbol in (*image.symtab, *image.dynsyms):
                if symbol.name == text and symbol.is_defined:
                    return symbol.value + bias
            if text == "entry" and image.interpreter is not None:
                return image.entry + bias
        except ElfError:
            continue
    raise LaunchError(
        f"--skip-until={text}: no such function in the program or its dynamic linker; give an address (0x...)"
    )
