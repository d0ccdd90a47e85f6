"""A process on the real CPU, as the hooks in Python see it (:class:`interpose.hooks.host.Host`)."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct

from interpose import paths, system
from interpose.elf.symbolizer import Symbolizer
from interpose.elf.unwind import Unwinder
from interpose.hooks.port import Thread
from interpose.jit._native import lib
from interpose.native import wire
from interpose.procmaps import regions
from interpose.report.stack import StackOptions, StackResolver
from interpose.supervisor.files import Files

TYPE_CHECKING = False
if TYPE_CHECKING:
    import mmap
    from collections.abc import Sequence
    from typing import Any

    from interpose.hooks.hooked import HookedCall
    from interpose.hooks.service import HookService
    from interpose.options.parse import Config
    from interpose.procmaps import Region
    from interpose.report.log import Log

_PAGE = 4096
_RSP, _RBP = 7, 6  # by DWARF number
_LOOKUP_TIMEOUT = 60.0
UNKNOWN = ("???", "???")


class Supervisor:
    """The process that binds, to the one that runs hooks: it knows the names of what is bound.

    :ivar gone: a descriptor that hangs up when it ends.
    """

    def __init__(self, name: str, token: bytes, gone: int, changes: mmap.mmap) -> None:
        """``changes`` begins with a number that is another one after each change of code."""
        self._name = name
        self.token = token
        self.gone = gone
        self._changes = changes

    @property
    def changes(self) -> int:
        """How often objects have come or gone."""
        (count,) = struct.unpack_from("<Q", self._changes, 0)
        return int(count)

    def ask(self, **what: Any) -> Any:
        """One question (:meth:`interpose.native.supervisor.Supervisor.look_up`); None without an answer."""
        with (
            contextlib.suppress(OSError, ValueError),
            socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as connection,
        ):
            connection.settimeout(_LOOKUP_TIMEOUT)
            connection.connect(f"\0{self._name}")
            connection.sendall(wire.lookup(self.token, json.dumps(what).encode()))
            data = b""
            while chunk := connection.recv(1 << 16):
                data += chunk
            return json.loads(data)
        return None


class NativeHost:
    """One process, through all programs that it executes."""

    def __init__(self, config: Config, log: Log, supervisor: Supervisor) -> None:
        self.config = config
        self.log = log
        self.supervisor = supervisor
        self.service: HookService | None = None
        self.pid = 0
        self.pidfd = -1
        self._memory = -1
        self._files = Files()
        self._resolver: StackResolver | None = None
        self._symbolizer: Symbolizer | None = None
        self._seen = -1
        self._bindings: dict[int, tuple[str, str]] = {}
        self._threads: dict[int, int] = {}

    @property
    def verbosity(self) -> int:
        return self.config.core.verbosity

    # -- the process --------------------------------------------------------------------------------

    def adopt(self, pid: int) -> None:
        """Serve a process. Raises OSError."""
        self.pidfd = os.pidfd_open(pid)
        if self.pid:
            self.log.forked(pid, silent=self.config.core.child_silent_after_fork)
        self.pid = self.log.pid = pid
        self.new_program()

    def leave(self) -> None:
        """This is a copy, for a child that is not known yet."""
        for fd in (self.pidfd, self._memory):
            if fd >= 0:
                os.close(fd)
        self.pidfd = self._memory = -1

    def new_program(self) -> None:
        """The process executes another program, and has new memory."""
        if self._memory >= 0:
            os.close(self._memory)
        self._memory = -1
        with contextlib.suppress(OSError):
            self._memory = os.open(f"/proc/{self.pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        self._files.next_program()
        self._seen = -1
        self._threads = {}

    def is_gone(self) -> bool:
        if system.poll(self.supervisor.gone, 0):
            return True
        return self.pidfd >= 0 and bool(system.poll(self.pidfd, 0))

    # -- memory -------------------------------------------------------------------------------------

    def read(self, address: int, size: int) -> bytes | None:
        try:
            data = os.pread(self._memory, size, address)
        except (OSError, OverflowError):
            return None
        return data if len(data) == size else None

    def read_string(self, address: int, limit: int) -> bytes | None:
        parts = []
        while limit > 0:
            size = min(_PAGE - address % _PAGE, limit)
            data = self.read(address, size)
            if data is None:
                return None
            text, end, _ = data.partition(b"\0")
            parts.append(text)
            if end:
                break
            address += size
            limit -= size
        return b"".join(parts)

    # -- names --------------------------------------------------------------------------------------

    def _refresh(self) -> None:
        """Forget what was known of code that has changed since."""
        changes = self.supervisor.changes
        if changes != self._seen:
            self._seen = changes
            self._bindings.clear()
            self._resolver = self._symbolizer = None
            if self.service is not None:
                self.service.code_changed()

    def find_function(self, name: str) -> int:
        found = self.supervisor.ask(pid=self.pid, find=name)
        return found if isinstance(found, int) else 0

    def binding(self, address: int) -> tuple[str, str]:
        self._refresh()
        found = self._bindings.get(address)
        if found is None:
            answer = self.supervisor.ask(pid=self.pid, binding=address)
            found = self._bindings[address] = (answer[0], answer[1]) if answer else UNKNOWN
        return found

    @property
    def symbolizer(self) -> Symbolizer:
        self._refresh()
        if self._symbolizer is None:
            core = self.config.core
            extra = () if core.extra_debuginfo_path is None else (core.extra_debuginfo_path,)
            made = self._symbolizer = Symbolizer(
                inline=bool(core.read_inline_info),
                directories=bool(core.fullpath_after),
                demangle=core.demangle,
                extra_debuginfo_path=extra,
                allow_mismatched=core.allow_mismatched_debuginfo,
            )
            for region in _code_of(self.pid):
                path = os.fsdecode(region.name.removesuffix(b" (deleted)"))
                names = (region.link(self.pid), f"/proc/{self.pid}/root{path}")
                file = self._files.get(path, (os.makedev(*region.device), region.inode), names)
                size = region.end - region.start
                made.add_mapping(file.object_file(made.object_file), region.start, size, region.offset)
        return self._symbolizer

    @property
    def resolver(self) -> StackResolver:
        symbolizer = self.symbolizer
        if self._resolver is None:
            options = StackOptions.of(self.config.core, frozenset({paths.product(paths.NATIVE)}))
            self._resolver = StackResolver(symbolizer, options)
            self._resolver.hooks = self.service
        return self._resolver

    def return_addresses(self, call: HookedCall) -> Sequence[int]:
        frame = self.read(call.frame, lib.IP_HOOK_STACK)
        if frame is None:
            return ()
        words = memoryview(frame).cast("Q")
        registers = {_RSP: call.frame + lib.IP_HOOK_STACK, _RBP: words[(lib.IP_HOOK_RETURN - 16) // 8]}
        core = self.config.core
        unwinder = Unwinder(self.read, self.symbolizer.frame_table)
        pc, merge = words[lib.IP_HOOK_RETURN // 8], core.merge_recursive_frames
        return unwinder.trace(pc, registers, core.num_callers, returns=True, merge=merge)

    # -- threads ------------------------------------------------------------------------------------

    def thread(self, asker: Any) -> Thread:
        tid = int(asker)
        return Thread(self._number(tid), tid, self._name(tid))

    def _number(self, tid: int) -> int:
        """The main thread is 1; others have the lowest number that is free when they first appear."""
        if tid == self.pid:
            return 1
        number = self._threads.get(tid)
        if number is None:
            with contextlib.suppress(OSError):
                alive = set(map(int, os.listdir(f"/proc/{self.pid}/task")))
                self._threads = {each: n for each, n in self._threads.items() if each in alive}
            taken = set(self._threads.values())
            number = next(n for n in range(2, len(taken) + 3) if n not in taken)
            self._threads[tid] = number
        return number

    def _name(self, tid: int) -> str:
        """The name that the thread was given; none if it has its program's."""
        try:
            with open(f"/proc/{self.pid}/task/{tid}/comm", "rb") as file:
                name = file.read().rstrip(b"\n")
            program = os.fsencode(os.readlink(f"/proc/{self.pid}/exe"))
        except OSError:
            return ""
        own = os.path.basename(program)[:15]
        return "" if name == own else name.decode("utf-8", "replace")


def _code_of(pid: int) -> list[Region]:
    """Executable mappings of files; none if the process is gone."""
    try:
        return [region for region in regions(pid) if region.is_code and region.name.startswith(b"/")]
    except OSError:
        return []
