"""Callgrind in the supervisor: functions as they are mapped, profiles when they are asked for."""

from __future__ import annotations

import errno
import os
import stat
import time

from interpose.errors import LaunchError
from interpose.jit._native import ffi, lib
from interpose.report.given import open_for_writing
from interpose.tools.base import BaseTool

from . import events
from .control import Control
from .functions import Functions
from .profile import Counts, Header, ProfileWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import suppress
    from typing import Any, BinaryIO, NamedTuple

    from interpose.gdb.monitor.table import Commands
    from interpose.supervisor.files import KnownFile
    from interpose.supervisor.main import Supervisor
else:
    from interpose.plain import suppress
    from interpose.records import NamedTuple

LOOK_SECONDS = 1.0  # of the program's processor time, between two copies of what it has counted
MAX_FRAMES = 500
LOOK_SHARE = 0.01  # of the time that they may take
_PROCESS_CLOCK = 2  # time.clock_gettime: of the process whose complement is in the higher bits

_EVENTS = {
    lib.CG_F_DUMP_BEFORE: "--dump-before={}",
    lib.CG_F_DUMP_AFTER: "--dump-after={}",
    lib.CG_F_ZERO_BEFORE: "--zero-before={}",
}


def _opened(path: str) -> BinaryIO:
    """A file for a profile, of its user's alone; a FIFO only if somebody reads it, for no wait would end."""
    fd = open_for_writing(path, 0o600)
    os.set_blocking(fd, True)
    return open(fd, "wb")


def _reason(error: OSError) -> str:
    return "nobody reads it" if error.errno == errno.ENXIO else error.strerror or str(error)


class Frame(NamedTuple):
    """A call under way: whom, how often from there, and what that has cost."""

    name: str
    calls: int
    costs: Sequence[int]


class Tool(BaseTool):
    """See the module."""

    first_part = 1
    """Of the next image of this process."""
    is_tried = False
    """Whether the file of the profile could be opened; once for all processes and images of a run."""

    def __init__(self, supervisor: Supervisor) -> None:
        super().__init__(supervisor)
        self.functions = Functions(self.config)
        self.writer = ProfileWriter(self.config, self.functions)
        self._before: dict[int, Counts] = {}
        """By thread (0: all of them): what the last dump or zero found."""
        self._written: dict[int, int] = {}
        """By thread: the last block that its last part has."""
        self._latest: Counts | None = None
        self._collected = [0] * len(self.writer.events)
        """What all parts have: not what was there at a zero."""
        self.part = Tool.first_part
        self._combined: Any = None
        self._path: str | None = None
        self._cmd = " ".join(supervisor.session.argv)
        self._is_copy = False
        """Of a process that has forked: what was counted is its parent's, too."""
        self._kept: list[tuple[int, Counts]] = []
        """What was seen last, by thread, for an end that comes without a word."""
        self._kept_at = 0.0
        self._look_at = LOOK_SECONDS
        self._control = Control(self)
        self._caches: tuple[str, ...] = ("", "", "")
        if self.config.tool.cache_sim:
            from .geometry import caches

            self._caches = tuple(
                f"{c.size} B, {c.line} B, {c.ways}-way associative" for c in caches(self.config)
            )

    # -- events --

    def started(self) -> None:
        super().started()
        if self.config.core.verbosity > 0:
            self.log.plain("For interactive control, run 'interpose-control -h'.")
        self._control.open(self.supervisor.client.pid)

    def loaded(self, entry: int, stack_pointer: int, brk_start: int) -> None:
        """A profile that cannot be written is known before the program has run, not after hours."""
        if Tool.is_tried:
            return
        Tool.is_tried = True
        path = self._base()
        try:
            with suppress(FileNotFoundError):
                if stat.S_ISFIFO(os.stat(path).st_mode):
                    return  # its reader would take our closing it for the end, or comes later
            _opened(path).close()
        except OSError as error:
            raise LaunchError(f"cannot write the profile '{path}': {_reason(error)}") from None

    def idle(self) -> None:
        self._control.serve()
        self._look()

    def forked(self) -> None:
        self._is_copy = True
        self._path = self._combined = None
        self.forget_kept()
        self._control.forget()
        super().forked()
        self._control.open(self.supervisor.client.pid)

    def executing(self) -> None:
        if not self._is_copy:
            self.keep()

    def executes(self) -> None:
        """What a copy has counted since it was forked is little, and the rest its parent's profile has."""
        self._control.close()
        if not self._is_copy:
            self._write_kept("Execution of another program", str(self.part))
            Tool.first_part = self.part + 1

    def left(self) -> None:
        self._control.close()
        if not self._is_copy:
            self._write_kept("Execution of another program", "")

    # -- ends without a word --

    def _look(self) -> None:
        """Copy what has been counted, now and then."""
        try:
            spent = time.clock_gettime(~self.supervisor.client.pid << 3 | _PROCESS_CLOCK)
        except OSError:
            return
        if spent < self._look_at:
            return
        began = time.process_time()
        self.keep()
        self._look_at = spent + max(LOOK_SECONDS, (time.process_time() - began) / LOOK_SHARE)

    def keep(self) -> None:
        """Copy what has been counted, for a program that is killed."""
        kept = [(thread, self.so_far(thread)) for thread in self._threads()]
        if any(counts.raw.n_rows for _, counts in kept):
            self._kept, self._kept_at = kept, time.monotonic()

    def forget_kept(self) -> None:
        """What was seen last is not to be written."""
        self._kept = []

    def _write_kept(self, trigger: str, ending: str) -> None:
        for thread, counts in self._kept:
            self._write(counts, thread, trigger, ending)
        self.forget_kept()

    def code_mapped(self, start: int, length: int, offset: int, file: KnownFile) -> None:
        symbolizer = self.supervisor.symbolizer
        self.functions.mapped(start, start + length, offset, file.object_file(symbolizer.object_file))

    def code_unmapped(self, addr: int, length: int) -> None:
        self.functions.unmapped(addr, addr + length)

    def request(self, slot: Any, words: Sequence[int], default: int) -> int | None:
        number = words[0]
        if number == lib.INTERPOSE_RQ_CT_OPTIONS:
            self.supervisor.answer_bytes(slot, 0, events.client_options(self.config))
        elif number == lib.INTERPOSE_RQ_CT_FUNCTION:
            name = self.functions.describe(words[1], 0)[1]
            self.supervisor.answer_bytes(slot, 0, events.function_options(self.config, name))
        elif number == lib.INTERPOSE_RQ_CT_EVENT:
            self._event(words[1], words[2], slot.tid_guest)
        elif number == lib.INTERPOSE_RQ_CT_DUMP_STATS:
            self.dump("Client Request", asker=slot.tid_guest)
        elif number == lib.INTERPOSE_RQ_CT_DUMP_STATS_AT:
            reason = self.supervisor.client.read_string(words[1], 4096) or b""
            self.dump("Client Request: " + reason.decode("utf-8", "replace"), asker=slot.tid_guest)
        elif number == lib.INTERPOSE_RQ_CT_ZERO_STATS:
            self.zero(slot.tid_guest)
        else:
            return None
        return 0

    def _event(self, why: int, function: int, asker: int) -> None:
        """A function of --dump-before, --dump-after or --zero-before; --dump-every-bb."""
        if why == lib.CG_F_ZERO_BEFORE:
            self.zero(asker)
        elif not why:
            self.dump(f"--dump-every-bb={self.config.tool.dump_every_bb}", asker=asker)
        else:
            self.dump(_EVENTS[why].format(self.functions.describe(function, 0)[1]), asker=asker)

    # -- dumps --

    def _threads(self) -> list[int]:
        """Threads that have profiles of their own; [0]: all have one."""
        if not self.config.tool.separate_threads:
            return [0]
        return self.threads()

    def _take(self, thread: int) -> Counts:
        counts = Counts(len(self.writer.events))
        # Contexts are numbered alike for all threads.
        counts.take(self.supervisor.client, thread, self.config.tool.collect_jumps, self._latest)
        self._latest = counts
        return counts

    def threads(self) -> list[int]:
        """Threads that have counted something."""
        client = self.supervisor.client
        tids = ffi.new("uint32_t[]", 1 << 16)
        count = lib.cg_threads(client.memory_fd(), client.symbol(lib.IP_SYM_TOOL), tids, len(tids))
        # In a forked child, one of its own may have the number of one of its parent's.
        return sorted(set(ffi.unpack(tids, count)))

    def frames(self, thread: int) -> list[Frame]:
        """The calls under way in a thread, the newest first; their numbers and costs since the last dump."""
        client = self.supervisor.client
        names = ffi.gc(ffi.new("struct cg_taken *"), lib.cg_release)
        recent = self._calls_since(thread)
        if recent is not None and self._latest is not None:
            lib.cg_inherit(names, self._latest.raw)  # the numbers of contexts are those of the rows
        rows = ffi.new("struct cg_row[]", MAX_FRAMES)
        n_events = len(self.writer.events)
        costs = ffi.new("uint64_t[]", MAX_FRAMES * n_events)
        root = client.symbol(lib.IP_SYM_TOOL)
        memory = client.memory_fd()
        count = lib.cg_frames(memory, root, n_events, thread, names, rows, costs, MAX_FRAMES)
        found = []
        for place in range(count - 1, -1, -1):
            name = names.names[rows[place].context - 1]
            shown = self.functions.describe(name.function, name.entry)[1]
            calls, cost = rows[place].count, ffi.unpack(costs + place * n_events, n_events)
            if recent is not None:
                caller = rows[place - 1].context if place else 0
                calls, cost = recent.get((caller, rows[place].context), (0, [0] * n_events))
            found.append(Frame(shown, calls, cost))
        return found

    def _calls_since(self, thread: int) -> dict[tuple[int, int], tuple[int, list[int]]] | None:
        """Calls since the last dump or zero, and their costs, by contexts of caller and callee; None: all.

        What the program's process has is never set back, so frames begin with what was before. Calls of
        nobody (caller 0) are those of everybody.
        """
        if thread not in self._before:
            return None
        found: dict[tuple[int, int], tuple[int, list[int]]] = {}
        for row in self.so_far(thread).rows():
            if row[5] == lib.CG_CALLS:
                for caller in (row[4], 0):
                    calls, sums = found.get((caller, row[6]), (0, [0] * len(self.writer.events)))
                    sums = [a + b for a, b in zip(sums, row[8:], strict=True)]
                    found[caller, row[6]] = calls + row[2], sums
        return found

    def so_far(self, thread: int = 0) -> Counts:
        """What was counted since the last dump."""
        now = self._take(thread)
        before = self._before.get(thread)
        return now.since(before) if before is not None else now

    def is_counting(self) -> bool:
        """Whether instrumentation is on."""
        client = self.supervisor.client
        wish = client.header.counters[lib.IP_N_TOOL]
        root = client.read_struct("struct cg_root", client.symbol(lib.IP_SYM_TOOL))
        return bool(wish == 2 if wish else root is not None and root.instrument)

    def look_up(self) -> None:
        """Have threads see at once that instrumentation was switched, not at their next system call."""
        client = self.supervisor.client
        with suppress(OSError):
            memory = os.open(f"/proc/{client.pid}/mem", os.O_RDWR | os.O_CLOEXEC)
            try:
                lib.cg_look_up(memory, client.symbol(lib.IP_SYM_TOOL))
            finally:
                os.close(memory)

    def _threads_of(self, asker: int | None) -> list[int]:
        """Those with profiles of their own that a wish is about: a thread's own wishes are about itself."""
        if asker is not None and self.config.tool.separate_threads:
            return [asker]
        return self._threads()

    def zero(self, asker: int | None = None) -> None:
        """Costs so far do not count."""
        for thread in self._threads_of(asker):
            self._before[thread] = self._take(thread)
        self._begin_all(asker)
        self.forget_kept()

    def _begin_all(self, asker: int | None) -> None:
        """What was counted up to now is told no more to whoever asks for threads, or for all of them."""
        if not self.config.tool.separate_threads:
            threads = self.threads()
            for thread in threads:
                self._before[thread] = self._before[0] if len(threads) == 1 else self._take(thread)
        elif asker is None:
            self._before[0] = self._take(0)

    def dump(self, trigger: str, *, final: bool = False, asker: int | None = None) -> None:
        """Write what was counted since the last dump."""
        for thread in self._threads_of(asker):
            now = self._take(thread)
            before = self._before.get(thread)
            # What is written is changed for it; what the next dump subtracts must stay.
            counts = now if final and before is None else now.since(before or Counts(now.n_events))
            self._before[thread] = now
            self._write(counts, thread, trigger, "" if final else str(self.part))
            self._collected = [a + b for a, b in zip(self._collected, counts.totals(), strict=True)]
        self.part += 1
        if not final:
            self._begin_all(asker)
        self.forget_kept()

    def _base(self) -> str:
        """What the names of all parts begin with: %n would be another number each time."""
        if self._path is None:
            names = self.log.names
            assert names is not None
            self._path = names.expand("--callgrind-out-file", self.config.tool.callgrind_out_file)
        return self._path

    def _write(self, counts: Counts, thread: int, trigger: str, ending: str) -> None:
        tool = self.config.tool
        path = self._base()
        if not tool.combine_dumps:
            path += f".{ending}" if ending else ""
            path += f"-{thread:02d}" if thread else ""
        head = Header(
            self.supervisor.client.pid,
            self._cmd,
            self.part,
            thread or None,
            self._written.get(thread, 0),
            trigger,
            self._caches,
        )
        self._written[thread] = counts.last_block
        try:
            if tool.combine_dumps:
                if self._combined is None:
                    self._combined = _opened(path), None
                stream, writer = self._combined
                self._combined = stream, self.writer.write(stream, counts, head, writer)
            else:
                with _opened(path) as stream:
                    self.writer.write(stream, counts, head)
        except OSError as error:
            self.log.plain(f"Cannot write the profile '{path}': {_reason(error)}")

    def switch(self, on: bool) -> None:
        """Count from now on, or do not."""
        # The client looks at this word before it counts.
        self.supervisor.client.header.counters[lib.IP_N_TOOL] = 2 if on else 1
        self.look_up()

    def monitor_commands(self) -> Commands:
        from .monitor import COMMANDS

        return COMMANDS

    # -- the end --

    def finish(self, status: int | None) -> int:
        self._control.close()
        self.dump("Program termination", final=True)
        self.warn_if_full()
        if self.config.core.verbosity > 0:
            from .summary import summary_lines

            self.log.plain("\n".join(summary_lines(self.writer.events, self._collected)))
        self.show_stats()
        return status or 0

    def ended(self) -> None:
        """``interpose-control -k``: no profile."""
        self._control.close()
        if self.config.core.verbosity > 0:
            self.log.plain("The program was ended by interpose-control.")

    def vanished(self) -> None:
        self._control.close()
        said = "its costs since the last dump are lost"
        if self._kept:
            said = f"its profile is of {time.monotonic() - self._kept_at:.1f} seconds before"
            self._write_kept("Killed", "")
        if self.config.core.verbosity > 0:
            self.log.plain(f"The program was killed: {said}")
