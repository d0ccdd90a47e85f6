"""Memcheck in the supervisor: errors as they come, leaks and summaries at the end."""

from __future__ import annotations

from interpose.errors import InterposeError
from interpose.jit._native import ffi, lib
from interpose.report.core_errors import error_options
from interpose.report.errors import ErrorManager, Outcome, Sinks
from interpose.report.suppressions import CORE_ERRORS, Suppressions
from interpose.report.text import TextSink
from interpose.tools.base import BaseTool

from .access import accessed
from .addrinfo import describe_address
from .errors import (
    DEFAULT_SUPPRESSIONS,
    RECORD,
    UNDEFINED_KINDS,
    ErrKind,
    ErrorRecord,
    Origin,
    OriginKind,
    build_error,
    suppression_component,
)
from .heap import AllocKind
from .loss import LeakOptions, LeakReporter
from .options import LEAK_KINDS, OLD_GCC_SLACK
from .reader import NOT_KEPT, HeapReader
from .space import ClientSpace, EndedThread
from .summary import EndOptions, HeapEnd, finish, heap_totals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from dataclasses import replace
    from typing import Any

    from interpose.gdb.monitor.table import Commands
    from interpose.options.parse import Config
    from interpose.report.errors import AuxPart, Error, ErrorSink
    from interpose.report.stack import Stack
    from interpose.supervisor.main import Supervisor
    from interpose.supervisor.unloaded import UnloadedCode

    from .blocks import Blocks
    from .heap import HeapStats
    from .origins import FrameChanges
    from .xtree import MemoryTree
else:
    from interpose.records import replace


READ_AHEAD = 2 << 20  # bytes of a file whose debug information is read before a child needs it
_STACKS_AHEAD = 64  # of blocks in use that children are likely to have, too, and to lose
_ORIGINS = (
    None,
    OriginKind.HEAP,
    OriginKind.STACK,
    OriginKind.CLIENT,
    OriginKind.UNKNOWN,
    OriginKind.STACK,  # below a frame's red zone
)
_DEEP = 5


def load_suppressions(config: Config) -> Suppressions:
    """All suppression files that the options name; :class:`SuppressionFileError` for a bad one."""
    found = Suppressions([suppression_component(), CORE_ERRORS])
    for path in config.core.suppressions or ():
        found.load(path)
    if config.core.default_suppressions:
        found.load(DEFAULT_SUPPRESSIONS)
    return found


class Tool(BaseTool):
    """See the module."""

    def __init__(self, supervisor: Supervisor) -> None:
        super().__init__(supervisor)
        core = self.config.core
        markers = core.error_markers or ("", "")
        self.unknown_requests: set[int] = set()
        self.resolver = supervisor.resolver
        self._sink = TextSink(self.log, self.resolver, (markers[0], markers[1]))
        self.errors = ErrorManager(
            error_options(self.config),
            self.resolver,
            load_suppressions(self.config),
            self._sinks(),
            self.log,
            lambda: supervisor.client.read_input(core.input_fd).decode("latin-1"),
        )
        self.errors.outdated = supervisor.outdate_answers
        self.leaks = LeakReporter(self.log, self.errors)
        self.leaks.frees = lambda: self.reader.stats().frees
        if self.config.tool.xtree_leak:
            self.leaks.tree = self._leak_tree
        if supervisor.json is not None:
            self.leaks.searched = self._leaks_to_json
        self.leaks.tells_facts = supervisor.json is not None
        self._attach()
        self._by_index: dict[int, Error] = {}
        self._counted: dict[int, int] = {}
        self._of_others: set[int] = set()
        """Indexes of errors that another process on this memory has met (:meth:`exchange`)."""
        self._undefined_seen = False
        self._told_ranges: set[tuple[int, int]] = set()
        self.frame_changes: dict[int, FrameChanges] = {}
        """By where functions begin."""

    def _sinks(self) -> ErrorSink:
        supervisor = self.supervisor
        shown: ErrorSink = self._sink
        if supervisor.xml is not None:
            from interpose.report.text import RequestedText

            shown = RequestedText(self.log, self._sink, lambda: supervisor.xml_sink)
        if supervisor.json is None:
            return shown
        from interpose.report.jsonlines import JsonSink

        with_suppressed = self.config.core.show_error_list == "all"
        return Sinks(shown, JsonSink(supervisor.json, self.resolver, with_suppressed))

    def _leaks_to_json(self) -> None:
        from .summary import leak_totals

        report = self.supervisor.json
        assert report is not None
        report.record("leak_summary", **leak_totals(self.leaks))

    @classmethod
    def check(cls, config: Config) -> None:
        """Problems with files that the options name, before anything starts."""
        load_suppressions(config)

    def reconfigure(self, config: Config) -> None:
        for path in (config.core.suppressions or ())[len(self.config.core.suppressions or ()) :]:
            self.errors.suppressions.load(path)
        super().reconfigure(config)
        core = config.core
        self.errors.options = replace(
            self.errors.options,
            show_error_list=core.show_error_list,
            gen_suppressions=core.gen_suppressions,
            verbosity=core.verbosity,
        )
        begin, end = core.error_markers or ("", "")
        self._sink.markers = (begin, end)

    def _attach(self) -> None:
        until_freed = self.config.tool.keep_stacktraces == "alloc-then-free"
        self.reader = HeapReader(self.supervisor.client, self.resolver, until_freed)
        self.reader.unloaded = self.supervisor.unloaded  # a forked child's, from before the fork
        self.space = ClientSpace(self.supervisor, self.reader, self.config.core.redzone_size or 16)

    # -- events --------------------------------------------------------------------------------

    def mapped(self) -> None:
        """Code came or went: what addresses mean has changed."""
        self.resolver.forget()
        self.frame_changes.clear()

    def stacks_recorded(self) -> int:
        return self.reader.next_stack()

    def code_kept(self, unloaded: UnloadedCode) -> None:
        self.reader.unloaded = unloaded
        self.reader.forget_stacks()
        self.reader.outdate_stacks()

    def error(self, slot: Any) -> None:
        record = ErrorRecord.of(ffi.cast(RECORD, slot.data))
        if record.kind is ErrKind.NONE:
            self._met_many()
            return
        if record.kind is ErrKind.READ and not record.size:
            nowhere = record.aux[0]
            record = self._judged(record, slot)
            if nowhere and any(lo <= record.addr <= hi for lo, hi in self.config.tool.ignore_ranges or ()):
                return  # the runtime could not tell
        if not self._wanted(record):
            return
        self.space.forget()
        tid = self.supervisor.client.thread_of(slot)
        name = self.supervisor.thread_names.get(tid)
        error, describe = build_error(record, self.resolver, self.space, tid, name, self._origin)
        if self.errors.report(error, describe) is Outcome.SHOWN and record.kind in UNDEFINED_KINDS:
            self._undefined_seen = True
        index = slot.a[0]
        if index:
            self._by_index[index] = self.errors.known(error)
            self._counted[index] = 1
        header = self.supervisor.client.header
        header.errors_stopped = self.errors.stopped
        if header.error_frames == lib.IP_ERROR_FRAMES:
            header.error_frames = self.errors.frames
        if self.errors.must_exit:
            self.supervisor.stop_client(slot, self.config.core.error_exitcode)

    def _met_many(self) -> None:
        """So many that there may be too many, of which only the unsuppressed ones count."""
        self._count_repeats()
        header = self.supervisor.client.header
        header.errors_stopped = self.errors.reached_limit()
        header.errors_until = self.reader.errors_met() + max(lib.IP_ERRORS_MOST - self.errors.errors_found, 1)

    def _origin(self, record: ErrorRecord) -> Origin | None:
        return self.origin_of(record.otag)

    def origin_of(self, tag: int) -> Origin | None:
        """The origin that the runtime noted (shadow/origin.h): kind and recorded stack."""
        kind = _ORIGINS[tag >> lib.IP_ORIGIN_SHIFT]
        if kind is None:
            return None
        number = tag & (1 << lib.IP_ORIGIN_SHIFT) - 1
        stack = self.reader.stack(number) if number else NOT_KEPT
        if kind is OriginKind.STACK and stack:
            from .origins import room_made_at

            stack = (room_made_at(self, stack[0], tag >> lib.IP_ORIGIN_SHIFT == _DEEP),)
        return Origin(kind, stack)

    def _judged(self, record: ErrorRecord, slot: Any) -> ErrorRecord:
        """An access to where nothing is mapped: kind and size follow from the instruction.

        So does the address, with the registers, if it is not canonical: then the fault does not tell it.
        """
        client = self.supervisor.client
        code = client.read(record.pc, 16) or client.read(record.pc, 1)
        insn = ffi.new("struct ip_insn *")
        if not code or lib.ip_decode(code, len(code), record.pc, insn) <= 0:
            return record._replace(size=8)
        operand = accessed(insn)
        addr = record.addr
        if record.aux[0]:
            state = client.read_struct("struct tstate", slot.tstate)
            addr = operand.address(state) if state is not None else 0
        kind = ErrKind.READ if operand.reads else ErrKind.WRITE
        return record._replace(kind=kind, size=operand.size, addr=addr, aux=(0, *record.aux[1:]))

    def _wanted(self, record: ErrorRecord) -> bool:
        """Errors that options silence."""
        tool = self.config.tool
        if record.kind is ErrKind.MISMATCH:
            return tool.show_mismatched_frees
        if record.kind is ErrKind.REALLOC_ZERO:
            return tool.show_realloc_size_zero
        if record.kind in UNDEFINED_KINDS:
            return tool.undef_value_errors
        return True

    def ignored_by_option(self) -> bytes:
        """For the runtime (client/ignored.c): a struct mc_by_option."""
        tool = self.config.tool
        answer = ffi.new("struct mc_by_option *")
        if tool.ignore_range_below_sp:
            answer.below_sp.far, answer.below_sp.near = tool.ignore_range_below_sp
        answer.below_sp.slack = OLD_GCC_SLACK if tool.workaround_gcc296_bugs else 0
        fresh = [bounds for bounds in tool.ignore_ranges or () if bounds not in self._told_ranges]
        for place, (lo, hi) in enumerate(fresh[: len(answer.ranges)]):
            answer.ranges[place].lo, answer.ranges[place].hi = lo, hi
            self._told_ranges.add((lo, hi))
            answer.count = place + 1
        return bytes(ffi.buffer(answer))

    def _count_repeats(self) -> None:
        """Errors met again are only counted by the runtime."""
        for index, count in self.reader.error_counts().items():
            if index in self._of_others:
                continue
            error = self._by_index.get(index)
            if error is None:
                self.reader.read_counts_again()  # it is on its way here, and may have been met twice by now
            elif count > self._counted[index]:
                self.errors.again(error, count - self._counted[index])
                self._counted[index] = count

    def repeats(self) -> list[tuple[int, int]]:
        self._count_repeats()
        return self.errors.counts()

    def count_errors(self) -> int:
        self._count_repeats()
        return self.errors.errors_found

    def errors_shown(self) -> int:
        return self.errors.shown

    def memory_written(self, addr: int, length: int) -> None:
        from .shadow import Shadow

        self.space.forget()
        Shadow(self.supervisor.client, self.space.threads()).define_addressable(addr, length)

    def error_manager(self) -> ErrorManager:
        self._count_repeats()
        return self.errors

    def branch(self) -> Any:
        self._count_repeats()
        found = self.errors.branch(), self.leaks.branch()
        return found, {}, {}, set(self._by_index), self._undefined_seen

    def exchange(self, branch: Any) -> Any:
        mine = (self._by_index, self._counted, self._of_others, self._undefined_seen)
        found, self._by_index, self._counted, self._of_others, self._undefined_seen = branch
        self._of_others.update(mine[0])
        left = self.errors.exchange(found[0]), self.leaks.exchange(found[1])
        self.supervisor.client.header.errors_stopped = self.errors.stopped
        self.reader.read_counts_again()
        return (left, *mine)

    def recorded_stacks(self) -> Iterator[tuple[int, Stack]]:
        return self.reader.stacks()

    def insane(self) -> Iterator[str]:
        self.space.forget()
        end = 0
        for block in self.reader.live():
            if self.space.segment_of(block.addr) is None:
                yield f"the block at 0x{block.addr:x} lies in no mapping"
            if block.kind is not AllocKind.CUSTOM:
                if block.addr < end:
                    yield f"the block at 0x{block.addr:x} lies in the one before"
                end = block.end

    def monitor_commands(self) -> Commands:
        from .monitor import COMMANDS

        return COMMANDS

    def describe_address(self, addr: int) -> list[AuxPart]:
        self.space.forget()
        return describe_address(self.space, addr)

    def request(self, slot: Any, words: Sequence[int], default: int) -> int | None:
        from .requests import answer

        return answer(self, slot, words, default)

    def forks_often(self) -> None:
        from interpose.supervisor.final_calls import ask_ahead

        ask_ahead(self.supervisor)
        if self.config.tool.leak_check != "full":
            return
        self.supervisor.symbolizer.read_ahead(READ_AHEAD)
        self.space.forget()
        for stack in self.live_blocks().stacks(_STACKS_AHEAD):
            self.resolver.texts(stack)
        self.space.forget()

    def forked(self) -> None:
        self._attach()
        if self._of_others:  # of a child by vfork, whose number it does not have, nor all that its maker met
            self.reader.outdate_errors()
        super().forked()

    # -- leaks and the end ---------------------------------------------------------------------

    def leak_options(self, *, at_exit: bool = False) -> LeakOptions:
        """How searches report.  Only the one at exit is told in a file, which has all kinds."""
        tool = self.config.tool
        to_tree = at_exit and tool.xtree_leak
        return LeakOptions(
            full=tool.leak_check == "full",
            resolution=tool.leak_resolution,
            show_kinds=frozenset(LEAK_KINDS if to_tree else tool.show_leak_kinds),
            error_kinds=frozenset(tool.errors_for_leak_kinds),
            heuristics=frozenset(tool.leak_check_heuristics),
            verbosity=self.config.core.verbosity if self._is_text() else 0,
            thread_name=self.supervisor.thread_names.get(1),
            to_tree=to_tree,
        )

    def _is_text(self) -> bool:
        """Whether a search for leaks is told as text, with all that belongs to that."""
        return self.log.asked_for or self.supervisor.xml_sink is None

    def live_blocks(self) -> Blocks:
        """Blocks in use."""
        return self.reader.live()

    def memory_tree(self) -> MemoryTree:
        """The heap by stacks, for ``--xtree-memory`` and the monitor."""
        from .xtree import MEMORY_EVENTS, TOTAL_EVENTS, memory_costs, total_costs

        blocks = self.live_blocks()
        if self.config.core.xtree_memory == "full":
            return TOTAL_EVENTS, total_costs(self.resolver, blocks, self.reader.counts())
        return MEMORY_EVENTS, memory_costs(self.resolver, blocks)

    def _write_tree(self, template: str, what: str, tree: MemoryTree) -> list[str]:
        """What is said of a tree that an option asks for.  If it cannot be written, the run's end goes on."""
        from .xtree import file_name, write_tree

        try:
            path = file_name(self, f"--xtree-{what}-file", template)
            write_tree(self, path, *tree, may_be_massif=what == "memory")
        except InterposeError as error:
            return [f"Error: {error.message}"]
        return [f"xtree {what} report: {path}"] if self.config.core.verbosity else []

    def _leak_tree(self) -> None:
        from .xtree import LEAK_EVENTS, leak_costs

        tree = LEAK_EVENTS, leak_costs(self.leaks.listed)
        for line in self._write_tree(self.config.tool.xtree_leak_file, "leak", tree):
            self.log.plain(line)

    def _memory_tree_told(self) -> list[str]:
        """Writes the tree of ``--xtree-memory``; what is to be said of it."""
        core = self.config.core
        if core.xtree_memory == "none":
            return []
        return self._write_tree(core.xtree_memory_file, "memory", self.memory_tree())

    def ends(self, tid: int, *, by_signal: bool) -> None:
        # Valgrind has these two on the program's stack while it calls what releases libraries' memory.
        called = self.config.core.run_libc_freeres or self.config.core.run_cxx_freeres
        kept = (lib.IP_RBX, lib.IP_RBP) if called and not by_signal else ()
        self.space.ended = EndedThread(tid, kept)

    def finish(self, status: int | None) -> int:
        self.space.forget()
        self._count_repeats()
        stats = self.reader.stats()
        self._finish(None if self.space.is_gone() else stats)
        return self.errors.exit_status(status or 0)

    def vanished(self) -> None:
        self._finish(None)

    def end_document(self) -> None:
        self._finish_xml(None, EndOptions(verbosity=self.config.core.verbosity))

    def _finish_xml(self, heap: HeapEnd | None, options: EndOptions) -> None:
        """Not as text, too, where there is a document."""
        xml, sink = self.supervisor.xml, self.supervisor.xml_sink
        if xml is None or sink is None:
            return
        from .summary import finish_xml

        finish_xml(sink, self.log, self.errors, self.leaks, heap, options, self.log.elapsed())
        xml.ended()

    def _finish(self, stats: HeapStats | None) -> None:
        self.show_stats()
        options = EndOptions(
            leak_check=self.config.tool.leak_check,
            track_origins=self.config.tool.track_origins,
            verbosity=self.config.core.verbosity,
            requested_ranges=self.reader.requested_ranges(),
            notes=self._memory_tree_told() if stats is not None else (),
        )
        leaks = self.leak_options(at_exit=True)
        heap = HeapEnd(stats, self.live_blocks, self.space, leaks) if stats is not None else None
        if self.supervisor.xml_sink is not None:
            for line in options.notes:
                self.log.plain(line)
            self._finish_xml(heap, options)
        else:
            finish(self.log, self.errors, self.leaks, heap, options, self._undefined_seen)
        report = self.supervisor.json
        if report is not None:
            if stats is not None:
                report.record("heap_summary", **heap_totals(stats))
            report.summary(self.errors)
