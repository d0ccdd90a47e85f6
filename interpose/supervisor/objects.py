"""Mapped code: what the runtime announces becomes objects of the redirection core and of the symbolizer,
and the core's bindings become the translator's.
"""

from __future__ import annotations

import os

from interpose import paths, tools
from interpose.elf.headers import PF_W, places_of_offset
from interpose.elf.pieces import Pieces
from interpose.errors import MissingTextError
from interpose.jit._native import lib
from interpose.ranges import Ranges
from interpose.supervisor.recall import BOUND, KEEPS_STACK, RESOLVED, UNBOUND, Recall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from interpose.cache.memo import Memo
    from interpose.elf.debuginfod import Servers
    from interpose.elf.symbolizer import Frame, ObjectFile, Symbolizer
    from interpose.hooks.service import HookService
    from interpose.options.parse import Config
    from interpose.redir import (
        ActiveBinding,
        Change,
        CodeObject,
        Reason,
        RedirState,
        SymbolColumns,
        SymbolTable,
    )
    from interpose.report.log import Log
    from interpose.supervisor.files import KnownFile

_OURS = (paths.STUBS, paths.HEAP_STUBS, paths.CORE_STUBS)
REDIRECT_NAMES = (b"_vgr", b"_vgw")
IFUNC_WRAPPER = "_vgnU_ifunc_wrapper"


class Mapped:
    """One announced mapping: executable pages of a file at [start, end)."""

    __slots__ = ("end", "file", "offset", "start")

    def __init__(self, start: int, end: int, offset: int, file: KnownFile) -> None:
        self.start = start
        self.end = end
        self.offset = offset
        self.file = file

    def ends_by(self, addr: int) -> bool:
        """What the file has there from ``addr`` on is not of the segment with the code."""
        image = self.file.image()
        code = None if image is None else image.code_after(self.offset)
        return code is not None and self.start + code <= addr

    def data_segments(self) -> Iterator[tuple[int, int]]:
        """Where its file declares memory writable, from the beginning of a page on."""
        segments = self.file.load_segments
        for address, _ in places_of_offset(segments, self.offset)[:1]:
            bias = self.start - address
            for _, flags, _, vaddr, _, _, size, _ in segments:
                if flags & PF_W:
                    yield (vaddr & -4096) + bias, vaddr + size + bias


class Objects:
    """The code of one client image.

    Neither symbolizer nor redirection core exists before somebody needs it: start-up is most of what a short
    program costs, and most programs bring neither errors nor specifications.
    """

    def __init__(
        self,
        config: Config,
        log: Log,
        make_symbolizer: Callable[[], Symbolizer],
        read: Callable[[int, int], bytes | None],
        hooks: HookService | None = None,
        memo: Memo | None = None,
    ) -> None:
        """``read`` gives bytes of the client's memory; ``hooks`` are bound when the stubs are mapped.

        ``memo`` knows from earlier runs what the redirection core makes of the objects.
        """
        core = config.core
        self._config = config
        self._log = log
        self._read = read
        self._trace = core.trace_redir
        self._verbosity = core.verbosity
        self._make_symbolizer = make_symbolizer
        self._symbolizer: Symbolizer | None = None
        self._redir: RedirState | None = None
        # What the symbolizer has to hear first.
        self._pieces = Pieces()
        self._mapped: dict[Mapped, None] = {}
        self._by_address: Ranges[Mapped] = Ranges()
        self._found: dict[tuple[str, str], int] = {}
        """Functions that were asked for since objects came or went."""
        self._ifunc_wrapper = 0
        self._shown_first_use: set[int] = set()
        self._hooks = hooks
        self._unbound = hooks is not None
        self._recall = None if memo is None else Recall(memo)
        lib.ip_tell_first_uses(self._shows_first_uses())
        if self._trace or core.require_text_symbol or hooks is not None:
            self._start_redir()

    def reconfigure(self, config: Config) -> None:
        """Options have changed while the program runs."""
        self._config = config
        self._verbosity = config.core.verbosity
        if config.core.trace_redir and self._redir is None:
            self._start_redir()
        self._trace = config.core.trace_redir
        lib.ip_tell_first_uses(self._shows_first_uses())

    def _shows_first_uses(self) -> bool:
        return self._trace or self._verbosity > 1

    @property
    def symbolizer(self) -> Symbolizer:
        """Made when first asked for; knows every mapping."""
        if self._symbolizer is None:
            self._symbolizer = self._make_symbolizer()
            for start, end, offset, file in self._pieces:
                self._symbolizer.add_mapping(self._object_file(file), start, end - start, offset)
            self._pieces = Pieces()
        return self._symbolizer

    def show_symbols(self, known: KnownFile) -> None:
        """--trace-symtab: what there is to read of a file that was mapped."""
        from interpose.elf.errors import ElfError
        from interpose.wildcards import compile_pattern

        if not compile_pattern(self._config.core.trace_symtab_patt)(known.path):
            return
        try:
            self._object_file(known).read(self._log.raw)
        except ElfError as error:
            self._log.raw(f"not readable: {error}")

    def _object_file(self, file: KnownFile) -> ObjectFile:
        return file.object_file(self.symbolizer.object_file)

    @property
    def redir(self) -> RedirState:
        """The redirection core, with all objects."""
        if self._redir is None:
            return self._start_redir()
        return self._redir

    def _start_redir(self, arriving: Mapped | None = None) -> RedirState:
        """``arriving``: what it is told of next, when somebody notes what comes of it."""
        from interpose.redir import Reason, RedirState, RequiredText, Synonyms

        core = self._config.core
        state = self._redir = RedirState(
            Synonyms.parse(core.soname_synonyms or ""),
            [RequiredText.parse(text) for text in core.require_text_symbol or ()],
            tells_additions=self._verbosity > 2,
        )
        if self._trace:
            self._print(Reason.INITIALISE)
        if self._recall is None:
            for known in self._mapped:
                self._add_object(known)
        else:
            self._catch_up(self._recall, arriving)
        return state

    def _catch_up(self, recall: Recall, arriving: Mapped | None) -> None:
        """What was answered from memory happens to the redirection core, too, which is needed after all."""
        live, recall.replays = recall.replays, True
        for known in self._mapped:
            if known is not arriving:
                self._add_object(known)
        for resolver, target in recall.resolved:
            self._apply(self.redir.add_ifunc_target(resolver, target))
        recall.resolved.clear()  # from now on it hears of them itself
        recall.replays = live

    def _print(self, reason: Reason) -> None:
        self._log.debug("\n".join(self.redir.trace_lines(reason)))

    def mapped(self, addr: int, length: int, offset: int, file: KnownFile, is_stable: bool = True) -> None:
        """Executable pages of a file were mapped; they stay what they are unless the runtime says otherwise.

        Raises :class:`MissingTextError`.
        """
        self._forget(addr, addr + length)
        if self._symbolizer is not None:
            self._symbolizer.add_mapping(self._object_file(file), addr, length, offset)
        else:
            self._pieces.put(addr, addr + length, offset, file)
        if is_stable:
            lib.ip_stable_add(addr, addr + length)
        known = Mapped(addr, addr + length, offset, file)
        self._mapped[known] = None
        self._by_address.add(known.start, known.end, known)
        if self._recall is None:
            self._take_in(known)
            return
        recall = self._recall
        recall.begin_mapped(addr, length, offset, file)
        if self._redir is not None or not recall.repeat():
            places = file.debug_places()
            self._take_in(known)
            recall.end(self._redir is not None, places)

    def _take_in(self, known: Mapped) -> None:
        """Go's functions and the bindings of what was mapped."""
        file = known.file
        self._find_go(known.start, known.end, known.offset, file)
        if self._redir is not None:
            self._add_object(known)
        elif self._recall is not None and self._recall.has_core:
            self._start_redir(known)
            self._add_object(known)
        elif self._config.core.extra_debuginfo_path or file.names.may_hold(*REDIRECT_NAMES):
            self._start_redir(known)
            if self._recall is not None:
                self._add_object(known)  # else it is among those that the core was told of
        file.release()

    def _find_go(self, start: int, end: int, offset: int, file: KnownFile) -> None:
        """Go gives every variable a value, and its collector looks at stack words whether alive or not."""
        if not lib.ip_service_chan().config_flags & lib.IP_C_SHADOW or file.go is None:
            return
        image, text = file.go
        for vaddr in image.vaddrs_of_offset(offset)[:1]:
            bias = start - vaddr
            kept = max(start, text[0] + bias), min(end, text[1] + bias)
            lib.ip_keeps_stack_add(*kept)
            if self._recall is not None:
                self._recall.done(KEEPS_STACK, kept)

    def _add_object(self, known: Mapped) -> None:
        from interpose.elf.errors import ElfError
        from interpose.redir import CodeObject, Reason

        file = self._object_file(known.file)
        if file.image is None:
            return
        biases = [known.start - vaddr for vaddr in file.image.vaddrs_of_offset(known.offset)]
        if not biases:
            return
        try:
            soname = file.image.soname
        except ElfError:
            return
        # Of files below that path the names say nothing.
        names = None if self._config.core.extra_debuginfo_path else known.file.names
        code = file.image.code_after(known.offset)
        text = [(known.start, known.end if code is None else min(known.end, known.start + code))]
        is_tools = os.path.basename(file.path) in (paths.STUBS, paths.HEAP_STUBS)
        obj = CodeObject(file.path, text, _table(file), soname, biases[0], names, is_tools)
        if not self._ifunc_wrapper and obj.may_hold(IFUNC_WRAPPER):
            symbols, addresses, *_ = obj.table.columns
            if IFUNC_WRAPPER in symbols:
                self._ifunc_wrapper = addresses[symbols.index(IFUNC_WRAPPER)] + biases[0]
        change = self.redir.add_object(obj)
        self._apply(change)
        if self._unbound and os.path.basename(file.path) in _OURS:
            self._bind_hooks(obj)
        late = [binding for binding in change.ifunc_added if not obj.contains(binding.address)]
        if late:
            if self._recall is not None:
                self._recall.distrust()  # what is found depends on the program's memory
            self._find_resolved(late)
        known.file.names.release()
        if self._trace:
            self._print(Reason.NEW_OBJECT)

    def _bind_hooks(self, stubs: CodeObject) -> None:
        """The hooks' rules: each leads to its entry in the stubs."""
        from interpose.hooks.bind import bind

        assert self._hooks is not None
        self._unbound = False
        self._apply(bind(self._hooks, self.redir, stubs))

    def _find_resolved(self, pending: Sequence[ActiveBinding]) -> None:
        """Rules for indirect functions of objects that came earlier: their resolvers may have run."""
        from interpose.supervisor.ifuncs import resolved_targets

        files = {known.start: known.file for known in self._mapped}

        def file_of(obj: CodeObject) -> ObjectFile:
            return self._object_file(files[obj.text_ranges[0][0]])

        for resolver, target in resolved_targets(pending, self.redir.objects, file_of, self._read):
            self.ifunc_resolved(resolver, target)

    def replaced(self, addr: int, length: int) -> bool:
        """Private anonymous memory has taken the place of announced pages.

        If there was code, the program moves it (to huge pages, as a rule): it keeps names and bindings, but
        may change. If not, false: an object's data was mapped with its code at first.
        """
        if not self._by_address.within(addr, addr + length):
            return False
        lib.ip_stable_del(addr, addr + length)
        return True

    def unmapped(self, addr: int, length: int) -> None:
        """A range with announced code was unmapped or replaced."""
        if self._recall is not None:
            # A core that starts now takes back what earlier runs' answers bound: it has to hear of what goes.
            end = addr + length
            self._change("unmapped", addr, end, lambda redir: redir.remove_range(addr, end))
        any_gone = self._forget(addr, addr + length)
        if self._symbolizer is not None:
            self._symbolizer.remove_mapping(addr, length)
        else:
            self._pieces.cut(addr, addr + length)
        lib.ip_stable_del(addr, addr + length)
        lib.ip_keeps_stack_del(addr, addr + length)
        if self._recall is not None:
            return
        if self._redir is None:
            return
        self._apply(self._redir.remove_range(addr, addr + length))
        if self._trace and any_gone:
            from interpose.redir import Reason

            self._print(Reason.DELETED_OBJECT)

    def _change(self, what: str, first: int, second: int, ask: Callable[[RedirState], Change]) -> bool:
        """An event with two numbers: done again as in an earlier run (true), or by the redirection core."""
        assert self._recall is not None
        recall = self._recall
        recall.begin(what, first, second)
        repeated = self._redir is None and recall.repeat()
        if not repeated:
            if self._redir is not None or recall.has_core:
                self._apply(ask(self.redir))
            recall.end(self._redir is not None, [])
        return repeated

    def _forget(self, start: int, end: int) -> bool:
        """Something else is in [start, end) from now on; an object goes with any of its code, as in the core.

        True if one did.
        """
        self._found.clear()
        gone = []
        for known in self._by_address.drop(start, end):
            if known.start < start and known.ends_by(start):
                known.end = start
                self._by_address.add(known.start, start, known)
            else:
                gone.append((known.start, known.end))
                del self._mapped[known]
        if self._recall is not None:
            self._recall.forget([(start, end), *gone])
        return bool(gone)

    def is_code_of(self, addr: int, base: int) -> bool:
        """The address is in code of the file whose beginning is, or would be, mapped at ``base``."""
        mapped = self.mapped_at(addr)
        return mapped is not None and mapped.start - mapped.offset == base

    def mapped_at(self, addr: int) -> Mapped | None:
        """The announced mapping that has this address."""
        return self._by_address.at(addr)

    def data_segments(self) -> list[tuple[int, int]]:
        """Where the objects' files declare memory writable, by address; no symbolizer is made for that."""
        return sorted({segment for known in self._mapped for segment in known.data_segments()})

    def stubs(self) -> tuple[str, int] | None:
        """Our own image in the program: its path, and where its address 0 is."""
        for known in self._mapped:
            if os.path.basename(known.file.path) in _OURS and (image := known.file.image()) is not None:
                for vaddr in image.vaddrs_of_offset(known.offset):
                    return known.file.path, known.start - vaddr
        return None

    def static_program(self) -> str:
        """Path of a program without an interpreter; empty if that is a dynamic linker, executed itself."""
        own = [
            obj for obj in self.redir.objects if obj.text_ranges and os.path.basename(obj.path) not in _OURS
        ]
        return "" if not own or own[0].soname.startswith("ld-") else own[0].path

    def find_function(self, name: str, only: str = "") -> int:
        """Address of a function by its symbol, in the order of mapping; 0 if no object has it.

        ``only`` is the path of the one object to look into.
        """
        if (name, only) not in self._found:
            self._found[name, only] = self._recalled_function(name, only)
        return self._found[name, only]

    def _recalled_function(self, name: str, only: str) -> int:
        question = f"{name} {only}".encode("utf-8", "surrogateescape")
        if self._recall is not None and (known := self._recall.memo.answer(question)) is not None:
            return int.from_bytes(known, "little")
        found = self._find_function(name, only)
        if self._recall is not None:
            self._recall.memo.add(found.to_bytes(8, "little"), question)
        return found

    def _find_function(self, name: str, only: str) -> int:
        for obj in self.redir.objects:
            if only and obj.path != only:
                continue
            address = self.redir.address_of(name, obj)
            if address is not None:
                return address
        return 0

    def ifunc_resolved(self, resolver: int, target: int) -> None:
        """An indirect function chose its target (request 3104)."""
        self._found.clear()
        if self._recall is None:
            self._apply(self.redir.add_ifunc_target(resolver, target))
            return
        following = self._recall.following(resolver, target) if self._redir is None else []
        if self._change(RESOLVED, resolver, target, lambda redir: redir.add_ifunc_target(resolver, target)):
            self._recall.bind_ahead(following)
        if self._redir is None and self.mapped_at(resolver) is not None:
            self._recall.resolved[resolver, target] = None

    def end_ahead(self) -> None:
        """Something happens: what indirect functions chose meanwhile, as expected, comes first."""
        if self._recall is not None and self._recall.ahead:
            self._found.clear()
            self._recall.end_ahead()

    def _apply(self, change: Change) -> None:
        if self._recall is not None and self._recall.replays:
            return
        gone = [binding.address for binding in (*change.removed, *change.ifunc_removed)]
        if gone:
            lib.ip_bindings_del(len(gone), gone)
            self._note(UNBOUND, gone)
        if self._shown_first_use:
            self._shown_first_use.difference_update(gone, [addr | lib.IP_KEY_NOREDIR for addr in gone])
        self._bind(change.added)
        if self._hooks is not None:
            self._hooks.bound(change)
        if self._ifunc_wrapper and change.ifunc_added:
            late = [binding.address for binding in change.ifunc_added]
            count = len(late)
            wrapper = [self._ifunc_wrapper] * count
            lib.ip_bindings_set(count, late, wrapper, [0] * count, bytes([lib.IP_BIND_WRAP]) * count)
            self._note(BOUND, late, wrapper, [0] * count, [lib.IP_BIND_WRAP] * count)
        for message in change.messages:
            # Levels count -v; the log's verbosity is 1 without any.
            if self._verbosity > message.level:
                if self._recall is not None:
                    self._recall.distrust()  # to be said in each run
                (self._log.debug if message.debug else self._log.plain)(message.text)
        if change.missing:
            from interpose.redir import missing_text_lines

            raise MissingTextError(*missing_text_lines(change.missing))

    def _bind(self, bindings: Sequence[ActiveBinding]) -> None:
        """Put bindings into effect, all at once: there may be a hundred thousand."""
        if not bindings:
            return
        kinds = {
            spec: (lib.IP_BIND_WRAP if spec.kind.value == "W" or spec.wants_original else 0)
            | (lib.IP_BIND_USER if spec.is_users else 0)
            for spec in {binding.spec for binding in bindings}
        }
        addresses = [binding.address for binding in bindings]
        targets = [binding.target for binding in bindings]
        inner = [0 if binding.inner is None else binding.inner.target for binding in bindings]
        how = [kinds[binding.spec] for binding in bindings]
        lib.ip_bindings_set(len(bindings), addresses, targets, inner, bytes(how))
        self._note(BOUND, addresses, targets, inner, how)

    def _note(self, what: int, *columns: Sequence[int]) -> None:
        """For a later run that repeats this."""
        if self._recall is not None:
            self._recall.done(what, *columns)

    def first_use(self, key: int) -> None:
        """-v, --trace-redir=yes: a redirected address is executed for the first time.

        ``key`` has IP_KEY_NOREDIR where a wrapper calls the replacement that it goes around.
        """
        if not self._shows_first_uses() or key in self._shown_first_use:
            return
        self._shown_first_use.add(key)
        binding = self.redir.active.get(key & lib.IP_KEY_PC)
        if binding is not None:
            from interpose.redir import first_use_line

            is_inner = bool(key & lib.IP_KEY_NOREDIR)
            self._log.debug(first_use_line(binding, is_inner, self.symbolizer.function_name))


class LateSymbolizer:
    """Most runs have nothing to look up, and no need of a symbolizer."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def lookup(self, ip: int) -> list[Frame]:
        """See :class:`interpose.elf.symbolizer.Symbolizer`."""
        return self._objects.symbolizer.lookup(ip)


def _table(file: ObjectFile) -> SymbolTable:
    """A file's symbols, one table for all programs that map it."""
    from interpose.redir import SymbolTable

    if file.redirection is None:
        file.redirection = SymbolTable(lambda: _symbols(file))
    return file.redirection


def _symbols(file: ObjectFile) -> SymbolColumns:
    """A file's text symbols, none if its tables are damaged."""
    from interpose.elf.errors import ElfError
    from interpose.elf.symtab import function_symbols
    from interpose.redir import SymbolColumns

    if file.image is None:
        return SymbolColumns()
    try:
        # By address, as written: of two rules for one function the first one's holds.
        return SymbolColumns(*function_symbols(file.image, file.installed_debug_image, objects=True))
    except ElfError:
        return SymbolColumns()


def _debug_servers(config: Config, log: Log) -> Servers | None:
    """The debuginfod servers to ask for debug files; what they do wrong is told under ``-v``."""
    if not config.core.enable_debuginfod or not os.environ.get("DEBUGINFOD_URLS"):
        return None
    from interpose.elf.debuginfod import Servers

    return Servers(os.environ, lambda line: log.debug(line) if log.verbosity > 1 else None)


def make_symbolizer(config: Config, log: Log, *, directories: bool) -> Symbolizer:
    """The symbolizer that the options ask for; ``directories``: somebody wants them, whatever the options."""
    from interpose.elf.symbolizer import Symbolizer

    core = config.core
    inline = core.read_inline_info
    return Symbolizer(
        inline=tools.load(config.tool_name).READ_INLINE if inline is None else inline,
        directories=core.xml or directories or bool(core.fullpath_after),
        demangle=core.demangle,
        extra_debuginfo_path=[core.extra_debuginfo_path] if core.extra_debuginfo_path else [],
        allow_mismatched=core.allow_mismatched_debuginfo,
        servers=_debug_servers(config, log),
        warn=log.debug if log.verbosity > 1 else None,
    )


def announced_path(data: bytes) -> str:
    """The path in a request, as Python spells file names."""
    return os.fsdecode(data.split(b"\0", 1)[0])
