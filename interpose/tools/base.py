"""What every tool is to the supervisor; a tool overrides what it needs."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from interpose.gdb.monitor.table import Commands
    from interpose.options.parse import Config
    from interpose.report.errors import AuxPart, ErrorManager
    from interpose.report.stack import Stack
    from interpose.supervisor.files import KnownFile
    from interpose.supervisor.main import Supervisor
    from interpose.supervisor.unloaded import UnloadedCode


class BaseTool:
    """Events of a client image, in the order in which they come."""

    def __init__(self, supervisor: Supervisor) -> None:
        self.supervisor = supervisor
        self.config = supervisor.config
        self.log = supervisor.log

    def started(self) -> None:
        """The runtime is up, nothing of the program is mapped yet: the banner."""
        from interpose import paths
        from interpose.report.log import banner

        session = self.supervisor.session
        banner(self.log, self.config, session.argv, session.parent_pid, paths.library())

    def loaded(self, entry: int, stack_pointer: int, brk_start: int) -> None:
        """Program and interpreter are mapped, the first instruction is next."""

    def code_mapped(self, start: int, length: int, offset: int, file: KnownFile) -> None:
        """Code of a file was mapped, from ``offset`` on; the program waits."""

    def stacks_recorded(self) -> int:
        """The number that the next stack gets that the runtime records; those before have smaller ones."""
        return 0

    def code_kept(self, unloaded: UnloadedCode) -> None:
        """Code is about to be unmapped whose names are kept."""

    def code_unmapped(self, addr: int, length: int) -> None:
        """A range with announced code was unmapped or replaced."""

    def memory_written(self, addr: int, length: int) -> None:
        """A debugger has written the program's memory; the program stands still."""

    def executing(self) -> None:
        """The program is about to execute another one, or to fail at it; its memory is still there."""

    def executes(self) -> None:
        """The image is gone: another one that is ours runs in the process, with a tool object of its own."""

    def left(self) -> None:
        """The same, but the program is not ours."""
        self.executes()

    def end_document(self) -> None:
        """The program executes another one: its document in XML, if it has one, gets its end."""

    def idle(self) -> None:
        """Between two events, about ten times a second."""

    def forks_often(self) -> None:
        """What is done now need not be done in each child."""

    def forked(self) -> None:
        """This is the copy for a forked child, which has just reported."""
        if self.log.forked(self.supervisor.client.pid, silent=self.config.core.child_silent_after_fork):
            self.started()

    def reconfigure(self, config: Config) -> None:
        """Options have changed while the program runs; raises an InterposeError if they cannot be had."""
        self.config = config

    def error(self, slot: Any) -> None:
        """The runtime found an error (``struct ip_error`` in the slot's data)."""

    def request(self, slot: Any, words: Sequence[int], default: int) -> int | None:
        """A client request that the core does not know; None if the tool does not either."""
        return None

    def repeats(self) -> Sequence[tuple[int, int]]:
        """Number and occurrences of each error that was reported."""
        return ()

    def errors_shown(self) -> int:
        """Errors that were shown so far."""
        return 0

    def branch(self) -> Any:
        """What has been found so far, for a child by vfork to go on with (:meth:`exchange`)."""
        errors = self.supervisor.error_manager()
        return None if errors is None else errors.branch()

    def exchange(self, branch: Any) -> Any:
        """Go on as another process; returns what was so far, to go on with later."""
        errors = self.supervisor.error_manager()
        return None if errors is None else errors.exchange(branch)

    def error_manager(self) -> ErrorManager | None:
        """All errors so far, counted to this moment; None of a tool that finds none."""
        return None

    def recorded_stacks(self) -> Iterable[tuple[int, Stack]]:
        """Number and frames of each stack trace that the runtime keeps."""
        return ()

    def insane(self) -> Iterable[str]:
        """What of the tool's tables cannot be right, in words."""
        return ()

    def monitor_commands(self) -> Commands:
        """What the tool adds to the monitor commands (:mod:`interpose.gdb.monitor`)."""
        from interpose.gdb.monitor.table import Commands

        return Commands()

    def describe_address(self, addr: int) -> Sequence[AuxPart]:
        """What an address is, for a reader: as much as is known of it."""
        from interpose.report.places import describe

        return describe(self.supervisor, addr)

    def count_errors(self) -> int:
        """COUNT_ERRORS: errors found so far, suppressed ones not counted."""
        return 0

    @classmethod
    def check(cls, config: Config) -> None:
        """Find problems with files that options name, before anything starts; raises an InterposeError."""
        if config.core.track_fds != "no":
            from interpose.report.core_errors import load_suppressions

            load_suppressions(config)

    def warn_if_full(self) -> None:
        """Of a tool that traces: say so if there was code that it could not see."""
        from interpose.jit._native import lib

        meta = self.supervisor.client.read_struct("struct ip_meta", lib.IP_META_BASE)
        if meta is not None and meta.trace_full:
            self.log.plain(
                f"Warning: there is more code than can be described ({meta.trace_blocks:,} blocks are): "
                "what ran of the rest is missing"
            )

    def ends(self, tid: int, *, by_signal: bool) -> None:
        """The program is about to end, in this thread, by its exit or a signal; the end is reported next."""

    def fatal(self, lines: Sequence[str], slot: Any) -> None:
        """The program is about to die by a signal."""
        self.log.plain("\n".join(lines))

    def finish(self, status: int | None) -> int:
        """The program ends: report.  ``status`` is None when a signal ends it; returns the status to use."""
        self.show_stats()
        if self.config.core.verbosity > 0:
            self.log.plain()
        return status or 0

    def vanished(self) -> None:
        """The program was killed, and its memory is gone: report what is known without."""
        self.finish(None)

    def stats(self) -> list[str]:
        """What the engine, and the tool, have done."""
        from interpose.supervisor.stats import stats_lines

        return stats_lines(self.supervisor.client.header)

    def show_stats(self) -> None:
        """--stats=yes."""
        if self.config.core.stats:
            self.log.debug("\n".join(self.stats()))
