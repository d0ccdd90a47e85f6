"""--progress-interval: lines about how far a long run is, by the CPU time that the program has used."""

from __future__ import annotations

import os
import time

from interpose.jit._native import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from interpose.supervisor.main import Supervisor


class Progress:
    """Of one process."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._began = time.monotonic()
        self._told = 0
        """Seconds of CPU time at the last line."""

    def line(self, interval: int, header: Any) -> str | None:
        """The line that is due, if one is: times, exits, blocks made and dropped, threads."""
        try:
            used = time.clock_gettime(_clock_of(self.pid))
            threads = len(os.listdir(f"/proc/{self.pid}/task"))
        except OSError:  # it is gone
            return None
        if used < self._told + interval:
            return None
        self._told = int(used)
        wall = time.monotonic() - self._began
        stats = ffi.new("struct ip_service_stats *")
        lib.ip_service_get_stats(stats)
        exits = header.counters[lib.IP_N_MISSES] + header.counters[lib.IP_N_EXITS]
        return (
            f"PROGRESS: U {used:.0f}s, W {wall:.0f}s, {100 * used / max(wall, used):.1f}% CPU, "
            f"EvC {exits / 1e6:.2f}M, TIn {stats.blocks / 1e3:.1f}k, TOut {stats.invalidated / 1e3:.1f}k, "
            f"#thr {threads}"
        )


def show(supervisor: Supervisor) -> None:
    """Log the line that is due, if one is."""
    progress = supervisor.progress
    if progress is None or progress.pid != supervisor.client.pid:
        progress = supervisor.progress = Progress(supervisor.client.pid)
    line = progress.line(supervisor.config.core.progress_interval, supervisor.client.header)
    if line:
        supervisor.log.debug(line)


def _clock_of(pid: int) -> int:
    """The process's CPU-time clock, as clock_getcpuclockid(3) makes it."""
    return ~pid << 3 | 2
